// C ← C ⊕ A ⊗ B: a thread block computes one tile of C as a sum of outer products, register tile by register tile.
//
//   global A (bm × bk) ──transposed──▶ shared a[k][row] ─┐
//   global B (bk × bn) ──unchanged───▶ shared b[k][col] ─┴▶ registers c[tm][tn] ──▶ global C
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

    // Origins of the next tiles, uniform in a block, and this thread's byte offsets in them.
    const char *a_base, *b_base;
    unsigned a_offset, a_step, a_last, b_offset, b_step;
    long long ldb;
    int b_second;  // where a word's second lane is: 1 further, or 0 at an odd edge
    Word a_staged[a_async ? 1 : a_rows * a_parts], b_staged[b_async ? 1 : b_count];

    __device__ static int lane() { return threadIdx.x % 32; }
    __device__ static int warp() { return threadIdx.x / 32; }
    __device__ static int a_row(int i) { return 4 * (warp() + warps * i) + lane() / 8; }

    // This thread's reads of B: a fixed word of a row, every `b_stride`-th value of k.
    static constexpr int across = bn / b_words, b_stride = threads / across;
    __device__ static int b_k(int i) { return threadIdx.x / across + i * b_stride; }
    __device__ static int b_word() { return threadIdx.x % across * b_words; }

    // A thread's register tile. A warp has 4 rows × 8 columns of them, so that fragments take few 128-byte reads.
    template <class Index>
    __device__ static void seat(Index thread, int& x, int& y) {
        x = thread % threads_x, y = thread / threads_x;
        if constexpr (threads_x % 8 == 0 && threads_y % 4 == 0) {
            const Index warp = thread / 32, lane = thread % 32;
            x = warp % (threads_x / 8) * 8 + lane % 8;
            y = warp / (threads_x / 8) * 4 + lane / 8;
        }
    }

    // Start loading the tile of `depth` values of k (all bk unless `first`), and advance.
    template <bool first>
    __device__ void fetch(Stage& to, int depth) {
#pragma unroll
        for (int i = 0; i < a_rows; ++i) {
            const T* row = reinterpret_cast<const T*>(a_base + min(a_offset + i * a_step, a_last));
#pragma unroll
            for (int p = 0; p < a_parts; ++p) {
                const int k = 8 * p + lane() % 8;
                const bool inside = !first || k < depth;
                if constexpr (a_async) {
                    if (inside) copy_async<sizeof(T)>(&to.a[k][a_row(i)], row + 8 * p);
                    else to.a[k][a_row(i)] = S::nothing();
                } else {
                    a_staged[i * a_parts + p] = inside ? S::spread(row[8 * p]) : S::nothing();
                }
            }
        }
        a_base += depth * sizeof(T);
#pragma unroll
        for (int i = 0; i < b_count; ++i) {
            const T* from = reinterpret_cast<const T*>(b_base + (b_offset + i * b_step));
            const bool inside = !first || b_k(i) < depth;
            Word* word = &to.b[b_k(i)][b_word()];
            if constexpr (b_async) {
                if (inside) copy_async<b_words * sizeof(Word)>(word, from);
                else {
#pragma unroll
                    for (int j = 0; j < b_words; ++j) word[j] = S::nothing();
                }
            } else {
                b_staged[i] = inside ? S::gather(from, b_second) : S::nothing();
            }
        }
        b_base += depth * (ldb * sizeof(T));
    }

    // Move register-staged values to shared memory.
    __device__ void commit(Stage& to) {
        if constexpr (!a_async) {
#pragma unroll
            for (int i = 0; i < a_rows; ++i)
#pragma unroll
                for (int p = 0; p < a_parts; ++p)
                    to.a[8 * p + lane() % 8][a_row(i)] = a_staged[i * a_parts + p];
        }
        if constexpr (!b_async) {
#pragma unroll
            for (int i = 0; i < b_count; ++i) to.b[b_k(i)][b_word()] = b_staged[i];
        }
    }

    // Convert this thread's copied values to operands, if stored values are not.
    __device__ static void fix(Stage& s) {
        if constexpr (!S::raw && a_async)
#pragma unroll
            for (int i = 0; i < a_rows; ++i)
#pragma unroll
                for (int p = 0; p < a_parts; ++p) {
                    Word& a = s.a[8 * p + lane() % 8][a_row(i)];
                    a = S::fix(a);
                }
        if constexpr (!S::raw && b_async)
#pragma unroll
            for (int i = 0; i < b_count; ++i) {
                auto& b = *reinterpret_cast<Vector<Word, b_words>*>(&s.b[b_k(i)][b_word()]);
                auto v = b;
#pragma unroll
                for (int j = 0; j < b_words; ++j) v.item[j] = S::fix(v.item[j]);
                b = v;
            }
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

    // A chunk of a row as in memory: at most 16 bytes, in words if those have several lanes.
    using Stored = Vector<typename Choice<(lanes > 1), Word, T>::type, chunk_n>;
    template <bool accumulate>
    __device__ static void merge(Stored& v, const Word* c) {
#pragma unroll
        for (int j = 0; j < chunk_n; ++j) {
            if constexpr (lanes > 1) v.item[j] = accumulate ? S::merge(v.item[j], c[j]) : S::stored(c[j]);
            else v.item[j] = T(accumulate ? S::add(W(v.item[j]), S::lane(c[j], 0)) : S::lane(c[j], 0));
        }
    }
    __device__ static bool aligned_chunks(const T* C) { return reinterpret_cast<unsigned long long>(C) % sizeof(Stored) == 0; }

    // Store the first `inside` columns of one chunk of C.
    template <bool accumulate>
    __device__ static void store(T* C, const Word* c, int inside) {
        if (inside >= chunk_n * lanes && aligned_chunks(C)) {
            Stored v;
            if (accumulate) v = *reinterpret_cast<const Stored*>(C);
            merge<accumulate>(v, c);
            *reinterpret_cast<Stored*>(C) = v;
        } else {
#pragma unroll
            for (int j = 0; j < chunk_n * lanes; ++j) {
                const W sum = S::lane(c[j / lanes], j % lanes);
                if (j < inside) C[j] = T(accumulate ? S::add(W(C[j]), sum) : sum);
            }
        }
    }

    // Store a whole tile at C. Inside and 16-byte aligned, many loads are in flight at once.
    __device__ static void put(T* C, long long ldc, const Word (&c)[tm][tn], int x, int y, int rows, int columns, bool accumulate) {
        constexpr bool spare = 65536 / (threads * P::blocks) > 2 * tm * tn;  // registers for the reads of all of C
        constexpr int batch = smaller(tm, lanes > 1 && spare ? 8 : 4);
        const auto place = [&](int i, int q) {
            return C + (i / chunk_m * (bm / chunks_m) + y * chunk_m + i % chunk_m) * ldc + (q * (bn / chunks_n) + x * chunk_n) * lanes;
        };
        const bool aligned = aligned_chunks(C) && ldc * sizeof(T) % sizeof(Stored) == 0;
        if (accumulate && aligned && rows >= bm && columns >= bn * lanes) {
#pragma unroll
            for (int i0 = 0; i0 < tm; i0 += batch) {
                Stored v[batch][chunks_n];
#pragma unroll
                for (int i = 0; i < batch; ++i)
#pragma unroll
                    for (int q = 0; q < chunks_n; ++q) v[i][q] = *reinterpret_cast<const Stored*>(place(i0 + i, q));
#pragma unroll
                for (int i = 0; i < batch; ++i)
#pragma unroll
                    for (int q = 0; q < chunks_n; ++q) {
                        merge<true>(v[i][q], &c[i0 + i][q * chunk_n]);
                        *reinterpret_cast<Stored*>(place(i0 + i, q)) = v[i][q];
                    }
            }
            return;
        }
#pragma unroll
        for (int i = 0; i < tm; ++i) {
            if (i / chunk_m * (bm / chunks_m) + y * chunk_m + i % chunk_m >= rows) continue;
#pragma unroll
            for (int q = 0; q < chunks_n; ++q) {
                const int inside = columns - (q * (bn / chunks_n) + x * chunk_n) * lanes;
                if (inside <= 0) continue;
                if (accumulate) store<true>(place(i, q), &c[i][q * chunk_n], inside);
                else store<false>(place(i, q), &c[i][q * chunk_n], inside);
            }
        }
    }

    // Set this thread's read offsets for the tiles of A from row0 and of B from col0 on.
    __device__ void locate(const T* A, long long lda, const T* B, long long ldb_, int m, int n, int row0, int col0) {
        ldb = ldb_;
        a_base = reinterpret_cast<const char*>(A + row0 * lda);
        b_base = reinterpret_cast<const char*>(B);
        a_offset = (a_row(0) * unsigned(lda) + lane() % 8) * unsigned(sizeof(T));
        a_step = (a_row(1) - a_row(0)) * unsigned(lda) * unsigned(sizeof(T));
        // The tile's last row inside, relative to row0: only there is every row less than 4 GiB away.
        a_last = (min(m - 1 - row0, bm - 1) * unsigned(lda) + lane() % 8) * unsigned(sizeof(T));
        // Beyond the edge: the last column inside, or the last 16-byte group that begins inside.
        constexpr int group = b_words > 1 ? b_words * lanes : 1;
        const int col = min(col0 + b_word() * lanes, (n - 1) / group * group);
        b_offset = (b_k(0) * unsigned(ldb) + col) * unsigned(sizeof(T));
        b_step = b_stride * unsigned(ldb) * unsigned(sizeof(T));
        b_second = col + 1 < n ? 1 : 0;
    }

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
        locate(A, lda, B, ldb_, m, n, row0, col0);

        int x, y;
        seat(threadIdx.x, x, y);
        const int one = accumulate | 1;  // accumulate is 0 or 1, which the compiler does not know; see other_step
        Word c[tm][tn];
#pragma unroll
        for (int i = 0; i < tm; ++i)
#pragma unroll
            for (int j = 0; j < tn; ++j) c[i][j] = S::nothing();

        fetch<true>(stage[0], depth);
        commit(stage[0]);
        for (int t = 0; t < steps; ++t) {
            wait_for_copies();
            fix(stage[t & 1]);
            __syncthreads();
            if (t + 1 < steps) fetch<false>(stage[(t + 1) & 1], bk);
            multiply(c, stage[t & 1], x, y, one);
            if (t + 1 < steps) commit(stage[(t + 1) & 1]);
        }
        if (splits && mine.part) wait(done + (tile - unsplit), mine.part), accumulate = 1;
        put(C + row0 * ldc + col0, ldc, c, x, y, m - row0, n - col0, accumulate);
        if (splits) publish(done + (tile - unsplit), (mine.part + 1) * split_steps * bk >= k ? 0 : mine.part + 1);
    }
    struct Share { unsigned tile, part; };
    __device__ static Share share(unsigned unsplit, unsigned split) {
        Share mine = {blockIdx.x, 0};
        if (P::split_k)
            while (mine.tile >= unsplit + split) mine.tile -= split, ++mine.part;
        return mine;
    }
    __device__ static void wait(const unsigned* done, unsigned count) {
        if (threadIdx.x == 0) {
            while (acquire(done) != count);
        }
        __syncthreads();
    }
    __device__ static void publish(unsigned* done, unsigned count) {
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(done), "r"(count) : "memory");
        }
    }
};
