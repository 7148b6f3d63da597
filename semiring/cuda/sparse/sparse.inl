// What kernels of sparse eliminations share: entries, and supernodes with their panels.
//
// A panel of w columns and r rows is stored in strips of 4 columns, each of w + r rows of 4 entries, which are a unit. What
// is missing of 4 columns, and where r is odd of another row, is present and zero; the list of rows then names the last
// one twice.
#include "gemm.cuh"

using S = Step;
using T = S::T;
using W = S::W;
using Word = S::Word;
static_assert(S::lanes == 1, "a lane is an entry");

using Quad = Vector<T, 4>;

// A supernode: its first column, how many; where its rows begin among all, how many; where its panel begins, in units; its
// place on the path from the root; where it begins on its region's stack (−1: never read); what it is. As `NODE` in sweep.py.
struct alignas(16) Node {
    int first, width, begin, rows;
    long long panel;
    int base;
    short own, kind;
};
enum { inner, root, top };

__device__ inline int even(int k) { return k + k % 2; }

// The entries first, first + apart, … of a matrix whose rows are `wide`: their rows and columns, which need not be
// divided out of a number that may be beyond 32 bits.
struct Walk {
    int row, column;
    const int down, right, wide;
    __device__ Walk(int first, int apart, int wide)
        : row(first / wide), column(first % wide), down(apart / wide), right(apart % wide), wide(wide) {}
    __device__ void operator++() {
        row += down, column += right;
        if (column >= wide) column -= wide, ++row;
    }
};
