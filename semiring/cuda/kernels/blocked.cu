// A ← A*: Floyd–Warshall on blocks of 64 (Venkataraman, Sahni, Mukhopadhyaya 2003, section 3) in one launch.
//
// For each pivot block D = A[p, p], closed already, a team of thread blocks
//   panels     R ← D R and C ← C D; R as it is now and C as it was are also put beside A, ready for products
//   trailing   A ← A ⊕ C R but for the panels
// and meets before each. Meanwhile the team's first block leads: it does the panels next to the next pivot block, then
// that block itself, A ← A ⊕ C R and its closure. Nobody else touches these, so it need not wait between the two.
//
// `blocked` has one team, the whole grid (to be launched cooperatively). In `each` every block is a team of its own and
// takes one matrix of a batch after the other.
//
// The prelude gives `struct Trailing`, a tile as Gemm wants it, `panel`, the width in words of a row panel's tile, and
// `resident`, the blocks that a multiprocessor holds.
#include "gemm.cuh"
#include "pivot.cuh"

using T = Step::T;
using W = Step::W;
using Word = Step::Word;

constexpr int size = 64, depth = size / 2, lanes = Step::lanes, threads = 256;
// A row panel's tile has all 64 rows, a column panel's tile all 64 columns, and so has the next pivot.
template <int rows, int columns>
struct Shape {
    static constexpr int bm = rows, bn = columns, bk = size, per = bm * bn / lanes / threads;
    static constexpr int tm = per > 2 ? 4 : 2, tn = per / tm * lanes, unroll = 2, walk = 2, run = 64, blocks = resident;
    static constexpr bool aligned = true, b_first = false, parts = false, batch = false;
};
using Block = Pivot<Step, 8, 4>;  // by the first half of the threads, which have more to do between two barriers
using Large = Gemm<Step, Trailing>;
using Rows = Gemm<Step, Shape<size, panel * lanes>>;
using Columns = Gemm<Step, Shape<panel, size>>;
using Square = Gemm<Step, Shape<size, size>>;
static_assert(Large::threads == threads && Rows::threads == threads && Columns::threads == threads, "one team");
static_assert(Large::bk == depth && Square::threads == threads && panel * lanes <= size, "one pivot a tile");

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

// A meeting of all blocks of the grid. Bit 31 of a counter flips when the last has come; the others are 0 again then.
__device__ inline unsigned arrive(unsigned* counter) {
    const unsigned mine = blockIdx.x ? 1 : 0x80000000u - (gridDim.x - 1);
    unsigned before;
    asm volatile("atom.add.acq_rel.gpu.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(mine) : "memory");
    return before;
}
__device__ inline void announce(unsigned* counter) {  // an arrival of the first block, which does not wait
    asm volatile("red.release.gpu.add.u32 [%0], %1;" ::"l"(counter), "r"(0x80000000u - (gridDim.x - 1)) : "memory");
}
__device__ inline void wait(unsigned* counter, unsigned before) {
    unsigned now;
    do asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(counter) : "memory");
    while (!((before ^ now) >> 31));
    __threadfence();
}

// Rows of `words` words, `apart` from row to row, into shared memory.
template <int words, int rows, int to_apart>
__device__ inline void fetch(Word (&to)[rows][to_apart], const Word* from, int apart) {
    constexpr int each = 16 / sizeof(Word), across = words / each;
#pragma unroll
    for (int e = thread(); e < rows * across; e += threads)
        copy_async<16>(&to[e / across][e % across * each], from + (long long)(e / across) * apart + e % across * each);
}

// Call f(row, word column, words) for each run of neighbouring words that this thread has of a tile.
template <class G, class F>
__device__ inline void for_runs(Word (&c)[G::tm][G::tn], F f) {
    int x, y;
    G::seat(x, y);
#pragma unroll
    for (int i = 0; i < G::tm; ++i)
#pragma unroll
        for (int q = 0; q < G::chunks_n; ++q)
            f(i / G::chunk_m * (G::bm / G::chunks_m) + y * G::chunk_m + i % G::chunk_m,
              q * (G::bn / G::chunks_n) + x * G::chunk_n, &c[i][q * G::chunk_n]);
}

// c ← c ⊕ a ⊗ b, of one stage in shared memory.
template <class G>
__device__ inline void multiply(Word (&c)[G::tm][G::tn], const typename G::Stage& stage, int one) {
    int x, y;
    G::seat(x, y);
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
        const int k = thread() / 16 * 4, i = threadIdx.x % 16;
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

    // Sums begin with what is there, from entry (i0, j0) on.
    template <class G>
    __device__ void begin(Word (&c)[G::tm][G::tn], int i0, int j0) const {
        const bool inside = i0 + G::bm <= n && j0 + G::bn * lanes <= n, words = sizeof(T) * lanes == sizeof(Word);
        if (words && inside && vectors())
            for_runs<G>(c, [&](int i, int w, Word* run) {
                const auto v = *reinterpret_cast<const Vector<Word, G::chunk_n>*>(A + (i0 + i) * lda + j0 + w * lanes);
#pragma unroll
                for (int q = 0; q < G::chunk_n; ++q) run[q] = Step::begin(v.at[q]);
            });
        else
            for_runs<G>(c, [&](int i, int w, Word* run) {
#pragma unroll
                for (int q = 0; q < G::chunk_n; ++q) {
                    const int j = j0 + (w + q) * lanes;
                    run[q] = i0 + i < n && j < n ? Step::begin(Step::gather(A + (i0 + i) * lda + j, j + 1 < n)) : Step::nothing();
                }
            });
    }

    // What follows a product R ← D R: into A, and beside it with nothing in the pivot's own columns.
    template <class G>
    __device__ void put_rows(Word (&c)[G::tm][G::tn], int p, int j0) const {
        const bool own = j0 / size == p / size;
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
        for_runs<Columns>(c, [&](int i, int w, Word* run) {
            const int j = p + w * lanes;
            if (i0 + i < n && i0 / size != p / size && j < n) Columns::template store<false>(A + (i0 + i) * lda + j, run, n - j);
        });
    }

    // Where the t-th tile of the trailing matrix begins. Panels as wide as a tile are left out.
    static constexpr int wide = Large::bn * lanes;
    static constexpr bool skips_rows = Large::bm == size, skips_columns = wide == size;
    __device__ int down() const { return (n + Large::bm - 1) / Large::bm - skips_rows; }
    __device__ int across() const { return (n + wide - 1) / wide - skips_columns; }
    __device__ int top(int t, int now) const { return (t / across() + (skips_rows && t / across() >= now)) * Large::bm; }
    __device__ int left(int t, int now) const { return (t % across() + (skips_columns && t % across() >= now)) * wide; }

    // Half of k of the operands of a tile.
    __device__ void fetch_half(typename Large::Stage& to, int i0, int j0, int half) const {
        fetch<Large::bm>(to.a, room.column + (long long)half * depth * room.width + i0, room.width);
        fetch<Large::bn>(to.b, room.row + (long long)half * depth * room.width + j0 / lanes, room.width);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }

    // A tile goes back, but for the panels and the next pivot block.
    __device__ void end(Word (&c)[Large::tm][Large::tn], int i0, int j0, int now) const {
        const int next = now + 1;
        for_runs<Large>(c, [&](int i, int w, Word* run) {
            const int r = i0 + i, j = j0 + w * lanes, down = r / size, right = j / size;
            if (r < n && j < n && down != now && right != now && (down != next || right != next))
                Large::template store<false>(A + r * lda + j, run, n - j);
        });
    }

    // A ← A ⊕ C R: half of k after the other, tile after tile; two halves are on their way while one is computed on.
    __device__ void trailing(int p, int first, int others) const {
        auto* ring = &stage<Large>();
        const int tiles = down() * across(), pivot = p / size;
        int t = member - first, at = 0;
        if (t >= tiles) return;
        int i0 = top(t, pivot), j0 = left(t, pivot);
        fetch_half(ring[0], i0, j0, 0), fetch_half(ring[1], i0, j0, 1);
        Word c[Large::tm][Large::tn];
#pragma unroll 1
        while (t < tiles) {
            begin<Large>(c, i0, j0);
            const int i = i0, j = j0;
            t += others;
            i0 = top(t, pivot), j0 = left(t, pivot);
#pragma unroll 1
            for (int half = 0; half < 2; ++half) {
                asm volatile("cp.async.wait_group 1;" ::: "memory");
                __syncthreads();
                if (t < tiles) fetch_half(ring[at ? at - 1 : 2], i0, j0, half);
                else asm volatile("cp.async.commit_group;" ::: "memory");
                multiply<Large>(c, ring[at], one);
                at = at == 2 ? 0 : at + 1;
            }
            end(c, i, j, pivot);
        }
        wait_for_copies();
        __syncthreads();
    }

    // The first block: from D at p to D at q = p + 64, the panels between them included; the very first D with p < 0.
    // It comes to the meeting `half` on the way, to `whole` in the end; the latter's answer is returned.
    __device__ unsigned lead(int p, int q, unsigned* half, unsigned* whole) const {
        auto* s = &stage<Square>();  // R ← D R in the first stage, A ← A ⊕ C R in the second
        Word c[Square::tm][Square::tn];
        if (p >= 0) {
            fetch<size>(s[0].a, room.left(p), size);
            gather_rows(s[0].b, p, q);
            gather_columns<size>(s[1].a, p, q);
            wait_for_copies();
            __syncthreads();
            clear<Square>(c);
            multiply<Square>(c, s[0], one);
            put_rows<Square>(c, p, q);
            for_runs<Square>(c, [&](int i, int w, Word* run) {
#pragma unroll
                for (int e = 0; e < Square::chunk_n; ++e) s[1].b[i][w + e] = run[e];
            });
        }
        begin<Square>(c, q, q);
        if (p >= 0) {
            __syncthreads();
            if (members > 1 && threadIdx.x == 0) announce(half);
            multiply<Square>(c, s[1], one);
        }
        auto& D = *reinterpret_cast<W(*)[size][size + 4]>(&s[0]);
        for_runs<Square>(c, [&](int i, int w, Word* run) {
#pragma unroll
            for (int j = 0; j < Square::chunk_n * lanes; ++j) D[i][w * lanes + j] = Step::lane(run[j / lanes], j % lanes);
        });
        __syncthreads();
        constexpr int tm = 8, tn = 4;
        W d[tm][tn];
        const bool closes = Block::has_entries();
        const int r = Block::row(0), column = Block::column(0);
        if (closes)
#pragma unroll
            for (int i = 0; i < tm; ++i)
#pragma unroll
                for (int j = 0; j < tn; ++j) d[i][j] = D[r + i][column + j];
        __syncthreads();
        Block::close(d, *reinterpret_cast<Block::Shared*>(shared), min(size, n - q));
        if (closes) {
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
        const unsigned before = members > 1 && threadIdx.x == 0 ? arrive(whole) : 0;
        if (closes) Block::store(A + q * lda + q, lda, n - q, d);
        return before;
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
    // Trailing tiles, then the column panel that the leader has only kept, by blocks that have few tiles.
    __device__ void rest(int p, int first, int others) const {
        trailing(p, first, others);
        const int q = p + size;
        for (int t = members - 1 - member; t * panel < size && q + t * panel < n; t += others) {
            column_panel(p, q + t * panel, true);
            __syncthreads();
        }
    }

    __device__ void run(unsigned* arrived) const {
        unsigned *half = arrived, *whole = arrived + 1, before = 0;
        const bool alone = members == 1;
        bool leads = false;
#pragma unroll 1
        for (int p = -size; p < n; p += size) {
            if (p >= 0) {
                __syncthreads();
                if (!alone && threadIdx.x == 0) {
                    if (!leads) before = arrive(whole);
                    wait(whole, before);
                }
                __syncthreads();
            }
            leads = member == 0 && p + size < n;
            if (leads) before = lead(p, p + size, half, whole);
            if (p < 0 || (leads && !alone)) continue;
            __syncthreads();
            const int first = !alone && p + size < n;  // the leader has no part in the rest
            panels(p, first, members - first);
            __syncthreads();
            if (!alone && threadIdx.x == 0) wait(half, arrive(half));
            __syncthreads();
            rest(p, first, members - first);
        }
    }
};

// The room of one team: D twice as two operands, two panels of 64 × width.
__device__ inline Room room_at(Word* room, int width) {
    Word* panels = room + 4 * size * size;
    return {room, panels, panels + (long long)size * width, width};
}

extern "C" __global__ void __launch_bounds__(threads, resident)
    blocked(T* A, long long lda, int n, Word* room, int width, unsigned* arrived, int one) {
    extern __shared__ __align__(16) unsigned char shared[];
    Closing{A, lda, n, one, int(blockIdx.x), int(gridDim.x), room_at(room, width), shared}.run(arrived);
}

// `count` matrices that lie `apart` elements from each other; every block has its own room. That takes a few registers
// more, which two blocks a multiprocessor do not leave on every architecture.
#if __CUDA_ARCH__ == 900
constexpr int resident_teams = resident;
#else
constexpr int resident_teams = 1;
#endif
extern "C" __global__ void __launch_bounds__(threads, resident_teams)
    each(T* A, long long lda, int n, long long apart, int count, Word* room, int width, int one) {
    extern __shared__ __align__(16) unsigned char shared[];
    room += blockIdx.x * (4ll * size * size + 2ll * size * width);
    for (int m = blockIdx.x; m < count; m += gridDim.x)
        Closing{A + m * apart, lda, n, one, 0, 1, room_at(room, width), shared}.run(nullptr);
}
