// C ← A ∧ B or C ← C ∨ A ∧ B on packed bits, by AND and OR of 32-bit words: any GPU.
//
// A block computes 128 × 128 entries, a thread 16 rows × 4 columns; entry (i, j) is set if any word of a[i] ∧ b[j] is
// nonzero. A warp's lanes hold consecutive columns, packed by a ballot.
#include "bits.cuh"

constexpr int tile = 128, depth = 16;  // half words of k in shared memory at a time

// x[k][i] ← half word k0 + k of row i0 + i of X, m × `halves`, zero-padded.
__device__ inline void load(Half (&x)[depth][tile + 4], const Half* X, long long ldx, int i0, int m, int k0, int halves) {
#pragma unroll
    for (int e = threadIdx.x; e < tile * depth; e += 256) {
        const int i = e / depth, k = e % depth;
        x[k][i] = i0 + i < m && k0 + k < halves ? X[(i0 + i) * ldx + k0 + k] : 0;
    }
}

extern "C" __global__ void __launch_bounds__(256, 2)
    product(const Half* A, long long lda, const Half* B, long long ldb, Half* C, long long ldc, int m, int n, int halves,
            int accumulate) {
    __shared__ __align__(16) Half a[depth][tile + 4], b[depth][tile + 4];
    const int rows = ceil_div(m, tile), columns = ceil_div(n, tile);
    const Place position = place(blockIdx.x, rows, columns, 16);
    const int i0 = position.i * tile, j0 = position.j * tile, top = threadIdx.x / 32 * 16, lane = threadIdx.x % 32;
    Half c[16][4] = {};
    for (int k0 = 0; k0 < halves; k0 += depth) {
        load(a, A, lda, i0, m, k0, halves);
        load(b, B, ldb, j0, n, k0, halves);
        __syncthreads();
#pragma unroll 2
        for (int k = 0; k < depth; ++k) {
            Half right[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) right[j] = b[k][lane + 32 * j];
#pragma unroll
            for (int i = 0; i < 16; i += 4) {
                const uint4 left = *reinterpret_cast<const uint4*>(&a[k][top + i]);
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    c[i][j] |= left.x & right[j], c[i + 1][j] |= left.y & right[j];
                    c[i + 2][j] |= left.z & right[j], c[i + 3][j] |= left.w & right[j];
                }
            }
        }
        __syncthreads();
    }
    each_entry<16, 4>([&](int i, int j) {
        const Half bits = __ballot_sync(~0u, c[i][j] != 0);
        const int row = i0 + top + i, word = j0 / 32 + j;
        if (lane == 0 && row < m && word < 2 * ceil_div(n, 64)) put(C + row * ldc + word, bits, accumulate);
    });
}
