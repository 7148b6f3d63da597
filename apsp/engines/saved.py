"""Engine: a saved part of a table; the rest is recomputed on demand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from semiring.types import Array, Blocks

from .base import Engine


class Saved(Engine):
    """A saved part of `vertices`² entries; `recompute(targets)` opens an engine of columns, or (None) of everything."""

    name = "dense"

    def __init__(
        self, engine: Engine, vertices: int, limit: float | None, recompute: Callable[[np.ndarray | None], Engine]
    ) -> None:
        self.engine, self._vertices, self.limit, self._recompute = engine, vertices, limit, recompute
        self.shape, self.dtype = engine.shape, engine.dtype
        self.in_memory, self.stored = engine.in_memory, engine.stored

    @cached_property
    def all_pairs(self) -> Engine:
        """The complete table, recomputed."""
        return self._recompute(None)

    @property
    def vertices(self) -> int:
        return self._vertices

    def to(self, vertex: int) -> np.ndarray:
        """A column of the complete table, recomputed alone unless the whole has been."""
        recomputed = "all_pairs" in vars(self)
        return self.all_pairs.column(vertex) if recomputed else self._recompute(np.array([vertex])).column(0)

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Blocks:
        return self.engine.rows(wanted, block)

    def column(self, j: int) -> np.ndarray:
        return self.engine.column(j)

    def entry(self, i: int, j: int) -> Any:
        return self.engine.entry(i, j)

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self.engine.entries(i, j)

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self.engine.block(i, j)

    def panels(self, *, columns: bool = False) -> Blocks:
        return self.engine.panels(columns=columns)

    def table(self) -> Array:
        return self.engine.table()
