// ⊕ along the rows and along the columns of matrices, in float64.
#include "algebra.cuh"

// The prelude gives T, `value(a)`, the summand of an entry, `add`, `nothing`, its neutral element, and `order`: 1 if greater
// sums weigh more, else −1.
constexpr int warp = 32, height = 8;

// With labels, entries between different labels are left out.
struct Entries {
    const T* A;
    long long n;
    const int* labels;
    __device__ double operator()(long long i, long long j) const {
        return !labels || labels[i] == labels[j] ? value(A[i * n + j]) : nothing();
    }
};
__device__ inline Entries entries(const T* A, int n, const int* labels, long long matrix) {
    return {A + matrix * n * n, n, labels ? labels + matrix * n : nullptr};
}

// Order-preserving map of numbers to unsigned integers, 0 for none.
__device__ inline unsigned long long ordered(double x) {
    const unsigned long long bits = __double_as_longlong(x), sign = 1ull << 63;
    return bits & sign ? ~bits : bits | sign;
}

// ⊕ of `height` numbers for each of 32 columns, by the first warp: to `to`, or the greatest to `greatest`.
__device__ inline void fold(double mine, bool inside, double* to, unsigned long long* greatest) {
    __shared__ double all[height][warp];
    all[threadIdx.x / warp][threadIdx.x % warp] = mine;
    __syncthreads();
    if (threadIdx.x >= warp || !inside) return;
    for (int i = 1; i < height; ++i) mine = add(mine, all[i][threadIdx.x]);
    if (to) *to = mine;
    if (greatest) atomicMax(greatest, ordered(order * mine));
}

// Rows, a warp each; blockIdx.y: the matrix. One of `sums` and `greatest` (a number per matrix) is null.
extern "C" __global__ void __launch_bounds__(warp * height)
    rows(const T* A, int n, const int* labels, double* sums, unsigned long long* greatest) {
    const int i = blockIdx.x * height + threadIdx.x / warp;
    if (i >= n) return;
    const Entries A_of = entries(A, n, labels, blockIdx.y);
    double sum = nothing();
#pragma unroll 8
    for (int j = threadIdx.x % warp; j < n; j += warp) sum = add(sum, A_of(i, j));
    for (int far = warp / 2; far; far /= 2) sum = add(sum, __shfl_xor_sync(~0u, sum, far));
    if (threadIdx.x % warp) return;
    if (sums) sums[(long long)blockIdx.y * n + i] = sum;
    if (greatest) atomicMax(greatest + blockIdx.y, ordered(order * sum));
}

// Columns, 32 per block, `depth` rows from blockIdx.y · depth on; blockIdx.z: the matrix. `sums` has a row per blockIdx.y.
extern "C" __global__ void __launch_bounds__(warp * height)
    columns(const T* A, int n, const int* labels, double* sums, unsigned long long* greatest, int depth) {
    const int j = blockIdx.x * warp + threadIdx.x % warp, end = min(n, (blockIdx.y + 1) * depth);
    const Entries A_of = entries(A, n, labels, blockIdx.z);
    double sum = nothing();
    if (j < n)
#pragma unroll 8
        for (int i = blockIdx.y * depth + threadIdx.x / warp; i < end; i += height) sum = add(sum, A_of(i, j));
    if (sums) sums += ((long long)blockIdx.z * gridDim.y + blockIdx.y) * n + j;
    fold(sum, j < n, sums, greatest ? greatest + blockIdx.z : nullptr);
}

// Columns of one matrix, from `count` partial sums of `columns`.
extern "C" __global__ void __launch_bounds__(warp * height)
    total(const double* parts, int n, double* sums, unsigned long long* greatest, int count) {
    const int j = blockIdx.x * warp + threadIdx.x % warp;
    double sum = nothing();
    if (j < n)
        for (int i = threadIdx.x / warp; i < count; i += height) sum = add(sum, parts[(long long)i * n + j]);
    fold(sum, j < n, sums ? sums + j : nullptr, greatest);
}
