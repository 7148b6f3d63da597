// A closure D after one arc (u, v) of its matrix changes: kernels of changed.py. An entry may lead over an arc of weight w
// if D[i,u] ⊗ w ⊗ D[v,j] is as good as D[i,j], and then so is D[i,u] ⊗ w as D[i,v]. The prelude gives Algebra.
#include "algebra.cuh"
#include "rule.inl"

// Arc (u, v) of weight w, and the slack of sums that round.
struct Arc {
    const T* D;
    int n, u, v;
    W w, slack, floor;

    __device__ W at(int i, int j) const { return W(D[(long long)i * n + j]); }
    __device__ bool tight(W a, int i, int j) const { return is_tight(a, at(i, j), slack, floor); }
    // D[i,u] ⊗ w where that is as good as D[i,v], else zero.
    __device__ W into(int i) const {
        const W a = Algebra::mul(at(i, u), w);
        return tight(a, i, v) ? a : Algebra::zero();
    }
    // Whether entry (i, j) may lead over the arc, a being into(i).
    __device__ bool leads(W a, int i, int j) const { return i != j && tight(Algebra::mul(a, at(v, j)), i, j); }
};

// D ← D ⊕ D[:,u] ⊗ w ⊗ D[v,:]; *improved ← the number of entries that do, −1 (D as before) if a cycle beats `one`.
// A block per row. Row v stays.
extern "C" __global__ void __launch_bounds__(threads) gain(T* D, int n, int u, int v, W w, long long* improved) {
    const int i = blockIdx.x;
    T* d = D + (long long)i * n;
    const T* after = D + (long long)v * n;
    if (better(Algebra::mul(W(after[u]), w), Algebra::one())) {
        if (i == 0 && threadIdx.x == 0) *improved = -1;
        return;
    }
    const W a = Algebra::mul(W(d[u]), w);
    if (i == v || !better(a, W(d[v]))) return;
    __syncthreads(); // d[u] and d[v] are read
    int found = 0;
    for (int j = threadIdx.x; j < n; j += threads) {
        const W x = Algebra::mul(a, W(after[j]));
        if (i != j && better(x, W(d[j]))) d[j] = T(x), ++found;
    }
    for (int half = 16; half; half /= 2) found += __shfl_xor_sync(full_mask, found, half);
    if (threadIdx.x % 32 == 0 && found) atomicAdd((unsigned long long*)improved, (unsigned long long)found);
}

// counts[i] ← entries of row i that may lead over the arc; listed[j] ← 1 in their columns; both initially 0.
extern "C" __global__ void __launch_bounds__(threads)
    affected(const T* D, int n, int u, int v, W w, W slack, W floor, int* counts, int* listed) {
    const Arc arc = {D, n, u, v, w, slack, floor};
    const int i = blockIdx.x;
    const W a = arc.tight(w, u, v) ? arc.into(i) : Algebra::zero();
    if (a == Algebra::zero()) return;
    int found = 0;
    for (int j = threadIdx.x; j < n; j += threads)
        if (arc.leads(a, i, j)) listed[j] = 1, ++found;
    for (int half = 16; half; half /= 2) found += __shfl_xor_sync(full_mask, found, half);
    if (threadIdx.x % 32 == 0 && found) atomicAdd(counts + i, found);
}

// kept[p, q] ← D[i, j], zero where it may lead over the arc, i = rows[p] and j = cols[q]; a null list is all of them.
extern "C" __global__ void __launch_bounds__(threads)
    keep(const T* D, int n, int u, int v, W w, W slack, W floor, const int* rows, const int* cols, int width, T* kept) {
    const Arc arc = {D, n, u, v, w, slack, floor};
    const int i = rows ? rows[blockIdx.x] : blockIdx.x;
    const W a = arc.into(i);
    for (int q = threadIdx.x; q < width; q += threads) {
        const int j = cols ? cols[q] : q;
        kept[(long long)blockIdx.x * width + q] = arc.leads(a, i, j) ? T(Algebra::zero()) : D[(long long)i * n + j];
    }
}

// D[i, j] ← found[p, q] where i ≠ j and `kept`, of those rows if `of_rows`, else of those columns, is zero.
extern "C" __global__ void __launch_bounds__(threads)
    settle(T* D, int n, const int* rows, const int* cols, int width, const T* kept, int of_rows, const T* found) {
    const int p = blockIdx.x, i = rows[p];
    for (int q = threadIdx.x; q < width; q += threads) {
        const int j = cols[q];
        const T before = kept[of_rows ? (long long)p * n + j : (long long)i * width + q];
        if (i != j && W(before) == Algebra::zero()) D[(long long)i * n + j] = found[(long long)p * width + q];
    }
}
