"""Predecessors and paths: check some paths, then time, as ratios to the closure in the same process.

python benchmarks/routes.py              # n = 2048, the best of 5
python benchmarks/routes.py --quick      # n = 512
python benchmarks/routes.py --paths      # and the paths: n = 400 as lists, a million of 8,192 vertices as arrays
python benchmarks/routes.py --device cuda   # n = 8192 on a GPU, by device events; every path is walked first
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import click
import numpy as np
from families import SEED, families

from apsp import closure, predecessors, shortest_paths
from semiring.routes import walks


def best(work: Callable[[], Any], repeats: int) -> float:
    """The least seconds of several runs."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def check(A: np.ndarray, D: np.ndarray, P: np.ndarray, semiring: str) -> None:
    """Some paths, walked: edges of A, no vertex twice, of the length that D says."""
    rng = np.random.default_rng(1)
    n = len(A)
    pairs = rng.integers(0, n, (500, 2))
    vertices, starts = walks(P, pairs[:, 0], pairs[:, 0], pairs[:, 1])
    add = {"min_plus": np.add, "max_min": np.minimum, "min_max": np.maximum}[semiring]
    for k, (i, j) in enumerate(pairs.tolist()):
        path = vertices[starts[k] : starts[k + 1]].tolist()
        if not path or i == j:
            continue
        assert len(set(path)) == len(path), "a cycle"
        length = add.reduce([A[a, b] for a, b in itertools.pairwise(path)], dtype=np.float64)
        assert abs(length - D[i, j]) <= n * np.finfo(A.dtype).eps * np.abs(D[np.isfinite(D)]).max(), (i, j)


@click.command()
@click.option("--quick", is_flag=True, help="512 vertices instead of 2048.")
@click.option("--paths", is_flag=True, help="Also many paths at once.")
@click.option("--repeats", default=5, show_default=True)
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
def main(quick: bool, paths: bool, repeats: int, device: str) -> None:
    """Distances with predecessors, as multiples of distances alone."""
    if device == "cuda":
        import routes_gpu

        routes_gpu.measure(1024 if quick else 8192, repeats)
        return
    n = 512 if quick else 2048
    print(f"n = {n}, float32, the best of {repeats}\n")
    print("| graph | closure, s | predecessors, s | both / closure |\n|---|---|---|---|")
    for semiring in ("min_plus", "max_min"):
        for name, make in families(n).items():
            if name == "twins" or (
                semiring != "min_plus" and name not in ("dense uniform", "integers 1-99", "geometric, radius 0.05")
            ):
                continue
            A = make(np.random.default_rng(SEED)).astype(np.float32)
            np.fill_diagonal(A, 0)
            if semiring == "max_min":
                A[np.isinf(A)] = -np.inf
            said: dict[str, Any] = {"null_value": None}  # zeros are edges
            D = closure(A, semiring, **said)
            check(A, D, predecessors(A, D, semiring, **said), semiring)
            alone, after = np.inf, np.inf
            for _ in range(repeats):  # in turn, so that a busy machine is so for both
                alone = min(alone, best(partial(closure, A, semiring, **said), 1))
                after = min(after, best(partial(predecessors, A, D, semiring, **said), 1))
            title = name if semiring == "min_plus" else f"{name}, {semiring}"
            print(f"| {title} | {alone:.3f} | {after:.3f} | {(alone + after) / alone:.2f} |", flush=True)
    if paths:
        many(repeats)


def processor(work: Callable[[], Any], repeats: int) -> float:
    """The least processor seconds of all threads, which a busy machine adds little to."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def many(repeats: int) -> None:
    """All paths of a small graph as lists, and a million of a large one as arrays."""
    rng = np.random.default_rng(SEED)
    A = rng.random((400, 400))
    r = shortest_paths(A, paths=True)
    for title, work in (("after", lambda: list(r.paths())), ("with", lambda: list(shortest_paths(A).paths()))):
        took = f"{best(work, repeats):.3f} s, {processor(work, repeats):.3f} s of all processors"
        print(f"\nall paths of n = 400 as lists, {title} closure and predecessors: {took}")
    n = 8192
    r = shortest_paths(rng.random((n, n), np.float32), null_value=None)  # of so many a few are 0
    start = time.perf_counter()
    _ = r.predecessors
    found = time.perf_counter() - start
    print(f"n = {n}: the closure took {r.seconds:.2f} s, predecessors then {found:.2f} s")
    pairs = rng.integers(0, n, (1_000_000, 2))
    took = f"{best(lambda: r.paths(pairs), repeats):.3f} s, {processor(lambda: r.paths(pairs), repeats):.3f} s"
    print(f"a million paths of it as arrays: {took} of all processors ({r.paths(pairs)})")


if __name__ == "__main__":
    main()
