"""Predecessors of a closure, and the paths that they tell: compiled code of the host behind functions of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .algebra import Semiring
from .cpu.processors import default_threads
from .errors import AlgebraError, DomainError
from .selection import refuse, require_selection
from .signals import load
from .types import Array

#: What stands for no predecessor, as in SciPy.
NONE = -9999


def of_rows(
    semiring: Semiring,
    edges: tuple[np.ndarray, np.ndarray, np.ndarray],
    D: np.ndarray,
    sources: np.ndarray,
    *,
    threads: int | None = None,
    mirrored: bool = False,
) -> np.ndarray:
    """The predecessors of rows of a closure, from the graph's edges alone.

    Parameters
    ----------
    semiring : Semiring
    edges : (starts, heads, weights)
        Those that leave k are at starts[k] … starts[k + 1], with ascending heads; weights in the dtype of D.
    D : array, shape (m, n)
    sources : int array, shape (m,)
        Whose rows they are.
    threads : int, optional
    mirrored : bool
        Whether edges are reversed and rows are columns, so that ⊗ takes its operands in the other order.

    Returns
    -------
    int32 array, shape (m, n)

    Raises
    ------
    AlgebraError
        If ⊕ does not select.
    DomainError
        If D is not the closure of A.
    """
    require_selection(semiring, where="predecessors")
    P = np.empty(D.shape, np.int32)
    refuse(_kernels().of_rows(semiring, edges, D, sources, P, threads=_threads(threads), mirrored=mirrored), semiring)
    return P


def hops(P: Array, sources: np.ndarray | None = None, *, threads: int | None = None) -> Any:
    """The edges on each path: 0 from a vertex to itself, `NONE` where there is no path.

    Parameters
    ----------
    P : int32 array, shape (m, n)
        NumPy, or of all sources CuPy: then they are counted on the device, and stay on it.
    sources : int array, shape (m,), optional
        Whose rows they are; by default row r is r's.

    Raises
    ------
    DomainError
        If predecessors do not lead back to their source.

    Examples
    --------
    >>> hops(np.array([[-9999, 0, 1], [-9999, -9999, 1], [-9999, -9999, -9999]], np.int32))
    array([[    0,     1,     2],
           [-9999,     0,     1],
           [-9999, -9999,     0]], dtype=int32)
    """
    if sources is None and not isinstance(P, np.ndarray):
        from .cuda.routes.walks import hops as on_device

        H, wrong = on_device(P)
        _require_trees(wrong, "hops")
        return H
    return _walks().hops(_trees(P), _indices(range(len(P)) if sources is None else sources), _threads(threads))


def walks(
    P: np.ndarray, rows: Any, sources: Any, targets: Any, *, threads: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Path x, from sources[x] to targets[x] in the tree P[rows[x]], is vertices[starts[x] : starts[x + 1]].

    Returns
    -------
    vertices : int32 array
    starts : int64 array
        A path that does not exist has no vertices.

    Raises
    ------
    DomainError
        If predecessors do not lead back to their source.

    Examples
    --------
    >>> walks(np.array([[-9999, 0, 1], [-9999, -9999, 1], [-9999, -9999, -9999]], np.int32), [0, 1], [0, 1], [2, 0])
    (array([0, 1, 2], dtype=int32), array([0, 3, 3]))
    """
    where = (_indices(x) for x in (rows, sources, targets))
    return _walks().walks(_trees(P), *where, _threads(threads))


def product(
    semiring: Semiring,
    edges: tuple[np.ndarray, np.ndarray, np.ndarray],
    D: np.ndarray,
    sources: np.ndarray,
    *,
    threads: int | None = None,
) -> np.ndarray:
    """Rows of I ⊕ D ⊗ A from rows of D, those of `sources`, and the edges of A by tail: any semiring."""
    return _kernels().product_of_rows(semiring, edges, D, sources, _threads(threads))


def lengths(
    semiring: Semiring,
    P: Array,
    sources: np.ndarray,
    dtype: np.dtype,
    *,
    A: Array = None,
    edges: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
    threads: int | None = None,
) -> Any:
    """What the paths weigh that predecessors tell of: each edge looked up in A, or among the edges, and ⊗-multiplied.

    The semiring's zero where P has no path, or a step is no edge. Where P and A are of all sources and CuPy's, on
    the device: sums are joined in another order, as paths are halved and halved again.

    Raises
    ------
    DomainError
        If predecessors do not lead back to their source.
    """
    if isinstance(P, np.ndarray):
        L, wrong = _kernels().lengths(semiring, _trees(P), sources, A, edges, dtype, _threads(threads))
    else:
        from .cuda.routes.walks import lengths as on_device

        L, wrong = on_device(semiring, P, A)
    _require_trees(wrong, "lengths")
    return L


def adjoint(
    semiring: Semiring,
    dtype: np.dtype,
    edges: tuple[np.ndarray, np.ndarray, np.ndarray],
    *,
    where: str,
    names: Sequence[Any] | None = None,
    threads: int | None = None,
    device: str = "cpu",
) -> Any:
    """What adds up over best paths, shared where several are as good: `Adjoint` of `semiring.cpu.routes.adjoint`.

    Parameters
    ----------
    semiring : Semiring
    dtype : dtype
        Of the rows of the closure that it will be given, and of the weights.
    edges : (starts, heads, weights)
        Those that leave k are at starts[k] … starts[k + 1]; no loops, and no two from one vertex to another.
    where : str
        The operation, for errors.
    names : sequence, optional
        Of the vertices, for errors; their positions by default.
    threads : int, optional
    device : {"cpu", "cuda"}
        Where rows are taken, and sums are; then it is that of `semiring.cuda.routes.adjoint`.

    Raises
    ------
    AlgebraError
        If ⊕ does not select, or ⊗ does: then a detour costs nothing, and best walks go in circles.
    """
    require_countable(semiring, where=where)
    names = range(len(edges[0]) - 1) if names is None else names
    options = semiring, dtype, edges, _threads(threads), names, where
    return load(f"semiring.{device}.routes.adjoint").Adjoint(*options)


def require_countable(semiring: Semiring, *, where: str) -> None:
    """Refuse a semiring over which best walks cannot be counted, as `adjoint` says.

    Raises
    ------
    AlgebraError
    """
    require_selection(semiring, where=where)
    if semiring.mul.selects is not None:
        raise AlgebraError(
            f"{where}: ⊗ must make walks worse with every edge, as + and × do, got {semiring.mul.name} of "
            f"{semiring.name}, over which best walks go in circles and cannot be counted. `path` finds one of them."
        )


def _require_trees(wrong: int, where: str) -> None:
    if wrong >= 0:
        raise DomainError(f"{where}: predecessors must lead back to their source, got others in row {wrong}.")


def _kernels() -> Any:
    return load("semiring.cpu.routes.predecessors")


def _walks() -> Any:
    return load("semiring.cpu.routes.walks")


def _threads(threads: int | None) -> int:
    return threads or default_threads()


def _trees(P: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(P, np.int32)


def _indices(values: Any) -> np.ndarray:
    return np.ascontiguousarray(values, np.int64)
