"""How long from an edge list to reachability: by components first, by a schedule alone, and by NetworkX?

    python benchmarks/reach.py                    # n = 16,384 and 65,536, average degree 6; about a minute
    python benchmarks/reach.py --sizes 16384
    python benchmarks/reach.py --file votes.txt   # a file, from reading it to answered queries

Rows are checked by a breadth-first search on the edge list before anything is timed. NetworkX is timed on a smaller
graph of the same degree; the rate (pairs a second, n³ over time) is what is compared.
"""

from __future__ import annotations

import time
from collections import deque

import numpy as np
from common import arguments, begin

# isort: split
from apsp import Graph, Reachability, transitive_closure


def random_edges(n: int, degree: float, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    m = int(n * degree)
    return Graph.from_arrays(rng.integers(n, size=m), rng.integers(n, size=m), n=n)


def check(graph: Graph, t: Reachability, rows: int = 5) -> None:
    """A few vertices' descendants, by searching the edge list."""
    tails, heads, _ = graph.edges("lor_land")
    order = np.argsort(tails, kind="stable")
    start, heads = np.searchsorted(tails[order], np.arange(graph.n + 1)), heads[order]
    for u in np.random.default_rng(1).integers(graph.n, size=rows).tolist():
        found: set[int] = set()
        queue = deque([u])
        while queue:
            v = queue.popleft()
            for w in heads[start[v] : start[v + 1]].tolist():
                if w not in found:
                    found.add(w)
                    queue.append(w)
        assert t.descendants(u) == sorted(found), u


def networkx_rate(n: int, degree: float) -> float:
    import networkx as nx

    graph = random_edges(n, degree)
    digraph = nx.DiGraph(zip(*(x.tolist() for x in graph.edges("lor_land")[:2]), strict=True))
    begun = time.perf_counter()
    nx.transitive_closure(digraph)
    return n**3 / (time.perf_counter() - begun)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sizes", type=int, nargs="*")
    parser.add_argument("--degree", type=float, default=6.0)
    parser.add_argument("--file")
    args = begin(parser)
    transitive_closure(random_edges(3000, 2.0), schedule="recursive")  # compiles
    transitive_closure(random_edges(3000, 1.5))
    if args.file:
        begun = time.perf_counter()
        t = transitive_closure(args.file)
        counts, some = t.counts(), t.labels[0]
        t.descendants(some), t.reaches(some, t.labels[-1])
        print(f"{args.file}: file to answers in {time.perf_counter() - begun:.3f} s, {counts.sum()} pairs")
        print(t.plan)
        return
    few = 100 if args.quick else 800
    theirs = networkx_rate(few, args.degree)
    print(f"NetworkX, n = {few}: {theirs / 1e6:.1f} M pairs/s")
    for n in args.sizes or ([1024] if args.quick else [16384, 65536]):
        graph = random_edges(n, args.degree)
        seconds = {}
        for schedule in ("auto", "recursive"):
            begun = time.perf_counter()
            t = transitive_closure(graph, schedule=schedule)
            seconds[schedule] = time.perf_counter() - begun
            check(graph, t)
            rate = n**3 / seconds[schedule]
            print(
                f"n = {n}, {t.plan.schedule}: {seconds[schedule]:.3f} s, {rate / 1e12:.2f} T pairs/s, "
                f"{rate / theirs:,.0f} × NetworkX ({t.plan.reason})"
            )
        print(f"n = {n}: components first are {seconds['recursive'] / seconds['auto']:.1f} × faster")


if __name__ == "__main__":
    main()
