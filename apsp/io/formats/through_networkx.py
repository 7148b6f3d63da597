"""Formats read by NetworkX, of read-only files: GEXF, GML, graph6, GraphML, and DOT by pydot.

Vertices are named by their ids, in GML by label if possible; the weight is an edge attribute.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import IO, Any

from semiring.host.errors import FormatError
from semiring.host.types import Fields, Function, Input, Label

from ..graph import Graph
from ..labels import Labels
from ..reading.files import Source
from ..reading.from_networkx import from_networkx
from ..reading.options import ANYHOW, Reading
from .base import Format
from .tokens import integral, numbers, seconds, show

#: Maximum nesting of lists; graphs have three levels, drawings six.
_DEEPEST = 100
#: Brackets of lists, skipping texts and comments.
_BRACKETS = re.compile(rb'"[^"]*"|^[ \t]*#[^\n]*|[][]', re.MULTILINE)
#: A name, quoted or plain, before the port that may follow it.
_NAME = re.compile(r'("(?:\\.|[^"\\])*"|<.*>|[^:]*)', re.DOTALL)
#: What pydot takes for nodes.
_LINE_ENDS = ('"\\n"', '"\\r\\n"')


def reader(parse: Function, what: str, *more: str) -> Callable[..., Graph]:
    """A format's `read` from `parse(networkx, *more, file)`, which returns a NetworkX graph or raises anything."""

    def read(source: Source, *, reading: Reading = ANYHOW) -> Graph:
        with source.open() as file:
            return converted(source, reading, lambda *modules: parse(*modules, file), what, *more)

    return read


def converted(source: Source, reading: Reading, parse: Function, what: str, *more: str) -> Graph:
    """The graph of `parse(networkx, *more)`; its weight is an edge attribute, by the rule of `choose_attribute`."""
    modules = []
    for name in ("networkx", *more):
        try:
            modules.append(import_module(name))
        except ImportError:
            raise source.error(f"{what} is read by {name}. Install it: `pip install {name}`.") from None
    try:
        found = parse(*modules)
    except (MemoryError, OSError):
        raise
    except Exception as error:  # parsers may raise anything
        raise source.error(f"must be {what}, got {show(str(error) or repr(error), 200)}.") from error
    _numbers_of(data for *_, data in found.edges(data=True))
    _numbers_of(found.nodes.values(), ("x", "y"))
    try:
        graph = from_networkx(found, reading)
    except FormatError:
        raise
    except (ValueError, TypeError, LookupError) as error:
        raise source.error(str(error)) from error
    if graph.n and all(isinstance(label, str) for label in graph.labels) and integral(graph.labels):
        return replace(graph, labels=Labels(map(int, graph.labels)))  # as other formats have them
    return graph


def _numbers_of(elements: Iterable[dict[Any, Any]], names: Iterable[Label] | None = None) -> None:
    """Convert, in place, attributes that are numeric or duration texts in all elements; OSMnx saves texts."""
    listed = list(elements)
    for name in {name: 0 for data in listed for name in data} if names is None else names:
        having = [data for data in listed if name in data]
        texts = [data[name] for data in having]
        if texts and all(isinstance(text, str) for text in texts):
            values, wrong = numbers(texts)
            found = values if wrong is None else seconds(texts)
            for data, value in zip(having, texts if found is None else found.tolist(), strict=True):
                data[name] = value


def _gml(networkx: ModuleType, file: IO[bytes]) -> Any:
    """Parse with nodes named by label if possible, else by id."""
    data = file.read()
    depth = 0
    for sign in _BRACKETS.finditer(data):
        depth += {b"[": 1, b"]": -1}.get(sign[0], 0)
        if depth > _DEEPEST:  # would overflow NetworkX's stack
            raise ValueError(f"lists that nest more than {_DEEPEST} deep")
    labelled = re.search(rb"\blabel\s", data) is not None
    text = data.decode("utf-8-sig")  # in UTF-8, as Gephi and igraph write: read_gml takes ASCII alone
    if "multigraph" not in text:  # parallel edges are edges, as in other formats
        text = re.sub(r"^([ \t]*graph\s*\[)", r"\1 multigraph 1 ", text, count=1, flags=re.MULTILINE)
    lines = text.split("\n")
    try:
        return networkx.parse_gml(lines, label="label" if labelled else "id")
    except networkx.NetworkXError:
        if not labelled:
            raise
        return networkx.parse_gml(lines, label="id")  # labels of other objects, or not of every node


def _graph6(networkx: ModuleType, file: IO[bytes]) -> Any:
    lines = file.read().split()
    if len(lines) != 1:
        raise ValueError(f"{len(lines)} lines, where one is a graph")
    return networkx.from_graph6_bytes(lines[0])


def _graphml(networkx: ModuleType, file: IO[bytes]) -> Any:
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


def _dot(networkx: ModuleType, pydot: ModuleType, file: IO[bytes]) -> Any:
    """The graph with the edges of its subgraphs and their defaults, which NetworkX's own conversion drops.

    An edge of a digraph leads as its arrow is drawn: dir=back the other way, dir=both and none both, as without arrows.
    """
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


def _plain(text: str) -> str:
    """A name or value without quotes and port."""
    name = _NAME.match(text)[0]  # type: ignore[index]  # its last alternative matches every text
    return name[1:-1].replace('\\"', '"') if name[:1] == '"' else name


FORMATS = (
    Format(
        "gexf", (".gexf",), "GEXF, as Gephi saves it (read only)", re.compile(rb"<gexf").search,
        reader(lambda networkx, file: networkx.read_gexf(file), "GEXF"), None, ("weight",),
    ),
    Format(
        "gml", (".gml",), "GML (read only)", re.compile(rb"^[ \t]*graph\s*\[", re.MULTILINE).search,
        reader(_gml, "GML"), None, ("weight",),
    ),
    Format(  # without the optional header, nothing distinguishes a graph from a word
        "graph6", (".g6",), "graph6: one undirected, unweighted graph (read only)", re.compile(rb">>graph6<<").match,
        reader(_graph6, "graph6 with one graph"), None, ("weight",), rank=0, directions=False, weights=False,
    ),
    Format(
        "graphml", (".graphml",), "GraphML (read only)", re.compile(rb"<graphml").search,
        reader(_graphml, "GraphML with one graph"), None, ("weight",),
    ),
    Format(  # `graph {` or `digraph name {`, below comments
        "dot", (".dot", ".gv"), "DOT of Graphviz, by pydot (read only)",
        re.compile(
            rb"(?:\s|//[^\n]*\n|#[^\n]*\n|/\*.*?\*/)*(?:strict\s+)?(?:di)?graph\b[^\n{]*\{", re.DOTALL
        ).match,
        reader(_dot, "DOT with one graph", "pydot"), None, ("weight",),
    ),
)  # fmt: skip
