"""The format of the classic CUDA teaching program: lines `V W length`, ended by `--END--`.

Names have no blanks; lines may be blank, and text after `--END--` is ignored.
"""

from __future__ import annotations

import re
from typing import IO

from semiring.host.errors import FormatError

from ..graph import Graph
from ..reading.files import Source
from ..reading.options import Reading
from .base import Format, edge_lines, named_edges, write_lines
from .tables import of_fields

#: The last line.
END = re.compile(r"^[ \t]*--END--[ \t]*$", re.MULTILINE)


def sniff(head: bytes) -> bool:
    """`--END--` on a line of the head; a later one is found by `edgelist`."""
    return END.search(head.decode("utf-8", "replace")) is not None


def read(source: Source) -> Graph:
    text = source.text
    end = END.search(text)
    if end is None:
        raise source.error(
            "must end with a line `--END--`, and has none. The file may be cut off.", len(text.splitlines())
        )
    return of_fields(source, text[: end.start()], Reading(columns=(0, 1, 2)), "V W length")


def write(graph: Graph, file: IO[bytes]) -> None:
    arcs, names = named_edges(graph, "named", forbidden="\0\ufeff")
    if "--END--" in names:
        raise FormatError("named", None, "write: names must not be --END--, which ends a file. Rename it.")
    weights = arcs[2] or [1] * len(arcs[0])
    write_lines(file, (*edge_lines((*arcs[:2], weights), names), "--END--"))


FORMAT = Format("named", (".named",), "lines `V W length`, ended by --END--", sniff, read, write, rank=5)
