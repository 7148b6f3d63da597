"""Route queries of a `Result`: predecessors, next hops, hops, paths of many pairs; verification."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from semiring.algebra.dtypes import SCALARS
from semiring.algebra.selection import require_selection
from semiring.dense import routes as found
from semiring.host.devices import host, on_device, read_only
from semiring.host.errors import ShapeError
from semiring.host.memory import require
from semiring.host.spelling import came
from semiring.host.types import Array, Label, Vertices

from ...io.labels import Labels
from ...io.saving import save_matrix
from ...road import estimates
from ...road.engines.part import Limit
from ..routes import Trees
from .along import Along
from .distances import Distances, require_block
from .turned import refuse_turns
from .verification import Verification, verify
from .walked import Paths, paths_of

_ALONE = "Say r.paths(pairs), which lists vertices."


class Routed(Distances):
    """Routes of a result. Tables are computed on first use and cached; rows and paths are not."""

    @property
    def _all_pairs(self) -> bool:
        return self.engine.all_pairs is self.engine

    @cached_property
    def _trees(self) -> Trees:
        self.engine.refuse_unbounded("predecessors", self.graph.labels)
        read = self if self.along is None else self.along  # of packed lengths
        graph = self._walked if self.along is None else self.along.graph
        within = math.floor(self.ties_within) if SCALARS[self.dtype].integer else self.ties_within
        return Trees(graph, self.semiring, read.engine.all_pairs, within)

    @cached_property
    def _weighed(self) -> Trees:
        """Trees by the weight alone."""
        return replace(self, along=None)._trees if self.along else self._trees

    @cached_property
    def predecessors(self) -> np.ndarray:
        """The vertex before j on a best path from i, by position: int32, shape and device of `distances`, read-only.

        −9999 on the diagonal and for no path, as SciPy. Ties and errors: see `apsp.predecessors`.
        """
        refuse_turns(self, "predecessors", _ALONE)
        return self._handed_out(self._trees.predecessors)

    @cached_property
    def next_hops(self) -> np.ndarray:
        """The vertex after i on a best path to j, in the format of `predecessors`; see `apsp.next_hops`."""
        refuse_turns(self, "next_hops", _ALONE)
        return self._handed_out(self._trees.next_hops)

    @cached_property
    def hops(self) -> np.ndarray:
        """The number of edges of `predecessors`' paths: int32, −9999 for none."""
        refuse_turns(self, "hops", "Say r.paths(pairs).hops.")
        n, complete = self.graph.n, self._trees.complete
        more = 0 if complete else estimates.predecessors(n, self.dtype.itemsize, table=False)
        require(4 * n * n + more, where="hops", hint="Ask for paths(pairs).hops, of single pairs.")
        P = self._trees.predecessors
        with on_device(P):
            H = found.hops(P)
        return self._handed_out(H)

    def edges(self, u: Label, v: Label) -> np.ndarray:
        """Positions in the list of edges, `graph.rows` and `graph.cols`, of those along `path(u, v)`, from u to v.

        Returns
        -------
        int64 array
            Of parallel edges the best, by weight, then by the quantities of `along`, then the first; empty if u = v.

        Raises
        ------
        VertexError, NoPathError, AlgebraError
            As `path`.
        ShapeError
            If the graph is a matrix, which has no list of edges.

        Notes
        -----
        `path`, and once a sort of all edges.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("A", "B", 3), ("B", "C", 7)]).edges("A", "C")
        array([1, 2])
        """
        if self.graph.dense is not None:
            raise ShapeError(
                "edges: the graph must be a list of edges, got a matrix. Its vertices are path(u, v), and positions in "
                "the matrix graph.labels.positions(path)."
            )
        path = self._walk(u, v)
        found = self._best_edges.along(path)
        return found if self.turned is None else self.turned.edges[found[: -1 if path[-1] >= self.graph.n else None]]

    @cached_property
    def _best_edges(self) -> Along:
        return self.along or Along("", {}, 0, self.semiring, (), self._walked, self.engine, {})

    def predecessor_rows(
        self, sources: Vertices = None, block: int | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Predecessors from some or all sources in blocks of rows, without a table.

        Parameters
        ----------
        sources : list or array of labels, optional
        block : int, optional
            Maximum number of rows per block.

        Yields
        ------
        positions : int64 array, shape (k,)
            Sources, as positions in the graph.
        P : int32 array, shape (k, n)
            To all vertices, on the host; −9999 beyond this result's limit.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> for positions, P in shortest_paths([("A", "B", 4), ("B", "C", 7)]).predecessor_rows(["A"]):
        ...     print(positions, P)
        [0] [[-9999     0     1]]
        """
        refuse_turns(self, "predecessor_rows", _ALONE)
        sources = self.sources if sources is None else sources
        wanted = self.graph.labels.checked_positions(sources, where="predecessor_rows")
        require_block(block, where="predecessor_rows")
        if self.engine.limit is None:
            return self._trees.rows(wanted, block)
        return self._within(Limit(self.engine.limit, self.semiring, self.dtype), wanted, block)

    def _within(self, limit: Limit, wanted: np.ndarray, block: int | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Predecessor rows cut at the limit."""
        words = self.along.words if self.along else ()
        for positions, D in self._trees.engine.rows(wanted, block):
            P = self._trees.of(positions, D)
            P[limit(host(words[0](D) if words else D)) == self.infinity] = found.NONE
            yield positions, P

    def save_predecessors(self, path: str | os.PathLike[str]) -> None:
        """Write `predecessors` to `path`: `.npy`, `.npz` (with labels) or `.csv` (labels in the first row and column).

        Raises
        ------
        ValueError, FormatError, OSError, ShapeError
            As `save`, and if this result is partial.

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
        refuse_turns(self, "save_predecessors", _ALONE)
        if not self._all_pairs:
            raise ShapeError(
                "save_predecessors: all vertices are needed, got a result of some sources and targets. Save the array "
                "`predecessors`, with names of your own."
            )
        save_matrix(self.predecessors, self.graph.labels, path)

    def paths(self, pairs: Any = None) -> Paths:
        """Best paths between many pairs, in flat arrays, readable as lists of labels or as numbers.

        They follow `predecessors` (up to float rounding); `path` prefers the fewest edges among equals.

        Parameters
        ----------
        pairs : sequence of (label, label), or array of shape (m, 2), optional
            By default all sources × targets, row by row.

        Returns
        -------
        Paths
            A sequence; an empty list for no path.

        Raises
        ------
        VertexError, AlgebraError
            If a label is unknown; if ⊕ is not selective.

        Notes
        -----
        A row of distances and predecessors per source. By elimination on the CPU, where no edge beats `one` and a
        source has few targets: only the distances of path vertices and those before them.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7), ("A", "C", 12)])
        >>> list(r.paths([("A", "C"), ("B", "C"), ("C", "A")]))
        [['A', 'B', 'C'], ['B', 'C'], []]
        """
        require_selection(self.semiring, where="paths")
        i, j = self._pairs(pairs)
        start, end = self._in_graph(self.sources, i), self._ends(j)
        if self._all_pairs:
            vertices, starts = paths_of(self._trees, start, end)
            return Paths(vertices, starts, self.graph.labels)
        reached = self.engine.entries(i, j) != self.infinity
        vertices, ends = paths_of(self._trees, start[reached], end[reached])
        if self.turned is not None:
            vertices, ends = self.turned.walks(vertices, ends)
        counts = np.zeros(len(i), np.int64)
        counts[reached] = np.diff(ends)
        return Paths(vertices, np.concatenate([[0], counts.cumsum()]), self.graph.labels)

    def verify(self, rows: int | str | None = None, *, paths: bool = False, seed: int = 0) -> Verification:
        """Check the distances by their definition: D = I ⊕ D ⊗ A, attained by paths.

        Parameters
        ----------
        rows : int or "all", optional
            Number of rows checked, drawn at random; by default 64, or all of small graphs.
        paths : bool
            Also walk every path along `predecessors`. With all rows, both together prove that D is the closure.
        seed : int
            Of the draw.

        Returns
        -------
        Verification
            True or false; prints what was checked and found.

        Raises
        ------
        AlgebraError
            For `paths`, if ⊕ is not selective.

        Notes
        -----
        m pairs a row, n² for a matrix; `paths` walks at most n edges a pair.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> print(shortest_paths([("A", "B", 4), ("B", "C", 7)]).verify(paths=True))
        D = I ⊕ D ⊗ A holds exactly, in all 3 rows; each of the 3 paths attains its distance, exactly.
        """
        every, told, whole = np.arange(self.graph.n), self.engine, self._all_pairs
        if not whole and (self.turned is None or told.limit is not None or told.shape != 2 * every.shape):
            raise ShapeError("verify: all pairs are needed, without sources=, targets= and limit=, got some of them.")
        part = None if whole or self.along else (told, self._in_graph(self.sources, every), self._ends(every))
        return verify(self._trees, rows, paths=paths, seed=seed, part=part)

    def _handed_out(self, square: Array) -> Array:
        """A table of all vertices, cut to this result; read-only."""
        return read_only(square if self._all_pairs else self._part(square))

    def _part(self, square: Array) -> np.ndarray:
        i, j = (self.graph.labels.positions(names) for names in (self.sources, self.targets))
        table: np.ndarray = host(square)[i[:, None], j]
        for rows, D in self.engine.rows(np.arange(len(i))):
            table[rows] = np.where((host(D) == self.infinity) & (i[rows, None] != j), found.NONE, table[rows])
        return table

    def _pairs(self, pairs: Any, where: str = "paths") -> tuple[np.ndarray, np.ndarray]:
        k, m = self.engine.shape
        if pairs is None:
            return np.repeat(np.arange(k), m), np.tile(np.arange(m), k)
        if isinstance(pairs, np.ndarray):
            if pairs.ndim != 2 or pairs.shape[1] != 2:
                raise ShapeError(f"{where}: pairs must be of shape (m, 2), got {pairs.shape}.")
            return self.sources.positions(pairs[:, 0]), self.targets.positions(pairs[:, 1])
        try:
            pairs = list(pairs)
            us, vs = [u for u, _ in pairs], [v for _, v in pairs]
        except (TypeError, ValueError):
            raise ShapeError(
                f"{where}: pairs must be (source, target) each, got {came(pairs)}. Pass [(u, v)]."
            ) from None
        return self.sources.positions(us), self.targets.positions(vs)

    def _in_graph(self, names: Labels, index: np.ndarray) -> np.ndarray:
        """Positions among `names` → positions in the graph."""
        if names is self.graph.labels:
            return index
        return self.graph.labels.positions(names)[index]

    def _ends(self, index: np.ndarray) -> np.ndarray:
        """Positions among targets → columns of the table of all pairs."""
        return self._goals(self._in_graph(self.targets, index))
