// A level of the top of a sweep; see sweep.cu.
//
// Rows of y come from memory, through a ring of asynchronous copies that each warp has for itself: a thread reads only
// lanes that it copied; the panel is copied by all threads of the warp. A ring has `stages` stages of `deep` rows.

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

// Tile blockIdx.x of one level of the top, for the lanes of blockIdx.y.
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
