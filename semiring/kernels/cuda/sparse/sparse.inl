// Common definitions of sparse elimination kernels: entries, supernodes and panels.
//
// A panel of w columns and r rows is stored in strips of 4 columns, each of w + r units of 4 entries. Missing columns of the
// last strip, and a padding row if r is odd, are zero; the row list then repeats its last row.
#include "gemm.cuh"

using S = Step;
using T = S::T;
using W = S::W;
using Word = S::Word;
static_assert(S::lanes == 1, "a lane is an entry");

using Quad = Vector<T, 4>;

// A supernode: first column, width; start and number of its rows; panel offset in units; place on the path from the root;
// place on its region's stack (−1: never read); kind. As `NODE` in sweep.py.
struct alignas(16) Node {
    int first, width, begin, rows;
    long long panel;
    int base;
    short own, kind;
};
enum { inner, root, top };

__device__ inline int even(int k) { return k + k % 2; }

// Entries first, first + apart, … of a matrix with rows of `wide`, by row and column, without dividing a number that may
// exceed 32 bits.
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
