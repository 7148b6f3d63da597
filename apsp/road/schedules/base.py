"""The record `Schedule` of an order of work; one file each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from semiring.algebra.records import Semiring
from semiring.host.types import Array
from semiring.kernels.backend import Backend


@dataclass(frozen=True)
class Schedule:
    """An order of the work of a closure.

    Parameters
    ----------
    closure : callable
        `closure(A, ops, *, block)`: A ← A* in place, by verbs of `semiring.kernels.backend.Backend` only.
    description : str
        One line for people.
    pairs : callable
        `pairs(n)`: ⊕ with ⊗ operations, by default n³; the total of progress.
    verb_bytes : callable
        `verb_bytes(n, ops, *, block)`: bytes of the largest verb workspace (`ops.verb_workspace`).
    panels : callable
        `panels(n, ops, *, block)`: bytes of its own smaller matrices.
    matrices : int
        Workspace matrices as large as A.
    refuses : callable
        `refuses(semiring)`: why it is wrong there, as the end of a sentence; "" if right.
    blocked : bool
        Whether it has a pivot block.

    See Also
    --------
    get, apsp.compare : By name; all on one matrix.

    Examples
    --------
    >>> from apsp import schedules
    >>> schedules.get("recursive").pairs(10)
    1000
    """

    closure: Callable[..., None]
    description: str
    pairs: Callable[[int], int] = lambda n: n**3
    verb_bytes: Callable[..., int] = lambda n, ops, *, block: 0
    panels: Callable[..., int] = lambda n, ops, *, block: 0
    matrices: int = 0
    refuses: Callable[[Semiring], str] = lambda semiring: ""
    blocked: bool = True

    def __call__(self, A: Array, ops: Backend, *, block: int) -> None:
        self.closure(A, ops, block=block)

    def workspace(self, n: int, ops: Backend, *, block: int) -> int:
        """Bytes of workspace for an n × n matrix; the backend's figure if it lacks those of verbs."""
        verb_bytes = self.verb_bytes(n, ops, block=block) if ops.knows_workspaces else ops.workspace(n)
        return verb_bytes + self.panels(n, ops, block=block) + self.matrices * ops.matrix_bytes(n, n)
