"""What one call holds at its peak, as the system sees it: a process of its own, for `tests/test_memory.py`.

    echo '{"call": "closure", "semiring": "min_plus", "dtype": "float32", "n": 2048}' | python peak.py

prints what was promised and what was held, in bytes, beside what the call was given; or what went wrong. A line is
answered by a process forked for it: all share what is imported. Everything is compiled and warm before: the same
call on something small comes first.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import scipy.sparse

import apsp
from apsp import generate
from apsp.answers import ragged
from apsp.big.distributed import world
from apsp.csgraph.conversion import network
from apsp.csgraph.engines import Options, Rows
from apsp.road import estimates
from semiring import BitMatrix
from semiring.kernels.cpu.bits.words import LARGE
from semiring.stores.tiles import TileStore

#: Semirings, dtypes and whether an edge is negative, as most cases have them.
COMMON = (
    *(("min_plus", dtype, negative) for dtype in ("float32", "float64", "int32") for negative in (False, True)),
    ("boolean", "bool", False),
)


def status(name: str) -> int:
    """A line of /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(name + ":")).split()[1])


def matrix(case: dict[str, Any], n: int) -> np.ndarray:
    """Row by row: nothing larger than a row is left behind."""
    rng = np.random.default_rng(n)
    batch, given = case.get("batch"), np.dtype(case.get("given", case["dtype"]))
    A = np.empty((batch, n, n) if batch else (n, n), given)
    for row in A.reshape(-1, n):
        if case["dtype"] == "bool":
            row[:] = rng.integers(0, 256, n, np.uint8) < 256 * case.get("density", 0.01)
        elif case["semiring"] == "plus_times":
            row[:] = rng.random(n) / (2 * n)
        else:
            row[:] = rng.integers(1, case.get("longest", 1000), n)
    if case.get("negative"):
        A[..., 0, -1] = -1
    return A


def graph(case: dict[str, Any], n: int) -> apsp.Graph:
    if "grid" in case:
        return generate.grid(n // case["grid"][1], case["grid"][1])
    rng = np.random.default_rng(n)
    m = int(case["degree"] * n)
    rows, cols, weights = (rng.integers(0, n, m) for _ in range(3))
    w = None if case.get("unweighted") else -weights if case.get("negative") else weights
    if case.get("negative") or case.get("acyclic"):
        rows, cols = np.maximum(rows, cols) - (rows == cols), np.minimum(rows, cols) - 2 * (rows == cols)
        keep = (rows >= 0) & (cols >= 0)
        rows, cols, w = rows[keep], cols[keep], None if w is None else w[keep]
    return apsp.Graph.from_arrays(rows, cols, w, n=n, directed=case.get("directed", True))


def hops(case: dict[str, Any], n: int, measure: bool) -> tuple[int, int]:
    """Of several graphs of n vertices, with the beginnings of paths; what was asked for is what is promised."""
    rng, asked = np.random.default_rng(n), [0]
    graphs = [rng.integers(0, n, (2, 4 * n)) for _ in range(case["count"])]

    def require(needed: int, *_: Any, **__: Any) -> None:
        asked.append(needed)

    ragged.require = require
    gc.collect()
    if measure:
        Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    found = apsp.hops(graphs, paths=case["paths"])
    assert len(found) == 2
    return max(asked), status("VmHWM") - before


def run(case: dict[str, Any], n: int, measure: bool) -> tuple[int, int]:
    kind, s = case["call"], case.get("semiring", "min_plus")
    options = {k: case[k] for k in ("schedule", "block", "threads", "engine", "paths") if k in case}
    if "ranks" in case:
        options["gpus"] = world(ranks=case["ranks"], threads=options.pop("threads"))
    if kind == "stored":
        return stored(case, n, measure, **options)
    if kind == "hops":
        return hops(case, n, measure)
    given: Any = graph(case, n) if {"degree", "grid"} & {*case} else matrix(case, n)
    if kind == "csgraph":
        tails, heads, w = given.edges(s, case["dtype"])
        given = scipy.sparse.coo_array((w, (tails.astype(np.int32), heads.astype(np.int32))), shape=(n, n)).tocsr()
        given.sum_duplicates()
    if case.get("packed"):
        given = BitMatrix.from_bool(given)
    promised = 0
    if kind == "closure" and not case.get("packed"):
        p = apsp.plan(given, s, dtype=case.get("dtype"), overwrite=case.get("overwrite", False), **options)
        promised = p.beside_bytes
        del p
    gc.collect()
    if measure:
        Path("/proc/self/clear_refs").write_text("5")  # VmHWM begins anew
    before = status("VmRSS")
    if kind == "closure":
        result: Any = apsp.closure(given, s, dtype=case.get("dtype"), overwrite=case.get("overwrite", False), **options)
    elif kind == "shortest_paths":
        wanted: dict[str, Any] = {side: range(int(case[side] * n)) for side in ("sources", "targets") if side in case}
        result = apsp.shortest_paths(given, s, dtype=case.get("dtype"), **options, **wanted)
        promised = result.plan.beside_bytes
        if case.get("rows"):
            for _ in result.rows():
                pass
        if case.get("table"):
            promised += result.distances.nbytes + result.engine.workspace
        if "reduce" in case:
            promised += case.get("ranks", 1) * result.engine.workspace
            result.reduce(case["reduce"])
        if case.get("hops"):
            promised += 4 * n * n + estimates.predecessors(
                n, result.dtype.itemsize, int(case["degree"] * n), table=False
            )
            assert result.hops.shape == (n, n)
    elif kind == "csgraph":
        sources = range(int(case["sources"] * n)) if "sources" in case else None
        rows = None if sources is None else np.array(sources)
        known = network(given, dtype=case["dtype"], where="csgraph")
        promised = Rows(known, rows, Options(threads=case["threads"])).bytes_with_predecessors
        result = apsp.csgraph.shortest_path(
            given, return_predecessors=True, indices=sources, dtype=case["dtype"], threads=case["threads"]
        )
    elif kind == "transitive_closure":
        result = apsp.transitive_closure(given, **options)
        promised = result.plan.beside_bytes
    else:
        result = given.matrix(s, case["dtype"])
        promised = result.nbytes
    return promised, status("VmHWM") - before


def stored(case: dict[str, Any], n: int, measure: bool, **options: Any) -> tuple[int, int]:
    """Of a matrix in a store that is larger than what may be held."""
    with tempfile.TemporaryDirectory() as place:
        TileStore.create(f"{place}/big", (n, n), case["dtype"], block=256).put(matrix(case, n))
        gc.collect()
        if measure:
            Path("/proc/self/clear_refs").write_text("5")
        before = status("VmRSS")
        r = apsp.shortest_paths(f"{place}/big", memory=case["memory"], output=f"{place}/d", **options)
        assert r.path(0, n - 1)[-1] == n - 1
        return r.plan.beside_bytes, status("VmHWM") - before


def measured(case: dict[str, Any]) -> tuple[int, int]:
    warm(case, case.get("warm", 700))
    return run(case, case["n"], measure=True)


def warm(case: dict[str, Any], n: int) -> None:
    """The same on something small: in a thread, in small blocks, so that every kernel has its turn."""
    listed = case["call"] == "closure" and "degree" in case  # a block would have its matrix closed
    dense = case.get("engine", "dense") == "dense" and "longest" not in case  # whose distances are few
    blocks = {"block": 64} if dense and not listed else {}
    small = {**blocks, **case, **({"threads": 1} if "threads" in case else {})}
    in_a_thread(lambda: run(small, n, False))


def in_a_thread(call: Callable[[], Any]) -> None:
    """The call in a thread of its own, whose workspace ends with it."""
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def main() -> None:
    os.fsync = lambda handle: None  # no test loses power
    ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE: pages are counted one by one
    for semiring, dtype, negative in COMMON:  # what is loaded here, all children have
        case = {"call": "closure", "semiring": semiring, "dtype": dtype, "threads": 1, "negative": negative}
        warm(case, 200)
    bits = BitMatrix.zeros((LARGE, LARGE))
    in_a_thread(lambda: bits @ bits)  # without AVX-512, large products have a kernel of their own
    numba.njit(lambda: 0)()  # loads what numba compiles with, which no longer comes with machine code from disk
    for line in sys.stdin:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            continue
        try:
            print(json.dumps(measured(json.loads(line))), flush=True)
        except BaseException:
            print(json.dumps(traceback.format_exc()), flush=True)
        os._exit(0)


if __name__ == "__main__":
    main()
