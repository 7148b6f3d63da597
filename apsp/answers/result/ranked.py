"""The next best paths of a result, one after the other or of many pairs; among them all that are best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Real
from typing import Any, TypedDict, Unpack, overload

import numpy as np

from semiring.algebra.dtypes import SCALARS
from semiring.dense.ranking import Batch, Ranking, in_batches, take_all, ties
from semiring.host.devices import host
from semiring.host.errors import ShapeError
from semiring.host.memory import require
from semiring.host.spelling import Named, came
from semiring.host.types import Label
from semiring.kernels.observed import Callback

from ...io.display import output
from ...road.engines.part import Limit, as_limit
from ...road.log import Watch
from .flowing import Flowing
from .turned import refuse_turns
from .walked import Paths

#: Bytes of searches at a time, of some 32 a vertex each.
_TOGETHER = 1 << 26


class _More(TypedDict, total=False):
    overlap: float | None
    limit: Any
    callback: Callback | None


class Ranked(Flowing):
    """Simple paths, the best first."""

    @overload
    def k_paths(
        self, u: list[Any] | np.ndarray, v: int | None = None, k: int | None = None, **more: Unpack[_More]
    ) -> list[Paths]: ...
    @overload
    def k_paths(self, u: Label, v: Label, k: int | None = None, **more: Unpack[_More]) -> Iterator[list[Any]]: ...
    def k_paths(
        self,
        u: Any,
        v: Any = None,
        k: int | None = None,
        *,
        overlap: float | None = None,
        limit: Any = None,
        callback: Callback | None = None,
    ) -> Any:
        """Yen's k shortest simple paths from u to v, the best first, each once; of pairs, those of each.

        Parameters
        ----------
        u, v : label
            Or k_paths(pairs, k): a list of (source, target), or an array of shape (m, 2), and how many for each pair.
        k : int, optional
            Largest number of paths; by default all simple paths, whose number may be exponential.
        overlap : float, optional
            Alternatives, at most 62: each path shares at most so much of the length of each one before, 0.6 for 60 %,
            and after the first is the best that is so through some edge: best as far as that, and best from it on.
        limit : float, optional
            No worse paths; in addition to the limit of this result.
        callback : callable, optional
            `callback(done, total)` in paths, of pairs in pairs.

        Returns
        -------
        iterator of lists of labels
            u first, v last; found as they are asked for. Of equally good ones that whose last vertices come first in
            the graph: the least vertex before v, and so on.
        list of Paths
            Of pairs, for each its paths; none where there is no way.

        Raises
        ------
        VertexError
            If a label is not in the graph.
        NoPathError
            If v cannot be reached from u; of pairs, it has no paths.
        ShapeError
            If k is no positive number, or pairs are none.
        AlgebraError
            If ⊕ does not select, or ⊗ neither adds, multiplies, nor selects the worse of two.
        DomainError
            If integers are too large to be compared, or a factor is 0.
        DivergenceError
            If walks have no best, in a result with on_negative_cycle="-inf".
        MemoryNeeded
            If the tree of candidate paths, about 80 bytes a vertex of each, does not fit.

        Notes
        -----
        Paths are told apart by their vertices: of parallel edges the best counts, as in NetworkX. Weights may be 0 or
        negative; over (max, min) and (min, max) a path is as good as its worst edge, and many are equal. Of floats the
        order is right but for rounding.

        Alternatives also take a column of distances to v, and a path through each edge at worst (Abraham, Delling,
        Goldberg and Werneck 2013, "Alternative routes in road networks").

        A row of distances from u, by any engine (from a GPU it is fetched; the search is on the host), bounds all that
        deviates from a path from below; a deviation is searched for when its bound is the least. O(k n (m + n log n))
        at worst, in practice a few hundred steps a path. Many pairs are searched for on all threads. Sources: Yen 1971,
        "Finding the k shortest loopless paths in a network"; Lawler 1972, "A procedure for computing the K best
        solutions to discrete optimization problems"; for the bounds, Feng 2014, "Finding k shortest simple paths in
        directed graphs: a node classification algorithm".

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 4), ("B", "C", 7), ("A", "C", 12), ("B", "D", 1), ("D", "C", 9)])
        >>> list(r.k_paths("A", "C", 2))
        [['A', 'B', 'C'], ['A', 'C']]
        >>> [list(paths) for paths in r.k_paths([("A", "C"), ("C", "A")], 3)]
        [[['A', 'B', 'C'], ['A', 'C'], ['A', 'B', 'D', 'C']], []]
        """
        pairs = isinstance(u, (list, np.ndarray)) and (k is None or v is None)
        wanted = _Wanted("k_paths", v if pairs and k is None else k, overlap, self._tighter(limit), callback)
        if pairs:
            return self._of_pairs(u, wanted)
        found = self._found(u, v, wanted)
        return (path for starts, vertices, _ in found for path in Paths(vertices, starts, self.graph.labels))

    def k_distances(
        self,
        u: Label,
        v: Label,
        k: int,
        *,
        overlap: float | None = None,
        limit: Any = None,
        callback: Callback | None = None,
    ) -> np.ndarray:
        """The lengths of Yen's k shortest simple paths from u to v, the best first.

        Parameters
        ----------
        u, v, k, overlap, limit, callback
            As in `k_paths`.

        Returns
        -------
        array, shape (at most k,)
            int64 where distances are integers, float64 if one is inf, as from u to u over max_min; else of their dtype.
            Added up from u on.

        Raises
        ------
        VertexError, NoPathError, ShapeError, AlgebraError, DomainError, DivergenceError, MemoryNeeded
            As `k_paths`.

        Notes
        -----
        Cost and sources are those of `k_paths`.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> shortest_paths([("A", "B", 4), ("B", "C", 7), ("A", "C", 12)]).k_distances("A", "C", 3)
        array([11, 12])
        """
        with Named("k_distances", "k_paths"):
            found = self._found(u, v, _Wanted("k_distances", k, overlap, self._tighter(limit), callback))
            none = np.empty(0, self._ranking.weights.dtype)
            lengths = np.concatenate([none, *(self._ranking.lengths(starts, steps) for starts, _, steps in found)])
        ends = output.infinities(self.semiring, lengths.dtype)
        return output.numbers(lengths, self.semiring) if np.isin(lengths, list(ends)).any() else lengths

    def all_paths(self, u: Label, v: Label) -> Iterator[list[Any]]:
        """Every best path from u to v, as `path` gives one.

        Parameters
        ----------
        u, v : label

        Yields
        ------
        list of labels
            u first, v last; ascending by the positions of their last vertices.

        Raises
        ------
        VertexError
            If a label is not in the graph.
        NoPathError
            If v cannot be reached from u.
        AlgebraError
            If best walks of the semiring cannot be counted: its ⊕ does not select, or its ⊗ does.
        DivergenceError
            If a cycle costs nothing, naming it; `k_paths` lists the simple paths then.
        MemoryNeeded
            If those found do not fit.

        Notes
        -----
        A row of distances and O(n + m), then about the length of each path; there may be exponentially many. They are
        the first of `k_paths`; of floats those that tie as lengths are added up from u on.

        Examples
        --------
        >>> from apsp import shortest_paths
        >>> r = shortest_paths([("A", "B", 1), ("A", "C", 1), ("B", "D", 1), ("C", "D", 1)])
        >>> list(r.all_paths("A", "D"))
        [['A', 'B', 'D'], ['A', 'C', 'D']]
        """
        sums = self._adjoint("all_paths")
        start, end = self._connected("all_paths", u, v)
        tight = sums.tight(self.engine.all_pairs.row(start), start)
        paths = ties(tight, self._walked.n, start, end, "all_paths")
        first, turned = np.zeros(1, np.int64), self.turned
        walks = (path if turned is None else turned.walks(path, first)[0] for path in paths)
        return ([self.labels[x] for x in walk.tolist()] for walk in walks)

    @cached_property
    def _ranking(self) -> Ranking:
        refuse_turns(self, "k_paths", "Say r.all_paths(u, v) for all that are best.")
        self.engine.refuse_unbounded("k_paths", self.graph.labels)
        if self.graph.dense is not None:
            require(80 * self.graph.n**2, where="k_paths", hint="Pass the graph as a list of edges.")
        arcs = self.graph.edges(self.semiring, self.dtype)
        return Ranking(self.semiring, arcs, self.graph.n, where="k_paths", directed=self.graph.directed)

    def _found(self, u: Label, v: Label, wanted: _Wanted) -> Iterator[Batch]:
        """Paths of a pair, some at a time; nothing is searched for before the first is asked for."""
        ranking, where, k = self._ranking, wanted.where, wanted.k
        start, end = self._connected(where, u, v)
        search = self._search(self.engine.all_pairs.row(start), start, end, wanted)
        heard = () if k is None else (k, Watch(f"{where}: {k} paths", k, wanted.callback))

        def found() -> Iterator[Batch]:
            for batch in in_batches(search, *heard):
                yield wanted.within(batch, ranking)
            ranking.refuse_cut(search, wanted.limit)

        return found()

    def _of_pairs(self, pairs: Any, wanted: _Wanted) -> list[Paths]:
        """The paths of many pairs: a row of distances a source, and searches on all threads."""
        ranking, k, engine = self._ranking, wanted.k, self.engine.all_pairs
        if k is None:
            raise ShapeError("k_paths: of pairs, k must be how many paths of each, got None.")
        i, j = self._pairs(pairs, "k_paths")
        start, end = (self._in_graph(names, index) for names, index in ((self.sources, i), (self.targets, j)))
        found: dict[int, Batch] = {}
        done = 0
        watch = Watch(f"k_paths: {k} paths of {len(i)} pairs", len(i), wanted.callback)
        order, together = np.argsort(start, kind="stable"), max(1, _TOGETHER // (32 * max(1, self.graph.n)))
        for positions, D in engine.rows(np.unique(start)) if len(i) else ():
            rows, here = host(D), order[np.isin(start[order], positions)]
            for part in np.split(here, range(together, len(here), together)):
                row_of = np.searchsorted(positions, start[part]).tolist()
                ends = zip(row_of, start[part].tolist(), end[part].tolist(), strict=True)
                searches = [self._search(rows[row], u, v, wanted) for row, u, v in ends]
                take_all(searches, k, getattr(engine, "threads", None), partial(watch, done))
                for q, search in zip(part.tolist(), searches, strict=True):
                    found[q] = wanted.within(search.take(), ranking)
                    ranking.refuse_cut(search, wanted.limit)
                done += len(part)
                watch(done)
        return [Paths(found[q][1], found[q][0], self.graph.labels) for q in range(len(i))]

    def _search(self, row: np.ndarray, start: int, end: int, wanted: _Wanted) -> Any:
        """A search for such paths, from a row of distances."""
        if wanted.overlap is None:
            return self._ranking.search(row, start, end, wanted.limit)
        return self._ranking.apart(row, self.engine.to(end), start, end, wanted.limit, wanted.overlap)

    def _tighter(self, limit: Any) -> Any:
        """The stricter of this limit and that of the result; None without a limit."""
        limits = [as_limit(x) for x in (limit, self.engine.limit) if x is not None]
        return (min if self.semiring.add.selects == "least" else max)(limits, default=None)


@dataclass(frozen=True)
class _Wanted:
    """Options of a path query: number, largest overlap, limit."""

    where: str
    k: int | None
    overlap: float | None
    limit: Any
    callback: Callback | None

    def __post_init__(self) -> None:
        """Raises ShapeError and ValueError for options that are none."""
        where, k, overlap = self.where, self.k, self.overlap
        if k is not None and (isinstance(k, bool) or not hasattr(k, "__index__") or k < 1):
            raise ShapeError(f"{where}: k must be a positive integer, how many paths, got {came(k)}.")
        if self.callback is not None and k is None:
            raise ValueError(f"{where}: a callback must come with k, the number of paths, got none.")
        if overlap is not None:
            if not isinstance(overlap, Real) or not 0 <= overlap < 1:
                raise ValueError(f"{where}: overlap must be a share of at least 0 and below 1, got {came(overlap)}.")
            if k is None or k > 62:
                raise ShapeError(f"{where}: with overlap, k must be at most 62, got {came(k)}.")

    def within(self, batch: Batch, ranking: Ranking) -> Batch:
        """The paths within the limit; exact lengths were cut by the search, rounded ones are compared again.

        A distance of the result, rounded otherwise, is a limit that its paths do not exceed.
        """
        if self.limit is None:
            return batch
        starts, vertices, steps = batch
        lengths, count = ranking.lengths(starts, steps), np.diff(starts)
        if ranking.rounds:
            lengths -= ranking.sign * SCALARS[lengths.dtype].eps * count * np.abs(lengths)
        kept = lengths == Limit(self.limit, ranking.semiring, lengths.dtype)(lengths)
        of_kept = np.repeat(kept, count)
        return np.concatenate([[0], count[kept].cumsum()]), vertices[of_kept], steps[of_kept]
