"""Best walks from many sources through a weighted graph on the GPU, a thread block for 32 of them; see searches.cu."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ... import dtypes
from ...algebra import Semiring
from ...compiling import about
from ...errors import MemoryNeeded
from ...memory import available, require
from ...types import Array
from .. import cards, compile, gpu

#: Sources of a batch, and arcs of a segment.
LANES = 32
#: A launch relaxes about so many arcs for a source each, half a second's worth: nothing stops a launch.
LAUNCH = 1 << 37
#: The share of the free memory that workspaces may take.
SHARE = 7 / 8
#: Vertices that are written at a time: `strip` in searches.cu.
STRIP = 64
#: How far the bound moves, in buckets of `sparse.Searches.scale`.
BUCKETS = 2.0

_C = {
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "float32": "float",
    "float64": "double",
}


@dataclass(frozen=True)
class Shape:
    """Sizes of the kernel: section `searches` of the tuning data in cards/.

    Attributes
    ----------
    threads : int
        Of a block.
    blocks : int
        That a multiprocessor holds at least; it bounds the registers.
    ahead : int
        Arcs of which entries are loaded before the first is relaxed.
    """

    threads: int
    blocks: int
    ahead: int

    @classmethod
    def of(cls, itemsize: int, arch: str) -> Shape:
        """What suits entries of so many bytes on an architecture."""
        return cls(**cards.lookup("searches", (str(itemsize), "any"), arch))


@dataclass(frozen=True)
class Form:
    """What the kernel is compiled for.

    Attributes
    ----------
    semiring, dtype
        Of the entries that are given out.
    weights : numpy.dtype
        In which walks are computed.
    shifted : bool
        Whether weights are lengths that potentials made non-negative.
    logarithmic : bool
        Whether ⊗ multiplies.
    ranks : bool
        Whether ⊗ selects, so that ranks of weights are searched for in their place.
    compared, resumed : bool
        Whether entries are compared with those of a matrix; whether searches begin with what was found before.
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
        """The dtype of keys."""
        return np.dtype(f"u{self.weights.itemsize}")

    @property
    def products(self) -> bool:
        """Whether ⊗ multiplies what is computed with."""
        return self.logarithmic and not self.shifted

    @property
    def greatest(self) -> bool:
        """Whether ⊕ keeps the greater entry."""
        return self.semiring.add.selects == "greatest"

    def prelude(self) -> str:
        """What keys.inl is compiled for."""
        floating, products = self.weights.kind == "f", self.products
        infinity = int(np.array(np.inf if floating else np.iinfo(self.weights).max, self.weights).view(self.key))
        origin = int(np.ones(1, self.weights).view(self.key)[0])
        nothing = (origin if self.greatest else infinity - origin) if products else infinity
        key = "unsigned long long" if self.key.itemsize == 8 else "unsigned"
        flags = {
            "floating": floating,
            "products": products,
            "ranks": self.ranks,
            "greatest": self.greatest,
            "shifted": self.shifted,
            "logarithmic": self.logarithmic,
            "compared": self.compared,
            "resumed": self.resumed,
        }
        return f"""\
using Entry = {_C[self.dtype.name]};
using Weight = {_C[self.weights.name]};
using Key = {key};
constexpr Key nothing = {nothing}ull, origin = {origin}ull;
constexpr bool {", ".join(f"{name} = {str(flag).lower()}" for name, flag in flags.items())};"""

    def text(self, shape: Shape, *, in_shared: bool = True) -> str:
        """The translation unit; `in_shared`, whether bitmaps of vertices are in shared memory."""
        sizes = ", ".join(f"{name} = {int(size)}" for name, size in asdict(shape).items())
        shared = f"constexpr bool in_shared = {str(in_shared).lower()};"
        return compile.source("searches.cu", self.prelude(), f"constexpr int {sizes};", shared)


@lru_cache(maxsize=64)
def kernel(form: Form, shape: Shape, in_shared: bool, device: int) -> Any:
    """The entry function on a device."""
    with about(f"{form.semiring.name} in {form.dtype}"):
        return compile.functions(form.text(shape, in_shared=in_shared), name="searches.cu").get_function(
            "search_batches"
        )


@dataclass(frozen=True)
class Guide:
    """What makes sources reach a landmark together, and where searches end.

    Attributes
    ----------
    delays : array, shape (n,), optional
        How many buckets later a search from each vertex begins.
    rank : array, shape (n,), optional
        Sources of neighbouring ranks are better searched from together.
    furthest : float
        After which bucket of a source without delay a search may end.
    limit : numpy scalar of the entries' dtype, optional
        What is worse counts as not reached.
    """

    delays: np.ndarray | None = None
    rank: np.ndarray | None = None
    furthest: float = np.inf
    limit: np.generic | None = None


class Searches:
    """Searches on the current device.

    Parameters
    ----------
    form : Form
    start, heads, weights : arrays (n + 1,), (arcs,), (arcs,)
        The arcs of v are start[v] … start[v + 1]; weights as a search adds, multiplies or compares them, none of which
        makes a walk better. Where they are on the device, LANES heads and weights follow that are none.
    scale : float
        Buckets a unit of a key.
    shift : array, shape (n,), optional
        The potentials.
    known : array, optional
        The entries of ranks.
    segments : int, optional
        Of LANES arcs, or fewer, of one vertex; counted where arrays are on the host.
    """

    def __init__(
        self,
        form: Form,
        start: Array,
        heads: Array,
        weights: Array,
        scale: float,
        shift: np.ndarray | None = None,
        known: np.ndarray | None = None,
        segments: int | None = None,
    ) -> None:
        import cupy

        self.form, self.scale, self.number, self.n = form, scale, gpu.current(), len(start) - 1
        self.buckets = BUCKETS
        self.shape = Shape.of(form.weights.itemsize, compile.device_arch(self.number))
        if segments is None:
            segments = int((-(-np.diff(start) // LANES)).sum())
            # A warp reads an entire segment; what follows the arcs of a vertex is not used.
            heads, weights = (np.concatenate((X, np.zeros(LANES, X.dtype))) for X in (heads[: len(weights)], weights))
            arrays = start.astype(np.int32), heads.astype(np.int32), weights.astype(form.weights)
            start, heads, weights = (cupy.asarray(X) for X in arrays)
        self._graph, self._capacity, self.arcs = (start, heads, weights), segments, len(weights) - LANES
        self._shift = None if shift is None else cupy.asarray(shift.astype(form.weights))
        self._known = None if known is None else cupy.asarray(known)

    @property
    def _words(self) -> int:
        """Of both bitmaps."""
        return 2 * -(-self.n // 32)

    def _shared(self) -> tuple[int, bool]:
        """Bytes of shared memory of a block, and whether bitmaps are in it."""
        tile = LANES * (STRIP + 1) * self.form.key.itemsize
        most = (gpu.most_shared(self.number) + 1024) // self.shape.blocks - 2048  # of which 1024 the system takes
        in_shared = 4 * self._words <= most
        return max(tile, 4 * self._words * in_shared), in_shared

    def _workspace(self) -> int:
        """Bytes that a block works on."""
        return self.n * (LANES * self.form.key.itemsize + 4) + 8 * self._capacity + 4 * self._words

    def blocks(self, sources: int, extra: int = 0) -> int:
        """How many thread blocks search from so many sources, where each takes `extra` bytes more than its workspace.

        Raises
        ------
        MemoryNeeded
            If the memory of one does not fit.
        """
        shared, in_shared = self._shared()
        function = kernel(self.form, self.shape, in_shared, self.number)
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
        """How many of so many sources are searched from at a time; their rows fit, too."""
        return LANES * self.blocks(sources, LANES * self.n * self.form.dtype.itemsize)

    def empty(self, rows: int) -> Any:
        """Memory for so many rows.

        Raises
        ------
        MemoryNeeded
            If they do not fit.
        """
        import cupy

        size = rows * self.n * self.form.dtype.itemsize
        require(size, "cuda", where="Searches", hint="rows() streams blocks of rows.")
        with cupy.cuda.Device(self.number):
            return cupy.empty((rows, self.n), self.form.dtype)

    def rows(self, wanted: np.ndarray, block: int, guide: Guide) -> Iterator[tuple[np.ndarray, Any]]:
        """Blocks of rows: (sources, entries (k, n))."""
        for start in range(0, len(wanted), block):
            part = wanted[start : start + block]
            D = self.empty(len(part))
            self.into(part, D, guide)
            yield part, D

    def to_dense(self, out: Array, guide: Guide) -> Array:
        """All rows, into `out`."""
        every = np.arange(self.n)
        if out.strides[1] == out.itemsize:
            self.into(every, out, guide)
        else:
            for index, D in self.rows(every, self.batch(self.n), guide):
                out[index[0] : index[-1] + 1] = D
        return out

    def into(self, sources: np.ndarray, rows: Array, guide: Guide) -> None:
        """rows[k] ← the entries from sources[k]; rows are contiguous."""
        self.run(self.placed(sources, guide), rows, guide)

    def placed(self, sources: np.ndarray, guide: Guide) -> tuple[Array, Array, Array]:
        """Sources in the order in which they are searched from, the rows of each, and how much later it begins than the
        first of its batch.
        """
        import cupy

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
        """Searches from sources that are placed.

        Where entries are compared: `against` a matrix, which may be `rows`; with how many of its entries are better,
        int64 and 0 at first, and behind that memory for places of some of them. Where searches are resumed, those
        places are of arcs that were not searched through, and `rows` what was found then.
        """
        import cupy

        step = LANES * max(1, LAUNCH // (LANES * max(1, self.arcs + self.n)))
        with cupy.cuda.Device(self.number):
            for begin in range(0, len(placed[0]), step):
                if begin:
                    cupy.cuda.get_current_stream().synchronize()  # so that Ctrl-C is handled
                origins, places, delays = (X[begin : begin + step] for X in placed)
                self._launch(origins, places, delays, rows, guide, against)

    def _launch(
        self,
        origins: Array,
        places: Array,
        delays: Array,
        rows: Array,
        guide: Guide,
        against: tuple[Array, Array] | None,
    ) -> None:
        import cupy

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
            compared = A.data.ptr, np.int64(A.strides[0] // A.itemsize), undercut.data.ptr, np.int64(len(undercut) - 1)
        kernel(form, self.shape, in_shared, self.number)(
            (blocks,),
            (self.shape.threads,),
            (
                *(X.data.ptr for X in self._graph),
                np.int32(n),
                *(X.data.ptr for X in (origins, places, delays)),
                np.int32(count),
                *(X.data.ptr for X in (panels, keys, lists)),
                np.int64(self._capacity),
                0 if bitmaps is None else bitmaps.data.ptr,
                following.data.ptr,
                np.float32(self.scale),
                np.float32(self.buckets),
                np.float32(min(max(guide.furthest, 0.0), 3e38)),
                rows.data.ptr,
                np.int64(rows.strides[0] // rows.itemsize),
                absent,
                absent if guide.limit is None else guide.limit,
                0 if self._shift is None else self._shift.data.ptr,
                0 if self._known is None else self._known.data.ptr,
                *compared,
            ),
            shared_mem=shared,
        )
