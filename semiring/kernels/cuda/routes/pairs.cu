// Candidate arcs of nearly complete graphs: a product D ⊗ A in which each block compares its sums, over `bk` tails at a time,
// with the worst equal to the distance. If one is no worse, those tails are retested from shared memory, and listed. So
// all pairs take as long as a product, with one comparison per `bk`.
//
// With all rows, vertices are sorted for locality. Then tails are skipped if the best of D from any row of a tile and the
// best of A to any of its columns are together worse than all distances there. If D is symmetric, and nearly equal to A,
// D ⊗ D is tested for half of the tiles, for both directions. Arcs that are paths by themselves are listed first.
//
// The prelude declares `Step` and `Tile`, the constants of rule.inl, and `using Index`.
#include "gemm.cuh"
#include "rule.inl"
#include "arcs.inl"
#include "neighbours.inl"

using Product = Gemm<Step, Tile>;

// Capacity of a block's list, and size at which it is flushed; most steps that may be skipped.
constexpr unsigned capacity = 1024, enough = 512, most_steps = 1024;

// weights[tail, head] ← arcs' weights, by tail; no arc elsewhere. A block per tail.
extern "C" __global__ void __launch_bounds__(threads)
    spread(const long long* starts, const Index* heads, const T* of, long long apart, T* weights) {
    T* const row = weights + blockIdx.x * apart;
    for (long long j = threadIdx.x; j < apart; j += threads) row[j] = T(Algebra::zero());
    __syncthreads();
    for (long long e = starts[blockIdx.x] + threadIdx.x; e < starts[blockIdx.x + 1]; e += threads) row[heads[e]] = of[e];
}

// lists[s] ← candidate arcs from s itself, possibly more than `most`; tight[s] ← their number. A block per source.
extern "C" __global__ void __launch_bounds__(threads)
    list_direct(const T* D, long long pitch, W slack, W floor, const long long* starts, const Index* heads, const T* of,
                Arc* lists, long long most, int* tight) {
    __shared__ int held;
    const long long s = blockIdx.x, stop = starts[s + 1];
    const int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) held = 0;
    __syncthreads();
    for (long long begin = starts[s] + threadIdx.x - lane; begin < stop; begin += threads) {
        const long long e = begin + lane;
        const bool may = e < stop && !better(worst_of(W(D[s * pitch + heads[e]]), slack, floor), W(of[e]));
        const unsigned found = __ballot_sync(full_mask, may);
        int first = 0;
        if (lane == 0) first = atomicAdd(&held, __popc(found));
        const long long to = __shfl_sync(full_mask, first, 0) + __popc(found & ((1u << lane) - 1));
        if (may && to < most) lists[s * most + to] = {Index(s), heads[e], of[e]};
    }
    __syncthreads();
    if (threadIdx.x == 0) tight[s] = held;
}

struct Tight : Product {
    // Row and column of a thread's sum in the tile.
    __device__ static int row_of(int i, int y) { return i / chunk_m * (bm / chunks_m) + y * chunk_m + i % chunk_m; }
    __device__ static int column_of(int j, int x) { return j / chunk_n * (bn / chunks_n) + x * chunk_n + j % chunk_n; }

    const T *D, *A;
    long long lda;
    const Index* order;
    Arc* lists;
    long long most;
    int* tight;
    int row0, col0;
    bool both, mirrored;

    __device__ long long name(int v) const { return order ? order[v] : v; }
    // Append to the list of its row, if there is room; tight[row] counts anyway. Rows and columns are the matrix'.
    __device__ void list(int row, int column, int tail) const {
        const long long r = name(row);
        const int to = atomicAdd(&tight[r], 1);
        if (to < most) lists[r * most + to] = {Index(name(tail)), Index(name(column)), A[tail * lda + column]};
    }
    // Append an entry of a tile. If both directions are tested, D ⊗ D was no worse than the goal: A may be, in either.
    __device__ void list(unsigned where, int tail, W goal) const {
        const int row = row0 + where / bn, column = col0 + where % bn;
        if (!both) {
            list(row, column, tail);
            return;
        }
        const W from_row = D[row * lda + tail], to_column = A[tail * lda + column];
        if (mirrored) {
            const W from_column = D[column * lda + tail], to_row = A[tail * lda + row];
            if (!better(goal, Algebra::mul(from_column, to_row))) list(column, row, tail);
        }
        if (!better(goal, Algebra::mul(from_row, to_column))) list(row, column, tail);
    }
};

// lists[r] ← candidate arcs of row r of D, in any order, at most `most`; tight[r] ← their number. With an order, rows and
// columns are permuted, `near_rows` and `near_columns` are per tile, and B is the right factor: A, or D if `both` directions
// are tested together.
extern "C" __global__ void __launch_bounds__(Product::threads, Tile::blocks)
    list_tight(const T* D, long long pitch, int rows, int n, const T* B, const T* A, long long lda, W slack, W floor,
               const Index* order, const T* near_rows, const T* near_columns, int both, Arc* lists, long long most,
               int* tight, int odd) {
    using P = Product;
    extern __shared__ __align__(16) unsigned char shared[];
    auto* const stage = reinterpret_cast<P::Stage*>(shared);
    auto* const worst = reinterpret_cast<W(*)[P::bn]>(shared + 2 * sizeof(P::Stage));
    __shared__ unsigned found[capacity];
    __shared__ int tails[capacity];
    __shared__ unsigned held, active[most_steps / 32];
    __shared__ W worst_of_warps[P::warps];
    const unsigned columns = (n + P::bn - 1) / P::bn;
    Tight product;
    product.A = A, product.lda = lda, product.order = order, product.lists = lists, product.most = most, product.tight = tight;
    const int row0 = product.row0 = blockIdx.x / columns * P::bm, col0 = product.col0 = blockIdx.x % columns * P::bn;
    // Tiles on the diagonal contain both directions.
    constexpr int square = P::bm > P::bn ? P::bm : P::bn;
    const bool mirrored = both && row0 / square != col0 / square;
    if (mirrored && row0 > col0) return;
    product.D = D, product.both = both, product.mirrored = mirrored;
    const int steps = (n + P::bk - 1) / P::bk, depth = n - (steps - 1) * P::bk;
    product.locate(D, pitch, B, lda, rows, n, row0, col0);
    W greatest = best_of_all<W>();
    for (int e = threadIdx.x; e < P::bm * P::bn; e += P::threads) {
        const int r = row0 + e / P::bn, j = col0 + e % P::bn;
        const W distance = r >= rows || j >= n ? Algebra::zero() : order && r == j ? Algebra::one() : W(D[r * pitch + j]);
        const W goal = worst_of(distance, slack, floor);
        worst[e / P::bn][e % P::bn] = goal;
        if (better(greatest, goal)) greatest = goal;
    }
    if (threadIdx.x == 0) held = 0;
    const auto from = [&](int t) { return t ? depth + (t - 1) * P::bk : 0; }; // start of a step
    if (near_rows) {
        for (int half = 16; half; half /= 2) {
            const W other = __shfl_xor_sync(full_mask, greatest, half);
            greatest = better(greatest, other) ? other : greatest;
        }
        if (threadIdx.x % 32 == 0) worst_of_warps[threadIdx.x / 32] = greatest;
        for (int w = threadIdx.x; w < most_steps / 32; w += P::threads) active[w] = 0;
        __syncthreads();
        for (int w = 0; w < P::warps; ++w)
            if (better(greatest, worst_of_warps[w])) greatest = worst_of_warps[w];
        const T* const near_row = near_rows + row0 / P::bm * (long long)n;
        const T* const near_column = near_columns + col0 / P::bn * (long long)n;
        for (int t = threadIdx.x; t < steps; t += P::threads) {
            bool may = false;
            for (int k = from(t); k < from(t + 1); ++k) may |= !better(greatest, Algebra::mul(W(near_row[k]), W(near_column[k])));
            if (may) atomicOr(&active[t / 32], 1u << t % 32);
        }
        __syncthreads();
    }
    const auto after = [&](int t) { // the next step not skipped
        ++t;
        if (!near_rows) return t;
        for (; t < steps; t = t / 32 * 32 + 32)
            if (const unsigned rest = active[t / 32] >> t % 32) return t + __ffs(rest) - 1;
        return steps;
    };
    int x, y;
    P::seat(threadIdx.x, x, y);
    const auto flush = [&] {
        for (unsigned e = threadIdx.x; e < min(held, capacity); e += P::threads)
            product.list(found[e], tails[e], worst[found[e] / P::bn][found[e] % P::bn]);
        __syncthreads();
        if (threadIdx.x == 0) held = 0;
        __syncthreads();
    };
    const char *const a_base = product.a_base, *const b_base = product.b_base;
    const auto fetch = [&](int t, P::Stage& to) {
        product.a_base = a_base + from(t) * (long long)sizeof(T);
        product.b_base = b_base + from(t) * (lda * (long long)sizeof(T));
        if (t) product.fetch<false>(to, P::bk);
        else product.fetch<true>(to, depth);
    };
    int t = after(-1), at = 0;
    if (t < steps) {
        fetch(t, stage[0]);
        product.commit(stage[0]);
    }
    for (int next; t < steps; t = next, at ^= 1) {
        wait_for_copies();
        P::fix(stage[at]);
        if (__syncthreads_or(threadIdx.x == 0 && held >= enough)) flush();
        next = after(t);
        if (next < steps) fetch(next, stage[at ^ 1]);
        typename P::Word c[P::tm][P::tn];
        each_entry<P::tm, P::tn>([&](int i, int j) { c[i][j] = Step::nothing(); });
        P::multiply(c, stage[at], x, y, odd);
        unsigned long long may = 0;
#pragma unroll
        for (int i = 0; i < P::tm; ++i) {
            unsigned these = 0;
#pragma unroll
            for (int j = 0; j < P::tn; ++j)
                if (!better(worst[Tight::row_of(i, y)][Tight::column_of(j, x)], Step::lane(c[i][j], 0))) these |= 1u << j;
            may |= (unsigned long long)these << (P::tn * i);
        }
        const auto& s = stage[at];
        const int first = from(t);
        for (; may; may &= may - 1) {
            const int which = __ffsll(may) - 1, row = Tight::row_of(which / P::tn, y), column = Tight::column_of(which % P::tn, x);
            const W goal = worst[row][column];
            unsigned hits = 0;
#pragma unroll
            for (int k = 0; k < P::bk; ++k)
                hits |= unsigned(!better(goal, Algebra::mul(W(s.a[k][row]), W(s.b[k][column])))) << k;
            for (; hits; hits &= hits - 1) {
                const int k = __ffs(hits) - 1;
                const unsigned to = atomicAdd(&held, 1u), where = row * P::bn + column;
                if (to < capacity) found[to] = where, tails[to] = first + k;
                else product.list(where, first + k, goal);
            }
        }
        if (next < steps) product.commit(stage[at ^ 1]);
    }
    __syncthreads();
    flush();
}
