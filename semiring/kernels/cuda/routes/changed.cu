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

// found[0], found[1] ← the least and greatest of D[:,u] and D[v], found[2] ← D[u,v], found[3] ← row[v]; in the bytes behind
// them 1 where an entry of D's diagonal is not `one`, where a 0 in `row`, row u of a matrix, would improve D; else as before.
extern "C" __global__ void __launch_bounds__(1024) survey(const T* D, const T* row, int n, int u, int v, T* found) {
    const Arc arc = {D, n, u, v};
    __shared__ W lows[32], highs[32];
    bool opened = false, nulls = false;
    W low = arc.at(v, u), high = low;
    const auto take = [&](W least, W greatest) {
        if (least < low) low = least;
        if (high < greatest) high = greatest;
    };
    for (int i = threadIdx.x; i < n; i += 1024) {
        opened |= arc.at(i, i) != Algebra::one();
        nulls |= i != u && W(row[i]) == W(0) && better(W(0), arc.at(u, i));
        take(arc.at(i, u), arc.at(i, u)), take(arc.at(v, i), arc.at(v, i));
    }
    unsigned char* flags = reinterpret_cast<unsigned char*>(found + 4);
    if (opened) flags[0] = 1;
    if (nulls) flags[1] = 1;
    const auto fold = [&] {
        for (int half = 16; half; half /= 2) {
            const W least = __shfl_xor_sync(full_mask, low, half), greatest = __shfl_xor_sync(full_mask, high, half);
            take(least, greatest);
        }
    };
    fold();
    lows[threadIdx.x / 32] = low, highs[threadIdx.x / 32] = high;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    low = lows[threadIdx.x], high = highs[threadIdx.x];
    fold();
    if (threadIdx.x == 0) found[0] = T(low), found[1] = T(high), found[2] = D[(long long)u * n + v], found[3] = row[v];
}

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

// X[p, q] ← D[i, j], i = rows[p] and j = cols[q], but for entries that may lead over the arc: of rows with counts, in
// columns listed by `affected`.
extern "C" __global__ void __launch_bounds__(threads)
    keep(const T* D, int n, int u, int v, W w, W slack, W floor, const int* counts, const int* rows, const int* cols,
         int width, T* X) {
    const Arc arc = {D, n, u, v, w, slack, floor};
    const int i = rows[blockIdx.x], *listed = counts + n;
    const W a = arc.into(i);
    for (int q = threadIdx.x; q < width; q += threads) {
        const int j = cols[q];
        const bool goes = counts[i] && listed[j] && arc.leads(a, i, j);
        if (!goes) X[(long long)blockIdx.x * width + q] = D[(long long)i * n + j];
    }
}

// found[0] ← the largest |x| of integers x in X other than zero, found[1] ← 1 if one is below 0; both initially 0.
extern "C" __global__ void __launch_bounds__(threads) look(const T* X, long long size, unsigned long long* found) {
    unsigned long long most = 0;
    bool below = false;
    for (long long k = blockIdx.x * (long long)threads + threadIdx.x; k < size; k += (long long)gridDim.x * threads) {
        if (W(X[k]) == Algebra::zero()) continue;
        const long long x = (long long)X[k];
        most = max(most, x < 0 ? 0ull - (unsigned long long)x : (unsigned long long)x);
        below |= x < 0;
    }
    for (int half = 16; half; half /= 2) most = max(most, __shfl_xor_sync(full_mask, most, half));
    if (threadIdx.x % 32 == 0 && most) atomicMax(found, most);
    if (below) found[1] = 1;
}

// D[i, j] ← X[p, q], i = rows[p] and j = cols[q].
extern "C" __global__ void __launch_bounds__(threads)
    settle(T* D, int n, const int* rows, const int* cols, int width, const T* X) {
    const long long i = rows[blockIdx.x];
    for (int q = threadIdx.x; q < width; q += threads) D[i * n + cols[q]] = X[(long long)blockIdx.x * width + q];
}
