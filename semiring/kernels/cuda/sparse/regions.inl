// Regions of a sweep: low subtrees, each walked by a warp for its lanes; see sweep.cu.

// Non-temporal store: not read soon.
__device__ inline void stream(Lanes* to, const Lanes& v) {
    if constexpr (sizeof(Lanes) == 16) __stcs(reinterpret_cast<int4*>(to), *reinterpret_cast<const int4*>(&v));
    else if constexpr (sizeof(Lanes) == 8) __stcs(reinterpret_cast<int2*>(to), *reinterpret_cast<const int2*>(&v));
    else *to = v;
}

__device__ inline void meet(Lanes& worst, const Lanes& value) {
#pragma unroll
    for (int e = 0; e < each; ++e)
        if (greatest ? value.item[e] > worst.item[e] : value.item[e] < worst.item[e]) worst.item[e] = value.item[e];
}

// A quantity packed in lengths: the bits of `mask` above `shift`, in the type Quantity; lengths themselves unless `packed`.
struct Unpack {
    int shift;
    long long mask;
    __device__ Lanes operator()(const Lanes& lengths) const {
        if constexpr (!packed) return lengths;
        Vector<Quantity, each> found;
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const T x = lengths.item[e];
            found.item[e] = x == T(S::zero()) ? no_path() : Quantity((long long)x >> shift & mask);
        }
        return *reinterpret_cast<const Lanes*>(&found);
    }
};

// Asynchronous copy of `count` adjacent items to shared memory, split over the block.
template <class V>
__device__ inline void bring(V* to, const V* from, int count) {
    constexpr int part = sizeof(V) < 16 ? sizeof(V) : 16, parts = sizeof(V) / part;
    char* target = reinterpret_cast<char*>(to);
    const char* source = reinterpret_cast<const char*>(from);
    for (int i = threadIdx.x; i < count * parts; i += blockDim.x) copy_async<part>(target + i * part, source + i * part);
}

// A region's data in shared memory, each array 16-byte aligned.
struct Program {
    Quad* panel;
    Node* nodes;
    Range* ranges;
    int *slots, *rows, *labels;
};

// One strip of a supernode in a region, `columns` wide, from rows on the stack. `any_on_path` and `range`: lanes that begin
// with v.
template <int columns>
__device__ inline void strip(const Node& node, int j, const Quad* p, int2 front, const int2* slots, const int* labels, Lanes* stack, bool any_on_path,
                             const int (&place)[each], Range range, const T* v, long long v_pitch, Rows out, bool inside, Lanes& worst, Unpack unpack) {
    int label[columns]; // before any store, or each load would wait
#pragma unroll
    for (int c = 0; c < columns; ++c) label[c] = labels[j + c];
    Word y[columns][each];
    begin<columns>(y, any_on_path, place, range, v + (node.base + j) * v_pitch, v_pitch);
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
        for (int c = 0; c < columns; ++c)
            if (!some || label[c] >= 0) stream(out[label[c]], unpack(value[c]));
    }
}

// Request the rows above a root's subtree, from global memory to the stack.
__device__ inline void request_rows(const Node& root, const int* rows, const int* slots, Lanes* stack, Rows out) {
#pragma unroll 4
    for (int k = 0; k < root.rows; ++k) request<Lanes>(&stack[slots[k] * 32], out[rows[k]]);
}

// y for all supernodes of a region, and the lanes of a block. With `some`, rows of negative labels are not written; with only_worst, only the region's worst entries, or one, are
// written: greatest or least; if `packed`, what is unpacked. Blocks are ordered by `run` groups of lanes, region by region.
extern "C" __global__ __launch_bounds__(32 * warps, region_blocks) void sweep_regions(
    const Node* nodes, const Range* regions, const Range* ranges, const int* slots, const int* rows, const int* labels, const T* panel,
    const int* places, const T* v, long long v_pitch, T* y, long long pitch, int lanes, T* worst_of, long long worst_pitch, int many, int groups, int shift, long long mask) {
    extern __shared__ __align__(16) unsigned char shared[];
    const Unpack unpack{shift, mask};
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
    const Rows out(y + lane, pitch);
    Lanes worst;
#pragma unroll
    for (int e = 0; e < each; ++e) worst.item[e] = T(S::one());
    // Few regions have lanes below them.
    const bool near = on_path(place, Range{here.ranges[0].low, here.ranges[count - 1].high});
    bool requested = false;
    Node following = here.nodes[count - 1];
    int2 front = *reinterpret_cast<const int2*>(here.slots + following.begin);
#pragma unroll 1
    for (int s = count - 1; s >= 0; --s) {
        const Node node = following;
        const int2 slot = front;
        if (s > 0) following = here.nodes[s - 1], front = *reinterpret_cast<const int2*>(here.slots + following.begin);
        if (node.kind & 3) { // a root: rows above come from global memory
            if (!requested) request_rows(node, here.rows + node.begin, here.slots + node.begin, stack, out);
            wait_for_copies();
            const int next = node.kind >> 2; // distance to the next root, if its rows fit on the stack beside this subtree
            requested = next > 0;
            if (requested) {
                const Node root = here.nodes[s - next];
                request_rows(root, here.rows + root.begin, here.slots + root.begin, stack, out);
            }
        }
        const Range range = near ? here.ranges[s] : Range{0, 0};
        const bool any_on_path = near && on_path(place, range);
        const int2* row_slots = reinterpret_cast<const int2*>(here.slots + node.begin);
        const int* label = here.labels + node.first;
        const Quad* p = here.panel + node.panel + node.width;
#pragma unroll 1
        for (int j = 0; j < node.width; j += 4) {
            switch (node.width - j) {
                case 1: strip<1>(node, j, p, slot, row_slots, label, stack, any_on_path, place, range, v, v_pitch, out, inside, worst, unpack); break;
                case 2: strip<2>(node, j, p, slot, row_slots, label, stack, any_on_path, place, range, v, v_pitch, out, inside, worst, unpack); break;
                case 3: strip<3>(node, j, p, slot, row_slots, label, stack, any_on_path, place, range, v, v_pitch, out, inside, worst, unpack); break;
                default: strip<4>(node, j, p, slot, row_slots, label, stack, any_on_path, place, range, v, v_pitch, out, inside, worst, unpack);
            }
            p += node.width + even(node.rows);
        }
    }
    if (only_worst && inside) *reinterpret_cast<Lanes*>(worst_of + mine * worst_pitch + lane) = worst;
}

// Row labels[blockIdx.y] of y, unpacked.
extern "C" __global__ __launch_bounds__(128) void unpack_rows(const int* labels, T* y, long long pitch, int lanes, int shift, long long mask) {
    const int lane = (blockIdx.x * 128 + threadIdx.x) * each;
    if (lane >= lanes) return;
    Lanes* row = reinterpret_cast<Lanes*>(y + labels[blockIdx.y] * pitch + lane);
    *row = Unpack{shift, mask}(*row);
}

// The worst of part blockIdx.y of gridDim.y of the rows of y.
extern "C" __global__ __launch_bounds__(128) void worst_rows(const T* y, long long pitch, int count, T* worst_of, long long worst_pitch, int lanes) {
    const int lane = (blockIdx.x * 128 + threadIdx.x) * each;
    if (lane >= lanes) return;
    Lanes worst;
#pragma unroll
    for (int e = 0; e < each; ++e) worst.item[e] = T(S::one());
#pragma unroll 4
    for (int k = blockIdx.y; k < count; k += gridDim.y) meet(worst, *reinterpret_cast<const Lanes*>(y + k * pitch + lane));
    *reinterpret_cast<Lanes*>(worst_of + blockIdx.y * worst_pitch + lane) = worst;
}
