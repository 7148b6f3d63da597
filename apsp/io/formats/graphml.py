"""GraphML, the XML of many graph editors, read by NetworkX; vertices are named by id."""

from __future__ import annotations

import re
from types import ModuleType
from typing import IO, Any

from .base import Format
from .through_networkx import reader

sniff = re.compile(rb"<graphml").search


def parse(networkx: ModuleType, file: IO[bytes]) -> Any:
    """Parse; refuses several graphs, which NetworkX would skip, as it would default values of edges."""
    data = file.read()
    count = len(re.findall(rb"<(?:[\w.-]+:)?graph[\s>]", data))
    if count > 1:
        raise ValueError(f"{count} graphs")
    # Parsed whole, with the namespace that some files lack: in parts, a long attribute is rescanned each time.
    graph = networkx.parse_graphml(
        data.replace(b"<graphml>", b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">')
    )
    for *_, values in graph.edges(data=True):
        for name, default in graph.graph.get("edge_default", {}).items():
            values.setdefault(name, default)
    return graph


read = reader(parse, "GraphML with one graph")
FORMAT = Format("graphml", (".graphml",), "GraphML (read only)", sniff, read, None, ("weight",))
