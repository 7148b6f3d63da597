// A ← A* in one launch, as in closing.inl, if A fits in the registers of the device: every block but the leader keeps one
// tile of A in registers throughout. Memory holds only what other blocks need:
//
//   before pivot block p   row panel p and column panel p, up to date, and the block (p, p)
//   after pivot block p    these panels after phase 1, reloaded by the tiles that they cross
//
// For pivot block p and the next, q = p + 64:
//
//   leader            waits at ready(p), loads A[q, q], waits at half(p)
//                 3   A[q, q] ← A[q, q] ⊕ C R, closure; arrives at ready(q)
//   other blocks      wait at ready(p); reload their tile's entries changed by the previous phase 1
//                 1   all tiles of both panels; wait at half(p)
//                 2   update of their tile in registers; store its parts in panels q, and block (q + 64, q + 64)
//                     arrive at ready(q)
//
//   time ─────▶   ready(p)            half(p)                               ready(q)
//   leader          │ loads A[q, q]     │ 3 update of A[q, q], closure         │
//   other blocks    │ 1 panels          │ 2 update in registers, stores        │
//
// The grid must be launched cooperatively, with one block per tile and one more.
#include "closing.inl"

struct Resident : Closing {
    // c ← c ⊕ C R on a tile whose operands are being loaded, from the stage followed by `left` others.
    template <int left = parts - 1>
    __device__ void update(Word (&c)[Large::tm][Large::tn]) const {
        asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
        __syncthreads();
        multiply<Large>(c, (&stage<Large>())[parts - 1 - left], one);
        if constexpr (left > 0) update<left - 1>(c);
    }

    // Origin of this block's tile, beyond A if it has none; reread each time, as no registers are left.
    volatile int* corner;
    __device__ bool place(int& i0, int& j0) const {
        i0 = corner[0], j0 = corner[1];
        return i0 < n;
    }

    __device__ void work(unsigned* half, unsigned* ready) const {
        Word c[Large::tm][Large::tn];
        int i0, j0;
        if (threadIdx.x == 0) corner[0] = (block_rank - 1) / across() * Large::bm, corner[1] = (block_rank - 1) % across() * wide;
        __syncthreads();
        place(i0, j0);
        begin<Large>(c, i0, j0);
#pragma unroll 1
        for (int p = 0; p < n; p += size) {
            arrive_and_wait(ready, p);
            if (place(i0, j0))
                begin<Large>(c, i0, j0, [&](int down, int right) { return down == p / size - 1 || right == p / size - 1; });
            panels<false>(p, 1, num_blocks - 1);
            arrive_and_wait(half, p);
            if (place(i0, j0)) {
#pragma unroll
                for (int part = 0; part < parts; ++part) fetch_part((&stage<Large>())[part], i0, j0, part);
                update(c);
                // The leader has loaded A[q, q]; the block after it must be in memory for its next turn.
                place(i0, j0);
                end(c, i0, j0, [&](int down, int right) {
                    const int now = p / size, next = now + 1, far = now + 2;
                    const bool panel = (down == next) != (right == next);
                    return down != now && right != now && (panel || (down == far && right == far));
                });
                __syncthreads();
            }
        }
        const int last = (n - 1) / size;
        place(i0, j0);
        end(c, i0, j0, [&](int down, int right) { return down != last && right != last; });
    }

    // The leader: phase 3 for each pivot block, while the other blocks are at phase 2.
    __device__ void close_pivots(unsigned* half, unsigned* ready) const {
        auto& s = reinterpret_cast<Lead*>(shared)->column;
#pragma unroll 1
        for (int p = -size, q = 0; p < n; p = q, q += size) {
            if (p >= 0) arrive_and_wait(ready, p, true);
            Word c[Square::tm][Square::tn];
            if (q < n) begin<Square>(c, q, q);
            if (p >= 0) arrive_and_wait(half, p);
            if (q >= n) return;
            if (p >= 0) {
                fetch<size>(s.a, workspace.column + q, workspace.width);
                fetch<size / lanes>(s.b, workspace.row + q / lanes, workspace.width);
                wait_for_copies();
                __syncthreads();
                multiply<Square>(c, s, one);
            }
            close<false>(c, q, ready);
        }
    }

    __device__ void run(unsigned* arrived) const {
        if (block_rank == 0) close_pivots(arrived, arrived + 1);
        else work(arrived, arrived + 1);
    }
};

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    resident(T* A, long long lda, int n, Word* workspace, int width, unsigned* arrived, int one) {
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ int corner[2];
    Resident{{A, lda, n, one, int(blockIdx.x), int(gridDim.x), workspace_at(workspace, width), shared}, corner}.run(arrived);
}
