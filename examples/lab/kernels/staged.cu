// As blocked.cu, with blocks of 32 and four rows per thread in registers. The third phase stages its loads: shared memory
// holds 8 columns and 8 rows of the two panels at a time, so that more thread blocks fit on a multiprocessor.
const int B = 32, ROWS = 4, STAGE = 8;

__device__ float entry(const float* D, int n, int pitch, int i, int j) {
    return i < n && j < n ? D[i * pitch + j] : INFINITY;
}

// Phases 1 and 2: blockIdx.y = 0 the row, 1 the column; the pivot itself where `beside` is 0.
__global__ void cross(float* D, int n, int pitch, int first, int beside) {
    __shared__ float P[B][B], C[B][B];
    int x = threadIdx.x, y = threadIdx.y, other = beside ? blockIdx.x * B : first;
    if (beside && other == first) return;
    bool row = blockIdx.y == 0;
    int i = row ? first : other, j = row ? other : first;
    for (int r = y; r < B; r += B / ROWS) {
        P[r][x] = entry(D, n, pitch, first + r, first + x);
        C[r][x] = entry(D, n, pitch, i + r, j + x);
    }
    __syncthreads();
    for (int k = 0; k < B; ++k) {
        float through[ROWS];
        for (int m = 0; m < ROWS; ++m) {
            int r = y + m * (B / ROWS);
            through[m] = !beside ? C[r][k] + C[k][x] : row ? P[r][k] + C[k][x] : C[r][k] + P[k][x];
        }
        __syncthreads();
        for (int m = 0; m < ROWS; ++m) {
            int r = y + m * (B / ROWS);
            C[r][x] = min(C[r][x], through[m]);
        }
        __syncthreads();
    }
    for (int r = y; r < B; r += B / ROWS)
        if (i + r < n && j + x < n) D[(i + r) * pitch + j + x] = C[r][x];
}

__global__ void rest(float* D, int n, int pitch, int first) {
    __shared__ float L[B][STAGE], R[STAGE][B];
    if (blockIdx.x * B == first || blockIdx.y * B == first) return;
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * B, j = blockIdx.x * B, t = y * B + x;
    float least[ROWS];
    for (int m = 0; m < ROWS; ++m) least[m] = entry(D, n, pitch, i + y + m * (B / ROWS), j + x);
    for (int at = 0; at < B; at += STAGE) {
        L[t / STAGE][t % STAGE] = entry(D, n, pitch, i + t / STAGE, first + at + t % STAGE);
        R[y][x] = entry(D, n, pitch, first + at + y, j + x);
        __syncthreads();
        for (int k = 0; k < STAGE; ++k) {
            float right = R[k][x];
            for (int m = 0; m < ROWS; ++m) least[m] = min(least[m], L[y + m * (B / ROWS)][k] + right);
        }
        __syncthreads();
    }
    for (int m = 0; m < ROWS; ++m) {
        int r = i + y + m * (B / ROWS);
        if (r < n && j + x < n) D[r * pitch + j + x] = least[m];
    }
}

void closure(float* D, int n, int pitch) {
    int count = (n + B - 1) / B;
    dim3 threads(B, B / ROWS), beside(count, 2), all(count, count);
    for (int first = 0; first < n; first += B) {
        cross<<<1, threads>>>(D, n, pitch, first, 0);
        cross<<<beside, threads>>>(D, n, pitch, first, 1);
        rest<<<all, threads>>>(D, n, pitch, first);
    }
}
