// D ← A*: Floyd–Warshall on matrices of at most 64 rows, one to a thread block; `apart` is their batch stride in elements.
// A may be D.
//
// The prelude gives `tm` and `tn`, a thread's rows and columns, and `resident`, the blocks that a multiprocessor holds.
#include "pivot.cuh"

using Block = Pivot<Step, tm, tn>;

// As many as suit sm_90. Elsewhere a step may take a few more registers, and none may be spilled.
#if __CUDA_ARCH__ == 900
constexpr int resident_blocks = resident;
#else
constexpr int resident_blocks = (resident + 1) / 2;
#endif

extern "C" __global__ void __launch_bounds__(Block::threads, resident_blocks)
    pivot(Step::T* D, long long ld, const Step::T* A, long long lda, int n, long long apart) {
    __shared__ Block::Shared shared;
    D += blockIdx.x * apart, A += blockIdx.x * apart;
    Step::W d[tm][tn];
    Block::load(threadIdx.x, d, A, lda, n);
    Block::close(threadIdx.x, d, shared, n);
    Block::store(threadIdx.x, D, ld, n, d);
}
