// A ← A* as in closing.inl, with each trailing tile loaded and stored once per pivot block.
//
// For pivot block p and the next, q = p + 64; the leader waits at neither barrier:
//
//   leader        1a  R tile (p, q) ← D R, to A and to the workspace; old C tile (q, p) to the workspace
//                     arrives at half(p)
//                 3   A[q, q] ← A[q, q] ⊕ C R, closure; arrives at ready(q)
//                     meanwhile the half of its threads that the closure does not use waits for all others at ready(q),
//                     and loads A[q, q + 64], A[q + 64, q] and A[q + 64, q + 64] for its next turn
//   other blocks      wait at ready(p)
//                 1   all other tiles of both panels; wait at half(p)
//                 2   trailing tiles but (q, q)
//                 4   C tile (q, p) ← C D, saved before by the leader; arrive at ready(q)
//
//   time ─────▶   ready(p)        half(p)                                            ready(q)
//   leader          │ 1a      3 A[q, q], closure ─────────────────▶ loads for its next turn │ 1a …
//   other blocks    │ 1 panels      │ 2 trailing update                     4 C tile        │ 1 …
//
// A single block does all phases in sequence.
#include "closing.inl"

struct Streaming : Closing {
    // Phase 2, A ← A ⊕ C R, tile by tile, in stages along k: one stage is computed while two are loaded.
    __device__ void trailing(int p, int first, int others) const {
        auto* stages = &stage<Large>();
        const int tiles = down() * across(), now = p / size, next = now + 1;
        int t = block_rank - first, current = 0;
        if (t >= tiles) return;
        int i0 = top(t, now), j0 = left(t, now);
        fetch_part(stages[0], i0, j0, 0), fetch_part(stages[1], i0, j0, 1);
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
                if (t < tiles) fetch_part(stages[current ? current - 1 : 2], i0, j0, part);
                else asm volatile("cp.async.commit_group;" ::: "memory");
                multiply<Large>(c, stages[current], one);
                current = current == 2 ? 0 : current + 1;
            }
            end(c, i, j, [&](int down, int right) {
                return down != now && right != now && (down != next || right != next);
            });
        }
        wait_for_copies();
        __syncthreads();
    }

    // Phase 4, by the last blocks, which have the fewest trailing tiles.
    __device__ void saved_panel(int p, int others) const {
        const int q = p + size;
        for (int t = num_blocks - 1 - block_rank; t * panel < size && q + t * panel < n; t += others) {
            column_panel(p, q + t * panel, true);
            __syncthreads();
        }
    }

    // Phases 1a and 3: from the closed D at p to D at q. With p < 0, the first D alone.
    __device__ void lead(int p, int q, unsigned* half, unsigned* ready) const {
        auto& s = *reinterpret_cast<Lead*>(shared);
        Word c[Square::tm][Square::tn], r[Square::tm][Square::tn];
        if (p < 0) begin<Square>(c, q, q);
        else {
            if (num_blocks == 1) { // phase 2 came in between, in the same shared memory
                fetch<size>(s.row.a, workspace.left(p), size);
                gather<0>(s, p, q);
                __syncthreads();
            }
            clear<Square>(r);
            multiply<Square>(r, s.row, one);
            put_rows<Square>(r, p, q);
            for_runs<Square>(r, [&](int i, int w, Word* run) {
#pragma unroll
                for (int e = 0; e < Square::chunk_n; ++e) s.column.b[i][w + e] = run[e];
            });
            __syncthreads();
            if (num_blocks > 1 && threadIdx.x == 0) arrive(half);
            for_runs<Square>(c, [&](int i, int w, Word* run) {
#pragma unroll
                for (int e = 0; e < Square::chunk_n; ++e) run[e] = Step::begin(s.here[i][w + e]);
            });
            multiply<Square>(c, s.column, one);
        }
        close<true>(c, q, ready);
    }

    __device__ void run(unsigned* arrived) const {
        unsigned *half = arrived, *ready = arrived + 1;
        const bool alone = num_blocks == 1;
        bool leads = false;
#pragma unroll 1
        for (int p = -size; p < n; p += size) {
            const bool came = leads;
            leads = block_rank == 0 && p + size < n;
            if (p >= 0 && !alone && !leads) arrive_and_wait(ready, p, came);
            else __syncthreads();
            if (leads) lead(p, p + size, half, ready);
            if (p < 0 || (leads && !alone)) continue;
            __syncthreads();
            const int first = !alone && p + size < n; // the leader takes no part below
            panels<true>(p, first, num_blocks - first);
            if (alone) __syncthreads();
            else arrive_and_wait(half, p);
            trailing(p, first, num_blocks - first);
            saved_panel(p, num_blocks - first);
        }
    }
};
static_assert(parts == 2, "three stages in turn");
