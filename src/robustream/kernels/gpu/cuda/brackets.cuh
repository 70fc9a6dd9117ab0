// Where a pair's threshold should lie: guessed from a sample of the rows, then moved to where counts say.

template <typename Real> constexpr int VALUES = 256 / sizeof(Real);  // of a sample, for each thread of a warp

// A warp for each pair: the quantile of the sampled products, and how far it moves for a change of its rank.
template <typename Real>
__global__ void __launch_bounds__(256)
    guess(const Real* left, const Real* right, int left_columns, int right_columns, int triangle, int rank,
          Real* thresholds, Real* slopes) {
    using Bits = typename Order<Real>::Bits;
    constexpr int size = 32 * VALUES<Real>;
    const long long pair = blockIdx.x * 8LL + threadIdx.x / 32;
    const int i = int(pair / right_columns), j = int(pair % right_columns), lane = threadIdx.x % 32;
    if (i >= left_columns || (triangle && i > j)) return;
    Real values[VALUES<Real>];
#pragma unroll
    for (int k = 0; k < VALUES<Real>; ++k)
        values[k] = magnitude(times(left[(long long)i * size + 32 * k + lane], right[(long long)j * size + 32 * k + lane]));
    auto count = [&](Real limit) {
        float below[4] = {};  // counted where comparisons are not in the way
#pragma unroll
        for (int k = 0; k < VALUES<Real>; ++k)
            if (values[k] < limit) below[k % 4] += 1.0f;
        return sum_of_warp(int(below[0] + below[1] + below[2] + below[3]));
    };
    Bits found = 0;
    // The last bits would not make a guess any better.
    for (int bit = Order<Real>::width - 2; bit >= Order<Real>::width - 22; --bit) {
        const Bits trial = found | (Bits(1) << bit);
        if (trial <= Order<Real>::infinity && count(Order<Real>::back(trial)) <= rank) found = trial;
    }
    const Real middle = Order<Real>::back(found);
    const Real near = middle * Real(0.75), far = middle * Real(1.3333333);
    const int between = count(far) - count(near);
    if (lane == 0) {
        thresholds[pair] = middle;
        slopes[pair] = (far - near) * Real(size) / Real(max(between, 4));
    }
}

// Copy some rows, column by column.
template <typename Source, typename Real>
__global__ void gather(const Source* table, int columns, const long long* rows, int size, Real* target) {
    const int column = blockIdx.x * 32 + threadIdx.x;
    for (int k = blockIdx.y * blockDim.y + threadIdx.y; k < size; k += gridDim.y * blockDim.y)
        if (column < columns) target[(long long)column * size + k] = number(table[rows[k] * columns + column]);
}

// Move thresholds to where the share of smaller products should be right, on the line through two counted places.
template <typename Real>
__global__ void aim(long long pairs, double rows, double share, Real low, Real high, const int* low_counts,
                    const int* high_counts, Real* slopes, Real* thresholds) {
    const long long pair = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (pair >= pairs) return;
    const Real old = thresholds[pair], width = (high - low) * old;
    const Real slope = width * Real(rows) / Real(max(high_counts[pair] - low_counts[pair], 1));
    const Real moved = low * old + Real(share - low_counts[pair] / rows) * slope;
    const Real aimed = min(max(moved, old / 2), old * 2), ratio = old > Real(0) ? aimed / old : Real(1);
    // Farther out values lie farther apart: a usual rate, which the margins need not be exact about.
    slopes[pair] = slope * ratio * sqrt(ratio);
    thresholds[pair] = aimed;
}

// Put a bracket around the place where the threshold must be by now.
template <typename Real>
__global__ void enclose(long long pairs, double rows, double share, double doubt, const Real* slopes, const int* counts,
                        const Real* thresholds, Real* lows, Real* highs) {
    const long long pair = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (pair >= pairs) return;
    const double off = share - counts[pair] / rows, distance = fabs(off);
    // The slope is known up to a share of it, and counts between two places vary with the root of their number.
    const double margin = doubt * distance + 5.0 * sqrt(distance / rows) + 4.0 / rows;
    const Real low = thresholds[pair] + Real(off - margin) * slopes[pair];
    const Real high = thresholds[pair] + Real(off + margin) * slopes[pair];
    // Nothing but 0 is below the smallest number, so that at least the zeros are counted.
    const Real least = Order<Real>::back(1);
    lows[pair] = max(low, least);
    highs[pair] = max(high, least);
}
