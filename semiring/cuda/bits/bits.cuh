#pragma once
// Packed Boolean matrices: bit j of row i is bit j mod 64 of word j / 64 of that row, the least significant first.
//
// A product kernel computes C ← A ∧ B, or C ← C ∨ A ∧ B, from A (m × k) and Bᵀ (n × k), so that both have k along
// their rows. Entry (i, j) is whether row i of A and row j of Bᵀ have a bit in common.
#include "tile_order.cuh"

using Word = unsigned long long;
using Half = unsigned;

// C[word] ← bits, or C[word] ← C[word] ∨ bits; the latter without waiting for what is stored.
__device__ inline void put(Half* C, Half bits, int accumulate) {
    if (!accumulate)
        *C = bits;
    else if (bits)
        atomicOr(C, bits);
}
__device__ inline void put(Word* C, Word bits, int accumulate) {
    if (!accumulate)
        *C = bits;
    else if (bits)
        atomicOr(C, bits);
}

// From counts to bits. The tensor cores leave eight neighbouring counts of a row to four lanes: lane q of them has
// columns 8 g + 2 q and 8 g + 2 q + 1 of every group g of eight.

// min(count, 1) of eight groups as fields of two bits, group 0 lowest, pushed into the 16 bits above by what was in them.
template <int stride>
__device__ inline Half push(Half fields, const int* c) {
#pragma unroll
    for (int g = 6; g >= 0; g -= 2)
        asm("cvt.pack.sat.s2.s32.b32 %0, %1, %2, %0;" : "+r"(fields) : "r"(c[(g + 1) * stride]), "r"(c[g * stride]));
    return fields;
}
// The same for both columns that the lane has of each of 16 groups: `low` and `high` are its counts of eight groups.
template <int stride>
__device__ inline Half sixteen(const int* low, const int* high) {
    const Half even = push<stride>(push<stride>(0, high), low), odd = push<stride>(push<stride>(0, high + 1), low + 1);
    return even + 2 * odd;
}
// x[a][b] ← x[b][a], 4 × 4 fields of two bits.
__device__ inline Half swap_fields(Half x) {
    Half t = (x >> 12 ^ x) & 0x0000f0f0;
    x ^= t ^ t << 12;
    t = (x >> 6 ^ x) & 0x00cc00cc;
    return x ^ t ^ t << 6;
}
// Four lanes have the fields of 32 groups each, 16 in `low` and 16 in `high`: 256 bits. Lane q gets their word q.
__device__ inline Word gather(Half low, Half high) {
    const int q = threadIdx.x % 4;
    const Half mine = q & 2 ? high : low, theirs = __shfl_xor_sync(~0u, q & 2 ? low : high, 2);
    // Of eight groups from each of two lanes, keep those of word q, pass on those of word q ^ 1.
    const Half own = __byte_perm(mine, theirs, q & 1 ? 0x7632 : 0x5410);
    const Half others = __shfl_xor_sync(~0u, __byte_perm(mine, theirs, q & 1 ? 0x5410 : 0x7632), 1);
    // A byte holds a lane's four groups of 32 columns; those of lanes 0, 1, 2, 3 in this order, then by groups.
    const Half order = q & 2 ? (q & 1 ? 0x0426 : 0x4062) : (q & 1 ? 0x2604 : 0x6240);
    const Half first = __byte_perm(own, others, order), second = __byte_perm(own, others, order + 0x1111);
    return Word(swap_fields(second)) << 32 | swap_fields(first);
}
