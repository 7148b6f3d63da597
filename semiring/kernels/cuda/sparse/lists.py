"""Lists of the entries that are distances, as the kernels of flows.cu read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..library import cupy

if TYPE_CHECKING:
    from .counted import Numbers
    from .layout import Layout

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
