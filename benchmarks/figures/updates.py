"""One edge of a matrix changed: its closure updated, beside the closure of the changed matrix."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from functools import partial

import cases
import common
import numpy as np

from apsp import closure, update

from . import Figure, Task, setting

SIZE = {"cpu": 2048, "cuda": 8192}
#: Most seconds of an edge that gets better, and of one that gets worse.
MOST = {"cpu": (0.4e-3, 3e-3), "cuda": (0.4e-3, 2e-3)}
#: Edges changed, one after the other, whose median counts; least speed-up over a closure, in the worst case.
EDGES, WORST = 15, 1 / 1.2
#: No edge, and more than any length.
NONE, LONG = np.iinfo(np.int32).max, 10**6


def tasks(device: str) -> Iterator[Task]:
    """Edges of complete matrices, and the edges of a path and of a cycle that most walks use."""
    n = 256 if common.quick() else SIZE[device]
    for better, most in zip((True, False), MOST[device], strict=True):
        name = f"update: edges get {'better' if better else 'worse'}, complete int32 {n}"
        yield name, partial(_measure, name, device, "complete", n, better, most=most)
    for family in ("path", "cycle"):
        name = f"update: the middle of a {family} gets worse, int32 {n}"
        yield name, partial(_measure, name, device, family, n, False, least=WORST)


def _matrix(family: str, n: int) -> np.ndarray:
    """Lengths of a complete digraph, of an undirected path, or of a directed cycle."""
    A = np.random.default_rng(n).integers(1, LONG if family == "complete" else 1000, (n, n)).astype(np.int32)
    i, j = np.ogrid[:n, :n]
    if family != "complete":
        A[(abs(i - j) != 1) if family == "path" else ((j - i) % n != 1)] = NONE
    np.fill_diagonal(A, 0)
    return A


def _measure(
    name: str, device: str, family: str, n: int, better: bool, *, most: float | None = None, least: float | None = None
) -> Figure:
    A = _matrix(family, n)
    there, options, clock = setting(device)

    def timed(call: Callable[[], object]) -> float:
        start = clock()
        call()
        return clock() - start

    D = cases._host(closure(there(A), null_value=None, **options))
    i, j = np.nonzero((A == D) & (A != 0) & (A < LONG))
    chosen = np.random.default_rng(0).choice(len(i), EDGES) if family == "complete" else [len(i) // 2] * 3
    d, a, times = there(D.copy()), there(A.copy()), []
    for u, v in zip(i[chosen].tolist(), j[chosen].tolist(), strict=True):
        weight = int(a[u, v]) // 2 if better else 3 * int(a[u, v])
        times.append(timed(partial(update, d, a, {(u, v): weight}, overwrite=True, **options)))
    fresh = [a.copy() for _ in range(3)]
    anew = [timed(partial(closure, X, null_value=None, overwrite=True, **options)) for X in fresh]
    np.testing.assert_array_equal(cases._host(d), cases._host(fresh[0]))
    return Figure(name, statistics.median(times), min(anew), "a closure of the changed matrix", least, most)
