// Breadth-first searches from many sources at once, one bit of a word each (Then et al. 2014, "The more the merrier:
// efficient multi-source graph traversal"): F[v] are the sources with v in their frontier, S[v] those that have seen it.
//
// Level numbers are stored as bit planes: planes[b][v] has the sources for which bit b of v's level is 1. So a level
// touches a word once, for any number of sources, and counts are written once, at the end.
#include "algebra.cuh"

using T = Step::T;
using Bits = unsigned long long;

// Source k is bit k % 64 of word k / 64; bits beyond the last source are set in S everywhere.
extern "C" __global__ __launch_bounds__(256) void begin_search(const int* sources, int count, Bits* F, Bits* S, int n, int words) {
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < count) {
        const long long offset = (long long)sources[i] * words + i / 64;
        atomicOr(F + offset, 1ull << i % 64);
        atomicOr(S + offset, 1ull << i % 64);
    }
    if (count % 64 && i < n) atomicOr(S + i * words + words - 1, ~0ull << count % 64);
}

// One level, pulled along arcs: v gets the unseen sources of its neighbours' frontiers.
extern "C" __global__ __launch_bounds__(256) void search_level(
    const long long* start, const int* tails, const Bits* F, Bits* next, Bits* S, Bits* planes, int n, int words, int level, int* last) {
    const long long i = blockIdx.x * 256ll + threadIdx.x, all = (long long)n * words;
    if (i >= all) return;
    const int v = i / words, w = i % words;
    const Bits seen = S[i];
    Bits found = seen;
    for (long long a = start[v]; a < start[v + 1] && ~found; ++a) found |= F[(long long)tails[a] * words + w];
    found &= ~seen;
    next[i] = found;
    if (!found) return;
    S[i] = seen | found;
    for (int b = 0; level >> b; ++b)
        if (level >> b & 1) planes[b * all + i] |= found;
    *last = level;
}

// out[k][v] ← the level at which source k reached v, ∞ if unreached.
extern "C" __global__ __launch_bounds__(256) void write_levels(
    const Bits* S, const Bits* planes, int bits, T* out, long long pitch, int n, int words, int count) {
    const int v = blockIdx.x * 32 + threadIdx.x % 32, w = blockIdx.y * 8 + threadIdx.x / 32;
    if (v >= n || w >= words) return;
    const long long all = (long long)n * words, i = (long long)v * words + w;
    const Bits seen = S[i];
    constexpr int few = 8;
    Bits low[few];
#pragma unroll
    for (int b = 0; b < few; ++b) low[b] = b < bits ? planes[b * all + i] : 0;
    const int lanes = min(64, count - 64 * w);
    for (int k = 0; k < lanes; ++k) {
        int level = 0;
#pragma unroll
        for (int b = 0; b < few; ++b) level |= int(low[b] >> k & 1) << b;
        for (int b = few; b < bits; ++b) level |= int(planes[b * all + i] >> k & 1) << b;
        out[(64ll * w + k) * pitch + v] = seen >> k & 1 ? T(level) : T(Step::zero());
    }
}
