// Exact selection digit by digit: slower than brackets, but nothing in the data can mislead it.

constexpr int DIGIT = 11;
constexpr int BINS = 1 << DIGIT;

// Two tables, whole, with the distance between rows and between columns of each.
template <typename Source> struct Strided {
    const Source* table;
    long long row, column;
};
#define STRIDED_ARGUMENTS                                                                                        \
    const Source *left_, long long left_row_, long long left_column_, const Source *right_, long long right_row_, \
        long long right_column_
#define LEFT_OF_ARGUMENTS {left_, left_row_, left_column_}
#define RIGHT_OF_ARGUMENTS {right_, right_row_, right_column_}

template <typename Source, typename Real>
__device__ __forceinline__ Real product_of(Strided<Source> left, Strided<Source> right, long long row, int i, int j) {
    return times(number(left.table[row * left.row + i * left.column]),
                 number(right.table[row * right.row + j * right.column]));
}

// Count the next digit of all products that begin with the digits known so far; pairs along the grid's y.
template <typename Source, typename Real>
__global__ void __launch_bounds__(512)
    tally_products(STRIDED_ARGUMENTS, long long rows, int right_columns, const int* pairs,
                   const typename Order<Real>::Bits* known, int shift, int width, int* histograms) {
    using Bits = typename Order<Real>::Bits;
    __shared__ int bins[BINS];
    const Strided<Source> left = LEFT_OF_ARGUMENTS, right = RIGHT_OF_ARGUMENTS;
    for (int k = threadIdx.x; k < BINS; k += blockDim.x) bins[k] = 0;
    __syncthreads();
    const int pair = pairs[blockIdx.y], i = pair / right_columns, j = pair % right_columns;
    const Bits head = known[blockIdx.y];
    for (long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x; row < rows; row += gridDim.x * blockDim.x) {
        const Bits bits = Order<Real>::of(magnitude(product_of<Source, Real>(left, right, row, i, j)));
        if (shift + width >= Order<Real>::width - 1 || (bits ^ head) >> (shift + width) == 0)
            atomicAdd(bins + int((bits >> shift) & ((Bits(1) << width) - 1)), 1);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < BINS; k += blockDim.x)
        if (bins[k]) atomicAdd(histograms + (long long)blockIdx.y * BINS + k, bins[k]);
}

// A warp for each histogram: the digit that holds the rank, the rank within it, and how many share the digit.
template <typename Bits>
__global__ void pick_digit(int count, int bins, int* histograms, int shift, Bits* known, int* ranks, int* alike) {
    const int which = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (which >= count) return;
    int* histogram = histograms + (long long)which * bins;
    int rank = ranks[which], before = 0;
    for (int first = 0; first < bins; first += 32) {
        const int own = histogram[first + lane];
        histogram[first + lane] = 0;
        int sum = own;
        for (int distance = 1; distance < 32; distance *= 2) {
            const int other = __shfl_up_sync(0xffffffffu, sum, distance);
            if (lane >= distance) sum += other;
        }
        const bool here = before < rank && before + sum >= rank;
        const unsigned found = __ballot_sync(0xffffffffu, here);
        if (found && lane == __ffs(found) - 1) {
            known[which] |= Bits(first + lane) << shift;
            ranks[which] = rank - (before + sum - own);
            alike[which] = own;
        }
        before += __shfl_sync(0xffffffffu, sum, 31);
        if (found) rank = 0;  // found; the rest of the bins is only cleared
    }
}

// With the threshold known: the sum of what is below it and the sum of what ties with it, for each part of the rows.
template <typename Source, typename Real>
__global__ void __launch_bounds__(512)
    sum_products(STRIDED_ARGUMENTS, long long rows, int right_columns, const int* pairs,
                 const typename Order<Real>::Bits* known, double* below, double* tied) {
    __shared__ double sums[2][16];
    const Strided<Source> left = LEFT_OF_ARGUMENTS, right = RIGHT_OF_ARGUMENTS;
    const int pair = pairs[blockIdx.y], i = pair / right_columns, j = pair % right_columns;
    const Real threshold = Order<Real>::back(known[blockIdx.y]);
    double less = 0.0, equal = 0.0;
    for (long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x; row < rows; row += gridDim.x * blockDim.x) {
        const Real product = product_of<Source, Real>(left, right, row, i, j);
        if (magnitude(product) < threshold) less += double(product);
        else if (magnitude(product) == threshold) equal += double(product);
    }
    less = sum_of_warp(less), equal = sum_of_warp(equal);
    if (threadIdx.x % 32 == 0) sums[0][threadIdx.x / 32] = less, sums[1][threadIdx.x / 32] = equal;
    __syncthreads();
    if (threadIdx.x < 2) {
        double total = 0.0;
        for (int warp = 0; warp < 16; ++warp) total += sums[threadIdx.x][warp];
        (threadIdx.x ? tied : below)[(long long)blockIdx.y * gridDim.x + blockIdx.x] = total;
    }
}
