"""How near do products on a GPU come to the ceiling of its instructions, and odd shapes to their roofline?

    python benchmarks/gpu.py [--only TEXT]

Rates are 10¹² pairs a second (a pair is one ⊕ with one ⊗), medians by CUDA events. The ceiling is the same step in
registers alone, in the outer-product pattern of a product, measured by this program in this run. The roofline of a
shape is the larger of its arithmetic at the rate of n = 8192 and of its bytes (A and B read, C read and written) at the
bandwidth of a copy, both from this run.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from common import arguments, begin

# isort: split
import cases
from compiling import compile_all
from device import bandwidth, cp, milliseconds

from semiring import Op, Semiring, get
from semiring.algebra import dtypes
from semiring.algebra.catalog import MIN
from semiring.kernels.cuda import algebra, compile
from semiring.kernels.cuda.dense import backend, sources

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


def ceiling_of(name: str, dtype: str) -> float:
    """Pairs a second of a semiring's step on entries that are not negative, in registers alone."""
    s, kind = get(name), np.dtype(dtype)
    return ceiling(algebra.text(s, kind, algebra.variant_of(s, kind, nonnegative=True)), dtype)


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


def products(table: list[Row], largest: int) -> None:
    """Large products against the ceiling, the others against their roofline."""
    copied = bandwidth()
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
            print(
                f"{row.label:24} {side:6} {t:9.3f} ms {rate / 1e12:7.2f} T/s  {rate / peak:6.1%} of {peak / 1e12:5.2f}"
                + (f"  {rate / best:6.1%} of n = {n}" if side < n else ""),
                flush=True,
            )
        for m, k, n in SHAPES if row.label in SHAPED else ():
            t = row.measure(m, k, n)
            arithmetic, moved = m * k * n / best * 1e3, (m * k + k * n + 2 * m * n) * np.dtype(row.dtype).itemsize
            roof = max(arithmetic, moved / copied * 1e3)
            print(
                f"{row.label:24} {m:6} × {k:5} × {n:5} {t:9.3f} ms {m * k * n / t / 1e9:7.2f} T/s  "
                f"{roof / t:6.1%} of its roofline ({'bytes' if roof > arithmetic else 'arithmetic'})",
                flush=True,
            )


def compile_ahead(table: list[Row]) -> None:
    """All kernels at once, on all cores, into the cache on disk."""
    start, arch = time.perf_counter(), compile.device_arch(0)
    sources = [source for row in table for source in row.sources()]
    compile_all(sources, arch)
    print(f"{len(sources)} kernels for {arch} compiled in {time.perf_counter() - start:.0f} s", flush=True)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    options = begin(parser, gpu=True)
    table = [row for row in (Row(*which) for which in PRODUCTS) if options.only in row.label]
    compile_ahead(table)
    products(table, 2048 if options.quick else 8192)


if __name__ == "__main__":
    main()
