"""What does it cost to close a matrix through little memory, from host memory or a disk, beside one that lies there?

    python benchmarks/streamed.py --device cuda --n 65536 --memory 4GiB         # through the card, from host memory
    python benchmarks/streamed.py --device cpu --n 16384 --memory 256MiB --disk D # through RAM, from a store in D
    python benchmarks/streamed.py --device cuda --n 131072 --memory 16GiB --in-core 32768 # rate of a smaller one

Both results are compared bit for bit. On a GPU CuPy is held to that much memory while the matrix streams.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from common import arguments, begin

# isort: split
import semiring
from apsp.big.large import streaming
from apsp.road.schedules import distributed, recursive
from semiring.host.memory import parsed, shown
from semiring.kernels.backend import Backend, bind
from semiring.stores.tiles import TileStore
from semiring.stores.tiles.windows import InArray, InStore, SlowMatrix


def strips(n: int, dtype: str, device: str, seed: int) -> Iterator[tuple[int, Any]]:
    """Random weights by rows, one entry in a hundred an edge, so that distances take many of them; on the device."""
    step = max(1, (1 << 28) // n)
    if device == "cuda":
        import cupy as xp

        rng: Any = xp.random.RandomState(seed)
        some = partial(rng.random_sample, dtype=np.float32)
    else:
        xp = np
        some = partial(np.random.default_rng(seed).random, dtype=np.float32)
    for k in range(0, n, step):
        part = some((min(step, n - k), n))
        yield k, xp.where(part < 0.01, xp.floor(part * 1e6) + 1, xp.inf).astype(dtype)


def made(n: int, dtype: str, ops: Backend, seed: int) -> np.ndarray:
    """The whole matrix, on the host."""
    A, ready = ops.allocate_result((n, n))
    if ready:
        ready.result()
    for k, part in strips(n, dtype, ops.device, seed):
        ops.download(part, out=A[k : k + len(part)])
    return A


def in_core(A: np.ndarray, ops: Backend, block: int | None) -> tuple[Any, float]:
    """A* where the matrix lies whole, by R-Kleene or by the streamed schedule on it, left there; and the seconds."""
    M = ops.upload(A)
    clock = ops.stopwatch()
    if block is None:
        ops.prepare(len(A))
        recursive.closure(M, ops, block=ops.pivot)
    else:
        distributed.closure(M, ops, block=block)
    clock.stop()
    return M, clock.seconds


def same_bits(A: np.ndarray, D: Any, ops: Backend) -> bool:
    """Whether a matrix on the host is one where verbs work."""
    step = max(1, (1 << 28) // max(1, len(A)))
    strips = ((ops.upload(A[k : k + step]), D[k : k + step]) for k in range(0, len(A), step))
    return all(bool((a == d).all()) for a, d in strips)


def hold(memory: int | None) -> None:
    """Limit CuPy to this many more bytes of the device."""
    import cupy

    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    pool.set_limit(size=0 if memory is None else pool.used_bytes() + memory)


def streamed(slow: SlowMatrix, ops: Backend, cut: streaming.Cut) -> tuple[float, float]:
    """A* in slow memory, by super-blocks; the seconds with and without what comes before the first round."""
    n, tenth, start = slow.shape[0], 0, time.perf_counter()

    def report(done: int, total: int) -> None:
        nonlocal tenth
        before, tenth = tenth, done * 10 // total
        if tenth > before and n > 16384:
            print(f"    {done / total:.0%} begun after {time.perf_counter() - start:.1f} s", flush=True)

    with ops.window_io(slow, cut.tile):  # which pins what lies in host memory
        begun = time.perf_counter()
        streaming.closure(slow, ops, cut, callback=report)
        end = time.perf_counter()
    return time.perf_counter() - start, end - begun


def wrong_entries(D: np.ndarray, A: Iterator[tuple[int, Any]], ops: Backend, count: int) -> int:
    """Entries of some rows of D that are not what one more step over all edges leaves of them: min(I, D A)."""
    rows = np.linspace(0, len(D) - 1, count).astype(int)
    out = np.full((count, len(D)), np.inf, D.dtype)
    out[np.arange(count), rows] = 0
    R, best = ops.upload(D[rows]), ops.upload(out)
    for start, strip in A:
        for k in range(start, start + len(strip), 512):
            part = strip[k - start : k - start + 512]
            for q in range(count):
                np.minimum(best[q], (R[q, k : k + len(part), None] + part).min(axis=0), out=best[q])
    return int((best != R).sum())


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--n", type=int, help="by default 4096, with --quick 1024")
    parser.add_argument("--dtype", default="float32", choices=["float32", "float64"])
    parser.add_argument("--memory", type=parsed, help="what it streams through, by default a quarter of it")
    parser.add_argument("--disk", help="a directory for the store; without, the matrix is in host memory")
    parser.add_argument("--durable", action="store_true", help="every tile on the disk before the next step")
    parser.add_argument("--rows", type=int, default=2, help="rows checked by their definition")
    parser.add_argument("--in-core", type=int, help="vertices of the matrix in core, by default as many; 0: none")
    parser.add_argument("--same", action="store_true", help="compare with the same schedule in core, bit for bit")
    args = begin(parser)
    s, n = semiring.get("min_plus"), args.n or (1024 if args.quick else 4096)
    args.memory = args.memory or n * n * np.dtype(args.dtype).itemsize // 4
    ops = bind(s, args.dtype, device=args.device, nonnegative=True)
    cut = streaming.fit(n, ops, args.memory)
    if cut is None:
        raise SystemExit(f"{shown(args.memory)} do not hold the panels of {n} vertices.")
    small, size = made(2500, args.dtype, ops, 1), n if args.in_core is None else args.in_core
    in_core(small, ops, 256 if args.same else None)  # compiles what there is to compile
    streaming.closure(InArray(small), ops, streaming.Cut(1024, 512, 256, 256, 0))
    whole, seconds = in_core(made(size, args.dtype, ops, 0), ops, None) if size else (None, np.nan)
    print(
        f"n = {size}, {args.dtype}, {args.device}: in core {seconds:.3f} s, {size**3 / seconds:.4g} pairs/s",
        flush=True,
    )
    if size != n:
        whole, seconds = None, seconds * (n / max(1, size)) ** 3
        print(f"n = {n} at that rate: {seconds:.3f} s", flush=True)
    start = time.perf_counter()
    A = made(n, args.dtype, ops, 0)
    print(f"n = {n} made in {time.perf_counter() - start:.1f} s", flush=True)
    if args.same:
        whole, same = in_core(A, ops, cut.block)
        print(f"in core by the same schedule, block {cut.block}: {same:.3f} s", flush=True)
    if args.device == "cuda":
        hold(args.memory)
    with tempfile.TemporaryDirectory(dir=args.disk) as folder:
        if args.disk:
            store = TileStore.create(folder, A.shape, A.dtype, block=cut.tile)
            store.put(A)
            total, alone = streamed(InStore(store, durable=args.durable), ops, cut)
            A = store[:]
        else:
            total, alone = streamed(InArray(A), ops, cut)
    if args.device == "cuda":
        hold(None)
    print(f"through {shown(cut.bytes)} of {shown(args.memory)}, {cut}: {alone:.3f} s", flush=True)
    bits = "" if whole is None else "the same bits, " if same_bits(A, whole, ops) else "OTHER BITS, "
    wrong = wrong_entries(A, strips(n, args.dtype, args.device, 0), ops, args.rows) if args.rows else 0
    print(
        f"{total:.3f} s with all around it, {alone / seconds:.3f} × in core; "
        f"{bits}{wrong} entries wrong in {args.rows} rows",
        flush=True,
    )


if __name__ == "__main__":
    main()
