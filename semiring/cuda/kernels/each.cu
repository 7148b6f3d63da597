// A ← A* for `count` matrices that lie `apart` elements from each other. Every block is a team of its own, with its own
// room, and takes one matrix after the other.
#include "blocked.inl"

// That takes a few registers more, which two blocks a multiprocessor do not leave on every architecture.
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
        asm volatile("" : "+r"(n));  // what follows from it is worked out anew, for want of registers
        Blocked{{A + m * apart, lda, n, one, 0, 1, room_at(room, width), shared}}.run(nullptr);
    }
}
