// C ← A ∧ B or C ← C ∨ A ∧ B on packed bits, by mma m16n8k256 (AND, popcount, int32 sums): sm_80 and newer.
//
// A block computes 128 × 256 entries, each of its eight warps 64 × 64. Stages of 512 bits of k are prefetched by cp.async,
// `stages` − 1 ahead; 16-byte chunks of a row are permuted against bank conflicts of ldmatrix.
#include "bits.cuh"

constexpr int tile_m = 128, tile_n = 256, row_bytes = 64;
constexpr int a_bytes = tile_m * row_bytes, stage_bytes = (tile_m + tile_n) * row_bytes;

__device__ inline int swizzled(int row, int chunk) { return row * row_bytes + (chunk ^ row / 2 % 4) * 16; }

// Load `count` rows from row i0 of X (m rows of `words`), chunk by chunk, zero-padded.
template <int count>
__device__ inline void fetch(unsigned to, const Word* X, long long ldx, int i0, int m, int w0, int words) {
#pragma unroll
    for (int e = 0; e < count * 4 / 256; ++e) {
        const int row = e * 64 + threadIdx.x / 4, chunk = threadIdx.x % 4, w = w0 + 2 * chunk;
        const int bytes = i0 + row < m ? max(0, min(2, words - w)) * 8 : 0;
        const Word* from = bytes ? X + (i0 + row) * ldx + w : X;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + swizzled(row, chunk)), "l"(from), "r"(bytes));
    }
}

// Four 8 × 128-bit matrices, from each lane's row address.
__device__ inline void load(Half (&x)[4], unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from));
}

__device__ inline void multiply(int* c, const Half (&a)[4], Half b0, Half b1) {
    asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(256, 1)
    product(const Word* A, long long lda, const Word* B, long long ldb, Word* C, long long ldc, int m, int n, int words,
            int accumulate) {
    extern __shared__ __align__(128) unsigned char memory[];
    const unsigned base = unsigned(__cvta_generic_to_shared(memory));
    const int rows = ceil_div(m, tile_m), columns = ceil_div(n, tile_n);
    const Place position = place(blockIdx.x, rows, columns, group);
    const int i0 = position.i * tile_m, j0 = position.j * tile_n, steps = ceil_div(words, row_bytes / 8);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, top = warp / 4 * 64, left = warp % 4 * 64;
    auto bring = [&](int step) {
        const unsigned a = base + step % stages * stage_bytes;
        if (step < steps) {
            fetch<tile_m>(a, A, lda, i0, m, step * (row_bytes / 8), words);
            fetch<tile_n>(a + a_bytes, B, ldb, j0, n, step * (row_bytes / 8), words);
        }
        asm volatile("cp.async.commit_group;");
    };
    int c[4][8][4] = {};
    for (int s = 0; s < stages - 1; ++s) bring(s);
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2) : "memory");
        __syncthreads();
        bring(step + stages - 1);
        const unsigned a = base + step % stages * stage_bytes, b = a + a_bytes;
#pragma unroll
        for (int k = 0; k < row_bytes / 16; k += 2) {
            Half left_half[4][4], right[4][4];
            // Matrices of A: rows 0–7 and 8–15 at k, then at k + 128 bits; of Bᵀ: columns 0–7 at both, then 8–15.
#pragma unroll
            for (int i = 0; i < 4; ++i) load(left_half[i], a + swizzled(top + 16 * i + lane % 16, k + lane / 16));
#pragma unroll
            for (int j = 0; j < 4; ++j) load(right[j], b + swizzled(left + 16 * j + lane / 16 * 8 + lane % 8, k + lane / 8 % 2));
            each_entry<4, 8>([&](int i, int j) {
                multiply(c[i][j], left_half[i], right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]);
            });
        }
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    // 16 fields are 64 columns of two rows, 8 apart; two of them give four lanes a word of one row each.
    const int q = lane % 4, j = j0 / 64 + warp % 4;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        const Word bits = gather(sixteen<4>(c[i][0], c[i][0] + 2), sixteen<4>(c[i + 1][0], c[i + 1][0] + 2));
        const int row = i0 + top + 16 * (i + q / 2) + 8 * (q % 2) + lane / 4;
        if (row < m && j < ceil_div(n, 64)) put(C + row * ldc + j, bits, accumulate);
    }
}
