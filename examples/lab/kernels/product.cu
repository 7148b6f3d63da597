// Squaring: D ← D ⊗ D, ⌈log₂ n⌉ times, by a product of tiles. Each thread keeps a square of W × W results in registers, so
// that a number from shared memory is used W times.
const int T = 32, W = 4, K = 8;  // tile; results a thread along each side; depth of a stage

__global__ void product(float* C, const float* A, int n, int pitch) {
    __shared__ float L[K][T + 4], R[K][T];  // 4 more columns: the 8 × 4 entries of L that a warp writes fall into 32 banks
    int x = threadIdx.x, y = threadIdx.y, t = y * (T / W) + x, i = blockIdx.y * T, j = blockIdx.x * T;
    float least[W][W];
    for (int a = 0; a < W; ++a)
        for (int b = 0; b < W; ++b) least[a][b] = INFINITY;
    for (int k = 0; k < n; k += K) {
        for (int e = t; e < T * K; e += T / W * (T / W)) {
            int r = e / K, c = e % K;
            L[c][r] = i + r < n && k + c < n ? A[(i + r) * pitch + k + c] : INFINITY;
            r = e / T, c = e % T;
            R[r][c] = k + r < n && j + c < n ? A[(k + r) * pitch + j + c] : INFINITY;
        }
        __syncthreads();
        for (int q = 0; q < K; ++q) {
            float left[W], right[W];
            for (int a = 0; a < W; ++a) left[a] = L[q][y + a * (T / W)], right[a] = R[q][x + a * (T / W)];
            for (int a = 0; a < W; ++a)
                for (int b = 0; b < W; ++b) least[a][b] = min(least[a][b], left[a] + right[b]);
        }
        __syncthreads();
    }
    for (int a = 0; a < W; ++a)
        for (int b = 0; b < W; ++b) {
            int r = i + y + a * (T / W), c = j + x + b * (T / W);
            if (r < n && c < n) C[r * pitch + c] = least[a][b];
        }
}

void closure(float* D, int n, int pitch) {
    float* other;
    size_t size = sizeof(float) * n * pitch;
    cudaMalloc(&other, size);
    dim3 threads(T / W, T / W), blocks((n + T - 1) / T, (n + T - 1) / T);
    for (int edges = 1; edges < n; edges *= 2) {
        product<<<blocks, threads>>>(other, D, n, pitch);
        cudaMemcpy(D, other, size, cudaMemcpyDeviceToDevice);
    }
    cudaFree(other);
}
