// A ← A* in one launch by the whole grid, which must be launched cooperatively.
#include "blocked.inl"

extern "C" __global__ void __launch_bounds__(threads, resident)
    blocked(T* A, long long lda, int n, Word* room, int width, unsigned* arrived, int one) {
    extern __shared__ __align__(16) unsigned char shared[];
    Blocked{{A, lda, n, one, int(blockIdx.x), int(gridDim.x), room_at(room, width), shared}}.run(arrived);
}
