"""Device part of `semiring.sparse.Elimination` on one GPU, on CuPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ....algebra.dtypes import SCALARS
from ....algebra.records import Semiring
from ....host.memory import available, require
from ....host.types import Array
from .. import compile, gpu
from ..gpu import on_device
from ..library import cupy
from . import sweep
from .fronts import Fronts
from .hubs import Labels, Layout
from .lanes import LANES, Lanes
from .products import product
from .sweep import LENGTHS, Chosen, Packed, Shape, Sweeps, Tree
from .voronoi import nearest

if TYPE_CHECKING:
    from ....sparse.analysis import Analysis
    from ....sparse.structure import Arcs

#: Default lines per batch; limit of their bytes with workspace.
BATCH, BYTES = 4096, 1 << 32
#: Lines per batch if only each line's worst entry is stored.
WORST = 16384
#: Rows yielded together; most pairs per batch: about half a second.
BLOCK, PAIRS = 1024, 1 << 42


def shared(n: int, most: int, count: int) -> int:
    """Lines of a panel, at most `most`, such that `count` devices get equally many panels.

    Examples
    --------
    >>> shared(126146, 4096, 1), shared(126146, 4096, 2), shared(1000, 4096, 2)
    (4096, 3968, 512)
    """
    if count == 1:
        return most
    panels = count * max(1, -(-n // (count * most)))
    return max(1, -(-n // (panels * LANES))) * LANES


class OnDevice:
    """Panels on the current device, and queries, all built on `batch`.

    `analysis` caches device structures for other weights; if `nonnegative`, the semiring's variants may be used. Raises
    MemoryNeeded if the panels do not fit on the device.
    """

    def __init__(self, analysis: Analysis, weights: np.ndarray, semiring: Semiring, nonnegative: bool) -> None:
        self.number = gpu.current()
        self._kernels: dict[bool, Sweeps] = {}
        structure, cost, trees = analysis.structure, analysis.cost, analysis.on_devices
        self.S, self.semiring, self.dtype, self.nonnegative = structure, semiring, weights.dtype, nonnegative
        self.n, self.cost = structure.n, cost
        size = self.dtype.itemsize
        hint = f"{cost}. Such a graph is as good as dense; device='cpu' has more memory."
        require(cost.gpu_bytes(size), "cuda", where="eliminate", hint=hint)
        key = self.number, size
        if key not in trees:
            with ThreadPoolExecutor(1) as pool:
                arcs = pool.submit(lambda: analysis.arcs)
                shape = Shape.of(size, compile.device_arch(self.number)).within(gpu.most_shared(self.number), size)
                tree = Tree(structure, shape, size)
                trees[key] = tree, Fronts(tree, arcs.result())
        self.tree, self.fronts = trees[key]
        self.lower, self.upper = self.fronts.numbers(cupy.asarray(weights), semiring, nonnegative)

    @property
    def nbytes(self) -> int:
        return int(self.lower.nbytes + self.upper.nbytes)

    @on_device
    def diagonal(self) -> np.ndarray:
        """The diagonal of each D, by column, on the host."""
        return self.lower.reshape(-1)[self.fronts.diagonal].get()

    @on_device
    def flows(self, analysis: Analysis, arcs: Arcs, lengths: np.ndarray, slack: float) -> Any:
        """Sums over best paths of arcs in the analysis' fronts; see `Flows`."""
        from .flows import Flows

        return Flows(analysis, arcs, lengths, slack)

    # Lines

    def _sweeps(self, mirrored: bool) -> Sweeps:
        """Kernels of rows, or of columns if mirrored, compiled on first use."""
        if mirrored not in self._kernels:
            up, down = (self.lower, self.upper) if mirrored else (self.upper, self.lower)
            kind = self.semiring, self.dtype, self.nonnegative, mirrored
            self._kernels[mirrored] = Sweeps(self.tree, up, down, *kind)
        return self._kernels[mirrored]

    @on_device
    def batch(self, vertices: np.ndarray, out: Array = None, *, mirrored: bool = False, word: Packed = LENGTHS) -> Any:
        """out[v, t] ← A*[vertices[t], v], or A*[v, vertices[t]] if mirrored; a new array by default.

        Rows are 16-byte aligned, lanes padded to a multiple of 32. With a `word`, its quantity, as lengths' bits.
        """
        every = len(vertices) == self.n and bool((vertices[1:] > vertices[:-1]).all())
        lanes = self.tree.everything if every else Lanes(self.tree, self.S.position[vertices])
        if out is None:
            out = cupy.empty((self.n, lanes.padded), self.dtype)
        self._sweeps(mirrored).batch(lanes, out, word)
        return out

    @cached_property
    def lanes(self) -> int:
        return self._lanes((self.n + 3 * self.S.height) * self.dtype.itemsize, BATCH)

    def _lanes(self, line: int, most: int) -> int:
        """Lines of a batch at `line` bytes each, at most `most`."""
        most_bytes = max(BYTES, (available("cuda") or 0) // 6)
        most = min(most, most_bytes // max(line, 1), PAIRS // max(self.cost.sweep + self.cost.climb, 1))
        return max(LANES, most // LANES * LANES)

    def line(self, vertex: int, *, mirrored: bool) -> Any:
        return self.batch(np.array([vertex]), mirrored=mirrored)[:, 0].copy()

    @on_device
    def entries(self, sources: np.ndarray, targets: np.ndarray) -> Any:
        out = cupy.empty(len(sources), self.dtype)
        step = max(LANES, BYTES // (4 * max(self.S.height, 1) * self.dtype.itemsize) // LANES * LANES)
        for start in range(0, len(sources), step):
            starts, ends = (Lanes(self.tree, self.S.position[x[start : start + step]]) for x in (sources, targets))
            sweep.pairs(self._sweeps(False), self._sweeps(True), starts, ends, out[start : start + step])
        return out

    @on_device
    def hub_labels(self, located: Callable[[], tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Labels:
        """See `semiring.sparse.Elimination.hub_labels`; `located()` serves the first labels of a structure."""
        if self.tree.hubs is None:
            self.tree.hubs = Layout(self.tree, *located())
        kind = self.semiring, self.dtype, self.nonnegative
        return Labels(self.tree, self.tree.hubs, self.lower, self.upper, *kind)

    @on_device
    def nearest(self, sources: np.ndarray, *, mirrored: bool) -> tuple[Any, Any]:
        """See `semiring.sparse.paths.nearest`; on the device, sources int32. There must be a source."""
        return nearest(self._sweeps(mirrored), self.S.position[sources], self.semiring, mirrored)

    def rows(self, wanted: np.ndarray, block: int | None) -> Iterator[tuple[np.ndarray, Any]]:
        """Blocks of rows, by default many computed together: a batch of a quarter of them takes half as long."""
        together, lanes, block = block or self.lanes, self.lanes, block or BLOCK
        for start in range(0, len(wanted), together):
            part = wanted[start : start + together]
            D = self._empty((len(part), self.n))
            for k in range(0, len(part), lanes):
                self._transposed(part[k : k + lanes], D[k : k + lanes])
            for k in range(0, len(part), block):
                yield part[k : k + block], D[k : k + block]

    @on_device
    def _transposed(self, wanted: np.ndarray, rows: Any) -> None:
        self._sweeps(False).transpose(self.batch(wanted), rows)

    @on_device
    def _empty(self, shape: tuple[int, ...]) -> Any:
        return cupy.empty(shape, self.dtype)

    def panels(self, *, columns: bool = False, share: tuple[int, int] = (0, 1)) -> Iterator[tuple[np.ndarray, Any]]:
        """All lines as columns, in elimination order; share (k, count): every count-th panel from the k-th on."""
        for part in self._parts(share, self.lanes):
            yield part, self.batch(part, mirrored=columns)[:, : len(part)]

    def _parts(self, share: tuple[int, int], lanes: int) -> Iterator[np.ndarray]:
        lanes = shared(self.n, lanes, share[1])
        for start in range(share[0] * lanes, self.n, share[1] * lanes):
            yield self.S.permutation[start : start + lanes]

    def worst(self, *, columns: bool = False, share: tuple[int, int] = (0, 1)) -> Iterator[tuple[np.ndarray, Any]]:
        """The worst entry of each row, or column, if ⊕ selects: (indices (k,), entries (k,)); or a share."""
        # Only a line's top part and each region's worst are stored.
        line = (self.tree.top_columns + len(self.tree.regions) + 3 * self.S.height) * self.dtype.itemsize
        lanes = self._lanes(line, WORST)
        top = self._empty((self.tree.top_columns, min(lanes, -(-self.n // LANES) * LANES)))
        for part in self._parts(share, lanes):
            yield part, self._worst(part, top, columns)

    @on_device
    def _worst(self, vertices: np.ndarray, top: Any, mirrored: bool) -> Any:
        return self._sweeps(mirrored).worst(Lanes(self.tree, self.S.position[vertices]), top)

    @property
    def _abreast(self) -> int:
        """Columns of a batch written where they stay."""
        line = 3 * self.S.height * self.dtype.itemsize
        most = min(BYTES // max(line, 1), PAIRS // max(self.cost.sweep + self.cost.climb, 1))
        return max(LANES, most // LANES * LANES)

    @on_device
    def dense(self, out: Array = None, word: Packed = LENGTHS) -> Any:
        """All n² entries, or, in a new array, a quantity packed in them; a new array has 16-byte aligned rows."""
        pitch = -(-self.n // LANES) * LANES
        if out is None:
            require(
                self.n * pitch * self.dtype.itemsize, "cuda", where="to_dense", hint="rows() streams blocks of rows."
            )
            memory = cupy.empty((self.n, pitch), self.dtype)
            out = memory[:, : self.n]
        else:
            fits = out.flags.c_contiguous and self.n == pitch and out.data.ptr % 16 == 0
            memory = out if fits else None
        step = self._abreast if memory is not None else self.lanes
        for start in range(0, self.n, step):
            part = np.arange(start, min(start + step, self.n))
            if memory is not None:
                self.batch(part, memory[:, start:], mirrored=True, word=word)
            else:
                out[:, start : start + step] = self.batch(part, mirrored=True)[:, : len(part)]
        return out.view(word[2]) if word is not LENGTHS else out

    @on_device
    def part(self, rows: np.ndarray, columns: np.ndarray) -> Any:
        """The entries of rows and columns, by batches of columns that are swept for these rows alone."""
        if not (rows[1:] > rows[:-1]).all():
            distinct, which = np.unique(rows, return_inverse=True)
            return self.part(distinct, columns)[cupy.asarray(which)]
        pitch, step = -(-len(columns) // LANES) * LANES, self._abreast
        chosen = self.tree.chosen  # the same is asked again after each change of weights
        if chosen is None or not chosen.suits(rows, columns, step):
            lanes = [Lanes(self.tree, self.S.position[columns[k : k + step]]) for k in range(0, len(columns), step)]
            numbers, count = self.tree.numbered(rows)
            chosen = self.tree.chosen = Chosen(rows.copy(), columns.copy(), step, numbers, count, lanes)
        require(
            chosen.count * pitch * self.dtype.itemsize, "cuda", where="distances", hint="rows() streams blocks of rows."
        )
        out = cupy.empty((chosen.count, pitch), self.dtype)
        for k, lanes in enumerate(chosen.lanes):
            self._sweeps(True).part(lanes, out[:, k * step :], chosen.numbers)
        return out[: len(rows), : len(columns)]

    @on_device
    def product(self, x: np.ndarray, *, mirrored: bool, nonnegative: bool) -> Any:
        """A* ⊗ x if mirrored, else (xᵀ ⊗ A*)ᵀ, for x of shape (n, k): a climb and a sweep."""
        up, down = (self.lower, self.upper) if mirrored else (self.upper, self.lower)
        options = {"nonnegative": nonnegative and self.nonnegative, "mirrored": mirrored}
        vectors = np.ascontiguousarray(x.T + 0.0 if SCALARS[self.dtype].floating else x.T)  # no −0
        out = cupy.empty(x.shape, self.dtype)
        line = (self.fronts.places + 3 * self.n) * self.dtype.itemsize
        step = max(1, min(BYTES // max(line, 1), 65535))
        for start in range(0, len(vectors), step):
            part = cupy.asarray(vectors[start : start + step])
            out[:, start : start + step] = product(self.fronts, up, down, part, self.semiring, **options).T
        return out
