"""Every exception this project raises on purpose.

SemiringError                          base of all of them
├── AlgebraError (ValueError)          a semiring breaks a law, or a declaration is incomplete
├── ShapeError (ValueError)            sizes do not fit the operation
├── DTypeError (TypeError)             this semiring is not defined on this dtype
├── DomainError (ValueError)           an entry lies outside the semiring (NaN, −∞ in min-plus, …)
├── DeviceError (RuntimeError)         the device asked for is not there or cannot do this
├── MemoryNeeded (MemoryError)         the estimate says that it will not fit
├── FormatError (ValueError)           a file is not what its format says; carries file and line
└── DivergenceError (ArithmeticError)  the closure does not exist: I ⊕ A ⊕ A² ⊕ … has no limit
    └── NegativeCycleError             its cause in min-plus (and, mirrored, max-plus): a cycle that pays

Each message names the operation, the requirement, what came, and the way out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class SemiringError(Exception):
    """Base class: `except SemiringError` catches whatever this project raises on purpose."""


class AlgebraError(SemiringError, ValueError):
    """A semiring breaks one of its laws, or its declaration is incomplete."""


class ShapeError(SemiringError, ValueError):
    """The sizes of the operands do not fit the operation."""


class DTypeError(SemiringError, TypeError):
    """The semiring is not defined on this dtype."""


class DomainError(SemiringError, ValueError):
    """An entry lies outside the semiring's set, for instance NaN anywhere or −∞ in min-plus."""


class DeviceError(SemiringError, RuntimeError):
    """The device asked for is missing, or cannot do what was asked."""


class MemoryNeeded(SemiringError, MemoryError):
    """The estimate made before any work says that the problem does not fit."""


class FormatError(SemiringError, ValueError):
    """A file does not follow its format.

    Attributes
    ----------
    path : str
        The file.
    line : int or None
        The line (from 1) at which reading stopped, where there is one.
    """

    def __init__(self, path: object, line: int | None, problem: str) -> None:
        self.path, self.line = str(path), line
        super().__init__(f"{path}:{line}: {problem}" if line is not None else f"{path}: {problem}")


class DivergenceError(SemiringError, ArithmeticError):
    """The closure does not exist: the sum I ⊕ A ⊕ A² ⊕ … has no limit.

    Attributes
    ----------
    vertex : object or None
        A vertex (its label, where the graph has labels) at which the sum fails to settle.
    """

    def __init__(self, message: str, vertex: Any = None) -> None:
        self.vertex = vertex
        super().__init__(message)


class NegativeCycleError(DivergenceError):
    """A cycle that makes every walk through it better without end.

    Attributes
    ----------
    vertex : object
        A vertex on the cycle.
    cycle : sequence
        The cycle's vertices in order, the first not repeated; empty when only `vertex` is known.
    weight : float or None
        The cycle's weight.
    """

    def __init__(self, message: str, vertex: Any, cycle: Sequence[Any] = (), weight: float | None = None) -> None:
        super().__init__(message, vertex)
        self.cycle, self.weight = list(cycle), weight
