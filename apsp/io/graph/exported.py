"""Export of a `Graph`: SciPy sparse arrays, NetworkX, tables of edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from semiring.algebra import catalog, dtypes
from semiring.algebra.records import Semiring
from semiring.host.devices import host
from semiring.host.lazy import optional
from semiring.host.types import Algebra, DType, Edges, Fields, Frame

from ..display import frames
from ..labels import Labels
from .adjacency import Adjacency
from .entries import both_ways, combine

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Exported(Adjacency):
    """The part of `Graph` that leaves for SciPy, NetworkX and tables."""

    def to_scipy(self, semiring: Algebra = "min_plus", dtype: DType = None) -> csr_array:
        """The graph as a SciPy `csr_array`; undirected edges both ways.

        Edges of weight 0 are explicit zeros: `as_graph` and `scipy.sparse.csgraph` keep them, SciPy's sums and products
        and `eliminate_zeros` drop them. Row k is `labels[k]`.

        Parameters
        ----------
        semiring : str or Semiring
            Parallel edges are combined by its ⊕: over min_plus the least weight.
        dtype : dtype, optional
            As in `matrix`.

        Returns
        -------
        csr_array, shape (n, n)
            Sorted, without duplicates; edges of weight zero (inf in min-plus) are not stored.

        Examples
        --------
        >>> from apsp import Graph
        >>> A = Graph.from_edges([("A", "B", 4), ("A", "B", 3), ("B", "A", 0)]).to_scipy()
        >>> A.nnz, A.toarray()
        (2, array([[0, 3],
               [0, 0]], dtype=int32))
        """
        from scipy.sparse import csr_array as csr

        s = catalog.get(semiring)
        rows, cols, weights = _joined(*self.edges(s, dtype), s)
        start = np.searchsorted(rows, np.arange(self.n + 1))
        return csr((weights, cols, start), shape=(self.n, self.n))

    def to_networkx(self, semiring: str | Semiring = "min_plus") -> Any:
        """The graph as a NetworkX graph: nodes are the labels in order, weights the edge attribute `weight`.

        Parameters
        ----------
        semiring : str or Semiring
            Its zero marks the non-edges of a dense matrix.

        Returns
        -------
        networkx.DiGraph, Graph, MultiDiGraph or MultiGraph

        Notes
        -----
        ValueError if a label is None, which NetworkX forbids. O(n + m) time; hundreds of bytes an edge, in NetworkX's
        dictionaries. The class is as needed for direction and parallel edges; edges of an unweighted graph have no
        attribute.

        Examples
        --------
        >>> from apsp import Graph
        >>> Graph.from_edges([("A", "B", 4), ("B", "C", 7)]).to_networkx().edges(data=True)
        OutEdgeDataView([('A', 'B', {'weight': 4}), ('B', 'C', {'weight': 7})])
        """
        networkx = optional("networkx", "to_networkx: NetworkX is required")
        rows, cols, weights = listed(self, semiring)
        ends = np.stack([rows, cols]) if self.directed else np.sort(np.stack([rows, cols]), axis=0)
        parallel = bool((np.diff(ends[:, np.lexsort(ends)]) == 0).all(axis=0).any())
        simple, multiple = (
            (networkx.DiGraph, networkx.MultiDiGraph) if self.directed else (networkx.Graph, networkx.MultiGraph)
        )
        made = (multiple if parallel else simple)()
        if self.name:
            made.name = self.name
        made.add_nodes_from(self.labels)
        tails, heads = ([self.labels[k] for k in side.tolist()] for side in (rows, cols))
        if weights is None:
            made.add_edges_from(zip(tails, heads, strict=True))
        else:
            made.add_weighted_edges_from(zip(tails, heads, weights.tolist(), strict=True))
        return made

    def to_frame(self, library: str | None = None, *, semiring: str | Semiring = "min_plus") -> Frame:
        """The edges as a pandas or Polars table with columns `from`, `to` and, if weighted, `weight`.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            By default the installed one; pandas if both are.
        semiring : str or Semiring
            Its zero marks the non-edges of a dense matrix.

        Notes
        -----
        O(n + m) time and memory. One line per listed edge, undirected ones once: `as_graph(table, directed=False)`
        reads that back, without isolated vertices.

        Examples
        --------
        >>> from apsp import Graph
        >>> Graph.from_edges([("A", "B", 4), ("B", "C", 7)]).to_frame()  # doctest: +SKIP
          from to  weight
        0    A  B       4
        1    B  C       7
        """
        rows, cols, weights = listed(self, semiring)
        named: Fields = {name: [self.labels[k] for k in side.tolist()] for name, side in (("from", rows), ("to", cols))}
        return frames.columns(named if weights is None else {**named, "weight": weights}, library)


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


def same(a: Exported, b: Exported) -> bool:
    """See `Graph.__eq__`."""
    alike = a.n == b.n and (a.labels == b.labels or set(a.labels) == set(b.labels))
    return a is b or (alike and all(map(np.array_equal, _arcs(a, a.labels), _arcs(b, a.labels))))


def _arcs(graph: Exported, labels: Labels) -> Edges:
    """All arcs in the order of their ends, which are positions in `labels`; undirected edges both ways."""
    rows, cols, weights = listed(graph, "min_plus")
    weights = np.ones(len(rows), np.int64) if weights is None else host(weights)
    if graph.rows is not None and not graph.directed:
        rows, cols, weights = both_ways(rows, cols, weights)
    if graph.labels != labels:
        rows, cols = labels.positions(list(graph.labels))[np.stack((rows, cols))]
    order = np.lexsort((weights, cols, rows))
    return rows[order], cols[order], weights[order]


def listed(graph: Adjacency, semiring: str | Semiring) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The edges as listed, undirected ones once; of a matrix, its entries; weights None if all are 1."""
    if graph.rows is not None and graph.cols is not None:
        return graph.rows, graph.cols, graph.weights
    s = catalog.get("boolean") if graph.unit or graph.dense.dtype.kind == "b" else catalog.get(semiring)
    rows, cols, weights = graph.edges(s)
    return rows, cols, None if weights.dtype.kind == "b" else weights
