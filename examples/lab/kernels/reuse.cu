// Four entries of a row a thread, a block's width apart, so that a warp still reads neighbours: D[i][k] is read once for four.
const int EACH = 4;
#ifndef THREADS
#define THREADS 32  // of a block
#endif

__global__ void step(float* D, int n, int pitch, int k) {
    int i = blockIdx.y;
    float first = D[i * pitch + k];
    for (int e = 0; e < EACH; ++e) {
        int j = (blockIdx.x * EACH + e) * blockDim.x + threadIdx.x;
        if (j < n) D[i * pitch + j] = min(D[i * pitch + j], first + D[k * pitch + j]);
    }
}

void closure(float* D, int n, int pitch) {
    dim3 threads(THREADS), blocks((n + EACH * THREADS - 1) / (EACH * THREADS), n);
    for (int k = 0; k < n; ++k) step<<<blocks, threads>>>(D, n, pitch, k);
}
