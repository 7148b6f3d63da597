"""Quantities along best paths, of matrices: packed into lengths, and along predecessors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import cases
import common
import numpy as np

from apsp import closure, shortest_paths

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
