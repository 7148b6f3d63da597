"""Does the cost model predict this machine's times, and with which rates?

    python benchmarks/calibrate.py                            # old, new and ratio of each rate, a minute
    python benchmarks/calibrate.py --write                    # and a file named as the processor, in apsp/road/rates/
    python benchmarks/calibrate.py --write "$HOME/rates.json" # or elsewhere; then APSP_RATES="$HOME/rates.json"

Questions are asked of each engine on one core, checked, and timed. The time predicted is a sum, over rates, of the
seconds that each contributes; these are found by altering one rate after the other, so the formulas of
apsp/road/estimates.py stand nowhere else. New rates are the old ones times factors for which predictions come nearest
to the times, by least squares of logarithms; factors are held near a common one, which
scales the rates that no question tells. Shares, caches, disks and memory between ranks are kept; GPUs are not asked.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import common
import numpy as np
import scipy.sparse as sp
from scipy.optimize import least_squares
from scipy.sparse.csgraph import dijkstra

import apsp
from apsp.generate import random_graph, road_like
from apsp.io.graph import Graph
from apsp.io.inputs import as_graph
from apsp.road import engines, estimates, rates
from apsp.road.question import Question
from apsp.road.wants import Wants
from semiring import get
from semiring.sparse import analyse
from semiring.stores.files import writing

#: Logarithms: usual error of a prediction, and distance of a rate's factor from that of all rates.
ERROR, PRIOR = 0.1, 0.5
#: Fields that have no unit of time, or are not measured.
KEPT = ("share", "cached", "slowdown", "disk_rate", "rank_rate")
#: A rate by field, and by key where the field is a table.
Name = tuple[str, str | int | None]


class Sample(NamedTuple):
    """A question: seconds as predicted by `rates.processor`, and as measured."""

    name: str
    predict: Callable[[], float]
    measure: Callable[[], float]


def samples() -> Iterator[Sample]:
    small = common.quick()
    for dtype in ("float32", "float64", "int16", "int32", "int64"):
        for n in (64, 128) if small else (256, 960):
            yield _closure(n, dtype)
    yield _closure(256 if small else 4096, "bool")
    n, few = (600, 300) if small else (20000, 3000)
    roads, network = road_like(n, seed=1), random_graph(n, 800 / n, seed=1)  # 8 arcs a vertex
    again = [road_like(few, seed=2), random_graph(few, 800 / few, seed=2)]
    yield _listing(few)
    yield _graph("dense", road_like(20, seed=1))
    yield _graph("dense", random_graph(100 if small else 400, 50, seed=1))
    yield _analysis(again[0])
    yield _analysis(roads)
    yield _graph("elimination", again[0])  # whose structure is cached from one run to the next
    yield _graph("elimination", roads, hub_labels=True)
    yield _graph("searches", again[1])
    yield _graph("hops", again[1], unweighted=True)
    for k in (1, 64):
        yield _graph("elimination", roads, k)
        for dtype in ("float32", "float64"):
            yield _graph("searches", network, k, dtype=dtype)
    for graph in (network, roads):
        yield _graph("scipy", graph, 1)
        yield _graph("scipy", graph, 8)
        yield _graph("scipy", graph, 64, unweighted=True)
        yield _graph("hops", graph, 64, unweighted=True)
        yield _reach(graph)
    if not small:  # smaller matrices are for the dense closure
        rng = np.random.default_rng(1)
        yield _graph("essential", rng.random((2000, 2000), np.float32))
        yield _graph("levels", rng.integers(1, 99, (2000, 2000)).astype(np.float32))


def _closure(n: int, dtype: str) -> Sample:
    """Closure of a random matrix, checked in two rows."""
    s, rng = get("boolean" if dtype == "bool" else "min_plus"), np.random.default_rng(n)
    A = rng.random((n, n)) < 2 / n if s.boolean else rng.integers(1, 100, (n, n)).astype(dtype)

    def check(D: Any) -> None:
        expected = dijkstra(A.astype(float), indices=[0, 1])
        np.testing.assert_array_equal(D[:2], expected < np.inf if s.boolean else expected)

    def predict() -> float:
        return estimates.closure(n, s, np.dtype(dtype), pairs=n**3)

    return Sample(f"closure of {n:,} in {dtype}", predict, lambda: _timed(lambda: apsp.closure(A, s), check))


def _graph(engine: Any, source: Any, sources: int | None = None, *, dtype: str = "float32", **options: Any) -> Sample:
    """Distances from the first vertices, or from all, each time of a graph that nothing is known of."""
    is_graph, unweighted = isinstance(source, Graph), options.get("unweighted", False)
    fresh = partial(Graph.from_arrays, *source.edges("min_plus"), n=source.n) if is_graph else lambda: source
    n = len(source) if not is_graph else source.n
    rows = None if sources is None else np.arange(sources)
    question = Question(
        as_graph(fresh(), unweighted=unweighted), get("min_plus"), Wants(sources=rows, dtype=dtype, **options)
    )
    labels = options.get("hub_labels", False)

    def run() -> Any:
        r = apsp.shortest_paths(fresh(), engine=engine, sources=rows, dtype=dtype, **options)
        return r.table([0, 1][: sources or 2], range(n)) if labels else r.distances

    def check(D: Any) -> None:
        tails, heads, weights = question.graph.edges("min_plus")
        A = sp.csr_array((np.asarray(weights, float), (tails, heads)), shape=(n, n))
        expected = dijkstra(A, indices=np.arange(min(2, len(D))), unweighted=unweighted)
        np.testing.assert_allclose(D[:2], expected, rtol=1e-5)

    def predict() -> float:
        found = engines.get(engine).estimate(question)
        return found.start if labels else found.seconds

    rows_of = "all rows" if sources is None else f"{sources} row{'s' if sources > 1 else ''}"
    kind = "hub labels" if labels else f"{rows_of}{', unweighted' if unweighted else ''}"
    of = f"{n:,} vertices" + (f", {source.edge_count:,} edges" if is_graph else " in a matrix")
    return Sample(f"{engine}: {of}: {kind} in {dtype}", predict, lambda: _timed(run, check))


def _reach(graph: Graph) -> Sample:
    """Reachability in bits, of components."""
    question = Question(graph, get("boolean"), Wants(where="transitive_closure", packed=True))
    tails, heads, _ = graph.edges("boolean")

    def check(t: Any) -> None:
        A = sp.csr_array((np.ones(len(tails)), (tails, heads)), shape=(graph.n, graph.n))
        reached = np.flatnonzero(np.isfinite(dijkstra(A, indices=[0])[0]))
        assert {0, *t.descendants(0)} == {*reached.tolist()}

    def run() -> Any:
        return apsp.transitive_closure(Graph.from_arrays(tails, heads, n=graph.n), engine="united")

    return Sample(
        f"united: {graph.n:,} vertices, {len(tails):,} edges",
        lambda: engines.get("united").estimate(question).seconds,
        lambda: _timed(run, check),
    )


def _analysis(graph: Graph) -> Sample:
    """Order and structure of an elimination, which hold all edges."""
    tails, heads, _ = graph.edges("min_plus")
    run = partial(analyse, (tails, heads), graph.n)
    found = run()

    def check(found: Any) -> None:
        held = found.tails.astype(np.int64) * graph.n + found.heads
        assert np.isin(tails.astype(np.int64) * graph.n + heads, held).all()

    def predict() -> float:
        return estimates.elimination(found.cost, graph.n, len(found.tails), 0, 4, orders=found.orders).spent

    return Sample(f"order of an elimination of {graph.n:,} vertices", predict, lambda: _timed(run, check))


def _listing(n: int) -> Sample:
    """Arcs of a matrix."""
    A = np.full((n, n), np.inf, np.float32)
    tails, heads = np.arange(n), np.roll(np.arange(n), 7)
    A[tails, heads] = heads

    def check(edges: Any) -> None:
        np.testing.assert_array_equal(np.sort(edges[0] * n + edges[1]), np.sort(tails * n + heads))

    def run() -> Any:
        return as_graph(A).edges("min_plus")

    return Sample(f"arcs of a matrix of {n:,}", lambda: estimates.listing(n), lambda: _timed(run, check))


def _timed(run: Callable[[], Any], check: Callable[[Any], None]) -> float:
    """Processor seconds of a run, the best of some; checked first."""
    check(run())
    return common.best(run, 5, clock=time.process_time)


# Rates that make predictions come true


def names(table: rates.Processor) -> list[Name]:
    """All rates that are seconds, or are a second."""
    found: list[Name] = []
    for name, value in asdict(table).items():
        if not any(word in name for word in KEPT):
            found += [(name, key) for key in value] if isinstance(value, dict) else [(name, None)]
    return found


def slower(table: rates.Processor, factors: dict[Name, float]) -> rates.Processor:
    """The table of a machine that takes these factors of the time."""
    changed = asdict(table)
    for (name, key), factor in factors.items():
        factor = 1 / factor if name.endswith("_rate") else factor
        if key is None:
            changed[name] *= factor
        else:
            changed[name][key] *= factor
    return replace(table, **changed)


def predicted(found: list[Sample], table: rates.Processor) -> np.ndarray:
    """Seconds of all samples on a machine."""
    rates.processor = table
    estimates.rate.cache_clear()
    return np.array([sample.predict() for sample in found])


def fit(found: list[Sample], seconds: np.ndarray, old: rates.Processor) -> tuple[dict[Name, float], set[Name]]:
    """Factors of rates for which predictions come nearest to `seconds`; and the rates that samples tell."""
    before, known, step = predicted(found, old), names(old), 1e-3
    shares = np.array([predicted(found, slower(old, {name: 1 + step})) - before for name in known]).T / step
    told = shares.max(axis=0) > 1e-9 * before.max()
    shares, rest = shares[:, told], np.maximum(before - shares.sum(axis=1), 0)

    def errors(x: np.ndarray) -> np.ndarray:
        """Errors of predictions, and distances from a common factor, which is last; all as logarithms."""
        predictions = np.log(rest + shares @ np.exp(x[:-1])) - np.log(seconds)
        return np.concatenate([predictions / ERROR, (x[:-1] - x[-1]) / PRIOR])

    start = np.full(shares.shape[1] + 1, np.log(np.median(seconds / before)))
    *solved, common_factor = np.exp(least_squares(errors, start, loss="soft_l1").x).tolist()
    measured = [name for name, yes in zip(known, told, strict=True) if yes]
    return dict.fromkeys(known, common_factor) | dict(zip(measured, solved, strict=True)), {*measured}


def main() -> None:
    parser = common.arguments(__doc__)
    parser.add_argument("--write", metavar="FILE", nargs="?", const="", help="a file of the new rates")
    os.environ["SEMIRING_NUM_THREADS"] = "1"
    args = common.begin(parser)
    if args.write is not None and common.quick():
        parser.error("--write must come with the full sizes, got --quick. Leave one of them out.")
    old, found = rates.processor, list(samples())
    seconds = np.array([sample.measure() for sample in found])
    factors, measured = fit(found, seconds, old)
    new = slower(old, factors)
    print(f"\n{'processor seconds':58} {'measured':>9} {'by old':>9} {'by new':>9}")
    for sample, *times in zip(found, seconds, predicted(found, old), predicted(found, new), strict=True):
        print(f"{sample.name:58} " + " ".join(f"{estimates.in_units(x):>9}" for x in times))
    for which, table in (("old", old), ("new", new)):
        off = np.exp(np.abs(np.log(predicted(found, table) / seconds)))
        print(f"{which} rates: half of the times within a factor of {np.median(off):.2f}, all of {off.max():.2f}")
    print(f"\n{'rate':28} {'old':>9} {'new':>9} {'ratio':>6}")
    before, after = (flat(table) for table in (old, new))
    for name, value in before.items():
        way = "" if name in measured else "scaled" if name in factors else "kept"
        print(f"{label(name):28} {value:9.3g} {after[name]:9.3g} {after[name] / value:6.2f} {way}")
    if args.write is not None:
        write(Path(args.write or rates.FOLDER / f"{rates.file_name('cpu')}.json"), new, measured, factors)


def flat(table: rates.Processor) -> dict[Name, float]:
    fields = asdict(table).items()
    return {
        (f, key): x for f, value in fields for key, x in (value if isinstance(value, dict) else {None: value}).items()
    }


def label(name: Name) -> str:
    return name[0] if name[1] is None else f"{name[0]} {name[1]}"


def write(path: Path, table: rates.Processor, measured: set[Name], factors: dict[Name, float]) -> None:
    """The table in a file of the form of apsp/road/rates/, which says how it was made."""
    facts = {key: value for key, value in common.facts().items() if key in ("processor", "date", "command")}
    said = {
        **facts,
        "scaled": [label(name) for name in factors if name not in measured],
        "kept": "shares, caches, disks and memory between ranks",
    }
    section = {
        name: {str(key): float(f"{x:.3g}") for key, x in value.items()}
        if isinstance(value, dict)
        else float(f"{value:.3g}")
        for name, value in asdict(table).items()
    }
    with writing(path) as file:
        file.write((json.dumps({"about": said, "cpu": section}, indent=2, ensure_ascii=False) + "\n").encode())
    rates.load("cpu", path)
    print(f"kept in {path}; it counts where {rates.VARIABLE} names it, or in {rates.FOLDER}")


if __name__ == "__main__":
    main()
