// Packed Boolean matrices except products: packing, transposition, counts, edges, one pivot block.
#include "bits.cuh"

constexpr int warps = 8;

// Bits ← bytes (nonzero: 1), any strides; a block packs 2048 columns of a row.
extern "C" __global__ void __launch_bounds__(256)
    pack(const unsigned char* X, long long down, long long across, int n, Word* Y, long long ldy) {
    const int lane = threadIdx.x % 32, w0 = blockIdx.y * 32 + threadIdx.x / 32 * 4;
    const unsigned char* row = X + blockIdx.x * down;
#pragma unroll
    for (int w = w0; w < w0 + 4; ++w) {
        const int j = 64 * w + lane;
        const bool low = j < n && row[j * across], high = j + 32 < n && row[(j + 32) * across];
        const Half first = __ballot_sync(~0u, low), second = __ballot_sync(~0u, high);
        if (lane == 0 && 64 * w < n) Y[blockIdx.x * ldy + w] = Word(second) << 32 | first;
    }
}

// Bytes ← bits, any strides.
extern "C" __global__ void __launch_bounds__(256)
    unpack(const Word* X, long long ldx, int n, unsigned char* Y, long long down, long long across) {
    const int lane = threadIdx.x % 32, w0 = blockIdx.y * 32 + threadIdx.x / 32 * 4;
    unsigned char* row = Y + blockIdx.x * down;
#pragma unroll
    for (int w = w0; w < w0 + 4; ++w) {
        const int j = 64 * w + lane;
        const Word bits = 64 * w < n ? X[blockIdx.x * ldx + w] : 0;
        if (j < n) row[j * across] = bits >> lane & 1;
        if (j + 32 < n) row[(j + 32) * across] = bits >> (lane + 32) & 1;
    }
}

// y[j] bit i ← x[i] bit j: 32 × 32 bits in registers, exchanging halves level by level.
__device__ inline void transpose32(Half (&x)[32]) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        const Half a = x[i], b = x[i + 16];
        x[i] = __byte_perm(a, b, 0x5410), x[i + 16] = __byte_perm(a, b, 0x7632);
    }
#pragma unroll
    for (int i = 0; i < 32; ++i)
        if (!(i & 8)) {
            const Half a = x[i], b = x[i + 8];
            x[i] = __byte_perm(a, b, 0x6240), x[i + 8] = __byte_perm(a, b, 0x7351);
        }
#pragma unroll
    for (int level = 0; level < 3; ++level) {
        const int h = 4 >> level;
        const Half low = level == 0 ? 0x0f0f0f0f : level == 1 ? 0x33333333 : 0x55555555;
#pragma unroll
        for (int i = 0; i < 32; ++i)
            if (!(i & h)) {
                const Half a = x[i], b = x[i + h];
                x[i] = (a & low) | (b << h & ~low), x[i + h] = (a >> h & low) | (b & ~low);
            }
    }
}

// Y ← Xᵀ, m × n bits, by blocks of 512 × 512 through 256 lines of 32 half words in shared memory. Line l holds two strips of
// 512 columns: row 64 (l / 32) + l % 32, and the row 32 below. Half words are permuted against bank conflicts.
extern "C" __global__ void __launch_bounds__(256)
    transpose(const Word* X, long long ldx, int m, int n, Word* Y, long long ldy) {
    __shared__ __align__(16) Half lines[256][32];
    const int i0 = blockIdx.y * 512, j0 = blockIdx.x * 512, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int word = threadIdx.x % 8, left = 2 * word;
#pragma unroll
    for (int i = threadIdx.x / 8; i < 512; i += 32) {
        const int j = j0 / 64 + word;
        const Word x = i0 + i < m && 64 * j < n ? X[(i0 + i) * ldx + j] : 0;
        const int line = i / 64 * 32 + i % 32, column = (i / 32 % 2 * 16 + left) ^ 16 * (i & 1);
        *reinterpret_cast<Word*>(&lines[line][column]) = x;
    }
    __syncthreads();
    const int strip = lane / 16, block = lane % 16;  // 32 rows from 64 warp + 32 strip, 32 columns from 32 block
    Half x[32];
#pragma unroll
    for (int i = 0; i < 32; ++i) x[i] = lines[warp * 32 + i][lane ^ 16 * (i & 1)];
    transpose32(x);
    __syncthreads();
    const int to = block / 2 * 32, column = (block % 2 * 16 + 2 * warp + strip) ^ 2 * (block / 2);
#pragma unroll
    for (int i = 0; i < 32; ++i) lines[to + i][column ^ 16 * (i & 1)] = x[i];
    __syncthreads();
#pragma unroll
    for (int j = threadIdx.x / 8; j < 512; j += 32) {
        const int i = i0 / 64 + word, line = j / 64 * 32 + j % 32;
        const int from = ((j / 32 % 2 * 16 + left) ^ 2 * (j / 64)) ^ 16 * (j & 1);
        // up to 16-byte ends, which other kernels read whole
        if (j0 + j < n && 64 * i < (m + 127) / 128 * 128) Y[(j0 + j) * ldy + i] = *reinterpret_cast<const Word*>(&lines[line][from]);
    }
}

// Bit (row[e], column[e]) ← 1.
extern "C" __global__ void set_bits(Word* X, long long ldx, const long long* row, const long long* column, long long edges) {
    const long long e = blockIdx.x * 256ll + threadIdx.x;
    if (e < edges) atomicOr(X + row[e] * ldx + column[e] / 64, Word(1) << column[e] % 64);
}

// Population count per row; a warp per row.
extern "C" __global__ void __launch_bounds__(256)
    count_rows(const Word* X, long long ldx, int m, int words, long long* counts) {
    const int i = blockIdx.x * warps + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (i >= m) return;
    int count = 0;
    for (int w = lane; w < words; w += 32) count += __popcll(X[i * ldx + w]);
    count = __reduce_add_sync(~0u, count);
    if (lane == 0) counts[i] = count;
}

// Columns of the set bits of row i, from starts[i] on; a warp per row.
extern "C" __global__ void __launch_bounds__(256)
    list_columns(const Word* X, long long ldx, int m, int words, const long long* starts, long long* columns) {
    const int i = blockIdx.x * warps + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (i >= m) return;
    long long offset = starts[i];
    for (int w0 = 0; w0 < words; w0 += 32) {
        Word bits = w0 + lane < words ? X[i * ldx + w0 + lane] : 0;
        const int own = __popcll(bits), before = prefix_sum(own);
        long long mine = offset + before - own;
        offset += __shfl_sync(~0u, before, 31);
        for (; bits; bits &= bits - 1) columns[mine++] = 64ll * (w0 + lane) + __ffsll(bits) - 1;
    }
}

// A ← A ∨ A[:,k] ∧ A[k,:] and bit (k, k) ← 1; a warp per row. Row k and column k do not change.
extern "C" __global__ void __launch_bounds__(256) step(Word* A, long long lda, int n, int k) {
    const int i = blockIdx.x * warps + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (i >= n) return;
    Word* row = A + i * lda;
    const Word bit = Word(1) << k % 64;
    if (i == k) {
        if (lane == 0) row[k / 64] |= bit;
        return;
    }
    if (!(row[k / 64] & bit)) return;
    const Word* pivot = A + k * lda;
    for (int w = lane; w < ceil_div(n, 64); w += 32) row[w] |= pivot[w];
}

// 32 consecutive rows of 256 bits, shared between threads.
struct alignas(16) Rows {
    Half row[32][8];
    __device__ void put(const Half (&x)[8]) {
#pragma unroll
        for (int s = 0; s < 8; ++s) row[threadIdx.x % 32][s] = x[s];
    }
};
// x ← x ∨ the rows k with a bit in `chosen`.
__device__ inline void take(Half (&x)[8], const Rows& rows, Half chosen) {
#pragma unroll 8
    for (int k = 0; k < 32; ++k) {
        const Half mask = int(chosen << (31 - k)) >> 31;
#pragma unroll
        for (int s = 0; s < 8; ++s) x[s] |= rows.row[k][s] & mask;
    }
}
// A warp's rows, one per lane: with D = their columns 32 q …, D ← D*, then x ← D* x.
template <int q>
__device__ inline void close(Half (&x)[8], Rows& rows, int size) {
    Half d = x[q] | (threadIdx.x < size ? 1u << threadIdx.x % 32 : 0);
#pragma unroll
    for (int k = 0; k < 32; ++k) d |= __shfl_sync(~0u, d, k) & int(d << (31 - k)) >> 31;  // Warshall
    rows.put(x);
    __syncwarp();
    take(x, rows, d);
    x[q] |= d;
    __syncwarp();
    rows.put(x);
}
// Every row ← itself ∨ the rows 32 q … that it reaches; the next 32 rows are closed concurrently.
template <int q>
__device__ inline void eliminate(Half (&x)[8], Rows (&rows)[2], int size) {
    const int warp = threadIdx.x / 32;
    __syncthreads();
    if (warp != q) take(x, rows[q % 2], x[q]);
    if (warp == q + 1) close<(q + 1) % 8>(x, rows[(q + 1) % 2], size);
}

// The pivot block D = A[p, p] of at most 256 rows, and its row panel: D ← D*, R ← D* R, and Rᵀ.
//
// Each block closes D redundantly and takes one word of columns of R. D may already be partly closed by another block:
// bits are only ever set, and every intermediate has the closure D*.
extern "C" __global__ void __launch_bounds__(256)
    panel(Word* A, long long lda, int p, int size, Half* transposed) {
    __shared__ Rows rows[2];
    __shared__ __align__(16) Half strip[256][2];
    const int i = threadIdx.x, w = blockIdx.x, lane = i % 32, place = w - p / 64;
    Half x[8];
#pragma unroll
    for (int s = 0; s < 4; ++s) {
        const Word bits = i < size && 64 * s < size ? A[(p + i) * lda + p / 64 + s] : 0;
        x[2 * s] = Half(bits), x[2 * s + 1] = Half(bits >> 32);
    }
    const Word own = i < size ? A[(p + i) * lda + w] : 0;
    strip[i][0] = Half(own), strip[i][1] = Half(own >> 32);
    if (i < 32) close<0>(x, rows[0], size);
    eliminate<0>(x, rows, size);
    eliminate<1>(x, rows, size);
    eliminate<2>(x, rows, size);
    eliminate<3>(x, rows, size);
    eliminate<4>(x, rows, size);
    eliminate<5>(x, rows, size);
    eliminate<6>(x, rows, size);
    eliminate<7>(x, rows, size);
    Half low = 0, high = 0;
#pragma unroll
    for (int s = 0; s < 8; ++s) {
        if (place == s / 2) (s % 2 ? high : low) |= x[s]; // D* itself: D* R adds no bit there
#pragma unroll 8
        for (int k = 0; k < 32; ++k) {
            const Half mask = int(x[s] << (31 - k)) >> 31;
            low |= strip[32 * s + k][0] & mask, high |= strip[32 * s + k][1] & mask;
        }
    }
    if (i < size) A[(p + i) * lda + w] = Word(high) << 32 | low;
    // Rᵀ: 256 bits a column, 32 of them per warp.
    Half first = 0, second = 0;
#pragma unroll 8
    for (int j = 0; j < 32; ++j) {
        const Half column = __ballot_sync(~0u, low >> j & 1), further = __ballot_sync(~0u, high >> j & 1);
        if (lane == j) first = column, second = further;
    }
    Half* to = transposed + (64ll * w + lane) * 8 + i / 32;
    to[0] = first, to[32 * 8] = second;
}
