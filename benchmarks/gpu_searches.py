"""How long do weighted searches on a GPU take for all distances of a graph with hubs, and in which sizes and buckets?

    python benchmarks/gpu_searches.py                  # every graph; sizes of the kernel on the first: two minutes
    python benchmarks/gpu_searches.py --only random    # graphs whose name contains this
    python benchmarks/gpu_searches.py --quick          # generated graphs of 3,000 vertices

Every entry is checked on the device before anything is timed, by Bellman's equation, and where the dense closure takes
less than a second, by that. Variants must give the same table. Times are between two events of the device, host work of
the call included, the best of three. Where there is a bar it stands behind the number, and whether it is met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
from common import arguments, begin
from device import cp
from gpu_sparse import check, device_ms, told
from sparse import Arcs, attached

# isort: split
from apsp import closure
from semiring.cuda.sparse.searches import Guide, Searches, Shape
from semiring.sparse import Searches as Sparse

#: Milliseconds that all pairs may take on an H200.
BARS = {"attached 20000, m = 8": 45.0}
#: Vertices up to which the dense closure is computed, too; and buckets of other widths are tried.
DENSE, TRIED = 20_000, 40_000
#: Threads of a block, blocks of a multiprocessor, arcs loaded ahead, and whether its own cache keeps entries.
SHAPES = (
    *(Shape(1024, 2, ahead, cached) for ahead in (1, 2, 4, 8) for cached in (False, True)),
    *(Shape(1024, 1, ahead, cached) for ahead in (4, 8) for cached in (False, True)),
    *(Shape(512, blocks, ahead) for blocks in (2, 3, 4) for ahead in (4, 8)),
    *(Shape(768, 2, 4), Shape(512, 4, 4, True), Shape(256, 8, 4), Shape(256, 6, 4)),
)
#: How far the bound moves, in sixteenths of the median weight.
WIDTHS = (0.5, 1.0, 2.0, 3.0, 4.0, 8.0)


def weighted(arcs: Arcs) -> Arcs:
    """Weights 1 … 999, those of both directions independent."""
    tails, heads, _, n = arcs
    return tails, heads, np.random.default_rng(0).integers(1, 1000, len(tails)), n


def random(n: int, degree: int) -> Arcs:
    rng = np.random.default_rng(0)
    return np.repeat(np.arange(n), degree), rng.integers(0, n, n * degree), rng.integers(1, 1000, n * degree), n


def lightest(n: int, degree: int) -> Arcs:
    """The lightest arcs of each vertex of a complete graph of uniform weights."""
    rng = np.random.default_rng(0)
    weights = rng.exponential(1 / n, (n, degree)).cumsum(axis=1)
    return np.repeat(np.arange(n), degree), rng.integers(0, n, n * degree), weights.ravel(), n


def graphs(quick: bool) -> Iterator[tuple[str, Callable[[], Arcs]]]:
    if quick:
        yield "attached 3000, m = 8", lambda: weighted(attached(3000, 8))
        yield "random 3000, degree 16", lambda: random(3000, 16)
        return
    yield "attached 20000, m = 8", lambda: weighted(attached(20_000, 8))
    yield "random 20000, degree 16", lambda: random(20_000, 16)
    yield "lightest 8192, degree 16", lambda: lightest(8192, 16)
    yield "lightest 32768, degree 16", lambda: lightest(32_768, 16)
    yield "attached 100000, m = 8", lambda: weighted(attached(100_000, 8))


def dense(arcs: Arcs, D: Any) -> float:
    """Milliseconds of the dense closure, whose entries D must have, but for rounding."""
    tails, heads, weights, n = arcs
    order = np.lexsort((-weights, heads, tails))  # of parallel arcs the best is written last
    A = np.full((n, n), np.inf, np.float32)
    A[tails[order], heads[order]] = weights[order]
    X = cp.asarray(A)
    C = closure(X, "min_plus")
    off = float(cp.nanmax(cp.abs(C - D) / cp.maximum(D, 1e-30)))
    if off > 1e-5 or not bool((cp.isfinite(C) == cp.isfinite(D)).all()):
        raise SystemExit(f"the dense closure differs, by {off:.1e} of an entry at most")
    del C
    return device_ms(lambda: closure(X, "min_plus"))


def table(name: str, arcs: Arcs, shapes: bool) -> None:
    tails, heads, weights, n = arcs
    S = Sparse((tails, heads), n=n, weights=weights.astype(np.float32), device="cuda")
    begun = perf_counter()
    guide = S._guide(n, None)
    host = perf_counter() - begun
    G: Searches = S._gpu
    print(f"{name}: {n:,} vertices, {len(tails):,} arcs; {G.blocks(n)} blocks for {-(-n // 32)} batches, {G.shape}")
    D = G.empty(n)
    G.to_dense(D, guide)
    print(f"  {check(D, arcs)}", flush=True)
    print(f"  {'the way to a landmark, host':28} {1e3 * host:9.2f} ms, once, compilation included")
    ms = device_ms(lambda: G.to_dense(D, guide))
    told(
        "all pairs",
        ms,
        BARS.get(name),
        f"   {n * n / ms / 1e6:.2f} G distances/s, {1e-9 * len(tails) * n / ms:.3f} T arcs/s",
    )
    told("without landmark", device_ms(lambda: G.to_dense(D, Guide())), None)
    if n <= DENSE:
        told("dense closure", dense(arcs, D), None)
    if n <= TRIED:
        tried(G, D, guide, SHAPES if shapes else ())


def tried(G: Searches, D: Any, guide: Guide, shapes: Iterable[Shape]) -> None:
    """Sizes of the kernel, then widths of buckets in the best of them; each must give the same table."""
    X = cp.empty_like(D)
    found: dict[Shape, float] = {}

    def timed(what: str) -> float:
        G.to_dense(X, guide)
        if not bool((X == D).all()):
            raise SystemExit(f"{what}: not the same table")
        ms = device_ms(lambda: G.to_dense(X, guide))
        told(what, ms, None)
        return ms

    for G.shape in shapes:
        s = G.shape
        found[s] = timed(f"{s.threads} × {s.blocks}, {s.ahead} ahead{', cached' * s.cached}")
    if found:
        G.shape = min(found, key=found.__getitem__)
        print(f"  the best: {G.shape}", flush=True)
    for width in WIDTHS:
        G.buckets = width
        timed(f"buckets of {width:g} sixteenths")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--only", default="")
    asked = begin(parser, gpu=True)
    for index, (name, make) in enumerate(graphs(asked.quick)):
        if asked.only in name:
            table(name, make(), shapes=index == 0)
            cp.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
