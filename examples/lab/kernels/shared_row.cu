// D[i][k] is the same for a whole block: one thread reads it into shared memory, and all wait for it. In integers, of
// which INT_MAX means that there is no path: nothing may be added to it.
#include <limits.h>
#ifndef THREADS
#define THREADS 128  // of a block
#endif

__global__ void step(int* D, int n, int pitch, int k) {
    __shared__ int first;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y;
    if (threadIdx.x == 0) first = D[i * pitch + k];
    __syncthreads();  // nobody returns before all have come here
    if (j >= n || first == INT_MAX) return;
    int second = D[k * pitch + j];
    if (second == INT_MAX) return;
    if (first + second < D[i * pitch + j]) D[i * pitch + j] = first + second;
}

void closure(int* D, int n, int pitch) {
    dim3 threads(THREADS), blocks((n + THREADS - 1) / THREADS, n);
    for (int k = 0; k < n; ++k) step<<<blocks, threads>>>(D, n, pitch, k);
}
