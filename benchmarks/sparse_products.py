"""How long do sparse products over semirings take, next to SciPy's, cuSPARSE's and SuiteSparse's (+, ×)?

    python benchmarks/sparse_products.py                 # on the CPU; 3 minutes
    python benchmarks/sparse_products.py --data DIR      # DIR has osm-luxembourg/ and snap/; else ../shared/data
    python benchmarks/sparse_products.py --quick         # smaller graphs
    python benchmarks/sparse_products.py --device cuda   # on a GPU; 1 minute

A · A of wiki-Vote, Luxembourg, a stencil of 7 points on a cube, and a graph by preferential attachment, all of
float32; its triangles, by a mask; regular paths. Each product is checked against SciPy's before anything is timed,
min_plus by its pattern. CPU times are wall clock, the least of several, with one thread and with two; python-graphblas
is asked where it is installed. On a GPU they are medians between two events of entire calls, and the bytes those of A
and Y once, and of X's rows once an entry.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import arguments, begin, best
from sparse import DATA, dimacs, snap

# isort: split
import semiring
from apsp import reachable


def attached(n: int, m: int, seed: int = 0) -> Any:
    """Preferential attachment, m arcs a vertex each way (Batagelj and Brandes 2005): ends of arcs drawn at random."""
    rng = np.random.default_rng(seed)
    tails = np.repeat(np.arange(n), m)
    drawn = (rng.random(n * m) * np.maximum(1, 2 * np.arange(n * m))).astype(np.int64)
    where = np.where(drawn % 2 == 1, -1, drawn // 2)  # an arc whose head this one copies, or a tail
    heads = np.where(where < 0, tails[drawn // 2], -1)
    while (open_ := np.flatnonzero(heads < 0)).size:
        heads[open_] = np.where(where[open_] >= open_, 0, heads[where[open_]])
    kept = tails != heads
    ends = np.r_[tails[kept], heads[kept]], np.r_[heads[kept], tails[kept]]
    A = sp.csr_array((np.ones(len(ends[0]), np.float32), ends), shape=(n, n))
    A.data[:] = rng.random(A.nnz, np.float32) + 0.1
    return A


def stencil(side: int) -> Any:
    """The neighbours in a cube, and itself."""
    line = sp.diags_array([np.ones(side - 1), np.ones(side - 1)], offsets=[-1, 1])
    one = sp.eye_array(side)
    cube = sp.kron(sp.kron(line, one), one) + sp.kron(sp.kron(one, line), one) + sp.kron(sp.kron(one, one), line)
    return sp.csr_array((cube + sp.eye_array(side**3)).astype(np.float32))


def of(arcs: tuple[Any, Any, Any, int]) -> Any:
    """A matrix without stored zeros: SciPy's products drop them."""
    tails, heads, weights, n = arcs
    return sp.csr_array((np.maximum(weights, 1).astype(np.float32), (tails, heads)), shape=(n, n))


def matrices(data: Path, quick: bool) -> dict[str, Any]:
    found = {}
    if data.is_dir():
        found["wiki-Vote"] = of(snap(data / "snap/wiki-Vote.txt"))
        found["Luxembourg"] = of(dimacs(data / "osm-luxembourg/luxembourg.gr.gz"))
    found["stencil"] = stencil(10 if quick else 100)
    found["attachment"] = attached(1000 if quick else 200_000, 5)
    for A in found.values():
        A.sort_indices()
    return found


def check(C: Any, expected: Any, *, entries: bool) -> None:
    C, expected = C.copy(), expected.copy()
    C.sort_indices(), expected.sort_indices()
    assert np.array_equal(C.indptr, expected.indptr)
    assert np.array_equal(C.indices, expected.indices)
    if entries:
        np.testing.assert_allclose(C.data, expected.data, rtol=1e-4)


def suitesparse(A: Any, threads: int) -> float | None:
    """Seconds of A · A by SuiteSparse:GraphBLAS, on `threads` threads; None if it is not installed."""
    try:
        import graphblas as gb
    except ImportError:
        return None
    gb.ss.config["nthreads"] = threads
    M = gb.io.from_scipy_sparse(A)
    return best(lambda: M.mxm(M, gb.semiring.plus_times).new().wait())


def on_cpu(data: Path, quick: bool) -> None:
    for name, A in matrices(data, quick).items():
        products = int(np.diff(A.indptr)[A.indices].sum())
        expected = A @ A
        print(f"{name}: {A.shape[0]:,} rows, {A.nnz:,} entries; A·A: {products:,} products, {expected.nnz:,} entries")
        scipys = best(lambda A=A: A @ A)
        print(f"  {'SciPy':30} {1e3 * scipys:9.1f} ms")
        for s in ("plus_times", "min_plus", "lor_land"):
            M = A.astype(bool) if s == "lor_land" else A
            check(semiring.matmul(M, M, s), expected, entries=s == "plus_times")
            for threads in (1, 2):
                took = best(lambda M=M, s=s, threads=threads: semiring.matmul(M, M, s, threads=threads))
                what = f"{s}, {threads} thread{'s' * (threads > 1)}"
                print(f"  {what:30} {1e3 * took:9.1f} ms  {scipys / took:6.2f} × SciPy's")
        for threads in (1, 2):
            took_by = suitesparse(A, threads)
            if took_by is not None:
                print(f"  {f'SuiteSparse, {threads}':30} {1e3 * took_by:9.1f} ms")
    G = A.copy()
    G.data[:] = 1
    start = time.perf_counter()
    expected = (G @ G).multiply(G)
    scipys = time.perf_counter() - start
    found = semiring.matmul(G, G, "plus_times", mask=G)
    assert found.sum() == expected.sum()
    took = best(lambda: semiring.matmul(G, G, "plus_times", mask=G, threads=2))
    count, times = int(found.sum()) // 6, scipys / took
    print(f"{count:,} triangles: {took:.3f} s by a mask, {times:.1f} × SciPy's (A @ A).multiply(A)")
    for columns in (1, 64):
        X = np.random.default_rng(0).random((A.shape[0], columns), np.float32)
        np.testing.assert_allclose(semiring.matmul(A, X, "plus_times"), A @ X, rtol=1e-4)
        scipys = best(lambda X=X: A @ X)
        took = best(lambda X=X: semiring.matmul(A, X, "min_plus", threads=2))
        print(
            f"{columns} dense columns, min_plus, 2 threads: {1e3 * took:.1f} ms, {scipys / took:.1f} × SciPy's (+, ×)"
        )
    regular(100 if quick else 1000, True)
    regular(1000 if quick else 100_000, False)


def regular(n: int, compared: bool) -> None:
    """All pairs of a (b|c)* d (a|d)? in a random graph, an edge of each label a vertex."""
    rng, pattern = np.random.default_rng(0), "a (b|c)* d (a|d)?"
    ends = {label: rng.integers(0, n, (2, n)) for label in "abcd"}
    labelled = {label: sp.csr_array((np.ones(n, bool), (u, v)), shape=(n, n)) for label, (u, v) in ends.items()}
    r = reachable(labelled, pattern)
    took = best(lambda: reachable(labelled, pattern))
    print(f"{pattern}: {n:,} vertices, {int(r.counts().sum()):,} pairs in {took:.3f} s", end="")
    if compared:
        import networkx as nx

        from apsp.answers.reach.patterns import automaton

        machine = automaton(pattern)
        start = time.perf_counter()
        G = nx.DiGraph()
        G.add_nodes_from((0, u) for u in range(n))
        for p, q in ((p, q) for q, before in enumerate(machine.before, 1) for p in before.tolist()):
            G.add_edges_from(((p, u), (q, v)) for u, v in ends[machine.steps[q - 1].label or ""].T.tolist())
        pairs = sum(len({v for q, v in nx.descendants(G, (0, u)) if q in machine.accepting}) for u in range(n))
        assert pairs == r.counts().sum()
        print(f", {(time.perf_counter() - start) / took:.0f} × NetworkX's descendants in the product", end="")
    print()


def on_gpu(data: Path, quick: bool) -> None:
    import cupy as cp
    from cupyx.scipy.sparse import csr_matrix
    from device import bandwidth, milliseconds

    copied = bandwidth()
    print(f"a copy: {copied * 1e-9:.0f} GB/s")
    A = attached(100_000 if quick else 1_000_000, 8)
    M, n = csr_matrix(sp.csr_matrix(A)), A.shape[0]
    for columns in (64, 1):
        X = cp.random.random((n, columns), dtype=cp.float32)
        np.testing.assert_allclose(semiring.matmul(M, X, "plus_times").get(), A @ X.get(), rtol=1e-3)
        took, theirs = milliseconds(lambda X=X: semiring.matmul(M, X, "min_plus")), milliseconds(lambda X=X: M @ X)
        size = A.nnz * (8 + 4 * columns) + 8 * n + 4 * n * columns
        share = size / took * 1e3 / copied
        print(f"{A.nnz:,} entries, {columns} columns, min_plus: {took:.3f} ms, {share:.2f} of a copy, "
              f"{theirs / took:.2f} × cuSPARSE's (+, ×)")  # fmt: skip
    for name, A in matrices(data, quick).items():
        M, expected = csr_matrix(sp.csr_matrix(A)), A @ A
        theirs = milliseconds(lambda M=M: M @ M)
        print(f"{name}: cuSPARSE {theirs:.2f} ms")
        for s in ("plus_times", "min_plus", "lor_land"):
            B = M.astype(bool) if s == "lor_land" else M
            check(semiring.matmul(B, B, s).get(), expected, entries=s == "plus_times")
            took = milliseconds(lambda B=B, s=s: semiring.matmul(B, B, s))
            print(f"  {s:12} {took:9.2f} ms  {theirs / took:6.2f} × cuSPARSE's")


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    args = begin(parser)
    (on_gpu if args.device == "cuda" else on_cpu)(args.data, args.quick)
