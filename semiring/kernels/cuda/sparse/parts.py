"""Partition of an elimination tree into parts with their own lanes, and regions, for GPU sums over best paths."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....algebra.ranges import positions, runs
from ...cpu.sparse import regions, walks
from .. import algebra
from .lanes import WARP

#: Subtrees with a larger share of all columns are not cut off.
ALL = 0.6


@dataclass(frozen=True)
class Shape:
    """Sizes of the kernels.

    each : lanes per thread; warps : per block that walks a region; stack : rows of a stack; program : further bytes per
    region; cuts : the tree is cut at subtrees of at most that many columns, descending
    """

    each: int = 2
    warps: int = 2
    stack: int = 32
    program: int = 16 << 10
    cuts: tuple[int, ...] = (1 << 18, 1 << 16, 1 << 13, 1 << 11)

    @classmethod
    def of(cls, slack: float) -> Shape:
        """If lengths round, all sources walk regions: small ones, for more concurrency."""
        return cls(warps=4, stack=16, program=8 << 10) if slack > 0 else cls()

    def shared(self, itemsize: int, stack: int = 0, program: int = 0) -> int:
        """Shared memory of a region block, by bytes of a length; `stack` and `program` of a smaller region."""
        path = (stack or self.stack) * WARP * self.each * (2 * itemsize + 8)
        return self.warps * path + (program or self.program) * itemsize // 4

    def within(self, limit: int) -> Shape:
        """With fewer warps, if needed to fit in `limit` bytes."""
        few = self.warps
        while few > 1 and replace(self, warps=few).shared(8) > limit:
            few -= 1
        return replace(self, warps=few)

    def text(self, kind: str, slack: float) -> str:
        constants = algebra.constants(each=self.each, warps=self.warps, slack=slack > 0, scale=1.0 + slack)
        return f"{constants}using Length = {kind};\nusing Number = {kind};\n"


class Parts:
    """Parts of a tree with their own lanes, and regions, on the host. Without `classes`, one part and shared lanes.

    kind : of each supernode, `regions.TOP` above regions
    top, part : supernodes above regions, by part; part of every supernode, −1 in regions
    tier_of, tiers : tier of each part, and parts of each tier, whose lanes are found together; regions are last
    regions, roots, units, order, root : as in `walks.walked`
    stacks, programs : per region: rows of the stack, and input bytes for four-byte lengths
    cuts, border_of, borders : uppermost supernodes of all parts but the first; part and column of all border rows
    above, counts, rows, owed : per part: parent part; numbers of border rows, of all rows, and of dependencies of parts
    below owing, owing_above, first_owed : supernodes with dependencies on their border, the parts above, and the starts
    among
        those parts' dependencies
    """

    tiers: list[slice]
    above: np.ndarray
    cuts: np.ndarray
    top: np.ndarray

    def __init__(self, S: Any, shape: Shape, *, classes: bool) -> None:
        self.S, count = S, len(S)
        self.width, self.reach = (np.diff(x).astype(np.int64) for x in (S.first, S.begin))
        m = self.width + self.reach
        self.strip_count = -(-self.width // 4)
        self.items = self.strip_count * m - 2 * self.strip_count * (self.strip_count - 1) - self.width
        total = np.concatenate(([0], np.cumsum(96 * self.strip_count + 20 * self.items)))
        self.kind, low, high = np.zeros((3, count), np.int32)
        tree, limit = (S.parent, S.child, S.leaf, S.first, S.begin, total), shape.program - 64
        deep = np.zeros(count, np.int64)
        found = regions.subtrees(*tree, shape.stack, limit, 4, classes, deep, self.kind, low, high)
        self._cut(tuple(size for size in shape.cuts if size <= ALL * S.n) if classes else ())
        # Regions, and the processing order of their supernodes.
        self.regions, roots = np.zeros((found, 2), np.int32), np.zeros((count, 4), np.int32)
        self.order = np.zeros(count - len(self.top), np.int32)
        units = np.zeros((int(self.strip_count.sum()), 5), np.int32)
        self.root, numbered = np.zeros((2, count), np.int32)
        tables = S.first, S.begin, S.rows, S.base, S.parent, S.child, low[:found], high[:found]
        made = walks.walked(*tables, self.root, self.regions, roots, self.order, units, numbered)
        self.roots, self.units = roots[: made[0]], units[: made[1]]
        subtrees = self.roots[:, 0].copy()
        above = np.where(S.parent[subtrees] >= 0, self.part[S.parent[subtrees]], 0)
        many = len(self.tier_of)
        if classes:  # a part each
            self.tiers.append(slice(many, many + found))
            self.above, self.cuts = np.concatenate((self.above, above)), np.concatenate((self.cuts, subtrees))
            self.owing, self.owing_above = self.cuts, self.above[1:]
        else:
            self.owing, self.owing_above = subtrees, above
        self.of_region = many + (np.arange(found, dtype=np.int32) if classes else np.zeros(found, np.int32))
        # Stack rows and input bytes of each region.
        of_root = np.searchsorted(-high[:found], -subtrees - 1, side="right") - 1  # both descend
        self.stacks = np.zeros(found, np.int64)
        np.maximum.at(self.stacks, of_root, self.reach[subtrees] + deep[subtrees])
        self.programs = total[high[:found]] - total[low[:found]] + 64
        self._number()

    def _cut(self, sizes: tuple[int, ...]) -> None:
        """Parts of supernodes with subtrees of similar size."""
        S, count = self.S, len(self.S)
        part, root, above, tier_of = np.empty((4, count + 1), np.int32)
        columns = S.first[1:] - S.first[S.leaf]
        tier = (columns[:, None] < np.array(sizes, np.int64)).sum(axis=1)
        many = walks.parts(S.parent, self.kind, tier, part, root, above, tier_of)
        by, number = np.argsort(tier_of[:many], kind="stable"), np.full(many + 1, -1, np.int32)
        number[by] = np.arange(many)
        self.part, self.tier_of = number[part[:count]], tier_of[:many][by]
        self.above, self.cuts = number[above[:many][by]], root[:many][by][1:]
        self.tiers = runs(self.tier_of)
        top = np.flatnonzero(self.kind == regions.TOP).astype(np.int32)
        self.top = top[np.argsort(self.part[top], kind="stable")]

    def _number(self) -> None:
        """Rows of parts: border rows, ascending, then columns; and dependency rows."""
        S, w, r, parts = self.S, self.width, self.reach, len(self.above)
        self.counts = np.concatenate(([0], r[self.cuts])).astype(np.int64)
        of_top = np.repeat(self.part[self.top], w[self.top])
        own = np.bincount(of_top, minlength=parts)
        column = positions(S.first[self.top], w[self.top])
        self._part_of, self._rank = np.full((2, S.n), -1, np.int64)
        self._part_of[column] = of_top
        self._rank[column] = positions(0, own)
        self.border_of, self.borders = np.repeat(np.arange(1, parts), r[self.cuts]), S.rows[self.ranges(self.cuts)]
        self.starts = np.cumsum(self.counts) - self.counts
        self._key = self.border_of * (S.n + 1) + self.borders
        self.rows, sizes, order = self.counts + own, r[self.owing], np.argsort(self.owing_above, kind="stable")
        self.owed = np.bincount(self.owing_above, sizes, minlength=parts).astype(np.int64)
        self.first_owed = np.empty(len(self.owing), np.int64)
        self.first_owed[order] = np.cumsum(sizes[order]) - sizes[order]
        self.first_owed -= (np.cumsum(self.owed) - self.owed)[self.owing_above]

    def ranges(self, supernodes: np.ndarray) -> np.ndarray:
        return positions(self.S.begin[supernodes], self.reach[supernodes])

    def row_in(self, parts: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Row numbers of columns within parts, own or border."""
        there = np.searchsorted(self._key, parts * (self.S.n + 1) + columns) - self.starts[parts]
        return np.where(self._part_of[columns] == parts, self.counts[parts] + self._rank[columns], there)
