"""Whatever describes a graph → `Graph`. A kind of source is one module of this package, with a record `KIND`.

| module    | what                                              | recognised by                   |
|-----------|---------------------------------------------------|---------------------------------|
| graph     | a `Graph`                                         | its class                       |
| files     | a path, "-", an open file or buffer               | str, path, `read`               |
| geopandas | a GeoPandas frame of lines                        | `to_crs`, `columns`, `geometry` |
| frames    | a table that narwhals knows: pandas, Polars, …    | the library its class is from   |
| sparse    | a SciPy or CuPy sparse matrix                     | `tocoo`                         |
| networkx  | a NetworkX graph                                  | `adjacency`, `is_multigraph`    |
| igraph    | an igraph Graph                                   | `es`, `vs`, `get_edgelist`      |
| rustworkx | a rustworkx PyGraph or PyDiGraph                  | `weighted_edge_list`            |
| networkit | a NetworKit Graph                                 | `iterEdgesWeights`              |
| geometric | PyTorch Geometric's `Data`                        | `edge_index`, `num_nodes`       |
| indices   | (edge_index, weights), of shapes (2, m) and (m,)  | their shapes                    |
| pairs     | {(u, v): weight}; a Series with two index levels  | keys that are pairs             |
| dicts     | a dict of dicts, or of lists                      | dict                            |
| edges     | tuples (u, v) or (u, v, weight)                   | an iterable of tuples           |
| matrix    | an array of shape (n, n), or a list of lists      | `__array__`, `__dlpack__`, list |

They are asked in this order, the most telling sign first; none of the libraries is imported but by its own objects.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np

from semiring.errors import DTypeError
from semiring.spelling import came

from .. import formats
from ..graph import Graph
from ..labels import Labels
from ..reading.options import ANYHOW, BY_RULE, Columns, NullValue, Reading, Weight, nulls_of, positional
from ..reading.positions import places_of
from .base import Kind

__all__ = ["NAMES", "Kind", "as_graph", "is_array", "kinds", "write"]

#: The modules, in the order in which they are asked.
NAMES = (
    *("graph", "files", "geopandas", "frames", "sparse", "networkx", "igraph", "rustworkx", "networkit", "geometric"),
    *("indices", "pairs", "dicts", "edges", "matrix"),
)


@cache
def kinds() -> dict[str, Kind]:
    """Every kind by its module's name."""
    return {name: import_module(f".{name}", __name__).KIND for name in NAMES}


@cache
def _of_arrays() -> tuple[Kind, ...]:
    """Those that NumPy's own arrays may be."""
    return tuple(kind for kind in kinds().values() if kind.arrays)


def as_graph(
    source: Any,
    *,
    weight: Weight = BY_RULE,
    columns: Columns | None = None,
    directed: bool | None = None,
    unweighted: bool = False,
    null_value: NullValue = BY_RULE,
    format: str | None = None,
    name: str = "",
    places: Any = None,
) -> Graph:
    """The graph that `source` describes.

    Parameters
    ----------
    source
        - an array of shape (n, n), NumPy, CuPy, PyTorch, JAX or anything with DLPack or `__cuda_array_interface__`,
          of any strides and byte order, or a list of lists: the matrix. It is not copied and stays on its device. A
          missing edge is the zero of the semiring it is used with: inf in min-plus, False in the Boolean one.
        - a list (or tuple, set, iterator) of tuples (u, v) or (u, v, weight) with any labels: the edges. Tuples
          make the difference: [[0, 1], [1, 0]] is a matrix, [(0, 1), (1, 0)] is two edges. An array of edges goes
          through `Graph.from_edges`; one of integers of shape (2, 2) or (3, 3), which may be either, is refused, as
          such a table is: say `Graph.from_matrix(A)` or `Graph.from_edges(A)`. (`closure` takes matrices alone.)
        - (edge_index, weights): an integer array of shape (2, m) and its m weights, or None; also edge_index alone
          with `weight=weights` or `weight=None` (not of shape (2, 2), which may be a matrix). Vertices are as many as
          its largest number says.
        - a dict of dicts {u: {v: weight}} or {u: {v: {attribute: value}}}, or of lists {u: [v, …]}; keys come first.
          Or a dict {(u, v): weight}, or a pandas Series whose index has two levels, u and v: edges.
        - a path to a file, "-" for standard input, an open file or an `io` buffer: see `apsp.read`.
        - a table (pandas, Polars, PyArrow, whatever narwhals knows): a long one lists edges, by the columns' names as
          in a file; a wide one, with as many rows as columns and the same labels on both, is a matrix.
        - a frame of GeoPandas: lines are edges, between vertices that columns such as from and to name (or levels u, v
          of the index), else the coordinates of their ends, which are their places. One column must be the weight.
        - a SciPy sparse matrix or array: its explicit entries are the edges, explicit zeros are edges of weight 0;
          Boolean ones are unweighted edges.
        - a graph of NetworkX (multigraphs included), igraph, rustworkx, NetworKit, or PyTorch Geometric; vertices
          keep their names and order. rustworkx's are named by their payloads where all of these are distinct strings.
        - a `Graph`.

        Durations, as Timedeltas, NumPy's timedelta64 or, in files and tables, texts hh:mm:ss, weigh their seconds.
    weight : str, int, callable, array_like or None, optional
        Files and tables: the column that holds the weight, by name or position. Graphs: the edge attribute, without
        which an edge weighs 1; or, for NetworkX and rustworkx, a function `weight(u, v, data)` that returns a number,
        or None where there is no edge. An edge_index: the weights. None makes every edge weigh 1. By default it is the
        one column or attribute that holds numbers; of several, the one that is called weight, length, cost, distance,
        dist, w, value, km, minutes or the like (`apsp.read`). Where that does not settle it, nothing is read; where no
        attribute holds numbers, every edge weighs 1.
    columns : (FROM, TO) or (FROM, TO, WEIGHT), optional
        Files and tables: the columns, by name; or by position from 0, which also says that there is no header. Without
        it, see `apsp.read`.
    directed : bool, optional
        Whether edges lead one way only; by default what the source says, and where it says nothing, they do.
    unweighted : bool
        The same as `weight=None`: every edge weighs 1. The edges of a matrix are its True or its finite entries; of one
        of numbers with zeros off the diagonal, where none is infinite, the ones, and all others must be zeros.
    null_value : number or None, optional
        An entry of a matrix that is no edge, other than the semiring's zero: 0 for adjacency matrices as NetworkX and
        SciPy write them; None where all others are edges, zeros too. Path functions require it of a dense matrix of
        numbers with zeros off the diagonal, where no entry is infinite. Stored zeros of a sparse matrix, and edges of
        weight 0, are edges unless it is 0.
    format : str, optional
        Files: as in `apsp.read`.
    name : str
        By default the source's own.
    places : path, mapping, array of shape (n, 2), or GeoPandas frame of points, optional
        Where the vertices are, as longitude and latitude or x and y: a file (DIMACS `.co`, points in `.geojson`, a
        `.csv` with columns such as id, lon, lat), or by label, or in the order of the vertices. Labels that a list of
        edges does not name become vertices without edges; in a file, they are of no concern. By default
        what the source says: the node attributes `x` and `y` of NetworkX and OSMnx, the ends of lines.

    Returns
    -------
    Graph

    Raises
    ------
    ShapeError, DTypeError, DomainError, VertexError, FormatError
        If the source is not a graph: not square, not numbers, NaN, labels that repeat, a malformed file, columns that
        do not say which of them holds what. Entries of a dense matrix are looked at once, where they lie, by the
        closure.

    See Also
    --------
    read : A file, with the options of formats.
    write : The way back.
    Graph.from_matrix, Graph.from_arrays, Graph.from_edges : What is meant, said outright.

    Notes
    -----
    An array is not copied. Anything else becomes a list of m edges, two int64 and a weight each: O(n + m) time and
    memory.

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
    if unweighted and weight is not BY_RULE and weight is not None:
        raise ValueError(f"as_graph: unweighted=True must come without a weight, got weight={came(weight)}.")
    if columns is not None:
        positional(columns)  # refuses what is malformed
    nulls = None if null_value is BY_RULE else nulls_of(null_value)
    reading = Reading(None if unweighted else weight, columns, format, nulls, directed)
    kind = _kind_of(source, reading)
    if weight is not BY_RULE or unweighted or columns is not None or format is not None:
        _check(kind, reading)
    graph = kind.convert(source, reading)
    graph = _with_placed(graph, places) if kind.lists else graph
    xy = None if places is None else places_of(places, graph.labels)
    return graph.having(
        directed=directed, weighted=reading.weight is not None, nulls=reading.nulls, name=name, places=xy
    )


def write(graph: Any, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write a graph, or whatever `as_graph` takes; the file appears complete or not at all.

    Parameters
    ----------
    graph : Graph or graph-like
    path, format
        As in `apsp.formats.write`.

    Raises
    ------
    FormatError
        If the format cannot express this graph.
    OSError
        If the file cannot be written.

    See Also
    --------
    apsp.formats.write : The same of a `Graph`, and what formats keep.
    read, as_graph : The way back.

    Notes
    -----
    O(n + m) for n vertices and m edges, O(n²) for a matrix.

    Examples
    --------
    >>> write([("A", "B", 4)], "/dev/null", format="csv")
    """
    formats.write(as_graph(graph), path, format=format)


def is_array(source: Any) -> bool:
    """Whether `as_graph` would take this as a matrix: an array, not a table or another library's graph.

    Parameters
    ----------
    source
        Anything.

    Returns
    -------
    bool

    Raises
    ------
    DTypeError
        If `as_graph` takes no such thing at all.

    See Also
    --------
    as_graph : What takes it.

    Notes
    -----
    O(1): only the type is looked at.

    Examples
    --------
    >>> is_array([[0, 1], [1, 0]]), is_array([(0, 1), (1, 0)])
    (True, False)
    """
    return _kind_of(source, ANYHOW) is kinds()["matrix"]


def _with_placed(graph: Graph, places: Any) -> Graph:
    """The graph with the vertices that have a place and no edge, if any of its own has a place."""
    places = getattr(places, "geometry", places)
    if graph.rows is None or not callable(getattr(places, "items", None)):
        return graph
    more = [label for label, _ in places.items() if label not in graph.labels]
    if not more or len(more) == len(places):
        return graph
    return replace(graph, n=graph.n + len(more), labels=Labels([*graph.labels, *more]))


def _kind_of(source: Any, reading: Reading) -> Kind:
    for kind in _of_arrays() if type(source) is np.ndarray else kinds().values():
        if kind.recognises(source, reading):
            return kind
    known = "; ".join(kind.description for kind in kinds().values())
    raise DTypeError(f"as_graph: source must be one of these: {known}. Got {type(source).__qualname__}.")


def _check(kind: Kind, reading: Reading) -> None:
    """Refuse what this kind would not heed."""
    if reading.columns is not None and not kind.columns:
        raise ValueError(f"as_graph: columns must come with a file or a table, got them with {kind.description}.")
    if reading.format is not None and kind is not kinds()["files"]:
        raise ValueError(f"as_graph: format must come with a file, got it with {kind.description}.")
    if reading.named and not kind.accepts(reading.weight):
        takes = f"{kind.weights}, or None" if kind.weights else "None, if anything"
        raise ValueError(
            f"as_graph: weight must be {takes} for {kind.description}, got {type(reading.weight).__name__} "
            f"{reading.weight if isinstance(reading.weight, (str, int)) else ''}".rstrip()
            + "."
        )
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
