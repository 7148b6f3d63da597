"""How long do all pairs of weighted graphs take on a GPU, if they are neither roads nor dense?

    python benchmarks/gpu_searches.py                  # everything: three minutes, and 139 GB for the largest matrices
    python benchmarks/gpu_searches.py --only random    # graphs whose name contains this
    python benchmarks/gpu_searches.py --quick          # generated graphs of 3,000 vertices
    python benchmarks/gpu_searches.py --data DIR       # with DIR/snap/wiki-Vote.txt, too

Searches from 32 sources at a time; complete matrices by the arcs that matter; hops of dense graphs on bits; molecules;
reductions of tables that are not held, on each GPU and on two. Every entry is checked on the device before anything is
timed, by Bellman's equation, or against the dense closure where it takes less than three seconds. Times are between two
events of the device, host work of the call included, the best of three. Where there is a bar it stands behind the
number, and whether it is met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from common import arguments, begin
from device import cp, milliseconds
from gpu_sparse import check, device_ms, told, wall_ms
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra, shortest_path
from sparse import Arcs, attached

# isort: split
from apsp import closure, plan, shortest_paths
from apsp.road import schedules
from semiring import get
from semiring.kernels.backend import bind
from semiring.kernels.cuda.sparse.searches import Guide, Searches, Shape
from semiring.kernels.cuda.sparse.thinning import Listed
from semiring.sparse import Searches as Sparse

#: Milliseconds that all pairs may take on an H200.
BARS = {
    "attached 20000, m = 8": 45.0,
    "uniform 8192": 11.0,
    "uniform 32768": 170.0,
    "uniform 131072": 4000.0,
    "unweighted 8192": 1.0,
    "unweighted 32768": 25.0,
    "unweighted 131072": 1500.0,
    "molecules": 0.3,
    "reduction 100000": 1100.0,
    "reduction 100000, two GPUs": 600.0,
    "reduction 200000": 5000.0,
}
#: Most vertices for which the dense closure is computed, too, and other bucket widths are tried.
DENSE, TRIED = 20_000, 40_000
#: Threads of a block, blocks of a multiprocessor, and arcs loaded ahead.
SHAPES = (
    *(Shape(1024, 2, ahead) for ahead in (2, 4, 8)),
    *(Shape(1024, 1, ahead) for ahead in (4, 8)),
    *(Shape(512, blocks, ahead) for blocks in (3, 4) for ahead in (4, 8)),
    Shape(768, 2, 4),
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


def wiki_vote(file: Path) -> Arcs:
    edges = np.loadtxt(file, np.int64)
    known, ends = np.unique(edges, return_inverse=True)
    ends = ends.reshape(edges.shape)
    return ends[:, 0], ends[:, 1], np.random.default_rng(0).integers(1, 1000, len(edges)), len(known)


def like_gnutella31() -> Arcs:
    """A digraph of the size that SNAP publishes for p2p-Gnutella31, generated: no arc of that file is in it.

    62,586 vertices, all but 25 of which one arc enters at least; 147,892 arcs, that leave 18,400 vertices; a strong
    component of 14,213 (there 14,149); both degrees fall by powers.
    """
    n, arcs, inner, rng = 62_586, 147_892, 18_400, np.random.default_rng(31)
    out, into = rng.pareto(2.0, inner) + 1, rng.pareto(2.0, n) + 1
    tails = np.r_[np.arange(inner), rng.choice(inner, arcs - inner, p=out / out.sum())]
    heads = np.r_[np.arange(n - 25), rng.choice(n - 25, arcs - n + 25, p=into[:-25] / into[:-25].sum())]
    names = rng.permutation(n)
    return names[tails], names[rng.permutation(heads)], rng.integers(1, 1000, arcs), n


def power_law(n: int, arcs: int) -> Arcs:
    """Ends by falling probability."""
    rng = np.random.default_rng(3)
    p = np.arange(1, n + 1) ** -0.5
    tails, heads = (rng.choice(n, arcs, p=p / p.sum()) for _ in range(2))
    return tails, heads, rng.integers(1, 1000, arcs), n


def graphs(quick: bool, data: Path) -> Iterator[tuple[str, Callable[[], Arcs]]]:
    if quick:
        yield "attached 3000, m = 8", lambda: weighted(attached(3000, 8))
        yield "random 3000, degree 16", lambda: random(3000, 16)
        return
    yield "attached 20000, m = 8", lambda: weighted(attached(20_000, 8))
    yield "random 20000, degree 16", lambda: random(20_000, 16)
    if (data / "snap/wiki-Vote.txt").exists():
        yield "wiki-Vote", lambda: wiki_vote(data / "snap/wiki-Vote.txt")
    yield "as Gnutella31", like_gnutella31
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
    C = closure(X, "min_plus", schedule="recursive")
    off = float(cp.nanmax(cp.abs(C - D) / cp.maximum(D, 1e-30)))
    if off > 1e-5 or not bool((cp.isfinite(C) == cp.isfinite(D)).all()):
        raise SystemExit(f"the dense closure differs, by {off:.1e} of an entry at most")
    del C
    return device_ms(lambda: closure(X, "min_plus", schedule="recursive"))


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
        found[s] = timed(f"{s.threads} × {s.blocks}, {s.ahead} ahead")
    if found:
        G.shape = min(found, key=found.__getitem__)
        print(f"  the best: {G.shape}", flush=True)
    for width in WIDTHS:
        G.buckets = width
        timed(f"buckets of {width:g} sixteenths")


def uniform(n: int, density: float = 0.0) -> Any:
    """A complete matrix of uniform weights; or 1 on that share of the pairs, inf elsewhere."""
    A, rng = cp.empty((n, n), np.float32), cp.random.default_rng(1)
    for i in range(0, n, 4096):
        part = rng.random((min(4096, n - i), n), dtype=np.float32)
        A[i : i + 4096] = cp.where(part < density, 1.0, np.inf) if density else part
    return A


def matrix(name: str, A: Any) -> None:
    """A closure on the device, as it is planned and by the dense schedule; in place where there is memory for one."""
    n = len(A)
    options: dict[str, Any] = {"null_value": None}
    p = plan(A, **options)
    print(f"{name}: {p.engine}, {p.reason}", flush=True)
    if 4 * 3 * n * n > cp.cuda.Device().mem_info[1]:
        few = rows_otherwise(A)
        ms = milliseconds(lambda: closure(A, overwrite=True, **options), repeats=1, idle=0, launching=True)
        if not bool((A[: len(few)] == few).all()):
            raise SystemExit("rows differ from those that were found otherwise")
        told("closure, in place", ms, BARS.get(name))
        return
    D = closure(A, **options)
    off = float(cp.nanmax(cp.abs(D - closure(A, schedule="recursive", **options)) / cp.maximum(D, 1e-30)))
    print(f"  the dense closure differs by {off:.0e} of an entry at most")
    told("closure", device_ms(lambda: closure(A, **options)), BARS.get(name))
    told("dense closure", device_ms(lambda: closure(A, schedule="recursive", **options)), None)


def rows_otherwise(A: Any) -> Any:
    """64 rows by another way: searches through more arcs; in dense graphs two hops where there is no arc."""
    if not bool(cp.isfinite(A[0]).all()):
        hops = cp.where(cp.isfinite(A[:64]), np.float32(1), np.float32(2))
        hops[np.arange(64), np.arange(64)] = 0
        return hops
    found = Listed(A, get("min_plus"), 60).thinned()
    rows = cp.empty((64, len(A)), np.float32)
    placed = found.searches.placed(np.arange(64), Guide())
    found.searches.run(placed, rows, Guide(), against=(A, cp.zeros(10, np.int64)))
    return rows


def matrices() -> Iterator[tuple[str, Callable[[], Any]]]:
    points = np.random.default_rng(0).random((8192, 3), np.float32)
    yield "uniform 8192", lambda: uniform(8192)
    yield "uniform 32768", lambda: uniform(32_768)
    yield "uniform 131072", lambda: uniform(131_072)
    yield "Euclidean 8192", lambda: cp.sqrt(((cp.asarray(points)[:, None] - cp.asarray(points)) ** 2).sum(axis=2))
    yield "integers 1-9, 8192", lambda: cp.random.default_rng(2).integers(1, 10, (8192, 8192)).astype(np.float32)
    yield "unweighted 8192", lambda: uniform(8192, 0.3)
    yield "unweighted 32768", lambda: uniform(32_768, 0.3)
    yield "unweighted 131072", lambda: uniform(131_072, 0.3)


def molecules() -> None:
    """Hops of 10,000 graphs of at most 64 atoms, from a padded tensor: the kernel, and the call."""
    rng = np.random.default_rng(0)
    A = np.full((10_000, 64, 64), np.inf, np.float32)
    for X in A:
        atoms = rng.integers(10, 65)
        bonds = np.arange(1, atoms), rng.integers(0, np.arange(1, atoms))
        rings = rng.integers(0, atoms, (2, 3))
        for i, j in (bonds, rings):
            X[i, j] = X[j, i] = 1
    some = np.where(np.isinf(A[:99]), 0, A[:99])
    want = [shortest_path(x, unweighted=True) for x in some]
    X, D = cp.asarray(A), cp.empty(A.shape, np.float32)
    if not (closure(X)[:99].get() == want).all():
        raise SystemExit("molecules: hops are not SciPy's")
    ops, schedule = (
        bind(get("min_plus"), np.dtype(np.float32), device="cuda", nonnegative=True),
        schedules.get("blocked"),
    )

    def many() -> None:
        for _ in range(20):
            ops.closure_batch(X, schedule, out=D)

    told("molecules, on the device", device_ms(many) / 20, BARS["molecules"])
    told("the call, host included", device_ms(lambda: closure(X)), None)


def reductions() -> None:
    """The eccentricity of every vertex of tables that are not held."""
    for name, arcs in (
        ("reduction 100000", weighted(attached(100_000, 8))),
        ("reduction 200000", power_law(200_000, 2_000_000)),
    ):
        tails, heads, weights, n = arcs
        A = csr_array((weights.astype(np.float32), (tails, heads)), shape=(n, n))
        places = (("", None), (", two GPUs", [0, 1])) if cp.cuda.runtime.getDeviceCount() > 1 else (("", None),)
        for where, gpus in places:
            options: Any = {"gpus": gpus} if gpus else {"device": "cuda"}
            r = shortest_paths(A, engine="searches", dtype="float32", **options)
            found = r.reduce("eccentricity")
            few = [5, n // 2, n - 1]
            if not (dijkstra(A, indices=few).max(axis=1) == found[few]).all():
                raise SystemExit(f"{name}: not SciPy's distances")
            told(name + where, wall_ms(lambda r=r: r.reduce("eccentricity")), BARS.get(name + where))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--data", type=Path, default=Path("data"))
    asked = begin(parser, gpu=True)
    for index, (name, make) in enumerate(graphs(asked.quick, asked.data)):
        if asked.only in name:
            table(name, make(), shapes=index == 0)
            cp.get_default_memory_pool().free_all_blocks()
    for name, made in () if asked.quick else matrices():
        if asked.only in name:
            matrix(name, made())
            cp.get_default_memory_pool().free_all_blocks()
    for part in () if asked.quick else (molecules, reductions):
        if asked.only in part.__name__:
            part()
            cp.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
