"""Bare matrices: rows of numbers separated by blanks, commas, semicolons or tabs; `inf` is no edge.

A square table of numbers is a matrix unless ambiguous: two or three lines beginning with two integers may be edges. A
line before them may say how many rows there are. A first comment `# matrix of 3 rows and 3 columns`, as `save` writes,
decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice

import numpy as np

from ..graph import Graph
from ..reading.files import Source, plain_lines
from ..reading.options import EDGE, Reading, is_entry
from .base import Format
from .npy import matrix
from .tokens import entries, integral, separator, show

#: The leading comment of written matrices.
sniff = re.compile(rb"\s*# matrix of \d+ rows and \d+ columns[ \t]*\n").match
#: A comment before edges, as in SNAP and `snap` files.
_EDGES = re.compile(rb"^[ \t]*#.*(edges:|directed graph|fromnodeid)", re.MULTILINE | re.IGNORECASE)


def is_bare(source: Source, reading: Reading) -> bool:
    """Whether a text is a square table of numbers; FormatError, with options to decide, if ambiguous or labelled."""
    head = plain_lines(source.head())
    if reading.columns is not None or reading.named or b"\0" in head:
        return False
    lines = (line for line in head.split(b"\n") if line.strip() and not line.lstrip().startswith(b"#"))
    line = next(lines, b"").decode("latin-1")
    first = [field.strip() for field in line.split(_separator(line))] if line else []
    counted = len(first) == 1 and first[0].isdecimal() and len(first[0]) < 10
    size = int(first[0]) if counted else len(first)
    more = len(list(islice(lines, size + 1))) > size
    cells = first[:1] + [cell or "0" for cell in first[1:-1]]  # blank ones are none of an edge's, between tabs
    if sniff(head) or not first or not all(map(is_entry, cells)) or more:
        return bool(sniff(head))  # the last line, or field, may be cut off
    rows = [row for _, row in _entries(source)]
    n = len(rows)
    if n != len(rows[0]):
        return False
    call = f"Say apsp.read({str(source.path)!r}, format='matrix') for the"
    if n in EDGE:
        if _EDGES.search(head) or not all(len(row) == n and all(map(is_entry, row)) for row in rows):
            return False
        if reading.nulls is None and all(integral(row[:2]) for row in rows):
            columns = tuple(range(n))
            raise source.error(
                f"{n} rows of {n} numbers may be a matrix or edges {EDGE[n]}. {call} matrix, columns={columns} for "
                "edges."
            )
    names = rows[0][1:]
    alike = bool(_separator(line)) and names == [row[0] for row in rows[1:]] and integral(names)
    if reading.nulls is None and alike and (np.diff(list(map(int, names))) == 1).all():
        raise source.error(
            f"{n} rows of {n} numbers, whose first row and column count alike, may be a matrix of {n} vertices, or of "
            f"{n - 1} with names. {call} first; leave the file's first field empty for "
            "the other."
        )
    return True


def read(source: Source) -> Graph:
    """The matrix: int64 if all entries are integers, else float64; or bool."""
    rows = _entries(source)
    n = len(rows[0][1]) if rows else 0
    for line, row in rows:
        if len(row) != n:
            raise source.error(f"a row must have the {n} numbers of the first, got {len(row)}.", line)
    tokens = list(chain.from_iterable(row for _, row in rows))
    found, wrong = entries(tokens)
    if wrong is not None:
        more = " A missing edge is inf." if wrong.need == "a number" else ""
        problem = f"an entry must be {wrong.need}, got {show(tokens[wrong.index])}.{more}"
        raise source.error(problem, rows[wrong.index // n][0])
    if len(rows) != n:
        raise source.error(f"a matrix must be square, got {len(rows)} rows of {n} numbers.")
    return matrix(source, found.reshape(n, n))


def _entries(source: Source) -> list[tuple[int, list[str]]]:
    """The rows without a first line that says how many there are."""
    rows = list(_rows(source))
    counted = len(rows) > 1 and rows[0][1] == [str(len(rows) - 1)] and len(rows[1][1]) == len(rows) - 1
    return rows[counted:]


def _rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each line but blanks and comments."""
    between: str | None = ""
    for line, text in enumerate(source.lines.decode("utf-8", "replace").split("\n"), 1):
        empty = not text.strip() and not (between == "\t" and "\t" in text)  # which may be a row of empty fields
        if not empty and not text.lstrip().startswith("#"):
            between = _separator(text) if between == "" else between
            yield line, [field.strip() for field in text.split(between)]


def _separator(text: str) -> str | None:
    """The separator of fields; None for blanks."""
    return separator(text.strip()) if any(sign in text.strip() for sign in ",;\t") else None


FORMAT = Format(
    "matrix", (".matrix",), "numbers alone, a row a line: a square matrix, inf where there is no edge (read only)",
    sniff, read, None,
)  # fmt: skip
