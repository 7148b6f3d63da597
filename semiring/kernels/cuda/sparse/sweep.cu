// Rows or columns of A*, many at once, from the closed panels of a sparse elimination; see semiring/sparse.
//
//   climb, children first, each lane on its own root path:  z_R ← z_R ⊕ z_C U,   v_C = z_C D
//   sweep, parents first, everywhere:                       y_C = v_C ⊕ y_R L        (v_C = 0 off the root path)
//
// A lane is a source (or a target, if `mirrored`: operands of ⊗ are swapped); each thread has `each` adjacent lanes. Rows of
// y, one per vertex, are written once, at the vertex' label. z and v have a row per place on the path from the root. There
// lanes are sorted by elimination order, so that those below a supernode are a range; places[t] is lane t of y.
//
// Low subtrees are *regions*: a warp walks one for its lanes, with y on a stack in shared memory private to its threads,
// without barriers. The top of the tree goes level by level.
#include "sweep.inl"
#include "regions.inl"
#include "roots.inl"
#include "level.inl"
#include "climb.inl"

// to[t][v] = from[v][t], for `lanes` rows t.
extern "C" __global__ __launch_bounds__(256) void transpose(const T* from, long long from_pitch, T* to, long long to_pitch, int n, int lanes) {
    __shared__ T block[32][33];
    const int x = threadIdx.x % 32, y = threadIdx.x / 32, v0 = blockIdx.x * 32, t0 = blockIdx.y * 32;
    for (int i = y; i < 32; i += 8)
        if (v0 + i < n && t0 + x < lanes) block[i][x] = from[(v0 + i) * from_pitch + t0 + x];
    __syncthreads();
    for (int i = y; i < 32; i += 8)
        if (t0 + i < lanes && v0 + x < n) to[(t0 + i) * to_pitch + v0 + x] = block[x][i];
}
