"""Route kernels on the GPU: predecessors, lengths and hops, adjoint sums."""
