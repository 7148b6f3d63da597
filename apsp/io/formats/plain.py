"""Plain lists: a first line `n m`, then m lines `i j w`; vertices count from 0, or from 1 with `base=1`.

Recognisable only with weights: a line of two integers is an edge in `snap`.
"""

from __future__ import annotations

from typing import IO

from ..graph import Graph
from ..reading.files import Source
from .base import Format, edge_lines, listed, write_lines
from .columns import first_line, numbered
from .tokens import counts


def sniff(head: bytes) -> bool:
    """A line of two counts, then a line of three columns."""
    lines = [line.split() for line in head.lstrip().split(b"\n")[:2]]
    if [len(line) for line in lines] != [2, 3]:
        return False
    return all(token.isdigit() for token in (*lines[0], *lines[1][:2]))


def fits(text: bytes) -> bool:
    """Whether an unweighted edge list may be in this format: its first line counts the lines that follow."""
    first, _, rest = text.lstrip().partition(b"\n")
    sizes = first.split()
    if len(sizes) != 2 or not all(size.isdigit() for size in sizes):
        return False
    return len(sizes[1]) < 16 and int(sizes[1]) == sum(1 for line in rest.split(b"\n") if line.strip())


def read(source: Source, *, base: int = 0) -> Graph:
    """The edges that the first line counts, between vertices base … base + n − 1."""
    header, line, body = first_line(source.lines)
    n, m = counts(source, header, "the first line, two counts,", "n m", line)
    way = f" Say apsp.read({str(source.path)!r}, base=1) if it counts from 1, or leave out its first line."
    hint = way if base == 0 else ""
    return numbered(source, body, n, m, shape="i j w", widths=(2, 3), base=base, hint=hint)


def write(graph: Graph, file: IO[bytes]) -> None:
    arcs = listed(graph)
    write_lines(file, [f"{graph.n} {len(arcs[0])}", *edge_lines(arcs, range(graph.n))])


FORMAT = Format(
    "plain", (".plain",), "`n m`, then m lines `i j w`, vertices from 0", sniff, read, write, ("base",), rank=3
)
