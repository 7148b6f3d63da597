"""DOT, the language of Graphviz, read by pydot. Vertices are named by their ids, without ports.

An edge of a digraph leads as its arrow is drawn: dir=back the other way, dir=both and none, as without arrows, both.
"""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from types import ModuleType
from typing import IO, Any

from semiring.host.types import Fields, Input

from .base import Format
from .through_networkx import reader

#: `graph {` or `digraph name {`, below comments.
sniff = re.compile(rb"(?:\s|//[^\n]*\n|#[^\n]*\n|/\*.*?\*/)*(?:strict\s+)?(?:di)?graph\b[^\n{]*\{", re.DOTALL).match
#: A name, quoted or plain, before the port that may follow it.
_NAME = re.compile(r'("(?:\\.|[^"\\])*"|<.*>|[^:]*)', re.DOTALL)


def parse(networkx: ModuleType, pydot: ModuleType, file: IO[bytes]) -> Any:
    """The graph with the edges of its subgraphs and their defaults, which NetworkX's own conversion drops."""
    with redirect_stdout(io.StringIO()) as said:  # where pydot prints a mistake
        found = pydot.graph_from_dot_data(file.read().decode()) or []
    if len(found) != 1:
        raise ValueError(said.getvalue().strip() or f"{len(found)} graphs")
    part = found[0].obj_dict
    kind = "DiGraph" if part["type"] == "digraph" else "Graph"
    graph = getattr(networkx, kind if part["strict"] else f"Multi{kind}")()
    _walk(part, graph, {})
    return graph


def _walk(part: Fields, graph: Input, defaults: Fields, *, ends: bool = False) -> list[str]:
    """Add the nodes and edges of a graph or subgraph in the order of the text; the nodes, which `ends` alone holds."""
    held = []
    items = (item for kind in ("nodes", "edges", "subgraphs") for group in part[kind].values() for item in group)
    for item in sorted(items, key=lambda item: int(item["sequence"])):
        if item["type"] == "edge" and ends:
            raise ValueError("an edge within an end of another")
        if item["type"] == "edge":
            tails, heads = (
                [_plain(x)] if isinstance(x, str) else _walk(x, graph, {}, ends=True) for x in item["points"]
            )
            data = {name: _plain(value) for name, value in {**defaults, **item["attributes"]}.items()}
            way = data.get("dir") if graph.is_directed() else None  # else a matter of the drawing
            graph.add_edges_from((u, v, data) for u in tails for v in heads if way != "back")
            graph.add_edges_from((v, u, data) for u in tails for v in heads if way in ("back", "both", "none"))
            held += [*tails, *heads]
        elif item["type"] == "subgraph":
            held += _walk(item, graph, defaults, ends=ends)
        elif item["name"] == "edge":
            defaults = {**defaults, **item["attributes"]}
        elif item["name"] not in ("node", "graph", *_LINE_ENDS):
            held.append(_plain(item["name"]))
            graph.add_node(held[-1], **{name: _plain(value) for name, value in item["attributes"].items()})
    return held


#: What pydot takes for nodes.
_LINE_ENDS = ('"\\n"', '"\\r\\n"')


def _plain(text: str) -> str:
    """A name or value without quotes and port."""
    name = _NAME.match(text)[0]  # type: ignore[index]  # its last alternative matches every text
    return name[1:-1].replace('\\"', '"') if name[:1] == '"' else name


read = reader(parse, "DOT with one graph", "pydot")
FORMAT = Format("dot", (".dot", ".gv"), "DOT of Graphviz, by pydot (read only)", sniff, read, None, ("weight",))
