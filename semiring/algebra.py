"""The records that say what a semiring is: `Op`, `Star`, `Variant`, `Semiring`, and `check_axioms`.

A semiring (S, ⊕, ⊗, 0, 1) has a commutative, associative ⊕ with neutral element 0, an associative ⊗
with neutral element 1 that distributes over ⊕, and 0 ⊗ x = x ⊗ 0 = 0. It is closed when a scalar
star a* = 1 ⊕ a ⊕ a² ⊕ … exists for the values of interest (Lehmann 1977, "Algebraic structures for
transitive closure", section 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from .errors import AlgebraError

FLOATS = ("float32", "float64")
INTEGERS = ("int16", "int32", "int64")
NUMBERS = (*INTEGERS, *FLOATS)


@dataclass(frozen=True)
class Op:
    """A binary operation on scalars, written once for Python and once for CUDA C++.

    Parameters
    ----------
    name : str
        A valid C identifier.
    python : callable
        `python(a, b)`: compiled by numba for the CPU; uncompiled, it is the tests' oracle.
    cuda : str
        One C++ expression in `a` and `b`. Write `min(a, b)`, not `a < b ? a : b`: the latter costs a
        compare and a select for floats.
    simd : str, optional
        The vector instruction that computes this operation, one of `"add" "mul" "min" "max"`:
        the CPU backend then writes explicit vector code. Without it the compiled `python` is used.
    saturating : bool
        On integer dtypes evaluate the expression in a wider type and clamp the result to the dtype's
        range; a semiring's zero then absorbs explicitly, as ∞ + (−5) must stay ∞.
    """

    name: str
    python: Callable[[Any, Any], Any] = field(repr=False)
    cuda: str
    simd: str | None = None
    saturating: bool = False


@dataclass(frozen=True)
class Star:
    """The scalar closure a* = 1 ⊕ a ⊕ a² ⊕ …, where it is not simply 1 ⊕ a.

    `python(a)` is compiled by numba; `cuda` is a C++ expression in `a` of type `T`. Both return an
    infinity or NaN where the sum does not exist; the closure then raises `DivergenceError`.
    """

    python: Callable[[Any], Any] = field(repr=False)
    cuda: str


@dataclass(frozen=True)
class Variant:
    """A faster way to compute c ⊕ a ⊗ b that is right only under a precondition, checked on the data.

    Parameters
    ----------
    name : str
        How backends and plans call it.
    dtypes : tuple of str
        Where it applies.
    cuda : str
        The name of the step struct in `semiring/cuda/kernels/algebra.cuh` that implements it.
    nonnegative : bool
        The precondition: no entry below 0 (other than the semiring's own zero); see `dtypes.fast`.
    """

    name: str
    dtypes: tuple[str, ...]
    cuda: str
    nonnegative: bool = True


@dataclass(frozen=True, repr=False)
class Semiring:
    """One declaration of a semiring; it works at once on CPU, GPU, the command line and in the tests.

    Parameters
    ----------
    name : str
        GraphBLAS's name where there is one (`min_plus`, `lor_land`, …).
    add, mul : Op
        ⊕ and ⊗.
    zero, one : float or bool
        Neutral elements, as mathematics: ±inf stands for the largest or smallest value of an integer dtype.
    aliases : tuple of str
        Plain names (`tropical`, …).
    dtypes : tuple of str
        The NumPy dtypes on which it is defined.
    star : Star, optional
        The scalar closure where it is not 1 ⊕ a.
    domain : tuple (low, high)
        The set S as an interval; entries outside raise `DomainError`. NaN is outside every domain.
    open_low, open_high : bool
        Whether that end is excluded: min-plus has (−inf, +inf], because −∞ ⊗ ∞ would have no value.
    idempotent : bool
        Whether a ⊕ a = a. The closure of an idempotent semiring exists when no diagonal entry beats `one`.
    samples : tuple
        Values on which `check_axioms` tries every law; exact in every dtype that it allows.
    variants : tuple of Variant
        Faster steps tied to a precondition.
    tolerance : float
        Relative tolerance with which laws hold in floating point (0 where operations are exact on `samples`).

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
    samples: tuple[Any, ...] = ()
    variants: tuple[Variant, ...] = ()
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise AlgebraError(f"Semiring: name must be an identifier, got {self.name!r}.")
        if not self.samples:
            raise AlgebraError(f"Semiring {self.name}: samples must hold a few values for check_axioms, got none.")

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<Semiring {self.name}: {self.add.name}, {self.mul.name}, zero {self.zero}, one {self.one}>"

    @property
    def absorbs_explicitly(self) -> bool:
        """Whether integer kernels must test for zero because the clamped ⊗ alone would not absorb it."""
        return self.mul.saturating

    @property
    def interval(self) -> str:
        """The domain in mathematical notation, for messages."""
        low, high = self.domain
        return f"{'(' if self.open_low else '['}{low:g}, {high:g}{')' if self.open_high else ']'}"

    def closure_of(self, a: Any) -> Any:
        """a* for one Python scalar: the declared star, else 1 ⊕ a.

        The default is 1 ⊕ a and not 1, so that a cycle that beats `one` leaves a trace on the diagonal.
        """
        return self.star.python(a) if self.star else self.add.python(self.one, a)


def check_axioms(semiring: Semiring, samples: tuple[Any, ...] | None = None) -> None:
    """Try every law of a closed semiring on all triples of samples; silent when they hold.

    Parameters
    ----------
    semiring : Semiring
    samples : tuple, optional
        Values to try instead of the semiring's own.

    Raises
    ------
    AlgebraError
        Naming the law and the values that break it.

    Examples
    --------
    >>> import semiring
    >>> semiring.check_axioms(semiring.get("min_plus"))
    """
    add, mul, zero, one = semiring.add.python, semiring.mul.python, semiring.zero, semiring.one
    values = tuple(dict.fromkeys((*(semiring.samples if samples is None else samples), zero, one)))

    def require(law: str, left: Any, right: Any, **at: Any) -> None:
        if not _same(left, right, semiring.tolerance):
            where = ", ".join(f"{k} = {v!r}" for k, v in at.items())
            raise AlgebraError(
                f"check_axioms: {semiring.name} must satisfy {law}, got {left!r} and {right!r} at {where}. "
                "Correct the operation, or take samples from the set on which it is a semiring."
            )

    for a in values:
        require("0 ⊕ a = a", add(zero, a), a, a=a)
        require("1 ⊗ a = a", mul(one, a), a, a=a)
        require("a ⊗ 1 = a", mul(a, one), a, a=a)
        require("0 ⊗ a = 0", mul(zero, a), zero, a=a)
        require("a ⊗ 0 = 0", mul(a, zero), zero, a=a)
        if semiring.idempotent:
            require("a ⊕ a = a", add(a, a), a, a=a)
        s = semiring.closure_of(a)
        # Where the sum 1 ⊕ a ⊕ a² ⊕ … exists, it is a fixed point. A trace of divergence is none.
        if _settled(semiring, a, s):
            require("a* = 1 ⊕ a ⊗ a*", s, add(one, mul(a, s)), a=a)
            require("a* = 1 ⊕ a* ⊗ a", s, add(one, mul(s, a)), a=a)
    for a, b in product(values, repeat=2):
        require("a ⊕ b = b ⊕ a", add(a, b), add(b, a), a=a, b=b)
    for a, b, c in product(values, repeat=3):
        at: Mapping[str, Any] = {"a": a, "b": b, "c": c}
        require("(a ⊕ b) ⊕ c = a ⊕ (b ⊕ c)", add(add(a, b), c), add(a, add(b, c)), **at)
        require("(a ⊗ b) ⊗ c = a ⊗ (b ⊗ c)", mul(mul(a, b), c), mul(a, mul(b, c)), **at)
        require("a ⊗ (b ⊕ c) = a ⊗ b ⊕ a ⊗ c", mul(a, add(b, c)), add(mul(a, b), mul(a, c)), **at)
        require("(a ⊕ b) ⊗ c = a ⊗ c ⊕ b ⊗ c", mul(add(a, b), c), add(mul(a, c), mul(b, c)), **at)


def _same(left: Any, right: Any, tolerance: float) -> bool:
    if left == right:
        return True
    return bool(tolerance) and math.isclose(left, right, rel_tol=tolerance, abs_tol=tolerance)


def _settled(semiring: Semiring, a: Any, star: Any) -> bool:
    """Whether `star` is a sum that exists, and not the trace that a diverging one leaves."""
    if semiring.idempotent:
        return bool(semiring.add.python(semiring.one, a) == semiring.one)
    return math.isfinite(star)
