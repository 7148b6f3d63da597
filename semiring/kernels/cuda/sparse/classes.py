"""Classes of sources that a subtree cannot distinguish, merged into lanes, on the GPU. See classes.inl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import gpu
from ..library import cupy
from .lanes import WARP

if TYPE_CHECKING:
    from .flows import Flows

#: Mapping of a part's lanes to those of a part below: `Cut` in classes.inl.
CUT = np.dtype(
    [
        *((name, np.uint64) for name in ("rows", "slots", "borders", "keys", "firsts", "order", "nearest", "most")),
        *((name, np.int32) for name in ("part", "above", "count", "mask", "low", "high", "near", "used")),
        *((name, np.int32) for name in ("classes", "before", "owed", "flag")),
    ]
)
#: Block size of lane-wise kernels; lane groups per block of others.
EACH, WARPS = 128, 4


class PartLanes:
    """Parts of a tree and their lanes, for a batch of sources; see classes.inl.

    cuts : per tier reached: CUT on device and host, the most lanes above, and owned memory. taken : bytes so far.
    """

    def __init__(self, flows: Flows, columns: np.ndarray, *, half: bool) -> None:
        layout = self.layout = flows.layout
        self.flows, self.half, self.known = flows, np.int32(half), flows.lists.known.copy()
        self.held: list[Any] = []
        near = np.searchsorted(columns, (layout.cut_low, layout.cut_high + 1))
        self.near, self.inside = near[0], near[1] - near[0]
        self.cuts: list[Any] = []
        self.taken = 0
        self._table: Any = None

    def _memory(self, part: slice, lanes: np.ndarray) -> None:
        flows, layout, known, kind = self.flows, self.layout, self.known[part], self.flows.dtype
        groups = lanes // (WARP * layout.shape.each)
        rows, owed, flags = layout.parts.rows[part], layout.parts.owed[part], np.zeros(len(lanes), np.int64)
        flags += owed
        flags[: len(flows.lists.items[part])] += flows.lists.items[part]
        if layout.classes and part.start >= len(layout.parts.tier_of):
            flags += rows
        sums = known["sums"].astype(np.int64) * groups
        # Uninitialised, 0, and −1, each in one piece; bytes of each array per part.
        pieces = (
            (None, {"Y": 2 * kind.itemsize * rows * lanes, "G": 8 * (rows + owed) * lanes}),
            (0, {"partial": 8 * sums, "members": 4 * lanes, "times": 4 * lanes, "taken": flags * groups}),
            (0xFF, {"starts": 4 * lanes, "origs": 4 * lanes}),
        )
        for fill, arrays in pieces:
            sizes = np.stack(list(arrays.values()))
            ends = np.cumsum(sizes).reshape(sizes.shape)
            total = max(int(ends[-1, -1]), 1)
            piece = gpu.memory(total, fill=fill)
            for name, begins in zip(arrays, piece.ptr + ends - sizes, strict=True):
                known[name] = begins
            self.held.append(piece)
            self.taken += total
        known["lanes"], self._table = lanes, None

    def begin(self, starts: np.ndarray, times: np.ndarray) -> None:
        """The first part, of all sources, and, without classes, all regions."""
        known, layout = self.known, self.layout
        self._memory(slice(0, 1), np.array([len(starts)]))
        # Per lane: column, source, members, multiplicity.
        lanes = np.zeros((4, len(starts)), np.int32)
        lanes[0], lanes[1], lanes[2], lanes[3, : len(times)] = starts, np.arange(len(starts)), starts >= 0, times
        first = cupy.asarray(lanes)
        self.held.append(first)
        for name, array in zip(("starts", "origs", "members", "times"), first, strict=True):
            known[name][0] = array.data.ptr
        if not layout.classes:  # regions share the first part's lanes
            top, rest = known[0], known[1:]
            kept = rest["sum"].copy(), rest["sums"].copy()
            rest[:] = top
            rest["sum"], rest["sums"] = kept
            groups = len(starts) // (WARP * layout.shape.each)
            rest["G"] += np.uint64(8 * layout.parts.rows[0] * len(starts))
            rest["taken"] += np.uint64(self.flows.lists.items[0] * groups)
            sums = cupy.zeros(max(1, int(rest["sums"][0]) * groups))
            rest["partial"] = sums.data.ptr
            self.held.append(sums)
            self.taken += sums.nbytes

    def blocks(self, tier: int, warps: int = WARPS) -> int:
        run = self.layout.parts.tiers[tier]
        return max(1, -(-int(self.known["lanes"][run].max()) // (WARP * self.layout.shape.each * warps)))

    def reach(self, tier: int) -> None:
        """Find the lanes of a tier's parts from those above."""
        if tier and self.layout.classes:
            self._classes(self.layout.parts.tiers[tier])

    @property
    def table(self) -> Any:
        """Records of all parts, `Part` in flows_lanes.inl; uint8, on the device."""
        if self._table is None:
            self._table = cupy.asarray(self.known.view(np.uint8))
        return self._table

    def _classes(self, run: slice) -> None:
        """Classes of the lanes above these parts, then their lanes and border values."""
        known, kind = self.known, self.flows.dtype
        cuts = self._cuts(run)
        lanes = known["lanes"][cuts["above"]].astype(np.int64)
        pairs, places = np.cumsum(lanes) - lanes, cuts["mask"] + np.int64(1)
        count, table = max(1, int(lanes.sum())), int(places.sum())
        if count >= 1 << 31:
            raise MemoryError
        slots, order = cupy.empty(count, np.int32), cupy.zeros(count, np.int32)
        borders = cupy.empty((count, 2), kind)
        # Keys, 0 for none; first lane of each, initially beyond all.
        keys, firsts = gpu.memory(8 * table, fill=0), gpu.memory(4 * table, fill=0x7F)
        begins = np.cumsum(places) - places
        for name, start, size, begin in (
            ("slots", slots.data.ptr, 4, pairs), ("order", order.data.ptr, 4, pairs),
            ("borders", borders.data.ptr, 2 * kind.itemsize, pairs),
            ("keys", keys.ptr, 8, begins), ("firsts", firsts.ptr, 4, begins),
        ):  # fmt: skip
            cuts[name] = start + size * begin
        grid = len(cuts), max(1, -(-int(lanes.max()) // EACH))

        def launch(first: str, second: str, *more: Any) -> Any:
            given, table = cupy.asarray(cuts.view(np.uint8)), self.table
            self.flows.kernels[first](grid, (EACH,), (given, table, *more))
            self.flows.kernels[second](grid, (EACH,), (given, table))
            return given

        given = launch("class_keys", "class_firsts", self.half)
        self.taken += 12 * table
        del keys, firsts
        before, order, told = order, cupy.cumsum(order, dtype=np.int32), cupy.empty(len(cuts), np.int32)
        sums = given, self.table, np.int32(len(cuts)), before, order, told
        self.flows.kernels["class_ends"]((-(-len(cuts) // EACH),), (EACH,), sums)
        ends = told.get().astype(np.int64)
        cuts["before"][1:], cuts["order"] = ends[:-1], order.data.ptr + 4 * pairs
        cuts["classes"] = ends - cuts["before"]
        cuts["used"] = cuts["classes"] + self.inside[run.start - 1 : run.stop - 1]
        unit = WARP * self.layout.shape.each
        wide = -(-cuts["used"].astype(np.int64) // unit) * unit
        self._memory(run, wide)
        greatest = cupy.zeros((2, max(1, int(wide.sum()))), kind)
        for name, array in zip(("nearest", "most"), greatest, strict=True):
            cuts[name] = array.data.ptr + kind.itemsize * (np.cumsum(wide) - wide)
        kept = launch("class_lanes", "class_borders"), slots, borders, order, greatest
        self.cuts.append((kept[0], cuts, int(lanes.max()), kept))
        self.taken += sum(array.nbytes for array in kept)

    def _cuts(self, run: slice) -> np.ndarray:
        """The parts' records, before their lanes are known."""
        layout, parts = self.layout, self.layout.parts
        some, above = slice(run.start - 1, run.stop - 1), parts.above[run]
        cuts = np.zeros(len(above), CUT)
        cuts["rows"] = layout.border_rows.data.ptr + 4 * parts.starts[run]
        cuts["part"], cuts["above"], cuts["count"] = np.arange(run.start, run.stop), above, parts.counts[run]
        cuts["mask"] = (1 << np.ceil(np.log2(2 * self.known["lanes"][above] + 1)).astype(np.int64)) - 1
        cuts["low"], cuts["high"], cuts["near"] = layout.cut_low[some], layout.cut_high[some], self.near[some]
        cuts["owed"] = parts.rows[above] + parts.first_owed[some]
        cuts["flag"] = self.flows.lists.items[above] + parts.first_owed[some]
        return cuts

    def owe(self, tier: int) -> None:
        """Pass dependencies of a tier's parts to the parts above."""
        if not (tier and self.layout.classes):
            return
        on_device, cuts, lanes, _ = self.cuts.pop()
        blocks = max(1, -(-lanes // (WARP * self.layout.shape.each * WARPS)))
        self.flows.kernels["class_owes"]((len(cuts), blocks), (WARP * WARPS,), (on_device, self.table))
