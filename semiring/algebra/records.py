"""Declarations of semirings: `Op`, `Star`, `Variant`, `Semiring`.

A semiring (S, ⊕, ⊗, 0, 1) has a commutative, associative ⊕ with neutral element 0, an associative ⊗ with neutral
element 1 that distributes over ⊕, and 0 ⊗ x = x ⊗ 0 = 0. It is closed when a scalar star a* = 1 ⊕ a ⊕ a² ⊕ … exists for
the values of interest (Lehmann 1977, "Algebraic structures for transitive closure", section 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from ..host.errors import AlgebraError
from ..host.types import Function, Scalar, Values
from . import pickling
from .declarations import (
    as_tuple,
    require_absorbing,
    require_as_declared,
    require_compilable,
    require_expression,
    require_function,
    require_idempotent,
    require_interval,
    require_representable,
    same,
)
from .dtypes import SCALARS

FLOATS = ("float32", "float64")
INTEGERS = ("int16", "int32", "int64")
NUMBERS = (*INTEGERS, *FLOATS)

#: NumPy ufunc of each vector instruction, and which operand it selects, if any.
_INSTRUCTIONS: dict[str, tuple[np.ufunc, str | None]] = {
    "add": (np.add, None),
    "mul": (np.multiply, None),
    "min": (np.minimum, "least"),
    "max": (np.maximum, "greatest"),
}
#: Commutative ufuncs.
_COMMUTING: tuple[np.ufunc, ...] = (
    *(np.add, np.multiply, np.minimum, np.maximum, np.logaddexp),
    *(np.logical_and, np.logical_or, np.bitwise_and, np.bitwise_or),
)


@dataclass(frozen=True)
class Op:
    """Binary operation on scalars, written once for Python and once for CUDA C++.

    Parameters
    ----------
    name : str
        A valid C identifier; for messages only.
    python : callable
        `python(a, b)`: compiled by numba for the CPU; uncompiled, it is the tests' oracle.
    cuda : str
        One C++ expression in `a` and `b`. Write `min(a, b)`, not `a < b ? a : b`, which costs a compare and a select
        for floats.
    simd : {"add", "mul", "min", "max"}, optional
        Vector instruction for this operation, for explicit vector code on the CPU. Without it `python` is compiled.
    saturating : bool
        On integer dtypes evaluate in a wider type and clamp to the dtype's range; a semiring's zero then absorbs
        explicitly, as ∞ + (−5) must stay ∞.
    ufunc : numpy.ufunc, optional
        The operation on arrays (NumPy's does not saturate on integers). Implied by `simd`.
    selects : {"least", "greatest"}, optional
        Declares that a ⊕ b is always the lesser, or the greater, of a and b, which paths require. Implied by `simd`.

    Raises
    ------
    AlgebraError
        If no kernel could use a field.

    Examples
    --------
    >>> Op("top", python=lambda a, b: a if a > b else b, cuda="max(a, b)", simd="max").selects
    'greatest'
    """

    name: str
    python: Callable[[Any, Any], Any] = field(repr=False)
    cuda: str
    simd: str | None = None
    saturating: bool = False
    ufunc: np.ufunc | None = field(default=None, repr=False)
    selects: str | None = None

    def __post_init__(self) -> None:
        where = f"Op {self.name!r}"
        if not (isinstance(self.name, str) and self.name.isidentifier() and self.name.isascii()):
            raise AlgebraError(f"Op: name must be a C identifier, got {self.name!r}.")
        require_function(self.python, 2, f"{where}: python")
        require_expression(self.cuda, f"{where}: cuda")
        if self.simd is not None:
            if self.simd not in _INSTRUCTIONS:
                raise AlgebraError(
                    f"{where}: simd must be one of {', '.join(_INSTRUCTIONS)}, got {self.simd!r}. Leave it out: "
                    "python is then compiled."
                )
            ufunc, selects = _INSTRUCTIONS[self.simd]
            object.__setattr__(self, "ufunc", self.ufunc or ufunc)
            object.__setattr__(self, "selects", self.selects or selects)
        if self.ufunc is not None and not (isinstance(self.ufunc, np.ufunc) and self.ufunc.nin == 2):
            raise AlgebraError(f"{where}: ufunc must be a NumPy ufunc of two operands, got {self.ufunc!r}.")
        if self.selects not in (None, "least", "greatest"):
            raise AlgebraError(f'{where}: selects must be "least" or "greatest", got {self.selects!r}.')

    @property
    def commutes(self) -> bool:
        """Whether a ∘ b = b ∘ a is known from `ufunc`; else operands keep their order."""
        return self.ufunc in _COMMUTING

    @property
    def vectorized(self) -> Function:
        """Operation on arrays: `ufunc`, else `python` elementwise, to float64."""
        return self.ufunc or np.vectorize(self.python, otypes=[np.float64])

    def __reduce__(self) -> Values:
        return pickling.reduce(self, (self.python,), own=(self.python,))


@dataclass(frozen=True)
class Star:
    """Scalar closure a* = 1 ⊕ a ⊕ a² ⊕ …, where it is not simply 1 ⊕ a.

    `python(a)` is compiled by numba; `cuda` is a C++ expression in `a` of type `T`. Both return an infinity or NaN
    where the sum diverges; the closure then raises `DivergenceError`. On integer dtypes `T` is double, and a star that
    is no number of the dtype raises, too.
    """

    python: Callable[[Any], Any] = field(repr=False)
    cuda: str

    def __post_init__(self) -> None:
        require_function(self.python, 1, "Star: python")
        require_expression(self.cuda, "Star: cuda")

    def __reduce__(self) -> Values:
        return pickling.reduce(self, (self.python,), own=(self.python,))


@dataclass(frozen=True)
class Variant:
    """Faster step c ⊕ a ⊗ b, valid under a precondition that is checked on the data.

    Parameters
    ----------
    name, dtypes : str, tuple of str
        Name in backends and plans; applicable dtypes.
    cuda : str
        Step struct in `semiring/kernels/cuda/algebra.cuh`.
    nonnegative : bool
        Precondition: no entry below 0 other than the semiring's zero; see `semiring.algebra.survey.fast`.
    generation : int
        Least compute capability, 90 for 9.0; older GPUs take the general step.
    """

    name: str
    dtypes: tuple[str, ...]
    cuda: str
    nonnegative: bool = True
    generation: int = 0


@dataclass(frozen=True, repr=False)
class Semiring:
    """Declaration of a semiring, valid at once for CPU, GPU, command line and tests.

    Parameters
    ----------
    name : str
        GraphBLAS's name where there is one (`min_plus`, `lor_land`, …).
    add, mul : Op
        ⊕ and ⊗.
    zero, one : float or bool
        Neutral elements; ±inf stands for the largest or smallest value of an integer dtype.
    aliases : tuple of str
        Plain names (`tropical`, …).
    dtypes : tuple of str
        NumPy dtypes on which it is defined.
    star : Star, optional
        Scalar closure where it is not 1 ⊕ a.
    domain : tuple (low, high)
        The set S as an interval; entries outside raise `DomainError`. NaN is outside every domain.
    open_low, open_high : bool
        Whether that end is excluded: min-plus has (−inf, +inf], because −∞ ⊗ ∞ would have no value.
    idempotent : bool
        Whether a ⊕ a = a. The closure of an idempotent semiring exists when no diagonal entry beats `one`.
    samples : tuple
        Values on which `check_axioms` tries every law; exact in every dtype allowed.
    variants : tuple of Variant
        Faster steps tied to a precondition.
    tolerance : float
        Relative tolerance of the laws in floating point (0 where operations are exact on `samples`).
    series : {"real", "positive"}, optional
        Divergence test of 1 ⊕ a ⊕ a² ⊕ … where ⊕ is not idempotent. "real": entries of both signs cancel, so the
        spectral radius decides; for (+, ×) alone, declared by `ufunc`. "positive": nothing cancels, so elimination
        meets an infinite star. Without it, partial sums must settle, which takes longer.
    draw : callable, optional
        `draw(rng, shape)` → random entries other than zero, such that a square matrix of them has a closure. By default
        drawn from `samples` that do not beat `one`.

    Raises
    ------
    AlgebraError
        If kernels cannot use a field, or an operation's declarations contradict its `python` on the samples.
        `check_axioms` tries the laws.

    Examples
    --------
    >>> import semiring
    >>> semiring.get("tropical").zero
    inf
    """

    name: str
    add: Op
    mul: Op
    zero: Any
    one: Any
    aliases: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = FLOATS
    star: Star | None = None
    domain: tuple[float, float] = (-math.inf, math.inf)
    open_low: bool = False
    open_high: bool = False
    idempotent: bool = True
    samples: Values = ()
    variants: tuple[Variant, ...] = ()
    tolerance: float = 0.0
    series: str | None = None
    draw: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name.isidentifier()):
            raise AlgebraError(f"Semiring: name must be an identifier, got {self.name!r}.")
        where = f"Semiring {self.name}"
        for several in ("aliases", "dtypes", "samples", "variants"):
            object.__setattr__(self, several, as_tuple(getattr(self, several), f"{where}: {several}"))
        self._require_fields(where)
        self._require_numbers(where)
        self._require_functions(where)

    def _require_fields(self, where: str) -> None:
        """Raise AlgebraError for fields of a wrong type or value."""
        for name, kinds in (("add", (Op,)), ("mul", (Op,)), ("star", (Star, type(None)))):
            if not isinstance(came := getattr(self, name), kinds):
                raise AlgebraError(
                    f"{where}: {name} must be {'an' if Op in kinds else 'a'} {kinds[0].__name__}, got {came!r}."
                )
        if not self.samples:
            raise AlgebraError(f"{where}: samples must hold a few values for check_axioms, got none.")
        known = [record.name for record in SCALARS.values() if record.entries]
        unknown = [name for name in self.dtypes if name not in known]
        if unknown or not self.dtypes:
            came = ", ".join(map(str, unknown)) or "none"
            raise AlgebraError(f"{where}: dtypes must be among {', '.join(known)}, got {came}.")
        if not (isinstance(self.tolerance, (int, float)) and self.tolerance >= 0):
            raise AlgebraError(f"{where}: tolerance must be a number of at least 0, got {self.tolerance!r}.")
        if self.series not in (None, "real", "positive"):
            raise AlgebraError(f'{where}: series must be "real" or "positive", got {self.series!r}.')
        if self.series == "real" and (self.add.ufunc, self.mul.ufunc) != (np.add, np.multiply):
            raise AlgebraError(
                f'{where}: series="real" is for ordinary sums and products, whose eigenvalues decide, got '
                f"{_named(self.add)} and {_named(self.mul)}. Declare ufunc=np.add and np.multiply, or leave series out."
            )

    def _require_numbers(self, where: str) -> None:
        """Raise AlgebraError unless the neutral elements belong to every dtype and to the domain."""
        for name, dtype in product(("zero", "one"), self.dtypes):
            require_representable(getattr(self, name), dtype, f"{where}: {name}")
        require_interval(self.domain, (self.zero, self.one), f"{where}: domain")

    def _require_functions(self, where: str) -> None:
        """Raise AlgebraError unless numba compiles the functions and they do as declared on the samples."""
        if self.draw is not None:
            require_function(self.draw, 2, f"{where}: draw")
        for field_name, op in (("add", self.add), ("mul", self.mul)):
            require_compilable(op.python, 2, self.dtypes, f"{where}: {field_name}.python")
            require_as_declared(op, (*self.samples, self.zero, self.one), self.tolerance, f"{where}: {field_name}")
        require_absorbing(self, where)
        if self.idempotent:
            require_idempotent(self, where)
        if self.star is not None:
            require_compilable(self.star.python, 1, self.dtypes, f"{where}: star.python")
            if (a := self._starless) is not None:
                raise AlgebraError(
                    f"{where}: star.python must be a* = 1 ⊕ a ⊗ a*, got {self.closure_of(a)!r} at {a!r}, where "
                    f"1 ⊕ a ⊗ a* is {self._once_more(a)!r}."
                )

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        """Hash of the name: every call looks its semiring up, and equal ones have equal names."""
        return hash(self.name)

    def __reduce__(self) -> Values:
        where = (self.add.python, self.mul.python, self.star and self.star.python, self.draw)
        return pickling.reduce(self, where, own=(self.draw,))

    def __deepcopy__(self, memo: object = None) -> Semiring:
        """Itself, being immutable: what holds it is copied though its functions have no names to pickle."""
        return self

    __copy__ = __deepcopy__

    def __repr__(self) -> str:
        return f"<Semiring {self.name}: {self.add.name}, {self.mul.name}, zero {self.zero}, one {self.one}>"

    @property
    def lengths(self) -> bool:
        """Whether ⊗ adds numbers and ⊕ selects: walks have lengths, and cycles may be negative."""
        return self.mul.ufunc is np.add and self.add.selects is not None

    @property
    def boolean(self) -> bool:
        """Whether this is (or, and) on bools, so that a matrix may be packed bits."""
        return (
            self.dtypes == ("bool",)
            and self.add.ufunc in (np.logical_or, np.bitwise_or)
            and self.mul.ufunc in (np.logical_and, np.bitwise_and)
        )

    @property
    def order(self) -> int:
        """1 if greater numbers weigh more, −1 if lesser do: `zero` is the least weight."""
        return 1 if self.zero < self.one else -1

    @property
    def interval(self) -> str:
        """Domain in mathematical notation, for messages."""
        low, high = self.domain
        return f"{'(' if self.open_low else '['}{low:g}, {high:g}{')' if self.open_high else ']'}"

    @property
    def closed(self) -> bool:
        """Whether `closure_of` is 1 ⊕ a ⊕ a² ⊕ … for every sample with such a sum; else no cycle has a closure."""
        return self._starless is None

    @cached_property
    def _starless(self) -> Scalar:
        """Sample whose sum 1 ⊕ a ⊕ a² ⊕ … differs from `closure_of`; None if there is none."""
        for a in self.samples:
            try:
                star = self.closure_of(a)
                if settled(self, a, star) and not same(star, self._once_more(a), max(self.tolerance, 1e-6)):
                    return a
            except (ArithmeticError, ValueError):  # Python's functions are not defined everywhere
                continue
        return None

    def starless(self, where: str, vertex: int) -> AlgebraError:
        """AlgebraError for a cycle at a vertex, over a semiring that is not `closed`."""
        a = self._starless
        return AlgebraError(
            f"{where}: a cycle, as at vertex {vertex}, takes the star a* = 1 ⊕ a ⊕ a² ⊕ … of what it weighs, which "
            f"{self.name} does not declare, and which 1 ⊕ a is not at a = {a!r}. Declare star=Star(…)."
        )

    def _once_more(self, a: Any) -> Scalar:
        """1 ⊕ a ⊗ a*, which must equal a*."""
        return self.add.python(self.one, self.mul.python(a, self.closure_of(a)))

    def closure_of(self, a: Any) -> Scalar:
        """a* of a Python scalar: the declared star, else 1 ⊕ a.

        The default is 1 ⊕ a rather than 1, so that a cycle that beats `one` leaves a trace on the diagonal.
        """
        return self.star.python(a) if self.star else self.add.python(self.one, a)


def _named(op: Op) -> str:
    return f"the ufunc {op.ufunc.__name__}" if op.ufunc else "an operation without ufunc"


def settled(semiring: Semiring, a: Any, star: Any) -> bool:
    """Whether `star` is a convergent sum rather than the trace of a diverging one."""
    if semiring.idempotent:
        return bool(semiring.add.python(semiring.one, a) == semiring.one)
    return math.isfinite(star)
