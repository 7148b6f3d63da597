"""A first line `n m`, then m lines `i j w`. Vertices count from 0, or from 1 where `base=1` is given.

Content alone shows this format only where an edge has a weight: a line of two integers is an edge in `snap`.
"""

from __future__ import annotations

from typing import IO

from ..graph import Graph
from ..reading.files import Source
from .base import Format, listed, write_lines
from .columns import check_count, check_range, columns
from .tokens import count, show


def sniff(head: bytes) -> bool:
    """A line of two counts, then a line of three columns."""
    lines = [line.split() for line in head.lstrip().split(b"\n")[:2]]
    if [len(line) for line in lines] != [2, 3]:
        return False
    return all(token.isdigit() for token in (*lines[0], *lines[1][:2]))


def fits(text: bytes) -> bool:
    """Whether a list of edges without weights could as well be this: its first line counts the lines that follow."""
    first, _, rest = text.lstrip().partition(b"\n")
    sizes = first.split()
    if len(sizes) != 2 or not all(size.isdigit() for size in sizes):
        return False
    return len(sizes[1]) < 16 and int(sizes[1]) == sum(1 for line in rest.split(b"\n") if line.strip())


def read(source: Source, *, base: int = 0) -> Graph:
    """As many edges as the first line promises, between vertices base … base + n − 1."""
    text = source.lines
    blank = len(text) - len(text.lstrip())
    header, _, rest = text[blank:].partition(b"\n")
    before = text.count(b"\n", 0, blank) + 1
    sizes = header.split()
    if len(sizes) != 2 or not all(size.isdigit() for size in sizes):
        raise source.error(f"the first line must be `n m`, two counts, got {show(header)}.", before)
    n, m = (count(source, size, before) for size in sizes)
    body = b"\n" * before + rest
    found = columns(source, body, shape="i j w", widths=(2, 3))
    hint = (
        " A file that counts from 1 needs base=1."
        if base == 0 and n in (found.rows.max(initial=0), found.cols.max(initial=0))
        else ""
    )
    check_range(source, body, found, base, base + n - 1, hint)
    check_count(source, found, m)
    return Graph.from_arrays(found.rows - base, found.cols - base, found.weights, n=n, labels=range(base, base + n))


def write(graph: Graph, file: IO[bytes]) -> None:
    """Vertices numbered from 0 in their order."""
    rows, cols, weights = listed(graph)
    write_lines(file, [f"{graph.n} {len(rows)}"])
    write_lines(file, (f"{u} {v} {w}" for u, v, w in zip(rows, cols, weights, strict=True)))


FORMAT = Format(
    "plain", (".plain",), "`n m`, then m lines `i j w`, vertices from 0", sniff, read, write, ("base",), rank=3
)
