"""What each engine would take for a question: pairs, bytes and seconds, counted before any number is touched.

Counts are exact; seconds are counts over rates measured on one core of a server with AVX-512 (docs/benchmarks.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from semiring.memory import shown

if TYPE_CHECKING:
    from semiring.sparse import Cost

#: Pairs a second of a batch of rows, by the size of a number in bytes, on one thread.
_SWEEP = {1: 40e9, 2: 40e9, 4: 24e9, 8: 12e9}
#: Pairs a second of one row alone, and seconds to write one of its entries.
_ALONE, _ENTRY = 1.0e9, 3e-9
#: Pairs a second of the numeric part: small fronts, and how much faster large ones are at most.
_FRONTS, _LARGE = 4e9, 5.0
#: Seconds to find an order and the structure, a vertex and an arc; what a supernode costs beside its pairs, a vertex.
_VERTEX, _ARC, _SUPERNODE = 0.2e-6, 0.25e-6, 0.15e-6
#: Seconds that any elimination takes.
_START = 1e-3
#: Seconds to bring a number of four bytes from a panel into a row.
_TRANSPOSED = 0.45e-9
#: Share of the longest climb that sources take on average.
_CLIMB = 0.25
#: Sources whose rows are swept together.
_BATCH = 16
#: SciPy's Dijkstra, seconds a vertex and an arc of each search; its breadth-first search; Bellman and Ford's round.
_SETTLE, _RELAX, _VISIT, _ROUND = 80e-9, 20e-9, 8e-9, 2e-9
#: Our searches from a batch of vertices: seconds to build, an arc; a level, a vertex or arc; to write, a byte.
_ADJACENT, _LEVEL, _BYTE = 60e-9, 2.5e-9, 0.45e-9


@dataclass(frozen=True)
class Estimate:
    """What an engine would take.

    Attributes
    ----------
    engine : {"dense", "elimination", "scipy", "hops"}
    pairs : int
        How often one ⊕ with one ⊗ is done for all that was asked; of searches, the arcs that are looked at.
    bytes : int
        The most that is held at a time beside the graph; of elimination without the rows, which are streamed.
    seconds : float
        Until all that was asked is there.
    start : float
        Until the first distance is there.
    row : float
        For one more row.
    """

    engine: str
    pairs: int
    bytes: int
    seconds: float
    start: float
    row: float

    def __str__(self) -> str:
        after = f", the first distance after {in_units(self.start)}" if self.start < 0.9 * self.seconds else ""
        return f"{self.engine}: {in_units(self.seconds)}{after}; {self.pairs:.3g} pairs, {shown(self.bytes)}"


def counting(n: int, arcs: int) -> float:
    """Seconds to find an elimination order and its structure."""
    return _START + _VERTEX * n + _ARC * arcs


def elimination(
    cost: Cost, n: int, arcs: int, lines: int, itemsize: int, *, threads: int = 1, vector: float = 1.0
) -> Estimate:
    """Elimination, and `lines` rows of all n, or columns.

    Parameters
    ----------
    vector : float
        The rate of the semiring's steps, relative to those with vector instructions of their own.
    """
    large = min(_LARGE, max(1.0, cost.elimination / max(n, 1) / 1e4))
    numbers = cost.elimination / (_FRONTS * large * vector * 4 / max(itemsize, 4)) / (1 + 0.5 * (threads - 1))
    start = counting(n, arcs) + _SUPERNODE * n + numbers
    row = cost.sweep + _CLIMB * cost.climb
    alone = row / (_ALONE * max(vector, 0.2)) + _ENTRY * n
    lanes = -(-lines // _BATCH) * _BATCH
    batched = lanes * (row / (_SWEEP.get(itemsize, 12e9) * vector) + n * _TRANSPOSED * itemsize / 4) / threads
    return Estimate(
        "elimination",
        cost.elimination + int(lines * row),
        cost.bytes(itemsize),
        start + min(lines * alone, batched),
        start,
        alone,
    )


def dense(pairs: int, size: int, seconds: float) -> Estimate:
    """The closure of the matrix."""
    return Estimate("dense", pairs, size, seconds, seconds, 0.0)


def search(n: int, arcs: int, method: str) -> float:
    """Seconds of one search of SciPy's through the whole graph."""
    return 1e-6 + ((n + arcs) * _VISIT if method == "breadth-first" else n * _SETTLE + arcs * _RELAX)


def searches(n: int, arcs: int, lines: int, columns: int, itemsize: int, method: str) -> Estimate:
    """SciPy's searches from `lines` vertices, of each of which so many columns are kept."""
    row = search(n, arcs, method)
    before = arcs * 60e-9 + 1e-4
    if method == "johnson":
        before += n * arcs * _ROUND
    held = lines * columns * itemsize + min(lines, 64) * n * 8 + 40 * arcs
    return Estimate("scipy", lines * arcs, held, before + lines * row, before + row, row)


def hops(n: int, arcs: int, lines: int, itemsize: int, levels: int, batch: int, threads: int) -> Estimate:
    """Breadth-first searches from `lines` vertices, `batch` at a time, on a graph of about twice so many levels."""
    batches = -(-lines // batch)
    # A level of one search is a level of few others where there are many: in a batch each has its own.
    row = (n + arcs) * 2 * _LEVEL + n * itemsize * _BYTE
    each = (n + arcs) * min(2 * levels, batch) * _LEVEL + n * batch * itemsize * _BYTE
    before = arcs * _ADJACENT + 1e-4
    held = 24 * arcs + min(threads, batches) * n * batch * (2 * itemsize + 1)
    seconds = batches * each / max(1, min(threads, batches))
    return Estimate("hops", arcs * min(2 * levels, batch) * batches, held, before + seconds, before + row, row)


def in_units(seconds: float) -> str:
    """A time in the unit that suits it."""
    if seconds >= 120:
        minutes = seconds / 60
        return f"{minutes:.3g} minutes" if minutes < 120 else f"{minutes / 60:.3g} hours"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
