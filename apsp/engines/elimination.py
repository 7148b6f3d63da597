"""A sparse graph, eliminated: any row, column, entry or block is computed from its panels when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring import dtypes, sparse
from semiring.algebra import Semiring
from semiring.cycles import Lengths

from .base import Engine, host

if TYPE_CHECKING:
    from semiring.sparse import Analysis


class Eliminated(Engine):
    """The closure of a graph's arcs in factored form.

    Parameters
    ----------
    analysis : Analysis
        The structure of the arcs.
    weights : array, shape (arcs,)
        In the dtype to compute in.
    semiring : Semiring
    threads : int, optional
    order : str or array_like
        How the analysis was asked for: what is pickled is the arcs, and they are eliminated anew.
    check : bool
        Raise where the closure does not exist.
    potential : float64 array, shape (n,), optional
        By which arcs are made non-negative (Johnson 1977), and distances put back, on the CPU.
    device : {"cpu", "cuda"}
        Where the panels lie, and blocks of rows.

    Raises
    ------
    DivergenceError
        If the closure does not exist.
    MemoryNeeded
        If the panels do not fit.
    """

    name = "elimination"

    def __init__(
        self,
        analysis: Analysis,
        weights: np.ndarray,
        semiring: Semiring,
        threads: int | None = None,
        order: Any = "auto",
        *,
        check: bool = True,
        potential: np.ndarray | None = None,
        device: str = "cpu",
    ) -> None:
        self.analysis, self.weights, self.semiring, self.threads = analysis, weights, semiring, threads
        self.order, self.potential, self.device = order, potential, device
        lengths = weights if potential is None else self._reweighted(weights, potential)
        self.elimination = sparse.Elimination(
            analysis, lengths, semiring, dtype=weights.dtype, threads=threads, check=check, device=device
        )
        self.shape, self.dtype = (analysis.n, analysis.n), self.elimination.dtype

    def __getstate__(self) -> dict[str, Any]:
        kept = {
            name: getattr(self, name) for name in ("weights", "semiring", "threads", "order", "potential", "device")
        }
        return kept | {"tails": self.analysis.tails, "heads": self.analysis.heads, "n": self.analysis.n}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        analysis = sparse.Analysis(kept["tails"], kept["heads"], kept["n"], kept["order"])
        given = (kept[name] for name in ("weights", "semiring", "threads", "order"))
        Eliminated.__init__(self, analysis, *given, check=False, potential=kept["potential"], device=kept["device"])

    def _reweighted(self, weights: np.ndarray, h: np.ndarray) -> np.ndarray:
        """ℓ'(u, v) = max(ℓ(u, v) + h(u) − h(v), 0): the same best walks, and no cycle that rounding makes negative."""
        lengths, zero = Lengths.required(self.semiring), dtypes.zero(self.semiring, weights.dtype)
        old = lengths.of_entries(weights, zero)
        new = np.maximum(old + (h[self.analysis.tails] - h[self.analysis.heads]), 0.0)
        new[old == np.inf] = np.inf
        return lengths.to_entries(new).astype(weights.dtype)

    def _restored(self, D: np.ndarray, i: Any, j: Any) -> np.ndarray:
        """ℓ(i, j) = ℓ'(i, j) − h(i) + h(j), of positions that are broadcast to D."""
        h = self.potential
        if h is None:
            return D
        lengths, zero = Lengths.required(self.semiring), dtypes.zero(self.semiring, self.dtype)
        with np.errstate(over="ignore"):
            found = lengths.to_entries(lengths.of_entries(np.asarray(host(D)), zero) - (h[i] - h[j]))
        return found.astype(self.dtype)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.elimination.nbytes

    @property
    def workspace(self) -> int:  # type: ignore[override]
        """A panel for each thread."""
        return 0 if self.device != "cpu" else self.elimination.workspace

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Iterator[tuple[np.ndarray, Any]]:
        """A climb and a sweep a batch."""
        found = self.elimination.rows(wanted, block=block)
        if self.potential is None:
            return found
        return ((at, self._restored(D, at[:, None], slice(None))) for at, D in found)

    def column(self, j: int) -> np.ndarray:
        """One sweep of the transposed panels."""
        return self._restored(host(self.elimination.column(j)), slice(None), j)

    def row(self, i: int) -> np.ndarray:
        """One sweep."""
        return self._restored(host(self.elimination.row(i)), i, slice(None))

    def entry(self, i: int, j: int) -> Any:
        """Two climbs that meet."""
        if self.potential is None:
            return self.elimination.entry(i, j)
        return self._restored(np.array([self.elimination.entry(i, j)]), i, j)[0]

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Two climbs an entry, where rows would take longer."""
        distinct = len(np.unique(i)) if i.size > 1 else 1
        cost = self.elimination.cost
        if 2 * i.size * cost.climb <= distinct * (cost.sweep + cost.climb):
            return self._restored(host(self.elimination.entries(i, j)), i, j)
        return super().entries(i, j)

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Entry by entry where they are few, else by rows or columns."""
        cost = self.elimination.cost
        if 2 * cost.climb * len(i) * len(j) <= min(len(i), len(j)) * (cost.sweep + cost.climb):
            return self._restored(host(self.elimination.entries(i[:, None], j)), i[:, None], j)
        return super().block(i, j)

    def panels(self, *, columns: bool = False) -> Iterator[tuple[np.ndarray, Any]]:
        """As they are swept, in the order of elimination."""
        found = self.elimination.panels(columns=columns)
        return ((at, self._true(at, panel, columns)) for at, panel in found)

    def reduced(
        self, of: Callable[[Any], Any], *, columns: bool = False, share: tuple[int, int] = (0, 1)
    ) -> Iterator[tuple[np.ndarray, Any]]:
        """Each panel by the thread that sweeps it; or a share of them, every count-th from the k-th on."""
        return self.elimination.reduced(
            lambda at, panel: of(self._true(at, panel, columns)), columns=columns, share=share
        )

    def worst(
        self, of: Callable[[Any], Any], *, columns: bool = False, share: tuple[int, int] = (0, 1)
    ) -> Iterator[tuple[np.ndarray, Any]]:
        """On a GPU as rows are swept, most of which are not written."""
        there = self.elimination.on_device
        if there is None or self.potential is not None:
            return self.reduced(of, columns=columns, share=share)
        found: Iterator[tuple[np.ndarray, Any]] = there.worst(columns=columns, share=share)
        return found

    def _true(self, at: np.ndarray, panel: np.ndarray, columns: bool) -> np.ndarray:
        """A panel of distances, of one on reweighted arcs."""
        if self.potential is None:
            return panel
        every = np.arange(self.shape[0])[:, None]
        return self._restored(panel, *((every, at) if columns else (at, every)))

    def table(self) -> Any:
        """All entries, where the panels lie."""
        # On a GPU the elimination asks for room itself.
        return super().table() if self.device == "cpu" or self.potential is not None else self._all()

    def _all(self) -> np.ndarray:
        """All n² entries."""
        return self.elimination.to_dense() if self.potential is None else super()._all()
