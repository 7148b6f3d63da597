"""Engine: some rows and columns of another engine's table, within a limit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.records import Semiring
from semiring.host.devices import host, module
from semiring.host.errors import AlgebraError, DomainError, DTypeError
from semiring.host.spelling import came
from semiring.host.types import Array, Blocks, Scalar

from ...io.graph import Graph
from ...io.labels import Labels
from ..question import Question
from .base import BLOCK, Changed, Engine, placed
from .dense import Dense

_INT64 = np.iinfo(np.int64)


class Part(Engine):
    """Rows `i` and columns `j` (int64; None: all) of a table; distances worse than the limit are no path."""

    def __init__(self, engine: Engine, i: np.ndarray, j: np.ndarray | None, limit: Limit | None = None) -> None:
        whole = j is None
        j = np.arange(engine.shape[1]) if j is None else j
        self.engine, self.i, self.j, self._limit = engine, i, j, limit
        self.limit = None if limit is None else limit.value
        self.shape, self.dtype, self.device = (len(i), len(j)), engine.dtype, engine.device
        # Of n below n only 0 … n − 1 ascend.
        self._every = whole or (len(j) == engine.shape[1] and bool((j[1:] > j[:-1]).all()))

    @property
    def all_pairs(self) -> Engine:
        return self.engine.all_pairs

    def refuse_unbounded(self, where: str, labels: Labels, pair: tuple[int, int] | None = None) -> None:
        self.engine.refuse_unbounded(where, labels, pair)

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Blocks:
        for here, D in placed(self.engine.rows(self.i[wanted], block)):
            yield wanted[here], self._within(D if self._every else D[:, module(D).asarray(self.j)])

    def column(self, j: int) -> np.ndarray:
        return self._within(self.engine.column(int(self.j[j]))[self.i])

    def entry(self, i: int, j: int) -> Scalar:
        return self._within(self.engine.entry(int(self.i[i]), int(self.j[j])))

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self._within(self.engine.entries(self.i[i], self.j[j]))

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self._within(self.engine.block(self.i[i], self.j[j]))

    def panels(self, *, columns: bool = False) -> Blocks:
        """Panels of the whole table if a quarter of its lines is wanted, each read once; else line by line."""
        lines, others = (self.j, self.i) if columns else (self.i, self.j)
        place = np.full(self.engine.shape[columns], -1)
        place[lines] = np.arange(len(lines))
        if 4 * len(lines) < len(place) or np.count_nonzero(place >= 0) < len(lines):
            yield from super().panels(columns=columns)
            return
        for positions, panel in self.engine.panels(columns=columns):
            which, xp = np.flatnonzero(place[positions] >= 0), module(panel)
            if len(which):
                part = panel.take(xp.asarray(others), axis=0).take(xp.asarray(which), axis=1)
                yield place[positions[which]], self._within(part)

    def _all(self) -> Array:
        """All entries; for all columns on the host, rows are copied, except a single block that has them all."""
        if self.device != "cpu" or not self._every:
            return self._within(self.engine.part(self.i, self.j))
        out = None
        for here, D in placed(self.rows(np.arange(len(self.i)), 4 * BLOCK)):
            rows = host(D)
            alone = rows.base is None or rows.base.size == rows.size
            if len(rows) == len(self.i) and alone and self.engine.repeats:
                return rows
            out = np.empty(self.shape, self.dtype) if out is None else out
            out[here] = rows
        return np.empty(self.shape, self.dtype) if out is None else out

    def nearest(self, wanted: np.ndarray, *, towards: bool) -> tuple[np.ndarray, np.ndarray] | None:
        i, j = (self.j, self.i) if towards else (self.i, self.j)
        found = None if self._limit else self.engine.nearest(i[wanted], towards=towards)
        return None if found is None else (found[0][j], found[1][j])

    def changed(self, graph: Graph, tails: np.ndarray, heads: np.ndarray, weights: np.ndarray) -> Changed | None:
        found = self.engine.changed(graph, tails, heads, weights)
        return None if found is None else (Part(found[0], self.i, self.j, self._limit), *found[1:])

    def renewed(self, graph: Graph, before: Graph, semiring: Semiring) -> Part | None:
        found = self.engine.renewed(graph, before, semiring)
        return None if found is None else Part(found, self.i, self.j, self._limit)

    def _within(self, D: Array) -> Array:
        return D if self._limit is None else self._limit(D)


class Found(Dense):
    """A part computed eagerly, as its engine repeats a search for every request."""

    name, stored = "", False

    def __init__(self, part: Part) -> None:
        super().__init__(part.table())
        self.engine, self.limit = part.engine, part.limit

    @property
    def all_pairs(self) -> Engine:
        return self.engine.all_pairs

    refuse_unbounded = Part.refuse_unbounded


def part_of(question: Question, engine: Engine) -> Part | Found:
    """The requested rows and columns; computed now if the engine would repeat searches."""
    wants, i = question.wants, question.wants.sources
    if i is None:
        i = np.arange(question.n if wants.ends is None else len(wants.ends))
    j = wants.ends if wants.targets is None else wants.targets
    part = Part(engine, i, j, None if wants.limit is None else Limit(wants.limit, question.semiring, engine.dtype))
    return Found(part) if engine.repeats and wants.partial and not wants.table else part


class Limit:
    """Replaces distances worse than a limit (greater; less where ⊕ keeps the greatest) by the semiring's zero.

    Raises AlgebraError if ⊕ is not selective, DomainError for NaN, DTypeError for a non-number.
    """

    def __init__(self, limit: Scalar, semiring: Semiring, dtype: np.dtype) -> None:
        if semiring.add.selects is None:
            raise AlgebraError(
                f"limit: ⊕ must select the better of two walks, got {semiring.add.name} of {semiring.name}. "
                "Leave the limit out."
            )
        self.value, self.least = as_limit(limit), semiring.add.selects == "least"
        self.zero = dtypes.zero(semiring, dtype)
        self._bound: Any = self.value
        record = dtypes.SCALARS[dtype]
        if record.integer:  # exact comparison; the ends of the dtype are infinities
            if math.isfinite(self.value):
                self._bound = math.floor(limit) if self.least else math.ceil(limit)
            self._bound = int(min(max(self._bound, record.low), record.high))
        elif record.floating:  # compared in the dtype; a limit beyond it is none
            with np.errstate(over="ignore"):
                self._bound = dtype.type(self.value)

    def __call__(self, D: Array) -> Array:
        """D where within the limit, else zero; copied only if something changes."""
        if not D.ndim:
            return self(D.reshape(1))[0]
        beyond = (D > self._bound if self.least else D < self._bound) & (D != self.zero)
        if not bool(beyond.any()):
            return D
        D = D.copy()
        D[beyond] = self.zero
        return D


def as_limit(limit: Scalar) -> float | int:
    """A limit as int64 or float; DTypeError for a non-number, DomainError for NaN."""
    if isinstance(limit, (int, np.integer)) and _INT64.min <= limit <= _INT64.max:
        return int(limit)
    try:
        value = math.nan if isinstance(limit, (str, bytes)) else float(limit)
    except OverflowError:
        value = math.inf if limit > 0 else -math.inf
    except (TypeError, ValueError):
        value = math.nan
    if value == value:
        return value
    if isinstance(limit, (float, np.floating)):
        raise DomainError("limit: it must be a number, got NaN. Leave the limit out.")
    raise DTypeError(f"limit: it must be a number, got {came(limit)}. Leave the limit out for none.")
