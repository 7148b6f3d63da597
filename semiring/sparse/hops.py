"""Hop distances (arcs of a shortest walk) by breadth-first searches from 64 or 512 sources at a time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from numbers import Real
from typing import Any

import numpy as np

from ..algebra import dtypes
from ..algebra.catalog import get
from ..host.errors import DomainError, DTypeError
from ..host.memory import require
from ..kernels.backend import device_of
from ..kernels.cpu.code import machine_code
from ..kernels.cpu.kinds import raw
from ..kernels.cpu.processors import threads_of
from ..kernels.cpu.sparse import movers, search
from ..kernels.cpu.sparse.search import BITS, Width
from ..kernels.observed import Callback
from .answers import Rows
from .batches import batches, table
from .buffers import aligned
from .pattern import rows_wanted, stored

#: Words a vertex: a cache line; 1 where sources are few or such a panel would exceed `PANEL`.
WORDS = 8
#: Largest panel in bytes, unless of a single word.
PANEL = 1 << 27
#: Bounds on arcs and on levels of one call into compiled code, so that Ctrl-C is handled.
CALL, LEVELS = 1 << 24, 512


class Hops(Rows):
    """Hop distances: the number of arcs of a shortest walk from each source to every vertex of a directed graph.

    Parameters
    ----------
    A : sparse matrix or array, shape (n, n), or pair of integer arrays (rows, columns)
        Every stored entry is an arc, whatever its value; a pair of arrays needs `n`.
    n : int, optional
    dtype : dtype, optional
        A signed integer dtype, float32 or float64; unreachable is inf, or the greatest integer. By default int16, and
        int32 beyond 32,767 vertices; int8 suits most graphs.
    threads : int, optional
        By default SEMIRING_NUM_THREADS, or one a processor.
    device : {"cpu", "cuda"}, optional
        The CPU by default; on "cuda", the current GPU, counts are CuPy arrays.

    Raises
    ------
    ShapeError, VertexError, DTypeError
        As `analyse`; DTypeError also for an unsupported dtype, or a float one that cannot hold n − 1 hops.
    VertexError, DomainError, ShapeError
        In `row`, `rows` and `to_dense`, if a source, the limit or the block is invalid; DomainError also if a vertex
        within the limit is more hops away than the dtype holds, 126 in int8 and 32,766 in int16.
    MemoryNeeded
        If the searches do not fit, or the result of `to_dense`.

    See Also
    --------
    row, rows, to_dense, batch : One row; blocks of rows; all, as one matrix; the number of sources of a batch.
    Searches, eliminate : Arcs with weights; roads and meshes.

    Notes
    -----
    Multi-source breadth-first search (Then et al. 2014), pushed along arcs or pulled, whichever meets fewer (Beamer et
    al. 2012). For graphs of small diameter; on roads and meshes `eliminate` with unit weights is faster. `row` and each
    of `to_dense` take O(n + arcs), `batch` O(1).

    Examples
    --------
    >>> import semiring
    >>> H = semiring.sparse.Hops(([0, 1, 2], [1, 2, 3]), 4)
    >>> H.to_dense()[0]
    array([0, 1, 2, 3], dtype=int16)
    """

    def __init__(
        self, A: Any, n: int | None = None, *, dtype: Any = None, threads: int | None = None, device: str | None = None
    ) -> None:
        where = "Hops"
        rows, cols, _, self.n = stored(A, n, where=where)
        self.dtype = np.dtype(dtype or ("int16" if self.n <= np.iinfo(np.int16).max else "int32"))
        record = dtypes.SCALARS.get(self.dtype)
        if record is None or not record.signed:
            counting = ", ".join(x.name for x in dtypes.SCALARS.values() if x.signed)
            raise DTypeError(f"{where}: dtype must be one of {counting}, got {self.dtype}.")
        #: First level that the dtype cannot represent: of integers, the greatest is infinity.
        self.end = record.high if record.integer else 2 ** (np.finfo(self.dtype).nmant + 1)
        if record.floating and self.n > self.end:
            raise DTypeError(
                f"{where}: dtype must hold {self.n - 1} hops, got {self.dtype}. Leave it out, or take int32."
            )
        self._threads = threads_of(threads, where)
        self.device = device_of(np.empty(0), device)
        require(
            24 * len(rows) + self._threads * self.n * (BITS * self.dtype.itemsize + 3 * BITS // 8 + 8),
            where=where,
            hint="A search holds 64 hop counts a vertex and thread. Pass threads=1, or a smaller dtype.",
        )
        self._in = _adjacent(cols, rows, self.n)
        self._gpu: Any = None
        if self.device == "cuda":
            from ..kernels.cuda.sparse.hops import Searches

            self._gpu = Searches(*self._in, self.dtype)
        else:
            self._out = _adjacent(rows, cols, self.n)

    def __repr__(self) -> str:
        return f"<Hops between {self.n:,} vertices, {len(self._in[1]):,} arcs, {self.dtype}>"

    def rows(
        self, sources: Any = None, *, limit: float | None = None, block: int | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        wanted = rows_wanted(sources, self.n, block)
        if limit is not None and not (isinstance(limit, Real) and limit >= 0):
            raise DomainError(f"rows: limit must be a number of hops, 0 or more, got {limit!r}. Leave it out.")
        most = min(self.n if limit is None else int(min(limit, self.n)), self.end)
        if self._gpu is not None:
            return self._gpu.rows(wanted, int(block or self.batch(len(wanted))), most)
        words = self._words(len(wanted) if block is None else min(len(wanted), int(block)))
        batch = words * BITS
        searches = [_Search(self, words, most) for _ in range(min(self._threads, max(1, -(-len(wanted) // batch))))]
        return batches([s.run for s in searches], wanted, self.n, self.dtype, batch, int(block or batch))

    def to_dense(
        self, out: np.ndarray | None = None, *, limit: float | None = None, callback: Callback | None = None
    ) -> np.ndarray:
        if out is None and self._gpu is not None:
            out = self._gpu.empty(self.n)
        dense: np.ndarray = table(out, self.n, self.dtype)
        for index, D in self.rows(limit=limit):
            dense[index[0] : index[-1] + 1] = D
            if callback is not None:
                callback(int(index[-1]) + 1, self.n)
        return dense

    def batch(self, sources: int) -> int:
        return BITS * self._words(sources) if self._gpu is None else int(self._gpu.batch(sources))

    def _words(self, sources: int) -> int:
        wide = self.n * WORDS * BITS * self.dtype.itemsize <= PANEL
        return WORDS if wide and sources > BITS else 1


class _Search:
    """Workspace of one thread's searches from 64 · words sources."""

    def __init__(self, hops: Hops, words: int, most: int) -> None:
        n, self.hops, self.words, self.most = hops.n, hops, words, most
        self.width, self.raw = _width(words, hops.dtype.itemsize), raw(hops.dtype.itemsize)
        self.infinity = dtypes.zero(get("min_plus"), hops.dtype)
        self.F, self.N, self.S = (aligned((n, words), np.dtype(np.uint64)) for _ in range(3))
        self.panel = aligned((n, words * BITS), hops.dtype)
        self.vertices = np.empty(2 * n, np.int32)
        self.levels = _levels(self.width)
        self.transpose = machine_code(movers.transpose, self.raw, "iiiiii")

    def run(self, sources: np.ndarray, rows: np.ndarray) -> None:
        """rows[k] ← hops from sources[k], up to `most`."""
        F, N, S, panel, hops, most = self.F, self.N, self.S, self.panel, self.hops, self.most
        lane = np.arange(len(sources))
        for X in (F, N, S):
            X[:] = 0
        panel[:] = self.infinity
        bit = np.uint64(1) << (lane % BITS).astype(np.uint64)
        for X in (F, S):
            np.bitwise_or.at(X, (sources, lane // BITS), bit)
        panel[sources, lane] = 0
        first = np.unique(sources)
        self.vertices[: len(first)] = first
        state = np.array([len(first), 0, 0])
        level, size = 1, hops.dtype.itemsize
        while state[0] and level <= most:
            codes = np.arange(level, min(level + LEVELS, most + 1)).astype(hops.dtype).view(f"i{size}").astype(np.int64)
            state[1] = 0
            self.levels.call(
                self.width, state, codes, CALL, *hops._out, *hops._in, self.vertices,
                F.ctypes.data, N.ctypes.data, S.ctypes.data, panel.ctypes.data,
            )  # fmt: skip
            level += int(state[1])
        if level > hops.end and state[0]:
            raise dtypes.too_many_hops(hops.dtype)
        self.transpose.call(
            self.raw, hops.n, len(sources), panel.ctypes.data, panel.strides[0], rows.ctypes.data, rows.strides[0]
        )


_width = cache(Width)
_levels = cache(lambda width: machine_code(search.levels, width, "lli" + "lsls" + "s" + "iiii"))


def _adjacent(tails: np.ndarray, heads: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """CSR (start, heads) without duplicates."""
    from scipy.sparse import coo_array

    A = coo_array((np.ones(len(tails), np.int8), (tails, heads)), shape=(n, n)).tocsr()
    return A.indptr.astype(np.int64), A.indices.astype(np.int32, copy=False)
