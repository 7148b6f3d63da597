"""Rows and columns of A*, many at once, from a sparse elimination on the GPU; see kernels/sweep.cu."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..algebra import Semiring
from ..compiling import about
from ..cpu.regions import TOP, regions
from . import algebra, compile, gpu

#: A warp has so many threads, a block that loops over rows from memory so many warps.
WARP, WARPS = 32, 4
#: Lanes are counted in multiples of this.
LANES = 32


@dataclass(frozen=True)
class Shape:
    """Sizes of the kernels.

    Attributes
    ----------
    each : int
        Lanes of a thread.
    warps : int
        Warps of a block that walks regions.
    stack : int
        Rows of a stack.
    strips : int
        Strips of four columns that a warp computes together in the top, at most.
    program : int
        Bytes that a region takes beside its stacks, at most.
    deep, stages : int
        Rows of a stage, and stages of a ring of copies, in the top.
    region_blocks, level_blocks : int
        Blocks that a multiprocessor holds at least of each kernel; it bounds the registers.
    """

    each: int
    warps: int
    stack: int
    strips: int
    program: int
    deep: int = 8
    stages: int = 3
    region_blocks: int = 2
    level_blocks: int = 4

    @classmethod
    def of(cls, itemsize: int) -> Shape:
        """What suits entries of so many bytes."""
        return cls(2, 8, 24, 2, 14 << 10) if itemsize == 8 else cls(4, 8, 24, 2, 14 << 10)

    def shared(self, itemsize: int) -> int:
        """Bytes of a region and of the stacks of a block."""
        return self.program + self.warps * self.stack * WARP * self.each * itemsize

    def ring(self, itemsize: int) -> int:
        """Bytes of the rings of a block."""
        return WARPS * self.stages * self.deep * (WARP * self.each + 4 * self.strips) * itemsize

    def text(self, mirrored: bool) -> str:
        """As constants for the kernels."""
        sizes = {
            "each": self.each,
            "warps": self.warps,
            "stack_rows": self.stack,
            "most_strips": self.strips,
            "deep": self.deep,
            "stages": self.stages,
            "region_blocks": self.region_blocks,
            "level_blocks": self.level_blocks,
        }
        constants = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        return f"constexpr int {constants};\nconstexpr bool mirrored = {str(mirrored).lower()};\n"


def step_of(semiring: Semiring, dtype: np.dtype, nonnegative: bool) -> str:
    """The semiring in C++, one entry a word."""
    variant = algebra.variant_of(semiring, dtype, nonnegative=nonnegative) if dtype.itemsize > 2 else None
    return algebra.text(semiring, dtype, variant)


def text(semiring: Semiring, dtype: np.dtype, nonnegative: bool, shape: Shape, *, mirrored: bool) -> str:
    """The translation unit."""
    return compile.source("sweep.cu", step_of(semiring, dtype, nonnegative), shape.text(mirrored))


@lru_cache(maxsize=64)
def kernels(
    semiring: Semiring, dtype: np.dtype, nonnegative: bool, shape: Shape, mirrored: bool, device: int
) -> dict[str, Any]:
    """The entry functions on a device."""
    unit = text(semiring, dtype, nonnegative, shape, mirrored=mirrored)
    names = "sweep_regions", "sweep_level", "climb_regions", "climb_level", "arrange", "pairs", "transpose"
    with about(f"{semiring.name} in {dtype}"):
        found = {name: compile.functions(unit, name="sweep.cu").get_function(name) for name in names}
    compile.allow_shared(found["sweep_regions"], shape.shared(dtype.itemsize))
    compile.allow_shared(found["sweep_level"], shape.ring(dtype.itemsize))
    return found


def _at(*arrays: Any) -> tuple[int, ...]:
    """Where arrays begin."""
    return tuple(array.data.ptr for array in arrays)


class Tree:
    """A structure on the current device, cut into regions and the levels above them."""

    def __init__(self, structure: Any, shape: Shape, itemsize: int) -> None:
        import cupy

        S = structure
        self.S, self.shape, self.itemsize, self.n = S, shape, itemsize, S.n
        w, r = (np.diff(x).astype(np.int64) for x in (S.first, S.begin))
        self.w, self.r = w, r
        even = r + r % 2
        begin = np.concatenate(([0], np.cumsum(even)))
        units = -(-w // 4) * (w + even)
        self.panel = np.concatenate(([0], np.cumsum(units)))
        # A supernode with its range, its rows and labels, and its panel, of which little may be a unit.
        bytes_of = 40 + 4 * even + 4 * w + max(16, 4 * itemsize) * units
        tables = S.parent, S.child, S.leaf, S.first, S.begin, S.base, S.rows, S.slot
        kind, low, high, local, own = regions(*tables, bytes_of, shape.stack, shape.program - 64)
        # The last row twice where their number is odd.
        index = np.repeat(S.begin[:-1] - begin[:-1], even) + np.arange(begin[-1])
        index = np.minimum(index, np.repeat(S.begin[1:] - 1, even))
        nodes = np.stack((S.first[:-1], w, begin[:-1], r, S.base, self.panel[:-1], own, kind), axis=1)
        end = [[S.n, 0, begin[-1], 0, 0, self.panel[-1], -1, TOP]]
        self.nodes = cupy.asarray(np.concatenate((nodes, end)).astype(np.int32))
        self.regions = cupy.asarray(np.stack((low, high), axis=1))
        self.local, self.slots = (cupy.asarray(x[index].astype(np.int32)) for x in (local, S.slot))
        self.rows = cupy.asarray(S.permutation[S.rows[index]].astype(np.int32))
        self.labels, self.owner, self.parent = (cupy.asarray(x) for x in (S.permutation, S.owner, S.parent))
        self.bounds = np.stack((S.first[S.leaf], S.first[1:]))
        self.levels = list(self._levels(kind))

    def _levels(self, kind: np.ndarray) -> Any:
        """Of each level of the top, its supernodes and the tiles of a sweep: (supernode, first column, strips)."""
        import cupy

        S = self.S
        above = np.flatnonzero(kind == TOP)
        depth = np.zeros(len(kind), np.int64)
        for s in above[::-1].tolist():
            depth[s] = depth[S.parent[s]] + 1 if S.parent[s] >= 0 else 0
        order = above[np.argsort(depth[above], kind="stable")]
        for some in np.split(order, np.flatnonzero(np.diff(depth[order])) + 1):
            if not len(some):
                continue
            tiles = [tile for s in some.tolist() for tile in self._tiles(s)]
            yield some, cupy.asarray(some.astype(np.int32)), cupy.asarray(np.array(tiles, np.int32))

    def _tiles(self, s: int) -> Any:
        j, strips = 0, -(-int(self.w[s]) // 4)
        while strips:
            some = next(k for k in (4, 2, 1) if k <= min(strips, self.shape.strips))
            yield s, j, some
            j += 4 * some
            strips -= some

    @cached_property
    def everything(self) -> Lanes:
        """All vertices, as they are numbered."""
        return Lanes(self, self.S.position)


class Lanes:
    """Which vertices a batch is about: sorted by their place in the order, and where each caller's lane is then."""

    def __init__(self, tree: Tree, columns: np.ndarray) -> None:
        import cupy

        self.count = len(columns)
        self.padded = -(-self.count // LANES) * LANES
        starts, places = (np.full(self.padded, -1, np.int32) for _ in range(2))
        self.ordered = bool((columns[1:] >= columns[:-1]).all())
        if columns is tree.S.position:
            starts[: self.count], places[: self.count], ranges = np.arange(tree.n), columns, tree.bounds
        else:
            order = np.arange(self.count) if self.ordered else np.argsort(columns, kind="stable")
            starts[: self.count] = sorted_columns = columns[order]
            places[order] = np.arange(self.count)
            ranges = np.searchsorted(sorted_columns, tree.bounds)
        self.starts, self.places = cupy.asarray(starts), cupy.asarray(places)
        self.ranges = cupy.asarray(np.ascontiguousarray(ranges.T.astype(np.int32)))
        self.climbs = []
        wide = WARP * tree.shape.each
        for some, there, _ in reversed(tree.levels):
            low, high = ranges[:, some]
            groups = np.where(high > low, -(-high // wide) - low // wide, 0)
            before = np.concatenate(([0], np.cumsum(groups * (-(-(tree.w + tree.r)[some] // 8)))))
            self.climbs.append((there, cupy.asarray(before.astype(np.int32)), len(some), int(before[-1])))


class Sweeps:
    """Batches of rows, or of columns where `mirrored`, on panels of one semiring and dtype."""

    def __init__(
        self, tree: Tree, up: Any, down: Any, semiring: Semiring, dtype: np.dtype, nonnegative: bool, mirrored: bool
    ) -> None:
        self.tree, self.up, self.down, self.dtype = tree, up, down, dtype
        self.kernels = kernels(semiring, dtype, nonnegative, tree.shape, mirrored, gpu.current())

    def batch(self, lanes: Lanes, out: Any) -> None:
        """out[v, t] ← A*[lane t, v], or A*[v, lane t] where mirrored.

        Rows of `out` begin at multiples of 16 bytes, and hold `lanes.padded` entries.
        """
        if not lanes.count:
            return
        z, v = self.climb(lanes)
        if not lanes.ordered:
            v = self.arranged(lanes, v, z)
        self.sweep_top(lanes, v, out)
        self.sweep_low(lanes, v, out)

    def climb(self, lanes: Lanes) -> tuple[Any, Any]:
        """z and v of the lanes as sorted, on each one's path: of a row for each place on the path from the root."""
        import cupy

        tree, pitch = self.tree, lanes.padded
        z, v = (cupy.empty((max(tree.S.height, 1), pitch), self.dtype) for _ in range(2))
        tables, ours = _at(tree.slots, self.up), (*_at(z, v), pitch)
        starts = _at(tree.nodes, tree.owner, tree.parent), _at(lanes.starts)
        self.kernels["climb_regions"](
            (-(-pitch // 128),), (128,), (*starts[0], *tables, *starts[1], *ours, np.int32(pitch))
        )
        for there, before, count, work in lanes.climbs:
            if work:
                level = *_at(tree.nodes, there, before), np.int32(count), *_at(lanes.ranges)
                self.kernels["climb_level"]((-(-work // WARPS),), (WARP * WARPS,), (*level, *tables, *ours))
        return z, v

    def arranged(self, lanes: Lanes, v: Any, to: Any) -> Any:
        """v with the lanes in the caller's order."""
        tree, pitch = self.tree, lanes.padded
        given = _at(tree.nodes, tree.owner, lanes.starts, lanes.places, v, to)
        grid = -(-pitch // 256), min(tree.S.height, 64)
        self.kernels["arrange"](grid, (256,), (*given, pitch, np.int32(pitch)))
        return to

    def sweep_top(self, lanes: Lanes, v: Any, out: Any) -> None:
        """y of the top, a level at a time."""
        tree = self.tree
        groups, shared = -(-lanes.padded // (WARP * WARPS * tree.shape.each)), tree.shape.ring(self.dtype.itemsize)
        for _, _, tiles in tree.levels:
            given = *_at(tree.nodes, tiles, lanes.ranges, tree.rows), *self._rest(lanes, v, out)
            self.kernels["sweep_level"]((len(tiles), groups), (WARP * WARPS,), given, shared)

    def sweep_low(self, lanes: Lanes, v: Any, out: Any) -> None:
        """y of all regions."""
        tree, shape = self.tree, self.tree.shape
        if not len(tree.regions):
            return
        groups, shared = -(-lanes.padded // (WARP * shape.warps * shape.each)), shape.shared(self.dtype.itemsize)
        given = *_at(tree.nodes, tree.regions, lanes.ranges, tree.local, tree.rows), *self._rest(lanes, v, out)
        self.kernels["sweep_regions"]((len(tree.regions), groups), (WARP * shape.warps,), given, shared)

    def _rest(self, lanes: Lanes, v: Any, out: Any) -> tuple[Any, ...]:
        """Labels, panels, the lanes with v, and where y goes."""
        given = _at(self.tree.labels, self.down, lanes.places, v)
        return *given, lanes.padded, out.data.ptr, out.strides[0] // out.itemsize, np.int32(lanes.padded)

    def transpose(self, panel: Any, rows: Any) -> None:
        """rows[t] ← panel[:, t]."""
        count, n = rows.shape
        near, far = ((X.data.ptr, X.strides[0] // X.itemsize) for X in (panel, rows))
        self.kernels["transpose"]((-(-n // 32), -(-count // 32)), (256,), (*near, *far, np.int32(n), np.int32(count)))


def pairs(rows: Sweeps, columns: Sweeps, sources: Lanes, targets: Lanes, out: Any) -> None:
    """out[q] ← A*[source q, target q], from the climbs of both ends."""
    tree = rows.tree
    (_, v), (z, _) = rows.climb(sources), columns.climb(targets)
    given = _at(tree.nodes, tree.owner, tree.parent, sources.starts, targets.starts, sources.places, targets.places)
    count = sources.count
    rows.kernels["pairs"](
        (-(-count // 128),), (128,), (*given, *_at(v, z), sources.padded, out.data.ptr, np.int32(count))
    )
