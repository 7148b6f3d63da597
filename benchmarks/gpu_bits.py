"""How fast are products and closures of packed bits on a GPU, beside its tensor cores on operands at rest?

    python benchmarks/gpu_bits.py [--products 8192,32768] [--closures 65536,262144] [--kernels wgmma,mma,logic]

A pair is one ∧ with one ∨; times are medians between two events on the device. A product's time has everything in
it from packed operands to the packed result, the transposition of the right one too. Half of a product's bits come
out set, so that none can be guessed. A closure's graph is one half random (its average degree is `--degree`), one half
a single directed path, all vertices shuffled; every row count of the path's vertices is compared with its closed form,
and rows of the random half with a breadth-first search by SciPy on the host.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from common import arguments, begin
from device import cp, milliseconds

# isort: split
from apsp.road import schedules
from semiring import BitMatrix
from semiring.kernels.cuda import compile
from semiring.kernels.cuda import gpu as devices
from semiring.kernels.cuda.bits import product as bitproduct
from semiring.kernels.cuda.bits import words
from semiring.kernels.cuda.bits.backend import CudaBitBackend

#: A multiprocessor's tensor cores on operands that stay in shared memory: two groups of warps, as in a product.
PROBE = """
extern "C" __global__ void __launch_bounds__(256, 1) probe(int* out, int times) {
    extern __shared__ unsigned char memory[];
    const unsigned base = (shared_address(memory) + 1023) & ~1023u;
    int* stage = reinterpret_cast<int*>(memory + base - shared_address(memory));
    for (int i = threadIdx.x; i < stage_bytes / 4; i += 256) stage[i] = out[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    int c[128];
    for (int t = 0; t < times; ++t) {
        hold(c);
        multiply_begin();
        for (int q = 0; q < 4; ++q)
            multiply(c, descriptor(base + threadIdx.x / 128 * 8192) + 2 * q, descriptor(base + a_bytes) + 2 * q, t | q);
        multiply_end();
        hold(c);
        multiply_wait<0>();
    }
    int total = 0;
    for (int i = 0; i < 128; ++i) total += c[i];
    if (total == 1) out[0] = total;
}
"""


def ceiling() -> float:
    """Pairs a second of wgmma alone, operands random and at rest."""
    kernel = bitproduct.PRODUCTS["wgmma"]
    module = compile.functions(kernel.text + PROBE, arch=compile.device_arch(0) + kernel.suffix, name="probe.cu")
    probe, times, blocks = module.get_function("probe"), 20000, devices.multiprocessors(0)
    compile.allow_shared(probe, 1024 + kernel.stage_bytes)
    words = cp.random.default_rng(0).integers(0, 1 << 31, kernel.stage_bytes // 4).astype(np.int32)
    words &= cp.random.default_rng(1).integers(0, 1 << 31, words.size).astype(np.int32)

    def run() -> None:
        probe((blocks,), (256,), (words.data.ptr, np.int32(times)), shared_mem=1024 + kernel.stage_bytes)

    run()
    return blocks * times * 128 * 256 * 1024 / milliseconds(run, repeats=3, idle=0) * 1e3


def from_edges(tails: Any, heads: Any, n: int) -> BitMatrix:
    """On the device, of edges there or in main memory."""
    return BitMatrix(words.from_edges(tails, heads, (n, n)), (n, n))


def products(sizes: list[int], kernels: list[str]) -> None:
    """n × n × n, by each kernel that the device has."""
    for n in sizes:
        density = (np.log(2) / n) ** 0.5  # (1 − d²)ⁿ = 1/2
        rng, edges = cp.random.default_rng(n), int(n * n * density)
        A, B = (from_edges(rng.integers(0, n, edges), rng.integers(0, n, edges), n) for _ in range(2))
        sample = np.random.default_rng(0).integers(0, n, 4)
        a, b = A.rows(cp.asarray(sample)), B.to_bool() if n <= 32768 else None
        for kernel in kernels:
            ops = CudaBitBackend(kernel)
            C = ops.empty((n, n))
            ops.gemm(C, A, B)
            for row, i in zip(a, sample, strict=True):  # bits of the rows of B that row i of A chooses
                expected = b[row].any(axis=0)
                assert bool((C.rows(int(i)) == expected).all()), f"{kernel}: row {i} is wrong"
            t = milliseconds(lambda ops=ops, C=C, A=A, B=B: ops.gemm(C, A, B), repeats=5, idle=0)
            filled = C.counts() / n / n
            print(f"product  {kernel:6} {n:8} {t:10.3f} ms {n**3 / t / 1e9:7.0f} T/s   {filled:.0%} set", flush=True)


def graph(n: int, degree: float) -> tuple[Any, Any, Any]:
    """(tails, heads, path): the edges of half a random graph and half a path; `path` holds its vertices in order."""
    rng = np.random.default_rng(n)
    order, half = rng.permutation(n), n // 2
    tails, heads = (order[rng.integers(0, half, int(degree * half))] for _ in range(2))
    path = order[half:]
    return np.concatenate([tails, path[:-1]]), np.concatenate([heads, path[1:]]), path


def check_closure(D: BitMatrix, tails: Any, heads: Any, path: Any) -> int:
    """Compare with what is known; returns how many rows were compared bit by bit."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    n, rng = len(D), np.random.default_rng(1)
    counts = D.counts(axis=1).get()
    assert (counts[path] == np.arange(len(path), 0, -1)).all(), "a vertex of the path reaches those behind it"
    edges = csr_array((np.ones(len(tails), np.int8), (tails, heads)), shape=(n, n))
    wide = np.flatnonzero(counts > counts.mean())
    rows = np.unique(np.concatenate([rng.integers(0, n, 24), rng.choice(wide, 8)]))
    for i in rows.tolist():
        expected = np.zeros(n, bool)
        expected[breadth_first_order(edges, i, return_predecessors=False)] = True
        assert (D.rows(i).get() == expected).all(), f"row {i} of the closure of {n} vertices is wrong"
    return len(rows)


def closures(sizes: list[int], degree: float) -> None:
    """Closures in place, from an edge list, by the recursive schedule."""
    pool, run = cp.get_default_memory_pool(), schedules.get("recursive")
    for n in sizes:
        pool.free_all_blocks()
        tails, heads, path = graph(n, degree)
        ops, start = CudaBitBackend(), time.perf_counter()
        D = from_edges(tails, heads, n)
        ops.synchronize()
        built = time.perf_counter() - start
        pool.free_all_blocks()

        def again(D: BitMatrix = D, edges: Any = (tails, heads)) -> None:
            D.words.fill(0)
            words.set_bits(D.words, len(D), *edges)

        def work(D: BitMatrix = D, ops: Any = ops) -> None:
            run(D, ops, block=ops.pivot)

        if n <= 1 << 18:
            work()  # compiles
            t = milliseconds(work, again, repeats=3, idle=0)
        else:
            t = milliseconds(work, repeats=1, idle=0)
        beside = pool.total_bytes() - D.nbytes
        rows = check_closure(D, tails, heads, path)
        filled = D.counts() / n / n
        print(
            f"closure  {n:9} {t / 1e3:10.4f} s {n**3 / t / 1e9:7.0f} T/s   {D.nbytes / 2**30:.3f} GiB + "
            f"{beside / 2**30:.3f} GiB beside, built in {built:.2f} s, {filled:.1%} set, {len(path)} row counts and "
            f"{rows} rows checked",
            flush=True,
        )
        del D, ops, work, again


def numbers(text: str) -> list[int]:
    return [int(x) for x in text.split(",") if x]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--products", type=numbers, metavar="N,…")
    parser.add_argument("--closures", type=numbers, metavar="N,…")
    parser.add_argument("--kernels", default="", metavar="NAME,…", help="by default the fastest of the device")
    parser.add_argument("--degree", type=float, default=1.2, help="edges a vertex in the random half of a graph")
    options = begin(parser, gpu=True)
    sizes = [8192] if options.quick else [8192, 32768]
    sizes = sizes if options.products is None else options.products
    if bitproduct.default(0) == "wgmma" and sizes:
        print(f"ceiling  wgmma on operands at rest {ceiling() / 1e12:.0f} T/s", flush=True)
    products(sizes, options.kernels.split(",") if options.kernels else [bitproduct.default(0)])
    sizes = [8192] if options.quick else [8192, 65536, 262144]
    closures(sizes if options.closures is None else options.closures, options.degree)


if __name__ == "__main__":
    main()
