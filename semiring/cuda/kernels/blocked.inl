// A ← A* as in closing.inl, where a tile of the trailing matrix comes from memory and goes back for each pivot.
#include "closing.inl"

struct Blocked : Closing {
    // A ← A ⊕ C R: part of k after part, tile after tile; two parts are on their way while one is computed on.
    __device__ void trailing(int p, int first, int others) const {
        auto* ring = &stage<Large>();
        const int tiles = down() * across(), now = p / size, next = now + 1;
        int t = member - first, at = 0;
        if (t >= tiles) return;
        int i0 = top(t, now), j0 = left(t, now);
        fetch_part(ring[0], i0, j0, 0), fetch_part(ring[1], i0, j0, 1);
        Word c[Large::tm][Large::tn];
#pragma unroll 1
        while (t < tiles) {
            begin<Large>(c, i0, j0);
            const int i = i0, j = j0;
            t += others;
            i0 = top(t, now), j0 = left(t, now);
#pragma unroll 1
            for (int part = 0; part < parts; ++part) {
                asm volatile("cp.async.wait_group 1;" ::: "memory");
                __syncthreads();
                if (t < tiles) fetch_part(ring[at ? at - 1 : 2], i0, j0, part);
                else asm volatile("cp.async.commit_group;" ::: "memory");
                multiply<Large>(c, ring[at], one);
                at = at == 2 ? 0 : at + 1;
            }
            end(c, i, j, [&](int down, int right) {
                return down != now && right != now && (down != next || right != next);
            });
        }
        wait_for_copies();
        __syncthreads();
    }

    __device__ void run(unsigned* arrived) const {
        unsigned *half = arrived, *whole = arrived + 1;
        const bool alone = members == 1;
        bool leads = false;
#pragma unroll 1
        for (int p = -size; p < n; p += size) {
            if (p >= 0 && !alone) meet(whole, p, leads);
            else __syncthreads();
            leads = member == 0 && p + size < n;
            if (leads) lead(p, p + size, half, whole);
            if (p < 0 || (leads && !alone)) continue;
            __syncthreads();
            const int first = !alone && p + size < n;  // the leader has no part in the rest
            panels(p, first, members - first);
            if (alone) __syncthreads();
            else meet(half, p);
            trailing(p, first, members - first);
            kept_panel(p, members - first);
        }
    }
};
static_assert(parts == 2, "a ring of three stages");
