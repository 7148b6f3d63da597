"""Graphs from files and to files. A format is one module of this package with a record `FORMAT`; being here is enough.

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
| graph6       | .g6             | 0 … n − 1        | no                 |

`matrix` and the last three rows are not written; graphml, gml and graph6 are read by NetworkX. Any may be gzipped
(`roads.gr.gz`). A name that says nothing (`.txt`) makes `read` look at the content, which cannot tell metis. Metis and
graph6 know no directions.

A weight is an integer (exact, or refused), a float, or `inf`, which is a missing edge; `1e999` is an error.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import IO, Any

from semiring.errors import FormatError
from semiring.files import check_writable
from semiring.spelling import came, did_you_mean

from ..graph import Graph
from ..log import warn
from ..reading.files import Source, open_for_writing, plain_lines
from ..reading.options import BY_RULE, Columns, NullValue, Reading, Weight, nulls_of, positional
from ..registry import records
from ..saving import recognised
from . import csv, edgelist, matrix, plain, snap
from .base import Format, fitted

__all__ = ["Format", "check_output", "formats", "names", "read", "write", "written"]


@cache
def formats() -> dict[str, Format]:
    """Every format by its name, in the order in which `sniff` is asked."""
    found: list[Format] = sorted(records(__name__, "FORMAT").values(), key=lambda f: (f.rank, f.name))
    return {f.name: f for f in found}


def names() -> tuple[str, ...]:
    """The names of all formats.

    Returns
    -------
    tuple of str
        In the order in which a content that no suffix explains is tried.

    See Also
    --------
    written : Those that are written.
    read : What takes such a name.

    Notes
    -----
    O(1): modules of formats are loaded once.

    Examples
    --------
    >>> "csv" in names(), "excel" in names()
    (True, False)
    """
    return tuple(formats())


def written() -> tuple[str, ...]:
    """The names of those that are written as well as read.

    Returns
    -------
    tuple of str

    See Also
    --------
    names : All of them.
    write : What takes such a name.

    Notes
    -----
    O(1): modules of formats are loaded once.

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
        Plain or gzipped; a pipe or a device as well as a file; "-" is standard input. An open file, or an `io` buffer
        of bytes or text, is read from where it stands to its end, and left open.
    format : str, optional
        One of `names()`; by default the suffix decides (that before `.gz`), and then the content. A list of edges whose
        first line may as well count vertices and edges is read as edges, with a warning. A text that looks like no
        other, with commas, semicolons or tabs, is CSV. A square table of numbers is a matrix; where it may as well list
        edges, `format="matrix"` or `columns` say what it is.
    directed : bool, optional
        Whether edges lead one way only; by default what the file says (of a table, in a column such as Gephi's Type,
        directed, oneway, is_bidirectional), and where it says nothing, they do.
    weight : str, int or None, optional
        The column that holds the weight, by name, or by position from 0; of GraphML and its like, the attribute. None
        makes every edge weigh 1. By default it is the only column other than the ends; of several, the one called
        weight, length, cost, distance, dist, w, value, km, miles, metres, minutes, hours, seconds, duration,
        travel_time or min_transfer_time. Where that does not settle it, nothing is read.
    columns : (FROM, TO) or (FROM, TO, WEIGHT), optional
        The columns by name; or by position from 0, and then the file has no header. By default the ends are called
        source, from, src, start, tail, origin, u or from_stop_id, and target, to, dst, dest, destination, end, head, v
        or to_stop_id. Of (FROM, TO) alone, `weight` and its rule find the third.
    null_value : number or None, optional
        As in `as_graph`: 0 where zeros are no edges, None where they are.
    **options
        A format's own: `base=1` for plain files that count from 1.

    Returns
    -------
    Graph
        Its name is that of the file. Edges that occur twice are both kept; ⊕ decides when it becomes a matrix.

    Raises
    ------
    FormatError
        If the file is not what its format says, with file and line; or does not say which column holds what, with all
        columns and the ways out.
    ValueError
        If the format does not have what was asked for: columns, attributes, an option, edges that lead one way.
    OSError
        If there is no such file (FileNotFoundError), or it cannot be read.
    MemoryNeeded
        If what it holds does not fit, before memory is taken.

    See Also
    --------
    as_graph : Everything else that a graph may come as.
    write : The way back.
    names : The formats.

    Notes
    -----
    Weights written hh:mm:ss, all of them, are durations, in seconds. A CSV whose rows have the names of its columns is
    a matrix, in which inf is no edge. GTFS: `transfers.txt` lists edges from from_stop_id to to_stop_id that weigh
    min_transfer_time.

    One pass over the file: O(n + m) time, and memory for the edges, two int64 and a weight each.

    Examples
    --------
    >>> import io
    >>> read(io.StringIO("from,to,minutes\\nA,B,295\\n")).weights
    array([295])
    """
    positional(columns)  # refuses what is malformed
    return read_as(path, Reading(weight, columns, format, nulls_of(null_value), directed), **options)


def read_as(path: str | os.PathLike[str] | IO[Any], reading: Reading, **options: Any) -> Graph:
    """`read`, of what the caller said as one record."""
    if isinstance(path, (str, os.PathLike)):
        stored = recognised(path)
        if stored is not None and stored.read is not None:
            return stored.read(path).having(nulls=reading.nulls)
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


def _options(source: Source, chosen: Format, reading: Reading, options: dict[str, Any]) -> dict[str, Any]:
    """What the format's reader takes of what the caller said; the rest is refused, and not ignored."""
    passed = {"weight": reading.named, "columns": reading.columns is not None, **dict.fromkeys(options, True)}
    for name in passed:
        if passed[name] and name not in chosen.takes:
            takes = [f for f, other in formats().items() if name in other.takes]
            readers = f"one of the formats {', '.join(takes)}" if takes else "no format"
            raise ValueError(f"{source.path}: {name}= is for {readers}, and this file is {chosen.name}.")
    return {**options, "reading": reading} if {"weight", "columns"} & set(chosen.takes) else options


def write(graph: Graph, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write a graph; the file appears complete or not at all. (`apsp.write` takes anything that `as_graph` does.)

    Parameters
    ----------
    graph : Graph
        Formats that number their vertices keep the order and not the names. A dense matrix goes to edge lists
        by its entries other than ∞, and undirected edges go both ways where the format knows none.
    path : path
        Gzipped if it ends in .gz.
    format : str, optional
        One of `written()`; by default the suffix decides.

    Raises
    ------
    FormatError
        If the format cannot express this graph: vertices without an edge in a list of edges; names that would be read
        back as others (blanks in `named`, anything but integers in `snap`, a mixture of integers and strings). If
        such files are only read. Where the format knows no directions, if an edge does not lead back with the same
        weight; where it knows no fractions, if a weight is not an integer; where it knows no weights, if one is not 1.

    See Also
    --------
    apsp.write : The same of whatever `as_graph` takes.
    read : The way back.
    written : The formats.
    check_output : The errors, before the work.

    Notes
    -----
    O(n + m) for n vertices and m edges, O(n²) for a matrix.

    Examples
    --------
    >>> from apsp import as_graph
    >>> write(as_graph([("A", "B", 4)]), "/dev/null", format="csv")
    """
    chosen = _for_output(path, format)
    assert chosen.write is not None
    graph = fitted(graph, chosen)
    with open_for_writing(path) as file:
        chosen.write(graph, file)


def check_output(path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Raise before the work what `write` would raise after it: no such format, or a path that cannot be written to.

    Parameters
    ----------
    path, format
        As in `write`.

    Raises
    ------
    FormatError, ValueError
        If neither the suffix nor `format` says which format.
    OSError
        As `semiring.files.check_writable` does.

    See Also
    --------
    write : What would raise it.

    Notes
    -----
    O(1): one look at the folder, nothing is written.

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


def _by_suffix(path: str | os.PathLike[str]) -> Format | None:
    suffix = Path(Path(path).name.lower().removesuffix(".gz")).suffix
    return next((f for f in formats().values() if suffix and suffix in f.suffixes), None)


def _seen(source: Source, reading: Reading) -> Format:
    """The format that the suffix says, unless lines of numbers or names say another; else that of the content."""
    chosen = _by_suffix(source.path)
    if (chosen is None or chosen.name == "csv") and matrix.is_bare(source, reading):
        return formats()["matrix"]
    chosen = chosen or _by_content(source, reading)
    return formats()["edgelist"] if _lists_names(source, chosen) else chosen


def _lists_names(source: Source, chosen: Format) -> bool:
    """Whether a file whose suffix says something else lists names with blanks between them, `A B 4`."""
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
        return formats()["csv" if csv.has_separator(head) else "edgelist"]
    for name, candidate in formats().items():
        if candidate.sniff is not None and candidate.sniff(head):
            if name == "snap" and plain.fits(source.lines):
                _warn(source)
            return candidate
    if csv.has_separator(head):
        return formats()["csv"]  # which says what its header lacks
    raise source.error(
        f"must be in one of the formats {', '.join(names())}, and looks like none. "
        f"Say which: {_reads(source, '…')} (in a shell: --format)."
    )


def _warn(source: Source) -> None:
    edge = " → ".join(source.text.split(maxsplit=2)[:2])
    warn(
        f"{source.path}: read as a list of edges, the first of them {edge}. If that line counts vertices and edges, "
        f"say {_reads(source, 'plain')}, else {_reads(source, 'snap')} (in a shell: --format).",
    )


def _reads(source: Source, format: str) -> str:
    return f"apsp.read({str(source.path)!r}, format={format!r})"


def _suffixes() -> str:
    return ", ".join(suffix for f in formats().values() if f.write for suffix in f.suffixes)
