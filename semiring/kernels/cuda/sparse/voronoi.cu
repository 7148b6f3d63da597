// The nearest of several sources for every vertex, from the panels of a sparse elimination: a level of the sweep
//
//   y_C = v_C ⊕ y_R L
//
// with v from a climb with a lane per source. Each length carries its source; ties go to the least source, at every vertex.
// An entry without a source is the semiring's 0, and its source −1. Erwig 2000, "The graph Voronoi diagram with
// applications".
#include "sparse.inl"

struct Range { int low, high; };
struct Nearest { W length; int source; };

__device__ inline void meet(Nearest& best, W length, int source) {
    const bool better = greatest ? length > best.length : length < best.length;
    if (better || (length == best.length && source < best.source)) best = Nearest{length, source};
}

// A warp takes four columns, strip blockIdx.y, of one of `count` supernodes. ranges[s]: lanes of v below supernode s;
// names[t]: source of lane t.
extern "C" __global__ __launch_bounds__(128) void sweep_sources(
    const int* supernodes, int count, const Node* nodes, const int* rows, const int* labels, const Range* ranges, const int* names, const T* panel,
    const T* v, long long pitch, T* y, int* sources) {
    const int index = blockIdx.x * 4 + threadIdx.x / 32, thread = threadIdx.x % 32, j = 4 * blockIdx.y;
    if (index >= count) return;
    const int s = supernodes[index];
    const Node node = nodes[s];
    if (j >= node.width) return;
    const Range range = ranges[s];
    const int columns = smaller(4, node.width - j);
    Nearest best[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) best[c] = Nearest{S::zero(), -1};
    for (int t = range.low + thread; t < range.high; t += 32)
#pragma unroll
        for (int c = 0; c < 4; ++c)
            if (c < columns) meet(best[c], W(v[(node.base + j + c) * pitch + t]), names[t]);
    const Quad* p = reinterpret_cast<const Quad*>(panel) + node.panel + blockIdx.y * (long long)(node.width + even(node.rows)) + node.width;
    for (int k = thread; k < node.rows; k += 32) {
        const int from = rows[node.begin + k];
        const W x = W(y[from]);
        const int source = sources[from];
        const Quad weights = p[k];
#pragma unroll
        for (int c = 0; c < 4; ++c) meet(best[c], mirrored ? S::mul(W(weights.item[c]), x) : S::mul(x, W(weights.item[c])), source);
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
        for (int by = 16; by; by /= 2)
            meet(best[c], __shfl_xor_sync(0xffffffffu, best[c].length, by), __shfl_xor_sync(0xffffffffu, best[c].source, by));
        if (thread == c && c < columns) y[labels[node.first + j + c]] = T(best[c].length), sources[labels[node.first + j + c]] = best[c].source;
    }
}
