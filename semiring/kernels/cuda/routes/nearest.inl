// Line two of the rule: a warp has one target j and `sources` sources. `settled` ← served pairs.
extern "C" __global__ void __launch_bounds__(threads, resident)
    nearest(const T* A, const T* Dt, const T* top, int n, int words, int batch, const Facts* facts, W slack,
            int mirrored, const unsigned* nearer, int most, const int* tails, const T* weights, const int* counts,
            int* Pt, unsigned* settled, long long* report) {
    const int lane = threadIdx.x % 32, j = blockIdx.x * warps + threadIdx.x / 32, first = blockIdx.y * sources;
    if (j >= n) return;
    for (int b = blockIdx.z; b < batch; b += gridDim.z) {
        const long long matrix = (long long)b * n, row = matrix + j;
        int p[groups];
        unsigned changed = 0;
        bool open = false;
#pragma unroll
        for (int r = 0; r < groups; ++r) {
            const int i = first + 32 * r + lane;
            p[r] = i < n ? Pt[row * n + i] : NONE;
        }
#pragma unroll
        for (int r = 0; r < groups; ++r) open |= p[r] == OPEN;
        if (__any_sync(full_mask, open) && !facts[b].improving) {
            W goal[groups], best[groups], lead[groups];
#pragma unroll
            for (int r = 0; r < groups; ++r) {
                const int i = first + 32 * r + lane;
                goal[r] = i < n ? W(Dt[row * n + i]) : Algebra::zero();
                lead[r] = i < n ? W(top[matrix + i]) : Algebra::zero();
            }
            // A source already served, or without better vertices, gets a goal that nothing beats.
            open = false;
#pragma unroll
            for (int r = 0; r < groups; ++r) {
                const bool wanted = p[r] == OPEN && better(lead[r], goal[r]);
                best[r] = wanted ? limit(goal[r], goal[r], slack) : Algebra::one();
                goal[r] = wanted ? goal[r] : Algebra::one();
                open |= wanted;
            }
            if (__any_sync(full_mask, open))
                for_edges(A, matrix, j, n, nearer, words, most, tails, weights, counts, lane, [&](const Candidate& c) {
                    // The sum with the best of all D[i,k] is a bound: most edges prove too long.
                    W near = Algebra::zero(), far = Algebra::one();
#pragma unroll
                    for (int r = 0; r < groups; ++r)
                        if (goal[r] != Algebra::one()) {
                            near = better(lead[r], near) ? lead[r] : near;
                            far = better(far, best[r]) ? best[r] : far;
                        }
                    for (int half = 16; half; half /= 2) {
                        const W one = __shfl_xor_sync(full_mask, near, half);
                        const W other = __shfl_xor_sync(full_mask, far, half);
                        near = better(one, near) ? one : near;
                        far = better(far, other) ? other : far;
                    }
                    const W soonest = times<Step>(near, c.w, mirrored);
                    unsigned candidates =
                        __ballot_sync(full_mask, c.present && (rounds ? better(soonest, far) : !better(far, soonest)));
                    while (candidates) {
                        int k[ahead];
                        W w[ahead], d[ahead][groups];
#pragma unroll
                        for (int e = 0; e < ahead; ++e) {
                            const int from = __ffs(candidates) - 1;
                            k[e] = e && !candidates ? k[e - 1] : __shfl_sync(full_mask, c.k, from & 31);
                            w[e] = e && !candidates ? w[e - 1] : __shfl_sync(full_mask, c.w, from & 31);
                            candidates &= candidates - 1;
                        }
                        each_entry<ahead, groups>([&](int e, int r) {
                            const int i = first + 32 * r + lane;
                            d[e][r] = i < n ? W(Dt[(matrix + k[e]) * n + i]) : Algebra::zero();
                        });
                        bool left = false;
#pragma unroll
                        for (int r = 0; r < groups; ++r) {
#pragma unroll
                            for (int e = 0; e < ahead; ++e) {
                                const W s = times<Step>(d[e][r], w[e], mirrored);
                                // If ⊗ rounds: the first whose sum is as good as the goal, else that of the best sum.
                                const bool taken =
                                    better(d[e][r], goal[r]) && (rounds ? better(s, best[r]) : s == goal[r]);
                                if (taken) {
                                    p[r] = k[e];
                                    changed |= 1u << r;
                                    if (!rounds || !better(goal[r], s)) goal[r] = Algebra::one();
                                    best[r] = s;
                                }
                            }
                            left |= goal[r] != Algebra::one();
                        }
                        if (!__any_sync(full_mask, left)) return true;
                    }
                    return false;
                });
        }
        bool still = false;
#pragma unroll
        for (int r = 0; r < groups; ++r) {
            const int i = first + 32 * r;
            const unsigned served = __ballot_sync(full_mask, p[r] >= 0 && p[r] != OPEN);
            if (lane == 0) settled[row * words + i / 32] = served;
            if (changed >> r & 1) Pt[row * n + i + lane] = p[r];
            still |= p[r] == OPEN;
        }
        if (still) report[STILL_OPEN] = 1;
    }
}
