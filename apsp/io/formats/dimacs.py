"""DIMACS shortest-path graphs: `c` comments, one line `p sp n m`, and m lines `a tail head length`, vertices from 1.

Format: 9th DIMACS Implementation Challenge (2006).
"""

from __future__ import annotations

import re
from typing import IO

import numpy as np

from semiring.host.text import decimals

from ..graph import Graph
from ..reading.files import Source
from .base import Format, edge_lines, listed, remark, write_lines
from .columns import numbered
from .tokens import counts, digits, show

_REMARK = re.compile(rb"^[ \t]*[cp](?![^ \t\n])[^\n]*", re.MULTILINE)
_PROBLEM = re.compile(rb"^[ \t]*p(?![^ \t\n])[^\n]*", re.MULTILINE)
_ARC = re.compile(rb"^[ \t]*a(?=[ \t])", re.MULTILINE)
_ANY_ARC = re.compile(rb"^[ \t]*a", re.MULTILINE)
_PLAIN = re.compile(rb"p sp ([0-9]{1,15}) ([1-9][0-9]{0,14})")
_EMPTY_ARC = re.compile(rb"^[ \t]*a[ \t]*$", re.MULTILINE)
_STRAY = re.compile(rb"^[ \t]*(?![acp\s](?:\s|\Z))[^\s][^\n]*", re.MULTILINE)
sniff = re.compile(rb"^p[ \t]+sp[ \t]", re.MULTILINE).search


def read(source: Source) -> Graph:
    """The arcs that the problem line counts, between vertices 1 … n."""
    text = source.lines
    graph = _plain(text)
    if graph is not None:
        return graph
    problems = list(_PROBLEM.finditer(text))
    if len(problems) != 1:
        line = _line(text, problems[1].start()) if problems else None
        raise source.error(f"must have one line `p sp n m`, got {len(problems)}.", line)
    problem = problems[0]
    n, m = counts(source, problem.group(), "the problem line", "p sp n m", _line(text, problem.start()))
    stray = _STRAY.search(text)
    if stray:
        raise source.error(f"a line must begin with c, p or a, got {show(stray.group())}.", _line(text, stray.start()))
    empty = _EMPTY_ARC.search(text)
    if empty:
        raise source.error("a line must be `a tail head length`, got 'a'.", _line(text, empty.start()))
    body = _ARC.sub(b" ", _REMARK.sub(b"", text))
    return numbered(source, body, n, m, shape="a tail head length", what="arcs")


def _plain(text: bytes) -> Graph | None:
    """Fast reader: remarks, problem line, then lines `a tail head length` of digits; None for anything else."""
    start = text.find(b"\na ") + 1
    head = text[:start]
    problems = _PROBLEM.findall(head)
    plain = _PLAIN.fullmatch(problems[0]) if len(problems) == 1 else None
    if plain is None or _STRAY.search(head) or _ANY_ARC.search(head):
        return None
    n, m = map(int, plain.groups())
    whole = decimals(text, " ", 3, begin=start, before=b"a ")
    found = _digits(text, start, m) if whole is None else whole.integers(slice(3))
    if found is None or found.shape != (3, m):
        return None
    tails, heads, lengths = found
    if min(tails.min(), heads.min()) < 1 or max(tails.max(), heads.max()) > n:
        return None
    return Graph.from_arrays(tails - 1, heads - 1, lengths, n=n, labels=range(1, n + 1))


def _digits(text: bytes, start: int, m: int) -> np.ndarray | None:
    """Tails, heads and lengths of m lines text[start:], shape (3, m)."""
    data = np.frombuffer(text if text.endswith(b"\n") else text + b"\n", np.uint8)[start:]
    ends, blanks = np.flatnonzero(data == ord("\n")), np.flatnonzero(data == ord(" "))
    begins = np.concatenate(([0], ends[:-1] + 1))
    if len(ends) != m or len(blanks) != 3 * m or (data[begins] != ord("a")).any():
        return None
    stops = np.column_stack((blanks.reshape(m, 3), ends))
    if (stops[:, 0] != begins + 1).any():
        return None
    found = digits(data, (stops[:, :3] + 1).T.ravel(), stops[:, 1:].T.ravel())
    return None if found is None else found.reshape(3, m)


def write(graph: Graph, file: IO[bytes]) -> None:
    arcs = listed(graph)
    head = [f"c {remark(graph.name)}"] if graph.name else []
    write_lines(file, [*head, f"p sp {graph.n} {len(arcs[0])}", *edge_lines(arcs, range(1, graph.n + 1), before="a ")])


def _line(text: bytes, offset: int) -> int:
    return text.count(b"\n", 0, offset) + 1


FORMAT = Format("dimacs", (".gr",), "DIMACS shortest paths: `p sp n m`, `a tail head length`", sniff, read, write)
