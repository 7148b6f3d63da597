// Lengths and hop counts of paths in predecessor trees: pointer doubling, a thread block per source. P[i,·] leads from every
// vertex back to i; after r rounds each vertex has the value and the start of the 2^r edges before it. The prelude gives
// Algebra.
#include "algebra.cuh"

using T = Algebra::T;
using W = Algebra::W;

constexpr int NONE = -9999, threads = 256;

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

// Start of a run of edges that ends here, and its value.
template <class Value>
struct alignas(sizeof(Value) > 4 ? 16 : 8) Known {
    int from;
    Value value;
};

// `buffer` holds 2 n per block. `wrong` ← the last row of P that is no tree, counted from 1.
template <class Count, class Edge, class Out>
__device__ void walk(const int* P, int n, long long rows, Known<typename Count::Value>* buffer, Out* out, unsigned long long* wrong,
                     const Edge& edge) {
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        auto *now = buffer + 2ll * n * blockIdx.x, *next = now + n;
        const int i = int(row % n);
        bool bad = false;
        for (int j = threadIdx.x; j < n; j += threads) {
            const int v = P[row * n + j];
            if (j == i) now[j] = {i, Count::nothing()};
            else if (v < 0 || v >= n) now[j] = {-1, Count::lost()}, bad |= v >= n;
            else now[j] = {v, edge(row, v, j)};
        }
        int more = 1;
        for (int reach = 1; more && reach < 4 * n && reach > 0; reach *= 2) {
            __syncthreads();
            bool mine = false;
            for (int j = threadIdx.x; j < n; j += threads) {
                auto here = now[j];
                if (here.from >= 0 && here.from != i) {
                    const auto before = now[here.from];
                    here = {before.from, before.from < 0 ? Count::lost() : Count::join(before.value, here.value)};
                    bad |= Count::must_begin && before.from < 0;
                    mine |= here.from >= 0 && here.from != i;
                }
                next[j] = here;
            }
            more = __syncthreads_or(mine);
            auto* const swapped = now;
            now = next;
            next = swapped;
        }
        for (int j = threadIdx.x; j < n; j += threads) out[row * n + j] = Out(now[j].from == i ? now[j].value : Count::lost());
        if (bad || more) atomicMax(wrong, (unsigned long long)row + 1);
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(threads)
    weigh(const int* P, const T* A, int n, long long rows, Known<W>* buffer, T* L, unsigned long long* wrong) {
    walk<Weights>(P, n, rows, buffer, L, wrong, [&](long long row, int k, int j) { return W(A[(row - row % n + k) * n + j]); });
}

extern "C" __global__ void __launch_bounds__(threads)
    hops(const int* P, int n, long long rows, Known<int>* buffer, int* H, unsigned long long* wrong) {
    walk<Edges>(P, n, rows, buffer, H, wrong, [](long long, int, int) { return 1; });
}
