// Y = A X for sparse A and dense X with gathered rows, or X A with swapped operands of ⊗.
//
// Entries of A are cut into tiles of 2^shift regardless of rows, so that hub rows and empty rows cost the same. A row
// belongs to the tile in which it begins. A tile writes partial sums of a row begun earlier to `lead`, of one that
// continues to `carry`, and `join` adds these in order: results are bitwise reproducible.
#include "algebra.cuh"

using S = Algebra;
using T = S::T;
using W = S::W;

__device__ inline W times(T a, T x) { return mirrored ? S::mul(W(a), W(x)) : S::mul(W(x), W(a)); }

#include "numbers.inl"

__device__ inline int row_of(int first, int rows) { return min(max(first, 0), rows); }

// first[t]: the first row that begins at or after tile t; arbitrary if starts do not ascend.
extern "C" __global__ __launch_bounds__(256) void first_rows(
    const void* row_starts, int* first, int rows, int shift, int tiles, int wide) {
    const Numbers starts = {row_starts, wide};
    const long long i = blockIdx.x * 256LL + threadIdx.x;
    if (i > rows) return;
    const long long from = i ? (starts[i - 1] >> shift) + 1 : 0, to = min(starts[i] >> shift, tiles - 1LL);
    for (long long t = max(from, 0LL); t <= to; ++t) first[t] = int(i);
}

// y[i] ← parts of the row that continues beyond tile t, by a warp: lanes take columns, or the tiles of one column.
__device__ inline void join_row(
    int t, const Numbers& starts, const int* first, const T* lead, const T* carry, T* y, int rows, int tiles, int shift,
    int columns) {
    const int lane = threadIdx.x % 32, r1 = row_of(first[t + 1], rows), i = r1 - 1;
    if (r1 <= row_of(first[t], rows) || starts[r1] <= (t + 1LL) << shift) return;
    const long long last = min((starts[r1] - 1) >> shift, tiles - 1LL);
    if (columns > 1) {
        for (int c = lane; c < columns; c += 32) {
            W sum = carry[(long long)t * columns + c];
            for (long long k = t + 1; k <= last; ++k) sum = S::add(sum, W(lead[k * columns + c]));
            y[(long long)i * columns + c] = T(sum);
        }
        return;
    }
    W sum = lane ? S::zero() : W(carry[t]);
    for (long long k = t + 1 + lane; k <= last; k += 32) sum = S::add(sum, W(lead[k]));
    for (int apart = 16; apart; apart /= 2) sum = S::add(sum, __shfl_xor_sync(0xffffffffu, sum, apart));
    if (lane == 0) y[i] = T(sum);
}

extern "C" __global__ __launch_bounds__(256) void join(
    const void* row_starts, const int* first, const T* lead, const T* carry, T* y, int rows, int tiles, int shift,
    int columns, int wide) {
    const int t = blockIdx.x * 8 + threadIdx.x / 32;
    if (t + 1 < tiles) join_row(t, {row_starts, wide}, first, lead, carry, y, rows, tiles, shift, columns);
}

// One column: coalesced products to shared memory, then row sums.
constexpr int threads = 256, one_shift = 11, one_tile = 1 << one_shift, items = one_tile / threads;

// First of `rows` + 1 starts at or after `entry`, by all threads of a block; `rows` if there is none.
__device__ inline int first_from(const Numbers& starts, int rows, long long entry) {
    int low = 0, high = rows; // the answer lies between
    while (low < high) {
        const int apart = (high - low - 1) / threads + 1;
        const long long i = low + (long long)threadIdx.x * apart;
        const int before = __syncthreads_count(i < high && starts[i] < entry);
        high = before < threads ? (int)min((long long)high, low + (long long)before * apart) : high;
        low = before ? low + (before - 1) * apart + 1 : low;
    }
    return low;
}

// `searched`: whether blocks find their first rows. `done`: if given, a counter, 0 before and after; the last block joins
// rows of several tiles. Operands are checked on the way if `wrong` is given: it becomes 1, and y means nothing, unless
// starts ascend from 0 to at most `count`, indices are below `columns`, and entries lie in the semiring's domain.
extern "C" __global__ __launch_bounds__(threads) void gather_one(
    const void* row_starts, const void* indices, const T* a, const T* x, T* y, int* first, T* lead, T* carry, int rows,
    int tiles, long long count, int wide, int wide_indices, int searched, int columns, int* wrong, unsigned* done) {
    __shared__ T terms[one_tile];
    __shared__ bool last;
    const Numbers starts = {row_starts, wide}, heads = {indices, wide_indices};
    const auto head = [&](long long p) { return int(min((unsigned long long)heads[p], 0x7fffffffULL)); };
    const int t = blockIdx.x;
    const long long used = wrong ? min(max(starts[rows], 0LL), count) : count;
    const long long begin = (long long)t << one_shift, end = min(begin + one_tile, used);
    bool bad = false;
    if (wrong) {
        const long long from = t * 256LL + threadIdx.x, apart = gridDim.x * 256LL;
        for (long long i = from; i < rows; i += apart) bad |= starts[i + 1] < starts[i];
        for (long long i = from; i < columns; i += apart) bad |= outside(x[i]);
        bad |= from == 0 && (starts[0] != 0 || starts[rows] > count);
    }
    const int width = wrong ? columns : 0x7fffffff;
    const auto term = [&](T left, int column) {
        const bool inside = column < width;
        bad |= !inside || (wrong && outside(left));
        return T(times(left, x[inside ? column : 0]));
    };
    if (end - begin == one_tile) {
        int column[items];
        T left[items];
#pragma unroll
        for (int k = 0; k < items; ++k) {
            const long long p = begin + threadIdx.x + k * threads;
            column[k] = head(p), left[k] = a[p];
        }
#pragma unroll
        for (int k = 0; k < items; ++k) terms[threadIdx.x + k * threads] = term(left[k], column[k]);
    } else {
        for (long long p = begin + threadIdx.x; p < end; p += threads) terms[p - begin] = term(a[p], head(p));
    }
    if (bad && wrong) *wrong = 1;
    int r0 = rows, r1 = rows; // first rows of this tile and of the next
    if (searched) {
        if (begin < used || t == 0) r0 = first_from(starts, rows, begin);
        if (begin + one_tile < used && t + 1 < tiles) r1 = first_from(starts, rows, begin + one_tile);
        if (threadIdx.x == 0) first[t] = r0;
    } else {
        r0 = row_of(first[t], rows), r1 = t + 1 < tiles ? row_of(first[t + 1], rows) : rows;
    }
    const int total = begin < used || t == 0 ? r1 - r0 + 1 : 0;
    int lanes = 1; // per row
    while (lanes < 32 && 2 * lanes * total <= threads) lanes *= 2;
    __syncthreads();
    for (int base = 0; base < total; base += threads / lanes) {
        const int q = base + threadIdx.x / lanes, i = r0 + q - 1;
        long long b = begin, e = begin;
        if (q < total) b = q ? min(max(starts[i], begin), end) : begin, e = starts[i + 1];
        const long long cut = min(e, end);
        W sum = S::zero();
        for (long long p = b + threadIdx.x % lanes; p < cut; p += lanes) sum = S::add(sum, W(terms[p - begin]));
        for (int apart = lanes / 2; apart; apart /= 2) sum = S::add(sum, __shfl_xor_sync(0xffffffffu, sum, apart));
        if (q < total && threadIdx.x % lanes == 0) {
            if (q == 0) lead[t] = T(sum);
            else if (e <= end) y[i] = T(sum);
            else carry[t] = T(sum);
        }
    }
    if (!done) return;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (int k = threadIdx.x / 32; k + 1 < tiles; k += threads / 32)
        join_row(k, starts, first, lead, carry, y, rows, tiles, one_shift, 1);
}

// Several columns: `group` lanes of a warp take `vec` columns each of a row of X; groups take entries in turn.
struct alignas(sizeof(T) * vec) Columns { T item[vec]; };
constexpr int groups = 32 / group;

extern "C" __global__ __launch_bounds__(threads) void gather_many(
    const long long* starts, const int* indices, const T* a, const T* x, T* y, const int* first, T* lead, T* carry,
    int rows, int tiles, int shift, long long count, int columns) {
    const int t = blockIdx.x * (threads / 32) + threadIdx.x / 32, lane = threadIdx.x % 32, turn = lane / group;
    if (t >= tiles) return;
    const int column = (blockIdx.y * group + lane % group) * vec;
    const bool inside = column < columns;
    const long long begin = (long long)t << shift, end = min(begin + (1LL << shift), count);
    const int r0 = first[t], r1 = t + 1 < tiles ? first[t + 1] : rows;
    x += inside ? column : 0;
    long long b = begin;
    for (int i = r0 - 1; i < r1; ++i) {
        const long long e = i + 1 <= rows ? starts[i + 1] : count, cut = min(e, end);
        W sum[vec];
#pragma unroll
        for (int c = 0; c < vec; ++c) sum[c] = S::zero();
        for (long long p = b + turn; p < cut; p += groups) {
            const Columns gathered = *reinterpret_cast<const Columns*>(x + (long long)indices[p] * columns);
            const T left = a[p];
#pragma unroll
            for (int c = 0; c < vec; ++c) sum[c] = S::add(sum[c], times(left, gathered.item[c]));
        }
#pragma unroll
        for (int apart = group; apart < 32; apart *= 2)
#pragma unroll
            for (int c = 0; c < vec; ++c) sum[c] = S::add(sum[c], __shfl_xor_sync(0xffffffffu, sum[c], apart));
        if (turn == 0 && inside) {
            Columns out;
#pragma unroll
            for (int c = 0; c < vec; ++c) out.item[c] = T(sum[c]);
            T* to = i < r0 ? lead + (long long)t * columns : e <= end ? y + (long long)i * columns : carry + (long long)t * columns;
            *reinterpret_cast<Columns*>(to + column) = out;
        }
        b = e;
    }
}
