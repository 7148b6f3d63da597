"""A `Question`: a source, a semiring and what is wanted of it; and what is known of it before any work.

A source is a `Graph`, or what `apsp.large.sources.matrix_or_graph` makes of the input. What engines look at, its arcs,
their weights, the matrix on the device that would close it, is found on first use, and cached for other engines.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from semiring import dtypes
from semiring.algebra import Semiring
from semiring.arrays import Taken
from semiring.backend import Backend, bind, device_of
from semiring.bits import BitMatrix
from semiring.compiling import Missing
from semiring.cycles import Lengths
from semiring.devices import is_plain
from semiring.sparse.cycles import Weighted
from semiring.survey import Survey, survey
from semiring.types import Array

from . import estimates
from .graph import Graph
from .graph.compressed import Compressed
from .graph.nulls import refuse_ambiguous, warn_of_ambiguous
from .large.sources import has_windows
from .neighbourhoods import TRIED, Neighbourhoods, around
from .problem import Memory, Problem, pose_array, pose_bits, take
from .wants import Wants

#: From so many arcs a vertex on, structures of eliminations are not cached.
MANY_ARCS = 16
#: Up to so many arcs they are cached whoever asks: a few megabytes.
REMEMBERED = 1 << 18
#: Graphs of so few vertices are closed as matrices without counting: that takes a millisecond, as counting does.
FEW = 256
#: A hub has more than so many times as many arcs as a vertex has on average.
HUB = 8
#: So few searches take less than much that could be known of a graph; those of fewer vertices than all that could be.
SINGLE, SMALL = 16, 1000

#: No kernels are missing.
NOTHING = Missing()

T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """A matrix or a graph, over a semiring, and what is wanted of it.

    Attributes
    ----------
    source : Graph, array, BitMatrix or int
        A graph; or what `closure` takes for a matrix; or, of a plan, the number of vertices alone.
    semiring : Semiring
    wants : Wants
    """

    source: Any
    semiring: Semiring
    wants: Wants

    @property
    def is_graph(self) -> bool:
        """Whether the source is a graph, with a list of edges or with a matrix."""
        return isinstance(self.source, Graph)

    @cached_property
    def in_windows(self) -> bool:
        """Whether the source is no array, but has windows, which are read within limits."""
        return self.wants.limits is not None and not isinstance(self.source, BitMatrix) and has_windows(self.source)

    @cached_property
    def listed(self) -> bool:
        """Whether it is a graph with a list of edges."""
        return isinstance(self.source, Graph) and self.source.dense is None

    @property
    def picks(self) -> bool:
        """Whether only some rows or columns are wanted, of a graph that is a matrix in main memory."""
        return isinstance(self.source, Graph) and isinstance(self.source.dense, np.ndarray) and self.wants.partial

    @property
    def graph(self) -> Graph:
        """The source, which is a graph."""
        assert isinstance(self.source, Graph)
        return self.source

    @cached_property
    def n(self) -> int:
        """Vertices."""
        if isinstance(self.source, Graph):
            return self.source.n
        if isinstance(self.source, (int, np.integer)):
            return int(self.source)
        whole = isinstance(self.source, BitMatrix) or self.in_windows
        return int(self.source.shape[-1] if whole else self.taken.array.shape[-1])

    @cached_property
    def dtype(self) -> np.dtype:
        """The dtype to compute in."""
        wants, source = self.wants, self.source
        if isinstance(source, (int, np.integer)):
            return dtypes.resolve(self.semiring, wants.dtype, where=wants.where)
        if self.in_windows:
            return dtypes.resolve(self.semiring, wants.dtype, source.dtype, where=wants.where)
        if not isinstance(source, Graph):
            return np.dtype(bool) if isinstance(source, BitMatrix) else self.taken.array.dtype
        if source.weights is not None and self.narrowed:
            return np.dtype(np.int32)
        return source.target(self.semiring, wants.dtype, where=wants.where)

    @cached_property
    def narrowed(self) -> bool:
        """Whether int32 is to hold all distances, though not every sum of a simple path.

        One search each way shows it; or the engine of other weights of the same edges had it so, and will tell.
        """
        wants, source = self.wants, self.source
        if wants.dtype is not None or wants.table or wants.partial or wants.packed or not self.listed:
            return False
        weights, lengths = source.weights, Lengths.of(self.semiring)
        if weights is None or weights.dtype.kind != "i" or lengths is None or lengths.logarithmic or not len(weights):
            return False
        most = np.iinfo(np.int32).max
        if "int32" not in self.semiring.dtypes or dtypes.largest_finite(weights) >= most:
            return False
        if getattr(wants.like, "narrowed", False):
            return True
        if self.n > 4 * len(weights) or source.target(self.semiring) != np.int64:
            return False
        return self.farthest[0] < most

    @cached_property
    def farthest(self) -> tuple[float, int]:
        """No distance is greater, by searches from and to a vertex."""
        return Weighted(*self.graph.edges(self.semiring, np.int64), self.n, self.semiring).farthest()

    @cached_property
    def device(self) -> str:
        """The device to compute on."""
        unplaced = self.is_graph or isinstance(self.source, (int, np.integer)) or self.in_windows
        matrix = getattr(self.source, "dense", None)
        placed = matrix if matrix is not None and is_plain(matrix) else None
        return device_of(placed, self.wants.device) if unplaced else self.problem.device

    # As a matrix

    @cached_property
    def _taken(self) -> tuple[Taken, Memory, bool]:
        w = self.wants
        return take(
            self.source,
            self.semiring,
            w,
            dtype=w.dtype if getattr(self.source, "weights", None) is None else self.dtype,
            overwrite=w.overwrite,
            unweighted=w.unweighted and not self.is_graph,
            nulls=w.nulls,
            where=w.where,
        )

    @property
    def taken(self) -> Taken:
        """Its matrix as an array in the dtype to compute in, with the input."""
        return self._taken[0]

    @property
    def memory(self) -> Memory:
        """Who owns that array."""
        return self._taken[1]

    @cached_property
    def problem(self) -> Problem:
        """The problem of closing its matrix, on the device that closes it; surveyed."""
        w = self.wants
        if isinstance(self.source, BitMatrix):
            return pose_bits(self.source, self.semiring, w.dtype, w.device, w.overwrite)
        taken, memory, undeclared = self._taken
        return pose_array(
            taken.array,
            self.semiring,
            memory,
            device=w.device,
            move=not w.dry,
            null_undeclared=undeclared,
            where=w.where,
        )

    @property
    def null_undeclared(self) -> bool:
        """Whether it is not declared which entries of its matrix are no edges."""
        return self._taken[2]

    def report_zeros(self, seen: Survey) -> None:
        """Report zeros that may be edges or none, if a survey has found any: a warning for a table, else an error.

        Raises
        ------
        DomainError
        """
        report = warn_of_ambiguous if self.wants.table else refuse_ambiguous
        report(seen, self.semiring, where=self.wants.where)

    def in_kind(self, table: Array) -> Array:
        """A table in kind: an array of the input's library, on its device, or the input itself if it is overwritten."""
        return self._taken[0].give_back(table, where=self.wants.where) if "_taken" in vars(self) else table

    # As arcs

    @cached_property
    def arcs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tails, heads and weights of all arcs, undirected edges both ways; weights in the dtype to compute in."""
        tails, heads, weights = arcs = self.graph.edges(self.semiring, self.dtype)
        pairs = self.n * (self.n - 1)
        if self.graph.null_undeclared and len(weights) >= pairs and len(row := weights[tails != heads]) == pairs:
            off = survey(row[None], self.semiring, where=self.wants.where, first=(pairs,), null_undeclared=True)
            self.report_zeros(off)  # no entry off the diagonal is missing; zeros there may be edges or none
        return arcs

    @cached_property
    def compressed(self) -> Any:
        """Its arcs as a csr matrix of weights in the dtype to compute in, where it came as one; else None."""
        source = self.source
        suits = isinstance(source, Compressed) and source.directed and self.dtype == source.weights.dtype
        return source.compressed if suits else None

    @property
    def arc_count(self) -> int:
        """The number of arcs."""
        return len(self.arcs[0]) if self.compressed is None else self.compressed.nnz

    @cached_property
    def near(self) -> Neighbourhoods:
        """What a few steps from some of its sources tell; nothing where its arcs are not in order."""
        A, sources = self.compressed, self.wants.sources
        if A is None or self.n < SMALL:
            return Neighbourhoods()
        if sources is None:
            sources = np.random.default_rng(self.n).integers(0, self.n, TRIED)
        return around(A.indptr, A.indices, sources)

    @cached_property
    def reach(self) -> float:
        """About the share of the vertices that a search reaches."""
        A, near = self.compressed, self.near
        if A is None:
            return estimates.reached(*self.arcs[:2], self.n)
        far = 0.0
        if near.cut:
            leads = A.indptr[1:] != A.indptr[:-1]
            if self.lines < SINGLE:  # where arcs lead takes long to look at, beside a few searches
                far = near.cut * np.count_nonzero(leads) / max(1, self.n)
            else:
                far = near.cut * estimates.reached(np.flatnonzero(leads), A.indices, self.n)
        return far + near.few / max(1, self.n)

    @cached_property
    def hubs(self) -> bool:
        """Whether some vertices have many times as many arcs as others, so that searches soon meet there."""
        A, n = self.compressed, max(1, self.n)
        leaving = np.bincount(self.arcs[0], minlength=n) if A is None else np.diff(A.indptr)
        return bool(leaving.max(initial=0) > HUB * self.arc_count / n)

    @cached_property
    def seen(self) -> Survey:
        """The survey of the weights."""
        if self.compressed is None:
            return survey(self.arcs[2], self.semiring, where=self.wants.where)
        bounds = self.source.bounds
        return survey(self.compressed.data, self.semiring, where=self.wants.where, bounds=bounds)

    @cached_property
    def spread(self) -> float:
        """How far its weights differ, see `estimates.spread`."""
        return estimates.spread(self.arcs[2] if self.compressed is None else self.compressed.data)

    @cached_property
    def longest(self) -> float:
        """No simple path weighs more than this: the sum of the heaviest arc out of each vertex; of integers exactly."""
        return Weighted(*self.arcs, self.n, self.semiring).longest

    @cached_property
    def remembers(self) -> bool:
        """Whether its structure is looked up among those of earlier questions, and remembered for later ones."""
        short = self.arc_count <= REMEMBERED and not self.wants.ordered
        return (self.wants.remembers or short) and self.arc_count <= MANY_ARCS * self.n

    @property
    def saturates(self) -> bool:
        """Whether a table of integers is wanted that may saturate, which is documented of the closure of a matrix."""
        dtype = self.dtype
        if not self.wants.table or self.wants.remembers or dtype.kind != "i" or not self.semiring.mul.saturating:
            return False
        return self.longest >= np.iinfo(dtype).max

    @cached_property
    def counting(self) -> float:
        """Seconds to list the arcs and count with them; ∞ where a matrix exists, or takes no longer than that."""
        if self.semiring.boolean or not (self.listed or self.picks) or self.saturates:
            return math.inf
        if self.wants.partial:
            return 0.0 if self.listed else estimates.listing(self.n)
        return (
            math.inf
            if self.n <= FEW and not self.missing("closure").kernels
            else estimates.counting(self.n, self.graph.edge_count)
        )

    def missing(self, work: str) -> Missing:
        """The kernels that must be compiled before some work of `Backend.missing`; none before ""."""
        if not work:
            return NOTHING
        backend, found = self._missing
        if work not in found:
            found[work] = backend.missing(work)
        return found[work]

    @cached_property
    def _missing(self) -> tuple[Backend, dict[str, Missing]]:
        return bind(self.semiring, self.dtype, device=self.device), {}

    # What is wanted

    @cached_property
    def threads(self) -> int:
        """Threads that will work."""
        asked = self.wants.options.get("threads")
        own = {} if asked is None else {"threads": asked}  # which a backend checks
        return int(getattr(bind(self.semiring, self.dtype, **own), "threads", 1) or 1)

    @property
    def lines(self) -> int:
        """Rows or columns that have to be computed."""
        return min(self.n if x is None else len(x) for x in (self.wants.sources, self.wants.targets))

    @property
    def columns(self) -> int:
        """Entries of each row or column searched for that are kept; none where all are, which are streamed."""
        n, wants = self.n, self.wants
        return max(n if x is None else len(x) for x in (wants.sources, wants.targets)) if wants.partial else 0

    @property
    def entries(self) -> int:
        """Entries that are wanted."""
        return math.prod(self.n if x is None else len(x) for x in (self.wants.sources, self.wants.targets))

    def once(self, find: Callable[[Question], T]) -> T:
        """find(self), cached, for what an engine looks at more than once."""
        found: dict[Any, Any] = self._found
        if find not in found:
            found[find] = find(self)
        return found[find]

    @cached_property
    def _found(self) -> dict[Any, Any]:
        return {}

    def forget(self) -> None:
        """Drop the arcs and what was found of them, before a matrix takes their memory."""
        for name in ("arcs", "_found"):
            vars(self).pop(name, None)
