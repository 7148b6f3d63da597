"""How many times one GPU are several of one host, or two ranks on the CPU one, and is the closure right?

    python benchmarks/distributed.py                                  # float32 on two GPUs: 8,192 … 32,768
    python benchmarks/distributed.py --sizes 65536 131072 --dtypes float32 int16 --gpus 2 4
    python benchmarks/distributed.py --parts check numpy bits cpu
    python benchmarks/distributed.py --gpus 4 8 --parts sweeps searches --delaunay 435666 --roads 1000000
    python benchmarks/distributed.py --sizes 65536 --rounds 8 --trace # the last rounds alone, and where their time goes

Entries are a hash of their place, 1 … 99, made on each card. Sampled rows are checked before a time is printed: the
lengths of shortest walks from k are the one solution of D[k,j] = min over i of D[k,i] + A[i,j], D[k,k] = 0, where
weights are positive integers; reachability is checked by SciPy's breadth-first search. GPU times are device events,
the slowest rank's; "one GPU" is the recursive schedule of `apsp.closure`, in the same run.
"""

from __future__ import annotations

import argparse
import time
from functools import cache
from typing import Any

import numpy as np
from common import arguments, begin

# isort: split
from apsp import closure
from apsp.big.distributed import DistributedMatrix, world
from apsp.big.large.sources import Source
from apsp.road import schedules
from semiring import get
from semiring.kernels.backend import bind, cuda_available

HASH = """
__device__ int hashed(long long i, long long j) {
    unsigned long long x = i * 0x9e3779b97f4a7c15ull + j;
    x ^= x >> 31; x *= 0xbf58476d1ce4e5b9ull; x ^= x >> 27; x *= 0x94d049bb133111ebull; x ^= x >> 31;
    return 1 + x % 99;
}
"""
#: Rows whose equation is looked at together, and those of the matrix that a thread of STEP takes.
SAMPLED, EACH = 4, 1024
STEP = """
extern "C" __global__ void step(const int* D, int* best, long long n) {  // best[k, j] ← min over i of D[k, i] + A[i, j]
    const long long j = blockIdx.x * 256ll + threadIdx.x, last = min(n, (blockIdx.y + 1ll) * each);
    int found[sampled];
    for (int k = 0; k < sampled; ++k) found[k] = 1 << 30;
    for (long long i = blockIdx.y * (long long)each; i < last; ++i) {
        const int weight = hashed(i, j);
        for (int k = 0; k < sampled; ++k) found[k] = min(found[k], D[k * n + i] + weight);
    }
    if (j < n)
        for (int k = 0; k < sampled; ++k) atomicMin(best + k * n + j, found[k]);
}
"""


def window(rows: slice, columns: slice, dtype: str) -> Any:
    """Entries of the test matrix on the current card."""
    import cupy

    at = "out = (T)hashed(row + i / columns, column + i % columns)"
    fill = cupy.ElementwiseKernel("int64 row, int64 column, int64 columns", "T out", at, "filled", preamble=HASH)
    m, n = rows.stop - rows.start, columns.stop - columns.start
    return fill(rows.start, columns.start, n, cupy.empty((m, n), dtype))


def check_rows(found: Any, rows: list[int]) -> None:
    """Rows of the closure against the equation that determines them."""
    import cupy

    assert len(rows) == SAMPLED
    n = found.shape[1]
    D = cupy.asarray(found).astype(cupy.int32)
    best = cupy.full_like(D, 1 << 30)
    sizes = f"constexpr int each = {EACH}, sampled = {SAMPLED};\n"
    step = cupy.RawKernel(sizes + HASH + STEP, "step")
    step((-(-n // 256), -(-n // EACH)), (256,), (D, best, np.int64(n)))
    for k, row in enumerate(rows):
        best[k, row] = 0
    np.testing.assert_array_equal(best.get(), D.get())


@cache
def one_gpu(n: int, dtype: str) -> float:
    """Seconds of the recursive schedule on one card."""
    import cupy

    ops = bind(get("min_plus"), dtype, device="cuda", nonnegative=True)
    D = window(slice(0, n), slice(0, n), dtype)
    ops.prepare(n)
    small = D[:4096, :4096].copy()
    schedules.get("recursive")(small, ops, block=ops.pivot)
    ops.synchronize()
    watch = ops.stopwatch()
    schedules.get("recursive")(D, ops, block=ops.pivot)
    watch.stop()
    ops.synchronize()
    seconds = float(watch.seconds)
    check_rows(D[sampled(n)], sampled(n))
    del D, small
    cupy.get_default_memory_pool().free_all_blocks()
    return seconds


def several(
    n: int,
    dtype: str,
    args: argparse.Namespace,
    block: int | None,
    *,
    check: bool = False,
    rounds: int | None = None,
    trace: bool = False,
) -> tuple[float, Any]:
    """Seconds of the closure on several cards, or of its last rounds, and the matrix."""
    source = Source(n, get("min_plus"), np.dtype(dtype), lambda r, c: window(r, c, dtype), viewed=True)
    made = DistributedMatrix.from_source(source, world=world(gpus=args.gpus, grid=args.grid), block=block)
    close(made, rounds, trace)
    if check and rounds is None:
        check_rows(made.rows(sampled(n)), sampled(n))
    return made.seconds, made


def sampled(n: int) -> list[int]:
    """Rows that are checked."""
    return [0, n - 1, n // 2, n // 3]


def close(made: Any, rounds: int | None, trace: bool) -> None:
    """The closure, or its last rounds alone, which take as long as others and compute nothing of use."""
    block = made.layout.block
    begun = 0 if rounds is None else max(0, -(-made.n // block) - rounds) * block
    if not trace:
        made.run(begun=begun)
        return
    from traced import traced

    with traced() as found:
        made.run(begun=begun)
    print(found, flush=True)


def pairs(made: Any, rounds: int | None) -> int:
    """What `close` computes."""
    n, block = made.n, made.layout.block
    return int(n * n * (n if rounds is None else min(n, n - (-(-n // block) - rounds) * block)))


def memory(made: Any) -> str:
    """What a card was to hold, and what it does."""
    import cupy

    from apsp.big.distributed import plans
    from semiring.host.memory import shown

    planned = made._ops[0].matrix_bytes(*made.layout.largest), plans.panel_bytes(made.layout, made._ops[0])
    held = cupy.get_default_memory_pool().total_bytes()
    free, _ = cupy.cuda.runtime.memGetInfo()
    return f"{' + '.join(shown(x) for x in planned)} planned a card, {shown(held)} held, {shown(free)} free"


def free(gpus: int) -> None:
    import cupy

    for device in range(gpus):
        with cupy.cuda.Device(device):
            cupy.get_default_memory_pool().free_all_blocks()


def scale(args: argparse.Namespace) -> None:
    """n by n on several cards against one."""
    for dtype in args.dtypes:
        for block in args.blocks or [1024, 2048]:
            several(4 * block, dtype, args, block, check=True)  # kernels are compiled
        for n in args.sizes:
            alone = one_gpu(n, dtype) if args.alone else float("nan")
            for block in args.blocks or [None]:
                begun = time.perf_counter()
                seconds, made = several(n, dtype, args, block, check=args.check, rounds=args.rounds, trace=args.trace)
                wall = time.perf_counter() - begun
                size, computed, held = made.layout.block, pairs(made, args.rounds), memory(made)
                del made
                if n <= 1 << 15:  # once more, now that every kernel is there
                    seconds = min(several(n, dtype, args, block, rounds=args.rounds)[0] for _ in range(3))
                print(
                    f"{dtype:8} n = {n:6} block {size:5}  {args.gpus} GPUs {seconds * 1e3:10.2f} ms"
                    f" {computed / seconds / 1e12:7.2f} T/s"
                    + (f" in {args.rounds} rounds" if args.rounds else "")
                    + (f"   one {alone * 1e3:10.2f} ms   {alone / seconds:5.2f} ×" if args.alone else "")
                    + f"   ({wall:.1f} s with all; {held})",
                    flush=True,
                )
            free(args.gpus)


def alone(args: argparse.Namespace) -> None:
    """n by n on one GPU."""
    for dtype in args.dtypes:
        for n in args.sizes:
            begun, seconds = time.perf_counter(), one_gpu(n, dtype)
            wall, rate = time.perf_counter() - begun, n**3 / seconds / 1e12
            block = bind(get("min_plus"), dtype, device="cuda", nonnegative=True).pivot
            print(
                f"{dtype:8} n = {n:6} block {block:5}  1 GPUs {seconds * 1e3:10.2f} ms {rate:7.2f} T/s"
                f"   ({wall:.1f} s with all)",
                flush=True,
            )


def numpy(args: argparse.Namespace) -> None:
    """From NumPy to NumPy, against the device's time."""
    for n in args.sizes:
        A = window(slice(0, n), slice(0, n), "float32").get()
        free(1)
        several(8192, "float32", args, 2048)
        seconds = several(n, "float32", args, None)[0]
        free(args.gpus)
        closure(A[:8192, :8192], gpus=args.gpus)  # pinned buffers are there
        begun = time.perf_counter()
        D = closure(A, gpus=world(gpus=args.gpus, grid=args.grid))
        taken = time.perf_counter() - begun
        against = f"{taken / seconds:5.2f} × the device's {seconds:6.2f} s"
        print(f"NumPy in and out  n = {n:6}  {taken:6.2f} s  {against}", flush=True)
        free(args.gpus)
        check_rows(D[sampled(n)], sampled(n))
        print("rows are right", flush=True)


def edges(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Four classes of vertices, each strongly connected, and edges from the first to the second: (tails, heads)."""
    rng = np.random.default_rng(0)
    i = np.repeat(np.arange(n, dtype=np.int64), 4)
    j = (rng.integers(0, n // 4, len(i)) * 4 + i % 4) % n
    j[(i % 4 == 0) & (rng.random(len(i)) < 0.01)] += 1
    return i, j


def dense(rows: slice, columns: slice) -> Any:
    """As many ones as zeros, as in the last rounds of a closure: what bits are multiplied decides on power."""
    import cupy

    from semiring.kernels.cuda.bits.backend import CudaBitBackend

    part = CudaBitBackend().empty((rows.stop - rows.start, columns.stop - columns.start))
    mixed = "unsigned long long x = i * 0x9e3779b97f4a7c15ull; x ^= x >> 31; word = x * 0xbf58476d1ce4e5b9ull"
    cupy.ElementwiseKernel("", "uint64 word", mixed, "mixed")(part.words)
    return part


def bits(args: argparse.Namespace) -> None:
    """Packed bits, checked by breadth-first searches."""
    import cupy
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    from semiring.kernels.cuda.bits import words
    from semiring.kernels.cuda.bits.backend import CudaBitBackend

    for n in (1 << 14, *args.sizes):  # kernels are compiled by the first
        begun, rounds = time.perf_counter(), args.rounds if n > 1 << 14 else None
        i, j = edges(n) if rounds is None else (np.zeros(0, np.int64),) * 2
        graph = csr_array((np.ones(len(i), bool), (i, j)), shape=(n, n))

        def fill(rows: slice, columns: slice, i: Any = i, j: Any = j, rounds: int | None = rounds) -> Any:
            if rounds is not None:
                return dense(rows, columns)
            here = (i >= rows.start) & (i < rows.stop) & (j >= columns.start) & (j < columns.stop)
            part = CudaBitBackend().empty((rows.stop - rows.start, columns.stop - columns.start))
            words.set_bits(part.words, part.shape[1], i[here] - rows.start, j[here] - columns.start)
            return part

        for block in args.blocks if args.blocks and n > 1 << 14 else [None]:
            ranks = world(gpus=args.gpus, grid=args.grid)
            source = Source(n, get("lor_land"), np.dtype(bool), fill, viewed=True)
            made = DistributedMatrix.from_source(source, world=ranks, block=block)
            there = time.perf_counter()
            close(made, rounds, args.trace and n > 1 << 14)
            closed = time.perf_counter()
            for k in (0, 1, n - 2) if args.check and rounds is None else ():
                reached = np.zeros(n, bool)
                reached[breadth_first_order(graph, k, return_predecessors=False)] = True
                np.testing.assert_array_equal(made.rows([k])[0], reached)
            rate, checked = pairs(made, rounds) / made.seconds / 1e15, time.perf_counter() - closed
            print(
                f"bits     n = {n:7} block {made.layout.block:6}  {args.gpus} GPUs"
                f" {made.seconds:8.3f} s  {rate:6.2f} P/s"
                + (f" in {rounds} rounds" if rounds else "")
                + f"   (made in {there - begun:.1f} s, checked in {checked:.1f} s; {memory(made)})",
                flush=True,
            )
            del made
            free(args.gpus)
            begun = time.perf_counter()
    cupy.get_default_memory_pool().free_all_blocks()


def shared(label: str, graph: Any, ask: Any, *, gpus: int, engine: str, relative: float = 0.0) -> None:
    """How long a question takes one GPU and several: cold from the arrays on, kernels compiled, and asked again."""
    from apsp import shortest_paths

    times, found = [], []
    for ranks in ({"device": "cuda"}, {"gpus": gpus}):
        ask(shortest_paths(graph, dtype="float32", engine=engine, **ranks))  # kernels are compiled
        begun = time.perf_counter()
        r = shortest_paths(graph, dtype="float32", engine=engine, **ranks)
        found.append(ask(r))
        cold, warm = time.perf_counter() - begun, float("inf")
        for _ in range(2):
            vars(r).pop("_between_all", None)  # what is remembered of the question before
            begun = time.perf_counter()
            found.append(ask(r))
            warm = min(warm, time.perf_counter() - begun)
        times.append((cold, warm))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=relative)
    (cold_alone, alone), (cold, together) = times
    print(
        f"{label}: one GPU {alone * 1e3:.1f} ms, {gpus} {together * 1e3:.1f} ms, {alone / together:.2f} ×; "
        f"cold {cold_alone * 1e3:.0f} and {cold * 1e3:.0f} ms; the same numbers",
        flush=True,
    )


def sweeps(args: argparse.Namespace) -> None:
    """Eccentricities and betweenness of sparse graphs: panels on every card, sources shared out."""
    from sparse import delaunay

    from apsp import Graph
    from apsp.generate import road_like

    def eccentricity(r: Any) -> Any:
        return np.asarray(r.reduce("eccentricity"))

    for n in args.delaunay:
        tails, heads, weights, n = delaunay(n)
        graph = Graph.from_arrays(tails, heads, weights, n=n)
        shared(f"sweeps   Delaunay {n}", graph, eccentricity, gpus=args.gpus, engine="elimination")
    for n in args.roads:
        graph = road_like(n, seed=1)
        shared(f"sweeps   road-like {n}", graph, eccentricity, gpus=args.gpus, engine="elimination")
        label = f"betweenness road-like {n}"
        shared(label, graph, lambda r: r.edge_betweenness(), gpus=args.gpus, engine="elimination", relative=1e-9)


def searches(args: argparse.Namespace) -> None:
    """Eccentricities of a graph of preferential attachment by searches: arcs on every card, sources shared out."""
    from gpu_searches import attached, weighted

    from apsp import Graph

    for n in args.attachment:
        tails, heads, weights, n = weighted(attached(n, 8))
        graph = Graph.from_arrays(tails, heads, weights, n=n)
        label = f"searches attachment {n}"
        shared(label, graph, lambda r: np.asarray(r.reduce("eccentricity")), gpus=args.gpus, engine="searches")


def check(args: argparse.Namespace) -> None:
    """Small matrices on several cards against SciPy, on every grid; and floats, whose bits must be the same on all."""
    from scipy.sparse.csgraph import floyd_warshall

    for n, block in ((1000, 256), (1283, 512), (130, 128), (64, 256)):
        rng = np.random.default_rng(n)
        whole = np.where(rng.random((n, n)) < 0.01, rng.integers(1, 100, (n, n)), np.inf)
        expected = floyd_warshall(np.where(np.isinf(whole), 0, whole))
        for dtype in ("float32", "int16", "float64", "bool"):
            name = "lor_land" if dtype == "bool" else "min_plus"
            A, right = whole.astype(dtype) if dtype[0] == "f" else whole, expected
            if dtype == "bool":
                A, right = np.isfinite(whole), np.isfinite(expected)
            elif dtype == "int16":
                A, right = (np.where(np.isinf(X), 32767, X).astype(np.int16) for X in (whole, expected))
            for grid in sorted({f"1x{args.gpus}", f"{args.gpus}x1"}):
                made = DistributedMatrix.from_array(A, name, world=world(gpus=args.gpus, grid=grid), block=block)
                D = made.close().gather()
                np.testing.assert_array_equal(D, right, err_msg=f"{n} {dtype} {grid}")
                np.testing.assert_array_equal(made.rows([n - 1, 0]), D[[n - 1, 0]])
                np.testing.assert_array_equal(made.pairs([n - 1, 0], [0, n - 1]), D[[n - 1, 0], [0, n - 1]])
            print(f"right: {name} in {dtype}, n = {n}", flush=True)
    A = np.random.default_rng(0).random((1999, 1999), np.float32)
    found = {
        DistributedMatrix.from_array(A, world=world(gpus=g, grid=grid), block=256).close().gather().tobytes()
        for g, grid in ((1, "1x1"), (args.gpus, f"1x{args.gpus}"), (args.gpus, f"{args.gpus}x1"))
    }
    assert len(found) == 1
    print("floats: the same bits on every grid", flush=True)


def cpu(args: argparse.Namespace) -> None:
    """Ranks of one thread on the host against one of them."""
    n = 512 if args.quick else 4096
    A = np.random.default_rng(0).integers(1, 100, (n, n)).astype(np.float32)
    best = {}
    results = set()
    for ranks in (1, 2, 1, 2):
        made = DistributedMatrix.from_array(A, world=world(ranks=ranks, threads=1)).close()
        results.add(made.gather().tobytes())
        best[ranks] = min(made.seconds, best.get(ranks, float("inf")))
    assert len(results) == 1
    print(f"CPU      n = {n}  one rank {best[1]:.2f} s, two {best[2]:.2f} s  {best[1] / best[2]:.2f} ×")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--parts",
        nargs="*",
        choices=["scale", "alone", "numpy", "bits", "sweeps", "searches", "check", "cpu"],
        help="by default scale, without a GPU cpu",
    )
    parser.add_argument("--gpus", type=int, nargs="+", default=[2], help="numbers of GPUs, tried one after the other")
    parser.add_argument("--grid")
    parser.add_argument("--delaunay", type=int, nargs="*", default=[126_146], help="vertices, for sweeps")
    parser.add_argument("--roads", type=int, nargs="*", default=[131_000], help="vertices, for sweeps")
    parser.add_argument("--attachment", type=int, nargs="*", default=[20_000], help="vertices, for searches")
    parser.add_argument("--sizes", type=int, nargs="*")
    parser.add_argument("--dtypes", nargs="*", default=["float32"])
    parser.add_argument("--blocks", type=int, nargs="*")
    parser.add_argument("--alone", action=argparse.BooleanOptionalAction, default=True, help="time one GPU as well")
    parser.add_argument("--check", action=argparse.BooleanOptionalAction, default=True, help="check sampled rows")
    parser.add_argument("--rounds", type=int, help="only the last rounds, this number of them: nothing is checked")
    parser.add_argument("--trace", action="store_true", help="where the time of rounds goes")
    parser.add_argument("--ahead", action=argparse.BooleanOptionalAction, default=True, help="look ahead")
    args = begin(parser)
    args.parts = args.parts or ["scale" if cuda_available() else "cpu"]
    args.sizes = args.sizes or ([8192] if args.quick else [8192, 16384, 32768])
    if cuda_available() and not args.ahead:
        from semiring.kernels.cuda.bits.backend import CudaBitBackend
        from semiring.kernels.cuda.dense.backend import CudaBackend

        for backend in (CudaBackend, CudaBitBackend):
            backend.concurrent_queue = lambda self: None  # type: ignore[assignment, method-assign] # on purpose
    for part in args.parts:
        for gpus in args.gpus:
            globals()[part](argparse.Namespace(**{**vars(args), "gpus": gpus}))


if __name__ == "__main__":
    main()
