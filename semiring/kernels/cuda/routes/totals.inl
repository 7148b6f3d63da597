// Totals of edges and of vertices, from sums along arcs.

// total[order[p]] += integer sums, which are reset; −1 is none. Without an order, total[p].
extern "C" __global__ void __launch_bounds__(threads)
    join(Bits* along, const long long* order, long long count, double most, double* total) {
    const double back = inverse(scale_of(most));
    const long long p = blockIdx.x * (long long)threads + threadIdx.x;
    const Bits amount = p < count ? along[p] : 0;
    if (!amount) return;
    const long long to = order ? order[p] : p;
    if (to < 0) return;
    total[to] += (long long)amount * back;
    along[p] = 0;
}

// along[e] ← entry of a table by (head, tail). A block per tail.
extern "C" __global__ void __launch_bounds__(threads)
    gather(const double* table, const long long* starts, const Index* heads, int n, double* along) {
    for (long long e = starts[blockIdx.x] + threadIdx.x; e < starts[blockIdx.x + 1]; e += threads)
        along[e] = table[heads[e] * (long long)n + blockIdx.x];
}

// sums[v] ← sum of the list of v, of values in `order` (−1 is none), or in place; a warp per list.
extern "C" __global__ void __launch_bounds__(threads)
    sum_lists(const double* values, const long long* starts, const long long* order, int n, double* sums) {
    const int lane = threadIdx.x % 32;
    const long long v = blockIdx.x * (long long)warps + threadIdx.x / 32;
    if (v >= n) return;
    double sum = 0;
    for (long long p = starts[v] + lane; p < starts[v + 1]; p += 32) {
        const long long e = order ? order[p] : p;
        if (e >= 0) sum += values[e];
    }
    for (int half = 16; half; half /= 2) sum += __shfl_xor_sync(full_mask, sum, half);
    if (lane == 0) sums[v] = sum;
}
