"""The verbs on matrices of numbers: which kernel, which tile, which launch; and the kernels."""
