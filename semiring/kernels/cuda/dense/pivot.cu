// D ← A*: Floyd–Warshall on matrices of at most 64 rows, one per thread block; `batch_stride` in elements. A may alias D.
//
// The prelude gives `tm` and `tn`, rows and columns per thread, and `min_blocks`, thread blocks per multiprocessor that must
// fit in registers.
#include "pivot.cuh"

using Block = Pivot<Step, tm, tn>;

extern "C" __global__ void __launch_bounds__(Block::threads, min_blocks)
    pivot(Step::T* D, long long ld, const Step::T* A, long long lda, int n, long long batch_stride) {
    __shared__ Block::Shared shared;
    D += blockIdx.x * batch_stride, A += blockIdx.x * batch_stride;
    Step::W d[tm][tn];
    Block::load(threadIdx.x, d, A, lda, n);
    Block::close(threadIdx.x, d, shared, n);
    Block::store(threadIdx.x, D, ld, n, d);
}
