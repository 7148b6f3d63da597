"""DOT, the language of Graphviz, read by pydot through NetworkX. Vertices are named by their ids."""

from __future__ import annotations

import re
from types import ModuleType
from typing import IO, Any

from .base import Format
from .through_networkx import reader

#: `graph {` or `digraph name {`, below comments.
sniff = re.compile(rb"(?:\s|//[^\n]*\n|#[^\n]*\n|/\*.*?\*/)*(?:strict\s+)?(?:di)?graph\b[^\n{]*\{", re.DOTALL).match


def parse(networkx: ModuleType, pydot: ModuleType, file: IO[bytes]) -> Any:
    """A graph whose names and values have no quotes, without the line ends that pydot takes for nodes."""
    (found,) = pydot.graph_from_dot_data(file.read().decode())
    graph = networkx.relabel_nodes(networkx.nx_pydot.from_pydot(found), _plain)
    graph.remove_nodes_from(["\\n", "\\r\\n"])
    for *_, data in graph.edges(data=True):
        data.update({name: _plain(value) for name, value in data.items()})
    return graph


def _plain(text: str) -> str:
    return text[1:-1].replace('\\"', '"') if text[0] == text[-1] == '"' else text


read = reader(parse, "DOT with one graph", "pydot")
FORMAT = Format("dot", (".dot", ".gv"), "DOT of Graphviz, by pydot (read only)", sniff, read, None, ("weight",))
