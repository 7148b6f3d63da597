// A* times a few vectors, from the closed panels of a sparse elimination; see semiring/sparse. One pass up and one down,
// level by level, by one thread block per supernode and vector:
//
//   children first:  f_C = x_C,  f_R = 0,  both ⊕ the children's remainders;   v_C = f_C D,   f_R ← f_R ⊕ f_C U
//   parents first:   y_C = v_C ⊕ y_R L
//
// A front has places for its columns and rows; its remainder for the parent stays in its rows. Vector q is at x + q n, by
// label like y; v is by column.
#include "sparse.inl"

__device__ inline void step(Word& c, Word x0, Word p0, Word x1, Word p1) {
    if constexpr (mirrored) S::step(c, p0, x0, p1, x1);
    else S::step(c, x0, p0, x1, p1);
}

__device__ inline Word nil() { return S::spread(T(S::zero())); }

constexpr int threads = 128;

extern "C" __global__ __launch_bounds__(threads) void climb_fronts(
    const int* supernodes, const Node* nodes, const int* child, const int* sibling, const int* local, const long long* begin,
    const long long* place, const int* labels, const T* panel, const T* x, T* fronts, T* v, int n, long long size) {
    const int s = supernodes[blockIdx.x], q = blockIdx.y;
    const Node node = nodes[s];
    const int w = node.width, m = w + node.rows, high = w + even(node.rows);
    fronts += q * size, x += q * (long long)n, v += q * (long long)n;
    T* front = fronts + place[s];
    for (int i = threadIdx.x; i < m; i += threads) front[i] = i < w ? x[labels[node.first + i]] : T(S::zero());
    for (int c = child[s]; c >= 0; c = sibling[c]) { // in turn: reproducible sums
        __syncthreads();
        const T* left = fronts + place[c] + nodes[c].width;
        for (int i = threadIdx.x; i < nodes[c].rows; i += threads) {
            T& to = front[local[begin[c] + i]];
            to = T(S::add(W(to), W(left[i])));
        }
    }
    __syncthreads();
    const Quad* u = reinterpret_cast<const Quad*>(panel) + node.panel;
    for (int k = threadIdx.x; k < m; k += threads) {
        Word sum = k < w ? S::nothing() : S::begin(S::spread(front[k]));
        const Quad* row = u + k;
        for (int j = 0; j < w; j += 4, row += high) {
            const Quad p = *row;
            Word z[4];
#pragma unroll
            for (int c = 0; c < 4; ++c) z[c] = j + c < w ? S::spread(front[j + c]) : nil();
            step(sum, z[0], S::spread(p.item[0]), z[1], S::spread(p.item[1]));
            step(sum, z[2], S::spread(p.item[2]), z[3], S::spread(p.item[3]));
        }
        (k < w ? v[node.first + k] : front[k]) = T(S::lane(sum, 0));
    }
}

// A warp takes four columns at a time, each thread some of the rows.
extern "C" __global__ __launch_bounds__(threads) void sweep_fronts(
    const int* supernodes, const Node* nodes, const int* rows, const int* labels, const T* panel, const T* v, T* y, int n) {
    __shared__ T partial[threads / 32][4][32];
    const Node node = nodes[supernodes[blockIdx.x]];
    const int warp = threadIdx.x / 32, thread = threadIdx.x % 32, w = node.width, r = node.rows, high = w + even(r);
    v += blockIdx.y * (long long)n, y += blockIdx.y * (long long)n;
    rows += node.begin;
    for (int j = 4 * warp; j < w; j += threads / 8) {
        const Quad* p = reinterpret_cast<const Quad*>(panel) + node.panel + j / 4 * (long long)high + w;
        Word sum[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) sum[c] = S::nothing();
        for (int k = thread; k < r; k += 64) {
            const bool two = k + 32 < r;
            const Word y0 = S::spread(y[rows[k]]), y1 = two ? S::spread(y[rows[k + 32]]) : nil();
            const Quad p0 = p[k], p1 = two ? p[k + 32] : p0;
#pragma unroll
            for (int c = 0; c < 4; ++c) step(sum[c], y0, S::spread(p0.item[c]), y1, two ? S::spread(p1.item[c]) : nil());
        }
#pragma unroll
        for (int c = 0; c < 4; ++c) partial[warp][c][thread] = T(S::lane(sum[c], 0));
        __syncwarp();
        if (thread < 4 && j + thread < w) {
            T total = v[node.first + j + thread];
            for (int i = 0; i < 32; ++i) total = T(S::add(W(total), W(partial[warp][thread][i])));
            y[labels[node.first + j + thread]] = total;
        }
        __syncwarp();
    }
}
