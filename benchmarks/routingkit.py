"""How long do a small table and new weights of all roads take, next to RoutingKit's?

    git clone https://github.com/RoutingKit/RoutingKit; make -C RoutingKit      # g++, zlib's headers
    python benchmarks/routingkit.py --routingkit RoutingKit                     # Luxembourg; a minute
    python benchmarks/routingkit.py --routingkit RoutingKit --data DIR          # DIR has osm-luxembourg/

Both work on one core, in turn, and are timed by the processor clock of their thread. Of a few runs in a row the least
counts: shown are the least and the median of many such turns.
RoutingKit (Dibbelt, Strasser and Wagner 2016, "Customizable contraction hierarchies") orders by inertial flow from
coordinates; its tables pin the targets, and search from each source, in the customized hierarchy or in one that was
contracted for these weights. Equal entries, before and after new weights, are checked first.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from common import arguments, begin
from sparse import DATA

# isort: split
import apsp

#: Vertices of either side of a table; rounds, and how often each runs in a row, so that caches are its own.
SIDE, ROUNDS, AGAIN = 50, 20, 5
#: What RoutingKit says where there is no path.
NONE = 2**31 - 1


def coordinates(path: Path) -> np.ndarray:
    """Latitude and longitude in degrees, by vertex."""
    with gzip.open(path, "rt") as lines:
        rows = [line.split()[1:] for line in lines if line.startswith("v ")]
    return np.array(sorted(rows, key=lambda row: int(row[0])), float)[:, [2, 1]] / 1e6


def compiled(kit: Path, folder: str) -> Path:
    """The other side, linked with RoutingKit's library."""
    program, source = Path(folder) / "routingkit", Path(__file__).with_suffix(".cpp")
    library = kit / "lib" / "libroutingkit.a"
    options = ["-O3", "-march=native", "-std=c++17", f"-I{kit / 'include'}", "-pthread", "-fopenmp"]
    subprocess.run(["g++", *options, str(source), str(library), "-lz", "-o", str(program)], check=True)
    return program


def main() -> None:
    parser = arguments(__doc__, quick=False)
    parser.add_argument("--routingkit", type=Path, required=True, help="where it was built")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real graphs")
    options = begin(parser)
    core = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    folder = options.data / "osm-luxembourg"
    r = apsp.shortest_paths(folder / "luxembourg.gr.gz", threads=1)
    graph, rng = r.graph, np.random.default_rng(6)
    sources, targets = rng.integers(0, graph.n, (2, SIDE))
    weights = [graph.weights, (graph.weights * rng.uniform(0.5, 2, graph.edge_count)).astype(np.int64)]
    with tempfile.TemporaryDirectory() as shared:
        listed = {"tail": graph.rows, "head": graph.cols, "weight": weights[0], "weight2": weights[1]}
        for name, numbers in (listed | {"sources": sources, "targets": targets}).items():
            np.asarray(numbers).astype(np.uint32).tofile(Path(shared) / name)
        ends = coordinates(folder / "luxembourg.co.gz")[np.array([int(v) - 1 for v in graph.labels])]
        for name, numbers in zip(("latitude", "longitude"), ends.T, strict=True):
            numbers.astype(np.float32).tofile(Path(shared) / name)
        with subprocess.Popen(
            [compiled(options.routingkit, shared), shared], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other:
            assert other.stdin is not None
            assert other.stdout is not None
            write, read = other.stdin, other.stdout

            def theirs(what: str) -> float:
                print(what, file=write, flush=True)
                return float(read.readline())

            print(f"RoutingKit: {int(read.readline()):,} arcs of the hierarchy; here {r.engine.elimination.cost}")
            compare(r, theirs, Path(shared) / "table", [graph.labels[k] for k in sources], targets, weights)
            write.close()


def compare(
    r: apsp.Result,
    theirs: Callable[[str], float],
    written: Path,
    sources: list[object],
    targets: np.ndarray,
    weights: list[np.ndarray],
) -> None:
    """The same tables; then what they take, in turn."""
    to = [r.graph.labels[k] for k in targets]
    with_labels = apsp.shortest_paths(r.graph, threads=1, hub_labels=True)

    def check(found: np.ndarray, *ways: str) -> None:
        for way in ways:
            theirs(way)
            theirs("write")
            table = np.fromfile(written, np.uint32).reshape(found.shape).astype(float)
            table[table == NONE] = np.inf
            np.testing.assert_array_equal(found, table)

    check(r.table(sources, to), "table by cch", "table by ch")
    np.testing.assert_array_equal(r.table(sources, to), with_labels.table(sources, to))
    theirs("customize")
    changed = r.update(weights[1])
    check(changed.table(sources, to), "table by cch")

    def ours(run: Callable[[], object]) -> float:
        start = time.thread_time()
        run()
        return time.thread_time() - start

    asked: dict[str, Callable[[], float]] = {
        "table, customizable hierarchy": lambda: theirs("table by cch"),
        "table, contraction hierarchy": lambda: theirs("table by ch"),
        "table, here": lambda: ours(lambda: r.table(sources, to)),
        "table, here, hub labels": lambda: ours(lambda: with_labels.table(sources, to)),
        "new weights, customize": lambda: theirs("customize"),
        "new weights, r.update": lambda: ours(lambda: r.update(weights[1])),
        "new weights, E.update": lambda: ours(lambda: r.engine.elimination.update(r.engine.elimination.weights)),
    }
    rounds = [[min(run() for _ in range(AGAIN)) for run in asked.values()] for _ in range(ROUNDS)]
    times = {name: np.array(found) for name, found in zip(asked, zip(*rounds, strict=True), strict=True)}
    for name, found in times.items():
        print(f"  {name:34} least {found.min() * 1e3:8.3f} ms, median {np.median(found) * 1e3:8.3f}", flush=True)
    for mine, other in (
        ("table, here", "table, customizable hierarchy"),
        ("table, here", "table, contraction hierarchy"),
        ("new weights, r.update", "new weights, customize"),
    ):
        ratio = np.median(times[other] / times[mine])
        print(f"  {other}, to {mine}: {ratio:.2f} × (≥ 1; {'met' if ratio >= 1 else 'MISSED'})")


if __name__ == "__main__":
    main()
