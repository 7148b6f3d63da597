// Sums over best paths, a thread block a source: Brandes' recursion over the arcs that are tight for it, as
// semiring/cpu/routes/adjoint.py has it.
//
// Which arcs may be tight is tried for all of them, and stored as a bit each, in the order of heads. A vertex is settled
// when all are from which such an arc leads to it: then its sum along arcs and its best paths are known, and its level,
// which is one more than theirs. Level by level backwards, each vertex hands on what it owes to those before it. What is
// added up in no fixed order are integers: counts of paths, and amounts that are scaled by a power of two. So the bits
// are the same again.
//
// The prelude declares Algebra, the constants of rule.inl, `using Index`, which holds vertices and one number more, and:
// `workers`, threads of a block; `resident`, blocks of a multiprocessor; `near`, what is in shared memory: 2, all that is
// known of vertices; 1, what is looked at for every arc, and again and again; 0, nothing.
#include "algebra.cuh"
#include "rule.inl"
#include "fixed.inl"

// A position among arcs: n · n is less than 2^32 where an index has 16 bits.
template <int bytes> struct Positions { using Place = long long; };
template <> struct Positions<2> { using Place = unsigned; };
using Place = Positions<sizeof(Index)>::Place;

constexpr Index NOBODY = Index(~0u);
// How often vertices with one arc are looked at before those with more are, and how many of them together.
constexpr int looks = 4, abreast = 4;
// Threads that look at a list together. Twice the levels that shared memory counts.
constexpr int lanes = 8, counted = 512;
// The largest count that a double tells from its neighbours.
constexpr double exact = 9007199254740992.0;

// An arc, which is read at once.
struct alignas(2 * sizeof(Index) + sizeof(T) <= 8 ? 8 : 16) Arc {
    Index tail, head;
    T weight;
};

// Arcs in some order, with those of each vertex one after the other.
struct Arcs {
    const long long* starts;
    const Arc* list;
};

// list ← arcs in this order.
extern "C" __global__ void __launch_bounds__(threads)
    arrange(const Index* tails, const Index* heads, const T* weights, const long long* order, long long count, Arc* list) {
    const long long p = blockIdx.x * (long long)threads + threadIdx.x;
    if (p >= count) return;
    const long long e = order[p];
    list[p] = {tails[e], heads[e], weights[e]};
}

// Of a word of bits those from `from` to `to`, which are at least partly in it.
__device__ inline unsigned between(const unsigned* bits, Place word, Place from, Place to) {
    unsigned found = bits[word];
    if (word == from / 32) found &= ~0u << from % 32;
    if (word == (to - 1) / 32) found &= ~0u >> (31 - (to - 1) % 32);
    return found;
}

// The first bit that is set, from `from` on; `to` if none is.
__device__ inline Place next_of(const unsigned* bits, Place from, Place to) {
    if (from < to)
        for (Place word = from / 32; word <= (to - 1) / 32; ++word)
            if (const unsigned found = between(bits, word, from, to)) return 32 * word + __ffs(found) - 1;
    return to;
}

// What beats any entry, or is as good.
template <class V> __device__ V best_of_all() { return least ? V(Limits<V>::low) : V(Limits<V>::high); }
template <> __device__ inline float best_of_all() { return least ? -INFINITY : INFINITY; }
template <> __device__ inline double best_of_all() { return least ? -INFINITY : INFINITY; }

// bits ← which arcs may be tight for the source whose row is x: those no worse than the `worst` of their heads; all of
// `workers`.
__device__ inline void try_all(const Arcs& arcs, long long count, const T* x, const T* worst, unsigned* bits) {
    constexpr int ahead = sizeof(Arc) > 8 ? 2 : 4;
    const int lane = threadIdx.x % 32;
    Arc next[ahead];
    const auto fetch = [&](long long first) {
#pragma unroll
        for (int c = 0; c < ahead; ++c)
            if (first + 32 * c + lane < count) next[c] = arcs.list[first + 32 * c + lane];
    };
    long long first = ahead * (threadIdx.x - lane);
    for (fetch(first); first < count; first += ahead * workers) {
        Arc arc[ahead];
#pragma unroll
        for (int c = 0; c < ahead; ++c) arc[c] = next[c];
        fetch(first + ahead * workers);
#pragma unroll
        for (int c = 0; c < ahead; ++c) {
            bool may = false;
            if (first + 32 * c + lane < count)
                may = !better(W(worst[arc[c].head]), Algebra::mul(W(x[arc[c].tail]), W(arc[c].weight)));
            const unsigned found = __ballot_sync(full_mask, may);
            if (lane == 0 && first + 32 * c < count) bits[first / 32 + c] = found;
        }
    }
}

// x ← the best of sums along walks from s, each added up from s on (Bellman 1958, Ford, Moore), and no worse ones are
// tight. Of two that write at once the worse may stay, until the next round.
__device__ inline void search(const Arcs& arcs, long long count, int s, int n, T* x, T* worst) {
    for (int j = threadIdx.x; j < n; j += workers) x[j] = T(j == s ? Algebra::one() : Algebra::zero());
    volatile T* const sums = x;
    for (int round = 0; round < n; ++round) {
        bool changed = false;
        __syncthreads();
        for (long long p = threadIdx.x; p < count; p += workers) {
            const Arc arc = arcs.list[p];
            const W y = Algebra::mul(W(sums[arc.tail]), W(arc.weight));
            if (better(y, W(sums[arc.head]))) sums[arc.head] = T(y), changed = true;
        }
        if (!__syncthreads_or(changed)) break;
    }
    for (int j = threadIdx.x; j < n; j += workers) worst[j] = W(x[j]) == Algebra::zero() ? best_of_all<T>() : x[j];
}

// That the list of a vertex has one arc.
constexpr long long ALONE = 1ll << 62;
// Lists that a thread looks at together.
constexpr int together = 2;

// To a sum of 64 bits, by two of 32: there is no other that does not try again.
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

// A scaled number by a scale 2^by times smaller.
__device__ inline Bits rescaled(Bits amount, int by) {
    if (by == 0) return amount;
    return by > 63 ? 0 : Bits(((long long)amount + (1ll << (by - 1))) >> by);
}

// The first bit that is set of each of some ranges, or their ends: words are loaded together.
__device__ inline void first_of(const unsigned* bits, const Place (&from)[together], const Place (&to)[together],
                                Place (&first)[together]) {
    unsigned word[together];
#pragma unroll
    for (int c = 0; c < together; ++c) word[c] = from[c] < to[c] ? bits[from[c] / 32] : 0;
#pragma unroll
    for (int c = 0; c < together; ++c) {
        const unsigned found = word[c] & ~0u << from[c] % 32;
        const Place start = from[c] / 32 * 32;
        first[c] = found ? min(start + __ffs(found) - 1, to[c]) : next_of(bits, max(start + 32, from[c]), to[c]);
    }
}

// What rows first … last send through arcs, added to `along`, which is scaled for numbers that come to `most`; those of
// a row come to bounds[row], or bounds[0]. Or, where there are `counts`, how many best paths they have. failed[row] ← 1
// where a source has no order, or more paths than a double counts.
extern "C" __global__ void __launch_bounds__(workers, resident)
    sums(const T* D, long long pitch, const int* sources, int n, long long first, long long last, long long count,
         const long long* starts, const Arc* list, W slack, W floor, const double* demand, long long demand_pitch,
         const double* bounds, double most, unsigned char* buffer, long long apart, Bits* along, int* arrivals,
         long long* counts, int* failed) {
    extern __shared__ __align__(16) unsigned char dynamic[];
    __shared__ int tally[counted + 1], reached, known, deepest, several, beyond;
    const Arcs in{starts, list};
    unsigned char *far = buffer + apart * blockIdx.x, *here = dynamic;
    const auto take = [&](bool shared, long long bytes) {
        unsigned char*& from = shared ? here : far;
        from += bytes;
        return from - bytes;
    };
    auto* const bits = reinterpret_cast<unsigned*>(take(false, ((count + 31) / 32 * 4 + 15) / 16 * 16));
    auto* const far_tally = reinterpret_cast<int*>(take(false, (8ll * (n + 2) + 15) / 16 * 16));
    auto* const paths = reinterpret_cast<double*>(take(near == 2, 8ll * n));
    auto* const owed = reinterpret_cast<Bits*>(take(near == 2, 8ll * n));
    auto* const place = reinterpret_cast<long long*>(owed);  // first of all, where a vertex's list goes on
    auto* const x = reinterpret_cast<T*>(take(near >= 1, (sizeof(T) * (long long)n + 7) / 8 * 8));
    auto* const level = reinterpret_cast<Index*>(take(near >= 1, (2 * sizeof(Index) * (long long)n + 7) / 8 * 8));
    auto* const rank = level + n;  // among those of a level; before that, the vertices that have several arcs
    auto* const only = reinterpret_cast<Place*>(level);  // and after it, the arc of a vertex that has one
    auto* const before = reinterpret_cast<Index*>(take(near >= 1, sizeof(Index) * (long long)n));  // its tail
    auto* const order = reinterpret_cast<Index*>(take(near == 2, sizeof(Index) * (long long)n));
    const volatile Index* const seen = level;
    // Before anything else is known of vertices, the worst sums that may be their distances.
    auto* const worst = near < 2 && sizeof(T) <= 2 * sizeof(Index) ? reinterpret_cast<T*>(level) : reinterpret_cast<T*>(paths);
    // Groups of `lanes` threads look at a list each: the place in a group, and the first lane of it.
    const int lane = threadIdx.x % 32, own = lane % lanes, base = lane - own;
    const double scale = scale_of(most);
    for (long long row = first + blockIdx.x; row < last; row += gridDim.x) {
        const T* const d = D + row * pitch;
        const int s = sources[row];
        if (threadIdx.x == 0) reached = known = deepest = several = beyond = 0;
        __syncthreads();
        int mine = 0;
        for (int j = threadIdx.x; j < n; j += workers) {
            const W goal = W(d[j]);
            const bool there = goal != Algebra::zero();
            x[j] = T(goal);
            worst[j] = T(there ? limit(goal, larger(goal, floor), slack) : W(best_of_all<T>()));
            mine += there;
        }
        mine = __reduce_add_sync(full_mask, mine);
        if (lane == 0) atomicAdd(&reached, mine);
        bool stuck = false;
        for (int attempt = 0; attempt < (rounds ? 2 : 1); ++attempt) {
            if (attempt) search(in, count, s, n, x, worst);
            __syncthreads();
            try_all(in, count, x, worst, bits);
            __syncthreads();
            bool circular = false;
            for (int begin = threadIdx.x; begin < n; begin += together * workers) {
                Place from[together], to[together], start[together];
                Arc arc[together];
                bool any[together];
#pragma unroll
                for (int c = 0; c < together; ++c) {
                    const int j = min(begin + c * workers, n - 1);
                    from[c] = Place(in.starts[j]), to[c] = Place(in.starts[j + 1]);
                }
                first_of(bits, from, to, start);
#pragma unroll
                for (int c = 0; c < together; ++c)
                    if ((any[c] = start[c] < to[c])) arc[c] = in.list[start[c]];
#pragma unroll
                for (int c = 0; c < together; ++c) {
                    const int j = begin + c * workers;
                    if (j >= n) break;
                    const bool alone = any[c] && next_of(bits, start[c] + 1, to[c]) == to[c];
                    before[j] = any[c] && j != s ? arc[c].tail : NOBODY;
                    level[j] = j == s ? 0 : NOBODY;
                    place[j] = start[c] | (alone ? ALONE : 0);
                    paths[j] = j == s;
                    order[j] = 0;  // the deepest level so far of those before it
                    if (rounds) x[j] = j == s ? T(Algebra::one()) : alone ? arc[c].weight : T(Algebra::zero());
                    if (j == s) circular = any[c];
                    else if (any[c] && !alone) rank[atomicAdd(&several, 1)] = Index(j);
                }
            }
            stuck = __syncthreads_or(circular);
            const int listed = several;
            int settled = 0, deep = 0;
            while (!stuck) {
                bool grown = false;
                for (int look = 0; look < looks; ++look)
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
                            ++settled;
                            grown = true;
                        }
                    }
                for (int start = 0; start < listed; start += workers) {
                    const int e = start + threadIdx.x / 32 + lane * (workers / 32), candidate = e < listed ? rank[e] : s;
                    const bool may_go_on = seen[candidate] == NOBODY && seen[before[candidate]] != NOBODY;
                    for (unsigned waiting = __ballot_sync(full_mask, may_go_on); waiting;) {
                        int turn = -1;
                        for (int group = 0; group < 32 / lanes; ++group) {
                            if (group == lane / lanes) turn = __ffs(waiting) - 1;
                            waiting &= waiting - 1;
                        }
                        const int j = __shfl_sync(full_mask, candidate, max(turn, 0));
                        const bool inside = turn >= 0;
                        const Place end = inside ? Place(in.starts[j + 1]) : 0;
                        Place p = inside ? Place(place[j]) : 0;
                        double found = 0;
                        W best = Algebra::zero();
                        int above = inside ? order[j] : 0, blocked = 0;
                        bool open = inside, done = false;
                        while (__any_sync(full_mask, open)) {
                            constexpr int ahead = sizeof(Arc) > 8 ? 2 : 4;
                            Arc arc[ahead];
                            bool may[ahead];
                            Index there[ahead];
#pragma unroll
                            for (int c = 0; c < ahead; ++c) {
                                const Place q = p + own + c * lanes;
                                may[c] = open && q < end && bits[q / 32] >> q % 32 & 1;
                            }
#pragma unroll
                            for (int c = 0; c < ahead; ++c) {
                                arc[c].tail = 0;
                                if (may[c]) arc[c] = in.list[p + own + c * lanes];
                            }
#pragma unroll
                            for (int c = 0; c < ahead; ++c) there[c] = may[c] ? seen[arc[c].tail] : 0;
                            __threadfence_block();
#pragma unroll
                            for (int c = 0; c < ahead; ++c) {
                                const unsigned waits = __ballot_sync(full_mask, open && there[c] == NOBODY) >> base;
                                const int stop = waits ? min(__ffs(waits) - 1, lanes) : lanes;
                                const int tail = __shfl_sync(full_mask, int(arc[c].tail), base + min(stop, lanes - 1));
                                if (open && may[c] && own < stop) {
                                    const W y = rounds ? Algebra::mul(W(x[arc[c].tail]), W(arc[c].weight)) : best;
                                    if (rounds && better(y, best)) best = y, found = 0;
                                    if (y == best) found += paths[arc[c].tail];
                                    above = max(above, there[c] + 1);
                                }
                                if (!open) continue;
                                p += stop;
                                if (stop < lanes) blocked = tail;
                                done = stop == lanes && p >= end;
                                open = stop == lanes && p < end;
                            }
                        }
                        for (int half = lanes / 2; half; half /= 2) {
                            const W other = __shfl_xor_sync(full_mask, best, half);
                            const double theirs = __shfl_xor_sync(full_mask, found, half);
                            above = max(above, __shfl_xor_sync(full_mask, above, half));
                            if (rounds && better(other, best)) best = other, found = theirs;
                            else if (!rounds || other == best) found += theirs;
                        }
                        if (!inside || own) continue;
                        if (rounds && better(best, W(x[j]))) x[j] = T(best);
                        else if (!rounds || best == W(x[j])) found += paths[j];
                        else found = paths[j];
                        paths[j] = found;
                        place[j] = p;
                        order[j] = Index(above);
                        before[j] = Index(blocked);
                        if (!done) continue;
                        if (!(found < exact)) beyond = 1;
                        __threadfence_block();
                        level[j] = Index(above);
                        deep = max(deep, above);
                        ++settled;
                        grown = true;
                    }
                }
                if (!__syncthreads_or(grown)) break;
            }
            settled = __reduce_add_sync(full_mask, settled);
            deep = __reduce_max_sync(full_mask, unsigned(deep));
            if (lane == 0) atomicAdd(&known, settled), atomicMax(&deepest, deep);
            __syncthreads();
            stuck |= known + 1 < reached || beyond;
            if (!stuck || beyond) break;
            __syncthreads();
            if (threadIdx.x == 0) known = deepest = several = 0;
        }
        if (stuck && threadIdx.x == 0) failed[row] = 1;
        if (counts && !stuck)
            for (int j = threadIdx.x; j < n; j += workers) counts[row * n + j] = level[j] == NOBODY ? 0 : (long long)paths[j];
        if (stuck || counts) {
            __syncthreads();
            continue;
        }
        // By level, in each those with one arc first: where they begin, and how many there are before.
        const int kinds = 2 * (deepest + 1);
        int* const begins = kinds < counted ? tally : far_tally;
        const auto kind_of = [&](int j) { return j < n && level[j] != NOBODY ? 2 * level[j] + !(place[j] & ALONE) : -1; };
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
        if (threadIdx.x < 32) {
            int total = 0;
            for (int start = 0; start <= kinds; start += 32) {
                const int here = start + lane <= kinds ? begins[start + lane] : 0;
                int sum = here;
                for (int by = 1; by < 32; by *= 2) {
                    const int other = __shfl_up_sync(full_mask, sum, by);
                    if (lane >= by) sum += other;
                }
                if (start + lane <= kinds) begins[start + lane] = total + sum - here;
                total += __shfl_sync(full_mask, sum, 31);
            }
        }
        __syncthreads();
        for (int j = threadIdx.x; j < n; j += workers)
            if (const int kind = kind_of(j); kind >= 0) order[begins[kind] + rank[j]] = Index(j);
        __syncthreads();
        const double* const asked = demand + row * demand_pitch;
        const double close = scale_of(bounds[demand_pitch ? row : 0]);
        const int by = int((__double_as_longlong(close) - __double_as_longlong(scale)) >> 52);
        for (int j = threadIdx.x; j < n; j += workers) {
            only[j] = Place(place[j] & ~ALONE);
            owed[j] = j == s ? 0 : scaled(asked[j], close);
        }
        __syncthreads();
        for (int l = kinds - 2; l > 0; l -= 2) {
            const int low = begins[l], middle = begins[l + 1], high = begins[l + 2];
            for (int i = low + threadIdx.x; i < middle; i += workers) {
                const int j = order[i];
                const Bits amount = owed[j];
                if (!amount) continue;
                add_to(&owed[before[j]], amount);
                atomicAdd(&along[only[j]], rescaled(amount, by));
            }
            for (int i = middle + threadIdx.x / 32; i < high; i += workers / 32) {
                const int head = order[i];
                const Bits amount = owed[head];
                if (!amount) continue;
                const double each = double((long long)amount) / paths[head];
                const Place end = Place(in.starts[head + 1]);
                for (Place q = Place(in.starts[head]) + lane; q < end; q += 32 * together) {
                    Arc arc[together];
                    bool may[together];
#pragma unroll
                    for (int c = 0; c < together; ++c) {
                        const Place here = q + 32 * c;
                        may[c] = here < end && bits[here / 32] >> here % 32 & 1;
                    }
#pragma unroll
                    for (int c = 0; c < together; ++c)
                        if (may[c]) arc[c] = in.list[q + 32 * c];
#pragma unroll
                    for (int c = 0; c < together; ++c) {
                        if (!may[c]) continue;
                        if (rounds && Algebra::mul(W(x[arc[c].tail]), W(arc[c].weight)) != W(x[head])) continue;
                        const Bits share = Bits(llrint(each * paths[arc[c].tail]));
                        if (!share) continue;
                        add_to(&owed[arc[c].tail], share);
                        atomicAdd(&along[q + 32 * c], rescaled(share, by));
                    }
                }
            }
            __syncthreads();
        }
        if (arrivals)
            for (int j = threadIdx.x; j < n; j += workers)
                if (W(x[j]) != Algebra::zero() && j != s) atomicAdd(&arrivals[j], 1);
        __syncthreads();
    }
}

// total[order[p]] ← itself + what was added up as integers, which begin again.
extern "C" __global__ void __launch_bounds__(threads)
    join(Bits* along, const long long* order, long long count, double most, double* total) {
    const double back = inverse(scale_of(most));
    const long long p = blockIdx.x * (long long)threads + threadIdx.x;
    if (p >= count) return;
    total[order[p]] += (long long)along[p] * back;
    along[p] = 0;
}

// sums[v] ← what is in the list of v, of values in this order, or in their own; a warp a list.
extern "C" __global__ void __launch_bounds__(threads)
    sum_lists(const double* values, const long long* starts, const long long* order, int n, double* sums) {
    const int lane = threadIdx.x % 32;
    const long long v = blockIdx.x * (long long)warps + threadIdx.x / 32;
    if (v >= n) return;
    double sum = 0;
    for (long long p = starts[v] + lane; p < starts[v + 1]; p += 32) sum += values[order ? order[p] : p];
    for (int half = 16; half; half /= 2) sum += __shfl_xor_sync(full_mask, sum, half);
    if (lane == 0) sums[v] = sum;
}

// largest ← the bits of the largest finite |entry|, as a double.
extern "C" __global__ void __launch_bounds__(threads) find_largest(const T* D, long long entries, Bits* largest) {
    double mine = 0;
    for (long long e = blockIdx.x * (long long)threads + threadIdx.x; e < entries; e += gridDim.x * (long long)threads) {
        const double size = fabs(double(D[e]));
        if (size > mine && size < INFINITY) mine = size;
    }
    for (int half = 16; half; half /= 2) {
        const double other = __shfl_xor_sync(full_mask, mine, half);
        mine = other > mine ? other : mine;
    }
    if (threadIdx.x % 32 == 0) atomicMax(largest, bits(mine));
}

// Whether an entry is that of its closure, within what sums may be off by.
__device__ inline bool as_good(W a, W d, W slack) {
    const W worse = a < d ? d - a : a - d;
    return a != Algebra::zero() && (rounds ? a == d || worse <= slack : a == d);
}

// How many entries of each row are those of the closure, off the diagonal; a warp a row.
extern "C" __global__ void __launch_bounds__(threads)
    count_good(const T* A, const T* D, int n, W slack, long long* counts) {
    const int lane = threadIdx.x % 32;
    const long long i = blockIdx.x * (long long)warps + threadIdx.x / 32;
    if (i >= n) return;
    int found = 0;
    for (int j = lane; j < n; j += 32) found += j != i && as_good(W(A[i * n + j]), W(D[i * n + j]), slack);
    found = __reduce_add_sync(full_mask, found);
    if (lane == 0) counts[i + 1] = found;
}

// Which they are; starts[i] is where those of row i begin.
extern "C" __global__ void __launch_bounds__(threads)
    list_good(const T* A, const T* D, int n, W slack, const long long* starts, Index* tails, Index* heads, T* weights) {
    const int lane = threadIdx.x % 32;
    const long long i = blockIdx.x * (long long)warps + threadIdx.x / 32;
    if (i >= n) return;
    long long to = starts[i];
    for (int begin = 0; begin < n; begin += 32) {
        const int j = begin + lane;
        const T a = j < n ? A[i * n + j] : T(Algebra::zero());
        const bool good = j < n && j != i && as_good(W(a), W(D[i * n + j]), slack);
        const unsigned found = __ballot_sync(full_mask, good);
        if (good) {
            const long long p = to + __popc(found & ((1u << lane) - 1));
            tails[p] = Index(i), heads[p] = Index(j), weights[p] = a;
        }
        to += __popc(found);
    }
}
