"""Best walks from many sources on a weighted graph on the GPU, one thread block per 32 sources; see searches.cu."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ....algebra import dtypes
from ....algebra.records import Semiring
from ....host.errors import MemoryNeeded
from ....host.memory import available, require
from ....host.types import Array
from .. import algebra, cards, compile, gpu
from ..library import cupy

#: Sources of a batch, and arcs of a segment.
LANES = 32
#: Relaxations per launch, half a second: a launch cannot be interrupted.
LAUNCH = 1 << 37
#: Most of free memory for workspaces.
SHARE = 7 / 8
#: Vertices written at a time: `strip` in searches.cu.
STRIP = 64
#: Step of the bound, in buckets of `sparse.Searches.scale`.
BUCKETS = 2.0


@dataclass(frozen=True)
class Shape:
    """Sizes of the kernel: section `searches` of cards/.

    threads : block size; blocks : least resident blocks per multiprocessor, bounding registers; ahead : prefetched arcs
    """

    threads: int
    blocks: int
    ahead: int

    @classmethod
    def of(cls, itemsize: int, arch: str) -> Shape:
        return cls(**cards.lookup("searches", (str(itemsize), "any"), arch))


@dataclass(frozen=True)
class Form:
    """Compile-time parameters of the kernel.

    semiring, dtype : of the output
    weights : number type of walks
    shifted : whether weights are lengths made nonnegative by potentials
    logarithmic : whether ⊗ multiplies
    ranks : whether ⊗ selects, so that ranks stand for weights
    compared, resumed : whether entries are compared with a matrix; whether searches resume from earlier results
    """

    semiring: Semiring
    dtype: np.dtype
    weights: np.dtype
    shifted: bool = False
    logarithmic: bool = False
    ranks: bool = False
    compared: bool = False
    resumed: bool = False

    @property
    def key(self) -> np.dtype:
        return np.dtype(f"u{self.weights.itemsize}")

    @property
    def products(self) -> bool:
        return self.logarithmic and not self.shifted

    @property
    def greatest(self) -> bool:
        return self.semiring.add.selects == "greatest"

    def prelude(self) -> str:
        record, products = dtypes.SCALARS[self.weights], self.products
        infinity = int(np.array(record.high, self.weights).view(self.key))
        origin = int(np.ones(1, self.weights).view(self.key)[0])
        nothing = (origin if self.greatest else infinity - origin) if products else infinity
        key = "unsigned long long" if self.key.itemsize == 8 else "unsigned"
        flags = algebra.constants(
            floating=record.floating, products=products, ranks=self.ranks, greatest=self.greatest,
            shifted=self.shifted, logarithmic=self.logarithmic, compared=self.compared, resumed=self.resumed,
        )  # fmt: skip
        return f"""\
using Entry = {algebra.spelled(self.dtype)[0]};
using Weight = {algebra.spelled(self.weights)[0]};
using Key = {key};
constexpr Key nothing = {nothing}ull, origin = {origin}ull;
{flags}"""


@compile.unit("searches.cu")
def text(form: Form, shape: Shape, in_shared: bool = True) -> str:
    """Translation unit; `in_shared`: whether vertex bitmaps are in shared memory."""
    return compile.source("searches.cu", form.prelude(), algebra.constants(**asdict(shape), in_shared=in_shared))


@dataclass(frozen=True)
class Guide:
    """Alignment of sources at a landmark, and end of searches.

    delays : start delay of each vertex in buckets
    rank : locality order of sources for batches
    furthest : last bucket of a source without delay
    limit : worse entries count as unreached
    """

    delays: np.ndarray | None = None
    rank: np.ndarray | None = None
    furthest: float = np.inf
    limit: np.generic | None = None


class Blocks:
    """Rows in blocks, of searches on device `number` that `into` writes; `where`, their name in errors."""

    where = "Searches"
    number: int
    n: int
    dtype: np.dtype

    def into(self, sources: np.ndarray, rows: Array, how: Any) -> None:
        raise NotImplementedError  # hops count levels, searches follow a Guide

    def empty(self, rows: int) -> Any:
        """Memory for rows; MemoryNeeded if it does not fit."""
        size = rows * self.n * self.dtype.itemsize
        require(size, "cuda", where=self.where, hint="rows() streams blocks of rows.")
        with cupy.cuda.Device(self.number):
            return cupy.empty((rows, self.n), self.dtype)

    def rows(self, wanted: np.ndarray, block: int, how: Any) -> Iterator[tuple[np.ndarray, Any]]:
        """Blocks of rows: (sources, entries (k, n)); `how`: the last argument of `into`."""
        for start in range(0, len(wanted), block):
            part = wanted[start : start + block]
            D = self.empty(len(part))
            self.into(part, D, how)
            yield part, D


class Searches(Blocks):
    """Searches on the current device.

    start, heads, weights : CSR in the number type of walks; no weight improves a walk. On the device, padded by LANES
    scale : buckets per unit of a key
    shift : potentials (n,)
    known : entries by rank
    segments : number of segments of up to LANES arcs of one vertex; computed for host arrays
    """

    def __init__(
        self, form: Form, start: Array, heads: Array, weights: Array, scale: float, shift: np.ndarray | None = None,
        known: np.ndarray | None = None, segments: int | None = None,
    ) -> None:  # fmt: skip
        self.form, self.scale, self.number, self.n = form, scale, gpu.current(), len(start) - 1
        self.dtype, self.buckets = form.dtype, BUCKETS
        self.shape = Shape.of(form.weights.itemsize, compile.device_arch(self.number))
        if segments is None:
            segments = int((-(-np.diff(start) // LANES)).sum())
            # A warp reads a whole segment; entries beyond a vertex' arcs are ignored.
            heads, weights = (np.concatenate((X, np.zeros(LANES, X.dtype))) for X in (heads[: len(weights)], weights))
            arrays = start.astype(np.int32), heads.astype(np.int32), weights.astype(form.weights)
            start, heads, weights = (cupy.asarray(X) for X in arrays)
        self._graph, self._capacity, self.arcs = (start, heads, weights), segments, len(weights) - LANES
        self._shift = None if shift is None else cupy.asarray(shift.astype(form.weights))
        self._known = None if known is None else cupy.asarray(known)

    @property
    def _words(self) -> int:
        return 2 * -(-self.n // 32)

    def _shared(self) -> tuple[int, bool]:
        """Shared memory of a block, and whether bitmaps are in it."""
        tile = LANES * (STRIP + 1) * self.form.key.itemsize
        most = (gpu.most_shared(self.number) + 1024) // self.shape.blocks - 2048  # 1024 are reserved by the system
        in_shared = 4 * self._words <= most
        return max(tile, 4 * self._words * in_shared), in_shared

    def _workspace(self) -> int:
        return self.n * (LANES * self.form.key.itemsize + 4) + 8 * self._capacity + 4 * self._words

    def blocks(self, sources: int, extra: int = 0) -> int:
        """Thread blocks for `sources`, at `extra` bytes beyond the workspace each; MemoryNeeded if none fits."""
        shared, in_shared = self._shared()
        function = text.functions(self.form, self.shape, in_shared)["search_batches"]
        compile.allow_shared(function, shared)
        resident = gpu.multiprocessors(self.number) * max(1, gpu.resident(function, self.shape.threads, shared))
        wanted, size = max(1, min(resident, -(-sources // LANES))), self._workspace() + extra
        try:
            hint = "A search holds 32 entries a vertex. Pass device='cpu', or a smaller dtype."
            require(wanted * size, "cuda", where="Searches", hint=hint)
        except MemoryNeeded:
            fitting = int(SHARE * (available("cuda") or 0)) // size
            if not fitting:
                raise
            return min(fitting, wanted)
        return wanted

    def batch(self, sources: int) -> int:
        """Sources searched at once, out of `sources`, including memory of their rows."""
        return LANES * self.blocks(sources, LANES * self.n * self.form.dtype.itemsize)

    def to_dense(self, out: Array, guide: Guide) -> Array:
        every = np.arange(self.n)
        if out.strides[1] == out.itemsize:
            self.into(every, out, guide)
        else:
            for index, D in self.rows(every, self.batch(self.n), guide):
                out[index[0] : index[-1] + 1] = D
        return out

    def into(self, sources: np.ndarray, rows: Array, guide: Guide) -> None:
        self.run(self.placed(sources, guide), rows, guide)

    def placed(self, sources: np.ndarray, guide: Guide) -> tuple[Array, Array, Array]:
        """Sources in search order, their rows, and their delays relative to the first of each batch."""
        count = len(sources)
        order = np.arange(count) if guide.rank is None else np.argsort(guide.rank[sources], kind="stable")
        late = np.zeros(count) if guide.delays is None else np.minimum(guide.delays[sources[order]], 1e37)
        if count:
            late = late - np.repeat(np.minimum.reduceat(late, np.arange(0, count, LANES)), LANES)[:count]
        with cupy.cuda.Device(self.number):
            arrays = sources[order].astype(np.int32), order.astype(np.int32), late.astype(np.float32)
            origins, places, delays = (cupy.asarray(X) for X in arrays)
        return origins, places, delays

    def run(
        self,
        placed: tuple[Array, Array, Array],
        rows: Array,
        guide: Guide,
        *,
        against: tuple[Array, Array] | None = None,
    ) -> None:
        """Search from placed sources.

        With `compared`, `against` is a matrix, possibly `rows`, and int64 memory: the number of its better entries,
        initially 0, then places of some. With `resumed`, those places are of unsearched arcs, and `rows` holds the
        earlier results.
        """
        step = LANES * max(1, LAUNCH // (LANES * max(1, self.arcs + self.n)))
        with cupy.cuda.Device(self.number):
            for begin in range(0, len(placed[0]), step):
                if begin:
                    cupy.cuda.get_current_stream().synchronize()  # so that Ctrl-C is handled
                origins, places, delays = (X[begin : begin + step] for X in placed)
                self._launch(origins, places, delays, rows, guide, against)

    def _launch(
        self, origins: Array, places: Array, delays: Array, rows: Array, guide: Guide,
        against: tuple[Array, Array] | None,
    ) -> None:  # fmt: skip
        form, n, count = self.form, self.n, len(origins)
        blocks, (shared, in_shared) = self.blocks(count), self._shared()
        panels = cupy.empty((blocks, n, LANES), form.key)
        keys, lists = cupy.empty((blocks, n), np.uint32), cupy.empty((blocks, self._capacity, 2), np.int32)
        bitmaps = None if in_shared else cupy.empty((blocks, self._words), np.uint32)
        following = cupy.zeros(1, np.uint32)
        absent = dtypes.zero(form.semiring, form.dtype)
        compared: tuple[Any, ...] = (0, 0, 0, 0)
        if against is not None:
            A, undercut = against
            compared = A, np.int64(A.strides[0] // A.itemsize), undercut, np.int64(len(undercut) - 1)
        graph = *self._graph, np.int32(n), origins, places, delays, np.int32(count)
        space = panels, keys, lists, np.int64(self._capacity), 0 if bitmaps is None else bitmaps, following
        furthest = min(max(guide.furthest, 0.0), 3e38)
        order = np.float32(self.scale), np.float32(self.buckets), np.float32(furthest)
        out = rows, np.int64(rows.strides[0] // rows.itemsize), absent, absent if guide.limit is None else guide.limit
        tables = (0 if X is None else X for X in (self._shift, self._known))
        search = text.functions(form, self.shape, in_shared)["search_batches"]
        arguments = *graph, *space, *order, *out, *tables, *compared
        search((blocks,), (self.shape.threads,), arguments, shared_mem=shared)
