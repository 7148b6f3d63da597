"""Candidate arcs of nearly complete graphs, listed by products of matrices on the GPU. See pairs.cu."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ....algebra.records import Semiring
from ....host.types import Array
from .. import algebra, compile
from ..dense import mirror
from ..dense.matrix import Matrix
from ..dense.tiles import Tile
from ..library import cupy
from .predecessors import OPTIONS, constants

#: Tiles of pair tests, for entries of 8 bytes and of fewer.
WIDE, NARROW = (
    Tile(64, 64, 16, 4, 4, 2, 1.0, unroll=4),
    Tile(64, 128, 16, 8, 8, 3, 1.0, unroll=8, walk=2, run=2, b_first=True),
)
#: Block size, warps per block; sources per warp.
THREADS, WARPS, WARP = 256, 8, 32
#: Most vertices for sorting; threads that sort a group.
SORTED, SORTERS = 1 << 13, 512


def index_of(n: int) -> np.dtype:
    """Integer dtype of vertex numbers, with one number to spare."""
    return np.dtype(np.uint16 if n < 1 << 16 else np.uint32)


def spelled(index: np.dtype) -> str:
    return f"using Index = unsigned {'short' if index.itemsize == 2 else 'int'};\n"


class Pairs:
    """Candidate arcs of rows, tried for all pairs; `edges`: starts, heads and weights on the device."""

    def __init__(self, semiring: Semiring, edges: tuple[Any, Any, Any], *, nonnegative: bool) -> None:
        self.edges, self.n, self.count, self.dtype = edges, len(edges[0]) - 1, len(edges[1]), edges[2].dtype
        self.index, self.tile = edges[1].dtype, tile_of(self.dtype)
        self.functions = text.functions(semiring, self.dtype, self.index, nonnegative=nonnegative)

    def list(self, D: Array, sources: np.ndarray, slack: Any, floor: Any, lists: int, most: int) -> Any:
        """lists ← candidate arcs of these rows, at most `most` each; returns their number per row."""
        if self.n == len(D) and self.n <= SORTED and bool((sources == np.arange(self.n)).all()):
            return self._list_sorted(D, slack, floor, lists, most)
        tight, A = cupy.zeros(len(D), np.int32), self._matrix
        rows = D, D.strides[0] // D.itemsize, np.int32(len(D)), np.int32(self.n)
        self._multiply(rows, (A, A, A.shape[1], slack, floor, 0, 0, 0, np.int32(0)), (lists, most, tight))
        return tight

    def _multiply(self, rows: tuple[Any, ...], operands: tuple[Any, ...], lists: tuple[Any, ...]) -> None:
        tile, function = self.tile, self.functions["list_tight"]
        shared = tile.shared(self.dtype.itemsize) + tile.bm * tile.bn * max(4, self.dtype.itemsize)
        compile.allow_shared(function, shared)
        blocks = (tile.covers(int(rows[2]), self.n),)
        function(blocks, (tile.threads,), (*rows, *operands, *lists, np.int32(1)), shared)

    def _list_sorted(self, D: Array, slack: Any, floor: Any, lists: int, most: int) -> Any:
        """`list` for all rows, with vertices reordered so that near ones are adjacent."""
        tile, n, size, functions = self.tile, self.n, self.dtype.itemsize, self.functions
        pitch, one = D.strides[0] // D.itemsize, -(-n // THREADS)

        def launch(name: str, grid: tuple[int, ...], *given: Any) -> None:
            functions[name](grid, (THREADS,), given)

        tight = cupy.empty(n, np.int32)
        launch("list_direct", (n,), D, pitch, slack, floor, *self.edges, lists, most, tight)
        order = self._order(D, pitch)
        place, width = cupy.empty_like(order), -(-n * size // 16) * 16 // size
        launch("invert", (one,), order, np.int32(n), place)
        X, A = cupy.empty((n, width), self.dtype), cupy.empty((n, width), self.dtype)
        sort = functions["sort_rows"]
        compile.allow_shared(sort, width * size)
        sort((n,), (THREADS,), (D, pitch, np.int32(n), order, place, *self.edges, width, X, A), width * size)
        # Both directions together only if nearly every D is an arc, so that few tests are wasted.
        both = self.count * 10 >= 9 * n * n and mirror.symmetric(Matrix(D.data.ptr, pitch, n, n), size)
        B, (high, wide) = X if both else A, (-(-n // tile.bm), -(-n // tile.bn))
        near = cupy.empty((high, n), self.dtype), cupy.empty((wide, n), self.dtype)
        sides = width, np.int32(n)
        launch("best_of_rows", (one, high), X, *sides, np.int32(tile.bm), near[0])
        launch("best_of_columns", (-(-n // WARPS), wide), B, *sides, np.int32(tile.bn), near[1])
        operands = B, A, width, slack, floor, order, *near, np.int32(both)
        self._multiply((X, width, np.int32(n), np.int32(n)), operands, (lists, most, tight))
        return tight

    def _order(self, D: Array, pitch: int) -> Any:
        """Locality order of vertices: groups are halved down to a warp."""
        order, groups, halve = cupy.arange(self.n).astype(self.index), 1, self.functions["halve"]
        while self.n > WARP * groups:
            size = 1 << (-(-self.n // groups) - 1).bit_length()
            shared = 16 + (4 + self.index.itemsize) * size
            compile.allow_shared(halve, shared)
            given = D, pitch, np.int32(self.n), np.int32(groups), np.int32(size), order
            halve((groups,), (SORTERS,), given, shared)
            groups *= 2
        return order

    @cached_property
    def _matrix(self) -> Any:
        """Weights of all pairs, the semiring's zero without an arc."""
        width = -(-self.n * self.dtype.itemsize // 16) * 16 // self.dtype.itemsize
        A = cupy.empty((self.n, width), self.dtype)
        self.functions["spread"]((self.n,), (THREADS,), (*self.edges, width, A))
        return A


def tile_of(dtype: np.dtype) -> Tile:
    return WIDE if dtype.itemsize == 8 else NARROW


@compile.unit("pairs.cu", options=OPTIONS)
def text(semiring: Semiring, dtype: np.dtype, index: np.dtype, *, nonnegative: bool) -> str:
    variant = algebra.variant_of(semiring, dtype, nonnegative=nonnegative) if dtype.name == "float32" else None
    if variant is not None and variant.cuda != "MinPlusNonnegative":
        variant = None
    tile = tile_of(dtype).text(aligned=True)
    given = algebra.text(semiring, dtype, variant), tile, constants(semiring, dtype), spelled(index)
    return compile.source("pairs.cu", *given)
