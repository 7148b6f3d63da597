"""How long does a closure on a GPU take, and how much of that is the host's launches?

    python benchmarks/gpu_closures.py             # n = 512 … 16384, float32, int16, int32, and batches; half a minute

In place, by device events: launched from Python, and replayed from a CUDA graph, which holds the same launches; the
difference is the host's. Sampled rows are checked against the fixed point
D[k,:] = min over j of D[k,j] + A[j,:], D[k,k] = 0, in exact numbers before anything is timed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from common import arguments, begin

# isort: split
import cases
from device import cp, milliseconds

from apsp import schedules
from semiring.backend import bind
from semiring.catalog import min_plus

#: count, n
BATCHES = ((10_000, 64), (2_000, 128), (1_000, 256), (200, 512), (40, 1024))


def launched_and_replayed(run: Callable[[], Any], stream: Any) -> tuple[float, float]:
    """Milliseconds of a run on the current stream, and of the same launches in a graph."""
    launched = milliseconds(run, repeats=5, idle=0, launching=True)
    stream.begin_capture()
    run()
    graph = stream.end_capture()
    return launched, milliseconds(lambda: graph.launch(stream), repeats=5, idle=0)


def batch(count: int, n: int, rng: np.random.Generator, stream: Any) -> None:
    """Many small matrices by one call; the first and the last are checked."""
    ops: Any = bind(min_plus, "float32", device="cuda", nonnegative=True)
    with stream:
        A = cp.asarray(rng.integers(1, 100, (count, n, n), dtype=np.int16).astype(np.float32))
        D = A.copy()

        def run() -> None:
            ops.closure_batch(D, schedules.get("blocked"))

        run()
        for i in (0, count - 1):
            cases.check_distances(A[i], D[i])
        launched, replayed = launched_and_replayed(run, stream)
    rate = count * n**3 / replayed / 1e9
    print(f"float32  {count:6} × {n:4}  launched {launched:9.3f} ms  graph {replayed:9.3f} ms  {rate:6.2f} T pairs/s")


def large(n: int) -> None:
    """One closure of float32 by itself: rows are made anew for the check, for there is no room for a copy."""

    def rows(start: int, stop: int) -> Any:
        rng = cp.random.default_rng(start)
        return rng.integers(1, 100, (stop - start, n)).astype(cp.float32)

    ops: Any = bind(min_plus, "float32", device="cuda", nonnegative=True)
    D, step = cp.empty((n, n), cp.float32), 2048
    for i in range(0, n, step):
        D[i : i + step] = rows(i, i + step)
    time = milliseconds(lambda: schedules.get("recursive")(D, ops, block=ops.pivot), repeats=1, idle=0)
    sampled = cp.asarray(np.random.default_rng(1).integers(0, n, 4))
    got = D[sampled]
    best = cp.full_like(got, np.inf)
    for i in range(0, n, step):
        part = rows(i, i + step)
        for k in range(len(got)):
            for j in range(0, step, 64):  # one edge after a shortest walk
                walks = (got[k, i + j : i + j + 64, None] + part[j : j + 64]).min(axis=0)
                best[k] = cp.minimum(best[k], walks)
            if i <= int(sampled[k]) < i + step:
                best[k] = cp.minimum(best[k], part[int(sampled[k]) - i])
    best[cp.arange(len(got)), sampled] = 0
    assert bool((got == best).all()), f"rows of the closure of {n} vertices are wrong"
    print(
        f"float32  n = {n:6}  launched {time / 1e3:9.3f} s  {n**3 / time / 1e9:6.2f} T pairs/s, 4 rows checked",
        flush=True,
    )


def single(n: int, dtype: str, rng: np.random.Generator, stream: Any) -> None:
    """One closure, launched and replayed; its result is the same both times."""
    A = rng.integers(1, 100, (n, n), dtype=np.int16).astype(dtype)
    ops = bind(min_plus, dtype, device="cuda", nonnegative=True)
    schedule = schedules.get("recursive" if n > ops.cutover else "blocked")
    with stream:
        M = cp.asarray(A)

        def run() -> None:
            schedule(M, ops, block=ops.pivot)

        run()
        stream.synchronize()
        cases.check_distances(A, M.get(), np.random.default_rng(1).integers(0, n, 4))
        first = M.get() if n <= 4096 else None
        M[...] = cp.asarray(A)
        run()
        stream.synchronize()
        if first is not None:
            np.testing.assert_array_equal(first, M.get())
        launched, replayed = launched_and_replayed(run, stream)
    rate = n**3 / replayed / 1e9
    print(f"{dtype:8} n = {n:6}  launched {launched:9.3f} ms  graph {replayed:9.3f} ms  {rate:6.2f} T pairs/s")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sizes", type=int, nargs="*")
    parser.add_argument("--dtypes", nargs="*", default=["float32", "int16", "int32"])
    parser.add_argument("--large", type=int, help="one more, of float32 and so many vertices, run once")
    args = begin(parser, gpu=True)
    sizes = [512, 1024, 2048, 4096, 8192, 16384][: 3 if args.quick else 6] if args.sizes is None else args.sizes
    rng, stream = np.random.default_rng(0), cp.cuda.Stream(non_blocking=True)
    for count, n in BATCHES:
        batch(count, n, rng, stream)
    for dtype in args.dtypes:
        for n in sizes:
            single(n, dtype, rng, stream)
    cp.get_default_memory_pool().free_all_blocks()
    if args.large:
        large(args.large)


if __name__ == "__main__":
    main()
