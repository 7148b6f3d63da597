// Edges into a target with set bits: gathered in lists, and read 32 at a time.

// Tails and weights of the first `most` edges with set bits into each vertex, ascending; a warp per row. counts ← their
// number, at most most + 1.
extern "C" __global__ void __launch_bounds__(threads)
    gather(const T* A, const unsigned* bits, int n, int words, long long rows, int most, int* tails, T* weights,
           int* counts) {
    const int lane = threadIdx.x % 32;
    const long long row = blockIdx.x * (long long)warps + threadIdx.x / 32;
    if (row >= rows) return;
    const int j = int(row % n), used = (n + 31) / 32;
    const long long matrix = row - j;
    int total = 0;
    for (int w = 0; w < used && total <= most; w += 32) {
        unsigned mine = w + lane < used ? bits[row * words + w + lane] : 0;
        const int sum = prefix_sum(__popc(mine));
        for (int here = total + sum - __popc(mine); mine && here < most; ++here, mine &= mine - 1) {
            const int k = (w + lane) * 32 + __ffs(mine) - 1;
            tails[row * most + here] = k;
            weights[row * most + here] = A[(matrix + k) * n + j];
        }
        total += __shfl_sync(full_mask, sum, 31);
    }
    if (lane == 0) counts[row] = total > most ? most + 1 : total;
}

// An edge into a target per lane, unless not `present`.
struct Candidate {
    int k;
    W w;
    bool present;
};

// Edges into j, ascending, 32 at a time, until `each` returns true: gathered ones, then the others from their bits.
template <class Each>
__device__ inline void for_edges(const T* A, long long matrix, int j, int n, const unsigned* bits, int words, int most,
                                 const int* tails, const T* weights, const int* counts, int lane, const Each& each) {
    const long long row = matrix + j;
    const int count = most ? counts[row] : 1, listed = count > most ? most : count;
    int last = -1;
    for (int e = 0; e < listed; e += 32) {
        const bool present = e + lane < listed;
        const Candidate mine = {present ? tails[row * most + e + lane] : 0,
                                present ? W(weights[row * most + e + lane]) : Algebra::zero(), present};
        if (each(mine)) return;
        last = __shfl_sync(full_mask, mine.k, 31);
    }
    if (count <= most) return;
    for (int w = (last + 1) / 32; w < (n + 31) / 32; ++w) {
        const unsigned word = bits[row * words + w]; // uniform in a warp
        if (!word) continue;
        const int k = 32 * w + lane;
        const bool present = k > last && word >> lane & 1;
        if (each({k, present ? W(A[(matrix + k) * n + j]) : Algebra::zero(), present})) return;
    }
}
