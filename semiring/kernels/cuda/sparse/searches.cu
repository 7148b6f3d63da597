// Label-correcting searches on a weighted graph from 32 sources at once, a lane of a warp each. A thread block takes one
// batch of 32 sources after another.
//
// Entries are keys: unsigned integers, less for better entries, 0 for the semiring's 1, `nothing` for its 0. The layout is
// [vertex][lane], so that a warp relaxes an arc u → v for all sources by one coalesced load and, where a lane improves, an
// atomic minimum:
//
//     D[v, lane] ← min(D[v, lane], D[u, lane] ⊗ w(u, v))
//
// Improved vertices wait: in `near` if the least priority of improved entries is within a bound, else in `far`
// (delta-stepping with two buckets: Davidson et al. 2014). A round lists the vertices of `near`, those of many arcs in
// segments of 32, and warps take segments. If `near` is empty, the bound moves to the least priority in `far` + `width`.
// Priorities are floats ≥ 0, whose bits sort as integers:
//
//     scale · key + delay[lane]
//
// Delays align sources at a landmark, so that most vertices are scanned once for all of them.
//
// A vertex of one segment leaves `near` when taken, before its entries are read: earlier improvements are included, later
// ones re-enter it. One of several segments leaves when listed, since its segments are taken at different times.

#include "keys.inl"

constexpr int warps = threads / 32, strip = 64;
constexpr unsigned every = ~0u, never = ~0u;
constexpr int in_segments = 1 << 30; // beyond arc numbers: marks a segment of a vertex with several

__device__ inline unsigned priority(Key key, float scale, float delay) {
    const float x = floating && !products ? float(number(key)) : float(key);
    return __float_as_uint(fminf(x * scale + delay, 1e38f));
}

struct Graph {
    const int *start, *heads; // the arcs of v are start[v] … start[v + 1]; padded by 32 heads and weights
    const Weight* weights;
};

// A block's workspace.
struct Search {
    Graph graph;
    Key* D;              // [n][32]
    unsigned* key; // [n]: least priority of each vertex in `far`
    int2* list; // vertices, and the first arc of each segment
    unsigned *near, *far, *listed;  // bitmaps of the vertices
    unsigned bound;
    float scale, delay; // delay of this thread's lane
};

// visit(index, word) for each nonzero word; adjacent words go to different warps.
template <class Visit> __device__ inline void each_word(const unsigned* bits, int words, Visit visit) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int base = 0; base < words; base += threads) {
        const int w = base + lane * warps + (warp + lane) % warps;
        const unsigned own = w < words ? bits[w] : 0;
        for (unsigned rest = __ballot_sync(every, own != 0); rest; rest &= rest - 1) {
            const int k = __ffs(rest) - 1;
            visit(base + k * warps + (warp + k) % warps, __shfl_sync(every, own, k));
        }
    }
}

// List the vertices of word w with a bit in `joining`, and remove them from `far`.
__device__ inline void enlist(const Search& s, int w, unsigned joining) {
    const int lane = threadIdx.x % 32, v = 32 * w + lane;
    int begin = 0, degree = 0;
    if (joining >> lane & 1) {
        begin = s.graph.start[v], degree = s.graph.start[v + 1] - begin;
        s.key[v] = never;
    }
    const unsigned singles = __ballot_sync(every, degree > 0 && degree <= 32);
    unsigned place = 0;
    if (lane == 0) {
        place = atomicAdd(s.listed, unsigned(__popc(singles)));
        s.near[w] = singles;
        s.far[w] &= ~joining;
    }
    place = __shfl_sync(every, place, 0);
    if (singles >> lane & 1) s.list[place + __popc(singles & ((1u << lane) - 1))] = {v, begin};
    if (degree > 32) {
        int2* to = s.list + atomicAdd(s.listed, unsigned((degree + 31) / 32));
        for (int a = 0; a < degree; a += 32) *to++ = {v, (begin + a) | in_segments};
    }
}

// Replace entries of v by better candidates; returns their least priority, or `never`.
__device__ inline unsigned improve(const Search& s, int v, Key candidate, bool better) {
    if (!__any_sync(every, better)) return never;
    if (better) atomicMin(s.D + 32ll * v + threadIdx.x % 32, candidate); // result unused, so asynchronous
    return __reduce_min_sync(every, better ? priority(candidate, s.scale, s.delay) : never);
}

// Queue v, improved to priority p.
__device__ inline void put(const Search& s, int v, unsigned p) {
    const unsigned bit = 1u << v % 32;
    if (p <= s.bound) {
        atomicOr(s.near + v / 32, bit);
    } else {
        atomicMin(s.key + v, p);
        atomicOr(s.far + v / 32, bit);
    }
}

// Relax the arcs of a segment.
__device__ inline void relax(const Search& s, int2 item) {
    const int lane = threadIdx.x % 32, u = item.x, first = item.y & ~in_segments;
    const Key* const column = s.D + lane;
    if (!(item.y & in_segments)) {
        if (lane == 0) {
            const unsigned others = ~(1u << u % 32);
            atomicAnd(s.near + u / 32, others);
            atomicAnd(s.far + u / 32, others);
            __threadfence_block();
        }
        __syncwarp();
    }
    const Key x = __ldcg(column + 32ll * u);
    const int head = s.graph.heads[first + lane], last = min(32, s.graph.start[u + 1] - first) - 1;
    const Weight weight = s.graph.weights[first + lane];
    for (int k = 0; k <= last; k += ahead) {
        int v[ahead];
        Key old[ahead];
#pragma unroll
        for (int j = 0; j < ahead; ++j) {
            v[j] = __shfl_sync(every, head, min(k + j, last));
            old[j] = __ldcg(column + 32ll * v[j]);
        }
        unsigned p = never; // of lane j: least priority at the head of arc k + j
        int to = 0;
#pragma unroll
        for (int j = 0; j < ahead; ++j) {
            if (k + j > last) break;
            const Key candidate = extended(x, __shfl_sync(every, weight, k + j));
            const unsigned least = improve(s, v[j], candidate, candidate < old[j]);
            if (lane == j) p = least, to = v[j];
        }
        if (!__any_sync(every, p != never)) continue;
        __threadfence_block(); // entries before queueing, for those who take these vertices
        __syncwarp();
        if (p != never) put(s, to, p);
    }
}

// Output entry of a source.
__device__ inline Entry entry(Key key, const Weight* shift, const Entry* known, int source, int v) {
    if (ranks) return known[key];
    const Weight x = number(key);
    if (!shifted) return products ? Entry(x) : greatest ? Entry(Weight(0) - x) : Entry(x);
    const Weight moved = x - (shift[source] - shift[v]);  // ℓ(i, j) = ℓ'(i, j) − h(i) + h(j)
    const Weight length = greatest ? Weight(0) - moved : moved;
    return logarithmic ? Entry(exp(double(length))) : Entry(length);
}

// Rows of A*: out[rows[k]][v] ← the entry from sources[k] to v, for `count` sources. `panels` … `bitmaps` are workspaces of
// all blocks; `next` is the next batch. If compared with a matrix A, possibly `out` itself, the better entry is written;
// undercut[0] counts A's better ones, followed by n i + j of the first `most`.
extern "C" __global__ __launch_bounds__(threads, blocks) void search_batches(
    const int* start, const int* heads, const Weight* weights, int n, const int* sources, const int* rows, const float* delays,
    int count, Key* panels, unsigned* keys, int2* lists, long long capacity, unsigned* bitmaps, unsigned* next, float scale,
    float width, float furthest, Entry* out, long long pitch, Entry absent, Entry limit, const Weight* shift, const Entry* known,
    const Entry* A, long long lda, long long* undercut, long long most) {
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ unsigned batch, listed, taken, least;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, words = (n + 31) / 32;
    unsigned* const near = in_shared ? reinterpret_cast<unsigned*>(memory) : bitmaps + 2ll * words * blockIdx.x;
    Key* const D = panels + 32ll * n * blockIdx.x;
    Key* const tile = reinterpret_cast<Key*>(memory); // between [vertex][lane] and rows
    Search s = {{start, heads, weights}, D, keys + (long long)n * blockIdx.x, lists + capacity * blockIdx.x, near, near + words, &listed,
                0, scale, 0};
    for (;;) {
        if (threadIdx.x == 0) batch = atomicAdd(next, 1u);
        for (int v = threadIdx.x; v < n; v += threads) s.key[v] = never;
        __syncthreads();
        const long long first = 32ll * batch;
        if (first >= count) return;
        const int own = int(min(32ll, count - first));
        if (resumed) {
            for (int begin = 0; begin < n; begin += strip) {
                const int some = min(strip, n - begin);
                for (int k = warp; k < 32; k += warps)
                    for (int r = lane; r < some; r += 32)
                        tile[k * (strip + 1) + r] = k < own ? key_of(out[rows[first + k] * pitch + begin + r], absent) : nothing;
                __syncthreads();
                for (int r = warp; r < some; r += warps) D[32ll * (begin + r) + lane] = tile[lane * (strip + 1) + r];
                __syncthreads();
            }
        } else {
            for (long long i = threadIdx.x; i < 32ll * n; i += threads) D[i] = nothing;
        }
        for (int w = threadIdx.x; w < 2 * words; w += threads) near[w] = 0;
        __syncthreads();
        s.bound = 0, s.delay = lane < own ? delays[first + lane] : 0;
        const float latest = __uint_as_float(__reduce_max_sync(every, __float_as_uint(s.delay)));
        const unsigned last = __float_as_uint(furthest + latest);
        if (resumed) {
            for (long long i = 1 + warp; i <= most; i += warps) {
                const int u = int(undercut[i] / n), v = int(undercut[i] % n);
                const Key candidate = extended(D[32ll * u + lane], number(key_of(A[u * lda + v], absent)));
                const unsigned p = improve(s, v, candidate, candidate <= __ldcg(D + 32ll * v + lane)); // rows have distinct arcs
                if (p == never) continue;
                __threadfence_block();
                __syncwarp();
                if (lane == 0) put(s, v, p);
            }
        } else if (warp == 0 && lane < own) {
            const int v = sources[first + lane];
            D[32ll * v + lane] = 0;
            atomicMin(s.key + v, priority(0, scale, s.delay));
            atomicOr(s.far + v / 32, 1u << v % 32);
        }
        for (;;) {
            if (threadIdx.x == 0) listed = taken = 0, least = never;
            __syncthreads();
            each_word(s.near, words, [&](int w, unsigned bits) { enlist(s, w, bits); });
            __syncthreads();
            if (!listed) {
                unsigned own_least = never;
                each_word(s.far, words, [&](int w, unsigned bits) {
                    if (bits >> lane & 1) own_least = min(own_least, __ldcg(s.key + 32ll * w + lane));
                });
                own_least = __reduce_min_sync(every, own_least);
                if (lane == 0) atomicMin(&least, own_least);
                __syncthreads();
                if (least > last) break;
                s.bound = __float_as_uint(__uint_as_float(least) + width);
                each_word(s.far, words, [&](int w, unsigned bits) {
                    const bool joins = (bits >> lane & 1) && __ldcg(s.key + 32ll * w + lane) <= s.bound;
                    const unsigned joining = __ballot_sync(every, joins);
                    if (joining) enlist(s, w, joining);
                });
                __syncthreads();
            }
            for (;;) {
                const unsigned i = __shfl_sync(every, lane == 0 ? atomicAdd(&taken, 1u) : 0u, 0);
                if (i >= listed) break;
                relax(s, s.list[i]);
            }
            __syncthreads();
        }
        for (int begin = 0; begin < n; begin += strip) {
            const int some = min(strip, n - begin);
            for (int r = warp; r < some; r += warps) tile[lane * (strip + 1) + r] = __ldcg(D + 32ll * (begin + r) + lane);
            __syncthreads();
            for (int k = warp; k < own; k += warps) {
                Entry* const row = out + rows[first + k] * pitch;
                for (int r = lane; r < some; r += 32) {
                    const Key key = tile[k * (strip + 1) + r];
                    Entry x = key == nothing ? absent : entry(key, shift, known, sources[first + k], begin + r);
                    if (compared) {
                        const Entry a = __ldcs(A + rows[first + k] * lda + begin + r);
                        if (greatest ? a > x : a < x) {
                            const unsigned long long i = atomicAdd(reinterpret_cast<unsigned long long*>(undercut), 1ull);
                            if (i < most) undercut[1 + i] = 1ll * n * rows[first + k] + begin + r;
                            x = a;
                        }
                    }
                    __stcs(row + begin + r, (greatest ? x < limit : x > limit) ? absent : x);
                }
            }
            __syncthreads();
        }
    }
}
