// C ← A ∧ B or C ← C ∨ A ∧ B on packed bits, by Hopper's wgmma m64n256k256 (AND, popcount, int32 sums).
//
// A block computes 128 × 256 entries. A producer warp loads 1024 bits of k at a time by TMA, `stages` ahead; two
// warpgroups multiply, 64 × 256 entries each. With `cluster` = 2, two vertically adjacent blocks share columns: each loads
// half of Bᵀ's tile for both. Blocks are persistent.
#include "bits.cuh"
#include "wgmma.cuh"

constexpr int tile_m = 128, tile_n = 256, row_bytes = 128;
constexpr int a_bytes = tile_m * row_bytes, b_bytes = tile_n * row_bytes, stage_bytes = a_bytes + b_bytes;
constexpr int consumers = 2, threads = 128 * consumers + 32;

// c ← (add ? c : 0) + popcounts of 256 bits of k, asynchronously.
__device__ inline void multiply(int (&c)[128], Word a, Word b, int add) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k256.s32.b1.b1.and.popc {"
        TEN_NAMES() TEN_NAMES(1) TEN_NAMES(2) TEN_NAMES(3) TEN_NAMES(4) TEN_NAMES(5) TEN_NAMES(6) TEN_NAMES(7)
        TEN_NAMES(8) TEN_NAMES(9) TEN_NAMES(10) TEN_NAMES(11)
        "%120, %121, %122, %123, %124, %125, %126, %127}, %128, %129, add;\n}"
        : TEN("+r", ), TEN("+r", 1), TEN("+r", 2), TEN("+r", 3), TEN("+r", 4), TEN("+r", 5), TEN("+r", 6),
          TEN("+r", 7), TEN("+r", 8), TEN("+r", 9), TEN("+r", 10), TEN("+r", 11),
          "+r"(c[120]), "+r"(c[121]), "+r"(c[122]), "+r"(c[123]), "+r"(c[124]), "+r"(c[125]), "+r"(c[126]), "+r"(c[127])
        : "l"(a), "l"(b), "r"(add));
}

extern "C" __global__ void __cluster_dims__(cluster, 1, 1) __launch_bounds__(threads, 1)
    product(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, Word* C, long long ldc, int m, int n,
            int steps, int accumulate) {
    extern __shared__ unsigned char memory[];
    const unsigned base = (shared_address(memory) + 1023) & ~1023u;
    const unsigned full = base + stages * stage_bytes, empty = full + 8 * stages;
    const int rank = cluster > 1 ? blockIdx.x % cluster : 0;
    if (threadIdx.x == 0) {
        for (int s = 0; s < stages; ++s) init(full + 8 * s, 1), init(empty + 8 * s, consumers * cluster);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    cluster_barrier();
    const int rows = ceil_div(m, tile_m * cluster), columns = ceil_div(n, tile_n);
    const int first = blockIdx.x / cluster, grid_stride = gridDim.x / cluster;
    PipelineState<stages> pipe;
    if (threadIdx.x >= 128 * consumers) {
        if (threadIdx.x == 128 * consumers)
            for (int t = first; t < rows * columns; t += grid_stride) {
                const Place position = place(t, rows, columns, group);
                const int i = (position.i * cluster + rank) * tile_m, j = position.j * tile_n;
                for (int step = 0; step < steps; ++step, pipe.advance()) {
                    const unsigned a = base + pipe.stage * stage_bytes, b = a + a_bytes, ready = full + 8 * pipe.stage;
                    wait(empty + 8 * pipe.stage, pipe.phase ^ 1);
                    expect(ready, stage_bytes);
                    fetch(a, A, step * row_bytes, i, ready);
                    if (cluster == 1)
                        fetch(b, B, step * row_bytes, j, ready);
                    else
                        fetch_for_all<cluster>(b + rank * (b_bytes / cluster), B, step * row_bytes, j + rank * (tile_n / cluster), ready);
                }
            }
    } else {
        const int warpgroup = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
        const bool speaker = threadIdx.x % 128 < cluster;
        const Word a0 = descriptor(base) + warpgroup * (a_bytes / consumers >> 4), b0 = descriptor(base + a_bytes);
        for (int t = first; t < rows * columns; t += grid_stride) {
            int c[128];
            unsigned done = 0;
            for (int step = 0; step < steps; ++step) {
                const Word a = a0 + pipe.stage * (stage_bytes >> 4), b = b0 + pipe.stage * (stage_bytes >> 4);
                wait(full + 8 * pipe.stage, pipe.phase);
                hold(c);
                multiply_begin();
#pragma unroll
                for (int q = 0; q < 4; ++q) multiply(c, a + 2 * q, b + 2 * q, step | q);  // 32 bytes on
                multiply_end();
                hold(c);
                multiply_wait<1>(); // all but these: frees the stage before
                if (step && speaker) arrive(done, threadIdx.x % 128);
                done = empty + 8 * pipe.stage;
                pipe.advance();
            }
            multiply_wait<0>();
            hold(c);
            if (speaker) arrive(done, threadIdx.x % 128);
            const Place position = place(t, rows, columns, group);
            const int j = position.j * (tile_n / 64) + lane % 4;
#pragma unroll
            for (int lower = 0; lower < 2; ++lower) {
                const int* own = c + 2 * lower;
                const Word bits = gather(sixteen<4>(own, own + 32), sixteen<4>(own + 64, own + 96));
                const int i = (position.i * cluster + rank) * tile_m + warpgroup * 64 + warp * 16 + lower * 8 + lane / 4;
                if (i < m && j < ceil_div(n, 64)) put(C + i * ldc + j, bits, accumulate);
            }
        }
    }
    cluster_barrier(); // no block exits while another may arrive at its barriers
}
