// Common parts of kernels that close a matrix in one cooperative launch: Floyd–Warshall on blocks of 64 (Venkataraman,
// Sahni, Mukhopadhyaya 2003, section 3) by the thread blocks of a cooperative grid, or by one thread block (batched.cu).
// The first block is the leader.
//
// For each pivot block D = A[p, p], with q = p + 64 the next:
//
//   1  panels     R ← D R (row panel) and C ← C D (column panel). New R and old C are also copied to the workspace
//                 (`Workspace`), in the order in which products read them.
//   2  trailing   A ← A ⊕ C R outside the panels.
//   3  next D     A[q, q] ← A[q, q] ⊕ C R, then its closure, by the leader, concurrently with 2.
//
// Two grid barriers for each pivot block separate these:
//
//   ready(p)      D at p is closed, and phase 2 of the previous pivot block is done: phase 1 may begin.
//   half(p)       both panels are in the workspace: phases 2 and 3 may begin.
//
//   time ─────▶   ready(p)                      half(p)                                       ready(q)
//   leader          │ streaming: its own panels │ 3 update of A[q, q], closure                  │
//   other blocks    │ 1 panels                    │ 2 trailing update, a tile after the other     │
//
// The blocks that wait are those with the shorter of 2 and 3. In streaming.inl 3 is longer: the leader computes the two
// panel tiles next to A[q, q], which no other block touches, and continues to 3 without waiting at half(p). In resident.cu
// 2 is longer: the other blocks compute all panels, and the leader waits for them.
//
// The prelude gives `struct Trailing`, a tile for Gemm; `panel`, the width in words of a row panel's tile; `min_blocks`, the
// thread blocks per multiprocessor that must fit in registers; and `panel_unroll`, the unroll factor of panels.
#include "gemm.cuh"
#include "pivot.cuh"

using T = Step::T;
using W = Step::W;
using Word = Step::Word;

constexpr int size = 64, lanes = Step::lanes, threads = 256;
// A row panel's tile has all 64 rows, a column panel's tile all 64 columns, the next pivot both.
template <int rows, int columns>
struct Shape {
    static constexpr int bm = rows, bn = columns, bk = size, per = bm * bn / lanes / threads;
    static constexpr int tm = per > 2 ? 4 : 2, tn = per / tm * lanes, unroll = panel_unroll, walk = 2;
    static constexpr int run = 64, blocks = min_blocks;
    static constexpr bool aligned = true, b_first = false, split_k = false, batched = false;
};
using Block = Pivot<Step, 8, 4>; // half of the threads: more work between two barriers
using Large = Gemm<Step, Trailing>;
using Rows = Gemm<Step, Shape<size, panel * lanes>>;
using Columns = Gemm<Step, Shape<panel, size>>;
using Square = Gemm<Step, Shape<size, size>>;
static_assert(Large::threads == threads && Rows::threads == threads && Columns::threads == threads, "all tiles by all threads");
constexpr int depth = Large::bk, parts = size / depth; // stages of k of the trailing update
static_assert(size % depth == 0 && Square::threads == threads && panel * lanes <= size, "one pivot a tile");

// Beside A, in words, in the order of products. `width` is a multiple of all tile sides.
struct Workspace {
    Word* pivot; // two of 64 × 64 for D, twice: column k as a left operand, row k as a right one
    Word *column, *row; // 64 × width: old column k of C, for all rows; row k of R, for all columns
    int width;
    __device__ Word* left(int p) const { return pivot + p / size % 2 * (2 * size * size); }
    __device__ Word* right(int p) const { return left(p) + size * size; }
};

// threadIdx.x, reread at each call, so that values derived in one phase hold no registers in another.
__device__ inline int thread() {
    int t;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(t));
    return t;
}

// A split barrier of all blocks of the grid, used once per pivot block. Bit 31 of its counter flips when the last block
// arrives, and the other bits return to 0. So arriving is one addition, without reading the counter, and other work fits
// between `arrive` and `wait`.
__device__ inline void arrive(unsigned* counter) {
    const unsigned mine = blockIdx.x ? 1 : 0x80000000u - (gridDim.x - 1);
    asm volatile("red.release.gpu.add.u32 [%0], %1;" ::"l"(counter), "r"(mine) : "memory");
}
__device__ inline void wait(unsigned* counter, int p) {
    while (acquire(counter) >> 31 == (p / size & 1));
    __threadfence();
}
// Wait until all blocks but the leader have arrived at the barrier for the pivot at p, regardless of the leader.
__device__ inline void wait_for_others(unsigned* counter, int p) {
    unsigned now;
    do now = acquire(counter);
    while (now >> 31 == (p / size & 1) && (now & 0x7fffffffu) != gridDim.x - 1);
    __threadfence();
}
// Arrive at the barrier for the pivot at p, unless `arrived` already, and wait for all blocks.
__device__ inline void arrive_and_wait(unsigned* counter, int p, bool arrived = false) {
    __syncthreads();
    if (threadIdx.x == 0) {
        if (!arrived) arrive(counter);
        wait(counter, p);
    }
    __syncthreads();
}

// Copy rows of `words` words, `stride` words apart, from global to shared memory; by threads `since`, ….
template <int words, int since = 0, int rows, int to_stride>
__device__ inline void fetch(Word (&to)[rows][to_stride], const Word* from, int stride) {
    constexpr int by = threads - since;
    constexpr int each = 16 / sizeof(Word), across = words / each, count = (rows * across + by - 1) / by;
    const int first = thread() - since;
#pragma unroll
    for (int i = 0; i < count; ++i) {
        const int e = first + i * by;
        if (rows * across % by == 0 || e < rows * across)
            copy_async<16>(&to[e / across][e % across * each], from + (long long)(e / across) * stride + e % across * each);
    }
}

// f(row, word column, words) for each run of consecutive words of this thread's tile part, in groups of rows and columns for
// whose first wanted(row, word column) holds.
template <class G, class F, class H>
__device__ inline void for_runs(Word (&c)[G::tm][G::tn], F f, H wanted) {
    int x, y;
    G::seat(thread(), x, y);
#pragma unroll
    for (int p = 0; p < G::chunks_m; ++p)
#pragma unroll
        for (int q = 0; q < G::chunks_n; ++q) {
            const int row = p * (G::bm / G::chunks_m) + y * G::chunk_m, word = q * (G::bn / G::chunks_n) + x * G::chunk_n;
            if (wanted(row, word))
#pragma unroll
                for (int i = 0; i < G::chunk_m; ++i) f(row + i, word, &c[p * G::chunk_m + i][q * G::chunk_n]);
        }
}
template <class G, class F>
__device__ inline void for_runs(Word (&c)[G::tm][G::tn], F f) {
    for_runs<G>(c, f, [](int, int) { return true; });
}

// c ← c ⊕ a ⊗ b over one stage in shared memory.
template <class G>
__device__ inline void multiply(Word (&c)[G::tm][G::tn], const typename G::Stage& stage, int one) {
    int x, y;
    G::seat(thread(), x, y);
    G::multiply(c, stage, x, y, one);
}
template <class G>
__device__ inline void clear(Word (&c)[G::tm][G::tn]) {
    each_entry<G::tm, G::tn>([&](int i, int j) { c[i][j] = Step::nothing(); });
}

struct Closing {
    T* A;
    long long lda;
    int n, one, block_rank, num_blocks; // rank of this block, and number of blocks
    Workspace workspace;
    unsigned char* shared;

    template <class G>
    __device__ typename G::Stage& stage() const { return *reinterpret_cast<typename G::Stage*>(shared); }

    // Whether 4 elements, and aligned 16-byte words, can be loaded at once anywhere.
    __device__ bool vectors() const {
        return Block::vectors(A, lda) && reinterpret_cast<unsigned long long>(A) % 16 == 0 && lda * sizeof(T) % 16 == 0;
    }

    // b ← `words` words of rows p, p + 1, … of A from column j0 on; all loads precede the first store.
    template <int since = 0, int words>
    __device__ void gather_rows(Word (&b)[size][words], int p, int j0) const {
        if constexpr (Step::raw && sizeof(T) * lanes == sizeof(Word)) {
            if (p + size <= n && j0 + words * lanes <= n && vectors()) {
                fetch<words, since>(b, reinterpret_cast<const Word*>(A + p * lda + j0), lda / lanes);
                return;
            }
        }
        constexpr int by = threads - since, count = size * words / by;
        Word v[count];
        const int first = thread() - since, j = j0 + first % words * lanes;
#pragma unroll
        for (int e = 0; e < count; ++e) {
            const int k = (first + e * by) / words;
            v[e] = p + k < n && j < n ? Step::gather(A + (p + k) * lda + j, j + 1 < n) : Step::nothing();
        }
#pragma unroll
        for (int e = 0; e < count; ++e) b[(first + e * by) / words][first % words] = v[e];
    }
    // a ← columns p, p + 1, … of A for `rows` rows from i0 on, transposed, with a copy in the workspace. A warp takes 16 rows
    // and two groups of 4 columns, so that its transposed stores have no bank conflicts.
    template <int rows, int since = 0, int stride>
    __device__ void gather_columns(Word (&a)[size][stride], int p, int i0) const {
        constexpr int across = (threads - since) / 4, passes = size / across, count = rows / 16;
        static_assert(rows % 16 == 0 && size % across == 0, "a thread must stay in its columns");
        Vector<T, 4> v[passes * count];
        const int t = thread() - since, k = t / 16 * 4, i = t % 16;
        const bool own = i0 / size == p / size;
        const T* from = A + (i0 + i) * lda + p + k;
        if (!own && i0 + rows <= n && p + size <= n && vectors())
#pragma unroll
            for (int e = 0; e < passes * count; ++e)
                v[e] = *reinterpret_cast<const Vector<T, 4>*>(from + e / count * across + 16 * (e % count) * lda);
        else
#pragma unroll
            for (int e = 0; e < passes * count; ++e)
#pragma unroll
                for (int q = 0; q < 4; ++q) {
                    const int column = e / count * across + q, row = 16 * (e % count);
                    const bool inside = !own && i0 + i + row < n && p + k + column < n;
                    v[e].item[q] = inside ? from[row * lda + column] : T(Step::zero());
                }
#pragma unroll
        for (int pass = 0; pass < passes; ++pass) {
            Word* saved = workspace.column + (long long)(k + pass * across) * workspace.width + i0 + i;
#pragma unroll
            for (int q = 0; q < 4; ++q, saved += workspace.width)
#pragma unroll
                for (int e = 0; e < count; ++e)
                    a[k + pass * across + q][i + 16 * e] = saved[16 * e] = Step::spread(v[pass * count + e].item[q]);
        }
    }

    // c ← the tile of A at (i0, j0), the initial accumulators; only its `wanted` blocks of 64 × 64.
    template <class G, class F>
    __device__ void begin(Word (&c)[G::tm][G::tn], int i0, int j0, F wanted) const {
        const bool inside = i0 + G::bm <= n && j0 + G::bn * lanes <= n, words = sizeof(T) * lanes == sizeof(Word);
        const auto here = [&](int i, int w) { return wanted((i0 + i) / size, (j0 + w * lanes) / size); };
        if (words && inside && vectors())
            for_runs<G>(c, [&](int i, int w, Word* run) {
                const auto v = *reinterpret_cast<const Vector<Word, G::chunk_n>*>(A + (i0 + i) * lda + j0 + w * lanes);
#pragma unroll
                for (int q = 0; q < G::chunk_n; ++q) run[q] = Step::begin(Step::fix(v.item[q]));
            }, here);
        else
            for_runs<G>(c, [&](int i, int w, Word* run) {
#pragma unroll
                for (int q = 0; q < G::chunk_n; ++q) {
                    const int j = j0 + (w + q) * lanes;
                    run[q] = i0 + i < n && j < n ? Step::begin(Step::gather(A + (i0 + i) * lda + j, j + 1 < n)) : Step::nothing();
                }
            }, here);
    }
    template <class G>
    __device__ void begin(Word (&c)[G::tm][G::tn], int i0, int j0) const {
        begin<G>(c, i0, j0, [](int, int) { return true; });
    }

    // Store the `wanted` blocks of 64 × 64 of a trailing tile.
    template <class F>
    __device__ void end(Word (&c)[Large::tm][Large::tn], int i0, int j0, F wanted) const {
        for_runs<Large>(c, [&](int i, int w, Word* run) {
            const int r = i0 + i, j = j0 + w * lanes;
            if (r < n && j < n) Large::template store<false>(A + r * lda + j, run, n - j);
        }, [&](int i, int w) { return wanted((i0 + i) / size, (j0 + w * lanes) / size); });
    }

    // Store the product R ← D R in A and in the workspace, there with zeros in the pivot's columns.
    template <class G>
    __device__ void put_rows(Word (&c)[G::tm][G::tn], int p, int j0) const {
        const bool own = (j0 ^ p) < size;  // p is a multiple of it
        for_runs<G>(c, [&](int i, int w, Word* run) {
            const int j = j0 + w * lanes;
            if (!own && p + i < n && j < n) G::template store<false>(A + (p + i) * lda + j, run, n - j);
            Word* saved = workspace.row + (long long)i * workspace.width + j0 / lanes + w;
#pragma unroll
            for (int q = 0; q < G::chunk_n; ++q) {
                run[q] = own ? Step::nothing() : Step::operand(run[q]);
                saved[q] = run[q];
            }
        });
    }

    // R ← D R, `panel` words wide, from column j0 on.
    __device__ void row_panel(int p, int j0) const {
        auto& s = stage<Rows>();
        fetch<size>(s.a, workspace.left(p), size);
        gather_rows(s.b, p, j0);
        wait_for_copies();
        __syncthreads();
        Word c[Rows::tm][Rows::tn];
        clear<Rows>(c);
        multiply<Rows>(c, s, one);
        put_rows<Rows>(c, p, j0);
    }

    // C ← C D, `panel` rows from row i0 on. The old C goes to the workspace, unless `saved` already.
    __device__ void column_panel(int p, int i0, bool saved) const {
        auto& s = stage<Columns>();
        fetch<size / lanes>(s.b, workspace.right(p), size / lanes);
        if (saved) fetch<panel>(s.a, workspace.column + i0, workspace.width);
        else gather_columns<panel>(s.a, p, i0);
        wait_for_copies();
        __syncthreads();
        Word c[Columns::tm][Columns::tn];
        clear<Columns>(c);
        multiply<Columns>(c, s, one);
        if (i0 / size == p / size) return;  // D itself
        for_runs<Columns>(c, [&](int i, int w, Word* run) {
            const int j = p + w * lanes;
            if (i0 + i < n && j < n) Columns::template store<false>(A + (i0 + i) * lda + j, run, n - j);
        });
    }

    // Origin of tile t of the trailing matrix, without rows and columns of tiles that are panels.
    static constexpr int wide = Large::bn * lanes;
    static constexpr bool skips_rows = Large::bm == size, skips_columns = wide == size;
    __device__ int down() const { return (n + Large::bm - 1) / Large::bm - skips_rows; }
    __device__ int across() const { return (n + wide - 1) / wide - skips_columns; }
    __device__ int top(int t, int now) const { return (t / across() + (skips_rows && t / across() >= now)) * Large::bm; }
    __device__ int left(int t, int now) const { return (t % across() + (skips_columns && t % across() >= now)) * wide; }

    // Load one stage of a tile's operands: `depth` values of k.
    __device__ void fetch_part(typename Large::Stage& to, int i0, int j0, int part) const {
        fetch<Large::bm>(to.a, workspace.column + (long long)part * depth * workspace.width + i0, workspace.width);
        fetch<Large::bn>(to.b, workspace.row + (long long)part * depth * workspace.width + j0 / lanes, workspace.width);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }

    // The leader's operands from p to q = p + 64: D and R for R ← D R; C and R for C R; and A[q, q].
    struct Lead {
        typename Square::Stage row, column;
        Word here[size][size / lanes];
        typename Block::Shared pivot;
    };
    template <int since>
    __device__ void gather(Lead& s, int p, int q) const {
        gather_rows<since>(s.row.b, p, q);
        gather_rows<since>(s.here, q, q);
        gather_columns<size, since>(s.column.a, p, q);
        wait_for_copies();
    }

    // D ← D* at q: store it in the workspace, arrive at ready(q), then store it in A. If this block `leads` on, the threads
    // that the closure does not use wait for all other blocks at ready(q), and load the operands of the leader's next step.
    template <bool leads>
    __device__ void close(Word (&c)[Square::tm][Square::tn], int q, unsigned* ready) const {
        auto& s = *reinterpret_cast<Lead*>(shared);
        static_assert(sizeof(W) == sizeof(Word), "D takes the place of its own operand");
        auto& D = reinterpret_cast<W(&)[size][size + 4]>(s.row.a);
        for_runs<Square>(c, [&](int i, int w, Word* run) {
#pragma unroll
            for (int j = 0; j < Square::chunk_n * lanes; ++j) D[i][w * lanes + j] = Step::lane(run[j / lanes], j % lanes);
        });
        __syncthreads();
        const int t = thread();
        if (t < Block::threads) close_block(s, D, q, t, ready);
        else {
            // compute-sanitizer orders accesses by barriers passed, so that all threads pass equally many.
            static_assert(Block::chunks == 1, "as `barriers` counts");
            for (int i = 0; i <= Block::barriers(n - q); ++i) asm volatile("bar.sync 2, %0;" ::"n"(threads - Block::threads) : "memory");
            if (leads && num_blocks > 1 && q + size < n) {
                if (t % 32 == 0) wait_for_others(ready, q);
                __syncwarp();
                gather<Block::threads>(s, q, q + size);
            }
        }
        __syncthreads();
    }
    __device__ void close_block(Lead& s, const W (&D)[size][size + 4], int q, int t, unsigned* ready) const {
        constexpr int tm = 8, tn = 4;
        W d[tm][tn];
        each_entry<tm, tn>([&](int i, int j) { d[i][j] = D[Block::row(t, i)][Block::column(t, j)]; });
        Block::close(t, d, s.pivot, min(size, n - q));
        t = thread();
        const int r = Block::row(t, 0), column = Block::column(t, 0);
        Word *left = workspace.left(q), *right = workspace.right(q);
#pragma unroll
        for (int j = 0; j < tn; ++j)
#pragma unroll
            for (int i = 0; i < tm; i += 4) {
                Vector<Word, 4> words;
#pragma unroll
                for (int e = 0; e < 4; ++e) words.item[e] = Step::spread(T(d[i + e][j]));
                *reinterpret_cast<Vector<Word, 4>*>(left + (column + j) * size + r + i) = words;
                *reinterpret_cast<Vector<Word, 4>*>(&s.row.a[column + j][r + i]) = words;
            }
#pragma unroll
        for (int i = 0; i < tm; ++i) {
            const T row[4] = {T(d[i][0]), T(d[i][1]), T(d[i][2]), T(d[i][3])};
            Vector<Word, 4 / lanes> words;
#pragma unroll
            for (int j = 0; j < 4; j += lanes) words.item[j / lanes] = Step::gather(row + j, 1);
            *reinterpret_cast<Vector<Word, 4 / lanes>*>(right + ((r + i) * size + column) / lanes) = words;
        }
        Block::barrier();
        if (num_blocks > 1 && t == 0) arrive(ready);
        Block::store(t, A + q * lda + q, lda, n - q, d); // read after half(q) at the earliest
    }

    // Phase 1, by `others` blocks from block `first` on, without the tiles next to A[q, q] if the leader does those
    // (`leads`). In the workspace panels extend to the end of the last tile, beyond A's edge.
    template <bool leads>
    __device__ void panels(int p, int first, int others) const {
        constexpr int each = panel * lanes;
        const int right = (n + wide - 1) / wide * wide / each, low = (n + Large::bm - 1) / Large::bm * Large::bm / panel;
        for (int t = block_rank - first; t < right + low; t += others) {
            const int offset = t < right ? t * each : (t - right) * panel;
            if (leads && p + size < n && offset / size == p / size + 1) continue;
            if (t < right) row_panel(p, offset);
            else column_panel(p, offset, false);
            __syncthreads();
        }
    }
};

// Workspace of a closure: two pivot blocks D as left and right operands, and two panels of 64 × width.
__device__ inline Workspace workspace_at(Word* start, int width) {
    Word* panels = start + 4 * size * size;
    return {start, panels, panels + (long long)size * width, width};
}
