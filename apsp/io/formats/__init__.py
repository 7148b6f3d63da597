"""Graph file formats: each is a module of this package with a record `FORMAT`, or `FORMATS`, found by being here.

| name         | suffixes        | vertices         | weights            |
|--------------|-----------------|------------------|--------------------|
| named        | .named          | names            | yes                |
| csv          | .csv .tsv       | names            | by column          |
| edgelist     | .edgelist .edges .ncol | names     | if there is a third column |
| snap         | .snap .el       | integers, gaps   | if there is a third column |
| dimacs       | .gr             | 1 … n            | yes                |
| matrixmarket | .mtx            | 1 … n            | unless `pattern`   |
| npy          | .npy            | 0 … n − 1        | the matrix         |
| npz          | .npz            | stored, if any   | matrix or edges    |
| plain        | .plain          | 0 … n − 1        | yes                |
| matrix       | .matrix         | 0 … n − 1        | bare numbers       |
| metis        | .graph          | 1 … n            | positive integers, if any |
| geojson      | .geojson        | properties, or coordinates | a property |
| graphml, gml, pajek | .graphml .gml .net | names   | an attribute       |
| gexf, dot    | .gexf .dot .gv  | names            | an attribute       |
| json         | .json .jsonl .ndjson | names       | an attribute, or records |
| tntp         | .tntp           | 1 … n            | by column          |
| graph6       | .g6             | 0 … n − 1        | no                 |

`matrix` and the rows from geojson on are read only; NetworkX reads graphml, gml, gexf, dot, json and graph6. Any file
may be gzipped (`roads.gr.gz`). For an uninformative suffix (`.txt`) `read` sniffs the content, which cannot tell metis.
Metis and graph6 are undirected.

A weight is an integer (exact, or refused), a float, or `inf`, which is a missing edge; `1e999` is an error.

Notes
-----
`names` and `written` are O(1), as modules are loaded once; `check_output` takes one look at the folder, `write`
O(n + m), or O(n²) for a matrix.

See Also
--------
apsp.read, apsp.write, names, written, check_output, write : Any input; the formats; what `write` would refuse.
"""

from __future__ import annotations

import os
from functools import cache
from itertools import chain
from pathlib import Path
from typing import IO, Any

from semiring.host.errors import FormatError
from semiring.host.spelling import came, did_you_mean
from semiring.host.types import Fields
from semiring.stores.files import check_writable

from ...road.log import warn
from ...road.registry import records
from ..graph import Graph
from ..graph.entries import refuse_nan_in
from ..reading.files import Source, open_for_writing, plain_lines
from ..reading.options import BY_RULE, Columns, NullValue, Reading, Weight, nulls_of, positional
from ..saving import recognised
from . import csv, edgelist, foreign, matrix, plain, snap
from .base import Format, fitted

__all__ = ["Format", "check_output", "formats", "names", "read", "write", "written"]


@cache
def formats() -> dict[str, Format]:
    """Formats by name, in the order of `sniff`."""
    several = chain.from_iterable(records(__name__, "FORMATS").values())
    found: list[Format] = [*records(__name__, "FORMAT").values(), *several]
    return {f.name: f for f in sorted(found, key=lambda f: (f.rank, f.name))}


def names() -> tuple[str, ...]:
    """The names of all formats.

    Returns
    -------
    tuple of str
        In sniffing order.

    Examples
    --------
    >>> "csv" in names(), "excel" in names()
    (True, False)
    """
    return tuple(formats())


def written() -> tuple[str, ...]:
    """The names of writable formats.

    Examples
    --------
    >>> "csv" in written(), "pajek" in written()
    (True, False)
    """
    return tuple(f.name for f in formats().values() if f.write is not None)


def read(
    path: str | os.PathLike[str] | IO[Any],
    *,
    format: str | None = None,
    directed: bool | None = None,
    weight: Weight = BY_RULE,
    columns: Columns | None = None,
    null_value: NullValue = BY_RULE,
    **options: Any,
) -> Graph:
    """The graph in a file.

    Parameters
    ----------
    path : path, or open file
        Plain or gzipped; a file, pipe or device; "-" is standard input. An open file or `io` buffer of bytes or text is
        read from its position to the end, and left open.
    format : str, optional
        One of `names()`; by default by suffix (before `.gz`), then by content. A list of edges whose first line might
        be a count of vertices and edges is read as edges, with a warning. Unrecognised text with commas, semicolons or
        tabs is CSV. A square table of numbers is a matrix; if it might list edges, `format="matrix"` or `columns`
        decide.
    directed : bool, optional
        By default as the file says (in a table: columns such as Gephi's Type, directed, oneway, is_bidirectional), else
        True.
    weight : str, int or None, optional
        Weight column by name or position from 0; for GraphML and the like, the attribute. None: every edge weighs 1. By
        default the only column besides the ends; of several, the one called weight, length, cost, distance, dist, w,
        value, km, miles, metres, minutes, hours, seconds, duration, travel_time or min_transfer_time; else an error.
    columns : (FROM, TO) or (FROM, TO, WEIGHT), optional
        By name; or by position from 0, for a file without header. By default the ends are called source, from, src,
        start, tail, origin, u or from_stop_id, and target, to, dst, dest, destination, end, head, v or to_stop_id. With
        (FROM, TO), `weight` and its rule find the third.
    null_value : number or None, optional
        As in `as_graph`: 0 where zeros are no edges, None where they are.
    **options
        Of the format: `base=1` for plain files that count from 1.

    Returns
    -------
    Graph
        Named after the file. Parallel edges are kept; ⊕ combines them in a matrix.

    Raises
    ------
    FormatError
        If the file violates its format (with file and line), or its columns are ambiguous (listing them).
    ValueError
        If the format lacks what was requested: columns, attributes, an option, directions.
    OSError, MemoryNeeded
        If the file is missing or unreadable; if its content does not fit.

    See Also
    --------
    as_graph, write, names : Other inputs; the inverse; the formats.

    Notes
    -----
    One pass: O(n + m) time, 24 bytes an edge. Weights all written hh:mm:ss are durations in seconds. A CSV with equal
    row and column names is a matrix, in which inf is no edge. GTFS `transfers.txt` lists edges from from_stop_id to
    to_stop_id of weight min_transfer_time.

    Examples
    --------
    >>> import io
    >>> read(io.StringIO("from,to,minutes\\nA,B,295\\n")).weights
    array([295])
    """
    positional(columns)  # refuses malformed ones
    return read_as(path, Reading(weight, columns, format, nulls_of(null_value), directed), **options)


def read_as(path: str | os.PathLike[str] | IO[Any], reading: Reading, **options: Any) -> Graph:
    """`read`, with its options as one record."""
    if isinstance(path, (str, os.PathLike)):
        stored = recognised(path)
        if stored is not None and stored.read is not None:
            return stored.read(path).having(nulls=reading.nulls)
        foreign.refuse_folder(path)
    source = Source(path)
    chosen = _named(reading.format) if reading.format is not None else _seen(source, reading)
    if reading.directed and not chosen.directions:
        raise ValueError(
            f"{source.path}: directed=True is for formats that know directions, and this file is {chosen.name}, where "
            "each edge leads both ways. Leave it out."
        )
    graph = chosen.read(source, **_options(source, chosen, reading, options))
    name = graph.name or source.name
    weighted = reading.weight is not None
    return graph.having(directed=reading.directed, weighted=weighted, nulls=reading.nulls, name=name)


def _options(source: Source, chosen: Format, reading: Reading, options: Fields) -> Fields:
    """The options of the format's reader; ValueError for any that it does not take."""
    passed = {"weight": reading.named, "columns": reading.columns is not None, **dict.fromkeys(options, True)}
    for name in passed:
        if passed[name] and name not in chosen.takes:
            takes = [f for f, other in formats().items() if name in other.takes]
            way = f"{name}= is for one of the formats {', '.join(takes)}" if takes else f"no format takes {name}="
            raise ValueError(f"{source.path}: {way}, and this file is {chosen.name}. Leave it out.")
    return {**options, "reading": reading} if {"weight", "columns"} & set(chosen.takes) else options


def write(graph: Graph, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write a graph atomically. (`apsp.write` takes anything that `as_graph` does.)

    Parameters
    ----------
    graph : Graph
        Formats with numbered vertices keep order, not names. A dense matrix becomes an edge list of entries other than
        ∞; undirected edges go both ways where the format is directed only.
    path : path
        Gzipped if it ends in .gz.
    format : str, optional
        One of `written()`; by default by suffix.

    Raises
    ------
    FormatError
        If the format cannot express the graph: isolated vertices in an edge list; names that would be read back
        differently (blanks in `named`, non-integers in `snap`, integers mixed with strings); asymmetric edges where it
        is undirected; non-integer or non-unit weights where it has none. Also for read-only formats.
    DomainError
        If an entry of a matrix is NaN, which no reader takes.

    Examples
    --------
    >>> from apsp import as_graph
    >>> write(as_graph([("A", "B", 4)]), "/dev/null", format="csv")
    """
    chosen = _for_output(path, format)
    assert chosen.write is not None
    if graph.dense is not None:
        refuse_nan_in(graph.dense)
    graph = fitted(graph, chosen)
    with open_for_writing(path) as file:
        chosen.write(graph, file)


def check_output(path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Raise early what `write` would raise late: an unknown format, or an unwritable path.

    Parameters
    ----------
    path, format
        As in `write`.

    Raises
    ------
    FormatError, ValueError
        If the format is unknown.
    OSError
        As `semiring.stores.files.check_writable`.

    Examples
    --------
    >>> check_output("roads.csv")
    """
    _for_output(path, format)
    check_writable(path)


def _for_output(path: str | os.PathLike[str], format: str | None) -> Format:
    chosen = _named(format) if format is not None else _by_suffix(path)
    if chosen is None:
        raise FormatError(
            path, None, f"write: the suffix must say which format, one of {_suffixes()}; or give format=."
        )
    if chosen.write is None:
        raise FormatError(path, None, f"write: {chosen.name} files are only read. Write one of {_suffixes()}.")
    return chosen


def _named(name: str) -> Format:
    if name not in names():
        raise ValueError(f"format must be one of {', '.join(names())}, got {came(name)}.{did_you_mean(name, names())}")
    return formats()[name]


def _suffix(path: str | os.PathLike[str]) -> str:
    return Path(Path(path).name.lower().removesuffix(".gz")).suffix


def _by_suffix(path: str | os.PathLike[str]) -> Format | None:
    suffix = _suffix(path)
    return next((f for f in formats().values() if suffix and suffix in f.suffixes), None)


def _seen(source: Source, reading: Reading) -> Format:
    """The format by suffix, unless a bare matrix or an edge list contradicts it; else by content."""
    foreign.require_ours(source, _suffix(source.path))
    chosen = _by_suffix(source.path)
    if chosen is not None and chosen.name == "edgelist" and source.head(1) == b"%":
        chosen = None  # of KONECT's or Network Repository's, which the content tells apart
    if (chosen is None or chosen.name == "csv") and matrix.is_bare(source, reading):
        return formats()["matrix"]
    chosen = chosen or _by_content(source, reading)
    return formats()["edgelist"] if _lists_names(source, chosen) else chosen


def _lists_names(source: Source, chosen: Format) -> bool:
    if chosen.name not in ("csv", "snap"):
        return False
    head = plain_lines(source.head())
    other = csv.has_separator(head) if chosen.name == "csv" else snap.has_edge(head)
    return not other and edgelist.sniff(head)


def _by_content(source: Source, reading: Reading) -> Format:
    head = plain_lines(source.head())
    if not head.strip():
        raise source.error("must hold a graph, got an empty file.")
    if reading.columns is not None:
        listed = "snap" if snap.sniff(head) else "edgelist"  # whose comments say whether edges lead both ways
        return formats()["csv" if csv.has_separator(head) else listed]
    for name, candidate in formats().items():
        if candidate.sniff is not None and candidate.sniff(head):
            if name == "snap" and plain.fits(source.lines):
                _warn(source)
            return candidate
    if csv.has_separator(head):
        return formats()["csv"]  # its error names missing columns
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        _ = source.text  # an error that names the encoding
    first = head.decode(errors="replace").strip().partition("\n")[0]
    raise source.error(
        f"must be in one of the formats {', '.join(names())}, got {came(first)}, which looks like none. Say which: "
        f"{_reads(source, '…')}."
    )


def _warn(source: Source) -> None:
    edge = " → ".join(source.text.split(maxsplit=2)[:2])
    warn(
        f"{source.path}: read as a list of edges, the first of them {edge}. If that line counts vertices and edges, "
        f"say {_reads(source, 'plain')}, else {_reads(source, 'snap')}.",
    )


def _reads(source: Source, format: str) -> str:
    return f"apsp.read({str(source.path)!r}, format={format!r})"


def _suffixes() -> str:
    return ", ".join(suffix for f in formats().values() if f.write for suffix in f.suffixes)
