// Infinity, unrolled loops over entries in registers, and prefix sums over a warp.
#pragma once

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif

// f(i, j) for i < m and j < n.
template <int m, int n, class F>
__device__ inline void each_entry(F f) {
#pragma unroll
    for (int i = 0; i < m; ++i)
#pragma unroll
        for (int j = 0; j < n; ++j) f(i, j);
}

// The sum of x over the lanes of a warp up to this one.
template <class V>
__device__ inline V prefix_sum(V x) {
#pragma unroll
    for (int apart = 1; apart < 32; apart *= 2) {
        const V other = __shfl_up_sync(0xffffffffu, x, apart);
        if (threadIdx.x % 32 >= apart) x += other;
    }
    return x;
}
