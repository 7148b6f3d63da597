"""The cost model: pairs, bytes and seconds of each engine for a question, before any computation.

Counts are exact; seconds are counts times the rates of this machine (`rates`). Numbers here are shapes of graphs and
algorithms, the same on all machines. Engines are chosen by this model, and plans print it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring.algebra.dtypes import SCALARS
from semiring.algebra.records import Semiring
from semiring.host.compiling import Missing
from semiring.host.memory import shown
from semiring.kernels.contract import Backend

from . import rates

if TYPE_CHECKING:
    from semiring.sparse import Cost, HubCost

    from .plans import Plan

#: Vertices from which threads share a closure; sources swept together; sources from which landmarks are used.
_SHARED, _BATCH, _TOGETHER = 256, 16, 128
#: Fronts: maximum pairs a vertex of small ones; exponent and maximum of the gain in rate of larger ones.
_SMALL, _GROWTH, _LARGE = 3e3, 0.2, 1.7
#: Relative cost of comparing another order (by levels in a lattice); average climb as a share of the longest.
_OTHER_ORDER, _CLIMB = 0.8, 0.5
#: GPU searches by weight: concurrent batches, sources for full occupancy; factor for searches resumed after comparison
#: with the matrix.
GPU_BATCHES, _GPU_BUSY, _RESUMED = 264, 2048, 1.6
#: Approximate number of weights sampled; arc ends sampled a vertex: a share of e⁻⁴ of average vertices is missed.
_LOOKED, _ENDS = 256, 4
#: Level width from which a heap is of full size; breadth-first searches: an outgoing arc as a share of a visit.
_WIDE, _LEAVING = 20, 0.25
#: Searches meet if four relax fewer than _MET times the arcs of the graph; relative share at hubs; factor if untested.
_MET, _AT_HUBS, _UNTRIED = 3.0, 0.45, 3.2
#: Where searches do not meet: relative cost among 64 sources (falls with the root of their number), and its floor.
_APART, _CROWD = 0.55, 0.06
#: Slowdown per arc followed beyond two (each closes a cycle), its maximum, and its share for one to four sources.
_CLOSING, _SPREAD, _ALONE_SPREAD = 0.55, 2.2, 0.1
#: Reduction of relaxed arcs for equal weights.
_ALIKE = 0.4
#: Sources that half fill a batch; exponent of the gain from more.
_HALF, _FULLER = 16, 0.2
#: Shallow trees: arcs relaxed by four searches per arc, levels of a neighbourhood; level width of a path.
_SHALLOW, _NEAR_ALL, PATH = 1.5, 4, 4.0
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
    return 1.0 if plain else rates.processor.scalar_share


@lru_cache(256)
def rate(semiring: Semiring, dtype: np.dtype, *, device: str = "cpu", threads: int = 1) -> float:
    """Sustained pairs a second of a closure."""
    table = (rates.card if device == "cuda" else rates.processor).closure_rate
    return table.get(dtype.name, table["other"]) * vector_rate(semiring) * threads


def closure(n: int, semiring: Semiring, dtype: np.dtype, *, pairs: int, device: str = "cpu", threads: int = 1) -> float:
    """Seconds of the closure of an n × n matrix."""
    computed = pairs / rate(semiring, dtype, device=device, threads=threads if n > _SHARED else 1)
    if device != "cpu" or SCALARS[dtype].boolean:
        return computed
    return computed + n * n * dtype.itemsize * rates.processor.closure_byte


def closing(n: int, ops: Backend) -> float:
    """Seconds of the closure of an n × n matrix by a backend's verbs."""
    return closure(n, ops.semiring, ops.dtype, pairs=n**3, device=ops.device, threads=ops.threads)


def entering(arcs: int) -> float:
    """Seconds to build a matrix from a list of arcs."""
    return rates.processor.matrix + rates.processor.matrix_arc * arcs


def listing(n: int) -> float:
    """Seconds to list the arcs of an n × n matrix."""
    return rates.processor.analysis + rates.processor.listed_entry * n * n


def counting(n: int, arcs: int, orders: int = 1) -> float:
    """Seconds of elimination ordering and symbolic analysis, with `orders` compared."""
    cpu = rates.processor
    found = (cpu.analysis_vertex * n + cpu.analysis_arc * arcs) * _beyond(n, cpu.slowdown / 2)
    return cpu.analysis + found * (1 + _OTHER_ORDER * (orders - 1))


def least_elimination(n: int, arcs: int, spent: float) -> float:
    """A lower bound on the seconds of any elimination until its first row, less those spent without its structure."""
    looks = max(0, counting(n, arcs) - spent)
    return looks + rates.processor.elimination + rates.processor.supernode_vertex * n


def ordering(arcs: int) -> float:
    """Seconds to sort arcs for searches by weight."""
    return arcs * rates.processor.search_sorted_arc


def adjacent(arcs: int) -> float:
    """Seconds to sort arcs for breadth-first searches."""
    return rates.processor.question + arcs * rates.processor.hop_sorted_arc


def condensing(arcs: int) -> float:
    """Seconds to find strongly connected components and the arcs between them."""
    return rates.processor.analysis + rates.processor.component_arc * arcs


def uniting(pairs: int) -> float:
    """Seconds of an acyclic closure by uniting bit rows (arcs × row bits)."""
    return rates.processor.united_bit * pairs


def elimination(
    cost: Cost, n: int, arcs: int, lines: int, itemsize: int, *, threads: int = 1, vector: float = 1.0,
    known: bool = False, orders: int = 1,
) -> Estimate:  # fmt: skip
    """Elimination and `lines` of n rows; `vector` is the rate of steps; `known` skips analysis of `orders` orders."""
    cpu = rates.processor
    large = min(_LARGE, max(1.0, cost.elimination / max(n, 1) / _SMALL) ** _GROWTH)
    numbers = cost.elimination / (cpu.front_rate * large * vector * 4 / max(itemsize, 4)) / (1 + 0.5 * (threads - 1))
    analysis = 0.0 if known else counting(n, arcs, orders) + cpu.analysis_root * math.sqrt(cost.elimination)
    start = cpu.elimination + analysis + cpu.supernode_vertex * n + numbers
    row = cost.sweep + _CLIMB * cost.climb
    alone = row / (cpu.row_rate * max(vector, 0.2)) + cpu.row_entry * n
    lanes = -(-lines // _BATCH) * _BATCH
    written = n * cpu.copied_entry * _beyond(n, cpu.slowdown / 2) * itemsize / 4
    batched = lanes * (row / (cpu.sweep_rate.get(itemsize, cpu.sweep_rate["other"]) * vector) + written) / threads
    return Estimate(
        "elimination", cost.elimination + int(lines * row), cost.bytes(itemsize), start + min(lines * alone, batched),
        start, alone, spent=analysis,
    )  # fmt: skip


def with_hub_labels(
    taken: Estimate, cost: HubCost, itemsize: int, *, threads: int = 1, vector: float = 1.0, gpu: bool = False
) -> Estimate:
    """An elimination estimate extended by hub labels, made before the first distance."""
    if gpu:
        seconds = rates.card.launches / 2 + cost.pairs / rates.card.hub_rate * max(itemsize, 4) / 4
    else:
        cpu = rates.processor
        computed = cost.pairs / (cpu.hub_rate * vector * 4 / max(itemsize, 4))
        seconds = (computed + cost.entries * (cpu.hub_entry / 4) * itemsize) / threads
    return replace(
        taken,
        pairs=taken.pairs + cost.pairs,
        bytes=taken.bytes + (cost.gpu_bytes(itemsize) if gpu else cost.bytes(itemsize, threads)),
        seconds=taken.seconds + seconds,
        start=taken.start + seconds,
    )


def elimination_on_gpu(cost: Cost, n: int, arcs: int, lines: int, itemsize: int) -> Estimate:
    """Elimination on a GPU and `lines` rows or columns; ordering and analysis run on the CPU."""
    card = rates.card
    numbers = card.launches + cost.elimination / card.front_rate * max(itemsize, 4) / 4
    start = counting(n, arcs) + 2 * rates.processor.supernode_vertex * n + numbers
    row = cost.sweep + _CLIMB * cost.climb
    batched = lines * (row / card.sweep_rate * max(itemsize, 4) / 4 + n * itemsize / card.write_rate)
    return Estimate(
        "elimination", cost.elimination + int(lines * row), cost.gpu_bytes(itemsize),
        start + max(card.launches, batched), start, card.launches,
    )  # fmt: skip


def dense(plan: Plan, allocated: int = 0) -> Estimate:
    """The planned dense closure, less the bytes already allocated."""
    return Estimate(plan.engine, plan.pairs, plan.beside_bytes - allocated, plan.seconds, plan.seconds, 0, plan)


def reached(tails: np.ndarray, heads: np.ndarray, n: int) -> float:
    """The share of vertices that a search reaches, from a sample: (share with out-arcs) · (share with in-arcs)."""
    share = 1.0
    for ends in (tails, heads):
        has_arc = np.zeros(max(n, 1), bool)
        has_arc[ends[:: max(1, len(ends) // (_ENDS * max(n, 1)))]] = True
        share *= np.count_nonzero(has_arc) / len(has_arc)
    return share


def search(
    n: int, arcs: int, method: str, *, reach: float = 1.0, levels: float = 0, width: float = math.inf,
    followed: float = 1.0, spread: float = 1.0,
) -> float:  # fmt: skip
    """Seconds of one search of engine `scipy` that reaches a share of a graph, about 2 · `levels` levels of this width.

    `followed` arcs lead to a vertex: beyond two they decrease no distance; similar weights (`spread`) decrease fewer.
    """
    cpu = rates.processor
    if method == "breadth-first":
        return cpu.scipy + (n + reach * arcs) * cpu.scipy_visit + 1.5 * levels * cpu.scipy_level
    nearer = cpu.scipy_decrease * min(1.0, width / _WIDE) * spread
    decreases = math.log(max(1.0, arcs / max(1, n) / max(1.0, followed / 2)))
    settled = cpu.scipy_settled * (1.0 if width > PATH else 0.5) + nearer * decreases
    near, slowdown = reach * (n * settled + arcs * cpu.scipy_arc), _beyond(n, cpu.slowdown, cpu.cached_with_heap)
    return cpu.scipy + n * cpu.scipy_vertex + near * slowdown


def spread(weights: np.ndarray) -> float:
    """√3 · σ / mean of sampled weights: 1 (the maximum) for uniform; if all alike, a first walk is nearly the best."""
    some = weights[:: max(1, len(weights) // _LOOKED)].astype(np.float64)
    heaviest = some.max(initial=0.0)
    if not 0 < heaviest < math.inf:
        return 1.0
    some /= heaviest
    mean = float(some.sum()) / len(some)
    return min(1.0, math.sqrt(3 * max(0.0, float(some @ some) / len(some) / mean**2 - 1))) if mean > 0 else 1.0


def _beyond(n: float, slope: float, cached: float | None = None) -> float:
    """The slowdown of a step in a graph of n vertices beyond the cache."""
    return 1 + slope * math.log2(max(1.0, n / (cached or rates.processor.cached)))


def searches(
    n: int, arcs: int, lines: int, columns: int, itemsize: int, method: str, *, ordered: bool = False,
    compressed: bool = False, block: int = 64, **near: float,
) -> Estimate:  # fmt: skip
    """Searches of engine `scipy` from `lines` vertices, `columns` of each row stored; arcs `ordered`, or in CSR.

    A `block` of rows is found in float64 before it is stored; `near` are the options of `search`.
    """
    cpu = rates.processor
    row = search(n, arcs, method, **near)
    sorting = cpu.listed_entry if ordered else cpu.scipy_sorted_arc
    before = cpu.question + arcs * (cpu.scipy_checked_arc if compressed else sorting)
    if method == "johnson":
        before += n * arcs * cpu.round_arc
    alone = lines <= block and columns * itemsize == n * 8  # the block is the result
    memory = lines * columns * itemsize + (0 if alone else min(lines, block) * n * 8) + 40 * arcs
    return Estimate("scipy", lines * arcs, memory, before + lines * row, before + row, row)


def relaxing(
    n: int, arcs: int, lines: int, itemsize: int, relaxed: float, followed: float = 1.0, *, tried: bool = True,
    hubs: bool = False,
) -> float:  # fmt: skip
    """Seconds of searches by weight from `lines` vertices on one thread, where four together relax `relaxed` arcs.

    `followed` arcs lead to a vertex near a source; where most close cycles (plane, space), distant sources do not meet.
    `relaxed` is a guess unless `tried`. `hubs`: searches meet at hubs.
    """
    cpu = rates.processor
    degree = max(1.0, arcs / max(1, n))
    settled = cpu.search_settled + cpu.search_degree * math.log2(1 + degree)
    four = relaxed * cpu.search_arc + relaxed / (degree + 1) * settled * _beyond(n, cpu.slowdown / 2)
    spread = min(_SPREAD, max(1.0, 1 + _CLOSING * (followed - 2)))
    if lines <= 4:
        some = (0.15 + 0.2125 * lines) * (1 + _ALONE_SPREAD * (spread - 1))
        written = n * (cpu.search_vertex + lines * itemsize * cpu.search_byte)
        return cpu.search_batch + cpu.search + written + four * some
    known, batches = cpu.lane_share if tried else cpu.few_lanes_share, -(-lines // 32)
    among = known.get(itemsize, known[8])
    if not tried:  # unknown whether they meet
        among *= _UNTRIED * spread * max(1.0, lines / _HALF) ** -_FULLER
    elif relaxed > _MET * arcs:  # only many sources are near each other
        among = _CROWD + _APART * math.sqrt(64 / lines)
    elif hubs:
        among *= _AT_HUBS
    row = n * itemsize * cpu.search_byte + four / 4 * among * _beyond(n, cpu.slowdown)
    return batches * cpu.search_batch + lines * row


def guessed(n: int, arcs: int, reach: float, width: float = math.inf, spread: float = 1.0) -> float:
    """The estimated number of arcs relaxed by four searches together; at low degree each search relaxes its own.

    Doubled where levels are as narrow as a path's; reduced for similar weights, see `spread`.
    """
    alone = min(1.0, (2.5 * n / max(1, arcs)) ** 2)
    again = 1 - _ALIKE * (1 - spread)
    return (2.2 + alone) * reach * arcs * (1.0 if width > PATH else 2.0) * again


def in_shallow_tree(n: int, arcs: int, reach: float, levels: float) -> float:
    """Arcs relaxed by four searches together in a tree of shallow neighbourhoods (as few arcs as a tree's); else 0."""
    return _SHALLOW * reach * arcs if arcs <= 2 * reach * n and 1 < levels < _NEAR_ALL else 0.0


def lanes(
    n: int, arcs: int, lines: int, columns: int, itemsize: int, relaxed: float, *, threads: int = 1, rounds: int = 0,
    ordered: bool = False, **met: Any,
) -> Estimate:  # fmt: skip
    """Searches by weight from `lines` vertices, `columns` of each row kept.

    `rounds` over all arcs come first, as for potentials; `ordered`: arcs are sorted; `met` as in `relaxing`.
    """
    cpu = rates.processor
    order = cpu.search_checked_arc if ordered else cpu.search_sorted_arc
    before = cpu.question + arcs * (order + rounds * cpu.round_arc + (cpu.landmark_arc if lines >= _TOGETHER else 0.0))
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
    cpu, card = rates.processor, rates.card
    landmarks = cpu.landmark_arc if lines >= _TOGETHER else 0.0
    before = card.launches + arcs * (cpu.search_sorted_arc + rounds * cpu.round_arc + landmarks)
    least = _GPU_BUSY * arcs / card.search_rate
    seconds = before + max(least, lines * arcs / card.search_rate) + lines * n * itemsize / card.write_rate
    block = min(lines, 32 * GPU_BATCHES)
    held = _lanes_held(n, arcs, lines, itemsize) + block * n * itemsize
    return Estimate("searches", arcs * lines, held, seconds, before + least, least)


def thinning(n: int, *, device: str = "cpu") -> float:
    """Seconds to find the best arcs of every vertex of a matrix."""
    if device == "cpu":
        return rates.processor.analysis + rates.processor.thinned_entry * n * n
    return rates.card.launches / 2 + rates.card.thinned_entry * n * n


def essential(n: int, arcs: int, itemsize: int, relaxed: float, *, threads: int = 1) -> Estimate:
    """A dense closure by searches through the essential arcs of a matrix; the other arcs are compared."""
    found = lanes(n, arcs, n, 0, itemsize, relaxed, threads=threads)
    seconds = 2 * thinning(n) + found.seconds
    return Estimate("essential", found.pairs + n * n, found.bytes, seconds, seconds, 0)


def essential_on_gpu(n: int, arcs: int, itemsize: int, levels: float) -> Estimate:
    """As `essential`, whose batches go level by level, GPU_BATCHES side by side."""
    seconds = thinning(n, device="cuda") + _RESUMED * max(n, _GPU_BUSY) * arcs / rates.card.search_rate
    seconds += -(-n // (32 * GPU_BATCHES)) * levels * rates.card.hop_level
    held = _lanes_held(n, arcs, n, itemsize) + n * 128 * (4 + itemsize)
    return Estimate("essential", arcs * n, held, seconds, seconds, 0)


def levels(n: int, count: int, products: int, held: int, *, threads: int = 1) -> Estimate:
    """`count` levels of a dense matrix by Boolean products; `held` bytes of bits."""
    cpu = rates.processor
    spent, each = n * n * cpu.levels_entry / 3, cpu.levels_entry + count * cpu.level_entry
    seconds = products * n**3 / (cpu.closure_rate["bool"] * threads) + n * n * each
    return Estimate("levels", products * n**3, 2 * n * n + held, seconds, seconds, 0, spent=spent)


def levels_on_gpu(n: int, count: int, products: int, held: int, itemsize: int) -> Estimate:
    card = rates.card
    launched = card.launches / 8 + products * card.product + count * card.counted_level
    seconds = launched + products * n**3 / card.bit_rate + (2 + count / 2) * n * n * itemsize / card.write_rate
    return Estimate("levels", products * n**3, held, seconds, seconds, 0)


def networkx(n: int, arcs: int, lines: int, name: str) -> tuple[float, float]:
    """Seconds of a NetworkX function from `lines` vertices, and overhead of our backend.

    The latter is that of conversion and of returning pairs as Python objects; structure and weights are unknown.
    """
    cpu = rates.processor
    pairs = 0 if name == "floyd_warshall_numpy" else lines * n
    here = cpu.backend + (n + arcs) * cpu.python_visit + pairs * cpu.backend_pair
    if name == "floyd_warshall_numpy":
        return n * (cpu.numpy_step + n * n * cpu.numpy_entry), here
    if name.startswith("all_pairs_shortest_path"):  # by sets, until all are seen; our paths are longer to write
        return pairs * cpu.python_visit, here + (0 if name.endswith("length") else pairs * cpu.python_visit)
    triples = n**3 if name.startswith("floyd_warshall") else 0
    return max(lines * (n + arcs) * cpu.python_visit, triples * cpu.python_triple), here


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
    cpu = rates.processor
    batches = -(-lines // batch)
    words = batch // WORD
    # A vertex is visited once per level on which sources reach it: several at once where levels are few.
    alone = 2 * levels >= WORD
    visit = cpu.hop_vertex * (1 + _LEAVING * arcs / max(1, n))
    visit *= _beyond(n * words, cpu.alone_slowdown) if alone else 1 + words / 8
    written = n * itemsize * (batch * cpu.hop_byte + min(batch, lines) * (cpu.hop_turned_byte - cpu.hop_byte))
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
    card = rates.card
    batches, words = -(-lines // batch), batch // 8
    level = (arcs + 4 * n) * words / card.word_rate + card.hop_level
    each = 2 * levels * level + n * batch * itemsize / card.write_rate
    before = arcs * rates.processor.hop_sorted_arc + card.launches
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
