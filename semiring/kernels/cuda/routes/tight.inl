// One pass over a matrix and its closure: facts, tight edges as bits, line one of the rule.

// facts of each matrix; top[i] ← the best D[i,k] over k ≠ i. A warp per row.
extern "C" __global__ void __launch_bounds__(threads)
    look(const T* A, const T* D, int n, long long rows, Facts* facts, T* top) {
    const int lane = threadIdx.x % 32;
    const long long row = blockIdx.x * (long long)warps + threadIdx.x / 32;
    if (row >= rows) return;
    const int i = int(row % n);
    const T *a = A + row * n, *d = D + row * n;
    W best = Algebra::zero(), largest = W(0);
    bool beats = false;
#pragma unroll 4
    for (int k = lane; k < n; k += 32) {
        const W x = d[k];
        best = k != i && better(x, best) ? x : best;
        beats |= better(W(a[k]), Algebra::one());
        if (rounds) {
            const W size = size_of(x);
            largest = size < W(INFINITY) && size > largest ? size : largest;
        }
    }
    for (int half = 16; half; half /= 2) {
        const W other = __shfl_xor_sync(full_mask, best, half), size = __shfl_xor_sync(full_mask, largest, half);
        best = better(other, best) ? other : best;
        largest = size > largest ? size : largest;
    }
    beats = __any_sync(full_mask, beats);
    if (lane) return;
    top[row] = T(best);
    Facts& found = facts[row / n];
    if (beats) found.improving = 1;
    if (rounds) atomicMax(&found.largest, (unsigned long long)__double_as_longlong(double(largest)));
}

// Tight edges as bits; T = Dᵀ, and line one of the rule in Pᵀ: j where the edge (j, ·) is tight. By 32 × 32 tiles; without T,
// only bits of edges out.
extern "C" __global__ void __launch_bounds__(threads)
    tight(const T* A, const T* D, int n, int words, int batch, const Facts* facts, W slack, int wide,
          unsigned* leaving, unsigned* entering, unsigned* nearer, T* Dt, int* Pt, long long* report) {
    constexpr int each = 32 / warps;
    __shared__ T tile[32][33];
    __shared__ unsigned char seen[32][36]; // 1: tight; 2: and of weight other than `one`; 4: a path exists
    __shared__ int edges;
    const int x = threadIdx.x % 32, y = threadIdx.x / 32, k0 = blockIdx.y * 32, j0 = blockIdx.x * 32;
    if (threadIdx.x == 0) edges = 0;
    __syncthreads();
    for (int b = blockIdx.z; b < batch; b += gridDim.z) {
        const long long first = (long long)b * n;
        const W floor = floor_of(facts[b], wide);
        W a[each], d[each];
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const int k = k0 + y + e * warps, j = j0 + x;
            const bool inside = k < n && j < n;
            const long long index = (first + k) * n + j;
            a[e] = inside ? W(A[index]) : Algebra::zero();
            d[e] = inside ? W(D[index]) : Algebra::zero();
        }
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const int r = y + e * warps, k = k0 + r, j = j0 + x;
            const bool path = d[e] != Algebra::zero() && k != j;
            const bool found = path && is_tight(a[e], d[e], slack, floor);
            tile[r][x] = T(d[e]);
            seen[r][x] = found | (found && a[e] != Algebra::one()) << 1 | path << 2;
            const unsigned out = __ballot_sync(full_mask, found);
            if (x == 0 && k < n) {
                leaving[(first + k) * words + blockIdx.x] = out;
                if (out) atomicAdd(&edges, __popc(out));
            }
        }
        if (!Dt) continue;
        __syncthreads();
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const int r = y + e * warps, j = j0 + r, k = k0 + x;
            const int what = seen[x][r];
            const unsigned in = __ballot_sync(full_mask, what & 1), near = __ballot_sync(full_mask, what & 2);
            if (x == 0 && j < n) {
                entering[(first + j) * words + blockIdx.y] = in;
                nearer[(first + j) * words + blockIdx.y] = near;
            }
            if (j < n && k < n) {
                Dt[(first + j) * n + k] = tile[x][r];
                Pt[(first + j) * n + k] = what & 1 ? k : what & 4 ? OPEN : NONE;
            }
        }
        __syncthreads();
    }
    __syncthreads();
    if (threadIdx.x == 0 && edges) atomicAdd((unsigned long long*)&report[EDGES], (unsigned long long)edges);
}
