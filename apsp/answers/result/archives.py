"""A `Result` on disk, with everything that answers queries."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from semiring import sparse
from semiring.algebra import catalog
from semiring.algebra.records import Semiring
from semiring.host.devices import host
from semiring.host.errors import AlgebraError, DivergenceError, FormatError
from semiring.host.spelling import came
from semiring.host.types import DType, Fields, Vertices
from semiring.kernels.observed import Callback

from ...io.expansion import Turns, expand
from ...io.graph import Graph
from ...io.graph.ondisk import OnDisk, refuse_overwriting
from ...io.labels import Labels
from ...io.saving import load, save, store_of
from ...io.saving.base import Table
from ...io.saving.encoding import decode, encode, plan_from_array, plan_to_array
from ...road.engines import Engine
from ...road.engines.dense import Dense
from ...road.engines.factored import Eliminated
from ...road.engines.part import Part, as_limit
from ...road.engines.stored import Labelled, Saved, Stored
from ...road.packing import Word, packed
from ...road.question import Question
from ...road.road import answer
from ...road.wants import Wants
from .along import Along, Unpacked

if TYPE_CHECKING:
    from . import Result

#: Arrays of hub labels.
_HUB_LABELS = ("out", "into", "places", "base")
#: What is told of a graph's matrix on disk.
_ON_DISK = ("path", "dtype", "identity", "semiring")


def save_result(r: Result, path: str | os.PathLike[str], callback: Callback | None = None) -> None:
    """Write distances, streamed from the engine, and whatever else the store holds."""
    engine = r.engine
    read = engine.engine if isinstance(engine, Saved) else engine.all_pairs
    for source in (r.graph.dense, getattr(read, "matrix", None)):  # the store being answered from
        refuse_overwriting(source, path, where="save")
    store = store_of(path)
    more = {}
    if store is not None and store.load is not None:
        if r.along is not None and (store.labelled or r.turned is not None or not r._all_pairs):
            raise ValueError(
                f"save: a result with quantities along its paths must have all pairs, without a limit, hub labels or "
                f"turns for `load`, got {came(str(path))}, {came(r)}. Say np.save(path, r.table(of=…)), or leave along "
                "out."
            )
        engine.refuse_unbounded("save", r.graph.labels)  # its cycles would be lost
        more = archive_of(r, path, apart=store.folder)
    if store is not None and store.labelled:
        more |= _labels_of(r)
    held = (
        Dense(r.distances) if "distances" in vars(r) else engine
    )  # another order of summation differs in the last bit
    table = Table(engine.shape, r.dtype, held.blocks, r.sources, r.targets, r.semiring, callback)
    save(table, path, more)


def _labels_of(r: Result) -> dict[str, np.ndarray]:
    r.hub_labels()
    engine = r.engine if r.turned is None or r.engine.limit is not None else r.engine.all_pairs
    whole = r.sources is r.targets is r.graph.labels
    if not isinstance(engine, Eliminated) or not whole or engine.hubs is None or engine.potential is not None:
        raise ValueError(
            'save: ".hubs" must be given all pairs of an elimination whose arcs weigh what the graph says, got '
            f'{type(engine).__name__}. Leave sources, targets and limit out, and take engine="elimination".'
        )
    return {f"hub_{name}": host(getattr(engine.hubs, name)) for name in _HUB_LABELS}


def archive_of(r: Result, path: str | os.PathLike[str], *, apart: bool = True) -> Fields:
    """A result's arrays besides distances, by name; a graph's matrix on disk may stay apart."""
    more: Fields = {
        "semiring": np.array(catalog.recorded_as(r.semiring)),
        "plan": plan_to_array(r.plan),
        "seconds": np.array(r.seconds),
    }
    g = r.graph
    more |= encode(g.labels, path)
    more |= {} if r.along is None else _along_of(r.along)
    dense, unit, nulls = g.dense, g.unit, g.nulls
    if isinstance(dense, OnDisk) and not apart:
        dense, unit, nulls = g.matrix(r.semiring, r.dtype), False, ()  # edges are all but the semiring's zero
    elif isinstance(dense, OnDisk):  # a store records the path of the matrix
        described = (dense.path, dense.dtype.str, dense.identity, dense.semiring or "")
        more |= {f"graph_{name}": np.array(value) for name, value in zip(_ON_DISK, described, strict=True)}
        dense = None
    parts = {"matrix": dense, "rows": g.rows, "cols": g.cols, "weights": g.weights, "places": g.places}
    more |= {f"graph_{name}": host(part) for name, part in parts.items() if part is not None}
    properties: Fields = {"directed": g.directed, "name": g.name, "unit": unit}
    properties |= ({} if nulls is None else {"nulls": nulls}) | ({"planar": True} if g.planar else {})
    more |= {f"graph_{name}": np.array(value) for name, value in properties.items()}
    if r.turned is not None:
        more |= {f"turns_{name}": np.asarray(value) for name, value in vars(r.turned.turns).items()}
    if r.ties_within:
        more["ties_within"] = np.array(r.ties_within)
    if r.engine.limit is not None:
        more["limit"] = np.array(r.engine.limit)
    for name, labels in (("sources", r.sources), ("targets", r.targets)):
        if labels is not g.labels:
            more[name] = g.labels.positions(list(labels))
    return more


def _along_of(along: Along) -> Fields:
    """Quantities, and the packed lengths with their words, if any."""
    if odd := [x for x in along.quantities if not isinstance(x, (str, int, float))]:
        raise ValueError(
            f"save: quantities must have texts or numbers as names, got {came(odd[0])}. Rename it in along=."
        )
    described = {"weight": along.weight, "names": list(along.quantities), "ordered": along.ordered}
    more: Fields = {"along": np.array(json.dumps(described | {"packed": len(along.words)}))}
    more |= {f"along_{k}": host(values) for k, values in enumerate(along.quantities.values())}
    if along.words:
        weights = along.graph.weights if along.graph.dense is None else along.graph.dense
        more |= {"along_weights": host(weights), "along_lengths": host(along.engine.table())}
    return more


def _with_along(parts: Fields, graph: Graph, s: Semiring, engine: Engine) -> tuple[Engine, Along | None]:
    """The engine and the quantities of an archive; ValueError unless weights and quantities are those packed."""
    if "along" not in parts:
        return engine, None
    told = json.loads(str(parts["along"]))
    quantities = {name: parts[f"along_{k}"] for k, name in enumerate(told["names"])}
    shape = (graph.n, graph.n) if graph.rows is None else graph.rows.shape
    right = all(x.shape == shape and x.dtype.kind in "if" and not np.isnan(x).any() for x in quantities.values())
    right &= len(quantities) == len(told["names"]) and f"along_{len(quantities)}" not in parts
    right &= isinstance(told["weight"], str) and told["weight"] not in quantities
    if not right or told["ordered"] not in range(len(quantities) + 1):
        raise ValueError("quantities that are not a number an edge each, under names that differ")
    words: tuple[Word, ...] = ()
    if told["packed"]:
        carried = dict(list(quantities.items())[: told["packed"] - 1])
        asked = None if graph.target(s, None) == engine.dtype else engine.dtype
        posed, words = packed(Question(graph, s, Wants(dtype=asked)), carried, told["weight"])
        weights, found = parts["along_weights"], parts["along_lengths"]
        own = np.asarray(posed.graph.weights if graph.dense is None else posed.graph.dense)
        if len(words) != told["packed"] or weights.dtype != own.dtype or not np.array_equal(weights, own):
            raise ValueError("packed lengths that are not of the weights and quantities")
        right = found.shape == engine.shape and found.dtype.kind in "if"
        every = engine.rows(np.arange(graph.n)) if right else ()  # also of a store on disk, as lengths are read whole
        if not right or not all(np.array_equal(host(D), words[0](found[rows])) for rows, D in every):
            raise ValueError("lengths that are not the distances")
        graph, engine = posed.graph, Dense(found)
    along = Along(told["weight"], quantities, told["ordered"], s, words, graph, engine, quantities)
    return Unpacked(engine, words[0]) if words else engine, along


def _again(
    graph: Graph, s: Semiring, dtype: DType, targets: Vertices, engine: str = "auto", *, sources: Vertices = None
) -> Engine:
    """The engine for rows or columns that a partial saved result lacks."""
    wants = Wants(dtype=dtype, targets=targets, engine=engine)
    try:
        return answer(Question(graph, s, wants)).engine
    except DivergenceError:
        if sources is None:
            raise
    found = answer(Question(graph, s, replace(wants, sources=sources, targets=None))).engine.all_pairs
    return found if targets is None else Part(found, np.arange(graph.n), targets)


def load_result(path: str | os.PathLike[str], semiring: str | Semiring | None) -> Fields:
    """Attributes of a saved Result; what it lacks is computed when it is asked for."""
    distances, parts = load(path)
    try:
        s = _semiring_of(str(parts["semiring"]), semiring, path)
        labels = decode(parts)
        if labels is None:
            raise KeyError("labels")
        graph = _graph_of(parts, labels).having(places=parts.get("graph_places"))
        graph = replace(graph, planar=bool(parts.get("graph_planar", False)))
        turned = None
        if "turns_arcs" in parts:
            arcs, starts, costs = (parts[f"turns_{name}"] for name in ("arcs", "starts", "costs"))
            turned = expand(graph, Turns(arcs, starts, costs, float(parts["turns_u_turns"])).checked(graph), s)
        walked = graph if turned is None else turned.graph
        engine: Engine = Dense(distances) if isinstance(distances, np.ndarray) else Stored(distances)
        if "hub_out" in parts:
            hubs = sparse.HubLabels.of_arrays(s, *(parts[f"hub_{name}"] for name in _HUB_LABELS))
            engine = Labelled(hubs, partial(_again, walked, s, hubs.dtype, None, "elimination"))
            engine = engine if turned is None else Part(engine, np.arange(graph.n), turned.goal)
        sides = {name: labels for name in ("sources", "targets")}
        for name in sides.keys() & parts.keys():
            sides[name] = Labels([labels[k] for k in parts[name].tolist()], f"{name} of this result")
        if engine.shape != tuple(map(len, sides.values())) or engine.dtype.name not in s.dtypes:
            raise ValueError(f"{engine.dtype} distances of shape {engine.shape} for {len(labels)} labels")
        if sides.keys() & parts.keys() or "limit" in parts or (turned and not isinstance(engine, Part)):
            limit = as_limit(parts["limit"].item()) if "limit" in parts else None
            again = partial(_again, walked, s, engine.dtype, sources=parts.get("sources"))
            engine = Saved(engine, limit, again)
        engine, along = _with_along(parts, graph, s, engine)
        if not 0 <= (ties := float(parts.get("ties_within", 0))) < np.inf:
            raise ValueError(f"ties within {ties}")
        return {
            **sides,
            "engine": engine,
            "along": along,
            "graph": graph,
            "semiring": s,
            "plan": plan_from_array(parts["plan"]),
            "seconds": float(parts["seconds"]),
            "turned": turned,
            "ties_within": ties,
        }
    except AlgebraError:
        raise
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
        way = " Reachability.load reads one of transitive_closure." if "reflexive" in parts else ""
        raise FormatError(path, None, f"a Result that `save` wrote is required, got {came(error)}.{way}") from error


def _semiring_of(name: str, requested: str | Semiring | None, path: object) -> Semiring:
    if requested is None and name not in catalog.names():
        raise AlgebraError(
            f"{path}: the semiring must be in the catalog, or given, got {came(name)}. "
            "Say Result.load(path, semiring=…)."
        )
    s = catalog.get(name if requested is None else requested)
    if name in catalog.names() and s.name != name:  # user semirings may have been renamed
        raise AlgebraError(f"{path}: the semiring must be that of what was computed, {name}, got {s}. Leave it out.")
    return s


def _graph_of(parts: dict[str, np.ndarray], labels: Labels) -> Graph:
    """The graph in an archive, validated."""
    n, name, unit = len(labels), str(parts["graph_name"]), bool(parts.get("graph_unit", False))
    nulls = tuple(parts["graph_nulls"].tolist()) if "graph_nulls" in parts else None
    if "graph_path" in parts:
        path, dtype, identity, semiring = (str(parts[f"graph_{key}"]) for key in _ON_DISK)
        matrix = OnDisk(path, (n, n), np.dtype(dtype), identity, semiring or None)
        return Graph(n, labels, dense=matrix, name=name, unit=unit, nulls=nulls)
    if "graph_matrix" in parts:
        dense = parts["graph_matrix"]
        if dense.shape != (n, n):
            raise ValueError(f"a matrix of shape {dense.shape} for {n} labels")
        return Graph(n, labels, dense=dense, name=name, unit=unit, nulls=nulls)
    rows, cols, weights = (parts.get(f"graph_{x}") for x in ("rows", "cols", "weights"))
    directed = bool(parts["graph_directed"])
    return Graph.from_arrays(rows, cols, weights, n=n, labels=labels, directed=directed, name=name)
