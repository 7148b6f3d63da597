// gemm.cu for flagged tiles only; one flag per 128 × 128 entries.
#include "gemm.cuh"

using Product = Gemm<Step, Tile>;
constexpr int flagged = 128;
static_assert(flagged % Tile::bm == 0 && flagged % Tile::bn == 0, "a tile must have one flag");

extern "C" __global__ void __launch_bounds__(Product::threads, Tile::blocks)
    gemm_flagged(Product::T* C, long long ldc, const Product::T* A, long long lda, const Product::T* B, long long ldb, int m,
                 int n, int k, int accumulate, const unsigned char* flags) {
    const int columns = (n + Tile::bn - 1) / Tile::bn, i = blockIdx.x / columns * Tile::bm, j = blockIdx.x % columns * Tile::bn;
    if (!flags[i / flagged * ((n + flagged - 1) / flagged) + j / flagged]) return;
    Product product;
    product.run(C, ldc, A, lda, B, ldb, m, n, k, accumulate, 0, 0, 0, nullptr, 0, 0, 0);
}
