"""Edges in containers of Python and NumPy: tuples, records, weights by pairs, dicts of vertices, an edge_index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from semiring.host.arrays import asarray
from semiring.host.errors import DTypeError, FormatError, ShapeError, VertexError
from semiring.host.spelling import came
from semiring.host.types import Array, Input, Label, Scalar

from ..graph import Graph
from ..graph.edge_lists import refuse_reordered
from ..labels import Labels, refuse_nameless
from ..reading.from_networkx import weights_of
from ..reading.lines import from_lines
from ..reading.options import BY_RULE, Reading, lists_columns
from .base import Kind, named
from .frames import is_table, of_table

_refuse = partial(FormatError, "records", None)


def _are_records(source: Input, reading: Reading) -> bool:
    """Dicts in a list, or an array with names for its fields."""
    listed = isinstance(source, (list, tuple)) and any(isinstance(row, Mapping) for row in source[:3])
    return listed or bool(getattr(getattr(source, "dtype", None), "names", None))


def of_records(source: Input, reading: Reading) -> Graph:
    """An edge a record, by the names of its fields; the weight is the one that holds numbers, or is called so."""
    names = getattr(getattr(source, "dtype", None), "names", None)
    rows = source if names is None else [dict(zip(names, row, strict=True)) for row in source.ravel().tolist()]
    for k, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise _refuse(f"every record must be a dict, got {type(row).__name__} for record {k}.")
    return from_lines([None] * len(rows), rows, reading, _refuse, "record")


def _are_indices(source: Input, reading: Reading) -> bool:
    """Two arrays that fit together; or one, with weights that exclude a matrix."""
    if isinstance(source, (tuple, list)):
        fits = len(source) == 2 and len(index := _shape(source[0])) == 2 and index[0] == 2
        return fits and (source[1] is None or _one_column(_shape(source[1])))
    index, weight = _shape(source), reading.weight
    if weight is None and index == (2, 2) and "int" not in str(getattr(source, "dtype", "")):
        return False  # a matrix: edge ends are integers
    return len(index) == 2 and index[0] == 2 and (weight is None or len(_shape(weight)) == 1)


def _of_indices(source: Input, reading: Reading) -> Graph:
    """The graph; n is the largest number + 1."""
    if reading.weight is None and _shape(source) == (2, 2):
        refuse_ambiguous(_host(source), where="as_graph")
    index, weights = source if isinstance(source, (tuple, list)) else (source, reading.weight)
    if reading.weight is not BY_RULE and isinstance(source, (tuple, list)):
        weights = reading.weight
    return from_indices(index, weights)


def refuse_ambiguous(ends: np.ndarray, *, where: str) -> None:
    """ShapeError for a 2 × 2 integer array that is another graph as a matrix than as two edges."""
    if not np.array_equal(ends, [[0, 1], [1, 0]]):
        raise ShapeError(
            f"{where}: unweighted integers of shape (2, 2) may be the matrix of two vertices or the ends of two edges, "
            f"got {ends.tolist()}. Pass A == 1 for a matrix, (edge_index, None) for edges."
        )


def from_indices(index: Array, weights: Array, *, n: int | None = None) -> Graph:
    """The graph of an edge_index and weights of shape (m,) or (m, 1), on any device."""
    rows, cols = _host(index)
    refuse_reordered(weights, "as_graph: weights must come in the order of the edges")
    values = None if weights is None else _host(weights)
    if values is not None and values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    return Graph.from_arrays(rows, cols, values, n=n)


def _host(array: Array) -> np.ndarray:
    found = asarray(array, where="as_graph")
    return found if isinstance(found, np.ndarray) else found.get()


def _one_column(shape: tuple[int, ...]) -> bool:
    return len(shape) == 1 or (len(shape) == 2 and shape[1] == 1)


def _shape(array: Array) -> tuple[int, ...]:
    if isinstance(array, (list, tuple)):
        return (len(array),) if all(isinstance(x, (int, float, np.number)) for x in array) else ()
    return tuple(getattr(array, "shape", ()))


def _are_pairs(source: Input, reading: Reading) -> bool:
    if isinstance(source, Mapping):
        pairs = all(isinstance(key, tuple) and len(key) == 2 for key in source)
        return (
            bool(source)
            and pairs
            and not any(
                isinstance(value, Iterable) and not isinstance(value, (str, bytes)) for value in source.values()
            )
        )
    return _is_series(source) and getattr(source.index, "nlevels", 1) == 2


def _of_pairs(source: Input, reading: Reading) -> Graph:
    """A pair per edge; vertices are sorted if comparable."""
    if _is_series(source):
        return of_table(source.rename_axis(["from", "to"]).reset_index(name="weight"), reading)
    return Graph.from_edges([(*ends, weight) for ends, weight in source.items()])


def _is_series(source: Input) -> bool:
    return type(source).__module__.partition(".")[0] == "pandas" and type(source).__name__ == "Series"


def _of_dicts(source: Mapping[Any, Any], reading: Reading) -> Graph:
    """Vertices are the keys in order, then those only in edges; edges are one-way."""
    if lists_columns(source):
        raise DTypeError(
            f"as_graph: the keys of {came(source)} may be columns or vertices. Pass pandas.DataFrame(…) for columns, "
            "edges as tuples for vertices."
        )
    if any(map(is_table, source.values())):
        raise DTypeError(
            "as_graph: the edges must be in one table, got a dict of tables, as of the sheets of a workbook. Pass one "
            f"of them: tables[{came(next(iter(source)))}]."
        )
    weighted = all(isinstance(heads, Mapping) for heads in source.values())
    arcs = [arc for tail, heads in source.items() for arc in _arcs(tail, heads, weighted, source)]
    position: dict[Any, int] = {}
    for name in (*source, *(head for _, head, _ in arcs)):
        try:
            position.setdefault(name, len(position))
        except TypeError:
            raise VertexError(f"as_graph: vertices must be hashable, got {came(name)} in a list of them.") from None
    refuse_nameless(position)
    rows, cols = (np.array([position[arc[side]] for arc in arcs], dtype=np.int64) for side in (0, 1))
    weights = _weights(arcs, reading) if weighted and reading.weight is not None else None
    return Graph.from_arrays(rows, cols, weights, labels=Labels(position))


def _arcs(tail: Label, heads: Any, weighted: bool, source: Mapping[Any, Any]) -> Iterable[tuple[Label, Label, Scalar]]:
    if weighted:
        return ((tail, head, value) for head, value in heads.items())
    if isinstance(heads, (str, bytes, Mapping)) or not isinstance(heads, Iterable):
        way = f"Say {{{came(tail)}: [{came(heads)}]}}, if that is a vertex."
        raise DTypeError(
            "as_graph: a dict must be {u: {v: weight}}, {u: [v, …]} or {(u, v): weight}, "
            f"got {type(heads).__name__} under {came(tail)}. "
            f"{'Of node-link data pass networkx.node_link_graph(data).' if 'nodes' in source else way}"
        )
    heads = list(heads)
    for head in heads:
        if isinstance(head, tuple) and head not in source:
            raise DTypeError(
                f"as_graph: a list under a vertex must hold vertices, got {came(head)} under {came(tail)}. "
                "Weights go in as {u: {v: weight}}; if it is a vertex, make it a key as well."
            )
    return ((tail, head, None) for head in heads)


def _weights(arcs: list[tuple[Label, Label, Scalar]], reading: Reading) -> list[Any] | None:
    """The weights, or the attribute requested or chosen by rule; None if there are none."""
    values = [value for _, _, value in arcs]
    attributes = [isinstance(value, Mapping) for value in values]
    if not any(attributes):
        return values
    if not all(attributes):
        raise DTypeError("as_graph: a dict of dicts must hold weights, or attributes, and not both.")
    if any(isinstance(inner, Mapping) for value in values for inner in value.values()):
        raise DTypeError(
            "as_graph: a dict of dicts must hold attributes, got the keys of a multigraph. Pass the graph."
        )
    return weights_of(values, reading, arcs)


def _are_tuples(source: Input, reading: Reading) -> bool:
    """A list containing a tuple, an empty one without directions, or an iterator."""
    if isinstance(source, (list, tuple)) and (source or reading.directed is not False):
        return any(isinstance(item, tuple) for item in source)
    arrays = ("__array__", "__dlpack__", "__cuda_array_interface__")
    return (
        isinstance(source, Iterable)
        and not isinstance(source, (memoryview, bytes, bytearray))
        and not any(hasattr(source, sign) for sign in arrays)
    )


def of_tuples(source: Iterable[Any], reading: Reading) -> Graph:
    """Edges of tuples, whose last item may be attributes, behind the key of a multigraph; records."""
    edges = list(source)
    if edges and isinstance(edges[0], Mapping):
        return of_records(edges, reading)
    having = [isinstance(e, tuple) and len(e) in (3, 4) and isinstance(e[-1], Mapping) for e in edges]
    if not any(having):
        if reading.named:
            what, got = came(reading.weight), came(edges[:1])
            raise ValueError(f"as_graph: edges must be (u, v, {{{what}: value}}) for a weight by name, got {got}.")
        return Graph.from_edges(edges)
    if not all(having):
        k = having.index(False)
        raise ShapeError(f"as_graph: edge {k} must be (u, v, {{attribute: value}}) like others, got {came(edges[k])}.")
    values = weights_of([edge[-1] for edge in edges], reading, edges)
    return Graph.from_edges([(*edge[:2], *(values[k : k + 1] if values else ())) for k, edge in enumerate(edges)])


KINDS = {
    "records": Kind(
        'records, as [{"from": u, "to": v, "weight": w}]',
        _are_records,
        of_records,
        columns=True,
        weights="the name of a field",
        accepts=named,
        lists=True,
    ),
    "indices": Kind(
        "(edge_index, weights)",
        _are_indices,
        _of_indices,
        weights="an array of one weight an edge",
        accepts=lambda weight: len(_shape(weight)) == 1,
        arrays=True,
    ),
    "pairs": Kind(
        "weights by pairs, as {(u, v): weight} or a pandas Series with two index levels",
        _are_pairs,
        _of_pairs,
        lists=True,
    ),
    "dicts": Kind(
        "a dict of dicts or lists",
        lambda source, reading: isinstance(source, Mapping),
        _of_dicts,
        weights="the name of an attribute",
        accepts=named,
        lists=True,
    ),
    "edges": Kind(
        "edges as tuples",
        _are_tuples,
        of_tuples,
        weights="the name of an attribute, of edges (u, v, {attribute: value})",
        accepts=named,
        lists=True,
    ),
}
