// C ← logarithms of sums of scaled exponentials, or those added to C; one thread block per 128 × 128 entries, which writes
// them, or flags them if one is unreliable.
#include "sums.cuh"

constexpr int side = 128, threads = 256;
extern "C" __global__ void __launch_bounds__(threads)
    finish(double* C, long long ldc, const double* sums, long long ld, const Scale<double>* rows,
           const Scale<double>* columns, unsigned char* flags, int m, int n, int accumulate) {
    const int across = (n + side - 1) / side, row0 = blockIdx.x / across * side, column0 = blockIdx.x % across * side;
    bool bad = false;
    for (int e = threadIdx.x; e < side * side; e += threads) {
        const int i = row0 + e / side, j = column0 + e % side;
        if (i < m && j < n) bad |= unreliable(sums[i * ld + j], rows[i], columns[j], 0x1p-900);
    }
    bad = __syncthreads_or(bad);
    if (threadIdx.x == 0) flags[blockIdx.x] = bad;
    if (bad) return;
    for (int e = threadIdx.x; e < side * side; e += threads) {
        const int i = row0 + e / side, j = column0 + e % side;
        if (i >= m || j >= n) continue;
        const double value = height(sums[i * ld + j], rows[i], columns[j]);
        double& to = C[i * ldc + j];
        to = accumulate ? logaddexp(to, value) : value;
    }
}
