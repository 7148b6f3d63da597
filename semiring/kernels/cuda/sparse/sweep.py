"""Rows and columns of A*, many at once, from a sparse elimination on the GPU; see sweep.cu."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ....algebra import dtypes
from ....algebra.catalog import min_plus
from ....algebra.ranges import positions, runs
from ....algebra.records import Semiring
from ....host.errors import ShapeError
from ....host.types import Array, Label
from ...cpu.sparse import regions
from ...cpu.sparse.regions import TOP
from .. import algebra, cards, compile
from ..dense.backend import CudaBackend
from ..library import cupy
from .lanes import LANES, WARP, WARPS, Lanes

#: Rows of y that supernodes' rows and columns have, instead of their labels.
Numbers = tuple[Array, Array]
#: Root columns from which z D is a dense product.
WIDE = 128
#: Parts of the search for worst rows of the top.
PARTS = 64
#: Overhead of a product in lanes.
ALONE = 2048


@dataclass(frozen=True)
class Shape:
    """Sizes of the kernels: section `sweeps` of cards/.

    each : lanes per thread
    warps : per block that walks regions
    stack : rows of a stack
    program : most bytes of a region beside its stacks
    region_blocks, level_blocks : least resident blocks per multiprocessor; bounds the registers
    run : consecutive blocks per region
    level_warps : warps per block in the top
    strips : strips of four columns per warp in the top, or one
    deep, stages : rows per stage, and stages, of the copy ring in the top
    """

    each: int
    warps: int
    stack: int
    program: int
    region_blocks: int
    run: int
    level_warps: int
    level_blocks: int
    strips: int
    deep: int
    stages: int

    @classmethod
    def of(cls, itemsize: int, arch: str) -> Shape:
        return cls(**cards.lookup("sweeps", (str(itemsize), "any"), arch))

    def within(self, limit: int, itemsize: int) -> Shape:
        """With fewer warps, if needed to fit in `limit` bytes."""
        few, level = self.warps, self.level_warps
        while few > 1 and replace(self, warps=few).shared(itemsize) > limit:
            few -= 1
        while level > 1 and replace(self, level_warps=level).ring(itemsize) > limit:
            level //= 2
        blocks = self.level_blocks * self.level_warps // level
        return replace(self, warps=few, level_warps=level, level_blocks=blocks)

    def shared(self, itemsize: int) -> int:
        """Shared memory of a region block: program and stacks."""
        return self.program + self.warps * self.stack * WARP * self.each * itemsize

    def ring(self, itemsize: int) -> int:
        return self.level_warps * self.stages * self.deep * (WARP * self.each + 4 * self.strips) * itemsize

    def text(self, mirrored: bool, kept: str = "") -> str:
        """C++ constants for the kernels.

        `kept` of a region: its "greatest" or "least" entries, "some" rows, all of a packed quantity in "int64" or
        "float64", or all.
        """
        packed = kept in ("int64", "float64")
        dtype = np.dtype(kept if packed else "int64")
        kind, none = algebra.spelled(dtype)[0], dtypes.zero(min_plus, dtype)
        no_path = f"__device__ inline Quantity no_path() {{ return {algebra.literal(none, kind)}; }}\n"
        return f"using Quantity = {kind};\n{no_path}" + algebra.constants(
            each=self.each, warps=self.warps, stack_rows=self.stack, most_strips=self.strips, deep=self.deep,
            stages=self.stages, region_blocks=self.region_blocks, level_blocks=self.level_blocks,
            level_warps=self.level_warps, run=self.run, mirrored=mirrored, only_worst=kept in ("greatest", "least"),
            greatest=kept == "greatest", some=kept == "some", packed=packed,
        )  # fmt: skip


def step_of(semiring: Semiring, dtype: np.dtype, nonnegative: bool) -> str:
    variant = algebra.variant_of(semiring, dtype, nonnegative=nonnegative) if dtype.itemsize > 2 else None
    return algebra.text(semiring, dtype, variant)


def _prepare(
    found: compile.Functions, semiring: Semiring, dtype: np.dtype, nonnegative: bool, shape: Shape, *options: Any
) -> None:
    compile.allow_shared(found["sweep_regions"], shape.shared(dtype.itemsize))
    compile.allow_shared(found["sweep_level"], shape.ring(dtype.itemsize))


@compile.unit("sweep.cu", prepare=_prepare)
def text(semiring: Semiring, dtype: np.dtype, nonnegative: bool, shape: Shape, mirrored: bool, kept: str = "") -> str:
    return compile.source("sweep.cu", step_of(semiring, dtype, nonnegative), shape.text(mirrored, kept))


#: A supernode: `Node` in sparse.inl.
NODE = np.dtype(
    [
        *((name, np.int32) for name in ("first", "width", "begin", "rows")),
        ("panel", np.int64),
        ("base", np.int32),
        *((name, np.int16) for name in ("own", "kind")),
    ]
)


def units(w: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Panel offsets of supernodes of w columns and r rows, and their end, in units of 4 entries."""
    return np.concatenate(([0], np.cumsum(-(-w // 4) * (w + r + r % 2))))


def nodes(**fields: np.ndarray) -> np.ndarray:
    """Records of `NODE`; ShapeError if a number overflows its field."""
    made = np.empty(len(fields["panel"]), NODE)
    for name, values in fields.items():
        most = int(values.max(initial=0))
        if most > np.iinfo(NODE[name]).max:
            raise ShapeError(
                f"cuda: a sparse elimination counts '{name}' of its supernodes up to {np.iinfo(NODE[name]).max:,}, "
                f"got {most:,}. Use device='cpu'."
            )
        made[name] = values
    return made


def addresses(*arrays: Any) -> tuple[int, ...]:
    return tuple(array.data.ptr for array in arrays)


def _pitch(X: Array) -> int:
    """Row stride in entries; kernels count row bytes in 32 bits."""
    if X.strides[0] >= 1 << 32:
        raise ShapeError(f"cuda: rows of a sweep must be less than 4 GiB, got {X.strides[0]:,} bytes. Ask for fewer.")
    return int(X.strides[0]) // int(X.itemsize)


#: A quantity in lengths of 64 bits: bits below it, its own, or 0 for all above; and its dtype, int64 or float64.
Packed = tuple[int, int, np.dtype]
#: Lengths themselves.
LENGTHS: Packed = 0, 0, np.dtype(np.int64)


def _mask(word: Packed) -> tuple[Any, ...]:
    """Arguments of kernels: shift and mask."""
    shift, bits, _ = word
    return np.int32(shift), np.int64((1 << bits) - 1 if bits else -1)


@dataclass(frozen=True, eq=False)
class Chosen:
    """Rows and columns of a part, the numbers that the rows have, and the lanes of `step` columns each."""

    rows: np.ndarray
    columns: np.ndarray
    step: int
    numbers: Numbers
    count: int
    lanes: list[Lanes]

    def suits(self, rows: np.ndarray, columns: np.ndarray, step: int) -> bool:
        return step == self.step and np.array_equal(rows, self.rows) and np.array_equal(columns, self.columns)


class Tree:
    """A structure on the current device, cut into regions and the levels above."""

    def __init__(self, structure: Any, shape: Shape, itemsize: int) -> None:
        S = structure
        self.S, self.shape, self.itemsize, self.n = S, shape, itemsize, S.n
        w, r = (np.diff(x).astype(np.int64) for x in (S.first, S.begin))
        self.w, self.r = w, r
        self.panel = units(w, r)
        # A supernode: range, rows and labels, and panel, of which little may be a unit.
        bytes_of = 40 + 8 * (r + r % 2) + 4 * w + max(16, 4 * itemsize) * np.diff(self.panel)
        total, begin = (np.concatenate(([0], np.cumsum(x))) for x in (bytes_of, r + r % 2))
        tables, limit = (S.parent, S.child, S.leaf, S.first, S.begin, total), shape.program - 80
        count, local = len(S), np.zeros(len(S.rows), np.int32)
        deep, own = np.zeros(count, np.int64), np.full(count, -1, np.int32)
        kind, low, high, ahead, self.depth = np.zeros((5, count), np.int32)
        found = regions.subtrees(*tables, shape.stack, limit, S.front, False, deep, kind, low, high)
        walked = S.child, S.leaf, S.first, S.begin, S.base, S.rows, S.owner, high[:found]
        regions.places(*walked, shape.stack, deep, kind, local, own, ahead)
        slots, places, rows = np.empty((3, begin[-1]), np.int32)
        regions.even_rows(S.begin, S.rows, S.slot, local, S.permutation, begin, slots, places, rows)
        # plus the end of the last one
        ends = {"panel": self.panel, "first": S.first, "begin": begin}
        others = {"width": (w, 0), "rows": (r, 0), "base": (S.base, 0), "own": (own, -1)}
        others["kind"] = kind + 4 * ahead, TOP
        self.nodes = cupy.asarray(nodes(**ends, **{name: np.append(*x) for name, x in others.items()}).view(np.int32))
        self.regions = cupy.asarray(np.stack((low[:found], high[:found]), axis=1))
        self.slots, self.local, self.rows = (cupy.asarray(x) for x in (slots, places, rows))
        self.labels, self.owner, self.parent = (cupy.asarray(x) for x in (S.permutation, S.owner, S.parent))
        self.bounds = cupy.asarray(np.stack((S.first[S.leaf], S.first[1:]), axis=1))
        regions.depths(S.parent, self.depth)
        above = np.flatnonzero(kind == TOP)
        top = above[np.argsort(self.depth[above], kind="stable")]
        self.levels = list(zip(*_pieces(top, self.depth[top]), strict=True))
        tiles = self._tiles(top)
        self.tiles = _pieces(tiles, self.depth[tiles[:, 0]])[1]
        self.above = np.stack((S.first[S.leaf[top]], S.first[top + 1]))
        self.pieces = -(-(w + r)[top] // 8)
        self._top = positions(S.first[top], w[top])
        self.hubs: Any = None  # layout of hub labels, once made
        self.chosen: Chosen | None = None  # the last part that was asked for

    def _tiles(self, top: np.ndarray) -> np.ndarray:
        """Tiles of a sweep over supernodes: (supernode, first column, strips)."""
        strips, most = -(-self.w[top] // 4), self.shape.strips
        count = strips // most + strips % most  # single strips where there are not enough
        which = np.repeat(np.arange(len(top)), count)
        k = positions(0, count)
        full = strips[which] // most
        first = 4 * (most * np.minimum(k, full) + np.maximum(k - full, 0))
        return np.stack((top[which], first, np.where(k < full, most, 1)), axis=1).astype(np.int32)

    def dense_root(self, panel: Array) -> Any:
        """D of a single root wide enough for a dense product, as a matrix, else None."""
        if not self.levels or len(self.levels[0][0]) > 1:
            return None
        s = int(self.levels[0][0][0])
        w = int(self.w[s])
        if w < WIDE:
            return None
        strips = panel[int(self.panel[s]) : int(self.panel[s + 1])].reshape(-1, w, 4)
        return cupy.ascontiguousarray(strips.transpose(1, 0, 2).reshape(w, -1)[:, :w])

    def below_root(self) -> list[tuple[int, int, np.ndarray]]:
        """Runs of the root's children: first and last column below them, and the root's columns that they meet."""
        S = self.S
        s = int(self.levels[0][0][0])
        runs: list[tuple[int, int, np.ndarray]] = []
        for t in np.flatnonzero(S.parent == s).tolist():
            low, high, met = (
                int(S.first[S.leaf[t]]),
                int(S.first[t + 1]),
                S.rows[S.begin[t] : S.begin[t + 1]] - S.first[s],
            )
            # Merge runs while one product costs less than two, overheads included.
            while runs:
                start, stop, before = runs[-1]
                both = np.union1d(before, met)
                apart = (stop - start) * len(before) + (high - low) * len(met)
                if (high - start) * len(both) > apart + ALONE * len(both):
                    break
                low, met = start, both
                runs.pop()
            runs.append((low, high, met))
        return runs

    @property
    def top_columns(self) -> int:
        return len(self._top)

    @cached_property
    def top_labels(self) -> Array:
        """Vertices of the top, on the device."""
        return self.labels[cupy.asarray(self._top)]

    @cached_property
    def ranked(self) -> Numbers:
        """Rows and labels of the top by rank among its columns."""
        by_label, by_column = (np.full(self.n, -1, np.int32) for _ in range(2))
        by_column[self._top] = by_label[self.S.permutation[self._top]] = np.arange(len(self._top))
        return cupy.asarray(by_label)[self.rows], cupy.asarray(by_column)

    def numbered(self, vertices: np.ndarray) -> tuple[Numbers, int]:
        """Rows and labels by position among distinct vertices and then the top's others, else −1; and their count."""
        labels, place = self.S.permutation, np.full(self.n, -1, np.int32)
        place[vertices] = np.arange(len(vertices))
        others = labels[self._top][place[labels[self._top]] < 0]
        place[others] = len(vertices) + np.arange(len(others))
        by_label = cupy.asarray(place)
        return (by_label[self.rows], by_label[self.labels]), len(vertices) + len(others)

    @cached_property
    def every_level(self) -> list[Any]:
        """Supernodes of each tree level, parents first, on the device."""
        by = np.argsort(self.depth, kind="stable")
        return _pieces(by, self.depth[by])[1]

    @cached_property
    def strips_of_levels(self) -> list[int]:
        """Strips of the widest supernode of each level."""
        most = np.zeros(len(self.every_level), np.int64)
        np.maximum.at(most, self.depth, -(-self.w // 4))
        return most.tolist()

    @cached_property
    def everything(self) -> Lanes:
        return Lanes(self, self.S.position)


class Sweeps:
    """Batches of rows, or of columns if `mirrored`, on panels of one semiring and dtype."""

    def __init__(
        self, tree: Tree, up: Any, down: Any, semiring: Semiring, dtype: np.dtype, nonnegative: bool, mirrored: bool
    ) -> None:
        self.tree, self.up, self.down, self.dtype = tree, up, down, dtype
        self._kind = semiring, dtype, nonnegative, tree.shape, mirrored
        self.kernels = text.functions(*self._kind)
        self.ops = CudaBackend(semiring, dtype, nonnegative)
        root: Any = tree.dense_root(up) if mirrored else None  # D is the left operand of ⊗, as in products
        self._root = root
        self._parts: list[tuple[int, int, Any, Any]] = []
        for low, high, met in tree.below_root() if root is not None else ():
            columns = cupy.asarray(met)
            self._parts.append((low, high, columns, cupy.ascontiguousarray(root[:, columns])))
        top = int(tree.levels[0][0][0]) if tree.levels else 0
        self._below = int(tree.S.first[tree.S.leaf[top]]), int(tree.S.first[top + 1])

    def batch(self, lanes: Lanes, out: Array, word: Packed = LENGTHS) -> None:
        """out[v, t] ← A*[lane t, v], or A*[v, lane t] if mirrored; rows 16-byte aligned, of `lanes.padded` entries.

        A quantity packed in lengths takes the place of these.
        """
        if not lanes.count:
            return
        _, v = self.climb(lanes)
        self.sweep_top(lanes, v, out)
        if word is LENGTHS:
            self.sweep_low(lanes, v, out)
            return
        kernels = text.functions(*self._kind, word[2].name)
        self.sweep_low(lanes, v, out, kernels=kernels, word=word)
        grid = -(-lanes.padded // (4 * WARP * self.tree.shape.each)), self.tree.top_columns
        rows = self.tree.top_labels, out, _pitch(out), np.int32(lanes.padded)
        if self.tree.top_columns:
            kernels["unpack_rows"](grid, (4 * WARP,), (*rows, *_mask(word)))

    def part(self, lanes: Lanes, out: Array, numbers: Numbers) -> None:
        """`batch` of some rows, which stand where `Tree.numbered` says."""
        _, v = self.climb(lanes)
        self.sweep_top(lanes, v, out, numbers)
        self.sweep_low(lanes, v, out, numbers, text.functions(*self._kind, "some"))

    def worst(self, lanes: Lanes, top: Any) -> Any:
        """The worst entry of each lane. Rows of the top go to `top`, others are not stored."""
        semiring, dtype, *_ = self._kind
        word = "greatest" if semiring.add.selects == "least" else "least"
        worst = text.functions(*self._kind, word)
        _, v = self.climb(lanes)
        self.sweep_top(lanes, v, top, self.tree.ranked)
        regions, pitch, wide = len(self.tree.regions), lanes.padded, 128 * self.tree.shape.each
        found = cupy.full((regions + PARTS, pitch), dtypes.one(semiring, dtype), dtype)
        self.sweep_low(lanes, v, top, self.tree.ranked, worst, found)
        rest = top, top.strides[0] // top.itemsize, np.int32(len(top)), found[regions:], pitch
        worst["worst_rows"]((-(-pitch // wide), PARTS), (128,), (*rest, np.int32(pitch)))
        return (found.max if word == "greatest" else found.min)(axis=0)[: lanes.count]

    def climb(self, lanes: Lanes) -> tuple[Any, Any]:
        """z and v of the sorted lanes, a row per place on the path from the root."""
        tree, pitch = self.tree, lanes.padded
        z, v = (cupy.empty((max(tree.S.height, 1), pitch), self.dtype) for _ in range(2))
        tables, ours = (tree.slots, self.up), (z, v, _pitch(v))
        arguments = tree.nodes, tree.owner, tree.parent, *tables, lanes.starts, *ours, np.int32(pitch)
        self.kernels["climb_regions"]((-(-pitch // 128),), (128,), arguments)
        for on_device, count, start, work in lanes.climbs:
            if work and self._root is not None and on_device is tree.levels[0][1]:
                self._climb_root(lanes, z, v)
            elif work:
                level = tree.nodes, on_device, lanes.before[start:], np.int32(count), lanes.ranges
                self.kernels["climb_level"]((-(-work // WARPS),), (WARP * WARPS,), (*level, *tables, *ours))
        return z, v

    def _climb_root(self, lanes: Lanes, z: Any, v: Label) -> None:
        """v = z D of a wide root, for the lanes below it; below a child, z is zero except at the child's rows."""
        root: Any = self._root
        w = len(root)

        def lanes_of(low: int, high: int) -> tuple[int, int]:
            start, stop = np.searchsorted(lanes.columns, (low, high)).tolist()
            return start, stop

        done, end = lanes_of(*self._below)
        for low, high, met, D in self._parts:
            start, stop = lanes_of(low, high)
            start, stop = -(-start // LANES) * LANES, stop // LANES * LANES
            if stop > start:
                if start > done:
                    self.ops.matmul(v[:w, done:start], root, z[:w, done:start])
                self.ops.matmul(v[:w, start:stop], D, z[:, start:stop][met])
                done = stop
        if end > done:
            self.ops.matmul(v[:w, done:end], root, z[:w, done:end])

    def sweep_top(self, lanes: Lanes, v: Label, out: Array, numbers: Numbers | None = None) -> None:
        """y of the top, level by level; rows by label, or by the numbers of rows and labels given."""
        tree = self.tree
        threads, shared = WARP * tree.shape.level_warps, tree.shape.ring(self.dtype.itemsize)
        groups = -(-lanes.padded // (threads * tree.shape.each))
        rest = self._rest(lanes, v, out, numbers)
        for depth, tiles in enumerate(tree.tiles):
            arguments = tree.nodes, tiles, lanes.ranges, *rest
            if depth == 0:
                self.kernels["sweep_roots"]((len(tiles) * groups,), (threads,), arguments)
            else:
                self.kernels["sweep_level"]((len(tiles), groups), (threads,), arguments, shared)

    def sweep_low(
        self, lanes: Lanes, v: Label, out: Array, numbers: Numbers | None = None, kernels: Any = None,
        worst: Any = None, word: Packed = LENGTHS,
    ) -> None:  # fmt: skip
        """y of all regions; with other kernels, some of their rows, the worst of each, or a quantity."""
        tree, shape = self.tree, self.tree.shape
        if not len(tree.regions):
            return
        groups = -(-lanes.padded // (WARP * shape.warps * shape.each))
        tables = tree.nodes, tree.regions, lanes.ranges, tree.local, *self._rest(lanes, v, out, numbers)
        ends = (0, 0) if worst is None else (worst, lanes.padded)
        arguments = *tables, *ends, np.int32(len(tree.regions)), np.int32(groups), *_mask(word)
        function = (kernels or self.kernels)["sweep_regions"]
        function((len(tree.regions) * groups,), (WARP * shape.warps,), arguments, shape.shared(self.dtype.itemsize))

    def _rest(self, lanes: Lanes, v: Label, out: Array, numbers: Numbers | None) -> tuple[Any, ...]:
        labels = numbers or (self.tree.rows, self.tree.labels)
        return *labels, self.down, lanes.places, v, _pitch(v), out, _pitch(out), np.int32(lanes.padded)

    def transpose(self, panel: Array, rows: Any) -> None:
        count, n = rows.shape
        near, far = ((X, X.strides[0] // X.itemsize) for X in (panel, rows))
        self.kernels["transpose"]((-(-n // 32), -(-count // 32)), (256,), (*near, *far, np.int32(n), np.int32(count)))


def pairs(rows: Sweeps, columns: Sweeps, sources: Lanes, targets: Lanes, out: Array) -> None:
    tree = rows.tree
    (_, v), (z, _) = rows.climb(sources), columns.climb(targets)
    ends = sources.starts, targets.starts, sources.places, targets.places
    arguments = tree.nodes, tree.owner, tree.parent, *ends, v, z, sources.padded, out, np.int32(sources.count)
    rows.kernels["pairs"]((-(-sources.count // 128),), (128,), arguments)


def _pieces(X: np.ndarray, depth: np.ndarray) -> tuple[list[np.ndarray], list[Any]]:
    """Runs of X of equal depth, on the host and on the device."""
    on_device, pieces = cupy.asarray(np.ascontiguousarray(X, np.int32)), runs(depth)
    return [X[run] for run in pieces], [on_device[run] for run in pieces]
