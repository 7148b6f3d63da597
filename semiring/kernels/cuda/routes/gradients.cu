// Sums along predecessor trees, and best witnesses of products: the basis of gradients of closures and products.  The prelude
// gives T, float or double.

constexpr int threads = 256, band = 64; // rows of a column per thread
#include "fixed.inl"

// sums[s,j] ← Σ Q[s,t] over the t whose path in P[s] passes j or ends there. A thread block per row: the thread that adds a
// vertex' last successor adds the vertex to its predecessor. Sums are in shared memory, or in `buffer`, n numbers and n
// counts per block.
extern "C" __global__ void __launch_bounds__(threads)
    subtrees(const int* P, const T* Q, int n, long long rows, long long* buffer, T* sums) {
    extern __shared__ long long dynamic[];
    __shared__ Bits greatest;
    const long long pitch = n + (n + 1) / 2;
    auto* const total = reinterpret_cast<Bits*>(buffer ? buffer + pitch * blockIdx.x : dynamic);
    int* const waits = reinterpret_cast<int*>(total + n);
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const int* const p = P + row * n;
        const T* const q = Q + row * n;
        if (threadIdx.x == 0) greatest = 0;
        __syncthreads();
        Bits mine = 0;
        for (int j = threadIdx.x; j < n; j += threads) {
            waits[j] = 0;
            if (p[j] >= 0) mine = max(mine, bits(q[j]));
        }
        atomicMax(&greatest, mine);
        __syncthreads();
        const double scale = scale_of(greatest, n), back = inverse(scale);
        for (int j = threadIdx.x; j < n; j += threads) {
            total[j] = p[j] >= 0 ? scaled(q[j], scale) : 0;
            if (p[j] >= 0) atomicAdd(&waits[p[j]], 1);
        }
        __syncthreads();
        for (int j = threadIdx.x; j < n; j += threads)
            if (waits[j] == 0) waits[j] = -1; // a leaf, where a thread starts
        __syncthreads();
        for (int j = threadIdx.x; j < n; j += threads) {
            if (*(volatile int*)&waits[j] != -1) continue;
            for (int v = j, k = p[j]; k >= 0; v = k, k = p[k]) {
                atomicAdd(&total[k], *(volatile Bits*)&total[v]);
                __threadfence_block();
                if (atomicAdd(&waits[k], -1) != 1) break;
                __threadfence_block();
            }
        }
        __syncthreads();
        for (int j = threadIdx.x; j < n; j += threads) sums[row * n + j] = T((long long)total[j] * back);
        __syncthreads();
    }
}

// The greatest |values| per column where K has a row, for batches of m × n; `greatest` holds zeros.
extern "C" __global__ void __launch_bounds__(threads)
    columns(const int* K, const T* values, int m, int n, int batch, Bits* greatest) {
    const int j = blockIdx.x * threads + threadIdx.x, begin = blockIdx.y * band;
    if (j >= n) return;
    for (long long b = blockIdx.z; b < batch; b += gridDim.z) {
        Bits mine = 0;
        for (int i = begin; i < min(begin + band, m); ++i)
            if (K[(b * m + i) * n + j] >= 0) mine = max(mine, bits(values[(b * m + i) * n + j]));
        atomicMax(&greatest[b * n + j], mine);
    }
}

// F[k,j] += values[i,j] where K[i,j] = k, scaled by column; F is rows × n and holds zeros.
extern "C" __global__ void __launch_bounds__(threads)
    collect(const int* K, const T* values, int m, int n, int rows, int batch, const Bits* greatest, Bits* F) {
    const int j = blockIdx.x * threads + threadIdx.x, begin = blockIdx.y * band;
    if (j >= n) return;
    for (long long b = blockIdx.z; b < batch; b += gridDim.z) {
        const double scale = scale_of(greatest[b * n + j], m);
        for (int i = begin; i < min(begin + band, m); ++i) {
            const int k = K[(b * m + i) * n + j];
            if (k >= 0) atomicAdd(&F[(b * rows + k) * n + j], scaled(values[(b * m + i) * n + j], scale));
        }
    }
}

// The collected sums as numbers.
extern "C" __global__ void __launch_bounds__(threads)
    unscale(const Bits* F, int m, int n, int rows, int batch, const Bits* greatest, T* out) {
    const int j = blockIdx.x * threads + threadIdx.x, begin = blockIdx.y * band;
    if (j >= n) return;
    for (long long b = blockIdx.z; b < batch; b += gridDim.z) {
        const double back = inverse(scale_of(greatest[b * n + j], m));
        for (int k = begin; k < min(begin + band, rows); ++k)
            out[(b * rows + k) * n + j] = T((long long)F[(b * rows + k) * n + j] * back);
    }
}

// K[i,j] ← the least k of the least A[i,k] ⊗ B[k,j], or −1 if none is below `worst`. Operands are multiplied by `sign`, so
// that the least is best: both if ⊗ adds, A alone if it multiplies. A thread has 4 × 4 pairs of a tile.
constexpr int side = 64, depth = 16, each = 4;
extern "C" __global__ void __launch_bounds__(threads)
    choose(const T* A, const T* B, int m, int inner, int n, int batch, int times, T sign, T worst, int* K) {
    __shared__ T a[depth][side + 1], b[depth][side];
    const int row = threadIdx.x / 16, column = threadIdx.x % 16, top = blockIdx.y * side, left = blockIdx.x * side;
    for (long long matrix = blockIdx.z; matrix < batch; matrix += gridDim.z) {
        const T *const X = A + matrix * m * inner, *const Y = B + matrix * inner * n;
        T best[each][each];
        int found[each][each];
        for (int r = 0; r < each; ++r)
            for (int c = 0; c < each; ++c) best[r][c] = worst, found[r][c] = -1;
        for (int first = 0; first < inner; first += depth) {
            for (int x = threadIdx.x; x < side * depth; x += threads) {
                const int i = top + x / depth, k = first + x % depth, below = first + x / side, j = left + x % side;
                a[x % depth][x / depth] = i < m && k < inner ? sign * X[(long long)i * inner + k] : worst;
                b[x / side][x % side] = below < inner && j < n ? (times ? T(1) : sign) * Y[(long long)below * n + j] : T(1);
            }
            __syncthreads();
            for (int k = 0; k < depth; ++k)
                for (int r = 0; r < each; ++r)
                    for (int c = 0; c < each; ++c) {
                        const T p = a[k][row + 16 * r], q = b[k][column + 16 * c], here = times ? p * q : p + q;
                        if (here < best[r][c]) best[r][c] = here, found[r][c] = first + k;
                    }
            __syncthreads();
        }
        for (int r = 0; r < each; ++r)
            for (int c = 0; c < each; ++c) {
                const int i = top + row + 16 * r, j = left + column + 16 * c;
                if (i < m && j < n) K[(matrix * m + i) * n + j] = found[r][c];
            }
    }
}
