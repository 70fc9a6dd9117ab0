// Exact order statistics of every column, digit by digit. A lane owns a column, so that no two lanes of a warp ever
// meet in a bin or in a bank of shared memory.

constexpr int LANES = 32;
constexpr int SMALL_DIGIT = 8;
constexpr int SMALL_BINS = 1 << SMALL_DIGIT;

enum What { AS_IT_IS, MAGNITUDE, DEVIATION };

template <int what, typename Real>
__device__ __forceinline__ typename Order<Real>::Bits key_of(Real value, Real center) {
    if (what == AS_IT_IS) return signed_order(value);
    return Order<Real>::of(magnitude(what == MAGNITUDE ? value : value - center));
}

template <typename Source, typename Real, int what>
__global__ void __launch_bounds__(512)
    tally_columns(const Source* table, long long rows, int columns, const Real* centers,
                  const typename Order<Real>::Bits* known, int shift, int* histograms) {
    using Bits = typename Order<Real>::Bits;
    __shared__ int bins[SMALL_BINS][LANES];
    const int lane = threadIdx.x % LANES, column = blockIdx.y * LANES + lane;
    for (int k = threadIdx.x; k < SMALL_BINS * LANES; k += blockDim.x) bins[k / LANES][k % LANES] = 0;
    __syncthreads();
    if (column < columns) {
        const Real center = what == DEVIATION ? centers[column] : Real(0);
        const Bits head = known[column];
        const bool all = shift + SMALL_DIGIT >= Order<Real>::width;
        const long long step = (long long)gridDim.x * (blockDim.x / LANES);
        long long row = (long long)blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES;
        auto enter = [&](Real value) {
            const Bits bits = key_of<what>(value, center);
            if (all || (bits ^ head) >> (shift + SMALL_DIGIT) == 0)
                atomicAdd(&bins[int(bits >> shift) & (SMALL_BINS - 1)][lane], 1);
        };
        for (; row + 7 * step < rows; row += 8 * step) {
            Real values[8];
#pragma unroll
            for (int k = 0; k < 8; ++k) values[k] = number(table[(row + k * step) * columns + column]);
#pragma unroll
            for (int k = 0; k < 8; ++k) enter(values[k]);
        }
        for (; row < rows; row += step) enter(number(table[row * columns + column]));
    }
    __syncthreads();
    for (int k = threadIdx.x; k < SMALL_BINS * LANES; k += blockDim.x) {
        const int own = bins[k / LANES][k % LANES], target = blockIdx.y * LANES + k % LANES;
        if (own && target < columns) atomicAdd(histograms + (long long)target * SMALL_BINS + k / LANES, own);
    }
}

// The smallest key above the one that is known, for each column: the second of two middle values.
template <typename Source, typename Real, int what>
__global__ void __launch_bounds__(512)
    next_above(const Source* table, long long rows, int columns, const Real* centers,
               const typename Order<Real>::Bits* known, typename Order<Real>::Bits* next) {
    using Bits = typename Order<Real>::Bits;
    const int column = blockIdx.y * LANES + threadIdx.x % LANES;
    if (column >= columns) return;
    const Real center = what == DEVIATION ? centers[column] : Real(0);
    const Bits floor = known[column];
    Bits least = ~Bits(0);
    const long long step = (long long)gridDim.x * (blockDim.x / LANES);
    for (long long row = (long long)blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES; row < rows; row += step) {
        const Bits bits = key_of<what>(Real(number(table[row * columns + column])), center);
        if (bits > floor && bits < least) least = bits;
    }
    if (least != ~Bits(0)) atomicMin(next + column, least);
}

template <typename Real, int what>
__global__ void values_of(int columns, const typename Order<Real>::Bits* keys, Real* values) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column < columns) values[column] = what == AS_IT_IS ? signed_back<Real>(keys[column]) : Order<Real>::back(keys[column]);
}
