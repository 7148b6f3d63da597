"""DIMACS shortest-path graphs: `c` comments, one line `p sp n m`, and m lines `a tail head length`, vertices from 1.

Format of the 9th DIMACS Implementation Challenge (2006).
"""

from __future__ import annotations

import re
from typing import IO

from ..graph import Graph
from ..reading.files import Source
from .base import Format, listed, remark, write_lines
from .columns import check_count, check_range, columns
from .tokens import count, show

_REMARK = re.compile(rb"^[ \t]*[cp](?![^ \t\n])[^\n]*", re.MULTILINE)
_PROBLEM = re.compile(rb"^[ \t]*p(?![^ \t\n])([^\n]*)", re.MULTILINE)
_ARC = re.compile(rb"^[ \t]*a(?=[ \t])", re.MULTILINE)
_EMPTY_ARC = re.compile(rb"^[ \t]*a[ \t]*$", re.MULTILINE)
_ANY_LINE = re.compile(rb"^[ \t]*(?![acp\s](?:\s|\Z))[^\s][^\n]*", re.MULTILINE)


def sniff(head: bytes) -> bool:
    """A line `p sp …`."""
    return re.search(rb"^p[ \t]+sp[ \t]", head, re.MULTILINE) is not None


def read(source: Source) -> Graph:
    """As many arcs as the problem line promises, between vertices 1 … n."""
    text = source.lines
    problems = list(_PROBLEM.finditer(text))
    if len(problems) != 1:
        line = _line(text, problems[1].start()) if problems else None
        raise source.error(f"must have one line `p sp n m`, got {len(problems)}.", line)
    problem = problems[0]
    sizes = problem.group(1).split()
    if len(sizes) != 3 or sizes[0] != b"sp" or not all(size.isdigit() for size in sizes[1:]):
        raise source.error(
            f"the problem line must be `p sp n m`, got {show(problem.group())}.", _line(text, problem.start())
        )
    n, m = (count(source, size, _line(text, problem.start())) for size in sizes[1:])
    stray = _ANY_LINE.search(text)
    if stray:
        raise source.error(f"a line must begin with c, p or a, got {show(stray.group())}.", _line(text, stray.start()))
    empty = _EMPTY_ARC.search(text)
    if empty:
        raise source.error("a line must be `a tail head length`, got 'a'.", _line(text, empty.start()))
    body = _ARC.sub(b" ", _REMARK.sub(b"", text))
    found = columns(source, body, shape="a tail head length")
    check_range(source, body, found, 1, n)
    check_count(source, found, m, "arcs")
    return Graph.from_arrays(found.rows - 1, found.cols - 1, found.weights, n=n, labels=range(1, n + 1))


def write(graph: Graph, file: IO[bytes]) -> None:
    """Vertices numbered from 1 in their order."""
    rows, cols, weights = listed(graph)
    if graph.name:
        write_lines(file, [f"c {remark(graph.name)}"])
    write_lines(file, [f"p sp {graph.n} {len(rows)}"])
    write_lines(file, (f"a {u + 1} {v + 1} {w}" for u, v, w in zip(rows, cols, weights, strict=True)))


def _line(text: bytes, at: int) -> int:
    return text.count(b"\n", 0, at) + 1


FORMAT = Format("dimacs", (".gr",), "DIMACS shortest paths: `p sp n m`, `a tail head length`", sniff, read, write)
