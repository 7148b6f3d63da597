"""SNAP edge lists: `#` comments, then two columns of vertex ids, or three with a weight. Ids are integers with gaps.

A comment `# Undirected graph …` says that edges lead both ways.

Format of the Stanford Large Network Dataset Collection (Leskovec and Krevl).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import IO

import numpy as np

from semiring.errors import FormatError

from ..graph import Graph
from ..reading.files import Source
from ..reading.options import ANYHOW, Reading
from . import edgelist
from .base import Format, listed, names_of, remark, require_edges, weighted, write_lines
from .columns import columns

_COMMENT = re.compile(rb"#[^\n]*")
_DIRECTION = re.compile(rb"^[ \t]*#[ \t]*(un)?directed graph\b", re.MULTILINE | re.IGNORECASE)
_EDGE = re.compile(rb"[ \t]*[+-]?\d+[ \t]+[+-]?\d+([ \t]+\S+)?[ \t]*")
_ENDS = re.compile(rb"[ \t]*[+-]?\d+[ \t]+[+-]?\d+(?![^ \t])")

_MOST = np.iinfo(np.int64).max


def has_edge(head: bytes) -> bool:
    """Whether a line begins with two integers."""
    return any(map(_ENDS.match, _COMMENT.sub(b"", head).split(b"\n")))


def sniff(head: bytes) -> bool:
    """Lines that begin with two integers, with a weight or without; or comments alone."""
    lines = _COMMENT.sub(b"", head).split(b"\n")
    lines = lines[:-1] if len(head) >= 1 << 15 else lines  # the last one may be cut off
    lines = [line for line in lines if line.strip()]
    if not lines:
        return b"#" in head
    return _EDGE.fullmatch(lines[0]) is not None and all(map(_ENDS.match, lines)) and b"--END--" not in head


def read(source: Source, *, reading: Reading = ANYHOW) -> Graph:
    """Edges between ids; the labels are the ids that occur, in order. Columns that are chosen may hold any names."""
    directed = _directed(source)
    if reading.columns is not None or reading.named:
        return edgelist.read(source, reading=reading).having(directed=directed)
    body = _COMMENT.sub(b"", source.lines) if b"#" in source.lines else source.lines
    found = columns(source, body, shape="from to [weight]", widths=(2, 3))
    ids, ends = np.unique(np.concatenate((found.rows, found.cols)), return_inverse=True)
    rows, cols = np.split(ends.reshape(-1), 2)
    return Graph.from_arrays(rows, cols, found.weights, labels=ids, directed=directed)


def _directed(source: Source) -> bool:
    """Whether no comment says that edges lead both ways."""
    direction = _DIRECTION.search(source.lines) if b"#" in source.lines else None
    return direction is None or direction.group(1) is None


def write(graph: Graph, file: IO[bytes]) -> None:
    """A comment with the sizes, then tab-separated columns."""
    rows, cols, weights = listed(replace(graph, directed=True))
    require_edges(graph, rows, cols, "snap")
    ids = names_of(graph, "snap")
    wrong = next((label for label in graph.labels if isinstance(label, str) or abs(label) > _MOST), None)
    if wrong is not None:
        raise FormatError(
            "snap", None, f"write: vertices must be integers of 64 bits, got {wrong!r}. Write csv, named or npz."
        )
    direction = "Directed" if graph.directed else "Undirected"
    write_lines(file, [f"# {direction} graph: {remark(graph.name)}".rstrip(": ")])
    write_lines(file, [f"# Nodes: {graph.n} Edges: {len(rows)}"])
    if weighted(graph):
        write_lines(file, ["# FromNodeId\tToNodeId\tWeight"])
        write_lines(file, (f"{ids[u]}\t{ids[v]}\t{w}" for u, v, w in zip(rows, cols, weights, strict=True)))
    else:
        write_lines(file, ["# FromNodeId\tToNodeId"])
        write_lines(file, (f"{ids[u]}\t{ids[v]}" for u, v in zip(rows, cols, strict=True)))


FORMAT = Format(
    *("snap", (".snap", ".el"), "SNAP edge list: # comments, `from to [weight]`", sniff, read, write),
    takes=("weight", "columns"),
    rank=4,
)
