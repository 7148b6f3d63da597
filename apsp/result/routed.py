"""What a `Result` answers about routes: predecessors, next hops, hops, many paths at once; and whether it is right."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from semiring import routes as found
from semiring.devices import host, on_device, read_only
from semiring.errors import ShapeError
from semiring.memory import require
from semiring.selection import require_selection
from semiring.types import Array

from .. import estimates
from ..engines.part import Limit
from ..labels import Labels
from ..routes import Trees
from ..saving import save_matrix
from .distances import Distances, require_block
from .verification import Verification, verify
from .walked import Paths, paths_of


class Routed(Distances):
    """Routes of a result. Tables are computed on first use and kept; rows and paths are not kept."""

    @property
    def _all_pairs(self) -> bool:
        return self.engine.all_pairs is self.engine

    @cached_property
    def _trees(self) -> Trees:
        self.engine.refuse_unbounded("predecessors", self.graph.labels)
        return Trees(self.graph, self.semiring, self.engine.all_pairs)

    @cached_property
    def predecessors(self) -> Array:
        """int32, of the shape and on the device of `distances`: the vertex before j on a best path from i, by position.

        −9999 on the diagonal, and where there is no path: SciPy's convention. See `apsp.predecessors` for the choice
        among equals, and for errors. Read-only, as `distances`.
        """
        return self._handed_out(self._trees.predecessors)

    @cached_property
    def next_hops(self) -> Array:
        """int32, the same: the position of the vertex after i on a best path to j. See `apsp.next_hops`."""
        return self._handed_out(self._trees.next_hops)

    @cached_property
    def hops(self) -> Array:
        """int32, the same: the edges on the path that `predecessors` gives; −9999 where there is none."""
        n, complete = self.graph.n, self._trees.complete
        more = 0 if complete else estimates.predecessors(n, self.dtype.itemsize, table=False)
        require(4 * n * n + more, where="hops", hint="Ask for paths(pairs).hops, of single pairs.")
        P = self._trees.predecessors
        with on_device(P):
            H = found.hops(P)
        return self._handed_out(H)

    def predecessor_rows(
        self, sources: Any = None, block: int | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Predecessors from some sources, or from all, some rows at a time and none kept.

        Parameters
        ----------
        sources : list or array of labels, optional
        block : int, optional
            How many rows at most come together.

        Yields
        ------
        positions : int64 array, shape (k,)
            Of the sources, in the graph.
        P : int32 array, shape (k, n)
            To all vertices, on the host; beyond the limit of this result there is no path.

        Raises
        ------
        VertexError
            If a source is not in the graph.

        See Also
        --------
        paths : The paths themselves.
        rows : The distances.
        apsp.predecessors : Of a matrix and its closure.

        Notes
        -----
        `block` rows of n entries of 4 bytes are held at a time, and as many of distances.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> for positions, P in shortest_paths([("A", "B", 4), ("B", "C", 7)]).predecessor_rows(["A"]):
        ...     print(positions, P)
        [0] [[-9999     0     1]]
        """
        sources = self.sources if sources is None else sources
        wanted = self.graph.labels.checked_positions(sources, where="predecessor_rows")
        require_block(block, where="predecessor_rows")
        if self.engine.limit is None:
            return self._trees.rows(wanted, block)
        return self._within(Limit(self.engine.limit, self.semiring, self.dtype), wanted, block)

    def _within(self, limit: Limit, wanted: np.ndarray, block: int | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Predecessors of some rows, none beyond the limit."""
        for positions, D in self.engine.all_pairs.rows(wanted, block):
            P = self._trees.of(positions, D)
            P[limit(host(D)) == self.infinity] = found.NONE
            yield positions, P

    def save_predecessors(self, path: str | os.PathLike[str]) -> None:
        """Write `predecessors`: `.npy`, `.npz` (with labels) or `.csv` (labels in the first row and column).

        Parameters
        ----------
        path : path

        Raises
        ------
        ValueError, FormatError, OSError
            As `save` does.
        ShapeError
            If this is a result of some sources and targets.

        See Also
        --------
        save : The distances.
        predecessor_rows : Some rows at a time.

        Notes
        -----
        4 n² bytes.

        Examples
        --------
        >>> import numpy as np
        >>> import tempfile
        >>> from apsp import shortest_paths
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     shortest_paths([("A", "B", 4)]).save_predecessors(f"{folder}/before.npy")
        ...     np.load(f"{folder}/before.npy")
        array([[-9999,     0],
               [-9999, -9999]], dtype=int32)
        """
        if not self._all_pairs:
            raise ShapeError(
                "save_predecessors: all vertices are needed, got a result of some sources and targets. Save the array "
                "`predecessors`, with names of your own."
            )
        save_matrix(self.predecessors, self.graph.labels, path)

    def paths(self, pairs: Any = None) -> Paths:
        """Best paths between many pairs, in flat arrays; read them as lists of labels, or as numbers.

        They are those of `predecessors`; where floats round, others that are as good may be. (`path` gives another, of
        fewest edges, where several are equally good.)

        Parameters
        ----------
        pairs : sequence of (label, label), or array of shape (m, 2), optional
            All sources with all targets by default, row by row.

        Returns
        -------
        Paths
            A sequence; empty lists stand for no path.

        Raises
        ------
        VertexError
            If a label is not in the graph.
        AlgebraError
            If the semiring's ⊕ does not select one of two walks.

        See Also
        --------
        path : Between two vertices.
        predecessor_rows : Trees, of which these are branches.

        Notes
        -----
        A row of distances and of predecessors for each source. By elimination on the CPU, where no edge beats `one` and
        a source has few targets: the distances of the vertices on each path, and of those before them.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7), ("A", "C", 12)])
        >>> list(r.paths([("A", "C"), ("B", "C"), ("C", "A")]))
        [['A', 'B', 'C'], ['B', 'C'], []]
        """
        require_selection(self.semiring, where="paths")
        i, j = self._pairs(pairs)
        start, end = (self._in_graph(names, index) for names, index in ((self.sources, i), (self.targets, j)))
        if self._all_pairs:
            vertices, starts = paths_of(self._trees, start, end)
            return Paths(vertices, starts, self.graph.labels)
        reached = (self.engine.entries(i, j) != self.infinity) | (start == end)
        vertices, ends = paths_of(self._trees, start[reached], end[reached])
        counts = np.zeros(len(i), np.int64)
        counts[reached] = np.diff(ends)
        return Paths(vertices, np.concatenate([[0], counts.cumsum()]), self.graph.labels)

    def verify(self, rows: int | str | None = None, *, paths: bool = False, seed: int = 0) -> Verification:
        """Whether the distances are right, by their definition: D = I ⊕ D ⊗ A, and every path attains them.

        Parameters
        ----------
        rows : int or "all", optional
            How many rows are looked at, drawn at random; by default 64, and all of small graphs.
        paths : bool
            Also walk the path of every pair along `predecessors`, edge by edge. Both together, with all rows, prove
            that D is the closure: no walk is better, and this one is as good.
        seed : int
            For the draw.

        Returns
        -------
        Verification
            True or false; printed, a sentence that says what was checked and what was found.

        Raises
        ------
        AlgebraError
            For `paths`, if the semiring's ⊕ does not select one of two walks.

        See Also
        --------
        paths, predecessor_rows : The paths that are walked.
        apsp.negative_cycle : Why there are no distances.

        Notes
        -----
        A row takes m pairs for m edges, n² of a matrix; `paths` walks at most n edges of each pair.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> print(shortest_paths([("A", "B", 4), ("B", "C", 7)]).verify(paths=True))
        D = I ⊕ D ⊗ A holds exactly, in all 3 rows; each of the 3 paths attains its distance, exactly.
        """
        if not self._all_pairs:
            raise ShapeError("verify: all vertices are needed, got a result of some sources and targets.")
        return verify(self._trees, rows, paths=paths, seed=seed)

    def _handed_out(self, square: Array) -> Array:
        """A table of all vertices, or the part of it that this result has; read-only."""
        return read_only(square if self._all_pairs else self._part(square))

    def _part(self, square: Array) -> np.ndarray:
        """The rows and columns of this result, of a table of all vertices; nothing where it has no path."""
        i, j = (self.graph.labels.positions(names) for names in (self.sources, self.targets))
        table: np.ndarray = host(square)[i[:, None], j]
        for rows, D in self.engine.rows(np.arange(len(i))):
            table[rows] = np.where((host(D) == self.infinity) & (i[rows, None] != j), found.NONE, table[rows])
        return table

    def _pairs(self, pairs: Any, where: str = "paths") -> tuple[np.ndarray, np.ndarray]:
        """Positions among the sources and the targets."""
        k, m = self.engine.shape
        if pairs is None:
            return np.repeat(np.arange(k), m), np.tile(np.arange(m), k)
        if isinstance(pairs, np.ndarray):
            if pairs.ndim != 2 or pairs.shape[1] != 2:
                raise ShapeError(f"{where}: pairs must be of shape (m, 2), got {pairs.shape}.")
            return self.sources.positions(pairs[:, 0]), self.targets.positions(pairs[:, 1])
        pairs = list(pairs)
        try:
            us, vs = [u for u, _ in pairs], [v for _, v in pairs]
        except (TypeError, ValueError):
            raise ShapeError(f"{where}: pairs must be (source, target) each, got something else.") from None
        return self.sources.positions(us), self.targets.positions(vs)

    def _in_graph(self, names: Labels, index: np.ndarray) -> np.ndarray:
        """Positions in the graph of positions among these names."""
        if names is self.graph.labels:
            return index
        return self.graph.labels.positions(names)[index]
