// D ← D*: Floyd–Warshall on one block of at most 64 rows, 4 × 4 entries a thread, one barrier a step.
// Each thread block has its own matrix; they lie `apart` elements from each other.
//
// Step k of the Gauss–Jordan–Kleene elimination, with s = d[k][k]*, right in every closed semiring:
//   d[i][j] ← d[i][j] ⊕ d[i][k] ⊗ s ⊗ d[k][j]     d[k][j] ← s ⊗ d[k][j]     d[i][k] ← d[i][k] ⊗ s     d[k][k] ← s
#include "algebra.cuh"

using T = Step::T;
using W = Step::W;
constexpr int side = 16, per = 4, size = side * per;

extern "C" __global__ void __launch_bounds__(side* side, 1) pivot(T* D, long long ld, int n, long long apart) {
    D += blockIdx.x * apart;
    __shared__ W row[2][size], col[2][size];
    const int x = threadIdx.x % side, y = threadIdx.x / side;
    W d[per][per];
#pragma unroll
    for (int i = 0; i < per; ++i)
#pragma unroll
        for (int j = 0; j < per; ++j) {
            const int r = y + side * i, c = x + side * j;
            d[i][j] = r < n && c < n ? W(D[r * ld + c]) : Step::zero();
        }
#pragma unroll
    for (int q = 0; q < per; ++q) {  // k = 16 q + p: a register's index must be known when this is compiled
        for (int p = 0; p < side && side * q + p < n; ++p) {
            const int k = side * q + p, now = p & 1;
            if (y == p)
#pragma unroll
                for (int j = 0; j < per; ++j) row[now][x + side * j] = d[q][j];
            if (x == p)
#pragma unroll
                for (int i = 0; i < per; ++i) col[now][y + side * i] = d[i][q];
            __syncthreads();
            const W s = Step::star(row[now][k]);
            W right[per];
#pragma unroll
            for (int j = 0; j < per; ++j) right[j] = Step::mul(s, row[now][x + side * j]);
#pragma unroll
            for (int i = 0; i < per; ++i) {
                const W left = col[now][y + side * i];
#pragma unroll
                for (int j = 0; j < per; ++j) d[i][j] = Step::add(d[i][j], Step::mul(left, right[j]));
                if (x == p) d[i][q] = Step::mul(left, s);
            }
            if (y == p)
#pragma unroll
                for (int j = 0; j < per; ++j) d[q][j] = right[j];
            if (x == p && y == p) d[q][q] = s;
        }
    }
#pragma unroll
    for (int i = 0; i < per; ++i)
#pragma unroll
        for (int j = 0; j < per; ++j) {
            const int r = y + side * i, c = x + side * j;
            if (r < n && c < n) D[r * ld + c] = T(d[i][j]);
        }
}
