// Locality order of vertices, matrices in that order, and bounds per tile that let a product skip work.

constexpr int sorters = 512;

// Sort each of `groups` of the order by the difference of distances to two far members. A block per group; `size` is a power
// of two, at least the group's.
extern "C" __global__ void __launch_bounds__(sorters)
    halve(const T* D, long long pitch, int n, int groups, int size, Index* order) {
    extern __shared__ __align__(16) unsigned char shared[];
    auto* const farthest = reinterpret_cast<unsigned long long*>(shared);  // 2
    auto* const keys = reinterpret_cast<float*>(farthest + 2);
    auto* const members = reinterpret_cast<Index*>(keys + size);
    const int begin = int((long long)n * blockIdx.x / groups), count = int((long long)n * (blockIdx.x + 1) / groups) - begin;
    const auto away = [&](int from, int to) {
        const W d = W(D[from * pitch + to]);
        return d == Algebra::zero() ? 1e38f : least ? float(d) : -float(d);
    };
    for (int e = threadIdx.x; e < count; e += sorters) members[e] = order[begin + e];
    if (threadIdx.x < 2) farthest[threadIdx.x] = 0;
    __syncthreads();
    int from = 0;
    for (int end = 0; end < 2; ++end) {
        for (int e = threadIdx.x; e < count; e += sorters) {
            const unsigned seen = __float_as_uint(away(members[from], members[e]));
            const unsigned key = seen >> 31 ? ~seen : seen | 1u << 31; // sorts as numbers do
            atomicMax(&farthest[end], (unsigned long long)key << 32 | unsigned(e));
        }
        __syncthreads();
        from = int(farthest[end] & 0xffffffffu);
    }
    const int a = members[farthest[0] & 0xffffffffu], b = members[from];
    for (int e = threadIdx.x; e < size; e += sorters)
        keys[e] = e < count ? fmaxf(-3e38f, fminf(3e38f, away(a, members[e]) - away(b, members[e]))) : INFINITY;
    __syncthreads();
    for (int length = 2; length <= size; length *= 2)  // Batcher 1968
        for (int apart = length / 2; apart; apart /= 2) {
            for (int e = threadIdx.x; e < size / 2; e += sorters) {
                const int i = e / apart * 2 * apart + e % apart, j = i + apart;
                const float x = keys[i], y = keys[j];
                if (i & length ? x >= y : x <= y) continue;
                const Index member = members[i];
                keys[i] = y, keys[j] = x, members[i] = members[j], members[j] = member;
            }
            __syncthreads();
        }
    for (int e = threadIdx.x; e < count; e += sorters) order[begin + e] = members[e];
}

// place[order[i]] ← i.
extern "C" __global__ void __launch_bounds__(threads) invert(const Index* order, int n, Index* place) {
    const int i = blockIdx.x * threads + threadIdx.x;
    if (i < n) place[order[i]] = Index(i);
}

// sorted ← D, and weights ← arcs' weights, in that order and without loops; no path elsewhere. A block per row, in shared
// memory.
extern "C" __global__ void __launch_bounds__(threads)
    sort_rows(const T* D, long long pitch, int n, const Index* order, const Index* place, const long long* starts,
              const Index* heads, const T* of, long long apart, T* sorted, T* weights) {
    extern __shared__ __align__(16) unsigned char shared[];
    T* const row = reinterpret_cast<T*>(shared);
    const int i = blockIdx.x, v = order[i];
    for (int j = threadIdx.x; j < n; j += threads) row[j] = D[v * pitch + j];
    __syncthreads();
    for (int j = threadIdx.x; j < apart; j += threads)
        sorted[i * apart + j] = j < n && j != i ? row[order[j]] : T(Algebra::zero());
    __syncthreads();
    for (int j = threadIdx.x; j < apart; j += threads) row[j] = T(Algebra::zero());
    __syncthreads();
    for (long long e = starts[v] + threadIdx.x; e < starts[v + 1]; e += threads) row[place[heads[e]]] = of[e];
    __syncthreads();
    for (int j = threadIdx.x; j < apart; j += threads) weights[i * apart + j] = row[j];
}

// near[g, k] ← the best X[r, k] of `together` rows r.
extern "C" __global__ void __launch_bounds__(threads)
    best_of_rows(const T* X, long long apart, int n, int together, T* near) {
    const int k = blockIdx.x * threads + threadIdx.x, first = blockIdx.y * together;
    if (k >= n) return;
    W best = Algebra::zero();
#pragma unroll 8
    for (int r = first; r < min(first + together, n); ++r)
        if (const W x = W(X[r * apart + k]); better(x, best)) best = x;
    near[blockIdx.y * (long long)n + k] = T(best);
}

// near[g, k] ← the best X[k, c] of `together` columns c; a warp per row.
extern "C" __global__ void __launch_bounds__(threads)
    best_of_columns(const T* X, long long apart, int n, int together, T* near) {
    const int k = blockIdx.x * warps + threadIdx.x / 32, first = blockIdx.y * together, lane = threadIdx.x % 32;
    if (k >= n) return;
    W best = Algebra::zero();
    for (int c = first + lane; c < min(first + together, n); c += 32)
        if (const W x = W(X[k * apart + c]); better(x, best)) best = x;
    for (int half = 16; half; half /= 2) {
        const W other = __shfl_xor_sync(full_mask, best, half);
        best = better(other, best) ? other : best;
    }
    if (lane == 0) near[blockIdx.y * (long long)n + k] = T(best);
}
