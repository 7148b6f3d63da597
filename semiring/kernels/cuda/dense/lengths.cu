// Integers as nonnegative lengths and back, one pass each; and potentials for that (Johnson 1977).
//
// The prelude gives X and Y, the types of entries and lengths; H, of potentials; U, an unsigned type as wide as any; `sign`, −1
// if long walks are best; and `absent`, the entry of a missing edge, whose length is `infinite`.

constexpr int threads = 256;

// map(entry, shift) for each entry, with shift `offset`, or h[i] − h[j] at (i, j) of an n × n matrix, modulo 2³² or 2⁶⁴.
template <bool potentials, class From, class To, class Map>
__device__ inline void each(const From* from, To* to, long long count, U offset, const H* h, int n, const Map& map) {
    constexpr int together = 16 / (sizeof(From) > sizeof(To) ? sizeof(From) : sizeof(To));
    struct alignas(together * sizeof(From)) Source { From item[together]; };
    struct alignas(together * sizeof(To)) Target { To item[together]; };
    using Address = unsigned long long;
    const bool aligned = Address(from) % sizeof(Source) == 0 && Address(to) % sizeof(Target) == 0;
    const long long stride = gridDim.x * (long long)threads * together;
    for (long long k = (blockIdx.x * (long long)threads + threadIdx.x) * together; k < count; k += stride) {
        const bool complete = k + together <= count;
        long long i = potentials ? k / n : 0;
        int j = potentials ? int(k - i * n) : 0;
        U left = potentials ? U(h[i]) : offset;
        Source x;
        if (aligned && complete) x = *reinterpret_cast<const Source*>(from + k);
        else
#pragma unroll
            for (int e = 0; e < together; ++e)
                if (k + e < count) x.item[e] = from[k + e];
        Target y;
#pragma unroll
        for (int e = 0; e < together; ++e)
            if (complete || k + e < count) {
                if (potentials && j == n) j = 0, left = U(h[++i]);
                y.item[e] = map(x.item[e], potentials ? left - U(h[j++]) : left);
            }
        if (aligned && complete) *reinterpret_cast<Target*>(to + k) = y;
        else
#pragma unroll
            for (int e = 0; e < together; ++e)
                if (k + e < count) to[k + e] = y.item[e];
    }
}

// L ← sign · A + shifts; L may alias A; h may be null.
extern "C" __global__ void __launch_bounds__(threads)
    lengths(const X* A, Y* L, long long count, long long infinite, long long offset, const H* h, int n) {
    const auto map = [=](X x, U shift) { return x == absent ? Y(infinite) : Y((sign > 0 ? U(x) : -U(x)) + shift); };
    if (h) each<true>(A, L, count, 0, h, n, map);
    else each<false>(A, L, count, U(offset), h, n, map);
}

// A ← sign · (L − shifts), and *greatest ← max with the greatest finite length.
extern "C" __global__ void __launch_bounds__(threads)
    entries(const Y* L, X* A, long long count, long long infinite, long long offset, const H* h, int n, unsigned long long* greatest) {
    __shared__ unsigned long long most;
    if (threadIdx.x == 0) most = 0;
    __syncthreads();
    Y mine = 0;
    const auto map = [&](Y y, U shift) {
        if (y < infinite && y > mine) mine = y;
        return y >= infinite ? absent : X(sign > 0 ? U(y) - shift : shift - U(y));
    };
    if (h) each<true>(L, A, count, 0, h, n, map);
    else each<false>(L, A, count, U(offset), h, n, map);
    if (!greatest) return;
    for (int by = 16; by; by /= 2) {
        const Y other = Y(__shfl_xor_sync(~0u, U(mine), by));
        mine = other > mine ? other : mine;
    }
    if (threadIdx.x % 32 == 0) atomicMax(&most, (unsigned long long)mine);
    __syncthreads();
    if (threadIdx.x == 0) atomicMax(greatest, most);
}

// h(j) ← min(h(j), h(i) + ℓ(i, j)) over rows i whose h changed in this pass or the last; changed[i] is the last pass that
// changed h(i). state[0] ← pass, if any h changed; state[1] ← 1 if an h is below `floor`, where sums may wrap. blockIdx.x:
// `width` columns; blockIdx.y: `height` rows.
constexpr int columns = 4, width = columns * threads, height = 64, ahead = 8;
extern "C" __global__ void __launch_bounds__(threads)
    relax(const X* A, long long ld, int n, H floor, int pass, H* h, int* changed, int* state) {
    __shared__ int rows[height];
    __shared__ H from[height];
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    const int own = blockIdx.y * height + threadIdx.x;
    if (threadIdx.x < height && own < n && changed[own] >= pass - 1) {
        const H x = *(volatile H*)(h + own);
        if (x < floor) state[1] = 1;
        else {
            const int k = atomicAdd(&count, 1);
            rows[k] = own, from[k] = x;
        }
    }
    __syncthreads();
    const int first = blockIdx.x * width + threadIdx.x;
    H best[columns] = {};
    for (int k = 0; k < count; k += ahead) {
        X x[ahead][columns];
#pragma unroll
        for (int r = 0; r < ahead; ++r) {
            const X* const row = A + rows[min(k + r, count - 1)] * ld;
#pragma unroll
            for (int c = 0; c < columns; ++c) x[r][c] = row[min(first + c * threads, n - 1)];
        }
#pragma unroll
        for (int r = 0; r < ahead; ++r) {
            const H start = from[min(k + r, count - 1)];
#pragma unroll
            for (int c = 0; c < columns; ++c) {
                const H length = sign > 0 ? H(x[r][c]) : x[r][c] == absent ? H(~x[r][c]) : -H(x[r][c]);
                best[c] = min(best[c], start + length);
            }
        }
    }
#pragma unroll
    for (int c = 0; c < columns; ++c) {
        const int j = first + c * threads;
        if (j < n && best[c] < h[j] && best[c] < atomicMin(h + j, best[c])) changed[j] = pass, state[0] = pass;
    }
}
