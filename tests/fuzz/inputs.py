"""What several targets draw: vertices' names, weights, and lists of edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apsp.io.graph import Graph

from .draw import Draw

NAMES = (
    *("a", "b", "A", "Ålesund", "東京", "x y", " pad", "", "1", "-7", "1.5", "nan", "None", "True", "#c", "a,b", 'q"q'),
    *("--END--", "line\nfeed", "tab\tbed", "a;b", "%", "source", "\ufeffbom", "é", "e\u0301"),
)
MIXED = (0, "0", 1.5, None, ("a", 1), ("a", ("b", 2)), 2**70, -(2**70), "x", True, (), b"raw", frozenset({1}), 7)
KINDS = ("row", "integers", "plain", "text", "floats", "tuples", "huge", "mixed")


def labels(draw: Draw, n: int, kind: str) -> list[Any]:
    """n distinct names of one kind."""
    if kind == "row":
        start = draw.pick((0, 1, -3, 10**6))
        return list(range(start, start + n))
    rng = draw.rng()
    if kind == "integers":
        return [int(x) for x in rng.permutation(range(-n, 3 * n))[:n]]
    if kind == "plain":
        return [f"v{k}" for k in rng.permutation(n)]
    if kind == "text":
        return [*rng.permutation(NAMES)[:n].tolist(), *(f"v{k}" for k in range(n - len(NAMES)))]
    if kind == "floats":
        return [k / 4 for k in rng.permutation(range(1, 2 * n + 1))[:n].tolist()]
    if kind == "tuples":
        return [("t", int(k)) for k in rng.permutation(n)]
    if kind == "huge":
        return [2**70 + int(k) for k in rng.permutation(n)]
    order = rng.permutation(len(MIXED))[:n].tolist()
    return [*(MIXED[k] for k in order), *(f"m{k}" for k in range(n - len(MIXED)))]


#: Ranges from which weights are drawn; None for unweighted graphs.
WEIGHTS = ("small", None, "signed", "binary", "fractions", "wide", "extreme", "infinite")


def weights(draw: Draw, count: int, kind: str | None) -> list[Any] | None:
    """So many weights of one kind."""
    rng = draw.rng()
    if kind is None:
        return None
    if kind == "small":
        return [int(x) for x in rng.integers(0, 20, count)]
    if kind == "signed":
        return [int(x) for x in rng.integers(-9, 30, count)]
    if kind == "binary":
        return [int(x) / 8 for x in rng.integers(0, 64, count)]
    if kind == "fractions":
        return [float(x) for x in rng.random(count) * 10]
    if kind == "wide":
        return [int(x) for x in rng.integers(0, 10**12, count)]
    ends = (2**63 - 1, -(2**63), 2**53 + 1, 0, -1) if kind == "extreme" else (math.inf, 0.0, 1e308, 5e-324, 0.1)
    return [ends[k] for k in rng.integers(0, len(ends), count)]


@dataclass(frozen=True)
class Listed:
    """Edges by position, with the vertices' names."""

    names: list[Any]
    rows: list[int]
    cols: list[int]
    weights: list[Any] | None
    directed: bool

    def graph(self, name: str = "") -> Graph:
        return Graph.from_arrays(
            self.rows_array(self.rows), self.rows_array(self.cols), self.weights, n=len(self.names), labels=self.names,
            directed=self.directed, name=name,
        )  # fmt: skip

    @staticmethod
    def rows_array(positions: Sequence[int]) -> Any:
        import numpy as np

        return np.array(positions, dtype=np.int64)

    def arcs(self) -> list[tuple[int, int, Any]]:
        """Every edge in each direction it leads, a loop once; unweighted ones weigh 1."""
        given = [1] * len(self.rows) if self.weights is None else self.weights
        there = list(zip(self.rows, self.cols, given, strict=True))
        return there if self.directed else there + [(v, u, w) for u, v, w in there if u != v]


def listed(draw: Draw, *, most: int = 9, kinds: Sequence[str] = KINDS, of: Sequence[str | None] = WEIGHTS) -> Listed:
    """A small graph: isolated vertices, loops and edges that repeat included."""
    n = draw.between(0, most)
    m = draw.between(0, 3 * most) if n else 0
    names = labels(draw, n, draw.pick(kinds))
    kind = draw.pick(of)
    directed = not draw.chance(25)
    rng = draw.rng()
    rows, cols = rng.integers(0, max(n, 1), (2, m)).tolist()
    return Listed(names, rows, cols, weights(draw, m, kind), directed)
