// A ← A ⊕ A[:,k] ⊗ s ⊗ A[k,:] with s = A[k,k]*: one Floyd–Warshall step on the entire matrix, `rows_each` rows per thread.
//
// `row` and `col` are row and column k of A, in place or copied by `snapshot`. In place suffices if ⊕ is idempotent:
// s ⊗ x is x then (or, if s is not one, may be multiplied by s again), so that the order of threads does not matter.
//
// `access`: 0, a warp along a row, row and column k from global memory; 1, the same through shared memory; 2, a warp down
// a column, so that each thread reads its own sector.
#include "algebra.cuh"

using T = Step::T;
using W = Step::W;

extern "C" __global__ void __launch_bounds__(256)
    step(T* A, long long ld, int n, int k, const T* row, const T* col, long long col_stride) {
    const int across = blockIdx.x * 64 + threadIdx.x % 64, down = (blockIdx.y * 4 + threadIdx.x / 64) * rows_each;
    const int j = access == 2 ? down : across, first = access == 2 ? across : down;
    __shared__ T part_of_row[64], part_of_col[4 * rows_each];
    if constexpr (access == 1) {
        const int i = blockIdx.y * 4 * rows_each + threadIdx.x;
        if (threadIdx.x < 64 && across < n) part_of_row[threadIdx.x] = row[across];
        if (threadIdx.x < 4 * rows_each && i < n) part_of_col[threadIdx.x] = col[i * col_stride];
        __syncthreads();
    }
    if (j >= n) return;
    const W s = Step::star(W(row[k])), right = Step::mul(s, W(access == 1 ? part_of_row[threadIdx.x % 64] : row[j]));
#pragma unroll
    for (int e = 0; e < rows_each; ++e) {
        const int i = first + e;
        if (i >= n) return;
        const W left = W(access == 1 ? part_of_col[threadIdx.x / 64 * rows_each + e] : col[i * col_stride]);
        T& a = A[i * ld + j];
        W value;
        if (i == k) value = j == k ? s : right;
        else value = j == k ? Step::mul(left, s) : Step::add(W(a), Step::mul(left, right));
        if (T(value) != a) a = T(value);
    }
}

// row ← A[k,:], col ← A[:,k]
extern "C" __global__ void __launch_bounds__(256) snapshot(const T* A, long long ld, int n, int k, T* row, T* col) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    row[i] = A[k * ld + i];
    col[i] = A[i * ld + k];
}
