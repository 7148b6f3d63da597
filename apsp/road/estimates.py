"""The cost model: pairs, bytes and seconds of each engine for a question, before any computation.

Counts are exact; seconds are counts over rates measured on one core of a server with AVX-512 (docs/benchmarks.md).
Engines are chosen by this model, and plans print it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from semiring.algebra.dtypes import SCALARS
from semiring.host.compiling import Missing
from semiring.host.memory import shown

if TYPE_CHECKING:
    import numpy as np

    from semiring.algebra.records import Semiring
    from semiring.sparse import Cost, HubCost

    from .plans import Plan

#: Sustained pairs a second of a closure of a few thousand vertices, by device and dtype: one core, one H200.
_RATES = {
    "cpu": {"float32": 45e9, "int32": 45e9, "int16": 80e9, "float64": 22e9, "int64": 20e9, "bool": 5e12},
    "cuda": {"float32": 15e12, "int32": 14e12, "int16": 25e12, "float64": 2.7e12, "int64": 2e12, "bool": 3e12},
}
#: Relative rate of a step without vector instructions.
_GENERAL = 0.05
#: CPU closure: additional seconds a byte of the matrix; n from which threads share the work.
_DENSE_BYTE, _SHARED = 0.75e-9, 256
#: Pairs a second of a batch of rows on one thread, by itemsize.
_SWEEP = {1: 31e9, 2: 31e9, 4: 18e9, 8: 9.2e9}
#: Pairs a second of a single row; seconds to write one entry.
_ALONE, _ENTRY = 0.8e9, 4e-9
#: Numeric elimination: pairs a second in small fronts, maximum pairs a vertex of these, growth, maximum.
_FRONTS, _SMALL, _GROWTH, _LARGE = 14e9, 3e3, 0.2, 1.7
#: Seconds of ordering and symbolic analysis a vertex and an arc; of supernode overhead a vertex.
_VERTEX, _ARC, _SUPERNODE = 0.1e-6, 0.075e-6, 0.13e-6
#: Relative cost of comparing another order (by levels in a lattice).
_OTHER_ORDER = 0.8
#: Fixed seconds of ordering and of elimination; of analysis, times the square root of the pairs.
_START, _ELIMINATING, _FILLED = 2.5e-4, 1.2e-3, 50e-9
#: Seconds to copy a 4-byte number from a panel into a row.
_TRANSPOSED = 1.0e-9
#: Seconds of components an arc; of uniting rows a bit.
_COMPONENT, _UNITED = 45e-9, 4e-11
#: Average climb as a share of the longest.
_CLIMB = 0.5
#: Sources swept together.
_BATCH = 16
#: Hub labels: pairs a second; seconds to write a 4-byte number.
_HUBS, _LABELLED = 14e9, 1.2e-9
#: One GPU: pairs a second of fronts, sweeps and hub labels; bytes written a second; seconds of launches.
_GPU_FRONTS, _GPU_SWEEP, _GPU_HUBS, _GPU_WRITTEN, _LAUNCHES = 1e11, 9e12, 6e11, 3.3e12, 2e-3
#: GPU breadth-first search: bytes of source words a second; seconds a level.
_GPU_WORDS, _GPU_LEVEL = 1e12, 1e-5
#: GPU searches by weight: arcs a second over all sources, concurrent batches, sources for full occupancy; seconds an
#: entry to find the best arcs of a matrix; factor for searches resumed after comparison with the matrix.
_GPU_RELAXED, GPU_BATCHES, _GPU_BUSY, _THINNED_ON_GPU, _RESUMED = 1.4e11, 264, 2048, 12e-12, 1.6
#: GPU Boolean products: bit pairs a second; seconds a product and a level; latency of a few entries to the host.
_GPU_BITS, _GPU_PRODUCT, _GPU_COUNTED, LOOKED_ON_GPU = 5e15, 5e-5, 1e-4, 3e-5
#: Seconds an entry to list the arcs of a matrix.
_LISTED = 10e-9
#: Matrix from a list of arcs: seconds an arc; fixed seconds including its closure.
_ENTERED, _MATRIX = 25e-9, 4e-4
#: SciPy's Dijkstra, seconds: a vertex, reached or not; a vertex reached; a decrease (about ln d for degree d); an arc.
_CLEAR, _SETTLE, _NEARER, _LOOK = 2.5e-9, 20e-9, 80e-9, 2e-9
#: Level width from which a decrease costs that much; narrower graphs have smaller heaps.
_WIDE = 20
#: Vertices that fit in a core's cache, alone and beside SciPy's heap; slowdown per doubling beyond.
_CACHED, _HEAPED, _FARTHER = 4096, 1000, 0.2
#: Approximate number of weights sampled.
_LOOKED = 256
#: SciPy's breadth-first search: seconds a vertex or arc; a level.
_VISIT, _LEVEL = 7.5e-9, 8e-6
#: Arc ends sampled a vertex: a share of e⁻⁴ of average vertices is missed.
_ENDS = 4
#: Seconds an arc: a round of Bellman–Ford; sorting for SciPy; checking a CSR matrix.
_ROUND, _SORTED, _CHECKED = 2e-9, 80e-9, 3e-9
#: Fixed seconds of any question before searches begin.
ROAD = 3.5e-4
#: `Hops`: seconds to build, an arc; a visit; an outgoing arc as a share of a visit; slowdown per doubling beyond the
#: cache, where sources come one by one; to write, a byte, and a byte of counts stored by vertex.
_ADJACENT, _VISITED, _LEAVING, _ALONE_FARTHER, _BYTE, _TURNED = 60e-9, 5.4e-9, 0.25, 0.9, 0.3e-9, 0.7e-9
#: Searches by weight, seconds: a batch; a vertex of it; a relaxed arc; a settled vertex, and per doubling of its
#: degree; a landmark search, an arc. Sorting arcs; checking their order; sources from which landmarks are used.
_BEGIN, _CLEARED, _RELAXED, _TAKEN, _DEGREE, _LANDMARK = 2e-4, 7.5e-9, 1.9e-9, 19e-9, 25e-9, 38e-9
_ORDERED, _SEEN, _TOGETHER = 20e-9, 4.5e-9, 128
#: Seconds to write a row, a byte; fixed seconds of the first few searches.
_WRITTEN, _PREPARED = 0.4e-9, 2e-4
#: Cost of a source among many relative to among four, by itemsize, where searches meet (four relax fewer than _MET
#: times the arcs of the graph); relative share at hubs.
_AMONG, _MET, _AT_HUBS = {4: 0.17, 8: 0.24}, 3.0, 0.45
#: Where searches do not meet: relative cost among 64 sources (falls with the root of their number), and its floor.
_APART, _CROWD = 0.55, 0.06
#: Few sources, untested for meeting: relative cost, and its factor.
_FEW_AMONG, _UNTRIED = {4: 0.155, 8: 0.22}, 3.2
#: Slowdown per arc followed beyond two (each closes a cycle), its maximum, and its share for one to four sources.
_CLOSING, _SPREAD, _ALONE_SPREAD = 0.55, 2.2, 0.1
#: Reduction of relaxed arcs for equal weights.
_ALIKE = 0.4
#: Sources that half fill a batch; exponent of the gain from more.
_HALF, _FULLER = 16, 0.2
#: Shallow trees: arcs relaxed by four searches per arc, levels of a neighbourhood; level width of a path.
_SHALLOW, _NEAR_ALL, _PATH = 1.5, 4, 4.0
#: Seconds an entry to test whether it is among the best of its row.
_THINNED = 3e-9
#: Seconds an entry of a matrix by levels: each level besides its products; fixed.
_LEVEL_ENTRY, _LEVELS_ENTRY = 1e-9, 5.5e-9
#: NetworkX, roughly, seconds: a vertex or arc in Python, searched or converted; a triple of Floyd–Warshall; a step of
#: its Floyd–Warshall in NumPy, and an entry of it. Our backend: a call, a pair returned.
_NX_PYTHON, _NX_TRIPLE, _NX_STEP, _NX_ENTRY, _NX_CALL, _NX_PAIR = 4e-7, 8e-8, 5e-6, 1.5e-9, 5e-4, 6e-8
#: Sources in a word; with this many levels they are processed one by one.
WORD = 64


@dataclass(frozen=True)
class Estimate:
    """The cost of a question by one engine.

    `pairs` counts operations (one ⊕ with one ⊗) for the whole question; arcs for searches. `bytes` is the peak memory
    beyond the graph, with results wanted at once, such as predecessors, without streamed rows. `seconds`, `start` and
    `row` are the times until everything is computed, until the first distance, and for one more row; `spent` is the
    part of `seconds` that the estimate itself took, whatever is chosen. `kernels` are to be compiled, once, in about
    `compiling` seconds, not in `seconds`. `plan` is that of a dense closure; of others `schedule`, `note`, the
    `host_bytes` of predecessors beside a device, and the `pairs_before` the first distance, if not all, are planned.
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
    schedule: str = ""
    note: str = ""
    host_bytes: int = 0
    pairs_before: int | None = None

    def __str__(self) -> str:
        after = f", the first distance after {in_units(self.start)}" if self.start < 0.9 * self.seconds else ""
        first = f"; first it compiles {Missing(self.kernels, self.compiling)}" if self.kernels else ""
        return f"{self.engine}: {in_units(self.seconds)}{after}; {self.pairs:.3g} pairs, {shown(self.bytes)}{first}"


def vector_rate(semiring: Semiring) -> float:
    """The relative rate of a semiring's steps: 1 with vector instructions."""
    plain = all(op.simd for op in (semiring.add, semiring.mul)) or semiring.dtypes == ("bool",)
    return 1.0 if plain else _GENERAL


@lru_cache(256)
def rate(semiring: Semiring, dtype: np.dtype, *, device: str = "cpu", threads: int = 1) -> float:
    """Sustained pairs a second of a closure."""
    return _RATES.get(device, _RATES["cpu"]).get(dtype.name, 1e9) * vector_rate(semiring) * threads


def closure(n: int, semiring: Semiring, dtype: np.dtype, *, pairs: int, device: str = "cpu", threads: int = 1) -> float:
    """Seconds of the closure of an n × n matrix."""
    computed = pairs / rate(semiring, dtype, device=device, threads=threads if n > _SHARED else 1)
    return computed + (n * n * dtype.itemsize * _DENSE_BYTE if device == "cpu" and not SCALARS[dtype].boolean else 0.0)


def entering(arcs: int) -> float:
    """Seconds to build a matrix from a list of arcs."""
    return _MATRIX + _ENTERED * arcs


def listing(n: int) -> float:
    """Seconds to list the arcs of an n × n matrix."""
    return _START + _LISTED * n * n


def counting(n: int, arcs: int, orders: int = 1) -> float:
    """Seconds of elimination ordering and symbolic analysis, with `orders` compared."""
    found = (_VERTEX * n + _ARC * arcs) * _beyond(n, _FARTHER / 2)
    return _START + found * (1 + _OTHER_ORDER * (orders - 1))


def least_elimination(n: int, arcs: int) -> float:
    """A lower bound on the seconds of any elimination until its first row."""
    return counting(n, arcs) + _ELIMINATING + _SUPERNODE * n


def ordering(arcs: int) -> float:
    """Seconds to sort arcs for searches by weight."""
    return arcs * _ORDERED


def adjacent(arcs: int) -> float:
    """Seconds to sort arcs for breadth-first searches."""
    return ROAD + arcs * _ADJACENT


def condensing(arcs: int) -> float:
    """Seconds to find strongly connected components and the arcs between them."""
    return _START + _COMPONENT * arcs


def uniting(pairs: int) -> float:
    """Seconds of an acyclic closure by uniting bit rows (arcs × row bits)."""
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
    """Elimination and `lines` of n rows; `vector` is the rate of steps; `known` skips analysis of `orders` orders."""
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
        "elimination", cost.elimination + int(lines * row), cost.bytes(itemsize), start + min(lines * alone, batched),
        start, alone, spent=analysis,
    )  # fmt: skip


def with_hub_labels(
    taken: Estimate, cost: HubCost, itemsize: int, *, threads: int = 1, vector: float = 1.0, gpu: bool = False
) -> Estimate:
    """An elimination estimate extended by hub labels, made before the first distance."""
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
    """Elimination on a GPU and `lines` rows or columns; ordering and analysis run on the CPU."""
    numbers = _LAUNCHES + cost.elimination / _GPU_FRONTS * max(itemsize, 4) / 4
    start = counting(n, arcs) + 2 * _SUPERNODE * n + numbers
    row = cost.sweep + _CLIMB * cost.climb
    batched = lines * (row / _GPU_SWEEP * max(itemsize, 4) / 4 + n * itemsize / _GPU_WRITTEN)
    return Estimate(
        "elimination", cost.elimination + int(lines * row), cost.gpu_bytes(itemsize), start + max(_LAUNCHES, batched),
        start, _LAUNCHES,
    )  # fmt: skip


def dense(plan: Plan, allocated: int = 0) -> Estimate:
    """The planned dense closure, less the bytes already allocated."""
    return Estimate(plan.engine, plan.pairs, plan.beside_bytes - allocated, plan.seconds, plan.seconds, 0, plan)


def reached(tails: np.ndarray, heads: np.ndarray, n: int) -> float:
    """The share of vertices that a search reaches, from a sample: (share with out-arcs) · (share with in-arcs)."""
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
    levels: float = 0,
    width: float = math.inf,
    followed: float = 1.0,
    spread: float = 1.0,
) -> float:
    """Seconds of one SciPy search reaching a share of a graph with about 2 · `levels` levels of this width.

    `followed` arcs lead to a vertex: beyond two they decrease no distance; similar weights (`spread`) decrease fewer.
    """
    if method == "breadth-first":
        return 1e-6 + (n + reach * arcs) * _VISIT + 1.5 * levels * _LEVEL
    nearer = _NEARER * min(1.0, width / _WIDE) * spread
    decreases = math.log(max(1.0, arcs / max(1, n) / max(1.0, followed / 2)))
    settled = _SETTLE * (1.0 if width > _PATH else 0.5) + nearer * decreases
    return 1e-6 + n * _CLEAR + reach * (n * settled + arcs * _LOOK) * _beyond(n, _FARTHER, _HEAPED)


def spread(weights: np.ndarray) -> float:
    """√3 · σ / mean of sampled weights: 1 (the maximum) for uniform; if all alike, a first walk is nearly the best."""
    import numpy as np

    some = weights[:: max(1, len(weights) // _LOOKED)].astype(np.float64)
    heaviest = some.max(initial=0.0)
    if not 0 < heaviest < math.inf:
        return 1.0
    some /= heaviest
    mean = float(some.sum()) / len(some)
    return min(1.0, math.sqrt(3 * max(0.0, float(some @ some) / len(some) / mean**2 - 1))) if mean > 0 else 1.0


def _beyond(n: float, slope: float, cached: int = _CACHED) -> float:
    """The slowdown of a step in a graph of n vertices beyond the cache."""
    return 1 + slope * math.log2(max(1.0, n / cached))


def searches(
    n: int,
    arcs: int,
    lines: int,
    columns: int,
    itemsize: int,
    method: str,
    *,
    ordered: bool = False,
    compressed: bool = False,
    **near: float,
) -> Estimate:
    """SciPy's searches from `lines` vertices, `columns` of each row stored; arcs `ordered`, or its CSR matrix.

    `near` are the options of `search`.
    """
    row = search(n, arcs, method, **near)
    before = ROAD + arcs * (_CHECKED if compressed else _LISTED if ordered else _SORTED)
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
    """Seconds of searches by weight from `lines` vertices on one thread, where four together relax `relaxed` arcs.

    `followed` arcs lead to a vertex near a source; where most close cycles (plane, space), distant sources do not meet.
    `relaxed` is a guess unless `tried`. `hubs`: searches meet at hubs.
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
    if not tried:  # unknown whether they meet
        among *= _UNTRIED * spread * max(1.0, lines / _HALF) ** -_FULLER
    elif relaxed > _MET * arcs:  # only many sources are near each other
        among = _CROWD + _APART * math.sqrt(64 / lines)
    elif hubs:
        among *= _AT_HUBS
    return batches * _BEGIN + lines * (n * itemsize * _WRITTEN + four / 4 * among * _beyond(n, _FARTHER))


def guessed(n: int, arcs: int, reach: float, width: float = math.inf, spread: float = 1.0) -> float:
    """The estimated number of arcs relaxed by four searches together; at low degree each search relaxes its own.

    Doubled where levels are as narrow as a path's; reduced for similar weights, see `spread`.
    """
    alone = min(1.0, (2.5 * n / max(1, arcs)) ** 2)
    again = 1 - _ALIKE * (1 - spread)
    return (2.2 + alone) * reach * arcs * (1.0 if width > _PATH else 2.0) * again


def in_shallow_tree(n: int, arcs: int, reach: float, levels: float) -> float:
    """Arcs relaxed by four searches together in a tree of shallow neighbourhoods (as few arcs as a tree's); else 0."""
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
    **met: Any,
) -> Estimate:
    """Searches by weight from `lines` vertices, `columns` of each row kept.

    `rounds` over all arcs come first, as for potentials; `ordered`: arcs are sorted; `met` as in `relaxing`.
    """
    order = _SEEN if ordered else _ORDERED
    before = ROAD + arcs * (order + rounds * _ROUND + (_LANDMARK if lines >= _TOGETHER else 0.0))
    row = relaxing(n, arcs, 1, itemsize, relaxed)
    busy = max(1, min(threads, -(-lines // 32)))
    seconds = before + relaxing(n, arcs, lines, itemsize, relaxed, **met) / busy
    window = min(lines * n * itemsize, max(1 << 26, 32 * busy * n * itemsize))
    held = 40 * arcs + busy * n * (64 * itemsize + 12) + 2 * window + lines * columns * itemsize
    return Estimate("searches", int(relaxed / 4 * lines), int(held), seconds, before + row, row)


def _lanes_held(n: int, arcs: int, lines: int, itemsize: int) -> int:
    """Bytes of searches by weight on a GPU, with the graph."""
    return min(GPU_BATCHES, -(-lines // 32)) * (n * (32 * itemsize + 4) + arcs // 4) + 8 * arcs + 4 * n


def lanes_on_gpu(n: int, arcs: int, lines: int, itemsize: int, *, rounds: int = 0) -> Estimate:
    """Searches by weight on a GPU, after `rounds` over all arcs."""
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
    """A dense closure by searches through the essential arcs of a matrix; the other arcs are compared."""
    found = lanes(n, arcs, n, 0, itemsize, relaxed, threads=threads)
    seconds = 2 * thinning(n) + found.seconds
    return Estimate("essential", found.pairs + n * n, found.bytes, seconds, seconds, 0)


def essential_on_gpu(n: int, arcs: int, itemsize: int) -> Estimate:
    seconds = thinning(n, device="cuda") + _RESUMED * max(n, _GPU_BUSY) * arcs / _GPU_RELAXED
    held = _lanes_held(n, arcs, n, itemsize) + n * 128 * (4 + itemsize)
    return Estimate("essential", arcs * n, held, seconds, seconds, 0)


def levels(n: int, count: int, products: int, held: int, *, threads: int = 1) -> Estimate:
    """`count` levels of a dense matrix by Boolean products; `held` bytes of bits."""
    entry = _LEVELS_ENTRY + count * _LEVEL_ENTRY
    seconds = products * n**3 / (_RATES["cpu"]["bool"] * threads) + n * n * entry
    return Estimate("levels", products * n**3, 2 * n * n + held, seconds, seconds, 0)


def levels_on_gpu(n: int, count: int, products: int, held: int, itemsize: int) -> Estimate:
    launched = _LAUNCHES / 8 + products * _GPU_PRODUCT + count * _GPU_COUNTED
    seconds = launched + products * n**3 / _GPU_BITS + (2 + count / 2) * n * n * itemsize / _GPU_WRITTEN
    return Estimate("levels", products * n**3, held, seconds, seconds, 0)


def networkx(n: int, arcs: int, lines: int, name: str) -> tuple[float, float]:
    """Seconds of a NetworkX function from `lines` vertices, and overhead of our backend.

    The latter is that of conversion and of returning pairs as Python objects; structure and weights are unknown.
    """
    pairs = 0 if name == "floyd_warshall_numpy" else lines * n
    here = _NX_CALL + (n + arcs) * _NX_PYTHON + pairs * _NX_PAIR
    if name == "floyd_warshall_numpy":
        return n * (_NX_STEP + n * n * _NX_ENTRY), here
    if name == "all_pairs_shortest_path_length":  # by sets, until all are seen
        return lines * n * _NX_PYTHON, here
    return max(lines * (n + arcs) * _NX_PYTHON, n**3 * _NX_TRIPLE if name.startswith("floyd_warshall") else 0), here


def predecessors(n: int, itemsize: int, arcs: int = 0, *, table: bool, matrix: bool = True, block: int = 64) -> int:
    """Bytes of all predecessors beyond the distances.

    `table`: all distances are in memory and get transposed, and the matrix is built unless `matrix`. Otherwise edges
    are listed and rows streamed, `block` at a time.
    """
    if table:
        return n * n * max(4 + itemsize * (2 if matrix else 1), 8)  # or a copy of a part, once those are freed
    return 4 * n * n + block * n * (itemsize + 4) + 40 * arcs


def hops(n: int, arcs: int, lines: int, columns: int, itemsize: int, levels: int, batch: int, threads: int) -> Estimate:
    """Breadth-first searches from `lines` vertices, `batch` at a time, over 2 · `levels` levels; `columns` are kept."""
    batches = -(-lines // batch)
    words = batch // WORD
    # A vertex is visited once per level on which sources reach it: several at once where levels are few.
    alone = 2 * levels >= WORD
    visit = _VISITED * (1 + _LEAVING * arcs / max(1, n))
    visit *= _beyond(n * words, _ALONE_FARTHER) if alone else 1 + words / 8
    written = n * itemsize * (batch * _BYTE + min(batch, lines) * (_TURNED - _BYTE))
    visits = min(2 * levels, lines, batch)
    before = adjacent(arcs)
    # Per search: hop counts, three bits and its rows; plus the rows still referenced by the caller.
    searching = min(threads, batches) * n * (batch * itemsize + 3 * batch // 8 + min(batch, lines) * itemsize)
    memory = 24 * arcs + searching + (n * batch * itemsize if batches > threads else 0) + lines * columns * itemsize
    seconds = batches * (n * visits * visit + written) / max(1, min(threads, batches))
    row = n * visit + written
    return Estimate("hops", arcs * visits * batches, memory, before + seconds, before + row, row)


def hops_on_gpu(n: int, arcs: int, lines: int, itemsize: int, levels: int, batch: int) -> Estimate:
    """Breadth-first searches on a GPU, `batch` at a time, on a graph of about 2 · `levels` levels."""
    batches, words = -(-lines // batch), batch // 8
    each = 2 * levels * ((arcs + 4 * n) * words / _GPU_WORDS + _GPU_LEVEL) + n * batch * itemsize / _GPU_WRITTEN
    before = arcs * _ADJACENT + _LAUNCHES
    memory = 24 * arcs + 10 * n * words + n * min(lines, batch) * itemsize
    return Estimate("hops", 2 * levels * arcs * batches, memory, before + batches * each, before + each, each)


def in_units(seconds: float) -> str:
    if seconds >= 120:
        minutes = seconds / 60
        return f"{minutes:.3g} minutes" if minutes < 120 else f"{minutes / 60:.3g} hours"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
