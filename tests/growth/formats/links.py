"""Undirected edges without weights, two numbers a line after a count of vertices: a format in one file.

Nothing else knows of it: the record says that it knows no directions and no weights, and so `write` gets neither.
"""

from __future__ import annotations

from typing import IO

import numpy as np

from ..graph import Graph
from ..reading.files import Source
from .base import Format, write_lines


def read(source: Source) -> Graph:
    """The edges between vertices 0 … n − 1."""
    try:
        (n,), *edges = (list(map(int, line.split())) for line in source.lines.splitlines())
        rows, cols = np.array(edges, np.int64).reshape(-1, 2).T
        return Graph.from_arrays(rows, cols, n=n, directed=False)
    except ValueError as error:
        raise source.error(f"must hold a count of vertices, then two of them a line, got {error}.") from error


def write(graph: Graph, file: IO[bytes]) -> None:
    """Vertices by their positions."""
    assert graph.rows is not None
    assert graph.cols is not None
    pairs = zip(graph.rows.tolist(), graph.cols.tolist(), strict=True)
    write_lines(file, [str(graph.n), *(f"{u} {v}" for u, v in pairs)])


FORMAT = Format(
    "links", (".links",), "undirected edges without weights", None, read, write, directions=False, weights=False
)  # fmt: skip
