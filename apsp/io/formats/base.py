"""Shared parts of formats: the record `Format`, graphs as lists for writing, names that read back unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import IO, Any

import numpy as np

from semiring.host.errors import FormatError
from semiring.host.spelling import came
from semiring.host.types import Edges, Label, Scalar

from ..graph import Graph
from ..reading.options import is_numeral
from .tokens import integral, is_vertex, show


@dataclass(frozen=True)
class Format:
    """One file format.

    Parameters
    ----------
    name : str
        Its name in `read(path, format=…)`.
    suffixes : tuple of str
        In lower case, with the dot, without `.gz`.
    description : str
        One line for people.
    sniff : callable or None
        `sniff(head)`: whether a file beginning with these bytes is in this format; None if content cannot tell.
    read : callable
        `read(source, **options)` returns a Graph or raises FormatError.
    write : callable or None
        `write(graph, file)` to a binary file; None for read-only formats.
    takes : tuple of str
        Options of `read`: "weight" and "columns" are passed as `reading`, others by name.
    rank : int
        Order of sniffing, ascending: 0 for magic bytes, 1 for a unique line, more for what lines look like.
    directions, fractions, weights : bool
        Whether edges can be one-way, weights other than integers, or other than 1. If not, `write` gets each edge once
        (undirected), integers, or no weights.

    See Also
    --------
    formats : All formats by name.

    Examples
    --------
    >>> from apsp.io.formats import formats
    >>> formats()["dimacs"].suffixes
    ('.gr',)
    """

    name: str
    suffixes: tuple[str, ...]
    description: str
    sniff: Callable[[bytes], object] | None
    read: Callable[..., Graph]
    write: Callable[[Graph, IO[bytes]], None] | None
    takes: tuple[str, ...] = ()
    rank: int = 1
    directions: bool = True
    fractions: bool = True
    weights: bool = True


#: Tails, heads and weights (or None) of arcs, as Python numbers.
Arcs = tuple[list[int], list[int], list[Any] | None]


def listed(graph: Graph) -> tuple[list[int], list[int], list[Scalar]]:
    """The arcs as Python numbers (unweighted: 1); FormatError for integers that stand for infinity."""
    rows, cols, weights = _arcs(graph)
    own, ends = weights if graph.weights is None else graph.weights, np.iinfo(np.int64)  # computed in any dtype
    infinite = own[(own == ends.max) | (own == ends.min)] if own.dtype == np.int64 else own[:0]
    if len(infinite):
        need = "between the ends of 64 bits, which stand for infinities"
        raise FormatError(graph.name or "graph", None, f"write: weights must be {need}, got {infinite[0]}. Write npz.")
    return rows.tolist(), cols.tolist(), [int(w) if w is True else w for w in weights.tolist()]


def fitted(graph: Graph, format: Format) -> Graph:
    """The graph reduced to what the format can express; FormatError, with the first edge, if that changes it."""
    if weighted(graph) and not (format.weights and format.fractions):
        graph = _list_of(graph, *_arcs(graph), directed=True) if graph.rows is None else graph
        graph = replace(graph, weights=_known(graph, format))
    return graph if format.directions else _undirected(graph, format.name)


def unreturned(rows: np.ndarray, cols: np.ndarray, weights: np.ndarray) -> int | None:
    """The index of an arc (u, v, w) without its own reverse (v, u, w), or None."""
    forward, back = np.lexsort((weights, cols, rows)), np.lexsort((weights, rows, cols))
    differ = (
        (rows[forward] != cols[back]) | (cols[forward] != rows[back]) | (weights[forward] != weights[back])
    )  # two sorted lists of the same triples are the same list
    if not differ.any():
        return None
    first = int(np.argmax(differ))
    i, j = int(forward[first]), int(back[first])
    # The lesser of the first two that differ is in only one list.
    return i if (rows[i], cols[i], weights[i]) < (cols[j], rows[j], weights[j]) else j


_OTHERS = "Write dimacs, plain, matrixmarket or npz"


def _undirected(graph: Graph, format: str) -> Graph:
    if graph.rows is not None and not graph.directed:
        return graph
    rows, cols, weights = _arcs(graph)
    wrong = unreturned(rows, cols, weights)
    if wrong is not None:
        u, v = (shown_label(graph.labels[int(ends[wrong])]) for ends in (rows, cols))
        raise unwritten(
            format,
            f"every edge must lead back with the same weight, as {format} files know no directions, got "
            f"{u} → {v} of weight {weights[wrong]:g}, which does not. Read it with "
            f"directed=False if edges lead both ways. {_OTHERS}, which know directions.",
        )
    once = rows <= cols
    return _list_of(graph, rows[once], cols[once], weights[once], directed=False)


def _known(graph: Graph, format: Format) -> np.ndarray | None:
    """Edge weights that the format can express: None, or integers."""
    (rows, cols), w = graph.ends, graph.weights
    assert w is not None
    if not format.weights:
        need, known, fits = "every edge must weigh 1", "weights", w == 1
        way_out = "Read it with weight=None if all edges count alike"
    elif w.dtype.kind == "i":
        return w
    else:
        need, known, fits = (
            "weights must be integers of 64 bits",
            "fractions",
            (np.rint(w) == w) & (np.abs(w) < 2.0**63),
        )
        way_out = "Scale and round them, leave missing edges out"
    if not fits.all():
        edge = int(np.argmin(fits))
        u, v = (shown_label(graph.labels[int(ends[edge])]) for ends in (rows, cols))
        raise unwritten(
            format.name,
            f"{need}, as {format.name} files know no {known}, got {came(w[edge].item())} on {u} → {v}. {way_out}, or "
            f"{_OTHERS.lower()}, which hold any number.",
        )
    return w.astype(np.int64) if format.weights else None


def _arcs(graph: Graph) -> Edges:
    return graph.edges("min_plus") if _numeric(graph) else graph.edges("lor_land")


def _list_of(graph: Graph, rows: np.ndarray, cols: np.ndarray, weights: np.ndarray, *, directed: bool) -> Graph:
    listed = weights if weighted(graph) else None
    return Graph.from_arrays(
        rows, cols, listed, n=graph.n, labels=graph.labels, directed=directed, name=graph.name
    )  # fmt: skip


def _numeric(graph: Graph) -> bool:
    return graph.dense is None or graph.unit or graph.dense.dtype.kind != "b"


def weighted(graph: Graph) -> bool:
    return graph.weights is not None if graph.dense is None else _numeric(graph) and not graph.unit


def named_edges(graph: Graph, format: str, *, forbidden: str = "\0", quotes: bool = False) -> tuple[Arcs, list[str]]:
    """The arcs of an edge list (weights None if unweighted), and the vertex names as text.

    FormatError if it would read back as another graph: isolated vertices, or names with `forbidden` characters;
    `quotes` permits blanks and textual digits.
    """
    rows, cols, weights = listed(graph)
    met = np.unique(np.array([rows, cols], dtype=np.int64))  # not a mask: n may be far more than there are edges
    if len(met) < graph.n:
        first = int(np.argmax(met != np.arange(len(met)))) if (met != np.arange(len(met))).any() else len(met)
        raise unwritten(
            format,
            f"every vertex must have an edge, as {format} files list edges alone, got {graph.n - len(met)} "
            f"without, {came(graph.labels[first])} first. Write dimacs, plain, matrixmarket or npz.",
        )
    labels = list(graph.labels)
    kinds = [_kind(label) for label in labels]
    odd = next((index for index, kind in enumerate(kinds) if kind is None or kind is not kinds[0]), None)
    if odd is not None:
        context = f" and {labels[0]!r}" if odd else ""
        raise unwritten(
            format, f"names must all be strings or all integers, got {came(labels[odd])}{context}. Write npz."
        )
    wrong = next((label for label, kind in zip(labels, kinds, strict=True) if not _written(label, kind, forbidden)), "")
    if wrong != "":
        shown = show(ascii(wrong)) if isinstance(wrong, str) else shown_label(wrong)
        raise unwritten(format, f"names must be such as {format} files can hold, got {shown}. Rename it.")
    names = [str(label) for label in labels]
    for name in () if quotes else names:
        if len(name.split()) != 1 or name != name.strip():
            raise unwritten(format, f"names must be free of blanks, got {came(name)}. Write csv or npz.")
    if names and not quotes and kinds[0] is str and integral(names):
        problem = f"names must not all be integers written as text, got {names[0]!r}"
        raise unwritten(format, f"{problem}. Write csv or npz.")
    numerals = kinds[:1] == [str] and all(map(is_numeral, names))
    for name in names if numerals else ():
        if not is_vertex(name, fractions=quotes):
            problem = f"names must not all be numbers, some infinite or with fractions, got {came(name)}"
            raise unwritten(format, f"{problem}. Write npz.")
    if numerals and not quotes and (alike := two_ways(names)):
        problem = f"an integer must be written in one way, got {came(alike[0])} and {came(alike[1])}"
        raise unwritten(format, f"{problem}. Write csv or npz.")
    return (rows, cols, weights if weighted(graph) else None), names


def two_ways(numerals: Iterable[str]) -> tuple[str, str] | None:
    """Two numerals of one integer, as 2 and 2.0; codes differ: 00501 is not 501."""
    written: dict[Decimal, str] = {}
    for name in dict.fromkeys(numerals):
        known = written.setdefault(Decimal(name), name)
        if known != name and float(name).is_integer() and not (known + name).isdigit():
            return known, name
    return None


def unwritten(format: str, problem: str) -> FormatError:
    """The error for a graph that a format cannot express."""
    return FormatError(format, None, f"write: {problem}")


def shown_label(label: Label) -> str:
    """A label for a message, shortened if it has too many digits."""
    if isinstance(label, str):
        return show(label)
    huge = isinstance(label, int) and abs(label) >= 10**640
    return "an integer of more than 640 digits" if huge else show(ascii(label))[1:-1]


def _kind(label: Label) -> type | None:
    """str or int; None for types that text does not distinguish from these."""
    if isinstance(label, (bool, np.bool_)):
        return None
    return next((kind for kind, also in ((str, str), (int, np.integer)) if isinstance(label, (kind, also))), None)


def _written(label: Label, kind: type | None, forbidden: str) -> bool:
    if kind is int:
        return abs(int(label)) < 10**640
    try:
        label.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return not any(sign in label for sign in forbidden)


def remark(name: str) -> str:
    """A graph's name for a comment: one line of encodable text."""
    return " ".join(name.replace("\0", " ").split()).encode(errors="replace").decode()


def write_lines(file: IO[bytes], lines: Iterable[str]) -> None:
    file.write("".join(f"{line}\n" for line in lines).encode())


def edge_lines(arcs: Arcs, names: Sequence[Label], *, before: str = "", between: str = " ") -> Iterator[str]:
    """A line per arc: both names, and the weight if any."""
    rows, cols, weights = arcs
    ends = list(map(str, names))
    if weights is None:
        return (f"{before}{ends[u]}{between}{ends[v]}" for u, v in zip(rows, cols, strict=True))
    return (f"{before}{ends[u]}{between}{ends[v]}{between}{w}" for u, v, w in zip(rows, cols, weights, strict=True))
