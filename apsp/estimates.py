"""What each engine would take for a question: pairs, bytes and seconds, counted before any number is touched.

Counts are exact; seconds are counts over rates measured on one core of a server with AVX-512 (docs/benchmarks.md). No
other model of time is anywhere: plans print this one, and choices between engines compare what it says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from semiring.compiling import Missing
from semiring.memory import shown

if TYPE_CHECKING:
    import numpy as np

    from semiring.algebra import Semiring
    from semiring.sparse import Cost

    from .plans import Plan

#: Pairs a second that a closure of a few thousand vertices sustains, by device and dtype: one core, and one H200.
_RATES = {
    "cpu": {"float32": 45e9, "int32": 45e9, "int16": 80e9, "float64": 22e9, "int64": 20e9, "bool": 5e12},
    "cuda": {"float32": 15e12, "int32": 14e12, "int16": 25e12, "float64": 2.7e12, "int64": 2e12, "bool": 3e12},
}
#: What a general step (one without vector instructions of its own) costs relative to those.
_GENERAL = 0.05
#: Seconds that a closure on the CPU takes besides, a byte of the matrix; from so many vertices on threads share it.
_DENSE_BYTE, _SHARED = 0.75e-9, 256
#: Pairs a second of a batch of rows, by the size of a number in bytes, on one thread.
_SWEEP = {1: 40e9, 2: 40e9, 4: 24e9, 8: 12e9}
#: Pairs a second of one row alone, and seconds to write one of its entries.
_ALONE, _ENTRY = 1.0e9, 3e-9
#: Pairs a second of the numeric part in small fronts, up to how many pairs a vertex; larger ones come near dense ones.
_FRONTS, _SMALL, _GROWTH, _LARGE = 18e9, 3e3, 0.2, 2.0
#: Seconds to find an order and the structure, a vertex and an arc; what a supernode costs beside its pairs, a vertex.
_VERTEX, _ARC, _SUPERNODE = 0.06e-6, 0.15e-6, 0.1e-6
#: Seconds that any search for an order takes, and any elimination.
_START = 3e-4
#: Seconds to bring a number of four bytes from a panel into a row.
_TRANSPOSED = 0.45e-9
#: Seconds to find components, an arc; to unite rows of bits, a bit.
_COMPONENT, _UNITED = 45e-9, 4e-11
#: Share of the longest climb that sources take on average.
_CLIMB = 0.5
#: Sources whose rows are swept together.
_BATCH = 16
#: On one GPU: pairs a second of fronts and of sweeps, bytes written a second, seconds of launches of either.
_GPU_FRONTS, _GPU_SWEEP, _GPU_WRITTEN, _LAUNCHES = 1e11, 9e12, 3.3e12, 2e-3
#: There, of searches: words of sources met a second, in bytes, and seconds of a level besides.
_GPU_WORDS, _GPU_LEVEL = 1e12, 1e-5
#: Seconds to find the arcs of a matrix, an entry.
_LISTED = 10e-9
#: SciPy's Dijkstra, seconds: a vertex of the graph, reached or not; one that is reached, and each time that it comes
#: nearer, which of d arcs into it about ln d do; an arc that is looked at.
_CLEAR, _SETTLE, _NEARER, _LOOK = 8e-9, 10e-9, 60e-9, 8e-9
#: Vertices of a graph that a core's own cache holds; a search takes so much longer for each doubling beyond.
_CACHED, _FARTHER = 4096, 0.2
#: SciPy's breadth-first search: a vertex or arc, so much longer for each doubling beyond the cache; and a level.
_VISIT, _VISIT_FARTHER, _LEVEL = 3e-9, 0.4, 2.4e-6
#: Bellman and Ford's round; bringing an arc into SciPy's order.
_ROUND, _SORTED = 2e-9, 80e-9
#: Our searches from a batch of vertices: seconds to build, an arc; a visit, and an arc that leaves as a share of that;
#: so much longer for each doubling beyond the cache, where sources come one by one; to write, a byte.
_ADJACENT, _VISITED, _LEAVING, _ALONE_FARTHER, _BYTE = 60e-9, 5.4e-9, 0.25, 0.9, 0.3e-9
#: Our searches by weight: seconds to begin a batch, a vertex of one, an arc that is relaxed; a vertex that is taken,
#: and for each doubling of the arcs that leave it; what a source takes among many, of that among four, by itemsize.
_BEGIN, _CLEARED, _RELAXED, _TAKEN, _DEGREE, _AMONG = 5e-5, 6e-9, 1.5e-9, 25e-9, 20e-9, {4: 0.38, 8: 0.55}
#: NetworkX's own: a vertex or an arc of one search, roughly, and a triple of Floyd–Warshall. A call by its backend
#: whatever it asks, an arc that is converted, and a pair that is given back.
_NX_SEARCHED, _NX_TRIPLE, _NX_CALL, _NX_CONVERTED, _NX_PAIR = 4e-7, 8e-8, 5e-4, 4e-7, 6e-8
#: Sources that a word holds; on so many levels they come one by one.
_WORD = 64


@dataclass(frozen=True)
class Estimate:
    """What an engine would take.

    Attributes
    ----------
    engine : {"dense", "elimination", "scipy", "hops", "united"}
    pairs : int
        How often one ⊕ with one ⊗ is done for all that was asked; of searches, the arcs that are looked at.
    bytes : int
        The most that is held at a time beside the graph, with what was asked to be made at once, as predecessors; of
        elimination without rows, which are streamed.
    seconds : float
        Until all that was asked is there.
    start : float
        Until the first distance is there.
    row : float
        For one more row.
    plan : Plan or None
        What the engine would do.
    kernels, compiling : int, float
        How many kernels must be compiled first, and about how many seconds that takes, once; the others are without.
    """

    engine: str
    pairs: int
    bytes: int
    seconds: float
    start: float
    row: float
    plan: Plan | None = None
    kernels: int = 0
    compiling: float = 0.0

    def __str__(self) -> str:
        after = f", the first distance after {in_units(self.start)}" if self.start < 0.9 * self.seconds else ""
        first = f"; first it compiles {Missing(self.kernels, self.compiling)}" if self.kernels else ""
        return f"{self.engine}: {in_units(self.seconds)}{after}; {self.pairs:.3g} pairs, {shown(self.bytes)}{first}"


def vector_rate(semiring: Semiring) -> float:
    """The rate of a semiring's steps, relative to those that have vector instructions of their own."""
    plain = all(op.simd for op in (semiring.add, semiring.mul)) or semiring.dtypes == ("bool",)
    return 1.0 if plain else _GENERAL


@lru_cache(256)
def rate(semiring: Semiring, dtype: np.dtype, *, device: str = "cpu", threads: int = 1) -> float:
    """Pairs a second that a closure sustains."""
    return _RATES.get(device, _RATES["cpu"]).get(dtype.name, 1e9) * vector_rate(semiring) * threads


def closure(n: int, semiring: Semiring, dtype: np.dtype, *, pairs: int, device: str = "cpu", threads: int = 1) -> float:
    """Seconds of the closure of an n × n matrix, which does so many pairs."""
    computed = pairs / rate(semiring, dtype, device=device, threads=threads if n > _SHARED else 1)
    return computed + (n * n * dtype.itemsize * _DENSE_BYTE if device == "cpu" and dtype.kind != "b" else 0.0)


def listing(n: int) -> float:
    """Seconds to list the arcs of an n × n matrix."""
    return _START + _LISTED * n * n


def counting(n: int, arcs: int) -> float:
    """Seconds to find an elimination order and its structure."""
    return _START + _VERTEX * n + _ARC * arcs


def condensing(arcs: int) -> float:
    """Seconds to find the strongly connected components of a graph, and the arcs between them."""
    return _START + _COMPONENT * arcs


def uniting(pairs: int) -> float:
    """Seconds of the closure of an acyclic graph by uniting rows of bits: so many bits, an arc a row."""
    return _UNITED * pairs


def elimination(
    cost: Cost,
    n: int,
    arcs: int,
    lines: int,
    itemsize: int,
    *,
    threads: int = 1,
    vector: float = 1.0,
    known: bool = False,
) -> Estimate:
    """Elimination, and `lines` rows of all n, or columns.

    Parameters
    ----------
    vector : float
        The rate of the semiring's steps, relative to those with vector instructions of their own.
    known : bool
        That order and structure are found already.
    """
    large = min(_LARGE, max(1.0, cost.elimination / max(n, 1) / _SMALL) ** _GROWTH)
    numbers = cost.elimination / (_FRONTS * large * vector * 4 / max(itemsize, 4)) / (1 + 0.5 * (threads - 1))
    start = _START + (0.0 if known else counting(n, arcs)) + _SUPERNODE * n + numbers
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


def elimination_on_gpu(cost: Cost, n: int, arcs: int, lines: int, itemsize: int) -> Estimate:
    """Elimination on a GPU, and `lines` rows of all n, or columns: order and structure are found on the CPU."""
    numbers = _LAUNCHES + cost.elimination / _GPU_FRONTS * max(itemsize, 4) / 4
    start = counting(n, arcs) + 2 * _SUPERNODE * n + numbers
    row = cost.sweep + _CLIMB * cost.climb
    batched = lines * (row / _GPU_SWEEP * max(itemsize, 4) / 4 + n * itemsize / _GPU_WRITTEN)
    return Estimate(
        "elimination",
        cost.elimination + int(lines * row),
        cost.gpu_bytes(itemsize),
        start + max(_LAUNCHES, batched),
        start,
        _LAUNCHES,
    )


def dense(plan: Plan, made: int = 0) -> Estimate:
    """The closure of a matrix as planned, of which so many bytes are there already."""
    return Estimate(plan.engine, plan.pairs, plan.beside_bytes - made, plan.seconds, plan.seconds, 0.0, plan)


def reached(tails: np.ndarray, heads: np.ndarray, n: int) -> float:
    """The share of all vertices that a search reaches on average, about: some sources no arc leaves, some targets none
    enters.
    """
    import numpy as np

    share = 1.0
    for ends in (tails, heads):
        there = np.zeros(max(n, 1), bool)
        there[ends] = True
        share *= float(there.mean())
    return share


def search(n: int, arcs: int, method: str, *, reach: float = 1.0, levels: int = 0) -> float:
    """Seconds of one search of SciPy's that reaches this share of a graph of about twice so many levels."""
    if method == "breadth-first":
        return 1e-6 + (n + reach * arcs) * _VISIT * _beyond(n, _VISIT_FARTHER) + 1.5 * levels * _LEVEL
    settled = _SETTLE + _NEARER * math.log(max(1.0, arcs / max(1, n)))
    return 1e-6 + n * _CLEAR + reach * (n * settled + arcs * _LOOK) * _beyond(n, _FARTHER)


def _beyond(n: float, slope: float) -> float:
    """How many times as long a step takes in a graph of n vertices as in one that stays in the cache."""
    return 1 + slope * math.log2(max(1.0, n / _CACHED))


def searches(
    n: int,
    arcs: int,
    lines: int,
    columns: int,
    itemsize: int,
    method: str,
    *,
    reach: float = 1.0,
    levels: int = 0,
    ordered: bool = False,
) -> Estimate:
    """SciPy's searches from `lines` vertices, of which so many columns are kept; arcs may be in order already."""
    row = search(n, arcs, method, reach=reach, levels=levels)
    before = arcs * (_LISTED if ordered else _SORTED) + 1e-4
    if method == "johnson":
        before += n * arcs * _ROUND
    held = lines * columns * itemsize + min(lines, 64) * n * 8 + 40 * arcs
    return Estimate("scipy", lines * arcs, held, before + lines * row, before + row, row)


def relaxing(n: int, arcs: int, lines: int, itemsize: int, relaxed: float) -> float:
    """Seconds of our searches from so many vertices on one thread, if from four together they relax so many arcs."""
    degree = max(1.0, arcs / max(1, n))
    taken = relaxed / degree * (_TAKEN + _DEGREE * math.log2(1 + degree)) * _beyond(n, _FARTHER / 2)
    four = relaxed * _RELAXED + taken
    if lines <= 4:
        return _BEGIN + n * (_CLEARED + lines * itemsize * _BYTE) + four * (0.4 + 0.15 * lines)
    batches = -(-lines // 32)
    alone = four / 4 * _AMONG.get(itemsize, _AMONG[8])
    return batches * _BEGIN + lines * (n * itemsize * _BYTE + alone)


def lanes(
    n: int,
    arcs: int,
    lines: int,
    columns: int,
    itemsize: int,
    relaxed: float,
    *,
    threads: int = 1,
    rounds: int = 0,
) -> Estimate:
    """Our searches by weight from `lines` vertices, of which so many columns are kept.

    Parameters
    ----------
    relaxed : float
        Arcs that four searches together relax.
    rounds : int
        Rounds over all arcs before, as potentials take.
    """
    before = 1e-4 + arcs * (_ADJACENT + rounds * _ROUND)
    row = relaxing(n, arcs, 1, itemsize, relaxed)
    busy = max(1, min(threads, -(-lines // 32)))
    seconds = before + relaxing(n, arcs, lines, itemsize, relaxed) / busy
    window = min(lines * n * itemsize, max(1 << 26, 32 * busy * n * itemsize))
    held = 40 * arcs + busy * n * (64 * itemsize + 12) + 2 * window + lines * columns * itemsize
    return Estimate("searches", int(relaxed / 4 * lines), int(held), seconds, before + row, row)


def networkx(n: int, arcs: int, lines: int, *, matrix: bool) -> tuple[float, float]:
    """Seconds that NetworkX takes from `lines` vertices, or by Floyd–Warshall on all, and what its backend takes here.

    Neither the structure nor the weights are known yet: a call here is what it takes to convert the graph and to give
    so many pairs back as Python's objects.
    """
    theirs = lines * (n + arcs) * _NX_SEARCHED
    theirs = max(theirs, n**3 * _NX_TRIPLE) if matrix else theirs
    return theirs, _NX_CALL + (n + arcs) * _NX_CONVERTED + lines * n * _NX_PAIR


def predecessors(n: int, itemsize: int, arcs: int = 0, *, table: bool, matrix: bool = True, block: int = 64) -> int:
    """Bytes that the predecessors of all pairs take beside the distances.

    Parameters
    ----------
    table : bool
        Whether all distances are held: their transpose is then made, and where no `matrix` came, the matrix. Else the
        edges are listed, and rows are streamed, `block` at a time.
    """
    if table:
        return n * n * max(4 + itemsize * (2 if matrix else 1), 8)  # or a part is cut out, when those are gone
    return 4 * n * n + block * n * (itemsize + 4) + 40 * arcs


def hops(n: int, arcs: int, lines: int, columns: int, itemsize: int, levels: int, batch: int, threads: int) -> Estimate:
    """Breadth-first searches from `lines` vertices, of each of which so many columns are kept, `batch` at a time.

    The graph has about twice so many levels.
    """
    batches = -(-lines // batch)
    words = batch // _WORD
    # A vertex is visited once a level on which a source comes to it: together where levels are few, else one by one.
    alone = 2 * levels >= _WORD
    visit = _VISITED * (1 + _LEAVING * arcs / max(1, n))
    visit *= _beyond(n * words, _ALONE_FARTHER) if alone else 1 + words / 8
    written = n * batch * itemsize * _BYTE
    visits = min(2 * levels, lines, batch)
    before = arcs * _ADJACENT + 1e-4
    # Of each search hop counts, three bits and its rows; beside those the rows that whoever asks still holds.
    searching = min(threads, batches) * n * (batch * itemsize + 3 * batch // 8 + min(batch, lines) * itemsize)
    held = 24 * arcs + searching + (n * batch * itemsize if batches > threads else 0) + lines * columns * itemsize
    seconds = batches * (n * visits * visit + written) / max(1, min(threads, batches))
    row = n * visit + written
    return Estimate("hops", arcs * visits * batches, held, before + seconds, before + row, row)


def hops_on_gpu(n: int, arcs: int, lines: int, itemsize: int, levels: int, batch: int) -> Estimate:
    """Breadth-first searches on a GPU, `batch` at a time, on a graph of about twice so many levels."""
    batches, words = -(-lines // batch), batch // 8
    each = 2 * levels * ((arcs + 4 * n) * words / _GPU_WORDS + _GPU_LEVEL) + n * batch * itemsize / _GPU_WRITTEN
    before = arcs * _ADJACENT + _LAUNCHES
    held = 24 * arcs + 10 * n * words + n * min(lines, batch) * itemsize
    return Estimate("hops", 2 * levels * arcs * batches, held, before + batches * each, before + each, each)


def in_units(seconds: float) -> str:
    """A time in the unit that suits it."""
    if seconds >= 120:
        minutes = seconds / 60
        return f"{minutes:.3g} minutes" if minutes < 120 else f"{minutes / 60:.3g} hours"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
