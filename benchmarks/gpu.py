"""The GPU backend against the ceiling of its own instructions: products and closures, checked, then timed.

    python benchmarks/gpu.py [--quick] [--only TEXT] [--output FILE.json]

Rates are 10¹² pairs a second (a pair is one ⊕ with one ⊗), medians by CUDA events. The ceiling is the same step in
registers alone, in the outer-product pattern of a product, measured by this program in this run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from apsp import schedules
from semiring import get
from semiring.backend import bind
from semiring.cuda import algebra, compile

#: semiring, dtype, whether weights are non-negative
PRODUCTS = (
    ("min_plus", "float32", True),
    ("max_plus", "float32", True),
    ("min_plus", "float32", False),
    ("min_plus", "int32", True),
    ("min_plus", "int16", True),
    ("min_plus", "float64", False),
    ("max_min", "float32", False),
    ("min_max", "float32", False),
    ("max_times", "float32", False),
    ("min_times", "float32", False),
    ("plus_times", "float32", False),
    ("min_plus", "int32", False),
    ("min_plus", "int64", False),
    ("log_plus", "float32", False),
    ("lor_land", "bool", False),
)
CLOSURES = (
    (512, "float32"),
    (1024, "float32"),
    (2048, "float32"),
    (4096, "float32"),
    (8192, "float32"),
    (8192, "int16"),
)

PROBE = """
__device__ void touch(int& x) { asm volatile("" : "+r"(x)); }
__device__ void touch(unsigned& x) { asm volatile("" : "+r"(x)); }
__device__ void touch(float& x) { asm volatile("" : "+f"(x)); }
__device__ void touch(double& x) { asm volatile("" : "+d"(x)); }
__device__ void touch(long long& x) { asm volatile("" : "+l"(x)); }
constexpr int side = sizeof(Step::Word) > 4 ? 4 : 8;
extern "C" __global__ void __launch_bounds__(256, 2) probe(Step::Word* out, int times, int one) {
    Step::Word c[side][side], a[2][side], b[2][side];
    for (int i = 0; i < side; ++i) {
        a[0][i] = out[i], a[1][i] = out[8 + i], b[0][i] = out[16 + i], b[1][i] = out[24 + i];
        for (int j = 0; j < side; ++j) c[i][j] = Step::nothing();
    }
#pragma unroll repeat
    for (int t = 0; t < times; ++t) {
#pragma unroll
        for (int i = 0; i < side; ++i) touch(a[0][i]), touch(a[1][i]), touch(b[0][i]), touch(b[1][i]);
#pragma unroll
        for (int p = 0; p < side; p += walk)
#pragma unroll
            for (int j = 0; j < side; ++j)
#pragma unroll
                for (int r = 0; r < walk; ++r) {
                    const int i = p + (j % 2 ? walk - 1 - r : r);
                    if (Step::two_pipes && (i + j) % 2)
                        Step::other_step(c[i][j], a[0][i], b[0][j], a[1][i], b[1][j], one);
                    else Step::step(c[i][j], a[0][i], b[0][j], a[1][i], b[1][j]);
                }
    }
    Step::Word total = Step::nothing();
    for (int i = 0; i < side; ++i)
        for (int j = 0; j < side; ++j) Step::step(total, c[i][j], a[0][0], c[j][i], a[0][0]);
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}
extern "C" __global__ void lanes(int* out) { *out = Step::lanes; }
"""


def milliseconds(work: Callable[[], object], before: Callable[[], object] = lambda: None, repeats: int = 7) -> float:
    """The median device time of `work`, `before` having been done each time outside of it."""
    times = []
    for _ in range(repeats + 1):
        before()
        start, stop = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        work()
        stop.record()
        stop.synchronize()
        times.append(cp.cuda.get_elapsed_time(start, stop))
    return statistics.median(times[1:])


def ceiling(text: str, word: str) -> float:
    """Pairs a second of the step alone, in registers: the best of a few orders, since the compiler's luck varies."""
    blocks, times, side = 132 * 4, 2000, 4 if word in ("float64", "int64") else 8
    rates = []
    for walk, repeat in ((2, 1), (2, 4), (4, 1), (4, 4), (side, 1), (side, 4)):
        order = f"constexpr int walk = {walk}, repeat = {repeat};\n"
        module = compile.functions(compile.source("algebra.cuh") + text + order + PROBE, name="probe.cu")
        probe, count = module.get_function("probe"), cp.zeros(1, np.int32)
        module.get_function("lanes")((1,), (1,), (count.data.ptr,))
        out = cp.zeros(blocks * 256, np.int64)
        arguments = (out.data.ptr, np.int32(times), np.int32(1))
        t = milliseconds(lambda f=probe, a=arguments: f((blocks,), (256,), a), repeats=3)
        rates.append(blocks * 256 * side * side * 2 * int(count[0]) * times / t * 1e3)
    return max(rates)


def matrix(s: Any, dtype: str, shape: tuple[int, ...], nonnegative: bool, seed: int) -> Any:
    """Random entries on the device, integers where they can be, so that sums are exact."""
    rng = cp.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.01
    if s.name in ("plus_times", "max_times", "min_times", "log_plus"):
        return (rng.random(shape, dtype=np.float32) + 0.001).astype(dtype)
    low = 0 if nonnegative or s.name == "max_min" else -500
    return rng.integers(low, 1000, shape).astype(dtype)


UFUNCS = {
    "min": np.minimum, "max": np.maximum, "plus": np.add, "times": np.multiply, "lor": np.logical_or,
    "land": np.logical_and, "logaddexp": np.logaddexp,
}  # fmt: skip


def check_product(s: Any, C: Any, A: Any, B: Any) -> None:
    """A few rows of C against NumPy."""
    rows = np.unique(np.random.default_rng(0).integers(0, len(C), 3))
    b = B.get()
    for i in rows:
        a = A[int(i)].get()
        expected = UFUNCS[s.add.name].reduce(UFUNCS[s.mul.name](a[:, None], b), axis=0)
        got = C[int(i)].get()
        if s.tolerance:
            np.testing.assert_allclose(got, expected, rtol=1e-3)
        else:
            np.testing.assert_array_equal(got, expected)


def check_closure(D: Any, A: Any) -> None:
    """Two rows of D against Bellman–Ford in NumPy; weights are integers, so sums are exact."""
    wide = A.get().astype(np.float64)
    for i in (0, len(wide) - 1):
        d = wide[i].copy()
        d[i] = 0
        while True:
            better = np.minimum(d, (d[:, None] + wide).min(axis=0))
            if (better == d).all():
                break
            d = better
        np.testing.assert_array_equal(D[i].get(), d)


def products(quick: bool, only: str) -> list[dict[str, Any]]:
    rows = []
    for name, dtype, nonnegative in PRODUCTS:
        label = f"{name} {dtype}{' ≥ 0' if nonnegative else ''}"
        if only not in label:
            continue
        s = get(name)
        ops = bind(s, dtype, device="cuda", nonnegative=nonnegative)
        variant = algebra.variant_of(s, np.dtype(dtype), nonnegative=nonnegative)
        peak = ceiling(algebra.text(s, np.dtype(dtype), variant), dtype)
        slow = peak < 3e12
        sizes = (
            ((2048, 2048, 2048),)
            if slow
            else ((8192, 8192, 8192), (8191, 8191, 8191), (8192, 64, 8192), (8192, 512, 8192))
        )
        for m, k, n in sizes[: 2 if quick else None]:
            A, B = matrix(s, dtype, (m, k), nonnegative, 1), matrix(s, dtype, (k, n), nonnegative, 2)
            C = cp.full((m, n), s.zero if A.dtype.kind == "f" else 0, A.dtype)
            if A.dtype.kind == "i":
                C[...] = np.iinfo(A.dtype).max if s.zero > 0 else np.iinfo(A.dtype).min
            ops.gemm(C, A, B)
            check_product(s, C, A, B)
            t = milliseconds(lambda ops=ops, C=C, A=A, B=B: ops.gemm(C, A, B))
            rate = m * k * n / t * 1e3
            rows.append(
                {"product": label, "m": m, "k": k, "n": n, "ms": t, "rate": rate / 1e12, "ceiling": peak / 1e12}
            )
            print(
                f"{label:24} {m:6} × {k:5} × {n:5} {t:9.3f} ms {rate / 1e12:7.2f} T/s  "
                f"{rate / peak:5.1%} of {peak / 1e12:.2f}",
                flush=True,
            )
    return rows


def closures(quick: bool, only: str) -> list[dict[str, Any]]:
    rows = []
    for n, dtype in CLOSURES:
        label = f"closure {dtype}"
        if only not in label:
            continue
        s = get("min_plus")
        ops = bind(s, dtype, device="cuda", nonnegative=True)
        A = matrix(s, dtype, (n, n), True, 3)
        D = cp.empty_like(A)
        run = schedules.get("recursive")

        def work(D: Any = D, ops: Any = ops, run: Any = run) -> None:
            run(D, ops, block=ops.pivot)

        def fresh(D: Any = D, A: Any = A) -> None:
            D[...] = A

        fresh()
        work()
        check_closure(D, A)
        t = milliseconds(work, fresh, repeats=5)
        rows.append({"closure": dtype, "n": n, "ms": t, "rate": n**3 / t / 1e9})
        print(f"{label:24} {n:6} {t:9.3f} ms {n**3 / t / 1e9:7.2f} T/s", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the first two shapes of each product only")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--output", type=Path, help="write the rows as JSON")
    options = parser.parse_args()
    card = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"{card}, CUDA driver {cp.cuda.runtime.driverGetVersion()}, NVRTC {compile.version()}")
    rows = products(options.quick, options.only) + closures(options.quick, options.only)
    if options.output:
        options.output.write_text(json.dumps({"card": card, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
