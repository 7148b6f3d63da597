"""Process grid, and the layout of a matrix over it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from ..host.errors import ShapeError
from ..host.spelling import came


@dataclass(frozen=True)
class Grid:
    """Process grid of `rows` × `columns`; rank r is in process row r // columns and process column r % columns.

    Examples
    --------
    >>> Grid.of(8), Grid.parse("4x1")
    (Grid(rows=2, columns=4), Grid(rows=4, columns=1))
    >>> Grid(2, 4).place(5)
    (1, 1)
    """

    rows: int
    columns: int

    def __post_init__(self) -> None:
        if self.rows < 1 or self.columns < 1:
            raise ShapeError(f"grid: rows and columns must be at least 1, got {self}.")

    @classmethod
    def of(cls, ranks: int) -> Grid:
        """Squarest grid of `ranks` processes, wide rather than high, as row panels cost more."""
        if not isinstance(ranks, int) or ranks < 1:
            raise ShapeError(f"grid: at least one process is required, got {came(ranks)}.")
        rows = max(r for r in range(1, ranks + 1) if ranks % r == 0 and r * r <= ranks)
        return cls(rows, ranks // rows)

    @classmethod
    def parse(cls, text: str) -> Grid:
        """Grid from text such as "2x4"; ValueError if malformed."""
        parts = text.lower().replace("×", "x").split("x")
        if len(parts) != 2 or not all(part.strip().isdecimal() for part in parts):
            raise ValueError(f"grid: ROWSxCOLUMNS is required, such as 2x4, got {came(text)}.")
        return cls(int(parts[0]), int(parts[1]))

    @property
    def size(self) -> int:
        return self.rows * self.columns

    def place(self, rank: int) -> tuple[int, int]:
        """(process row, process column) of a rank."""
        return divmod(rank, self.columns)

    def __str__(self) -> str:
        return f"{self.rows} × {self.columns}"


@dataclass(frozen=True)
class Layout:
    """n × n matrix in contiguous parts over a grid, cut evenly at multiples of `block` and of `unit` (rows of a tile).

    Every process updates all of its part in every round, so contiguous parts balance as well as cyclic ones.

    Examples
    --------
    >>> layout = Layout(10, 2, Grid(1, 3))
    >>> [layout.columns(q) for q in range(3)]
    [slice(0, 4, None), slice(4, 8, None), slice(8, 10, None)]
    >>> layout.column_of(5)
    1
    """

    n: int
    block: int
    grid: Grid
    unit: int = 1

    @cached_property
    def _bounds(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        unit = math.lcm(self.block, self.unit)
        blocks = -(-self.n // unit)

        def cut(parts: int) -> tuple[int, ...]:
            return tuple(min(self.n, unit * -(-blocks * i // parts)) for i in range(parts + 1))

        return cut(self.grid.rows), cut(self.grid.columns)

    def rows(self, p: int) -> slice:
        return slice(*self._bounds[0][p : p + 2])

    def columns(self, q: int) -> slice:
        return slice(*self._bounds[1][q : q + 2])

    def part(self, rank: int) -> tuple[slice, slice]:
        """Rows and columns of a rank."""
        p, q = self.grid.place(rank)
        return self.rows(p), self.columns(q)

    def shape(self, rank: int) -> tuple[int, int]:
        rows, columns = self.part(rank)
        return rows.stop - rows.start, columns.stop - columns.start

    def row_of(self, i: int) -> int:
        return next(p for p in range(self.grid.rows) if i < self._bounds[0][p + 1])

    def column_of(self, j: int) -> int:
        return next(q for q in range(self.grid.columns) if j < self._bounds[1][q + 1])

    @property
    def largest(self) -> tuple[int, int]:
        """Most rows and most columns of a process."""
        down, across = (max(b - a for a, b in pairwise(edges)) for edges in self._bounds)
        return down, across
