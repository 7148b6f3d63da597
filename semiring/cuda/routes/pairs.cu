// Which arcs may be tight where nearly every two vertices have one: a product D ⊗ A of which each block compares its sums,
// over `bk` tails at a time, with the worst that may be the distance. Where one is no worse, those tails are tried again,
// from shared memory, and listed. So all pairs take as long as a product does, and a comparison in `bk`.
//
// The prelude declares `Step` and `Tile`, the constants of rule.inl, and `using Index`.
#include "gemm.cuh"
#include "rule.inl"
#include "arcs.inl"

using Product = Gemm<Step, Tile>;

// What a block lists before it goes to rows; from how many on it does.
constexpr unsigned capacity = 1024, enough = 512;

// weights[tail, head] ← those of arcs; what is there else is no arc.
extern "C" __global__ void __launch_bounds__(threads)
    spread(const Index* tails, const Index* heads, const T* of, long long count, long long apart, T* weights) {
    const long long e = blockIdx.x * (long long)threads + threadIdx.x;
    if (e < count) weights[tails[e] * apart + heads[e]] = of[e];
}

struct Tight : Product {
    // Row and column of the tile of a thread's sum.
    __device__ static int row_of(int i, int y) { return i / chunk_m * (bm / chunks_m) + y * chunk_m + i % chunk_m; }
    __device__ static int column_of(int j, int x) { return j / chunk_n * (bn / chunks_n) + x * chunk_n + j % chunk_n; }

    const T* A;
    long long lda;
    Arc* lists;
    long long most;
    int* tight;
    int row0, col0;

    // To the list of its row, if that has room; tight[row] counts it anyway.
    __device__ void list(int row, int column, int tail) const {
        const long long r = row0 + row;
        const int to = atomicAdd(&tight[r], 1), head = col0 + column;
        if (to < most) lists[r * most + to] = {Index(tail), Index(head), A[tail * lda + head]};
    }
};

// lists[r] ← the arcs that may be tight for row r of D, in any order, `most` at most; tight[r] ← how many there are.
extern "C" __global__ void __launch_bounds__(Product::threads, Tile::blocks)
    list_tight(const T* D, long long pitch, int rows, int n, const T* A, long long lda, W slack, W floor, Arc* lists,
               long long most, int* tight, int odd) {
    using P = Product;
    extern __shared__ __align__(16) unsigned char shared[];
    auto* const stage = reinterpret_cast<P::Stage*>(shared);
    auto* const worst = reinterpret_cast<W(*)[P::bn]>(shared + 2 * sizeof(P::Stage));
    __shared__ unsigned found[capacity];
    __shared__ int tails[capacity];
    __shared__ unsigned held;
    const unsigned columns = (n + P::bn - 1) / P::bn;
    Tight product;
    product.A = A, product.lda = lda, product.lists = lists, product.most = most, product.tight = tight;
    const int row0 = product.row0 = blockIdx.x / columns * P::bm, col0 = product.col0 = blockIdx.x % columns * P::bn;
    const int steps = (n + P::bk - 1) / P::bk, depth = n - (steps - 1) * P::bk;
    product.locate(D, pitch, A, lda, rows, n, row0, col0);
    for (int e = threadIdx.x; e < P::bm * P::bn; e += P::threads) {
        const int r = row0 + e / P::bn, j = col0 + e % P::bn;
        worst[e / P::bn][e % P::bn] =
            r < rows && j < n ? worst_of(W(D[r * pitch + j]), slack, floor) : best_of_all<W>();
    }
    if (threadIdx.x == 0) held = 0;
    int x, y;
    P::seat(threadIdx.x, x, y);
    const auto flush = [&] {
        for (unsigned e = threadIdx.x; e < min(held, capacity); e += P::threads)
            product.list(found[e] / P::bn, found[e] % P::bn, tails[e]);
        __syncthreads();
        if (threadIdx.x == 0) held = 0;
        __syncthreads();
    };
    product.fetch<true>(stage[0], depth);
    product.commit(stage[0]);
    for (int t = 0; t < steps; ++t) {
        wait_for_copies();
        P::fix(stage[t & 1]);
        if (__syncthreads_or(threadIdx.x == 0 && held >= enough)) flush();
        if (t + 1 < steps) product.fetch<false>(stage[(t + 1) & 1], P::bk);
        typename P::Word c[P::tm][P::tn];
#pragma unroll
        for (int i = 0; i < P::tm; ++i)
#pragma unroll
            for (int j = 0; j < P::tn; ++j) c[i][j] = Step::nothing();
        P::multiply(c, stage[t & 1], x, y, odd);
        unsigned long long may = 0;
#pragma unroll
        for (int i = 0; i < P::tm; ++i) {
            unsigned these = 0;
#pragma unroll
            for (int j = 0; j < P::tn; ++j)
                if (!better(worst[Tight::row_of(i, y)][Tight::column_of(j, x)], Step::lane(c[i][j], 0))) these |= 1u << j;
            may |= (unsigned long long)these << (P::tn * i);
        }
        const auto& s = stage[t & 1];
        const int first = t ? depth + (t - 1) * P::bk : 0;
        for (; may; may &= may - 1) {
            const int which = __ffsll(may) - 1, row = Tight::row_of(which / P::tn, y), column = Tight::column_of(which % P::tn, x);
            const W goal = worst[row][column];
            unsigned hits = 0;
#pragma unroll
            for (int k = 0; k < P::bk; ++k)
                hits |= unsigned(!better(goal, Algebra::mul(W(s.a[k][row]), W(s.b[k][column])))) << k;
            for (; hits; hits &= hits - 1) {
                const int k = __ffs(hits) - 1;
                const unsigned to = atomicAdd(&held, 1u);
                if (to < capacity) found[to] = row * P::bn + column, tails[to] = first + k;
                else product.list(row, column, first + k);
            }
        }
        if (t + 1 < steps) product.commit(stage[(t + 1) & 1]);
    }
    __syncthreads();
    flush();
}
