"""Why does A need B, in an index of 500,000 packages? Bits of all pairs would take 29 GiB; an index takes 50 MB.

    python examples/package_index.py [PACKAGES]

The packages are generated: each needs a few earlier ones, mostly well-known ones, and some need one another.
"""

from __future__ import annotations

import sys

import numpy as np

from apsp import Graph, transitive_closure


def package_index(n: int, seed: int = 0) -> Graph:
    """A random graph: a package needs about two earlier ones, and a few neighbours need one another."""
    rng = np.random.default_rng(seed)
    needs = np.repeat(np.arange(1, n), rng.poisson(2, n - 1))
    needed = (needs * rng.random(len(needs)) ** rng.choice([1.2, 6], len(needs))).astype(int)
    mutual = np.flatnonzero(needs - needed < n // 1000)[::50]
    rows, cols = np.append(needs, needed[mutual]), np.append(needed, needs[mutual])
    return Graph.from_arrays(rows, cols, labels=[f"package-{k}" for k in range(n)])


def main() -> None:
    n = int(sys.argv[1]) if sys.argv[1:] else 500_000
    graph = package_index(n)
    t = transitive_closure(graph, engine="indexed")
    print(f"{graph.n} packages, {graph.edge_count} dependencies: {t.plan.reason.partition('; ')[2]}")
    a = max((f"package-{k}" for k in range(n - 40, n)), key=lambda name: len(t.descendants(name)))
    b = t.descendants(a)[len(t.descendants(a)) // 2]
    print(f"{a} needs {len(t.descendants(a))} packages; {b} is needed by {len(t.ancestors(b))}")
    print(f"why does {a} need {b}?", " → ".join(t.path(a, b)))
    print(f"does {b} need {a}?", "yes" if t.reaches(b, a) else "no")
    circle = t.components()[0]
    print(f"{len(circle)} packages need one another: {', '.join(circle[:3])}")
    without = t.update({tuple(t.path(a, b)[-2:]): False})
    print(f"without the last step, {a}", "still needs it" if without.reaches(a, b) else "no longer needs it")


if __name__ == "__main__":
    main()
