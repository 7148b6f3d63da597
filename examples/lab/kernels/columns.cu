// As naive.cu, but a warp goes down a column: neighbours in a warp are a whole row apart in memory.
#ifndef THREADS
#define THREADS 128  // of a block
#endif

__global__ void step(float* D, int n, int pitch, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    if (i >= n) return;
    float through = D[i * pitch + k] + D[k * pitch + j];
    D[i * pitch + j] = min(D[i * pitch + j], through);
}

void closure(float* D, int n, int pitch) {
    dim3 threads(THREADS), blocks((n + THREADS - 1) / THREADS, n);
    for (int k = 0; k < n; ++k) step<<<blocks, threads>>>(D, n, pitch, k);
}
