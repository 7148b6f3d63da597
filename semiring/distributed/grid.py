"""Which process holds which rows and columns: a grid of processes, and a matrix laid out over it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from ..errors import ShapeError
from ..spelling import came


@dataclass(frozen=True)
class Grid:
    """Processes in `rows` × `columns`; rank r stands in process row r // columns and process column r % columns.

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
        """The squarest grid of so many processes, wide rather than high: a pivot's row panel is the dearer one."""
        if ranks < 1:
            raise ShapeError(f"grid: at least one process is required, got {ranks}.")
        rows = max(r for r in range(1, ranks + 1) if ranks % r == 0 and r * r <= ranks)
        return cls(rows, ranks // rows)

    @classmethod
    def parse(cls, text: str) -> Grid:
        """A grid from a text such as "2x4".

        Raises
        ------
        ValueError
            If it is none.
        """
        parts = text.lower().replace("×", "x").split("x")
        if len(parts) != 2 or not all(part.strip().isdecimal() for part in parts):
            raise ValueError(f"grid: ROWSxCOLUMNS is required, such as 2x4, got {came(text)}.")
        return cls(int(parts[0]), int(parts[1]))

    @property
    def size(self) -> int:
        """How many processes there are."""
        return self.rows * self.columns

    def place(self, rank: int) -> tuple[int, int]:
        """A rank's process row and process column."""
        return divmod(rank, self.columns)

    def rank(self, row: int, column: int) -> int:
        """The rank in a process row and a process column."""
        return row * self.columns + column

    def __str__(self) -> str:
        return f"{self.rows} × {self.columns}"


@dataclass(frozen=True)
class Layout:
    """An n × n matrix in contiguous parts over a grid, cut where pivot blocks of `block` end, as evenly as they allow.

    Where `unit` is given, parts are cut at its multiples as well: tiles of so many rows belong to one process.

    Every process updates all of its part in every round, so contiguous parts are as well balanced as cyclic ones.

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
        """The rows that process row p holds."""
        return slice(*self._bounds[0][p : p + 2])

    def columns(self, q: int) -> slice:
        """The columns that process column q holds."""
        return slice(*self._bounds[1][q : q + 2])

    def part(self, rank: int) -> tuple[slice, slice]:
        """The rows and the columns that a rank holds."""
        p, q = self.grid.place(rank)
        return self.rows(p), self.columns(q)

    def shape(self, rank: int) -> tuple[int, int]:
        """How many rows and columns a rank holds."""
        rows, columns = self.part(rank)
        return rows.stop - rows.start, columns.stop - columns.start

    def row_of(self, i: int) -> int:
        """The process row that holds row i."""
        return next(p for p in range(self.grid.rows) if i < self._bounds[0][p + 1])

    def column_of(self, j: int) -> int:
        """The process column that holds column j."""
        return next(q for q in range(self.grid.columns) if j < self._bounds[1][q + 1])

    @property
    def largest(self) -> tuple[int, int]:
        """The most rows and the most columns that a process holds."""
        down, across = self._bounds
        return (
            max(b - a for a, b in pairwise(down)),
            max(b - a for a, b in pairwise(across)),
        )
