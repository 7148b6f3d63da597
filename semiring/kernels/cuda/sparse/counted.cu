// Elimination with best-walk counts, selection of entries that are distances, and adjoint elimination: level by level, as in
// semiring/kernels/cpu/sparse/counted.py. A thread block per supernode, or a team of several, in a cooperative launch, if
// supernodes are large and few. Fronts are m × m, in global memory.
//
// Entry (i, c) of F below the diagonal, c a column of the supernode and i > c, is `lower`, entry (c, i) `upper`.

#include "common.cuh"

struct Front { int width, rows, child, sibling, parent, arcs, arcs_end, unused; long long square, begin, factor, unused2; };

struct Tables {
    const Front* fronts;
    const int *local, *arc_row, *arc_col;
    const double* weights;
    double *lengths, *numbers, *lengths_across, *numbers_across; // fronts and their transposes
    double *lower, *lower_numbers, *upper, *upper_numbers;
    unsigned char *lower_kept, *upper_kept;
    double *lower_sums, *upper_sums, *carried;
    double* told; // longest distance; 1 if a cycle has length 0; most walks; 1 if arcs differ by direction
};

constexpr int panel = 4; // columns eliminated together

__device__ inline void keep_greatest(double* most, double x) {
    if (x > __ldcg(most)) atomicMax(reinterpret_cast<unsigned long long*>(most), (unsigned long long)__double_as_longlong(x));
}
__device__ inline double number_of(double a, double p, double b, double q) {
    return (a <= b * scale ? p : 0.0) + (b <= a * scale ? q : 0.0);
}
// Offset of column c of a supernode in F, minus c + 1.
__device__ inline long long column(const Front& f, int c) {
    const long long m = f.width + f.rows;
    return f.factor + c * (m - 1) - c * (c - 1ll) / 2 - c - 1;
}

// `size` consecutive blocks that share a supernode; the counter counts arrivals.
struct Team {
    int size, rank;
    unsigned *counter, round = 0;
    __device__ Team(int size, unsigned* arrived) : size(size), rank(blockIdx.x % size), counter(arrived + blockIdx.x / size) {}
    __device__ int first() const { return rank * blockDim.x + threadIdx.x; }
    __device__ int step() const { return size * blockDim.x; }
    // Barrier of the team.
    __device__ void sync() {
        __syncthreads();
        if (size == 1) return;
        ++round;
        if (threadIdx.x == 0) {
            asm volatile("red.release.gpu.add.u32 [%0], %1;" ::"l"(counter), "r"(1u) : "memory");
            unsigned now = 0;
            while (now < round * size) asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(counter) : "memory");
        }
        __syncthreads();
    }
};

extern "C" __global__ void __launch_bounds__(1024) eliminate(const Tables* tables, const int* supernodes, int blocks, unsigned* arrived) {
    const Tables& t = *tables;
    Team team(blocks, arrived);
    const Front f = t.fronts[supernodes[blockIdx.x / blocks]];
    const int w = f.width, m = w + f.rows, start = team.first(), step = team.step();
    const long long all = (long long)m * m;
    double *length = t.lengths + f.square, *number = t.numbers + f.square;
    for (long long e = start; e < all; e += step) length[e] = double(INFINITY), number[e] = 0;
    team.sync();
    for (int a = f.arcs + start; a < f.arcs_end; a += step) {
        const long long e = t.arc_row[a] * (long long)m + t.arc_col[a];
        if (t.weights[a] < double(INFINITY)) length[e] = t.weights[a], number[e] = 1;
    }
    for (int c = f.child; c >= 0; c = t.fronts[c].sibling) {
        const Front below = t.fronts[c];
        const int r = below.rows, apart = below.width + r;
        const int* local = t.local + below.begin;
        const long long corner = below.square + below.width * (apart + 1ll);
        team.sync();
        for (int e = start; e < r * r; e += step) {
            const int i = e / r, j = e % r;
            const long long from = corner + i * (long long)apart + j, to = local[i] * (long long)m + local[j];
            const double x = t.lengths[from];
            number[to] = number_of(length[to], number[to], x, t.numbers[from]);
            length[to] = min(length[to], x);
        }
    }
    team.sync();
    const auto meet = [&](int i, int j, int c, double& x, double& n) {
        const double through = length[i * (long long)m + c] + length[c * (long long)m + j];
        if (through == double(INFINITY)) return;
        if (i == j) {
            if (through <= 0) t.told[1] = 1;
            return;
        }
        n = number_of(x, n, through, number[i * (long long)m + c] * number[c * (long long)m + j]);
        x = min(x, through);
    };
    for (int low = 0; low < w; low += panel) {
        const int high = min(low + panel, w), rest = m - high;
        for (int c = low; c < high - 1; ++c) { // rows of the panel, and its columns below
            const int own = high - c - 1, wide = m - c - 1;
            for (int e = start; e < own * (wide + rest); e += step) {
                const bool row = e < own * wide;
                const int left = e - own * wide, i = row ? c + 1 + e / wide : high + left / own, j = row ? c + 1 + e % wide : c + 1 + left % own;
                meet(i, j, c, length[i * (long long)m + j], number[i * (long long)m + j]);
            }
            team.sync();
        }
        for (int e = start; e < rest * rest; e += step) {
            const int i = high + e / rest, j = high + e % rest;
            const long long to = i * (long long)m + j;
            double x = length[to], n = number[to];
            for (int c = low; c < high; ++c) meet(i, j, c, x, n);
            length[to] = x, number[to] = n;
        }
        team.sync();
    }
    double most = 0;
    bool differ = false;
    for (int c = 0; c < w; ++c) {
        const long long to = column(f, c);
        for (int i = c + 1 + start; i < m; i += step) {
            const long long low = i * (long long)m + c, up = c * (long long)m + i;
            t.lower[to + i] = length[low], t.lower_numbers[to + i] = number[low];
            t.upper[to + i] = length[up], t.upper_numbers[to + i] = number[up];
            most = max(most, max(number[low], number[up]));
            differ |= length[low] != length[up] || number[low] != number[up];
        }
    }
    keep_greatest(t.told + 2, most);
    if (differ) t.told[3] = 1;
}

// X_RR ← the parent's, permuted.
__device__ inline void inherit(const Tables& t, const Front& f, double* X, const Team& team) {
    if (!f.rows) return;
    const Front above = t.fronts[f.parent];
    const int w = f.width, r = f.rows, m = w + r, apart = above.width + above.rows;
    const int* local = t.local + f.begin;
    for (int e = team.first(); e < r * r; e += team.step()) {
        const int i = e / r, j = e % r;
        X[f.square + (w + i) * (long long)m + w + j] = X[above.square + local[i] * (long long)apart + local[j]];
    }
}

// done(down, j, ⊕ term(down, j, i)) for all i and j > c, of row c, and of column c (`down`), split over a team's blocks.
// Spare threads share the i of a j; partial results are in shared memory.
template <class Term, class Join, class Done>
__device__ inline void of_lines(Team& team, double* waiting, int c, int m, double none, Term term, Join join, Done done) {
    const int rest = m - c - 1, each = (2 * rest + team.size - 1) / team.size, low = team.rank * each;
    const int lines = max(0, min(each, 2 * rest - low)), parts = max(1, min(int(blockDim.x) / max(lines, 1), rest));
    for (int e = threadIdx.x; e < parts * lines; e += blockDim.x) {
        const int line = low + e % lines;
        const bool down = line >= rest;
        const int j = c + 1 + line - (down ? rest : 0);
        double found = none;
#pragma unroll 4
        for (int i = c + 1 + e / lines; i < m; i += parts) found = join(found, term(down, j, i));
        if (parts > 1) waiting[e] = found;
        else done(down, j, found);
    }
    if (parts > 1) {
        __syncthreads();
        if (const int e = threadIdx.x; e < lines) {
            double found = waiting[e];
            for (int part = 1; part < parts; ++part) found = join(found, waiting[e + part * lines]);
            done(low + e >= rest, c + 1 + low + e - (low + e >= rest ? rest : 0), found);
        }
    }
    team.sync();
}

// Distances of each front, parents first, and flags of entries of F that are distances. `numbers` hold the transpose.
extern "C" __global__ void __launch_bounds__(1024) keep(const Tables* tables, const int* supernodes, int blocks, unsigned* arrived) {
    __shared__ double waiting[1024];
    const Tables& t = *tables;
    Team team(blocks, arrived);
    const Front f = t.fronts[supernodes[blockIdx.x / blocks]];
    const int w = f.width, m = w + f.rows, start = team.first(), step = team.step();
    double *D = t.lengths + f.square, *across = t.numbers + f.square, longest = 0;
    inherit(t, f, t.lengths, team);
    inherit(t, f, t.numbers, team);
    team.sync();
    for (int c = w - 1; c >= 0; --c) {
        const long long at = column(f, c);
        if (start == 0) D[c * (m + 1ll)] = across[c * (m + 1ll)] = 0;
        of_lines(
            team, waiting, c, m, double(INFINITY),
            [&](bool down, int j, int i) { return (down ? t.lower : t.upper)[at + i] + (down ? across : D)[i * (long long)m + j]; },
            [](double x, double y) { return min(x, y); },
            [&](bool down, int j, double least) {
                const long long near = c * (long long)m + j, far = j * (long long)m + c;
                D[down ? far : near] = across[down ? near : far] = least;
                if (least < double(INFINITY)) longest = max(longest, least);
                const double own = (down ? t.lower : t.upper)[at + j];
                (down ? t.lower_kept : t.upper_kept)[at + j] = own <= least * scale && least < double(INFINITY);
            });
    }
    keep_greatest(t.told, longest);
}

// carried[a] ← flow over arc a, parents first. `lengths` are F again, `numbers` its dependencies; and the transposes.
extern "C" __global__ void __launch_bounds__(1024) spread(const Tables* tables, const int* supernodes, int blocks, unsigned* arrived) {
    __shared__ double waiting[1024];
    const Tables& t = *tables;
    Team team(blocks, arrived);
    const Front f = t.fronts[supernodes[blockIdx.x / blocks]];
    const int w = f.width, m = w + f.rows, start = team.first(), step = team.step();
    double *F = t.lengths + f.square, *G = t.numbers + f.square, *F_across = t.lengths_across + f.square, *G_across = t.numbers_across + f.square;
    inherit(t, f, t.lengths, team);
    inherit(t, f, t.numbers, team);
    inherit(t, f, t.lengths_across, team);
    inherit(t, f, t.numbers_across, team);
    for (int c = 0; c < w; ++c) {
        const long long at = column(f, c);
        for (int i = c + start; i < m; i += step) {
            const long long low = i * (long long)m + c, up = c * (long long)m + i;
            if (i == c) {
                F[up] = F_across[up] = double(INFINITY), G[up] = G_across[up] = 0;
                continue;
            }
            F[low] = F_across[up] = t.lower[at + i], F[up] = F_across[low] = t.upper[at + i];
            G[low] = G_across[up] = t.lower_sums[at + i], G[up] = G_across[low] = t.upper_sums[at + i];
        }
    }
    team.sync();
    for (int c = w - 1; c >= 0; --c) {
        const long long at = column(f, c);
        of_lines(
            team, waiting, c, m, 0.0,
            [&](bool down, int j, int i) { // dependency of (j, i) on (j, c), or of (i, j) on (c, j)
                const double own = (down ? t.lower : t.upper)[at + j], other = (down ? t.upper : t.lower)[at + i];
                const long long met = i * (long long)m + j;
                const bool same = own < double(INFINITY) && own + other == (down ? F_across : F)[met];
                return same ? (down ? t.upper_numbers : t.lower_numbers)[at + i] * (down ? G_across : G)[met] : 0.0;
            },
            [](double x, double y) { return x + y; },
            [&](bool down, int j, double total) {
                const long long near = c * (long long)m + j, far = j * (long long)m + c;
                total += G[down ? far : near];
                G[down ? far : near] = G_across[down ? near : far] = total;
            });
    }
    for (int a = f.arcs + start; a < f.arcs_end; a += step) {
        const long long e = t.arc_row[a] * (long long)m + t.arc_col[a];
        t.carried[a] = t.weights[a] == F[e] && t.weights[a] < double(INFINITY) ? G[e] : 0;
    }
}
