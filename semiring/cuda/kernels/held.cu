// A ← A* in one launch, as in closing.inl, where A fits in the registers of the device: every block but the first, which
// leads, has one tile of A from the first pivot to the last. Memory has what others need of it:
//
//   before pivot block p   row panel p and column panel p, as the updates before have left them, and the block (p, p)
//   after it               these panels, final for this pivot, which tiles then read anew
//
// The grid is to be launched cooperatively, and has a block a tile and one more.
#include "closing.inl"

struct Held : Closing {
    // c ← c ⊕ C R on a tile whose operands are on their way, from the part of k on that `left` others follow.
    template <int left = parts - 1>
    __device__ void update(Word (&c)[Large::tm][Large::tn]) const {
        asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
        __syncthreads();
        multiply<Large>(c, (&stage<Large>())[parts - 1 - left], one);
        if constexpr (left > 0) update<left - 1>(c);
    }

    // Where this block's tile begins, beyond A if it has none; read anew, for want of registers to keep it in.
    __device__ bool place(int& i0, int& j0) const {
        int block;
        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
        i0 = (block - 1) / across() * Large::bm, j0 = (block - 1) % across() * wide;
        return i0 < n;
    }

    __device__ void work(unsigned* half, unsigned* whole) const {
        Word c[Large::tm][Large::tn];
        int i0, j0;
        place(i0, j0);
        begin<Large>(c, i0, j0);
#pragma unroll 1
        for (int p = 0, now = 0; p < n; p += size, ++now) {
            meet(whole, p);
            if (place(i0, j0)) begin<Large>(c, i0, j0, [&](int down, int right) { return down == now - 1 || right == now - 1; });
            panels(p, 1, members - 1);
            meet(half, p);
            if (place(i0, j0)) {
#pragma unroll
                for (int part = 0; part < parts; ++part) fetch_part((&stage<Large>())[part], i0, j0, part);
                update(c);
                // Next is the block (p + 64, p + 64) by the leader; the one after it he wants to have in memory.
                place(i0, j0);
                end(c, i0, j0, [&](int down, int right) {
                    const int next = now + 1, far = now + 2;
                    const bool panel = (down == next) != (right == next);
                    return down != now && right != now && (panel || (down == far && right == far));
                });
                __syncthreads();
            }
            kept_panel(p, members - 1);
        }
        const int last = (n - 1) / size;
        place(i0, j0);
        end(c, i0, j0, [&](int down, int right) { return down != last && right != last; });
    }

    __device__ void run_ahead(unsigned* half, unsigned* whole) const {
        lead(-size, 0, half, whole);
#pragma unroll 1
        for (int p = 0; p < n; p += size) {
            meet(whole, p, true);
            if (p + size < n) lead(p, p + size, half, whole);
            else if (threadIdx.x == 0) arrive(half);
        }
    }

    __device__ void run(unsigned* arrived) const {
        if (member == 0) run_ahead(arrived, arrived + 1);
        else work(arrived, arrived + 1);
    }
};

extern "C" __global__ void __launch_bounds__(threads, resident)
    held(T* A, long long lda, int n, Word* room, int width, unsigned* arrived, int one) {
    extern __shared__ __align__(16) unsigned char shared[];
    Held{{A, lda, n, one, int(blockIdx.x), int(gridDim.x), room_at(room, width), shared}}.run(arrived);
}
