"""Products and closures on the CPU, as fractions of what the registers of this machine can do.

    python benchmarks/cpu.py            # a few minutes
    python benchmarks/cpu.py --quick    # about half a minute

Every result is checked before it is timed: three rows of a product against NumPy, a closure against SciPy or by
its fixed point. G/s are 10⁹ pairs (one ⊕ with one ⊗) a second with one thread, packing included. `r` is that rate
over a register-only probe of the semiring's own instructions, before and after; `r kernel` over one of the
instructions that the kernel chose instead, where they differ. `×` is the gain from all threads.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1] / "tests"), str(Path(__file__).parents[1])]

import cases
import probe

from apsp.schedules import recursive
from semiring import get
from semiring.backend import bind
from semiring.cpu.processors import default_threads


def product_time(ops: Any, C: np.ndarray, A: np.ndarray, B: np.ndarray, seconds: float) -> float:
    """The shortest of at least three products. One thread's time leaves out when the machine did something else."""
    clock = time.thread_time if ops.threads == 1 else time.perf_counter
    times: list[float] = []
    while len(times) < 3 or sum(times) < seconds:
        start = clock()
        ops.gemm(C, A, B)
        times.append(clock() - start)
    return min(times)


def closure_time(ops: Any, A: np.ndarray, W: np.ndarray, seconds: float) -> float:
    """The shortest of at least three closures of A, in W."""
    clock = time.thread_time if ops.threads == 1 else time.perf_counter
    times: list[float] = []
    while len(times) < 3 or sum(times) < seconds:
        W[...] = A
        start = clock()
        recursive.closure(W, ops, block=ops.pivot)
        times.append(clock() - start)
    return min(times)


def probes(kind: Any) -> list[float]:
    """The registers' rate by the semiring's own instructions, and by the kernel's."""
    return [probe.rate(kind, image=image) for image in (False, True)]


def columns(kind: Any, rate: float, before: list[float], after: list[float]) -> str:
    """r before and after, and r kernel only where the kernel's instructions are others."""
    ratios = [f"{rate / b:.2f} {rate / a:.2f}" for b, a in zip(before, after, strict=True)]
    differs = (kind.add, kind.mul) != (kind.tile_add, kind.tile_mul)
    return f"{ratios[0]:>13}{ratios[1] if differs else '':>13}"


def products(table: list[tuple[cases.Case, bool]], sizes: list[int], seconds: float) -> None:
    threads = default_threads()
    print(f"{'product':24}{'n':>6}{'G/s':>9}{'r':>13}{'r kernel':>13}{f'×{threads}':>7}")
    for case, nonnegative in table:
        single, several = (bind(case.semiring, case.dtype, nonnegative=nonnegative, threads=t) for t in (1, threads))
        for n in sizes:
            A, B = (cases.random_matrix(case, (n, n), seed, density=0.9) for seed in (n, n + 1))
            C = np.full((n, n), case.zero)
            for ops in (single, several):
                C[...] = case.zero
                ops.gemm(C, A, B)
                cases.check_product(case, A, B, C)
            before = probes(single.kind)
            rate = n**3 / product_time(single, C, A, B, seconds)
            text = columns(single.kind, rate, before, probes(single.kind))
            gain = n**3 / product_time(several, C, A, B, seconds) / rate
            label = f"{case}{' ≥ 0' if nonnegative else ''}"
            print(f"{label:24}{n:6}{rate / 1e9:9.1f}{text}{gain:7.2f}", flush=True)


def closures(table: list[tuple[cases.Case, bool]], sizes: list[int], seconds: float) -> None:
    threads = default_threads()
    print(f"\n{'closure':24}{'n':>6}{'ms':>9}{'r':>13}{'r kernel':>13}{f'×{threads}':>7}")
    for case, nonnegative in table:
        single, several = (bind(case.semiring, case.dtype, nonnegative=nonnegative, threads=t) for t in (1, threads))
        for n in sizes:
            A = cases.random_matrix(case, (n, n), n, density=0.3)
            W = np.empty_like(A)
            for ops in (single, several):
                closure_time(ops, A, W, 0)
                check_closure(case, A, W)
            before = probes(single.kind)
            t = closure_time(single, A, W, seconds)
            text = columns(single.kind, n**3 / t, before, probes(single.kind))
            gain = t / closure_time(several, A, W, seconds)
            label = f"{case}{' ≥ 0' if nonnegative else ''}"
            print(f"{label:24}{n:6}{t * 1e3:9.2f}{text}{gain:7.2f}", flush=True)


def check_closure(case: cases.Case, A: np.ndarray, D: np.ndarray) -> None:
    """D = I ⊕ A ⊗ D and, where ⊕ is idempotent, D ⊗ D = D, on three rows each."""
    add, mul = case.semiring.add.ufunc, case.semiring.mul.ufunc
    wide = np.int64 if case.dtype.kind == "i" else np.float64
    for i in np.random.default_rng(1).integers(0, len(A), 3):
        for left in (A[i], D[i])[: 2 if case.semiring.idempotent else 1]:
            row = mul(left.astype(wide)[:, None], D.astype(wide))
            row[left == case.zero] = case.zero
            row[D == case.zero] = case.zero
            expected = add.reduce(row, axis=0)
            expected[i] = add(expected[i], wide(case.one))
            np.testing.assert_allclose(D[i], expected, rtol=1e-4 if case.semiring.tolerance else 0)


def against_scipy(n: int) -> None:
    """Float32 tropical closure, all threads and one, against SciPy's floyd_warshall; the same distances."""
    from scipy.sparse.csgraph import floyd_warshall

    case = cases.Case(get("min_plus"), np.dtype("float32"))
    A = cases.random_matrix(case, (n, n), n, density=0.3)
    start = time.perf_counter()
    expected = floyd_warshall(A)
    theirs = time.perf_counter() - start
    print(f"\nSciPy floyd_warshall, n = {n}: {theirs:.2f} s", end="")
    for threads in (1, default_threads()):
        for nonnegative in (False, True):
            ops = bind(case.semiring, case.dtype, nonnegative=nonnegative, threads=threads)
            times = []
            for _ in range(3):
                W = A.copy()
                start = time.perf_counter()
                recursive.closure(W, ops, block=ops.pivot)
                times.append(time.perf_counter() - start)
            np.testing.assert_array_equal(W, expected)
            label = f"{threads} thread{'s' if threads > 1 else ''}{', ≥ 0' if nonnegative else ''}"
            print(f"; {label}: {min(times) * 1e3:.1f} ms, {theirs / min(times):.0f}×", end="")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller cases")
    parser.add_argument("--sizes", type=int, nargs="*", help="instead of the usual")
    parser.add_argument("--only", help="semirings and dtypes whose name contains this, as in min_plus-float32")
    options = parser.parse_args()
    timed = [row for row in cases.TIMED if row[0].dtype.kind != "b"]  # packed bits have benchmarks/bits.py
    table = [row for row in timed if not options.only or options.only in str(row[0])]
    table = table[:5] if options.quick else table
    seconds = 0.2 if options.quick else 0.5
    products(table, options.sizes or ([256, 1024] if options.quick else [256, 512, 1024, 2048, 4096]), seconds)
    closures(table, options.sizes or ([256, 1024] if options.quick else [512, 2048]), seconds)
    if not options.only or options.only in "min_plus-float32":
        against_scipy(512 if options.quick else 2048)


if __name__ == "__main__":
    main()
