"""On what is the time of a first call spent, step by step, and that of a call in Python?

    python benchmarks/calls.py                    # the first closure of a process on a GPU, caches empty and filled
    python benchmarks/calls.py --profile closure  # a call of 64 x 64, on the GPU if there is one, under cProfile

What calls and first calls take, and may take, is in the ledger.
"""

from __future__ import annotations

import cProfile
import json
import pstats
import tempfile
from pathlib import Path

import numpy as np
from common import arguments, begin, process

# isort: split
from figures.calls import edges

from apsp import closure
from semiring import matmul
from semiring.kernels.backend import cuda_available

#: A process of its own: what it spends from its first import to the end of its first call, step by step.
STEPS = """
import json, sys, time
steps, last = [], time.perf_counter()
def done(what):
    global last
    steps.append([what, time.perf_counter() - last])
    last = time.perf_counter()
def inside(module, name, what):
    function = getattr(module, name)
    def timed(*args, **options):
        start = time.perf_counter()
        try:
            return function(*args, **options)
        finally:
            inner.append([f"  {what}", time.perf_counter() - start])
    setattr(module, name, timed)
inner = []
import numpy; done("import numpy")
import cupy; done("import cupy")
import apsp; done("import apsp")
cupy.cuda.runtime.free(0); done("driver and context")
A = cupy.asarray(numpy.load(sys.argv[1])); cupy.cuda.Device().synchronize(); done("matrix to the device")
import semiring.kernels.cuda.dense.backend, semiring.kernels.cuda.survey; done("import of the GPU backend")
from semiring.kernels.cuda import cache, compile
inside(compile, "source", "source from files")
inside(cache, "load", "cubin from disk")
inside(compile, "_nvrtc", "NVRTC")
inside(cache, "keep", "cubin to disk")
class Module(cupy.cuda.function.Module):
    def load(self, cubin):
        start = time.perf_counter()
        super().load(cubin)
        inner.append(["  module into the device", time.perf_counter() - start])
cupy.cuda.function.Module = Module
last = time.perf_counter()
D = apsp.closure(A); done("first call returns")
steps += [*inner, ["  all else", steps[-1][1] - sum(s for _, s in inner)]]
cupy.cuda.Device().synchronize(); done("and has finished")
D = apsp.closure(A); cupy.cuda.Device().synchronize(); done("second call")
print(json.dumps(steps))
"""


def steps(n: int) -> None:
    """What a process spends its first call on, where kernels have to be compiled and where they are on disk."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "A.npy", edges(n, n))
        caches = caches_in(folder)
        printed = [process(STEPS, Path(folder) / "A.npy", **caches) for _ in ("cold", "warm")]
    for kind, lines in zip(("cold", "warm"), printed, strict=True):
        print(f"\n{'first call, ' + kind:28} {'ms':>10}")
        for what, seconds in json.loads(lines.splitlines()[-1]):
            print(f"{what:28} {1e3 * seconds:10.1f}")


def caches_in(folder: str) -> dict[str, str]:
    """The environment in which all that is compiled is kept in a folder: by us, by CuPy, by the driver and by NVRTC."""
    names = ("SEMIRING_CACHE_DIR", "CUPY_CACHE_DIR", "CUDA_CACHE_PATH")
    return dict.fromkeys(names, folder)


def profile(name: str, times: int = 300) -> None:
    """Profile of repeated calls, by time in each function."""
    A = edges(64, 64)
    if cuda_available():
        import cupy

        A = cupy.asarray(A)
    call = {"closure": lambda: closure(A), "matmul": lambda: matmul(A, A)}[name]
    call()
    with cProfile.Profile() as profiler:
        for _ in range(times):
            call()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(20)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--profile", choices=["closure", "matmul"])
    args = begin(parser)
    if args.profile or not cuda_available():
        profile(args.profile or "closure", 3 if args.quick else 300)
    else:
        steps(100 if args.quick else 1000)


if __name__ == "__main__":
    main()
