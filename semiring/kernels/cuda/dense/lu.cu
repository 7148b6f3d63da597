// A = L U without pivoting, by blocks of 64: D = L U in one thread block, the panels by substitution; the trailing product
// is gemm.cuh's.
//
//   factor   D ← L \ U; reports the first vanishing or non-finite pivot
//   panels   R ← L⁻¹ R   and   C ← C U⁻¹, N ← −C
//
// The prelude gives T.
#include "common.cuh"

constexpr int size = 64, threads = 256;
constexpr T tiny = sizeof(T) == 4 ? 0x1p-126 : 0x1p-1022;

struct Failure {
    int row;  // −1: none
    double pivot;
};

extern "C" __global__ void __launch_bounds__(threads) factor(T* D, long long ld, int n, int first, Failure* failure) {
    __shared__ T d[size][size + 1];
    const int x = threadIdx.x % size, y = threadIdx.x / size;
    for (int i = y; i < n; i += threads / size)
        if (x < n) d[i][x] = D[i * ld + x];
    for (int k = 0; k < n; ++k) {
        __syncthreads();
        const T pivot = d[k][k];
        if (threadIdx.x == 0 && !(abs(pivot) >= tiny && abs(pivot) < T(INFINITY)) && failure->row < 0)
            *failure = {first + k, double(pivot)};
        if (threadIdx.x > k && threadIdx.x < n) d[threadIdx.x][k] /= pivot;
        __syncthreads();
        if (x > k && x < n)
            for (int i = k + 1 + y; i < n; i += threads / size) d[i][x] -= d[i][k] * d[k][x];
    }
    __syncthreads();
    for (int i = y; i < n; i += threads / size)
        if (x < n) D[i * ld + x] = d[i][x];
}

// x ← M⁻¹ x for lower triangular M, with unit or stored diagonal.
template <bool unit>
__device__ inline void substitute(T (&x)[size], const T (&M)[size][size + 1]) {
#pragma unroll
    for (int k = 0; k < size; ++k) {
        if (!unit) x[k] /= M[k][k];
#pragma unroll
        for (int i = k + 1; i < size; ++i) x[i] -= M[i][k] * x[k];
    }
}

// The first ⌈rest / 64⌉ blocks take 64 columns of R each, the others 64 rows of C; one per thread.
extern "C" __global__ void __launch_bounds__(size)
    panels(const T* D, T* R, T* C, long long ld, T* N, int rest) {
    __shared__ T M[size][size + 1];
    const int tiles = (rest + size - 1) / size, me = threadIdx.x;
    const bool right = blockIdx.x < tiles;
    const int first = (right ? blockIdx.x : blockIdx.x - tiles) * size, count = min(size, rest - first);
    for (int i = 0; i < size; ++i) (right ? M[i][me] : M[me][i]) = D[i * ld + me];
    T x[size];
    if (right) {
        __syncthreads();
        if (me >= count) return;
#pragma unroll
        for (int i = 0; i < size; ++i) x[i] = R[i * ld + first + me];
        substitute<true>(x, M);
#pragma unroll
        for (int i = 0; i < size; ++i) R[i * ld + first + me] = x[i];
        return;
    }
    __syncthreads();
    if (me >= count) return;
    T *row = C + (first + me) * ld, *negative = N + (long long)(first + me) * size;
#pragma unroll
    for (int j = 0; j < size; ++j) x[j] = row[j];
    substitute<false>(x, M);
#pragma unroll
    for (int j = 0; j < size; ++j) row[j] = x[j], negative[j] = -x[j];
}
