// Widest paths, in blocks.
#ifndef B
#define B 16
#endif

// An entry, or no path outside of the matrix.
__device__ float entry(const float* D, int n, int pitch, int i, int j) {
    return i < n && j < n ? D[i * pitch + j] : -INFINITY;
}

// Phase 1: Floyd–Warshall within the pivot block.
__global__ void pivot(float* D, int n, int pitch, int first) {
    __shared__ float P[B][B];
    int x = threadIdx.x, y = threadIdx.y, i = first + y, j = first + x;
    P[y][x] = entry(D, n, pitch, i, j);
    __syncthreads();
    for (int k = 0; k < B; ++k) {
        float through = min(P[y][k], P[k][x]);
        __syncthreads();
        P[y][x] = max(P[y][x], through);
        __syncthreads();
    }
    if (i < n && j < n) D[i * pitch + j] = P[y][x];
}

// Phase 2: the blocks beside the pivot in its row (blockIdx.y = 0) and in its column (1).
__global__ void cross(float* D, int n, int pitch, int first) {
    __shared__ float P[B][B], C[B][B];
    int x = threadIdx.x, y = threadIdx.y, other = blockIdx.x * B;
    if (other == first) return;  // the whole block: it is the pivot
    bool row = blockIdx.y == 0;
    int i = (row ? first : other) + y, j = (row ? other : first) + x;
    P[y][x] = entry(D, n, pitch, first + y, first + x);
    C[y][x] = entry(D, n, pitch, i, j);
    __syncthreads();
    for (int k = 0; k < B; ++k) {
        float through = row ? min(P[y][k], C[k][x]) : min(C[y][k], P[k][x]);
        __syncthreads();
        C[y][x] = max(C[y][x], through);
        __syncthreads();
    }
    if (i < n && j < n) D[i * pitch + j] = C[y][x];
}

// Phase 3: every other block, by one block of the row and one of the column.
__global__ void rest(float* D, int n, int pitch, int first) {
    __shared__ float R[B][B], C[B][B];
    if (blockIdx.x * B == first || blockIdx.y * B == first) return;
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * B + y, j = blockIdx.x * B + x;
    R[y][x] = entry(D, n, pitch, first + y, j);
    C[y][x] = entry(D, n, pitch, i, first + x);
    __syncthreads();
    float widest = entry(D, n, pitch, i, j);
    for (int k = 0; k < B; ++k) widest = max(widest, min(C[y][k], R[k][x]));
    if (i < n && j < n) D[i * pitch + j] = widest;
}

void closure(float* D, int n, int pitch) {
    int count = (n + B - 1) / B;
    dim3 threads(B, B), beside(count, 2), all(count, count);
    for (int first = 0; first < n; first += B) {
        pivot<<<1, threads>>>(D, n, pitch, first);
        cross<<<beside, threads>>>(D, n, pitch, first);
        rest<<<all, threads>>>(D, n, pitch, first);
    }
}
