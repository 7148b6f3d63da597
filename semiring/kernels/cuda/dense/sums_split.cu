// Operands of sums_wgmma.cu: each entry as a sum of `parts` 16-bit numbers; rows of A and of Bᵀ along k, zero-padded to
// `pitch`. With `logarithms`, entries are scaled exponentials; see sums.cuh. In float64 there is one part, and B is not
// transposed.
//
// Two parts of float16, the largest entry scaled to 2¹⁵ and the second part by 2¹¹ more, keep 22 bits of entries ≥ 2⁻²⁸, and
// of smaller ones all but 2⁻⁵¹. Three parts of bfloat16 keep all 24 bits.
#include "sums.cuh"

template <class T> struct Choice;
template <> struct Choice<float> {
    using Part = unsigned short;
    static constexpr float least = 0x1p-28f;
};
template <> struct Choice<double> {
    using Part = double;
    static constexpr double least = 0x1p-500;
};
using Part = Choice<T>::Part;
struct alignas(2 * sizeof(Part)) Both {
    Part item[2];
};
constexpr bool transposed = sizeof(T) == 4; // whether B is transposed

// The parts of x, largest first.
__device__ inline void split(double x, double (&to)[1]) { to[0] = x; }
__device__ inline void split(float x, unsigned short (&to)[2]) {
    x *= 0x1p15f;
#pragma unroll
    for (int p = 0; p < 2; ++p) {
        float kept;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to[p]) : "f"(x));
        asm("cvt.f32.f16 %0, %1;" : "=f"(kept) : "h"(to[p]));
        x = (x - kept) * 0x1p11f;
    }
}
__device__ inline void split(float x, unsigned short (&to)[3]) {
#pragma unroll
    for (int p = 0; p < 3; ++p) {
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to[p]) : "f"(x));
        x -= __int_as_float(to[p] << 16);
    }
}

// exp(x − shift), compensated for the rounding of the difference.
__device__ inline T scaled(T x, T shift) {
    if (x == -T(INFINITY)) return 0;
    const T difference = x - shift, subtracted = x - difference;
    const T lost = (x - (difference + subtracted)) + (subtracted - shift), power = exp(difference);
    return power + power * lost;
}

// Partial facts about a row, shared by many threads.
struct Look {
    T total = 0;
    bool tiny = false;

    __device__ T entry(T x, T shift) {
        if constexpr (logarithms) {
            const T e = scaled(x, shift);
            total += e;
            tiny |= x != -T(INFINITY) && e < Choice<T>::least;
            return e;
        } else
            return x;
    }
};
__device__ inline Scale<T> scale(T shift, T total, bool tiny) { return {shift, total, T(tiny), 0}; }
__device__ inline T shift_of(T high) { return high == -T(INFINITY) ? T(0) : high; }

constexpr int threads = 256;
// A thread block per row of A, `m` rows per matrix.
extern "C" __global__ void __launch_bounds__(threads)
    rows(const T* A, long long lda, long long batch_stride, int m, int k, Part* to, long long pitch, long long part_stride,
         Scale<T>* scales) {
    __shared__ T shared[threads / 32][2];
    const int t = threadIdx.x, warp = t / 32;
    const T* from = A + blockIdx.x / m * batch_stride + blockIdx.x % m * lda;
    T shift = 0;
    if constexpr (logarithms) {
        T high = -T(INFINITY);
#pragma unroll 8
        for (int i = t; i < k; i += threads) high = max(high, from[i]);
#pragma unroll
        for (int lane = 16; lane; lane /= 2) high = max(high, __shfl_xor_sync(~0u, high, lane));
        if (t % 32 == 0) shared[warp][0] = high;
        __syncthreads();
#pragma unroll
        for (int w = 0; w < threads / 32; ++w) high = max(high, shared[w][0]);
        shift = shift_of(high);
        __syncthreads();
    }
    Look look;
    to += blockIdx.x * pitch;
#pragma unroll 4
    for (int i = 2 * t; i < pitch; i += 2 * threads) {  // the pitch is even
        Part p[2][parts];
#pragma unroll
        for (int e = 0; e < 2; ++e) split(i + e < k ? look.entry(from[i + e], shift) : T(0), p[e]);
#pragma unroll
        for (int part = 0; part < parts; ++part) {
            *reinterpret_cast<Both*>(to + part * part_stride + i) = {p[0][part], p[1][part]};
        }
    }
    if constexpr (logarithms) {
        T total = look.total;
#pragma unroll
        for (int lane = 16; lane; lane /= 2) total += __shfl_xor_sync(~0u, total, lane);
        const bool tiny = __any_sync(~0u, look.tiny);
        if (t % 32 == 0) shared[warp][0] = total, shared[warp][1] = tiny;
        __syncthreads();
        if (t == 0) {
            bool any = false;
            total = 0;
            for (int w = 0; w < threads / 32; ++w) total += shared[w][0], any |= shared[w][1] != 0;
            scales[blockIdx.x] = scale(shift, total, any);
        }
    }
}

constexpr int wide = 32, high = 16, deep = 64;
// A thread block per 32 columns of B, 64 of k at a time.
extern "C" __global__ void __launch_bounds__(wide* high)
    columns(const T* B, long long ldb, long long batch_stride, int n, int k, Part* to, long long pitch,
            long long part_stride, Scale<T>* scales) {
    __shared__ T shared[deep][wide + 1];
    const int x = threadIdx.x % wide, y = threadIdx.x / wide, j0 = blockIdx.x * wide, j = min(j0 + x, n - 1);
    const long long first = (long long)blockIdx.y * n; // of the columns of all matrices
    B += blockIdx.y * batch_stride + j;
    T shift = 0;
    if constexpr (logarithms) {
        T most = -T(INFINITY);
#pragma unroll 8
        for (int i = y; i < k; i += high) most = max(most, B[i * ldb]);
        shared[y][x] = most;
        __syncthreads();
#pragma unroll
        for (int w = 0; w < high; ++w) most = max(most, shared[w][x]);
        shift = shift_of(most);
        __syncthreads();
    }
    Look look;
    const int end = transposed ? int(pitch) : k;
    for (int i0 = 0; i0 < end; i0 += deep) {
        T own[deep / high];
#pragma unroll
        for (int s = 0; s < deep / high; ++s) {
            const int i = i0 + y + s * high;
            own[s] = i < k ? B[i * ldb] : T(0);
        }
#pragma unroll
        for (int s = 0; s < deep / high; ++s) {
            const int i = i0 + y + s * high;
            own[s] = i < k ? look.entry(own[s], shift) : T(0);
            if constexpr (transposed)
                shared[i - i0][x] = own[s];
            else if (i < k && j0 + x < n)
                to[(blockIdx.y * (long long)k + i) * pitch + j] = own[s];
        }
        if constexpr (transposed) {
            __syncthreads();
#pragma unroll
            for (int c = y; c < wide; c += high) {
                const int i = i0 + 2 * x;
                if (j0 + c >= n || i >= pitch) continue;
                Part p[2][parts];
                split(shared[2 * x][c], p[0]), split(shared[2 * x + 1][c], p[1]);
#pragma unroll
                for (int part = 0; part < parts; ++part)
                    *reinterpret_cast<Both*>(to + part * part_stride + (first + j0 + c) * pitch + i) = {p[0][part], p[1][part]};
            }
            __syncthreads();
        }
    }
    if constexpr (logarithms) {
        shared[y][x] = look.total, shared[high + y][x] = look.tiny;
        __syncthreads();
        if (y == 0 && j0 + x < n) {
            T total = 0, tiny = 0;
            for (int w = 0; w < high; ++w) total += shared[w][x], tiny += shared[high + w][x];
            scales[first + j] = scale(shift, total, tiny != 0);
        }
    }
}
