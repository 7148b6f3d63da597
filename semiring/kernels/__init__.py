"""The contract between schedules and kernels, and the kernels that fulfil it: numba on CPUs, CUDA C++ on GPUs."""
