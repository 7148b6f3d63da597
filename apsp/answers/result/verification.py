"""Verification that D is the closure of A, by definition, exactly or within rounding."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.records import Semiring
from semiring.algebra.selection import require_selection
from semiring.dense import linalg
from semiring.dense.routes import lengths, product
from semiring.host.devices import host, module, on_device
from semiring.host.errors import DomainError
from semiring.host.spelling import came, refuse_texts
from semiring.host.types import Array

from ...generate import generator
from ...io.graph import Graph
from ...road.engines import Engine
from ..routes import Trees

#: Rows checked by default.
ROWS = 64
#: Entries compared at a time.
_CHUNK = 1 << 24


@dataclass(frozen=True)
class Verification:
    """The outcome of a verification; truthy (`ok`) if nothing was wrong.

    `largest` is the largest difference of numbers that should be equal, `allowed` that explained by rounding (0 in
    exact arithmetic); `pair` labels a wrong entry, if any.
    """

    ok: bool
    sentence: str
    largest: float = 0.0
    allowed: float = 0.0
    pair: tuple[Any, Any] | None = None

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self.sentence


class Comparison:
    """Differences of entries that should be equal, and the first beyond rounding."""

    def __init__(self, s: Semiring, dtype: np.dtype, allowed: float) -> None:
        self.zero, self.allowed = dtypes.zero(s, dtype), allowed
        self.largest, self.count = 0.0, 0
        self.pair: tuple[int, int] | None = None

    def __call__(self, rows: np.ndarray, D: Array, B: Array) -> None:
        """Compare rows of D and B, of one library and device."""
        step = max(1, _CHUNK // max(1, D.shape[1]))
        with on_device(D):
            for start in range(0, len(D), step):
                self._look(rows[start : start + step], D[start : start + step], B[start : start + step])

    def _look(self, rows: np.ndarray, D: Array, B: Array) -> None:
        xp, differ = module(D), D != B
        if not bool(differ.any()):
            return
        with np.errstate(invalid="ignore"):
            gap = xp.abs(D.astype(np.float64) - B.astype(np.float64))
        if not dtypes.SCALARS[D.dtype].floating:
            gap = xp.maximum(gap, 1.0)  # distinct integers beyond 2⁵³ may be one float
        gap = xp.where(differ, xp.where((D == self.zero) | (B == self.zero) | xp.isnan(gap), np.inf, gap), 0.0)
        self.largest = max(self.largest, float(gap.max()))
        wrong = gap > self.allowed
        self.count += int(wrong.sum())
        if self.pair is None and bool(wrong.any()):
            i, j = (int(x[0]) for x in wrong.nonzero())
            self.pair = int(rows[i]), j


def verify(
    trees: Trees, rows: int | str | None, *, paths: bool, seed: int, part: tuple[Engine, np.ndarray, np.ndarray] | None
) -> Verification:
    """Verify the table of all pairs; `part`, its rows and columns told, perhaps from a file, must be of that table."""
    refuse_texts("verify", paths=paths)
    if paths:
        require_selection(trees.semiring, where="verify")
    n = trees.graph.n
    sources = drawn(n, rows, seed, "verify")
    s, engine = trees.semiring, trees.engine
    weights = finite_weights(trees.graph, s, engine.dtype)
    allowed = rounding(s, engine.dtype, weights, engine.table() if engine.in_memory else None, n)
    how = "exactly" if allowed == 0 else f"to {allowed:.2g} (n · eps · the largest entry)"
    fixed = Comparison(s, engine.dtype, allowed)
    for positions, D, B in _products(trees, sources):
        fixed(positions, D, B)
    if part is not None and fixed.pair is None:
        told, i, j = part
        for positions, D in told.rows(drawn(len(i), rows, seed, "verify")):
            fixed(i[positions], host(D), host(engine.block(i[positions], j)))
        fixed.pair = fixed.pair and (fixed.pair[0], int(j[fixed.pair[1]]))
    looked = f"all {n} rows" if len(sources) == n else f"{len(sources)} of {n} rows, drawn at random"
    claim = f"D = I ⊕ D ⊗ A holds {how}, in {looked}"
    if fixed.pair is not None:
        return _wrong(trees, f"D = I ⊕ D ⊗ A must hold {how}, but it does not", fixed)
    if not paths:
        return Verification(True, f"{claim}.", fixed.largest, allowed)
    walked, found = Comparison(s, engine.dtype, allowed), 0
    try:
        for positions, D, L in _walked(trees):
            walked(positions, D, L)
            found += int((L != walked.zero).sum()) - len(positions)
    except DomainError as error:  # there is no such path
        return Verification(False, str(error), math.inf, allowed)
    if walked.pair is not None:
        return _wrong(trees, f"every path must attain its distance {how}, but one does not", walked)
    attain = f"each of the {found} paths attains its distance, {how}"
    return Verification(True, f"{claim}; {attain}.", max(fixed.largest, walked.largest), allowed)


def _wrong(trees: Trees, claim: str, compared: Comparison) -> Verification:
    assert compared.pair is not None
    u, v = (trees.graph.labels[x] for x in compared.pair)
    message = f"{claim}, from {u!r} to {v!r}; the largest difference is {compared.largest:.3g}."
    return Verification(False, message, compared.largest, compared.allowed, (u, v))


def drawn(n: int, rows: int | str | None, seed: int, where: str) -> np.ndarray:
    """Sorted row positions: all, or a random sample of size `rows` (default `ROWS`)."""
    if rows != "all" and rows is not None and (isinstance(rows, str) or not hasattr(rows, "__index__") or rows < 1):
        raise ValueError(f"{where}: rows must be an integer from 1 on, or 'all', got {came(rows)}.")
    count = n if rows == "all" else min(n, ROWS if rows is None else int(rows))
    return np.sort(generator(seed, where).choice(n, count, replace=False)) if count < n else np.arange(n)


def rounding(s: Semiring, dtype: np.dtype, weights: np.ndarray, D: Array | None, n: int) -> float:
    """n · eps of a dtype · the largest of weights and distances (None: unknown), if operations round; else 0."""
    if not dtypes.SCALARS[dtype].floating or (s.mul.selects and s.add.selects):
        return 0.0
    largest = max(float(np.abs(weights).max(initial=0)), 1.0 if s.mul.ufunc is np.multiply else 0.0)
    largest = largest * n if D is None else max(largest, dtypes.largest_finite(D))
    small = s.add.selects and s.mul.ufunc is np.add and largest < 2.0 ** np.finfo(dtype).nmant
    if small and (weights == np.rint(weights)).all():
        return 0.0  # integers add exactly
    return n * dtypes.SCALARS[dtype].eps * largest


def finite_weights(graph: Graph, s: Semiring, dtype: np.dtype) -> np.ndarray:
    """The weights that may round; none of an exact dtype."""
    if not dtypes.SCALARS[dtype].floating:
        return np.zeros(0)
    weights = graph.edges(s, dtype)[2] if graph.dense is None else host(graph.matrix(s, dtype))
    return weights[np.isfinite(weights)]


def _products(trees: Trees, sources: np.ndarray) -> Iterator[tuple[np.ndarray, Array, Array]]:
    """Rows of D and of I ⊕ D ⊗ A, on D's device: a product for a matrix, else along the edges."""
    s, engine, graph = trees.semiring, trees.engine, trees.graph
    one = dtypes.one(s, engine.dtype)
    A = graph.matrix(s, engine.dtype) if graph.dense is not None else None
    for positions, D in engine.rows(sources):
        if A is None:
            D = host(D)
            yield positions, D, product(s, trees.edges(), D, positions)
            continue
        with on_device(D):
            xp = module(D)
            B, index = linalg.matmul(D, xp.asarray(A), s), np.arange(len(positions))
            own = [s.add.python(x, one.item()) for x in B[index, positions].tolist()]
            B[index, positions] = xp.asarray(own, B.dtype)
        yield positions, D, B


def _walked(trees: Trees) -> Iterator[tuple[np.ndarray, Array, Array]]:
    """Rows of D and the weights of paths along predecessors; on D's device if there is a table."""
    s, engine, graph = trees.semiring, trees.engine, trees.graph
    if not engine.in_memory:
        for positions, D in engine.rows(np.arange(graph.n)):
            yield positions, host(D), lengths(s, trees.of(positions, D), positions, engine.dtype, edges=trees.edges())
        return
    D, vertices = engine.table(), np.arange(graph.n)
    with on_device(D):
        if not isinstance(D, np.ndarray) or graph.dense is not None:
            A = module(D).asarray(graph.matrix(s, engine.dtype))
            L = lengths(s, trees.predecessors, vertices, engine.dtype, A=A)
        else:
            L = lengths(s, trees.predecessors, vertices, engine.dtype, edges=trees.edges())
    yield vertices, D, L
