"""A part of a table that was saved without the rest."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from semiring.types import Array, Blocks

from .base import Engine


class Saved(Engine):
    """The entries of another engine, which are some rows and columns of a table, or those within a limit.

    What routes need of the rest is recomputed on demand.

    Parameters
    ----------
    engine : Engine
        The part.
    vertices : int
        Rows and columns of the complete table.
    limit : float or None
        What is worse is no path in it.
    recompute : callable
        `recompute(targets)`: an engine of the columns at these positions, or with None of the complete table.
    """

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
        """Rows and columns of the complete table."""
        return self._vertices

    def to(self, vertex: int) -> np.ndarray:
        """A column of the complete table, searched for by itself unless that was recomputed."""
        recomputed = "all_pairs" in vars(self)
        return self.all_pairs.column(vertex) if recomputed else self._recompute(np.array([vertex])).column(0)

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Blocks:
        """Blocks of saved rows."""
        return self.engine.rows(wanted, block)

    def column(self, j: int) -> np.ndarray:
        """A saved column."""
        return self.engine.column(j)

    def entry(self, i: int, j: int) -> Any:
        """A saved entry."""
        return self.engine.entry(i, j)

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Saved entries."""
        return self.engine.entries(i, j)

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Saved rows within saved columns."""
        return self.engine.block(i, j)

    def panels(self, *, columns: bool = False) -> Blocks:
        """All saved lines, some at a time."""
        return self.engine.panels(columns=columns)

    def table(self) -> Array:
        """All that was saved."""
        return self.engine.table()
