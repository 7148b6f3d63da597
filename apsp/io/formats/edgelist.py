"""Edges between names, separated by blanks: lines `A B` or `A B 4`, all alike, with `#` comments.

A first line naming both ends (`from to minutes`) is a header; one that may be an edge, `u v 3`, is refused. Names are
integers if all look so. Lines `V W length`, ended by `--END--`, are those of the classic CUDA teaching program.
"""

from __future__ import annotations

import re
from typing import IO

from semiring.host.spelling import came

from ..graph import Graph
from ..reading.files import Source
from ..reading.options import ANYHOW, Reading, names_ends
from .base import Format, edge_lines, named_edges, unwritten, write_lines
from .tables import of_fields
from .tokens import as_number, show

_COMMENT = re.compile(r"#[^\n]*")
#: A first line `A B {'km': 3}`, as `networkx.write_edgelist` writes it.
_ATTRIBUTES = re.compile(r"\A\s*[^\s#]+[^\S\n]+\S+[^\S\n]+\{[^\n]*\}")
#: The last line of the classic CUDA teaching program's files; text after it is ignored.
_END = re.compile(r"^[ \t]*--END--[ \t]*$", re.MULTILINE)


def sniff(head: bytes) -> bool:
    """A header, or lines of two names, optionally with a number."""
    text = head.decode("utf-8", "replace")
    rows = [row for row in map(str.split, _COMMENT.sub("", _whole_lines(text)).split("\n")) if row]
    if not rows or "\0" in text or "\ufffd" in _whole_lines(text):
        return False
    if names_ends(rows[0]):
        return True
    if all(row[0].endswith((",", ";")) for row in rows):  # "A, B, 4"
        return False
    width = len(rows[0])
    if width not in (2, 3) or any(len(row) != width for row in rows):
        return False
    return width == 2 or all(as_number(row[2]) is not None for row in rows)


def read(source: Source, *, reading: Reading = ANYHOW, text: str | None = None) -> Graph:
    """An edge a line, by header or chosen columns; `text` is the source's without other comments than #."""
    text = source.text if text is None else text
    if "--END--" in text and _END.search(text):
        return _read_ended(source).having(weighted=reading.weight is not None)
    attributes = _ATTRIBUTES.search(text) if reading.weight is not None else None
    if attributes:
        raise source.error(
            f"a weight must be a number, got NetworkX's attributes in {show(attributes[0])}. Say apsp.as_graph("
            f"networkx.read_edgelist({str(source.path)!r})), with create_using=networkx.DiGraph for a directed graph, "
            "or weight=None for unweighted edges."
        )
    return of_fields(source, _without_comments(source, text) if "#" in text else text, reading)


def _without_comments(source: Source, text: str) -> str:
    """The text without comments; a # within a word is refused, as it may be part of a name."""
    for comment in _COMMENT.finditer(text):
        start = comment.start()
        if start and not text[start - 1].isspace():
            word = text[:start].split()[-1] + comment[0].split()[0]
            line = text.count("\n", 0, start) + 1
            raise source.error(f"a comment must stand apart, # behind a blank, got {show(word)}.", line)
    return _COMMENT.sub("", text)


def write(graph: Graph, file: IO[bytes]) -> None:
    arcs, names = named_edges(graph, "edgelist", forbidden="\0\ufeff#")
    lines = list(edge_lines(arcs, names))
    if lines and names_ends(lines[0].split()[:2]):
        raise unwritten("edgelist", f"names must be no heading, got {came(lines[0])}. Write csv or npz.")
    if lines and all(isinstance(label, int) for label in graph.labels):  # else two or three may be a matrix
        lines.insert(0, f"# Nodes: {graph.n} Edges: {len(lines)}")
    write_lines(file, lines or ["# no edges"])


def _whole_lines(text: str) -> str:
    """The text without a last line that may be cut off."""
    return text.rpartition("\n")[0] if len(text) >= 1 << 15 and not text.endswith("\n") else text


def _is_ended(head: bytes) -> bool:
    """`--END--` on a line of the head; a later one is found by `read`."""
    return _END.search(head.decode("utf-8", "replace")) is not None


def _read_ended(source: Source) -> Graph:
    text = source.text
    end = _END.search(text)
    if end is None:
        raise source.error(
            "must end with a line `--END--`, and has none. The file may be cut off.", len(text.splitlines())
        )
    return of_fields(source, text[: end.start()], Reading(columns=(0, 1, 2)), "V W length")


def _write_ended(graph: Graph, file: IO[bytes]) -> None:
    arcs, names = named_edges(graph, "named", forbidden="\0\ufeff")
    if "--END--" in names:
        raise unwritten("named", "names must not be --END--, which ends a file. Rename it.")
    weights = arcs[2] or [1] * len(arcs[0])
    write_lines(file, (*edge_lines((*arcs[:2], weights), names), "--END--"))


FORMATS = (
    Format(
        *("edgelist", (".edgelist", ".edges", ".ncol"), "edges between names: lines `A B [weight]`, # comments"),
        *(sniff, read, write),
        takes=("weight", "columns"),
        rank=6,
    ),
    Format(
        *("named", (".named",), "lines `V W length`, ended by --END--"),
        *(_is_ended, _read_ended, _write_ended),
        rank=5,
    ),
)
