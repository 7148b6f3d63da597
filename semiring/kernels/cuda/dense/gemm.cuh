// C ← C ⊕ A ⊗ B: a thread block computes one tile of C as a sum of outer products, register tile by register tile.
//
//                          (3)                              (4)                     (5)
//   global A (bm × bk) ──transposed──▶ shared a[k][row] ─┐
//   global B (bk × bn) ──unchanged───▶ shared b[k][col] ─┴▶ registers c[tm][tn] ──▶ global C
//
// `run` has the steps by these numbers. Beside it: gemm_tiles.inl loads the tiles, gemm_store.inl stores C, gemm_split.inl
// lets the parts of a split k add in order.
//
// Double buffering: while one shared stage is computed, the next is loaded (cp.async if elements need no conversion, else
// through registers). The ragged end of k comes first and is filled with the semiring's zero; rows and columns beyond the
// edge repeat the last one inside and are never stored. So only the first tile is tested.
#pragma once
#include "algebra.cuh"

template <int bytes>
__device__ void copy_async(void* shared, const void* global) {
    const unsigned to = __cvta_generic_to_shared(shared);
    if constexpr (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(bytes) : "memory");
}
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Load-acquire of a counter that other blocks change.
__device__ inline unsigned acquire(const unsigned* counter) {
    unsigned now;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(counter) : "memory");
    return now;
}

template <class V, int n> struct alignas(sizeof(V) * n) Vector { V item[n]; };
template <bool first, class A, class B> struct Choice { using type = A; };
template <class A, class B> struct Choice<false, A, B> { using type = B; };

constexpr int smaller(int a, int b) { return a < b ? a : b; }

// S: the step. P: tile sizes in elements, and whether B may be read 16 bytes at a time.
template <class S, class P>
struct Gemm {
    using T = typename S::T;
    using W = typename S::W;
    using Word = typename S::Word;

    static constexpr int lanes = S::lanes;
    static constexpr int bm = P::bm, bk = P::bk, tm = P::tm;
    static constexpr int bn = P::bn / lanes, tn = P::tn / lanes;  // in words from here on
    static constexpr int threads_x = bn / tn, threads_y = bm / tm;
    static constexpr int threads = threads_x * threads_y, warps = threads / 32;
    static constexpr int wide = smaller(tn, P::run);  // words done together, see `multiply`
    static constexpr int padding = 4;  // words: keeps rows of `a` 16-byte aligned, and transposing stores in other banks

    // A thread's rows and columns come in 16-byte chunks, spread so that warps read without bank conflicts.
    static constexpr int chunk_m = smaller(tm, 16 / sizeof(Word)), chunk_n = smaller(tn, 16 / sizeof(Word));
    static constexpr int chunks_m = tm / chunk_m, chunks_n = tn / chunk_n;

    struct Stage {
        Word a[bk][bm + padding];
        Word b[bk][bn];
    };

    // A warp reads 4 rows × 8 values of k of A at once, so that both sides of the transposition are dense.
    static constexpr int a_rows = bm / 4 / warps, a_parts = bk / 8;
    static constexpr bool a_async = sizeof(T) == sizeof(Word);
    // B is read 16 bytes at a time if aligned, else by words.
    static constexpr bool b_async = sizeof(T) * lanes == sizeof(Word) && (P::aligned || lanes == 1);
    static constexpr int b_words = P::aligned && b_async ? 16 / sizeof(Word) : 1;
    static constexpr int b_count = bk * bn / b_words / threads;

    static_assert(tm % P::walk == 0 && tn % wide == 0 && bk % (2 * P::unroll) == 0, "the inner loop must come out even");
    static_assert(threads % 32 == 0 && a_rows * 4 * warps == bm && a_parts * 8 == bk, "A must be complete warp reads");
    static_assert(b_count * threads * b_words == bk * bn, "B must be complete reads");
    static_assert(threads % (bn / b_words) == 0, "a thread must stay in its columns of B");

    // C ← A B, or C ← C ⊕ A B.
    //
    // If P::split_k, the last `split` tiles are split along k in parts of `split_steps` steps of bk, after the first
    // `unsplit` tiles: all first parts, then all second ones … A part is added to C once those before it are: `done` counts
    // them per tile, and returns to 0. Blocks start in order, so that none waits for one not yet started. If P::batched,
    // blockIdx.y is the product, with matrices `next_c`, … elements apart.
    __device__ void run(T* C, long long ldc, const T* A, long long lda, const T* B, long long ldb_, int m, int n, int k,
                        int accumulate, int unsplit, int split, int split_steps, unsigned* done, long long next_c,
                        long long next_a, long long next_b) {
        extern __shared__ __align__(16) unsigned char shared[];
        Stage* stage = reinterpret_cast<Stage*>(shared);
        if constexpr (P::batched) C += blockIdx.y * next_c, A += blockIdx.y * next_a, B += blockIdx.y * next_b;
        // Unsigned, so that values equal in all threads stay in uniform registers.
        const unsigned columns = (n + bn * lanes - 1) / (bn * lanes);
        const Share mine = share(unsplit, split);
        const unsigned tile = mine.tile;
        const bool splits = P::split_k && tile >= unsplit;
        int row0 = tile / columns * bm, col0 = tile % columns * (bn * lanes);
        int steps = (k + bk - 1) / bk, depth = k - (steps - 1) * bk;  // the ragged end of k comes first
        if (splits) {
            const unsigned from = mine.part * split_steps;
            const long long k0 = from ? depth + (from - 1) * bk : 0;
            A += k0, B += k0 * ldb_;
            if (from) depth = bk;
            steps = min(split_steps, steps - int(from));
        }
        // (1) Place this thread's reads.
        locate(A, lda, B, ldb_, m, n, row0, col0);

        // (2) Sums of a thread: tm × tn words in registers, zero at first.
        int x, y;
        seat(threadIdx.x, x, y);
        const int one = accumulate | 1;  // accumulate is 0 or 1, which the compiler does not know; see other_step
        Word c[tm][tn];
        each_entry<tm, tn>([&](int i, int j) { c[i][j] = S::nothing(); });

        // (3) The first stage.
        fetch<true>(stage[0], depth);
        commit(stage[0]);
        // (4) Compute on one stage while the next is loaded.
        for (int t = 0; t < steps; ++t) {
            wait_for_copies();
            fix(stage[t & 1]);
            __syncthreads();
            if (t + 1 < steps) fetch<false>(stage[(t + 1) & 1], bk);
            multiply(c, stage[t & 1], x, y, one);
            if (t + 1 < steps) commit(stage[(t + 1) & 1]);
        }
        // (5) Store, or add to what earlier parts of k have stored.
        if (splits && mine.part) wait(done + (tile - unsplit), mine.part), accumulate = 1;
        put(C + row0 * ldc + col0, ldc, c, x, y, m - row0, n - col0, accumulate);
        if (splits) publish(done + (tile - unsplit), (mine.part + 1) * split_steps * bk >= k ? 0 : mine.part + 1);
    }

    // Load `count` words from shared memory, in chunks `stride` words apart.
    template <int count, int chunk>
    __device__ static void read(Word (&to)[count], unsigned from, int stride) {
#pragma unroll
        for (int c = 0; c < count / chunk; ++c) {
            using V = Vector<Word, chunk>;
            const V v = *static_cast<const V*>(__cvta_shared_to_generic(from + c * stride * sizeof(Word)));
#pragma unroll
            for (int i = 0; i < chunk; ++i) to[c * chunk + i] = v.item[i];
        }
    }

    // c ← c ⊕ a ⊗ b over one stage, two values of k at a time.
    __device__ static void multiply(Word (&c)[tm][tn], const Stage& s, int x, int y, int one) {
        // Addresses in shared memory are 32 bits wide; as pointers they would be recomputed each round.
        unsigned from_a = __cvta_generic_to_shared(&s.a[0][y * chunk_m]);
        unsigned from_b = __cvta_generic_to_shared(&s.b[0][x * chunk_n]);
        constexpr unsigned row_a = (bm + padding) * sizeof(Word), row_b = bn * sizeof(Word);
        const unsigned end = from_a + bk * row_a;
#pragma unroll 1
        do {
#pragma unroll
            for (int k = 0; k < 2 * P::unroll; k += 2) {
                Word a[2][tm], b[2][tn];
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    if (!P::b_first) read<tm, chunk_m>(a[e], from_a + (k + e) * row_a, bm / chunks_m);
                    read<tn, chunk_n>(b[e], from_b + (k + e) * row_b, bn / chunks_n);
                    if (P::b_first) read<tm, chunk_m>(a[e], from_a + (k + e) * row_a, bm / chunks_m);
                }
                outer_products<S, P::walk, wide>(c, a, b, one);
            }
            from_a += 2 * P::unroll * row_a;
            from_b += 2 * P::unroll * row_b;
        } while (2 * P::unroll < bk && from_a != end);
    }

#include "gemm_tiles.inl"
#include "gemm_store.inl"
#include "gemm_split.inl"
};
