"""Predecessors of a closure and paths from them: compiled host code behind array functions."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ..algebra.records import Semiring
from ..algebra.selection import refuse, require_selection
from ..host.errors import AlgebraError, DomainError
from ..host.signals import load
from ..host.types import Array, Edges
from ..kernels.cpu.processors import default_threads

#: No predecessor, as in SciPy.
NONE = -9999


def of_rows(
    semiring: Semiring,
    edges: Edges,
    D: np.ndarray,
    sources: np.ndarray,
    *,
    threads: int | None = None,
    mirrored: bool = False,
) -> np.ndarray:
    """Predecessors of rows D (m, n) of a closure from the graph's edges, int32 (m, n).

    edges: CSR (starts, heads ascending, weights in D's dtype). mirrored: edges are reversed and rows are columns, so ⊗
    swaps its operands. Raises AlgebraError if ⊕ does not select, DomainError if D is not the closure.
    """
    require_selection(semiring, where="predecessors")
    P = np.empty(D.shape, np.int32)
    refuse(_kernels().of_rows(semiring, edges, D, sources, P, threads=_threads(threads), mirrored=mirrored), semiring)
    return P


def hops(P: Array, sources: np.ndarray | None = None, *, threads: int | None = None) -> Array:
    """Number of edges on each path: 0 from a vertex to itself, `NONE` where there is no path.

    P (m, n) int32, rows by `sources` (default: row r is source r); CuPy, for all sources, counts on the device.
    DomainError if predecessors do not lead back to their source.

    Examples
    --------
    >>> hops(np.array([[-9999, 0, 1], [-9999, -9999, 1], [-9999, -9999, -9999]], np.int32))
    array([[    0,     1,     2],
           [-9999,     0,     1],
           [-9999, -9999,     0]], dtype=int32)
    """
    if sources is None and not isinstance(P, np.ndarray):
        from ..kernels.cuda.routes.walks import hops as on_device

        H, wrong = on_device(P)
        _require_trees(wrong, "hops")
        return H
    return _walks().hops(_trees(P), _indices(range(len(P)) if sources is None else sources), _threads(threads))


def walks(
    P: np.ndarray, rows: Array, sources: Array, targets: Array, *, threads: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Paths x from sources[x] to targets[x] in the trees P[rows[x]], as CSR (vertices int32, starts int64).

    Missing paths have no vertices. DomainError if predecessors do not lead back to their source.

    Examples
    --------
    >>> walks(np.array([[-9999, 0, 1], [-9999, -9999, 1], [-9999, -9999, -9999]], np.int32), [0, 1], [0, 1], [2, 0])
    (array([0, 1, 2], dtype=int32), array([0, 3, 3]))
    """
    where = (_indices(x) for x in (rows, sources, targets))
    return _walks().walks(_trees(P), *where, _threads(threads))


def product(
    semiring: Semiring, edges: Edges, D: np.ndarray, sources: np.ndarray, *, threads: int | None = None
) -> np.ndarray:
    """Rows of I ⊕ D ⊗ A from rows D of `sources`, with A as CSR; any semiring."""
    return _kernels().product_of_rows(semiring, edges, D, sources, _threads(threads))


def lengths(
    semiring: Semiring, P: Array, sources: np.ndarray, dtype: np.dtype, *, A: Array = None, edges: Edges | None = None,
    threads: int | None = None,
) -> Array:  # fmt: skip
    """Weights of the paths in P: ⊗ of their edges, looked up in A or among `edges`.

    The semiring's zero where P has no path or a step is no edge. With CuPy arrays for all sources computed on the
    device, by pointer doubling, in another order of ⊗. DomainError if predecessors do not lead back to their source.
    """
    if isinstance(P, np.ndarray):
        L, wrong = _kernels().lengths(semiring, _trees(P), sources, A, edges, dtype, _threads(threads))
    else:
        from ..kernels.cuda.routes.walks import lengths as on_device

        L, wrong = on_device(semiring, P, A)
    _require_trees(wrong, "lengths")
    return L


def adjoint(
    semiring: Semiring, dtype: np.dtype, edges: Edges, *, where: str, names: Sequence[Any] | None = None,
    threads: int | None = None, device: str = "cpu",
) -> Array:  # fmt: skip
    """Accumulator over best paths, ties shared: `Adjoint` of `semiring.{cpu,cuda}.routes.adjoint`.

    dtype: of the closure rows to come and of weights; edges: CSR (starts, heads, weights) without loops and parallels;
    where, names: operation and vertex names for errors. AlgebraError if ⊕ does not select, or ⊗ does: then detours are
    free, and best walks go in circles.
    """
    require_countable(semiring, where=where)
    names = range(len(edges[0]) - 1) if names is None else names
    options = semiring, dtype, edges, _threads(threads), names, where
    return load(f"semiring.kernels.{device}.routes.adjoint").Adjoint(*options)


def require_countable(semiring: Semiring, *, where: str) -> None:
    """AlgebraError if best walks over a semiring cannot be counted, see `adjoint`."""
    require_selection(semiring, where=where)
    if semiring.mul.selects is not None:
        raise AlgebraError(
            f"{where}: ⊗ must make walks worse with every edge, as + and × do, got {semiring.mul.name} of "
            f"{semiring.name}, over which best walks go in circles and cannot be counted. `path` finds one of them."
        )


def _require_trees(wrong: int, where: str) -> None:
    if wrong >= 0:
        raise DomainError(f"{where}: predecessors must lead back to their source, got others in row {wrong}.")


def _kernels() -> ModuleType:
    return load("semiring.kernels.cpu.routes.predecessors")


def _walks() -> Any:
    return load("semiring.kernels.cpu.routes.walks")


def _threads(threads: int | None) -> int:
    return threads or default_threads()


def _trees(P: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(P, np.int32)


def _indices(values: Array) -> np.ndarray:
    return np.ascontiguousarray(values, np.int64)
