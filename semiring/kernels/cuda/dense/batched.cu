// A ← A* for `count` matrices `batch_stride` elements apart. Each thread block, with its own workspace, closes one matrix
// after the other.
#include "streaming.inl"

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    batched(T* A, long long lda, int n, long long batch_stride, int count, Word* workspace, int width, int one) {
    extern __shared__ __align__(16) unsigned char shared[];
    workspace += blockIdx.x * (4ll * size * size + 2ll * size * width);
    for (int m = blockIdx.x; m < count; m += gridDim.x) {
        asm volatile("" : "+r"(n)); // recompute its dependents: no registers are left for them
        Streaming{{A + m * batch_stride, lda, n, one, 0, 1, workspace_at(workspace, width), shared}}.run(nullptr);
    }
}
