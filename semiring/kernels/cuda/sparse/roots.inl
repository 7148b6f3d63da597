// Roots of a sweep, which have no rows: y = v; see sweep.cu.
//
// Blocks are tile · groups of lanes + group: adjacent lanes first, so that they gather from the same rows of v while these
// are in the L2 cache.
extern "C" __global__ __launch_bounds__(32 * level_warps) void sweep_roots(
    const Node* nodes, const Tile* tiles, const Range* ranges, const int* rows, const int* labels, const T* panel, const int* places, const T* v,
    long long v_pitch, T* out, long long pitch, int lanes) {
    constexpr int wide = 32 * level_warps * each;
    const int groups = (lanes + wide - 1) / wide, which = blockIdx.x / groups;
    const int lane = (blockIdx.x - which * groups) * wide + threadIdx.x * each;
    if (lane >= lanes) return;
    const Tile tile = tiles[which];
    const Node node = nodes[tile.supernode];
    const Range range = ranges[tile.supernode];
    int place[each];
    places_of(place, places, lane, true);
    const Rows y_of(out + lane, pitch);
    const T* row = v + (node.base + tile.first) * v_pitch;
    const int* label = labels + node.first + tile.first;
    const int count = smaller(4 * tile.strips, node.width - tile.first);
#pragma unroll 4
    for (int c = 0; c < count; ++c, row += v_pitch) {
        Lanes value;
#pragma unroll
        for (int e = 0; e < each; ++e) value.item[e] = place[e] >= range.low && place[e] < range.high ? row[place[e]] : T(S::zero());
        *y_of[label[c]] = value;
    }
}
