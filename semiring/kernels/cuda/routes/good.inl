// Edges of a matrix that equal its closure's entries, counted and listed; the largest entry.

// largest ← bits of the largest finite |entry|, as a double.
extern "C" __global__ void __launch_bounds__(threads) find_largest(const T* D, long long entries, Bits* largest) {
    double mine = 0;
    for (long long e = blockIdx.x * (long long)threads + threadIdx.x; e < entries; e += gridDim.x * (long long)threads) {
        const double size = fabs(double(D[e]));
        if (size > mine && size < INFINITY) mine = size;
    }
    for (int half = 16; half; half /= 2) {
        const double other = __shfl_xor_sync(full_mask, mine, half);
        mine = other > mine ? other : mine;
    }
    if (threadIdx.x % 32 == 0) atomicMax(largest, bits(mine));
}

// Whether an entry equals that of the closure, within `slack`.
__device__ inline bool as_good(W a, W d, W slack) {
    const W worse = a < d ? d - a : a - d;
    return a != Algebra::zero() && (rounds ? a == d || worse <= slack : a == d);
}

// Number of entries per row equal to the closure's, off the diagonal; a warp per row.
extern "C" __global__ void __launch_bounds__(threads)
    count_good(const T* A, const T* D, int n, W slack, long long* counts) {
    const int lane = threadIdx.x % 32;
    const long long i = blockIdx.x * (long long)warps + threadIdx.x / 32;
    if (i >= n) return;
    int found = 0;
    for (int j = lane; j < n; j += 32) found += j != i && as_good(W(A[i * n + j]), W(D[i * n + j]), slack);
    found = __reduce_add_sync(full_mask, found);
    if (lane == 0) counts[i + 1] = found;
}

// List these entries; starts[i] is the start of row i.
extern "C" __global__ void __launch_bounds__(threads)
    list_good(const T* A, const T* D, int n, W slack, const long long* starts, Index* tails, Index* heads, T* weights) {
    const int lane = threadIdx.x % 32;
    const long long i = blockIdx.x * (long long)warps + threadIdx.x / 32;
    if (i >= n) return;
    long long to = starts[i];
    for (int begin = 0; begin < n; begin += 32) {
        const int j = begin + lane;
        const T a = j < n ? A[i * n + j] : T(Algebra::zero());
        const bool good = j < n && j != i && as_good(W(a), W(D[i * n + j]), slack);
        const unsigned found = __ballot_sync(full_mask, good);
        if (good) {
            const long long p = to + __popc(found & ((1u << lane) - 1));
            tails[p] = Index(i), heads[p] = Index(j), weights[p] = a;
        }
        to += __popc(found);
    }
}
