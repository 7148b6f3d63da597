"""Does the closure exist? Found on the diagonal, on the spectrum, and explained by a cycle.

In an idempotent semiring A* exists when no cycle beats `one`: since a* = 1 ⊕ a, a cycle that does leaves its
trace on the diagonal. In (+, ×) the sum I + A + A² + … has a limit when the spectral radius of A is below 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.arrays import module
from semiring.dtypes import Survey
from semiring.errors import DivergenceError, NegativeCycleError


def may_diverge(semiring: Semiring, survey: Survey, n: int) -> bool:
    """Whether entries between these extremes can make a closure that does not exist."""
    if n == 0:
        return False
    if semiring.idempotent and semiring.add.simd in ("min", "max"):
        # One extreme is the best entry there is: where even it does not beat `one`, no cycle does.
        return any(semiring.add.python(semiring.one, x) != semiring.one for x in (survey.least, survey.greatest))
    return semiring.dtypes != ("bool",)


def rounding(semiring: Semiring, A: Any) -> float:
    """How far rounding alone may push a closed walk of A past `one`: n · eps · max|w|; 0 for integers."""
    if A.dtype.kind != "f":
        return 0.0
    return len(A) * float(np.finfo(A.dtype).eps) * max(dtypes.largest_finite(A), abs(_finite(semiring.one)))


def worst(diagonal: np.ndarray, semiring: Semiring) -> tuple[int, float]:
    """The vertex whose diagonal entry is furthest from `one`, and how far; (0, inf) distances for NaN."""
    one = dtypes.one(semiring, diagonal.dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.where(diagonal == one, 0.0, np.abs(diagonal.astype(np.float64) - float(one)))
    gap = np.where(np.isnan(gap), math.inf, gap)
    vertex = int(gap.argmax())
    return vertex, float(gap[vertex])


def series_diverges(diagonal: np.ndarray) -> int | None:
    """The first vertex whose diagonal entry is no finite number: the pivot there reached 1."""
    bad = np.flatnonzero(~np.isfinite(diagonal))
    return int(bad[0]) if bad.size else None


def check_spectrum(A: Any, *, where: str) -> None:
    """Refuse a real matrix with a negative entry whose spectral radius is not below 1.

    Without negative entries elimination itself finds it (a pivot reaches 1: A is then no M-matrix complement).
    By Gelfand's formula ρ(A) = lim ‖Aᵏ‖^(1/k), squaring A until its norm falls below 1, or its trace proves
    that some |λ| ≥ 1, as |tr Aᵏ| ≤ n ρᵏ.

    Raises
    ------
    DivergenceError
    """
    xp = module(A)
    if min(float(abs(A).sum(axis=axis).max()) for axis in (0, 1)) < 1:
        return
    power, squarings = A.astype(np.float64), 40
    for _ in range(squarings):
        norm = float(xp.abs(power).sum(axis=1).max())
        if norm < 1:
            return
        if norm > 1e150 or abs(float(xp.trace(power))) > len(A):
            break
        power = power @ power
    raise DivergenceError(
        f"{where}: the spectral radius must be below 1 for I + A + A² + … to have a limit, got one of at least 1. "
        "Scale the matrix down."
    )


class Bellman:
    """Bellman–Ford over a dense min-plus matrix from a source tied to every vertex by an edge of weight 0.

    After `run`, either `cycle` holds a cycle whose weight is below −slack per edge, or `potential` h satisfies
    w(i, j) + h(i) − h(j) ≥ −slack for all edges (Johnson 1977): such a graph has no negative cycle beyond rounding.
    """

    def __init__(self, W: np.ndarray, slack: float) -> None:
        self.W, self.slack = W, slack
        self.potential = np.zeros(len(W), dtype=np.float64)
        self._predecessor = np.full(len(W), -1)
        self.cycle: list[int] = []

    def run(self, rounds: int | None = None) -> bool:
        """Relax until nothing moves or a cycle shows; False when `rounds` were not enough to tell."""
        for _ in range(len(self.W) + 1 if rounds is None else rounds):
            if not self._relax():
                return True
            self.cycle = self._find_cycle()
            if self.cycle:
                return True
        return False

    def _relax(self) -> bool:
        """One round, rows in chunks, each seeing what the one before found."""
        n, h, moved = len(self.W), self.potential, False
        rows = max(1, (1 << 20) // max(n, 1))
        for start in range(0, n, rows):
            reach = h[start : start + rows, None] + self.W[start : start + rows]
            best = reach.argmin(axis=0)
            length = reach[best, np.arange(n)]
            better = length < h - self.slack
            h[better], self._predecessor[better] = length[better], best[better] + start
            moved |= bool(better.any())
        return moved

    def _find_cycle(self) -> list[int]:
        """A cycle of the predecessor graph, in the edges' direction: it is always one of negative weight."""
        state = np.zeros(len(self.W), dtype=np.int64)
        for start in range(len(self.W)):
            v, mark = start, start + 1
            while v >= 0 and state[v] == 0:
                state[v] = mark
                v = int(self._predecessor[v])
            if v >= 0 and state[v] == mark:
                cycle, u = [v], int(self._predecessor[v])
                while u != v:
                    cycle.append(u)
                    u = int(self._predecessor[u])
                return cycle[::-1]
        return []


def as_lengths(A: Any, semiring: Semiring) -> np.ndarray:
    """A min-plus or max-plus matrix as float64 lengths on the host, to be minimised; missing edges are inf."""
    host = A if isinstance(A, np.ndarray) else A.get()
    lengths: np.ndarray = np.where(host == dtypes.zero(semiring, host.dtype), math.inf, host.astype(np.float64))
    if semiring.add.name == "max":
        lengths = np.where(np.isinf(lengths), math.inf, -lengths)
    return lengths


def has_lengths(semiring: Semiring) -> bool:
    """Whether the semiring is min-plus or max-plus, so that its diverging cycles are negative or positive ones."""
    return semiring.mul.name == "plus" and semiring.add.name in ("min", "max")


def cycle_error(lengths: np.ndarray, cycle: list[int], semiring: Semiring, *, where: str) -> DivergenceError:
    """The error that names a cycle, its weight, and a vertex on it."""
    weight = math.fsum(lengths[u, v] for u, v in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
    shown = " → ".join(str(v) for v in (*cycle[:8], *(["…"] if len(cycle) > 8 else []), cycle[0]))
    if semiring.add.name == "min":
        return NegativeCycleError(
            f"{where}: no cycle may have a negative weight, got {shown} of weight {weight:g}. "
            "Shortest walks have no lower bound on it.",
            cycle[0],
            cycle,
        )
    return DivergenceError(
        f"{where}: no cycle may have a positive weight, got {shown} of weight {-weight:g}. "
        "Longest walks have no upper bound on it.",
        cycle[0],
        cycle,
    )


def vertex_error(vertex: int, value: Any, semiring: Semiring, *, where: str) -> DivergenceError:
    """The error when only a vertex is known."""
    kind = NegativeCycleError if semiring.add.name == "min" and semiring.mul.name == "plus" else DivergenceError
    return kind(
        f"{where}: the closure over {semiring.name} does not exist: a closed walk at vertex {vertex} weighs {value}, "
        f"which beats one = {semiring.one}. Remove the cycle, or check the sign and scale of the weights.",
        vertex,
    )


def _finite(value: Any) -> float:
    return 0.0 if math.isinf(value) else float(value)
