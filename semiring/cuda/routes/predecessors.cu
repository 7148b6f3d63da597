// Predecessors of all pairs from a matrix and its closure, by the rule of docs/routes.md, for a batch of n × n matrices.
//
// Entries P[i,j] of one target j and many sources i are found by a warp: T = Dᵀ and Pᵀ have them side by side. Which
// edges are tight, A[k,j] = D[k,j], is kept as bits: of a vertex's edges in, of those in that do not weigh `one`, of
// those out. Each lane has the sources lane, lane + 32, … of its group.
//
// The prelude gives Algebra and Step, whose `mul` is right where no edge beats `one`; and: `least`, whether ⊕ selects
// the lesser of two; `rounds`, whether ⊗ rounds; `lengths`, whether ⊗ adds; `ahead`, how many edges a warp fetches
// together; `resident`, how many of its blocks a multiprocessor should hold.
#include "algebra.cuh"

using T = Algebra::T;
using W = Algebra::W;

// No predecessor; none yet. What was found in the level that goes on has its bit `REACHED`, and is found for good when
// the level ends: so a minimum over what is there keeps whatever came a level before.
constexpr int NONE = -9999, OPEN = 0x7fffffff, REACHED = 1 << 30;
constexpr int threads = 256, warps = threads / 32, searchers = 512;
// Groups of 32 sources that a warp takes together.
constexpr int groups = 4, sources = 32 * groups;
constexpr unsigned whole = ~0u;

// What a look at a matrix finds: whether an edge beats `one`, and the bits of its closure's largest finite |entry|.
struct Facts {
    unsigned long long largest;
    int anew, unused;
};

// What the host reads: whether pairs are open, whether some were found, whether some could not be; how many tight edges.
enum Told { STILL_OPEN, FOUND, FAILED, EDGES };

__device__ inline bool better(W a, W b) { return least ? a < b : a > b; }

__device__ inline W size_of(W a) { return a < W(0) ? W(0) - a : a; }

// The worst entry that counts as d: d itself where ⊗ is exact, else slack · |scale| and a last digit away.
__device__ inline W limit(W d, W scale, W slack) {
    if (!rounds) return d;
    const W digit = sizeof(W) == 4 ? W(__int_as_float(1)) : W(__longlong_as_double(1));
    const W away = slack * size_of(scale) + digit;
    return least ? d + away : d - away;
}

__device__ inline W larger(W a, W b) { return rounds && size_of(a) > size_of(b) ? a : b; }

// Whether an edge of weight a is a best path of weight d.
__device__ inline bool is_tight(W a, W d, W slack, W floor) {
    return a != Algebra::zero() && d != Algebra::zero() && !better(limit(d, larger(d, floor), slack), a);
}

template <class A = Algebra>
__device__ inline W times(W d, W w, bool mirrored) { return mirrored ? A::mul(w, d) : A::mul(d, w); }

// Whether d ⊗ w is as good as the goal; unless anew, d must be so too.
__device__ inline bool attained(W d, W w, W goal, bool anew, bool mirrored, W slack, W floor) {
    if (!anew && better(goal, d)) return false;
    const W worst = limit(goal, larger(larger(d, goal), floor), slack);
    return !better(worst, times(d, w, mirrored));
}

// Where lengths of both signs cancel, a small sum may have been rounded as the largest are; `wide` says that any may.
__device__ inline W floor_of(const Facts& facts, bool wide) {
    if (!rounds || !(wide || (lengths && facts.anew))) return W(0);
    return W(__longlong_as_double((long long)facts.largest));
}

// facts ← what is so of each matrix; top[i] ← the best D[i,k] of all k ≠ i. A warp a row.
extern "C" __global__ void __launch_bounds__(threads)
    look(const T* A, const T* D, int n, long long rows, Facts* facts, T* top) {
    const int lane = threadIdx.x % 32;
    const long long row = blockIdx.x * (long long)warps + threadIdx.x / 32;
    if (row >= rows) return;
    const int i = int(row % n);
    const T *a = A + row * n, *d = D + row * n;
    W best = Algebra::zero(), largest = W(0);
    bool beats = false;
#pragma unroll 4
    for (int k = lane; k < n; k += 32) {
        const W x = d[k];
        best = k != i && better(x, best) ? x : best;
        beats |= better(W(a[k]), Algebra::one());
        if (rounds) {
            const W size = size_of(x);
            largest = size < W(INFINITY) && size > largest ? size : largest;
        }
    }
    for (int half = 16; half; half /= 2) {
        const W other = __shfl_xor_sync(whole, best, half), size = __shfl_xor_sync(whole, largest, half);
        best = better(other, best) ? other : best;
        largest = size > largest ? size : largest;
    }
    beats = __any_sync(whole, beats);
    if (lane) return;
    top[row] = T(best);
    Facts& found = facts[row / n];
    if (beats) found.anew = 1;
    if (rounds) atomicMax(&found.largest, (unsigned long long)__double_as_longlong(double(largest)));
}

// The tight edges as bits; T = Dᵀ, and in Pᵀ the first line of the rule: j where the edge (j, ·) is tight. Tiles of
// 32 × 32; without T, only the bits of edges out.
extern "C" __global__ void __launch_bounds__(threads)
    tight(const T* A, const T* D, int n, int words, int batch, const Facts* facts, W slack, int wide,
          unsigned* leaving, unsigned* entering, unsigned* nearer, T* Dt, int* Pt, long long* told) {
    constexpr int each = 32 / warps;
    __shared__ T tile[32][33];
    __shared__ unsigned char seen[32][36];  // 1: tight; 2: and does not weigh `one`; 4: there is a path
    __shared__ int edges;
    const int x = threadIdx.x % 32, y = threadIdx.x / 32, k0 = blockIdx.y * 32, j0 = blockIdx.x * 32;
    if (threadIdx.x == 0) edges = 0;
    __syncthreads();
    for (int b = blockIdx.z; b < batch; b += gridDim.z) {
        const long long first = (long long)b * n;
        const W floor = floor_of(facts[b], wide);
        W a[each], d[each];
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const int k = k0 + y + e * warps, j = j0 + x;
            const bool inside = k < n && j < n;
            const long long at = (first + k) * n + j;
            a[e] = inside ? W(A[at]) : Algebra::zero();
            d[e] = inside ? W(D[at]) : Algebra::zero();
        }
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const int r = y + e * warps, k = k0 + r, j = j0 + x;
            const bool path = d[e] != Algebra::zero() && k != j;
            const bool found = path && is_tight(a[e], d[e], slack, floor);
            tile[r][x] = T(d[e]);
            seen[r][x] = found | (found && a[e] != Algebra::one()) << 1 | path << 2;
            const unsigned out = __ballot_sync(whole, found);
            if (x == 0 && k < n) {
                leaving[(first + k) * words + blockIdx.x] = out;
                if (out) atomicAdd(&edges, __popc(out));
            }
        }
        if (!Dt) continue;
        __syncthreads();
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const int r = y + e * warps, j = j0 + r, k = k0 + x;
            const int what = seen[x][r];
            const unsigned in = __ballot_sync(whole, what & 1), near = __ballot_sync(whole, what & 2);
            if (x == 0 && j < n) {
                entering[(first + j) * words + blockIdx.y] = in;
                nearer[(first + j) * words + blockIdx.y] = near;
            }
            if (j < n && k < n) {
                Dt[(first + j) * n + k] = tile[x][r];
                Pt[(first + j) * n + k] = what & 1 ? k : what & 4 ? OPEN : NONE;
            }
        }
        __syncthreads();
    }
    __syncthreads();
    if (threadIdx.x == 0 && edges) atomicAdd((unsigned long long*)&told[EDGES], (unsigned long long)edges);
}

// The first `most` of the edges into each vertex whose bits are given, ascending: tails and weights; a warp a row.
// counts ← how many they are, or most + 1 where there are more.
extern "C" __global__ void __launch_bounds__(threads)
    gather(const T* A, const unsigned* bits, int n, int words, long long rows, int most, int* tails, T* weights,
           int* counts) {
    const int lane = threadIdx.x % 32;
    const long long row = blockIdx.x * (long long)warps + threadIdx.x / 32;
    if (row >= rows) return;
    const int j = int(row % n), used = (n + 31) / 32;
    const long long matrix = row - j;
    int at = 0;
    for (int w = 0; w < used && at <= most; w += 32) {
        unsigned mine = w + lane < used ? bits[row * words + w + lane] : 0;
        int sum = __popc(mine);
        for (int apart = 1; apart < 32; apart *= 2) {
            const int other = __shfl_up_sync(whole, sum, apart);
            if (lane >= apart) sum += other;
        }
        for (int here = at + sum - __popc(mine); mine && here < most; ++here, mine &= mine - 1) {
            const int k = (w + lane) * 32 + __ffs(mine) - 1;
            tails[row * most + here] = k;
            weights[row * most + here] = A[(matrix + k) * n + j];
        }
        at += __shfl_sync(whole, sum, 31);
    }
    if (lane == 0) counts[row] = at > most ? most + 1 : at;
}

// An edge into a target, for each lane; none where `there` is false.
struct Candidate {
    int k;
    W w;
    bool there;
};

// The edges into j, ascending, 32 at a time, until `each` says that it has enough: those that were gathered, if any,
// then the others by their bits, word by word.
template <class Each>
__device__ inline void for_edges(const T* A, long long matrix, int j, int n, const unsigned* bits, int words, int most,
                                 const int* tails, const T* weights, const int* counts, int lane, const Each& each) {
    const long long row = matrix + j;
    const int count = most ? counts[row] : 1, listed = count > most ? most : count;
    int last = -1;
    for (int e = 0; e < listed; e += 32) {
        const bool there = e + lane < listed;
        const Candidate mine = {there ? tails[row * most + e + lane] : 0,
                                there ? W(weights[row * most + e + lane]) : Algebra::zero(), there};
        if (each(mine)) return;
        last = __shfl_sync(whole, mine.k, 31);
    }
    if (count <= most) return;
    for (int w = (last + 1) / 32; w < (n + 31) / 32; ++w) {
        const unsigned word = bits[row * words + w];  // the same for all lanes
        if (!word) continue;
        const int k = 32 * w + lane;
        const bool there = k > last && word >> lane & 1;
        if (each({k, there ? W(A[(matrix + k) * n + j]) : Algebra::zero(), there})) return;
    }
}

// The second line of the rule: a warp has one target j and `sources` sources. `settled` ← which pairs are served.
extern "C" __global__ void __launch_bounds__(threads, resident)
    nearest(const T* A, const T* Dt, const T* top, int n, int words, int batch, const Facts* facts, W slack,
            int mirrored, const unsigned* nearer, int most, const int* tails, const T* weights, const int* counts,
            int* Pt, unsigned* settled, long long* told) {
    const int lane = threadIdx.x % 32, j = blockIdx.x * warps + threadIdx.x / 32, first = blockIdx.y * sources;
    if (j >= n) return;
    for (int b = blockIdx.z; b < batch; b += gridDim.z) {
        const long long matrix = (long long)b * n, row = matrix + j;
        int p[groups];
        unsigned changed = 0;
        bool open = false;
#pragma unroll
        for (int r = 0; r < groups; ++r) {
            const int i = first + 32 * r + lane;
            p[r] = i < n ? Pt[row * n + i] : NONE;
        }
#pragma unroll
        for (int r = 0; r < groups; ++r) open |= p[r] == OPEN;
        if (__any_sync(whole, open) && !facts[b].anew) {
            W goal[groups], best[groups], lead[groups];
#pragma unroll
            for (int r = 0; r < groups; ++r) {
                const int i = first + 32 * r + lane;
                goal[r] = i < n ? W(Dt[row * n + i]) : Algebra::zero();
                lead[r] = i < n ? W(top[matrix + i]) : Algebra::zero();
            }
            // A source that is served, or that no vertex lies before, gets a goal that nothing is better than.
            open = false;
#pragma unroll
            for (int r = 0; r < groups; ++r) {
                const bool wanted = p[r] == OPEN && better(lead[r], goal[r]);
                best[r] = wanted ? limit(goal[r], goal[r], slack) : Algebra::one();
                goal[r] = wanted ? goal[r] : Algebra::one();
                open |= wanted;
            }
            if (__any_sync(whole, open))
                for_edges(A, matrix, j, n, nearer, words, most, tails, weights, counts, lane, [&](const Candidate& c) {
                    // No sum is better than that with the best of all D[i,k]: most edges are seen to be too long.
                    W near = Algebra::zero(), far = Algebra::one();
#pragma unroll
                    for (int r = 0; r < groups; ++r)
                        if (goal[r] != Algebra::one()) {
                            near = better(lead[r], near) ? lead[r] : near;
                            far = better(far, best[r]) ? best[r] : far;
                        }
                    for (int half = 16; half; half /= 2) {
                        const W one = __shfl_xor_sync(whole, near, half), other = __shfl_xor_sync(whole, far, half);
                        near = better(one, near) ? one : near;
                        far = better(far, other) ? other : far;
                    }
                    const W soonest = times<Step>(near, c.w, mirrored);
                    unsigned some = __ballot_sync(whole, c.there && (rounds ? better(soonest, far) : !better(far, soonest)));
                    while (some) {
                        int k[ahead];
                        W w[ahead], d[ahead][groups];
#pragma unroll
                        for (int e = 0; e < ahead; ++e) {
                            const int from = __ffs(some) - 1;
                            k[e] = e && !some ? k[e - 1] : __shfl_sync(whole, c.k, from & 31);
                            w[e] = e && !some ? w[e - 1] : __shfl_sync(whole, c.w, from & 31);
                            some &= some - 1;
                        }
#pragma unroll
                        for (int e = 0; e < ahead; ++e)
#pragma unroll
                            for (int r = 0; r < groups; ++r) {
                                const int i = first + 32 * r + lane;
                                d[e][r] = i < n ? W(Dt[(matrix + k[e]) * n + i]) : Algebra::zero();
                            }
                        bool left = false;
#pragma unroll
                        for (int r = 0; r < groups; ++r) {
#pragma unroll
                            for (int e = 0; e < ahead; ++e) {
                                const W s = times<Step>(d[e][r], w[e], mirrored);
                                // Where ⊗ rounds, the first whose sum is as good as the goal, or that of the best sum.
                                const bool taken =
                                    better(d[e][r], goal[r]) && (rounds ? better(s, best[r]) : s == goal[r]);
                                if (taken) {
                                    p[r] = k[e];
                                    changed |= 1u << r;
                                    if (!rounds || !better(goal[r], s)) goal[r] = Algebra::one();
                                    best[r] = s;
                                }
                            }
                            left |= goal[r] != Algebra::one();
                        }
                        if (!__any_sync(whole, left)) return true;
                    }
                    return false;
                });
        }
        bool still = false;
#pragma unroll
        for (int r = 0; r < groups; ++r) {
            const int i = first + 32 * r;
            const unsigned served = __ballot_sync(whole, p[r] >= 0 && p[r] != OPEN);
            if (lane == 0) settled[row * words + i / 32] = served;
            if (changed >> r & 1) Pt[row * n + i + lane] = p[r];
            still |= p[r] == OPEN;
        }
        if (still) told[STILL_OPEN] = 1;
    }
}

// One level of the third line of the rule, for all pairs: from those that are `before`; `after` has the new ones too.
extern "C" __global__ void __launch_bounds__(threads, sizeof(W) > 4 ? 3 : 4)
    level(const T* A, const T* Dt, int n, int words, int batch, const Facts* facts, W slack, int mirrored,
          const unsigned* entering, int most, const int* tails, const T* weights, const int* counts,
          const unsigned* before, unsigned* after, int* Pt, long long* told) {
    const int lane = threadIdx.x % 32, j = blockIdx.x * warps + threadIdx.x / 32, first = blockIdx.y * sources;
    if (j >= n) return;
    for (int b = blockIdx.z; b < batch; b += gridDim.z) {
        const long long matrix = (long long)b * n, row = matrix + j;
        const bool anew = facts[b].anew;
        const W floor = floor_of(facts[b], false);
        const uint4 was = *reinterpret_cast<const uint4*>(before + row * words + first / 32);
        unsigned open[groups], found[groups] = {}, any = 0;
        int p[groups];
        W goal[groups];
#pragma unroll
        for (int r = 0; r < groups; ++r) {
            const int i = first + 32 * r + lane;
            p[r] = i < n ? Pt[row * n + i] : NONE;
        }
#pragma unroll
        for (int r = 0; r < groups; ++r) any |= open[r] = __ballot_sync(whole, p[r] == OPEN);
        if (any) {
#pragma unroll
            for (int r = 0; r < groups; ++r) {
                const int i = first + 32 * r + lane;
                goal[r] = i < n ? W(Dt[row * n + i]) : Algebra::zero();
            }
            for_edges(A, matrix, j, n, entering, words, most, tails, weights, counts, lane, [&](const Candidate& c) {
                uint4 from = {0, 0, 0, 0};
                if (c.there) from = *reinterpret_cast<const uint4*>(before + (matrix + c.k) * words + first / 32);
                const unsigned mine[groups] = {from.x, from.y, from.z, from.w};
                unsigned some = __ballot_sync(whole, mine[0] & open[0] || mine[1] & open[1] || mine[2] & open[2] || mine[3] & open[3]);
                for (; some; some &= some - 1) {
                    const int e = __ffs(some) - 1, k = __shfl_sync(whole, c.k, e);
                    const W w = __shfl_sync(whole, c.w, e);
                    unsigned left = 0;
#pragma unroll
                    for (int r = 0; r < groups; ++r) {
                        const unsigned these = __shfl_sync(whole, mine[r], e) & open[r];
                        if (these) {
                            const int i = first + 32 * r + lane;
                            const W d = i < n ? W(Dt[(matrix + k) * n + i]) : Algebra::zero();
                            const bool now = these >> lane & 1 && attained(d, w, goal[r], anew, mirrored, slack, floor);
                            if (now) Pt[row * n + i] = k | REACHED;
                            const unsigned them = __ballot_sync(whole, now);
                            found[r] |= them;
                            open[r] &= ~them;
                        }
                        left |= open[r];
                    }
                    if (!left) return true;
                }
                return false;
            });
        }
        if (lane == 0) {
            *reinterpret_cast<uint4*>(after + row * words + first / 32) = {was.x | found[0], was.y | found[1],
                                                                           was.z | found[2], was.w | found[3]};
            if (open[0] | open[1] | open[2] | open[3]) told[STILL_OPEN] = 1;
            if (found[0] | found[1] | found[2] | found[3]) told[FOUND] = 1;
        }
    }
}

// P ← its transpose, in place, tiles of 32 × 32 and their mirror images; `settle` says that no level follows.
extern "C" __global__ void __launch_bounds__(threads) turn(int* P, int n, int batch, int settle) {
    __shared__ int one[32][33], other[32][33];
    const int x = threadIdx.x % 32, y = threadIdx.x / 32, i0 = blockIdx.y * 32, j0 = blockIdx.x * 32;
    if (i0 > j0) return;
    const auto kept = [&](int p) { return settle && p >= 0 && p != OPEN ? p & ~REACHED : p; };
    for (int b = blockIdx.z; b < batch; b += gridDim.z) {
        int* const p = P + (long long)b * n * n;
        constexpr int each = 32 / warps;
        int mine[each], theirs[each];
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const int r = y + e * warps;
            mine[e] = i0 + r < n && j0 + x < n ? p[(i0 + r) * (long long)n + j0 + x] : NONE;
            theirs[e] = j0 + r < n && i0 + x < n ? p[(j0 + r) * (long long)n + i0 + x] : NONE;
        }
#pragma unroll
        for (int e = 0; e < each; ++e) {
            one[y + e * warps][x] = kept(mine[e]);
            other[y + e * warps][x] = kept(theirs[e]);
        }
        __syncthreads();
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const int r = y + e * warps;
            if (j0 + r < n && i0 + x < n) p[(j0 + r) * (long long)n + i0 + x] = one[x][r];
            if (i0 + r < n && j0 + x < n) p[(i0 + r) * (long long)n + j0 + x] = other[x][r];
        }
        __syncthreads();
    }
}

// starts[row + 1] ← how many tight edges leave a vertex; a warp a row.
extern "C" __global__ void __launch_bounds__(threads)
    count(const unsigned* leaving, int n, int words, long long rows, long long* starts) {
    const int lane = threadIdx.x % 32;
    const long long row = blockIdx.x * (long long)warps + threadIdx.x / 32;
    if (row >= rows) return;
    int edges = 0;
    for (int w = lane; w < (n + 31) / 32; w += 32) edges += __popc(leaving[row * words + w]);
    for (int half = 16; half; half /= 2) edges += __shfl_xor_sync(whole, edges, half);
    if (lane == 0) starts[row + 1] = edges;
}

// starts ← the sums of what it holds, from 0 on: one block.
extern "C" __global__ void __launch_bounds__(1024) add_up(long long* starts, long long rows) {
    __shared__ long long sums[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    long long before = 0;
    if (threadIdx.x == 0) starts[0] = 0;
    for (long long first = 0; first < rows; first += 1024) {
        const long long at = first + threadIdx.x;
        long long sum = at < rows ? starts[at + 1] : 0;
        for (int apart = 1; apart < 32; apart *= 2) {
            const long long other = __shfl_up_sync(whole, sum, apart);
            if (lane >= apart) sum += other;
        }
        if (lane == 31) sums[warp] = sum;
        __syncthreads();
        if (warp == 0) {
            long long sofar = sums[lane];
            for (int apart = 1; apart < 32; apart *= 2) {
                const long long other = __shfl_up_sync(whole, sofar, apart);
                if (lane >= apart) sofar += other;
            }
            sums[lane] = sofar;
        }
        __syncthreads();
        sum += before + (warp ? sums[warp - 1] : 0);
        if (at < rows) starts[at + 1] = sum;
        before += sums[31];
        __syncthreads();
    }
}

// The heads and weights of the tight edges that leave each vertex; a warp a row.
extern "C" __global__ void __launch_bounds__(threads)
    list(const T* A, const unsigned* leaving, int n, int words, long long rows, const long long* starts, int* heads,
         T* weights) {
    const int lane = threadIdx.x % 32;
    const long long row = blockIdx.x * (long long)warps + threadIdx.x / 32;
    if (row >= rows) return;
    long long at = starts[row];
    for (int w = 0; w < (n + 31) / 32; ++w) {
        const unsigned word = leaving[row * words + w];  // the same for all lanes
        if (word >> lane & 1) {
            const long long here = at + __popc(word & ((1u << lane) - 1));
            heads[here] = 32 * w + lane;
            weights[here] = A[row * n + 32 * w + lane];
        }
        at += __popc(word);
    }
}

// What a search looks at: tight edges by tail, and what counts as attained. Vertices that more than `hub` edges leave
// are left for all of its threads together.
struct Search {
    const long long* starts;
    const int* heads;
    const T* weights;
    bool anew, mirrored;
    W slack, floor;
    static constexpr int hub = 128;

    // Each edge out of k, `mine` of so many threads: p[j] ← k, if k attains D[i,j] and nothing better came before; then
    // `put(j)` where it is the first that does.
    template <class Row, class Put>
    __device__ void expand(const Row* d, int* p, long long matrix, int k, int mine, int threads, const Put& put) const {
        const int found = k | REACHED;
        const W near = d[k];
        const long long stop = starts[matrix + k + 1];
#pragma unroll 1
        for (long long e = starts[matrix + k] + mine; e < stop; e += threads) {
            const int j = heads[e];
            const W w = weights[e];
            if (*(volatile int*)&p[j] > found && attained(near, w, d[j], anew, mirrored, slack, floor) &&
                atomicMin(&p[j], found) == OPEN)
                put(j);
        }
    }
    __device__ bool is_hub(long long vertex) const { return starts[vertex + 1] - starts[vertex] > hub; }
};

// The third line of the rule, source by source, for those with open pairs: a warp a source, from what was reached last
// along listed edges; or, where `every`, from all that is settled. Where `begin`, sources begin with their own edges
// alone; `anew` says what is attained. `queues` has room for 2 n each warp.
extern "C" __global__ void __launch_bounds__(threads, 4)
    levels(const T* D, int* P, int n, long long first_row, long long rows, const Facts* facts, W slack, int wide,
           int mirrored, int anew, int begin, const long long* starts, const int* heads, const T* weights, int* queues,
           int least_lanes, int every, int most_levels, long long* told) {
    __shared__ int ends[warps], hub_ends[warps];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int &end = ends[warp], &hub_end = hub_ends[warp];
    int *const queue = queues + 2 * (blockIdx.x * (long long)warps + warp) * n, *const hubs = queue + n;
    for (long long row = first_row + blockIdx.x * (long long)warps + warp; row < rows; row += gridDim.x * (long long)warps) {
        int* const p = P + row * n;
        const T* const d = D + row * n;
        const int b = int(row / n), i = int(row % n);
        const long long matrix = (long long)b * n;
        const Search edges = {starts, heads, weights, anew || facts[b].anew, bool(mirrored), slack, floor_of(facts[b], wide)};
        int open = 0, to = 0;
        for (int first = 0; first < n; first += 32) {
            const int j = first + lane, v = j < n ? p[j] : NONE;
            open += __popc(__ballot_sync(whole, v == OPEN));
            const bool reached = v != OPEN && v >= (every ? 0 : REACHED);
            const unsigned them = __ballot_sync(whole, reached);
            if (reached) {
                queue[to + __popc(them & ((1u << lane) - 1))] = j;
                p[j] = v & ~REACHED;
            }
            to += __popc(them);
        }
        if (!open) continue;
        if (begin) {
            open = 0;
            for (int first = 0; first < n; first += 32) {
                const int j = first + lane;
                const bool path = j < n && j != i && W(d[j < n ? j : 0]) != Algebra::zero();
                if (j < n) p[j] = path ? OPEN : NONE;
                open += __popc(__ballot_sync(whole, path));
            }
            __syncwarp();
            to = int(starts[row + 1] - starts[row]);
            for (int e = lane; e < to; e += 32) {
                const int j = heads[starts[row] + e];
                queue[e] = j;
                p[j] = i;
            }
            open -= to;
        }
        const auto put = [&](int j) { queue[atomicAdd(&end, 1)] = j; };
        if (lane == 0) end = to, hub_end = 0;
        __syncwarp();
        for (int from = 0; open > 0 && from < to;) {
            int lanes = least_lanes;  // for each vertex reached last
            while (lanes < 32 && 2 * lanes * (to - from) <= 32) lanes *= 2;
            for (int q = from + lane / lanes; q < to; q += 32 / lanes) {
                const int k = queue[q];
                if (!edges.is_hub(matrix + k)) edges.expand(d, p, matrix, k, lane % lanes, lanes, put);
                else if (lane % lanes == 0) hubs[atomicAdd(&hub_end, 1)] = k;
            }
            __syncwarp();
            for (int h = *(volatile int*)&hub_end - 1; h >= 0; --h) edges.expand(d, p, matrix, hubs[h], lane, 32, put);
            __syncwarp();
            from = to;
            to = *(volatile int*)&end;
            open -= to - from;
            for (int q = from + lane; q < to; q += 32) atomicAnd(&p[queue[q]], ~REACHED);
            if (lane == 0) hub_end = 0;
            __syncwarp();
        }
        if (open > 0 && lane == 0) told[FAILED] = 1;
        __syncwarp();
    }
}

// The same by a thread block a source, which has its rows of D and P in shared memory. After so many levels what is
// still open is left: with few vertices a level, many warps are faster than few blocks.
extern "C" __global__ void __launch_bounds__(searchers, 2)
    search(const T* D, int* P, int n, long long first_row, long long rows, const Facts* facts, W slack, int wide,
           int mirrored, int anew, int begin, const long long* starts, const int* heads, const T* weights, int* queues,
           int least_lanes, int every, int most_levels, long long* told) {
    extern __shared__ long long room[];
    T* const d = reinterpret_cast<T*>(room);
    int* const p = reinterpret_cast<int*>(room + (n * sizeof(T) + 7) / 8);
    unsigned short *const queue = reinterpret_cast<unsigned short*>(p + n), *const hubs = queue + n;
    __shared__ int end, hub_end, opened;
    const int lane = threadIdx.x % 32;
    for (long long row = first_row + blockIdx.x; row < rows; row += gridDim.x) {
        const int b = int(row / n), i = int(row % n);
        const long long matrix = (long long)b * n;
        const Search edges = {starts, heads, weights, anew || facts[b].anew, bool(mirrored), slack, floor_of(facts[b], wide)};
        if (threadIdx.x == 0) end = hub_end = opened = 0;
        __syncthreads();
        for (int from = 0; from < n; from += searchers) {
            const int j = from + int(threadIdx.x);
            const int v = j < n ? P[row * n + j] : NONE;
            const bool reached = v != OPEN && v >= REACHED, first = v != OPEN && v >= (every ? 0 : REACHED);
            if (j < n) {
                d[j] = D[row * n + j];
                p[j] = reached ? v & ~REACHED : v;
            }
            if (reached) P[row * n + j] = v & ~REACHED;  // for good, if nothing here is open
            const unsigned open = __ballot_sync(whole, v == OPEN), them = __ballot_sync(whole, first);
            int at = 0;
            if (lane == 0 && open) atomicAdd(&opened, __popc(open));
            if (lane == 0 && them) at = atomicAdd(&end, __popc(them));
            at = __shfl_sync(whole, at, 0) + __popc(them & ((1u << lane) - 1));
            if (first) queue[at] = (unsigned short)j;
        }
        __syncthreads();
        int open = opened;
        if (!open) {
            __syncthreads();
            continue;
        }
        if (begin) {
            __syncthreads();
            if (threadIdx.x == 0) opened = 0;
            __syncthreads();
            for (int from = 0; from < n; from += searchers) {
                const int j = from + int(threadIdx.x);
                const bool path = j < n && j != i && W(d[j < n ? j : 0]) != Algebra::zero();
                if (j < n) p[j] = path ? OPEN : NONE;
                const unsigned them = __ballot_sync(whole, path);
                if (lane == 0 && them) atomicAdd(&opened, __popc(them));
            }
            __syncthreads();
            const int own = int(starts[row + 1] - starts[row]);
            for (int e = threadIdx.x; e < own; e += searchers) {
                const int j = heads[starts[row] + e];
                queue[e] = (unsigned short)j;
                p[j] = i;
            }
            open = opened - own;
            if (threadIdx.x == 0) end = own;
            __syncthreads();
        }
        const auto put = [&](int j) { queue[atomicAdd(&end, 1)] = (unsigned short)j; };
        int from = 0, to = end;
        __syncthreads();
        for (int level = 0; open > 0 && from < to && level < most_levels; ++level) {
            int lanes = least_lanes;  // for each vertex reached last
            while (lanes < 32 && 2 * lanes * (to - from) <= searchers) lanes *= 2;
            for (int q = from + threadIdx.x / lanes; q < to; q += searchers / lanes) {
                const int k = queue[q];
                if (!edges.is_hub(matrix + k)) edges.expand(d, p, matrix, k, threadIdx.x % lanes, lanes, put);
                else if (threadIdx.x % lanes == 0) hubs[atomicAdd(&hub_end, 1)] = (unsigned short)k;
            }
            __syncthreads();
            const int many = hub_end;
            if (many) {
                for (int h = 0; h < many; ++h) edges.expand(d, p, matrix, hubs[h], threadIdx.x, searchers, put);
                __syncthreads();
            }
            from = to;
            to = end;
            open -= to - from;
            for (int q = from + threadIdx.x; q < to; q += searchers) p[queue[q]] &= ~REACHED;
            if (many && threadIdx.x == 0) hub_end = 0;  // where there are none, others may not have read that yet
            __syncthreads();
        }
        if (open > 0) {
            for (int q = from + threadIdx.x; q < to; q += searchers) p[queue[q]] |= REACHED;
            if (threadIdx.x == 0) told[from < to ? STILL_OPEN : FAILED] = 1;
            __syncthreads();
        }
        for (int j = threadIdx.x; j < n; j += searchers) P[row * n + j] = p[j];
        __syncthreads();
    }
}

// The whole rule for matrices of up to 64 vertices, a thread block a matrix, all of it in shared memory. Where pairs stay
// open it says so, and what it wrote does not count.
extern "C" __global__ void __launch_bounds__(threads)
    small(const T* A, const T* D, int n, int batch, W slack, int mirrored, int* P, long long* told) {
    extern __shared__ long long room[];
    __shared__ unsigned long long entering[64], settled[64], largest;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, pitch = n | 1;
    int* const p = reinterpret_cast<int*>(room);
    T *const a = reinterpret_cast<T*>(room + (n * pitch + 1) / 2), *const d = a + n * pitch;
    for (int b = blockIdx.x; b < batch; b += gridDim.x) {
        const long long first = (long long)b * n * n;
        bool beats = false;
        for (int at = threadIdx.x; at < n * n; at += threads) {
            const int here = at / n * pitch + at % n;
            const T x = A[first + at];
            a[here] = x;
            d[here] = D[first + at];
            beats |= better(W(x), Algebra::one());
        }
        if (threadIdx.x == 0) largest = 0;
        Facts facts = {0, __syncthreads_or(beats), 0};
        if (rounds && lengths && facts.anew) {
            for (int at = threadIdx.x; at < n * n; at += threads) {
                const W size = size_of(W(d[at / n * pitch + at % n]));
                if (size < W(INFINITY)) atomicMax(&largest, (unsigned long long)__double_as_longlong(double(size)));
            }
            __syncthreads();
            facts.largest = largest;
        }
        const W floor = floor_of(facts, false);
        // The first two lines: a warp has a target, and a lane one source of 32 and one of the next 32.
        for (int j = warp; j < n; j += warps) {
            unsigned in[2], near[2];
            for (int h = 0; h < 2; ++h) {
                const int k = 32 * h + lane;
                const W x = k < n ? W(a[k * pitch + j]) : Algebra::zero(), y = k < n ? W(d[k * pitch + j]) : Algebra::zero();
                const bool path = k != j && y != Algebra::zero(), found = path && is_tight(x, y, slack, floor);
                in[h] = __ballot_sync(whole, found);
                near[h] = __ballot_sync(whole, found && x != Algebra::one());
                if (k < n) p[k * pitch + j] = found ? k : path ? OPEN : NONE;
            }
            if (lane == 0) entering[j] = in[0] | (unsigned long long)in[1] << 32;
            for (int i = lane; i < n && !facts.anew; i += 32) {
                if (p[i * pitch + j] != OPEN) continue;
                const W goal = d[i * pitch + j];
                W best = limit(goal, goal, slack);
                unsigned long long some = near[0] | (unsigned long long)near[1] << 32;
                for (; some; some &= some - 1) {
                    const int k = __ffsll((long long)some) - 1;
                    const W from = d[i * pitch + k], s = times<Step>(from, a[k * pitch + j], mirrored);
                    if (!better(from, goal) || !(rounds ? better(s, best) : s == goal)) continue;
                    p[i * pitch + j] = k;
                    best = s;
                    if (!rounds || !better(goal, s)) break;
                }
            }
        }
        // The third, level by level: settled[i] has a bit for each vertex that is settled for a source i.
        for (;;) {
            __syncthreads();
            bool open = false, found = false;
            for (int i = warp; i < n; i += warps) {
                unsigned long long bits = 0;
                for (int h = 0; h < 2; ++h) {
                    const int j = 32 * h + lane, v = j < n ? p[i * pitch + j] : NONE;
                    open |= v == OPEN;
                    bits |= (unsigned long long)__ballot_sync(whole, v >= 0 && v != OPEN) << 32 * h;
                }
                if (lane == 0) settled[i] = bits;
            }
            if (!__syncthreads_or(open)) break;
            for (int j = warp; j < n; j += warps)
                for (int i = lane; i < n; i += 32) {
                    if (p[i * pitch + j] != OPEN) continue;
                    unsigned long long some = entering[j] & settled[i];
                    for (; some; some &= some - 1) {
                        const int k = __ffsll((long long)some) - 1;
                        if (attained(d[i * pitch + k], a[k * pitch + j], d[i * pitch + j], facts.anew, mirrored, slack, floor)) {
                            p[i * pitch + j] = k;
                            found = true;
                            break;
                        }
                    }
                }
            if (!__syncthreads_or(found)) {
                if (threadIdx.x == 0) told[FAILED] = 1;
                break;
            }
        }
        for (int at = threadIdx.x; at < n * n; at += threads) P[first + at] = p[at / n * pitch + at % n];
        __syncthreads();
    }
}

// The first pair that is still open, i · n + j, of all matrices: the least.
extern "C" __global__ void __launch_bounds__(threads)
    open_pair(const int* P, long long matrix, long long entries, unsigned long long* least_pair) {
    for (long long at = blockIdx.x * (long long)threads + threadIdx.x; at < entries; at += gridDim.x * (long long)threads)
        if (P[at] == OPEN) atomicMin(least_pair, (unsigned long long)(at % matrix));
}
