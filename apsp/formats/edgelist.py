"""Edges between names, separated by blanks: lines `A B` or `A B 4`, all alike, with `#` comments.

A first line with a column for either end (`from to minutes`) is a header; one that may as well be an edge, `u v 3`, is
refused. Names are integers where all look like integers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from semiring.errors import FormatError

from ..graph import Graph
from ..reading.files import Source
from ..reading.options import ANYHOW, SOURCES, TARGETS, Reading, positional
from . import named
from .base import Format, listed, names_of, require_edges, weighted, write_lines
from .tables import Table, blank_separated, of_rows
from .tokens import as_number, integral, show

_COMMENT = re.compile(r"#[^\n]*")


def sniff(head: bytes) -> bool:
    """A header, or lines of two names, or of two names and a number."""
    text = head.decode("utf-8", "replace")
    rows = [row for row in map(str.split, _COMMENT.sub("", _whole_lines(text)).split("\n")) if row]
    if not rows or "\0" in text or "\ufffd" in _whole_lines(text):
        return False
    if _is_header(rows[0]):
        return True
    width = len(rows[0])
    if width not in (2, 3) or any(len(row) != width for row in rows):
        return False
    return width == 2 or all(as_number(row[2]) is not None for row in rows)


def read(source: Source, *, reading: Reading = ANYHOW) -> Graph:
    """A line an edge, by the columns that the header names, or that the caller chooses."""
    if "--END--" in source.text and named.END.search(source.text):
        return named.read(source).having(weighted=reading.weight is not None)
    text = _without_comments(source) if "#" in source.text else source.text
    cut = blank_separated(text)
    if cut is not None:
        columns, lines = cut
        row, first = [column[0] for column in columns], int(lines[0]) if len(lines) else 1
    else:
        rows, lines = _rows(source, text)
        row, first = rows[0], int(lines[0])
    if not row:
        return Graph.from_arrays([], [])
    by_name = reading.columns is not None and not positional(reading.columns)
    header = first if by_name or (not positional(reading.columns) and _is_header(row)) else None
    names: Sequence[Any] = row if header else range(len(row))
    skipped = 0 if header is None else 1
    column = (lambda index: columns[index][skipped:]) if cut is not None else of_rows(rows[skipped:])
    return Table(source, names, header, column, lambda index: int(lines[index + skipped])).edges(reading)


def _without_comments(source: Source) -> str:
    """The text; a # within a word is refused, as it may belong to a name."""
    text = source.text
    for comment in _COMMENT.finditer(text):
        start = comment.start()
        if start and not text[start - 1].isspace():
            word = text[:start].split()[-1] + comment[0].split()[0]
            line = text.count("\n", 0, start) + 1
            raise source.error(f"a comment must stand apart, # behind a blank, got {show(word)}.", line)
    return _COMMENT.sub("", text)


def _rows(source: Source, text: str) -> tuple[list[list[str]], np.ndarray]:
    """The rows that are not blank, and the line of each; the first that is not as long as the others is an error."""
    found = [(number, row) for number, row in enumerate(map(str.split, text.split("\n")), 1) if row]
    width = len(found[0][1]) if found else 0
    for number, row in found:
        if len(row) != width:
            shown = show(" ".join(row))
            raise source.error(f"a line must have the {width} fields of the first, got {len(row)}: {shown}.", number)
    return [row for _, row in found] or [[]], np.array([number for number, _ in found] or [1])


def write(graph: Graph, file: IO[bytes]) -> None:
    """`A B weight`, or `A B` where edges are unweighted."""
    rows, cols, weights = listed(graph)
    require_edges(graph, rows, cols, "edgelist")
    names = names_of(graph, "edgelist", forbidden="\0\ufeff#")
    for name in names:
        if len(name.split()) != 1 or name != name.strip():
            raise FormatError("edgelist", None, f"write: names must be free of blanks, got {name!r}. Write csv or npz.")
    heading = rows and _is_header([names[rows[0]], names[cols[0]]])
    if heading or (names and integral(names) and isinstance(graph.labels[0], str)):
        what = "be no heading" if heading else "not all be integers written as text"
        raise FormatError("edgelist", None, f"write: names must {what}, got {names[0]!r}. Write csv or npz.")
    if not rows:
        write_lines(file, ["# no edges"])
    if weighted(graph):
        write_lines(file, (f"{names[u]} {names[v]} {w}" for u, v, w in zip(rows, cols, weights, strict=True)))
    else:
        write_lines(file, (f"{names[u]} {names[v]}" for u, v in zip(rows, cols, strict=True)))


def _whole_lines(text: str) -> str:
    """Without the last line, where a long text was cut off within it."""
    return text.rpartition("\n")[0] if len(text) >= 1 << 15 and not text.endswith("\n") else text


def _is_header(row: Sequence[str]) -> bool:
    names = {name.casefold() for name in row}
    return bool(names & set(SOURCES)) and bool(names & set(TARGETS))


FORMAT = Format(
    *("edgelist", (".edgelist", ".edges", ".ncol"), "edges between names: lines `A B [weight]`, # comments"),
    *(sniff, read, write),
    takes=("weight", "columns"),
    rank=6,
)
