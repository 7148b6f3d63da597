// Predecessors of all pairs from a matrix and its closure, by the rule of docs/routes.md, for a batch of n × n matrices.
//
// Entries P[i,j] of one target j and many sources i are found by a warp: T = Dᵀ and Pᵀ have them side by side. Which
// edges are tight, A[k,j] = D[k,j], is kept as bits: of a vertex's edges in, of those in that do not weigh `one`, of
// those out. Each lane has the sources lane, lane + 32, … of its group.
//
// The prelude gives Algebra, and: `least`, whether ⊕ selects the lesser of two; `rounds`, whether ⊗ rounds; `lengths`,
// whether ⊗ adds; `ahead`, how many edges a warp of `nearest` fetches together, and how many of its blocks a
// multiprocessor should hold.
#include "algebra.cuh"

using T = Algebra::T;
using W = Algebra::W;

// No predecessor; none yet. What was found in the level that goes on has its bit `REACHED`, and is found for good when
// the level ends: so a minimum over what is there keeps whatever came a level before.
constexpr int NONE = -9999, OPEN = 0x7fffffff, REACHED = 1 << 30;
constexpr int threads = 256, warps = threads / 32;
// Groups of 32 sources that a warp takes together, and edges that it fetches together.
constexpr int groups = 4, sources = 32 * groups;
constexpr unsigned whole = ~0u;

// What a look at a matrix finds: whether an edge beats `one`, and the bits of its closure's largest finite |entry|.
struct Facts {
    unsigned long long largest;
    int anew, unused;
};

// What the host reads: whether pairs are open, whether some were found, whether some could not be.
enum Told { STILL_OPEN, FOUND, FAILED };

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

__device__ inline W times(W d, W w, bool mirrored) { return mirrored ? Algebra::mul(w, d) : Algebra::mul(d, w); }

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
          unsigned* leaving, unsigned* entering, unsigned* nearer, T* Dt, int* Pt) {
    __shared__ T tile[32][33];
    __shared__ unsigned char seen[32][36];  // 1: tight; 2: and does not weigh `one`; 4: there is a path
    const int x = threadIdx.x % 32, y = threadIdx.x / 32, k0 = blockIdx.y * 32, j0 = blockIdx.x * 32;
    for (int b = blockIdx.z; b < batch; b += gridDim.z) {
        const long long first = (long long)b * n;
        const W floor = floor_of(facts[b], wide);
#pragma unroll
        for (int r = y; r < 32; r += warps) {
            const int k = k0 + r, j = j0 + x;
            const bool inside = k < n && j < n;
            const long long at = (first + k) * n + j;
            const W a = inside ? W(A[at]) : Algebra::zero(), d = inside ? W(D[at]) : Algebra::zero();
            const bool path = d != Algebra::zero() && k != j;
            const bool found = path && is_tight(a, d, slack, floor);
            tile[r][x] = T(d);
            seen[r][x] = found | (found && a != Algebra::one()) << 1 | path << 2;
            const unsigned out = __ballot_sync(whole, found);
            if (x == 0 && k < n) leaving[(first + k) * words + blockIdx.x] = out;
        }
        if (!Dt) continue;
        __syncthreads();
#pragma unroll
        for (int r = y; r < 32; r += warps) {
            const int j = j0 + r, k = k0 + x;
            const int what = seen[x][r];
            const unsigned in = __ballot_sync(whole, what & 1), near = __ballot_sync(whole, what & 2);
            if (j >= n) continue;
            if (x == 0) {
                entering[(first + j) * words + blockIdx.y] = in;
                nearer[(first + j) * words + blockIdx.y] = near;
            }
            if (k < n) {
                Dt[(first + j) * n + k] = tile[x][r];
                Pt[(first + j) * n + k] = what & 1 ? k : what & 4 ? OPEN : NONE;
            }
        }
        __syncthreads();
    }
}

// The bits of a row of words, in ascending order, some at a time: `each(k, count)` with the next few of them, the last
// one again where they are fewer; until it says that it has enough.
template <int ahead, class Each>
__device__ inline void for_bits(const unsigned* row, int words, int lane, const Each& each) {
    for (int w = 0; w < words; w += 32) {
        const unsigned mine = w + lane < words ? row[w + lane] : 0;
        unsigned some = __ballot_sync(whole, mine != 0);
        while (some) {
            const int from = __ffs(some) - 1;
            some &= some - 1;
            unsigned word = __shfl_sync(whole, mine, from);
            while (word) {
                int k[ahead];
#pragma unroll
                for (int e = 0; e < ahead; ++e) {
                    k[e] = e && !word ? k[e - 1] : (w + from) * 32 + __ffs(word) - 1;
                    word &= word - 1;
                }
                if (each(k)) return;
            }
        }
    }
}

// The second line of the rule: a warp has one target j and `sources` sources. `settled` ← which pairs are served.
extern "C" __global__ void __launch_bounds__(threads, resident)
    nearest(const T* A, const T* Dt, const T* top, int n, int words, int batch, const Facts* facts, W slack,
            int mirrored, const unsigned* nearer, int* Pt, unsigned* settled, int* told) {
    const int lane = threadIdx.x % 32, j = blockIdx.x * warps + threadIdx.x / 32, first = blockIdx.y * sources;
    if (j >= n) return;
    for (int b = blockIdx.z; b < batch; b += gridDim.z) {
        const long long matrix = (long long)b * n, row = matrix + j;
        int p[groups], was[groups];
        W goal[groups], best[groups];
        bool open = false;
#pragma unroll
        for (int r = 0; r < groups; ++r) {
            const int i = first + 32 * r + lane;
            was[r] = p[r] = i < n ? Pt[row * n + i] : NONE;
            // A source that is served, or that no vertex lies before, gets a goal that nothing is better than.
            goal[r] = best[r] = Algebra::one();
            if (p[r] == OPEN && !facts[b].anew) {
                const W d = Dt[row * n + i];
                if (better(W(top[matrix + i]), d)) goal[r] = d, best[r] = limit(d, d, slack), open = true;
            }
        }
        if (__any_sync(whole, open))
            for_bits<ahead>(nearer + row * words, (n + 31) / 32, lane, [&](const int(&k)[ahead]) {
                W w[ahead], d[ahead][groups];
#pragma unroll
                for (int e = 0; e < ahead; ++e) {
                    w[e] = A[(matrix + k[e]) * n + j];
#pragma unroll
                    for (int r = 0; r < groups; ++r) {
                        const int i = first + 32 * r + lane;
                        d[e][r] = i < n ? W(Dt[(matrix + k[e]) * n + i]) : Algebra::zero();
                    }
                }
                bool left = false;
#pragma unroll
                for (int r = 0; r < groups; ++r) {
#pragma unroll
                    for (int e = 0; e < ahead; ++e) {
                        const W s = times(d[e][r], w[e], mirrored);
                        if (rounds) {  // the first whose sum is at least as good as the goal, or that of the best sum
                            const bool taken = better(d[e][r], goal[r]) && better(s, best[r]) && better(goal[r], best[r]);
                            // `best` is the limit, worse than the goal, until a sum is found.
                            p[r] = taken ? k[e] : p[r];
                            best[r] = taken ? s : best[r];
                        } else if (p[r] == OPEN && better(d[e][r], goal[r]) && s == goal[r]) {
                            p[r] = k[e];
                        }
                    }
                    left |= goal[r] != Algebra::one() && (rounds ? better(goal[r], best[r]) : p[r] == OPEN);
                }
                return !__any_sync(whole, left);
            });
        bool still = false;
#pragma unroll
        for (int r = 0; r < groups; ++r) {
            const int i = first + 32 * r;
            const unsigned served = __ballot_sync(whole, p[r] >= 0 && p[r] != OPEN);
            if (lane == 0) settled[row * words + i / 32] = served;
            if (p[r] != was[r]) Pt[row * n + i + lane] = p[r];
            still |= p[r] == OPEN;
        }
        if (still) told[STILL_OPEN] = 1;
    }
}

// One level of the third line of the rule, for all pairs: from those that are `before`; `after` has the new ones too.
extern "C" __global__ void __launch_bounds__(threads)
    level(const T* A, const T* Dt, int n, int words, int batch, const Facts* facts, W slack, int mirrored,
          const unsigned* entering, const unsigned* before, unsigned* after, int* Pt, int* told) {
    const int lane = threadIdx.x % 32, j = blockIdx.x * warps + threadIdx.x / 32, first = blockIdx.y * sources;
    if (j >= n) return;
    for (int b = blockIdx.z; b < batch; b += gridDim.z) {
        const long long matrix = (long long)b * n, row = matrix + j;
        const bool anew = facts[b].anew;
        const W floor = floor_of(facts[b], false);
        unsigned open[groups], found[groups], any = 0;
        W goal[groups];
#pragma unroll
        for (int r = 0; r < groups; ++r) {
            const int i = first + 32 * r + lane;
            open[r] = __ballot_sync(whole, i < n && Pt[row * n + (i < n ? i : 0)] == OPEN);
            goal[r] = open[r] && i < n ? W(Dt[row * n + i]) : Algebra::zero();
            found[r] = 0;
            any |= open[r];
        }
        if (any)
            for_bits<1>(entering + row * words, (n + 31) / 32, lane, [&](const int(&k)[1]) {
                const uint4 four = *reinterpret_cast<const uint4*>(before + (matrix + k[0]) * words + first / 32);
                const unsigned from[groups] = {four.x & open[0], four.y & open[1], four.z & open[2], four.w & open[3]};
                if (!(from[0] | from[1] | from[2] | from[3])) return false;
                const W w = A[(matrix + k[0]) * n + j];
                unsigned left = 0;
#pragma unroll
                for (int r = 0; r < groups; ++r) {
                    if (from[r]) {
                        const int i = first + 32 * r + lane;
                        const W d = i < n ? W(Dt[(matrix + k[0]) * n + i]) : Algebra::zero();
                        const bool mine = from[r] >> lane & 1;
                        const bool now = mine && attained(d, w, goal[r], anew, mirrored, slack, floor);
                        if (now) Pt[row * n + i] = k[0] | REACHED;
                        const unsigned them = __ballot_sync(whole, now);
                        found[r] |= them;
                        open[r] &= ~them;
                    }
                    left |= open[r];
                }
                return !left;
            });
#pragma unroll
        for (int r = 0; r < groups; ++r) {
            const int at = first / 32 + r;
            if (lane == 0) {
                after[row * words + at] = before[row * words + at] | found[r];
                if (open[r]) told[STILL_OPEN] = 1;
                if (found[r]) told[FOUND] = 1;
            }
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
#pragma unroll
        for (int r = y; r < 32; r += warps) {
            if (i0 + r < n && j0 + x < n) one[r][x] = kept(p[(i0 + r) * (long long)n + j0 + x]);
            if (j0 + r < n && i0 + x < n) other[r][x] = kept(p[(j0 + r) * (long long)n + i0 + x]);
        }
        __syncthreads();
#pragma unroll
        for (int r = y; r < 32; r += warps) {
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

// The third line of the rule, source by source, for those with open pairs: a warp a source, from what was reached last
// along listed edges. Where `anew`, sources begin with their own edges alone. `queues` has room for n each warp.
extern "C" __global__ void __launch_bounds__(threads, 4)
    levels(const T* D, int* P, int n, long long first_row, long long rows, const Facts* facts, W slack, int wide, int mirrored, int anew,
           const long long* starts, const int* heads, const T* weights, int* queues, int least_lanes, int* told) {
    __shared__ int ends[warps];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int& end = ends[warp];
    int* const queue = queues + (blockIdx.x * (long long)warps + warp) * n;
    for (long long row = first_row + blockIdx.x * (long long)warps + warp; row < rows; row += gridDim.x * (long long)warps) {
        int* const p = P + row * n;
        const T* const d = D + row * n;
        const int b = int(row / n), i = int(row % n);
        const long long matrix = (long long)b * n;
        const bool all_but_own = anew || facts[b].anew;
        const W floor = floor_of(facts[b], wide);
        int open = 0, to = 0;
        for (int first = 0; first < n; first += 32) {
            const int j = first + lane, v = j < n ? p[j] : NONE;
            open += __popc(__ballot_sync(whole, v == OPEN));
            const bool reached = v >= REACHED && v != OPEN;
            const unsigned them = __ballot_sync(whole, reached);
            if (reached) {
                queue[to + __popc(them & ((1u << lane) - 1))] = j;
                p[j] = v & ~REACHED;
            }
            to += __popc(them);
        }
        if (!open) continue;
        if (anew) {
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
        if (lane == 0) end = to;
        __syncwarp();
        for (int from = 0; open > 0 && from < to;) {
            int lanes = least_lanes;  // for each vertex reached last
            while (lanes < 32 && 2 * lanes * (to - from) <= 32) lanes *= 2;
            for (int q = from + lane / lanes; q < to; q += 32 / lanes) {
                const int k = queue[q], found = k | REACHED;
                const W near = d[k];
                const long long stop = starts[matrix + k + 1];
#pragma unroll 1
                for (long long e = starts[matrix + k] + lane % lanes; e < stop; e += lanes) {
                    const int j = heads[e];
                    if (p[j] > found && attained(near, weights[e], d[j], all_but_own, mirrored, slack, floor) &&
                        atomicMin(&p[j], found) == OPEN)
                        queue[atomicAdd(&end, 1)] = j;
                }
            }
            __syncwarp();
            from = to;
            to = *(volatile int*)&end;
            open -= to - from;
            for (int q = from + lane; q < to; q += 32) atomicAnd(&p[queue[q]], ~REACHED);
            __syncwarp();
        }
        if (open > 0 && lane == 0) told[FAILED] = 1;
        __syncwarp();
    }
}

// The first pair that is still open, i · n + j, of all matrices: the least.
extern "C" __global__ void __launch_bounds__(threads)
    open_pair(const int* P, long long matrix, long long entries, unsigned long long* least_pair) {
    for (long long at = blockIdx.x * (long long)threads + threadIdx.x; at < entries; at += gridDim.x * (long long)threads)
        if (P[at] == OPEN) atomicMin(least_pair, (unsigned long long)(at % matrix));
}
