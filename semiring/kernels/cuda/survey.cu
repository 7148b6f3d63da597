// Survey of up to three arrays: extremes, and facts for the choice of a step. Each block leaves a record of its array, and
// the last block combines them. The prelude gives T and `zero`, the entry of a missing edge.
#include "common.cuh"

struct Record {
    T least, greatest;
    int flags; // 1: NaN; 2: below 0 and not `zero`; 4: a negative zero
    long long zeros, missing; // number of entries 0, and `zero`
};

__device__ inline void unite(Record& mine, const Record& other) {
    mine.least = other.least < mine.least ? other.least : mine.least;
    mine.greatest = other.greatest > mine.greatest ? other.greatest : mine.greatest;
    mine.flags |= other.flags;
    mine.zeros += other.zeros, mine.missing += other.missing;
}

// Union of the threads' records, valid in thread 0.
__device__ inline const Record& united(const Record& mine) {
    __shared__ Record all[256];
    all[threadIdx.x] = mine;
    for (int half = 128; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) unite(all[threadIdx.x], all[threadIdx.x + half]);
    }
    return all[0];
}

// blockIdx.y is the index of the array. `records` has one per block, `done` counts finished blocks per array, and is reset to
// 0. `result` may be in host memory.
extern "C" __global__ void __launch_bounds__(256, 4)
    survey(const T* A, long long count, const T* B, long long count_b, const T* C, long long count_c, Record* result,
           Record* records, unsigned* done) {
    if (blockIdx.y) A = blockIdx.y == 1 ? B : C, count = blockIdx.y == 1 ? count_b : count_c;
    result += blockIdx.y, records += blockIdx.y * gridDim.x, done += blockIdx.y;
    constexpr int each = 16 / sizeof(T);
    struct alignas(16) Part { T item[each]; };
    Record mine = {A[0], A[0], 0, 0, 0};
    unsigned zeros = 0, missing = 0;  // of this thread
    const auto look = [&](T a) {
        unite(mine, {a, a, (a != a) | (a < 0 && a != zero()) << 1 | negative_zero(a) << 2, 0, 0});
        zeros += a == 0, missing += a == zero();
    };
    const long long first = blockIdx.x * 256ll + threadIdx.x, grid_stride = gridDim.x * 256ll;
    const bool aligned = reinterpret_cast<unsigned long long>(A) % 16 == 0;
    const long long parts = aligned ? count / each : 0;
    for (long long i = first; i < parts; i += grid_stride) {
        const Part part = reinterpret_cast<const Part*>(A)[i];
#pragma unroll
        for (int e = 0; e < each; ++e) look(part.item[e]);
    }
    for (long long i = parts * each + first; i < count; i += grid_stride) look(A[i]);

    mine.zeros = zeros, mine.missing = missing;
    const Record& block = united(mine);
    __shared__ bool last;
    if (threadIdx.x == 0) {
        records[blockIdx.x] = block;
        __threadfence();
        last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    mine.zeros = mine.missing = 0; // already in the block's record
    for (int i = threadIdx.x; i < gridDim.x; i += 256) unite(mine, records[i]);
    const Record& total = united(mine);
    if (threadIdx.x == 0) *result = total;
}
