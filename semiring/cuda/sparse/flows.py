"""What arcs carry if demand takes best paths, on the GPU: climb and sweep with numbers, run backwards. See flows.cu."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...cpu.sparse import regions, walks
from ...cpu.sparse.counted import HINT, MANY
from ...cpu.sparse.mutual import mutual, unreached
from ...memory import available, require
from .. import compile, gpu
from ..gpu import on_device
from .sweep import WARP, addresses

if TYPE_CHECKING:
    from ...sparse.analysis import Analysis
    from ...sparse.structure import Arcs

#: Lanes of a batch, and bytes that it may take of the free ones.
LANES, SHARE = 1 << 17, 0.6
#: Numbers of best paths that float32 holds exactly; and lengths.
EXACT = 2.0**24
#: Groups of lanes that a block has in the top.
WARPS = 4


@dataclass(frozen=True)
class Shape:
    """Sizes of the kernels.

    Attributes
    ----------
    each : int
        Lanes of a thread.
    warps : int
        Warps of a block that walks a region.
    stack : int
        Rows of a stack.
    program : int
        Bytes that a region takes in addition.
    """

    each: int = 2
    warps: int = 4
    stack: int = 16
    program: int = 8 << 10

    def shared(self, itemsize: int) -> int:
        """Bytes of a block that walks a region, of lengths of so many bytes."""
        path = self.stack * WARP * self.each * (2 * itemsize + 8)
        return self.warps * path + self.program * itemsize // 4

    def within(self, limit: int) -> Shape:
        """The same with fewer warps, where a block may have no more than `limit` bytes."""
        few = self.warps
        while few > 1 and replace(self, warps=few).shared(8) > limit:
            few -= 1
        return replace(self, warps=few)

    def text(self, kind: str, slack: float) -> str:
        """As constants for the kernels."""
        names = f"each = {self.each}, warps = {self.warps}, stack_rows = {self.stack}"
        return (
            f"constexpr int {names};\nusing Length = {kind};\nusing Number = {kind};\n"
            f"constexpr bool slack = {str(slack > 0).lower()};\nconstexpr double scale = {1.0 + slack!r};\n"
        )


def text(shape: Shape, kind: str, slack: float) -> str:
    """The translation unit."""
    return compile.source("flows.cu", shape.text(kind, slack))


@lru_cache(maxsize=16)
def kernels(shape: Shape, kind: str, slack: float, device: int) -> dict[str, Any]:
    """The entry functions on a device."""
    names = ["walk_regions", "sweep_down", "sweep_up", "join_groups", "join_climbs"]
    names += ["climb", "climb_level", "climb_back_level", "climb_back"]
    unit = compile.functions(text(shape, kind, slack), name="flows.cu")
    found = {name: unit.get_function(name) for name in names}
    compile.allow_shared(found["walk_regions"], shape.shared(4 if kind == "float" else 8))
    return found


#: Threads of a block that has a front, and up to which orders it has fewer.
THREADS, FRONTS = (64, 256, 1024), (32, 128)
#: A supernode as elimination with numbers meets it: `Front` in counted.cu.
FRONT = np.dtype(
    [
        *((name, np.int32) for name in ("width", "rows", "child", "sibling", "parent", "arcs", "stop", "unused")),
        *((name, np.int64) for name in ("square", "begin", "factor", "unused2")),
    ]
)


@lru_cache(maxsize=16)
def counted_kernels(slack: float, device: int) -> dict[str, Any]:
    """The entry functions of elimination with numbers, on a device."""
    unit = compile.functions(counted_text(slack), name="counted.cu")
    return {name: unit.get_function(name) for name in ("eliminate", "keep", "spread")}


def counted_text(slack: float) -> str:
    """The translation unit."""
    return compile.source("counted.cu", f"constexpr double scale = {1.0 + slack!r};\n")


class Layout:
    """A structure on the current device, as a sweep backwards walks it."""

    def __init__(self, S: Any, shape: Shape) -> None:
        import cupy

        self.S, self.shape, self.n = S, shape, S.n
        count = len(S)
        w, r = (np.diff(x).astype(np.int64) for x in (S.first, S.begin))
        m = w + r
        each = w * (m - 1) - w * (w - 1) // 2
        self.entries = entries = int(each.sum())
        path_place, above_column, lowest = np.empty((3, S.n), np.int32)
        climbed, columns = np.empty(entries, np.int32), np.empty(S.n + 1, np.int64)
        walks.paths(
            S.first, S.begin, S.rows, S.base, S.parent, S.leaf, path_place, above_column, lowest, climbed, columns
        )
        strip_count = -(-w // 4)
        items = strip_count * m - 2 * strip_count * (strip_count - 1) - w
        total = np.concatenate(([0], np.cumsum(96 * strip_count + 20 * items)))
        kind, low, high = np.zeros((3, count), np.int32)
        limit = shape.program - 64
        tree = S.parent, S.child, S.leaf, S.first, S.begin, total
        found = walks.subtrees(*tree, shape.stack, limit, np.zeros(count, np.int64), kind, low, high)
        top = np.flatnonzero(kind == regions.TOP).astype(np.int32)
        rank = np.full(S.n, -1, np.int32)
        of_top = np.repeat(kind == regions.TOP, w)
        self.top_columns = int(of_top.sum())
        rank[of_top] = np.arange(self.top_columns)
        # Regions, and the order in which their supernodes are done.
        in_region, roots = np.zeros((found, 2), np.int32), np.zeros((count, 4), np.int32)
        listed, units = np.zeros(count - len(top), np.int32), np.zeros((int(strip_count.sum()), 5), np.int32)
        root, numbered, begun = np.zeros((3, count), np.int32)
        tables = S.first, S.begin, S.rows, S.base, S.parent, S.child, low[:found], high[:found]
        root_count, unit_count = walks.walked(*tables, root, in_region, roots, listed, units, numbered)
        units, roots = units[:unit_count], roots[:root_count]
        roots[:, 0] = S.begin[roots[:, 0]]  # their rows are those of the structure
        self.owed = owed = int(roots[:, 1].sum())

        def four(supernodes: np.ndarray) -> tuple[np.ndarray, ...]:
            strips, size = int(strip_count[supernodes].sum()), int(items[supernodes].sum())
            lists, corner = np.empty(strips + 1, np.int64), np.empty((strips, 6), np.int32)
            entries, met = np.empty((size, 4), np.int32), np.empty(size, np.int32)
            walks.strips(supernodes, S.first, S.begin, S.rows, columns, begun, lists, corner, entries, met)
            return lists, corner, entries, met

        put = cupy.asarray
        *self.walking, met = four(listed)
        self.walking, slots = [put(x) for x in self.walking], np.empty(len(met), np.int32)
        walks.slots(listed, S.first, S.begin, S.rows, S.base, path_place, root, met, slots)
        which, s, wide = np.full(S.n + 1, -1, np.int32), units[:, 3], units[:, 2]
        of_unit = np.repeat(np.arange(unit_count), wide)
        which[units[of_unit, 1] + np.arange(len(of_unit)) - np.repeat(np.cumsum(wide) - wide, wide)] = of_unit
        strip = begun[s] + (units[:, 1] - S.first[s]) // 4
        self.units = [
            put(x) for x in (units[:, 0], units[:, 1], path_place[units[:, 1]], strip, units[:, 2], units[:, 4])
        ]
        self.which, self.slots, self.met = put(which), put(slots), put(which[met])
        *self.strips, met = four(top)
        self.strips = [put(x) for x in self.strips]
        self.rows_above, self.places_above = put(rank[met]), put(path_place[met])
        # Of each row of what roots of regions owe, its column in the top; of columns there their strip, and its first.
        row = np.repeat(roots[:, 0] - np.cumsum(roots[:, 1]) + roots[:, 1], roots[:, 1]) + np.arange(owed)
        self.owed_rows = put(rank[S.rows[row]])
        of_strip = np.repeat(top, strip_count[top])
        strip_rows = (rank[S.first[of_strip]] + 4 * (np.arange(len(of_strip)) - begun[of_strip])).astype(np.int32)
        self.strip_rows = put(strip_rows)
        self.strip_of = put(np.searchsorted(strip_rows, np.arange(self.top_columns), side="right").astype(np.int32) - 1)
        depth = np.zeros(count, np.int32)
        regions.depths(S.parent, depth)
        nodes = np.zeros((len(top), 4), np.int32)
        for k, values in enumerate((S.first[:-1], rank[S.first[:-1]], w, begun)):
            nodes[:, k] = values[top]
        by = np.argsort(depth[top], kind="stable")
        on_device = put(nodes[by])
        self.levels = [on_device[run] for run in _runs(depth[top][by])]
        self.height = S.height
        # The climb through regions, a column at a time; and through the top.
        in_regions = np.repeat(~of_top, np.diff(columns))
        starts = np.concatenate(([0], np.cumsum(np.where(of_top, 0, np.diff(columns)))))
        self.climbing = put(np.flatnonzero(in_regions)), put(climbed[in_regions]), put(starts)
        # Lanes below each column of a region, and below the supernode of each strip.
        self.low = put(np.concatenate((lowest, lowest[S.first[of_strip]])))
        last = S.first[of_strip + 1] - 1
        self.high = put(np.concatenate((np.arange(S.n), last)) + 1)
        # The last column that is met where each strip is: of its region, and of its supernode in the top.
        root = np.maximum(in_region[:, 1] - 1, 0)
        of_region = np.repeat(units[root, 1] + units[root, 2] - 1, np.diff(in_region, axis=1).ravel())
        self.last = put(of_region.astype(np.int32)), put(last.astype(np.int32))
        self.bottom = put((S.base + w - 1).astype(np.int32)[S.owner])
        self.base, self.above, self.lowest = put(path_place), put(above_column), put(lowest)
        self.roots, self.root_rows, self.regions = put(roots), put(rank[S.rows]), put(in_region)
        self.front, self.squares, self.local = np.zeros(count, FRONT), int((m**2).sum()), put(S.local)
        fields = {
            "width": w, "rows": r, "child": S.child, "sibling": S.sibling, "parent": S.parent, "begin": S.begin[:-1],
            "square": np.cumsum(m**2) - m**2, "factor": np.cumsum(each) - each,
        }  # fmt: skip
        for name, values in fields.items():
            self.front[name] = values
        size = np.searchsorted(FRONTS, m)
        key = depth * len(THREADS) + size
        by = np.argsort(key, kind="stable")
        supernodes = put(by.astype(np.int32))
        self.fronts = [(supernodes[run], THREADS[size[by[run.start]]]) for run in _runs(key[by])]

    def bytes(self, itemsize: int) -> int:
        """What a lane takes in memory, without its sums."""
        return self.top_columns * (2 * itemsize + 8) + 8 * self.owed + self.height * (2 * itemsize + 12)


def _runs(keys: np.ndarray) -> list[slice]:
    """Where equal keys, which are sorted, begin and end."""
    edges = [0, *(np.flatnonzero(np.diff(keys)) + 1).tolist(), len(keys)]
    return [slice(*run) for run in pairwise(edges) if run[1] > run[0]]


def _before(flags: Any) -> Any:
    """How many are true before each, and in all; int32."""
    import cupy

    counted = cupy.zeros(len(flags) + 1, np.int32)
    if len(flags):
        counted[1:] = cupy.cumsum(flags.astype(np.int32))
    return counted


class Lists:
    """Entries of F that are distances, by lists: what kernels read.

    Attributes
    ----------
    begin : int32 array (lists + 1,)
    entries : array (entries, 2)
        The length of each, and a 32-bit integer that says what it meets.
    numbers : array (entries,)
    places : int32 array (entries,)
        Where each is in F.
    """

    def __init__(self, table: tuple[Any, ...], kept: Any, lengths: Any, numbers: Any, dtype: np.dtype) -> None:
        import cupy

        order, slots, lists = table
        flags = kept[order]
        self.begin = _before(flags)[lists]
        selected = cupy.flatnonzero(flags)
        self.places = order[selected].astype(np.int32)
        self.entries = cupy.zeros((len(self.places), 2), dtype)
        self.entries[:, 0] = lengths[self.places]
        self.entries.view(np.int32)[:, dtype.itemsize // 4] = slots[selected]
        self.numbers = numbers[self.places].astype(dtype)

    def __len__(self) -> int:
        return len(self.places)

    @property
    def tables(self) -> tuple[Any, ...]:
        """What a kernel reads them from."""
        return addresses(self.entries, self.numbers, self.begin)


class Strips:
    """The same, four columns at a time; a row that none of their entries leads to is left out.

    Attributes
    ----------
    selected : int array (items,)
        Which of the rows are left.
    lists : int32 array (strips + 1,)
        Where those of each strip begin.
    strip : int array (items,)
        Which strip each is of.
    several : int32 array (strips,)
        1 where an entry stands for several walks.
    begin : int32 array (strips + 1,)
        Where the sums of each strip begin.
    tables : tuple
        What a kernel reads them from.
    places : int32 array (sums,)
        Where each of a group's sums is in F, −1 for none.
    """

    def __init__(self, tables: Any, rows: Any, kept: Any, lengths: Any, numbers: Any, dtype: np.dtype) -> None:
        import cupy

        def of(entries: Any) -> tuple[Any, Any, Any]:
            there = (entries >= 0) & (kept[entries] != 0)
            return (
                there,
                cupy.where(there, lengths[entries], np.inf).astype(dtype),
                cupy.where(there, numbers[entries], 1).astype(dtype),
            )

        begin, corner, four = tables
        there, long, many = of(four)
        any_of = there.any(axis=1)
        selected = cupy.flatnonzero(any_of)
        lists = _before(any_of)[begin]
        corner_there, corner_long, corner_many = of(corner)
        long, many, there = (cupy.ascontiguousarray(x[selected]) for x in (long, many, there))
        before = _before((many != 1).any(axis=1))[lists]
        several = ((before[1:] > before[:-1]) | (corner_many != 1).any(axis=1)).astype(np.int32)
        rows = cupy.ascontiguousarray(rows[selected])
        # Of each strip the six sums of its corner and two that are none, then four an item.
        strips = len(corner)
        self.begin = (8 * cupy.arange(strips + 1) + 4 * lists).astype(np.int32)
        self.places = cupy.full(8 * strips + 4 * len(selected), -1, np.int32)
        starts = self.begin[:-1]
        self.places[starts[:, None] + cupy.arange(6)] = cupy.where(corner_there, corner, -1)
        self.strip = strip = cupy.searchsorted(begin[1:], selected, side="right")
        starts = 8 * (strip + 1) + 4 * cupy.arange(len(selected))
        self.places[starts[:, None] + cupy.arange(4)] = cupy.where(there, four[selected], -1)
        self.selected, self.lists, self.several = selected, lists, several
        self.arrays = rows, long, many, lists, several, corner_long, corner_many
        self.tables = addresses(*self.arrays)


class Flows:
    """What each arc of a graph carries, from sums over the best paths of sources; on the current device.

    What `semiring.sparse.flows.Flows` is on a processor.

    Parameters
    ----------
    analysis : Analysis
        It stores the layout, for other weights.
    arcs : Arcs
        Where arcs lie in the fronts.
    lengths : float64 array, shape (arcs,)
        In the order of the fronts; finite, and exact or not negative.
    slack : float
        By how much of a length two may differ that count as equal.
    shape : Shape, optional
    """

    def __init__(
        self, analysis: Analysis, arcs: Arcs, lengths: np.ndarray, slack: float, shape: Shape | None = None
    ) -> None:
        self.number, self.S = gpu.current(), analysis.structure
        self.suitable, self.slack, self.arcs = False, slack, arcs
        shape = (shape or Shape()).within(gpu.most_shared(self.number))
        trees, key = analysis.on_devices, ("flows", self.number, shape)
        if key not in trees:
            trees[key] = Layout(self.S, shape)
        self.layout = trees[key]
        self.numbers = Numbers(self.layout, arcs, lengths, slack)
        longest, free = self.numbers.greatest.get().tolist()
        if free:
            return
        short = not self.slack and lengths.min() >= 0 and longest < EXACT and float(self.numbers.most) < EXACT
        self._use("float" if short else "double")
        self.suitable = True

    def _use(self, kind: str) -> None:
        """Compute in these numbers, from the beginning."""
        import cupy

        N, layout = self.numbers, self.layout
        self.kind, self.dtype = kind, np.dtype(np.float32 if kind == "float" else np.float64)
        self.kernels = kernels(layout.shape, kind, self.slack, gpu.current())
        lower, upper = ((*N.of(side), self.dtype) for side in ("lower", "upper"))
        walked = self.walked = Strips(layout.walking, layout.slots, *lower)
        self.strips = Strips(layout.strips, layout.rows_above, *lower)
        self._ask()
        self.climbing = Lists(layout.climbing, *upper)
        self.climbed = Strips(layout.strips, layout.places_above, *upper)
        # Sums of the climb: of columns of regions, then of strips of the top.
        self.climb_sums = cupy.concatenate((self.climbing.begin, len(self.climbing) + self.climbed.begin[1:]))
        self.climb_places = cupy.concatenate((self.climbing.places, self.climbed.places))
        sums = cupy.arange(len(self.climb_places))
        self.owners = cupy.searchsorted(self.climb_sums, sums, side="right").astype(np.int32) - 1
        # Of the sums of each group their strip, as regions and as the top have them.
        self.strips_of = [
            cupy.searchsorted(part.begin[1:], cupy.arange(len(part.places)), side="right").astype(np.int32)
            for part in (walked, self.strips)
        ]
        # What a region reads of its columns.
        n, (up, first, base, strip, width, own) = layout.n, layout.units
        referenced = cupy.zeros(len(up) + 1, np.int32)
        referenced[layout.met[walked.selected]] = 1
        own = cupy.where(referenced[:-1] > 0, own, -1)
        begin, count = walked.lists[strip], walked.lists[strip + 1] - walked.lists[strip]
        several = walked.several[strip]
        words = begin, up, first, base, strip, count | (own << 16), width | (several << 16), several
        self.units = cupy.ascontiguousarray(cupy.stack(words, axis=1).astype(np.int32))
        self.below, self.beyond = cupy.zeros(N.entries), cupy.zeros(N.entries)
        self.missing, self.greatest = cupy.zeros(n, np.int32), cupy.zeros(2)
        self.count, self.sources = 0, np.zeros(n, np.int64)

    def _ask(self) -> None:
        """By strip of the top, what may be owed to its columns: `Part` in flows.cu, by roots of regions first."""
        import cupy

        layout, strips = self.layout, self.strips
        rows, lengths, numbers = strips.arrays[:3]
        entries = cupy.flatnonzero(lengths < np.inf)
        item, column, owed = entries // 4, entries % 4, cupy.arange(layout.owed)
        strip, none = strips.strip[item], cupy.full(layout.owed, -1, np.int32)
        above = cupy.concatenate((layout.owed_rows, rows[item]))
        asking = layout.strip_of[above]
        what = above - layout.strip_rows[asking] + cupy.concatenate((16 + 0 * none, 4 * column))
        flag = cupy.concatenate((len(rows) + owed, item))
        row = cupy.concatenate((layout.top_columns + owed, layout.strip_rows[strip] + column))
        place = cupy.concatenate((none, entries + 8 * (strip + 1)))
        order = cupy.argsort(asking, kind="stable")
        parts = cupy.stack((flag, row, what, place), axis=1)[order].astype(np.int32)
        of_parts = (
            cupy.concatenate((cupy.zeros(layout.owed, self.dtype), x.ravel()[entries]))[order]
            for x in (lengths, numbers)
        )
        lists = cupy.searchsorted(asking[order], cupy.arange(len(strips.lists))).astype(np.int32)
        self.parts = *(cupy.ascontiguousarray(x) for x in (parts, *of_parts)), lists

    @on_device
    def add(
        self, sources: np.ndarray, asked: Any, report: Callable[[int], None], times: np.ndarray | None = None
    ) -> bool:
        """As the CPU's; of what every source asks alike alone, or each so many times that."""
        import cupy

        if callable(asked):
            return False
        columns, times = self.S.position[sources], np.ones(len(sources)) if times is None else times
        half = mutual(sources, asked, times) and self.numbers.symmetric
        before, missing = (self.below, self.beyond), self.missing.copy()
        if half:
            self.below, self.beyond = (cupy.zeros(len(sums)) for sums in before)
        order = np.argsort(columns)
        columns, times = columns[order], times[order]
        wanted = cupy.asarray(np.ascontiguousarray(asked[self.S.permutation], np.float64))
        unit = WARP * self.layout.shape.each
        each = 16 * (len(self.walked.places) + len(self.strips.places)) + self.layout.owed + len(self.strips.selected)
        line = self.layout.bytes(self.dtype.itemsize) + each // unit
        lanes = min(LANES, int((available("cuda") or 1 << 30) * SHARE / line), len(columns) + unit - 1) // unit * unit
        require(line * unit, "cuda", where="flows", hint=HINT)
        lanes = max(lanes, unit)
        for start in range(0, len(columns), lanes):
            self._batch(columns[start : start + lanes], wanted, times[start : start + lanes], half=half)
            report(min(start + lanes, len(columns)))
        if half:
            either = self.below + self.beyond
            self.below, self.beyond = before[0] + either, before[1] + either
            if (self.missing != missing).any():  # of each column, those before it alone have told
                self.missing = missing + cupy.asarray(unreached(self.S, self.arcs))
        self.count += len(sources)
        self.sources[sources] += 1
        farthest, most = self.greatest.get().tolist()
        if self.kind == "float" and max(farthest, most) >= EXACT:
            self._use("double")
            return self.add(sources, asked, report, times[np.argsort(order)])
        return most <= (1.0 if self.slack else MANY)

    def _batch(self, columns: np.ndarray, wanted: Any, times: np.ndarray, *, half: bool) -> None:
        """The rows of some sources, and what they owe; half of them if that will do."""
        import cupy

        layout, found, wide = self.layout, self.kernels, WARP * self.layout.shape.each
        groups = -(-len(columns) // wide)
        lanes = groups * wide
        starts = np.full(lanes, -1, np.int32)
        starts[: len(columns)] = columns
        starts, factors = cupy.asarray(starts), np.ones(lanes)
        factors[: len(columns)] = times
        factors = cupy.asarray(factors)
        pitch, halved = np.int32(lanes), np.int32(half)
        Y, z = (cupy.empty((max(rows, 1), lanes, 2), self.dtype) for rows in (layout.top_columns, layout.height))
        items = len(self.strips.selected)  # then come rows of what roots of regions owe
        G, owed = (cupy.empty((rows + 1, lanes)) for rows in (layout.top_columns + layout.owed, layout.height))
        taken = cupy.zeros((items + layout.owed + 1, groups), np.uint8)  # by groups that leave out a column, too
        path = cupy.empty((max(layout.height, 1), lanes), np.int32)
        blocks = -(-groups // WARPS)
        each, many, climbing = (WARP * WARPS,), len(layout.regions), self.climbing.tables
        on_path = addresses(layout.above, layout.base, layout.bottom, layout.which, starts, z, owed, path)
        found["climb"]((blocks,), each, (*climbing, *on_path, pitch))
        paths, ends = addresses(layout.lowest, layout.base, starts, z), addresses(self.missing, self.greatest)
        for nodes in reversed(layout.levels):
            level = nodes.data.ptr, np.int32(len(nodes)), *self.climbed.tables
            found["climb_level"]((len(nodes) * blocks,), each, (*level, *paths, owed.data.ptr, pitch))
        low, high = len(self.walked.places), len(self.strips.places)
        partial, partial_above = cupy.empty((groups, max(low, 1))), cupy.zeros((groups, max(high, 1)))
        for nodes in layout.levels:
            level = nodes.data.ptr, np.int32(len(nodes)), *self.strips.tables
            arguments = *level, *paths, *addresses(Y, taken), pitch, *ends, halved
            found["sweep_down"]((len(nodes) * blocks,), each, arguments)
        if many:
            shape = layout.shape
            slots, lengths, numbers, lists, _, corner, corner_numbers = self.walked.tables
            given = layout.regions.data.ptr, np.int32(many), self.units.data.ptr
            walk = slots, lengths, numbers, lists, corner, corner_numbers
            others = layout.roots, layout.root_rows, wanted, factors, layout.lowest, starts, z, owed, Y
            owes = G.data.ptr + 8 * lanes * layout.top_columns, taken.data.ptr + groups * items
            arguments = *given, *walk, *addresses(*others), *owes, pitch
            found["walk_regions"](
                (many * -(-groups // shape.warps),),
                (WARP * shape.warps,),
                (*arguments, partial.data.ptr, partial.shape[1], *ends, halved),
                shape.shared(self.dtype.itemsize),
            )
        for nodes in reversed(layout.levels):
            level = nodes.data.ptr, np.int32(len(nodes)), *self.strips.tables
            tables = addresses(wanted, factors, *self.parts)
            memory = *addresses(owed, Y, G, taken), pitch, partial_above.data.ptr, partial_above.shape[1], halved
            arguments = *level, *tables, *paths, *memory
            found["sweep_up"]((len(nodes) * blocks,), each, arguments)
        # Groups whose lanes meet each column: neighbours, as lanes are sorted.
        active = starts[: len(columns)]
        for part, last, strips, summed in zip(
            (self.walked, self.strips), layout.last, self.strips_of, (partial, partial_above), strict=True
        ):
            met = active[::wide].searchsorted(last, side="right") if half else cupy.full(len(last), groups, np.int32)
            groups_of = strips, met.astype(np.int32)
            self._join(
                "join_groups", len(part.places), (summed.data.ptr, summed.shape[1]), part.places, self.below, groups_of
            )
        low, high = active.searchsorted(layout.low), active.searchsorted(layout.high)
        touched = cupy.where(high > low, -(-high // wide) - low // wide, 0).astype(np.int32)
        size = touched * (-(-(self.climb_sums[1:] - self.climb_sums[:-1]) // 4) * 4).astype(np.int64)
        places = cupy.cumsum(size) - size
        climbed, first = cupy.empty(max(int(places[-1] + size[-1]), 1)), (low // wide).astype(np.int32)
        at = 8 * layout.n, 4 * layout.n  # where those of strips begin
        for nodes in layout.levels:
            level = nodes.data.ptr, np.int32(len(nodes)), *self.climbed.tables, *paths, owed.data.ptr, pitch
            tables = places.data.ptr + at[0], first.data.ptr + at[1], climbed.data.ptr
            found["climb_back_level"]((len(nodes) * blocks,), each, (*level, *tables))
        rest = *addresses(layout.base, starts, z, owed, path), pitch, *addresses(places, first, climbed)
        found["climb_back"]((blocks,), each, (*climbing, *rest))
        tables = addresses(climbed, self.climb_sums, self.owners)
        self._join("join_climbs", len(self.climb_places), tables, self.climb_places, self.beyond, (places, touched))

    def _join(
        self, name: str, count: int, before: tuple[Any, ...], places: Any, sums: Any, more: tuple[Any, ...] = ()
    ) -> None:
        """Add what groups summed up to the sums of all."""
        if count:
            rest = (np.int32(count), *addresses(*more, places, sums))
            self.kernels[name]((-(-count // 256),), (256,), (*before, *rest))

    @property
    @on_device
    def ends(self) -> np.ndarray:
        """How many sources reach each vertex, its own left out."""
        ends = np.empty(self.S.n, np.int64)
        ends[self.S.permutation] = self.count - self.missing.get()
        return ends - self.sources

    @on_device
    def along(self) -> np.ndarray:
        """What each arc carries, float64; they are in the order given."""
        out = np.empty(len(self.arcs.arc))
        out[self.arcs.arc] = self.numbers.spread(self.below, self.beyond).get()
        return out


class Numbers:
    """Lengths and numbers of best walks of each entry of F, on the current device; and elimination run backwards."""

    def __init__(self, layout: Layout, arcs: Any, lengths: np.ndarray, slack: float) -> None:
        import cupy

        entries = layout.entries
        self.layout, self.entries = layout, entries
        fronts, total = layout.front.copy(), layout.squares
        fronts["arcs"], fronts["stop"] = arcs.begin[:-1], arcs.begin[1:]
        require(32 * total + 52 * entries, "cuda", where="flows", hint=HINT)
        doubles = {name: cupy.empty(total) for name in ("lengths", "numbers", "lengths_across", "numbers_across")}
        doubles |= {name: cupy.empty(entries) for name in ("lower", "lower_numbers", "upper", "upper_numbers")}
        flags = {name: cupy.empty(entries, np.uint8) for name in ("lower_kept", "upper_kept")}
        self.greatest, self.carried = cupy.zeros(2), cupy.zeros(len(lengths))
        self.arrays = {
            "fronts": cupy.asarray(fronts.view(np.uint8)), "local": layout.local,
            "arc_row": cupy.asarray(arcs.row), "arc_col": cupy.asarray(arcs.col), "weights": cupy.asarray(lengths),
            **doubles, **flags, "lower_sums": self.carried, "upper_sums": self.carried, "carried": self.carried,
            "greatest": self.greatest,
        }  # fmt: skip
        self.kernels = counted_kernels(slack, gpu.current())
        self._run("eliminate", deepest=True)
        self._run("keep")
        self.most = max(self.arrays[f"{side}_numbers"].max() for side in ("lower", "upper")) if entries else 0

    @cached_property
    def symmetric(self) -> bool:
        """Whether every arc weighs the same both ways: so do all entries of F."""
        pairs = (self.arrays[f"lower{name}"] == self.arrays[f"upper{name}"] for name in ("", "_numbers", "_kept"))
        return all(bool(same.all()) for same in pairs)

    def of(self, side: str) -> tuple[Any, Any, Any]:
        """Which entries of F are distances, their lengths and numbers: of "lower", or "upper"."""
        kept, lengths, numbers = (self.arrays[f"{side}{name}"] for name in ("_kept", "", "_numbers"))
        return kept, lengths, numbers

    def _run(self, name: str, *, deepest: bool = False) -> None:
        import cupy

        tables = cupy.asarray(np.array(addresses(*self.arrays.values()), np.uint64))
        steps = self.layout.fronts
        for supernodes, threads in reversed(steps) if deepest else steps:
            self.kernels[name]((len(supernodes),), (threads,), addresses(tables, supernodes))

    def spread(self, below: Any, beyond: Any) -> Any:
        """What each arc carries, from sums of the entries of F."""
        self.arrays["lower_sums"], self.arrays["upper_sums"] = below, beyond
        self._run("spread")
        return self.carried
