// C = A B of sparse matrices, a team of threads per row, in a table: columns are counted, then computed.
//
// A key is a column, with the highest bit set if C has an entry. A mask's columns are inserted first: only those are
// used, or for a complement only others. If sums depend on their order (`ordered`), a team takes the rows of B in turn,
// each thread other columns: bitwise reproducible. Else groups of lanes take several rows of B at once, with atomic sums.
#include "algebra.cuh"

using S = Algebra;
using T = S::T;
using W = S::W;

constexpr unsigned met = 0x80000000u, none = 0xffffffffu;

struct Rows { const long long* starts; const int* indices; };

template <int size> struct Raw { using type = unsigned; };
template <> struct Raw<8> { using type = unsigned long long; };
using Bits = Raw<sizeof(W)>::type;

// c ← c ⊕ v, in any order.
__device__ inline void add_to(W* c, W v) {
    if constexpr (ordered) {
        *c = S::add(*c, v);
    } else {
        Bits* address = reinterpret_cast<Bits*>(c);
        Bits was = *reinterpret_cast<volatile Bits*>(address);
        while (true) {
            W old;
            memcpy(&old, &was, sizeof(W));
            const W sum = S::add(old, v);
            Bits wanted;
            memcpy(&wanted, &sum, sizeof(W));
            if (wanted == was) return;
            const Bits found = atomicCAS(address, was, wanted);
            if (found == was) return;
            was = found;
        }
    }
}

// Slot of a column, −1 if not found; inserted with `key`, unless the key is none.
__device__ inline int slot_of(unsigned* keys, int shift, unsigned column, unsigned key, bool& fresh) {
    const unsigned last = (1u << (32 - shift)) - 1;
    unsigned slot = column * 0x9e3779b1u >> shift;
    fresh = false;
    while (true) {
        unsigned k = *reinterpret_cast<volatile unsigned*>(keys + slot);
        if (k == none) {
            if (key == none) return -1;
            k = atomicCAS(keys + slot, none, key);
            if (k == none) {
                fresh = true;
                return slot;
            }
        }
        if ((k & ~met) == column) return slot;
        slot = slot + 1 & last;
    }
}

__device__ inline void meet(int team, unsigned lanes) {
    if (team > 32) __syncthreads();
    else __syncwarp(lanes);
}

// visit(column, entry of A, entry of B) for the products of row i of A, with entries if `a`. Long rows of B are prefetched.
template <class Visit>
__device__ inline void each_product(
    const Rows& A, const T* a, const Rows& B, const T* b, int i, int rank, int team, int group, unsigned lanes, Visit visit) {
    const bool in_turn = ordered && a;
    const int apart = in_turn ? 1 : team / group, wide = in_turn ? team : group;
    const long long stop = A.starts[i + 1];
    long long p = A.starts[i] + (in_turn ? 0 : rank / group), q = 0, end = 0;
    if (group <= 8) {
        for (; p < stop; p += apart) {
            const int k = A.indices[p];
            const T left = a ? a[p] : T(S::zero());
            end = B.starts[k + 1];
            for (q = B.starts[k] + rank % wide; q < end; q += wide)
                visit(unsigned(B.indices[q]), W(left), a ? W(b[q]) : S::zero());
            if (in_turn) meet(team, lanes);
        }
        return;
    }
    T left = T(S::zero());
    for (bool begun = false; p < stop || !begun; begun = true) {
        const long long next = begun ? p + apart : p;
        long long next_q = 0, next_end = 0;
        T next_left = T(S::zero());
        if (next < stop) {
            const int k = A.indices[next];
            next_q = B.starts[k] + rank % wide, next_end = B.starts[k + 1];
            if (a) next_left = a[next];
        }
        for (; q < end; q += wide) {
            const unsigned column = B.indices[q];
            const T right = a ? b[q] : T(S::zero());
            visit(column, W(left), W(right));
        }
        if (in_turn && begun) meet(team, lanes);
        p = next, q = next_q, end = next_end, left = next_left;
    }
}

#include "numbers.inl"

// Check of a matrix as it came, eight threads per row: found |= 1 unless starts ascend from 0 to at most `count`, indices are
// below `columns` and entries lie in the semiring's domain; |= 2 unless columns ascend within rows. starts_copy ← starts, from
// 0 to `count` in any case; indices_copy ← indices, if they are in 64 bits.
extern "C" __global__ __launch_bounds__(256) void check_rows(
    const void* row_starts, int wide, const void* heads, int wide_indices, const T* a, int rows, long long count,
    long long columns, long long* starts_copy, int* indices_copy, unsigned long long* found) {
    const Numbers starts = {row_starts, wide}, indices = {heads, wide_indices};
    const auto start = [&](long long i) { return min(max(starts[i], 0LL), count + 1); };
    bool wrong = false, mixed = false;
    for (long long i = (blockIdx.x * 256LL + threadIdx.x) / 8; i <= rows; i += gridDim.x * 32LL) {
        const long long from = start(i), to = i < rows ? start(i + 1) : from, end = min(to, count);
        wrong |= to < from || to > count || (i == 0 && from > 0);
        if (threadIdx.x % 8 == 0) starts_copy[i] = min(from, count);
        for (long long p = from + threadIdx.x % 8; p < end; p += 8) {
            const long long column = indices[p];
            wrong |= (unsigned long long)column >= columns || outside(a[p]);
            mixed |= p > from && column <= indices[p - 1];
            if (wide_indices) indices_copy[p] = int(column);
        }
    }
    if (wrong || mixed) atomicOr(found, wrong + 2ULL * mixed);
}

// Upper bound of keys per row of C, eight threads per row: products, at most columns; mode 1: the mask's entries, plus
// products / `apart`, at most `most`, for time; mode 2: products plus the mask's. totals[0] += products, totals[1] ← longest
// row. Indices of A from `inner` on are skipped.
extern "C" __global__ __launch_bounds__(256) void bound_rows(
    const long long* a_starts, const int* a_indices, const long long* b_starts, const long long* mask_starts, int mode,
    long long inner, long long columns, int apart, long long most, long long* bound, int rows, unsigned long long* totals) {
    __shared__ unsigned long long total, longest;
    if (threadIdx.x == 0) total = longest = 0;
    __syncthreads();
    for (long long base = blockIdx.x * 32LL; base < rows; base += gridDim.x * 32LL) {
        const long long i = base + threadIdx.x / 8;
        long long sum = 0;
        if (i < rows)
            for (long long p = a_starts[i] + threadIdx.x % 8; p < a_starts[i + 1]; p += 8) {
                const unsigned k = a_indices[p];
                if (k < inner) sum += b_starts[k + 1] - b_starts[k];
            }
        for (int other = 4; other; other /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, other);
        if (i >= rows || threadIdx.x % 8) continue;
        const long long masked = mode ? mask_starts[i + 1] - mask_starts[i] : 0;
        const long long keys = mode == 0 ? min(sum, columns)
                             : mode == 2 ? sum + masked
                                         : sum && masked ? max(masked, min(sum / apart, most)) : 0;
        bound[i] = keys;
        atomicAdd(&total, (unsigned long long)sum);
        atomicMax(&longest, (unsigned long long)keys);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(totals, total);
        atomicMax(totals + 1, longest);
    }
}

// starts, narrow ← CSR starts of rows with these counts, in 64 and in 32 bits; found[0] ← their total, found[1] ← the longest
// row. Blocks in the order of tickets, found[2], add up: found[3 + b] is 1 + the entries up to the end of block b. All of
// `found` is initially 0. A block's rows pass through shared memory, an odd number per thread: no bank conflicts.
extern "C" __global__ __launch_bounds__(1024) void begin_rows(
    const int* counts, int rows, long long* starts, int* narrow, unsigned long long* found) {
    constexpr int each = 11, all = 1024 * each;
    extern __shared__ __align__(16) unsigned char memory[];
    unsigned long long* sums = reinterpret_cast<unsigned long long*>(memory);
    __shared__ unsigned long long warps[32], before;
    __shared__ unsigned block;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0) block = unsigned(atomicAdd(found + 2, 1ULL));
    __syncthreads();
    const long long first = block * (long long)all;
    unsigned long long own = 0, longest = 0;
    for (int i = threadIdx.x; i < all; i += 1024) {
        const unsigned long long count = first + i < rows ? counts[first + i] : 0;
        sums[i] = count, longest = max(longest, count);
    }
    __syncthreads();
    for (int i = threadIdx.x * each; i < (threadIdx.x + 1) * each; ++i) sums[i] = own += sums[i];
    const unsigned long long upto = prefix_sum(own);
    for (int apart = 1; apart < 32; apart *= 2) longest = max(longest, __shfl_xor_sync(0xffffffffu, longest, apart));
    if (lane == 31) warps[warp] = upto;
    if (lane == 0 && longest) atomicMax(found + 1, longest);
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned long long sum = 0, here;
        for (int w = 0; w < 32; ++w) here = warps[w], warps[w] = sum, sum += here;
        before = 0;
        if (block > 0)
            while (!(before = *reinterpret_cast<volatile unsigned long long*>(found + 2 + block))) {}
        before -= block > 0;
        atomicExch(found + 3 + block, before + sum + 1);
        if (block == gridDim.x - 1) found[0] = before + sum;
        if (block == 0) starts[0] = narrow[0] = 0;
    }
    __syncthreads();
    for (int i = threadIdx.x * each; i < (threadIdx.x + 1) * each; ++i) sums[i] += before + warps[warp] + upto - own;
    __syncthreads();
    for (int i = threadIdx.x; i < all && first + i < rows; i += 1024) {
        starts[first + i + 1] = sums[i];
        narrow[first + i + 1] = int(sums[i]);
    }
}

// Class of a row by its keys: 0 without any, else log₂ of the places of a table that is at most three quarters full, from
// 5 on; `most` + 1 for all that are larger.
__device__ inline int class_of(const void* keys, int wide, int row, int most) {
    const long long bound = wide ? static_cast<const long long*>(keys)[row] : static_cast<const int*>(keys)[row];
    if (bound <= 0) return 0;
    int k = 5;
    while (k <= most && bound > 3LL << (k - 2)) ++k;
    return k;
}

// found[c] += rows of class c; initially 0.
constexpr int classes = 16;

extern "C" __global__ __launch_bounds__(256) void count_classes(
    const void* keys, int wide, int rows, int most, unsigned* found) {
    __shared__ unsigned here[classes];
    if (threadIdx.x < classes) here[threadIdx.x] = 0;
    __syncthreads();
    for (long long i = blockIdx.x * 256LL + threadIdx.x; i < rows; i += gridDim.x * 256LL)
        atomicAdd(here + class_of(keys, wide, int(i), most), 1u);
    __syncthreads();
    if (threadIdx.x < classes && here[threadIdx.x]) atomicAdd(found + threadIdx.x, here[threadIdx.x]);
}

// list ← rows by ascending class, in any order within one, given their numbers; taken[c] += those listed, initially 0.
extern "C" __global__ __launch_bounds__(256) void list_classes(
    const void* keys, int wide, int rows, int most, const unsigned* found, unsigned* taken, int* list) {
    __shared__ unsigned here[classes], place[classes];
    for (long long base = blockIdx.x * 256LL; base < rows; base += gridDim.x * 256LL) {
        if (threadIdx.x < classes) here[threadIdx.x] = 0;
        __syncthreads();
        const long long i = base + threadIdx.x;
        const int mine = i < rows ? class_of(keys, wide, int(i), most) : 0;
        const unsigned rank = i < rows ? atomicAdd(here + mine, 1u) : 0;
        __syncthreads();
        if (threadIdx.x < classes) {
            unsigned before = 0;
            for (int c = 0; c < threadIdx.x; ++c) before += found[c];
            place[threadIdx.x] = before + atomicAdd(taken + threadIdx.x, here[threadIdx.x]);
        }
        __syncthreads();
        if (i < rows) list[place[mine] + rank] = int(i);
    }
}

// Rows of C whose columns fit a table of 2^(32 − shift) keys in shared memory; mode 1: the mask's, 2: all others. Without
// c_indices entries are only counted; without a list, all rows. With `totals` of bound_rows and check_rows, launched unseen:
// none if the longest row would not fit, or an operand is malformed.
extern "C" __global__ void multiply_hashed(
    const int* list, int count, const long long* a_starts, const int* a_indices, const T* a, const long long* b_starts,
    const int* b_indices, const T* b, const long long* mask_starts, const int* mask_indices, int mode, int shift, int team,
    int group, int* counts, const long long* c_starts, int* c_indices, T* c, const long long* totals) {
    extern __shared__ __align__(16) unsigned char memory[];
    if (totals && (totals[1] > 3LL << (30 - shift) || totals[2] & 1)) return;
    const int size = 1 << (32 - shift), teams = blockDim.x / team, mine = threadIdx.x / team, rank = threadIdx.x % team;
    const bool numeric = c_indices != nullptr;
    W* values = reinterpret_cast<W*>(memory) + mine * (numeric ? size : 0);
    unsigned* keys = reinterpret_cast<unsigned*>(memory + (numeric ? sizeof(W) * size * teams : 0)) + mine * size;
    unsigned* free = reinterpret_cast<unsigned*>(memory + (sizeof(unsigned) + (numeric ? sizeof(W) : 0)) * size * teams) + mine;
    const unsigned lanes = team >= 32 ? 0xffffffffu : ((1u << team) - 1) << threadIdx.x % 32 / team * team;
    const long long index = blockIdx.x * (long long)teams + mine;
    if (index >= count) return; // whole teams; if a team is a block, whole blocks
    const int i = list ? list[index] : int(index);
    for (int s = rank; s < size; s += team) {
        keys[s] = none;
        if (numeric) values[s] = S::zero();
    }
    if (rank == 0) *free = 0;
    meet(team, lanes);
    bool fresh;
    if (mode) {
        for (long long q = mask_starts[i] + rank; q < mask_starts[i + 1]; q += team)
            slot_of(keys, shift, mask_indices[q], mask_indices[q], fresh);
        meet(team, lanes);
    }
    const Rows A{a_starts, a_indices}, B{b_starts, b_indices};
    unsigned found = 0;
    each_product(A, numeric ? a : nullptr, B, b, i, rank, team, group, lanes, [&](unsigned column, W left, W right) {
        bool fresh;
        const int slot = slot_of(keys, shift, column, mode == 1 ? none : column | met, fresh);
        if (slot < 0) return;
        if (mode == 1) fresh = !(atomicOr(keys + slot, met) & met);
        if (mode == 2 && !(*reinterpret_cast<volatile unsigned*>(keys + slot) & met)) return;
        found += fresh;
        if (numeric) add_to(values + slot, S::mul(left, right));
    });
    meet(team, lanes);
    if (!numeric) {
        atomicAdd(free, found);
        meet(team, lanes);
        if (rank == 0) counts[i] = int(*free);
        return;
    }
    const long long to = c_starts[i];
    for (int s = rank; s < size; s += team)
        if (keys[s] != none && keys[s] & met) {
            const unsigned place = atomicAdd(free, 1);
            c_indices[to + place] = int(keys[s] & ~met), c[to + place] = T(values[s]);
        }
    meet(team, lanes);
    if (rank == 0) counts[i] = int(*free);
}

// `multiply_hashed` for rows with more columns: a thread block has a bit and a value for each column of a strip in shared
// memory, and passes over all products of a row. A row's places in C are allocated by its count, initially 0.
extern "C" __global__ void multiply_strips(
    const int* list, int count, const long long* a_starts, const int* a_indices, const T* a, const long long* b_starts,
    const int* b_indices, const T* b, const long long* mask_starts, const int* mask_indices, int mode, int words, int strips,
    int group, int* counts, const long long* c_starts, int* c_indices, T* c) {
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ unsigned found, free;
    const bool numeric = c_indices != nullptr;
    const unsigned width = 32 * words, first = blockIdx.x % strips * width;
    W* values = reinterpret_cast<W*>(memory);
    unsigned* seen = reinterpret_cast<unsigned*>(memory + (numeric ? sizeof(W) * width : 0));
    unsigned* allowed = seen + words;
    const int row = blockIdx.x / strips, i = list ? list[row] : row, threads = blockDim.x;
    for (int s = threadIdx.x; s < words; s += threads) {
        seen[s] = 0;
        if (mode) allowed[s] = 0;
    }
    if (numeric)
        for (int s = threadIdx.x; s < width; s += threads) values[s] = S::zero();
    if (threadIdx.x == 0) found = free = 0;
    __syncthreads();
    if (mode) {
        for (long long q = mask_starts[i] + threadIdx.x; q < mask_starts[i + 1]; q += threads) {
            const unsigned j = mask_indices[q] - first;
            if (j < width) atomicOr(allowed + j / 32, 1u << j % 32);
        }
        __syncthreads();
    }
    const Rows A{a_starts, a_indices}, B{b_starts, b_indices};
    each_product(A, numeric ? a : nullptr, B, b, i, threadIdx.x, threads, group, 0, [&](unsigned column, W left, W right) {
        const unsigned j = column - first, bit = 1u << j % 32;
        if (j >= width || (mode && !(allowed[j / 32] & bit) == (mode == 1))) return;
        if (!(*reinterpret_cast<volatile unsigned*>(seen + j / 32) & bit)) atomicOr(seen + j / 32, bit);
        if (numeric) add_to(values + j, S::mul(left, right));
    });
    __syncthreads();
    unsigned own = 0;
    for (int s = threadIdx.x; s < words; s += threads) own += __popc(seen[s]);
    if (own) atomicAdd(&found, own);
    __syncthreads();
    if (threadIdx.x == 0) free = atomicAdd(counts + i, int(found));
    if (!numeric) return;
    __syncthreads();
    const long long to = c_starts[i];
    for (int s = threadIdx.x; s < words; s += threads) {
        unsigned left = seen[s];
        if (!left) continue;
        for (long long place = to + atomicAdd(&free, __popc(left)); left; left &= left - 1, ++place) {
            const int j = 32 * s + __ffs(left) - 1;
            c_indices[place] = int(first) + j, c[place] = T(values[j]);
        }
    }
}

// `multiply_strips` for too many strips: each thread block has a bit per column (two with a mask) and a value per column in
// global memory.
extern "C" __global__ __launch_bounds__(256) void multiply_dense(
    const int* list, int count, const long long* a_starts, const int* a_indices, const T* a, const long long* b_starts,
    const int* b_indices, const T* b, const long long* mask_starts, const int* mask_indices, int mode, int words, int group,
    unsigned* bits, W* values, int* counts, const long long* c_starts, int* c_indices, T* c) {
    __shared__ unsigned free;
    const bool numeric = c_indices != nullptr;
    unsigned* seen = bits + (mode ? 2LL : 1LL) * words * blockIdx.x;
    unsigned* allowed = seen + words;
    values += numeric ? 32LL * words * blockIdx.x : 0;
    const Rows A{a_starts, a_indices}, B{b_starts, b_indices};
    for (int index = blockIdx.x; index < count; index += gridDim.x) {
        const int i = list[index];
        if (threadIdx.x == 0) free = 0;
        if (mode)
            for (long long q = mask_starts[i] + threadIdx.x; q < mask_starts[i + 1]; q += 256)
                atomicOr(allowed + mask_indices[q] / 32, 1u << mask_indices[q] % 32);
        __syncthreads();
        unsigned found = 0;
        each_product(A, numeric ? a : nullptr, B, b, i, threadIdx.x, 256, group, 0, [&](unsigned j, W left, W right) {
            const unsigned bit = 1u << j % 32;
            if (mode && !(allowed[j / 32] & bit) == (mode == 1)) return;
            if (!(*reinterpret_cast<volatile unsigned*>(seen + j / 32) & bit)) found += !(atomicOr(seen + j / 32, bit) & bit);
            if (numeric) add_to(values + j, S::mul(left, right));
        });
        if (!numeric) atomicAdd(&free, found);
        __syncthreads();
        if (!numeric && threadIdx.x == 0) counts[i] = int(free);
        const long long to = numeric ? c_starts[i] : 0;
        for (int w = threadIdx.x; w < words; w += 256) {
            unsigned left = seen[w];
            if (!left) continue;
            if (numeric) {
                long long place = to + atomicAdd(&free, __popc(left));
                for (; left; left &= left - 1, ++place) {
                    const int j = 32 * w + __ffs(left) - 1;
                    c_indices[place] = j, c[place] = T(values[j]);
                    values[j] = S::zero();
                }
            }
            seen[w] = 0;
        }
        if (mode)
            for (long long q = mask_starts[i] + threadIdx.x; q < mask_starts[i + 1]; q += 256) allowed[mask_indices[q] / 32] = 0;
        __syncthreads();
        if (numeric && threadIdx.x == 0) counts[i] = int(free);
    }
}
