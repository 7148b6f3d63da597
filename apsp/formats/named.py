"""The named-vertex format of the classic CUDA teaching program: lines `V W length`, ended by `--END--`.

Names are free of blanks. Lines may be blank; what follows `--END--` is not read.
"""

from __future__ import annotations

import re
from typing import IO

from semiring.errors import FormatError

from ..graph import Graph
from ..reading.files import Source
from .base import Format, listed, names_of, require_edges, vertices, write_lines
from .tokens import integral, numbers, show

#: The line that ends the edges.
END = re.compile(r"^[ \t]*--END--[ \t]*$", re.MULTILINE)


def sniff(head: bytes) -> bool:
    """`--END--` on a line; where that comes later, `edgelist` meets it."""
    return END.search(head.decode("utf-8", "replace")) is not None


def read(source: Source) -> Graph:
    """Edges up to `--END--`, with vertices sorted by name."""
    text = source.text
    end = END.search(text)
    if end is None:
        raise source.error(
            "must end with a line `--END--`, and has none. The file may be cut off.", len(text.splitlines())
        )
    lines = [line.split() for line in text[: end.start()].split("\n")]
    edges = [tokens for tokens in lines if tokens]
    if any(len(tokens) != 3 for tokens in edges):
        at = next(i for i, tokens in enumerate(lines) if tokens and len(tokens) != 3)
        raise source.error(f"a line must be `V W length`, got {show(' '.join(lines[at]))}.", at + 1)
    weights, wrong = numbers([tokens[2] for tokens in edges])
    if wrong is not None:
        line = [i for i, tokens in enumerate(lines, 1) if tokens][wrong.index]
        raise source.error(f"a length must be {wrong.need}, got {show(edges[wrong.index][2])}.", line)
    labels, rows, cols = vertices([tokens[0] for tokens in edges], [tokens[1] for tokens in edges])
    return Graph.from_arrays(rows, cols, weights, labels=labels)


def write(graph: Graph, file: IO[bytes]) -> None:
    """One line an edge, then `--END--`."""
    rows, cols, weights = listed(graph)
    require_edges(graph, rows, cols, "named")
    names = names_of(graph, "named", forbidden="\0\ufeff")
    for name in names:
        if len(name.split()) != 1 or name == "--END--" or name != name.strip():
            raise FormatError("named", None, f"write: names must be free of blanks, got {name!r}. Write csv or npz.")
    if names and integral(names) and isinstance(graph.labels[0], str):
        raise FormatError(
            "named", None, f"write: names must not all be integers written as text, got {names[0]!r}. Write csv or npz."
        )
    write_lines(file, (f"{names[u]} {names[v]} {w}" for u, v, w in zip(rows, cols, weights, strict=True)))
    write_lines(file, ["--END--"])


FORMAT = Format("named", (".named",), "lines `V W length`, ended by --END--", sniff, read, write, rank=5)
