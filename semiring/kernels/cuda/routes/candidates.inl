// Candidate arcs of sources, as bits: those of no worse sum than their head's distance.

// Arcs grouped by vertex.
struct Arcs {
    const long long* starts;
    const Arc* list;
};

// list ← arcs in this order; −1 is none, for a head with `apart` places.
extern "C" __global__ void __launch_bounds__(threads)
    arrange(const Index* tails, const Index* heads, const T* weights, const long long* order, long long count, long long apart,
            Arc* list) {
    const long long p = blockIdx.x * (long long)threads + threadIdx.x;
    if (p >= count) return;
    const long long e = order[p];
    list[p] = e < 0 ? Arc{0, Index(p / apart), T(Algebra::zero())} : Arc{tails[e], heads[e], weights[e]};
}

// Bits of a word within `from` … `to`, which overlap it.
__device__ inline unsigned between(const unsigned* bits, Place word, Place from, Place to) {
    unsigned found = bits[word];
    if (word == from / 32) found &= ~0u << from % 32;
    if (word == (to - 1) / 32) found &= ~0u >> (31 - (to - 1) % 32);
    return found;
}

// turned[j, r] ← D[r, j]; missing rows become no path.
extern "C" __global__ void __launch_bounds__(threads)
    turn(const T* D, long long pitch, int n, int rows, int width, T* turned) {
    __shared__ T tile[32][33];
    const int lane = threadIdx.x % 32;
    for (int i = threadIdx.x / 32; i < 32; i += warps) {
        const int r = 32 * blockIdx.y + i, j = 32 * blockIdx.x + lane;
        tile[i][lane] = r < rows && j < n ? D[r * pitch + j] : T(Algebra::zero());
    }
    __syncthreads();
    for (int i = threadIdx.x / 32; i < 32; i += warps)
        if (32 * int(blockIdx.x) + i < n) turned[(32ll * blockIdx.x + i) * width + 32 * blockIdx.y + lane] = tile[lane][i];
}

// Row r of bits, `words` apart ← candidate arcs of source r, no worse than the worst sum equal to their head's distance;
// tight[r] ← their number. A warp takes 32 sources and a run of arcs.
extern "C" __global__ void __launch_bounds__(threads)
    try_arcs(const T* turned, int width, int rows, const Arc* list, long long count, W slack, W floor, unsigned* bits,
             long long words, int* tight) {
    __shared__ Arc arcs[run];
    const long long start = blockIdx.x * (long long)run;
    for (int i = threadIdx.x; i < run; i += threads) arcs[i] = list[min(start + i, count - 1)];
    __syncthreads();
    const int r = 32 * (blockIdx.y * warps + threadIdx.x / 32) + threadIdx.x % 32;
    if (r >= width) return;
    const T* const x = turned + r;
    long long head = -1;
    W worst = best_of_all<W>();
    struct alignas(16) { unsigned of[run_words]; } found;
    int many = 0;
#pragma unroll
    for (int word = 0; word < run_words; ++word) {
        unsigned mine = 0;
#pragma unroll
        for (int begin = 0; begin < 32; begin += at_once) {
            W y[at_once];
#pragma unroll
            for (int c = 0; c < at_once; ++c) {
                const Arc arc = arcs[32 * word + begin + c];
                y[c] = Algebra::mul(W(x[arc.tail * (long long)width]), W(arc.weight));
            }
#pragma unroll
            for (int c = 0; c < at_once; ++c) {
                if (const Index next = arcs[32 * word + begin + c].head; next != head) {
                    head = next;
                    const W goal = W(x[head * width]);
                    worst = worst_of(goal, slack, floor);
                }
                mine |= unsigned(!better(worst, y[c])) << (begin + c);
            }
        }
        found.of[word] = mine;
        many += __popc(mine);
    }
    if (r >= rows) return;
    *reinterpret_cast<decltype(found)*>(bits + r * words + blockIdx.x * run_words) = found;
    if (many) atomicAdd(&tight[r], many);
}

// bits ← candidate arcs of the source with row x, no worse than the `worst` of their heads; by all `workers`.
__device__ inline void try_all(const Arcs& arcs, long long count, const T* x, const T* worst, unsigned* bits) {
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

// x ← best sums along walks from s, each summed from s on (Bellman 1958, Ford, Moore); worse arcs are not tight. Racing
// writes may keep the worse value until the next round.
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
