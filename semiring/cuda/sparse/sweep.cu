// Rows or columns of A*, many at once, from the closed panels of a sparse elimination; see semiring/sparse.
//
//   climb, children first, each lane on its own root path:  z_R ← z_R ⊕ z_C U,   v_C = z_C D
//   sweep, parents first, everywhere:                       y_C = v_C ⊕ y_R L        (v_C = 0 off the root path)
//
// A lane is a source (or a target, where `mirrored`: the operands of ⊗ change places); each thread has `each` adjacent
// lanes. Rows of y, one a vertex, are written once, at the vertex's label. z and v have a row for each place on
// the path from the root. In them lanes are sorted by their place in the elimination order, so that those below a
// supernode are a range; places[t] is where lane t of y is among them.
//
// Low subtrees are *regions*: a warp walks one for its lanes, with y on a stack in shared memory that only its own
// threads see, so nothing waits. The top of the tree goes level by level.
#include "sweep.inl"
#include "regions.inl"
#include "roots.inl"
#include "level.inl"
#include "climb.inl"

// to[t][v] = from[v][t], for so many rows t of `to`.
extern "C" __global__ __launch_bounds__(256) void transpose(const T* from, long long from_pitch, T* to, long long to_pitch, int n, int lanes) {
    __shared__ T block[32][33];
    const int x = threadIdx.x % 32, y = threadIdx.x / 32, v0 = blockIdx.x * 32, t0 = blockIdx.y * 32;
    for (int i = y; i < 32; i += 8)
        if (v0 + i < n && t0 + x < lanes) block[i][x] = from[(v0 + i) * from_pitch + t0 + x];
    __syncthreads();
    for (int i = y; i < 32; i += 8)
        if (t0 + i < lanes && v0 + x < n) to[(t0 + i) * to_pitch + v0 + x] = block[x][i];
}
