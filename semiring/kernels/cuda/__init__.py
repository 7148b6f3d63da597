"""The GPU backend: CUDA C++ compiled by NVRTC for the semiring at hand, launched through CuPy.

>>> from semiring.kernels.backend import bind
>>> ops = bind(semiring.get("tropical"), "float32", device="cuda")  # doctest: +SKIP
"""
