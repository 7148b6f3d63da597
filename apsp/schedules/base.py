"""What a schedule is: a record, one file each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from semiring.algebra import Semiring
from semiring.backend import Backend
from semiring.types import Array


def _cube(n: int) -> int:
    return n**3


def _none(n: int, ops: Backend, *, block: int) -> int:
    return 0


def _right(semiring: Semiring) -> str:
    return ""


@dataclass(frozen=True)
class Schedule:
    """An order in which a closure's work is done.

    Parameters
    ----------
    closure : callable
        `closure(A, ops, *, block)`: A ← A* in place, written against the verbs of `semiring.backend.Backend` alone.
    description : str
        One line for people.
    pairs : callable
        `pairs(n)`: how many ⊕ with one ⊗ it computes; n³ unless it says otherwise. Progress ends there.
    verb_bytes : callable
        `verb_bytes(n, ops, *, block)`: the workspace of its verbs on an n × n matrix in bytes, the most that any of
        them takes (`ops.verb_workspace`).
    panels : callable
        `panels(n, ops, *, block)`: the bytes of matrices that it makes itself, smaller than A.
    matrices : int
        How many matrices as large as A its workspace has.
    refuses : callable
        `refuses(semiring)`: why it is wrong over this semiring, as the end of a sentence; empty where it is right.
    blocked : bool
        Whether it has a pivot block.

    See Also
    --------
    get : One by its name.
    apsp.compare : All on the same matrix.

    Examples
    --------
    >>> from apsp import schedules
    >>> schedules.get("recursive").pairs(10)
    1000
    """

    closure: Callable[..., None]
    description: str
    pairs: Callable[[int], int] = _cube
    verb_bytes: Callable[..., int] = _none
    panels: Callable[..., int] = _none
    matrices: int = 0
    refuses: Callable[[Semiring], str] = _right
    blocked: bool = True

    def __call__(self, A: Array, ops: Backend, *, block: int) -> None:
        """A ← A*."""
        self.closure(A, ops, block=block)

    def workspace(self, n: int, ops: Backend, *, block: int) -> int:
        """Bytes of workspace for an n × n matrix; by the backend's own figure where it does not know each verb's."""
        verb_bytes = self.verb_bytes(n, ops, block=block) if ops.knows_workspaces else ops.workspace(n)
        return verb_bytes + self.panels(n, ops, block=block) + self.matrices * ops.matrix_bytes(n, n)
