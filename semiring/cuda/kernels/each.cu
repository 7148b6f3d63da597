// A ← A* for `count` matrices with a batch stride of `apart` elements. Every block is a team of its own, with its own
// workspace, and closes one matrix after the other.
#include "blocked.inl"

// This takes a few more registers, which two blocks a multiprocessor do not leave on every architecture.
#if __CUDA_ARCH__ == 900
constexpr int resident_teams = resident;
#else
constexpr int resident_teams = 1;
#endif

extern "C" __global__ void __launch_bounds__(threads, resident_teams)
    each(T* A, long long lda, int n, long long apart, int count, Word* room, int width, int one) {
    extern __shared__ __align__(16) unsigned char shared[];
    room += blockIdx.x * (4ll * size * size + 2ll * size * width);
    for (int m = blockIdx.x; m < count; m += gridDim.x) {
        asm volatile("" : "+r"(n));  // what depends on it is computed again, as no registers are left to keep it
        Blocked{{A + m * apart, lda, n, one, 0, 1, room_at(room, width), shared}}.run(nullptr);
    }
}
