// C ← log Σₖ exp(aᵢₖ + bₖⱼ), or that added to C, relative to each sum's largest term, for any entries.
//
// A thread block computes side × side entries, a thread tm × tm. Per `deep` values of k, one pass over shared memory finds
// the largest terms, another adds exponentials. With `flags`, one per 128 × 128 entries, only flagged tiles are computed.
#include "sums.cuh"

__device__ inline double power(double x) { return exp(x); }
__device__ inline float power(float x) {
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(x) : "f"(x * 1.4426950408889634f));
    return x;
}
constexpr float lowest(float) { return -3.402823466e38f; }
constexpr double lowest(double) { return -1.7976931348623157e308; }

constexpr int across = side / tm, threads = across * across, deep = 128 / sizeof(T), together = sizeof(T) == 4 ? 4 : 2;
constexpr int padding = 4, flagged = 128;
struct alignas(tm * sizeof(T) > 16 ? 16 : tm * sizeof(T)) Row {
    T item[tm];
};

extern "C" __global__ void __launch_bounds__(threads)
    product(T* C, long long ldc, long long c_stride, const T* A, long long lda, long long a_stride, const T* B, long long ldb,
            long long b_stride, int m, int n, int k, int accumulate, const unsigned char* flags) {
    __shared__ __align__(16) T a[deep][side + padding], b[deep][side + padding];
    const int columns = (n + side - 1) / side;
    const int row0 = blockIdx.x / columns * side, column0 = blockIdx.x % columns * side;
    const long long batch = blockIdx.y;
    if (flags) {
        const long long down = (m + flagged - 1) / flagged, right = (n + flagged - 1) / flagged;
        if (!flags[(batch * down + row0 / flagged) * right + column0 / flagged]) return;
    }
    A += batch * a_stride, B += batch * b_stride, C += batch * c_stride;
    const int x = threadIdx.x % across * tm, y = threadIdx.x / across * tm;
    T most[tm][tm], sum[tm][tm];
    each_entry<tm, tm>([&](int i, int j) { most[i][j] = lowest(T()), sum[i][j] = 0; });
    for (int k0 = 0; k0 < k; k0 += deep) {
        __syncthreads();
        for (int e = threadIdx.x; e < side * deep; e += threads) {
            const int i = row0 + e / deep, q = k0 + e % deep;
            a[e % deep][e / deep] = i < m && q < k ? A[i * lda + q] : -T(INFINITY);
        }
        for (int e = threadIdx.x; e < side * deep; e += threads) {
            const int q = k0 + e / side, j = column0 + e % side;
            b[e / side][e % side] = q < k && j < n ? B[q * ldb + j] : -T(INFINITY);
        }
        __syncthreads();
        T high[tm][tm];
        each_entry<tm, tm>([&](int i, int j) { high[i][j] = most[i][j]; });
#pragma unroll together
        for (int q = 0; q < deep; ++q) {
            const Row left = *reinterpret_cast<const Row*>(&a[q][y]), right = *reinterpret_cast<const Row*>(&b[q][x]);
            each_entry<tm, tm>([&](int i, int j) { high[i][j] = max(high[i][j], left.item[i] + right.item[j]); });
        }
        T here[tm][tm];
        each_entry<tm, tm>([&](int i, int j) {
            high[i][j] = min(high[i][j], -lowest(T())); // a term ∞ gives ∞, not NaN
            sum[i][j] *= power(most[i][j] - high[i][j]);
            most[i][j] = high[i][j];
            here[i][j] = 0;
        });
#pragma unroll together
        for (int q = 0; q < deep; ++q) {
            const Row left = *reinterpret_cast<const Row*>(&a[q][y]), right = *reinterpret_cast<const Row*>(&b[q][x]);
            // ∞ + −∞ is NaN, which loses to any number, and adds nothing
            each_entry<tm, tm>([&](int i, int j) {
                here[i][j] += power(max(left.item[i] + right.item[j] - most[i][j], lowest(T())));
            });
        }
        each_entry<tm, tm>([&](int i, int j) { sum[i][j] += here[i][j]; });
    }
#pragma unroll
    for (int i = 0; i < tm; ++i)
#pragma unroll
        for (int j = 0; j < tm; ++j) {
            if (row0 + y + i >= m || column0 + x + j >= n) continue;
            T& to = C[(row0 + y + i) * ldc + column0 + x + j];
            const T value = most[i][j] + log(sum[i][j]);
            to = accumulate ? logaddexp(to, value) : value;
        }
}
