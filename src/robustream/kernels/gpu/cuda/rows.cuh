// The state of a hash of each row's content: that of `robustream.majority.columns`, whatever precision the row is stored in.

template <typename Source>
__global__ void hash_rows(const Source* table, long long rows, int columns, const unsigned long long* states,
                          unsigned long long* mixed) {
    const long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const Source* cells = table + row * columns;
    unsigned long long h = states[row];
    for (int j = 0; j < columns; ++j) {
        const unsigned long long word = (unsigned long long)__double_as_longlong((double)number(cells[j]));
        if (word != 0x8000000000000000ull) h ^= word;  // minus zero is zero
        h *= 0xBF58476D1CE4E5B9ull;
        h ^= h >> 29;
    }
    mixed[row] = h;
}
