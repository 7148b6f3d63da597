// Rows or columns of A*, many at once, from the closed panels of a sparse elimination; see semiring/sparse.
//
//   climb, children first, each lane on its own root path:  z_R ← z_R ⊕ z_C U,   v_C = z_C D
//   sweep, parents first, everywhere:                       y_C = v_C ⊕ y_R L        (v_C = 0 off the root path)
//
// A lane is a source (or a target, where `mirrored`: the operands of ⊗ change places); each thread has `each` lanes
// side by side. Rows of y, one a vertex, are written once, at the vertex's label. z and v have a row for each place on
// the path from the root. In them lanes are sorted by their place in the elimination order, so that those below a
// supernode are a range; places[t] is where lane t of y is among them.
//
// Low subtrees are *regions*: a warp walks one for its lanes, with y on a stack in shared memory that only its own
// threads see, so nothing waits. The top of the tree goes level by level.
//
#include "sparse.inl"

using Lanes = Vector<T, each>;

struct alignas(8) Range { int low, high; };

__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int groups>
__device__ inline void wait_for_all_but() { asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory"); }

__device__ inline void step(Word& c, Word x0, Word p0, Word x1, Word p1) {
    if constexpr (mirrored) S::step(c, p0, x0, p1, x1);
    else S::step(c, x0, p0, x1, p1);
}

__device__ inline Word nil() { return S::spread(T(S::zero())); }

// Stored past the caches: nobody on the device reads it soon.
__device__ inline void stream(Lanes* to, const Lanes& v) {
    if constexpr (sizeof(Lanes) == 16) __stcs(reinterpret_cast<int4*>(to), *reinterpret_cast<const int4*>(&v));
    else if constexpr (sizeof(Lanes) == 8) __stcs(reinterpret_cast<int2*>(to), *reinterpret_cast<const int2*>(&v));
    else *to = v;
}

// Sums of `columns` columns for a thread's lanes begin with v, where a lane is below the supernode, as `some` of the warp's are.
template <int columns>
__device__ inline void begin(Word (&y)[columns][each], bool some, const int (&place)[each], Range range, const T* v, long long pitch, int wanted = columns) {
#pragma unroll
    for (int c = 0; c < columns; ++c)
#pragma unroll
        for (int e = 0; e < each; ++e) y[c][e] = S::nothing();
    if (!some) return;
#pragma unroll
    for (int c = 0; c < columns; ++c)
#pragma unroll
        for (int e = 0; e < each; ++e)
            if (c < wanted && place[e] >= range.low && place[e] < range.high) y[c][e] = S::begin(S::spread(v[c * pitch + place[e]]));
}

// y ← y ⊕ x₀ ⊗ p₀ ⊕ x₁ ⊗ p₁ for columns of one or more strips.
template <int columns>
__device__ inline void both(Word (&y)[columns][each], const Lanes& x0, const Lanes& x1, const Quad* p0, const Quad* p1) {
#pragma unroll
    for (int c = 0; c < columns; ++c)
#pragma unroll
        for (int e = 0; e < each; ++e)
            step(y[c][e], S::spread(x0.at[e]), S::spread(p0[c / 4].at[c % 4]), S::spread(x1.at[e]), S::spread(p1[c / 4].at[c % 4]));
}

__device__ inline Lanes stored(const Word* y) {
    Lanes v;
#pragma unroll
    for (int e = 0; e < each; ++e) v.at[e] = T(S::lane(y[e], 0));
    return v;
}

__device__ inline void places_of(int (&place)[each], const int* places, int lane, bool inside) {
#pragma unroll
    for (int e = 0; e < each; ++e) place[e] = inside ? places[lane + e] : -1;
}

__device__ inline bool on_path(const int (&place)[each], Range range) {
    bool some = false;
#pragma unroll
    for (int e = 0; e < each; ++e) some |= place[e] >= range.low && place[e] < range.high;
    return __any_sync(0xffffffffu, some);
}

__device__ inline void meet(Lanes& worst, const Lanes& value) {
#pragma unroll
    for (int e = 0; e < each; ++e)
        if (greatest ? value.at[e] > worst.at[e] : value.at[e] < worst.at[e]) worst.at[e] = value.at[e];
}

// `count` items side by side, on their way to shared memory; each thread of the block copies some.
template <class V>
__device__ inline void bring(V* to, const V* from, int count) {
    constexpr int part = sizeof(V) < 16 ? sizeof(V) : 16, parts = sizeof(V) / part;
    char* target = reinterpret_cast<char*>(to);
    const char* source = reinterpret_cast<const char*>(from);
    for (int i = threadIdx.x; i < count * parts; i += blockDim.x) copy_async<part>(target + i * part, source + i * part);
}

// What walking a region takes, in shared memory; each begins at a multiple of 16 bytes.
struct Program {
    Quad* panel;
    Node* nodes;
    Range* ranges;
    int *slots, *rows, *labels;
};

// Where rows of y begin: a row is less than 4 GiB.
struct Rows {
    T* begin;
    unsigned apart;  // bytes
    __device__ T* operator[](int row) const { return reinterpret_cast<T*>(reinterpret_cast<char*>(begin) + (unsigned long long)(unsigned)row * apart); }
};

// One strip of a supernode in a region: `columns` of it, from rows on the stack. `some` and `range` say who begins with v.
template <int columns>
__device__ inline void strip(const Node& node, int j, const Quad* p, int2 front, const int2* slots, const int* labels, Lanes* stack, bool some,
                             const int (&place)[each], Range range, const T* v, long long v_pitch, Rows out, bool inside, Lanes& worst) {
    int label[columns];  // before anything is stored, or each would be waited for
#pragma unroll
    for (int c = 0; c < columns; ++c) label[c] = labels[j + c];
    Word y[columns][each];
    begin<columns>(y, some, place, range, v + (node.base + j) * v_pitch, v_pitch);
    const auto two = [&](int k, int2 here) {
        const Lanes x0 = stack[here.x * 32], x1 = stack[here.y * 32];
        const Quad p0 = p[k], p1 = p[k + 1];
        both<columns>(y, x0, x1, &p0, &p1);
    };
    if (node.rows) two(0, front);
#pragma unroll 2
    for (int k = 2; k < node.rows; k += 2) two(k, slots[k / 2]);
    Lanes value[columns];
#pragma unroll
    for (int c = 0; c < columns; ++c) value[c] = stored(y[c]);
    if (node.own >= 0) {
#pragma unroll
        for (int c = 0; c < columns; ++c) stack[(node.own + j + c) * 32] = value[c];
    }
    if constexpr (only_worst) {
#pragma unroll
        for (int c = 0; c < columns; ++c) meet(worst, value[c]);
    } else if (inside) {
#pragma unroll
        for (int c = 0; c < columns; ++c) stream(reinterpret_cast<Lanes*>(out[label[c]]), value[c]);
    }
}

// Rows above the subtree of a root, on their way from where they were written to the stack.
__device__ inline void ask_rows(const Node& root, const int* rows, const int* slots, Lanes* stack, Rows out) {
#pragma unroll 4
    for (int k = 0; k < root.rows; ++k) {
        Lanes* to = &stack[slots[k] * 32];
        if constexpr (sizeof(Lanes) >= 4) copy_async<sizeof(Lanes)>(to, out[rows[k]]);
        else *to = *reinterpret_cast<const Lanes*>(out[rows[k]]);
    }
}

// y for all supernodes of a region, and the lanes of a block. Where only_worst, none is written but the worst of the
// region's, or one: greatest or least. Blocks come `run` groups of lanes at a time, region by region.
extern "C" __global__ __launch_bounds__(32 * warps, region_blocks) void sweep_regions(
    const Node* nodes, const Range* regions, const Range* ranges, const int* slots, const int* rows, const int* labels, const T* panel,
    const int* places, const T* v, long long v_pitch, T* y, long long pitch, int lanes, T* worst_of, long long worst_pitch, int many, int groups) {
    extern __shared__ __align__(16) unsigned char shared[];
    const int chunk = blockIdx.x / (many * run), left = blockIdx.x - chunk * many * run, breadth = min(run, groups - chunk * run);
    const int mine = left / breadth, group = chunk * run + left % breadth;
    const Range region = regions[mine];
    const Node first = nodes[region.low], end = nodes[region.high];
    const int count = region.high - region.low;
    Program here;
    here.panel = reinterpret_cast<Quad*>(shared + sizeof(Lanes) * 32 * stack_rows * warps);
    here.nodes = reinterpret_cast<Node*>(reinterpret_cast<unsigned char*>(here.panel) + (end.panel - first.panel) * (sizeof(Quad) > 16 ? sizeof(Quad) : 16));
    here.ranges = reinterpret_cast<Range*>(here.nodes + count);
    here.slots = reinterpret_cast<int*>(here.ranges + even(count));
    here.rows = here.slots + (end.begin - first.begin + 3) / 4 * 4;
    here.labels = here.rows + (end.begin - first.begin + 3) / 4 * 4;
    if constexpr (sizeof(Quad) >= 4) bring(here.panel, reinterpret_cast<const Quad*>(panel) + first.panel, end.panel - first.panel);
    bring(here.nodes, nodes + region.low, count);
    bring(here.ranges, ranges + region.low, count);
    bring(here.slots, slots + first.begin, end.begin - first.begin);
    bring(here.rows, rows + first.begin, end.begin - first.begin);
    bring(here.labels, labels + first.first, end.first - first.first);
    here.panel -= first.panel, here.slots -= first.begin, here.rows -= first.begin, here.labels -= first.first;
    commit_copies();
    const int warp = threadIdx.x / 32, thread = threadIdx.x % 32;
    Lanes* stack = reinterpret_cast<Lanes*>(shared) + warp * (stack_rows * 32) + thread;
    wait_for_copies();
    __syncthreads();
    int lane = ((group * warps + warp) * 32 + thread) * each;
    if (lane - thread * each >= lanes) return;
    const bool inside = lane < lanes;
    lane = inside ? lane : 0;
    int place[each];
    places_of(place, places, lane, inside);
    const Rows out{y + lane, unsigned(pitch * sizeof(T))};
    Lanes worst;
#pragma unroll
    for (int e = 0; e < each; ++e) worst.at[e] = T(S::one());
    // Few regions have lanes below them.
    const bool near = on_path(place, Range{here.ranges[0].low, here.ranges[count - 1].high});
    bool asked = false;
    Node following = here.nodes[count - 1];
    int2 front = *reinterpret_cast<const int2*>(here.slots + following.begin);
#pragma unroll 1
    for (int s = count - 1; s >= 0; --s) {
        const Node node = following;
        const int2 slot = front;
        if (s > 0) following = here.nodes[s - 1], front = *reinterpret_cast<const int2*>(here.slots + following.begin);
        if (node.kind & 3) {  // a root: what lies above comes from the rows already written
            if (!asked) ask_rows(node, here.rows + node.begin, here.slots + node.begin, stack, out);
            wait_for_copies();
            const int next = node.kind >> 2;  // how far the next root is, where its rows have room beside this subtree
            asked = next > 0;
            if (asked) {
                const Node root = here.nodes[s - next];
                ask_rows(root, here.rows + root.begin, here.slots + root.begin, stack, out);
            }
        }
        const Range range = near ? here.ranges[s] : Range{0, 0};
        const bool some = near && on_path(place, range);
        const int2* at = reinterpret_cast<const int2*>(here.slots + node.begin);
        const int* label = here.labels + node.first;
        const Quad* p = here.panel + node.panel + node.width;
#pragma unroll 1
        for (int j = 0; j < node.width; j += 4) {
            switch (node.width - j) {
                case 1: strip<1>(node, j, p, slot, at, label, stack, some, place, range, v, v_pitch, out, inside, worst); break;
                case 2: strip<2>(node, j, p, slot, at, label, stack, some, place, range, v, v_pitch, out, inside, worst); break;
                case 3: strip<3>(node, j, p, slot, at, label, stack, some, place, range, v, v_pitch, out, inside, worst); break;
                default: strip<4>(node, j, p, slot, at, label, stack, some, place, range, v, v_pitch, out, inside, worst);
            }
            p += node.width + even(node.rows);
        }
    }
    if (only_worst && inside) *reinterpret_cast<Lanes*>(worst_of + mine * worst_pitch + lane) = worst;
}

// The top. Rows of y come from memory, through a ring of asynchronous copies that each warp has for itself: a thread
// reads only lanes that it copied; the panel is copied by all threads of the warp. A ring has `stages` stages of `deep` rows.

template <int strips>
struct Ring {
    Lanes x[deep][32];
    Quad p[deep][strips];
};

template <int strips>
__device__ void tile(const Node& node, int j, const int* rows, const T* panel, bool some, const int (&place)[each], Range range, const T* v,
                     long long v_pitch, const int* labels, T* out, long long pitch, bool inside, unsigned char* shared) {
    constexpr int columns = 4 * strips;
    const int thread = threadIdx.x % 32, wanted = min(columns, node.width - j);
    Ring<strips>* ring = reinterpret_cast<Ring<strips>*>(shared);
    const Quad* p = reinterpret_cast<const Quad*>(panel) + node.panel + j / 4 * (node.width + even(node.rows)) + node.width;
    const int all = even(node.rows), apart = node.width + all, steps = (all + deep - 1) / deep;
    rows += node.begin;
    int next = thread < all && thread < deep ? rows[thread] : 0;  // what the coming stage reads
    const auto fetch = [&](int step) {
        Ring<strips>& to = ring[step % stages];
        const int k0 = step * deep, count = min(deep, all - k0), index = next;
        if (thread < deep && k0 + deep + thread < all) next = rows[k0 + deep + thread];
#pragma unroll
        for (int k = 0; k < deep; ++k) {
            const int row = __shfl_sync(0xffffffffu, index, k);
            if (k < count) {
                if constexpr (sizeof(Lanes) >= 4) copy_async<sizeof(Lanes)>(&to.x[k][thread], out + row * pitch);
                else to.x[k][thread] = *reinterpret_cast<const Lanes*>(out + row * pitch);
            }
        }
        for (int i = thread; i < count * strips; i += 32) {
            const Quad* from = p + i % strips * apart + k0 + i / strips;
            if constexpr (sizeof(Quad) == 32) {
                copy_async<16>(&to.p[i / strips][i % strips], from);
                copy_async<16>(reinterpret_cast<char*>(&to.p[i / strips][i % strips]) + 16, reinterpret_cast<const char*>(from) + 16);
            } else if constexpr (sizeof(Quad) >= 4) copy_async<sizeof(Quad)>(&to.p[i / strips][i % strips], from);
        }
    };
    Word y[columns][each];
    begin<columns>(y, some, place, range, v + (node.base + j) * v_pitch, v_pitch, wanted);
#pragma unroll
    for (int i = 0; i < stages - 1; ++i) {
        if (i < steps) fetch(i);
        commit_copies();
    }
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
        wait_for_all_but<stages - 2>();
        __syncwarp();  // the panel is there, and nobody reads the stage that is filled next
        if (i + stages - 1 < steps) fetch(i + stages - 1);
        commit_copies();
        const Ring<strips>& from = ring[i % stages];
        const int count = min(deep, all - i * deep);
        if (count == deep) {
#pragma unroll
            for (int k = 0; k < deep; k += 2) both<columns>(y, from.x[k][thread], from.x[k + 1][thread], from.p[k], from.p[k + 1]);
        } else {
#pragma unroll 1
            for (int k = 0; k < count; k += 2) both<columns>(y, from.x[k][thread], from.x[k + 1][thread], from.p[k], from.p[k + 1]);
        }
    }
    __syncwarp();
#pragma unroll
    for (int c = 0; c < columns; ++c)
        if (c < wanted && inside) *reinterpret_cast<Lanes*>(out + labels[node.first + j + c] * pitch) = stored(y[c]);
}

// Tile blockIdx.x of one level of the top, (supernode, first column, strips), for the lanes of blockIdx.y.
struct Tile { int supernode, first, strips; };

extern "C" __global__ __launch_bounds__(32 * level_warps, level_blocks) void sweep_level(
    const Node* nodes, const Tile* tiles, const Range* ranges, const int* rows, const int* labels, const T* panel, const int* places, const T* v,
    long long v_pitch, T* out, long long pitch, int lanes) {
    extern __shared__ __align__(16) unsigned char shared[];
    const int warp = threadIdx.x / 32, thread = threadIdx.x % 32;
    int lane = ((blockIdx.y * level_warps + warp) * 32 + thread) * each;
    if (lane - thread * each >= lanes) return;
    const bool inside = lane < lanes;
    lane = inside ? lane : 0;
    const Tile given = tiles[blockIdx.x];
    const Node node = nodes[given.supernode];
    const Range range = ranges[given.supernode];
    int place[each];
    places_of(place, places, lane, inside);
    const bool some = on_path(place, range);
    out += lane;
    unsigned char* mine = shared + warp * (stages * sizeof(Ring<most_strips>));
    if (given.strips == 1) tile<1>(node, given.first, rows, panel, some, place, range, v, v_pitch, labels, out, pitch, inside, mine);
    else tile<most_strips>(node, given.first, rows, panel, some, place, range, v, v_pitch, labels, out, pitch, inside, mine);
}

// The climb inside regions, a thread a lane: lane t begins at column starts[t] with `one`.
extern "C" __global__ __launch_bounds__(128) void climb_regions(
    const Node* nodes, const int* owner, const int* parent, const int* slots, const T* panel, const int* starts, T* z, T* v, long long pitch, int lanes) {
    const int t = blockIdx.x * 128 + threadIdx.x;
    if (t >= lanes) return;
    const int column = starts[t];
    if (column < 0) return;  // there to fill up
    z += t, v += t;
    int s = owner[column];
    const int here = nodes[s].base + column - nodes[s].first;
    for (int k = nodes[s].base + nodes[s].width - 1; k >= 0; --k) z[k * pitch] = T(k == here ? S::one() : S::zero());
    for (; s >= 0; s = parent[s]) {
        const Node node = nodes[s];
        if (node.kind == top) return;
        const int height = node.width + node.rows;
        for (int j = 0; j < node.width; j += 4) {
            Word x[4];
#pragma unroll
            for (int c = 0; c < 4; ++c) x[c] = j + c < node.width ? S::spread(z[(node.base + j + c) * pitch]) : nil();
            const Quad* u = reinterpret_cast<const Quad*>(panel) + node.panel + j / 4 * (node.width + even(node.rows));
            for (int k = 0; k < height; ++k) {
                const Quad p = u[k];
                T* to = k < node.width ? v + (node.base + k) * pitch : z + slots[node.begin + k - node.width] * pitch;
                Word sum = k < node.width && j == 0 ? S::nothing() : S::begin(S::spread(*to));
                step(sum, x[0], S::spread(p.at[0]), x[1], S::spread(p.at[1]));
                step(sum, x[2], S::spread(p.at[2]), x[3], S::spread(p.at[3]));
                *to = T(S::lane(sum, 0));
            }
        }
    }
}

// The climb of one level of the top. Work is (supernode, 8 rows of the panel, 32 · each lanes that meet its range); before[i]
// counts it over the level's supernodes before the i-th, first … first + count.
extern "C" __global__ __launch_bounds__(128) void climb_level(
    const Node* nodes, const int* supernodes, const int* before, int count, const Range* ranges, const int* slots, const T* panel, T* z, T* v,
    long long pitch) {
    const int work = blockIdx.x * 4 + threadIdx.x / 32, thread = threadIdx.x % 32;
    if (work >= before[count]) return;
    int low = 0, high = count;  // before[low] ≤ work < before[high]
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        (before[middle] <= work ? low : high) = middle;
    }
    const int s = supernodes[low];
    const Node node = nodes[s];
    const Range range = ranges[s];
    const int height = node.width + node.rows, apart = node.width + even(node.rows), pieces = (height + 7) / 8, index = work - before[low];
    const int first = index % pieces * 8, group = range.low / (32 * each) + index / pieces;
    const int lane = (group * 32 + thread) * each;
    if (lane >= range.high || lane + each <= range.low) return;
    Word sum[8][each];
    T* to[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int k = first + i;
        const bool above = k >= node.width && k < height;
        to[i] = (above ? z + slots[node.begin + k - node.width] * pitch : v + (node.base + min(k, node.width - 1)) * pitch) + lane;
        Lanes given;
        if (above) given = *reinterpret_cast<const Lanes*>(to[i]);
#pragma unroll
        for (int e = 0; e < each; ++e) sum[i][e] = above ? S::begin(S::spread(given.at[e])) : S::nothing();
    }
    const Quad* u = reinterpret_cast<const Quad*>(panel) + node.panel;
    const T* from = z + node.base * pitch + lane;
#pragma unroll 1
    for (int j = 0; j < node.width; j += 4) {
        Lanes x[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            if (j + c < node.width) x[c] = *reinterpret_cast<const Lanes*>(from + (j + c) * pitch);
            else
#pragma unroll
                for (int e = 0; e < each; ++e) x[c].at[e] = T(S::zero());
        }
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const Quad p = u[j / 4 * apart + min(first + i, height - 1)];
#pragma unroll
            for (int e = 0; e < each; ++e) {
                step(sum[i][e], S::spread(x[0].at[e]), S::spread(p.at[0]), S::spread(x[1].at[e]), S::spread(p.at[1]));
                step(sum[i][e], S::spread(x[2].at[e]), S::spread(p.at[2]), S::spread(x[3].at[e]), S::spread(p.at[3]));
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        if (first + i >= height) break;
        const Lanes value = stored(sum[i]);
        if (lane >= range.low && lane + each <= range.high) *reinterpret_cast<Lanes*>(to[i]) = value;
        else
#pragma unroll
            for (int e = 0; e < each; ++e)
                if (lane + e >= range.low && lane + e < range.high) to[i][e] = value.at[e];
    }
}

// The worst of some rows of y: those of part blockIdx.y of gridDim.y.
extern "C" __global__ __launch_bounds__(128) void worst_rows(const T* y, long long pitch, int count, T* worst_of, long long worst_pitch, int lanes) {
    const int lane = (blockIdx.x * 128 + threadIdx.x) * each;
    if (lane >= lanes) return;
    Lanes worst;
#pragma unroll
    for (int e = 0; e < each; ++e) worst.at[e] = T(S::one());
#pragma unroll 4
    for (int k = blockIdx.y; k < count; k += gridDim.y) meet(worst, *reinterpret_cast<const Lanes*>(y + k * pitch + lane));
    *reinterpret_cast<Lanes*>(worst_of + blockIdx.y * worst_pitch + lane) = worst;
}

// out[q] = A*[i, j] of the q-th pair: ⊕ v_C y_C over the supernodes on both paths, from a climb of each. Pairs are lanes
// of both climbs, sorted by their own ends.
extern "C" __global__ __launch_bounds__(128) void pairs(
    const Node* nodes, const int* owner, const int* parent, const int* sources, const int* targets, const int* source_places,
    const int* target_places, const T* v, const T* z, long long pitch, T* out, int count) {
    const int q = blockIdx.x * 128 + threadIdx.x;
    if (q >= count) return;
    const int a = source_places[q], b = target_places[q];
    int s = owner[sources[a]], t = owner[targets[b]];
    while (s != t && s >= 0 && t >= 0) {  // to the lowest supernode on both paths
        if (s < t) s = parent[s];
        else t = parent[t];
    }
    Word sum = S::nothing();
    if (s >= 0 && t >= 0) {
        const int end = nodes[s].base + nodes[s].width;
        for (int k = 0; k < end; k += 2) {
            const bool two = k + 1 < end;
            S::step(sum, S::spread(v[k * pitch + a]), S::spread(z[k * pitch + b]), two ? S::spread(v[(k + 1) * pitch + a]) : nil(),
                    two ? S::spread(z[(k + 1) * pitch + b]) : nil());
        }
    }
    out[q] = T(S::lane(sum, 0));
}

// to[t][v] = from[v][t], for so many rows t of `to`.
extern "C" __global__ __launch_bounds__(256) void transpose(const T* from, long long from_pitch, T* to, long long to_pitch, int n, int lanes) {
    __shared__ T held[32][33];
    const int x = threadIdx.x % 32, y = threadIdx.x / 32, v0 = blockIdx.x * 32, t0 = blockIdx.y * 32;
    for (int i = y; i < 32; i += 8)
        if (v0 + i < n && t0 + x < lanes) held[i][x] = from[(v0 + i) * from_pitch + t0 + x];
    __syncthreads();
    for (int i = y; i < 32; i += 8)
        if (t0 + i < lanes && v0 + x < n) to[(t0 + i) * to_pitch + v0 + x] = held[x][i];
}
