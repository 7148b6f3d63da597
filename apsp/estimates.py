"""The cost model: pairs, bytes and seconds of each engine for a question, before any number is computed.

Counts are exact; seconds are counts over rates measured on one core of a server with AVX-512 (docs/benchmarks.md).
Plans print this model of time, and engines are chosen by it; there is no other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from semiring.compiling import Missing
from semiring.memory import shown

if TYPE_CHECKING:
    import numpy as np

    from semiring.algebra import Semiring
    from semiring.sparse import Cost, HubCost

    from .plans import Plan

#: Pairs a second that a closure of a few thousand vertices sustains, by device and dtype: one core, and one H200.
_RATES = {
    "cpu": {"float32": 45e9, "int32": 45e9, "int16": 80e9, "float64": 22e9, "int64": 20e9, "bool": 5e12},
    "cuda": {"float32": 15e12, "int32": 14e12, "int16": 25e12, "float64": 2.7e12, "int64": 2e12, "bool": 3e12},
}
#: The rate of a general step (one without vector instructions of its own), relative to those.
_GENERAL = 0.05
#: Seconds of a closure on the CPU in addition, a byte of the matrix; the vertices from which threads share the work.
_DENSE_BYTE, _SHARED = 0.75e-9, 256
#: Pairs a second of a batch of rows, by the size of a number in bytes, on one thread.
_SWEEP = {1: 31e9, 2: 31e9, 4: 18e9, 8: 9.2e9}
#: Pairs a second of a single row, and seconds to write one of its entries.
_ALONE, _ENTRY = 0.8e9, 4e-9
#: Pairs a second of numeric elimination in small fronts, up to how many pairs a vertex; larger ones are faster.
_FRONTS, _SMALL, _GROWTH, _LARGE = 14e9, 3e3, 0.2, 1.7
#: Seconds of ordering and symbolic analysis, a vertex and an arc; of supernodes in addition to their pairs, a vertex.
_VERTEX, _ARC, _SUPERNODE = 0.1e-6, 0.075e-6, 0.13e-6
#: Another order, by levels in a lattice, relative to that.
_OTHER_ORDER = 0.8
#: Seconds of any ordering, and of any elimination, in addition; of analysis, for the root of the pairs.
_START, _ELIMINATING, _FILLED = 2.5e-4, 1.2e-3, 50e-9
#: Seconds to copy a number of four bytes from a panel into a row.
_TRANSPOSED = 1.0e-9
#: Seconds to find components, an arc; to unite rows of bits, a bit.
_COMPONENT, _UNITED = 45e-9, 4e-11
#: The climb of a source on average, as a share of the longest one.
_CLIMB = 0.5
#: Sources whose rows are swept together.
_BATCH = 16
#: Pairs a second of hub labels, and seconds to write a number of four bytes into one.
_HUBS, _LABELLED = 14e9, 1.2e-9
#: On one GPU: pairs a second of fronts, of sweeps and of hub labels, bytes written a second, seconds of launches.
_GPU_FRONTS, _GPU_SWEEP, _GPU_HUBS, _GPU_WRITTEN, _LAUNCHES = 1e11, 9e12, 6e11, 3.3e12, 2e-3
#: Of searches on a GPU: bytes of words of sources a second, and seconds of a level in addition.
_GPU_WORDS, _GPU_LEVEL = 1e12, 1e-5
#: Of searches by weight on a GPU: arcs a second for all sources together, batches at a time, and sources that take no
#: longer than fewer do; seconds to find the best arcs of each vertex of a matrix, an entry; how much longer searches
#: take whose entries are compared with a matrix, and that are resumed.
_GPU_RELAXED, GPU_BATCHES, _GPU_BUSY, _THINNED_ON_GPU, _RESUMED = 1.4e11, 264, 2048, 12e-12, 1.6
#: Pairs of bits a second on a GPU; seconds that a product takes in addition, and a level; until a few entries of a
#: matrix are on the host.
_GPU_BITS, _GPU_PRODUCT, _GPU_COUNTED, LOOKED_ON_GPU = 5e15, 5e-5, 1e-4, 3e-5
#: Seconds to find the arcs of a matrix, an entry.
_LISTED = 10e-9
#: Seconds to make the matrix of a list of arcs, an arc; and of closing that, in addition.
_ENTERED, _MATRIX = 25e-9, 4e-4
#: Seconds of SciPy's Dijkstra: of a vertex, reached or not; of one that is reached, and of each decrease of its
#: distance, about ln d of them where it has d arcs; of an arc.
_CLEAR, _SETTLE, _NEARER, _LOOK = 2.5e-9, 20e-9, 80e-9, 2e-9
#: Vertices of a level from which on a decrease takes so long: in narrower graphs fewer vertices wait.
_WIDE = 20
#: Vertices of a graph that fits in a core's cache, and of one that does beside SciPy's heap; a search takes so much
#: longer for each doubling beyond.
_CACHED, _HEAPED, _FARTHER = 4096, 1000, 0.2
#: Weights that are looked at, about.
_LOOKED = 256
#: SciPy's breadth-first search: a vertex or arc; and a level.
_VISIT, _LEVEL = 7.5e-9, 8e-6
#: Ends of arcs that are looked at, a vertex: e⁻⁴ of those that are the end of as many arcs as others are missed.
_ENDS = 4
#: Seconds of an arc in a round of Bellman–Ford; of sorting an arc for SciPy, and of looking at one of a csr matrix.
_ROUND, _SORTED, _CHECKED = 2e-9, 80e-9, 3e-9
#: Seconds of any question until searches begin.
_ROAD = 3.5e-4
#: Seconds of `Hops`: to build, an arc; of a visit, and of an outgoing arc as a share of that; so much longer for each
#: doubling beyond the cache, where sources come one by one; to write, a byte, and of counts that lie by the vertex.
_ADJACENT, _VISITED, _LEAVING, _ALONE_FARTHER, _BYTE, _TURNED = 60e-9, 5.4e-9, 0.25, 0.9, 0.3e-9, 0.7e-9
#: Our searches by weight: seconds to begin a batch, a vertex of one, an arc that is relaxed; a vertex that is taken,
#: and for each doubling of the arcs that leave it; to bring arcs into order, an arc, and to see that they are; and of
#: so many sources or more, to search for a landmark.
_BEGIN, _CLEARED, _RELAXED, _TAKEN, _DEGREE, _LANDMARK = 2e-4, 7.5e-9, 1.9e-9, 19e-9, 25e-9, 38e-9
_ORDERED, _SEEN, _TOGETHER = 20e-9, 4.5e-9, 128
#: Seconds to write an entry of a row, a byte; until the first few searches begin, in addition.
_WRITTEN, _PREPARED = 0.4e-9, 2e-4
#: What a source takes among many, as a share of what it takes among four, by itemsize, where searches meet: where four
#: relax fewer than so many times the arcs of the graph. The same share at hubs, relative to that.
_AMONG, _MET, _AT_HUBS = {4: 0.17, 8: 0.24}, 3.0, 0.45
#: Where they do not meet: its share among 64 sources, which falls with the root of how many more there are, and the
#: least that is left of it.
_APART, _CROWD = 0.55, 0.06
#: Of few sources nobody has tried whether they meet: their share, and so many times that.
_FEW_AMONG, _UNTRIED = {4: 0.155, 8: 0.22}, 3.2
#: How many times as long some sources take where each arc that is followed beyond two closes a cycle, and at most; the
#: share of that for one to four.
_CLOSING, _SPREAD, _ALONE_SPREAD = 0.55, 2.2, 0.1
#: How many fewer arcs are relaxed where all weigh the same.
_ALIKE = 0.4
#: Sources that half fill a batch; the power of more of them by which each takes less.
_HALF, _FULLER = 16, 0.2
#: Arcs that four searches relax of each where all vertices are near one another in a tree, and levels of a
#: neighbourhood there; vertices of a level in a path.
_SHALLOW, _NEAR_ALL, _PATH = 1.5, 4, 4.0
#: Seconds to find whether an entry of a matrix is among the best of its row.
_THINNED = 3e-9
#: Seconds that an entry of a matrix takes whose levels are counted: each level, besides its products, and in addition.
_LEVEL_ENTRY, _LEVELS_ENTRY = 1e-9, 5.5e-9
#: Seconds of NetworkX: a vertex or an arc of one search, roughly, and a triple of Floyd–Warshall. Of its backend here:
#: any call, an arc that is converted, and a pair that is returned.
_NX_SEARCHED, _NX_TRIPLE, _NX_CALL, _NX_CONVERTED, _NX_PAIR = 4e-7, 8e-8, 5e-4, 4e-7, 6e-8
#: Sources in a word; in a graph of so many levels they come one by one.
WORD = 64


@dataclass(frozen=True)
class Estimate:
    """The cost of a question by one engine.

    Attributes
    ----------
    engine : {"dense", "elimination", "searches", "scipy", "hops", "essential", "levels", "spanning", "united"}
    pairs : int
        The operations for all that is wanted, one ⊕ with one ⊗ each; of searches, the arcs.
    bytes : int
        The peak of memory in addition to the graph, with what is wanted at once, such as predecessors; of elimination
        without rows, which are streamed.
    seconds : float
        Until all that is wanted is computed.
    start : float
        Until the first distance is computed.
    row : float
        For one more row.
    spent : float
        Of these, what was needed to find them out, and is spent whatever is chosen.
    plan : Plan or None
        The plan of the engine.
    kernels, compiling : int, float
        The kernels that must be compiled first, and about how many seconds that takes, once; `seconds` are without.
    """

    engine: str
    pairs: int
    bytes: int
    seconds: float
    start: float
    row: float
    plan: Plan | None = None
    spent: float = 0.0
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
    """Seconds of the closure of an n × n matrix by so many pairs."""
    computed = pairs / rate(semiring, dtype, device=device, threads=threads if n > _SHARED else 1)
    return computed + (n * n * dtype.itemsize * _DENSE_BYTE if device == "cpu" and dtype.kind != "b" else 0.0)


def entering(arcs: int) -> float:
    """Seconds to make the matrix of so many arcs."""
    return _MATRIX + _ENTERED * arcs


def listing(n: int) -> float:
    """Seconds to list the arcs of an n × n matrix."""
    return _START + _LISTED * n * n


def counting(n: int, arcs: int, orders: int = 1) -> float:
    """Seconds to find an elimination order and its structure, of so many that are compared."""
    found = (_VERTEX * n + _ARC * arcs) * _beyond(n, _FARTHER / 2)
    return _START + found * (1 + _OTHER_ORDER * (orders - 1))


def least_elimination(n: int, arcs: int) -> float:
    """Seconds that an elimination takes at least, of whatever structure, until its first row."""
    return counting(n, arcs) + _ELIMINATING + _SUPERNODE * n


def ordering(arcs: int) -> float:
    """Seconds to bring so many arcs into the order of searches by weight."""
    return arcs * _ORDERED


def adjacent(arcs: int) -> float:
    """Seconds to bring so many arcs into the order of breadth-first searches."""
    return _ROAD + arcs * _ADJACENT


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
    orders: int = 1,
) -> Estimate:
    """Elimination, and `lines` rows of all n, or columns.

    Parameters
    ----------
    vector : float
        The rate of the semiring's steps, relative to those with vector instructions of their own.
    known : bool
        Whether order and structure are known already.
    orders : int
        Orders that are compared.
    """
    large = min(_LARGE, max(1.0, cost.elimination / max(n, 1) / _SMALL) ** _GROWTH)
    numbers = cost.elimination / (_FRONTS * large * vector * 4 / max(itemsize, 4)) / (1 + 0.5 * (threads - 1))
    analysis = 0.0 if known else counting(n, arcs, orders) + _FILLED * math.sqrt(cost.elimination)
    start = _ELIMINATING + analysis + _SUPERNODE * n + numbers
    row = cost.sweep + _CLIMB * cost.climb
    alone = row / (_ALONE * max(vector, 0.2)) + _ENTRY * n
    lanes = -(-lines // _BATCH) * _BATCH
    written = n * _TRANSPOSED * _beyond(n, _FARTHER / 2) * itemsize / 4
    batched = lanes * (row / (_SWEEP.get(itemsize, 12e9) * vector) + written) / threads
    return Estimate(
        "elimination",
        cost.elimination + int(lines * row),
        cost.bytes(itemsize),
        start + min(lines * alone, batched),
        start,
        alone,
        spent=analysis,
    )


def with_hub_labels(
    taken: Estimate, cost: HubCost, itemsize: int, *, threads: int = 1, vector: float = 1.0, gpu: bool = False
) -> Estimate:
    """The same elimination with hub labels of such numbers, made before the first distance."""
    if gpu:
        seconds = _LAUNCHES / 2 + cost.pairs / _GPU_HUBS * max(itemsize, 4) / 4
    else:
        computed = cost.pairs / (_HUBS * vector * 4 / max(itemsize, 4))
        seconds = (computed + cost.entries * (_LABELLED / 4) * itemsize) / threads
    return replace(
        taken,
        pairs=taken.pairs + cost.pairs,
        bytes=taken.bytes + (cost.gpu_bytes(itemsize) if gpu else cost.bytes(itemsize, threads)),
        seconds=taken.seconds + seconds,
        start=taken.start + seconds,
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


def dense(plan: Plan, allocated: int = 0) -> Estimate:
    """The closure of a matrix as planned, of which so many bytes are allocated already."""
    return Estimate(plan.engine, plan.pairs, plan.beside_bytes - allocated, plan.seconds, plan.seconds, 0.0, plan)


def reached(tails: np.ndarray, heads: np.ndarray, n: int) -> float:
    """About the share of vertices that a search reaches: those with arcs out reach those with arcs in.

    Of many arcs some are looked at.
    """
    import numpy as np

    share = 1.0
    for ends in (tails, heads):
        has_arc = np.zeros(max(n, 1), bool)
        has_arc[ends[:: max(1, len(ends) // (_ENDS * max(n, 1)))]] = True
        share *= np.count_nonzero(has_arc) / len(has_arc)
    return share


def search(
    n: int,
    arcs: int,
    method: str,
    *,
    reach: float = 1.0,
    levels: int = 0,
    width: float = math.inf,
    followed: float = 1.0,
    spread: float = 1.0,
) -> float:
    """Seconds of one search by SciPy that reaches this share of a graph, of about twice so many levels so wide.

    So many arcs are followed to find a vertex: beyond two, they lead where no distance decreases; fewer decrease, too,
    where weights are alike, see `spread`.
    """
    if method == "breadth-first":
        return 1e-6 + (n + reach * arcs) * _VISIT + 1.5 * levels * _LEVEL
    nearer = _NEARER * min(1.0, width / _WIDE) * spread
    decreases = math.log(max(1.0, arcs / max(1, n) / max(1.0, followed / 2)))
    settled = _SETTLE * (1.0 if width > _PATH else 0.5) + nearer * decreases
    return 1e-6 + n * _CLEAR + reach * (n * settled + arcs * _LOOK) * _beyond(n, _FARTHER, _HEAPED)


def spread(weights: np.ndarray) -> float:
    """The standard deviation of weights over their mean, times √3: 1 for uniform random ones, which is the most.

    Where all are alike, the first walk that leads to a vertex is nearly the best. Some 256 weights are looked at.
    """
    import numpy as np

    some = weights[:: max(1, len(weights) // _LOOKED)].astype(np.float64)
    heaviest = some.max(initial=0.0)
    if not 0 < heaviest < math.inf:
        return 1.0
    some /= heaviest
    mean = float(some.sum()) / len(some)
    return min(1.0, math.sqrt(3 * max(0.0, float(some @ some) / len(some) / mean**2 - 1))) if mean > 0 else 1.0


def _beyond(n: float, slope: float, cached: int = _CACHED) -> float:
    """How many times as long a step takes in a graph of n vertices as in one that stays in the cache."""
    return 1 + slope * math.log2(max(1.0, n / cached))


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
    width: float = math.inf,
    followed: float = 1.0,
    spread: float = 1.0,
    ordered: bool = False,
    compressed: bool = False,
) -> Estimate:
    """SciPy's searches from `lines` vertices, of which so many columns are stored; arcs are sorted, or its matrix."""
    row = search(n, arcs, method, reach=reach, levels=levels, width=width, followed=followed, spread=spread)
    before = _ROAD + arcs * (_CHECKED if compressed else _LISTED if ordered else _SORTED)
    if method == "johnson":
        before += n * arcs * _ROUND
    memory = lines * columns * itemsize + min(lines, 64) * n * 8 + 40 * arcs
    return Estimate("scipy", lines * arcs, memory, before + lines * row, before + row, row)


def relaxing(
    n: int,
    arcs: int,
    lines: int,
    itemsize: int,
    relaxed: float,
    followed: float = 1.0,
    *,
    tried: bool = True,
    hubs: bool = False,
) -> float:
    """Seconds of our searches from so many vertices on one thread, if from four together they relax so many arcs.

    Parameters
    ----------
    followed : float
        Arcs that are followed to find a vertex near a source. Where most of them close cycles, in the plane and in
        space, sources that are not near each other do not meet.
    tried : bool
        Whether it is known what four relax; else that is guessed.
    hubs : bool
        Whether searches meet at hubs.
    """
    degree = max(1.0, arcs / max(1, n))
    taken = relaxed / (degree + 1) * (_TAKEN + _DEGREE * math.log2(1 + degree)) * _beyond(n, _FARTHER / 2)
    four = relaxed * _RELAXED + taken
    spread = min(_SPREAD, max(1.0, 1 + _CLOSING * (followed - 2)))
    if lines <= 4:
        some = (0.15 + 0.2125 * lines) * (1 + _ALONE_SPREAD * (spread - 1))
        return _BEGIN + _PREPARED + n * (_CLEARED + lines * itemsize * _WRITTEN) + four * some
    known, batches = _AMONG if tried else _FEW_AMONG, -(-lines // 32)
    among = known.get(itemsize, known[8])
    if not tried:  # it is not known whether they meet
        among *= _UNTRIED * spread * max(1.0, lines / _HALF) ** -_FULLER
    elif relaxed > _MET * arcs:  # sources are near each other only where they are many
        among = _CROWD + _APART * math.sqrt(64 / lines)
    elif hubs:
        among *= _AT_HUBS
    return batches * _BEGIN + lines * (n * itemsize * _WRITTEN + four / 4 * among * _beyond(n, _FARTHER))


def guessed(n: int, arcs: int, reach: float, width: float = math.inf, spread: float = 1.0) -> float:
    """About how many arcs four searches relax together: where few arcs leave a vertex, each search its own.

    Twice where levels are as narrow as those of a path; fewer where weights are alike, see `spread`.
    """
    alone = min(1.0, (2.5 * n / max(1, arcs)) ** 2)
    again = 1 - _ALIKE * (1 - spread)
    return (2.2 + alone) * reach * arcs * (1.0 if width > _PATH else 2.0) * again


def in_shallow_tree(n: int, arcs: int, reach: float, levels: float) -> float:
    """How many arcs four searches relax together in a tree of which neighbourhoods have few levels; 0 for no such tree.

    So few arcs are taken for a tree as join the vertices that are reached, both ways.
    """
    return _SHALLOW * reach * arcs if arcs <= 2 * reach * n and 1 < levels < _NEAR_ALL else 0.0


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
    ordered: bool = False,
    followed: float = 1.0,
    tried: bool = True,
    hubs: bool = False,
) -> Estimate:
    """Our searches by weight from `lines` vertices, of which so many columns are kept; arcs may be sorted already.

    Parameters
    ----------
    relaxed : float
        Arcs that four searches together relax.
    rounds : int
        Rounds over all arcs before, as potentials take.
    followed : float
        Arcs that are followed to find a vertex near a source.
    tried : bool
        Whether it is known what four searches relax; else it is guessed.
    hubs : bool
        Whether they soon meet at hubs.
    """
    order = _SEEN if ordered else _ORDERED
    before = _ROAD + arcs * (order + rounds * _ROUND + (_LANDMARK if lines >= _TOGETHER else 0.0))
    row = relaxing(n, arcs, 1, itemsize, relaxed)
    busy = max(1, min(threads, -(-lines // 32)))
    seconds = before + relaxing(n, arcs, lines, itemsize, relaxed, followed, tried=tried, hubs=hubs) / busy
    window = min(lines * n * itemsize, max(1 << 26, 32 * busy * n * itemsize))
    held = 40 * arcs + busy * n * (64 * itemsize + 12) + 2 * window + lines * columns * itemsize
    return Estimate("searches", int(relaxed / 4 * lines), int(held), seconds, before + row, row)


def _lanes_held(n: int, arcs: int, lines: int, itemsize: int) -> int:
    """Bytes of our searches by weight on a GPU, and of the graph."""
    return min(GPU_BATCHES, -(-lines // 32)) * (n * (32 * itemsize + 4) + arcs // 4) + 8 * arcs + 4 * n


def lanes_on_gpu(n: int, arcs: int, lines: int, itemsize: int, *, rounds: int = 0) -> Estimate:
    """Our searches by weight on a GPU, `rounds` over all arcs before."""
    before = _LAUNCHES + arcs * (_ORDERED + rounds * _ROUND + (_LANDMARK if lines >= _TOGETHER else 0.0))
    least = _GPU_BUSY * arcs / _GPU_RELAXED
    seconds = before + max(least, lines * arcs / _GPU_RELAXED) + lines * n * itemsize / _GPU_WRITTEN
    block = min(lines, 32 * GPU_BATCHES)
    held = _lanes_held(n, arcs, lines, itemsize) + block * n * itemsize
    return Estimate("searches", arcs * lines, held, seconds, before + least, least)


def thinning(n: int, *, device: str = "cpu") -> float:
    """Seconds to find the best arcs of every vertex of a matrix."""
    return _START + _THINNED * n * n if device == "cpu" else _LAUNCHES / 2 + _THINNED_ON_GPU * n * n


def essential(n: int, arcs: int, itemsize: int, relaxed: float, *, threads: int = 1) -> Estimate:
    """A closure by searches through so many arcs of a matrix, from which a few relax so many; the others compared."""
    found = lanes(n, arcs, n, 0, itemsize, relaxed, threads=threads)
    seconds = 2 * thinning(n) + found.seconds
    return Estimate("essential", found.pairs + n * n, found.bytes, seconds, seconds, 0.0)


def essential_on_gpu(n: int, arcs: int, itemsize: int) -> Estimate:
    """The same on a GPU."""
    seconds = thinning(n, device="cuda") + _RESUMED * max(n, _GPU_BUSY) * arcs / _GPU_RELAXED
    held = _lanes_held(n, arcs, n, itemsize) + n * 128 * (4 + itemsize)
    return Estimate("essential", arcs * n, held, seconds, seconds, 0.0)


def levels(n: int, count: int, products: int, held: int, *, threads: int = 1) -> Estimate:
    """So many levels of a dense matrix by products of bits, of which so many bytes are held."""
    entry = _LEVELS_ENTRY + count * _LEVEL_ENTRY
    seconds = products * n**3 / (_RATES["cpu"]["bool"] * threads) + n * n * entry
    return Estimate("levels", products * n**3, 2 * n * n + held, seconds, seconds, 0.0)


def levels_on_gpu(n: int, count: int, products: int, held: int, itemsize: int) -> Estimate:
    """The same on a GPU, packed and written there."""
    launched = _LAUNCHES / 8 + products * _GPU_PRODUCT + count * _GPU_COUNTED
    seconds = launched + products * n**3 / _GPU_BITS + (2 + count / 2) * n * n * itemsize / _GPU_WRITTEN
    return Estimate("levels", products * n**3, held, seconds, seconds, 0.0)


def networkx(n: int, arcs: int, lines: int, *, matrix: bool) -> tuple[float, float]:
    """Seconds of NetworkX from `lines` vertices, or by Floyd–Warshall on all, and of its backend here.

    Structure and weights are not known yet: those of the backend are of converting the graph, and of returning so many
    pairs as Python's objects.
    """
    original = lines * (n + arcs) * _NX_SEARCHED
    original = max(original, n**3 * _NX_TRIPLE) if matrix else original
    return original, _NX_CALL + (n + arcs) * _NX_CONVERTED + lines * n * _NX_PAIR


def predecessors(n: int, itemsize: int, arcs: int = 0, *, table: bool, matrix: bool = True, block: int = 64) -> int:
    """Bytes of the predecessors of all pairs, in addition to the distances.

    Parameters
    ----------
    table : bool
        Whether all distances are in memory: then they are transposed, and without a `matrix` that is made. Else the
        edges are listed, and rows are streamed, `block` at a time.
    """
    if table:
        return n * n * max(4 + itemsize * (2 if matrix else 1), 8)  # or a part is copied, when those are freed
    return 4 * n * n + block * n * (itemsize + 4) + 40 * arcs


def hops(n: int, arcs: int, lines: int, columns: int, itemsize: int, levels: int, batch: int, threads: int) -> Estimate:
    """Breadth-first searches from `lines` vertices, of which so many columns are stored, `batch` at a time.

    The graph has about twice so many levels.
    """
    batches = -(-lines // batch)
    words = batch // WORD
    # A vertex is visited once for each level on which sources reach it: several at once where levels are few.
    alone = 2 * levels >= WORD
    visit = _VISITED * (1 + _LEAVING * arcs / max(1, n))
    visit *= _beyond(n * words, _ALONE_FARTHER) if alone else 1 + words / 8
    written = n * itemsize * (batch * _BYTE + min(batch, lines) * (_TURNED - _BYTE))
    visits = min(2 * levels, lines, batch)
    before = adjacent(arcs)
    # Of each search hop counts, three bits and its rows; in addition the rows that the caller still refers to.
    searching = min(threads, batches) * n * (batch * itemsize + 3 * batch // 8 + min(batch, lines) * itemsize)
    memory = 24 * arcs + searching + (n * batch * itemsize if batches > threads else 0) + lines * columns * itemsize
    seconds = batches * (n * visits * visit + written) / max(1, min(threads, batches))
    row = n * visit + written
    return Estimate("hops", arcs * visits * batches, memory, before + seconds, before + row, row)


def hops_on_gpu(n: int, arcs: int, lines: int, itemsize: int, levels: int, batch: int) -> Estimate:
    """Breadth-first searches on a GPU, `batch` at a time, on a graph of about twice so many levels."""
    batches, words = -(-lines // batch), batch // 8
    each = 2 * levels * ((arcs + 4 * n) * words / _GPU_WORDS + _GPU_LEVEL) + n * batch * itemsize / _GPU_WRITTEN
    before = arcs * _ADJACENT + _LAUNCHES
    memory = 24 * arcs + 10 * n * words + n * min(lines, batch) * itemsize
    return Estimate("hops", 2 * levels * arcs * batches, memory, before + batches * each, before + each, each)


def in_units(seconds: float) -> str:
    """A time with a unit, from ns to hours."""
    if seconds >= 120:
        minutes = seconds / 60
        return f"{minutes:.3g} minutes" if minutes < 120 else f"{minutes / 60:.3g} hours"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
