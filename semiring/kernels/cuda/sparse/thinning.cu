// The best arcs of each vertex of a dense matrix, in lists of `capacity` places; weights are keys, see keys.inl.
#include "keys.inl"

constexpr int threads = 256, capacity = 128;

// The arcs of vertex rows[b], or b, no worse than the `count`-th best of the best arcs of 256 parts of its row: a bound of
// the `count`-th best arc, which few more meet. totals += number of arcs and of their segments of 32; totals[2] ← greatest
// key, totals[3] ← 1 if too many to list.
extern "C" __global__ __launch_bounds__(threads) void list_best(
    const Entry* A, long long lda, int n, const int* rows, int count, int* heads, Key* weights, int* degrees,
    unsigned long long* totals, Entry absent) {
    __shared__ Key best[threads], bound;
    __shared__ int degree;
    __shared__ unsigned long long worst;
    const int v = rows ? rows[blockIdx.x] : blockIdx.x;
    const Entry* const row = A + v * lda;
    Key own = nothing;
    for (int j = threadIdx.x; j < n; j += threads)
        if (j != v) own = min(own, key_of(row[j], absent));
    best[threadIdx.x] = own;
    if (threadIdx.x == 0) degree = 0, worst = 0;
    __syncthreads();
    int before = 0;
    for (int i = 0; i < threads; ++i) before += best[i] < own || (best[i] == own && i < threadIdx.x);
    if (before == count - 1) bound = min(own, nothing - 1);
    __syncthreads();
    heads += 1ll * capacity * blockIdx.x, weights += 1ll * capacity * blockIdx.x;
    for (int j = threadIdx.x; own <= bound && j < n; j += threads) {
        const Key key = key_of(row[j], absent);
        if (key > bound || j == v) continue;
        const int i = atomicAdd(&degree, 1);
        if (i < capacity) heads[i] = j, weights[i] = key;
        atomicMax(&worst, static_cast<unsigned long long>(key));
    }
    __syncthreads();
    if (threadIdx.x) return;
    degrees[blockIdx.x] = min(degree, capacity);
    atomicAdd(totals, static_cast<unsigned long long>(degree));
    atomicAdd(totals + 1, static_cast<unsigned long long>((degree + 31) / 32));
    atomicMax(totals + 2, worst);
    if (degree > capacity) totals[3] = 1;
}

// left[b] ← number of arcs of rows[b] that no walk of two arcs beats whose first is listed.
extern "C" __global__ __launch_bounds__(threads) void count_left(
    const Entry* A, long long lda, int n, const int* rows, const int* heads, const Key* weights, const int* degrees, int* left,
    Entry absent) {
    const int b = blockIdx.y, v = rows[b], j = threads * blockIdx.x + threadIdx.x;
    bool counts = false;
    if (j < n && j != v) {
        Key by_two = nothing;
        for (int i = capacity * b; i < capacity * b + degrees[b]; ++i) {
            const Entry x = A[heads[i] * lda + j];
            if (x != absent) by_two = min(by_two, extended(weights[i], number(key_of(x, absent))));
        }
        const Key own = key_of(A[v * lda + j], absent);
        counts = own != nothing && !(by_two < own);
    }
    const int found = __syncthreads_count(counts);
    if (threadIdx.x == 0 && found) atomicAdd(left + b, found);
}

// Also list the arcs at `places` of the flattened matrix. totals[3] ← 1 if a list is full.
extern "C" __global__ __launch_bounds__(threads) void list_more(
    const Entry* A, long long lda, int n, const long long* places, long long count, int* heads, Key* weights, int* degrees,
    unsigned long long* totals, Entry absent) {
    const long long k = 1ll * threads * blockIdx.x + threadIdx.x;
    if (k >= count) return;
    const int v = int(places[k] / n), j = int(places[k] % n), i = atomicAdd(degrees + v, 1);
    if (i < capacity) {
        heads[1ll * capacity * v + i] = j, weights[1ll * capacity * v + i] = key_of(A[v * lda + j], absent);
    } else {
        totals[3] = 1;
    }
}

// Compact the listed arcs of v to start[v]; a warp per vertex.
extern "C" __global__ __launch_bounds__(threads) void compress(
    const int* heads, const Key* weights, const int* degrees, const int* start, int n, int* to_heads, Weight* to_weights) {
    const int v = blockIdx.x * (threads / 32) + threadIdx.x / 32;
    if (v >= n) return;
    for (int i = threadIdx.x % 32; i < degrees[v]; i += 32) {
        to_heads[start[v] + i] = heads[1ll * capacity * v + i];
        to_weights[start[v] + i] = number(weights[1ll * capacity * v + i]);
    }
}

// to[v] ← Σ exp(−rate · w) · from[u] over the arcs v → u, a power iteration for the growth of searches; a warp per vertex.
extern "C" __global__ __launch_bounds__(threads) void grow(
    const int* start, const int* heads, const Weight* weights, int n, float rate, const float* from, float* to) {
    const int v = blockIdx.x * (threads / 32) + threadIdx.x / 32;
    if (v >= n) return;
    float sum = 0;
    for (int i = start[v] + threadIdx.x % 32; i < start[v + 1]; i += 32) sum += expf(-rate * float(weights[i])) * from[heads[i]];
    for (int k = 16; k; k /= 2) sum += __shfl_xor_sync(~0u, sum, k);
    if (threadIdx.x % 32 == 0) to[v] = max(sum, 1e-30f);
}
