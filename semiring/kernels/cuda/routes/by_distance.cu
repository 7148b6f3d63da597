// Sums over best paths for distances of few multiples of a unit: Brandes' recursion for all sources together, by distance.
//
// Rows are transposed: `levels` has a byte per vertex and source, the distance in units; each lane of a warp has four
// sources, a warp 128 per vertex. Arcs of a vertex are sorted by weight, and packed in 32 bits: the other end, and the
// weight in units. Atomics add only integers: bitwise reproducible.
//
// The prelude declares Algebra.
#include "algebra.cuh"

using T = Algebra::T;
using W = Algebra::W;

constexpr int threads = 256, warps = threads / 32, group = 128;
// Arcs per unrolled step; bit position of an arc's weight.
constexpr int ahead = 8, shift = 25;
constexpr unsigned full_mask = ~0u, every = 0x01010101u, none = 255, sign = 0x80808080u;
// Bound of exact path counts.
constexpr float exact = 16777216.0f;

struct alignas(16) Counts { float of[4]; };
struct alignas(16) Pair { double of[2]; };

__device__ inline unsigned vertex(unsigned arc) { return arc & ((1u << shift) - 1); }
__device__ inline unsigned weight(unsigned arc) { return arc >> shift; }

// High bit of each equal byte.
__device__ inline unsigned same(unsigned a, unsigned b) {
    const unsigned other = a ^ b;
    return ~(((other & ~sign) + ~sign) | other | ~sign);
}

// `ahead` arcs from `e` on: at[c] ← other end, hit[c] ← those of `here`, a lane's sources at distance `level`, for which that
// end is at distance level + way · weight. Returns whether arcs up to weight `most` remain.
template <int way>
__device__ inline bool look(const unsigned char* levels, int width, unsigned r, const unsigned* arcs, long long e, long long end,
                            int most, int level, unsigned here, unsigned (&hit)[ahead], unsigned (&at)[ahead]) {
    bool more = true;
#pragma unroll
    for (int c = 0; c < ahead; ++c) {
        const unsigned arc = arcs[min(e + c, end - 1)];
        more = e + c < end && weight(arc) <= most;
        at[c] = vertex(arc);
        hit[c] = 0;
        if (here && more)
            hit[c] = here & same(*reinterpret_cast<const unsigned*>(levels + at[c] * (long long)width + r),
                                 (level + way * int(weight(arc))) * every);
    }
    return more;
}

// levels[j, r] ← |D[r, j]| in units; failed ← 1 if not integral.
extern "C" __global__ void __launch_bounds__(threads)
    turn(const T* D, long long pitch, int n, int rows, int width, double unit, unsigned char* levels, int* failed) {
    __shared__ unsigned char tile[32][36];
    const int lane = threadIdx.x % 32;
    bool fractional = false;
    for (int i = threadIdx.x / 32; i < 32; i += warps) {
        const int r = 32 * blockIdx.y + i, j = 32 * blockIdx.x + lane;
        const W d = r < rows && j < n ? W(D[r * pitch + j]) : W(Algebra::zero());
        const double units = d == Algebra::zero() ? none : fabs(double(d)) / unit;
        fractional |= units != floor(units);
        tile[i][lane] = units;
    }
    if (fractional) *failed = 1;
    __syncthreads();
    for (int i = threadIdx.x / 32; i < 32; i += warps)
        if (32 * int(blockIdx.x) + i < n) levels[(32ll * blockIdx.x + i) * width + 32 * blockIdx.y + lane] = tile[lane][i];
}

// paths[j, r] ← 1 if the arc from row r's source to j is a best path, and at the source; row[k] is the row of vertex k, or
// −1. Arcs are by head.
extern "C" __global__ void __launch_bounds__(threads)
    begin(const unsigned char* levels, int n, int width, const unsigned* arcs, const unsigned* heads, long long count,
          const int* row, float* paths) {
    const long long e = blockIdx.x * (long long)threads + threadIdx.x;
    if (e < n && row[e] >= 0) paths[e * width + row[e]] = 1;
    if (e >= count) return;
    const int r = row[vertex(arcs[e])];
    if (r < 0) return;
    const long long at = heads[e] * (long long)width + r;
    if (levels[at] == weight(arcs[e])) paths[at] = 1;
}

// paths += those along arcs (by head, up to weight `most`) into vertices at distance `level`; failed ← 1 if there are none,
// or more than are exact.
extern "C" __global__ void __launch_bounds__(threads)
    count_paths(const unsigned char* levels, int n, int width, const unsigned* arcs, const long long* starts, int level,
                int most, float* paths, int* failed) {
    const int j = blockIdx.x * warps + threadIdx.x / 32;
    const unsigned r = group * blockIdx.y + 4 * (threadIdx.x % 32);
    if (j >= n) return;
    const unsigned here = same(*reinterpret_cast<const unsigned*>(levels + j * (long long)width + r), level * every);
    if (!__any_sync(full_mask, here)) return;
    Counts found = {};
    const long long end = starts[j + 1];
    bool more = most > 0;
    for (long long e = starts[j]; more && e < end; e += ahead) {
        unsigned hit[ahead], at[ahead];
        more = look<-1>(levels, width, r, arcs, e, end, most, level, here, hit, at);
#pragma unroll
        for (int c = 0; c < ahead; ++c) {
            Counts before = {};
            if (hit[c]) before = *reinterpret_cast<const Counts*>(paths + at[c] * (long long)width + r);
#pragma unroll
            for (int i = 0; i < 4; ++i)
                if (hit[c] >> (8 * i + 7) & 1) found.of[i] += before.of[i];
        }
    }
    if (!here) return;
    auto* const mine = reinterpret_cast<Counts*>(paths + j * (long long)width + r);
    Counts sum = *mine;
    bool wrong = false;
#pragma unroll
    for (int i = 0; i < 4; ++i)
        if (here >> (8 * i + 7) & 1) {
            sum.of[i] += found.of[i];
            wrong |= !(sum.of[i] > 0 && sum.of[i] < exact);
        }
    *mine = sum;
    if (wrong) *failed = 1;
}

// each ← flow per best path to vertices at distance `level` and beyond, q / σ + Σ `each` of heads of tight arcs out of them,
// by tail, up to weight `most`. Per vertex and 128 sources: `into` += flow in, `out` += flow out; reached ← number of
// sources.
extern "C" __global__ void __launch_bounds__(threads)
    hand_back(const unsigned char* levels, int n, int width, const unsigned* arcs, const long long* starts, int level, int most,
              const float* paths, const double* demand, long long demand_pitch, double* each, double* into, double* out,
              int* reached) {
    const int k = blockIdx.x * warps + threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned r = group * blockIdx.y + 4 * lane;
    if (k >= n) return;
    const long long mine = k * (long long)width + r;
    const unsigned here = same(*reinterpret_cast<const unsigned*>(levels + mine), level * every);
    if (!__any_sync(full_mask, here)) return;
    double sum[4] = {};
    const long long end = starts[k + 1];
    bool more = most > 0;
    for (long long e = starts[k]; more && e < end; e += ahead) {
        unsigned hit[ahead], at[ahead];
        more = look<1>(levels, width, r, arcs, e, end, most, level, here, hit, at);
#pragma unroll
        for (int c = 0; c < ahead; ++c)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                Pair after = {};
                if (hit[c] >> 16 * half & 0xffff)
                    after = *reinterpret_cast<const Pair*>(each + at[c] * (long long)width + r + 2 * half);
#pragma unroll
                for (int i = 0; i < 2; ++i)
                    if (hit[c] >> (16 * half + 8 * i + 7) & 1) sum[2 * half + i] += after.of[i];
            }
    }
    double arrives = 0, leaves = 0;
    if (here) {
        const Counts counts = *reinterpret_cast<const Counts*>(paths + mine);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (!(here >> (8 * i + 7) & 1)) continue;
            const double asked = level ? demand[(r + i) * demand_pitch + k] : 0;
            leaves += counts.of[i] * sum[i];
            arrives += level ? asked + counts.of[i] * sum[i] : 0;
            each[mine + i] = asked / counts.of[i] + sum[i];
        }
    }
    for (int half = 16; half; half /= 2) {
        arrives += __shfl_xor_sync(full_mask, arrives, half);
        leaves += __shfl_xor_sync(full_mask, leaves, half);
    }
    const int sources = __reduce_add_sync(full_mask, __popc(here));
    if (lane) return;
    into[blockIdx.y * (long long)n + k] += arrives;
    out[blockIdx.y * (long long)n + k] += leaves;
    if (level) atomicAdd(&reached[k], sources);
}

// along[order[e]] += flow over arc e, arcs by head; a warp per arc.
extern "C" __global__ void __launch_bounds__(threads)
    carry(const unsigned char* levels, int width, const unsigned* arcs, const unsigned* heads, const long long* order,
          long long count, const float* paths, const double* each, double* along) {
    const long long e = blockIdx.x * (long long)warps + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (e >= count) return;
    const long long from = vertex(arcs[e]) * (long long)width + 4 * lane, to = heads[e] * (long long)width + 4 * lane;
    const unsigned longer = weight(arcs[e]);
    double sum = 0;
#pragma unroll 4
    for (int r = 0; r < width; r += group) {
        const unsigned before = *reinterpret_cast<const unsigned*>(levels + from + r);
        const unsigned after = *reinterpret_cast<const unsigned*>(levels + to + r);
        // Distances are below a byte's range, so that bytes do not carry; those of no path differ from all others.
        const unsigned hit = same((before & ~sign) + longer * every, after) & ~before;
        if (!hit) continue;
        const Counts counts = *reinterpret_cast<const Counts*>(paths + from + r);
#pragma unroll
        for (int i = 0; i < 4; ++i)
            if (hit >> (8 * i + 7) & 1) sum += counts.of[i] * each[to + r + i];
    }
    for (int half = 16; half; half /= 2) sum += __shfl_xor_sync(full_mask, sum, half);
    if (lane == 0) along[order[e]] += sum;
}
