"""Type aliases for signatures; type checkers accept anything for those that are `Any`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar

if TYPE_CHECKING:
    import matplotlib.axes
    import numpy as np

    from ..algebra.records import Semiring
    from ..dense.bits import BitMatrix

#: NumPy or CuPy array, or a scalar of one. Public functions accept array-likes; verbs take their backend's matrix, for
#: packed bits a `BitMatrix`.
Array = Any
#: Blocks of rows or of columns: (positions (k,), entries (k, n)).
Blocks = Iterator[tuple[Array, Array]]
#: Edges: tails, heads, weights; or, as CSR in one direction, starts of rows, other ends and weights.
Edges: TypeAlias = "tuple[np.ndarray, np.ndarray, np.ndarray]"
#: Array, tensor or sparse matrix, of NumPy, CuPy, SciPy, PyTorch or JAX.
Matrix = Any
#: One entry: a NumPy scalar, or a Python number.
Scalar = Any
#: Anything NumPy accepts as a dtype; None where the data decide.
DType = Any
#: Vertex label: any hashable.
Label = Any
#: Label, or a list or array of labels, in NumPy or CuPy.
Vertices = Any
#: Anything that `apsp.as_graph` takes, before it is recognised.
Input = Any
#: Table of pandas, Polars or any library that narwhals reads.
Frame = Any
#: Axes, or a figure, of matplotlib.
Axes = Any
#: Axes that a public function returns.
Drawn: TypeAlias = "matplotlib.axes.Axes"
#: Values by name: keyword options, attributes, the content of a JSON object or of a pickle.
Fields: TypeAlias = dict[str, Any]
#: Values in order: arguments, keys, what `__reduce__` returns.
Values: TypeAlias = tuple[Any, ...]
#: Function of any signature.
Function: TypeAlias = Callable[..., Any]
#: Weights: attribute or column name, a rule, or None for unit weights.
Weight = Any
#: The names and aliases of the catalog.
# fmt: off
SemiringName = Literal[
    "min_plus", "tropical", "shortest_paths", "lor_land", "boolean", "reachability", "max_plus", "critical_path",
    "longest_paths", "max_min", "bottleneck", "widest_paths", "min_max", "minimax", "max_times", "viterbi",
    "reliability", "min_times", "plus_times", "arithmetic", "real", "log_plus", "log", "logsumexp",
]
# fmt: on
#: Which best paths carry a gradient.
Ties = Literal["one", "shared"]
#: A semiring, or its name in the catalog.
Algebra: TypeAlias = "Semiring | SemiringName"


class Exchanged(Protocol):
    """An array of any library: NumPy, PyTorch, JAX, CuPy."""

    def __dlpack__(self, *arguments: Any, **options: Any) -> Any: ...


class Sparse(Protocol):
    """A sparse matrix of SciPy or CuPy."""

    def tocoo(self) -> Any: ...


#: An array whose result is of its own library, and operands whose result is in kind.
Tensor = TypeVar("Tensor", bound=Exchanged)
InKind = TypeVar("InKind", bound="Exchanged | Sparse | BitMatrix")
#: What is, or becomes, a NumPy array.
ArrayLike: TypeAlias = "np.ndarray | Sequence[Any]"


class Computing(TypedDict, total=False):
    """Dtype, device and threads of a computation: options that do not decide the type of its result."""

    dtype: DType
    device: str | None
    threads: int | None


class Masked(Computing, total=False):
    """Options of `matvec` that do not decide the type of its result."""

    out: Array
    mask: Any
    complement: bool


class Product(Masked, total=False):
    """Options of `matmul` that do not decide the type of its result."""

    accumulate: bool
    ties: Ties


class Sums(Computing, total=False):
    """Options of `einsum` that do not decide the type of its result."""

    out: Array
    ties: Ties
    order: str | Sequence[tuple[int, ...]]
    checkpoint: bool


class Along(TypedDict, total=False):
    """Options of `sum` that do not decide the type of its result."""

    axis: int | Sequence[int] | None
    dtype: DType
    threads: int | None
    ties: Ties
