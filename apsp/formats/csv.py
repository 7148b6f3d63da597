"""Edge lists with a header: `source,target,weight`, separated by commas, semicolons or tabs.

The header names the columns in any case and order; others are ignored. Without a weight column edges are unweighted.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import IO

from ..files import Source
from ..graph import Graph
from .base import Format, listed, numbers, require_edges, show, vertices, weighted

SOURCES = ("source", "from", "src", "start", "tail", "origin", "u")
TARGETS = ("target", "to", "dst", "dest", "destination", "end", "head", "v")
WEIGHTS = ("weight", "length", "cost", "distance", "dist", "w", "value", "km")
_DELIMITERS = ",;\t"


def sniff(head: bytes) -> bool:
    """A first line with a column for either end."""
    names = _split(head.decode("utf-8-sig", "replace").lstrip().split("\n", 1)[0].strip("\r"))
    return bool(set(names) & set(SOURCES)) and bool(set(names) & set(TARGETS))


def read(source: Source, *, weight: str | None = None) -> Graph:
    """Edges by the header's columns; `weight` names the one to take where it has another name."""
    text = source.text
    start = len(text) - len(text.lstrip("\n"))
    header = text[start:].split("\n", 1)[0]
    names = _split(header)
    at = [_column(source, names, known, start + 1) for known in (SOURCES, TARGETS)]
    length = _column(source, names, (weight.lower(),), start + 1) if weight else _find(names, WEIGHTS)
    if length is not None:
        at.append(length)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(header), strict=True)
    try:
        records = [(reader.line_num, row) for row in reader if row][1:]
    except csv.Error as error:
        raise source.error(f"must be well-formed CSV, got {error}.", reader.line_num) from error
    for line, row in records:
        if len(row) != len(names):
            raise source.error(
                f"a row must have the header's {len(names)} fields, got {len(row)}: {show(','.join(row))}.", line
            )
    columns = [[row[i].strip() for _, row in records] for i in at]
    for column in columns[:2]:
        if "" in column:
            raise source.error("a vertex must have a name, got an empty field.", records[column.index("")][0])
    weights = None
    if length is not None:
        weights, wrong = numbers(columns[2])
        if wrong is not None:
            raise source.error(f"a {names[length]} must be a number, got {columns[2][wrong]!r}.", records[wrong][0])
    labels, rows, cols = vertices(columns[0], columns[1])
    return Graph.from_arrays(rows, cols, weights, labels=labels)


def write(graph: Graph, file: IO[bytes]) -> None:
    """`source,target,weight`, or the first two where edges are unweighted."""
    rows, cols, weights = listed(graph)
    require_edges(graph, rows, cols, "csv")
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    names = list(graph.labels)
    if weighted(graph):
        writer.writerow(("source", "target", "weight"))
        writer.writerows((names[u], names[v], w) for u, v, w in zip(rows, cols, weights, strict=True))
    else:
        writer.writerow(("source", "target"))
        writer.writerows((names[u], names[v]) for u, v in zip(rows, cols, strict=True))
    file.write(text.getvalue().encode())


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
