"""Edge lists with a header: `source,target,weight`, separated by commas, semicolons or tabs.

The header names the columns in any case and order; others are ignored. Without a weight column edges are unweighted.
Blanks around a field do not belong to it, unless they stand within quotes. Names are integers where all look like
integers and none is quoted: quotes make text of what they hold, the empty name included.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import IO

from semiring.errors import FormatError

from ..files import Source
from ..graph import Graph
from ..labels import number
from .base import Format, listed, names_of, require_edges, vertices, weighted, write_lines
from .tokens import integral, numbers, show

SOURCES = ("source", "from", "src", "start", "tail", "origin", "u")
TARGETS = ("target", "to", "dst", "dest", "destination", "end", "head", "v")
WEIGHTS = ("weight", "length", "cost", "distance", "dist", "w", "value", "km")
_DELIMITERS = ",;\t"
#: Stands at either end of a quoted field while it is read, as the csv module does not tell which ones were quoted; no
#: text has zero bytes of its own.
_MARK = "\0"


def sniff(head: bytes) -> bool:
    """A first line with a column for either end."""
    try:
        names = _split(head.decode("utf-8", "replace").lstrip().split("\n", 1)[0])
    except csv.Error:
        return False
    return bool(set(names) & set(SOURCES)) and bool(set(names) & set(TARGETS))


def read(source: Source, *, weight: str | None = None) -> Graph:
    """Edges by the header's columns; `weight` names the one to take where it has another name."""
    text = source.text
    start = len(text) - len(text.lstrip("\n"))
    header = text[start:].split("\n", 1)[0]
    try:
        names = _split(header)
    except csv.Error as error:
        raise source.error(f"the header must be well-formed CSV, got {error}.", start + 1) from error
    at = [_column(source, names, known, start + 1) for known in (SOURCES, TARGETS)]
    length = _column(source, names, (weight.lower(),), start + 1) if weight else _find(names, WEIGHTS)
    if length is not None:
        at.append(length)
    delimiter = _delimiter(header)
    reader = csv.reader(io.StringIO(_marked(text, delimiter), newline=""), delimiter=delimiter, strict=True)
    try:
        records = [(reader.line_num, row) for row in reader if row][1:]
    except csv.Error as error:
        raise source.error(f"must be well-formed CSV, got {error}.", reader.line_num) from error
    for line, row in records:
        if len(row) != len(names):
            raise source.error(
                f"a row must have the header's {len(names)} fields, got {len(row)}: {show(','.join(row))}.", line
            )
    columns = [[row[i].strip() for _, row in records] for i in at]  # which keeps blanks within the marks
    plain = all(integral(column) for column in columns[:2])
    for column in columns[:2]:
        if "" in column:
            raise source.error("a vertex must have a name, got an empty field.", records[column.index("")][0])
    weights = None
    columns = [_unmarked(column) for column in columns]
    if length is not None:
        weights, wrong = numbers(columns[2])
        if wrong is not None:
            got, line = columns[2][wrong.index], records[wrong.index][0]
            raise source.error(f"a {names[length]} must be {wrong.need}, got {show(got)}.", line)
    labels, rows, cols = vertices(*columns[:2]) if plain else number(zip(*columns[:2], strict=True))
    return Graph.from_arrays(rows, cols, weights, labels=labels)


def write(graph: Graph, file: IO[bytes]) -> None:
    """`source,target,weight`, or the first two where edges are unweighted."""
    rows, cols, weights = listed(graph)
    require_edges(graph, rows, cols, "csv")
    names = _fields(graph)
    if weighted(graph):
        lines = (f"{names[u]},{names[v]},{w}" for u, v, w in zip(rows, cols, weights, strict=True))
        write_lines(file, ("source,target,weight", *lines))
    else:
        write_lines(file, ("source,target", *(f"{names[u]},{names[v]}" for u, v in zip(rows, cols, strict=True))))


def _fields(graph: Graph) -> list[str]:
    """The names as fields that read back the same."""
    names = names_of(graph, "csv", forbidden="\0\r")
    longest = max(names, key=len, default="")
    if len(longest) + 2 * len(_MARK) > csv.field_size_limit():
        most = csv.field_size_limit() - 2 * len(_MARK)
        raise FormatError(
            "csv", None, f"write: names must have at most {most} characters, got {len(longest)}. Write npz."
        )
    strings = any(isinstance(label, str) for label in graph.labels)
    return [_quoted(name) if strings and _needs_quotes(name) else name for name in names]


def _needs_quotes(name: str) -> bool:
    """Whether it would be read as something else: separators, outer blanks, nothing, an integer."""
    return name != name.strip() or not name or any(sign in name for sign in '",\n') or integral([name])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _marked(text: str, delimiter: str) -> str:
    if '"' not in text:
        return text
    quoted = rf'(?:^|(?<=[{delimiter}\n]))"([^"]*(?:""[^"]*)*)"'  # elsewhere a quotation mark is one
    return re.sub(quoted, rf'"{_MARK}\1{_MARK}"', text)


def _unmarked(fields: Sequence[str]) -> list[str]:
    return [field.replace(_MARK, "") for field in fields]


def _delimiter(header: str) -> str:
    return max(_DELIMITERS, key=header.count)


def _split(header: str) -> list[str]:
    row = next(csv.reader([header], delimiter=_delimiter(header)), [])
    return [name.strip().lower() for name in row]


def _find(names: Sequence[str], known: Sequence[str]) -> int | None:
    return next((names.index(name) for name in known if name in names), None)


def _column(source: Source, names: Sequence[str], known: Sequence[str], line: int) -> int:
    found = _find(names, known)
    if found is None:
        raise source.error(f"the header must name a column {' or '.join(known)}, got {show(', '.join(names))}.", line)
    return found


FORMAT = Format("csv", (".csv", ".tsv"), "edge list with a header: source,target[,weight]", sniff, read, write)
