"""Quantities along best paths, of matrices: packed into lengths, and along predecessors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import cases
import common
import numpy as np
from device import cp

from apsp import closure, shortest_paths

from . import Figure, Task, in_turns

SIZE, LARGE = 2048, {"cpu": 2048, "cuda": 8192}
#: Least speed-up of two packed quantities over a closure in float64; of one over predecessors alone, on a GPU.
PACKED, ALONG = 1 / 1.1, 37.3 / 44
OPTIONS: dict[str, dict[str, Any]] = {"cpu": {"threads": 1}, "cuda": {}}


def tasks(device: str) -> Iterator[Task]:
    """Two quantities of whole numbers; one that has no unit."""
    n, large = (256, 256) if common.quick() else (SIZE, LARGE[device])
    name = f"quantities: two of a matrix, packed, {n}"
    yield name, partial(_packed, name, device, n)
    name = f"quantities: one of a matrix, along predecessors, float32 {large}"
    yield name, partial(_along, name, device, large)


def _there(device: str) -> Callable[[np.ndarray], Any]:
    return np.asarray if device == "cpu" else cp.asarray


def _measure(name: str, device: str, ours: Any, theirs: Any, reference: str, least: float | None) -> Figure:
    def whole(call: Callable[[], object]) -> object:
        found = call()
        if device == "cuda":
            cp.cuda.Device().synchronize()
        return found

    clock = time.thread_time if device == "cpu" else time.perf_counter
    return Figure(name, *in_turns(partial(whole, ours), partial(whole, theirs), clock=clock), reference, least)


def _packed(name: str, device: str, n: int) -> Figure:
    rng = np.random.default_rng(n)
    A, *quantities = (_there(device)(rng.integers(low, 1000, (n, n))) for low in (1, 0, 0))
    along, floats = dict(zip("qr", quantities, strict=True)), A.astype(np.float64)

    def ours() -> tuple[Any, Any]:
        r = shortest_paths(A, along=along, **OPTIONS[device])
        return r.distances, [[x for _, x in r.rows(of=q)] for q in along]

    np.testing.assert_array_equal(cases._host(ours()[0]), cases._host(closure(floats)))
    theirs = partial(closure, floats, **OPTIONS[device])
    return _measure(name, device, ours, theirs, "the closure in float64", PACKED)


def _along(name: str, device: str, n: int) -> Figure:
    rng = np.random.default_rng(n)
    A, q = (_there(device)(rng.random((n, n), np.float32) + np.float32(1e-3)) for _ in range(2))

    def ours() -> list[Any]:
        return [x for _, x in shortest_paths(A, along={"q": q}, **OPTIONS[device]).rows(of="q")]

    def theirs() -> Any:
        return shortest_paths(A, paths=True, **OPTIONS[device]).predecessors

    path = shortest_paths(A, along={"q": A}).rows([0], of="q")
    np.testing.assert_allclose(cases._host(next(iter(path))[1])[0], cases._host(closure(A))[0], rtol=1e-4)
    return _measure(name, device, ours, theirs, "closure and predecessors", ALONG if device == "cuda" else None)
