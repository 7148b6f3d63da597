"""Dense verbs on the GPU: choice of kernel, tile and launch; and the kernels."""
