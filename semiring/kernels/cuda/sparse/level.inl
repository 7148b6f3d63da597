// A level of the top of a sweep; see sweep.cu.
//
// Rows of y stream from memory through a ring of asynchronous copies per warp: a thread reads only lanes that it copied;
// all threads of the warp copy the panel. A ring has `stages` stages of `deep` rows.
template <int strips>
struct Ring {
    Lanes x[deep][32];
    Quad p[deep][strips];
};

// The tile of `strips` strips from column j on. The loop has few instructions besides ⊕ and ⊗: row addresses take one
// multiplication each, stages advance by pointers.
template <int strips>
__device__ void tile(const Node& node, int j, const int* rows, const T* panel, bool any_on_path, const int (&place)[each], Range range, const T* v,
                     long long v_pitch, const int* labels, Rows y_of, bool inside, unsigned char* shared) {
    using Stage = Ring<strips>;
    constexpr int columns = 4 * strips, units = deep * strips; // of the panel, per stage
    static_assert(deep % 2 == 0 && deep <= 32 && stages >= 2 && (units <= 32 || 32 % strips == 0), "a warp fills a stage, two rows are one step");
    const int thread = threadIdx.x % 32, wanted = min(columns, node.width - j), all = even(node.rows), apart = node.width + all;
    const Quad* p = reinterpret_cast<const Quad*>(panel) + node.panel + (j / 4 + thread % strips) * (long long)apart + node.width + thread / strips;
    const int* coming = rows + node.begin + thread;
    int next = thread < deep && thread < all ? *coming : 0; // the thread's row of the next stage
    int left = all; // rows not requested yet
    Stage *into = reinterpret_cast<Stage*>(shared), *const end = into + stages;
    const auto fetch = [&]() {
        const int index = next;
        coming += deep;
        if (thread < deep && thread + deep < left) next = *coming;
#pragma unroll
        for (int k = 0; k < deep; ++k) {
            const int row = __shfl_sync(0xffffffffu, index, k);
            if (k < left) request<Lanes>(&into->x[k][thread], y_of[row]);
        }
#pragma unroll
        for (int i = 0; i < units; i += 32) {
            const int unit = thread + i;
            if (unit < units && unit < left * strips) request(&into->p[unit / strips][unit % strips], p + i / strips);
        }
        p += deep, left -= deep;
        if (++into == end) into = reinterpret_cast<Stage*>(shared);
    };
    Word y[columns][each];
    begin<columns>(y, any_on_path, place, range, v + (node.base + j) * v_pitch, v_pitch, wanted);
#pragma unroll
    for (int i = 0; i < stages - 1; ++i) {
        if (left > 0) fetch();
        commit_copies();
    }
    const Stage* from = reinterpret_cast<const Stage*>(shared);
#pragma unroll 1
    for (int rest = all; rest > 0; rest -= deep) {
        wait_for_all_but<stages - 2>();
        __syncwarp(); // the panel has arrived, and the stage to be filled is no longer read
        if (left > 0) fetch();
        commit_copies();
        if (rest >= deep) {
#pragma unroll
            for (int k = 0; k < deep; k += 2) both<columns>(y, from->x[k][thread], from->x[k + 1][thread], from->p[k], from->p[k + 1]);
        } else {
#pragma unroll 1
            for (int k = 0; k < rest; k += 2) both<columns>(y, from->x[k][thread], from->x[k + 1][thread], from->p[k], from->p[k + 1]);
        }
        if (++from == end) from = reinterpret_cast<const Stage*>(shared);
    }
#pragma unroll
    for (int c = 0; c < columns; ++c)
        if (c < wanted && inside) *y_of[labels[node.first + j + c]] = stored(y[c]);
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
    const Tile assigned = tiles[blockIdx.x];
    const Node node = nodes[assigned.supernode];
    const Range range = ranges[assigned.supernode];
    int place[each];
    places_of(place, places, lane, inside);
    const bool any_on_path = on_path(place, range);
    const Rows y_of(out + lane, pitch);
    unsigned char* mine = shared + warp * (stages * sizeof(Ring<most_strips>));
    if (assigned.strips == 1) tile<1>(node, assigned.first, rows, panel, any_on_path, place, range, v, v_pitch, labels, y_of, inside, mine);
    else tile<most_strips>(node, assigned.first, rows, panel, any_on_path, place, range, v, v_pitch, labels, y_of, inside, mine);
}
