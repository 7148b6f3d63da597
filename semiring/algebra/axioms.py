"""`check_axioms`: the laws of a closed semiring, tried on samples."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from ..host.errors import AlgebraError
from ..host.types import Scalar
from .catalog import get
from .declarations import same
from .records import Semiring, settled


def check_axioms(semiring: str | Semiring, samples: tuple[Scalar, ...] | None = None) -> None:
    """Check every law of a closed semiring on all triples of samples.

    Parameters
    ----------
    semiring : str or Semiring
    samples : tuple, optional
        Values instead of the semiring's own.

    Raises
    ------
    AlgebraError
        Naming the law and the values that break it.

    See Also
    --------
    Semiring : The declaration.
    random_matrix : Random matrices, for further tests.

    Notes
    -----
    O(s³) calls of ⊕ and ⊗ for s samples. The laws are those of Lehmann 1977, "Algebraic structures for transitive
    closure", section 2.

    Examples
    --------
    >>> import semiring
    >>> semiring.check_axioms("min_plus")
    """
    semiring = get(semiring)
    add, mul, zero, one = semiring.add.python, semiring.mul.python, semiring.zero, semiring.one
    values = tuple(dict.fromkeys((*(semiring.samples if samples is None else samples), zero, one)))

    def require(law: str, left: Scalar, right: Scalar, **operands: Any) -> None:
        if not same(left, right, semiring.tolerance):
            where = ", ".join(f"{k} = {v!r}" for k, v in operands.items())
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
        if settled(semiring, a, s):
            require("a* = 1 ⊕ a ⊗ a*", s, add(one, mul(a, s)), a=a)
            require("a* = 1 ⊕ a* ⊗ a", s, add(one, mul(s, a)), a=a)
    for a, b in product(values, repeat=2):
        require("a ⊕ b = b ⊕ a", add(a, b), add(b, a), a=a, b=b)
    for a, b, c in product(values, repeat=3):
        operands: Mapping[str, Any] = {"a": a, "b": b, "c": c}
        require("(a ⊕ b) ⊕ c = a ⊕ (b ⊕ c)", add(add(a, b), c), add(a, add(b, c)), **operands)
        require("(a ⊗ b) ⊗ c = a ⊗ (b ⊗ c)", mul(mul(a, b), c), mul(a, mul(b, c)), **operands)
        require("a ⊗ (b ⊕ c) = a ⊗ b ⊕ a ⊗ c", mul(a, add(b, c)), add(mul(a, b), mul(a, c)), **operands)
        require("(a ⊕ b) ⊗ c = a ⊗ c ⊕ b ⊗ c", mul(add(a, b), c), add(mul(a, c), mul(b, c)), **operands)
