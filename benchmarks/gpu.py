"""How near do products on a GPU come to the ceiling of its instructions, and odd shapes to their roofline?

    python benchmarks/gpu.py [--parts products,shapes,verbs,calls] [--only TEXT] [--output FILE.json]

Rates are 10¹² pairs a second (a pair is one ⊕ with one ⊗), medians by CUDA events. The ceiling is the same step in
registers alone, in the outer-product pattern of a product, measured by this program in this run. The roofline of a
shape is the larger of its arithmetic at the rate of n = 8192 and of its bytes (A and B read, C read and written) at the
bandwidth of a copy, both from this run.
"""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, begin, facts

# isort: split
import cases
from compiling import compile_all
from device import bandwidth, cp, milliseconds

from semiring import Op, Semiring, dtypes, get, matmul
from semiring.backend import bind
from semiring.catalog import MIN
from semiring.cuda import algebra, compile
from semiring.cuda.dense import backend, sources

#: One that no catalog has: the shortest of routes whose legs are at right angles, min of √(a² + b²).
EUCLIDEAN = Semiring(
    "euclidean",
    add=MIN,
    mul=Op("hypot", python=lambda a, b: math.sqrt(a * a + b * b), cuda="sqrtf(a * a + b * b)", ufunc=np.hypot),
    zero=math.inf,
    one=0.0,
    dtypes=("float32",),
    domain=(0.0, math.inf),
    samples=(0.0, 3.0, 4.0, math.inf),
    tolerance=1e-5,
)

#: Semiring, dtype, whether weights are non-negative, of each step that there is on a GPU.
PRODUCTS = (
    *(row for row in cases.TIMED if not row[1] or algebra.variant_of(row[0].semiring, row[0].dtype, nonnegative=True)),
    (cases.Case(EUCLIDEAN, np.dtype("float32")), True),
)
#: m, k, n of thin, tall, wide and small products, for these rows
SHAPED = ("min_plus float32 ≥ 0", "min_plus float32", "min_plus int16 ≥ 0")
SHAPES = (
    *((8192, k, 8192) for k in (64, 128, 256, 512)),
    (65536, 1024, 256),
    (256, 1024, 65536),
    (65536, 256, 1024),
    (1024, 256, 65536),
    (2048, 2048, 2048),
    (4096, 4096, 4096),
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
#pragma unroll 1  // unrolled, the compiler finds sums that it has already
    for (int t = 0; t < times; ++t) {
#pragma unroll
        for (int i = 0; i < side; ++i) touch(a[0][i]), touch(a[1][i]), touch(b[0][i]), touch(b[1][i]);
        outer_products<Step, walk, run>(c, a, b, one);
    }
    Step::Word total = Step::nothing();
    for (int i = 0; i < side; ++i)
        for (int j = 0; j < side; ++j) Step::step(total, c[i][j], a[0][0], c[j][i], a[0][0]);
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}
extern "C" __global__ void lanes(int* out) { *out = Step::lanes; }
"""


def probes(text: str, word: str) -> tuple[str, ...]:
    """Loops of the step alone, in a few orders: the compiler's luck with banks of registers varies."""
    side, header = 4 if word in ("float64", "int64") else 8, compile.source("algebra.cuh")
    orders = {(min(w, side), min(r, side)) for w, r in ((1, 8), (2, 8), (4, 8), (8, 8), (2, 2), (2, 4), (4, 2))}
    return tuple(f"{header}{text}constexpr int walk = {w}, run = {r};\n{PROBE}" for w, r in sorted(orders))


def ceiling(text: str, word: str) -> float:
    """Pairs a second of the step alone, in registers: the best of a few orders."""
    blocks, times, side = 132 * 4, 2000, 4 if word in ("float64", "int64") else 8
    rates = []
    for source in probes(text, word):
        module = compile.functions(source, name="probe.cu")
        probe, count = module.get_function("probe"), cp.zeros(1, np.int32)
        module.get_function("lanes")((1,), (1,), (count.data.ptr,))
        out = cp.full(blocks * 256, 3, word).view(np.int8)  # nothing special: no zero, no infinity
        out = cp.concatenate([out, cp.zeros(blocks * 2048 - out.size, np.int8)])
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


class Row:
    """A line of the table: a semiring on a dtype, its backend and the ceiling of its step."""

    def __init__(self, case: cases.Case, nonnegative: bool) -> None:
        self.case, self.semiring, self.dtype, self.nonnegative = case, case.semiring, case.dtype.name, nonnegative
        self.label = f"{self.semiring.name} {self.dtype}{' ≥ 0' if nonnegative else ''}"
        variant = algebra.variant_of(self.semiring, case.dtype, nonnegative=nonnegative)
        self.text = algebra.text(self.semiring, case.dtype, variant)
        self.ops = backend.CudaBackend(self.semiring, case.dtype, nonnegative)

    def sources(self) -> tuple[str, ...]:
        """What must be compiled: the largest tile, for aligned rows and others, and the loops in registers."""
        tile = self.ops.tile_table[0]
        return (
            *(sources.gemm_source(self.text, tile, aligned=aligned) for aligned in (True, False)),
            *probes(self.text, self.dtype),
        )

    def measure(self, m: int, k: int, n: int) -> float:
        """Milliseconds of C ← C ⊕ A ⊗ B, after a check."""
        s, dtype = self.semiring, self.dtype
        A, B = matrix(s, dtype, (m, k), self.nonnegative, 1), matrix(s, dtype, (k, n), self.nonnegative, 2)
        C = cp.full((m, n), dtypes.zero(s, np.dtype(dtype)), A.dtype)
        self.ops.gemm(C, A, B)
        cases.check_product(self.case, A, B, C)
        return milliseconds(lambda: self.ops.gemm(C, A, B), repeats=5)


def products(table: list[Row], parts: list[str], largest: int) -> list[dict[str, Any]]:
    """Large products against the ceiling, the others against their roofline."""
    copied, rows = bandwidth(), []
    print(f"copy: {copied / 1e12:.2f} TB/s")
    for row in table:
        peak = ceiling(row.text, row.dtype)
        large = peak > 3e12 or (
            row.ops.sums is not None and row.dtype == "float32"
        )  # by other instructions than the ceiling
        n = min(largest, 8192 if large else 4096 if peak > 5e11 or row.ops.sums else 2048)
        best = 0.0
        for side in (n, n - 1):
            t = row.measure(side, side, side)
            rate = side**3 / t * 1e3
            best = best or rate
            rows.append(
                {"product": row.label, "m": side, "k": side, "n": side, "ms": t, "rate": rate / 1e12}
                | {"ceiling": peak / 1e12, "fraction": rate / peak}
            )
            print(
                f"{row.label:24} {side:6} {t:9.3f} ms {rate / 1e12:7.2f} T/s  {rate / peak:6.1%} of {peak / 1e12:5.2f}"
                + (f"  {rate / best:6.1%} of n = {n}" if side < n else ""),
                flush=True,
            )
        for m, k, n in SHAPES if "shapes" in parts and row.label in SHAPED else ():
            t = row.measure(m, k, n)
            arithmetic, moved = m * k * n / best * 1e3, (m * k + k * n + 2 * m * n) * np.dtype(row.dtype).itemsize
            roof = max(arithmetic, moved / copied * 1e3)
            rows.append(
                {"product": row.label, "m": m, "k": k, "n": n, "ms": t, "rate": m * k * n / t / 1e9}
                | {"roofline_ms": roof, "fraction": roof / t}
            )
            print(
                f"{row.label:24} {m:6} × {k:5} × {n:5} {t:9.3f} ms {m * k * n / t / 1e9:7.2f} T/s  "
                f"{roof / t:6.1%} of its roofline ({'bytes' if roof > arithmetic else 'arithmetic'})",
                flush=True,
            )
    return rows


def verbs(only: str) -> list[dict[str, Any]]:
    """The products of a closure's recursion, the last two in place."""
    rows = []
    for dtype in ("float32", "int16"):
        if only not in f"min_plus {dtype} ≥ 0":
            continue
        s = get("min_plus")
        ops = bind(s, dtype, device="cuda", nonnegative=True)
        for n in (1024, 2048, 4096, 8192):
            D, P, Q = (matrix(s, dtype, (n, n), True, seed) for seed in (1, 2, 3))
            rates = {
                "gemm": milliseconds(lambda ops=ops, D=D, P=P, Q=Q: ops.gemm(P, D, Q), repeats=3),
                "left_mul": milliseconds(lambda ops=ops, D=D, P=P: ops.left_mul(D, P), repeats=3),
                "right_mul": milliseconds(lambda ops=ops, D=D, P=P: ops.right_mul(P, D), repeats=3),
            }
            rates = {verb: n**3 / t / 1e9 for verb, t in rates.items()}
            rows.append({"verbs": f"min_plus {dtype} ≥ 0", "n": n, **rates})
            print(f"{dtype:8} {n:6}  " + "  ".join(f"{verb} {rate:6.2f} T/s" for verb, rate in rates.items()))
    return rows


#: Semiring, dtype, least and greatest entry: products with witnesses, and of integers that may be negative.
CALLS = (
    ("min_plus", "float32", 0, 1000),
    ("min_plus", "float32", -500, 500),
    ("min_plus", "int32", 0, 1 << 29),
    ("min_plus", "int32", -(1 << 28), 1 << 28),
    ("min_plus", "int32", -500, 500),
    ("max_plus", "int16", -8000, 8000),
    ("min_plus", "int64", -(1 << 60), 1 << 60),
    ("min_plus", "int32", -(1 << 31) + 1, (1 << 31) - 2),
)


def calls(only: str, largest: int) -> list[dict[str, Any]]:
    """`matmul` with and without witnesses as users call it: the looks at entries and the conversions count."""
    rows = []
    for name, dtype, low, high in CALLS:
        label = f"{name} {dtype} [{low}, {high})"
        if only not in label:
            continue
        n, s = largest if high < 1 << 30 else largest // 2, get(name)
        rng = cp.random.default_rng(1)
        A, B = (rng.integers(low, high, (n, n)).astype(dtype) for _ in range(2))
        C, K = matmul(A, B, s, witness=True)
        cases.check_product(cases.Case(s, np.dtype(dtype)), A, B, C)
        best = cp.argmin if s.add.selects == "least" else cp.argmax
        for i in (0, n - 1):  # where no sum leaves the dtype, the first of the best is the witness
            if high - low < 1 << 31:
                assert bool((best(A[i][:, None] + B, 0) == K[i]).all()), label
        times = {
            "witness": milliseconds(lambda A=A, B=B, s=s: matmul(A, B, s, witness=True), repeats=3, launching=True),
            "plain": milliseconds(lambda A=A, B=B, s=s: matmul(A, B, s), repeats=3, launching=True),
        }
        rates = {way: n**3 / t / 1e9 for way, t in times.items()}
        rows.append({"call": label, "n": n, **rates})
        print(f"{label:40} {n:6}  " + "  ".join(f"{way} {rate:6.2f} T/s" for way, rate in rates.items()), flush=True)
    return rows


def compile_ahead(table: list[Row]) -> None:
    """All kernels at once, on all cores, into the cache on disk."""
    start, arch = time.perf_counter(), compile.device_arch(0)
    sources = [source for row in table for source in row.sources()]
    compile_all(sources, arch)
    print(f"{len(sources)} kernels for {arch} compiled in {time.perf_counter() - start:.0f} s", flush=True)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--parts", default="products,shapes,verbs,calls", help="of products, shapes, verbs, calls")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--output", type=Path, help="write the rows as JSON")
    options = begin(parser, gpu=True)
    parts = options.parts.split(",")
    rows: list[dict[str, Any]] = []
    if "products" in parts or "shapes" in parts:
        table = [row for row in (Row(*which) for which in PRODUCTS) if options.only in row.label]
        compile_ahead(table)
        rows += products(table, parts, 2048 if options.quick else 8192)
    if "verbs" in parts:
        rows += verbs(options.only)
    if "calls" in parts:
        rows += calls(options.only, 2048 if options.quick else 8192)
    if options.output:
        options.output.write_text(json.dumps({**facts(), "rows": rows}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
