// What kernels that close a matrix in one launch share: Floyd–Warshall on blocks of 64 (Venkataraman, Sahni,
// Mukhopadhyaya 2003, section 3) by a team of thread blocks.
//
// For each pivot block D = A[p, p], closed already, the team does
//   panels     R ← D R and C ← C D; R as it is now and C as it was are also put beside A, ready for products
//   trailing   A ← A ⊕ C R but for the panels
// and meets before each. Meanwhile the team's first block leads: it does the panels next to the next pivot block, then
// that block itself, A ← A ⊕ C R and its closure. Nobody else touches these, so it need not wait between the two.
//
// The prelude gives `struct Trailing`, a tile as Gemm wants it; `panel`, the width in words of a row panel's tile;
// `resident`, the blocks that a multiprocessor holds; and `written`, how often the inner loop of panels is written out.
#include "gemm.cuh"
#include "pivot.cuh"

using T = Step::T;
using W = Step::W;
using Word = Step::Word;

constexpr int size = 64, lanes = Step::lanes, threads = 256;
// A row panel's tile has all 64 rows, a column panel's tile all 64 columns, and so has the next pivot.
template <int rows, int columns>
struct Shape {
    static constexpr int bm = rows, bn = columns, bk = size, per = bm * bn / lanes / threads;
    static constexpr int tm = per > 2 ? 4 : 2, tn = per / tm * lanes, unroll = written, walk = 2;
    static constexpr int run = 64, blocks = resident;
    static constexpr bool aligned = true, b_first = false, parts = false, batch = false;
};
using Block = Pivot<Step, 8, 4>;  // by the first half of the threads, which have more to do between two barriers
using Large = Gemm<Step, Trailing>;
using Rows = Gemm<Step, Shape<size, panel * lanes>>;
using Columns = Gemm<Step, Shape<panel, size>>;
using Square = Gemm<Step, Shape<size, size>>;
static_assert(Large::threads == threads && Rows::threads == threads && Columns::threads == threads, "one team");
constexpr int depth = Large::bk, parts = size / depth;  // of k, in which the trailing update goes
static_assert(size % depth == 0 && Square::threads == threads && panel * lanes <= size, "one pivot a tile");

// Beside A, in words as products read them. `width` is a multiple of all tiles' sides.
struct Room {
    Word* pivot;         // two of 64 × 64 for D, twice: column k as a left operand, row k as a right one
    Word *column, *row;  // 64 × width: column k of C as it was, for all rows; row k of R, for all columns
    int width;
    __device__ Word* left(int p) const { return pivot + p / size % 2 * (2 * size * size); }
    __device__ Word* right(int p) const { return left(p) + size * size; }
};

// threadIdx.x, read anew: what is worked out from it in one phase shall not occupy registers in another.
__device__ inline int thread() {
    int t;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(t));
    return t;
}

// Meetings of all blocks of the grid, one a pivot block. Bit 31 of a counter flips when the last has come; the others
// are 0 again then. So whoever comes need not ask for what was there, and may come well before it waits.
__device__ inline void arrive(unsigned* counter) {
    const unsigned mine = blockIdx.x ? 1 : 0x80000000u - (gridDim.x - 1);
    asm volatile("red.release.gpu.add.u32 [%0], %1;" ::"l"(counter), "r"(mine) : "memory");
}
__device__ inline void wait(unsigned* counter, int p) {
    unsigned now;
    do asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(counter) : "memory");
    while (now >> 31 == (p / size & 1));
    __threadfence();
}
// All of a block comes to the meeting for the pivot at p, if it has not `come` before, and waits.
__device__ inline void meet(unsigned* counter, int p, bool come = false) {
    __syncthreads();
    if (threadIdx.x == 0) {
        if (!come) arrive(counter);
        wait(counter, p);
    }
    __syncthreads();
}

// Rows of `words` words, `apart` from row to row, into shared memory.
template <int words, int rows, int to_apart>
__device__ inline void fetch(Word (&to)[rows][to_apart], const Word* from, int apart) {
    constexpr int each = 16 / sizeof(Word), across = words / each, count = (rows * across + threads - 1) / threads;
    const int first = thread();
#pragma unroll
    for (int i = 0; i < count; ++i) {
        const int e = first + i * threads;
        if (rows * across % threads == 0 || e < rows * across)
            copy_async<16>(&to[e / across][e % across * each], from + (long long)(e / across) * apart + e % across * each);
    }
}

// Call f(row, word column, words) for each run of neighbouring words that this thread has of a tile, in groups of rows
// and columns for which wanted(row, word column) tells, of the first.
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

// c ← c ⊕ a ⊗ b, of one stage in shared memory.
template <class G>
__device__ inline void multiply(Word (&c)[G::tm][G::tn], const typename G::Stage& stage, int one) {
    int x, y;
    G::seat(thread(), x, y);
    G::multiply(c, stage, x, y, one);
}
template <class G>
__device__ inline void clear(Word (&c)[G::tm][G::tn]) {
#pragma unroll
    for (int i = 0; i < G::tm; ++i)
#pragma unroll
        for (int j = 0; j < G::tn; ++j) c[i][j] = Step::nothing();
}

struct Closing {
    T* A;
    long long lda;
    int n, one, member, members;  // this block's place in its team
    Room room;
    unsigned char* shared;

    template <class G>
    __device__ typename G::Stage& stage() const { return *reinterpret_cast<typename G::Stage*>(shared); }

    // Whether 4 neighbours, and 16 bytes as they are in words, can be read at once anywhere.
    __device__ bool vectors() const {
        return Block::vectors(A, lda) && reinterpret_cast<unsigned long long>(A) % 16 == 0 && lda * sizeof(T) % 16 == 0;
    }

    // b ← rows p … of A, `words` words of them from column j0 on. All is read before anything is written.
    template <int words>
    __device__ void gather_rows(Word (&b)[size][words], int p, int j0) const {
        if constexpr (Step::raw && sizeof(T) * lanes == sizeof(Word)) {
            if (p + size <= n && j0 + words * lanes <= n && vectors()) {
                fetch<words>(b, reinterpret_cast<const Word*>(A + p * lda + j0), lda / lanes);
                return;
            }
        }
        constexpr int count = size * words / threads;
        Word v[count];
        const int first = thread(), j = j0 + first % words * lanes;
#pragma unroll
        for (int e = 0; e < count; ++e) {
            const int k = (first + e * threads) / words;
            v[e] = p + k < n && j < n ? Step::gather(A + (p + k) * lda + j, j + 1 < n) : Step::nothing();
        }
#pragma unroll
        for (int e = 0; e < count; ++e) b[(first + e * threads) / words][first % words] = v[e];
    }
    // a ← columns p … of A, `rows` rows of them from row i0 on, transposed; and the same beside A.
    // A warp has 16 rows and two groups of 4 columns: its transposed stores do not meet in a bank.
    template <int rows, int apart>
    __device__ void gather_columns(Word (&a)[size][apart], int p, int i0) const {
        constexpr int count = rows / 16;
        static_assert(threads == 16 * size / 4 && rows % 16 == 0, "a thread must stay in its columns");
        Vector<T, 4> v[count];
        const int k = thread() / 16 * 4, i = thread() % 16;
        const bool own = i0 / size == p / size;
        const T* from = A + (i0 + i) * lda + p + k;
        if (!own && i0 + rows <= n && p + size <= n && vectors())
#pragma unroll
            for (int e = 0; e < count; ++e) v[e] = *reinterpret_cast<const Vector<T, 4>*>(from + 16 * e * lda);
        else
#pragma unroll
            for (int e = 0; e < count; ++e)
#pragma unroll
                for (int q = 0; q < 4; ++q) {
                    const bool inside = !own && i0 + i + 16 * e < n && p + k + q < n;
                    v[e].at[q] = inside ? from[16 * e * lda + q] : T(Step::zero());
                }
        Word* kept = room.column + (long long)k * room.width + i0 + i;
#pragma unroll
        for (int q = 0; q < 4; ++q, kept += room.width)
#pragma unroll
            for (int e = 0; e < count; ++e) a[k + q][i + 16 * e] = kept[16 * e] = Step::spread(v[e].at[q]);
    }

    // Sums begin with what is there, from entry (i0, j0) on; or only those whose 64 × 64 entries are `wanted`.
    template <class G, class F>
    __device__ void begin(Word (&c)[G::tm][G::tn], int i0, int j0, F wanted) const {
        const bool inside = i0 + G::bm <= n && j0 + G::bn * lanes <= n, words = sizeof(T) * lanes == sizeof(Word);
        const auto here = [&](int i, int w) { return wanted((i0 + i) / size, (j0 + w * lanes) / size); };
        if (words && inside && vectors())
            for_runs<G>(c, [&](int i, int w, Word* run) {
                const auto v = *reinterpret_cast<const Vector<Word, G::chunk_n>*>(A + (i0 + i) * lda + j0 + w * lanes);
#pragma unroll
                for (int q = 0; q < G::chunk_n; ++q) run[q] = Step::begin(Step::fix(v.at[q]));
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

    // Of a trailing tile, those 64 × 64 entries go back that are `wanted`.
    template <class F>
    __device__ void end(Word (&c)[Large::tm][Large::tn], int i0, int j0, F wanted) const {
        for_runs<Large>(c, [&](int i, int w, Word* run) {
            const int r = i0 + i, j = j0 + w * lanes;
            if (r < n && j < n) Large::template store<false>(A + r * lda + j, run, n - j);
        }, [&](int i, int w) { return wanted((i0 + i) / size, (j0 + w * lanes) / size); });
    }

    // What follows a product R ← D R: into A, and beside it with nothing in the pivot's own columns.
    template <class G>
    __device__ void put_rows(Word (&c)[G::tm][G::tn], int p, int j0) const {
        const bool own = (j0 ^ p) < size;  // p is a multiple of it
        for_runs<G>(c, [&](int i, int w, Word* run) {
            const int j = j0 + w * lanes;
            if (!own && p + i < n && j < n) G::template store<false>(A + (p + i) * lda + j, run, n - j);
            Word* kept = room.row + (long long)i * room.width + j0 / lanes + w;
#pragma unroll
            for (int q = 0; q < G::chunk_n; ++q) {
                run[q] = own ? Step::nothing() : Step::operand(run[q]);
                kept[q] = run[q];
            }
        });
    }

    // R ← D R, `panel` words wide, from column j0 on.
    __device__ void row_panel(int p, int j0) const {
        auto& s = stage<Rows>();
        fetch<size>(s.a, room.left(p), size);
        gather_rows(s.b, p, j0);
        wait_for_copies();
        __syncthreads();
        Word c[Rows::tm][Rows::tn];
        clear<Rows>(c);
        multiply<Rows>(c, s, one);
        put_rows<Rows>(c, p, j0);
    }

    // C ← C D, `panel` rows from row i0 on; as it was it is kept, or has been.
    __device__ void column_panel(int p, int i0, bool kept) const {
        auto& s = stage<Columns>();
        fetch<size / lanes>(s.b, room.right(p), size / lanes);
        if (kept) fetch<panel>(s.a, room.column + i0, room.width);
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

    // Where the t-th tile of the trailing matrix begins. Panels as wide as a tile are left out.
    static constexpr int wide = Large::bn * lanes;
    static constexpr bool skips_rows = Large::bm == size, skips_columns = wide == size;
    __device__ int down() const { return (n + Large::bm - 1) / Large::bm - skips_rows; }
    __device__ int across() const { return (n + wide - 1) / wide - skips_columns; }
    __device__ int top(int t, int now) const { return (t / across() + (skips_rows && t / across() >= now)) * Large::bm; }
    __device__ int left(int t, int now) const { return (t % across() + (skips_columns && t % across() >= now)) * wide; }

    // A part of k of the operands of a tile.
    __device__ void fetch_part(typename Large::Stage& to, int i0, int j0, int part) const {
        fetch<Large::bm>(to.a, room.column + (long long)part * depth * room.width + i0, room.width);
        fetch<Large::bn>(to.b, room.row + (long long)part * depth * room.width + j0 / lanes, room.width);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }

    // D ← D* at q: beside A, then to the meeting, then to A.
    __device__ void close(Word (&c)[Square::tm][Square::tn], int q, unsigned* whole) const {
        auto& D = *reinterpret_cast<W(*)[size][size + 4]>(shared);
        for_runs<Square>(c, [&](int i, int w, Word* run) {
#pragma unroll
            for (int j = 0; j < Square::chunk_n * lanes; ++j) D[i][w * lanes + j] = Step::lane(run[j / lanes], j % lanes);
        });
        __syncthreads();
        constexpr int tm = 8, tn = 4;
        W d[tm][tn];
        int t = thread();
        const bool closes = Block::has_entries(t);
        if (closes)
#pragma unroll
            for (int i = 0; i < tm; ++i)
#pragma unroll
                for (int j = 0; j < tn; ++j) d[i][j] = D[Block::row(t, i)][Block::column(t, j)];
        __syncthreads();
        Block::close(t, d, *reinterpret_cast<Block::Shared*>(shared), min(size, n - q));
        t = thread();
        if (closes) {
            const int r = Block::row(t, 0), column = Block::column(t, 0);
            Word *left = room.left(q), *right = room.right(q);
#pragma unroll
            for (int j = 0; j < tn; ++j)
#pragma unroll
                for (int i = 0; i < tm; i += 4) {
                    Vector<Word, 4> words;
#pragma unroll
                    for (int e = 0; e < 4; ++e) words.at[e] = Step::spread(T(d[i + e][j]));
                    *reinterpret_cast<Vector<Word, 4>*>(left + (column + j) * size + r + i) = words;
                }
#pragma unroll
            for (int i = 0; i < tm; ++i) {
                const T row[4] = {T(d[i][0]), T(d[i][1]), T(d[i][2]), T(d[i][3])};
                Vector<Word, 4 / lanes> words;
#pragma unroll
                for (int j = 0; j < 4; j += lanes) words.at[j / lanes] = Step::gather(row + j, 1);
                *reinterpret_cast<Vector<Word, 4 / lanes>*>(right + ((r + i) * size + column) / lanes) = words;
            }
        }
        __syncthreads();
        if (members > 1 && threadIdx.x == 0) arrive(whole);
        if (closes) Block::store(t, A + q * lda + q, lda, n - q, d);  // nobody reads it before the meeting after this one
    }

    // The first block: from D at p to D at q = p + 64, the panels between them included; the very first D with p < 0.
    // It comes to the meeting `half` on the way, to `whole` in the end, and waits for neither.
    __device__ void lead(int p, int q, unsigned* half, unsigned* whole) const {
        auto* s = &stage<Square>();  // R ← D R in the first stage, A ← A ⊕ C R in the second
        Word c[Square::tm][Square::tn], r[Square::tm][Square::tn];
        if (p >= 0) {
            fetch<size>(s[0].a, room.left(p), size);
            gather_rows(s[0].b, p, q);
            gather_columns<size>(s[1].a, p, q);
        }
        begin<Square>(c, q, q);
        if (p >= 0) {
            wait_for_copies();
            __syncthreads();
            clear<Square>(r);
            multiply<Square>(r, s[0], one);
            put_rows<Square>(r, p, q);
            for_runs<Square>(r, [&](int i, int w, Word* run) {
#pragma unroll
                for (int e = 0; e < Square::chunk_n; ++e) s[1].b[i][w + e] = run[e];
            });
            __syncthreads();
            if (members > 1 && threadIdx.x == 0) arrive(half);
            multiply<Square>(c, s[1], one);
        }
        close(c, q, whole);
    }

    // Blocks `first` and further share the work, `others` of them. Panels are kept to the ends of tiles, beyond A's edge.
    __device__ void panels(int p, int first, int others) const {
        constexpr int each = panel * lanes;
        const int right = (n + wide - 1) / wide * wide / each, low = (n + Large::bm - 1) / Large::bm * Large::bm / panel;
        for (int t = member - first; t < right + low; t += others) {
            const int at = t < right ? t * each : (t - right) * panel;
            if (p + size < n && at / size == p / size + 1) continue;  // the leader's
            if (t < right) row_panel(p, at);
            else column_panel(p, at, false);
            __syncthreads();
        }
    }
    // The column panel that the leader has only kept, by the last blocks, which have few tiles.
    __device__ void kept_panel(int p, int others) const {
        const int q = p + size;
        for (int t = members - 1 - member; t * panel < size && q + t * panel < n; t += others) {
            column_panel(p, q + t * panel, true);
            __syncthreads();
        }
    }
};

// The room of one team: D twice as two operands, two panels of 64 × width.
__device__ inline Room room_at(Word* room, int width) {
    Word* panels = room + 4 * size * size;
    return {room, panels, panels + (long long)size * width, width};
}
