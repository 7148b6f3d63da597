"""Does compute-sanitizer find anything wrong in any CUDA kernel at awkward sizes?

    python benchmarks/sanitize.py                                     # all parts under all four tools, side by side
    python benchmarks/sanitize.py --tools racecheck --parts routes    # some
    python benchmarks/sanitize.py --kernels                           # the kernels alone

One summary line for each part under each tool.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

from common import arguments, begin

TOOLS = ("racecheck", "memcheck", "initcheck", "synccheck")
PARTS = ("numbers", "bits", "routes", "sparse", "csr")
#: semiring, dtype, non-negative: every kind of step and every word size
STEPS = (
    ("min_plus", "float32", True),
    ("min_plus", "float32", False),
    ("min_plus", "int32", True),
    ("min_plus", "int32", False),
    ("min_plus", "int16", True),
    ("min_plus", "int64", False),
    ("min_plus", "float64", False),
    ("max_plus", "float32", True),
    ("max_plus", "int16", True),
    ("max_plus", "int32", True),
    ("max_min", "float32", False),
    ("plus_times", "float32", False),
    ("log_plus", "float32", False),
    ("lor_land", "bool", False),
)
#: m, k, n of products: nothing is a multiple of anything
SHAPES = ((1, 1, 1), (67, 33, 71), (131, 5, 259))
CLOSURES = (1, 63, 65, 131, 201)


def bound() -> Iterator[Any]:
    import numpy as np

    from semiring import get
    from semiring.kernels.cuda.dense.backend import CudaBackend

    for name, dtype, nonnegative in STEPS:
        yield CudaBackend(get(name), np.dtype(dtype), nonnegative)
        if name == "min_plus" and dtype == "float32":
            yield CudaBackend(get(name), np.dtype(dtype), nonnegative, per_thread=4, tile="plain")


def entries(ops: Any, shape: tuple[int, int], seed: int = 0) -> Any:
    import cupy as cp

    from semiring import random_matrix

    density = 0.1 if ops.dtype.kind == "b" else 1.0
    return cp.asarray(random_matrix(ops.semiring, shape, ops.dtype, seed=seed, density=density))


def compile_ahead() -> None:
    """Compile what `numbers` needs side by side, outside of the sanitizer, into the cache on disk."""
    from compiling import compile_all

    from semiring.kernels.cuda import compile
    from semiring.kernels.cuda.dense import sources

    arch = compile.device_arch(0)
    units = {
        text for ops in bound()
        for _, text in sources.translation_units(ops.semiring, ops.dtype, arch, nonnegative=ops.nonnegative)
    }  # fmt: skip
    compile_all(units, arch)


def numbers() -> None:
    """Every tile of every product, aligned and not; panels, pivots, steps and whole closures."""
    import cupy as cp

    from apsp.road import schedules
    from semiring.kernels.cuda.dense import panels

    for ops in bound():
        for m, k, n in SHAPES:
            for pad in (0, 3):
                A, B = entries(ops, (m, k + pad))[:, :k], entries(ops, (k, n + pad))[:, :n]
                for tile in ops.tile_table:
                    C = entries(ops, (m, n))
                    ops.multiply(tile, ops._operand(C), ops._operand(A), ops._operand(B), accumulate=True)
        A, B, C = entries(ops, (40, 600)), entries(ops, (600, 80)), entries(ops, (40, 80))
        ops.gemm(C, A, B)  # split along k
        for size in CLOSURES:
            for name in ("recursive", "iterative") if size < 100 else ("recursive",):
                D = entries(ops, (size, size))
                schedules.get(name)(D, ops, block=ops.pivot)
        for geometry in ops.kernels.geometries:
            ops.kernels.__dict__["geometry"] = lambda n, geometry=geometry: geometry
            for size in (70, 331):
                ops.closure(entries(ops, (size, size)))
        del ops.kernels.__dict__["geometry"]
        D, R, C = entries(ops, (70, 70)), entries(ops, (70, 131)), entries(ops, (131, 70))
        whole, panels.sizes = panels.sizes, lambda *panel: (64, 2)
        ops.left_mul(D, R)
        ops.right_mul(C, D)
        ops.eliminate(D, R, C, entries(ops, (131, 131)))
        panels.sizes = whole
        if hasattr(ops, "closure_batch"):
            for size in (1, 33, 64, 65, 128, 150):
                batch = cp.stack([entries(ops, (size, size), seed) for seed in range(ops.limits.together)])
                ops.closure_batch(batch, schedules.get("blocked"))
        cp.cuda.Device().synchronize()


def csr() -> None:
    """Products of sparse matrices by tables, strips and in the device's memory, with masks; with dense operands."""
    import numpy as np
    import scipy.sparse as sp

    import semiring
    from semiring.kernels.cuda.csr import backend

    def drawn(m: int, n: int, dtype: str, seed: int) -> Any:
        rng = np.random.default_rng(seed)
        rows = np.where(rng.random(m * n // 9) < 0.2, m // 2, rng.integers(0, m, m * n // 9))
        ends = rows, rng.integers(0, n, len(rows))
        return sp.coo_array((rng.integers(1, 9, len(rows)).astype(dtype), ends), shape=(m, n))

    cuts = (
        {"TABLE": 12, "BESIDE_ONE": 12, "CLEARED": 0, "ALIKE": 0},
        {"TABLE": 5, "BESIDE_ONE": 5, "CLEARED": 0, "ALIKE": 0, "STRIP": (1000,)},
        {"TABLE": 5, "BESIDE_ONE": 5, "CLEARED": 0, "ALIKE": 0, "STRIP": (64,), "STRIPS": 1},
        {"CLEARED": 1 << 20, "ALIKE": 0},
    )
    for name, dtype in (("min_plus", "int16"), ("plus_times", "float64"), ("min_plus", "float32")):
        A, B, M = (drawn(m, n, dtype, seed) for seed, (m, n) in enumerate(((23, 40), (40, 333), (23, 333))))
        for cut in cuts:
            for key, value in cut.items():
                setattr(backend, key, value)
            for options in ({}, {"mask": M}, {"mask": M, "complement": True}):
                semiring.matmul(A, B, name, device="cuda", **options)
        for columns in (1, 3, 64, 131):
            X = np.ones((40, columns), dtype)
            semiring.matmul(A, X, name, device="cuda")


def sparse() -> None:
    """Eliminations with stacks of all sizes: sweeps both ways, single entries, hub labels; hops, weighted searches."""
    import numpy as np

    from semiring import Elimination
    from semiring.kernels.cuda.sparse import fronts, sweep
    from semiring.sparse import Hops, Searches, paths

    tuned = sweep.Shape.of

    def small(stack: int, itemsize: int, arch: str) -> sweep.Shape:
        return replace(tuned(itemsize, arch), warps=2, stack=stack, program=4 << 10)

    rng = np.random.default_rng(0)
    fronts.CLASSES = ((8, 32), (12, 64))  # so that some fronts are large
    for n, arcs in ((1, 0), (67, 150), (331, 900)):
        tails, heads = rng.integers(0, n, (2, arcs))
        weights = rng.integers(1, 100, arcs)
        for name, dtype in (
            ("min_plus", "float32"),
            ("min_plus", "int16"),
            ("max_min", "int32"),
            ("max_plus", "float64"),
        ):
            signs = -1 if name == "max_plus" else 1
            for stack in (4, 24):
                sweep.Shape.of = partial(small, stack)
                E = Elimination.from_arrays(tails, heads, signs * weights, n, name, dtype=dtype, device="cuda")
                E.to_dense()
                E.column(n - 1)
                E.entries(np.arange(n), np.arange(n)[::-1])
                E.update(2 * signs * weights).row(0)
                E.hub_labels().entries(np.arange(n)[:, None], np.arange(n))
                if E.semiring.lengths:
                    paths.nearest(E, np.arange(0, n, 9))
            Searches((tails, heads), name, n=n, weights=signs * weights, dtype=dtype, device="cuda").to_dense(
                limit=signs * 150
            )
        Hops((tails, heads), n, device="cuda").to_dense()


def routes() -> None:
    """Predecessors, next hops and walks: many levels found for all pairs at once, and source by source."""
    import cupy as cp
    import numpy as np

    from apsp import closure, next_hops, predecessors
    from semiring import get
    from semiring.algebra import dtypes
    from semiring.dense.routes import hops, lengths
    from semiring.kernels.cuda.routes import predecessors as search

    rng = np.random.default_rng(0)
    for name, dtype in (("min_plus", "float32"), ("min_plus", "int16"), ("max_min", "float64"), ("boolean", "bool")):
        s = get(name)
        for n in (1, 33, 131):
            A = np.full((n, n), dtypes.zero(s, dtype))
            at = np.arange(n - 1)
            A[at, at + 1] = 0 if name == "min_plus" else 1
            A[n // 2 :] = np.where(rng.random((n - n // 2, n)) < 0.2, rng.integers(0, 3, (n - n // 2, n)), A[n // 2 :])
            weights = cp.asarray(A.astype(dtype))
            D = closure(weights, s)
            for search.SMALL, search.FEW, search.LARGE, search.WORTH in (
                (64, 16, 512, 8),
                (0, 0, 512, 0),
                (0, 1 << 30, 0, 8),
            ):
                P = predecessors(weights, D, s)
                next_hops(cp.stack([weights, weights]), cp.stack([D, D]), s)
                hops(P)
                lengths(s, P, None, D.dtype, A=weights)


def bits() -> None:
    """The kernels on packed bits: products by each of three, closures, and all that BitMatrix asks for."""
    import cupy as cp
    import numpy as np

    from apsp.road import schedules
    from semiring import BitMatrix
    from semiring.kernels.cuda.bits.backend import CudaBitBackend

    rng = np.random.default_rng(0)
    for kernel in ("wgmma", "mma", "logic"):
        ops: Any = CudaBitBackend(kernel)
        for m, k, n in ((1, 1, 1), (67, 33, 71), (131, 5, 259), (300, 1030, 513)):
            A, B, C = (ops.upload(cp.asarray(rng.random(shape) < 0.05)) for shape in ((m, k), (k, n), (m, n)))
            ops.gemm(C, A, B)
            ops.download(C)
        for size in (1, 65, 131, 1030):
            D = ops.upload(cp.asarray(rng.random((size, size)) < 0.05))
            schedules.get("recursive")(D, ops, block=ops.pivot)
            schedules.get("blocked")(D, ops, block=256)
            ops.step(D, 0)
            ops.download(D)
    for m, n in ((1, 1), (67, 131), (513, 1030)):
        dense = rng.random((m, n)) < 0.05
        bit = BitMatrix.from_bool(cp.asarray(dense))
        (bit.T @ bit).counts(axis=0)
        bit.counts(axis=1)
        rows, columns = bit.to_edges()
        assert BitMatrix.from_edges(rows, columns, (m, n)) == bit


def main() -> None:
    parser = arguments(__doc__, quick=False)
    parser.add_argument("--tools", nargs="*", default=TOOLS, choices=TOOLS)
    parser.add_argument("--parts", nargs="*", default=PARTS, choices=PARTS)
    parser.add_argument("--kernels", action="store_true", help="without a tool")
    if parser.parse_args().kernels:
        kernels(parser.parse_args().parts)
        return
    args = begin(parser, gpu=True)
    if "numbers" in args.parts:
        compile_ahead()
    # Side by side: each has its own process, and none measures time.
    work = [(tool, part) for tool in args.tools for part in args.parts]
    with ThreadPoolExecutor(len(work)) as pool:
        sys.exit(max(pool.map(under, *zip(*work, strict=True))))


def kernels(parts: Iterable[str]) -> None:
    """What a tool looks at."""
    import cupy as cp

    cp.cuda.set_allocator(None)  # no pool: every matrix has its own bounds
    for part in parts:
        globals()[part]()
        cp.cuda.Device().synchronize()


def under(tool: str, part: str) -> int:
    """A part's kernels under one tool; prints its summary, and what it found."""
    command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "1", sys.executable, __file__, "--kernels"]
    begun = time.perf_counter()
    try:
        done = subprocess.run(
            [*command, "--parts", part], capture_output=True, text=True, timeout=float(os.environ.get("LIMIT", 600))
        )
    except subprocess.TimeoutExpired as late:
        print(f"{tool} {part}: not finished within {late.timeout:g} s", flush=True)
        return 1
    lines = (done.stdout + done.stderr).splitlines()
    reports = [line for line in lines if line.startswith("=========")]
    shown = (lines if done.returncode else [])[:30]
    taken = f"{time.perf_counter() - begun:.0f} s"
    print("\n".join([f"{tool} {part}: exit {done.returncode}, {taken}; {' '.join(reports[-1:])}", *shown]), flush=True)
    return done.returncode


if __name__ == "__main__":
    main()
