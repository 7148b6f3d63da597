"""The nearest of several sources for every vertex, without a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.records import Semiring
from semiring.host.devices import host
from semiring.host.errors import AlgebraError
from semiring.host.types import Frame, Label

from ...io.display import frames, notebook
from ...io.labels import Labels
from ...road.engines import Engine


@dataclass(frozen=True, eq=False, repr=False)
class Nearest:
    """The nearest of several sources for every vertex: `source, distance = r.nearest(…)`, or by name.

    For each of `vertices` the label of the nearest `source`, or None, and its `distance`, inf for no path; `among` is
    the number of sources. `frames` ("pandas" or "polars") is the library of `to_frame`, by default the installed one.

    Examples
    --------
    >>> from apsp import shortest_paths
    >>> shortest_paths([("A", "B", 4), ("B", "C", 7), ("D", "D", 0)]).nearest(["A", "B"])
    <Nearest: 4 vertices, 3 of them reached, best of 2 sources>
    """

    vertices: Labels
    source: list[Any]
    distance: np.ndarray
    among: int
    frames: str | None = field(default=None)

    def __repr__(self) -> str:
        reached = len(self.source) - self.source.count(None)
        return f"<Nearest: {len(self.source)} vertices, {reached} of them reached, best of {self.among} sources>"

    def __iter__(self) -> Iterator[Label]:
        return iter((self.source, self.distance))

    def _repr_html_(self) -> str:
        shown: Sequence[Any] = self.vertices[: notebook.SHOWN]
        rows = list(zip(shown, self.source, self.distance.tolist(), strict=False))
        note = f"The first {len(rows)} of {len(self.source)} vertices." if len(rows) < len(self.source) else ""
        return notebook.table(repr(self), ["vertex", "source", "distance"], rows, note)

    def to_frame(self) -> Frame:
        """A pandas or Polars table `vertex`, `source`, `distance`; ImportError if neither is installed.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("C", "C", 0)]).nearest(["A"]).to_frame()  # doctest: +SKIP
          vertex source  distance
        0      A      A       0.0
        1      B      A       4.0
        2      C   None       inf
        """
        named = {"vertex": list(self.vertices), "source": self.source, "distance": self.distance}
        return frames.columns(named, self.frames)


def nearest(engine: Engine, s: Semiring, wanted: np.ndarray, *, towards: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(which, best): per column (`towards`: row) the first best of the `wanted`, −1 for none, and its entry."""
    if s.add.selects is None:
        raise AlgebraError(f"nearest: ⊕ must select the better of two walks, got {s.add.name} of {s.name}.")
    found = engine.nearest(wanted, towards=towards)
    if found is not None:
        return found
    size = engine.shape[0 if towards else 1]
    zero = dtypes.zero(s, engine.dtype)
    best, which = np.full(size, zero, engine.dtype), np.full(size, -1, np.int64)
    better = np.less if s.add.selects == "least" else np.greater
    offset = 0
    lines = (engine.column(j)[None] for j in wanted.tolist()) if towards else (host(D) for _, D in engine.rows(wanted))
    for block in lines:
        # The first best entry of a column; replaced by later blocks only if strictly better.
        chosen = block.argmin(axis=0) if s.add.selects == "least" else block.argmax(axis=0)
        value = np.take_along_axis(block, chosen[None], axis=0)[0]
        improves = better(value, best)
        best[improves], which[improves] = value[improves], offset + chosen[improves]
        offset += len(block)
    return which, best
