// Part 8: a kernel of your own, for the widest paths.
//
// An arc weighs what fits through it. A walk is as wide as its narrowest arc, and of several walks the widest counts: D[i][j] becomes the
// greatest of min(D[i][k], D[k][j]). D is I ⊕ A on the device: row-major, n rows, `pitch` floats apart, -INFINITY where there is
// no arc, INFINITY from each vertex to itself. Write kernels, and launch them in closure(). First make the table right,
// then make it read less: the last test wants at most half a number read or written a pair of n³, which takes blocks in
// shared memory. ../kernels has shortest paths to take apart.
//
//     pytest examples/lab/part8
//     apsp lab run examples/lab/part8/mine.cu --semiring max_min

void closure(float* D, int n, int pitch) {
}
