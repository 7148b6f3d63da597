"""What do predecessors and paths cost beside the closure, on a CPU or on a GPU?

    python benchmarks/routes.py              # n = 2048, the best of 5
    python benchmarks/routes.py --quick      # n = 128
    python benchmarks/routes.py --paths      # and the paths: n = 400 as lists, a million of 8,192 vertices as arrays
    python benchmarks/routes.py --device cuda   # n = 8192 on a GPU, by device events; every path is walked first

Some paths are walked before anything is timed; times are ratios to the closure's in the same process.
"""

from __future__ import annotations

import itertools
import time
from functools import partial
from typing import Any

import numpy as np
from common import arguments, begin, best
from families import SEED, families

# isort: split
from apsp import closure, predecessors, shortest_paths
from semiring.dense.routes import walks


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


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--paths", action="store_true", help="also many paths at once")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    args = begin(parser)
    repeats = args.repeats
    if args.device == "cuda":
        import routes_gpu

        routes_gpu.measure(1024 if args.quick else 8192, repeats)
        return
    n = 128 if args.quick else 2048
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
    if args.paths:
        many(repeats)


def many(repeats: int) -> None:
    """All paths of a small graph as lists, and a million of a large one as arrays."""
    rng = np.random.default_rng(SEED)
    A = rng.random((400, 400))
    r = shortest_paths(A, paths=True)
    for title, work in (("after", lambda: list(r.paths())), ("with", lambda: list(shortest_paths(A).paths()))):
        took = f"{best(work, repeats):.3f} s, {best(work, repeats, clock=time.process_time):.3f} s of all processors"
        print(f"\nall paths of n = 400 as lists, {title} closure and predecessors: {took}")
    n = 8192
    r = shortest_paths(rng.random((n, n), np.float32), null_value=None)  # a few of the entries are 0
    start = time.perf_counter()
    _ = r.predecessors
    found = time.perf_counter() - start
    print(f"n = {n}: the closure took {r.seconds:.2f} s, predecessors then {found:.2f} s")
    pairs = rng.integers(0, n, (1_000_000, 2))
    work = partial(r.paths, pairs)
    took = f"{best(work, repeats):.3f} s, {best(work, repeats, clock=time.process_time):.3f} s"
    print(f"a million paths of it as arrays: {took} of all processors ({r.paths(pairs)})")


if __name__ == "__main__":
    main()
