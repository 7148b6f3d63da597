"""Thinning of dense matrices on the GPU: candidate arcs, searches, and verification; see thinning.cu.

See apsp/road/engines/essential.py for why these give the closure.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ....algebra import dtypes
from ....algebra.records import Semiring
from ....host.types import Array
from ...cpu.sparse import growth
from .. import compile
from ..library import cupy
from .searches import LANES, Form, Guide, Searches

#: Most listed arcs per vertex, and block size; as in thinning.cu.
CAPACITY, THREADS = 128, 256
#: Most relevant unlisted arcs per vertex.
UNDERCUT = 4
#: Step of the search bound in buckets; arcs sampled for median and growth.
BUCKETS, SAMPLE = 4.0, 512


def form_of(semiring: Semiring, dtype: np.dtype) -> Form:
    return Form(semiring, dtype, dtype, compared=True)


@compile.unit("thinning.cu")
def text(form: Form) -> str:
    return compile.source("thinning.cu", form.prelude())


class Listed:
    """About the `count` best arcs (at most CAPACITY) of each vertex, or of `rows`; A: CuPy (n, n), contiguous rows."""

    def __init__(self, A: Array, semiring: Semiring, count: int, rows: np.ndarray | None = None) -> None:
        self.form, self.A, self.n = form_of(semiring, A.dtype), A, len(A)
        self.rows = None if rows is None else cupy.asarray(rows.astype(np.int32))
        lists = self.n if rows is None else len(rows)
        self.absent = dtypes.zero(semiring, A.dtype)
        self.heads, self.weights = (cupy.empty((lists, CAPACITY), dtype) for dtype in (np.int32, self.form.key))
        self.degrees, self.totals = cupy.empty(lists, np.int32), cupy.zeros(4, np.uint64)
        self.kernels = text.functions(self.form)
        self.matrix = A, np.int64(A.strides[0] // A.itemsize), np.int32(self.n)
        self.lists = self.heads, self.weights, self.degrees
        places = 0 if self.rows is None else self.rows
        arguments = (*self.matrix, places, np.int32(count), *self.lists, self.totals, self.absent)
        self.kernels["list_best"]((lists,), (THREADS,), arguments)

    def left(self) -> np.ndarray:
        """Number of arcs per row that no walk of two arcs from a listed one beats."""
        assert self.rows is not None
        counts = cupy.zeros(len(self.rows), np.int32)
        grid = -(-self.n // THREADS), len(self.rows)
        arguments = (*self.matrix, self.rows, *self.lists, counts, self.absent)
        self.kernels["count_left"](grid, (THREADS,), arguments)
        return counts.get()

    def thinned(self) -> Thinned | None:
        """Searches through the listed arcs; None if there are none, if lists overflow, or if integers are too small."""
        arcs, segments, worst, short = self.totals.get().tolist()
        most = dtypes.SCALARS[self.form.weights].high
        return None if short or not arcs or self.n * worst >= most else Thinned(self, arcs, segments)

    def graph(self, arcs: int) -> tuple[Array, Array, Array]:
        start = cupy.zeros(self.n + 1, np.int32)
        start[1:] = cupy.cumsum(self.degrees)
        heads, weights = (cupy.zeros(arcs + LANES, dtype) for dtype in (np.int32, self.form.weights))
        arguments = *self.lists, start, np.int32(self.n), heads, weights
        self.kernels["compress"]((-(-self.n // (THREADS // 32)),), (THREADS,), arguments)
        return start, heads, weights

    def add(self, X: Array, places: Array) -> bool:
        """Also list the arcs at places of a flattened matrix X; returns whether all fit."""
        count, matrix = len(places), (X, np.int64(X.strides[0] // X.itemsize), np.int32(self.n))
        arguments = *matrix, places, np.int64(count), *self.lists, self.totals, self.absent
        self.kernels["list_more"]((-(-count // THREADS),), (THREADS,), arguments)
        return not int(self.totals.get()[3])


class Thinned:
    """Searches through the best arcs of a matrix, each row compared with the matrix; `arcs` in `segments` of LANES."""

    def __init__(self, listed: Listed, arcs: int, segments: int) -> None:
        self.listed, self.arcs, self.segments = listed, arcs, segments
        self.graph = graph = listed.graph(arcs)
        few = graph[2][: arcs : max(1, arcs // SAMPLE)].get().astype(np.float64)
        few = few[few > 0]
        self.scale = growth.scale(few)
        self.searches = self._searches(listed.form, graph, segments)
        self.guide = Guide(self._delays(graph, few) if len(few) else None)

    def _delays(self, graph: tuple[Array, Array, Array], few: np.ndarray) -> np.ndarray | None:
        """Start delay of each vertex in buckets, so that searches proceed in step; see cpu/sparse/growth.py."""
        n = self.listed.n
        rate = growth.rate(few, self.arcs / n)
        if rate is None:
            return None
        old, new = cupy.full(n, 1.0, np.float32), cupy.empty(n, np.float32)
        for _ in range(growth.TIMES):
            arguments = *graph, np.int32(n), np.float32(rate), old, new
            self.listed.kernels["grow"]((-(-n // (THREADS // 32)),), (THREADS,), arguments)
            old, new = new, old
        return growth.later(old.get(), rate) * self.scale

    def _searches(self, form: Form, graph: tuple[Array, Array, Array], segments: int) -> Searches:
        found = Searches(form, *graph, self.scale, segments=segments)
        found.buckets = BUCKETS
        return found

    def into(self, out: Array) -> int:
        """out ← the better of A and of what searches find; out may be A. Returns the number of better entries of A.

        If there were any, searches resume through them; `out` is then the closure. −1 if they were too many: `out` has
        the same closure as A.
        """
        listed, n = self.listed, self.listed.n
        undercut, placed = cupy.zeros(1 + UNDERCUT * n, np.int64), self.searches.placed(np.arange(n), self.guide)
        self.searches.run(placed, out, self.guide, against=(listed.A, undercut))
        count = int(undercut[:1].get()[0])
        if count:
            places = undercut[1 : 1 + count]
            if count > UNDERCUT * n or not listed.add(out, places):
                return -1
            form = replace(listed.form, compared=False, resumed=True)
            again = self._searches(form, listed.graph(self.arcs + count), self.segments + count)
            again.run(placed, out, self.guide, against=(out, undercut[: 1 + count]))
        return count
