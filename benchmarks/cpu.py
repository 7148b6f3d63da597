"""How near do products and closures on the CPU come to what its registers can do?

    python benchmarks/cpu.py            # a few minutes
    python benchmarks/cpu.py --quick    # two products, a few seconds

Every result is checked before it is timed: three rows of a product against NumPy, a closure by its fixed point. G/s are
10⁹ pairs (one ⊕ with one ⊗) a second with one thread, packing included. `r` is that rate over a register-only probe of
the semiring's own instructions, before and after; `r kernel` over one of the instructions that the kernel chose
instead, where they differ. `×` is the gain from all threads.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from common import arguments, begin, best

# isort: split
import cases
import probe

from apsp.schedules import recursive
from semiring.backend import bind
from semiring.cpu.processors import default_threads


def clock(ops: Any) -> Any:
    """One thread's own time leaves out when the machine did something else."""
    return time.thread_time if ops.threads == 1 else time.perf_counter


def product_time(ops: Any, C: np.ndarray, A: np.ndarray, B: np.ndarray, seconds: float) -> float:
    """The shortest of at least three products."""
    return best(lambda: ops.gemm(C, A, B), clock=clock(ops), seconds=seconds)


def closure_time(ops: Any, A: np.ndarray, W: np.ndarray, seconds: float) -> float:
    """The shortest of at least three closures of A, in W."""
    copy = partial(np.copyto, W, A)
    return best(lambda: recursive.closure(W, ops, block=ops.pivot), clock=clock(ops), before=copy, seconds=seconds)


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


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", help="instead of the usual")
    parser.add_argument("--only", help="semirings and dtypes whose name contains this, as in min_plus-float32")
    options = begin(parser)
    timed = [row for row in cases.TIMED if row[0].dtype.kind != "b"]  # packed bits have benchmarks/bits.py
    table = [row for row in timed if not options.only or options.only in str(row[0])]
    table = table[:2] if options.quick else table
    seconds = 0.02 if options.quick else 0.5
    products(table, options.sizes or ([256] if options.quick else [256, 512, 1024, 2048, 4096]), seconds)
    closures(table, options.sizes or ([256] if options.quick else [512, 2048]), seconds)


if __name__ == "__main__":
    main()
