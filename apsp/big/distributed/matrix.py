"""`DistributedMatrix`: an n × n matrix over a semiring, distributed over a grid of ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import get
from semiring.algebra.ranges import local, meet, runs, sliced
from semiring.algebra.records import Semiring
from semiring.algebra.survey import Survey, fast, merge, survey
from semiring.dense.bits import BitMatrix
from semiring.distributed import Comm, Layout, LocalMatrix, World
from semiring.host.errors import AlgebraError, DTypeError, ShapeError
from semiring.host.memory import require
from semiring.host.spelling import came
from semiring.host.types import Array, DType, Fields
from semiring.kernels.backend import Backend, bind
from semiring.kernels.observed import Callback

from ...io.graph import Graph
from ...io.graph.nulls import warn_of_ambiguous
from ...io.reading.options import BY_RULE, NullValue, nulls_of
from ...road.convergence import divergence
from ...road.plans import require_block
from ...road.schedules import distributed
from ..large.checkpoints import Checkpoint
from ..large.sources import Source
from .plans import STRIP, default_block, require_memory

Found = TypeVar("Found")


class DistributedMatrix:
    """An n × n matrix over a semiring, distributed over a grid of ranks.

    Constructors: `from_array`, `from_function`, `from_graph`. All methods are collective: with ranks in several
    processes (mpiexec), every process makes the same calls in the same order and gets the same results.

    Attributes
    ----------
    n, semiring, dtype
    world : World
        The ranks: `apsp.big.distributed.world`.
    layout : Layout
        Rows and columns of each rank.
    parts : list
        Local matrices of this process's ranks: arrays, or `BitMatrix` over the Boolean semiring.
    seen : Survey
        Extremes of the initial matrix, and whether its zeros may be missing edges.
    seconds : float
        Time of the closure on the slowest rank; by the device clock on GPUs.

    Examples
    --------
    >>> from apsp.big.distributed import DistributedMatrix, world
    >>> from apsp import cycle
    >>> ring = DistributedMatrix.from_graph(cycle(6), dtype="float32", world=world(ranks=2))
    >>> ring.close().rows([4])
    array([[2., 3., 4., 5., 0., 1.]], dtype=float32)
    """

    def __init__(
        self, semiring: Semiring, dtype: np.dtype, world: World, layout: Layout, ops: list[Backend], parts: list[Array]
    ) -> None:
        self.semiring, self.dtype, self.world, self.layout = semiring, dtype, world, layout
        self.n, self.parts, self._ops, self.seconds = layout.n, parts, ops, 0.0
        self.seen = self._survey()

    # Construction

    @classmethod
    def from_array(
        cls,
        A: Array,
        semiring: str | Semiring = "min_plus",
        *,
        world: World,
        dtype: DType = None,
        block: int | None = None,
        null_value: NullValue = BY_RULE,
    ) -> DistributedMatrix:
        """Distribute an array; each rank reads only its part, so a `numpy.memmap` is never read in full.

        Parameters
        ----------
        A : array, shape (n, n), TileStore or BitMatrix
            NumPy (also np.memmap), a store of tiles, or over the Boolean semiring a `BitMatrix` on the host.
        semiring : str or Semiring
        world : World
        dtype : dtype, optional
            Of the computation; by default A's own where the semiring allows it.
        block : int, optional
            The pivot block; parts are cut at its multiples.
        null_value : number or None, optional
            An entry that is no edge, as in `closure`.

        Raises
        ------
        ShapeError, DTypeError, DomainError
            If A is not square, has no such dtype on this semiring, or holds NaN or values outside it.
        MemoryNeeded
            If a part and its workspace do not fit on some rank; raised in every rank.

        Warns
        -----
        AmbiguityWarning
            If zeros may be edges or none, as `closure`.
        """
        source = Source.of(A, get(semiring), dtype, nulls=nulls_of(null_value), where="DistributedMatrix")
        M = cls.from_source(source, world=world, block=block)
        if source.nulls is None:
            warn_of_ambiguous(M.seen, M.semiring, where=source.where)
        return M

    @classmethod
    def from_function(
        cls,
        function: Callable[[np.ndarray, np.ndarray], Array],
        n: int,
        semiring: str | Semiring = "min_plus",
        *,
        world: World,
        dtype: DType = None,
        block: int | None = None,
    ) -> DistributedMatrix:
        """The matrix with entries function(i, j), built in row strips in the memory of each rank.

        `function` is as in `numpy.fromfunction`: int64 i of shape (rows, 1) and j of shape (1, columns) → entries, the
        semiring's zero for no edge. Other arguments as in `from_array`; dtype is by default float64, or the semiring's
        first.
        """
        s, where = get(semiring), "DistributedMatrix"
        if not (hasattr(n, "__index__") and n >= 0):
            raise ShapeError(f"{where}: n must be an integer of 0 or more, got {came(n)}.")

        def fill(rows: slice, columns: slice) -> Array:
            i, j = (np.arange(span.start, span.stop) for span in (rows, columns))
            found = np.asarray(function(i[:, None], j[None, :]))
            return np.broadcast_to(found, (len(i), len(j))) if _broadcasts(found.shape, (len(i), len(j))) else found

        source = Source(n, s, dtypes.resolve(s, dtype, where=where), fill, where=where)
        return cls.from_source(source, world=world, block=block)

    @classmethod
    def from_graph(
        cls,
        graph: Graph,
        semiring: str | Semiring = "min_plus",
        *,
        world: World,
        dtype: DType = None,
        block: int | None = None,
    ) -> DistributedMatrix:
        """`Graph.matrix` in parts, never full; warns of ambiguous zeros."""
        return cls.from_array(graph, semiring, world=world, dtype=dtype, block=block)

    @classmethod
    def from_source(cls, source: Source, *, world: World, block: int | None = None, unit: int = 1) -> DistributedMatrix:
        """Distribute the matrix of a source: each rank reads its part, cut at multiples of `unit`, too."""
        require_block(block)

        def work(comm: Comm) -> tuple[Backend, Array, Layout]:
            ops = bind(source.semiring, source.dtype, device=world.device, **world.options)
            size = block or default_block(source.n, ops)
            layout = Layout(source.n, -(-size // ops.grain) * ops.grain, world.grid, unit)
            comm.fail_together(lambda: require_memory(layout, ops, comm, world))
            return ops, comm.fail_together(lambda: _make_part(ops, *layout.part(comm.rank), source)), layout

        made = world.run(work)
        parts, ops = [part for _, part, _ in made], [ops for ops, _, _ in made]
        return cls(source.semiring, source.dtype, world, made[0][2], ops, parts)

    # The closure

    def close(self, *, callback: Callback | None = None, checkpoint: Checkpoint | None = None) -> DistributedMatrix:
        """A ← A* in place; returns self. `apsp.closure(A, gpus=…)` also handles saturation.

        `callback(done, total)`, in pairs, is called on rank 0 after each round. From the state of a `checkpoint` the
        closure goes on, and it is written there. Raises DivergenceError if the closure does not exist (parts are then
        undefined), AlgebraError if ⊕ is not idempotent: convergence then needs the entire matrix, as in
        `apsp.closure(A, gpus=…)`.
        """
        s = self.semiring
        if not s.idempotent:
            raise AlgebraError(
                f"DistributedMatrix.close: ⊕ must be idempotent, got {s.name}, whose sums may have no limit, which is "
                "looked for in the entire matrix. Pass it to apsp.closure(A, gpus=…)."
            )
        begun = 0 if checkpoint is None else checkpoint.begun_in(self.layout.block)
        self.run(begun=begun, callback=callback, checkpoint=checkpoint)
        if divergence.may_diverge(s, self.seen, self.n):
            divergence.refuse_beaten(self.diagonal(), s, where="DistributedMatrix", apart=self.dtype)
        if checkpoint is not None:
            self.world.on_first(checkpoint.close)
        return self

    def run(self, *, begun: int = 0, callback: Callback | None = None, checkpoint: Checkpoint | None = None) -> None:
        """The rounds of `close` from pivot `begun` on, without checking that the closure exists."""
        s, n, layout = self.semiring, self.n, self.layout
        nonnegative = fast(self.seen, s, self.dtype, n)

        def work(comm: Comm) -> tuple[Backend, float]:
            ops = bind(s, self.dtype, device=self.world.device, nonnegative=nonnegative, **self.world.options)

            def done(pivot: slice) -> None:
                if writer is not None:
                    writer.after(pivot.stop, lambda r, c: ops.download(part.part(r, c)))
                if callback is not None and comm.rank == 0:
                    callback(pivot.stop * n * n, n**3)

            part = LocalMatrix(self.parts[self.world.local_ranks.index(comm.rank)], ops, layout, comm)
            writer = None if checkpoint is None else checkpoint.writer(part.rows, part.columns)
            complete = None if writer is None else writer.due
            comm.barrier()
            watch = ops.stopwatch()
            distributed.closure(part, ops, block=layout.block, begun=begun, after=done, complete=complete)
            watch.stop()
            ops.synchronize()
            return ops, watch.seconds

        closed = self.world.run(work)
        self._ops = [ops for ops, _ in closed]
        self.seconds = max(self.world.allgather([seconds for _, seconds in closed]))

    # Reading

    def diagonal(self) -> np.ndarray:
        every = np.arange(self.n)
        return self.pairs(every, every)

    def rows(self, i: Sequence[int] | np.ndarray | slice) -> np.ndarray:
        index = np.arange(self.n)[i]

        def selection(rows: slice) -> np.ndarray:
            """Indices of the requested rows within `rows`, in matrix order."""
            inside = np.flatnonzero((index >= rows.start) & (index < rows.stop))
            return inside[np.argsort(index[inside], kind="stable")]

        def read(ops: Backend, part: Array, rows: slice, columns: slice) -> np.ndarray:
            k, width = index[selection(rows)] - rows.start, columns.stop - columns.start
            found = np.empty((len(k), width), self.dtype)
            for run in runs(k - np.arange(len(k))):  # of consecutive rows
                _read(ops, part, slice(int(k[run.start]), int(k[run.stop - 1]) + 1), slice(0, width), found[run])
            return found

        out = np.empty((len(index), self.n), self.dtype)
        return self._assembled(out, read, lambda rows, columns: (selection(rows), columns))

    def window(self, rows: slice, columns: slice, *, everywhere: bool = True) -> np.ndarray:
        """A window as a NumPy array, by slices. Collective; unless `everywhere`, only rank 0's process gets it."""
        rows, columns = (sliced(k, self.n, where="DistributedMatrix") for k in (rows, columns))
        out = np.empty((rows.stop - rows.start, columns.stop - columns.start), self.dtype)
        return self._read_window(rows, columns, out, everywhere=everywhere)

    def _read_window(self, rows: slice, columns: slice, out: np.ndarray, *, everywhere: bool = True) -> np.ndarray:
        """out ← a window; each rank writes what it has of it."""

        def place(part_rows: slice, part_columns: slice) -> tuple[slice, slice]:
            return local(meet(rows, part_rows), rows), local(meet(columns, part_columns), columns)

        def read(ops: Backend, part: Array, part_rows: slice, part_columns: slice) -> np.ndarray:
            r, c = meet(rows, part_rows), meet(columns, part_columns)
            found = out[place(part_rows, part_columns)]
            _read(ops, part, local(r, part_rows), local(c, part_columns), found)
            return found

        if self.world.in_one_process:
            self.each_part(read)
            return out
        return self._assembled(out, read, place, everywhere=everywhere)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.n

    def __getitem__(self, key: tuple[slice, slice]) -> np.ndarray:
        """`M[a:b, c:d]`: a window; IndexError for other keys."""
        return self.window(*_pair(key))

    def pairs(self, i: Sequence[int] | np.ndarray, j: Sequence[int] | np.ndarray) -> np.ndarray:
        """The entries (i[e], j[e])."""
        every = np.arange(self.n)
        i, j = (every[np.asarray(x) if len(x) else []] for x in (i, j))  # NumPy refuses fractions
        if i.shape != j.shape or i.ndim != 1:
            raise ShapeError(
                f"DistributedMatrix.pairs: two lists of one length are required, got {i.shape}, {j.shape}."
            )

        def inside(rows: slice, columns: slice) -> np.ndarray:
            return (i >= rows.start) & (i < rows.stop) & (j >= columns.start) & (j < columns.stop)

        def read(ops: Backend, part: Array, rows: slice, columns: slice) -> np.ndarray:
            chosen = inside(rows, columns)
            entries = part[i[chosen] - rows.start, j[chosen] - columns.start]
            return entries if isinstance(entries, np.ndarray) else entries.get()

        return self._assembled(np.empty(len(i), self.dtype), read, inside)

    def gather(self, out: Array = None) -> Array:
        """The entire matrix as a NumPy array; each rank writes its part.

        `out`, optional, has shape (n, n) and `dtype` (else ShapeError, DTypeError), or is a `BitMatrix` on the host.
        """
        if out is not None and out.shape != self.shape:
            raise ShapeError(f"DistributedMatrix.gather: out must have shape {self.shape}, got {out.shape}.")
        if isinstance(out, BitMatrix):
            for rank, words in enumerate(self._allgather(lambda ops, part, rows, columns: part.get().words)):
                out[self.layout.part(rank)].words[...] = words
            return out
        if out is not None and out.dtype.newbyteorder("=") != self.dtype:
            raise DTypeError(f"DistributedMatrix.gather: out must be of {self.dtype}, got {out.dtype}.")
        every = slice(0, self.n)
        return self._read_window(every, every, np.empty(self.shape, self.dtype) if out is None else out)

    def allocate_result(self) -> tuple[np.ndarray, Future[None] | None]:
        """A new array to gather into, and a future for when all its pages are mapped, or None."""
        require(self.n**2 * self.dtype.itemsize, where="gather", hint="Read rows and windows, or overwrite=True.")
        return self._ops[0].allocate_result(self.shape)

    # Helpers

    def each_part(self, work: Callable[[Backend, Array, slice, slice], Found]) -> list[Found]:
        """work(ops, part, rows, columns) in each rank of this process."""

        def one(comm: Comm) -> Found:
            k = self.world.local_ranks.index(comm.rank)
            return work(self._ops[k], self.parts[k], *self.layout.part(comm.rank))

        return self.world.run(one)

    def _allgather(self, work: Callable[[Backend, Array, slice, slice], Found]) -> list[Found]:
        return self.world.allgather(self.each_part(work))

    def _assembled(
        self,
        out: np.ndarray,
        read: Callable[[Backend, Array, slice, slice], np.ndarray],
        place: Callable[[slice, slice], Any],
        *,
        everywhere: bool = True,
    ) -> np.ndarray:
        """out[place(rows, columns)] ← read(ops, part, rows, columns) of every rank, or in rank 0's process alone."""
        pieces = self._allgather(read) if everywhere else self.world.gather(self.each_part(read))
        for rank, piece in enumerate(pieces or ()):
            out[place(*self.layout.part(rank))] = piece
        return out

    def _survey(self) -> Survey:
        if dtypes.SCALARS[self.dtype].boolean:
            return Survey(0, 1, True)

        def survey_part(ops: Backend, part: Array, rows: slice, columns: slice) -> Survey | None:
            first = (rows.start, columns.start)
            arguments: Fields = {"where": "DistributedMatrix", "first": first, "null_undeclared": True}
            return survey(part, self.semiring, **arguments) if part.size else None

        return merge([seen for seen in self._allgather(survey_part) if seen])

    def __repr__(self) -> str:
        where = {"cpu": "on the host", "cuda": "on GPUs"}[self.world.device]
        return (
            f"DistributedMatrix({self.n} × {self.n}, {self.semiring.name} in {self.dtype}, "
            f"{self.world.grid} ranks {where}, block {self.layout.block})"
        )


def _pair(key: object) -> tuple[Array, Array]:
    if not isinstance(key, tuple) or len(key) != 2:
        raise IndexError(f"DistributedMatrix: rows and columns are required, M[a:b, c:d], got {came(key)}.")
    return key


def _read(ops: Backend, part: Array, rows: slice, columns: slice, out: np.ndarray) -> None:
    """out ← a window of a part; packed bits are widened to multiples of 64 columns first."""
    if not out.size:
        return
    first = columns.start // ops.grain * ops.grain
    last = min(part.shape[1], -(-columns.stop // ops.grain) * ops.grain)
    if (first, last) == (columns.start, columns.stop):
        ops.download(part[rows, columns], out=out)
    else:
        found = np.empty((len(out), last - first), out.dtype)
        ops.download(part[rows, first:last], out=found)
        out[...] = found[:, columns.start - first : columns.stop - first]


def _broadcasts(shape: tuple[int, ...], target: tuple[int, int]) -> bool:
    return len(shape) <= 2 and all(size in (1, most) for size, most in zip(shape[::-1], target[::-1], strict=False))


def _make_part(ops: Backend, rows: slice, columns: slice, source: Source) -> Array:
    """A rank's part: a view uploaded at once if of the computing dtype, else windows of rows."""
    m, n = rows.stop - rows.start, columns.stop - columns.start
    if source.viewed and source.fill is not None:
        view = source.fill(rows, columns)
        if isinstance(view, BitMatrix) or (view.dtype == ops.dtype and not source.nulls):
            return ops.upload(view, copy=True)
    part = ops.empty((m, n))
    height = max(1, STRIP // max(1, n * ops.dtype.itemsize))
    for i in range(0, m if n else 0, height):
        strip = slice(rows.start + i, min(rows.start + i + height, rows.stop))
        ops.copy(part[local(strip, rows), :], ops.upload(source.window(strip, columns), copy=False))
    return part
