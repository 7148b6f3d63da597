// C ← C ⊕ A ⊗ B, or C ← A ⊗ B, for the `Step` and `Tile` of the prelude; k ≥ 1.
//
// C may alias A (or B) if one tile spans all of its columns (or rows) and is not split along k: a block then overwrites
// only its own operand.
#include "gemm.cuh"

using Product = Gemm<Step, Tile>;

extern "C" __global__ void __launch_bounds__(Product::threads, Tile::blocks)
    gemm(Product::T* C, long long ldc, const Product::T* A, long long lda, const Product::T* B, long long ldb, int m, int n,
         int k, int accumulate, int unsplit, int split, int split_steps, unsigned* done, long long next_c,
         long long next_a, long long next_b) {
    Product product;
    product.run(C, ldc, A, lda, B, ldb, m, n, k, accumulate, unsplit, split, split_steps, done, next_c,
                next_a, next_b);
}
