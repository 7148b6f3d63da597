// Lengths and hop counts of paths in predecessor trees: pointer doubling, a thread block per source. P[i,·] leads from every
// vertex back to i; after r rounds each vertex has the value and the start of the 2^r edges before it. The prelude gives
// Algebra.
#include "algebra.cuh"

using T = Algebra::T;
using W = Algebra::W;

constexpr int NONE = -9999, most_threads = 1024;

// ⊗-products of edges, and counts of edges.
struct Weights {
    using Value = W;
    static __device__ W nothing() { return Algebra::one(); }
    static __device__ W lost() { return Algebra::zero(); }
    static __device__ W join(W a, W b) { return Algebra::mul(a, b); }
    static constexpr bool must_begin = false;
};
struct Edges {
    using Value = int;
    static __device__ int nothing() { return 0; }
    static __device__ int lost() { return NONE; }
    static __device__ int join(int a, int b) { return a + b; }
    static constexpr bool must_begin = true; // a path must begin at its source
};

// Runs of edges that end at each vertex: values, and where they start, −1 for none, now and next. `buffer` has these of each
// block, or is null, and shared memory has. `wrong` ← the last row of P that is no tree, counted from 1.
template <class Count, class Edge, class Out>
__device__ void walk(const int* P, int n, long long rows, unsigned char* buffer, Out* out, unsigned long long* wrong,
                     const Edge& edge) {
    using Value = typename Count::Value;
    extern __shared__ __align__(16) unsigned char shared[];
    const int threads = blockDim.x;
    auto* const values = reinterpret_cast<Value*>(buffer ? buffer + 2ll * n * (sizeof(Value) + 4) * blockIdx.x : shared);
    auto* const starts = reinterpret_cast<int*>(values + 2ll * n);
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        int now = 0;
        const int i = int(row % n);
        bool bad = false;
        for (int j = threadIdx.x; j < n; j += threads) {
            const int v = P[row * n + j];
            const bool there = v >= 0 && v < n && j != i;
            starts[j] = j == i ? i : there ? v : -1;
            values[j] = j == i ? Count::nothing() : there ? edge(row - i, v, j) : Count::lost();
            bad |= j != i && v >= n;
        }
        int more = 1;
        for (int reach = 1; more && reach < 4 * n && reach > 0; reach *= 2) {
            __syncthreads();
            bool mine = false;
            for (int j = threadIdx.x; j < n; j += threads) {
                int from = starts[now + j];
                Value value = values[now + j];
                if (from >= 0 && from != i) {
                    const int before = starts[now + from];
                    value = before < 0 ? Count::lost() : Count::join(values[now + from], value);
                    from = before;
                    bad |= Count::must_begin && before < 0;
                    mine |= before >= 0 && before != i;
                }
                starts[n - now + j] = from;
                values[n - now + j] = value;
            }
            more = __syncthreads_or(mine);
            now = n - now;
        }
        for (int j = threadIdx.x; j < n; j += threads) out[row * n + j] = Out(starts[now + j] == i ? values[now + j] : Count::lost());
        if (bad || more) atomicMax(wrong, (unsigned long long)row + 1);
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(most_threads, 1)
    weigh(const int* P, const T* A, int n, long long rows, unsigned char* buffer, T* L, unsigned long long* wrong) {
    walk<Weights>(P, n, rows, buffer, L, wrong, [&](long long first, int k, int j) { return W(A[(first + k) * n + j]); });
}

extern "C" __global__ void __launch_bounds__(most_threads, 1)
    hops(const int* P, int n, long long rows, unsigned char* buffer, int* H, unsigned long long* wrong) {
    walk<Edges>(P, n, rows, buffer, H, wrong, [](long long, int, int) { return 1; });
}
