// Sums over best paths, a thread block per source: Brandes' recursion over the tight arcs, as in
// semiring/kernels/cpu/routes/adjoint.py.
//
// Candidate arcs are tested for all arcs and 32 sources per warp, and stored as bits, in the order of heads; those of
// vertices with several are listed. A vertex is settled once all tails of its candidate arcs are: then its sum along arcs
// and its path count are known, and its level, one more than the tails'. Backwards, level by level, each vertex passes its
// dependencies to its predecessors. Unordered sums are of integers: path counts, and amounts scaled by a power of two. So
// results are bitwise reproducible.
//
// The prelude declares Algebra, the constants of rule.inl, `using Index`, which holds vertices and one number more, and:
// `workers`, threads per block; `resident`, blocks per multiprocessor; `near`, the use of shared memory: 2, the whole vertex
// state; 1, the parts that are read for every arc, and repeatedly; 0, nothing.
#include "algebra.cuh"
#include "rule.inl"
#include "fixed.inl"

// Index of an arc: n · n < 2^32 if vertices have 16 bits.
template <int bytes> struct Positions { using Place = long long; };
template <> struct Positions<2> { using Place = unsigned; };
using Place = Positions<sizeof(Index)>::Place;

constexpr Index NOBODY = Index(~0u);
// Passes over vertices with one arc before those with several; vertices, or words, per unrolled step.
constexpr int looks = 4, abreast = 4;
// Attempts of a thread to settle its vertex before a barrier.
constexpr int tries = 8;
// Arcs tested per warp, and their words of bits; arcs per unrolled step.
constexpr int run = 256, run_words = run / 32, at_once = 8;
// Arcs of a list per unrolled step; threads per list backwards; twice the levels counted in shared memory.
constexpr int ahead = sizeof(T) > 4 ? 2 : 4, lanes = 4, counted = 512;
// The largest integer that a double distinguishes from its neighbours.
constexpr double exact = 9007199254740992.0;

#include "arcs.inl"
#include "candidates.inl"

// Marks of a vertex with one arc, and of one of several that proved tight. While a list is processed, its cursor is below,
// and above it 0, or one more than the arc that is tight so far, or SEVERAL.
constexpr long long ALONE = 1ll << 62, SINGLE = 1ll << 61;
constexpr int SEVERAL = 0x3fffffff;

// Approximately how much worse than `one` a path is, at least 0.
__device__ inline float away(W d) {
    const W by = least ? d - Algebra::one() : Algebra::one() - d;
    return by > W(0) ? min(float(by), 1e30f) : 0.0f;
}

// 64-bit shared-memory addition as two 32-bit ones; a native one would retry.
__device__ inline void add_to(Bits* sum, Bits amount) {
    if (near < 2) {
        atomicAdd(sum, amount);
        return;
    }
    auto* const halves = reinterpret_cast<unsigned*>(sum);
    const unsigned low = unsigned(amount), before = atomicAdd(halves, low);
    const unsigned high = unsigned(amount >> 32) + (before + low < low);
    if (high) atomicAdd(halves + 1, high);
}

// counts[k] ← exclusive prefix sums, up to the last; by a warp.
__device__ inline void sum_up(int* counts, int last) {
    const int lane = threadIdx.x % 32;
    int total = 0;
    for (int start = 0; start <= last; start += 32) {
        const int here = start + lane <= last ? counts[start + lane] : 0;
        const int sum = prefix_sum(here);
        if (start + lane <= last) counts[start + lane] = total + sum - here;
        total += __shfl_sync(full_mask, sum, 31);
    }
}

// A scaled number rescaled by 2^−by, rounded.
__device__ inline Bits rescaled(Bits amount, int by) {
    if (by == 0) return amount;
    return by > 63 ? 0 : Bits(((long long)amount + (1ll << (by - 1))) >> by);
}

// Flow of rows first … last over arcs, added to `along`, scaled for sums up to `most`; a row's total is bounds[row], or
// bounds[0]. Or, with `counts`, numbers of best paths. failed[row] ← 1 if a source has no order, or more paths than a double
// counts. Row r of bits, `words` apart: candidate arcs of row first + r; at most `most_tight` each. With `lists`, of `most`
// each, these arcs are listed instead, `held` per row, and heads have a place for every tail. If sums along arcs are within
// the relative distance `apart_at_most` of the distances, all tight arcs are within twice that plus rounding, so that lists
// of those suffice; negative: not checked. If not of edges, `along` is per vertex: flow in along arcs, then flow out.
extern "C" __global__ void __launch_bounds__(workers, resident)
    sums(const T* D, long long pitch, const int* sources, int n, long long first, long long last, long long count,
         const long long* starts, const Arc* list, W slack, W floor, const double* demand, long long demand_pitch,
         const double* bounds, double most, unsigned* tried, long long words, const Arc* lists, long long most_listed,
         const int* held, W apart_at_most, int most_tight, unsigned char* buffer, long long apart, Bits* along, int of_edges,
         int* arrivals, long long* counts, int* failed) {
    extern __shared__ __align__(16) unsigned char dynamic[];
    __shared__ int tally[counted + 1], waits[3], taken, reached, known, deepest, several, listed, beyond, alone, settled_alone;
    __shared__ unsigned farthest; // bits of the farthest vertex' distance
    const Arcs in{starts, list};
    unsigned char *far = buffer + apart * blockIdx.x, *here = dynamic;
    const auto take = [&](bool shared, long long bytes) {
        unsigned char*& from = shared ? here : far;
        from += bytes;
        return from - bytes;
    };
    // Candidate arcs of vertices with several, list after list, and their indices.
    auto* const tight = reinterpret_cast<Arc*>(take(false, sizeof(Arc) * (most_tight + 1ll) / 16 * 16));
    auto* const which = reinterpret_cast<Place*>(take(false, sizeof(Place) * (most_tight + 3ll) / 16 * 16));
    auto* const far_tally = reinterpret_cast<int*>(take(false, (8ll * (n + 2) + 15) / 16 * 16));
    auto* const others = reinterpret_cast<Index*>(far_tally); // before that, vertices waiting for others
    auto* const paths = reinterpret_cast<double*>(take(near == 2, 8ll * n));
    auto* const owed = reinterpret_cast<Bits*>(take(near == 2, 8ll * n));
    auto* const place = reinterpret_cast<long long*>(owed); // initially its arc, or the cursor of its list
    auto* const x = reinterpret_cast<T*>(take(near >= 1, (sizeof(T) * (long long)n + 7) / 8 * 8));
    auto* const level = reinterpret_cast<Index*>(take(near >= 1, (2 * sizeof(Index) * (long long)n + 7) / 8 * 8));
    auto* const rank = level + n; // within a level; before that, the vertices with several arcs
    auto* const only = reinterpret_cast<Place*>(level); // afterwards, its only arc, or the start of its list
    auto* const before = reinterpret_cast<Index*>(take(near >= 1, sizeof(Index) * (long long)n)); // its tail
    auto* const order = reinterpret_cast<Index*>(take(near == 2, sizeof(Index) * (long long)n));
    const volatile Index* const seen = level;
    // Initially, for vertices that are searched for, the worst sums equal to their distances.
    auto* const worst = near < 2 && sizeof(T) <= 2 * sizeof(Index) ? reinterpret_cast<T*>(level) : reinterpret_cast<T*>(paths);
    const int lane = threadIdx.x % 32;
    const double scale = scale_of(most);
    const bool wide = !lists && count > 64ll * n; // then a warp per vertex
    for (long long row = first + blockIdx.x; row < last; row += gridDim.x) {
        const T* const d = D + row * pitch;
        unsigned* const bits = tried + (row - first) * words;
        const Arc* const own = lists ? lists + (row - first) * most_listed : nullptr;
        const int many = lists ? held[row - first] : 0;
        if (lists && many > most_listed) {
            if (threadIdx.x == 0) failed[row] = 1;
            continue;
        }
        const int s = sources[row];
        const auto begin = [&] {
            known = deepest = several = listed = alone = settled_alone = waits[0] = waits[2] = 0;
        };
        if (threadIdx.x == 0) begin(), reached = beyond = 0, farthest = 1;
        __syncthreads();
        int mine = 0;
        unsigned far_away = 0;
        for (int j = threadIdx.x; j < n; j += workers) {
            const W goal = W(d[j]);
            x[j] = T(goal);
            mine += goal != Algebra::zero();
            if (goal != Algebra::zero()) far_away = max(far_away, __float_as_uint(away(goal)));
        }
        mine = __reduce_add_sync(full_mask, mine);
        far_away = __reduce_max_sync(full_mask, far_away);
        if (lane == 0) atomicAdd(&reached, mine), atomicMax(&farthest, far_away);
        bool stuck = false;
        for (int attempt = 0; attempt < (rounds && !lists ? 2 : 1); ++attempt) {
            __syncthreads();
            if (attempt) {
                search(in, count, s, n, x, worst);
                __syncthreads();
                try_all(in, count, x, worst, bits);
                __syncthreads();
            }
            if (lists) {
                // Number of arcs per head, in place of its path count, and one of them.
                auto* const counts = reinterpret_cast<int*>(paths);
                for (int j = threadIdx.x; j < n; j += workers) counts[2 * j] = 0;
                __syncthreads();
                for (int e = threadIdx.x; e < many; e += abreast * workers) {
                    Index head[abreast];
#pragma unroll
                    for (int c = 0; c < abreast; ++c) head[c] = own[min(e + c * workers, many - 1)].head;
#pragma unroll
                    for (int c = 0; c < abreast; ++c)
                        if (e + c * workers < many) atomicAdd(&counts[2 * head[c]], 1), place[head[c]] = e + c * workers;
                }
                __syncthreads();
            }
            bool circular = false;
            int singles = 0;
            const int step = wide ? 32 : 1;
            for (int j = threadIdx.x / step; j < n; j += workers / step) {
                const Place from = lists ? Place(n) * j : Place(in.starts[j]), to = lists ? from : Place(in.starts[j + 1]);
                const Place end = from < to ? (to - 1) / 32 + 1 : 0;
                int found = lists ? reinterpret_cast<const int*>(paths)[2 * j] : 0;
                Place first = to;
#pragma unroll 4
                for (Place word = from / 32 + (wide ? lane : 0); word < end; word += step) {
                    const unsigned these = between(bits, word, from, to);
                    if (these && !found) first = 32 * word + __ffs(these) - 1;
                    found += __popc(these);
                }
                if (wide) {
                    found = __reduce_add_sync(full_mask, found);
                    for (int half = 16; half; half /= 2) first = min(first, __shfl_xor_sync(full_mask, first, half));
                    if (lane) continue;
                }
                Arc arc;
                if (found) arc = lists ? own[place[j]] : in.list[first];
                if (lists && found) first = from + arc.tail;
                before[j] = found && j != s ? arc.tail : NOBODY;
                level[j] = j == s ? 0 : NOBODY;
                place[j] = first | (found == 1 ? ALONE : 0);
                paths[j] = j == s;
                order[j] = 0; // deepest level of its predecessors so far
                if (rounds) x[j] = j == s ? T(Algebra::one()) : found == 1 ? arc.weight : T(Algebra::zero());
                if (j == s) circular = found;
                singles += j != s && found == 1;
                if (j == s || found < 2) continue;
                rank[atomicAdd(&several, 1)] = Index(j);
                place[j] = atomicAdd(&listed, found);
            }
            if (singles) atomicAdd(&alone, singles);
            stuck = __syncthreads_or(circular) || listed > most_tight;
            // Append each arc to the list of its head, in any order; afterwards the cursor runs backwards.
            const auto put = [&](Arc arc, Place e) {
                if (place[arc.head] & ALONE) return;
                const unsigned to = atomicAdd(reinterpret_cast<unsigned*>(&place[arc.head]), 1u);
                tight[to] = arc;
                if (!lists) which[to] = e;
            };
            for (int e = threadIdx.x; e < many && !stuck; e += abreast * workers) {
                Arc next[abreast];
#pragma unroll
                for (int c = 0; c < abreast; ++c) next[c] = own[min(e + c * workers, many - 1)];
#pragma unroll
                for (int c = 0; c < abreast; ++c)
                    if (e + c * workers < many) put(next[c], 0);
            }
            for (long long start = threadIdx.x; 32 * start < count && !stuck && !lists; start += abreast * workers) {
                unsigned left[abreast];
#pragma unroll
                for (int c = 0; c < abreast; ++c) {
                    const long long rest = count - 32 * (start + c * workers);
                    left[c] = rest > 0 ? bits[start + c * workers] : 0;
                    if (rest < 32) left[c] &= ~(~0u << max(rest, 0ll));
                }
#pragma unroll
                for (int c = 0; c < abreast; ++c)
                    for (; left[c]; left[c] &= left[c] - 1) {
                        const Place e = Place(32 * (start + c * workers) + __ffs(left[c]) - 1);
                        put(in.list[e], e);
                    }
            }
            __syncthreads();
            int settled = 0, deep = 0, left = several;
            bool grown = false;
            // Settle vertices with one arc, in `times` passes, each once its tail is settled.
            const auto settle_singles = [&](int times) {
                int singly = 0;
                for (int look = settled_alone < alone ? 0 : times; look < times; ++look)
                    for (int begin = threadIdx.x; begin < n; begin += abreast * workers) {
                        Index tail[abreast], above[abreast];
#pragma unroll
                        for (int c = 0; c < abreast; ++c) {
                            const int j = begin + c * workers;
                            tail[c] = j < n && seen[j] == NOBODY ? before[j] : NOBODY;
                        }
#pragma unroll
                        for (int c = 0; c < abreast; ++c) above[c] = tail[c] == NOBODY ? NOBODY : seen[tail[c]];
                        __threadfence_block();
#pragma unroll
                        for (int c = 0; c < abreast; ++c) {
                            const int j = begin + c * workers;
                            if (above[c] == NOBODY || !(place[j] & ALONE)) continue;
                            if (rounds) x[j] = T(Algebra::mul(W(x[tail[c]]), W(x[j])));
                            paths[j] = paths[tail[c]];
                            __threadfence_block();
                            level[j] = Index(above[c] + 1);
                            deep = max(deep, above[c] + 1);
                            ++singly;
                            grown = true;
                        }
                    }
                settled += singly;
                singly = __reduce_add_sync(full_mask, singly);
                if (lane == 0 && singly) atomicAdd(&settled_alone, singly);
            };
            // Settle a vertex with several arcs, or advance to its first unsettled tail.
            const auto settle = [&](int j) {
                if (seen[before[j]] == NOBODY) return false;
                int p = int(place[j]), above = order[j], one = int(place[j] >> 32);
                double found = paths[j];
                W best = W(x[j]);
                bool done = false, open = true;
                while (open) {
                    Arc arc[ahead];
                    bool mine[ahead];
                    Index there[ahead];
                    int read = 0;
#pragma unroll
                    for (int c = 0; c < ahead; ++c)
                        if ((mine[c] = p > c)) arc[c] = tight[p - c - 1];
#pragma unroll
                    for (int c = 0; c < ahead; ++c) {
                        mine[c] = mine[c] && arc[c].head == j;
                        there[c] = mine[c] ? seen[arc[c].tail] : NOBODY;
                    }
                    __threadfence_block();
#pragma unroll
                    for (int c = 0; c < ahead; ++c) {
                        if (!open) continue;
                        done = !mine[c];
                        open = there[c] != NOBODY;
                        if (mine[c] && !open) before[j] = arc[c].tail;
                        if (!open) continue;
                        const W y = rounds ? Algebra::mul(W(x[arc[c].tail]), W(arc[c].weight)) : best;
                        if (rounds && better(y, best)) best = y, found = 0, above = one = 0;
                        ++read;
                        if (y != best) continue;
                        found += paths[arc[c].tail];
                        above = max(above, there[c] + 1);
                        if (rounds) one = one || p - read >= SEVERAL - 1 ? SEVERAL : p - read + 1;
                    }
                    p -= read;
                }
                if (rounds) x[j] = T(best);
                paths[j] = found;
                place[j] = p | (long long)one << 32;
                order[j] = Index(above);
                if (!done) return false;
                place[j] = p;
                if (rounds && one && one < SEVERAL) { // the others were not tight after all
                    const Arc arc = tight[one - 1];
                    before[j] = arc.tail;
                    place[j] = SINGLE | (lists ? Place(n) * j + arc.tail : which[one - 1]);
                }
                if (!(found < exact)) beyond = 1;
                __threadfence_block();
                level[j] = Index(above);
                deep = max(deep, above);
                ++settled;
                return grown = true;
            };
            Index *from = rank, *to = others; // unsettled vertices with several arcs, and those of the next round
            // In batches, near ones first: others depend on them.
            if (left > workers && !stuck) {
                const float per = counted / max(__uint_as_float(farthest), 1e-30f);
                const auto shelf = [&](int e) { return min(int(away(W(d[rank[e]])) * per), counted - 1); };
                for (int l = threadIdx.x; l <= counted; l += workers) tally[l] = 0;
                __syncthreads();
                for (int e = threadIdx.x; e < left; e += workers) atomicAdd(&tally[shelf(e)], 1);
                __syncthreads();
                if (threadIdx.x < 32) sum_up(tally, counted);
                if (threadIdx.x == 0) taken = workers;
                __syncthreads();
                for (int e = threadIdx.x; e < left; e += workers) others[atomicAdd(&tally[shelf(e)], 1)] = rank[e];
                __syncthreads();
                int j = others[threadIdx.x];
                do {
                    grown = false;
                    settle_singles(1);
                    for (int look = 0; look < tries; ++look) {
                        if (j >= 0 && settle(j)) j = -1;
                        const unsigned free = __ballot_sync(full_mask, j < 0);
                        int next = 0;
                        if (lane == 0 && free) next = atomicAdd(&taken, __popc(free));
                        next = __shfl_sync(full_mask, next, 0) + __popc(free & ((1u << lane) - 1));
                        if (j < 0 && next < left) j = others[next], grown = true;
                    }
                } while (__syncthreads_or(grown));
                // Vertices that wait for farther ones, if any.
                if (j >= 0) rank[atomicAdd(&waits[2], 1)] = Index(j);
                for (int e = taken + threadIdx.x; e < left; e += workers) rank[atomicAdd(&waits[2], 1)] = others[e];
                __syncthreads();
                left = waits[2];
            }
            for (int round = 0; !stuck; ++round) {
                grown = false;
                if (threadIdx.x == 0) waits[(round + 1) % 3] = 0;
                settle_singles(looks);
                for (int begin = threadIdx.x - lane; begin < left; begin += workers) {
                    const int e = begin + lane, j = e < left ? from[e] : 0;
                    const bool waiting = e < left && !settle(j);
                    const unsigned still = __ballot_sync(full_mask, waiting);
                    int first = 0;
                    if (lane == 0 && still) first = atomicAdd(&waits[round % 3], __popc(still));
                    first = __shfl_sync(full_mask, first, 0);
                    if (waiting) to[first + __popc(still & ((1u << lane) - 1))] = Index(j);
                }
                if (!__syncthreads_or(grown)) break;
                left = waits[round % 3];
                Index* const next = to;
                to = from, from = next;
            }
            settled = __reduce_add_sync(full_mask, settled);
            deep = __reduce_max_sync(full_mask, unsigned(deep));
            if (lane == 0) atomicAdd(&known, settled), atomicMax(&deepest, deep);
            __syncthreads();
            stuck |= known + 1 < reached || beyond;
            if (apart_at_most >= 0 && !stuck) {
                bool off = false;
                for (int j = threadIdx.x; j < n; j += workers)
                    off |= level[j] != NOBODY && size_of(W(x[j]) - W(d[j])) > apart_at_most * size_of(W(d[j]));
                stuck = __syncthreads_or(off);
            }
            if (!stuck || beyond) break;
            __syncthreads();
            if (threadIdx.x == 0) begin();
        }
        if (stuck && threadIdx.x == 0) failed[row] = 1;
        if (counts && !stuck)
            for (int j = threadIdx.x; j < n; j += workers) counts[row * n + j] = level[j] == NOBODY ? 0 : (long long)paths[j];
        if (stuck || counts) {
            __syncthreads();
            continue;
        }
        // Counting sort by level, vertices with one arc first.
        const int kinds = 2 * (deepest + 1);
        int* const begins = kinds < counted ? tally : far_tally;
        const auto kind_of = [&](int j) {
            return j < n && level[j] != NOBODY ? 2 * level[j] + !(place[j] & (ALONE | SINGLE)) : -1;
        };
        for (int l = threadIdx.x; l <= kinds; l += workers) begins[l] = 0;
        __syncthreads();
        for (int begin = threadIdx.x - lane; begin < n; begin += workers) {
            const int j = begin + lane, mine = kind_of(j);
            for (unsigned left = __ballot_sync(full_mask, mine >= 0); left;) {
                const int which = __shfl_sync(full_mask, mine, __ffs(left) - 1);
                const unsigned same = __ballot_sync(full_mask, mine == which);
                int to = 0;
                if (lane == 0) to = atomicAdd(&begins[which], __popc(same));
                to = __shfl_sync(full_mask, to, 0) + __popc(same & ((1u << lane) - 1));
                if (mine == which) rank[j] = Index(to);
                left &= ~same;
            }
        }
        __syncthreads();
        if (threadIdx.x < 32) sum_up(begins, kinds);
        __syncthreads();
        for (int j = threadIdx.x; j < n; j += workers)
            if (const int kind = kind_of(j); kind >= 0) order[begins[kind] + rank[j]] = Index(j);
        __syncthreads();
        const double* const asked = demand + row * demand_pitch;
        const double close = scale_of(bounds[demand_pitch ? row : 0]);
        const int by = int((__double_as_longlong(close) - __double_as_longlong(scale)) >> 52);
        for (int j = threadIdx.x; j < n; j += workers) {
            only[j] = Place(place[j] & ~(ALONE | SINGLE));
            owed[j] = j == s ? 0 : scaled(asked[j], close);
        }
        __syncthreads();
        for (int l = kinds - 2; l > 0; l -= 2) {
            const int low = begins[l], middle = begins[l + 1], high = begins[l + 2];
            for (int i = low + threadIdx.x; i < middle; i += workers) {
                const int j = order[i];
                const Bits amount = owed[j];
                if (!amount) continue;
                if (before[j] != s) add_to(&owed[before[j]], amount); // dependencies end at the source
                if (of_edges) atomicAdd(&along[only[j]], rescaled(amount, by));
            }
            for (int i = middle + threadIdx.x / lanes; i < high; i += workers / lanes) {
                const int head = order[i];
                const Bits amount = owed[head];
                if (!amount) continue;
                const double each = double((long long)amount) / paths[head];
                Arc arc, next;
                int q = int(only[head]) + threadIdx.x % lanes;
                if (q < listed) next = tight[q];
                for (; q < listed; q += lanes) {
                    arc = next;
                    if (arc.head != head) break;
                    if (q + lanes < listed) next = tight[q + lanes];
                    if (rounds && Algebra::mul(W(x[arc.tail]), W(arc.weight)) != W(x[head])) continue;
                    const Bits share = Bits(llrint(each * paths[arc.tail]));
                    if (!share) continue;
                    if (arc.tail != s) add_to(&owed[arc.tail], share);
                    if (of_edges) atomicAdd(&along[lists ? Place(n) * head + arc.tail : which[q]], rescaled(share, by));
                }
            }
            __syncthreads();
        }
        if (!of_edges) {
            Bits sent = 0;
            for (int j = threadIdx.x; j < n; j += workers) {
                if (j == s || W(x[j]) == Algebra::zero()) continue;
                const Bits own = scaled(asked[j], close), amount = rescaled(owed[j], by);
                sent += own;
                atomicAdd(&along[j], amount);
                atomicAdd(&along[n + j], amount - rescaled(own, by));
            }
            for (int half = 16; half; half /= 2) sent += __shfl_xor_sync(full_mask, sent, half);
            if (lane == 0) atomicAdd(&along[n + s], rescaled(sent, by));
        }
        if (arrivals)
            for (int j = threadIdx.x; j < n; j += workers)
                if (W(x[j]) != Algebra::zero() && j != s) atomicAdd(&arrivals[j], 1);
        __syncthreads();
    }
}

#include "totals.inl"
#include "good.inl"
