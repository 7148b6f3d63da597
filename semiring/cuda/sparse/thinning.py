"""Which arcs of a dense matrix on the GPU may matter, searches through those, and a look at the others; thinning.cu.

See apsp/engines/essential.py for why these give the closure.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ... import dtypes
from ...algebra import Semiring
from ...cpu.sparse import growth
from ...types import Array
from .. import compile, gpu
from .searches import LANES, Form, Guide, Searches

#: Arcs of a vertex that can be listed, and threads of a block: as in thinning.cu.
CAPACITY, THREADS = 128, 256
#: As many times the vertices may the arcs be that were not listed and matter.
UNDERCUT = 4
#: How far the bound of searches moves, in buckets; and arcs whose median and growth stand for all.
BUCKETS, SAMPLE = 4.0, 512


def form_of(semiring: Semiring, dtype: np.dtype) -> Form:
    """What searches are compiled for, whose rows are compared with those of a matrix."""
    return Form(semiring, dtype, dtype, compared=True)


def text(form: Form) -> str:
    """The translation unit."""
    return compile.source("thinning.cu", form.prelude())


@lru_cache(maxsize=16)
def kernels(form: Form, device: int) -> dict[str, Any]:
    """The entry functions on a device."""
    module = compile.functions(text(form), name="thinning.cu")
    return {name: module.get_function(name) for name in ("list_best", "count_left", "list_more", "compress", "grow")}


class Listed:
    """The best arcs of each vertex, or of `rows`: as many as `count`, and few more.

    Parameters
    ----------
    A : CuPy array, shape (n, n)
        Rows are contiguous.
    semiring : Semiring
    count : int
        At most CAPACITY.
    rows : array of int, optional
    """

    def __init__(self, A: Array, semiring: Semiring, count: int, rows: np.ndarray | None = None) -> None:
        import cupy

        self.form, self.A, self.n = form_of(semiring, A.dtype), A, len(A)
        self.rows = None if rows is None else cupy.asarray(rows.astype(np.int32))
        lists = self.n if rows is None else len(rows)
        self.absent = dtypes.zero(semiring, A.dtype)
        self.heads, self.weights = (cupy.empty((lists, CAPACITY), dtype) for dtype in (np.int32, self.form.key))
        self.degrees, self.totals = cupy.empty(lists, np.int32), cupy.zeros(4, np.uint64)
        self.kernels = kernels(self.form, gpu.current())
        self.matrix = A.data.ptr, np.int64(A.strides[0] // A.itemsize), np.int32(self.n)
        self.lists = tuple(X.data.ptr for X in (self.heads, self.weights, self.degrees))
        places = 0 if self.rows is None else self.rows.data.ptr
        arguments = (*self.matrix, places, np.int32(count), *self.lists, self.totals.data.ptr, self.absent)
        self.kernels["list_best"]((lists,), (THREADS,), arguments)

    def left(self) -> np.ndarray:
        """How many arcs of each row no walk of two is better than that begins with a listed one."""
        import cupy

        assert self.rows is not None
        counts = cupy.zeros(len(self.rows), np.int32)
        grid = -(-self.n // THREADS), len(self.rows)
        arguments = (*self.matrix, self.rows.data.ptr, *self.lists, counts.data.ptr, self.absent)
        self.kernels["count_left"](grid, (THREADS,), arguments)
        found: np.ndarray = counts.get()
        return found

    def thinned(self) -> Thinned | None:
        """Searches through these; None where there are none, more than lists have places, or integers too small."""
        arcs, segments, worst, short = self.totals.get().tolist()
        most = np.iinfo(self.form.weights).max if self.form.weights.kind == "i" else np.inf
        return None if short or not arcs or self.n * worst >= most else Thinned(self, arcs, segments)

    def graph(self, arcs: int) -> tuple[Array, Array, Array]:
        """Those of each vertex one after the other, as searches take them."""
        import cupy

        start = cupy.zeros(self.n + 1, np.int32)
        start[1:] = cupy.cumsum(self.degrees)
        heads, weights = (cupy.zeros(arcs + LANES, dtype) for dtype in (np.int32, self.form.weights))
        arguments = *self.lists, start.data.ptr, np.int32(self.n), heads.data.ptr, weights.data.ptr
        self.kernels["compress"]((-(-self.n // (THREADS // 32)),), (THREADS,), arguments)
        return start, heads, weights

    def add(self, X: Array, places: Array) -> bool:
        """List the arcs at some places of a flattened matrix X too; whether all could be listed."""
        count, matrix = len(places), (X.data.ptr, np.int64(X.strides[0] // X.itemsize), np.int32(self.n))
        arguments = *matrix, places.data.ptr, np.int64(count), *self.lists, self.totals.data.ptr, self.absent
        self.kernels["list_more"]((-(-count // THREADS),), (THREADS,), arguments)
        return not int(self.totals.get()[3])


class Thinned:
    """Searches through the best arcs of a matrix, of which each row is compared with the matrix.

    Parameters
    ----------
    listed : Listed
        Of all vertices.
    arcs, segments : int
        How many they are, and lists of LANES of them.
    """

    def __init__(self, listed: Listed, arcs: int, segments: int) -> None:
        self.listed, self.arcs, self.segments = listed, arcs, segments
        graph = listed.graph(arcs)
        few = graph[2][: arcs : max(1, arcs // SAMPLE)].get().astype(np.float64)
        few = few[few > 0]
        self.scale = growth.scale(few)
        self.searches = self._searches(listed.form, graph, segments)
        self.guide = Guide(self._delays(graph, few) if len(few) else None)

    def _delays(self, graph: tuple[Array, Array, Array], few: np.ndarray) -> np.ndarray | None:
        """How many buckets later a search from each vertex begins, so that all reach most others at about one time.

        See semiring/cpu/sparse/growth.py.
        """
        import cupy

        n = self.listed.n
        rate = growth.rate(few, self.arcs / n)
        if rate is None:
            return None
        old, new = cupy.full(n, 1.0, np.float32), cupy.empty(n, np.float32)
        for _ in range(growth.TIMES):
            arguments = *(X.data.ptr for X in graph), np.int32(n), np.float32(rate), old.data.ptr, new.data.ptr
            self.listed.kernels["grow"]((-(-n // (THREADS // 32)),), (THREADS,), arguments)
            old, new = new, old
        return growth.later(old.get(), rate) * self.scale

    def _searches(self, form: Form, graph: tuple[Array, Array, Array], segments: int) -> Searches:
        found = Searches(form, *graph, self.scale, segments=segments)
        found.buckets = BUCKETS
        return found

    def into(self, out: Array) -> int:
        """out ← the better of each entry of A and of what searches find; out may be A.

        Where entries of A were better, searches are resumed through those too. Then, and where there was none, `out`
        is the closure; where they were too many, it has the same closure as A.

        Returns
        -------
        int
            How many were better, or −1 if they were too many.
        """
        import cupy

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
