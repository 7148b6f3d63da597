// One thread an entry, one launch a vertex: D[i][j] becomes the least of itself and D[i][k] + D[k][j].
#ifndef THREADS
#define THREADS 128  // of a block
#endif

__global__ void step(float* D, int n, int pitch, int k) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y;
    if (j >= n) return;
    float through = D[i * pitch + k] + D[k * pitch + j];
    D[i * pitch + j] = min(D[i * pitch + j], through);
}

void closure(float* D, int n, int pitch) {
    dim3 threads(THREADS), blocks((n + THREADS - 1) / THREADS, n);
    for (int k = 0; k < n; ++k) step<<<blocks, threads>>>(D, n, pitch, k);
}
