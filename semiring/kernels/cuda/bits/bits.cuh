#pragma once
// Packed Boolean matrices: bit j of row i is bit j mod 64 of word j / 64 of that row, least significant first.  Product
// kernels compute C ← A ∧ B, or C ← C ∨ A ∧ B, from A (m × k) and Bᵀ (n × k), both with k along rows. Entry (i, j) is whether
// row i of A and row j of Bᵀ share a bit.
#include "common.cuh"
#include "tile_order.cuh"

using Word = unsigned long long;
using Half = unsigned;

// C[word] ← bits, or C[word] ← C[word] ∨ bits, asynchronously.
template <class W> __device__ inline void put(W* C, W bits, int accumulate) {
    if (!accumulate)
        *C = bits;
    else if (bits)
        atomicOr(C, bits);
}

// Counts → bits. Tensor cores leave eight consecutive counts of a row in four lanes: lane q has columns 8 g + 2 q and
// 8 g + 2 q + 1 of every group g of eight.

// min(count, 1) of eight groups as two-bit fields, group 0 lowest; previous fields move to the upper 16 bits.
template <int stride>
__device__ inline Half push(Half fields, const int* c) {
#pragma unroll
    for (int g = 6; g >= 0; g -= 2)
        asm("cvt.pack.sat.s2.s32.b32 %0, %1, %2, %0;" : "+r"(fields) : "r"(c[(g + 1) * stride]), "r"(c[g * stride]));
    return fields;
}
// Both columns of a lane for 16 groups; `low` and `high` are its counts of eight groups each.
template <int stride>
__device__ inline Half sixteen(const int* low, const int* high) {
    const Half even = push<stride>(push<stride>(0, high), low), odd = push<stride>(push<stride>(0, high + 1), low + 1);
    return even + 2 * odd;
}
// Transpose 4 × 4 two-bit fields.
__device__ inline Half swap_fields(Half x) {
    Half t = (x >> 12 ^ x) & 0x0000f0f0;
    x ^= t ^ t << 12;
    t = (x >> 6 ^ x) & 0x00cc00cc;
    return x ^ t ^ t << 6;
}
// Gather words: four lanes hold the fields of 32 groups each, 16 in `low`, 16 in `high`; lane q gets word q.
__device__ inline Word gather(Half low, Half high) {
    const int q = threadIdx.x % 4;
    const Half mine = q & 2 ? high : low, theirs = __shfl_xor_sync(~0u, q & 2 ? low : high, 2);
    // Of eight groups from each of two lanes, keep those of word q, pass on those of word q ^ 1.
    const Half own = __byte_perm(mine, theirs, q & 1 ? 0x7632 : 0x5410);
    const Half others = __shfl_xor_sync(~0u, __byte_perm(mine, theirs, q & 1 ? 0x5410 : 0x7632), 1);
    // A byte holds a lane's four groups of 32 columns; order by lane, then by group.
    const Half order = q & 2 ? (q & 1 ? 0x0426 : 0x4062) : (q & 1 ? 0x2604 : 0x6240);
    const Half first = __byte_perm(own, others, order), second = __byte_perm(own, others, order + 0x1111);
    return Word(swap_fields(second)) << 32 | swap_fields(first);
}
