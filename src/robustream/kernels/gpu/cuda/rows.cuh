// The state of a hash of each row's content: that of `robustream.majority.columns`, whatever precision the row is stored in.

template <typename Source>
__global__ void hash_rows(const Source* table, long long rows, int columns, const unsigned long long* states,
                          unsigned long long* mixed) {
    const long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const Source* cells = table + row * columns;
    unsigned long long h = states[row] * 0xBF58476D1CE4E5B9ull;
    for (int j = 0; j < columns; ++j) {
        const unsigned long long k = (unsigned long long)(j + 1) * 0x9E3779B97F4A7C15ull;
        const unsigned long long odd = ((k ^ (k >> 30)) * 0xBF58476D1CE4E5B9ull) | 1ull;
        unsigned long long word = (unsigned long long)__double_as_longlong((double)number(cells[j]));
        if (word == 0x8000000000000000ull) word = 0;  // minus zero is zero
        h += (word ^ (word >> 32)) * odd;
    }
    mixed[row] = h ^ (h >> 29);
}
