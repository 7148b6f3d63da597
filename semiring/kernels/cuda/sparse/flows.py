"""Flow over arcs along best paths, on the GPU: counting climb and sweep, and their adjoint. See flows.cu."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ....host.errors import MemoryNeeded
from ....host.memory import available, require, shown
from ...cpu.sparse.counted import HINT, MANY, mutual, unreached
from .. import compile, gpu
from ..gpu import on_device
from ..library import cupy
from .classes import WARPS, PartLanes
from .counted import Numbers
from .lanes import WARP
from .layout import Layout
from .parts import Shape

if TYPE_CHECKING:
    from ....sparse.analysis import Analysis
    from ....sparse.structure import Arcs

#: Lanes of a batch; its share of free memory.
LANES, SHARE = 1 << 17, 0.6
#: Estimated lanes of a part per border row, in percent; growth allowance for the next batch.
CLASSES, MARGIN = 0.4, 1.25
#: Bound of exact path counts and lengths in float32.
EXACT = 2.0**24


def _prepare(found: compile.Functions, shape: Shape, kind: str, slack: float) -> None:
    compile.allow_shared(found["walk_regions"], shape.shared(4 if kind == "float" else 8))


@compile.unit("flows.cu", prepare=_prepare)
def text(shape: Shape, kind: str, slack: float) -> str:
    return compile.source("flows.cu", shape.text(kind, slack))


#: A part of the tree: `Part` in flows_lanes.inl.
PART = np.dtype(
    [
        *((name, np.uint64) for name in ("Y", "G", "taken", "partial", "starts", "origs", "members", "times")),
        *((name, np.int32) for name in ("lanes", "item", "sum", "sums")),
    ]
)


class Lists:
    """Entries of F that are distances, in kernel format; see lists.inl.

    known : array of PART, with first item and sum of each part, and sums per group
    items : int64 (parts,), items per part
    walked, swept, climbed : of regions, the top and its climb: rows, lengths, counts, lists, whether there are several
        walks, lengths and counts among columns
    places, owners : positions in F of the sums, and their strips or columns
    """

    def __init__(self, layout: Layout, numbers: Numbers, kernels: dict[str, Any], dtype: np.dtype) -> None:
        def launch(name: str, count: int, *given: Any) -> None:
            if count:
                kernels[name]((-(-count // 256),), (256,), given)

        of = {side: numbers.of(side) for side in ("lower", "upper")}
        spans, kinds = layout.spans, (layout.walking, layout.strips, layout.climbed)
        flags = cupy.zeros(int(spans[-1]) + 1, np.int32)
        for k, items in enumerate(kinds):
            kept, at = of["upper" if k == 2 else "lower"][0], flags[int(spans[k]) + 1 :]
            launch("flag_items", items.count, items.entries, np.int32(items.count), kept, at)
        for k, array, apart, side in ((3, layout.climbing[0], 1, "upper"), (4, layout.owing, 8, "lower")):
            at = flags[int(spans[k]) + 1 :]
            launch("flag_entries", len(array), array, np.int32(len(array)), np.int32(apart), of[side][0], at)
        order = cupy.cumsum(flags, dtype=np.int32)
        orders, told = [order[int(x) :] for x in spans], order[layout.marks].get().astype(np.int64)
        counts, parts = np.diff(told[: len(spans)]), len(layout.part_strips)
        ends, regions = np.split(told[len(spans) :], [parts])
        ends, regions = ends - told[1], regions.reshape(-1, 2)
        items_of = cupy.asarray(ends.astype(np.int32))
        # First item and sum of each part, and their number: `Part` in flows_lanes.inl.
        known = self.known = np.zeros(len(layout.parts.above) + (not layout.classes), PART)
        known["item"][: parts - 1], self.items = ends[:-1], np.diff(ends)
        known["sum"][: parts - 1] = 8 * layout.part_strips[:-1] + 4 * ends[:-1]
        known["sums"][: parts - 1] = 8 * np.diff(layout.part_strips) + 4 * self.items
        sums = 8 * layout.parts.regions + 4 * regions
        if not layout.classes:
            sums = np.array([[0, 8 * len(layout.walking.corner) + 4 * counts[0]]])
        known["sum"][len(known) - len(sums) :] = sums[:, 0]
        known["sums"][len(known) - len(sums) :] = sums[:, 1] - sums[:, 0]
        referenced, climbs = cupy.zeros(len(layout.units) + 1, np.int32), int(counts[3])
        made, self.places, self.owners = [], [], []
        for k, items in enumerate(kinds):
            count, strips = max(1, int(counts[k])), len(items.corner)
            rows, several = cupy.empty(count, np.int32), cupy.zeros(max(1, strips), np.int32)
            long, many = cupy.empty((count, 4), dtype), cupy.empty((count, 4), dtype)
            lists, first = cupy.empty(strips + 1, np.int32), (layout.n, climbs) if k == 2 else (0, 0)
            corner = [cupy.empty((max(1, strips), 6), dtype) for _ in range(2)]
            places, owners = cupy.empty((2, 8 * strips + 4 * int(counts[k]) + first[1]), np.int32)
            at = places[first[1] :], owners[first[1] :], np.int32(first[0])
            given, own, units = of["upper" if k == 2 else "lower"], items, 0 if items.units is None else items.units
            inputs: tuple[Any, ...] = own.entries, own.rows, own.strips, np.int32(own.count), orders[k], *given
            launch("fill_items", own.count, *inputs, rows, long, many, several, *at, units, referenced)
            inputs = own.corner, own.starts, np.int32(strips), orders[k], *given
            launch("fill_strips", strips + 1, *inputs, *corner, lists, several, *at)
            made.append((rows, long, many, lists, several, *corner))
            self.places.append(places)
            self.owners.append(owners)
        self.walked, self.swept, self.climbed = made
        entries, slots, columns, starts = layout.climbing
        self.climb_entries = cupy.empty((max(1, climbs), 2), dtype)
        self.climb_numbers = cupy.empty(max(1, climbs), dtype)
        # Starts of each column's sums, then ends of each strip's.
        self.climb_sums = cupy.empty(len(starts) + len(self.climbed[3]) - 1, np.int32)
        self.climb_begin = self.climb_sums[: len(starts)]
        inputs = entries, slots, columns, np.int32(len(entries)), orders[3], *of["upper"]
        out = self.climb_entries, self.climb_numbers, self.places[2], self.owners[2]
        launch("fill_climb", len(entries), *inputs, *out)
        launch("fill_begins", len(starts), starts, np.int32(len(starts)), orders[3], self.climb_begin)
        strips, sums = self.climbed[3], self.climb_sums[len(starts) :]
        launch("fill_sums", len(strips) - 1, strips, np.int32(len(strips) - 1), np.int32(climbs), sums)
        count, begin = max(1, int(counts[4])), layout.owing_begin
        of_debts = (cupy.empty(count, dtype) for _ in range(2))
        self.debts = cupy.empty((count, 4), np.int32), *of_debts, cupy.empty_like(begin)
        inputs = layout.owing, np.int32(len(layout.owing)), orders[4], orders[1], items_of
        launch("fill_debts", len(layout.owing), *inputs, *of["lower"][1:], *self.debts[:3])
        launch("fill_begins", len(begin), begin, np.int32(len(begin)), orders[4], self.debts[3])
        self.units = cupy.empty((len(layout.units), 8), np.int32)
        inputs = layout.units, np.int32(len(layout.units)), *self.walked[3:5]
        launch("fill_units", len(layout.units), *inputs, referenced, self.units)


class Flows:
    """Flow over arcs, from sums over the best paths of sources, on the current device.

    See `semiring.sparse.flows.Flows`.

    analysis : caches the layout, for other weights
    arcs : places of arcs in the fronts
    lengths : float64 (arcs,), in the order of the fronts; finite, and exact or nonnegative
    slack : relative tolerance of equal lengths
    """

    def __init__(
        self, analysis: Analysis, arcs: Arcs, lengths: np.ndarray, slack: float, shape: Shape | None = None
    ) -> None:
        self.number, self.S = gpu.current(), analysis.structure
        self.slack, self.arcs, self._not_negative = slack, arcs, bool(lengths.min(initial=0.0) >= 0)
        shape = (shape or Shape.of(slack)).within(gpu.most_shared(self.number))
        trees, key = analysis.on_devices, ("flows", self.number, shape, slack > 0)
        if key not in trees:
            trees[key] = Layout(self.S, shape, classes=not slack)
        self.layout = trees[key]
        self.numbers = Numbers(self.layout, arcs, lengths, slack)

    @cached_property
    @on_device
    def suitable(self) -> bool:
        """Whether no cycle has length 0. Waits for the elimination, which overlaps the host's preparations."""
        told = self.numbers.told
        if told.free:
            return False
        short = not self.slack and self._not_negative and max(told.longest, told.most) < EXACT
        self._use("float" if short else "double")
        return True

    def _use(self, kind: str) -> None:
        N, layout = self.numbers, self.layout
        self.kind, self.dtype = kind, np.dtype(np.float32 if kind == "float" else np.float64)
        self.kernels = text.functions(layout.shape, kind, self.slack)
        self.lists = Lists(layout, N, self.kernels, self.dtype)
        self.below, self.beyond = cupy.zeros(N.entries), cupy.zeros(N.entries)
        self.missing, self.greatest = cupy.zeros(layout.n, np.int32), cupy.zeros(2)

    def _line(self) -> int:
        layout, known, items, size = self.layout, self.lists.known, self.lists.items, self.dtype.itemsize
        part = np.minimum(1.0, CLASSES / 100 * (layout.parts.counts + 8))
        if not layout.classes:
            part = np.ones(len(known))
        part[0] = 1.0
        rows, owed, flags = np.zeros((3, len(known)))
        for array, values in ((rows, layout.parts.rows), (owed, layout.parts.owed), (flags, items)):
            array[: len(values)] = values
        group = WARP * layout.shape.each
        each = rows * (2 * size + 8) + owed * 8 + (known["sums"] * 8.0 + flags + owed + rows) / group
        pairs = part[layout.parts.above[1:]].sum() if layout.classes else 0.0
        return int((part * each).sum() + 48 * pairs) + layout.height * (2 * size + 12) + 256

    @on_device
    def add(
        self, sources: np.ndarray, asked: Any, report: Callable[[int], None], times: np.ndarray | None = None
    ) -> bool:
        """See the CPU's; only demand that is equal for all sources, or an integer multiple of it."""
        if callable(asked) or (times is not None and (times != np.rint(times)).any()):
            return False
        times = np.ones(len(sources)) if times is None else times
        alike = mutual(sources, asked, times)
        every = len(sources) == self.S.n and bool((sources == np.arange(self.S.n)).all())
        order = self.S.permutation if every else np.argsort(self.S.position[sources])
        columns, times = np.arange(self.S.n) if every else self.S.position[sources[order]], times[order]
        asks = np.ascontiguousarray(asked[self.S.permutation], np.float64)
        if not self.suitable:
            return False
        half = alike and self.numbers.told.symmetric
        self.sources = sources
        wanted = cupy.asarray(asks)
        unit, start, line = WARP * self.layout.shape.each, 0, self._line()
        require(line * unit, "cuda", where="flows", hint=HINT)
        most, free = LANES, (available("cuda") or 1 << 30) * SHARE
        while start < len(columns):
            # A power of two, so that sums have a fixed order, whatever memory is free.
            lanes = unit << max(0, int(np.log2(max(1, min(most, free / line) / unit))))
            lanes = min(lanes, -(-(len(columns) - start) // unit) * unit)
            part = slice(start, start + lanes)
            try:
                taken = self._batch(columns[part], wanted, times[part], half=half)
            except MemoryError:  # more classes than estimated
                if lanes == unit:
                    what = f"flows: sums from {unit} sources must fit on cuda"
                    raise MemoryNeeded(f"{what}, got {shown(int(free / SHARE))} free. {HINT}") from None
                most = lanes // 2
                continue
            start, line = start + lanes, max(1, int(MARGIN * taken / lanes))
            report(min(start, len(columns)))
        if half:
            self.below = self.beyond = self.below + self.beyond
            if self.missing.any():  # each column was reported by earlier ones alone
                self.missing = cupy.asarray(unreached(self.S, self.arcs))
        farthest, most = self.greatest.get().tolist()
        if self.kind == "float" and max(farthest, most) >= EXACT:
            self._use("double")
            return self.add(sources, asked, report, times[np.argsort(order)])
        return most <= (1.0 if self.slack else MANY)

    def _batch(self, columns: np.ndarray, wanted: Any, times: np.ndarray, *, half: bool) -> int:
        """Rows of some sources, and their dependencies; half of the pairs if that suffices. Returns the bytes used."""
        layout, lists, found, wide = self.layout, self.lists, self.kernels, WARP * self.layout.shape.each
        groups = -(-len(columns) // wide)
        lanes = groups * wide
        of_lanes = np.full(lanes, -1, np.int32)
        of_lanes[: len(columns)] = columns
        starts, pitch, halved = cupy.asarray(of_lanes), np.int32(lanes), np.int32(half)
        z, owed = cupy.empty((layout.height, lanes, 2), self.dtype), cupy.empty((layout.height + 1, lanes))
        path, missing = cupy.empty((max(layout.height, 1), lanes), np.int32), cupy.zeros(layout.n, np.int32)
        climbing = lists.climb_entries, lists.climb_numbers, lists.climb_begin
        places, ends = (layout.lowest, layout.base), (missing, self.greatest)
        paths, blocks, each = (*places, starts, z), -(-groups // WARPS), (WARP * WARPS,)

        def launch(name: str, nodes: Any, blocks: int, *given: Any) -> None:
            found[name]((len(nodes) * blocks,), each, (nodes, np.int32(len(nodes)), *given))

        on_path = layout.above_column, layout.base, layout.bottom, layout.which, starts, z, owed, path
        found["climb"]((blocks,), each, (*climbing, *on_path, pitch))
        for nodes in reversed(layout.levels):
            launch("climb_level", nodes, blocks, *lists.climbed, *paths, owed, pitch)
        parts = PartLanes(self, columns, half=half)  # overlaps the climb
        parts.begin(of_lanes, times)
        for tier, levels in enumerate(layout.swept):
            parts.reach(tier)
            given = *lists.swept, *places, parts.table, z, pitch, *ends, halved
            each_node = parts.blocks(tier)
            for nodes in levels:
                launch("sweep_down", nodes, each_node, *given)
        if layout.walks:
            parts.reach(len(layout.swept))
            walk = lists.units, *lists.walked[:4], *lists.walked[5:]
            others = layout.roots, layout.root_rows, wanted, layout.lowest
            memory = parts.table, z, owed, pitch, *ends, halved
            shape, last = layout.shape, len(layout.parts.tiers) - 1
            blocks_each, threads = parts.blocks(last, shape.warps), (WARP * shape.warps,)
            for rows, program, regions, of in layout.walks:
                given = regions, of, np.int32(len(regions)), *walk, *others, *memory, np.int32(rows)
                size = shape.shared(self.dtype.itemsize, rows, program)
                found["walk_regions"]((len(regions) * blocks_each,), threads, given, size)
            parts.owe(len(layout.swept))
        given = *lists.swept, wanted, *lists.debts, *places, parts.table, z, owed, pitch, halved
        for tier, levels in reversed(list(enumerate(layout.swept))):
            each_node = parts.blocks(tier)
            for nodes in [*reversed(levels), *([layout.borders[tier]] if tier else [])]:
                launch("sweep_up", nodes, each_node, *given)
            parts.owe(tier)
        # The climb's flow, by groups with lanes below each column; neighbours, as lanes are sorted.
        active = starts[: len(columns)]
        low, high = active.searchsorted(layout.low), active.searchsorted(layout.high)
        touched = cupy.where(high > low, -(-high // wide) - low // wide, 0).astype(np.int32)
        size = touched * (-(-(lists.climb_sums[1:] - lists.climb_sums[:-1]) // 4) * 4).astype(np.int64)
        begins = cupy.cumsum(size) - size
        sums, first = cupy.empty(max(int(begins[-1] + size[-1]), 1)), (low // wide).astype(np.int32)
        tables = begins[layout.n :], first[layout.n :], sums  # of strips
        for nodes in layout.levels:
            launch("climb_back_level", nodes, blocks, *lists.climbed, *paths, owed, pitch, *tables)
        rest = layout.base, starts, z, owed, path, pitch, begins, first, sums
        found["climb_back"]((blocks,), each, (*climbing, *rest))
        self.missing += missing
        for of, last_met, to, strips in zip(layout.parts_of, layout.last, lists.places, lists.owners, strict=False):
            if len(to):
                given = parts.table, of, strips, last_met, np.int32(len(to)), to, self.below, halved
                found["join_groups"]((-(-len(to) // 256),), (256,), given)
        to, owners = lists.places[2], lists.owners[2]
        if len(to):
            given = sums, lists.climb_sums, owners, np.int32(len(to)), begins, touched, to, self.beyond
            found["join_climbs"]((-(-len(to) // 256),), (256,), given)
        return parts.taken + sum(array.nbytes for array in (z, owed, path, sums))

    @property
    @on_device
    def ends(self) -> np.ndarray:
        """Number of other sources that reach each vertex."""
        ends = np.empty(self.S.n, np.int64)
        ends[self.S.permutation] = len(self.sources) - self.missing.get()
        ends[self.sources] -= 1
        return ends

    @property
    @on_device
    def carried(self) -> np.ndarray:
        """Flow over each arc, float64, in the order of the fronts."""
        return self.numbers.spread(self.below, self.beyond).get()

    def along(self) -> np.ndarray:
        """Flow over each arc, in input order."""
        out = np.empty(len(self.arcs.arc))
        out[self.arcs.arc] = self.carried
        return out
