"""Export of a `Graph`: SciPy sparse arrays, NetworkX, tables of edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from semiring.algebra import catalog, dtypes
from semiring.algebra.records import Semiring
from semiring.host.devices import host
from semiring.host.types import DType, Fields, Frame

from ..display import frames
from .entries import Edges, combine

if TYPE_CHECKING:
    from ..labels import Labels
    from . import Graph


def to_scipy(graph: Graph, semiring: str | Semiring, dtype: DType) -> Any:
    from scipy.sparse import csr_array

    s = catalog.get(semiring)
    rows, cols, weights = _joined(*graph.edges(s, dtype), s)
    start = np.searchsorted(rows, np.arange(graph.n + 1))
    return csr_array((weights, cols, start), shape=(graph.n, graph.n))


def _joined(rows: np.ndarray, cols: np.ndarray, weights: np.ndarray, s: Semiring) -> Edges:
    """Sorted distinct arcs, parallel ones combined by ⊕, without those of the semiring's zero."""
    order = np.lexsort((cols, rows))
    rows, cols, weights = rows[order], cols[order], weights[order]
    first = np.ones(len(rows), bool)
    first[1:] = (rows[1:] != rows[:-1]) | (cols[1:] != cols[:-1])
    zero = dtypes.zero(s, weights.dtype)
    joined = np.full(int(first.sum()), zero, weights.dtype)
    combine(joined, np.cumsum(first) - 1, weights, s)
    rows, cols, nonzero = rows[first], cols[first], joined != zero
    return rows[nonzero], cols[nonzero], joined[nonzero]


def to_networkx(graph: Graph, semiring: str | Semiring) -> Any:
    try:
        import networkx
    except ImportError:
        raise ImportError("to_networkx: NetworkX is required. Install it: `pip install networkx`.") from None
    rows, cols, weights = listed(graph, semiring)
    ends = np.stack([rows, cols]) if graph.directed else np.sort(np.stack([rows, cols]), axis=0)
    parallel = bool((np.diff(ends[:, np.lexsort(ends)]) == 0).all(axis=0).any())
    simple, multiple = (
        (networkx.DiGraph, networkx.MultiDiGraph) if graph.directed else (networkx.Graph, networkx.MultiGraph)
    )
    made = (multiple if parallel else simple)()
    if graph.name:
        made.name = graph.name
    made.add_nodes_from(graph.labels)
    tails, heads = ([graph.labels[k] for k in side.tolist()] for side in (rows, cols))
    if weights is None:
        made.add_edges_from(zip(tails, heads, strict=True))
    else:
        made.add_weighted_edges_from(zip(tails, heads, weights.tolist(), strict=True))
    return made


def to_frame(graph: Graph, semiring: str | Semiring, library: str | None) -> Frame:
    rows, cols, weights = listed(graph, semiring)
    named: Fields = {name: [graph.labels[k] for k in side.tolist()] for name, side in (("from", rows), ("to", cols))}
    return frames.columns(named if weights is None else {**named, "weight": weights}, library)


def same(a: Graph, b: Graph) -> bool:
    """See `Graph.__eq__`."""
    alike = a.n == b.n and (a.labels == b.labels or set(a.labels) == set(b.labels))
    return a is b or (alike and all(map(np.array_equal, _arcs(a, a.labels), _arcs(b, a.labels))))


def _arcs(graph: Graph, labels: Labels) -> Edges:
    """All arcs in the order of their ends, which are positions in `labels`; undirected edges both ways."""
    rows, cols, weights = listed(graph, "min_plus")
    weights = np.ones(len(rows), np.int64) if weights is None else host(weights)
    if graph.rows is not None and not graph.directed:
        back = rows != cols  # a loop leads back to where it began, once
        weights = np.concatenate((weights, weights[back]))
        rows, cols = np.concatenate((rows, cols[back])), np.concatenate((cols, rows[back]))
    if graph.labels != labels:
        rows, cols = labels.positions(list(graph.labels))[np.stack((rows, cols))]
    order = np.lexsort((weights, cols, rows))
    return rows[order], cols[order], weights[order]


def listed(graph: Graph, semiring: str | Semiring) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The edges as listed, undirected ones once; of a matrix, its entries; weights None if all are 1."""
    if graph.rows is not None and graph.cols is not None:
        return graph.rows, graph.cols, graph.weights
    s = catalog.get("boolean") if graph.unit or graph.dense.dtype.kind == "b" else catalog.get(semiring)
    rows, cols, weights = graph.edges(s)
    return rows, cols, None if weights.dtype.kind == "b" else weights
