"""Engine: a saved part of a table; the rest is recomputed on demand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from .base import Engine, forwarded


class Saved(Engine):
    """A saved part of a table; `recompute(targets)` opens an engine of columns, or (None) of everything."""

    name = "dense"

    def __init__(self, engine: Engine, limit: float | None, recompute: Callable[[np.ndarray | None], Engine]) -> None:
        self.engine, self.limit, self._recompute = engine, limit, recompute
        self.shape, self.dtype = engine.shape, engine.dtype
        self.in_memory, self.stored = engine.in_memory, engine.stored

    @cached_property
    def all_pairs(self) -> Engine:
        """The complete table, recomputed."""
        return self._recompute(None)

    def to(self, vertex: int) -> np.ndarray:
        """A column of the complete table, recomputed alone unless the whole has been."""
        recomputed = "all_pairs" in vars(self)
        return self.all_pairs.column(vertex) if recomputed else self._recompute(np.array([vertex])).column(0)

    rows, column, entry, entries, block, panels, table = map(
        forwarded, ("rows", "column", "entry", "entries", "block", "panels", "table")
    )
