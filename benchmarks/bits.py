"""How fast are products and closures of packed bits on the CPU, beside and-or in its registers?

    python benchmarks/bits.py                      # everything, about two minutes
    python benchmarks/bits.py product closure      # some of it: product closure warshall passes first memory
    python benchmarks/bits.py product --sizes 2048 4096 --threads 1

A pair is one ∧ with one ∨: n³ of them in a product and in a closure. Every result is checked before it is timed, and
the loop of and-or is timed before and after each run.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from common import arguments, begin, best, process
from common import peak as peak_memory

# isort: split
from semiring.dense.bits import BitMatrix

DEGREE = 6


CHAINS = 20


@cache
def _and_or() -> Any:
    """rounds ↦ that many rounds of c[i] ← c[i] ∨ (x ∧ y) in 20 registers of 512 bits: one `vpternlog` each."""
    from llvmlite import ir
    from numba import njit, types
    from numba.extending import intrinsic

    word, vector = ir.IntType(64), ir.VectorType(ir.IntType(64), 8)
    index, name = ir.IntType(32), "llvm.x86.avx512.pternlog.q.512"

    @intrinsic
    def loop(context: Any, rounds: Any) -> Any:
        def generate(context: Any, b: Any, signature: Any, values: Any) -> Any:
            def splat(i: int) -> Any:
                one = b.insert_element(ir.Constant(vector, ir.Undefined), b.mul(values[0], word(2 * i + 1)), word(0))
                return b.shuffle_vector(one, one, ir.Constant(ir.VectorType(index, 8), None))

            ternary = ir.Function(b.module, ir.FunctionType(vector, [vector, vector, vector, index]), name)
            first, x, y = [splat(i) for i in range(CHAINS)], splat(50), splat(51)
            entry, body, done = b.block, b.append_basic_block("body"), b.append_basic_block("done")
            b.branch(body)
            b.position_at_end(body)
            left, *c = [b.phi(start.type) for start in (values[0], *first)]
            rest = b.sub(left, word(1))
            new = [b.call(ternary, [total, x, y, index(0xF8)]) for total in c]
            for phi, start, value in zip([left, *c], [values[0], *first], [rest, *new], strict=True):
                phi.add_incoming(start, entry)
                phi.add_incoming(value, body)
            b.cbranch(b.icmp_unsigned("!=", rest, word(0)), body, done)
            b.position_at_end(done)
            for value in new[1:]:
                new[0] = b.xor(new[0], value)
            return b.extract_element(new[0], word(0))

        return types.int64(types.int64), generate

    return njit("int64(int64)", nogil=True)(lambda rounds: loop(rounds)), 512 * CHAINS


def probe(threads: int) -> float:
    """And-or pairs a second of `threads` threads, in registers only; the best of three. (NaN without AVX-512.)"""
    from semiring.kernels.cpu.bits.vectors import LANES
    from semiring.kernels.cpu.pool import run

    if LANES < 64:
        return float("nan")

    (loop, pairs), rounds = _and_or(), 1_000_000
    loop(10)
    return threads * rounds * pairs / best(lambda: run(lambda worker: loop(rounds), [()] * threads, threads))


def timed(
    run: Callable[[], object], threads: int, repeat: int, prepare: Callable[[], object] = lambda: None
) -> tuple[float, float]:
    """(least seconds, highest rate of the probe, which runs before and after every repetition)."""
    seconds, probes = [], [probe(threads)]
    for _ in range(repeat):
        seconds.append(best(run, 1, before=prepare))
        probes.append(probe(threads))
    return min(seconds), max(probes)


def report(what: str, n: int, threads: int, seconds: float, peak: float) -> None:
    rate = n**3 / seconds
    print(
        f"{what:8} n = {n:6}  {threads} thread{'s' if threads > 1 else ' '}  {1e3 * seconds:10.3f} ms  "
        f"{rate / 1e12:6.2f} T pairs/s  {rate / peak:5.2f} × the probe ({peak / 1e12:.2f} T)",
        flush=True,
    )


def random_bits(n: int, seed: int) -> BitMatrix:
    """Half of all bits, the most that zero words could hide."""
    words = np.random.default_rng(seed).integers(0, 1 << 64, (n, -(-n // 64)), dtype=np.uint64)
    if n % 64:
        words[:, -1] &= np.uint64((1 << n % 64) - 1)
    return BitMatrix(words, (n, n))


def random_graph(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A digraph of average out-degree 6, drawn with replacement."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, n, DEGREE * n), rng.integers(0, n, DEGREE * n)


def product(n: int, counts: list[int]) -> None:
    """C ← A ∧ B; a few rows of it against NumPy's disjunction of the rows of B."""
    from semiring.kernels.cpu.bits.words import multiply

    A, B, C = random_bits(n, 1), random_bits(n, 2), BitMatrix.zeros((n, n))
    sparse = BitMatrix.from_edges(*random_graph(n), (n, n))  # a dense product of dense bits is all ones
    multiply(C, sparse, B, fresh=True)
    for i in range(0, n, max(1, n // 50)):
        assert (C.words[i] == np.bitwise_or.reduce(B.words[sparse.indices(i)], axis=0)).all()
    for threads in counts:
        seconds, peak = timed(lambda t=threads: multiply(C, A, B, fresh=True, threads=t), threads, 3 if n < 9999 else 1)
        report("product", n, threads, seconds, peak)


def schedule(matrix: BitMatrix, threads: int) -> None:
    from apsp.road.schedules import recursive
    from semiring.kernels.cpu.bits.backend import BitBackend

    ops = BitBackend(threads=threads)
    recursive.closure(matrix, ops, block=ops.pivot)


def closure(n: int, counts: list[int]) -> None:
    """The closure by the recursive schedule alone, in place; a few rows against SciPy's breadth-first search."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    tails, heads = random_graph(n)
    start = BitMatrix.from_edges(tails, heads, (n, n))
    D = start.copy()
    schedule(D, counts[-1])
    graph = coo_array((np.ones(len(tails), bool), (tails, heads)), shape=(n, n)).tocsr()
    for i in range(0, n, max(1, n // 20)):
        reached = breadth_first_order(graph, i, return_predecessors=False)
        assert np.array_equal(np.sort(reached), D.indices(i))

    def again() -> None:
        D.words[...] = start.words

    for threads in counts:
        repeat = 5 if n < 9999 else 1
        seconds, peak = timed(lambda t=threads: schedule(D, t), threads, repeat, prepare=again)
        report("closure", n, threads, seconds, peak)


def numpy_warshall(A: np.ndarray) -> np.ndarray:
    """A* on rows packed by NumPy: for every k, the rows that have bit k |= row k."""
    np.fill_diagonal(A, True)
    packed = np.packbits(A, axis=1)
    for k in range(len(A)):
        rows = (packed[:, k >> 3] >> (7 - (k & 7)) & 1).astype(bool)
        packed[rows] |= packed[k]
    return np.unpackbits(packed, axis=1, count=len(A)).astype(bool)


def warshall(n: int, counts: list[int]) -> None:
    """Against the packed row-or Warshall that NumPy can do."""
    tails, heads = random_graph(n)
    start = BitMatrix.from_edges(tails, heads, (n, n))
    begin = time.perf_counter()
    expected = numpy_warshall(start.to_bool())
    theirs = time.perf_counter() - begin
    for threads in counts:
        times = []
        for _ in range(5):
            D = start.copy()
            times.append(best(lambda D=D, t=threads: schedule(D, t), 1))
            assert (D.to_bool() == expected).all()
        print(
            f"warshall n = {n:6}  {threads} thread{'s' if threads > 1 else ' '}  NumPy {1e3 * theirs:.1f} ms, "
            f"ours {1e3 * min(times):.3f} ms: {theirs / min(times):.0f} ×",
            flush=True,
        )


def passes(n: int, counts: list[int]) -> None:
    """The single passes: pack, unpack, transpose, counts, edges."""
    A = random_bits(n, 3)
    dense = A.to_bool()
    tails, heads = random_graph(n)
    assert (A.T.to_bool() == dense.T).all()
    assert (A.counts(0) == dense.sum(0)).all()
    for name, run, size in (
        ("pack", lambda: BitMatrix.from_bool(dense), dense.nbytes),
        ("unpack", lambda: A.to_bool(dense), dense.nbytes),
        ("transpose", lambda: A.T, A.nbytes),
        ("counts of rows", lambda: A.counts(1), A.nbytes),
        ("counts of columns", lambda: A.counts(0), A.nbytes),
        ("from_edges, 6 n", lambda: BitMatrix.from_edges(tails, heads, (n, n)), len(tails) * 16),
    ):
        run()
        seconds = best(run)
        print(f"n = {n:6}  {name:18} {1e3 * seconds:9.3f} ms  {size / seconds / 1e9:6.2f} GB/s", flush=True)


FIRST = """
import time; start = time.perf_counter()
import numpy as np

from semiring.kernels.backend import bind
from semiring import get
A = np.zeros((1500, 1500), bool); A[np.arange(1499), np.arange(1, 1500)] = True
from apsp.road.schedules import recursive
ops = bind(get("boolean"), bool)
D = ops.upload(A); recursive.closure(D, ops, block=ops.pivot); R = ops.download(D)
assert R.sum() == 1500 * 1501 // 2
print(f"{time.perf_counter() - start:.2f} s")
"""


def first(n: int, counts: list[int]) -> None:
    """The first closure of a process, imports and compilation included: cache cold, then warm."""
    with tempfile.TemporaryDirectory() as folder:
        for state in ("cold", "warm", "warm"):
            print(f"first call, cache {state}: {process(FIRST, NUMBA_CACHE_DIR=folder).strip()}", flush=True)


def memory(n: int, counts: list[int]) -> None:
    """What the closure holds beside the bits, as the growth of the process's peak."""
    print(process(f"import bits; bits.peak({n})").strip(), flush=True)


def peak(n: int) -> None:
    from semiring.kernels.cpu.bits.backend import BitBackend

    ops = BitBackend()
    small = BitMatrix.from_edges(*random_graph(1100), (1100, 1100))
    schedule(small, ops.threads)  # everything is loaded
    D = BitMatrix.from_edges(*random_graph(n), (n, n))
    D.words += np.uint64(0)  # every page of the matrix is there
    before, most = peak_memory(lambda: schedule(D, ops.threads))
    grown = (most - before) / 2**20
    print(
        f"memory   n = {n:6}  bits {D.nbytes / 2**20:.1f} MiB, the peak grew by {grown:.1f} MiB "
        f"({100 * grown * 2**20 / D.nbytes:.1f} %), foretold {ops.workspace(n) / 2**20:.1f} MiB"
    )


PARTS = {
    "product": (product, [2048, 4096, 8192, 16384]),
    "closure": (closure, [1024, 2048, 4096, 8192, 16384, 32768]),
    "warshall": (warshall, [4096]),
    "passes": (passes, [16384]),
    "first": (first, [1500]),
    "memory": (memory, [4096, 16384]),
}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=" ".join(PARTS))
    parser.add_argument("--sizes", type=int, nargs="+")
    parser.add_argument("--threads", type=int, nargs="+")
    args = begin(parser)
    from semiring.kernels.cpu.processors import default_threads

    counts = args.threads or sorted({1, default_threads()})
    for name in args.parts:
        part, sizes = PARTS[name]
        for n in args.sizes or ([512] if args.quick else sizes):
            part(n, counts)


if __name__ == "__main__":
    main()
