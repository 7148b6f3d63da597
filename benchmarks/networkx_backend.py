"""How many times as fast as NetworkX's own is the backend `apsp`, and what does it add to `import networkx`?

    python benchmarks/networkx_backend.py                # a few minutes, most of them NetworkX's
    python benchmarks/networkx_backend.py --data DIR     # also DIR/dimacs/rome99.gr

The package must be installed, so that NetworkX finds the backend. A call here includes the conversion of the graph.
Ratios are NetworkX's time over ours. The last line is what the backend adds to `import networkx`.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from common import arguments, begin, best, process

#: The processor time of `import networkx`, with this backend among the entry points or without.
IMPORT = """
import importlib.metadata as m, time
found = m.entry_points
if HIDDEN:
    m.entry_points = lambda **group: [entry for entry in found(**group) if entry.name != "apsp"]
start = time.process_time()
import networkx
print(time.process_time() - start)
"""


def seconds(name: str, G: Any, backend: str, times: int) -> float:
    def run() -> None:
        result = getattr(nx, name)(G, backend=backend)
        if hasattr(result, "__next__"):
            dict(result)

    return best(run, times, before=G.__networkx_cache__.clear)


def compare(name: str, G: Any, what: str, once: int = 1) -> None:
    seconds(name, G, "apsp", 1)
    ours, theirs = seconds(name, G, "apsp", 5), seconds(name, G, "networkx", once)
    told = f"{name}, {what}"
    print(f"{told:52} {1e3 * ours:9.1f} ms   NetworkX {1e3 * theirs:10.1f} ms   {theirs / ours:7.1f} ×", flush=True)


def weighted(n: int, edges: int, *, directed: bool = False) -> Any:
    G = nx.gnm_random_graph(n, edges, seed=1, directed=directed)
    rng = np.random.default_rng(1)
    for _, _, data in G.edges(data=True):
        data["weight"] = float(rng.random())
    return G


def rome(path: Path) -> Any:
    G = nx.DiGraph()
    for line in path.read_text().splitlines():
        if line.startswith("a"):
            u, v, w = map(int, line.split()[1:])
            if not G.has_edge(u, v) or w < G[u][v]["weight"]:
                G.add_edge(u, v, weight=w)
    return G


def imports(times: int) -> None:
    """The least of many `import networkx`, in turns with the backend and without."""
    found: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(times):
        for hidden, into in found.items():
            into.append(1e3 * float(process(IMPORT.replace("HIDDEN", str(hidden)))))
    with_it, without = (min(times) for times in found.values())
    print(f"import networkx: {with_it:.1f} ms with the backend, {without:.1f} ms without (processor time)")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path)
    args = begin(parser)
    warnings.simplefilter("ignore")
    n = 40 if args.quick else 400
    G, D = weighted(n, 4 * n), weighted(n, 4 * n, directed=True)
    for name in (
        *("all_pairs_dijkstra_path_length", "all_pairs_dijkstra_path", "all_pairs_bellman_ford_path_length"),
        *("all_pairs_shortest_path_length", "all_pairs_shortest_path", "johnson"),
        *("closeness_centrality", "harmonic_centrality", "eccentricity", "average_shortest_path_length"),
    ):
        compare(name, G, f"n = {n}, degree 8", once=2)
    compare("transitive_closure", D, f"n = {n}, {4 * n:,} arcs")
    compare("floyd_warshall", weighted(n, 20 * n), f"n = {n}, degree 40")
    if args.data:
        compare("all_pairs_dijkstra_path_length", rome(args.data / "dimacs" / "rome99.gr"), "rome99")
    imports(2 if args.quick else 20)


if __name__ == "__main__":
    main()
