// Line three of the rule source by source, breadth first: a warp or a thread block per source.

// Input of a search: tight edges by tail, and tolerances. Vertices with more than `hub` edges are deferred to all threads
// together.
struct Search {
    const long long* starts;
    const int* heads;
    const T* weights;
    bool improving, mirrored;
    W slack, floor;
    static constexpr int hub = 128;

    // Every `threads`-th edge out of k, from `mine` on: p[j] ← k if k attains D[i,j] and nothing better came before; put(j)
    // for the first that does.
    template <class Row, class Put>
    __device__ void expand(const Row* d, int* p, long long matrix, int k, int mine, int threads, const Put& put) const {
        const int found = k | REACHED;
        const W near = d[k];
        const long long stop = starts[matrix + k + 1];
#pragma unroll 1
        for (long long e = starts[matrix + k] + mine; e < stop; e += threads) {
            const int j = heads[e];
            const W w = weights[e];
            if (*(volatile int*)&p[j] > found && attained(near, w, d[j], improving, mirrored, slack, floor) &&
                atomicMin(&p[j], found) == OPEN)
                put(j);
        }
    }
    __device__ bool is_hub(long long vertex) const { return starts[vertex + 1] - starts[vertex] > hub; }
};

// Line three of the rule for sources with open pairs: a warp per source, from the last front along listed edges, or, if
// `every`, from all settled vertices. If `begin`, sources start with their own edges alone; `improving`: see `attained`.
// `queues` holds 2 n entries per warp.
extern "C" __global__ void __launch_bounds__(threads, 4)
    levels(const T* D, int* P, int n, long long first_row, long long rows, const Facts* facts, W slack, int wide,
           int mirrored, int improving, int begin, const long long* starts, const int* heads, const T* weights,
           int* queues, int least_lanes, int every, int most_levels, long long* report) {
    __shared__ int ends[warps], hub_ends[warps];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int &end = ends[warp], &hub_end = hub_ends[warp];
    int *const queue = queues + 2 * (blockIdx.x * (long long)warps + warp) * n, *const hubs = queue + n;
    for (long long row = first_row + blockIdx.x * (long long)warps + warp; row < rows; row += gridDim.x * (long long)warps) {
        int* const p = P + row * n;
        const T* const d = D + row * n;
        const int b = int(row / n), i = int(row % n);
        const long long matrix = (long long)b * n;
        const Search edges = {
            starts, heads, weights, improving || facts[b].improving, bool(mirrored), slack, floor_of(facts[b], wide)};
        int open = 0, to = 0;
        for (int first = 0; first < n; first += 32) {
            const int j = first + lane, v = j < n ? p[j] : NONE;
            open += __popc(__ballot_sync(full_mask, v == OPEN));
            const bool reached = v != OPEN && v >= (every ? 0 : REACHED);
            const unsigned them = __ballot_sync(full_mask, reached);
            if (reached) {
                queue[to + __popc(them & ((1u << lane) - 1))] = j;
                p[j] = v & ~REACHED;
            }
            to += __popc(them);
        }
        if (!open) continue;
        if (begin) {
            open = 0;
            for (int first = 0; first < n; first += 32) {
                const int j = first + lane;
                const bool path = j < n && j != i && W(d[j < n ? j : 0]) != Algebra::zero();
                if (j < n) p[j] = path ? OPEN : NONE;
                open += __popc(__ballot_sync(full_mask, path));
            }
            __syncwarp();
            to = int(starts[row + 1] - starts[row]);
            for (int e = lane; e < to; e += 32) {
                const int j = heads[starts[row] + e];
                queue[e] = j;
                p[j] = i;
            }
            open -= to;
        }
        const auto put = [&](int j) { queue[atomicAdd(&end, 1)] = j; };
        if (lane == 0) end = to, hub_end = 0;
        __syncwarp();
        for (int from = 0; open > 0 && from < to;) {
            int lanes = least_lanes; // per vertex of the front
            while (lanes < 32 && 2 * lanes * (to - from) <= 32) lanes *= 2;
            for (int q = from + lane / lanes; q < to; q += 32 / lanes) {
                const int k = queue[q];
                if (!edges.is_hub(matrix + k)) edges.expand(d, p, matrix, k, lane % lanes, lanes, put);
                else if (lane % lanes == 0) hubs[atomicAdd(&hub_end, 1)] = k;
            }
            __syncwarp();
            for (int h = *(volatile int*)&hub_end - 1; h >= 0; --h) edges.expand(d, p, matrix, hubs[h], lane, 32, put);
            __syncwarp();
            from = to;
            to = *(volatile int*)&end;
            open -= to - from;
            for (int q = from + lane; q < to; q += 32) atomicAnd(&p[queue[q]], ~REACHED);
            if (lane == 0) hub_end = 0;
            __syncwarp();
        }
        if (open > 0 && lane == 0) report[FAILED] = 1;
        __syncwarp();
    }
}

// `levels` with a thread block per source, rows of D and P in shared memory. After `most_levels` open pairs are left: with
// few vertices per level, many warps are faster than few blocks.
extern "C" __global__ void __launch_bounds__(searchers, 2)
    search(const T* D, int* P, int n, long long first_row, long long rows, const Facts* facts, W slack, int wide,
           int mirrored, int improving, int begin, const long long* starts, const int* heads, const T* weights,
           int* queues, int least_lanes, int every, int most_levels, long long* report) {
    extern __shared__ long long shared_memory[];
    T* const d = reinterpret_cast<T*>(shared_memory);
    int* const p = reinterpret_cast<int*>(shared_memory + (n * sizeof(T) + 7) / 8);
    unsigned short *const queue = reinterpret_cast<unsigned short*>(p + n), *const hubs = queue + n;
    __shared__ int end, hub_end, opened;
    const int lane = threadIdx.x % 32;
    for (long long row = first_row + blockIdx.x; row < rows; row += gridDim.x) {
        const int b = int(row / n), i = int(row % n);
        const long long matrix = (long long)b * n;
        const Search edges = {
            starts, heads, weights, improving || facts[b].improving, bool(mirrored), slack, floor_of(facts[b], wide)};
        if (threadIdx.x == 0) end = hub_end = opened = 0;
        __syncthreads();
        for (int from = 0; from < n; from += searchers) {
            const int j = from + int(threadIdx.x);
            const int v = j < n ? P[row * n + j] : NONE;
            const bool reached = v != OPEN && v >= REACHED, first = v != OPEN && v >= (every ? 0 : REACHED);
            if (j < n) {
                d[j] = D[row * n + j];
                p[j] = reached ? v & ~REACHED : v;
            }
            if (reached) P[row * n + j] = v & ~REACHED; // final, if nothing here is open
            const unsigned open = __ballot_sync(full_mask, v == OPEN), them = __ballot_sync(full_mask, first);
            int position = 0;
            if (lane == 0 && open) atomicAdd(&opened, __popc(open));
            if (lane == 0 && them) position = atomicAdd(&end, __popc(them));
            position = __shfl_sync(full_mask, position, 0) + __popc(them & ((1u << lane) - 1));
            if (first) queue[position] = (unsigned short)j;
        }
        __syncthreads();
        int open = opened;
        if (!open) {
            __syncthreads();
            continue;
        }
        if (begin) {
            __syncthreads();
            if (threadIdx.x == 0) opened = 0;
            __syncthreads();
            for (int from = 0; from < n; from += searchers) {
                const int j = from + int(threadIdx.x);
                const bool path = j < n && j != i && W(d[j < n ? j : 0]) != Algebra::zero();
                if (j < n) p[j] = path ? OPEN : NONE;
                const unsigned them = __ballot_sync(full_mask, path);
                if (lane == 0 && them) atomicAdd(&opened, __popc(them));
            }
            __syncthreads();
            const int own = int(starts[row + 1] - starts[row]);
            for (int e = threadIdx.x; e < own; e += searchers) {
                const int j = heads[starts[row] + e];
                queue[e] = (unsigned short)j;
                p[j] = i;
            }
            open = opened - own;
            if (threadIdx.x == 0) end = own;
            __syncthreads();
        }
        const auto put = [&](int j) { queue[atomicAdd(&end, 1)] = (unsigned short)j; };
        int from = 0, to = end;
        __syncthreads();
        for (int level = 0; open > 0 && from < to && level < most_levels; ++level) {
            int lanes = least_lanes; // per vertex of the front
            while (lanes < 32 && 2 * lanes * (to - from) <= searchers) lanes *= 2;
            for (int q = from + threadIdx.x / lanes; q < to; q += searchers / lanes) {
                const int k = queue[q];
                if (!edges.is_hub(matrix + k)) edges.expand(d, p, matrix, k, threadIdx.x % lanes, lanes, put);
                else if (threadIdx.x % lanes == 0) hubs[atomicAdd(&hub_end, 1)] = (unsigned short)k;
            }
            __syncthreads();
            const int many = hub_end;
            if (many) {
                for (int h = 0; h < many; ++h) edges.expand(d, p, matrix, hubs[h], threadIdx.x, searchers, put);
                __syncthreads();
            }
            from = to;
            to = end;
            open -= to - from;
            for (int q = from + threadIdx.x; q < to; q += searchers) p[queue[q]] &= ~REACHED;
            if (many && threadIdx.x == 0) hub_end = 0; // if there are none, others may not have read it yet
            __syncthreads();
        }
        if (open > 0) {
            for (int q = from + threadIdx.x; q < to; q += searchers) p[queue[q]] |= REACHED;
            if (threadIdx.x == 0) report[from < to ? STILL_OPEN : FAILED] = 1;
            __syncthreads();
        }
        for (int j = threadIdx.x; j < n; j += searchers) P[row * n + j] = p[j];
        __syncthreads();
    }
}
