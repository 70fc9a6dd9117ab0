// Rows with what is trimmed set to 0, as sums of short numbers that matrix units multiply exactly by +1 and -1.

__device__ __forceinline__ unsigned short shortened(float value) {
    const unsigned bits = __float_as_uint(value);
    return (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
__device__ __forceinline__ float lengthened(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }

template <typename Source, int parts>
__global__ void split_kept(const Source* table, long long count, int columns, const float* thresholds,
                           const double* shares, unsigned short* target) {
    for (long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x; k < count; k += gridDim.x * (long long)blockDim.x) {
        const int column = int(k % columns);
        const float threshold = thresholds[column];
        float value = number(table[k]);
        if (magnitude(value) > threshold) value = 0.0f;
        else if (magnitude(value) == threshold) value = float(value * shares[column]);
#pragma unroll
        for (int part = 0; part < parts; ++part) {
            const unsigned short bits = shortened(value);
            target[part * count + k] = bits;
            value -= lengthened(bits);
        }
    }
}

template <typename Source> __global__ void shorten(const Source* table, long long count, unsigned short* target) {
    for (long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x; k < count; k += gridDim.x * (long long)blockDim.x)
        target[k] = shortened(number(table[k]));
}
