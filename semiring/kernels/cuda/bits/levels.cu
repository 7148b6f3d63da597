// Levels of matrices with distances of few multiples of a unit, on packed bits. Weights are keys, see keys.inl.
#include "keys.inl"

using Word = unsigned long long;

constexpr int threads = 256, warps = threads / 32, ahead = 4; // words per warp loaded together
constexpr int rows_of_block = 32;
constexpr unsigned every = ~0u;

// Whether x is a small multiple of the unit, exactly, in double. A division would take twice the registers.
__device__ inline bool is_multiple(double x, double unit, double inverse) {
    return fma(rint(x * inverse), unit, -x) == 0;
}

// Row i of X ← bits of A's arcs of the given length, and with a unit of i itself; seen[0] += their number. With a unit also
// seen[1] ← max of ~key over arcs between two vertices, seen[2] ← max key, seen[3] ← 1 if an arc of up to `most` units is no
// multiple. A warp makes a word.
extern "C" __global__ __launch_bounds__(threads) void pack_arcs(
    const Entry* A, long long lda, int n, int words, Word* X, long long ldx, Word* seen, Entry length, double unit,
    double inverse, int most, Entry absent) {
    __shared__ Word found[4][warps];
    const int i = blockIdx.x, lane = threadIdx.x % 32;
    const Key wanted = key_of(length, absent), farthest = Key(bits_of(Weight(most * unit)));
    Key nearest_key = ~Key(0), greatest_key = 0;
    int own = 0;
    bool any_other = false;
    auto see = [&](int j, Entry entry) {
        const Key key = j != i ? key_of(entry, absent) : nothing;
        if (unit && key != nothing) {
            nearest_key = min(nearest_key, key), greatest_key = max(greatest_key, key);
            if (key != wanted && key <= farthest)
                any_other |= !is_multiple(double(value_of(key, Weight())), unit, inverse);
        }
        return __ballot_sync(every, j == i ? unit != 0 : key == wanted);
    };
    for (int first = threadIdx.x / 32; first < words; first += ahead * warps) {
        Entry part[2 * ahead]; // all loads are issued before the first test
#pragma unroll
        for (int k = 0; k < 2 * ahead; ++k) {
            const int j = 64 * (first + k / 2 * warps) + k % 2 * 32 + lane;
            part[k] = j < n ? A[i * lda + j] : absent;
        }
#pragma unroll
        for (int k = 0; k < ahead; ++k) {
            const int w = first + k * warps, j = 64 * w + lane;
            const unsigned low = see(j, part[2 * k]), high = see(j + 32, part[2 * k + 1]);
            own += __popc(low) + __popc(high);
            if (lane == 0 && w < words) X[i * ldx + w] = Word(high) << 32 | low;
        }
    }
    // One thread per block reports: atomics of all would serialise.
    Word least = nearest_key == ~Key(0) ? ~0ull : nearest_key, farthest_seen = greatest_key;
#pragma unroll
    for (int by = 16; by; by /= 2) {
        least = min(least, __shfl_xor_sync(every, least, by));
        farthest_seen = max(farthest_seen, __shfl_xor_sync(every, farthest_seen, by));
    }
    const bool other_here = __any_sync(every, any_other);
    const int warp = threadIdx.x / 32;
    if (lane == 0) found[0][warp] = own, found[1][warp] = least, found[2][warp] = farthest_seen, found[3][warp] = other_here;
    __syncthreads();
    if (threadIdx.x) return;
    Word bits = 0, other = 0;
    for (int w = 0; w < warps; ++w) {
        bits += found[0][w], other |= found[3][w];
        least = min(least, found[1][w]), farthest_seen = max(farthest_seen, found[2][w]);
    }
    if (bits) atomicAdd(seen, bits);
    if (!unit) return;
    if (~least > seen[1]) atomicMax(seen + 1, ~least);
    if (farthest_seen > seen[2]) atomicMax(seen + 2, farthest_seen);
    if (other) seen[3] = 1;
}

// best[j] ← max with ~key of the least arc from these vertices to j. A thread per j, a slice of the vertices per block.
extern "C" __global__ __launch_bounds__(threads) void nearest(
    const Entry* A, long long lda, int n, const int* rows, int count, Key* best, Entry absent) {
    const int j = threads * blockIdx.x + threadIdx.x;
    if (j >= n) return;
    Key least = nothing;
#pragma unroll 8
    for (int k = rows_of_block * blockIdx.y; k < min(count, rows_of_block * int(blockIdx.y + 1)); ++k)
        least = min(least, key_of(A[rows[k] * lda + j], absent));
    if (Key(~least) > best[j]) atomicMax(best + j, Key(~least));
}

// D[i, j] ← `length` where `more` has a bit and `fewer` has not. At first, other entries too: `unit` where fewer has a bit,
// `one` on the diagonal, else A's entry if it has longer arcs, or `absent`. count += bits of `more`.
extern "C" __global__ __launch_bounds__(threads) void write_level(
    const Word* more, const Word* fewer, long long ld, int n, int words, Entry* D, long long ldd, Entry length, int at_first,
    const Entry* A, long long lda, int has_longer, Entry unit, Entry one, Entry absent, Word* count) {
    __shared__ unsigned all;
    const int i = blockIdx.x, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) all = 0;
    __syncthreads();
    unsigned bits = 0;
#pragma unroll 4
    for (int w = threadIdx.x / 32; w < words; w += warps) {
        const Word m = more[i * ld + w], f = fewer[i * ld + w];
        bits += __popcll(m);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int b = lane + 32 * half, j = 64 * w + b;
            const bool is_new = m >> b & ~f >> b & 1;
            if (j >= n || !(at_first || is_new)) continue;
            const bool is_known = is_new || f >> b & 1;
            const Entry other = is_known || !has_longer ? absent : A[i * lda + j];
            __stcs(D + i * ldd + j, is_new ? length : i == j ? one : is_known ? unit : other);
        }
    }
    if (lane == 0) atomicAdd(&all, bits);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(count, Word(all));
}
