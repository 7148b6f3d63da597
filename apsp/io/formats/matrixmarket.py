"""MatrixMarket `.mtx`: coordinate files list edges, array files are matrices; vertices are 1 … n.

Format: Boisvert, Pozo and Remington, "The Matrix Market Exchange Formats: Initial Design", NISTIR 5935 (1996). Every
coordinate entry is an edge, also explicit zeros and duplicates; `pattern` is unweighted, `symmetric` undirected. In an
array file inf is a missing edge in min-plus, and 0 an edge of length 0.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import IO

import numpy as np

from ..graph import Graph
from ..labels import Labels
from ..reading.files import Source
from . import npy
from .base import Format, edge_lines, listed, remark, weighted, write_lines
from .columns import data_lines, first_line, numbered, values
from .tokens import counts, show

_COMMENT = re.compile(rb"^[ \t]*%[^\n]*", re.MULTILINE)
_LAYOUTS, _FIELDS = ("coordinate", "array"), ("real", "double", "integer", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")
sniff = re.compile(rb"%%matrixmarket", re.IGNORECASE).match


def read(source: Source) -> Graph:
    layout, field, symmetry = _banner(source)
    header, line, body = first_line(_COMMENT.sub(b"", source.lines))
    n, columns, *entries = counts(
        source, header, "the size line", "rows columns entries" if layout == "coordinate" else "rows columns", line
    )
    if n != columns:
        raise source.error(f"a graph's matrix must be square, got {n} × {columns}.", line)
    if layout == "array":
        matrix = npy.matrix(source, _array(source, body, n, symmetry))
        return replace(matrix, labels=Labels(range(1, n + 1)))
    shape, widths = ("i j", (2,)) if field == "pattern" else ("i j value", (3,))
    graph = numbered(source, body, n, entries[0], shape=shape, widths=widths, what="entries")
    if symmetry == "general":
        return graph
    (rows, cols), weights = graph.ends, graph.weights
    _require_triangle(source, body, rows, cols, symmetry)
    if symmetry == "symmetric":
        return replace(graph, directed=False)
    assert weights is not None
    ends, both = (np.concatenate((rows, cols)), np.concatenate((cols, rows))), np.concatenate((weights, -weights))
    return Graph.from_arrays(*ends, both, n=n, labels=graph.labels)


def write(graph: Graph, file: IO[bytes]) -> None:
    """Coordinates; an undirected list as the lower triangle of a symmetric matrix."""
    rows, cols, weights = listed(replace(graph, directed=True))
    if not graph.directed:
        rows, cols = list(map(max, rows, cols)), list(map(min, rows, cols))
    field = "real" if any(type(w) is float for w in weights) else "integer"
    field = field if weighted(graph) else "pattern"
    symmetry = "general" if graph.directed else "symmetric"
    head = [
        f"%%MatrixMarket matrix coordinate {field} {symmetry}",
        *([f"% {remark(graph.name)}"] if graph.name else []),
    ]
    arcs = rows, cols, weights if weighted(graph) else None
    write_lines(file, [*head, f"{graph.n} {graph.n} {len(rows)}", *edge_lines(arcs, range(1, graph.n + 1))])


def _banner(source: Source) -> tuple[str, str, str]:
    first = source.lines.split(b"\n", 1)[0]
    words = first.decode("latin-1").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise source.error(
            f"the first line must be `%%MatrixMarket matrix layout field symmetry`, got {show(first)}.", 1
        )
    for word, known in zip(words[2:], (_LAYOUTS, _FIELDS, _SYMMETRIES), strict=True):
        if word not in known:
            raise source.error(f"must be one of {', '.join(known)}, got {show(word)}.", 1)
    valued = next((word for word in ("array", "skew-symmetric") if word in words), None)
    if valued is not None and words[3] == "pattern":
        raise source.error(f"a file that is {valued} must have values, got the field 'pattern'.", 1)
    return words[2], words[3], words[4]


def _array(source: Source, body: bytes, n: int, symmetry: str) -> np.ndarray:
    """The matrix of values listed by columns, or of a lower triangle."""
    found = values(source, body)
    below = {"general": n * n, "symmetric": n * (n + 1) // 2, "skew-symmetric": n * (n - 1) // 2}[symmetry]
    if len(found) != below:
        raise source.error(f"must hold the {below} values of its size, got {len(found)}.")
    if symmetry == "general":
        return found.reshape(n, n).T
    A = np.zeros((n, n), dtype=found.dtype)
    first = 1 if symmetry == "skew-symmetric" else 0
    begin = 0
    for j in range(n):
        column = found[begin : begin + n - j - first]
        begin += len(column)
        A[j + first :, j] = column
        A[j, j + first :] = -column if first else column
    return A


def _require_triangle(source: Source, body: bytes, rows: np.ndarray, cols: np.ndarray, symmetry: str) -> None:
    """Refuse entries above (skew: on) the diagonal of a symmetric file, which would count twice."""
    where = "on or below" if symmetry == "symmetric" else "below"
    above = rows < cols if symmetry == "symmetric" else rows <= cols
    if above.any():
        entry = int(np.argmax(above))
        raise source.error(
            f"a {symmetry} file must list entries {where} the diagonal, got ({rows[entry] + 1}, {cols[entry] + 1}).",
            data_lines(body)[entry][0],
        )


FORMAT = Format(
    "matrixmarket", (".mtx",), "MatrixMarket: coordinate or array, general or symmetric", sniff, read, write, rank=0
)
