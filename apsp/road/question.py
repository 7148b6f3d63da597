"""A `Question`: a source, a semiring, and the request, with properties computed lazily before any work.

The source is a `Graph`, or a result of `apsp.big.large.sources.matrix_or_graph`. Arcs, weights, and the matrix on its
device are made on first use, and cached for all engines.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.records import Semiring
from semiring.algebra.survey import Survey, survey
from semiring.dense.bits import BitMatrix
from semiring.dense.cycles import Lengths
from semiring.host.arrays import Taken
from semiring.host.compiling import Missing
from semiring.host.devices import is_plain
from semiring.host.types import Array, Matrix
from semiring.kernels.backend import Backend, bind, device_of
from semiring.sparse.cycles import Weighted

from ..answers.neighbourhoods import TRIED, Neighbourhoods, around
from ..big.large.sources import has_windows
from ..io.graph import Graph
from ..io.graph.compressed import Compressed
from ..io.graph.nulls import refuse_ambiguous, warn_of_ambiguous
from . import estimates
from .problem import Memory, Problem, pose_array, pose_bits, take
from .wants import Wants

#: Mean degree from which elimination structures are not cached.
MANY_ARCS = 16
#: Maximum number of arcs always cached: a few megabytes.
REMEMBERED = 1 << 18
#: Maximum n of graphs closed as matrices without counting, which would take as long (1 ms).
FEW = 256
#: Degree of a hub, relative to the mean.
HUB = 8
#: Number of searches, and n, below which properties of the graph cost more than they save.
SINGLE, SMALL = 16, 1000

#: No missing kernels.
NOTHING = Missing()

T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """A matrix or graph over a semiring, and the request about it.

    `source` is a Graph, an array or BitMatrix, or for a plan the number of vertices.
    """

    source: Any
    semiring: Semiring
    wants: Wants

    @property
    def is_graph(self) -> bool:
        return isinstance(self.source, Graph)

    @cached_property
    def in_windows(self) -> bool:
        """Whether the source is read by windows, within limits."""
        return self.wants.limits is not None and not isinstance(self.source, BitMatrix) and has_windows(self.source)

    @cached_property
    def listed(self) -> bool:
        return isinstance(self.source, Graph) and self.source.dense is None

    @property
    def picks(self) -> bool:
        """Whether only some rows or columns of a host matrix of a graph are wanted."""
        return isinstance(self.source, Graph) and isinstance(self.source.dense, np.ndarray) and self.wants.partial

    @property
    def graph(self) -> Graph:
        assert isinstance(self.source, Graph)
        return self.source

    @cached_property
    def n(self) -> int:
        if isinstance(self.source, Graph):
            return self.source.n
        if isinstance(self.source, (int, np.integer)):
            return int(self.source)
        whole = isinstance(self.source, BitMatrix) or self.in_windows
        return int(self.source.shape[-1] if whole else self.taken.array.shape[-1])

    @cached_property
    def dtype(self) -> np.dtype:
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
        """Whether int32 holds all distances, though not all sums of simple paths.

        Proven by one search each way, or by the engine of previous weights.
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
        """An upper bound on distances, by searches from and to a vertex, and that vertex."""
        return Weighted(*self.graph.edges(self.semiring, np.int64), self.n, self.semiring).farthest()

    @cached_property
    def device(self) -> str:
        unplaced = self.is_graph or isinstance(self.source, (int, np.integer)) or self.in_windows
        matrix = getattr(self.source, "dense", None)
        placed = matrix if matrix is not None and is_plain(matrix) else None
        return device_of(placed, self.wants.device) if unplaced else self.problem.device

    # As a matrix

    @cached_property
    def _taken(self) -> tuple[Taken, Memory, bool]:
        w = self.wants
        return take(
            self.source, self.semiring, w,
            dtype=w.dtype if getattr(self.source, "weights", None) is None else self.dtype, overwrite=w.overwrite,
            unweighted=w.unweighted and not self.is_graph, nulls=w.nulls, where=w.where,
        )  # fmt: skip

    @property
    def taken(self) -> Taken:
        return self._taken[0]

    @property
    def memory(self) -> Memory:
        return self._taken[1]

    @cached_property
    def problem(self) -> Problem:
        w = self.wants
        if isinstance(self.source, BitMatrix):
            return pose_bits(self.source, self.semiring, w.dtype, w.device, w.overwrite)
        taken, memory, undeclared = self._taken
        return pose_array(
            taken.array, self.semiring, memory, device=w.device, move=not w.dry, null_undeclared=undeclared,
            where=w.where,
        )  # fmt: skip

    @property
    def null_undeclared(self) -> bool:
        """Whether it is undeclared which matrix entries are no edges."""
        return self._taken[2]

    def report_zeros(self, seen: Survey) -> None:
        """Warn (for a table) or raise DomainError if a survey found ambiguous zeros."""
        report = warn_of_ambiguous if self.wants.table else refuse_ambiguous
        report(seen, self.semiring, where=self.wants.where)

    def in_kind(self, table: Array) -> Array:
        """A table in the input's library and device, or the overwritten input."""
        return self._taken[0].give_back(table, where=self.wants.where) if "_taken" in vars(self) else table

    # As arcs

    @cached_property
    def arcs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tails, heads and weights of all arcs (undirected both ways), in the computing dtype."""
        tails, heads, weights = arcs = self.graph.edges(self.semiring, self.dtype)
        pairs = self.n * (self.n - 1)
        if self.graph.null_undeclared and len(weights) >= pairs and len(row := weights[tails != heads]) == pairs:
            off = survey(row[None], self.semiring, where=self.wants.where, first=(pairs,), null_undeclared=True)
            self.report_zeros(off)  # all off-diagonal entries are present; zeros are ambiguous
        return arcs

    @cached_property
    def compressed(self) -> Matrix:
        """The source's CSR matrix in the computing dtype, or None."""
        source = self.source
        suits = isinstance(source, Compressed) and source.directed and self.dtype == source.weights.dtype
        return source.compressed if suits else None

    @property
    def arc_count(self) -> int:
        return len(self.arcs[0]) if self.compressed is None else self.compressed.nnz

    @cached_property
    def near(self) -> Neighbourhoods:
        """Statistics of a few steps from some sources; empty without CSR."""
        A, sources = self.compressed, self.wants.sources
        if A is None or self.n < SMALL:
            return Neighbourhoods()
        if sources is None:
            sources = np.random.default_rng(self.n).integers(0, self.n, TRIED)
        return around(A.indptr, A.indices, sources)

    @cached_property
    def reach(self) -> float:
        """The estimated share of vertices that a search reaches."""
        A, near = self.compressed, self.near
        if A is None:
            return estimates.reached(*self.arcs[:2], self.n)
        far = 0.0
        if near.cut:
            leads = A.indptr[1:] != A.indptr[:-1]
            if self.lines < SINGLE:  # a look at the arcs would cost more than a few searches
                far = near.cut * np.count_nonzero(leads) / max(1, self.n)
            else:
                far = near.cut * estimates.reached(np.flatnonzero(leads), A.indices, self.n)
        return far + near.few / max(1, self.n)

    @cached_property
    def hubs(self) -> bool:
        """Whether hubs exist, at which searches soon meet."""
        A, n = self.compressed, max(1, self.n)
        leaving = np.bincount(self.arcs[0], minlength=n) if A is None else np.diff(A.indptr)
        return bool(leaving.max(initial=0) > HUB * self.arc_count / n)

    @cached_property
    def seen(self) -> Survey:
        if self.compressed is None:
            return survey(self.arcs[2], self.semiring, where=self.wants.where)
        bounds = self.source.bounds
        return survey(self.compressed.data, self.semiring, where=self.wants.where, bounds=bounds)

    @cached_property
    def spread(self) -> float:
        return estimates.spread(self.arcs[2] if self.compressed is None else self.compressed.data)

    @cached_property
    def longest(self) -> float:
        """An upper bound on simple paths: the sum over vertices of the heaviest out-arc (exact for integers)."""
        return Weighted(*self.arcs, self.n, self.semiring).longest

    @cached_property
    def remembers(self) -> bool:
        """Whether the elimination structure is cached across questions."""
        short = self.arc_count <= REMEMBERED and not self.wants.ordered
        return (self.wants.remembers or short) and self.arc_count <= MANY_ARCS * self.n

    @property
    def saturates(self) -> bool:
        """Whether an integer table that may saturate is wanted, as documented for matrix closures."""
        record = dtypes.SCALARS[self.dtype]
        if not self.wants.table or self.wants.remembers or not record.integer or not self.semiring.mul.saturating:
            return False
        return self.longest >= record.high

    @cached_property
    def counting(self) -> float:
        """Seconds to list and count the arcs; ∞ if a matrix exists or is as fast."""
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
        if not work:
            return NOTHING
        backend, found = self._missing
        if work not in found:
            found[work] = backend.missing(work)
        return found[work]

    @cached_property
    def _missing(self) -> tuple[Backend, dict[str, Missing]]:
        return bind(self.semiring, self.dtype, device=self.device), {}

    # The request

    @cached_property
    def threads(self) -> int:
        asked = self.wants.options.get("threads")
        own = {} if asked is None else {"threads": asked}  # validated by the backend
        return int(getattr(bind(self.semiring, self.dtype, **own), "threads", 1) or 1)

    @property
    def lines(self) -> int:
        return min(self.n if x is None else len(x) for x in (self.wants.sources, self.wants.targets))

    @property
    def columns(self) -> int:
        """Entries kept of each computed line; 0 if all are streamed."""
        n, wants = self.n, self.wants
        return max(n if x is None else len(x) for x in (wants.sources, wants.targets)) if wants.partial else 0

    @property
    def entries(self) -> int:
        return math.prod(self.n if x is None else len(x) for x in (self.wants.sources, self.wants.targets))

    def once(self, find: Callable[[Question], T]) -> T:
        """find(self), cached across engines."""
        found: dict[Any, Any] = self._found
        if find not in found:
            found[find] = find(self)
        return found[find]

    @cached_property
    def _found(self) -> dict[Any, Any]:
        return {}

    def forget(self) -> None:
        """Free the arcs and everything derived, before a matrix is allocated."""
        for name in ("arcs", "_found"):
            vars(self).pop(name, None)
