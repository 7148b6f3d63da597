"""Edge loads when demand takes best paths: climb, sweep and elimination run backwards."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra import dtypes
from ..algebra.catalog import get
from ..algebra.ranges import cut
from ..algebra.records import Semiring
from ..algebra.units import exact
from ..dense.cycles import Lengths
from ..host.memory import require
from ..host.types import Array, DType
from ..kernels.cpu.code import CALL, Entry, gain, machine_code
from ..kernels.cpu.kinds import Kind, choose
from ..kernels.cpu.pool import run
from ..kernels.cpu.processors import default_threads
from ..kernels.cpu.routes.equality import SLACK
from ..kernels.cpu.sparse import alike, backward, counted, sweep
from ..kernels.cpu.sparse.counted import HINT, MANY, mutual, unreached
from . import pendant, structure
from .buffers import addresses, aligned

if TYPE_CHECKING:
    from .elimination import Elimination

#: Most lanes of a batch; and where lanes with equal entries in a subtree are merged there.
LANES, ALIKE = 128, 256
#: Batches summed before joining the totals: independent of the number of threads, so sums are reproducible.
CHUNK = 8
#: Bytes of the root path that fit a core's private cache.
NEAR = 1 << 20
#: Least and most columns of subtrees in which equal lanes are merged.
SUBTREES = 64, 4096
#: Cost, in sweep pairs, of a pair of elimination with counts, and of a step of a single row.
ELIMINATED, ALONE = 10, 4


def lengths_of(semiring: Semiring, weights: np.ndarray, n: int) -> tuple[np.ndarray, float] | None:
    """Lengths of arcs in exact units, and the tolerance of equality; None where ties cannot be decided exactly."""
    lengths = Lengths.of(semiring)
    if lengths is None or lengths.logarithmic or not len(weights) or not semiring.lengths:
        return None
    own = lengths.of_entries(weights, dtypes.zero(semiring, weights.dtype))
    longest = max(float(own.max()), -float(own.min()))
    if not longest < 2.0**53:  # NaN neither
        return None
    whole = not dtypes.SCALARS[weights.dtype].floating
    precision = np.finfo(np.float64 if whole else weights.dtype)
    units = exact(own, n, precision.nmant + 1, longest, whole=whole)
    if units is not None:
        return units, 0.0
    return None if own.min() < 0 else (own, float(precision.eps) ** SLACK)


def worthwhile(E: Elimination, arcs: int, sources: int) -> bool:
    """Whether flows from `sources` sources cost less than their rows, at a step an arc and 16 a vertex each."""
    swept = max(sources, 16) * (E.cost.sweep + E.cost.climb)
    return ELIMINATED * E.cost.elimination + swept < ALONE * sources * (arcs + 16 * E.n)


def flows(
    E: Elimination, tails: np.ndarray, heads: np.ndarray, weights: np.ndarray, threads: int | None = None
) -> Array:
    """`Flows` of an elimination, on its device; unusable unless `suitable`."""
    if E.on_device is None:
        return Flows(E, tails, heads, weights, threads)
    found, S = lengths_of(E.semiring, weights, E.n), E.analysis.structure
    if found is None:
        return SimpleNamespace(suitable=False)
    lengths, slack = found
    without_trees = pendant.placed(E, tails, heads, lengths) if not slack else None
    if without_trees is None:

        def place() -> structure.Arcs:
            return structure.arcs(S, tails.astype(np.int32), heads.astype(np.int32), threads or default_threads())

        arcs = pendant.last(E.analysis, (tails, heads), place)
        return E.on_device.flows(E.analysis, arcs, np.ascontiguousarray(lengths[arcs.arc]), slack)
    core, there, lengths = without_trees
    inner = E.on_device.flows(core.analysis, there.arcs, lengths, slack) if len(lengths) else None
    return pendant.Flows(core, there, inner)


class Flows:
    """Load of each arc, summed over the best paths from sources.

    Arcs have no loops and no parallels. Only if `suitable` (lengths exact or non-negative, no zero cycle) may `add` be
    called, once; if that is True, `along`, and `ends`: the number of other sources that reach each vertex. About four
    sweeps a source, four more for elimination with counts, and three times the panels in float64; MemoryNeeded before
    any work. Recursion: Brandes 2001, "A faster algorithm for betweenness centrality".
    """

    def __init__(
        self, E: Elimination, tails: np.ndarray, heads: np.ndarray, weights: np.ndarray, threads: int | None = None
    ) -> None:
        S = self.S = E.analysis.structure
        threads = self.threads = threads or default_threads()
        self.suitable = False
        self._sums: list[np.ndarray]
        self.ends: np.ndarray
        self._half = False  # whether sums are of half of all pairs, which go both ways
        found = lengths_of(E.semiring, weights, S.n)
        if found is None:
            return
        units, self.slack = found
        w, r = (np.diff(x).astype(np.int64) for x in (S.first, S.begin))
        m = w + r
        self.factor = np.concatenate(([0], np.cumsum(w * (m - 1) - w * (w - 1) // 2)))
        self.offset = np.zeros(len(S), np.int64)  # of each front, after its ancestors
        counted.below(S.parent, m * m, self.offset)
        updates, front, path = int((S.update + r * r).max()), int(m.max()), int((self.offset + m * m).max())
        factors = int(self.factor[-1])
        entries = (10 + 2 * threads) * factors + 2 * max(updates + front**2, path)
        require(8 * entries, where="flows", hint=HINT)
        arcs = self.arcs = structure.arcs(S, tails.astype(np.int32), heads.astype(np.int32))
        self.lengths = np.ascontiguousarray(units[arcs.arc])
        self._ends = tails.astype(np.int64), heads.astype(np.int64)
        self.F = [np.empty(factors) for _ in range(4)]  # lengths and counts of paths below the diagonal, then above it
        memory = *np.empty((2, updates)), *np.empty((2, front * front))
        for start, stop in self._pieces(S.work, 16):
            if counted.eliminate(
                start, stop, self.slack, S.first, S.begin, S.local, S.child, S.sibling, arcs.begin, arcs.row, arcs.col,
                self.lengths, S.update, self.factor, *memory, *self.F,
            ):  # fmt: skip
                return
        del memory
        self._keep(path)
        # Maximal subtrees within SUBTREES: their supernodes, last first, and columns.
        high = structure.tops(S.parent, S.leaf, S.first, SUBTREES[1])[::-1] + 1
        high = high[S.first[high] - S.first[S.leaf[high - 1]] >= SUBTREES[0]]
        low = S.leaf[high - 1]
        self.subtrees = low, high, (S.first[low], S.first[high])
        self._use(np.int32 if not self.slack and units.min() >= 0 and self.longest < backward.SHORT else np.float64)
        self.suitable = True

    def lanes(self, sources: int, *, exact: bool = False) -> int:
        """Lanes of a batch for `sources` sources; more with `exact`: unit demands and exact lengths."""
        unit, limit = self.kind.tile.width // self.kind.itemsize, ALIKE if exact else LANES
        near = NEAR * limit // LANES
        most = max(near // ((self.kind.itemsize + 16) * max(1, self.S.height)) // unit * unit, 64)
        return min(most, limit, -(-sources // unit) * unit)

    def add(self, sources: np.ndarray, asked: np.ndarray | Callable[[slice], np.ndarray], report: Any) -> bool:
        """Find the flow from sources to all vertices reached; False where it is not defined.

        Not defined: more than 2¹⁰⁰⁰ best paths, demand without a path, or paths that only rounding distinguishes.
        asked: demand from every source by vertex, float64 (n,); or a callable from a slice of sources to (sources, n).
        report(done) is called with the number of sources done. MemoryNeeded for all demands.
        """
        if not len(sources):
            return True
        alike = not callable(asked) and bool((asked == 1.0).all())
        self._half = alike and mutual(sources, np.ones(self.S.n), np.ones(len(sources))) and self.symmetric
        fits = self._add(sources, asked, report, alike=alike)
        if fits is None:
            self._use(np.float64)
            fits = self._add(sources, asked, report, alike=alike)
        if self._half:
            self.ends[self.S.permutation] = self.S.n - 1 - unreached(self.S, self.arcs)
        return bool(fits)

    def _add(
        self, sources: np.ndarray, asked: np.ndarray | Callable[[slice], np.ndarray], report: Any, *, alike: bool
    ) -> bool | None:
        """`add`; None where int32 overflows."""
        exact = alike and not self.slack
        lanes = self.lanes(len(sources), exact=exact)
        order = np.argsort(self.S.position[sources], kind="stable") if not callable(asked) else np.arange(len(sources))
        parts = [order[k : k + lanes] for k in range(0, len(order), lanes)]
        chunks = [parts[k : k + CHUNK] for k in range(0, len(parts), CHUNK)]
        unit = np.ones((1, lanes)) if alike else None
        if self._half:
            unit = np.concatenate((np.ones((1, lanes)), np.tri(lanes, k=-1)))
        count = min(self.threads, len(chunks))
        if unit is None:  # demand of every lane at every vertex
            require(8 * count * self.S.n * lanes, where="flows", hint=HINT)
        workers = [_Worker(self, lanes) for _ in range(count)]
        done = 0
        for k in range(0, len(chunks), len(workers)):
            group = chunks[k : k + len(workers)]

            def chunk(worker: int, number: int) -> None:
                for part in group[number]:  # noqa: B023 — it runs before the loop goes on
                    panel = unit if unit is not None else self._panel(asked, part, lanes)
                    workers[number].batch(sources[part], panel, half=self._half, exact=exact)

            run(chunk, [(number,) for number in range(len(group))], self.threads)
            for worker in workers[: len(group)]:
                worker.join(self)
                if worker.most[2].view(np.int32).max() >= backward.SHORT and dtypes.SCALARS[self.dtype].integer:
                    return None
                if worker.most[0].max() > (1.0 if self.slack else MANY) or (callable(asked) and worker.most[1].any()):
                    return False
            done += sum(len(part) for chunk in group for part in chunk)
            report(done)
        return True

    def along(self) -> np.ndarray:
        """Load of each arc, float64, in the order given."""
        found = self._along(self._sums)
        if not self._half:
            return found
        (tails, heads), n = self._ends, self.S.n
        keys = tails * n + heads
        order = np.argsort(keys)
        return np.asarray(found + found[order[np.searchsorted(keys[order], heads * n + tails)]])

    @cached_property
    def symmetric(self) -> bool:
        """Whether every arc weighs the same both ways."""
        lower, lower_counts, upper, upper_counts = self.F
        return np.array_equal(lower, upper) and np.array_equal(lower_counts, upper_counts)

    def _along(self, sums: list[np.ndarray]) -> np.ndarray:
        S, arcs, (lower, lower_counts, upper, upper_counts) = self.S, self.arcs, self.F
        m = np.diff(S.first) + np.diff(S.begin)
        size = int((self.offset + m.astype(np.int64) ** 2).max())
        F, G, below, carried = np.empty(size), np.empty(size), np.zeros(len(lower)), np.zeros(len(arcs.arc))
        below[self.entries], beyond = sums
        for start, stop in reversed(self._pieces(S.work, 16)):
            counted.spread(
                start, stop, S.first, S.begin, S.local, S.parent, arcs.begin, arcs.row, arcs.col, self.lengths,
                self.factor, self.offset, lower, lower_counts, below, upper, upper_counts, beyond, F, G, carried,
            )  # fmt: skip
        out = np.empty(len(carried))
        out[arcs.arc] = carried
        return out

    def _use(self, dtype: DType) -> None:
        """Choose the dtype and reset all sums."""
        self.dtype = np.dtype(dtype)
        self.kind = choose(get("min_plus"), self.dtype, True)
        self._sums = [np.zeros(len(x)) for x in (self.entries, self.F[2])]
        self.lower, self.upper = self._placed(self.F[0][self.entries]), self._placed(self.F[2])
        self.ends = np.zeros(self.S.n, np.int64)

    def _keep(self, path: int) -> None:
        """Entries of F that best walks may use, by columns."""
        S, size, self.longest = self.S, len(self.F[0]), 0.0
        self.starts, slots, entries = np.full(S.n + 1, size), np.empty(size, np.int32), np.empty(size, np.int64)
        D = np.empty(path)
        for start, stop in reversed(self._pieces(S.work, 16)):
            longest = counted.kept(
                start, stop, self.slack, S.first, S.begin, S.slot, S.base, S.local, S.parent, self.factor, self.offset,
                self.F[0], self.F[2], D, self.starts, slots, entries,
            )  # fmt: skip
            self.longest = max(self.longest, longest)
        begin = self.starts[0]
        self.starts, self.slots, self.entries = self.starts - begin, slots[begin:].copy(), entries[begin:].copy()
        self.counts = self.F[1][self.entries]

    def _placed(self, lengths: np.ndarray) -> np.ndarray:
        """Lengths in the sweep's dtype; those too long for a best path become infinite."""
        if dtypes.SCALARS[self.dtype].floating:
            return lengths
        return np.where(lengths < backward.SHORT, lengths, 2**31 - 1).astype(np.int32)

    def _panel(self, asked: Any, part: np.ndarray, lanes: int) -> np.ndarray:
        """Demand by vertex and lane, shape (n, lanes)."""
        panel = np.zeros((self.S.n, lanes))
        panel[:, : len(part)] = asked(slice(part[0], part[-1] + 1)).T if callable(asked) else asked[:, None]
        return panel

    def _pieces(self, work: np.ndarray, each: int) -> list[tuple[int, int]]:
        """Ranges of supernodes with about the work of one call."""
        return cut(work, max(1, CALL * 64 // each))


class _Worker:
    """Workspace of a thread: root path, and sums not yet joined."""

    def __init__(self, flows: Flows, lanes: int) -> None:
        S, self.flows, self.rows = flows.S, flows, lanes
        self.sums = [np.zeros(len(x)) for x in flows._sums]
        self.y, *self.numbers = (aligned((max(1, S.height), lanes), d) for d in (flows.dtype, *[_F64] * 2))
        self.places, self.path = np.full(len(S), -1, np.int32), np.empty(len(S), np.int32)
        self.index = np.empty(S.front, np.int32)
        self.width = flows.kind.tile.width // flows.kind.itemsize
        self.nothing: dict[int, np.ndarray] = {}  # by lanes: a row of infinite lengths and one of zero counts
        self.members = self._members(np.ones(lanes))
        self.ends, self.most = np.zeros(max(S.n, lanes + 1), np.int64), np.zeros((4, 16))
        self.asked = np.zeros(S.n, np.int32)
        self.most[3] = 1.0 + flows.slack
        self.climb, self.sweep, self.climb_back = _code(flows.kind)
        pieces = flows._pieces(flows.starts[S.first], max(1, 4 * lanes * 64 // gain(flows.kind)))
        self.stops = np.array([start for start, _ in pieces])
        # Merged lanes of a subtree: their rows, and the workspace of `alike.together`.
        self.own = [aligned((max(1, S.height) * lanes,), d) for d in (flows.dtype, *[_F64] * 2)]
        self.which, self.keys = np.zeros((2, lanes), np.int32), np.empty((2, lanes), np.int64)
        self.near, self.walks = np.empty((2, lanes), flows.dtype), np.empty((2, lanes))
        self.alike, self.whole = aligned((len(self.members),), _F64), dtypes.SCALARS[flows.dtype].integer
        self.addresses = addresses(*self.own, self.alike, self.ends, self.most)

    def _members(self, members: np.ndarray) -> np.ndarray:
        """Sources per lane as a sweep reads them, followed by the int64 sum of each vector."""
        made = aligned((len(members) + len(members) // self.width,), _F64)
        made[: len(members)] = members
        made[len(members) :].view(np.int64)[:] = members.reshape(-1, self.width).sum(axis=1)
        return made

    def _nothing(self, lanes: int) -> np.ndarray:
        if lanes not in self.nothing:
            row = self.nothing[lanes] = aligned((2 * lanes,), _F64)
            row[:] = 0.0
            kind = self.flows.kind
            row.view(np.uint8)[: lanes * kind.itemsize].view(self.flows.dtype)[:] = kind.zero
        return self.nothing[lanes]

    def batch(self, sources: np.ndarray, asked: np.ndarray, *, half: bool, exact: bool = False) -> None:
        """Sweep some sources and back-propagate demand; `exact`: exact lengths and unit demands.

        With `half`, sources are neighbours in elimination order and demand nothing at columns before their own: row 0
        of `asked` is for columns after all of them, row k + 1 for the k-th source's own.
        """
        flows, S, lanes = self.flows, self.flows.S, self.rows
        places = S.position[sources]
        found = sweep.ancestors(places, S.owner, S.parent, self.places, self.path)
        path = np.sort(self.path[:found])
        columns = sweep.places(path, S.first, self.places)
        z, numbers, owed = (aligned((columns, lanes), dtype) for dtype in (flows.dtype, _F64, _F64))
        z[:], numbers[:] = flows.kind.zero, 0.0
        owners, lane = S.owner[places], np.arange(len(places))
        own = self.places[owners] + places - S.first[owners]
        z[own, lane], numbers[own, lane] = flows.kind.one, 1.0
        below, beyond = self.sums
        upper = flows.upper, flows.F[3]
        climbed = path, self.places, S.first, S.begin, S.rows, S.owner, flows.factor, self.index, *upper
        self.climb.call(flows.kind, lanes, len(path), *addresses(*climbed, z, numbers, self.most))
        lowest, rows = 0, S.permutation
        if half:
            lowest, rows = int(owners[0]), self.asked
            rows[S.first[lowest] : places[0]] = 1  # before the sources: no demand
            rows[places] = np.arange(1, len(places) + 1)
        swept = self.places, S.first, S.parent, S.base, flows.starts, flows.slots, rows
        lower = flows.lower, flows.counts, below
        tables = addresses(*swept, *lower, self.y, *self.numbers, z, numbers, owed)
        told = addresses(self.ends, self.most, self.members)
        rest = *addresses(self._nothing(lanes), asked), int(len(asked) > 1), *told
        stop, begun = len(S), -1

        def go(start: int, stop: int) -> None:
            nonlocal begun
            stops = self.stops[(self.stops > start) & (self.stops < stop)].tolist()
            for low, high in reversed(list(pairwise([start, *stops, stop]))):
                self.sweep.call(flows.kind, lanes, low, high, lowest, begun, -1, *tables, *rest)
                begun = low

        for low, high in self._subtrees(places, lowest) if exact else ():
            if high < stop:
                go(high, stop)
            if not self._together(low, high, len(places), tables):
                go(low, high)
            stop = low
        if begun != lowest:  # else the sweep is complete, and the last demand passed on
            go(lowest, stop)
        if half:
            rows[S.first[lowest] : places[-1] + 1] = 0
        self.climb_back.call(flows.kind, lanes, len(path), *addresses(*climbed, beyond, z, numbers, owed))
        self.ends[sources] -= 1  # no path to itself
        self.places[path] = -1

    def _subtrees(self, places: np.ndarray, lowest: int) -> list[tuple[int, int]]:
        """Ranges of supernodes that are subtrees without a source, last first.

        With `half`, too, all sources have demand there: they are neighbours, and none comes after such a subtree.
        """
        low, high, columns = self.flows.subtrees
        free = np.searchsorted(places, columns[0]) == np.searchsorted(places, columns[1])
        free &= low >= lowest
        return list(zip(low[free].tolist(), high[free].tolist(), strict=True))

    def _together(self, low: int, high: int, active: int, tables: list[int]) -> bool:
        """Sweep a subtree once per class of equal lanes; False if classes are too many."""
        S, kind, begin = self.flows.S, self.flows.kind, self.flows.S.begin
        rows = S.slot[begin[high - 1] : begin[high]]
        if not len(rows):  # unreachable from outside
            return True
        told, none = (self.which, self.keys, self.near, self.walks, self.alike), self.flows.dtype.type(kind.zero)
        wide, farthest = alike.together(self.y, self.numbers[0], rows, none, active, self.width, *told, *self.own)
        if 2 * wide > self.rows:
            return False
        if self.whole and farthest >= backward.SHORT:
            self.most[2].view(np.int32)[0] = backward.SHORT
        own = [*tables[:_PATH], *self.addresses[:3], *tables[_PATH + 3 :], self._nothing(wide).ctypes.data]
        members, ends, most = self.addresses[3:]
        self.sweep.call(kind, wide, low, high, low, -1, int(S.parent[high - 1]), *own, members, 0, ends, most, members)
        alike.owe(self.numbers[1], self.own[2], rows, active, wide, self.which, self.walks, self.alike)
        return True

    def join(self, flows: Flows) -> None:
        for total, added in zip(flows._sums, self.sums, strict=True):
            total += added
            added[:] = 0.0
        flows.ends += self.ends[: flows.S.n]
        self.ends[:] = 0


_F64 = np.dtype(np.float64)
#: Index among a sweep's tables of the path's lengths, followed by its counts and demand.
_PATH = 10


@cache
def _code(kind: Kind) -> tuple[Entry, Entry, Entry]:
    parts = (backward.climb, 15), (backward.sweep, 28), (backward.climb_back, 16)
    climb, swept, back = (machine_code(part, kind, "i" * count) for part, count in parts)
    return climb, swept, back
