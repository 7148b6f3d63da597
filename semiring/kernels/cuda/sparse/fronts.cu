// Fronts of a sparse elimination: assembled from arcs and updates of children, eliminated, and split into panels; see
// semiring/sparse. Eliminating the first w of m = w + r vertices leaves
//
//   [[D, U], [L, A_RR ⊕ L A_CR]]   with   D = A_CC*,  U = D ⊗ A_CR,  L = A_RC ⊗ D
//
// A small front is in shared memory, eliminated by one thread block; a large one is assembled in global memory by several
// blocks, each with its rows, eliminated by other kernels, and split. Panels are as in sweep.cu.
#include "sparse.inl"

// Inputs and outputs of fronts, as in semiring.sparse.structure.
struct Tables {
    const Node* nodes;
    const int *child, *sibling, *local;
    const long long* begin; // of the rows of each supernode in `local`
    const int* arcs; // start of each supernode's arcs
    const int *arc, *arc_row, *arc_col;
    const T* weights;
    const long long* update;
    T *updates, *lower, *upper;
};

// Rows part, part + parts, … of the front: ⊕ of arcs and of the children's updates.
__device__ inline void assemble(const Tables& t, int s, int m, T* front, int pitch, int part, int parts) {
    const int own = (m - part + parts - 1) / parts;
    for (Walk e(threadIdx.x, blockDim.x, m); e.row < own; ++e) front[(part + e.row * parts) * (long long)pitch + e.column] = T(S::zero());
    __syncthreads();
    for (int a = t.arcs[s]; a < t.arcs[s + 1]; ++a) { // in turn: several arcs may share a place
        const int row = t.arc_row[a];
        if (row % parts == part && row / parts % blockDim.x == threadIdx.x) {
            T& to = front[row * (long long)pitch + t.arc_col[a]];
            to = T(S::add(W(to), W(t.weights[t.arc[a]])));
        }
    }
    for (int c = t.child[s]; c >= 0; c = t.sibling[c]) {
        const int r = t.nodes[c].rows;
        const int* local = t.local + t.begin[c];
        const T* update = t.updates + t.update[c];
        __syncthreads();
        for (Walk e(threadIdx.x, blockDim.x, r); e.row < r; ++e) {
            const int row = local[e.row];
            if (row % parts != part) continue;
            T& to = front[row * (long long)pitch + local[e.column]];
            to = T(S::add(W(to), W(update[e.row * (long long)r + e.column])));
        }
    }
    __syncthreads();
}

// The panels, and the update for the parent, by rows.
__device__ inline void apart(const Tables& t, int s, const Node& node, const T* front, int pitch, int part, int parts) {
    const int w = node.width, r = node.rows, m = w + r, high = w + even(r), first = part * blockDim.x + threadIdx.x, step = parts * blockDim.x;
    for (Walk unit(first, step, high); unit.row < (w + 3) / 4; ++unit) {
        const int k = unit.column, j = 4 * unit.row;
        const long long to = node.panel + unit.row * (long long)high + k;
        Quad low, up;
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            const bool inside = k < m && j + c < w;
            low.item[c] = inside ? front[k * (long long)pitch + j + c] : T(S::zero());
            up.item[c] = inside ? front[(j + c) * (long long)pitch + k] : T(S::zero());
        }
        reinterpret_cast<Quad*>(t.lower)[to] = low;
        reinterpret_cast<Quad*>(t.upper)[to] = up;
    }
    if (!r) return;
    T* update = t.updates + t.update[s];
    for (Walk e(first, step, r); e.row < r; ++e) update[e.row * (long long)r + e.column] = front[(w + e.row) * (long long)pitch + w + e.column];
}

// Assemble, eliminate and split supernodes[blockIdx.x], in shared memory.
extern "C" __global__ void eliminate_fronts(const Tables* tables, const int* supernodes) {
    extern __shared__ __align__(16) unsigned char shared[];
    const Tables& t = *tables;
    const int s = supernodes[blockIdx.x];
    const Node node = t.nodes[s];
    const int m = node.width + node.rows, pitch = m | 1;
    T* front = reinterpret_cast<T*>(shared);
    T *row = front + m * pitch, *column = row + m;
    assemble(t, s, m, front, pitch, 0, 1);
    for (int k = 0; k < node.width; ++k) {
        const W star = S::star(W(front[k * pitch + k]));
        for (int i = threadIdx.x; i < m; i += blockDim.x) {
            row[i] = T(i == k ? star : S::mul(star, W(front[k * pitch + i])));
            column[i] = front[i * pitch + k];
        }
        __syncthreads();
        for (int e = threadIdx.x; e < m * m; e += blockDim.x) {
            const int i = e / m, j = e % m;
            T& to = front[i * pitch + j];
            if (i == k) to = row[j];
            else if (j == k) to = T(S::mul(W(column[i]), star));
            else to = T(S::add(W(to), S::mul(W(column[i]), W(row[j]))));
        }
        __syncthreads();
    }
    apart(t, s, node, front, pitch, 0, 1);
}

// Assemble one large front, in global memory.
extern "C" __global__ void gather_front(const Tables* tables, int s, T* front, int pitch) {
    const Node node = tables->nodes[s];
    assemble(*tables, s, node.width + node.rows, front, pitch, blockIdx.x, gridDim.x);
}

extern "C" __global__ void part_front(const Tables* tables, int s, const T* front, int pitch) {
    apart(*tables, s, tables->nodes[s], front, pitch, blockIdx.x, gridDim.x);
}
