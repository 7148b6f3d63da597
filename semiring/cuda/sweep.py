"""Rows and columns of A*, many at once, from a sparse elimination on the GPU; see kernels/sweep.cu."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from .. import dtypes
from ..algebra import Semiring
from ..compiling import about
from ..cpu.regions import TOP, regions
from . import algebra, compile, gpu
from .backend import CudaBackend

#: A warp has so many threads, a block that loops over rows from memory so many warps.
WARP, WARPS = 32, 4
#: Columns of a root from which on z D is left to the product of dense matrices.
WIDE = 128
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
    region_blocks: int = 3
    level_blocks: int = 4
    level_warps: int = 4

    @classmethod
    def of(cls, itemsize: int) -> Shape:
        """What suits entries of so many bytes."""
        return cls(2 if itemsize == 8 else 4, 4, 32, 2, 9 << 10)

    def shared(self, itemsize: int) -> int:
        """Bytes of a region and of the stacks of a block."""
        return self.program + self.warps * self.stack * WARP * self.each * itemsize

    def ring(self, itemsize: int) -> int:
        """Bytes of the rings of a block."""
        return self.level_warps * self.stages * self.deep * (WARP * self.each + 4 * self.strips) * itemsize

    def text(self, mirrored: bool, worst: str = "") -> str:
        """As constants for the kernels; `worst` is what regions are reduced to: "greatest", "least" or nothing."""
        sizes = {
            "each": self.each,
            "warps": self.warps,
            "stack_rows": self.stack,
            "most_strips": self.strips,
            "deep": self.deep,
            "stages": self.stages,
            "region_blocks": self.region_blocks,
            "level_blocks": self.level_blocks,
            "level_warps": self.level_warps,
        }
        constants = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        flags = {"mirrored": mirrored, "only_worst": bool(worst), "greatest": worst == "greatest"}
        switches = ", ".join(f"{name} = {str(flag).lower()}" for name, flag in flags.items())
        return f"constexpr int {constants};\nconstexpr bool {switches};\n"


def step_of(semiring: Semiring, dtype: np.dtype, nonnegative: bool) -> str:
    """The semiring in C++, one entry a word."""
    variant = algebra.variant_of(semiring, dtype, nonnegative=nonnegative) if dtype.itemsize > 2 else None
    return algebra.text(semiring, dtype, variant)


def text(
    semiring: Semiring, dtype: np.dtype, nonnegative: bool, shape: Shape, *, mirrored: bool, worst: str = ""
) -> str:
    """The translation unit."""
    return compile.source("sweep.cu", step_of(semiring, dtype, nonnegative), shape.text(mirrored, worst))


@lru_cache(maxsize=64)
def kernels(
    semiring: Semiring, dtype: np.dtype, nonnegative: bool, shape: Shape, mirrored: bool, device: int, worst: str = ""
) -> dict[str, Any]:
    """The entry functions on a device."""
    unit = text(semiring, dtype, nonnegative, shape, mirrored=mirrored, worst=worst)
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
        bytes_of = 40 + 8 * even + 4 * w + max(16, 4 * itemsize) * units
        tables = S.parent, S.child, S.leaf, S.first, S.begin, S.base, S.rows, S.slot
        kind, low, high, local, own = regions(*tables, bytes_of, shape.stack, shape.program - 80)
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
        self.bounds = cupy.asarray(np.stack((S.first[S.leaf], S.first[1:]), axis=1))
        self.levels = list(self._levels(kind))
        top = np.concatenate([some for some, _, _ in self.levels]) if self.levels else np.zeros(0, np.int64)
        self.above = np.stack((S.first[S.leaf[top]], S.first[top + 1]))
        self.pieces = -(-(w + r)[top] // 8)
        columns = np.repeat(S.first[top] + w[top] - np.cumsum(w[top]), w[top]) + np.arange(w[top].sum())
        self.top_labels = cupy.asarray(S.permutation[columns])

    def _levels(self, kind: np.ndarray) -> Iterator[tuple[np.ndarray, Any, Any]]:
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

    def _tiles(self, s: int) -> Iterator[tuple[int, int, int]]:
        j, strips = 0, -(-int(self.w[s]) // 4)
        while strips:
            some = next(k for k in (4, 2, 1) if k <= min(strips, self.shape.strips))
            yield s, j, some
            j += 4 * some
            strips -= some

    def dense_root(self, panel: Any) -> Any:
        """D of the only root as a matrix, where it is so wide that a product of matrices is worth it; else None."""
        import cupy

        if not self.levels or len(self.levels[0][0]) > 1:
            return None
        s = int(self.levels[0][0][0])
        w = int(self.w[s])
        if w < WIDE:
            return None
        strips = panel[int(self.panel[s]) : int(self.panel[s + 1])].reshape(-1, w, 4)
        return cupy.ascontiguousarray(strips.transpose(1, 0, 2).reshape(w, -1)[:, :w])

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
        order: Any = slice(None)
        if columns is tree.S.position:
            starts[: self.count], places[: self.count] = np.arange(tree.n), columns
        else:
            order = slice(None) if self.ordered else np.argsort(columns, kind="stable")
            starts[: self.count] = columns[order]
            places[: self.count][order] = np.arange(self.count)
        self.starts, self.places = cupy.asarray(starts), cupy.asarray(places)
        # Where the columns below each supernode begin among the lanes, and where they end.
        at = self.starts[: self.count].searchsorted(tree.bounds.ravel())
        self.ranges = at.astype(np.int32).reshape(-1, 2)
        self.climbs = list(self._climbs(tree, starts[: self.count]))

    def _climbs(self, tree: Tree, columns: np.ndarray) -> Iterator[tuple[Any, int, int, int]]:
        """Of each level of the top, deepest first: its supernodes, how many, where its `before` begins, its work."""
        import cupy

        wide = WARP * tree.shape.each
        low, high = np.searchsorted(columns, tree.above)
        groups = np.where(high > low, -(-high // wide) - low // wide, 0)
        total = np.concatenate(([0], np.cumsum(groups * tree.pieces)))
        counts: list[tuple[Any, int, int, int]] = []
        start, parts = 0, []
        for some, there, _ in tree.levels:
            stop = start + len(some)
            parts.append(total[start : stop + 1] - total[start])
            counts.append((there, len(some), start + len(counts), int(parts[-1][-1])))
            start = stop
        if parts:
            self.before = cupy.asarray(np.concatenate(parts).astype(np.int32))
        return reversed(counts)


class Sweeps:
    """Batches of rows, or of columns where `mirrored`, on panels of one semiring and dtype."""

    def __init__(
        self, tree: Tree, up: Any, down: Any, semiring: Semiring, dtype: np.dtype, nonnegative: bool, mirrored: bool
    ) -> None:
        self.tree, self.up, self.down, self.dtype = tree, up, down, dtype
        self._given = semiring, dtype, nonnegative, tree.shape, mirrored, gpu.current()
        self.kernels = kernels(*self._given)
        self.ops = CudaBackend(semiring, dtype, nonnegative)
        self._root = tree.dense_root(up) if mirrored else None  # where D is the left operand of ⊗, as in products

    def batch(self, lanes: Lanes, out: Any) -> None:
        """out[v, t] ← A*[lane t, v], or A*[v, lane t] where mirrored.

        Rows of `out` begin at multiples of 16 bytes, and hold `lanes.padded` entries.
        """
        if not lanes.count:
            return
        v = self._climbed(lanes)
        self.sweep_top(lanes, v, out)
        self.sweep_low(lanes, v, out)

    def worst(self, lanes: Lanes, out: Any) -> Any:
        """The worst entry of each lane; of `out`, like that of `batch`, only the rows of the top are written."""
        import cupy

        semiring, dtype, *_ = self._given
        word = "greatest" if semiring.add.selects == "least" else "least"
        v = self._climbed(lanes)
        self.sweep_top(lanes, v, out)
        found = cupy.full((len(self.tree.regions) + 1, lanes.padded), dtypes.one(semiring, dtype), dtype)
        self.sweep_low(lanes, v, out, found, kernels(*self._given, word))
        top = out[self.tree.top_labels, : lanes.padded]
        of = "max" if word == "greatest" else "min"
        parts = [getattr(X, of)(axis=0) for X in (found, top) if len(X)]
        worst = parts[0] if len(parts) == 1 else (cupy.maximum if of == "max" else cupy.minimum)(*parts)
        return worst[: lanes.count]

    def _climbed(self, lanes: Lanes) -> Any:
        """v in the caller's order."""
        z, v = self.climb(lanes)
        return v if lanes.ordered else self.arranged(lanes, v, z)

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
        for there, count, start, work in lanes.climbs:
            if work and self._root is not None and there is tree.levels[0][1]:
                self.ops.matmul(v[: len(self._root)], self._root, z[: len(self._root)])
            elif work:
                before = lanes.before.data.ptr + 4 * start
                level = *_at(tree.nodes, there), before, np.int32(count), *_at(lanes.ranges)
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
        threads, shared = WARP * tree.shape.level_warps, tree.shape.ring(self.dtype.itemsize)
        groups = -(-lanes.padded // (threads * tree.shape.each))
        for _, _, tiles in tree.levels:
            given = *_at(tree.nodes, tiles, lanes.ranges, tree.rows), *self._rest(lanes, v, out)
            self.kernels["sweep_level"]((len(tiles), groups), (threads,), given, shared)

    def sweep_low(self, lanes: Lanes, v: Any, out: Any, worst: Any = None, kernels: Any = None) -> None:
        """y of all regions; or, by other kernels, only the worst of each."""
        tree, shape = self.tree, self.tree.shape
        if not len(tree.regions):
            return
        groups, shared = -(-lanes.padded // (WARP * shape.warps * shape.each)), shape.shared(self.dtype.itemsize)
        given = *_at(tree.nodes, tree.regions, lanes.ranges, tree.local, tree.rows), *self._rest(lanes, v, out)
        given += (0, 0) if worst is None else (worst.data.ptr, lanes.padded)
        function = (kernels or self.kernels)["sweep_regions"]
        function((len(tree.regions), groups), (WARP * shape.warps,), given, shared)

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
