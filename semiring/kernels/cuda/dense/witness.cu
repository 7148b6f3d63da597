// C ← A ⊗ B and K, the smallest k that attains each entry, for the `Step` and `Tile` of the prelude. ⊕ must select.
//
// A comparison per pair would cost more than the pair. So a register tile takes `group` values of k at once, compares each
// sum before and after, and records the group that changed it last. At the end the products of that group are recomputed,
// and the first best one is the witness.
#include "gemm.cuh"

template <class S, class P>
struct Witness : Gemm<S, P> {
    using G = Gemm<S, P>;
    using typename G::Stage;
    using typename G::T;
    using typename G::W;
    using typename G::Word;
    static constexpr int tm = G::tm, tn = G::tn, bm = G::bm, bn = G::bn, bk = G::bk;
    static constexpr int chunk_m = G::chunk_m, chunk_n = G::chunk_n, chunks_m = G::chunks_m, chunks_n = G::chunks_n;
        static constexpr int group = sizeof(Word) > 4 ? 4 : 8;
    static_assert(S::lanes == 1 && bk % (group * P::unroll) == 0 && chunk_m % P::walk == 0, "sizes must fit");

    // One group of k for a sum; `last` ← its number if the sum changes.
    __device__ static void step(Word& c, unsigned& last, const Word* a, const Word* b, unsigned number, int one) {
        Word now = c;
#pragma unroll
        for (int e = 0; e < group; e += 2) {
            const Word a0 = a[e * chunk_m], b0 = b[e * tn], a1 = a[(e + 1) * chunk_m], b1 = b[(e + 1) * tn];
            if (S::two_pipes && e % 4 == 0) S::other_step(now, a0, b0, a1, b1, one);
            else S::step(now, a0, b0, a1, b1);
        }
        // On the multiplication pipe, opaque to the compiler: the other pipe is busy.
        if (now != c) asm volatile("mad.lo.u32 %0, %1, %2, %3;" : "=r"(last) : "r"(number), "r"(one), "r"(0));
        c = now;
    }

    // c ← c ⊕ a ⊗ b over one stage, whose first group is `number`.
    __device__ static void multiply(Word (&c)[tm][tn], unsigned (&last)[tm][tn], const Stage& s, int x, int y,
                                    unsigned number, int one) {
        unsigned from_a = __cvta_generic_to_shared(&s.a[0][y * chunk_m]);
        unsigned from_b = __cvta_generic_to_shared(&s.b[0][x * chunk_n]);
        constexpr unsigned row_a = (bm + G::padding) * sizeof(Word), row_b = bn * sizeof(Word);
        const unsigned end = from_a + bk * row_a;
#pragma unroll 1
        do {
#pragma unroll
            for (int k = 0; k < group * P::unroll; k += group, ++number) {
                Word b[group][tn];
#pragma unroll
                for (int e = 0; e < group; ++e)
                    G::template read<tn, chunk_n>(b[e], from_b + (k + e) * row_b, bn / chunks_n);
#pragma unroll
                for (int p = 0; p < chunks_m; ++p) {
                    Word a[group][chunk_m];
#pragma unroll
                    for (int e = 0; e < group; ++e)
                        G::template read<chunk_m, chunk_m>(a[e], from_a + (k + e) * row_a + p * (bm / chunks_m) * sizeof(Word), 0);
#pragma unroll
                    for (int r = 0; r < chunk_m; r += P::walk)
                        each_entry<tn, P::walk>([&](int q, int w) {
                            const int i = r + (q % 2 ? P::walk - 1 - w : w), j = (r / P::walk + p) % 2 ? tn - 1 - q : q;
                            step(c[p * chunk_m + i][j], last[p * chunk_m + i][j], &a[0][i], &b[0][j], number, one);
                        });
                }
            }
            from_a += group * P::unroll * row_a;
            from_b += group * P::unroll * row_b;
        } while (group * P::unroll < bk && from_a != end);
    }

    // The first best of `count` products of a row and a column from their k on; −1 if the sum is zero.
    __device__ static int search(W sum, const T* row, const T* column, long long ldb, int k, int count) {
        if (sum == S::zero()) return -1;
        W best = S::mul(W(row[k]), W(column[k * ldb]));
        int found = k;
#pragma unroll
        for (int e = 1; e < group; ++e) {
            const int other = k + min(e, count - 1);
            const W with = S::add(best, S::mul(W(row[other]), W(column[other * ldb])));
            if (with != best) best = with, found = other;
        }
        return found;
    }

    // C ← A B and K; `zero` is 0, opaque to the compiler.
    __device__ void run(T* C, int* K, long long ldc, const T* A, long long lda, const T* B, long long ldb, int m, int n, int k,
                        int zero) {
        extern __shared__ __align__(16) unsigned char shared[];
        Stage* stage = reinterpret_cast<Stage*>(shared);
        const unsigned columns = (n + bn - 1) / bn;
        const int row0 = blockIdx.x / columns * bm, col0 = blockIdx.x % columns * bn;
        const int steps = (k + bk - 1) / bk, depth = k - (steps - 1) * bk, one = zero | 1;
        this->locate(A, lda, B, ldb, m, n, row0, col0);
        int x, y;
        this->seat(threadIdx.x, x, y);
        Word c[tm][tn];
        unsigned last[tm][tn];
        each_entry<tm, tn>([&](int i, int j) { c[i][j] = S::nothing(), last[i][j] = 0; });

        this->template fetch<true>(stage[0], depth);
        this->commit(stage[0]);
        for (int t = 0; t < steps; ++t) {
            wait_for_copies();
            this->fix(stage[t & 1]);
            __syncthreads();
            if (t + 1 < steps) this->template fetch<false>(stage[(t + 1) & 1], bk);
            multiply(c, last, stage[t & 1], x, y, t * (bk / group), one);
            if (t + 1 < steps) this->commit(stage[(t + 1) & 1]);
        }

#pragma unroll
        for (int i = 0; i < tm; ++i) {
            const int row = row0 + i / chunk_m * (bm / chunks_m) + y * chunk_m + i % chunk_m;
            if (row >= m) continue;
#pragma unroll
            for (int j = 0; j < tn; ++j) {
                const int col = col0 + j / chunk_n * (bn / chunks_n) + x * chunk_n + j % chunk_n;
                if (col >= n) continue;
                const int number = last[i][j];
                const bool ragged = number < bk / group; // the first stage is as deep as the ragged end of k
                const int k0 = number * group - (ragged ? 0 : bk - depth);
                const W sum = S::lane(c[i][j], 0);
                C[row * ldc + col] = T(sum);
                K[row * ldc + col] = search(sum, A + row * lda, B + col, ldb, k0, ragged ? min(group, depth - k0) : group);
            }
        }
    }
};

extern "C" __global__ void __launch_bounds__(Gemm<Step, Tile>::threads, Tile::blocks)
    witness(Step::T* C, int* K, long long ldc, const Step::T* A, long long lda, const Step::T* B, long long ldb, int m, int n,
            int k, int zero) {
    Witness<Step, Tile> product;
    product.run(C, K, ldc, A, lda, B, ldb, m, n, k, zero);
}
