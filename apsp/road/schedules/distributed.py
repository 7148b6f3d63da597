"""Floyd–Warshall on blocks with one product a round, over a grid of processes.

For the pivot block k, with the old C = A(:,k), T = A(k,k)*, and P = T A(k,:) but T in the columns of k:

    A(:,k) ← 0,   A ← A ⊕ C P in all rows but those of k,   A(k,:) ← P

This is block elimination: A(i,j) ⊕ A(i,k) T A(k,j) outside the pivot's row and column, A(i,k) T in its column. No entry
meets T twice: right in every closed semiring. A round does n² b pairs.

The column strip is broadcast along rows of the grid. The owner of the pivot block closes it (R-Kleene) and broadcasts T
along its process row, which multiplies the row panel and broadcasts it along columns. Then every process does one
product on its part. Operations depend only on n and the block: every grid yields the same bits.

Look-ahead (Strazdins 1998): with concurrent verbs, the next pivot's strips are copied before this product, updated
separately, and closed, multiplied and broadcast while it runs. The product leaves them out, as the next round
overwrites A(k,:) and A(:,k) anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from semiring.algebra.ranges import local, meet, without
from semiring.distributed import LocalMatrix
from semiring.host.types import Array
from semiring.kernels.backend import Backend

from . import recursive
from .base import Schedule
from .blocks import pivots


def closure(
    A: Array,
    ops: Backend,
    *,
    block: int,
    begun: int = 0,
    after: Callable[[slice], None] | None = None,
    complete: Callable[[], bool] | None = None,
) -> None:
    """A ← A*; every process of the grid calls this with its part (a LocalMatrix; or a matrix in this process alone).

    Parts must be cut at multiples of `block` (the pivot block). `begun` pivots are done (a multiple of the block where
    parts are cut). `after(pivot)` is called when a round is queued on the device; its verbs may still run.
    `complete()`: whether the next `after` needs every entry through the round; else the next pivot's strips may lag.
    """
    part = A if isinstance(A, LocalMatrix) else LocalMatrix.single_process(A, ops, block)
    todo = list(pivots(part.layout.n, block, begun))
    if not todo:
        return
    concurrent = ops.concurrent_queue()
    now = then = Panels(part, ops)
    if concurrent:
        then = Panels(part, ops, like=now)
    now.take(todo[0])
    now.close()
    for pivot, following in zip(todo, [*todo[1:], None], strict=True):
        if concurrent and following:
            then.take(following)
            with concurrent:
                then.bring_forward(now)
                then.close()
        ahead = following if concurrent and not (complete and complete()) else None
        now.update(part.matrix, part.rows, part.columns, ahead)
        if concurrent:
            concurrent.join()
        elif following:
            then.take(following)
            then.close()
        if after is not None:
            after(pivot)
        now, then = then, now


class Panels:
    """The operands of a round: the column strip C of a pivot block before it, and its row panel P.

    Call `take`, with look-ahead `bring_forward`, then `close`; then `update` windows of this process's part.
    """

    def __init__(self, part: LocalMatrix, ops: Backend, like: Panels | None = None) -> None:
        self._part, self._ops, self._comm, self._like = part, ops, part.comm, like
        self.pivot = slice(0, 0)

    def _allocate(self, b: int) -> None:
        """Allocate panels for a pivot block of b; only the last block may be narrower."""
        ops, part = self._ops, self._part
        rows, columns = (span.stop - span.start for span in (part.rows, part.columns))
        self.C, self.P = ops.panel((rows, b)), ops.panel((b, columns))
        # T, and the row strip R before the round: used only in `close`, so two Panels share them.
        shared = self._like and self._like.T.shape[0] == b
        self.T: Any = self._like.T if self._like and shared else ops.panel((b, b))
        self.R: Any = self._like.R if self._like and shared else ops.panel((b, columns))

    def take(self, k: slice) -> None:
        """C ← A(:,k) and R ← A(k,:), where they are in this process."""
        part, layout, b = self._part, self._part.layout, k.stop - k.start
        if b != self.pivot.stop - self.pivot.start:
            self._allocate(b)
        self.pivot = k
        self.owner_row, self.owner_column = layout.row_of(k.start), layout.column_of(k.start)
        if self._comm.column == self.owner_column:
            part.take(part.rows, k, self.C)
        if self._comm.row == self.owner_row:
            part.take(k, part.columns, self.R)

    def bring_forward(self, before: Panels) -> None:
        """Apply the round of `before` to the strips, which were taken before it."""
        if self._comm.column == self.owner_column:
            before.update(self.C, self._part.rows, self.pivot)
        if self._comm.row == self.owner_row:
            columns = self._part.columns
            for j in without(columns, self.pivot):  # T is closed from C
                before.update(self.R[:, local(j, columns)], self.pivot, j)

    def close(self) -> None:
        """Broadcast C, and P = T R (T in the columns of k), to every process."""
        k, ops, comm, columns = self.pivot, self._ops, self._comm, self._part.columns
        comm.broadcast_along_row(self.C, ops, self.owner_column)
        if comm.row == self.owner_row:
            owns_pivot = comm.column == self.owner_column
            if owns_pivot:
                ops.copy(self.T, self.C[local(k, self._part.rows), :])
                recursive.closure(self.T, ops, block=ops.pivot, mirrored=False)  # T ← A(k,k)*
            comm.broadcast_along_row(self.T, ops, self.owner_column)
            for j in without(columns, k):
                ops.matmul(self.P[:, local(j, columns)], self.T, self.R[:, local(j, columns)])
            if owns_pivot:
                ops.copy(self.P[:, local(k, columns)], self.T)
        comm.broadcast_along_column(self.P, ops, self.owner_row)

    def update(self, X: Array, rows: slice, columns: slice, ahead: slice | None = None) -> None:
        """X ← X ⊕ C P for a window X, but 0 ⊕ C P in the columns of k and P in its rows; `ahead` is left out."""
        k, ops, part = self.pivot, self._ops, self._part
        across, down = meet(k, columns), meet(k, rows)
        if across.start < across.stop:
            ops.clear(X[:, local(across, columns)])
        products = [
            (
                X[local(i, rows), local(j, columns)],
                self.C[local(i, part.rows), :],
                self.P[:, local(j, part.columns)],
            )
            for i in without(rows, k, ahead)
            for j in without(columns, ahead)
        ]
        if ahead is None:
            for product in products:
                ops.gemm(*product)
        else:  # pieces of one product, which fill the device together
            ops.gemms(products)
        if down.start < down.stop:
            ops.copy(X[local(down, rows), :], self.P[local(down, k), local(columns, part.columns)])


def product_bytes(m: int, n: int, b: int, ops: Backend) -> int:
    """Workspace bytes of the largest verb of a round, for a part of m × n and a pivot block of b."""
    products = max(ops.verb_workspace("gemm", m, n, b), ops.verb_workspace("matmul", b, n, b))
    return max(products, recursive.verb_bytes(b, ops, block=ops.pivot))


def panel_bytes(m: int, n: int, b: int, ops: Backend) -> int:
    """Bytes of the panels of a part of m × n; twice with look-ahead."""
    size = ops.matrix_bytes
    return (2 if ops.looks_ahead else 1) * (size(m, b) + size(b, n)) + size(b, n) + size(b, b)


SCHEDULE = Schedule(
    closure,
    "one product a round; over a grid of processes, each with a part of the matrix",
    verb_bytes=lambda n, ops, *, block: product_bytes(n, n, min(n, block), ops),
    panels=lambda n, ops, *, block: panel_bytes(n, n, min(n, block), ops),
)
