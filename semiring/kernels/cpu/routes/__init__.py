"""Route kernels: predecessors, paths, negative cycles, adjoint sums, and checks of closures."""
