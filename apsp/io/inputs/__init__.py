"""Conversion of any supported input to `Graph`. Each kind of input is a record in `KINDS` of a module of this package.

| kind      | source                                            | recognised by                   |
|-----------|---------------------------------------------------|---------------------------------|
| graph     | a `Graph`                                         | its class                       |
| files     | a path, "-", an open file or buffer               | str, path, `read`               |
| geopandas | a GeoPandas frame of lines                        | `to_crs`, `columns`, `geometry` |
| frames    | a table of a library known to narwhals: pandas, … | the library of its class        |
| sparse    | a SciPy or CuPy sparse matrix                     | `tocoo`                         |
| networkx  | a NetworkX graph; `G.edges(data=True)`            | `adjacency`, `is_multigraph`    |
| igraph    | an igraph Graph                                   | `es`, `vs`, `get_edgelist`      |
| rustworkx | a rustworkx PyGraph or PyDiGraph                  | `weighted_edge_list`            |
| networkit | a NetworKit Graph                                 | `iterEdgesWeights`              |
| geometric | PyTorch Geometric's `Data`                        | `edge_index`, `num_nodes`       |
| records   | [{"from": u, "to": v, "weight": w}]               | dicts in a list; named fields   |
| indices   | (edge_index, weights), of shapes (2, m) and (m,)  | their shapes                    |
| pairs     | {(u, v): weight}; a Series with two index levels  | keys that are pairs             |
| dicts     | a dict of dicts, or of lists                      | dict                            |
| edges     | tuples (u, v), (u, v, weight or attributes)       | an iterable of tuples           |
| matrix    | an array of shape (n, n), or a list of lists      | `__array__`, `__dlpack__`, list |

They are tried in this order, the most specific first; a library is imported only by its own objects.

Notes
-----
`is_array` is O(1), by type; `write` O(n + m), or O(n²) for a matrix.

See Also
--------
as_graph, read, is_array, write : The conversion, of files, and its inverse.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING

import numpy as np

from semiring.host.arrays import refuse_jax_sparse
from semiring.host.errors import DTypeError
from semiring.host.spelling import came, refuse_texts
from semiring.host.types import Array, Input

from ...road.registry import records
from .. import formats
from ..graph import Graph
from ..labels import Labels
from ..places import by_label
from ..reading.options import ANYHOW, BY_RULE, Columns, NullValue, Reading, Weight, nulls_of, positional
from ..reading.positions import places_of
from .base import Kind

if TYPE_CHECKING:
    from ...road.types import Source

__all__ = ["NAMES", "Kind", "as_graph", "is_array", "kinds", "write"]

#: Kinds, in order of recognition.
NAMES = (
    *("graph", "files", "geopandas", "frames", "sparse", "networkx", "igraph", "rustworkx", "networkit", "geometric"),
    *("records", "indices", "pairs", "dicts", "edges", "matrix"),
)


@cache
def kinds() -> dict[str, Kind]:
    found = {k: v for declared in records(__name__, "KINDS").values() for k, v in declared.items()}
    return {name: found[name] for name in NAMES}


@cache
def _of_arrays() -> tuple[Kind, ...]:
    return tuple(kind for kind in kinds().values() if kind.arrays)


def as_graph(
    source: Source,
    *,
    weight: Weight = BY_RULE,
    columns: Columns | None = None,
    directed: bool | None = None,
    unweighted: bool = False,
    null_value: NullValue = BY_RULE,
    format: str | None = None,
    name: str = "",
    places: Array = None,
) -> Graph:
    """Convert any supported input to a `Graph`.

    Parameters
    ----------
    source
        - an array of shape (n, n) (NumPy, CuPy, PyTorch, JAX, DLPack, `__cuda_array_interface__`; any strides and byte
          order) or a list of lists: the matrix. Not copied; stays on its device. A missing edge is the zero of the
          semiring in use: inf in min-plus, False in the Boolean one.
        - an iterable of tuples (u, v), (u, v, weight) or (u, v, {attribute: value}) with any labels, as
          `G.edges(data=True)`, or of records {"from": u, "to": v, "weight": w}: edges. Tuples make the difference:
          [[0, 1], [1, 0]] is a matrix, [(0, 1), (1, 0)] two edges. An array of edges goes through `Graph.from_edges`;
          integer arrays and tables of shape (2, 2) or (3, 3) are ambiguous and refused: use `Graph.from_matrix(A)` or
          `Graph.from_edges(A)`. (`closure` takes matrices only.)
        - (edge_index, weights): integers of shape (2, m) and m weights, or None; or edge_index alone with
          `weight=weights` or `weight=None` (not of shape (2, 2)). n is the largest number + 1.
        - {u: {v: weight}}, {u: {v: {attribute: value}}} or {u: [v, …]}; keys come first. Or {(u, v): weight}, or a
          pandas Series with the index levels u, v: edges.
        - a path to a file, "-" for standard input, an open file or an `io` buffer: see `apsp.read`.
        - a table (pandas, Polars, PyArrow, any known to narwhals): a long one lists edges, by column names as in a
          file; a square one with equal row and column labels is a matrix.
        - a GeoPandas frame of lines: edges between vertices named by columns such as from and to (or index levels
          u, v), else by the coordinates of their ends, which become the places. One column must be the weight.
        - a SciPy sparse matrix or array: explicit entries are edges, also zeros; Boolean ones are unweighted.
        - a graph of NetworkX (also multigraphs), igraph, rustworkx, NetworKit, or PyTorch Geometric; names and order
          are kept. rustworkx's payloads are names if all are distinct strings.
        - a `Graph`.

        Durations (Timedelta, timedelta64; in files and tables hh:mm:ss) weigh their seconds.
    weight : str, int, callable, array_like or None, optional
        Files and tables: the weight column, by name or position. Graphs: the edge attribute (missing: 1), or for
        NetworkX and rustworkx a function `weight(u, v, data)` that returns a number, or None for no edge. An
        edge_index: the weights. None makes every edge weigh 1. By default the only numeric column or attribute; of
        several, the one called weight, length, cost, distance, dist, w, value, km, minutes or the like (`apsp.read`),
        else an error. Edges weigh 1 if no attribute is numeric.
    columns : (FROM, TO) or (FROM, TO, WEIGHT), optional
        Files and tables: by name; or by position from 0, which implies no header. By default as in `apsp.read`.
    directed : bool, optional
        By default as the source says, else True.
    unweighted : bool
        Same as `weight=None`. Edges of a matrix are its True or finite entries; a numeric matrix with zeros off the
        diagonal and no infinity must be 0/1, and its ones are the edges.
    null_value : number or None, optional
        A matrix entry that is no edge, besides the semiring's zero: 0 for adjacency matrices of NetworkX and SciPy;
        None if all others, zeros too, are edges. Path functions require it of a dense numeric matrix with zeros off the
        diagonal and no infinity. Stored zeros of a sparse matrix, and edges of weight 0, are edges unless it is 0.
    format : str, optional
        Files: as in `apsp.read`.
    name : str
        By default the source's own.
    places : path, mapping, array of shape (n, 2), table, or GeoPandas frame of points, optional
        Longitude and latitude, or x and y, of the vertices: a file (DIMACS `.co`, points in `.geojson`, a `.csv` with
        columns such as id, lon, lat), by label, or in vertex order. Labels unknown to an edge list become isolated
        vertices (ignored in a file). By default the node attributes `x` and `y` of NetworkX and OSMnx, or ends of
        lines.

    Raises
    ------
    ShapeError, DTypeError, DomainError, VertexError, FormatError
        If the source is not a graph: not square, not numbers, NaN, repeated labels, a malformed file, ambiguous
        columns. Entries of a dense matrix are checked by the closure.

    See Also
    --------
    read, write : Files with format options; the inverse.
    Graph.from_matrix, Graph.from_arrays, Graph.from_edges : Explicit constructors.

    Notes
    -----
    An array is not copied. Anything else becomes an edge list: O(n + m) time, 24 bytes an edge.

    Examples
    --------
    >>> as_graph([("A", "B", 4), ("B", "C", 7)]).n
    3
    >>> as_graph({"A": {"B": 4}, "B": {"A": 1}}).matrix("min_plus", "float64")
    array([[inf,  4.],
           [ 1., inf]])
    >>> as_graph([[0, 4], [0, 0]], null_value=0).edge_count
    1
    """
    if isinstance(directed, str) or isinstance(unweighted, str):
        refuse_texts("as_graph", directed=directed, unweighted=unweighted)
    if unweighted and weight is not BY_RULE and weight is not None:
        raise ValueError(f"as_graph: unweighted=True must come without a weight, got weight={came(weight)}.")
    if columns is not None:
        positional(columns)  # refuses malformed ones
    nulls = None if null_value is BY_RULE else nulls_of(null_value)
    reading = Reading(None if unweighted else weight, columns, format, nulls, directed)
    kind = _kind_of(source, reading)
    if weight is not BY_RULE or unweighted or columns is not None or format is not None:
        _check(kind, reading)
    graph = kind.convert(source, reading)
    graph = _with_placed(graph, places) if kind.lists else graph
    xy, crs = (None, None) if places is None else places_of(places, graph.labels)
    return graph.having(
        directed=directed,
        weighted=reading.weight is not None,
        nulls=reading.nulls,
        name=name,
        places=xy,
        crs=crs,
    )


def write(graph: Input, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write any supported graph to a file, atomically.

    Parameters
    ----------
    graph : Graph or graph-like
    path, format
        As in `apsp.io.formats.write`.

    Raises
    ------
    FormatError, OSError
        If the format cannot express the graph; if the file cannot be written.

    Examples
    --------
    >>> write([("A", "B", 4)], "/dev/null", format="csv")
    """
    formats.write(as_graph(graph), path, format=format)


def is_array(source: Input) -> bool:
    """Whether `as_graph` takes this as a matrix: an array, not a table or a graph object.

    Parameters
    ----------
    source
        Anything.

    Raises
    ------
    DTypeError
        If `as_graph` does not support it.

    Examples
    --------
    >>> is_array([[0, 1], [1, 0]]), is_array([(0, 1), (1, 0)])
    (True, False)
    """
    return _kind_of(source, ANYHOW) is kinds()["matrix"]


def _with_placed(graph: Graph, places: Array) -> Graph:
    """The graph extended by isolated vertices that have a place, if any of its vertices has one."""
    places = by_label(places)
    if graph.rows is None or not callable(getattr(places, "items", None)):
        return graph
    more = [label for label, _ in places.items() if label not in graph.labels]
    if not more or len(more) == len(places):
        return graph
    return replace(graph, n=graph.n + len(more), labels=Labels([*graph.labels, *more]))


def _kind_of(source: Input, reading: Reading) -> Kind:
    if hasattr(type(source), "data_vars"):
        names = list(source.data_vars)
        way = f"Pass dataset[{names[0]!r}]."
        raise DTypeError(f"as_graph: a matrix must be one variable of a Dataset, got {came(names)}. {way}")
    if type(source) is not np.ndarray:
        refuse_jax_sparse(source, where="as_graph")
    for kind in _of_arrays() if type(source) is np.ndarray else kinds().values():
        if not isinstance(source, type) and kind.recognises(source, reading):
            return kind
    known = "; ".join(kind.description for kind in kinds().values())
    raise DTypeError(f"as_graph: source must be one of these: {known}. Got {type(source).__qualname__}.")


def _check(kind: Kind, reading: Reading) -> None:
    """Raise ValueError for options that this kind ignores."""
    if reading.columns is not None and not kind.columns:
        raise ValueError(f"as_graph: columns must come with a file or a table, got them with {kind.description}.")
    if reading.format is not None and kind is not kinds()["files"]:
        raise ValueError(f"as_graph: format must come with a file, got it with {kind.description}.")
    if reading.named and not kind.accepts(reading.weight):
        takes = f"{kind.weights}, or None" if kind.weights else "None"
        raise ValueError(f"as_graph: weight must be {takes} for {kind.description}, got {came(reading.weight)}.")
    if callable(reading.weight):
        try:
            signature(reading.weight).bind(None, None, None)
        except TypeError:
            raise ValueError(
                f"as_graph: weight must take u, v and the edge's data for {kind.description}, got a function of "
                f"{signature(reading.weight)}. Say weight=lambda u, v, data: …."
            ) from None
        except ValueError:  # a function of C, which has no signature
            pass
