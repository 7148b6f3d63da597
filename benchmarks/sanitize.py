"""Every kernel at awkward sizes, for compute-sanitizer; without arguments, under each of its four tools.

python benchmarks/sanitize.py            # memcheck, racecheck, initcheck, synccheck, one summary line each
python benchmarks/sanitize.py --kernels  # the kernels alone
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
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
    from semiring.cuda.backend import CudaBackend

    for name, dtype, nonnegative in STEPS:
        yield CudaBackend(get(name), np.dtype(dtype), nonnegative)
        if name == "min_plus" and dtype == "float32":
            yield CudaBackend(get(name), np.dtype(dtype), nonnegative, per_thread=4, tile="plain")


def entries(ops: Any, shape: tuple[int, int], seed: int = 0) -> Any:
    import cupy as cp

    from semiring import random_matrix

    density = 0.1 if ops.dtype.kind == "b" else 1.0
    return cp.asarray(random_matrix(ops.semiring, shape, ops.dtype, seed=seed, density=density))


def compile_all() -> None:
    """Compile side by side, outside of the sanitizer, into the cache on disk."""
    from semiring.cuda import compile, sources

    arch = compile.device_arch(0)
    units = {
        text for ops in bound()
        for _, text in sources.translation_units(ops.semiring, ops.dtype, arch, nonnegative=ops.nonnegative)
    }  # fmt: skip
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda text: compile.compile(text, arch), units))


def kernels() -> None:
    """Every tile of every product, aligned and not; panels, pivots, steps and whole closures."""
    import cupy as cp
    import numpy as np

    from apsp import schedules
    from semiring.cuda import backend, panels

    cp.cuda.set_allocator(None)  # no pool: every matrix has its own bounds
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
        choose = backend.CudaBackend._geometry
        for geometry in ops.geometries:
            backend.CudaBackend._geometry = lambda self, n, geometry=geometry: geometry
            for size in (70, 331):
                ops.closure(entries(ops, (size, size)))
        backend.CudaBackend._geometry = choose
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
    bits(np, cp)
    routes(np, cp)


def routes(np: Any, cp: Any) -> None:
    """Predecessors, next hops and walks: many levels found for all pairs at once, and source by source."""
    from apsp import closure, next_hops, predecessors
    from semiring import dtypes, get
    from semiring.cuda import routes as search
    from semiring.routes import hops, lengths

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
    cp.cuda.Device().synchronize()


def bits(np: Any, cp: Any) -> None:
    """The kernels on packed bits: products by each of three, closures, and all that BitMatrix asks for."""
    from apsp import schedules
    from semiring import BitMatrix
    from semiring.cuda.bits import CudaBitBackend

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
    cp.cuda.Device().synchronize()


def main() -> None:
    if "--kernels" in sys.argv:
        kernels()
        return
    compile_all()
    # Side by side: each has its own process, and none measures time.
    with ThreadPoolExecutor(len(TOOLS)) as pool:
        sys.exit(max(pool.map(under, TOOLS)))


def under(tool: str) -> int:
    """The kernels under one tool; prints its summary, and what it found."""
    command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "1", sys.executable, __file__, "--kernels"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=float(os.environ.get("LIMIT", 600)))
    except subprocess.TimeoutExpired as late:
        print(f"{tool}: not finished within {late.timeout:g} s", flush=True)
        return 1
    lines = (done.stdout + done.stderr).splitlines()
    reports = [line for line in lines if line.startswith("=========")]
    shown = (lines if done.returncode else [])[:30]
    print("\n".join([f"{tool}: exit {done.returncode}; {' '.join(reports[-1:])}", *shown]), flush=True)
    return done.returncode


if __name__ == "__main__":
    main()
