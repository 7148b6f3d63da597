// A ← A* for `count` matrices `batch_stride` elements apart. Every thread block has its own workspace, and closes one
// matrix after the other by itself.
#include "streaming.inl"

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    batched(T* A, long long lda, int n, long long batch_stride, int count, Word* workspace, int width, int one) {
    extern __shared__ __align__(16) unsigned char shared[];
    workspace += blockIdx.x * (4ll * size * size + 2ll * size * width);
    for (int m = blockIdx.x; m < count; m += gridDim.x) {
        asm volatile("" : "+r"(n));  // what depends on it is computed again, as no registers are left to keep it
        Streaming{{A + m * batch_stride, lda, n, one, 0, 1, workspace_at(workspace, width), shared}}.run(nullptr);
    }
}
