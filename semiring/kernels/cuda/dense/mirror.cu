// Symmetric matrices: symmetry test, and mirroring of the lower half. A block has a tile of 32 × 32 entries.
//
// The prelude declares `using T`, an unsigned integer of an entry's size.

constexpr int side = 32, threads = 256, each = threads / side;

// to[i, j] ← from[j, i]; only for i < j, if `upper`.
extern "C" __global__ void __launch_bounds__(threads)
    turn(T* to, long long to_pitch, const T* from, long long from_pitch, int rows, int columns, int upper) {
    __shared__ T tile[side][side + 1];
    const int x = threadIdx.x % side, i0 = side * blockIdx.y, j0 = side * blockIdx.x;
    if (upper && i0 > j0) return;
    for (int y = threadIdx.x / side; y < side; y += each)
        if (j0 + y < columns && i0 + x < rows) tile[y][x] = from[(j0 + y) * from_pitch + i0 + x];
    __syncthreads();
    for (int y = threadIdx.x / side; y < side; y += each)
        if (i0 + y < rows && j0 + x < columns && (!upper || i0 + y < j0 + x)) to[(i0 + y) * to_pitch + j0 + x] = tile[x][y];
}

// *differs ← 1 if X[i, j] ≠ X[j, i] anywhere.
extern "C" __global__ void __launch_bounds__(threads) compare(const T* X, long long pitch, int n, int* differs) {
    __shared__ T tile[side][side + 1];
    const int x = threadIdx.x % side, i0 = side * blockIdx.y, j0 = side * blockIdx.x;
    if (i0 > j0) return;
    for (int y = threadIdx.x / side; y < side; y += each)
        if (j0 + y < n && i0 + x < n) tile[y][x] = X[(j0 + y) * pitch + i0 + x];
    __syncthreads();
    bool differ = false;
    for (int y = threadIdx.x / side; y < side; y += each)
        if (i0 + y < n && j0 + x < n) differ |= X[(i0 + y) * pitch + j0 + x] != tile[x][y];
    if (__syncthreads_or(differ) && threadIdx.x == 0) *differs = 1;
}
