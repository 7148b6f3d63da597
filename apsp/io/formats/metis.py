"""METIS `.graph`: a header `n m [fmt [ncon]]`, then line k lists the neighbours of vertex k, from 1; `%` comments.

An edge is on the lines of both ends, and counts once in m. The digits of `fmt`: whether a line begins with its vertex's
size, whether `ncon` vertex weights follow, whether each neighbour is followed by the edge weight, a positive integer. A
blank line is an isolated vertex. Sizes and weights of vertices are skipped. Format: Karypis, "METIS: A Software Package
for Partitioning Unstructured Graphs, Version 5.1.0" (2013), section 4.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import IO

import numpy as np

from ..graph import Graph
from ..reading.files import Source
from .base import Format, remark, shown_label, unreturned, unwritten, write_lines
from .tokens import show

_NUMBER = re.compile(rb"[0-9]{1,18}").fullmatch
#: Numbers have at most 18 digits, within int64.
_MOST = 10**18 - 1


def read(source: Source) -> Graph:
    """Undirected edges between vertices 1 … n, each once, ordered by the lesser end."""
    text = _numbers(source)
    header = _header(source, text)
    n, lead, step = header.n, header.lead, 2 if header.weighted else 1
    _check_lines(source, text, header)
    found = text.row > 0
    tails, values = text.row[found], text.values[found]
    counts = np.bincount(tails, minlength=n + 1)
    place = np.arange(len(tails)) - (np.cumsum(counts) - counts)[tails] - lead  # within its line, from the first edge
    ends = (place >= 0) & (place % step == 0)
    tails, heads = tails[ends], values[ends]
    weights = values[(place >= 0) & (place % step == 1)] if header.weighted else np.ones(len(heads), np.int64)

    def refuse(wrong: np.ndarray, need: str, got: np.ndarray) -> None:
        if wrong.any():
            index = int(np.argmax(wrong))
            raise source.error(f"{need}, got {got[index]}.", int(text.line[tails[index]]))

    refuse((heads < 1) | (heads > n), f"neighbours must be in 1 … {n}", heads)
    refuse(heads == tails, "a vertex must not be its own neighbour", heads)
    refuse(weights < 1, "the weight of an edge must be a positive integer", weights)
    alone = unreturned(tails, heads, weights)
    if alone is not None:
        u, v, w = (int(x[alone]) for x in (tails, heads, weights))
        what = f"edge {u} – {v}" + (f" of weight {w}" if header.weighted else "")
        raise source.error(
            f"an edge must stand on the lines of both its ends, and {what} is missing on line {text.line[v]}, "
            f"that of vertex {v}.",
            int(text.line[u]),
        )
    if len(heads) != 2 * header.m:
        raise source.error(
            f"must hold the {header.m} edges that its header counts, got {len(heads) // 2}. "
            "An edge stands on two lines and counts once.",
            int(text.line[0]),
        )
    once = tails < heads
    rows, cols, listed_weights = tails[once] - 1, heads[once] - 1, weights[once] if header.weighted else None
    return Graph.from_arrays(rows, cols, listed_weights, n=n, labels=range(1, n + 1), directed=False)


def write(graph: Graph, file: IO[bytes]) -> None:
    rows, cols = graph.ends
    tails, heads = np.concatenate((rows, cols)), np.concatenate((cols, rows))
    order = np.lexsort((heads, tails))
    tails, heads = tails[order], heads[order]
    _check_edges(graph, tails, heads)
    tokens = list(map(str, (heads + 1).tolist()))
    if graph.weights is not None:
        weights = np.tile(graph.weights, 2)[order].tolist()
        tokens = [f"{head} {w}" for head, w in zip(tokens, weights, strict=True)]
    if graph.name:
        write_lines(file, [f"% {remark(graph.name)}"])
    write_lines(file, [f"{graph.n} {len(rows)}{'' if graph.weights is None else ' 001'}"])
    ends = np.cumsum(np.bincount(tails, minlength=graph.n)).tolist()
    write_lines(file, (" ".join(tokens[a:b]) for a, b in pairwise([0, *ends])))


def _check_edges(graph: Graph, tails: np.ndarray, heads: np.ndarray) -> None:
    """Refuse loops, parallel edges, and weights that are not positive."""

    def refuse(wrong: np.ndarray, need: str, u: np.ndarray, v: np.ndarray, way_out: str) -> None:
        if wrong.any():
            index = int(np.argmax(wrong))
            edge = " – ".join(shown_label(graph.labels[int(ends[index])]) for ends in (u, v))
            raise unwritten("metis", f"{need}, got {edge}. {way_out} Or write dimacs, plain or npz.")

    again = (tails[1:] == tails[:-1]) & (heads[1:] == heads[:-1])
    merge = "Merge them: as_graph(graph.matrix()) keeps the least weight."
    refuse(tails == heads, "edges must join two vertices, as metis files know no loops", tails, heads, "Drop it.")
    refuse(again, "two vertices must have at most one edge between them", tails[1:], heads[1:], merge)
    if graph.weights is not None:
        outside = (graph.weights < 1) | (graph.weights > _MOST)
        need = "weights must be positive integers of at most 18 digits"
        refuse(outside, need, *graph.ends, "Add a constant to all.")


@dataclass(frozen=True)
class _Numbers:
    """All numbers of a file: `values[i]` is in row `row[i]` (0: header, k: vertex k); `line[k]` is row k's line."""

    values: np.ndarray
    row: np.ndarray
    line: np.ndarray


def _numbers(source: Source) -> _Numbers:
    lines = enumerate(source.lines.removesuffix(b"\n").split(b"\n"), 1)
    listed = [(line, text.split()) for line, text in lines if not text.lstrip().startswith(b"%")]
    tokens = list(chain.from_iterable(row for _, row in listed))
    if not all(map(_NUMBER, tokens)):
        line, wrong = next((line, token) for line, row in listed for token in row if not _NUMBER(token))
        raise source.error(f"numbers must be integers from 0 on of at most 18 digits, got {show(wrong)}.", line)
    rows = np.repeat(np.arange(len(listed)), [len(row) for _, row in listed])
    return _Numbers(np.array(list(map(int, tokens)), np.int64), rows, np.array([line for line, _ in listed], np.int64))


@dataclass(frozen=True)
class _Header:
    """Sizes of a graph, numbers before the edges on a line, and whether edges have weights."""

    n: int
    m: int
    lead: int
    weighted: bool


def _header(source: Source, text: _Numbers) -> _Header:
    sizes = text.values[text.row == 0].tolist()
    line = int(text.line[0]) if len(text.line) else None
    if not 2 <= len(sizes) <= 4:
        got = " ".join(map(str, sizes[:8])) or "none"
        raise source.error(f"the first line that is no comment must be `n m [fmt [ncon]]`, got {got}.", line)
    n, m, fmt, ncon = [*sizes, 0, 0][:4]
    digits = f"{fmt:03d}"
    if not re.fullmatch("[01]{3}", digits):
        raise source.error(f"fmt must be three digits 0 or 1, got {digits}.", line)
    size, weights, weighted = (digit == "1" for digit in digits)
    if ncon and not weights:
        raise source.error(f"ncon must come with a fmt that says weights of vertices, got {ncon} with {digits}.", line)
    return _Header(n, m, size + (ncon or 1) * weights, weighted)


def _check_lines(source: Source, text: _Numbers, header: _Header) -> None:
    """Require a line per vertex, with as many numbers as the header implies."""
    found = len(text.line) - 1
    if found < header.n:
        raise source.error(
            f"must have a line for each of the {header.n} vertices that its header counts, got {found}. "
            "The file may be cut off."
        )
    if len(text.row) and text.row[-1] > header.n:
        first = int(text.row[np.argmax(text.row > header.n)])
        raise source.error(
            f"must end behind the {header.n} vertices that its header counts, got more.", int(text.line[first])
        )
    counts = np.bincount(text.row, minlength=header.n + 1)[1:]
    wrong = (counts < header.lead) | ((counts - header.lead) % (2 if header.weighted else 1) != 0)
    if wrong.any():
        index = int(np.argmax(wrong))
        own = f"{header.lead} of the vertex, then " if header.lead else ""
        edges = "pairs `neighbour weight`" if header.weighted else "neighbours"
        raise source.error(f"numbers must be {own}{edges}, got {counts[index]} of them.", int(text.line[index + 1]))


FORMAT = Format(
    "metis", (".graph",), "METIS: line k lists the neighbours of vertex k", None, read, write,
    directions=False, fractions=False,
)  # fmt: skip
