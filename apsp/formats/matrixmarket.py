"""MatrixMarket `.mtx`: coordinate files list edges, array files are matrices; vertices are 1 … n.

Format of Boisvert, Pozo and Remington, "The Matrix Market Exchange Formats: Initial Design", NISTIR 5935 (1996).
Every entry of a coordinate file is an edge, explicit zeros and duplicates included; `pattern` files are unweighted and
`symmetric` ones undirected. In an array file inf is a missing edge in min-plus, and 0 an edge of length 0.
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
from .base import Format, listed, remark, weighted, write_lines
from .columns import Columns, check_count, check_range, columns, edge_line, values
from .tokens import count, show

_COMMENT = re.compile(rb"^[ \t]*%[^\n]*", re.MULTILINE)
_LAYOUTS, _FIELDS = ("coordinate", "array"), ("real", "double", "integer", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")


def sniff(head: bytes) -> bool:
    """The banner."""
    return head[:14].lower() == b"%%matrixmarket"


def read(source: Source) -> Graph:
    """By the banner's words."""
    layout, field, symmetry = _banner(source)
    body = _COMMENT.sub(b"", source.lines)
    blank = len(body) - len(body.lstrip())
    header, _, rest = body[blank:].partition(b"\n")
    line = body.count(b"\n", 0, blank) + 1
    sizes = header.split()
    wanted = "rows columns entries" if layout == "coordinate" else "rows columns"
    if len(sizes) != len(wanted.split()) or not all(size.isdigit() for size in sizes):
        raise source.error(f"the size line must be `{wanted}`, got {show(header)}.", line)
    shape = [count(source, size, line) for size in sizes]
    if shape[0] != shape[1]:
        raise source.error(f"a graph's matrix must be square, got {shape[0]} × {shape[1]}.", line)
    n, body = shape[0], b"\n" * line + rest
    names = Labels(range(1, n + 1))
    if layout == "array":
        return replace(npy.matrix(source, _array(source, body, n, symmetry)), labels=names)
    found = columns(
        source, body, shape="i j" if field == "pattern" else "i j value", widths=(2,) if field == "pattern" else (3,)
    )
    check_range(source, body, found, 1, n)
    check_count(source, found, shape[2], "entries")
    rows, cols, weights = found.rows - 1, found.cols - 1, found.weights
    if symmetry != "general":
        _require_triangle(source, body, found, symmetry)
    if symmetry == "skew-symmetric":
        assert weights is not None
        rows, cols = np.concatenate((rows, cols)), np.concatenate((cols, rows))
        weights = np.concatenate((weights, -weights))
    return Graph.from_arrays(rows, cols, weights, n=n, labels=names, directed=symmetry != "symmetric")


def write(graph: Graph, file: IO[bytes]) -> None:
    """Coordinates; an undirected list as the lower triangle of a symmetric matrix."""
    symmetric = not graph.directed
    rows, cols, weights = listed(replace(graph, directed=True))
    if symmetric:
        rows, cols = [max(e) for e in zip(rows, cols, strict=True)], [min(e) for e in zip(rows, cols, strict=True)]
    field = "real" if any(type(w) is float for w in weights) else "integer"
    if not weighted(graph):
        field = "pattern"
    write_lines(file, [f"%%MatrixMarket matrix coordinate {field} {'symmetric' if symmetric else 'general'}"])
    if graph.name:
        write_lines(file, [f"% {remark(graph.name)}"])
    write_lines(file, [f"{graph.n} {graph.n} {len(rows)}"])
    if field == "pattern":
        write_lines(file, (f"{u + 1} {v + 1}" for u, v in zip(rows, cols, strict=True)))
    else:
        write_lines(file, (f"{u + 1} {v + 1} {w}" for u, v, w in zip(rows, cols, weights, strict=True)))


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
    """Values down the columns; of a symmetric matrix, the lower triangle alone."""
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


def _require_triangle(source: Source, body: bytes, found: Columns, symmetry: str) -> None:
    """A symmetric file lists its lower triangle, a skew one without the diagonal: others would be told twice."""
    where = "on or below" if symmetry == "symmetric" else "below"
    above = found.rows < found.cols if symmetry == "symmetric" else found.rows <= found.cols
    if above.any():
        at = int(np.argmax(above))
        raise source.error(
            f"a {symmetry} file must list entries {where} the diagonal, got ({found.rows[at]}, {found.cols[at]}).",
            edge_line(body, at),
        )


FORMAT = Format(
    "matrixmarket", (".mtx",), "MatrixMarket: coordinate or array, general or symmetric", sniff, read, write, rank=0
)
