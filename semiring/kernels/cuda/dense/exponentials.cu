// A* over (log(eᵃ + eᵇ), +) as log((exp A)*) over (+, ×) in float64, where exact: the steps around such a closure.
//
//   enter    X ← exp A;  INEXACT if a loop is so near to 1 that 1 − eᵃ loses digits of a
//   judge    of X*:      INEXACT if an entry is neither 0 nor between `low` and `high`, ZEROS if one is 0
//   arcs     P ← 1 where A has an arc, else 0
//   compare  of P*:      INEXACT if X* is 0 although a walk exists
//   leave    A ← log X*
//
// Underflow, of an exponential or a product, is below 2⁻¹⁰²²: at most n² 2⁻¹⁰²² h² of a closure entry, h being the greatest
// entry. So entries from n² 2⁻¹⁰²² h² / eps to h are as exact as sums and products of positive numbers.
//
// The prelude gives T.
#include "common.cuh"

constexpr double high = 0x1p200, low = 0x1p-540;
constexpr double nearest_loop = sizeof(T) == 4 ? -0x1p-20 : -0.125;
static_assert(low >= 0x1p22 * 0x1p-1022 * high * high * 0x1p54, "2¹¹ vertices");

constexpr int threads = 256;
constexpr unsigned INEXACT = 1, ZEROS = 2;
#define FOR_ENTRIES(e, count) \
    for (long long e = blockIdx.x * (long long)threads + threadIdx.x; e < (count); e += gridDim.x * (long long)threads)

extern "C" __global__ void __launch_bounds__(threads, 4) enter(const T* A, long long lda, double* X, int n, unsigned* found) {
    const int i = blockIdx.x;
    for (int j = threadIdx.x; j < n; j += threads) {
        const double a = A[i * lda + j];
        X[(long long)i * n + j] = exp(a);
    }
    if (threadIdx.x == 0 && A[i * lda + i] > T(nearest_loop)) atomicOr(found, INEXACT);
}

extern "C" __global__ void __launch_bounds__(threads) judge(const double* X, long long count, unsigned* found) {
    unsigned mine = 0;
    FOR_ENTRIES(e, count) mine |= X[e] == 0 ? ZEROS : X[e] >= low && X[e] <= high ? 0 : INEXACT;
    if (mine) atomicOr(found, mine);
}

extern "C" __global__ void __launch_bounds__(threads) arcs(const T* A, long long lda, float* P, int n) {
    const int i = blockIdx.x;
    for (int j = threadIdx.x; j < n; j += threads) P[(long long)i * n + j] = A[i * lda + j] != -INFINITY;
}

extern "C" __global__ void __launch_bounds__(threads)
    compare(const double* X, const float* P, int n, unsigned* found) {
    bool lost = false;
    X += (long long)blockIdx.x * n, P += (long long)blockIdx.x * n;
    for (int j = threadIdx.x; j < n; j += threads) lost |= X[j] == 0 && P[j] > 0;
    if (lost) atomicOr(found, INEXACT);
}

extern "C" __global__ void __launch_bounds__(threads) leave(T* A, long long lda, const double* X, int n) {
    const int i = blockIdx.x;
    for (int j = threadIdx.x; j < n; j += threads) A[i * lda + j] = T(log(X[(long long)i * n + j]));
}
