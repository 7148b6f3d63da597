"""Users' own semirings, for the algebra target: misleading names, no vector instructions, a ⊗ that does not commute."""

from __future__ import annotations

import dataclasses
import math

import cases
import numpy as np

from semiring import Op, Semiring, Star

INF = math.inf


def _relation(a: int, b: int) -> int:
    """The product of two Boolean 2 × 2 matrices, each four bits: the first row is bits 0 and 1."""
    return (
        ((a & 1) & (b & 1) | (a >> 1 & 1) & (b >> 2 & 1))
        | ((a & 1) & (b >> 1 & 1) | (a >> 1 & 1) & (b >> 3 & 1)) << 1
        | ((a >> 2 & 1) & (b & 1) | (a >> 3 & 1) & (b >> 2 & 1)) << 2
        | ((a >> 2 & 1) & (b >> 1 & 1) | (a >> 3 & 1) & (b >> 3 & 1)) << 3
    )


#: Relations between two states: ⊗ does not commute, so that operands which change places show.
RELATIONS = Semiring(
    "min_plus",  # a name that is somebody else's
    add=Op("min", python=lambda a, b: a | b, cuda="a | b"),
    mul=Op(
        "times",
        python=_relation,
        cuda="(((a & 1) & (b & 1) | (a >> 1 & 1) & (b >> 2 & 1))"
        " | ((a & 1) & (b >> 1 & 1) | (a >> 1 & 1) & (b >> 3 & 1)) << 1"
        " | ((a >> 2 & 1) & (b & 1) | (a >> 3 & 1) & (b >> 2 & 1)) << 2"
        " | ((a >> 2 & 1) & (b >> 1 & 1) | (a >> 3 & 1) & (b >> 3 & 1)) << 3)",
    ),
    zero=0,
    one=9,
    dtypes=("int32", "int64"),
    domain=(0, 15),
    samples=(0, 1, 2, 4, 6, 9, 13, 15),
)

#: Łukasiewicz's: ⊕ = max, ⊗ = max(0, a + b − 1), on [0, 1]; exact on multiples of 1/64. Its ⊗ is no product.
LUKASIEWICZ = Semiring(
    "max_times",
    add=Op("max", python=lambda a, b: a if a > b else b, cuda="max(a, b)", simd="max"),
    mul=Op("times", python=lambda a, b: max(0.0, a + b - 1.0), cuda="max(T(0), a + b - T(1))"),
    zero=0,
    one=1,
    domain=(0, 1),
    samples=(0.0, 0.25, 0.5, 0.75, 1.0),
)

#: min-plus under a name of its own and names that lie, compiled from Python alone.
PLAIN = Semiring(
    "slowest",
    add=Op("plus", python=lambda a, b: a if a < b else b, cuda="min(a, b)"),
    mul=Op("max", python=lambda a, b: a + b, cuda="a + b"),
    zero=INF,
    one=0,
    domain=(-INF, INF),
    open_low=True,
    samples=(-3.0, 0.0, 1.0, 2.0, 7.0, INF),
)

#: The same, saying what its operations are: walks have lengths then.
LENGTHS = dataclasses.replace(
    PLAIN,
    name="longest",
    add=dataclasses.replace(PLAIN.add, selects="least"),
    mul=dataclasses.replace(PLAIN.mul, ufunc=np.add),
)

#: (+, ×) under another name: it diverges as the catalog's does.
SUMS = Semiring(
    "walks",
    add=Op("count", python=lambda a, b: a + b, cuda="a + b"),
    mul=Op("along", python=lambda a, b: a * b, cuda="a * b"),
    zero=0,
    one=1,
    domain=(-INF, INF),
    open_low=True,
    open_high=True,
    idempotent=False,
    star=Star(python=lambda a: 1 / (1 - a) if a < 1 else INF, cuda="a < T(1) ? T(1) / (T(1) - a) : T(INFINITY)"),
    samples=(-0.5, 0.0, 0.25, 0.5, 2.0),
    tolerance=1e-12,
)

#: The same, saying that its entries may cancel.
SIGNED_SUMS = dataclasses.replace(
    SUMS,
    name="signed",
    add=dataclasses.replace(SUMS.add, ufunc=np.add),
    mul=dataclasses.replace(SUMS.mul, ufunc=np.multiply),
    series="real",
)

USERS = (cases.COLOURS, LUKASIEWICZ, RELATIONS, PLAIN, LENGTHS, SUMS, SIGNED_SUMS)
