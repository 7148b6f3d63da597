"""How long does one GPU take for all distances of a sparse graph, new weights, reductions, and hops?

    python benchmarks/gpu_sparse.py                 # everything, two minutes
    python benchmarks/gpu_sparse.py --data DIR      # DIR has osm-luxembourg/; else ../shared/data, or without
    python benchmarks/gpu_sparse.py --only road     # graphs whose name contains this

Every entry of a table is checked on the device before anything is timed: by Bellman's equation, D[u, v] is the least
A[u, k] + D[k, v] over the arcs of u, and D[v, v] = 0. Times of the device are between two events, the best of three;
the others are wall clock until the device is done. A rate is written bytes a second, and its share of what a copy in
memory reads and writes a second. Where there is a bar it stands behind the number, and whether it is met.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, begin, best
from device import bandwidth, cp, milliseconds
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra
from sparse import DATA, Arcs, both_ways, delaunay, dimacs

# isort: split
from apsp import shortest_paths
from apsp.generate import road_like
from semiring import Elimination
from semiring.sparse import Hops

#: Milliseconds that each may take on an H200.
BARS = {
    "Luxembourg": {"table": 7.9},
    "road-like 131000": {"table": 30, "cold": 139},
    "Delaunay 126146": {"table": 70, "cold": 139},
    "road-like 10⁶": {"eccentricities": 3000},
}

BELLMAN = r"""
extern "C" __global__ void bellman(const float* D, long long pitch, int n, const int* start, const int* head,
                                   const float* weight, unsigned long long* wrong, unsigned* farthest) {
    const int u = blockIdx.x;
    unsigned long long bad = 0;
    float far = 0;
    for (int v = threadIdx.x + blockIdx.y * blockDim.x; v < n; v += blockDim.x * gridDim.y) {
        float best = __int_as_float(0x7f800000);
        for (int a = start[u]; a < start[u + 1]; ++a) best = fminf(best, weight[a] + D[head[a] * pitch + v]);
        if (u == v) best = 0;
        const float d = D[u * pitch + v];
        if (d == best) continue;
        ++bad;
        far = fmaxf(far, isfinite(d) && isfinite(best) ? fabsf(d - best) / fmaxf(best, 1e-30f) : 1e30f);
    }
    if (bad) atomicAdd(wrong, bad), atomicMax(farthest, __float_as_uint(far));
}"""


def graphs(data: Path, quick: bool) -> Iterator[tuple[str, Callable[[], Arcs]]]:
    if quick:
        yield "road-like 20000", lambda: both_ways(road_like(20_000, seed=0), 0)
        return
    if (data / "osm-luxembourg").is_dir():
        yield "Luxembourg", lambda: dimacs(data / "osm-luxembourg/luxembourg.gr.gz")
    yield "road-like 131000", lambda: both_ways(road_like(131_000, seed=0), 0)
    yield "Delaunay 126146", lambda: delaunay(126_146)


def check(D: Any, arcs: Arcs) -> str:
    """How many entries break Bellman's equation in the last bit, and by how much at most."""
    tails, heads, weights, n = arcs
    order = np.argsort(tails, kind="stable")
    start = np.searchsorted(tails[order], np.arange(n + 1)).astype(np.int32)
    wrong, farthest = cp.zeros(1, np.uint64), cp.zeros(1, np.uint32)
    lists = (cp.asarray(x) for x in (start, heads[order].astype(np.int32), weights[order].astype(np.float32)))
    cp.RawKernel(BELLMAN, "bellman")(
        (n, 4), (256,), (D, np.int64(D.strides[0] // 4), np.int32(n), *lists, wrong, farthest)
    )
    count, off = int(wrong[0]), float(farthest.get().view(np.float32)[0])
    if off > 1e-5:
        raise SystemExit(f"{count} entries break Bellman's equation, by {off:.1e} of themselves at most")
    return "all entries satisfy Bellman's equation" + (f" but {count} by rounding, {off:.0e} at most" if count else "")


def device_ms(do: Callable[[], Any]) -> float:
    return milliseconds(do, repeats=3, idle=0, launching=True, of=min)


def wall_ms(do: Callable[[], Any]) -> float:
    wait = cp.cuda.Device().synchronize
    return 1e3 * best(lambda: (do(), wait()), before=wait)


def told(what: str, ms: float, bar: float | None, more: str = "") -> None:
    met = "" if bar is None else f"   bar {bar:g} ms: {'met' if ms <= bar else 'missed'}"
    print(f"  {what:28} {ms:9.2f} ms{more}{met}", flush=True)


def table(name: str, arcs: Arcs, rate: float) -> None:
    tails, heads, weights, n = arcs
    bars, numbers = BARS.get(name, {}), weights.astype(np.float32)
    options = {"dtype": "float32", "device": "cuda"}

    def there() -> None:
        E = Elimination.from_arrays(tails, heads, numbers, n, **options)
        print(f"{name}: {n:,} vertices, {len(tails):,} arcs; {E.cost}", flush=True)
        every, room = np.arange(n), cp.empty((n, -(-n // 32) * 32), np.float32)
        E.on_device.batch(every, room, mirrored=True)
        print(f"  {check(room, arcs)}", flush=True)
        ms = device_ms(lambda: E.on_device.batch(every, room, mirrored=True))
        written, pairs = 4 * n * n / (ms * 1e-3), E.cost.sweep * n / (ms * 1e-3)
        rates = f"   {written / 1e9:,.0f} GB/s written, {written / rate:.0%} of a copy; {pairs / 1e12:.2f} T pairs/s"
        told("table, panels there", ms, bars.get("table"), rates)
        told("new weights", wall_ms(lambda: E.update(numbers)), None)
        x = np.random.default_rng(0).integers(0, 1000, n).astype(np.float32)
        rows = np.arange(0, n, n // 7)
        want = (room[cp.asarray(rows), :n] + cp.asarray(x)).min(axis=1).get()
        assert np.allclose(E.matvec(x).get()[rows], want, rtol=1e-5)
        told("a product with a vector", wall_ms(lambda: E.matvec(x)), None)

    there()
    cp.get_default_memory_pool().free_all_blocks()
    cold = wall_ms(lambda: Elimination.from_arrays(tails, heads, numbers, n, **options).to_dense())
    told("host arrays to the table", cold, bars.get("cold"))
    cp.get_default_memory_pool().free_all_blocks()


def million() -> None:
    options: Any = {"dtype": "float32", "device": "cuda", "engine": "elimination"}
    # So that the kernels are compiled, or found on disk.
    shortest_paths(road_like(3000, seed=0), **options).reduce("eccentricity")
    graph = road_like(1_000_000, seed=0)
    begun = time.perf_counter()
    r = shortest_paths(graph, **options)
    print(
        f"road-like 10⁶: {r.plan.seconds:.2f} s predicted, {time.perf_counter() - begun:.2f} s until panels are there"
    )
    rows = np.random.default_rng(0).integers(0, graph.n, 3)
    tails, heads, weights = graph.edges("min_plus", "float64")
    A = csr_array(coo_array((weights, (tails, heads)), shape=(graph.n, graph.n)))
    begun = time.perf_counter()
    found = r.reduce("eccentricity")
    ms = 1e3 * (time.perf_counter() - begun)
    want = dijkstra(A, indices=rows).max(axis=1)
    assert np.allclose(found[rows], want, rtol=1e-5), (found[rows], want)
    told("exact eccentricities", ms, BARS["road-like 10⁶"]["eccentricities"], "   three equal SciPy's")


def hops() -> None:
    import networkx as nx
    from scipy.sparse.csgraph import shortest_path

    A = nx.to_scipy_sparse_array(nx.barabasi_albert_graph(20_000, 8, seed=0), dtype=float, format="csr")
    H = Hops(A, dtype="float32", device="cuda")
    rows = np.arange(0, 20_000, 1999)
    assert (H.to_dense().get()[rows] == shortest_path(A, unweighted=True, indices=rows)).all()
    print("hops, preferential attachment 20000, m = 8: sampled rows equal SciPy's")
    told("all pairs, float32", device_ms(H.to_dense), None)
    options = {"engine": "hops", "dtype": "float32", "device": "cuda"}
    r = shortest_paths(A, **options)
    assert (r.distances.get()[rows] == H.to_dense().get()[rows]).all()
    ms = wall_ms(lambda: shortest_paths(A, **options).distances)
    told("from a SciPy matrix", ms, None, f"   {1e3 * r.plan.seconds:.1f} ms predicted")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--only", default="")
    asked = begin(parser, gpu=True)
    rate = bandwidth()
    print(f"a copy reads and writes {rate / 1e9:,.0f} GB/s", flush=True)
    cp.get_default_memory_pool().free_all_blocks()
    for name, make in graphs(asked.data, asked.quick):
        if asked.only in name:
            table(name, make(), rate)
    if asked.only in "hops":
        hops()
    if asked.only in "road-like 10⁶" and not asked.quick:
        million()


if __name__ == "__main__":
    main()
