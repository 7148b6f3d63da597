import math

import numpy as np
import pytest
from pass_heights import declare

from apsp import DeviceError, closure, emulate
from semiring import check_axioms


def test_the_laws_hold():
    check_axioms(declare())


def test_neutral_elements():
    s = declare()
    assert s.zero == math.inf, "no way at all is worse than any height"
    assert s.one == -math.inf, "who stays passes nothing, which is better than any height"


@pytest.mark.parametrize("seed", range(3))
def test_the_lowest_of_the_highest_passes(seed):
    """By trying which vertices are reached if passes above a height are closed."""
    rng = np.random.default_rng(seed)
    n = 9
    A = np.where(rng.random((n, n)) < 0.3, rng.integers(-50, 3000, (n, n)).astype(float), np.inf)
    D = closure(A, declare())
    for i, j in np.ndindex(n, n):
        if i == j:
            continue
        least = math.inf
        for height in sorted({*A[np.isfinite(A)].tolist()}):
            reached, front = {i}, [i]
            while front:
                u = front.pop()
                fresh = {v for v in range(n) if A[u, v] <= height} - reached
                reached |= fresh
                front += fresh
            if j in reached:
                least = height
                break
        assert D[i, j] == least, f"from {i} to {j}: {least}, not {D[i, j]}"


#: One thread an entry, in the words of C++ of both operations.
KERNEL = """
__device__ double add(double a, double b) { return ADD; }
__device__ double mul(double a, double b) { return MUL; }
__global__ void step(double* D, int n, int k) {
    int i = blockIdx.x, j = threadIdx.x;
    D[i * n + j] = add(D[i * n + j], mul(D[i * n + k], D[k * n + j]));
}
void closure(double* D, int n) {
    for (int k = 0; k < n; ++k) step<<<n, n>>>(D, n, k);
}
"""


def test_the_text_in_cuda_says_the_same(tmp_path):
    """A kernel with both expressions, run by the emulator, and compiled by NVRTC where that is installed."""
    s = declare()
    (tmp_path / "passes.cu").write_text(KERNEL.replace("ADD", s.add.cuda).replace("MUL", s.mul.cuda))
    A = np.where(np.eye(9, k=1) + np.eye(9, k=-3) > 0, np.arange(81.0).reshape(9, 9) - 40, np.inf)
    try:
        found = emulate(tmp_path / "passes.cu", A, s)
    except DeviceError as error:
        pytest.skip(str(error))  # no C++ compiler here: the error says which one the emulator needs
    told = f"of add, {s.add.cuda!r}, and of mul, {s.mul.cuda!r}:\n"
    assert found, told + str(found)
    for kernel in found.run.kernels:
        assert not str(kernel.registers).startswith("NVRTC refuses"), told + str(kernel.registers)
