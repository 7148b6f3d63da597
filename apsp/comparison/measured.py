"""A kernel of one's own timed on a card, beside the naive kernel: nvcc makes a program of the file."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from semiring.host.errors import DeviceError
from semiring.host.spelling import came

#: The naive kernel: a thread an entry, a launch a vertex.
_NAIVE = """
__global__ void step(float* D, int n, int k) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const size_t row = size_t(blockIdx.y) * n;
    if (j < n) D[row + j] = fminf(D[row + j], D[row + k] + D[size_t(k) * n + j]);
}
void closure(float* D, int n) {
    for (int k = 0; k < n; ++k) step<<<dim3((n + 127) / 128, n), 128>>>(D, n, k);
}
"""
#: Milliseconds of the best of three closures of zeros, or the error of the card.
_MAIN = """
#include <cstdio>
#include <cstdlib>
template <class T> void closed(void (*f)(T*, int, int), void* D, int n) { f(static_cast<T*>(D), n, n); }
template <class T> void closed(void (*f)(T*, int), void* D, int n) { f(static_cast<T*>(D), n); }
int main(int, char** words) {
    const int n = atoi(words[1]);
    void* D = nullptr;
    cudaEvent_t begin, end;
    cudaMalloc(&D, sizeof(double) * n * n);
    cudaMemset(D, 0, sizeof(double) * n * n);
    cudaEventCreate(&begin), cudaEventCreate(&end);
    float best = -1;
    for (int k = 0; k < 4; ++k) {
        float ms = 0;
        cudaEventRecord(begin);
        closed(closure, D, n);
        cudaEventRecord(end), cudaEventSynchronize(end);
        cudaEventElapsedTime(&ms, begin, end);
        if (k && (best < 0 || ms < best)) best = ms; // the first one warms up
    }
    const cudaError_t error = cudaGetLastError();
    error ? printf("%s", cudaGetErrorString(error)) : printf("%g", best);
    return error != cudaSuccess;
}
"""


def measured(kernel: Path, n: int, macros: Mapping[str, str], limit: float) -> tuple[float, float]:
    """Milliseconds of a closure of n vertices by the `closure` of a file, and by the naive kernel.

    DeviceError without nvcc or a GPU, if nvcc refuses the file, or if the program fails or takes over `limit` seconds.
    """
    if shutil.which("nvcc") is None:
        raise DeviceError(
            "emulate: measure needs an NVIDIA GPU and nvcc in PATH, got no nvcc. Install the CUDA toolkit, or leave "
            "measure out."
        )
    own = f'#include <climits>\n#include "{kernel.resolve()}"\n'
    return _timed(own, n, macros, limit, kernel.name), _timed(_NAIVE, n, {}, limit, "the naive kernel")


def _timed(source: str, n: int, macros: Mapping[str, str], limit: float, name: str) -> float:
    defined = [f"-D{macro}={value}" for macro, value in macros.items()]
    with tempfile.TemporaryDirectory() as folder:
        text, program = Path(folder, "main.cu"), Path(folder, "main")
        text.write_text(source + _MAIN, encoding="utf-8")
        compiled = ["nvcc", "-O3", "-arch=native", *defined, "-o", str(program), str(text)]
        for command in (compiled, [str(program), str(n)]):
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
            except subprocess.TimeoutExpired:
                raise DeviceError(f"emulate: {name} must be done within {limit:g} s, got none. Raise limit.") from None
            if done.returncode:
                said = next((line for line in (done.stderr + done.stdout).splitlines() if line.strip()), "nothing")
                raise DeviceError(f"emulate: {name} must run on the card, got {came(said)}. Leave measure out.")
    return float(done.stdout)
