// The climb, and single entries from two climbs; see sweep.cu.

// The climb inside regions, a thread per lane: lane t begins at column starts[t] with `one`.
extern "C" __global__ __launch_bounds__(128) void climb_regions(
    const Node* nodes, const int* owner, const int* parent, const int* slots, const T* panel, const int* starts, T* z, T* v, long long pitch, int lanes) {
    const int t = blockIdx.x * 128 + threadIdx.x;
    if (t >= lanes) return;
    const int column = starts[t];
    if (column < 0) return;  // padding
    z += t, v += t;
    int s = owner[column];
    const int here = nodes[s].base + column - nodes[s].first;
    for (int k = nodes[s].base + nodes[s].width - 1; k >= 0; --k) z[k * pitch] = T(k == here ? S::one() : S::zero());
    for (; s >= 0; s = parent[s]) {
        const Node node = nodes[s];
        if (node.kind == top) return;
        const int height = node.width + node.rows, apart = node.width + even(node.rows);
        const Quad* u = reinterpret_cast<const Quad*>(panel) + node.panel;
        for (int j = 0; j < node.width; j += 4, u += apart) {
            Word x[4];
#pragma unroll
            for (int c = 0; c < 4; ++c) x[c] = j + c < node.width ? S::spread(z[(node.base + j + c) * pitch]) : nil();
            for (int k = 0; k < height; ++k) {
                const Quad p = u[k];
                T* to = k < node.width ? v + (node.base + k) * pitch : z + slots[node.begin + k - node.width] * pitch;
                Word sum = k < node.width && j == 0 ? S::nothing() : S::begin(S::spread(*to));
                step(sum, x[0], S::spread(p.item[0]), x[1], S::spread(p.item[1]));
                step(sum, x[2], S::spread(p.item[2]), x[3], S::spread(p.item[3]));
                *to = T(S::lane(sum, 0));
            }
        }
    }
}

// The climb of one level of the top. Work is (supernode, 8 panel rows, 32 · each lanes in its range); before[i] counts the
// work before the level's i-th supernode, first … first + count.
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
        Lanes initial;
        if (above) initial = *reinterpret_cast<const Lanes*>(to[i]);
#pragma unroll
        for (int e = 0; e < each; ++e) sum[i][e] = above ? S::begin(S::spread(initial.item[e])) : S::nothing();
    }
    const Quad* u = reinterpret_cast<const Quad*>(panel) + node.panel;
    const T* from = z + node.base * pitch + lane;
#pragma unroll 1
    for (int j = 0; j < node.width; j += 4, u += apart) {
        Lanes x[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            if (j + c < node.width) x[c] = *reinterpret_cast<const Lanes*>(from + (j + c) * pitch);
            else
#pragma unroll
                for (int e = 0; e < each; ++e) x[c].item[e] = T(S::zero());
        }
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const Quad p = u[min(first + i, height - 1)];
#pragma unroll
            for (int e = 0; e < each; ++e) {
                step(sum[i][e], S::spread(x[0].item[e]), S::spread(p.item[0]), S::spread(x[1].item[e]), S::spread(p.item[1]));
                step(sum[i][e], S::spread(x[2].item[e]), S::spread(p.item[2]), S::spread(x[3].item[e]), S::spread(p.item[3]));
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
                if (lane + e >= range.low && lane + e < range.high) to[i][e] = value.item[e];
    }
}

// out[q] = A*[i, j] of the q-th pair: ⊕ v_C y_C over the supernodes on both paths, from a climb of each. Pairs are lanes of
// both climbs, sorted by their ends.
extern "C" __global__ __launch_bounds__(128) void pairs(
    const Node* nodes, const int* owner, const int* parent, const int* sources, const int* targets, const int* source_places,
    const int* target_places, const T* v, const T* z, long long pitch, T* out, int count) {
    const int q = blockIdx.x * 128 + threadIdx.x;
    if (q >= count) return;
    const int a = source_places[q], b = target_places[q];
    int s = owner[sources[a]], t = owner[targets[b]];
    while (s != t && s >= 0 && t >= 0) { // to the lowest common supernode
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
