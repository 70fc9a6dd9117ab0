// Passes over all rows for a tile of pairs of columns: count below thresholds; count, sum and collect by brackets.
//
// A thread owns 4 x 4 pairs, with their thresholds and sums in registers. The rows go through shared memory, from
// which all threads of a block read the same row at the same time. Nothing is shared between threads, so results do
// not depend on their order.

constexpr int SIDE = 4;
constexpr int PAIRS = SIDE * SIDE;
constexpr int THREADS = 352;  // at most, in a block
constexpr int PITCH = PAIRS + 1;  // of what a thread has in shared memory: odd, so that banks do not collide
constexpr int ROWS = 32;  // in one stage; an even number
// Counts of one stage are packed as digits of a float: exact, in few registers, and not in the way of comparisons.
constexpr int PACKED = 4;
constexpr int BASE = 64;
static_assert(ROWS < BASE && ROWS % 2 == 0, "a digit must hold the count of a stage");
__device__ constexpr float unit_of(int k) {
    return k % PACKED == 0 ? 1.0f : k % PACKED == 1 ? 64.0f : k % PACKED == 2 ? 4096.0f : 262144.0f;
}

struct Tables {
    long long rows;
    int left_columns, right_columns;  // of the whole tables
    int left_width, right_width;      // of a panel: whole groups of SIDE columns
    int same;                         // one panel serves both sides
    int triangle;                     // leave out panels below the diagonal
    int skip;                         // take one stage out of so many
    int left_first;                   // where the slab of left columns that is worked on begins
    int left_stop;
};

// Kernels take plain numbers only; this is the struct as a list of arguments, and the struct made of them.
#define TABLE_ARGUMENTS                                                                                          \
    long long rows_, int left_columns_, int right_columns_, int left_width_, int right_width_, int same_,        \
        int triangle_, int skip_, int left_first_, int left_stop_
#define TABLES_OF_ARGUMENTS                                                                                      \
    {rows_, left_columns_, right_columns_, left_width_, right_width_, same_, triangle_, skip_, left_first_,      \
     left_stop_}

// Copies from memory to shared memory that run on their own; half precision is converted on the way and does not.
template <int bytes> __device__ __forceinline__ void send(void* target, const void* source) {
    unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(target));
    if (bytes == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(source));
    else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(place), "l"(source), "n"(bytes));
}
__device__ __forceinline__ void await_copies() {
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 0;");
}
template <int count> __device__ __forceinline__ void copy(float* target, const float* source) {
    send<4 * count>(target, source);
}
template <int count> __device__ __forceinline__ void copy(double* target, const double* source) {
    send<count == 1 ? 8 : 16>(target, source);
    if (count == SIDE) send<16>(target + 2, source + 2);
}
template <int count> __device__ __forceinline__ void copy(float* target, const Half* source) {
    if (count == 1) {
        *target = number(*source);
    } else {
        const ushort4 four = *reinterpret_cast<const ushort4*>(source);
        *reinterpret_cast<float4*>(target) =
            make_float4(number(Half{four.x}), number(Half{four.y}), number(Half{four.z}), number(Half{four.w}));
    }
}

// Bring one panel of one stage into shared memory, `count` columns at a time; columns beyond the table become 0.
template <int count, typename Real, typename Source>
__device__ __forceinline__ void stage_panel(const Source* table, int columns, int first, int width, long long first_row,
                                            int rows, Real* target, int pitch) {
    const int chunks = width / count, row_step = blockDim.x / chunks, column_step = blockDim.x % chunks * count;
    int row = threadIdx.x / chunks, column = threadIdx.x % chunks * count;
    const Source* from = table + (first_row + row) * columns + first + column;
    Real* to = target + row * pitch + column;
    const int from_step = row_step * columns + column_step, to_step = row_step * pitch + column_step;
    while (row < rows) {
        if (first + column < columns) copy<count>(to, from);
        else
            for (int k = 0; k < count; ++k) to[k] = Real(0);
        row += row_step, column += column_step, from += from_step, to += to_step;
        if (column >= width) column -= width, ++row, from += columns - width, to += pitch - width;
    }
}
template <typename Real, typename Source>
__device__ __forceinline__ void stage_panel(const Source* table, int columns, int first, int width, long long first_row,
                                            int rows, Real* target, int pitch) {
    // Whole groups wherever they begin at places that allow it.
    if (columns % SIDE == 0 && reinterpret_cast<unsigned long long>(table) % 16 == 0)
        stage_panel<SIDE>(table, columns, first, width, first_row, rows, target, pitch);
    else
        stage_panel<1>(table, columns, first, width, first_row, rows, target, pitch);
}

__device__ __forceinline__ void load_group(const float* place, float* values) {
    float4 four = *reinterpret_cast<const float4*>(place);
    values[0] = four.x, values[1] = four.y, values[2] = four.z, values[3] = four.w;
}
__device__ __forceinline__ void load_group(const double* place, double* values) {
    double2 first = reinterpret_cast<const double2*>(place)[0], second = reinterpret_cast<const double2*>(place)[1];
    values[0] = first.x, values[1] = first.y, values[2] = second.x, values[3] = second.y;
}

// Where a thread works: its groups within the panels, and its first pair in the whole tables.
struct Post {
    int left, right, i, j, pitch;
};
__device__ __forceinline__ Post take_post(const Tables& tables, const int* tiles) {
    const int tile = tiles[threadIdx.x], left = (tile >> 16) * SIDE, right = (tile & 0xffff) * SIDE;
    const int pitch = tables.same ? tables.left_width : tables.left_width + tables.right_width;
    return {left, tables.same ? right : tables.left_width + right,
            tables.left_first + int(blockIdx.y) * tables.left_width + left, int(blockIdx.z) * tables.right_width + right,
            pitch};
}
__device__ __forceinline__ bool is_pair(const Tables& tables, int i, int j) {
    return i < tables.left_stop && j < tables.right_columns && !(tables.triangle && i > j);
}
__device__ __forceinline__ bool has_work(const Tables& tables) {
    return !tables.triangle || tables.left_first + int(blockIdx.y) * tables.left_width <
                                   int(blockIdx.z + 1) * tables.right_width;
}

// Call work(lines, rows) for each stage of this block, the next one being on its way meanwhile.
template <typename Real, typename Source, typename Work>
__device__ __forceinline__ void for_stages(const Tables& tables, const Source* left, const Source* right, int pitch,
                                           Real* buffers, Work work) {
    const long long stages = (tables.rows + ROWS - 1) / ROWS, step = (long long)gridDim.x * tables.skip;
    const int left_first = tables.left_first + blockIdx.y * tables.left_width;
    auto bring = [&](long long stage, int which) {
        if (stage < stages) {
            const long long first_row = stage * ROWS;
            const int rows = int(min((long long)ROWS, tables.rows - first_row));
            Real* target = buffers + which * ROWS * pitch;
            stage_panel(left, tables.left_columns, left_first, tables.left_width, first_row, rows, target, pitch);
            if (!tables.same)
                stage_panel(right, tables.right_columns, int(blockIdx.z) * tables.right_width, tables.right_width,
                            first_row, rows, target + tables.left_width, pitch);
            // Rows are passed in twos. A row of numbers that compare with nothing makes an odd number even.
            if (rows % 2)
                for (int k = threadIdx.x; k < pitch; k += blockDim.x)
                    target[rows * pitch + k] = Order<Real>::back(Order<Real>::infinity | 1);
        }
    };
    long long stage = (long long)blockIdx.x * tables.skip;
    bring(stage, 0);
    for (int which = 0; stage < stages; stage += step, which ^= 1) {
        await_copies();
        // All have this stage now, and all are done with the one whose place the next one takes.
        __syncthreads();
        bring(stage + step, which ^ 1);
        work(buffers + which * ROWS * pitch, int(min((long long)ROWS, tables.rows - stage * ROWS)));
    }
}

// Count the products below a multiple of a threshold for each pair.
template <typename Source, typename Real>
__global__ void __launch_bounds__(THREADS, sizeof(Real) == 4 ? 2 : 1)
    count_below(TABLE_ARGUMENTS, const Source* left, const Source* right, const int* tiles, const Real* thresholds,
                Real factor, int* counts) {
    extern __shared__ __align__(16) unsigned char memory[];
    const Tables tables = TABLES_OF_ARGUMENTS;
    if (!has_work(tables)) return;
    const Post post = take_post(tables, tiles);
    Real limit[PAIRS];
    float below[PAIRS];
#pragma unroll
    for (int k = 0; k < PAIRS; ++k) {
        const int i = post.i + k / SIDE, j = post.j + k % SIDE;
        below[k] = 0.0f;
        // Nothing is below 0: places that are no pair count nothing.
        limit[k] = is_pair(tables, i, j) ? factor * thresholds[(long long)i * tables.right_columns + j] : Real(0);
    }
    for_stages<Real>(tables, left, right, post.pitch, reinterpret_cast<Real*>(memory), [&](const Real* lines, int rows) {
        auto pass = [&](const Real* line) {
            Real a[SIDE], b[SIDE];
            load_group(line + post.left, a);
            load_group(line + post.right, b);
#pragma unroll
            for (int k = 0; k < PAIRS; ++k)
                if (magnitude(times(a[k / SIDE], b[k % SIDE])) < limit[k]) below[k] += 1.0f;
        };
        const Real* end = lines + rows * post.pitch;
        for (const Real* line = lines; line < end; line += 2 * post.pitch) pass(line), pass(line + post.pitch);
    });
#pragma unroll
    for (int k = 0; k < PAIRS; ++k) {
        const int i = post.i + k / SIDE, j = post.j + k % SIDE;
        if (is_pair(tables, i, j)) atomicAdd(counts + (long long)i * tables.right_columns + j, int(below[k]));
    }
}

// What the pass by brackets leaves behind, for each block of rows and each pair of the slab.
template <typename Real> struct Findings {
    int* below;
    double* sums;
    unsigned short* found;  // how many lay inside the bracket
    Real* inside;           // the first `capacity` of them
    int capacity;
};

#define FINDING_ARGUMENTS int *below_, double *sums_, unsigned short *found_, Real *inside_, int capacity_
#define FINDINGS_OF_ARGUMENTS {below_, sums_, found_, inside_, capacity_}

// Count and sum the products below each pair's bracket and collect those inside.
template <typename Source, typename Real>
__global__ void __launch_bounds__(THREADS, sizeof(Real) == 4 ? 2 : 1)
    collect_inside(TABLE_ARGUMENTS, const Source* left, const Source* right, const int* tiles, const Real* lows,
                   const Real* highs, FINDING_ARGUMENTS) {
    extern __shared__ __align__(16) unsigned char memory[];
    const Tables tables = TABLES_OF_ARGUMENTS;
    const Findings<Real> findings = FINDINGS_OF_ARGUMENTS;
    if (!has_work(tables)) return;
    const Post post = take_post(tables, tiles);
    Real* buffers = reinterpret_cast<Real*>(memory);
    unsigned char* rest = memory + 2 * ROWS * post.pitch * sizeof(Real);
    double* totals = reinterpret_cast<double*>(rest) + threadIdx.x * PITCH;
    rest += blockDim.x * PITCH * sizeof(double);
    int* counts = reinterpret_cast<int*>(rest) + threadIdx.x * PITCH;
    rest += blockDim.x * PITCH * sizeof(int);
    unsigned short* cursors = reinterpret_cast<unsigned short*>(rest) + threadIdx.x * PITCH;
    Real low[PAIRS], high[PAIRS], sum[PAIRS];
    float below[PAIRS / PACKED];
#pragma unroll
    for (int k = 0; k < PAIRS; ++k) {
        const int i = post.i + k / SIDE, j = post.j + k % SIDE;
        const long long pair = (long long)i * tables.right_columns + j;
        const bool real = is_pair(tables, i, j);
        low[k] = real ? lows[pair] : Real(0);
        high[k] = real ? highs[pair] : Real(0);
        sum[k] = Real(0), below[k / PACKED] = 0.0f;
        totals[k] = 0.0;
        counts[k] = 0;
        cursors[k] = 0;
    }
    const long long slab_pairs = (long long)(tables.left_stop - tables.left_first) * tables.right_columns;
    const long long base =
        blockIdx.x * slab_pairs + (long long)(post.i - tables.left_first) * tables.right_columns + post.j;

    // The pairs whose product lies inside, as bits of a float: that is no work for the units that compare.
    auto pass = [&](const Real* line) {
        Real a[SIDE], b[SIDE];
        load_group(line + post.left, a);
        load_group(line + post.right, b);
        float mask = 0.0f;
#pragma unroll
        for (int k = 0; k < PAIRS; ++k) {
            const Real product = times(a[k / SIDE], b[k % SIDE]);
            if (magnitude(product) < low[k]) {
                sum[k] += product;
                below[k / PACKED] += unit_of(k);
            } else if (magnitude(product) < high[k]) {
                mask += float(1 << k);
            }
        }
        return mask;
    };
    for_stages<Real>(tables, left, right, post.pitch, buffers, [&](const Real* lines, int rows) {
        const Real* end = lines + rows * post.pitch;
        for (const Real* line = lines; line < end; line += 2 * post.pitch) {
            const float first = pass(line), second = pass(line + post.pitch);
            if (first + second == 0.0f) continue;
            unsigned mask = unsigned(first) | unsigned(second) << PAIRS;
            // Few products lie inside, so that they are worked out once more and no register waits for them.
            while (mask) {
                const int bit = __ffs(mask) - 1, k = bit % PAIRS;
                mask &= mask - 1;
                const Real* place = line + (bit / PAIRS) * post.pitch;
                const Real product = times(place[post.left + k / SIDE], place[post.right + k % SIDE]);
                const int found = cursors[k];
                if (found < findings.capacity) {
                    const long long fragment = base + (long long)(k / SIDE) * tables.right_columns + k % SIDE;
                    findings.inside[fragment * findings.capacity + found] = product;
                    cursors[k] = found + 1;
                } else {
                    cursors[k] = 0xffff;  // too many; no capacity is as large
                }
            }
        }
        // Short sums in the type of the input, long ones in double precision.
#pragma unroll
        for (int k = 0; k < PAIRS; ++k) {
            totals[k] += double(sum[k]);
            sum[k] = Real(0);
            counts[k] += (unsigned(below[k / PACKED]) >> (6 * (k % PACKED))) & (BASE - 1);
            if (k % PACKED == PACKED - 1) below[k / PACKED] = 0.0f;
        }
    });
#pragma unroll
    for (int k = 0; k < PAIRS; ++k) {
        if (!is_pair(tables, post.i + k / SIDE, post.j + k % SIDE)) continue;
        const long long fragment = base + (long long)(k / SIDE) * tables.right_columns + k % SIDE;
        findings.below[fragment] = counts[k];
        findings.sums[fragment] = totals[k];
        findings.found[fragment] = cursors[k];
    }
}
