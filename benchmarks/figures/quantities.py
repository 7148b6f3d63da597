"""Quantities along best paths, of matrices: packed into lengths, and along predecessors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import cases
import common
import numpy as np

from apsp import closure, shortest_paths
from apsp.generate import road_like

from . import Figure, Task, in_turns, setting

SIZE, LARGE = 2048, {"cpu": 2048, "cuda": 8192}
#: Least speed-up of two packed quantities over a closure in float64; of one over predecessors alone, on a GPU.
PACKED, ALONG = 1 / 1.1, 37.3 / 44


def tasks(device: str) -> Iterator[Task]:
    """Two quantities of whole numbers; one that has no unit."""
    n, large = (256, 256) if common.quick() else (SIZE, LARGE[device])
    name = f"quantities: two of a matrix, packed, {n}"
    yield name, partial(_packed, name, device, n)
    name = f"quantities: one of a matrix, along predecessors, float32 {large}"
    yield name, partial(_along, name, device, large)
    yield "quantities: one of a road network, packed", partial(_packed_of_roads, device)


def _packed(name: str, device: str, n: int) -> Figure:
    there, options, clock = setting(device)
    rng = np.random.default_rng(n)
    A, *quantities = (there(rng.integers(low, 1000, (n, n))) for low in (1, 0, 0))
    along, floats = dict(zip("qr", quantities, strict=True)), A.astype(np.float64)

    def ours() -> tuple[Any, Any]:
        r = shortest_paths(A, along=along, **options)
        return r.distances, [[x for _, x in r.rows(of=q)] for q in along]

    np.testing.assert_array_equal(cases._host(ours()[0]), cases._host(closure(floats)))
    theirs = partial(closure, floats, **options)
    return Figure(name, *in_turns(ours, theirs, clock=clock), "the closure in float64", PACKED)


def _packed_of_roads(device: str) -> Figure:
    """Table of a quantity beside that of distances: 1,000 × 1,000 pairs on a processor, all pairs on a GPU."""
    g, rng = road_like(1000 if common.quick() else 30_000, seed=1), np.random.default_rng(0)
    i, j = (None, None) if device == "cuda" else rng.choice(g.n, (2, 1000))
    metres = np.rint(g.weights * rng.uniform(5, 20, g.edge_count))
    plain, r = (
        shortest_paths(g, engine="elimination", device=device, threads=1, **also)
        for also in ({}, {"along": {"m": metres}})
    )
    _, _, clock = setting(device)

    def table(r: Any, of: str | None = None) -> Any:
        if device == "cpu":
            return r.table(i, j, of=of)
        return [D for _, D in r.rows(of=of)][-1]

    for u, v in rng.choice(g.n, (20, 2)).tolist():
        assert r.distance(u, v, of="m") == metres[r.edges(u, v)].sum()
    times = in_turns(partial(table, r, "m"), partial(table, plain), clock=clock)
    return Figure(
        "quantities: one of a road network, packed", *times, "distances alone", 1 / 1.3 if device == "cpu" else None
    )


def _along(name: str, device: str, n: int) -> Figure:
    there, options, clock = setting(device)
    rng = np.random.default_rng(n)
    A, q = (there(rng.random((n, n), np.float32) + np.float32(1e-3)) for _ in range(2))

    def ours() -> list[Any]:
        return [x for _, x in shortest_paths(A, along={"q": q}, **options).rows(of="q")]

    def theirs() -> Any:
        return shortest_paths(A, paths=True, **options).predecessors

    path = shortest_paths(A, along={"q": A}).rows([0], of="q")
    np.testing.assert_allclose(cases._host(next(iter(path))[1])[0], cases._host(closure(A))[0], rtol=1e-4)
    least = ALONG if device == "cuda" else None
    return Figure(name, *in_turns(ours, theirs, clock=clock), "closure and predecessors", least)
