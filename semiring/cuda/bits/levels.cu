// Hop counts of matrices whose arcs all weigh the same, on packed bits. Weights are keys, see keys.inl.
#include "keys.inl"

using Word = unsigned long long;

constexpr int threads = 256, warps = threads / 32, ahead = 4;  // words of a warp that are loaded together
constexpr unsigned every = ~0u;

// Row i of X ← a bit for each arc of row i of A, and one for i itself. seen[0] ← the least key of an arc between two vertices,
// its bits turned round, seen[1] ← the greatest, where they were less; to seen[2] is added how many bits are set. A warp makes
// a word.
extern "C" __global__ __launch_bounds__(threads) void pack_arcs(
    const Entry* A, long long lda, int n, int words, Word* X, long long ldx, Word* seen, Entry absent) {
    __shared__ Word found[3][warps];
    const int i = blockIdx.x, lane = threadIdx.x % 32;
    Word least = ~0ull, most = 0;
    int own = 0;
    auto see = [&](int j, Entry entry) {
        const Key key = j != i ? key_of(entry, absent) : nothing;
        if (key != nothing) least = min(least, Word(key)), most = max(most, Word(key));
        return __ballot_sync(every, j == i || key != nothing);
    };
    for (int first = threadIdx.x / 32; first < words; first += ahead * warps) {
        Entry part[2 * ahead];  // all are on their way before the first is looked at
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
    // One thread of a block tells what it found: those of all would wait for one another.
#pragma unroll
    for (int by = 16; by; by /= 2) {
        least = min(least, __shfl_xor_sync(every, least, by));
        most = max(most, __shfl_xor_sync(every, most, by));
    }
    if (lane == 0) found[0][threadIdx.x / 32] = least, found[1][threadIdx.x / 32] = most, found[2][threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x) return;
    Word bits = 0;
    for (int warp = 0; warp < warps; ++warp) {
        least = min(least, found[0][warp]), most = max(most, found[1][warp]);
        bits += found[2][warp];
    }
    if (~least > seen[0]) atomicMax(seen, ~least);
    if (most > seen[1]) atomicMax(seen + 1, most);
    atomicAdd(seen + 2, bits);
}

// next ← the rows of X, whose bits are set in `front`, together. A thread takes a word of 256 of them.
extern "C" __global__ __launch_bounds__(threads) void unite_rows(
    const Word* X, long long ldx, int n, int words, const Word* front, Word* next) {
    const int w = threads * blockIdx.x + threadIdx.x;
    Word found = 0;
    if (w < words)
        for (int i = threads * blockIdx.y; i < min(n, threads * int(blockIdx.y + 1)); ++i)
            if (front[i / 64] >> i % 64 & 1) found |= X[i * ldx + w];
    if (found) atomicOr(next + w, found);
}

// D[i, j] ← `hops` where `more` has a bit that `fewer` has not; at first all other entries too: `one_hop` where fewer has it,
// `one` on the diagonal, else `absent`. To counts are added how many they are, and all bits of `more`.
extern "C" __global__ __launch_bounds__(threads) void write_hops(
    const Word* more, const Word* fewer, long long ld, int n, int words, Entry* D, long long ldd, Entry hops, int at_first,
    Entry one_hop, Entry one, Entry absent, Word* counts) {
    __shared__ unsigned added, all;
    const int i = blockIdx.x, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) added = all = 0;
    __syncthreads();
    unsigned new_bits = 0, bits = 0;
#pragma unroll 4
    for (int w = threadIdx.x / 32; w < words; w += warps) {
        const Word m = more[i * ld + w], f = fewer[i * ld + w];
        new_bits += __popcll(m & ~f), bits += __popcll(m);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int b = lane + 32 * half, j = 64 * w + b;
            const bool is_new = m >> b & ~f >> b & 1;
            if (j < n && (at_first || is_new))
                __stcs(D + i * ldd + j, is_new ? hops : i == j ? one : f >> b & 1 ? one_hop : absent);
        }
    }
    if (lane == 0) atomicAdd(&added, new_bits), atomicAdd(&all, bits);
    __syncthreads();
    if (threadIdx.x) return;
    atomicAdd(counts, Word(added));
    atomicAdd(counts + 1, Word(all));
}
