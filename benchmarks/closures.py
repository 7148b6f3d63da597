"""What does a user of `closure` on a CPU get: beside SciPy, by each schedule, at the first call, in memory?

    python benchmarks/closures.py            # everything, about five minutes
    python benchmarks/closures.py --quick    # smaller sizes, half a minute

Every result is checked before it is timed. Seconds on a shared machine are noise; the ratios are taken within one run.
"""

from __future__ import annotations

import tempfile
import time

import numpy as np
from common import arguments, begin, best, process

# isort: split
import cases

import apsp
from semiring import get


def edges(n: int) -> np.ndarray:
    """Half of all edges, of weights whose sums are exact, so that every schedule must agree bit for bit."""
    return cases.random_matrix(cases.Case(get("min_plus"), np.dtype("float32")), (n, n), n, density=0.5)


def against_scipy(n: int) -> None:
    from scipy.sparse.csgraph import floyd_warshall

    A = edges(n)
    start = time.perf_counter()
    expected = floyd_warshall(A)
    theirs = time.perf_counter() - start
    np.testing.assert_array_equal(apsp.closure(A), expected)
    print(f"float32 closure, n = {n}: SciPy's floyd_warshall {theirs:.3f} s")
    for threads in (1, None):
        ours = best(lambda threads=threads: apsp.closure(A, threads=threads))
        rate, gain = n**3 / ours / 1e9, theirs / ours
        print(f"  {threads or 'all'} threads: {ours:.4f} s, {rate:.1f} G pairs/s, {gain:.1f} × SciPy")


def schedules(n: int) -> None:
    A = edges(n)
    expected = apsp.closure(A, schedule="recursive")
    times = {}
    for name in ("recursive", "blocked", "iterative"):
        np.testing.assert_array_equal(apsp.closure(A, schedule=name), expected)
        times[name] = best(lambda name=name: apsp.closure(A, schedule=name), 2)
    for name, seconds in times.items():
        print(f"{name:10} n = {n}: {seconds:.3f} s, {times['iterative'] / seconds:.2f} × iterative")


FIRST = """
import time; start = time.perf_counter()
import numpy as np, apsp
A = np.random.default_rng(0).random((256, 256)).astype("float32")
A = {layout}
apsp.closure(A)
print(time.perf_counter() - start)
"""


def first_calls() -> None:
    with tempfile.TemporaryDirectory() as cache:
        for state, layout in (
            ("cold cache, C order", "A"),
            ("warm cache, C order", "A"),
            ("warm cache, Fortran order", "np.asfortranarray(A)"),
            ("warm cache, every second column", "np.repeat(A, 2, axis=1)[:, ::2]"),
        ):
            seconds = float(process(FIRST.format(layout=layout), NUMBA_CACHE_DIR=cache))
            print(f"first closure of a process, n = 256, {state}: {seconds:.2f} s")
    code = "import time; s = time.perf_counter(); import apsp; print(time.perf_counter() - s)"
    print(f"import apsp: {min(float(process(code)) for _ in range(5)) * 1e3:.0f} ms")


PEAK = """
import numpy as np, apsp
from common import peak
apsp.closure(np.ones((300, 300), dtype="{dtype}"), overwrite=True)  # compile
A = np.random.default_rng(0).integers(1, 100, ({n}, {n}), dtype="int16").astype("{dtype}")
before, most = peak(lambda: apsp.closure(A, overwrite=True))
print((most - before) / A.nbytes)
"""


def memory(n: int) -> None:
    for dtype in ("float32", "int16"):
        beside = float(process(PEAK.format(n=n, dtype=dtype)))
        print(f"in-place closure, n = {n}, {dtype}: {beside:.1%} of the matrix beside it at the peak")


def main() -> None:
    quick = begin(arguments(__doc__)).quick
    against_scipy(1024 if quick else 2048)
    schedules(1024 if quick else 4096)
    first_calls()
    memory(2048 if quick else 4096)


if __name__ == "__main__":
    main()
