// D ← D* on a block of 64 × 64 entries in the registers of one thread block: Floyd–Warshall, two pivots a barrier.
//
// Step k of the Gauss–Jordan–Kleene elimination, with s = d[k][k]*, right in every closed semiring:
//   d[i][j] ← d[i][j] ⊕ d[i][k] ⊗ s ⊗ d[k][j]     d[k][j] ← s ⊗ d[k][j]     d[i][k] ← d[i][k] ⊗ s     d[k][k] ← s
// Steps k and k + 1 together need rows and columns k and k + 1 as they were; each thread brings those of k + 1 past
// step k for itself.
#pragma once
#include "algebra.cuh"

template <class V, int n> struct alignas(sizeof(V) * n) Pack { V at[n]; };

// S: the step. A thread has tm × tn entries: tm neighbouring rows, and columns in chunks of 4 that lie `apart`.
template <class S, int tm, int tn>
struct Pivot {
    using T = typename S::T;
    using W = typename S::W;
    static constexpr int size = 64, chunks = tn / 4, apart = size / chunks;
    static constexpr int threads_x = size / tn, threads = threads_x * size / tm;
    static_assert(tm % 4 == 0 && tn % 4 == 0 && apart % tm == 0, "pairs of pivots must not straddle threads");

    // Rows and columns k and k + 1, in turn in one half of this and the other.
    struct alignas(16) Shared { W row[2][2][size], col[2][2][size]; };

    __device__ static int x() { return threadIdx.x % threads_x; }
    __device__ static int y() { return threadIdx.x / threads_x; }
    __device__ static int row(int i) { return y() * tm + i; }
    __device__ static int column(int j) { return j / 4 * apart + x() * 4 + j % 4; }

    template <int count>
    __device__ static void read(W (&to)[count], const W* from, int apart) {
#pragma unroll
        for (int c = 0; c < count; c += 4) {
            const auto v = *reinterpret_cast<const Pack<W, 4>*>(from + c / 4 * apart);
#pragma unroll
            for (int i = 0; i < 4; ++i) to[c + i] = v.at[i];
        }
    }

    // d ← d ⊕ a₀ ⊗ b₀ ⊕ a₁ ⊗ b₁
    __device__ static void update(W& d, W a0, W b0, W a1, W b1) {
        if constexpr (S::direct) S::step(d, a0, b0, a1, b1);
        else d = S::add(S::add(d, S::mul(a0, b0)), S::mul(a1, b1));
    }

    // d ← n × n entries of a matrix, zero beyond; and back.
    __device__ static void load(W (&d)[tm][tn], const T* D, long long ld, int n) {
        const bool whole = n >= size && vectors(D, ld);
#pragma unroll
        for (int i = 0; i < tm; ++i)
#pragma unroll
            for (int j = 0; j < tn; j += 4) {
                const int r = row(i), c = column(j);
                if (whole) {
                    const auto v = *reinterpret_cast<const Pack<T, 4>*>(D + r * ld + c);
#pragma unroll
                    for (int e = 0; e < 4; ++e) d[i][j + e] = W(v.at[e]);
                } else {
#pragma unroll
                    for (int e = 0; e < 4; ++e) d[i][j + e] = r < n && c + e < n ? W(D[r * ld + c + e]) : S::zero();
                }
            }
    }
    __device__ static void store(T* D, long long ld, int n, const W (&d)[tm][tn]) {
        const bool whole = n >= size && vectors(D, ld);
#pragma unroll
        for (int i = 0; i < tm; ++i)
#pragma unroll
            for (int j = 0; j < tn; j += 4) {
                const int r = row(i), c = column(j);
                if (whole) {
                    *reinterpret_cast<Pack<T, 4>*>(D + r * ld + c) = {T(d[i][j]), T(d[i][j + 1]), T(d[i][j + 2]), T(d[i][j + 3])};
                } else {
#pragma unroll
                    for (int e = 0; e < 4; ++e)
                        if (r < n && c + e < n) D[r * ld + c + e] = T(d[i][j + e]);
                }
            }
    }
    // Whether four neighbours can be read at once.
    __device__ static bool vectors(const T* D, long long ld) {
        return reinterpret_cast<unsigned long long>(D) % sizeof(Pack<T, 4>) == 0 && ld % 4 == 0;
    }

    // d ← d* for the first n rows and columns; what lies beyond is the semiring's zero. To be called by all threads.
    __device__ static void close(W (&d)[tm][tn], Shared& shared, int n) {
        // Where s is always one, only the diagonal differs from d ⊕ d[:,k] ⊗ d[k,:].
        if constexpr (S::star_is_one) {
#pragma unroll
            for (int i = 0; i < tm; ++i)
#pragma unroll
                for (int j = 0; j < tn; ++j)
                    if (row(i) == column(j)) d[i][j] = S::one();
        }
#pragma unroll
        for (int chunk = 0; chunk < chunks; ++chunk)
#pragma unroll 1
            for (int base = 0; base < apart && chunk * apart + base < n; base += tm)
#pragma unroll
                for (int q = 0; q < tm; q += 2)
                    pair(d, shared, chunk * apart + base + q, q, (base + q) / 4, chunk * 4 + q % 4);
    }

    // All threads of the thread block wait for each other, those too that have no entries: it may have more than `threads`.
    __device__ static void meet() { __syncthreads(); }
    __device__ static bool has_entries() { return threadIdx.x < threads; }

    // Steps k and k + 1: rows q, q + 1 of the threads that have them, columns p, p + 1 of those at x = `owner`.
    __device__ static void pair(W (&d)[tm][tn], Shared& shared, int k, int q, int owner, int p) {
        const int now = q / 2 & 1;
        const bool has_rows = y() == k / tm, has_columns = has_entries() && x() == owner;
        auto &rows = shared.row[now], &cols = shared.col[now];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            if (has_rows)
#pragma unroll
                for (int c = 0; c < tn; c += 4)
                    *reinterpret_cast<Pack<W, 4>*>(&rows[e][column(c)]) = {d[q + e][c], d[q + e][c + 1], d[q + e][c + 2], d[q + e][c + 3]};
            if (has_columns)
#pragma unroll
                for (int i = 0; i < tm; i += 4)
                    *reinterpret_cast<Pack<W, 4>*>(&cols[e][row(i)]) = {d[i][p + e], d[i + 1][p + e], d[i + 2][p + e], d[i + 3][p + e]};
        }
        meet();
        if (!has_entries()) return;
        const auto p0 = *reinterpret_cast<const Pack<W, 2>*>(&rows[0][k]), p1 = *reinterpret_cast<const Pack<W, 2>*>(&rows[1][k]);
        W r0[tn], r1[tn], c0[tm], c1[tm];
        read(r0, &rows[0][column(0)], apart), read(r1, &rows[1][column(0)], apart);
        read(c0, &cols[0][row(0)], 4), read(c1, &cols[1][row(0)], 4);
        if constexpr (S::star_is_one) {
#pragma unroll
            for (int j = 0; j < tn; ++j) r1[j] = S::add(r1[j], S::mul(p1.at[0], r0[j]));
#pragma unroll
            for (int i = 0; i < tm; ++i) c1[i] = S::add(c1[i], S::mul(c0[i], p0.at[1]));
#pragma unroll
            for (int i = 0; i < tm; ++i)
#pragma unroll
                for (int j = 0; j < tn; ++j) update(d[i][j], c0[i], r0[j], c1[i], r1[j]);
        } else {
            const W s0 = S::star(p0.at[0]), right = S::mul(s0, p0.at[1]), below = S::mul(p1.at[0], s0);
            const W s1 = S::star(S::add(p1.at[1], S::mul(p1.at[0], right))), corner = S::mul(s1, below);
#pragma unroll
            for (int j = 0; j < tn; ++j) {
                r0[j] = S::mul(s0, r0[j]);
                r1[j] = S::mul(s1, S::add(r1[j], S::mul(p1.at[0], r0[j])));
            }
#pragma unroll
            for (int i = 0; i < tm; ++i) c1[i] = S::add(c1[i], S::mul(c0[i], right));
#pragma unroll
            for (int i = 0; i < tm; ++i)
#pragma unroll
                for (int j = 0; j < tn; ++j) update(d[i][j], c0[i], r0[j], c1[i], r1[j]);
            if (has_rows) {
#pragma unroll
                for (int j = 0; j < tn; ++j) d[q][j] = S::add(r0[j], S::mul(right, r1[j])), d[q + 1][j] = r1[j];
            }
            if (has_columns) {
#pragma unroll
                for (int i = 0; i < tm; ++i) {
                    d[i][p] = S::add(S::mul(c0[i], s0), S::mul(c1[i], corner));
                    d[i][p + 1] = S::mul(c1[i], s1);
                }
            }
            if (has_rows && has_columns) {
                d[q][p] = S::add(s0, S::mul(right, corner)), d[q][p + 1] = S::mul(right, s1);
                d[q + 1][p] = corner, d[q + 1][p + 1] = s1;
            }
        }
    }
};
