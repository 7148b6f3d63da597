"""JSON: node-link and adjacency data, Cytoscape's and JSON Graph Format, {u: [v]}, {u: {v: weight}}, records.

Records, also a line each, follow the rules of `from_lines`. What says nothing of directions, as D3's nodes and links,
leads one way. GeoJSON: lines are edges, with their ends as places (`Result.to_geojson` writes).
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any

from semiring.host.spelling import came
from semiring.host.types import Fields

from ..graph import Graph
from ..places.geojson import system_of
from ..reading.files import Source
from ..reading.lines import ends_of, from_lines
from ..reading.options import ANYHOW, Reading, lists_columns, names_ends
from .base import Format
from .through_networkx import converted
from .tokens import held

#: An object or a list of objects.
sniff = re.compile(rb'\s*\[?\s*\{\s*("|\})').match


def read(source: Source, *, reading: Reading = ANYHOW) -> Graph:
    """Records, or GeoJSON; what else there is by NetworkX."""
    if _is_geojson(source.head()):
        return _read_geojson(source, reading=reading)
    path, text = repr(str(source.path)), source.text
    loads = partial(json.loads, object_pairs_hook=_distinct, parse_float=held)
    try:
        data, loaded = loads(text), f"json.load(open({path}))"
    except (ValueError, RecursionError) as error:
        data, loaded = None, f"[json.loads(line) for line in open({path})]"
        with suppress(ValueError, RecursionError):
            lines = filter(str.strip, text.split("\n"))
            data = list(map(loads, lines))
        if data is None:
            raise source.error(f"must be JSON, got {came(str(error))}.") from error
    if isinstance(data, dict) and names_ends(data) and not any(isinstance(x, (list, dict)) for x in data.values()):
        data = [data]  # one record alone
    if isinstance(data, dict) and reading.columns is None and not lists_columns(data):
        complete = replace(reading, complete=True)
        edges = next((name for name in ("links", "edges") if "nodes" in data and isinstance(data.get(name), list)), "")
        for row in data[edges] if edges else ():
            if not isinstance(row, dict) or not {"source", "target"} <= row.keys() or "attributes" in row:
                raise source.error(
                    f"an edge must have its source, target and weight side by side, got {came(row)}. Say apsp.as_graph("
                    f"[{{**edge, **edge.get('attributes', {{}})}} for edge in {loaded}[{edges!r}]])."
                )
        return converted(source, complete, lambda networkx: parse(networkx, data), "JSON of a graph")
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise source.error(
            f'must be a list of records {{"from": u, "to": v, "weight": w}}, or one object whose keys are vertices, '
            f"got {came(data)}. Say apsp.as_graph({loaded}) of a matrix, apsp.as_graph(list(map(tuple, {loaded}))) of "
            f"edges, apsp.as_graph(pandas.DataFrame({loaded})) of columns."
        )
    return from_lines([None] * len(data), data, reading, source.error, "record")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON object of key-value pairs; ValueError for a duplicate key, whose last value alone would count."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"{came(next(key for key in keys if keys.count(key) > 1))} twice in one object")
    return found


def parse(networkx: ModuleType, data: dict[str, object]) -> Any:
    """NetworkX's graph by the keys of the outermost object; otherwise keys are vertices."""
    data = _node_link(data)
    directed = bool(data.get("directed", True))
    for edges in ("links", "edges"):
        if "nodes" in data and edges in data:
            listed = networkx.node_link_graph({**data, edges: []}, directed, edges=edges)
            graph = networkx.node_link_graph(data, directed, edges=edges)
            for end in [v for v in graph if v not in listed]:
                raise ValueError(f"the end {came(end)} of a link, and no node of that id")
            return graph
    if isinstance(data.get("adjacency"), list):
        return networkx.adjacency_graph(data, directed)
    graph = networkx.DiGraph()
    graph.add_nodes_from(data)
    for u, heads in data.items():
        if not isinstance(heads, (dict, list)):
            raise ValueError(f"{came(heads)} under {came(u)}, where vertices must be")
        for v in heads:
            if not isinstance(v, (str, int, float)) or isinstance(v, bool):
                raise ValueError(f"{came(v)} under {came(u)}, where a vertex must be; weights are {{u: {{v: weight}}}}")
            weight = heads[v] if isinstance(heads, dict) else {}
            graph.add_edge(u, str(v), **(weight if isinstance(weight, dict) else {"weight": weight}))
    return graph


def _node_link(data: Fields) -> Fields:
    """Cytoscape's elements and JSON Graph Format as node-link data; other data as they are."""
    graph, elements = data.get("graph"), data.get("elements")
    if isinstance(graph, dict) and isinstance(graph.get("edges"), list) and "nodes" not in data:
        nodes, edges = graph.get("nodes", []), [{**edge.get("metadata", {}), **edge} for edge in graph["edges"]]
        if any(bool(edge.get("directed", way)) != way for way in [bool(graph.get("directed", True))] for edge in edges):
            raise ValueError("edges that are directed beside others that are not")
        return {
            **graph,
            "nodes": [{"id": name} for name in nodes] if isinstance(nodes, dict) else nodes,
            "edges": edges,
        }
    if isinstance(elements, dict):
        elements = [*elements["nodes"], *elements["edges"]]
    elif not isinstance(elements, list) or not all(isinstance(x, dict) and "data" in x for x in elements):
        return data
    listed = [element["data"] for element in elements]
    nodes, links = ([x for x in listed if ("source" in x) == linked] for linked in (False, True))
    ends = {x[end] for x in links for end in ("source", "target")}
    valued = all("value" in x for x in nodes) and ends <= {x["value"] for x in nodes}
    nodes = [{**x, "id": x["value" if valued else "id"]} for x in nodes]  # NetworkX's ends are its values
    return {"directed": data.get("directed", True), "nodes": nodes, "links": links}


def _is_geojson(head: bytes) -> bool:
    return head.lstrip().startswith(b"{") and b'"FeatureCollection"' in head


def _read_geojson(source: Source, *, reading: Reading = ANYHOW) -> Graph:
    """The lines of a FeatureCollection, by `from_lines`, in the system that its `crs` names; points are refused."""
    try:
        found = json.loads(source.lines, parse_float=held)
        features, system = found["features"], system_of(found)
        lines = [ends_of(feature["geometry"]) for feature in features]
        properties = [feature.get("properties") or {} for feature in features]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise source.error(f"must be GeoJSON, a FeatureCollection of lines, got {came(error)}.") from error
    return from_lines(lines, properties, reading, source.error).having(crs=system)


FORMATS = (
    Format(
        "json", (".json", ".jsonl", ".ndjson"), "JSON: node-link, {u: {v: weight}}, or records (read only)", sniff,
        read, None, takes=("weight", "columns"),
    ),
    Format(
        "geojson", (".geojson",), "GeoJSON: lines are edges (read only)", _is_geojson, _read_geojson, None,
        takes=("weight", "columns"), rank=0,
    ),
)  # fmt: skip
