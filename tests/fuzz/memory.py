"""Calls within limits of memory: the answer that there is without one, or MemoryNeeded; never MemoryError or a death.

Each call runs in a process forked for it, whose data segment may grow by so much.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import apsp
import semiring
from apsp.answers.reach.regular import RegularPaths
from apsp.generate import grid, road_like
from semiring.host import memory
from semiring.host.errors import SemiringError

from .draw import Draw
from .limits import MIB

#: What a call may allocate in addition, in MiB. Python itself and what is below `memory.LEAST` are never asked for.
ROOMS = (200, 96, 64, 48, 32, 24, 16, 12)
Call = Callable[[], Any]


def prepare() -> None:
    """One thread, for a forked process has no other; every call once, small, so that it is compiled."""
    os.environ["SEMIRING_NUM_THREADS"] = "1"
    for name in CALLS:
        for most in (False, True):
            with suppress(SemiringError):
                CALLS[name](_Drawn(most), 0.1)()


class _Drawn(Draw):
    """The simplest choices, or the last of each."""

    def __init__(self, last: bool) -> None:
        super().__init__()
        self._last = last

    def below(self, bound: int) -> int:
        return bound - 1 if self._last and bound < 1 << 20 else 0


def case(draw: Draw) -> None:
    """One call without a limit, and again within one."""
    name = draw.pick(tuple(CALLS))
    scale, room = draw.pick((0.3, 0.5, 0.8, 1.0)), draw.pick(ROOMS)
    call = CALLS[name](draw, scale)
    draw.note(call=name, scale=scale, room=room)
    try:
        expected = _flat(call())
    except SemiringError as refusal:  # of an engine that is none for this graph
        draw.note(refusal=str(refusal))
        return
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    said = _within(call, room * MIB, expected)
    draw.note(said=said)
    assert said == "the same" or said.startswith("MemoryNeeded: "), said


def _within(call: Call, room: int, expected: list[np.ndarray]) -> str:
    """How the call ends in a process of its own."""
    ear, mouth = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            used = next(int(x.split()[1]) << 10 for x in _lines() if x.startswith("VmData"))
            memory._last[:] = [0.0, None]  # the system's answer before there was a limit
            resource.setrlimit(resource.RLIMIT_DATA, (used + room, resource.RLIM_INFINITY))
            said = _ending(call, used, expected)
            os.write(mouth, said.encode()[:60000])
        finally:
            os._exit(0)
    os.close(mouth)
    with open(ear, "rb") as pipe:
        text = pipe.read().decode()
    ended = os.waitpid(pid, 0)[1]
    return text if not ended else f"ended by {ended}"


def _ending(call: Call, used: int, expected: list[np.ndarray]) -> str:
    try:
        found = _flat(call())
    except MemoryError as error:
        if type(error) is semiring.MemoryNeeded:
            return f"MemoryNeeded: {error}"
        resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY,) * 2)
        import traceback

        return "".join(traceback.format_exception(error))
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY,) * 2)
    same = len(found) == len(expected) and all(map(_same, found, expected))
    return "the same" if same else "another answer"


def _same(x: np.ndarray, y: np.ndarray) -> bool:
    return x.dtype == y.dtype and bool(np.allclose(x, y, rtol=1e-5) if x.dtype.kind == "f" else np.array_equal(x, y))


def _lines() -> list[str]:
    return Path("/proc/self/status").read_text().splitlines()


def _flat(found: Any) -> list[np.ndarray]:
    """The numbers of an answer."""
    if isinstance(found, dict):
        return [np.array(list(found.values()))]
    if isinstance(found, tuple):
        return [x for part in found for x in _flat(part)]
    if sp.issparse(found):
        return [found.indptr, found.indices, found.data]
    if isinstance(found, (apsp.Reachability, RegularPaths)):
        return [found.counts()]
    return [np.asarray(found)]


def _size(draw: Draw, scale: float, *sizes: int) -> int:
    return max(8, int(draw.pick(sizes) * scale))


def _matrix(draw: Draw, n: int) -> np.ndarray:
    """Numbers of a dtype, with ∞ in floats."""
    dtype, rng = np.dtype(draw.pick(("float32", "float64", "int32", "int16", "int64"))), draw.rng()
    A = rng.integers(1, draw.pick((1000, 20, 5)), (n, n)).astype(dtype)
    if dtype.kind == "f":
        A[rng.random((n, n)) < draw.pick((0.0, 0.5, 0.95))] = np.inf
    draw.note(n=n, dtype=dtype.name)
    return A


def _sparse(draw: Draw, n: int, degree: int = 4) -> Any:
    rng = draw.rng()
    rows, cols = rng.integers(0, n, (2, degree * n))
    weights = rng.integers(1, 100, degree * n).astype(draw.pick(("float64", "float32", "int32")))
    draw.note(n=n, degree=degree, dtype=weights.dtype.name)
    return sp.csr_array(sp.coo_array((weights, (rows, cols)), shape=(n, n)))


def _graph(draw: Draw, scale: float, *sizes: int) -> Any:
    """A grid, roads, or arcs between any two."""
    kind, n = draw.pick(("grid", "roads", "any")), _size(draw, scale, *sizes)
    draw.note(kind=kind, n=n)
    if kind == "grid":
        return grid(max(2, n // 40), 40) if n < 4000 else grid(n // 100, 100)
    if kind == "roads":
        return road_like(n, seed=draw.below(100))
    return _sparse(draw, n // 4, draw.pick((3, 8)))


def _closure(draw: Draw, scale: float) -> Call:
    A = _matrix(draw, _size(draw, scale, 500, 900, 1400))
    s = draw.pick(("min_plus", "min_max", "boolean", "log_plus"))
    draw.note(semiring=s)
    if s == "boolean":
        A = A < 2
    if s == "log_plus":
        A = -30.0 - A
    schedule = draw.pick(("auto", "recursive", "blocked"))
    return lambda: semiring_closure(A, s, schedule)


def semiring_closure(A: np.ndarray, s: str, schedule: str) -> Any:
    """The closure, whose zeros are edges."""
    return apsp.closure(A, s, schedule=schedule, **({} if s in ("boolean", "log_plus") else {"null_value": None}))


def _paths(draw: Draw, scale: float) -> Call:
    A, paths = _matrix(draw, _size(draw, scale, 400, 800, 1200)), draw.chance(50)
    engine = draw.pick(("auto", "dense", "essential", "levels", "spanning"))
    draw.note(engine=engine, paths=paths)

    def call() -> Any:
        r = apsp.shortest_paths(A, engine=engine, paths=paths, null_value=None)
        return (r.distances, r.predecessors) if paths else r.distances

    return call


def _asked(draw: Draw, scale: float) -> Call:
    """A question of a sparse graph's result, by each engine."""
    engine = draw.pick(("auto", "elimination", "searches", "scipy", "dense"))
    question = draw.pick(
        ("distances", "rows", "betweenness", "harmonic", "edge_betweenness", "nearest", "update", "hub_labels")
    )
    some = draw.chance(30)
    few = (
        question in ("distances", "harmonic")
        or engine in ("scipy", "dense")
        or (question == "betweenness" and not some)
    )
    g = _graph(draw, scale, *((900, 2000, 4000) if few else (2000, 10000, 30000)))
    draw.note(engine=engine, question=question, some=some)

    def call() -> Any:
        r = apsp.shortest_paths(g, engine=engine)
        names = list(r.labels)
        if question == "distances":
            return r.distances
        if question == "rows":
            return r.table(names[:50], names)
        if question == "betweenness":
            return r.betweenness(sources=min(20, len(names)) if some or engine == "dense" else None)
        if question == "edge_betweenness":
            return r.edge_betweenness(sources=min(20, len(names)))
        if question == "nearest":
            return r.nearest(names[5:9]).distance
        if question == "update":
            u, v = next((int(x), int(y)) for x, y in zip(r.graph.rows, r.graph.cols, strict=True) if x != y)
            return r.update({(names[u], names[v]): 1}).table(names[:5], names)
        if question == "hub_labels":
            if engine not in ("auto", "elimination"):
                return r.distance(names[0], names[-1])
            r = apsp.shortest_paths(g, engine="elimination", hub_labels=True)
            return r.distance(names[:100], names[-100:])
        return r.reduce("harmonic")

    return call


def _reach(draw: Draw, scale: float) -> Call:
    A, schedule = _sparse(draw, _size(draw, scale, 2000, 8000, 20000), 2), draw.pick(("auto", "recursive"))
    return lambda: apsp.transitive_closure(A != 0, schedule=schedule)


def _products(draw: Draw, scale: float) -> Call:
    kind = draw.pick(("dense", "sparse", "sparse and dense", "add", "einsum", "sum"))
    draw.note(kind=kind)
    if kind in ("sparse", "add"):
        A = _sparse(draw, _size(draw, scale, 3000, 10000), draw.pick((4, 12)))
        return lambda: semiring.add(A, A) if kind == "add" else semiring.matmul(A, A)
    B = _matrix(draw, _size(draw, scale, 600, 1200))
    if kind == "sparse and dense":
        C = _sparse(draw, len(B)).astype(B.dtype)
        return lambda: semiring.matmul(C, B)
    if kind == "einsum":
        return lambda: semiring.einsum("ij,jk,kl->il", B[:200], B, B[:, :200])
    return lambda: semiring.sum(B, axis=1) if kind == "sum" else semiring.matmul(B, B)


def _hops(draw: Draw, scale: float) -> Call:
    n, paths = _size(draw, scale, 400, 700), draw.pick((0, 3))
    graphs = [draw.rng().integers(0, n, (2, 4 * n)) for _ in range(draw.pick((3, 1, 6)))]
    draw.note(n=n, graphs=len(graphs), paths=paths)
    return lambda: apsp.hops(graphs, **({"paths": paths} if paths else {}))


def _regular(draw: Draw, scale: float) -> Call:
    A, B = (_sparse(draw, _size(draw, scale, 1500, 3000), 3) != 0 for _ in range(2))
    m = min(A.shape[0], B.shape[0])
    X, Y = sp.csr_array(A[:m, :m]), sp.csr_array(B[:m, :m])
    pattern = draw.pick(("(a b)*", "a+", "a b? a"))
    return lambda: apsp.reachable({"a": X, "b": Y}, pattern)


def _csgraph(draw: Draw, scale: float) -> Call:
    A, some = _sparse(draw, _size(draw, scale, 800, 2000)), draw.chance(50)
    predecessors = draw.chance(50)
    return lambda: apsp.csgraph.shortest_path(
        A, return_predecessors=predecessors, indices=np.arange(40) if some else None
    )


CALLS: dict[str, Callable[[Draw, float], Call]] = {
    "closure": _closure,
    "shortest_paths": _paths,
    "a question": _asked,
    "another question": _asked,
    "transitive_closure": _reach,
    "products": _products,
    "hops": _hops,
    "reachable": _regular,
    "csgraph": _csgraph,
}

if sys.platform != "linux":  # limits and /proc of Linux
    CALLS.clear()
