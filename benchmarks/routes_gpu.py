"""Of routes.py, on a GPU: every path of every pair is walked on the device, then device events time predecessors.

Run by `python benchmarks/routes.py --device cuda`. A bar is for both together, in milliseconds, on one H200.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from device import cp, milliseconds
from families import SEED, families

from apsp import closure
from apsp.road import schedules
from semiring import get
from semiring.dense.routes import hops, lengths
from semiring.kernels.backend import bind


class Case(NamedTuple):
    """A graph, over a semiring; the bar is of the sum, or beyond the closure."""

    name: str
    semiring: str
    dtype: str
    bar: float | None
    beyond: float | None = None


def cases() -> Iterator[Case]:
    """What is measured."""
    bars = {
        "dense uniform": 38,
        "integers 1-99": 46,
        "complete Euclidean": 46,
        "geometric, radius 0.05": 46,
        "unweighted 30 %": 46,
        "half zeros": 46,
        "0 or 1, 1 %": 46,
        "ring of zeros": 150,
        "1e-9, 1 or 1000, degree 8": 50,
        "twins": 70,
        "negative edges": None,
    }
    for name, bar in bars.items():
        yield Case(name, "min_plus", "float32", bar)
    for dtype in ("int32", "int16"):
        yield Case("integers 1-99", "min_plus", dtype, None)
    for semiring in ("max_min", "min_max"):
        for name in list(bars)[:5]:
            yield Case(name, semiring, "float32", None, 15)


def check(case: Case, A: Any, D: Any, P: Any) -> str:
    """Every path of every pair: simple, of edges, and as long as D says; how far off the farthest is, and edges."""
    L, s = lengths(get(case.semiring), P, None, D.dtype, A=A), get(case.semiring)
    n, worst, largest = D.shape[-1], 0.0, 0.0
    H = hops(P)
    for d, l in zip(D.reshape(-1, n, n), L.reshape(-1, n, n), strict=True):
        for at in range(0, n, 1024):
            x, y = (M[at : at + 1024].astype(np.float64) for M in (d, l))
            worst = max(worst, float(cp.where(x == y, 0, cp.abs(x - y)).max()))
            largest = max(largest, float(cp.where(cp.isinf(x), 0, cp.abs(x)).max()))
    exact = D.dtype.kind != "f" or s.mul.selects
    assert worst <= (0 if exact else n * np.finfo(D.dtype).eps * largest), (case, worst)
    there = H > 0
    mean = float(cp.where(there, H, 0).sum(dtype=np.float64)) / max(1.0, float(there.sum()))
    return f"{mean:.1f} / {int(H.max())}"


def measure(n: int, repeats: int) -> None:
    """A table, and batches."""
    print(f"n = {n}, the best of {repeats} by device events\n")
    print(
        "| graph | closure, ms | predecessors, ms | both | bar | walk, ms | edges, mean / most |\n" + "|---" * 7 + "|"
    )
    for case in cases():
        A = families(n)[case.name](np.random.default_rng(SEED)).astype(np.float32)
        np.fill_diagonal(A, 0)
        if case.semiring == "max_min":
            A[np.isinf(A)] = -np.inf
        line(case, cp.asarray(A.astype(case.dtype)), repeats)
    rng = np.random.default_rng(SEED)
    many = rng.random((10_000 if n > 1024 else 100, 64, 64), np.float32)
    line(Case(f"{len(many)} × 64", "min_plus", "float32", None), cp.asarray(many), repeats)


def closing(case: Case, A: Any, repeats: int) -> float:
    """The least time of a closure in place, its launches alone."""
    ops: Any = bind(get(case.semiring), A.dtype, device="cuda", nonnegative=bool(A.min() >= 0))
    D = A.copy()

    def run() -> None:
        if D.ndim == 3:
            ops.closure_batch(D, schedules.get("blocked"))
        else:
            schedules.get("recursive" if len(D) > ops.cutover else "blocked")(D, ops, block=ops.pivot)

    run()
    return milliseconds(run, repeats=repeats, idle=0, launching=True, of=min)


def line(case: Case, A: Any, repeats: int) -> None:
    """One row of the table."""
    D = closure(A, case.semiring, null_value=None)
    P = cp.empty(D.shape, np.int32)
    find = partial(bind(get(case.semiring), D.dtype, device="cuda").predecessors, P, A, D)
    find()
    edges = check(case, A, D, P)
    least = partial(milliseconds, repeats=repeats, idle=0, launching=True, of=min)
    alone, after = closing(case, A, repeats), least(find)
    walked = least(lambda: lengths(get(case.semiring), P, None, D.dtype, A=A))
    bar = case.bar if case.beyond is None else alone + case.beyond
    title = case.name if case.semiring == "min_plus" else f"{case.name}, {case.semiring}"
    title += "" if case.dtype == "float32" else f", {case.dtype}"
    shown = "" if bar is None else f"{bar:.0f}{'' if alone + after <= bar else ' (missed)'}"
    print(
        f"| {title} | {alone:.2f} | {after:.2f} | {alone + after:.2f} | {shown} | {walked:.1f} | {edges} |", flush=True
    )
