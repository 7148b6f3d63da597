"""How long do an index of reachability and its pairs take, how often do labels decide, and how large is it?

    python benchmarks/reach.py                # up to ten million vertices and twenty million arcs; 3 minutes, 6 GiB
    python benchmarks/reach.py --quick        # 20,000 vertices

Random graphs, packages (each needs a few earlier ones, popular ones more often), random acyclic graphs, and bands,
whose arcs lead about 1,000 vertices on. Answers are first compared with breadth-first searches by SciPy. Times are of
the processor, of one thread; a pair is one of a million random ones. Bytes are those of components, arcs and labels.
"""

from __future__ import annotations

import time

import numpy as np
from common import arguments, begin
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

# isort: split
from apsp import Graph, transitive_closure

#: Family, vertices.
CASES = [
    *[(family, n) for n in (1_000_000, 10_000_000) for family in ("random", "packages")],
    *[("acyclic", 1_000_000), ("band", 100_000), ("band", 1_000_000)],
]


def arcs(family: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two arcs a vertex."""
    rng = np.random.default_rng(0)
    if family == "packages":
        tails = np.repeat(np.arange(1, n), 2)
        return tails, (tails * rng.random(len(tails)) ** rng.choice([1, 4], len(tails))).astype(np.int64)
    if family == "band":
        tails = np.repeat(np.arange(n), 2)
        heads = tails + 1 + rng.exponential(1000, 2 * n).astype(np.int64)
        return tails[heads < n], heads[heads < n]
    ends = rng.integers(0, n, (2, 2 * n))
    return (ends[0], ends[1]) if family == "random" else (ends.max(axis=0), ends.min(axis=0))


def measure(family: str, n: int, pairs: int) -> None:
    tails, heads = arcs(family, n)
    graph, rng = Graph.from_arrays(tails, heads, n=n), np.random.default_rng(1)
    transitive_closure(Graph.from_arrays([0], [1], n=2), engine="indexed").reaches(0, 1)
    start = time.process_time()
    t = transitive_closure(graph, engine="indexed", reflexive=True, threads=1)
    built = time.process_time() - start
    A, wrong, asked = csr_array((np.ones(len(tails), np.int8), (tails, heads)), shape=(n, n)), 0, 0
    for u in rng.integers(0, n, 5).tolist():
        found = np.zeros(n, bool)
        found[breadth_first_order(A, u, return_predecessors=False)] = True
        targets = np.append(rng.integers(0, n, 100_000), rng.choice(np.flatnonzero(found), 100_000))
        wrong, asked = wrong + int((t.reaches(u, targets) != found[targets]).sum()), asked + len(targets)
    assert not wrong
    u, v = rng.integers(0, n, (2, pairs))
    start = time.process_time()
    t.reaches(u, v)
    pair = (time.process_time() - start) / pairs
    c, index = t.condensation, t.closed
    held = (c.component, c.sizes, c.cyclic, c.tails, c.heads, index.labels, *index._starts, index._ends[1])
    print(
        f"{family} {n:,}: {built:.2f} s, {sum(part.nbytes for part in held) / n:.0f} bytes a vertex, {1e6 * pair:.2f} "
        f"µs a pair; {t.plan.reason.rpartition('; ')[2]}; 0 of {asked:,} wrong",
        flush=True,
    )


def main() -> None:
    options = begin(arguments(__doc__))
    for family, n in CASES:
        if not options.quick or n == 1_000_000:
            measure(family, 20_000 if options.quick else n, 10_000 if options.quick else 1_000_000)


if __name__ == "__main__":
    main()
