"""Latency of small calls: on a CPU beside the same call of SciPy or NumPy, on a GPU above the device's own time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import cases
import common
import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import floyd_warshall

import semiring
from apsp import closure, csgraph
from apsp.road import schedules
from semiring.kernels.backend import bind

from . import Figure, Task, beside

#: Seconds above the device that closures, products and products of sparse matrices may take.
CLOSURE, MATMUL, SPMV, SPGEMM = 110e-6, 50e-6, 60e-6, 120e-6
Pair = tuple[Callable[[], object], Callable[[], object]]


def edges(*shape: int, dtype: str = "float32") -> np.ndarray:
    """Whole numbers as weights, too many and too long to be closed by counting units; sums are exact."""
    return np.random.default_rng(shape[-1]).integers(5000, 5099, shape).astype(dtype)


def roads(n: int, degree: int = 6) -> Any:
    """A sparse matrix of positive weights, the same number a row."""
    rng = np.random.default_rng(n)
    cols, at = rng.integers(0, n, degree * n), np.arange(0, degree * n + 1, degree)
    A = sp.csr_array((rng.random(degree * n) + 0.1, cols, at), shape=(n, n))
    A.sum_duplicates()
    return A


def tasks(device: str) -> Iterator[Task]:
    """Calls whose kernels are there."""
    return _on_gpu() if device == "cuda" else _on_cpu()


def _on_cpu() -> Iterator[Task]:
    for n in (4, 8, 16, 64):
        yield beside(f"call: closure {n}", partial(_closure, n), "SciPy", least=3 if n < 64 else None)
    yield beside("call: matmul 16", partial(_matmul, 16), "NumPy's, of BLAS", most=15e-6)
    yield beside("call: matmul 64", partial(_matmul, 64), "NumPy's, of BLAS", most=40e-6)
    yield beside("call: matrix and vector, csr of 100", partial(_vector, 100), "SciPy")
    for n in (10, 100, 1000):
        yield beside(f"call: csgraph.dijkstra of {n}, one source", partial(_dijkstra, n, 1), "SciPy")


def _closure(n: int) -> Pair:
    A = edges(n, n, dtype="float64")
    np.testing.assert_array_equal(closure(A), floyd_warshall(A))
    return partial(closure, A), partial(floyd_warshall, A)


def _matmul(n: int) -> Pair:
    A, B = edges(n, n), edges(n, n)[::-1].copy()
    C = semiring.matmul(A, B)
    np.testing.assert_array_equal(C, (A[:, :, None] + B[None]).min(axis=1))
    return partial(semiring.matmul, A, B), partial(np.matmul, A, B)


def _vector(n: int) -> Pair:
    A, x = roads(n), np.random.default_rng(1).random(n)
    np.testing.assert_allclose(semiring.matmul(A, x, "plus_times"), A @ x)
    return partial(semiring.matmul, A, x, "plus_times"), lambda: A @ x


def _dijkstra(n: int, sources: int) -> Pair:
    from scipy.sparse.csgraph import dijkstra

    A, some = roads(n), np.arange(sources)
    np.testing.assert_allclose(csgraph.dijkstra(A, indices=some), dijkstra(A, indices=some), rtol=1e-12)
    return partial(csgraph.dijkstra, A, indices=some), partial(dijkstra, A, indices=some)


def _on_gpu() -> Iterator[Task]:
    for n in (64, 256, 512, 1024, 2048):
        yield _above(f"call: closure {n}", partial(_gpu_closure, n), CLOSURE)
    yield _above("call: matmul 512", partial(_gpu_matmul, 512), MATMUL)
    for name, most in (("SpMV", SPMV), ("SpGEMM", SPGEMM)):
        yield _above(f"call: {name} of 20,000 rows", partial(_gpu_sparse, name), most)


def _above(name: str, pair: Callable[[], Pair], most: float) -> Task:
    """A call by the wall, less what the verb for it takes on the device, or until it returns; beside a launch."""

    def measure() -> Figure:
        from device import cp, milliseconds

        call, verb = pair()
        wait = cp.cuda.get_current_stream().synchronize
        nothing = cp.ElementwiseKernel("", "int32 y", "", "nothing")
        out = cp.zeros(1, np.int32)

        def ended(call: Callable[[], object]) -> float:
            return common.best(lambda: (call(), wait()), 50, before=wait, seconds=0.3)

        wall, launch = ended(call), ended(lambda: nothing(out))
        above = wall - milliseconds(verb, repeats=15) / 1e3 if verb else common.best(call, 50, before=wait, seconds=0.3)
        return Figure(name, max(above, 1e-7), launch, "a launch of nothing", most=most)

    return name, measure


def _gpu_closure(n: int) -> Pair:
    import cupy

    ops: Any = bind(semiring.get("min_plus"), "float32", device="cuda", nonnegative=True)
    A = edges(n, n)
    there, work = cupy.asarray(A), cupy.asarray(A)
    cases.check_distances(A, closure(there).get())
    return partial(closure, there), partial(schedules.get("recursive"), work, ops, block=ops.pivot)


def _gpu_matmul(n: int) -> Pair:
    import cupy

    ops: Any = bind(semiring.get("min_plus"), "float32", device="cuda", nonnegative=True)
    A, B = cupy.asarray(edges(n, n)), cupy.asarray(edges(n, n)[::-1].copy())
    C = cupy.empty_like(A)
    return partial(semiring.matmul, A, B), partial(ops.matmul, C, A, B)


def _gpu_sparse(name: str) -> tuple[Callable[[], object], None]:
    import cupy
    import cupyx.scipy.sparse as there

    A = roads(20_000)
    X = there.csr_matrix(sp.csr_matrix(A))
    y = cupy.asarray(np.random.default_rng(1).random(20_000)) if name == "SpMV" else X
    call = partial(semiring.matmul, X, y, "plus_times")
    expected = A @ (y.get() if name == "SpMV" else A)
    found = call().get()
    np.testing.assert_allclose(*(Z if name == "SpMV" else Z.toarray()[:50] for Z in (found, expected)), rtol=1e-9)
    return call, None
