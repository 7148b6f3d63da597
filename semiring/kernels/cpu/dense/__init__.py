"""Dense kernels: products on packed panels, closures of pivot blocks, and the verbs on them."""
