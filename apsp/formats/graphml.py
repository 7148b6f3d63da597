"""GraphML, the XML of many graph editors, read by NetworkX. Vertices are named by their ids."""

from __future__ import annotations

import re
from typing import IO, Any

from .base import Format
from .through_networkx import reader


def sniff(head: bytes) -> bool:
    """Its root."""
    return b"<graphml" in head


def parse(networkx: Any, file: IO[bytes]) -> Any:
    """NetworkX would pass over graphs in nodes and behind the first, and over the values of edges that say none."""
    data = file.read()
    count = len(re.findall(rb"<(?:[\w.-]+:)?graph[\s>]", data))
    if count > 1:
        raise ValueError(f"{count} graphs")
    # At once, with the name space that some lack: of a file in parts, a long attribute is read again with each part.
    graph = networkx.parse_graphml(
        data.replace(b"<graphml>", b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">')
    )
    for *_, values in graph.edges(data=True):
        for name, default in graph.graph.get("edge_default", {}).items():
            values.setdefault(name, default)
    return graph


read = reader(parse, "GraphML with one graph")
FORMAT = Format("graphml", (".graphml",), "GraphML (read only)", sniff, read, None, ("weight",))
