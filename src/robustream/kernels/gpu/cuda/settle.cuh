// The exact threshold among the few products inside a bracket, and the mean of all that is kept.

constexpr int SETTLERS = 4;    // warps in a block, one pair each
template <typename Real> constexpr int MOST_INSIDE = 12288 / sizeof(Real);

template <typename Real>
__global__ void __launch_bounds__(32 * SETTLERS)
    settle(TABLE_ARGUMENTS, int blocks, int kept, const Real* lows, const Real* highs, FINDING_ARGUMENTS,
           Real* means, int* failures, int* failed) {
    using Bits = typename Order<Real>::Bits;
    const Tables tables = TABLES_OF_ARGUMENTS;
    const Findings<Real> findings = FINDINGS_OF_ARGUMENTS;
    __shared__ Real stores[SETTLERS][MOST_INSIDE<Real>];
    const long long place = blockIdx.x * (long long)SETTLERS + threadIdx.x / 32;
    const long long slab_pairs = (long long)(tables.left_stop - tables.left_first) * tables.right_columns;
    const int lane = threadIdx.x % 32;
    const int i = tables.left_first + int(place / tables.right_columns), j = int(place % tables.right_columns);
    if (place >= slab_pairs || !is_pair(tables, i, j)) return;
    const long long pair = (long long)i * tables.right_columns + j;
    Real* store = stores[threadIdx.x / 32];

    int below = 0, inside = 0, crowded = 0;
    double total = 0.0;
    for (int block = lane; block < blocks; block += 32) {
        const long long fragment = block * slab_pairs + place;
        const int found = findings.found[fragment];
        below += findings.below[fragment];
        total += findings.sums[fragment];
        crowded |= found == 0xffff;
        inside += found;
    }
    int first = inside;  // becomes the sum over the lanes before this one
    for (int distance = 1; distance < 32; distance *= 2) {
        const int before = __shfl_up_sync(0xffffffffu, first, distance);
        if (lane >= distance) first += before;
    }
    first -= inside;
    below = sum_of_warp(below), inside = sum_of_warp(inside), total = sum_of_warp(total);
    crowded = __any_sync(0xffffffffu, crowded) || inside > MOST_INSIDE<Real>;
    const int rank = kept - below;
    bool settled = rank == 0;
    if (!crowded && rank > 0 && rank <= inside) {
        for (int block = lane; block < blocks; block += 32) {
            const long long fragment = block * slab_pairs + place;
            const int found = findings.found[fragment];
            for (int k = 0; k < found; ++k) store[first++] = findings.inside[fragment * findings.capacity + k];
        }
        __syncwarp();
        Bits low = Order<Real>::of(lows[pair]), high = Order<Real>::of(highs[pair]);
        while (low < high) {
            const Bits middle = low + (high - low) / 2;
            int count = 0;
            for (int k = lane; k < inside; k += 32) count += Order<Real>::of(magnitude(store[k])) <= middle;
            if (sum_of_warp(count) >= rank) high = middle;
            else low = middle + 1;
        }
        const Real threshold = Order<Real>::back(low);
        int fewer = 0, tied = 0;
        double sum = 0.0, tied_sum = 0.0;
        for (int k = lane; k < inside; k += 32) {
            const Real product = store[k];
            if (magnitude(product) < threshold) ++fewer, sum += double(product);
            else if (magnitude(product) == threshold) ++tied, tied_sum += double(product);
        }
        fewer = sum_of_warp(fewer), tied = sum_of_warp(tied);
        total += sum_of_warp(sum) + double(rank - fewer) / double(tied) * sum_of_warp(tied_sum);
        settled = true;
    }
    if (rank < 0 && lows[pair] == Order<Real>::back(1)) {  // only zeros are below, and more of them than are kept
        total = 0.0;
        settled = true;
    }
    // Short sums may overflow where the whole does not.
    settled = settled && isfinite(total);
    if (lane) return;
    if (!settled) {
        failed[atomicAdd(failures, 1)] = int(pair);
        return;
    }
    means[pair] = Real(total / kept);
    if (tables.triangle) means[(long long)j * tables.right_columns + i] = Real(total / kept);
}
