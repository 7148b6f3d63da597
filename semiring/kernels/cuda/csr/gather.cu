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

// first[t]: the first row that begins at or after tile t.
extern "C" __global__ __launch_bounds__(256) void first_rows(
    const long long* starts, int* first, int rows, int shift, int tiles) {
    const long long i = blockIdx.x * 256LL + threadIdx.x;
    if (i > rows) return;
    const long long from = i ? (starts[i - 1] >> shift) + 1 : 0, to = min(starts[i] >> shift, tiles - 1LL);
    for (long long t = from; t <= to; ++t) first[t] = int(i);
}

// One column: coalesced products to shared memory, then row sums.
constexpr int threads = 256, one_shift = 11, one_tile = 1 << one_shift, items = one_tile / threads;

extern "C" __global__ __launch_bounds__(threads) void gather_one(
    const long long* starts, const int* indices, const T* a, const T* x, T* y, const int* first, T* lead, T* carry,
    int rows, int tiles, long long count) {
    __shared__ T terms[one_tile];
    const int t = blockIdx.x;
    const long long begin = (long long)t << one_shift, end = min(begin + one_tile, count);
    if (end - begin == one_tile) {
        int column[items];
        T left[items];
#pragma unroll
        for (int k = 0; k < items; ++k) {
            const long long p = begin + threadIdx.x + k * threads;
            column[k] = indices[p], left[k] = a[p];
        }
#pragma unroll
        for (int k = 0; k < items; ++k) terms[threadIdx.x + k * threads] = T(times(left[k], x[column[k]]));
    } else {
        for (long long p = begin + threadIdx.x; p < end; p += threads) terms[p - begin] = T(times(a[p], x[indices[p]]));
    }
    const int r0 = first[t], r1 = t + 1 < tiles ? first[t + 1] : rows, total = r1 - r0 + 1;
    int wide = 1; // threads per row
    while (wide < 32 && 2 * wide * total <= threads) wide *= 2;
    __syncthreads();
    for (int base = 0; base < total; base += threads / wide) {
        const int q = base + threadIdx.x / wide, i = r0 + q - 1;
        long long b = begin, e = begin;
        if (q < total) b = q ? starts[i] : begin, e = starts[i + 1];
        const long long cut = min(e, end);
        W sum = S::zero();
        for (long long p = b + threadIdx.x % wide; p < cut; p += wide) sum = S::add(sum, W(terms[p - begin]));
        for (int apart = wide / 2; apart; apart /= 2) sum = S::add(sum, __shfl_xor_sync(0xffffffffu, sum, apart));
        if (q < total && threadIdx.x % wide == 0) {
            if (q == 0) lead[t] = T(sum);
            else if (e <= end) y[i] = T(sum);
            else carry[t] = T(sum);
        }
    }
}

// A warp per tile with a row that continues beyond it: lanes take columns, or the tiles of one column.
extern "C" __global__ __launch_bounds__(threads) void join(
    const long long* starts, const int* first, const T* lead, const T* carry, T* y, int rows, int tiles, int shift,
    int columns) {
    const int t = blockIdx.x * (threads / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (t + 1 >= tiles) return;
    const int r1 = first[t + 1], i = r1 - 1;
    if (r1 == first[t] || starts[r1] <= (t + 1LL) << shift) return;
    const long long last = (starts[r1] - 1) >> shift;
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
