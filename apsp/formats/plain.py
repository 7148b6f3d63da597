"""A first line `n m`, then m lines `i j w`. Vertices count from 0, or from 1 where `base=1` is given."""

from __future__ import annotations

from typing import IO

import numpy as np

from ..files import Source
from ..graph import Graph
from .base import Format, check_count, check_range, columns, listed, show, write_lines


def sniff(head: bytes) -> bool:
    """A line of two counts, then a line of three columns (or the end, when there are no edges)."""
    lines = [line.split() for line in head.lstrip().split(b"\n")[:2]]
    if len(lines[0]) != 2 or not all(token.isdigit() for token in lines[0]):
        return False
    if int(lines[0][1]) == 0:
        return not b"".join(head.lstrip().split(b"\n")[1:]).strip()
    return len(lines) == 2 and len(lines[1]) == 3 and all(token.isdigit() for token in lines[1][:2])


def read(source: Source, *, base: int = 0) -> Graph:
    """As many edges as the first line promises, between vertices base … base + n − 1."""
    text = source.lines
    blank = len(text) - len(text.lstrip())
    header, _, rest = text[blank:].partition(b"\n")
    before = text.count(b"\n", 0, blank) + 1
    sizes = header.split()
    if len(sizes) != 2 or not all(size.isdigit() for size in sizes):
        raise source.error(f"the first line must be `n m`, two counts, got {show(header)}.", before)
    n, m = map(int, sizes)
    body = b"\n" * before + rest
    found = columns(source, body, shape="i j w", widths=(2, 3))
    hint = (
        " A file that counts from 1 needs base=1."
        if base == 0 and n in (found.rows.max(initial=0), found.cols.max(initial=0))
        else ""
    )
    check_range(source, body, found, base, base + n - 1, hint)
    check_count(source, found, m)
    return Graph.from_arrays(found.rows - base, found.cols - base, found.weights, n=n, labels=np.arange(base, base + n))


def write(graph: Graph, file: IO[bytes]) -> None:
    """Vertices numbered from 0 in their order."""
    rows, cols, weights = listed(graph)
    write_lines(file, [f"{graph.n} {len(rows)}"])
    write_lines(file, (f"{u} {v} {w}" for u, v, w in zip(rows, cols, weights, strict=True)))


FORMAT = Format("plain", (".plain",), "`n m`, then m lines `i j w`, vertices from 0", sniff, read, write)
