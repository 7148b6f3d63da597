"""Semiring linear algebra on NumPy and CuPy arrays.

>>> import semiring
>>> semiring.matmul([[0, 5], [2, 0]], [[0, 1], [1, 0]], "min_plus")
array([[0, 1],
       [1, 0]])
>>> semiring.min_plus
<Semiring min_plus: min, plus, zero inf, one 0>

Everything is loaded on first use, so that `import semiring` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .host.former import install as _former
from .host.lazy import lazy as _lazy

if TYPE_CHECKING:
    from .algebra.axioms import check_axioms
    from .algebra.catalog import (
        CATALOG,
        get,
        load,
        log_plus,
        lor_land,
        max_min,
        max_plus,
        max_times,
        min_max,
        min_plus,
        min_times,
        plus_times,
        reliability,
    )
    from .algebra.records import Op, Semiring, Star, Variant
    from .dense.bits import BitMatrix
    from .dense.elimination import lu
    from .dense.linalg import eye, matmul, matvec, power
    from .dense.random import random_matrix
    from .host.errors import (
        AlgebraError,
        AmbiguityWarning,
        DeviceError,
        DivergenceError,
        DomainError,
        DTypeError,
        FormatError,
        MemoryNeeded,
        NegativeCycleError,
        NoPathError,
        SemiringError,
        ShapeError,
        VertexError,
    )
    from .sparse.csr.parts import add, reduce, transpose
    from .sparse.elimination import Elimination, eliminate
    from .tensors.sums import einsum, einsum_path, outer, prod, sum

__getattr__ = _lazy(
    __name__,
    {
        ".algebra.axioms": "check_axioms",
        ".algebra.records": "Op Semiring Star Variant",
        ".dense.bits": "BitMatrix",
        ".algebra.catalog": "CATALOG get load min_plus lor_land max_plus max_min "
        "min_max max_times reliability min_times plus_times log_plus",
        ".sparse.csr.parts": "add reduce transpose",
        ".host.errors": "AlgebraError AmbiguityWarning DTypeError DeviceError DivergenceError DomainError FormatError "
        "MemoryNeeded NegativeCycleError NoPathError SemiringError ShapeError VertexError",
        ".dense.linalg": "eye matmul matvec power",
        ".dense.elimination": "lu",
        ".dense.random": "random_matrix",
        ".sparse.elimination": "Elimination eliminate",
        ".tensors.sums": "einsum einsum_path outer prod sum",
    },
    *("errors", "sparse", "torch"),
)

__version__ = "0.2.0"
__all__ = [
    "CATALOG", "AlgebraError", "AmbiguityWarning", "BitMatrix", "DTypeError", "DeviceError", "DivergenceError",
    "DomainError", "Elimination", "FormatError", "MemoryNeeded", "NegativeCycleError", "NoPathError", "Op", "Semiring",
    "SemiringError", "ShapeError", "Star", "Variant", "VertexError", "add", "check_axioms", "einsum", "einsum_path",
    "eliminate", "eye", "get", "load", "log_plus", "lor_land", "lu", "matmul", "matvec", "max_min", "max_plus",
    "max_times", "min_max", "min_plus", "min_times", "outer", "plus_times", "power", "prod", "random_matrix", "reduce",
    "reliability", "sum", "transpose",
]  # fmt: skip


#: Rooms, and the modules in them that stood in the package itself until 0.2.
_ROOMS = {
    "algebra": "catalog declarations dtypes conversion units saturation selection shifting survey pickling ranges",
    "dense": "product witness routes potentials cycles levels elimination linalg shortcuts margins acyclic random bits",
    "tensors": "sums contraction chains elementwise gradients",
    "kernels": "contract verbs backend observed cpu cuda",
    "stores": "tiles files archives trust",
    "host": "arrays devices memory compiling signals escaping spelling errors types",
    "sparse": "csr",
}
#: Modules that others took in.
_JOINED = {
    "cgroups": "host.memory", "host.cgroups": "host.memory", "sparse.lazy": "sparse.paths",
    "distributed.matrix": "distributed.comm", "kernels.cuda.sparse.lists": "kernels.cuda.sparse.flows",
}  # fmt: skip
_former("semiring", _ROOMS, _JOINED)


def __dir__() -> list[str]:
    return [*__all__, "errors"]
