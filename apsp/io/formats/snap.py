"""SNAP edge lists: `#` comments, then two columns of vertex ids, or three with a weight. Ids are integers with gaps.

A comment `# Undirected graph …`, or `% sym` of KONECT and Network Repository, makes edges two-way; a wrong count
`# … Edges: 5` causes a warning. Format: Stanford Large Network Dataset Collection (Leskovec and Krevl).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import IO

import numpy as np

from semiring.host.spelling import came

from ...road.log import warn
from ..graph import Graph
from ..labels import number_ends
from ..reading.files import Source
from ..reading.options import ANYHOW, Reading
from . import edgelist
from .base import Format, edge_lines, named_edges, remark, unwritten, write_lines
from .columns import columns
from .tokens import show

_COMMENT = re.compile(rb"#[^\n]*|^[ \t]*%[^\n]*", re.MULTILINE)
_PERCENT = re.compile(r"^[ \t]*%[^\n]*", re.MULTILINE)
_COUNTED = re.compile(rb"^[ \t]*#[^\n]*\bedges:[ \t]*([0-9]{1,15})\b", re.MULTILINE | re.IGNORECASE)
_DIRECTION = re.compile(rb"^[ \t]*(?:#[ \t]*(un)?directed graph|%[ \t]*(sym|asym|bip))\b", re.MULTILINE | re.IGNORECASE)
#: A canonical integer, as 007, +7 and 7 would be one vertex.
_ID = rb"(?:0|-?[1-9]\d*)"
_ENDS = re.compile(rb"[ \t]*" + _ID + rb"[ \t]+" + _ID + rb"(?![^ \t])")
_EDGE = re.compile(_ENDS.pattern + rb"([ \t]+\S+)?[ \t]*")
#: An edge with a time, of KONECT.
_TIMED = re.compile(_ENDS.pattern + rb"([ \t]+\S+){2}[ \t]*")
_OTHERWISE = re.compile(rb"^[ \t]*(?:\S+[ \t]+)?((?:\+|-?0[0-9]|-0)[0-9]*)(?!\S)", re.MULTILINE)

_MOST = np.iinfo(np.int64).max


def has_edge(head: bytes) -> bool:
    return any(map(_ENDS.match, _COMMENT.sub(b"", head).split(b"\n")))


def sniff(head: bytes) -> bool:
    """Lines that begin with two integers, optionally with a weight; or comments only."""
    lines = _COMMENT.sub(b"", head).split(b"\n")
    lines = lines[:-1] if len(head) >= 1 << 15 else lines  # the last one may be cut off
    lines = [line for line in lines if line.strip()]
    if not lines:
        return b"#" in head
    edge = _EDGE.fullmatch(lines[0]) or (_DIRECTION.search(head) and _TIMED.fullmatch(lines[0]))
    return edge is not None and all(map(_ENDS.match, lines)) and b"--END--" not in head


def read(source: Source, *, reading: Reading = ANYHOW) -> Graph:
    """Edges between ids, which become sorted labels; chosen columns may hold any names."""
    commented = b"#" in source.lines or b"%" in source.lines
    direction = _DIRECTION.search(source.lines) if commented else None
    if direction and direction[2] == b"bip":
        raise source.error(f"its rows and columns are vertices of two kinds, got {show(direction[0])}. Rename one.")
    directed = direction is None or not (direction[1] or direction[2] == b"sym")
    if reading.columns is not None or reading.named:
        text = _PERCENT.sub("", source.text)
        return edgelist.read(source, reading=reading, text=text).having(directed=directed)
    body = _COMMENT.sub(b"", source.lines) if commented else source.lines
    if direction and direction[2] and _TIMED.fullmatch(body.strip().partition(b"\n")[0].rstrip(b"\r")):
        raise source.error("a line must be `from to [weight]`, got a fourth column, of times. Say columns=(0, 1, 2).")
    found = columns(source, body, shape="from to [weight]", widths=(2, 3))
    other = _OTHERWISE.search(body) if not found.plain else None
    if other:
        line = body.count(b"\n", 0, other.start(1)) + 1
        raise source.error(
            f"a vertex must be an integer as one writes it, got {show(other[1].decode())}, which would be the same as "
            f"{int(other[1])}. apsp.read(…, format='edgelist') reads names.",
            line,
        )
    counted = _COUNTED.search(source.lines[: 1 << 16])  # it is at the top
    if counted is not None and int(counted[1]) != len(found.rows):
        warn(
            f"{source.path}: its comment counts {int(counted[1])} edges, and it lists {len(found.rows)}. "
            "It may be cut off.",
        )
    labels, rows, cols = number_ends(found.rows, found.cols)
    return Graph.from_arrays(rows, cols, found.weights, labels=labels, directed=directed)


def write(graph: Graph, file: IO[bytes]) -> None:
    """A comment with the sizes, then tab-separated columns."""
    arcs, ids = named_edges(replace(graph, directed=True), "snap", quotes=True)
    wrong = next((label for label in graph.labels if isinstance(label, str) or abs(label) > _MOST), None)
    if wrong is not None:
        raise unwritten("snap", f"vertices must be integers of 64 bits, got {came(wrong)}. Write csv, named or npz.")
    direction, columns = "Directed" if graph.directed else "Undirected", "# FromNodeId\tToNodeId"
    head = [f"# {direction} graph: {remark(graph.name)}".rstrip(": "), f"# Nodes: {graph.n} Edges: {len(arcs[0])}"]
    heading = columns if arcs[2] is None else f"{columns}\tWeight"
    write_lines(file, [*head, heading, *edge_lines(arcs, ids, between="\t")])


FORMAT = Format(
    *("snap", (".snap", ".el"), "SNAP edge list: # comments, `from to [weight]`", sniff, read, write),
    takes=("weight", "columns"),
    rank=4,
)
