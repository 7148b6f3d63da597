"""What does a call cost beyond its kernels, and the first call of a process?

    python benchmarks/calls.py [--part warm] [--part first] [--part steps] [--profile] [--output FILE.json]

Time by the wall of the public functions above the device's own. On a GPU: arrays lie there, one synchronisation ends
each call, the best of many. "device" is the one verb that does the work, by events, while the device waits for the
host; what is above it has to stay under "limit". First calls are made in processes of their own, after imports and with
the array on the device: "cold" with empty caches of this library and of CuPy, "warm" with what the cold one left there;
"steps" says what such a process spends its time on, from its imports on. Without a GPU: calls on the CPU alone.

Results are checked before they are timed: rows of closures by Bellman's equations, rows of products by NumPy.
"""

from __future__ import annotations

import cProfile
import json
import pstats
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, begin, best, facts, process

# isort: split
import cases

from apsp import closure, schedules
from semiring import get, matmul
from semiring.backend import bind, cuda_available

CASE = cases.Case(get("min_plus"), np.dtype("float32"))
SIZES, BATCH, PRODUCT = (64, 256, 512, 1024, 2048), (10_000, 64), 512
#: Microseconds above the device's time that closures and products may take, and a whole call on the CPU.
CLOSURE, MATMUL, CPU_CLOSURE, CPU_MATMUL = 200.0, 80.0, 60.0, 40.0
#: What share of SciPy's `floyd_warshall` a closure of so few vertices may take on the CPU.
SHARE, FEW = 1 / 3, (4, 8, 16)
#: A batch on the CPU, and microseconds that it may take.
SMALL_BATCH, CPU_BATCH = (4_000, 16), 3_700.0
#: Seconds of a first call: with what an earlier process left on disk, and without.
WARM, COLD = 0.25, 3.0
#: What first calls are made with: a name, a dtype, the least weight of an edge.
FIRST = (("float32 ≥ 0", "float32", 1), ("float32", "float32", -20), ("int32 ≥ 0", "int32", 1))


@dataclass(frozen=True)
class Row:
    """One call: microseconds by the wall, on the device, and what the difference may be."""

    call: str
    wall: float
    device: float
    limit: float

    @property
    def above(self) -> float:
        return self.wall - self.device

    def __str__(self) -> str:
        figures = f"{self.wall:10.1f} {self.device:10.1f} {self.above:10.1f} {self.limit:8.0f}"
        return f"{self.call:28} {figures}  {bar(self.above / self.limit)}"


def bar(share: float) -> str:
    """A limit is 20 cells; what is over it is marked."""
    cells = round(20 * share)
    return (
        "█" * min(cells, 20) + "░" * (20 - cells) + "▓" * min(max(0, cells - 20), 40) + (" OVER" if share > 1 else "")
    )


def edges(*shape: int, least: int = 1, dtype: str = "float32") -> np.ndarray:
    """Whole numbers as weights, so that sums are exact. Negative ones close no cycle: they lead to later vertices.

    Those that are not negative are too many and too long to be closed by counting units.
    """
    lightest = 1 if least < 0 else 5000
    weights = np.random.default_rng(shape[-1]).integers(lightest, lightest + 99, shape)
    if least < 0:
        weights += np.triu(np.random.default_rng(1).integers(least - 99, 1, shape), 1)
        weights = np.where(np.tri(*shape[-2:], -1, dtype=bool), (100 - least) * shape[-1], weights)
    return weights.astype(dtype)


Call = tuple[str, Callable[[], Any], Callable[[], Any], float]


def gpu_calls() -> list[Call]:
    """(name, the call, the verb that it is for, microseconds allowed above it), each checked."""
    import cupy

    ops: Any = bind(get("min_plus"), "float32", device="cuda", nonnegative=True)
    calls: list[Call] = []
    for n in SIZES:
        A = edges(n, n)
        there, work = cupy.asarray(A), cupy.asarray(A)
        cases.check_distances(A, closure(there).get())
        verb = partial(schedules.get("recursive"), work, ops, block=ops.pivot)
        calls.append((f"closure {n}", lambda there=there: closure(there), verb, CLOSURE))
    batch = edges(*BATCH, BATCH[1])
    many, work = cupy.asarray(batch), cupy.asarray(batch)
    closed = closure(many)
    for i in (0, len(batch) - 1):
        cases.check_distances(batch[i], closed[i].get())
    del closed
    verb = partial(ops.closure_batch, work)
    calls.append((f"closure {BATCH[0]:,} × {BATCH[1]}", lambda: closure(many), verb, CLOSURE))
    A, B = edges(PRODUCT, PRODUCT), edges(PRODUCT, PRODUCT)[::-1].copy()
    left, right = cupy.asarray(A), cupy.asarray(B)
    cases.check_product(CASE, A, B, matmul(left, right).get())
    C = cupy.empty_like(left)
    calls.append((f"matmul {PRODUCT}", lambda: matmul(left, right), lambda: ops.matmul(C, left, right), MATMUL))
    return calls


def cpu_calls() -> list[Call]:
    """The same on the CPU, where nothing is taken off; the limit of small closures is SciPy's time."""
    from scipy.sparse.csgraph import floyd_warshall

    small = []
    for n in FEW:
        W = edges(n, n, dtype="float64")
        cases.check_distances(W, closure(W))
        limit = SHARE * 1e6 * best(partial(floyd_warshall, W), 2000)
        small.append((f"closure {n} on the CPU", partial(closure, W), lambda: None, limit))
    batch = edges(*SMALL_BATCH, SMALL_BATCH[1])
    for i, D in enumerate(closure(batch)):
        cases.check_distances(batch[i], D)
    A, B = edges(64, 64), edges(64, 64)[::-1].copy()
    cases.check_distances(A, closure(A))
    cases.check_product(CASE, A, B, matmul(A, B))
    return [
        *small,
        (f"closure {SMALL_BATCH[0]:,} × {SMALL_BATCH[1]} on the CPU", lambda: closure(batch), lambda: None, CPU_BATCH),
        ("closure 64 on the CPU", lambda: closure(A), lambda: None, CPU_CLOSURE),
        ("matmul 64 on the CPU", lambda: matmul(A, B), lambda: None, CPU_MATMUL),
    ]


def warm(profile: bool) -> list[Row]:
    """Calls whose kernels are there."""
    rows = []
    print(f"{'µs':28} {'wall':>10} {'device':>10} {'above':>10} {'limit':>8}")
    for on_gpu, calls in ((True, gpu_calls() if cuda_available() else []), (False, cpu_calls())):
        for name, call, verb, limit in calls:
            device, ended, idle = 0.0, call, lambda: None
            if on_gpu:
                from device import cp, milliseconds

                idle = cp.cuda.get_current_stream().synchronize
                device = 1e3 * milliseconds(verb, repeats=15)

                def ended(call: Callable[[], Any] = call, wait: Callable[[], object] = idle) -> None:
                    call()
                    wait()

            rows.append(Row(name, 1e6 * best(ended, 20, before=idle, seconds=1.0), device, limit))
            print(rows[-1], flush=True)
            if profile:
                show_profile(call)
    return rows


def show_profile(call: Callable[[], object], times: int = 300) -> None:
    """Where Python spends its time in so many calls."""
    profiler = cProfile.Profile()
    with profiler:
        for _ in range(times):
            call()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(20)


#: A process of its own: seconds of its first two calls, of compilation in them, and how many kernels that were.
PROCESS = """
import json, sys, threading, time
import cupy, numpy, apsp
import semiring.cuda.compile as compile
units, compiler, lock = [], compile._nvrtc, threading.Lock()
def timed(text, arch, flags, name):
    start = time.perf_counter()
    try:
        return compiler(text, arch, flags, name)
    finally:
        with lock:
            units.append([name, round(time.perf_counter() - start, 3)])
compile._nvrtc = timed
A = cupy.asarray(numpy.load(sys.argv[1]))
cupy.cuda.Device().synchronize()
seconds = []
for _ in range(2):
    start = time.perf_counter()
    D = apsp.closure(A)
    cupy.cuda.Device().synchronize()
    seconds.append(time.perf_counter() - start)
numpy.save(sys.argv[2], D.get())
print(json.dumps({"seconds": seconds, "units": units}))
"""


#: A process of its own: what it spends from its first import to the end of its first call, step by step.
STEPS = """
import json, sys, time
steps, last = [], time.perf_counter()
def done(what):
    global last
    steps.append([what, time.perf_counter() - last])
    last = time.perf_counter()
def inside(module, name, what):
    function = getattr(module, name)
    def timed(*args, **options):
        start = time.perf_counter()
        try:
            return function(*args, **options)
        finally:
            inner.append([f"  {what}", time.perf_counter() - start])
    setattr(module, name, timed)
inner = []
import numpy; done("import numpy")
import cupy; done("import cupy")
import apsp; done("import apsp")
cupy.cuda.runtime.free(0); done("driver and context")
A = cupy.asarray(numpy.load(sys.argv[1])); cupy.cuda.Device().synchronize(); done("matrix to the device")
import semiring.cuda.dense.backend, semiring.cuda.survey; done("import of the GPU backend")
from semiring.cuda import cache, compile
inside(compile, "source", "source from files")
inside(cache, "load", "cubin from disk")
inside(compile, "_nvrtc", "NVRTC")
inside(cache, "keep", "cubin to disk")
class Module(cupy.cuda.function.Module):
    def load(self, cubin):
        start = time.perf_counter()
        super().load(cubin)
        inner.append(["  module into the device", time.perf_counter() - start])
cupy.cuda.function.Module = Module
last = time.perf_counter()
D = apsp.closure(A); done("first call returns")
steps += [*inner, ["  all else", steps[-1][1] - sum(s for _, s in inner)]]
cupy.cuda.Device().synchronize(); done("and has finished")
D = apsp.closure(A); cupy.cuda.Device().synchronize(); done("second call")
print(json.dumps(steps))
"""


def steps(n: int = 1000) -> list[dict[str, Any]]:
    """What a process spends its first call on, where kernels have to be compiled and where they are on disk."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "A.npy", edges(n, n))
        caches = caches_in(folder)
        found = [last(process(STEPS, Path(folder) / "A.npy", **caches)) for _ in ("cold", "warm")]
    cold, warm = ([(what, seconds) for what, seconds in steps] for steps in found)
    for kind, listed in (("cold", cold), ("warm", warm)):
        print(f"\n{'first call, ' + kind:28} {'ms':>10}")
        for what, seconds in listed:
            print(f"{what:28} {1e3 * seconds:10.1f}")
    return [{"steps": "cold", "seconds": cold}, {"steps": "warm", "seconds": warm}]


def caches_in(folder: str) -> dict[str, str]:
    """The environment in which all that is compiled is kept in a folder: by us, by CuPy, by the driver and by NVRTC."""
    names = ("SEMIRING_CACHE_DIR", "CUPY_CACHE_DIR", "CUDA_CACHE_PATH")
    return dict.fromkeys(names, folder)


def last(printed: str) -> Any:
    """The last line, as JSON."""
    return json.loads(printed.splitlines()[-1])


def first(n: int = 1000) -> list[dict[str, Any]]:
    """First calls, cold and warm."""
    rows = []
    print(f"\n{'first call, n = ' + str(n):28} {'seconds':>10} {'second':>10} {'compiled':>10} {'limit':>8}")
    for name, dtype, least in FIRST:
        A = edges(n, n, least=least, dtype=dtype)
        with tempfile.TemporaryDirectory() as folder:
            source, result = (Path(folder) / file for file in ("A.npy", "D.npy"))
            np.save(source, A)
            caches = caches_in(folder)
            for kind, limit in (("cold", COLD), ("warm", WARM)):
                found = last(process(PROCESS, source, result, **caches))
                cases.check_distances(A, np.load(result))
                begun, again = found["seconds"]
                compiled = sum(seconds for _, seconds in found["units"])
                rows.append({"first": name, "caches": kind, "limit": limit, **found})
                print(
                    f"{kind + ', ' + name:28} {begun:10.3f} {again:10.4f} {compiled:10.3f} {limit:8.2f}  "
                    f"{bar(begun / limit)}  {', '.join(f'{unit} {seconds}' for unit, seconds in found['units'])}",
                    flush=True,
                )
    return rows


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--part", action="append", choices=("warm", "first", "steps"), help="all by default")
    parser.add_argument("--profile", action="store_true", help="and where Python spends the time of each call")
    parser.add_argument("--output", type=Path, help="write the rows as JSON")
    args, rows = begin(parser), []
    parts = args.part or (["warm"] if args.quick else ["warm", "first", "steps"])
    if "warm" in parts:
        rows += [{**asdict(row), "above": row.above} for row in warm(args.profile)]
    if "first" in parts and cuda_available():
        rows += first()
    if "steps" in parts and cuda_available():
        rows += steps()
    if args.output:
        args.output.write_text(json.dumps({**facts(), "rows": rows}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
