"""Sums over best paths: candidate arcs, tables of demand, NetworkX's scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from semiring.host.arrays import refuse_masked
from semiring.host.devices import host, is_plain, module, on_device
from semiring.host.errors import DomainError, ShapeError
from semiring.host.memory import require
from semiring.host.spelling import came
from semiring.host.types import Array, Edges, Label, Scalar
from semiring.kernels.backend import device_of

from ..io.graph import Graph
from ..io.inputs.frames import columns_of, is_table
from ..io.labels import Labels
from .routes import Trees


@dataclass(frozen=True)
class Arcs:
    """The arcs that best paths may take, without loops and parallels, and the arc of each edge of the graph.

    `edges` is CSR by tail with the best of parallel edges. For edge lists, `place` is the arc of each of `Graph.edges`,
    −1 for loops and worse parallels; `share` is its share of the arc's flow, equal among the best parallels.
    """

    edges: Edges
    tails: Array
    place: np.ndarray | None = None
    share: np.ndarray | None = None

    @classmethod
    def of(cls, trees: Trees, device: str = "cpu") -> Arcs:
        """The arcs of a graph; for a matrix whose table is on a GPU, there."""
        if device == "cuda" and (found := trees.tight_on_gpu()) is not None:
            return cls((found.starts, found.heads, found.weights), found.tails)
        n, greatest = trees.graph.n, trees.semiring.add.selects == "greatest"
        tails, heads, weights = trees.tight_edges()
        used = np.flatnonzero(tails != heads)
        pairs, arc = np.unique(tails[used] * n + heads[used], return_inverse=True)
        best = np.empty(len(pairs), weights.dtype)
        best[arc] = weights[used]  # any of them
        (np.maximum if greatest else np.minimum).at(best, arc, weights[used])
        chosen = weights[used] == best[arc]
        tight = trees.tight(pairs // max(n, 1), pairs % max(n, 1), best)
        pairs, best, arc = pairs[tight], best[tight], np.where(tight, np.cumsum(tight) - 1, -1)[arc]
        starts = np.searchsorted(pairs, np.arange(n + 1) * n).astype(np.int64)
        edges = starts, pairs % max(n, 1), best
        if trees.graph.dense is not None:
            return cls(edges, pairs // max(n, 1))
        place, chosen = np.full(len(tails), -1, np.int64), chosen & (arc >= 0)
        place[used[chosen]] = arc[chosen]
        share = 1.0 / np.maximum(np.bincount(arc[chosen], minlength=len(pairs)), 1)
        return cls(edges, pairs // max(n, 1), place, np.append(share, 0.0)[place])

    def of_edges(self, along: Array, graph: Graph) -> Array:
        """Flows by edge, both directions together, in edge order; for a matrix (n, n), on its device."""
        if self.place is None or self.share is None:
            require(8 * graph.n**2, device_of(self.tails), where="flows", hint="Pass the graph as a list of edges.")
            with on_device(self.tails):
                xp = module(self.tails)
                out = xp.zeros((graph.n, graph.n))
                out[tuple(ends.astype(np.int64) for ends in (self.tails, self.edges[1]))] = xp.asarray(along)
            return out
        rows, cols = graph.ends
        carried = host(along) if len(along) else np.zeros(1)
        both = carried.take(self.place, mode="clip")  # the share is 0 where place is −1
        both *= self.share
        out = both[: len(rows)]
        if graph.directed:
            return out
        back = both[len(rows) :]  # all but loops
        out[... if len(back) == len(out) else rows != cols] += back
        return out


@dataclass(frozen=True)
class Sums:
    """Flow through, and beginning or ending at, each vertex; and along each arc (None if not requested)."""

    through: np.ndarray
    ending: np.ndarray
    along: Array | None


@dataclass(frozen=True)
class Balance:
    """Lazy vertex sums from flow in and out, and from the part of inflow that stays; the rest goes on."""

    along: Array | None
    arriving: np.ndarray
    flow: Callable[[], tuple[np.ndarray, np.ndarray]]

    @classmethod
    def of(cls, arcs: Arcs, along: np.ndarray, arriving: np.ndarray) -> Balance:
        def flow() -> tuple[np.ndarray, np.ndarray]:
            into, out = (np.bincount(ends, along, len(arriving)) for ends in (arcs.edges[1], arcs.tails))
            return into, out

        return cls(along, arriving, flow)

    @cached_property
    def _flow(self) -> tuple[np.ndarray, np.ndarray]:
        return self.flow()

    @property
    def through(self) -> np.ndarray:
        """Clipped at 0 against rounding."""
        return np.asarray(np.maximum(self._flow[0] - self.arriving, 0.0))

    @property
    def ending(self) -> np.ndarray:
        return np.asarray(self.arriving + np.maximum(self._flow[1] - self.through, 0.0))


@dataclass(frozen=True)
class Scale:
    """NetworkX's scale of betweenness (version 3.6): factors for sampled sources, and for other vertices."""

    source: float
    other: float

    @classmethod
    def of(cls, n: int, *, directed: bool, normalized: bool, endpoints: bool, sampled: int | None) -> Scale:
        """For n vertices and `sampled` sources: without endpoints, a source lies between pairs of one source fewer."""
        ends = n if endpoints else n - 1
        if ends < 2:
            return cls(1.0, 1.0)

        def scale(sources: int) -> float:
            if not sources:
                return math.nan
            return 1 / (sources * (ends - 1)) if normalized else ends / (sources * (1 if directed else 2))

        other = scale(ends if sampled is None else sampled)
        return cls(other if sampled is None or endpoints else scale(sampled - 1), other)


@dataclass(frozen=True)
class Demand:
    """Demand between sources and targets: a table, or triples sorted by source."""

    table: Array
    origins: np.ndarray
    destinations: np.ndarray
    trips: np.ndarray
    targets: int

    @classmethod
    def of(cls, demand: Array, sources: Labels, targets: Labels) -> Demand:
        """Any input of `Result.flows`; raises ShapeError, DomainError, VertexError."""
        none, shape = np.empty(0, np.int64), (len(sources), len(targets))
        demand = np.asarray(demand) if isinstance(demand, memoryview) else demand
        if isinstance(demand, np.ndarray) or is_plain(demand):
            refuse_masked(demand, where="flows", way="A.filled(0)")
            if demand.shape != shape:
                raise ShapeError(
                    f"flows: demand must have a row a source and a column a target, shape {shape}, got {demand.shape}. "
                    "Pass triples (origin, destination, trips) as a list."
                )
            with on_device(demand):
                table, used = _numbers(demand)
            return cls(table, np.flatnonzero(host(used)), none, np.empty(0), shape[1])
        lists = isinstance(demand, list) and len(demand) == 3 and {*map(type, demand)} == {list}
        if shape == (3, 3) and lists and all(isinstance(x, Real) for row in demand for x in row):
            raise ShapeError("flows: three lists of three numbers may be a table or triples. Pass an array, or tuples.")
        origins, destinations, trips = _columns(demand)
        i, j = sources.positions(origins), targets.positions(destinations)
        order = np.argsort(i, kind="stable")
        return cls(None, i[order], j[order], _numbers(trips)[0][order], shape[1])

    @property
    def sources(self) -> np.ndarray:
        """Sources with demand, ascending."""
        return np.unique(self.origins)

    def rows(self, sources: np.ndarray) -> Array:
        """Demand from ascending sources, float64 (sources, targets), on the device of a table."""
        if self.table is not None:
            first, last = int(sources[0]), int(sources[-1]) + 1
            together = last - first == len(sources)
            return self.table[first:last] if together else self.table[module(self.table).asarray(sources)]
        out = np.zeros((len(sources), self.targets))
        first, last = np.searchsorted(self.origins, sources[0]), np.searchsorted(self.origins, sources[-1], "right")
        part = slice(first, last)
        np.add.at(out, (np.searchsorted(sources, self.origins[part]), self.destinations[part]), self.trips[part])
        return out


def _columns(demand: Array) -> tuple[list[Label], list[Label], list[Scalar]]:
    if is_table(demand):
        named = columns_of(demand)
        if missing := [name for name in ("origin", "destination", "trips") if name not in named]:
            raise ShapeError(
                f"flows: a table of demand must have the columns origin, destination and trips, got {list(named)}, "
                f"without {' and '.join(missing)}. Rename them."
            )
        return named["origin"], named["destination"], named["trips"]
    if not isinstance(demand, Iterable):
        raise ShapeError(f"flows: demand must be an array, a table, a mapping or triples, got {came(demand)}.")
    listed = list(demand)
    if isinstance(demand, Mapping):  # a non-pair gives a tuple that is no triple
        listed = [(*pair, q) if isinstance(pair, tuple) else (pair, q) for pair, q in demand.items()]
    for k, triple in enumerate(listed):
        if not isinstance(triple, tuple | list) or len(triple) != 3:
            raise ShapeError(
                f"flows: demand must be triples (origin, destination, trips), or lead from pairs to trips, got "
                f"{came(triple)} at {k}. A table of all pairs is an array."
            )
    return [u for u, _, _ in listed], [v for _, v, _ in listed], [q for _, _, q in listed]


def _numbers(trips: Any) -> tuple[Array, Array]:
    """Trips as floats, and the indices of non-zero rows, on the device of an array."""
    xp = module(trips) if is_plain(trips) else np
    try:
        given = trips if is_plain(trips) else np.asarray(trips)
        texts = given.dtype.kind == "O" and any(isinstance(x, (str, bytes)) for x in given.flat)
        if texts or given.dtype.kind in "cSU":  # complex ones would be cut to real parts
            raise TypeError
        found = xp.ascontiguousarray(given, np.float64)
        if isinstance(trips, list) and found.ndim > 1:  # lists of numbers
            raise TypeError
    except (TypeError, ValueError):
        shown = f"{trips.dtype} entries" if isinstance(trips, np.ndarray) else came(trips)
        raise DomainError(f"flows: trips must be numbers, got {shown}.") from None
    with np.errstate(over="ignore", invalid="ignore"):
        sums = found.sum(axis=-1)
    if not bool(xp.isfinite(sums).all()) and not bool(xp.isfinite(found).all()):  # sums alone may overflow
        raise DomainError("flows: trips must be finite numbers, got NaN or an infinity. Leave such pairs out.")
    if found.size and (least := float(found.min())) < 0:
        raise DomainError(
            f"flows: trips must be at least 0, got {least:g}. Ask for the flows of what is added and of what is taken "
            "away, and subtract them."
        )
    used = sums != 0
    if found.ndim > 1 and not bool(used.all()):
        used[~used] = (found[~used] != 0).any(axis=-1)
    return found, used
