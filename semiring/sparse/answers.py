"""Queries that sparse closures share, documented once: single pairs; columns; rows within a limit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from ..algebra.records import Semiring
from ..host.errors import AlgebraError, VertexError
from ..host.spelling import came
from ..host.types import Array, Scalar
from ..kernels.observed import Callback


class Pairs(ABC):
    """Single entries of A*: of an `Elimination`, and of its `HubLabels`."""

    @abstractmethod
    def entry(self, i: int, j: int) -> Scalar:
        """A*[i, j], a scalar of the dtype; no row is computed.

        Notes
        -----
        Of an elimination two climbs that meet, at most 2 `Cost.climb` pairs, independent of n; of hub labels one pair a
        common column of both paths.

        Examples
        --------
        >>> import semiring
        >>> E = semiring.Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
        >>> int(E.entry(0, 2)), int(E.hub_labels().entry(0, 2))
        (12, 12)
        """

    @abstractmethod
    def entries(self, i: Array, j: Array) -> np.ndarray:
        """A*[i[q], j[q]] for all q, an array: i and j broadcast.

        Returns
        -------
        array, of the broadcast shape of i and j
            Of an elimination on a GPU CuPy's; of hub labels there CuPy's if i or j is, else NumPy's.

        Notes
        -----
        Cost of `entry` each, at most. Where indices recur, an elimination climbs once from each distinct i (or j), and
        sweeps each supernode on the root paths that these meet once.

        Examples
        --------
        >>> import semiring
        >>> E = semiring.Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
        >>> E.entries([0, 1], 2), E.hub_labels().entries([0, 1], 2)
        (array([12,  7]), array([12,  7]))
        """


class Columns(ABC):
    """Columns of A*: of an `Elimination`, and of `Searches`."""

    @abstractmethod
    def column(self, j: int) -> np.ndarray:
        """A*[:, j], shape (n,): entries from every vertex to j, on the device of the elimination or searches.

        Notes
        -----
        Cost of `row`; `Searches` search on the reversed arcs.

        Examples
        --------
        >>> import semiring
        >>> E = semiring.Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
        >>> E.column(2), semiring.sparse.Searches(([0, 1], [1, 2]), n=3, weights=[5, 7]).column(2)
        (array([12,  7,  0]), array([12,  7,  0]))
        """


class Rows(ABC):
    """Rows of A* by searches from batches of sources: `Hops` and `Searches`, whose entries are counts and lengths."""

    n: int

    def row(self, i: int, *, limit: float | None = None) -> np.ndarray:
        """Entries from i to every vertex, shape (n,).

        Parameters
        ----------
        i : int
        limit : float, optional
            Worse entries, or more hops, count as unreachable; the search ends there.

        Examples
        --------
        >>> import semiring
        >>> path = [0, 1, 2], [1, 2, 3]
        >>> semiring.sparse.Hops(path, 4).row(1, limit=1).tolist()
        [32767, 0, 1, 32767]
        >>> semiring.sparse.Searches(path, n=4, weights=[1.0, 1.0, 1.0]).row(1, limit=1)
        array([inf,  0.,  1., inf])
        """
        return next(D for _, D in self.rows([vertex(i, self.n, "row")], limit=limit))[0]

    @abstractmethod
    def rows(
        self, sources: Array = None, *, limit: float | None = None, block: int | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks of complete rows: (indices (k,), entries (k, n)) with k at most `block`.

        Parameters
        ----------
        sources : array_like, optional
            Rows in the order wanted; by default all.
        limit : float, optional
            As in `row`.
        block : int, optional
            By default the batch: 32 of `Searches`, on a GPU thousands; 512 or 64 of `Hops`, on a GPU up to 2048.

        Yields
        ------
        indices, entries : arrays (k,), (k, n)
            Rows are contiguous. Memory is reused once nothing refers to a block.

        Notes
        -----
        An arc is relaxed, or visited, for all sources of a batch at once. `Searches` from 128 sources on are delayed to
        reach one well-connected vertex together, which takes one more search and halves the time of many.

        Examples
        --------
        >>> import semiring
        >>> S = semiring.sparse.Searches(([0, 1, 2], [1, 2, 3]), n=4, weights=[5, 6, 7])
        >>> for sources, lengths in S.rows([0, 3]):
        ...     print(sources, lengths[0])
        [0 3] [ 0  5 11 18]
        """

    @abstractmethod
    def to_dense(
        self, out: np.ndarray | None = None, *, limit: float | None = None, callback: Callback | None = None
    ) -> np.ndarray:
        """All entries, shape (n, n), into `out` if given.

        Parameters
        ----------
        out : array, shape (n, n), optional
            In `dtype`.
        limit : float, optional
            As in `row`.
        callback : callable, optional
            `callback(done, total)`, in rows.

        Examples
        --------
        >>> import semiring
        >>> S = semiring.sparse.Searches(([0, 1, 2], [1, 2, 3]), n=4, weights=[5, 6, 7])
        >>> S.to_dense()[0].tolist()
        [0, 5, 11, 18]
        """

    @abstractmethod
    def batch(self, sources: int) -> int:
        """Number of sources searched at a time, on each thread or on the GPU, given `sources` in all.

        Examples
        --------
        >>> import semiring
        >>> semiring.sparse.Searches(([0], [1]), n=2, weights=[1.0]).batch(100)
        32
        """


def vertex(i: Array, n: int, where: str) -> int:
    """A single vertex; VertexError unless an integer in 0 … n − 1."""
    try:
        found = i.__index__()
    except (AttributeError, TypeError):  # an array has one for which it is no integer
        raise VertexError(f"{where}: a vertex must be an integer below {n}, got {came(i)}.") from None
    if not 0 <= found < n:
        raise VertexError(f"{where}: a vertex must lie in 0 … {n - 1}, got {found}.")
    return int(found)


def require_hubs(semiring: Semiring, *, where: str) -> None:
    """Raise AlgebraError for a semiring whose ⊕ is not idempotent."""
    if not semiring.idempotent:
        raise AlgebraError(
            f"{where}: hub labels need a ⊕ that adds a to itself as a, as min and max do, got {semiring.add.name} of "
            f"{semiring.name}: a walk would count once for each hub on it. Pairs and rows are computed without them."
        )
