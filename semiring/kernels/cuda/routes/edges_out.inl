// CSR of the tight edges by tail: count, prefix sum, fill.

// starts[row + 1] ← number of tight edges out of a vertex; a warp per row.
extern "C" __global__ void __launch_bounds__(threads)
    count(const unsigned* leaving, int n, int words, long long rows, long long* starts) {
    const int lane = threadIdx.x % 32;
    const long long row = blockIdx.x * (long long)warps + threadIdx.x / 32;
    if (row >= rows) return;
    int edges = 0;
    for (int w = lane; w < (n + 31) / 32; w += 32) edges += __popc(leaving[row * words + w]);
    for (int half = 16; half; half /= 2) edges += __shfl_xor_sync(full_mask, edges, half);
    if (lane == 0) starts[row + 1] = edges;
}

// starts ← inclusive prefix sums; one block.
extern "C" __global__ void __launch_bounds__(1024) add_up(long long* starts, long long rows) {
    __shared__ long long sums[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    long long before = 0;
    if (threadIdx.x == 0) starts[0] = 0;
    for (long long first = 0; first < rows; first += 1024) {
        const long long index = first + threadIdx.x;
        long long sum = prefix_sum(index < rows ? starts[index + 1] : 0);
        if (lane == 31) sums[warp] = sum;
        __syncthreads();
        if (warp == 0) sums[lane] = prefix_sum(sums[lane]);
        __syncthreads();
        sum += before + (warp ? sums[warp - 1] : 0);
        if (index < rows) starts[index + 1] = sum;
        before += sums[31];
        __syncthreads();
    }
}

// Heads and weights of the tight edges out of each vertex; a warp per row.
extern "C" __global__ void __launch_bounds__(threads)
    list(const T* A, const unsigned* leaving, int n, int words, long long rows, const long long* starts, int* heads,
         T* weights) {
    const int lane = threadIdx.x % 32;
    const long long row = blockIdx.x * (long long)warps + threadIdx.x / 32;
    if (row >= rows) return;
    long long position = starts[row];
    for (int w = 0; w < (n + 31) / 32; ++w) {
        const unsigned word = leaving[row * words + w]; // uniform in a warp
        if (word >> lane & 1) {
            const long long here = position + __popc(word & ((1u << lane) - 1));
            heads[here] = 32 * w + lane;
            weights[here] = A[row * n + 32 * w + lane];
        }
        position += __popc(word);
    }
}
