"""Device layout of a structure for sums over best paths: rows of parts, and dependency lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....algebra.ranges import positions, runs
from ...cpu.sparse import regions, walks
from .. import gpu
from ..library import cupy
from .parts import Parts, Shape

if TYPE_CHECKING:
    from ....sparse.structure import Arcs

#: Block sizes for fronts, orders up to which the smaller ones apply; most blocks per front.
THREADS, FRONTS, TEAM = (64, 256, 1024), (32, 128), 32
#: Granularity of region stacks in rows.
STACK = 8
#: A supernode in counting elimination: `Front` in counted.cu.
FRONT = np.dtype(
    [
        *((name, np.int32) for name in ("width", "rows", "child", "sibling", "parent", "arcs", "stop", "unused")),
        *((name, np.int64) for name in ("square", "begin", "factor", "unused2")),
    ]
)


class Items:
    """Rows below strips of four columns whose entries may be distances, on the current device.

    host, starts : int64 (strips + 1,), starts per strip, on the host and on the device
    corner : int32 (strips, 6), entries among a strip's columns, −1 for none
    entries : int32 (count, 4)
    rows, strips, units : int32 (count,), the kernel's row, the strip, and the unit that is met, or None
    """

    def __init__(self, starts: Any, corner: Any, entries: Any, rows: Any, strips: Any, units: Any = None) -> None:
        def put(array: Any) -> Any:
            return None if array is None else cupy.asarray(np.ascontiguousarray(array, np.int32))

        self.host, self.count = starts, len(rows)
        self.starts, self.corner, self.entries = put(starts), put(corner), put(entries)
        self.rows, self.strips, self.units = put(rows), put(strips), put(units)


class Layout:
    """A structure on the current device, as adjoint sweeps walk it: in parts, or all with the same lanes.

    walking, strips, climbed : rows met by regions, by the top, and by its climb
    swept : nodes of each tier, parents first; `levels` are those of all tiers
    fronts : supernodes eliminated together, blocks per supernode, block size; parents first
    spans, marks : starts of lists of candidate entries, and which of their counts the host needs
    """

    walking: Items
    strips: Items
    climbed: Items
    units: Any
    owing: Any
    owing_begin: Any
    part_strips: np.ndarray

    def __init__(self, S: Any, shape: Shape, *, classes: bool) -> None:
        self.S, self.shape, self.n, self.classes, self.height = S, shape, S.n, classes, S.height
        self._placed: Any = None
        parts = self.parts = Parts(S, shape, classes=classes)
        w, m = parts.width, parts.width + parts.reach
        each = w * (m - 1) - w * (w - 1) // 2
        self.entries, self.squares = int(each.sum()), int((m**2).sum())
        place, above_column, lowest = np.empty((3, S.n), np.int32)
        climbed, columns = np.empty(self.entries, np.int32), np.empty(S.n + 1, np.int64)
        tree = S.first, S.begin, S.rows, S.base, S.parent, S.leaf
        walks.paths(*tree, place, above_column, lowest, climbed, columns)
        put = cupy.asarray
        self.base, self.above_column, self.lowest = put(place), put(above_column), put(lowest)
        self.bottom = put((S.base + w - 1).astype(np.int32)[S.owner])
        begun = np.zeros(len(S), np.int32)  # first strip of each supernode
        depth = np.zeros(len(S), np.int32)
        regions.depths(S.parent, depth)
        self._regions(place, columns, begun)
        self._top(place, columns, begun, lowest, depth)
        self._climb(climbed, columns)
        lists = self.walking.count, self.strips.count, self.climbed.count, len(self.climbing[0]), len(self.owing)
        self.spans = np.concatenate(([0], np.cumsum(lists)))
        bounds = self.strips.host[self.part_strips], self.walking.host[parts.regions.ravel()]
        self.marks = put(np.concatenate((self.spans, self.spans[1] + bounds[0], self.spans[0] + bounds[1])))
        self._fronts(each, depth)

    def _four(self, supernodes: np.ndarray, columns: np.ndarray, begun: np.ndarray) -> tuple[np.ndarray, ...]:
        """Strips of supernodes as in `walks.strips`: lists, corners, entries, and columns met."""
        S, parts = self.S, self.parts
        strips, size = int(parts.strip_count[supernodes].sum()), int(parts.items[supernodes].sum())
        lists, corner = np.empty(strips + 1, np.int64), np.empty((strips, 6), np.int32)
        entries, met = np.empty((size, 4), np.int32), np.empty(size, np.int32)
        walks.strips(supernodes, S.first, S.begin, S.rows, columns, begun, lists, corner, entries, met)
        return lists, corner, entries, met

    def _regions(self, place: np.ndarray, columns: np.ndarray, begun: np.ndarray) -> None:
        """Inputs of regions: units, items, and parameters per region."""
        S, parts, put = self.S, self.parts, cupy.asarray
        units, regions = parts.units, parts.regions
        starts, corner, entries, met = self._four(parts.order, columns, begun)
        slots = np.empty(len(met), np.int32)
        walks.slots(parts.order, S.first, S.begin, S.rows, S.base, place, parts.root, met, slots)
        which, s, wide = np.full(S.n + 1, -1, np.int32), units[:, 3], units[:, 2]
        which[positions(units[:, 1], wide)] = np.repeat(np.arange(len(units)), wide)
        strip = begun[s] + (units[:, 1] - S.first[s]) // 4
        words = units[:, 0], units[:, 1], place[units[:, 1]], strip, units[:, 2], units[:, 4]
        self.units, self.which = put(np.stack(words, axis=1).astype(np.int32)), put(which)
        strips = np.repeat(np.arange(len(corner)), np.diff(starts))
        self.walking = Items(starts, corner, entries, slots, strips, which[met])
        # The last column that meets each strip of a region, and its part.
        last, strips = np.maximum(regions[:, 1] - 1, 0), np.diff(regions, axis=1).ravel()
        self.last = [put(np.repeat(units[last, 1] + units[last, 2] - 1, strips).astype(np.int32))]
        self.parts_of = [put(np.repeat(parts.of_region, strips))]
        # Regions of similar stacks: stack rows, input bytes, indices, and parts.
        size = -(-parts.stacks // STACK)
        by = np.argsort(size, kind="stable")
        alike = [by[run] for run in runs(size[by])]
        self.walks = [
            (
                STACK * int(size[some[0]]),
                int(parts.programs[some].max()),
                put(regions[some]),
                put(parts.of_region[some]),
            )
            for some in alike
        ]
        roots, sizes = parts.roots.copy(), parts.roots[:, 1].astype(np.int64)
        if self.classes:  # rows are those of its own part
            roots[:, 0], roots[:, 2], rows = 0, 0, np.arange(int(sizes.max(initial=1)))
        else:
            roots[:, 0], roots[:, 2] = np.cumsum(sizes) - sizes, parts.first_owed
            rows = parts.row_in(np.repeat(parts.owing_above, sizes), S.rows[parts.ranges(parts.owing)])
        self.roots, self.root_rows = put(roots), put(rows.astype(np.int32))

    def _top(
        self, place: np.ndarray, columns: np.ndarray, begun: np.ndarray, lowest: np.ndarray, depth: np.ndarray
    ) -> None:
        """The top, by levels and parts: strips and nodes."""
        S, parts, put = self.S, self.parts, cupy.asarray
        top, w, many = parts.top, parts.width[parts.top], len(parts.tier_of)
        lists, corner, entries, met = self._four(top, columns, begun)
        of_strip, item_strip = np.repeat(top, parts.strip_count[top]), np.repeat(np.arange(len(corner)), np.diff(lists))
        strip_part = parts.part[of_strip]
        self.part_strips = np.searchsorted(strip_part, np.arange(len(parts.above) + 1))
        rows = parts.row_in(strip_part[item_strip], met)
        self.strips, self.climbed = (Items(lists, corner, entries, x, item_strip) for x in (rows, place[met]))
        first = S.first[of_strip] + 4 * (np.arange(len(of_strip)) - begun[of_strip])
        strip_rows, stop = parts.row_in(strip_part, first), S.first[of_strip + 1]
        self.last.append(put((stop - 1).astype(np.int32)))
        self.parts_of.append(put(strip_part.astype(np.int32)))
        # Lanes below each column, and below the supernode of each strip.
        self.low = put(np.concatenate((lowest, lowest[S.first[of_strip]])))
        self.high = put(np.concatenate((np.arange(S.n), stop - 1)) + 1)
        borders = np.where(np.arange(len(parts.above)) < many, -(-parts.counts // 4), 0)
        border_strip = len(of_strip) + np.cumsum(borders) - borders
        self._debts(entries, item_strip, rows, strip_part, strip_rows, stop - first, border_strip, int(borders.sum()))
        within, alike = np.zeros(len(S), np.int32), parts.part[S.parent] == parts.part
        regions.depths(np.where(alike, S.parent, -1).astype(np.int32), within)  # from the uppermost of each part
        nodes = np.zeros((len(top), 8), np.int32)
        for k, values in enumerate((S.first[top], strip_rows[begun[top]], w, begun[top], parts.part[top])):
            nodes[:, k] = values
        by = np.argsort(depth[top], kind="stable")
        on_device = put(nodes[by])
        self.levels = [on_device[run] for run in runs(depth[top][by])]
        tier = parts.tier_of[parts.part[top]]
        key = tier * (len(S) + 1) + within[top]
        by = np.argsort(key, kind="stable")
        on_device = put(nodes[by])
        steps = [(tier[by[run.start]], on_device[run]) for run in runs(key[by])]
        above_regions = [run for run in parts.tiers if run.start < many]
        self.swept = [[step for of, step in steps if of == parts.tier_of[run.start]] for run in above_regions]
        at_borders = np.zeros((many, 8), np.int32)
        at_borders[:, 2], at_borders[:, 3] = parts.counts[:many], border_strip[:many]
        at_borders[:, 4], at_borders[:, 5] = np.arange(many), 1
        self.borders = [put(at_borders[run]) for run in above_regions]
        self.border_rows = put(parts.row_in(parts.above[parts.border_of], parts.borders).astype(np.int32))
        self.cut_low, self.cut_high = S.first[S.leaf[parts.cuts]], S.first[parts.cuts + 1] - 1

    def _debts(
        self, entries: np.ndarray, item_strip: np.ndarray, rows: np.ndarray, strip_part: np.ndarray,
        strip_rows: np.ndarray, wide: np.ndarray, border_strip: np.ndarray, borders: int,
    ) -> None:  # fmt: skip
        """Dependencies of rows of strips and borders, by strip: on parts below, then along entries."""
        parts, many = self.parts, len(self.parts.tier_of)
        base = np.cumsum(parts.rows) - parts.rows
        asking, which = np.empty((2, int(parts.rows[:many].sum())), np.int64)  # strip of each row, and its index there
        for k in range(4):
            here = np.flatnonzero(wide > k)
            at = base[strip_part[here]] + strip_rows[here] + k
            asking[at], which[at] = here, k
        of = np.repeat(np.arange(many), parts.counts[:many])
        row = np.arange(len(of)) - parts.starts[of]
        asking[base[of] + row], which[base[of] + row] = border_strip[of] + row // 4, row % 4
        sizes = parts.reach[parts.owing]
        owed_part = np.repeat(parts.owing_above, sizes)
        owed = positions(parts.first_owed, sizes)
        owed_at = base[owed_part] + parts.row_in(owed_part, self.S.rows[parts.ranges(parts.owing)])
        entry = np.flatnonzero(entries.ravel() >= 0)
        item, c = entry // 4, entry % 4
        strip = item_strip[item]
        part = strip_part[strip]
        at, none = base[part] + rows[item], np.zeros_like(owed)
        fields = (
            (none - 1, entries.ravel()[entry]), (none, item), (none, c),
            (parts.rows[owed_part] + owed, strip_rows[strip] + c), (16 + which[owed_at], 4 * c + which[at]),
            (owed_part, part), (owed, 0 * item), (none, strip),
        )  # fmt: skip
        place = asking[np.concatenate((owed_at, at))]
        by = np.argsort(place, kind="stable")
        self.owing = cupy.asarray(np.stack([np.concatenate(field)[by] for field in fields], axis=1).astype(np.int32))
        begin = np.searchsorted(place[by], np.arange(len(strip_part) + borders + 1))
        self.owing_begin = cupy.asarray(begin.astype(np.int32))

    def _climb(self, climbed: np.ndarray, columns: np.ndarray) -> None:
        """The climb through regions by columns: entries, places met, columns, and their lists."""
        each, top = np.diff(columns), np.repeat(self.parts.kind == regions.TOP, self.parts.width)
        there = np.flatnonzero(np.repeat(~top, each))
        starts = np.concatenate(([0], np.cumsum(np.where(top, 0, each))))
        given = there, climbed[there], np.repeat(np.arange(self.n), np.where(top, 0, each)), starts
        self.climbing = [cupy.asarray(x.astype(np.int32)) for x in given]

    def _fronts(self, each: np.ndarray, depth: np.ndarray) -> None:
        """Supernodes in counting elimination, and groups eliminated together."""
        S, w, r = self.S, self.parts.width, self.parts.reach
        m = w + r
        self.front, self.local = np.zeros(len(S), FRONT), cupy.asarray(S.local)
        fields = {
            "width": w, "rows": r, "child": S.child, "sibling": S.sibling, "parent": S.parent, "begin": S.begin[:-1],
            "square": np.cumsum(m**2) - m**2, "factor": np.cumsum(each) - each,
        }  # fmt: skip
        for name, values in fields.items():
            self.front[name] = values
        size = np.searchsorted(FRONTS, m)
        key = depth * len(THREADS) + size
        by = np.argsort(key, kind="stable")
        supernodes = cupy.asarray(by.astype(np.int32))
        self.fronts, most = [], gpu.multiprocessors(gpu.current())
        for run in runs(key[by]):
            threads, count = THREADS[size[by[run.start]]], run.stop - run.start
            team = max(1, min(TEAM, most // count)) if threads == THREADS[-1] else 1
            more = most * THREADS[-1] // count // threads  # where large blocks would idle
            threads = min(THREADS[-1], threads * min(4, 1 << max(0, more.bit_length() - 1)))
            self.fronts.append((supernodes[run], team, threads))

    def placed(self, arcs: Arcs) -> tuple[Any, Any, Any]:
        """Fronts with arcs, and the arcs' rows and columns, on the device; cached for the last call."""
        if self._placed is None or self._placed[0] is not arcs:
            fronts = self.front.copy()
            fronts["arcs"], fronts["stop"] = arcs.begin[:-1], arcs.begin[1:]
            on_device = tuple(cupy.asarray(x) for x in (fronts.view(np.uint8), arcs.row, arcs.col))
            self._placed = arcs, on_device
        return self._placed[1]
