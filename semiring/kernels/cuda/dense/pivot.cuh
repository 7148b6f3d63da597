// D ← D* on a block of 64 × 64 entries in the registers of one thread block: Floyd–Warshall, two pivots a barrier.
//
// Step k of Gauss–Jordan–Kleene elimination, with s = d[k][k]*, valid in every closed semiring:
//   d[i][j] ← d[i][j] ⊕ d[i][k] ⊗ s ⊗ d[k][j]     d[k][j] ← s ⊗ d[k][j]     d[i][k] ← d[i][k] ⊗ s     d[k][k] ← s
// Steps k and k + 1 together need the old rows and columns k and k + 1; each thread applies step k to those of k + 1 itself.
#pragma once
#include "algebra.cuh"

template <class V, int n> struct alignas(sizeof(V) * n) Pack { V item[n]; };

// S: the step. A thread has tm × tn entries: tm consecutive rows, and columns in chunks of 4, `chunk_stride` apart.
template <class S, int tm, int tn>
struct Pivot {
    using T = typename S::T;
    using W = typename S::W;
    static constexpr int size = 64, chunks = tn / 4, chunk_stride = size / chunks;
    static constexpr int threads_x = size / tn, threads = threads_x * size / tm;
    static_assert(tm % 4 == 0 && tn % 4 == 0 && chunk_stride % tm == 0, "pairs of pivots must not straddle threads");

    // Rows and columns k and k + 1, double-buffered.
    struct alignas(16) Shared { W row[2][2][size], col[2][2][size]; };

    // Place, rows and columns of thread t, an argument to save registers.
    __device__ static int x(int t) { return t % threads_x; }
    __device__ static int y(int t) { return t / threads_x; }
    __device__ static int row(int t, int i) { return y(t) * tm + i; }
    __device__ static int column(int t, int j) { return j / 4 * chunk_stride + x(t) * 4 + j % 4; }

    template <int count>
    __device__ static void read(W (&to)[count], const W* from, int stride) {
#pragma unroll
        for (int c = 0; c < count; c += 4) {
            const auto v = *reinterpret_cast<const Pack<W, 4>*>(from + c / 4 * stride);
#pragma unroll
            for (int i = 0; i < 4; ++i) to[c + i] = v.item[i];
        }
    }

    // d ← d ⊕ a₀ ⊗ b₀ ⊕ a₁ ⊗ b₁
    __device__ static void update(W& d, W a0, W b0, W a1, W b1) {
        if constexpr (S::direct) S::step(d, a0, b0, a1, b1);
        else d = S::add(S::add(d, S::mul(a0, b0)), S::mul(a1, b1));
    }

    // d ← n × n entries of a matrix, zero-padded; and back.
    __device__ static void load(int t, W (&d)[tm][tn], const T* D, long long ld, int n) {
        const bool complete = n >= size && vectors(D, ld);
#pragma unroll
        for (int i = 0; i < tm; ++i)
#pragma unroll
            for (int j = 0; j < tn; j += 4) {
                const int r = row(t, i), c = column(t, j);
                if (complete) {
                    const auto v = *reinterpret_cast<const Pack<T, 4>*>(D + r * ld + c);
#pragma unroll
                    for (int e = 0; e < 4; ++e) d[i][j + e] = W(v.item[e]);
                } else {
#pragma unroll
                    for (int e = 0; e < 4; ++e) d[i][j + e] = r < n && c + e < n ? W(D[r * ld + c + e]) : S::zero();
                }
            }
    }
    __device__ static void store(int t, T* D, long long ld, int n, const W (&d)[tm][tn]) {
        const bool complete = n >= size && vectors(D, ld);
#pragma unroll
        for (int i = 0; i < tm; ++i)
#pragma unroll
            for (int j = 0; j < tn; j += 4) {
                const int r = row(t, i), c = column(t, j);
                if (complete) {
                    *reinterpret_cast<Pack<T, 4>*>(D + r * ld + c) = {T(d[i][j]), T(d[i][j + 1]), T(d[i][j + 2]), T(d[i][j + 3])};
                } else {
#pragma unroll
                    for (int e = 0; e < 4; ++e)
                        if (r < n && c + e < n) D[r * ld + c + e] = T(d[i][j + e]);
                }
            }
    }
    // Whether four elements can be loaded at once.
    __device__ static bool vectors(const T* D, long long ld) {
        return reinterpret_cast<unsigned long long>(D) % sizeof(Pack<T, 4>) == 0 && ld % 4 == 0;
    }

    // A thread's parts of rows and columns k and k + 1, and where they cross.
    struct Lines { W r0[tn], r1[tn], c0[tm], c1[tm], p[2][2]; };

    // If s is always one, the next two rows and columns are updated first, and the other entries while these are loaded:
    // published values are never waited for.
    static constexpr bool ahead = S::star_is_one && chunks == 1;

    // d ← d* for the first n rows and columns, the rest being zero. By the first `threads` threads.
    __device__ static void close(int t, W (&d)[tm][tn], Shared& shared, int n) {
        // If s is always one, only the diagonal differs from d ⊕ d[:,k] ⊗ d[k,:].
        if constexpr (S::star_is_one) {
            each_entry<tm, tn>([&](int i, int j) {
                if (row(t, i) == column(t, j)) d[i][j] = S::one();
            });
        }
        Lines now;
        if constexpr (ahead) {
            publish(t, d, shared, 0, 0, 0);
            barrier();
            read(t, now, shared, 0, 0);
        }
#pragma unroll
        for (int chunk = 0; chunk < chunks; ++chunk)
#pragma unroll 1
            for (int base = 0; base < chunk_stride && chunk * chunk_stride + base < n; base += tm)
#pragma unroll
                for (int q = 0; q < tm; q += 2) pair(t, d, shared, now, chunk * chunk_stride + base + q, q, chunk * 4 + q % 4);
    }

    // A named barrier: other threads of the block may do other work.
    __device__ static void barrier() { asm volatile("bar.sync 1, %0;" ::"n"(threads) : "memory"); }
    // Number of barriers passed by `close`.
    __device__ static int barriers(int n) { return (min(n, size) + tm - 1) / tm * (tm / 2) + ahead; }

    // Rows q, q + 1 of the threads with rows k, k + 1, and columns p, p + 1 of those with these columns.
    __device__ static bool has_rows(int t, int k) { return y(t) == k / tm; }
    __device__ static bool has_columns(int t, int k) { return x(t) == k % chunk_stride / 4; }
    __device__ static void publish(int t, const W (&d)[tm][tn], Shared& shared, int k, int q, int p) {
        auto &rows = shared.row[q / 2 & 1], &cols = shared.col[q / 2 & 1];
        const bool down = has_rows(t, k), right = has_columns(t, k) && k < size;
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            if (down)
#pragma unroll
                for (int c = 0; c < tn; c += 4)
                    *reinterpret_cast<Pack<W, 4>*>(&rows[e][column(t, c)]) = {d[q + e][c], d[q + e][c + 1], d[q + e][c + 2], d[q + e][c + 3]};
            if (right)
#pragma unroll
                for (int i = 0; i < tm; i += 4)
                    *reinterpret_cast<Pack<W, 4>*>(&cols[e][row(t, i)]) = {d[i][p + e], d[i + 1][p + e], d[i + 2][p + e], d[i + 3][p + e]};
        }
    }
    __device__ static void read(int t, Lines& to, const Shared& shared, int k, int q) {
        auto &rows = shared.row[q / 2 & 1], &cols = shared.col[q / 2 & 1];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            const auto v = *reinterpret_cast<const Pack<W, 2>*>(&rows[e][k]);
            to.p[e][0] = v.item[0], to.p[e][1] = v.item[1];
        }
        read(to.r0, &rows[0][column(t, 0)], chunk_stride), read(to.r1, &rows[1][column(t, 0)], chunk_stride);
        read(to.c0, &cols[0][row(t, 0)], 4), read(to.c1, &cols[1][row(t, 0)], 4);
    }

    // d ← d ⊕ products of lines, for all entries; or for rows q, q + 1 and columns p, p + 1, or the others.
    enum Part { all, first, rest };
    template <Part part>
    __device__ static void apply(W (&d)[tm][tn], const Lines& l, int q = 0, int p = 0) {
#pragma unroll
        for (int i = 0; i < tm; ++i)
#pragma unroll
            for (int j = 0; j < tn; ++j)
                if (part == all || (part == first) == (i / 2 == q / 2 || j / 2 == p / 2))
                    update(d[i][j], l.c0[i], l.r0[j], l.c1[i], l.r1[j]);
    }

    // Steps k and k + 1: rows q, q + 1 of their threads, columns p, p + 1.
    __device__ static void pair(int t, W (&d)[tm][tn], Shared& shared, Lines& l, int k, int q, int p) {
        if constexpr (ahead) {
            const int next = (q + 2) % tm, across = next % 4;
#pragma unroll
            for (int j = 0; j < tn; ++j) l.r1[j] = S::add(l.r1[j], S::mul(l.p[1][0], l.r0[j]));
#pragma unroll
            for (int i = 0; i < tm; ++i) l.c1[i] = S::add(l.c1[i], S::mul(l.c0[i], l.p[0][1]));
            apply<first>(d, l, next, across);
            publish(t, d, shared, k + 2, next, across);
            apply<rest>(d, l, next, across);
            barrier();
            read(t, l, shared, (k + 2) % size, next);
            return;
        }
        publish(t, d, shared, k, q, p);
        barrier();
        read(t, l, shared, k, q);
        auto &r0 = l.r0, &r1 = l.r1;
        auto &c0 = l.c0, &c1 = l.c1;
        if constexpr (S::star_is_one) {
#pragma unroll
            for (int j = 0; j < tn; ++j) r1[j] = S::add(r1[j], S::mul(l.p[1][0], r0[j]));
#pragma unroll
            for (int i = 0; i < tm; ++i) c1[i] = S::add(c1[i], S::mul(c0[i], l.p[0][1]));
            apply<all>(d, l);
        } else {
            const W s0 = S::star(l.p[0][0]), right = S::mul(s0, l.p[0][1]), below = S::mul(l.p[1][0], s0);
            const W s1 = S::star(S::add(l.p[1][1], S::mul(l.p[1][0], right))), corner = S::mul(s1, below);
#pragma unroll
            for (int j = 0; j < tn; ++j) {
                r0[j] = S::mul(s0, r0[j]);
                r1[j] = S::mul(s1, S::add(r1[j], S::mul(l.p[1][0], r0[j])));
            }
#pragma unroll
            for (int i = 0; i < tm; ++i) c1[i] = S::add(c1[i], S::mul(c0[i], right));
            apply<all>(d, l);
            if (has_rows(t, k)) {
#pragma unroll
                for (int j = 0; j < tn; ++j) d[q][j] = S::add(r0[j], S::mul(right, r1[j])), d[q + 1][j] = r1[j];
            }
            if (has_columns(t, k)) {
#pragma unroll
                for (int i = 0; i < tm; ++i) {
                    d[i][p] = S::add(S::mul(c0[i], s0), S::mul(c1[i], corner));
                    d[i][p + 1] = S::mul(c1[i], s1);
                }
            }
            if (has_rows(t, k) && has_columns(t, k)) {
                d[q][p] = S::add(s0, S::mul(right, corner)), d[q][p + 1] = S::mul(right, s1);
                d[q + 1][p] = corner, d[q + 1][p + 1] = s1;
            }
        }
    }
};
