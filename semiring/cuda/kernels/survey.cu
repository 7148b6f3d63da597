// One look at every entry: the least, the greatest, and what the choice of a step depends on; a record a block.
//
// The prelude gives T and `zero`, the entry that marks a missing edge.
struct Record {
    T least, greatest;
    int flags;  // 1: not a number; 2: below 0 and not `zero`; 4: a negative zero
};

extern "C" __global__ void __launch_bounds__(256) survey(const T* A, long long count, Record* records) {
    constexpr int each = 16 / sizeof(T);
    struct alignas(16) Part { T at[each]; };
    Record mine = {A[0], A[0], 0};
    const auto look = [&](T a) {
        mine.least = a < mine.least ? a : mine.least;
        mine.greatest = a > mine.greatest ? a : mine.greatest;
        mine.flags |= (a != a) | (a < 0 && a != zero()) << 1 | negative_zero(a) << 2;
    };
    const long long first = blockIdx.x * 256ll + threadIdx.x, apart = gridDim.x * 256ll;
    const bool aligned = reinterpret_cast<unsigned long long>(A) % 16 == 0;
    const long long parts = aligned ? count / each : 0;
    for (long long i = first; i < parts; i += apart) {
        const Part part = reinterpret_cast<const Part*>(A)[i];
#pragma unroll
        for (int e = 0; e < each; ++e) look(part.at[e]);
    }
    for (long long i = parts * each + first; i < count; i += apart) look(A[i]);
    __shared__ Record all[256];
    all[threadIdx.x] = mine;
    for (int half = 128; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            const Record &other = all[threadIdx.x + half], own = all[threadIdx.x];
            all[threadIdx.x] = {other.least < own.least ? other.least : own.least,
                                other.greatest > own.greatest ? other.greatest : own.greatest, own.flags | other.flags};
        }
    }
    if (threadIdx.x == 0) records[blockIdx.x] = all[0];
}
