"""Closure of a graph in factored form: any row, column, entry or block is computed from the panels on demand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from semiring import sparse
from semiring.algebra import dtypes
from semiring.algebra.conversion import conform
from semiring.algebra.records import Semiring
from semiring.dense.cycles import Lengths
from semiring.host.devices import host
from semiring.host.errors import MemoryNeeded, SemiringError
from semiring.host.types import Array, Blocks, Edges, Fields, Scalar

from ...io.graph import Graph
from ...io.graph.reweighted import weights_of
from .base import Asked, Changed, Engine
from .bounds import Bounds

if TYPE_CHECKING:
    from ..packing import Word

#: Cost of a pair by hub labels, in pairs of a row: fixed, and per column of the longest path.
LOOKED_UP, PASSED = 32, 1 / 4
#: Entries per GPU lookup of a table.
AT_ONCE = 1 << 26
#: Entries of a row above which the entire row is as fast.
FEW = 64
#: Single pairs asked of a GPU before factors on the host take over, in a fortieth of the time; pairs for a path.
SINGLES, A_PATH = 24, 6


#: Attributes shared with the engine of a few updated edges.
_SHARED = "analysis", "semiring", "threads", "order", "potential", "device", "_weights", "shape", "dtype", "narrowed", \
    "centre"  # fmt: skip


class Eliminated(Engine):
    """The closure of a graph's arcs in factored form; raises DivergenceError and MemoryNeeded.

    `weights` (arcs,) are in the computing dtype. Pickles hold the arcs and `order`; they are eliminated again.
    `potential` (n,) makes arcs non-negative (Johnson 1977, on the CPU); distances are restored. `device` holds the
    panels and blocks of rows. `hubs` answers pairs, once `hub_labels` has made it. Many single pairs and paths are
    answered on the host in any case.
    """

    name = "elimination"
    hubs: sparse.HubLabels | None = None
    _singles: float = 0
    _twin: sparse.Elimination | None = None
    longest: float = math.inf  # no path is
    bounds: Bounds | None = None
    narrowed, centre = False, 0
    _weights: np.ndarray | None = None

    def __init__(
        self, analysis: sparse.Analysis, weights: np.ndarray, semiring: Semiring, threads: int | None = None,
        order: Any = "auto", *, check: bool = True, potential: np.ndarray | None = None, device: str = "cpu",
    ) -> None:  # fmt: skip
        self.analysis, self.semiring, self.threads = analysis, semiring, threads
        self.order, self.potential, self.device = order, potential, device
        self._weights = weights
        self.elimination = self._eliminated(device, check=check)
        self._weights = None if potential is None else weights
        self.shape, self.dtype = (analysis.n, analysis.n), self.elimination.dtype
        self.centre = analysis.structure.centre

    def __getstate__(self) -> Fields:
        state = {
            name: getattr(self, name) for name in ("weights", "semiring", "threads", "order", "potential", "device")
        }
        arcs = {"tails": self.analysis.tails, "heads": self.analysis.heads, "n": self.analysis.n}
        return state | arcs | {"labelled": self.hubs is not None}

    def __setstate__(self, state: Fields) -> None:
        analysis = sparse.Analysis(*(state[name] for name in ("tails", "heads", "n", "order", "threads")))
        arguments = (state[name] for name in ("weights", "semiring", "threads", "order"))
        Eliminated.__init__(
            self, analysis, *arguments, check=False, potential=state["potential"], device=state["device"]
        )
        if state.get("labelled"):  # absent in pickles of earlier versions
            self.hub_labels()

    def _reweighted(self, weights: np.ndarray, h: np.ndarray) -> np.ndarray:
        """ℓ'(u, v) = max(ℓ(u, v) + h(u) − h(v), 0): the same best walks, and no cycle negative by rounding."""
        lengths, zero = Lengths.required(self.semiring), dtypes.zero(self.semiring, weights.dtype)
        old = lengths.of_entries(weights, zero)
        new = np.maximum(old + (h[self.analysis.tails] - h[self.analysis.heads]), 0.0)
        new[old == np.inf] = np.inf
        return lengths.to_entries(new).astype(weights.dtype)

    def _restored(self, D: np.ndarray, i: Array, j: Array) -> np.ndarray:
        """ℓ(i, j) = ℓ'(i, j) − h(i) + h(j); i, j broadcast to D."""
        h = self.potential
        if h is None:
            return D
        lengths, zero = Lengths.required(self.semiring), dtypes.zero(self.semiring, self.dtype)
        with np.errstate(over="ignore"):
            found = lengths.to_entries(lengths.of_entries(np.asarray(host(D)), zero) - (h[i] - h[j]))
        return found.astype(self.dtype)

    @property
    def weights(self) -> np.ndarray:
        return self.elimination.weights if self._weights is None else self._weights

    def changed(self, graph: Graph, tails: np.ndarray, heads: np.ndarray, weights: np.ndarray) -> Changed | None:
        """Refactorise the supernodes on the arcs' root paths."""
        s, found = self.semiring, self.analysis
        if self.potential is not None or s.boolean or self.device != "cpu":
            return None
        try:
            values = conform(weights, s, self.dtype, where="update")
            ends = list(zip(tails.tolist(), heads.tolist(), strict=True))
            there = [found.between(u, v) for u, v in ends]
            if not graph.directed:
                back = [found.between(v, u) for u, v in ends]
                there = [np.concatenate(both) for both in zip(there, back, strict=True)]
            counts = [len(arcs) for arcs in there]
            if 0 in counts:
                return None
            arcs = np.concatenate(there)
            made = self._with(self.elimination.update(np.repeat(values, counts), arcs=arcs))
        except SemiringError:  # raised again, by label, by the full computation
            return None
        listed = arcs < graph.edge_count  # the others are reverse arcs
        edges, new = arcs[listed], np.repeat(weights, counts)[listed]
        if made.elimination.divergence is not None or not made._still_holds(self, graph, edges, new):
            return None
        if self.hubs is not None:
            made.hubs = made.elimination.hub_labels(self.hubs)
        return made, edges, new

    def _with(self, E: sparse.Elimination) -> Eliminated:
        made = Eliminated.__new__(Eliminated)
        vars(made).update({name: getattr(self, name) for name in _SHARED}, elimination=E)
        return made

    def renewed(self, graph: Graph, before: Graph, semiring: Semiring) -> Eliminated | None:
        """Refactorise: same symbolic structure, new values."""
        s, tails = self.semiring, self.analysis.tails
        if self.potential is not None or s.boolean or self.device != "cpu" or graph.weights is None:
            return None
        try:
            weights = conform(graph.weights, s, self.dtype, where="update")
            if not graph.directed:  # all but loops have a reverse arc
                back = tails[: len(weights)] != self.analysis.heads[: len(weights)]
                weights = np.concatenate((weights, weights[back]))
            made = self._with(self.elimination.update(weights))
        except SemiringError:  # raised again, by label, when an engine is chosen
            return None
        if made.elimination.divergence is not None:
            return None
        if dtypes.SCALARS[self.dtype].integer:
            made.longest = made.shape[0] * dtypes.largest_finite(weights)
            if not made.holds and self.bounds is not None:
                old, new = (x.elimination.weights_by_front for x in (self, made))
                made.bounds = self.bounds.scaled(old, new, dtypes.zero(s, self.dtype))
            if not made.holds and not made.proves(tails, self.analysis.heads, weights):
                return None
        if self.hubs is not None:
            made.hub_labels()
        return made

    def _still_holds(self, before: Eliminated, graph: Graph, edges: np.ndarray, new: np.ndarray) -> bool:
        """Whether integers still hold all distances after changing some edges."""
        if not dtypes.SCALARS[self.dtype].integer or not self.semiring.mul.saturating:
            return True
        zero, lengths = dtypes.zero(self.semiring, new.dtype), Lengths.of(self.semiring)
        self.longest = before.longest + sum(abs(x) for x in new.tolist() if x != zero)
        if (self.holds and before.bounds is None) or lengths is None:
            return self.holds
        sign = int(lengths.sign)
        ends = list(zip(*(x[edges].tolist() for x in graph.ends), strict=True))
        weights = [
            [math.inf if x == zero else sign * x for x in both]
            for both in zip(weights_of(graph, edges).tolist(), new.tolist(), strict=True)
        ]
        if not graph.directed:
            ends, weights = ends + [(v, u) for u, v in ends], 2 * weights
        if min(after for _, after in weights) < 0 or before.bounds is None:
            return self.proves(self.analysis.tails, self.analysis.heads, self.elimination.weights)
        self.bounds = before.bounds.changed(ends, weights, self.elimination, before.elimination)
        return self.holds or self.proves(self.analysis.tails, self.analysis.heads, self.elimination.weights)

    @property
    def holds(self) -> bool:
        """Whether the integer dtype is known to hold all distances."""
        farthest = math.inf if self.bounds is None else self.bounds.farthest
        return min(self.longest, farthest) < dtypes.SCALARS[self.dtype].high or not self.semiring.mul.saturating

    def proves(self, tails: np.ndarray, heads: np.ndarray, weights: np.ndarray) -> bool:
        """Prove by one row and one column that the integer dtype holds all distances; False if not proven.

        With lengths ℓ minimised by ⊕ and v connected both ways with all vertices, every distance is at most max ℓ(·, v)
        + max ℓ(v, ·). If no arc u → w undercuts ℓ(u, v) − ℓ(w, v), those are potentials (Johnson 1977): no cycle is
        negative, and distances are at least min ℓ(·, v) − max ℓ(·, v). Sums of extremes are Python integers. For
        non-negative lengths the graph may be disconnected: see `Bounds`.
        """
        E, lengths = self.elimination, Lengths.of(self.semiring)
        if lengths is None:
            return False
        v, zero, sign = self.centre, dtypes.zero(E.semiring, E.dtype), int(lengths.sign)
        if weights.min() >= 0 if sign > 0 else weights.max() <= 0:
            self.bounds = Bounds.of(E, weights, v, sign)
            return self.holds
        walked = weights != zero
        length = sign * weights[walked].astype(np.int64)
        into, out = host(E.column(v)), host(E.row(v))
        if (into == zero).any() or (out == zero).any():
            return False
        into, out = sign * into.astype(np.int64), sign * out.astype(np.int64)
        least, most = int(into.min()), int(into.max())
        if max(most + int(out.max()), most - least) >= dtypes.SCALARS[E.dtype].high:
            return False
        return bool((into[tails[walked]] - into[heads[walked]] <= length).all())

    @property
    def nbytes(self) -> int:
        return self.elimination.nbytes + (0 if self.hubs is None else self.hubs.nbytes)

    @property
    def workspace(self) -> int:  # type: ignore[override] # a value in the base class
        """A panel per thread."""
        return 0 if self.device != "cpu" else self.elimination.workspace

    def rows(self, wanted: np.ndarray, block: int | None = None) -> Blocks:
        """A climb and a sweep per batch."""
        found = self.elimination.rows(wanted, block=block)
        if self.potential is None:
            return found
        return ((lines, self._restored(D, lines[:, None], slice(None))) for lines, D in found)

    def column(self, j: int) -> np.ndarray:
        """One sweep of the transposed panels."""
        return self._restored(host(self.elimination.column(j)), slice(None), j)

    def row(self, i: int) -> np.ndarray:
        return self._restored(host(self.elimination.row(i)), i, slice(None))

    def hub_labels(self) -> None:
        if self.hubs is None:
            self.hubs = self.elimination.hub_labels()

    @property
    def pairs_on_device(self) -> sparse.HubLabels | None:
        """Hub labels on a GPU, else None."""
        return self.hubs if self.device == "cuda" and self.potential is None else None

    @property
    def _pairs(self) -> tuple[sparse.Elimination | sparse.HubLabels, float]:
        """The structure that answers pairs, and its cost a pair in pairs of a row."""
        if self.hubs is None:
            return self.elimination, 2 * self.elimination.cost.climb
        return self.hubs, LOOKED_UP + PASSED * self.elimination.cost.height

    def entry(self, i: int, j: int) -> Scalar:
        """Distance by hub labels, else by two climbs that meet."""
        found = (self.hubs or self._on_host(1) or self.elimination).entry(i, j)
        return found if self.potential is None else self._restored(np.array([found]), i, j)[0]

    def entries(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Distances by hub labels, else by climbs that meet and sweeps along root paths; by rows where faster."""
        if self.pairs_on_device is not None:
            return self.pairs_on_device.entries(i, j)
        sources, targets = (np.count_nonzero(np.bincount(x.ravel(), minlength=1)) for x in (i, j))
        (pairs, each), cost = self._pairs, self.elimination.cost
        few = i.size <= FEW * min(sources, targets) or sources * targets <= 4 * i.size
        if (few and self.device == "cpu" and self.hubs is None) or each * i.size <= sources * (cost.sweep + cost.climb):
            return self._restored(host(pairs.entries(i, j)), i, j)
        return super().entries(i, j)

    def block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Submatrix by entries if few, else by climbs and sweeps along the root paths of these vertices."""
        if self.pairs_on_device is not None:
            step = max(1, AT_ONCE // max(1, len(j)))
            parts = [self.pairs_on_device.entries(i[k : k + step, None], j) for k in range(0, len(i), step)]
            return np.concatenate([np.empty((0, len(j)), self.dtype), *parts])
        (pairs, each), cost, on_host = self._pairs, self.elimination.cost, self.device == "cpu"
        limit = cost.sweep if on_host else min(len(i), len(j)) * (cost.sweep + cost.climb)
        if each * len(i) * len(j) <= limit:
            return self._restored(host(pairs.entries(i[:, None], j)), i[:, None], j)
        return self._restored(self.elimination.block(i, j), i[:, None], j) if on_host else super().block(i, j)

    def part(self, i: np.ndarray, j: np.ndarray) -> Array:
        """Columns by batches, unless rows are fewer."""
        on_device = self.elimination.on_device
        if on_device is None or self.potential is not None or len(j) > len(i):
            return super().part(i, j)
        return on_device.part(i, j)

    def path(self, u: int, v: int, edges: Edges) -> list[int] | None:
        from semiring.sparse import paths  # with numba

        E = self._on_host(A_PATH) if self.potential is None else None
        return None if E is None else paths.best_path(E, u, v, edges)

    def paths(self, sources: np.ndarray, targets: np.ndarray, edges: Edges) -> tuple[np.ndarray, np.ndarray] | None:
        from semiring.sparse import paths  # with numba

        E = self._on_host(A_PATH * len(sources)) if self.potential is None else None
        return None if E is None else paths.predecessor_paths(E, sources, targets, edges)

    def nearest(self, wanted: np.ndarray, *, towards: bool) -> tuple[np.ndarray, np.ndarray] | None:
        """One climb and one sweep from all sources, if ⊗ adds (else equal distances may hide the nearest)."""
        from semiring.sparse import paths  # with numba

        if self.potential is not None or not self.semiring.lengths or not len(wanted):
            return None
        return paths.nearest(self.elimination, wanted, mirrored=towards)

    def _on_host(self, asked: int) -> sparse.Elimination | None:
        """The factors in host memory; of a GPU, computed when enough single pairs were asked, None until then."""
        if self.device == "cpu":
            return self.elimination
        self._singles += asked
        if self._twin is None and self._singles > SINGLES:
            try:
                self._twin = self._eliminated("cpu")
            except MemoryNeeded:
                self._singles = -math.inf
        return self._twin

    def _eliminated(self, device: str, *, check: bool = False) -> sparse.Elimination:
        h, weights = self.potential, self.weights
        lengths = weights if h is None else self._reweighted(weights, h)
        return sparse.Elimination(
            self.analysis, lengths, self.semiring, dtype=weights.dtype, threads=self.threads, check=check, device=device
        )

    def panels(self, *, columns: bool = False) -> Blocks:
        found = self.elimination.panels(columns=columns)
        return ((lines, self._true(lines, panel, columns)) for lines, panel in found)

    def reduced(self, of: Callable[[Array], Array], *, columns: bool = False, **share: Any) -> Blocks:
        """Each panel is reduced by the thread that swept it; `share` (k, count): every count-th from the k-th on."""
        return self.elimination.reduced(
            lambda lines, panel: of(self._true(lines, panel, columns)), columns=columns, **share
        )

    def worst(self, of: Callable[[Array], Array], *, columns: bool = False, **share: Any) -> Blocks:
        """On a GPU fused into the sweep, without writing rows."""
        device_elimination = self.elimination.on_device
        if device_elimination is None or self.potential is not None:
            return self.reduced(of, columns=columns, **share)
        found: Blocks = device_elimination.worst(columns=columns, **share)
        return found

    def _true(self, lines: np.ndarray, panel: np.ndarray, columns: bool) -> np.ndarray:
        """Distances from a panel on reweighted arcs."""
        if self.potential is None:
            return panel
        every = np.arange(self.shape[0])[:, None]
        return self._restored(panel, *((every, lines) if columns else (lines, every)))

    def flows(
        self, edges: Edges, sources: np.ndarray, asked: Asked, report: Callable[[int], None]
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Adjoint of the sweep, for exact lengths."""
        from semiring.sparse.flows import flows, worthwhile  # with numba

        E, used = self.elimination, edges[2] != dtypes.zero(self.semiring, edges[2].dtype)  # zeros are closed edges
        if self.potential is not None or not worthwhile(E, len(edges[0]), len(sources)):
            return None
        if self.device != "cpu" and callable(asked):  # the GPU needs one demand for all sources
            return None
        every = bool(used.all())
        tails, heads, weights = edges if every else (x[used] for x in edges)
        try:
            found = flows(E, tails, heads, weights, self.threads)
            if not found.suitable or not found.add(sources, asked, report):
                return None
        except MemoryNeeded:  # rows need less
            return None
        along = found.along()
        if not every:
            along, some = np.zeros(len(used)), along
            along[used] = some
        return along, found.ends

    def table(self) -> Array:
        # The GPU elimination allocates by itself.
        return super().table() if self.device == "cpu" or self.potential is not None else self._all()

    def quantity(self, word: Word) -> Array:
        there, wide = self.elimination.on_device, {self.dtype.name, word.dtype.name} <= {"int64", "float64"}
        if there is None or self.potential is not None or word.unit != (1, 1) or not wide:
            return super().quantity(word)
        return there.dense(word=(word.shift, word.bits, word.dtype))

    def fill(self, out: np.ndarray) -> None:
        if self.potential is None and self.device == "cpu":
            self.elimination.to_dense(out)
        else:
            super().fill(out)

    def _all(self) -> np.ndarray:
        return self.elimination.to_dense() if self.potential is None else super()._all()
