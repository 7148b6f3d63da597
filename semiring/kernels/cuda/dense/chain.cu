// Chains of many sequences, one thread block each: the forward recursion, and its derivative for ⊕ = logaddexp.
//
//   x[0] = e[0],   x[t][j] = (⊕_i x[t-1][i] + m[i][j]) + e[t][j]
//
// Over (logaddexp, +) each x[t] is stored relative to its maximum, and `shift[t]` sums these in double: float32 would
// round numbers that grow with t. Steps are sequential, so that their operands are in shared memory: x, partial sums, and,
// if `inside`, the matrix, with rows `pitch` apart against bank conflicts. The prelude gives T, `selects` (±1 for max or
// min, 0 for logaddexp) and NONE, the zero.

#include "algebra.cuh"

// `groups` threads per state computed at a time; group g sums rows g, g + groups, …
struct Share {
    int lane, group, lanes, groups;
    __device__ explicit Share(int states) {
        lanes = states < (int)blockDim.x ? (states + 31) / 32 * 32 : blockDim.x;
        if (lanes > (int)blockDim.x) lanes = blockDim.x;
        groups = blockDim.x / lanes;
        lane = threadIdx.x % lanes;
        group = threadIdx.x / lanes;
    }
};

__device__ inline bool better(T a, T b) { return selects > 0 ? a > b : selects < 0 ? a < b : a > b; }

extern "C" __global__ void chain(const T* e, int steps, int states, const T* m, long long next_m, long long later_m, int inside, T* x, double* shift) {
    extern __shared__ __align__(16) unsigned char memory[];
    const Share mine(states);
    const int pitch = inside ? states + 1 : states;
    T* now = reinterpret_cast<T*>(memory);
    T* best = now + states;
    T* sums = best + blockDim.x;
    T* copy = sums + blockDim.x;
    e += blockIdx.x * (long long)steps * states, x += blockIdx.x * (long long)steps * states, shift += blockIdx.x * (long long)steps, m += blockIdx.x * next_m;
    if (inside)
        for (int k = threadIdx.x; k < states * states; k += blockDim.x) copy[k / states * pitch + k % states] = m[k];
    double off = 0;
    for (int t = 0; t < steps; ++t) {
        const T* matrix = inside ? copy : m + (t - 1) * later_m;
        T greatest = NONE;
        for (int first = 0; first < states; first += mine.lanes) {
            const int j = first + mine.lane;
            T top = NONE, sum = 0;
            if (t && j < states && mine.group < mine.groups) {
                for (int i = mine.group; i < states; i += mine.groups) {
                    const T value = now[i] + matrix[i * pitch + j];
                    if (better(value, top)) top = value;
                }
                if (!selects && top != NONE)
                    for (int i = mine.group; i < states; i += mine.groups) sum += exp(now[i] + matrix[i * pitch + j] - top);
            }
            best[threadIdx.x] = top, sums[threadIdx.x] = sum;
            __syncthreads();
            if (mine.group == 0 && j < states) {
                for (int g = 1; g < mine.groups; ++g)
                    if (better(best[g * mine.lanes + mine.lane], top)) top = best[g * mine.lanes + mine.lane];
                if (!selects && top != NONE) {
                    sum = 0;
                    for (int g = 0; g < mine.groups; ++g)
                        if (best[g * mine.lanes + mine.lane] != NONE) sum += sums[g * mine.lanes + mine.lane] * exp(best[g * mine.lanes + mine.lane] - top);
                    top += log(sum);
                }
                const T entry = e[t * (long long)states + j];
                x[t * (long long)states + j] = t ? (top == NONE || entry == NONE ? NONE : top + entry) : entry;
            }
            __syncthreads();
        }
        // All have read the previous step; x holds the new one.
        for (int j = threadIdx.x; j < states; j += blockDim.x) {
            now[j] = x[t * (long long)states + j];
            if (better(now[j], greatest)) greatest = now[j];
        }
        if (!selects) {
            best[threadIdx.x] = greatest;
            __syncthreads();
            for (int by = blockDim.x / 2; by; by /= 2) {
                if ((int)threadIdx.x < by && better(best[threadIdx.x + by], best[threadIdx.x])) best[threadIdx.x] = best[threadIdx.x + by];
                __syncthreads();
            }
            greatest = best[0];
            if (greatest != NONE) {
                off += greatest;
                for (int j = threadIdx.x; j < states; j += blockDim.x) {
                    now[j] -= greatest;
                    x[t * (long long)states + j] = now[j];
                }
            }
            if (threadIdx.x == 0) shift[t] = off;
        }
        __syncthreads();
    }
}

// a[t-1][i] = g[t-1][i] + Σ_j p[t][i][j] a[t][j], the derivative by e, and d[i][j] += p[t][i][j] a[t][j], the derivative by
// m, with p[t][i][j] = exp(x[t-1][i] + m[i][j] + e[t][j] − x[t][j]), the share of i in the sum. `g` is the derivative by x.
extern "C" __global__ void unchain(const T* e, int steps, int states, const T* m, long long next_m, long long later_m, int inside, const T* x,
                                   const double* shift, const T* g, T* a, T* d) {
    extern __shared__ __align__(16) unsigned char memory[];
    const Share mine(states);
    const int pitch = inside ? states + 1 : states;
    T* now = reinterpret_cast<T*>(memory);
    T* rest = now + states;
    T* sums = rest + states;
    T* copy = sums + blockDim.x;
    T* collected = copy + (inside ? states * pitch : 0);
    const long long sequence = blockIdx.x * (long long)steps * states, size = (long long)states * states;
    e += sequence, x += sequence, g += sequence, a += sequence, shift += blockIdx.x * (long long)steps, m += blockIdx.x * next_m;
    d += blockIdx.x * (later_m ? size * (steps - 1) : size);
    if (inside)
        for (int k = threadIdx.x; k < states * states; k += blockDim.x) {
            copy[k / states * pitch + k % states] = m[k];
            collected[k / states * pitch + k % states] = 0;
        }
    for (int j = threadIdx.x; j < states; j += blockDim.x) {
        const long long k = (steps - 1) * (long long)states + j;
        a[k] = now[j] = g[k];
    }
    for (int t = steps - 1; t > 0; --t) {
        const T* matrix = inside ? copy : m + (t - 1) * later_m;
        T* by_matrix = inside ? collected : d + (later_m ? (t - 1) * size : 0);
        const T* before = x + (t - 1) * (long long)states;
        __syncthreads();
        const T off = T(shift[t] - shift[t - 1]);
        for (int j = threadIdx.x; j < states; j += blockDim.x) {
            const T value = x[t * (long long)states + j];
            rest[j] = value == NONE ? NONE : e[t * (long long)states + j] - value - off;
        }
        __syncthreads();
        for (int first = 0; first < states; first += mine.lanes) {
            const int i = first + mine.lane;
            T sum = 0;
            if (i < states && mine.group < mine.groups) {
                const T from = before[i];
                for (int j = mine.group; j < states; j += mine.groups) {
                    const T exponent = from + matrix[i * pitch + j] + rest[j];
                    if (exponent != NONE) {
                        const T part = exp(exponent) * now[j];
                        sum += part;
                        by_matrix[i * pitch + j] += part;
                    }
                }
            }
            sums[threadIdx.x] = sum;
            __syncthreads();
            if (mine.group == 0 && i < states) {
                for (int k = 1; k < mine.groups; ++k) sum += sums[k * mine.lanes + mine.lane];
                a[(t - 1) * (long long)states + i] = g[(t - 1) * (long long)states + i] + sum;
            }
            __syncthreads();
        }
        for (int j = threadIdx.x; j < states; j += blockDim.x) now[j] = a[(t - 1) * (long long)states + j];
    }
    __syncthreads();
    if (inside)
        for (int k = threadIdx.x; k < states * states; k += blockDim.x) d[k] = collected[k / states * pitch + k % states];
}

// Backtrace, a warp per sequence: from state y[last] to the first i with the best x[t][i] + m[i][y[t+1]].
extern "C" __global__ void trace(int steps, int states, const T* m, long long next_m, long long later_m, const T* x, const long long* last, long long* y) {
    x += blockIdx.x * (long long)steps * states, m += blockIdx.x * next_m, y += blockIdx.x * (long long)steps;
    long long state = y[last[blockIdx.x]];
    for (long long t = last[blockIdx.x] - 1; t >= 0; --t) {
        T top = NONE;
        int from = states;
        for (int i = threadIdx.x; i < states; i += 32) {
            const T value = x[t * states + i] + m[t * later_m + (long long)i * states + state];
            if (from == states || better(value, top)) top = value, from = i;
        }
        for (int by = 16; by; by /= 2) {
            const T other = __shfl_xor_sync(0xffffffffu, top, by);
            const int its = __shfl_xor_sync(0xffffffffu, from, by);
            if (its < states && (from == states || better(other, top) || (other == top && its < from))) top = other, from = its;
        }
        state = from;
        if (threadIdx.x == 0) y[t] = state;
    }
}
