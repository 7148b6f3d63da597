// Line three of the rule for all pairs together, level by level, on transposed tables; and the transposition.

// One level of line three of the rule for all pairs, from those settled `before`; `after` adds the new ones.
extern "C" __global__ void __launch_bounds__(threads, sizeof(W) > 4 ? 3 : 4)
    level(const T* A, const T* Dt, int n, int words, int batch, const Facts* facts, W slack, int mirrored,
          const unsigned* entering, int most, const int* tails, const T* weights, const int* counts,
          const unsigned* before, unsigned* after, int* Pt, long long* report) {
    const int lane = threadIdx.x % 32, j = blockIdx.x * warps + threadIdx.x / 32, first = blockIdx.y * sources;
    if (j >= n) return;
    for (int b = blockIdx.z; b < batch; b += gridDim.z) {
        const long long matrix = (long long)b * n, row = matrix + j;
        const bool improving = facts[b].improving;
        const W floor = floor_of(facts[b], false);
        const uint4 was = *reinterpret_cast<const uint4*>(before + row * words + first / 32);
        unsigned open[groups], found[groups] = {}, any = 0;
        int p[groups];
        W goal[groups];
#pragma unroll
        for (int r = 0; r < groups; ++r) {
            const int i = first + 32 * r + lane;
            p[r] = i < n ? Pt[row * n + i] : NONE;
        }
#pragma unroll
        for (int r = 0; r < groups; ++r) any |= open[r] = __ballot_sync(full_mask, p[r] == OPEN);
        if (any) {
#pragma unroll
            for (int r = 0; r < groups; ++r) {
                const int i = first + 32 * r + lane;
                goal[r] = i < n ? W(Dt[row * n + i]) : Algebra::zero();
            }
            for_edges(A, matrix, j, n, entering, words, most, tails, weights, counts, lane, [&](const Candidate& c) {
                uint4 from = {0, 0, 0, 0};
                if (c.present) from = *reinterpret_cast<const uint4*>(before + (matrix + c.k) * words + first / 32);
                const unsigned mine[groups] = {from.x, from.y, from.z, from.w};
                unsigned candidates = __ballot_sync(
                    full_mask, mine[0] & open[0] || mine[1] & open[1] || mine[2] & open[2] || mine[3] & open[3]);
                for (; candidates; candidates &= candidates - 1) {
                    const int e = __ffs(candidates) - 1, k = __shfl_sync(full_mask, c.k, e);
                    const W w = __shfl_sync(full_mask, c.w, e);
                    unsigned left = 0;
#pragma unroll
                    for (int r = 0; r < groups; ++r) {
                        const unsigned these = __shfl_sync(full_mask, mine[r], e) & open[r];
                        if (these) {
                            const int i = first + 32 * r + lane;
                            const W d = i < n ? W(Dt[(matrix + k) * n + i]) : Algebra::zero();
                            const bool now =
                                these >> lane & 1 && attained(d, w, goal[r], improving, mirrored, slack, floor);
                            if (now) Pt[row * n + i] = k | REACHED;
                            const unsigned them = __ballot_sync(full_mask, now);
                            found[r] |= them;
                            open[r] &= ~them;
                        }
                        left |= open[r];
                    }
                    if (!left) return true;
                }
                return false;
            });
        }
        if (lane == 0) {
            *reinterpret_cast<uint4*>(after + row * words + first / 32) = {was.x | found[0], was.y | found[1],
                                                                           was.z | found[2], was.w | found[3]};
            if (open[0] | open[1] | open[2] | open[3]) report[STILL_OPEN] = 1;
            if (found[0] | found[1] | found[2] | found[3]) report[FOUND] = 1;
        }
    }
}

// P ← Pᵀ in place, by 32 × 32 tiles and their mirror images; `settle`: no level follows.
extern "C" __global__ void __launch_bounds__(threads) turn(int* P, int n, int batch, int settle) {
    __shared__ int one[32][33], other[32][33];
    const int x = threadIdx.x % 32, y = threadIdx.x / 32, i0 = blockIdx.y * 32, j0 = blockIdx.x * 32;
    if (i0 > j0) return;
    const auto stored = [&](int p) { return settle && p >= 0 && p != OPEN ? p & ~REACHED : p; };
    for (int b = blockIdx.z; b < batch; b += gridDim.z) {
        int* const p = P + (long long)b * n * n;
        constexpr int each = 32 / warps;
        int mine[each], theirs[each];
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const int r = y + e * warps;
            mine[e] = i0 + r < n && j0 + x < n ? p[(i0 + r) * (long long)n + j0 + x] : NONE;
            theirs[e] = j0 + r < n && i0 + x < n ? p[(j0 + r) * (long long)n + i0 + x] : NONE;
        }
#pragma unroll
        for (int e = 0; e < each; ++e) {
            one[y + e * warps][x] = stored(mine[e]);
            other[y + e * warps][x] = stored(theirs[e]);
        }
        __syncthreads();
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const int r = y + e * warps;
            if (j0 + r < n && i0 + x < n) p[(j0 + r) * (long long)n + i0 + x] = one[x][r];
            if (i0 + r < n && j0 + x < n) p[(i0 + r) * (long long)n + j0 + x] = other[x][r];
        }
        __syncthreads();
    }
}
