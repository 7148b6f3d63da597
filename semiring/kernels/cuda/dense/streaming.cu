// A ← A* in one cooperative launch of the entire grid.
#include "streaming.inl"

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    streaming(T* A, long long lda, int n, Word* workspace, int width, unsigned* arrived, int one) {
    extern __shared__ __align__(16) unsigned char shared[];
    Streaming{{A, lda, n, one, int(blockIdx.x), int(gridDim.x), workspace_at(workspace, width), shared}}.run(arrived);
}
