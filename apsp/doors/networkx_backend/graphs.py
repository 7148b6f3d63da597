"""A NetworkX graph in this backend: the graph and arrays converted from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import isgenerator
from itertools import chain
from typing import Any

import networkx as nx
import numpy as np
from networkx.utils.backends import _registered_algorithms

from semiring.algebra.catalog import min_plus
from semiring.dense.ranking import Ranking
from semiring.host.errors import NegativeCycleError
from semiring.host.types import Fields, Function, Label, Scalar, Values, Weight

from ...csgraph.conversion import FLOAT, Network
from ...csgraph.engines import Rows, potentials
from ...road.arcs import SINGLE

#: {node: distance} from one source, and {source: such a dict}.
Lengths = dict[Label, Scalar]
AllLengths = dict[Label, Lengths]
#: Bytes of a block of distances.
BLOCK = 1 << 28
#: Largest integers exact in float64 and float32.
_EXACT, _SHORT = 2**53, 2**24


class Unsupported(Exception):
    """A call that NetworkX must answer, for weights that only Python can add, or for its exceptions."""


class Converted:
    """The result of `convert_from_nx`, which NetworkX caches: the original graph, and its nodes."""

    __networkx_backend__ = "apsp"

    def __init__(self, graph: nx.Graph) -> None:
        self.graph = graph
        self.nodes = list(graph)
        self._arcs: dict[Weight, Arcs] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Label]:
        return iter(self.nodes)

    def __contains__(self, node: Label) -> bool:
        return node in self.graph

    def is_directed(self) -> bool:
        return bool(self.graph.is_directed())

    def is_multigraph(self) -> bool:
        return bool(self.graph.is_multigraph())

    @property
    def names(self) -> np.ndarray:
        return np.fromiter(self.nodes, object, len(self))  # np.array would look into nodes that are tuples

    def positions(self, nodes: Iterable[Label]) -> np.ndarray:
        position = {node: k for k, node in enumerate(self.nodes)}
        return np.array([position[node] for node in nodes], np.int64)

    def arcs(self, weight: Weight = None) -> Arcs:
        """Arcs weighing 1, by attribute (cached) or function; unsupported unless finite and exact in float64."""
        found = self._arcs.get(weight) if not callable(weight) else None
        if found is None:
            found = _arcs(self.graph, self.nodes, weight)
            if not callable(weight):
                self._arcs[weight] = found
        return found


def answered(name: str, function: Function, G: Converted, *args: Any, **kwargs: Any) -> Any:
    """The answer of a function of this backend, or NetworkX's own, from the beginning, if it raises `Unsupported`."""
    args = tuple(list(x) if isinstance(x, Iterator) else x for x in args)  # both may read them
    kwargs = {key: list(x) if isinstance(x, Iterator) else x for key, x in kwargs.items()}
    if "seed" in kwargs:  # a generator already, unless the backend is called directly
        kwargs["seed"] = nx.utils.create_py_random_state(kwargs["seed"])
    try:
        found = function(G, *args, **kwargs)
        return _items(found, lambda: _original(name, G, args, kwargs)) if isgenerator(found) else found
    except Unsupported:
        pass
    return _original(name, G, args, kwargs)


def _items(found: Iterator[object], otherwise: Callable[[], Iterator[object]]) -> Iterator[object]:
    try:
        yield from found
        return
    except Unsupported:  # before the first item
        pass
    yield from otherwise()


def _original(name: str, graph: Converted, args: Values, kwargs: Fields) -> Any:
    function = _registered_algorithms.get(name) or getattr(nx, name)  # not registered: barycenter, an alias since 3.7
    return function.orig_func(graph.graph, *args, **kwargs)


def hand_over_if(unsupported: bool) -> None:
    """Raise Unsupported in that case."""
    if unsupported:
        raise Unsupported


def nonnegative(G: Converted, weight: Weight) -> Arcs:
    """The arcs; Unsupported if a weight is negative."""
    arcs = G.arcs(weight)
    hand_over_if(arcs.least < 0)
    return arcs


def without_cycle(G: Converted, weight: Weight) -> Arcs:
    """The arcs; Unsupported if a cycle is negative: NetworkX raises only for sources that reach it."""
    arcs = G.arcs(weight)
    try:
        if arcs.least < 0:
            potentials(arcs)
    except NegativeCycleError:
        raise Unsupported from None
    return arcs


@dataclass(frozen=True)
class Arcs(Network):
    """The network of arcs in adjacency order, with the least of parallel weights; `integral` if all are integers."""

    integral: bool = False

    def reversed(self) -> Arcs:
        return replace(self, ends=self.heads, heads=self.tails)

    def to(self, dtype: np.dtype) -> Arcs:
        """The arcs with distances in a dtype that holds them."""
        return self if dtype == self.dtype else replace(self, dtype=dtype, weights=self.weights.astype(dtype))

    @cached_property
    def short(self) -> np.dtype:
        """float32 if it holds all sums of integer weights, else float64."""
        narrow = self.integral and float(np.abs(self.weights).max(initial=0)) * self.n < _SHORT
        return np.dtype(np.float32) if narrow else FLOAT

    @cached_property
    def ranking(self) -> Ranking:
        """What paths are searched for by."""
        return Ranking(min_plus, (self.tails, self.heads, self.weights), self.n, where="shortest_simple_paths")

    def distances(self, sources: np.ndarray | None = None, dtype: np.dtype = FLOAT) -> np.ndarray:
        many = sources is None or len(sources) >= SINGLE
        return Rows(self.to(self.short) if many else self, sources).distances().astype(dtype, copy=False)

    def blocks(
        self, sources: np.ndarray | None = None, dtype: np.dtype = FLOAT
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(positions, rows) of distances in blocks of 256 MiB."""
        return ((part, self.distances(asked, dtype)) for part, asked in self._parts(sources, 8))

    def blocks_with_predecessors(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """(positions, distances, predecessors) likewise."""
        return ((part, *Rows(self, asked).with_predecessors()) for part, asked in self._parts(None, 12))

    def _parts(self, sources: np.ndarray | None, size: int) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        """Sources whose rows of entries of `size` bytes fit a block, and as they are asked for: None for all."""
        step = max(1, BLOCK // max(size * self.n, 1))
        wanted = np.arange(self.n) if sources is None else sources
        for start in range(0, len(wanted), step):
            part = wanted[start : start + step]
            yield part, None if sources is None and len(part) == self.n else part

    def numbers(self, D: np.ndarray) -> list[Scalar]:
        """Finite distances as Python numbers, ints if integral."""
        return D.astype(np.int64).tolist() if self.integral else D.tolist()

    def number(self, x: Scalar) -> Scalar:
        return int(x) if self.integral and math.isfinite(x) else float(x)


def _arcs(graph: nx.Graph, nodes: list[Label], weight: Weight) -> Arcs:
    position = dict(zip(nodes, range(len(nodes)), strict=True))
    adjacency = graph._adj
    neighbours = [adjacency[u] for u in nodes]
    counts = list(map(len, neighbours))
    heads = np.fromiter(map(position.__getitem__, chain.from_iterable(neighbours)), np.int32, sum(counts))
    tails = np.repeat(np.arange(len(nodes), dtype=np.int32), counts)
    if weight is None:
        return Arcs(len(nodes), FLOAT, ends=tails, heads=heads, weights=np.ones(len(heads)), integral=True)
    try:
        values = list(_values(graph, nodes, weight))
    except TypeError as error:  # incomparable parallel edges, or raised by the function
        raise Unsupported(f"weights must compare, got {error}.") from None
    if callable(weight) and None in values:  # hidden edges
        weighted = np.array([value is not None for value in values], bool)
        tails, heads, values = tails[weighted], heads[weighted], [value for value in values if value is not None]
    weights, integral = _as_floats(values, len(nodes))
    return Arcs(len(nodes), FLOAT, ends=tails, heads=heads, weights=weights, integral=integral)


def _values(graph: nx.Graph, nodes: list[Label], weight: str | Callable[..., Scalar]) -> Iterable[Scalar]:
    """The weight of each arc, in adjacency order."""
    adjacency = graph._adj
    if callable(weight):
        return (weight(u, v, data) for u in nodes for v, data in adjacency[u].items())
    if graph.is_multigraph():
        return (_least([d.get(weight, 1) for d in edges.values()]) for u in nodes for edges in adjacency[u].values())
    return [data.get(weight, 1) for u in nodes for data in adjacency[u].values()]


def _least(weights: list[Scalar]) -> Scalar:
    """The least of parallel edges; NaN if any is, which min may skip."""
    return min(weights) if len(weights) < 2 or all(w == w for w in weights) else math.nan


def _as_floats(values: list[Scalar], n: int) -> tuple[np.ndarray, bool]:
    """The values as float64, and whether all are integers with exact sums of n."""
    kinds = set(map(type, values))
    integral = all(issubclass(kind, (int, np.integer)) for kind in kinds)
    if not integral and not all(issubclass(kind, (int, float, np.integer, np.floating)) for kind in kinds):
        raise Unsupported(f"weights must be int or float, got {', '.join(sorted(kind.__name__ for kind in kinds))}.")
    try:
        weights = np.array(values, FLOAT) + 0.0
    except OverflowError:
        raise Unsupported("weights must fit float64.") from None
    if not np.isfinite(weights).all():
        raise Unsupported("weights must be finite.")
    if integral and len(weights) and np.abs(weights).max() * max(n, 1) >= _EXACT:
        raise Unsupported("sums of integer weights must stay below 2**53.")
    if not integral and any(issubclass(kind, (int, np.integer)) for kind in kinds):
        large = np.flatnonzero(np.abs(weights) >= _EXACT).tolist()
        if any(isinstance(values[k], (int, np.integer)) and int(values[k]) != int(weights[k]) for k in large):
            raise Unsupported("float64 must hold every integer exactly.")
    return weights, integral
