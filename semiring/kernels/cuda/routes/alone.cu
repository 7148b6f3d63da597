// Predecessors of small matrices, one thread block each; see predecessors.cu for the prelude. A separate unit, as most calls
// need either this or the other kernels.
#include "algebra.cuh"
#include "rule.inl"

// The whole rule for matrices of up to 64 vertices, a thread block per matrix, in shared memory. Reports open pairs, in which
// case its output is void.
extern "C" __global__ void __launch_bounds__(threads)
    alone(const T* A, const T* D, int n, int batch, W slack, int mirrored, int* P, long long* report) {
    extern __shared__ long long shared_memory[];
    __shared__ unsigned long long entering[64], settled[64], largest;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, pitch = n | 1;
    int* const p = reinterpret_cast<int*>(shared_memory);
    T *const a = reinterpret_cast<T*>(shared_memory + (n * pitch + 1) / 2), *const d = a + n * pitch;
    for (int b = blockIdx.x; b < batch; b += gridDim.x) {
        const long long first = (long long)b * n * n;
        bool beats = false;
        for (int index = threadIdx.x; index < n * n; index += threads) {
            const int here = index / n * pitch + index % n;
            const T x = A[first + index];
            a[here] = x;
            d[here] = D[first + index];
            beats |= better(W(x), Algebra::one());
        }
        if (threadIdx.x == 0) largest = 0;
        Facts facts = {0, __syncthreads_or(beats), 0};
        if (rounds && lengths && facts.improving) {
            for (int index = threadIdx.x; index < n * n; index += threads) {
                const W size = size_of(W(d[index / n * pitch + index % n]));
                if (size < W(INFINITY)) atomicMax(&largest, (unsigned long long)__double_as_longlong(double(size)));
            }
            __syncthreads();
            facts.largest = largest;
        }
        const W floor = floor_of(facts, false);
        // Lines one and two: a warp has a target, a lane sources lane and lane + 32.
        for (int j = warp; j < n; j += warps) {
            unsigned in[2], near[2];
            for (int h = 0; h < 2; ++h) {
                const int k = 32 * h + lane;
                const W x = k < n ? W(a[k * pitch + j]) : Algebra::zero(), y = k < n ? W(d[k * pitch + j]) : Algebra::zero();
                const bool path = k != j && y != Algebra::zero(), found = path && is_tight(x, y, slack, floor);
                in[h] = __ballot_sync(full_mask, found);
                near[h] = __ballot_sync(full_mask, found && x != Algebra::one());
                if (k < n) p[k * pitch + j] = found ? k : path ? OPEN : NONE;
            }
            if (lane == 0) entering[j] = in[0] | (unsigned long long)in[1] << 32;
            for (int i = lane; i < n && !facts.improving; i += 32) {
                if (p[i * pitch + j] != OPEN) continue;
                const W goal = d[i * pitch + j];
                W best = limit(goal, goal, slack);
                unsigned long long candidates = near[0] | (unsigned long long)near[1] << 32;
                for (; candidates; candidates &= candidates - 1) {
                    const int k = __ffsll((long long)candidates) - 1;
                    const W from = d[i * pitch + k], s = times<Step>(from, a[k * pitch + j], mirrored);
                    if (!better(from, goal) || !(rounds ? better(s, best) : s == goal)) continue;
                    p[i * pitch + j] = k;
                    best = s;
                    if (!rounds || !better(goal, s)) break;
                }
            }
        }
        // Line three, level by level: settled[i] has a bit per settled vertex of source i.
        for (;;) {
            __syncthreads();
            bool open = false, found = false;
            for (int i = warp; i < n; i += warps) {
                unsigned long long bits = 0;
                for (int h = 0; h < 2; ++h) {
                    const int j = 32 * h + lane, v = j < n ? p[i * pitch + j] : NONE;
                    open |= v == OPEN;
                    bits |= (unsigned long long)__ballot_sync(full_mask, v >= 0 && v != OPEN) << 32 * h;
                }
                if (lane == 0) settled[i] = bits;
            }
            if (!__syncthreads_or(open)) break;
            for (int j = warp; j < n; j += warps)
                for (int i = lane; i < n; i += 32) {
                    if (p[i * pitch + j] != OPEN) continue;
                    unsigned long long candidates = entering[j] & settled[i];
                    for (; candidates; candidates &= candidates - 1) {
                        const int k = __ffsll((long long)candidates) - 1;
                        if (attained(d[i * pitch + k], a[k * pitch + j], d[i * pitch + j], facts.improving, mirrored,
                                     slack, floor)) {
                            p[i * pitch + j] = k;
                            found = true;
                            break;
                        }
                    }
                }
            if (!__syncthreads_or(found)) {
                if (threadIdx.x == 0) report[FAILED] = 1;
                break;
            }
        }
        for (int index = threadIdx.x; index < n * n; index += threads)
            P[first + index] = p[index / n * pitch + index % n];
        __syncthreads();
    }
}
