// C ← A B or C ← C + A B in float32, or the same of logarithms, by Hopper's wgmma m64n128k16 on 16-bit numbers.
//
// Operands are sums of `parts` 16-bit matrices, A and Bᵀ, k along the rows; see sums_split.cu. Products of parts below the
// last bit are dropped. Tensor cores truncate sums, so that they add only 64 of k, small products first; the rest is added
// in float32 outside.
//
// A block computes 128 × 128 entries. A producer warp loads 64 of k at a time by TMA, `stages` ahead; two warpgroups
// multiply, 64 × 128 entries each. With `cluster` = 2, two vertically adjacent blocks share columns: each loads half of
// Bᵀ's tile for both. Blocks are persistent.
#include "sums.cuh"
#include "tile_order.cuh"
#include "wgmma.cuh"

constexpr int side = 128, row_bytes = 128, part_bytes = side * row_bytes, stage_bytes = 2 * parts * part_bytes;
constexpr int consumers = 2, threads = 128 * consumers + 32;

// c ← (add ? c : 0) + 16 of k, asynchronously.
__device__ inline void multiply(float (&c)[64], Descriptor a, Descriptor b, int add) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32." PART_TYPE "." PART_TYPE " {"
        TEN_NAMES() TEN_NAMES(1) TEN_NAMES(2) TEN_NAMES(3) TEN_NAMES(4) TEN_NAMES(5)
        "%60, %61, %62, %63}, %64, %65, add, 1, 1, 0, 0;\n}"
        : TEN("+f", ), TEN("+f", 1), TEN("+f", 2), TEN("+f", 3), TEN("+f", 4), TEN("+f", 5),
          "+f"(c[60]), "+f"(c[61]), "+f"(c[62]), "+f"(c[63])
        : "l"(a), "l"(b), "r"(add));
}

// Whether `mine` holds in any multiplying thread.
__device__ inline bool any(bool mine) {
    int found;
    asm volatile(
        "{\n.reg .pred mine, found;\nsetp.ne.b32 mine, %1, 0;\n"
        "barrier.cta.red.or.aligned.pred found, 1, %2, mine;\nselp.b32 %0, 1, 0, found;\n}"
        : "=r"(found) : "r"(int(mine)), "n"(128 * consumers) : "memory");
    return found;
}

// Products of parts (0 is the largest), small ones first, so that truncation errors are small.
template <int which>
struct Pair {
    static constexpr int a = parts == 2 ? (which == 1) : (0x001021 >> 4 * which & 15);
    static constexpr int b = parts == 2 ? (which == 0) : (0x010201 >> 4 * which & 15);
};
constexpr int pairs = parts == 2 ? 3 : 6;

// c ← c + 64 of k for pairs `which` … `end` − 1; from zero if the first is pair 0.
template <int which, int end>
__device__ inline void multiply_parts(float (&c)[64], Descriptor a, Descriptor b) {
    using P = Pair<which>;
#pragma unroll
    for (int q = 0; q < 4; ++q)  // 32 bytes on
        multiply(c, a + P::a * (part_bytes >> 4) + 2 * q, b + P::b * (part_bytes >> 4) + 2 * q, which | q);
    if constexpr (which + 1 < end) multiply_parts<which + 1, end>(c, a, b);
}
template <int which, int end>
__device__ inline void add_parts(float (&c)[64], Descriptor a, Descriptor b) {
    hold(c);
    multiply_begin();
    multiply_parts<which, end>(c, a, b);
    multiply_end();
    hold(c);
    multiply_wait<0>();
    hold(c);
}

extern "C" __global__ void __cluster_dims__(cluster, 1, 1) __launch_bounds__(threads, 1)
    product(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, float* C, long long ldc,
            long long batch_stride, const Scale<float>* a_scales, const Scale<float>* b_scales, unsigned char* flags, int m,
            int n, int count, int steps, int a_rows, int a_part, int b_rows, int b_part, int accumulate) {
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
    const int rows = ceil_div(m, side * cluster), columns = ceil_div(n, side), tiles = rows * columns;
    const int first = blockIdx.x / cluster, grid_stride = gridDim.x / cluster;
    PipelineState<stages> pipe;
    if (threadIdx.x >= 128 * consumers) {
        if (threadIdx.x == 128 * consumers)
            for (int t = first; t < count * tiles; t += grid_stride) {
                const Place position = place(t % tiles, rows, columns, group);
                const int i = t / tiles * a_rows + (position.i * cluster + rank) * side;
                const int j = t / tiles * b_rows + position.j * side;
                for (int step = 0; step < steps; ++step, pipe.advance()) {
                    const unsigned a = base + pipe.stage * stage_bytes, ready = full + 8 * pipe.stage;
                    wait(empty + 8 * pipe.stage, pipe.phase ^ 1);
                    expect(ready, stage_bytes);
                    for (int p = 0; p < parts; ++p) {
                        const unsigned b = a + (parts + p) * part_bytes;
                        fetch(a + p * part_bytes, A, step * row_bytes, p * a_part + i, ready);
                        if (cluster == 1)
                            fetch(b, B, step * row_bytes, p * b_part + j, ready);
                        else
                            fetch_for_all<cluster>(b + rank * (part_bytes / cluster), B, step * row_bytes,
                                                   p * b_part + j + rank * (side / cluster), ready);
                    }
                }
            }
    } else {
        const int warpgroup = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
        const bool speaker = threadIdx.x % 128 < cluster;
        const Descriptor a0 = descriptor(base) + warpgroup * (part_bytes / consumers >> 4);
        const Descriptor b0 = descriptor(base + parts * part_bytes);
        for (int t = first; t < count * tiles; t += grid_stride) {
            float sum[64], c[64];
#pragma unroll
            for (int i = 0; i < 64; ++i) sum[i] = 0;
            for (int step = 0; step < steps; ++step) {
                const int offset = pipe.stage * (stage_bytes >> 4);
                wait(full + 8 * pipe.stage, pipe.phase);
                if constexpr (parts == 2) { // second parts are scaled by 2¹¹
                    add_parts<0, pairs - 1>(c, a0 + offset, b0 + offset);
#pragma unroll
                    for (int i = 0; i < 64; ++i) c[i] *= 0x1p-11f;
                    add_parts<pairs - 1, pairs>(c, a0 + offset, b0 + offset);
                } else
                    add_parts<0, pairs>(c, a0 + offset, b0 + offset);
                if (speaker) arrive(empty + 8 * pipe.stage, threadIdx.x % 128);
#pragma unroll
                for (int i = 0; i < 64; ++i) sum[i] += c[i];
                pipe.advance();
            }
            // Lane q of four has columns 8 g + 2 q and 8 g + 2 q + 1 of every group g of eight, in rows r and r + 8.
            const Place position = place(t % tiles, rows, columns, group);
            const int batch = t / tiles, tile_row = position.i * cluster + rank;
            const int row = tile_row * side + warpgroup * 64 + warp * 16 + lane / 4, column = position.j * side + lane % 4 * 2;
            bool bad = false;
            if constexpr (logarithms) {
                Scale<float> own[2];
#pragma unroll
                for (int lower = 0; lower < 2; ++lower)
                    own[lower] = a_scales[(long long)batch * a_rows + min(row + 8 * lower, m - 1)];
#pragma unroll
                for (int g = 0; g < 32; ++g) {
                    asm volatile("" ::: "memory"); // no more reads ahead than registers
                    const int j = column + g / 2 * 8 + g % 2;
                    const Scale<float> other = b_scales[(long long)batch * b_rows + min(j, n - 1)];
#pragma unroll
                    for (int lower = 0; lower < 2; ++lower) {
                        float& x = sum[g / 2 * 4 + 2 * lower + g % 2];
                        x *= 0x1p-30f; // both operands are scaled by 2¹⁵
                        bad |= row + 8 * lower < m && j < n && unreliable(x, own[lower], other, 0x1p-29f);
                        x = height(x, own[lower], other);
                    }
                }
            } else {
#pragma unroll
                for (int i = 0; i < 64; ++i) bad |= !(fabsf(sum[i]) <= 3.4e38f);
            }
            bad = any(bad);
            if (threadIdx.x == 0 && tile_row * side < m)
                flags[((long long)batch * ceil_div(m, side) + tile_row) * columns + position.j] = bad;
            if (bad) continue;
            float* const to = C + batch * batch_stride;
            const bool together = ldc % 2 == 0 && reinterpret_cast<unsigned long long>(to) % 8 == 0;
#pragma unroll
            for (int lower = 0; lower < 2; ++lower) {
                const int i = row + 8 * lower;
                if (i >= m) continue;
                float* const line = to + i * ldc;
#pragma unroll
                for (int g = 0; g < 16; ++g) {
                    const int j = column + 8 * g;
                    if (j >= n) continue;
                    float2 x = {sum[4 * g + 2 * lower], sum[4 * g + 2 * lower + 1]};
                    if (accumulate) {
                        const float2 was = {line[j], j + 1 < n ? line[j + 1] : 0.0f};
                        x.x = logarithms ? logaddexp(was.x, x.x) : was.x + x.x;
                        x.y = logarithms ? logaddexp(was.y, x.y) : was.y + x.y;
                    }
                    if (together && j + 1 < n)
                        *reinterpret_cast<float2*>(line + j) = x;
                    else {
                        line[j] = x.x;
                        if (j + 1 < n) line[j + 1] = x.y;
                    }
                }
            }
        }
    }
    cluster_barrier(); // no block exits while another may arrive at its barriers
}
