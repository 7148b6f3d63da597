"""Simple paths from the best on: a semiring's arcs as costs of which the least is best, and searches among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..algebra import dtypes
from ..algebra.catalog import min_plus
from ..algebra.records import Semiring
from ..algebra.selection import require_selection
from ..host.errors import AlgebraError, DomainError
from ..host.signals import load
from ..host.types import Array, Scalar
from ..kernels.cpu.processors import default_threads

#: No path, as a sum of integers; lengths are compared up to half of that, weights are at most a quarter.
MOST = 1 << 62
#: Paths that are looked for before the first of them is taken.
_AHEAD = 64
#: Some paths: where each starts, their vertices, and the arc that leaves each vertex.
Batch = tuple[np.ndarray, np.ndarray, np.ndarray]


class Ranking:
    """The arcs of a graph of n vertices, by head, from which paths are searched for.

    ⊕ selects; ⊗ adds, multiplies numbers that are not negative, or selects the worse of two (else AlgebraError). arcs
    (tails, heads, weights) come in any order; of parallel ones the best counts. Not `directed`: arcs both ways are one
    edge. DomainError for integers beyond ±2⁶⁰, or a factor of 0.
    """

    def __init__(
        self, semiring: Semiring, arcs: tuple[np.ndarray, ...], n: int, *, where: str, directed: bool = True
    ) -> None:
        require_worsening(semiring, where=where)
        self.semiring, self.where, self._directed = semiring, where, directed
        self.sign = 1 if semiring.add.selects == "least" else -1
        self._product = not semiring.lengths and semiring.mul.ufunc is np.multiply
        kept = (arcs[2] != dtypes.zero(semiring, arcs[2].dtype)) & (arcs[0] != arcs[1])
        tails, heads, weights = arcs if kept.all() else (part[kept] for part in arcs)
        self._widest = not semiring.lengths and not self._product
        self._exact = not dtypes.SCALARS[weights.dtype].floating and not self._product
        self._none: Any = (np.iinfo(np.int64).max if self._widest else MOST) if self._exact else math.inf
        self._most = MOST // 2 if self._exact and not self._widest else self._none
        costs = self._costs(weights)
        if self._most == MOST // 2 and len(costs) and int(np.abs(costs).max()) > MOST // 4:
            raise DomainError(
                f"{where}: integer weights must be within ±2⁶⁰, so that no sum of two wraps, got "
                f"{int(weights[np.abs(costs).argmax()])}. Say dtype='float64'."
            )
        if self._product and bool(np.isinf(costs).any()):
            raise DomainError(f"{where}: factors must be greater than 0 and finite, got 0 or ∞. Leave such edges out.")
        arranged = load("semiring.kernels.cpu.csr.backend").arranged
        tails, heads = (np.ascontiguousarray(ends, np.int32) for ends in (tails, heads))
        _, order = arranged(tails, n)
        self.begin, by_head = arranged(heads[order], n)
        order = order[by_head]
        tails, heads = tails[order], heads[order]
        again = np.append(False, (tails[1:] == tails[:-1]) & (heads[1:] == heads[:-1]))
        if again.any():
            parallel = again | np.append(again[1:], False)
            among = order[parallel]
            order[parallel] = among[np.lexsort((costs[among], tails[parallel], heads[parallel]))]  # the best first
            tails, heads, order = tails[~again], heads[~again], order[~again]
            self.begin = np.append(0, np.bincount(heads, minlength=n).cumsum())
        self.tails, self.costs, weights = tails, costs[order], weights[order]
        self.weights = weights.astype(np.int64) if dtypes.SCALARS[weights.dtype].integer else weights

    @property
    def rounds(self) -> bool:
        """Whether the length of a path is rounded."""
        return not (self._exact or self._widest)

    def _costs(self, values: np.ndarray) -> np.ndarray:
        """Weights or distances as costs."""
        zero = dtypes.zero(self.semiring, values.dtype)
        with np.errstate(divide="ignore"):
            costs = np.log(values.astype(float)) if self._product else values.astype(np.int64 if self._exact else float)
        if self.sign < 0:
            np.negative(costs, out=costs)
        costs[values == zero] = self._none
        return costs

    def search(self, row: np.ndarray, source: int, target: int, limit: Scalar = None) -> Array:
        """A search for paths from source to target, whose `take` gives the next; `row` has distances from the source.

        Where ⊗ rounds, paths beyond a limit are cut off only if they are so by more than rounding.
        """
        arcs = self._arcs(self.begin, self.tails, self.costs, row)
        where = source, target, self._bound(limit, arcs.d[target])
        return load("semiring.kernels.cpu.routes.ranked").Ranked(arcs, *where, self._widest)

    def apart(
        self, row: np.ndarray, column: np.ndarray, source: int, target: int, limit: Scalar, overlap: float
    ) -> Array:
        """`search` for paths that share at most a part; `column` has the distances to the target.

        AlgebraError or DomainError if there is no length of which paths share a part.
        """
        if self._widest:
            raise AlgebraError(
                f"{self.where}: overlap must be a share of a sum or product, got {self.semiring.mul.name} of "
                f"{self.semiring.name}. Leave it out."
            )
        if len(self.costs) and self.costs.min() < 0:
            raise DomainError(
                f"{self.where}: with overlap, no edge may make a path better, got "
                f"{self.weights[self.costs.argmin()]:g}. Leave overlap out, or such edges."
            )
        begin, heads, numbers, twins = self._by_tail
        forth = self._arcs(self.begin, self.tails, self.costs, row)
        back = self._arcs(begin, heads, self.costs[numbers], column)
        where = source, target, self._bound(limit, forth.d[target]), overlap
        return load("semiring.kernels.cpu.routes.apart").Apart(forth, back, numbers, twins, *where)

    @cached_property
    def _by_tail(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
        """Arcs by tail: where those of each begin, their heads, which they are; undirected, the arcs back."""
        n = len(self.begin) - 1
        heads = np.repeat(np.arange(n, dtype=np.int32), np.diff(self.begin))
        numbers = np.argsort(self.tails, kind="stable")
        # By tail, arcs of an undirected graph are in the order of the arcs back.
        begin = np.append(0, np.bincount(self.tails, minlength=n).cumsum())
        return begin, heads[numbers], numbers, None if self._directed else numbers

    def _arcs(self, begin: np.ndarray, ends: np.ndarray, costs: np.ndarray, line: np.ndarray) -> Array:
        """Arcs with distances, of integers none further than just beyond the greatest that is compared.

        DomainError where negative edges may lead back from further on.
        """
        d = self._costs(line)
        if self._most == MOST // 2 and line.dtype.itemsize == 8:
            beyond = ((d > self._most) | (d < -self._most)) & (d != self._none)
            if bool(beyond.any()) and self.costs.min() < 0:
                raise DomainError(
                    f"{self.where}: where edges make paths better, distances must be within ±2⁶¹ to be compared, got "
                    f"{int(line[beyond][0])}. Say dtype='float64'."
                )
            d[beyond] = self._most + 1
        arcs = load("semiring.kernels.cpu.routes.ranked").Arcs
        return arcs(begin, ends, costs, d, np.zeros(len(d), np.int64), d.dtype.type(self._none))

    def _bound(self, limit: Scalar, best: Array) -> Array:
        """Greatest cost within a limit: of floats with room for rounding, relative to `best`; at most `self._most`."""
        if limit is None:
            return self._most
        if self._product:
            limit = math.log(limit) if limit > 0 else -math.inf
        bound = self.sign * limit
        if not self._exact:
            return bound + (1e-6 * (abs(bound) + abs(float(best))) if math.isfinite(bound) else 0)
        return math.floor(max(min(bound, self._most), -MOST))

    def lengths(self, starts: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """What paths weigh, ⊗ from the source on; of integers int64."""
        mul = self.semiring.mul
        selects = np.maximum if mul.selects == "greatest" else np.minimum
        fold: Any = selects if self._widest else mul.ufunc
        one = dtypes.one(self.semiring, self.weights.dtype)
        out = np.full(len(starts) - 1, one, self.weights.dtype)
        for k, (start, stop) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
            if stop - start > 1:
                out[k] = fold.accumulate(self.weights[steps[start : stop - 1]])[-1]
        return out

    def refuse_cut(self, search: Any, limit: Scalar = None) -> None:
        """DomainError for a search at its end that left out paths too long for integers, not beyond a limit."""
        if search.ended and search.cut and self._bound(limit, 0) == self._most:
            raise DomainError(
                f"{self.where}: lengths must be at most 2⁶¹ to be compared, got longer paths after those given. Ask "
                "for fewer, give limit=, or say dtype='float64'."
            )


def require_worsening(semiring: Semiring, *, where: str) -> None:
    """AlgebraError for a semiring over which a path that goes on may be better."""
    require_selection(semiring, where=where)
    worse = {"least": "greatest", "greatest": "least"}[str(semiring.add.selects)]
    product = semiring.mul.ufunc is np.multiply and semiring.domain[0] >= 0
    if not (semiring.lengths or product or semiring.mul.selects == worse):
        raise AlgebraError(
            f"{where}: ⊗ must add, multiply numbers that are not negative, or select the worse of two, got "
            f"{semiring.mul.name} of {semiring.name}. An Op of your own that does so says it: ufunc=np.add, or "
            f'selects="{worse}"; `path` finds one best path of any.'
        )


def ties(tight: tuple[np.ndarray, np.ndarray], n: int, source: int, target: int, where: str) -> Iterator[np.ndarray]:
    """All paths from source to target along tight arcs, (tails, heads) without a cycle, in the order of `Ranking`."""
    free = np.zeros(max(n, len(tight[0])), np.int64)
    ranking = Ranking(min_plus, (*tight, free[: len(tight[0])]), n, where=where)
    for starts, vertices, _ in in_batches(ranking.search(free[:n], source, target)):
        yield from np.split(vertices, starts[1:-1]) if len(starts) > 1 else ()


def in_batches(search: Any, k: float = math.inf, heard: Callable[[int], None] = lambda done: None) -> Iterator[Batch]:
    """The next paths of a search, k or all: one, then two, and so on; `heard(done)` in between."""
    done, ahead = 0, 1
    while done < k and not search.ended:
        wanted = min(ahead, k - done)
        while not search.advance(wanted):
            heard(done)
        batch = search.take()
        done += len(batch[0]) - 1
        heard(done)
        yield batch
        ahead = min(2 * ahead, _AHEAD)


def take_all(
    searches: Sequence[Any], count: int, threads: int | None, heard: Callable[[], None] = lambda: None
) -> None:
    """Have every search find so many paths, on several threads; `heard()` between calls, so that Ctrl-C is."""
    run, left, more = load("semiring.kernels.cpu.pool").run, list(searches), []

    def advance(_: int, search: Array) -> None:
        if not search.advance(count):
            more.append(search)

    while left:
        run(advance, [(search,) for search in left], threads or default_threads())
        left[:], more[:] = more, []
        heard()
