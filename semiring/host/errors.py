"""Exceptions raised on purpose by this project.

SemiringError                          base of all of them
├── AlgebraError (ValueError)          a semiring breaks a law, or a declaration is incomplete
├── ShapeError (ValueError)            sizes do not fit the operation
├── DTypeError (TypeError)             this semiring is not defined on this dtype
├── DomainError (ValueError)           an entry lies outside the semiring (NaN, −∞ in min-plus, …)
├── DeviceError (RuntimeError)         the device requested is missing or cannot do this
├── MemoryNeeded (MemoryError)         the estimate says that it will not fit
├── FormatError (ValueError)           a file is not what its format says; carries file and line
│   └── TileError                      a tile of a store is missing, torn, damaged or foreign; carries its index
├── NoPathError (LookupError)          no walk leads from here to there
├── VertexError (KeyError)             no vertex has this label, or two have it
└── DivergenceError (ArithmeticError)  the closure does not exist: I ⊕ A ⊕ A² ⊕ … has no limit
    └── NegativeCycleError             its cause in min-plus

and a warning: AmbiguityWarning (UserWarning), for input that can be read in two ways.

Each message names the operation, the requirement, the offending value, and a remedy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .escaping import one_line
from .spelling import shortened
from .types import Fields, Values


class SemiringError(Exception):
    """Base class: `except SemiringError` catches everything this project raises on purpose."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*(shortened(arg) if isinstance(arg, str) else arg for arg in args))

    def __reduce__(self) -> Any:
        """Pickle args and attributes, not constructor arguments, which they need not equal."""
        return _as_it_stood, (type(self), self.args, self.__dict__)


class AmbiguityWarning(UserWarning):
    """Input that can be read in two ways; the message says how it was read."""


class AlgebraError(SemiringError, ValueError):
    """A semiring breaks one of its laws, or its declaration is incomplete."""


class ShapeError(SemiringError, ValueError):
    """The sizes of the operands do not fit the operation."""


class DTypeError(SemiringError, TypeError):
    """The semiring is not defined on this dtype."""


class DomainError(SemiringError, ValueError):
    """An entry lies outside the semiring's set, for instance NaN anywhere or −∞ in min-plus."""


class DeviceError(SemiringError, RuntimeError):
    """The device requested is missing, or cannot do what was requested."""


class MemoryNeeded(SemiringError, MemoryError):
    """The estimate made before any work says that the problem does not fit."""


class FormatError(SemiringError, ValueError):
    """A file does not follow its format.

    Attributes
    ----------
    path : str
    line : int or None
        Line (from 1) at which reading stopped, if known.
    """

    def __init__(self, path: object, line: int | None, problem: str) -> None:
        self.path, self.line = str(path), line
        shown = one_line(str(path))
        super().__init__(f"{shown}:{line}: {problem}" if line is not None else f"{shown}: {problem}")


class TileError(FormatError):
    """A tile of a store is missing, truncated, damaged, or foreign; its content is never guessed.

    Attributes
    ----------
    tile : (int, int)
        Its row and column of tiles.
    """

    def __init__(self, path: object, tile: tuple[int, int], problem: str) -> None:
        self.tile = tile
        super().__init__(path, None, f"tile {tile[0]}, {tile[1]}: {problem}")


class DivergenceError(SemiringError, ArithmeticError):
    """The closure does not exist: the sum I ⊕ A ⊕ A² ⊕ … diverges.

    Attributes
    ----------
    vertex : object or None
        A vertex (its label, if the graph has labels) at which the sum diverges.
    cycle : list
        Vertices of a cycle that improves every walk through it without end, in order, the first not repeated; empty if
        only `vertex` is known.
    """

    def __init__(self, message: str, vertex: Any = None, cycle: Sequence[Any] = ()) -> None:
        self.vertex, self.cycle = vertex, list(cycle)
        super().__init__(message)


def star_without_value(semiring: str, dtype: object) -> str:
    """`DivergenceError` message for a pivot whose star is no number of an integer dtype."""
    return (
        f"closure: I ⊕ A ⊕ A² ⊕ … must have a limit, got a pivot whose star over {semiring} is no number of {dtype}. "
        "Remove the cycle, scale the matrix down, or compute in a wider dtype or in floats."
    )


class NegativeCycleError(DivergenceError):
    """A cycle of negative weight in min-plus: `vertex` is on it."""


class NoPathError(SemiringError, LookupError):
    """A path was requested between vertices that no walk connects."""


class VertexError(SemiringError, KeyError):
    """No vertex has the label requested, or two vertices have the same one."""

    __str__ = Exception.__str__  # KeyError would show the message quoted, as it does a key


def _as_it_stood(kind: type[SemiringError], args: Values, attributes: Fields) -> SemiringError:
    error = Exception.__new__(kind, *args)  # kind.__new__ may be that of MemoryError, which refuses others
    error.__dict__.update(attributes)
    return error
