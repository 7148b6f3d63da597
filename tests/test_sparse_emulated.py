"""The GPU's kernels of sparse eliminations where there is no GPU, against SciPy."""

from __future__ import annotations

import pickle
import shutil
import sys
from dataclasses import replace
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from unittest import mock

import cases
import emulated
import numpy as np
import pytest
import scipy.sparse as sp
from cases import Case
from scipy.sparse.csgraph import dijkstra
from test_sparse import SHAPES, made, one_walk

import semiring
from apsp import Graph, Result, road_like, shortest_paths
from apsp.answers.result.flowing import Flowing
from apsp.road.engines import factored
from semiring import Elimination, get
from semiring.host.errors import MemoryNeeded, ShapeError, VertexError
from semiring.sparse import flows as swept
from semiring.sparse import paths, structure
from semiring.sparse.hubs import hub_cost

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("g++") is None, reason="g++ compiles the kernels, on Linux"
)


def network(rng):
    """Rooms, all doors open between neighbours; and ways of two steps between a room's places: arcs and n."""
    sizes, ways = [7, 40, 12, 25, 9, 33, 12, 37], 90
    m = sum(sizes)
    rooms = np.split(np.arange(m), np.cumsum(sizes)[:-1])
    inside = [(i, j) for a, b in pairwise(rooms) for i in (*a, *b) for j in (*a, *b) if i != j]
    between = [
        edge
        for k in range(ways)
        for u, v, w in [rng.choice(rooms[k % len(rooms)], 3, replace=False)]
        for edge in ((u, m + 2 * k), (m + 2 * k, m + 1 + 2 * k), (m + 1 + 2 * k, v), (w, m + 2 * k))
    ]
    tails, heads = np.unique(np.concatenate((inside, between, np.flip(between, axis=1))), axis=0).T
    n = m + 2 * ways
    return *rng.permutation(n)[[tails, heads]], rng.integers(1, 1000, len(tails)), n


def closed(name, A):
    """A* in NumPy, one vertex at a time."""
    if name == "plus_times":
        return np.linalg.inv(np.eye(len(A)) - A)
    add, mul = {"max_min": (np.maximum, np.minimum), "max_plus": (np.maximum, np.add)}[name]
    for k in range(len(A)):
        A = add(A, mul(A[:, k : k + 1], A[k]))
    return A


@pytest.mark.parametrize(
    ("name", "dtype", "each"),
    [
        ("min_plus", "float32", 4),
        ("min_plus", "int16", 1),
        ("plus_times", "float64", 2),
        pytest.param("min_plus", "float64", 2, marks=pytest.mark.release),
        pytest.param("max_min", "int32", 2, marks=pytest.mark.release),
        pytest.param("max_plus", "int64", 1, marks=pytest.mark.release),
    ],
)
def test_every_entry_of_a_network_is_scipys_or_numpys(name, dtype, each, emulated_kernels):
    """Roots, levels, regions and a wide root; for all vertices and for some."""
    tails, heads, weights, n = network(np.random.default_rng(0))
    s = semiring.get(name)
    if name == "min_plus":
        want = dijkstra(sp.csr_array((weights.astype(float), (tails, heads)), shape=(n, n)))
    else:
        weights = {"plus_times": weights / 1e5, "max_plus": -weights}.get(name, weights)
        weights = weights.astype(dtype)
        A = np.full((n, n), semiring.algebra.dtypes.zero(s, dtype), np.int64 if name == "max_plus" else dtype)
        if name == "max_plus":
            A[...] = -(1 << 40)
        A[tails, heads] = weights
        np.fill_diagonal(A, 0 if name == "plus_times" else semiring.algebra.dtypes.one(s, dtype))
        want = closed(name, A)
    same = np.testing.assert_array_equal if name != "plus_times" else partial(np.testing.assert_allclose, rtol=1e-10)
    with emulated.installed(emulated_kernels, dense=False):
        from semiring.kernels.cuda.sparse import elimination, sweep

        sizes = {"each": each, "warps": 2, "stack": 8, "program": 1 << 10, "run": 2, "level_warps": 2}
        small = replace(sweep.Shape.of(4, "sm_90"), **sizes)
        sweep.Shape.of = staticmethod(lambda itemsize, arch: small)
        sweep.WIDE = 16
        E = semiring.Elimination.from_arrays(tails, heads, weights, n, s, dtype=dtype, device="cuda")
        tree = E.on_device.tree
        assert len(tree.regions) > 10
        assert any((tiles[:, 2] > 1).any() for tiles in tree.tiles[1:])  # strips that a warp computes together
        same(E.to_dense().get(), want)
        if name != "plus_times":
            assert (E.on_device.diagonal() == semiring.algebra.dtypes.one(s, dtype)).all()
        for some in (np.arange(n)[::-3], np.arange(7)):
            got = E.on_device.batch(some, mirrored=True).get()[:, : len(some)]
            same(got, want[:, some])
            ends = np.repeat(some, 2)[: 2 * n // 3]
            with mock.patch.object(elimination, "PAIRS", 1):  # several batches
                for rows in (some[1:], ends, np.arange(n - 1), some[:0]):
                    same(E.on_device.part(rows, ends).get(), want[rows[:, None], ends])
            if dtype == "float32" or name == "plus_times":
                for part, rows in E.on_device.rows(some, 50):
                    same(rows.get(), want[part])
                same(E.on_device.entries(some, some[::-1]).get(), want[some, some[::-1]])
        if dtype == "float32":
            for columns in (False, True):
                for part, worst in E.on_device.worst(columns=columns):
                    same(worst.get(), (want.T if columns else want)[part].max(axis=1))
        if dtype == "float32" or name == "plus_times":
            x = np.random.default_rng(1).integers(1, 1000, (n, 3)).astype(dtype)
            right, left = (E.on_device.product(x, mirrored=side, nonnegative=True).get() for side in (True, False))
            for q in range(3):
                same(right[:, q], want @ x[:, q] if name == "plus_times" else (want + x[:, q]).min(axis=1))
                same(left[:, q], x[:, q] @ want if name == "plus_times" else (want.T + x[:, q]).min(axis=1))


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_quantities_are_unpacked_as_tables_are_written(dtype, emulated_kernels):
    """Weights above five bits of a quantity; rows of the top, and of regions; no path to the last vertices."""
    tails, heads, weights, n = network(np.random.default_rng(0))
    weights = (weights << 5) + np.random.default_rng(1).integers(0, 2, len(weights))
    D = dijkstra(sp.csr_array((weights.astype(float), (tails, heads)), shape=(n + 2, n + 2)))
    there = np.isfinite(D)
    packed = np.where(there, D, 0).astype(np.int64)
    with emulated.installed(emulated_kernels, dense=False):
        from semiring.kernels.cuda.sparse import sweep

        small = replace(sweep.Shape.of(8, "sm_90"), warps=2, stack=8, program=1 << 10, run=2, level_warps=2)
        with mock.patch.object(sweep.Shape, "of", staticmethod(lambda itemsize, arch: small)):
            E = semiring.Elimination.from_arrays(tails, heads, weights, n + 2, dtype=dtype, device="cuda")
            assert E.on_device.tree.top_columns
            assert len(E.on_device.tree.regions)
            for kind in ("int64", "float64"):
                none = np.iinfo(np.int64).max if kind == "int64" else np.inf
                for shift, bits, want in ((5, 0, packed >> 5), (0, 5, packed & 31), (2, 6, packed >> 2 & 63)):
                    got = E.on_device.dense(word=(shift, bits, np.dtype(kind))).get()
                    assert got.dtype == kind
                    np.testing.assert_array_equal(got, np.where(there, want.astype(kind), none))


#: Semirings and dtypes of labels; of each launch, blocks at most, and steps of a thread.
LABELLED = [
    ("min_plus", "float32", 1 << 14, 1),
    ("min_plus", "int16", 1, 64),
    pytest.param("max_min", "int32", 1 << 14, 4, marks=pytest.mark.release),
    pytest.param("lor_land", "bool", 1, 64, marks=pytest.mark.release),
    pytest.param("max_plus", "int64", 1 << 14, 2, marks=pytest.mark.release),
    pytest.param("max_times", "float32", 1 << 14, 1, marks=pytest.mark.release),
    pytest.param("min_plus", "float64", 1 << 14, 1, marks=pytest.mark.release),
]


@pytest.mark.parametrize(("name", "dtype", "blocks", "steps"), LABELLED)
def test_hub_labels_of_every_shape(name, dtype, blocks, steps, emulated_kernels):
    """Forests, trees, one vertex, none, digraphs that are no strong component; all pairs, and all labels."""
    case = Case(semiring.get(name), np.dtype(dtype))
    with emulated.installed(emulated_kernels, dense=False):
        import cupy

        from semiring.kernels.cuda.sparse import hubs

        hubs.BLOCKS, hubs.STEPS = blocks, steps
        for seed, shape in enumerate(SHAPES):
            E, A = made(case, shape, seed, device="cuda")
            H, expected, every = E.hub_labels(), cases.closure(case, A), np.arange(len(A))
            assert isinstance(H.out, cupy.ndarray)
            assert H.nbytes == hub_cost(E.analysis.structure, E.dtype).gpu_bytes(E.dtype.itemsize)
            found = H.entries(every[:, None], every)
            assert not isinstance(found, cupy.ndarray)
            cases.same(case, found, expected)
            on_host = pickle.loads(pickle.dumps(H))
            cases.same(case, on_host.entries(every[:, None], every), expected)
            known = Elimination.from_arrays(E.analysis.tails, E.analysis.heads, E.weights, E.n, name, dtype=dtype)
            for mine, other in zip((H.out, H.into), (known.hub_labels().out, known.hub_labels().into), strict=True):
                np.testing.assert_array_equal(mine, other)  # of values that no sum rounds


def test_pairs_by_hub_labels_on_the_device(emulated_kernels):
    """Of any integers and shapes; those beyond the vertices are refused, and operands keep their order."""
    tails, heads, weights, n = network(np.random.default_rng(0))
    want = dijkstra(sp.csr_array((weights.astype(float), (tails, heads)), shape=(n, n)))
    i, j = np.random.default_rng(1).integers(0, n, (2, 5, 7))
    arcs, expected = one_walk()
    with emulated.installed(emulated_kernels, dense=False):
        import cupy

        H = Elimination.from_arrays(tails, heads, weights, n, dtype="float32", device="cuda").hub_labels()
        for first, second in (
            (i, j),
            (i.astype(np.uint16), j.astype(np.int32)),
            (i[:1], j),
            (i[0], 5),
            (3, 4),
            ([], []),
        ):
            ends = np.broadcast_arrays(*(np.asarray(x, int) for x in (first, second)))
            np.testing.assert_array_equal(H.entries(first, second), want[tuple(ends)])
            for on_device in ((cupy.asarray(first), second), (first, cupy.asarray(second))):
                found = H.entries(*on_device)
                assert isinstance(found, cupy.ndarray)
                np.testing.assert_array_equal(found, want[tuple(ends)])
        assert H.entry(7, 100) == want[7, 100]
        for bad in (-1, n, 1 << 40):
            with pytest.raises(VertexError, match=rf"entries: vertices must lie in 0 … {n - 1}, got {bad}"):
                H.entries(cupy.asarray(i), bad)
        with pytest.raises(VertexError, match="vertices must be integers, got dtype float64"):
            H.entries(cupy.asarray(i), 0.5)
        with pytest.raises(ShapeError, match=r"of shapes that broadcast, got \(5, 7\) and \(2,\)"):
            H.entries(cupy.asarray(i), [1, 2])
        H = Elimination.from_arrays(*arcs, device="cuda").hub_labels()
        every = np.arange(len(expected))
        np.testing.assert_array_equal(H.entries(every[:, None], every), expected)


def test_results_answer_by_hub_labels_on_the_device(emulated_kernels, tmp_path):
    """CuPy in, CuPy out; after new weights, from a file, of parts, and of vertices with names."""
    graph, n = road_like(400, seed=3), 400
    ends = np.concatenate((graph.rows, graph.cols)), np.concatenate((graph.cols, graph.rows))
    want = dijkstra(sp.csr_array((np.tile(graph.weights.astype(float), 2), ends), shape=(n, n)))
    i, j = np.random.default_rng(0).integers(0, n, (2, 6, 5))
    with emulated.installed(emulated_kernels, dense=False):
        import cupy

        def check(r, want, shift=0):
            assert r.distance(i[0, 0] + shift, j[0, 0] + shift) == want[i[0, 0], j[0, 0]]
            found = r.distance(i + shift, j + shift)
            assert not isinstance(found, cupy.ndarray)
            np.testing.assert_array_equal(found, want[i, j])
            for first, second in ((cupy.asarray(i), cupy.asarray(j)), (cupy.asarray(i), j), (i[0], cupy.asarray(j))):
                found = r.distance(first + shift, second + shift)
                assert isinstance(found, cupy.ndarray)
                np.testing.assert_array_equal(found, want[first, second])

        r = shortest_paths(graph, device="cuda", hub_labels=True)
        assert (r.plan.engine, r.plan.device, r.dtype) == ("elimination", "cuda", np.int32)
        assert isinstance(r.engine.hubs.out, cupy.ndarray)
        check(r, want)
        check(pickle.loads(pickle.dumps(r)), want)
        np.testing.assert_array_equal(r.table([1, 2], [3, 4, 5]), want[1:3, 3:6])
        found = r.nearest([5, 9, 300])
        assert found.source == [[5, 9, 300][k] for k in want[[5, 9, 300]].argmin(axis=0)]
        assert r.nearest([]).source == [None] * n
        twice = r.update(2 * graph.weights)
        assert isinstance(twice.engine.hubs.out, cupy.ndarray)
        check(twice, 2 * want)
        r.save(tmp_path / "r.hubs")
        check(Result.load(tmp_path / "r.hubs"), want)
        part = shortest_paths(graph, device="cuda", sources=[3, 4], limit=400, hub_labels=True)
        found = part.distance(cupy.asarray([3, 4]), 5)
        np.testing.assert_array_equal(found, np.where(want[3:5, 5] <= 400, want[3:5, 5], np.inf))
        named = Graph.from_arrays(
            graph.rows, graph.cols, graph.weights, n=n, labels=list(range(7, n + 7)), directed=False
        )
        check(shortest_paths(named, device="cuda", hub_labels=True), want, 7)
        with pytest.raises(VertexError, match="0 … 399, got 400"):
            r.distance(cupy.asarray([0, 400]), 3)
        apart = shortest_paths([(0, 1, 4), (2, 3, 5)], device="cuda", hub_labels=True)
        np.testing.assert_array_equal(apart.distance(cupy.asarray([0, 0]), cupy.asarray([1, 2])), [4, np.inf])


@pytest.mark.parametrize("negative", [False, True])
def test_many_single_pairs_and_paths_of_a_gpu_are_answered_on_the_host(negative, emulated_kernels, monkeypatch):
    """Negative weights of two-cycles that rounding makes negative, too: of floats that no unit has, with potentials."""
    graph, n, length = road_like(300, seed=4), 300, {}
    for u, v, w in zip(graph.rows.tolist(), graph.cols.tolist(), graph.weights.tolist(), strict=True):
        length[u, v] = length[v, u] = 0 if negative and w % 2 else min(w, length.get((u, v), w))
    h = np.random.default_rng(1).random(n) * 900 * negative
    tails, heads = (np.array(x) for x in zip(*length, strict=True))
    weights = np.array([w + h[u] - h[v] for (u, v), w in length.items()])
    apart = sp.csr_array((np.array(list(length.values()), float), (tails, heads)), shape=(n, n))
    want = dijkstra(apart) + h[:, None] - h
    with emulated.installed(emulated_kernels, dense=False):
        r = shortest_paths(Graph.from_arrays(tails, heads, weights, n=n), device="cuda", engine="elimination")
        assert (r.engine.potential is not None) == negative
        pairs = np.random.default_rng(0).integers(0, n, (40, 2)).tolist()
        for u, v in pairs:
            assert r.distance(u, v) == pytest.approx(want[u, v], abs=1e-9)
        assert r.engine._twin is not None
        for u, v in pairs[:20]:
            path = r.path(u, v)
            assert (path[0], path[-1]) == (u, v)
            assert sum(length[arc] for arc in pairwise(path)) + h[u] - h[v] == pytest.approx(want[u, v], abs=1e-9)
        for (u, v), path in zip(pairs, r.paths(pairs), strict=True):
            assert sum(length[arc] for arc in pairwise(path)) + h[u] - h[v] == pytest.approx(want[u, v], abs=1e-9)
        monkeypatch.setattr(factored.sparse, "Elimination", refused_on_the_host)
        again = pickle.loads(pickle.dumps(r))
        for u, v in pairs:  # memory lacks: the device goes on
            assert again.distance(u, v) == pytest.approx(want[u, v], abs=1e-9)


def refused_on_the_host(*given, device, **options):
    if device == "cpu":
        raise MemoryNeeded("eliminate: no memory.")
    return Elimination(*given, device=device, **options)


def test_hub_labels_that_do_not_fit_are_refused(emulated_kernels, monkeypatch):
    tails, heads, weights, n = network(np.random.default_rng(0))
    with emulated.installed(emulated_kernels, dense=False):
        E = Elimination.from_arrays(tails, heads, weights, n, dtype="float32", device="cuda")
        needed = hub_cost(E.analysis.structure, E.dtype).gpu_bytes(4)
        monkeypatch.setattr("semiring.host.memory.LEAST", 0)
        monkeypatch.setattr("semiring.host.memory.pooled", lambda: 0)
        monkeypatch.setattr("semiring.host.memory.available", lambda device: needed - 1)
        with pytest.raises(MemoryNeeded, match=r"hub_labels: .* must fit on cuda.*Pairs are answered without them"):
            E.hub_labels()


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("min_plus", "float32"), ("min_plus", "int16"), pytest.param("max_plus", "int64", marks=pytest.mark.release)],
)
def test_the_nearest_of_several(name, dtype, emulated_kernels):
    """To them and from them; ties, sources named twice, vertices that none reaches; regions, levels and a wide root."""
    tails, heads, weights, n = network(np.random.default_rng(0))
    weights, away = weights % 7, np.arange(n) < 40  # to which no arc leads
    used = away[tails] | ~away[heads]
    tails, heads, weights = tails[used], heads[used], weights[used] + (dtype == "int16")
    want = dijkstra(sp.csr_array((weights.astype(float), (tails, heads)), shape=(n, n)))
    sources, sign = np.array([100, 7, 200, 7, 300, 350, 5, 100]), 1 if name == "min_plus" else -1
    zero = semiring.algebra.dtypes.zero(semiring.get(name), np.dtype(dtype))
    each = {"float32": 4, "int16": 1, "int64": 1}[dtype]  # kernels that other tests compile
    with emulated.installed(emulated_kernels, dense=False):
        from semiring.kernels.cuda.sparse import sweep

        sizes = {"each": each, "warps": 2, "stack": 8, "program": 1 << 10, "run": 2, "level_warps": 2}
        small = replace(sweep.Shape.of(4, "sm_90"), **sizes)
        sweep.Shape.of = staticmethod(lambda itemsize, arch: small)
        sweep.WIDE = 16
        E = Elimination.from_arrays(tails, heads, sign * weights, n, name, dtype=dtype, device="cuda")
        for mirrored, D in ((False, want[sources]), (True, want.T[sources])):
            which, best = paths.nearest(E, sources, mirrored=mirrored)
            none = np.isinf(D.min(axis=0))
            assert none.any()
            np.testing.assert_array_equal(which, np.where(none, -1, D.argmin(axis=0)))
            np.testing.assert_array_equal(
                best, np.where(none, zero, sign * D.min(axis=0, where=~np.isinf(D), initial=1e4))
            )


def test_a_front_is_gathered_by_several_blocks(emulated_kernels):
    """Each has its rows of it: zeros, arcs, some of one place, and the update of a child. Blocks do not divide m."""
    rng, m, rows, inf = np.random.default_rng(0), 11, [1, 4, 10], np.float32(np.inf)
    with emulated.installed(emulated_kernels, dense=False):
        from semiring.kernels.cuda.sparse import fronts, sweep

        fields = {"width": [2, m], "rows": [len(rows), 0]}
        update = rng.integers(1, 9, (len(rows), len(rows))).astype(np.float32)
        row, column, weight = rng.integers(0, m, 40), rng.integers(0, m, 40), rng.integers(1, 9, 40)
        held = {
            "nodes": sweep.nodes(**{name: np.array(fields.get(name, [0, 0])) for name in sweep.NODE.names}),
            "weights": weight[::-1].astype(np.float32),
            "update": np.array([0, update.size], np.int64),
            "begin": np.array([0, len(rows)], np.int64),
            "updates": update,
        }
        lists = {"child": [-1, 0], "sibling": [-1, -1], "local": rows, "arcs": [0, 0, 40], "arc": range(40)[::-1]}
        lists |= {"arc_row": row, "arc_col": column}
        held |= {name: np.array(given, np.int32) for name, given in lists.items()}
        names = (*fronts._TABLES, "updates", "lower", "upper")
        tables = np.array([held[name].ctypes.data if name in held else 0 for name in names], np.uint64)
        front = np.full((m, 12), -7, np.float32)
        function = fronts.text.functions(semiring.get("min_plus"), np.dtype("float32"), False)["gather_front"]
        function((4,), (32,), (tables.ctypes.data, np.int32(1), front.ctypes.data, np.int32(12)))
    want = np.full((m, m), inf)
    np.minimum.at(want, (row, column), weight)
    want[np.ix_(rows, rows)] = np.minimum(want[np.ix_(rows, rows)], update)
    np.testing.assert_array_equal(front[:, :m], want)
    assert (front[:, m:] == -7).all()


class TestSizesBeyond32Bits:
    """What the host counts, for supernodes that no test could hold."""

    #: Columns and rows of supernodes, parents last: a dense root of 100,000 below which another is as high.
    w, r = np.array([3, 5, 90_001, 100_000]), np.array([8, 0, 100_000, 0])

    def test_places_of_panels(self):
        from semiring.kernels.cuda.sparse import sweep

        at = [0]
        for w, r in zip(self.w.tolist(), self.r.tolist(), strict=True):
            at.append(at[-1] + -(-w // 4) * (w + r + r % 2))
        assert at[3] > 2**31
        assert at[4] > 2**32
        found = sweep.units(self.w.astype(np.int64), self.r.astype(np.int64))
        assert found.tolist() == at
        zeros = {name: np.zeros(5, np.int64) for name in sweep.NODE.names}
        assert sweep.nodes(**zeros | {"panel": found})["panel"].tolist() == at
        assert sweep.NODE.itemsize == 32

    @pytest.mark.parametrize("name", ["first", "begin", "rows", "own"])
    def test_a_number_that_has_no_place_is_refused(self, name):
        from semiring.kernels.cuda.sparse import sweep

        zeros = {field: np.zeros(2, np.int64) for field in sweep.NODE.names}
        most = np.iinfo(sweep.NODE[name]).max
        assert sweep.nodes(**zeros | {name: np.array([most, 0])})[name][0] == most
        with pytest.raises(semiring.ShapeError, match=rf"'{name}'.*got {most + 1:,}.*device='cpu'"):
            sweep.nodes(**zeros | {name: np.array([0, most + 1])})

    @pytest.mark.skipif(sys.maxsize < 2**32, reason="addresses of 64 bits")
    def test_hub_labels_of_more_than_4_gib(self, emulated_kernels):
        """Those of the second vertex begin beyond 2³² entries, two lines before the end."""
        with emulated.installed(emulated_kernels, dense=False):
            from semiring.kernels.cuda.sparse import hubs

            size = (1 << 32) + 256
            out, into = emulated.reserved(size), emulated.reserved(size)
            line = (size - 128) // 64
            places = np.array([[0, 1, 1, 1], [line, 1, 1, 100]], np.uint32)
            tops, ends, found = np.zeros((2, 4), np.int32), np.array([1, 1, 0]), np.zeros(3, bool)
            out[64 * line + 99] = into[64 * line + 99] = out[0] = into[0] = 1
            outside = np.zeros(1, np.int32)
            function = hubs.text.functions(semiring.get("lor_land"), np.dtype(bool), False)["label_pairs"]
            pairs = ends.ctypes.data, ends.ctypes.data, np.int32(8), np.int64(3), places.ctypes.data, tops.ctypes.data
            labels = [x.ctypes.data for x in (out, into, found, outside)]
            arguments = *pairs, np.int32(2), *labels, np.int32(3)
            function((1,), (256,), arguments)
            assert found.all()
            out[64 * line + 99] = 0
            function((1,), (256,), arguments)
            assert found.tolist() == [False, False, True]

    def test_warps_of_a_climb(self):
        from semiring.kernels.cuda.sparse import lanes

        total = np.cumsum([0, 2**31 - 8, 4, 2**30])
        found = lanes.warps_before(total, 1, 3)
        assert found.dtype == np.int32
        assert found.tolist() == [0, 4, 4 + 2**30]
        with pytest.raises(semiring.ShapeError, match=r"fewer than 2³¹ warps, got 2,147,483,644\. Ask for fewer rows"):
            lanes.warps_before(total, 0, 2)

    def test_the_cost_of_three_million_dense_vertices(self):
        """In 64 bits it would be negative, and elimination chosen."""
        from semiring.sparse import structure

        tree = structure.Tree(np.empty(0, np.int32), np.array([0, 3 * 10**6]), np.array([-1]), np.array([0]))
        assert structure.cost(tree, 0).elimination == 27 * 10**18

    @pytest.mark.skipif(sys.maxsize < 2**32, reason="addresses of 64 bits")
    def test_a_front_of_two_thousand_million_units_is_taken_apart(self, emulated_kernels):
        """The last of a million blocks of a root of 100,003 columns: only memory that it touches is there."""
        w, block, threads = 100_003, 1 << 20, 32
        with emulated.installed(emulated_kernels, dense=False):
            from semiring.kernels.cuda.sparse import fronts, sweep

            pitch, strips = -(-w // 16) * 16, -(-w // 4)
            front, lower, upper = (emulated.reserved(size) for size in (w * pitch, 4 * w * strips, 4 * w * strips))
            nodes = sweep.nodes(**{name: np.array([w if name == "width" else 0]) for name in sweep.NODE.names})
            update = np.zeros(1, np.int64)
            held = {"nodes": nodes, "update": update, "lower": lower, "upper": upper}
            names = (*fronts._TABLES, "updates", "lower", "upper")
            tables = np.array([held[name].ctypes.data if name in held else 0 for name in names], np.uint64)
            last = (block - 1) * threads
            mine = [i for start in range(last, w * strips, block * threads) for i in range(start, start + threads)]
            mine = [i for i in mine if i < w * strips]
            assert mine[-threads] > 2**31
            for i in mine[-threads:]:
                k, j = i % w, i // w * 4
                front[k * pitch + j : k * pitch + j + 4] = [1, 0, 1, k % 2]
                front[(j + 1) * pitch + k] = 1
            given = semiring.get("lor_land"), np.dtype(bool), False
            function = fronts.text.functions(*given)["part_front"]
            arguments = tables.ctypes.data, np.int32(0), front.ctypes.data, np.int32(pitch)
            function((block,), (threads,), arguments, first=block - 1)
            for i in mine[-threads:]:
                k, j = i % w, i // w * 4
                assert lower[4 * i : 4 * i + 4].tolist() == [front[k * pitch + j + c] for c in range(4)]
                assert upper[4 * i : 4 * i + 4].tolist() == [front[(j + c) * pitch + k] for c in range(4)]
                assert lower[4 * i] == upper[4 * i + 1] == 1


def test_rows_of_4_gib_are_refused():
    """The kernels count the bytes of a row in 32 bits."""
    from semiring.kernels.cuda.sparse import sweep

    assert sweep._pitch(SimpleNamespace(strides=((1 << 32) - 128, 4), itemsize=4)) == (1 << 30) - 32
    with pytest.raises(semiring.ShapeError, match="less than 4 GiB"):
        sweep._pitch(SimpleNamespace(strides=(1 << 32, 4), itemsize=4))


def of_kind(kind, rng):
    """Arcs and n: streets, a lattice full of ties, one of which parts do not reach others, and a few arcs alone."""
    if kind == "streets":
        graph = road_like(250, seed=1)
        return (
            *np.concatenate(((graph.rows, graph.cols), (graph.cols, graph.rows)), axis=1),
            np.tile(graph.weights, 2),
            250,
        )
    if kind == "rooms":
        return network(rng)
    if kind == "few":
        return np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([1, 2, 3]), 6
    n = 9
    steps = np.array([(n * i + j, n * i + j + d) for i in range(n - 1) for j in range(n - 1) for d in (1, n)])
    if kind in ("both ways", "islands"):
        steps = steps[rng.random(len(steps)) < (0.55 if kind == "islands" else 1)]
        weights = rng.integers(1, 4, len(steps))
        return *np.concatenate((steps, steps[:, ::-1])).T, np.tile(weights, 2), n * n
    both = np.concatenate((steps, steps[:, ::-1]))
    tails, heads = (both if kind != "parts" else both[rng.random(len(both)) < 0.6]).T
    weights = rng.integers(1, 4, len(tails)) * (0.5 if kind == "halves" else 1)
    others = {"long": rng.integers(1 << 20, 1 << 21, len(tails)), "rounded": rng.random(len(tails))}
    return tails, heads, others.get(kind, weights), n * n


def on_gpu(E, tails, heads, weights, shape=None):
    """Sums over best paths, by kernels of some shape."""
    from semiring.kernels.cuda.sparse import flows

    lengths, slack = swept.lengths_of(E.semiring, weights, E.n)
    arcs = structure.arcs(E.analysis.structure, tails.astype(np.int32), heads.astype(np.int32))
    return flows.Flows(E.analysis, arcs, np.ascontiguousarray(lengths[arcs.arc]), slack, shape)


@pytest.mark.parametrize(
    ("kind", "each", "stack", "program", "cuts"),
    [
        ("streets", 2, 8, 1 << 10, (40, 20, 10)),
        ("streets", 1, 2, 256, (30, 6)),  # all is the top
        ("streets", 4, 64, 1 << 15, ()),  # nothing is
        ("lattice", 2, 8, 1 << 10, (40, 20)),
        ("both ways", 2, 8, 1 << 10, (30,)),
        ("islands", 1, 8, 1 << 10, (20, 10)),
        ("parts", 2, 8, 1 << 10, (40, 20, 10)),
        ("halves", 2, 8, 1 << 10, ()),
        ("long", 2, 8, 1 << 10, (40, 12)),  # no float32 holds its distances
        ("rounded", 2, 8, 1 << 10, (40, 12)),
        ("few", 2, 8, 1 << 10, (3,)),
        ("rooms", 2, 8, 1 << 10, (100, 50)),  # wide fronts
    ],
)
def test_the_sweep_run_backwards_is_the_processors(kind, each, stack, program, cuts, emulated_kernels, monkeypatch):
    """Which is compared with NetworkX: from all vertices, and from some to which others than 1 are sent.

    The processor sums all pairs, the GPU half of them where that will do.
    """
    rng = np.random.default_rng(0)
    monkeypatch.setattr(swept, "mutual", lambda *_: False)
    tails, heads, weights, n = of_kind(kind, rng)
    E = semiring.Elimination.from_arrays(tails, heads, weights, n, "min_plus")
    with emulated.installed(emulated_kernels, dense=False):
        from semiring.kernels.cuda.sparse import flows

        shape = flows.Shape(each=each, warps=2, stack=stack, program=program, cuts=cuts)
        for sources, asked in ((np.arange(n), np.ones(n)), (rng.permutation(n)[: n // 2 + 1], rng.random(n))):
            want, got = swept.Flows(E, tails, heads, weights, 1), on_gpu(E, tails, heads, weights, shape)
            done = []
            for sums in (want, got):
                assert sums.suitable
                assert sums.add(sources, asked, done.append)
            assert done[-1] == len(sources)
            assert got.kind == ("double" if kind in ("long", "rounded") else "float")
            np.testing.assert_allclose(got.along(), want.along(), rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(got.ends, want.ends)
        every = swept.Flows(E, tails, heads, weights, 1)
        assert every.add(np.arange(n), np.ones(n), done.append)
        monkeypatch.setattr(flows, "LANES", 64)  # more than one batch, and again the same bits
        parts = on_gpu(E, tails, heads, weights, shape)
        assert parts.add(rng.permutation(n), np.ones(n), done.append)
        np.testing.assert_allclose(parts.along(), every.along(), rtol=1e-12, atol=1e-12)
        assert parts.numbers.told.symmetric == (kind in ("streets", "both ways", "islands"))
        parts, again = (on_gpu(E, tails, heads, weights, shape) for _ in range(2))
        for sums in (parts, again):
            assert sums.add(sources[::-1], asked, done.append)
        np.testing.assert_allclose(parts.along(), want.along(), rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(again.along(), parts.along())


def swept_backwards(kind, shape, monkeypatch, *, half=True):
    """Of a graph of that kind the GPU's sums of all pairs, or half of them, beside the processor's."""
    tails, heads, weights, n = of_kind(kind, np.random.default_rng(0))
    E = semiring.Elimination.from_arrays(tails, heads, weights, n, "min_plus")
    monkeypatch.setattr(swept, "mutual", lambda *_: False)
    if not half:
        from semiring.kernels.cuda.sparse import flows

        monkeypatch.setattr(flows, "mutual", lambda *_: False)
    want, got = swept.Flows(E, tails, heads, weights, 1), on_gpu(E, tails, heads, weights, shape)
    for sums in (want, got):
        assert sums.add(np.arange(n), np.ones(n), lambda _: None)
    return want, got


@pytest.mark.parametrize("kind", ["streets", "lattice", "islands"])
def test_sources_that_a_subtree_cannot_tell_apart_are_one_lane(kind, emulated_kernels, monkeypatch):
    """As many lanes as there are different borders, seen from outside: distances and numbers of best paths by SciPy."""
    with emulated.installed(emulated_kernels, dense=False):
        from semiring.kernels.cuda.sparse import classes
        from semiring.kernels.cuda.sparse.parts import Shape

        reached, reach = [], classes.PartLanes.reach

        def reaching(lower, tier):
            reach(lower, tier)
            if tier:
                cuts = lower.cuts[-1][1]
                reached.extend(zip(cuts["part"], cuts["classes"], cuts["used"] - cuts["classes"], strict=True))

        monkeypatch.setattr(classes.PartLanes, "reach", reaching)
        shape = Shape(stack=8, program=1 << 10, cuts=(40, 10))
        want, got = swept_backwards(kind, shape, monkeypatch, half=False)
        np.testing.assert_allclose(got.along(), want.along(), rtol=1e-12, atol=1e-12)
    tails, heads, weights, n = of_kind(kind, np.random.default_rng(0))
    S, parts = got.S, got.layout.parts
    D = dijkstra(sp.csr_array((weights.astype(float), (tails, heads)), shape=(n, n)))
    paths = np.eye(n)
    for j in np.argsort(D, axis=None).tolist():  # from near to far
        s, v = divmod(j, n)
        if s != v and D[s, v] < np.inf:
            into = heads == v
            tight = D[s, tails[into]] + weights[into] == D[s, v]
            paths[s, v] = paths[s, tails[into][tight]].sum()
    assert len(reached) == len(parts.cuts) > 10
    for cut, (_, found, inside) in zip(parts.cuts, sorted(reached), strict=True):
        border = S.permutation[S.rows[S.begin[cut] : S.begin[cut + 1]]]
        below = S.permutation[S.first[S.leaf[cut]] : S.first[cut + 1]]
        outside = np.setdiff1d(np.arange(n), below)
        if not len(border):
            assert found == 1
            continue
        d, ways = D[np.ix_(outside, border)], paths[np.ix_(outside, border)]
        nearest = d.argmin(axis=1)[:, None]
        least, own = np.take_along_axis(d, nearest, 1), np.take_along_axis(ways, nearest, 1)
        seen = np.where(np.isinf(d), -1.0, d - np.where(np.isinf(least), 0, least)), ways / np.maximum(own, 1)
        assert found == len(np.unique(np.hstack(seen), axis=0))
        assert inside == len(below)
    assert sum(found for _, found, _ in reached) < n * len(reached) / 3


@pytest.mark.parametrize("kind", ["streets", "lattice"])
def test_sources_that_count_several_times_share_what_their_class_owes(kind, emulated_kernels, monkeypatch):
    rng = np.random.default_rng(1)
    tails, heads, weights, n = of_kind(kind, rng)
    E = semiring.Elimination.from_arrays(tails, heads, weights, n, "min_plus")
    times, asked = rng.integers(1, 4, n), rng.random(n)
    want = np.zeros(len(tails))
    for least in (1, 2, 3):
        sums = swept.Flows(E, tails, heads, weights, 1)
        assert sums.add(np.flatnonzero(times >= least), asked, lambda _: None)
        want += sums.along()
    with emulated.installed(emulated_kernels, dense=False):
        from semiring.kernels.cuda.sparse.parts import Shape

        got = on_gpu(E, tails, heads, weights, Shape(stack=8, program=1 << 10, cuts=(40, 10)))
        assert got.add(np.arange(n), asked, lambda _: None, times.astype(float))
        np.testing.assert_allclose(got.along(), want, rtol=1e-12, atol=1e-12)


def test_equal_keys_of_different_borders_make_no_class(emulated_kernels, monkeypatch):
    with emulated.installed(emulated_kernels, dense=False):
        from semiring.kernels.cuda.sparse import flows

        text, given = flows.text._text, "key = out ? key | 1 : 0;"
        assert given in text(flows.Shape(), "float", 0.0)
        monkeypatch.setattr(flows.text, "_text", lambda *of: text(*of).replace(given, "key = out ? 1 + key % 2 : 0;"))
        for kind in ("streets", "lattice"):
            shape = flows.Shape(stack=8, program=1 << 10, cuts=(40, 10))
            want, got = swept_backwards(kind, shape, monkeypatch)
            np.testing.assert_allclose(got.along(), want.along(), rtol=1e-12, atol=1e-12)


def test_sums_on_a_gpu_begin_again_where_sources_need_wider_numbers(emulated_kernels):
    tails, heads, weights = np.arange(40), np.arange(1, 41), np.arange(40) + (1 << 20)
    E = semiring.Elimination.from_arrays(tails, heads, weights, 41, "min_plus")
    with emulated.installed(emulated_kernels, dense=False):
        for sources, kind in ((np.array([38, 39]), "float"), (np.arange(40), "double")):
            F = on_gpu(E, tails, heads, weights)
            assert F.add(sources, np.ones(41), lambda _: None)
            assert F.kind == kind
        assert F.along().tolist() == [k * (41 - k) for k in range(1, 41)]
        assert F.ends.tolist() == list(range(41))


def test_sums_of_many_paths_are_of_doubles(emulated_kernels):
    steps = np.arange(0, 78, 3)  # two ways through each
    tails = np.concatenate((steps, steps, steps + 1, steps + 2))
    heads = np.concatenate((steps + 1, steps + 2, steps + 3, steps + 3))
    weights = np.ones(len(tails), np.int64)
    order = np.roll(np.arange(79), -1)  # the first vertex last
    E = semiring.Elimination.from_arrays(tails, heads, weights, 79, "min_plus", order=order)
    _, below, _, beyond = swept.Flows(E, tails, heads, weights).F
    with emulated.installed(emulated_kernels, dense=False):
        F = on_gpu(E, tails, heads, weights)
        assert F.numbers.told.most == max(below.max(), beyond.max()) > 2**24
        assert F.suitable
        assert F.kind == "double"


@pytest.mark.parametrize("kind", ["rooms", "lattice"])
def test_blocks_that_have_a_front_together(kind, emulated_kernels, monkeypatch):
    with emulated.installed(emulated_kernels, dense=False):
        from semiring.kernels.cuda.sparse import layout
        from semiring.kernels.cuda.sparse.parts import Shape

        monkeypatch.setattr(layout, "THREADS", (32, 32, 64))
        monkeypatch.setattr(layout, "FRONTS", (2, 4))
        for team in (1, 3, 7):
            monkeypatch.setattr(layout, "TEAM", team)
            want, got = swept_backwards(kind, Shape(stack=8, program=1 << 10), monkeypatch)
            np.testing.assert_allclose(got.along(), want.along(), rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(got.ends, want.ends)


def test_batches_of_which_less_fits_than_was_thought(emulated_kernels, monkeypatch):
    with emulated.installed(emulated_kernels, dense=False):
        from semiring.kernels.cuda.sparse import classes
        from semiring.kernels.cuda.sparse.parts import Shape

        reach, refused = classes.PartLanes.reach, []

        def reaching(lower, tier):
            if tier == 2 and lower.known["lanes"][0] > 64:
                refused.append(int(lower.known["lanes"][0]))
                raise MemoryError
            reach(lower, tier)

        monkeypatch.setattr(classes.PartLanes, "reach", reaching)
        for kind in ("streets", "islands"):
            want, got = swept_backwards(kind, Shape(stack=8, program=1 << 10, cuts=(40, 10)), monkeypatch)
            np.testing.assert_allclose(got.along(), want.along(), rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(got.ends, want.ends)
        assert refused == [256, 128, 128]
        monkeypatch.setattr(classes.PartLanes, "reach", lambda *_: (_ for _ in ()).throw(MemoryError))
        with pytest.raises(MemoryNeeded, match=r"flows: sums from 64 sources must fit on cuda, got .* free"):
            swept_backwards("streets", Shape(), monkeypatch)


def test_the_sweep_run_backwards_leaves_to_rows_what_it_cannot_say(emulated_kernels):
    with emulated.installed(emulated_kernels, dense=False):
        tails, heads = np.array([(0, 1), (1, 0), (1, 2), (0, 3), (3, 2)]).T
        cases = np.array([0, 0, 1, 1, 1]), np.array([0.1, 0.1, 0.2, 0.15, 0.15])  # a free cycle; a doubtful tie
        for weights, every in zip(cases, (True, False), strict=True):
            E = semiring.Elimination.from_arrays(tails, heads, weights, 4, "min_plus")
            found = on_gpu(E, tails, heads, weights)
            assert found.suitable != every
            assert every or not found.add(np.arange(4), np.ones(4), lambda _: None)
        assert not found.add(np.arange(4), lambda part: np.ones((4, 4))[part], lambda _: None)


def with_trees(rng, *, both=False):
    """A few arcs among the first vertices, most of them both ways, and trees at these, some by arcs of one way.

    Or all both ways, and of the same weight.
    """
    inner, n = 25, 80
    pairs = rng.integers(0, inner, (50, 2))
    trees = np.array([(rng.integers(0, v), v) for v in range(inner, n)])
    ways = rng.random(len(pairs)) < (2 if both else 0.7), rng.random(len(trees)) < (2 if both else 0.95)
    arcs = np.concatenate((pairs, pairs[ways[0], ::-1], trees, trees[ways[1], ::-1]))
    tails, heads = rng.permutation(n)[np.unique(arcs[arcs[:, 0] != arcs[:, 1]], axis=0)].T
    weights = rng.integers(1, 4, len(tails))
    return tails, heads, np.minimum(tails, heads) % 3 + 1 if both else weights, n


@pytest.mark.parametrize("seed", range(4))
def test_trees_that_hang_at_a_graph_are_not_swept(seed, emulated_kernels, monkeypatch):
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(swept, "mutual", lambda *_: False)
    tails, heads, weights, n = with_trees(rng, both=seed == 3)
    E = semiring.Elimination.from_arrays(tails, heads, weights, n, "min_plus")
    with emulated.installed(emulated_kernels, dense=False):
        device = semiring.Elimination.from_arrays(tails, heads, weights, n, "min_plus", device="cuda")
        some, done = np.sort(rng.choice(n, n // 2, replace=False)), []
        for sources, asked in ((np.arange(n), np.ones(n)), (some, rng.random(n))):
            want, got = swept.Flows(E, tails, heads, weights, 1), swept.flows(device, tails, heads, weights)
            assert len(got.core.removed) > n // 4
            assert got.inner.numbers.told.symmetric == (seed == 3)
            for sums in (want, got):
                assert sums.add(sources, asked, done.append)
            assert done[-1] == len(sources)
            np.testing.assert_allclose(got.along(), want.along(), rtol=1e-12, atol=1e-11)
            np.testing.assert_array_equal(got.ends, want.ends)
        assert not got.add(some, lambda part: np.ones((n, n))[part], done.append)
        # All is swept where lengths are rounded, or an arc of a tree is missing; nothing where both cost nothing.
        leaf = got.core.removed[0]
        without = (tails != leaf) | (heads != got.core.parent[leaf])
        for part, lengths in ((slice(None), rng.random(len(tails))), (without, weights[without])):
            there = swept.flows(device, tails[part], heads[part], lengths)
            assert there.suitable
            assert not hasattr(there, "core")
        weights[(tails == leaf) | (heads == leaf)] = 0
        assert not swept.flows(device.update(weights), tails, heads, weights).suitable


@pytest.mark.parametrize("edges", [[(0, 1)], [(0, 1), (1, 2), (3, 4)]])
def test_nothing_of_a_forest_is_swept(edges, emulated_kernels):
    """Its core has no arcs; 5 has none either."""
    tails, heads = np.concatenate((edges, np.flip(edges, axis=1))).T
    weights, done = np.ones(len(tails)), []
    with emulated.installed(emulated_kernels, dense=False):
        device = semiring.Elimination.from_arrays(tails, heads, weights, 6, "min_plus", device="cuda")
        want, got = swept.Flows(device, tails, heads, weights, 1), swept.flows(device, tails, heads, weights)
        for sums in (want, got):
            assert sums.suitable
            assert sums.add(np.arange(6), np.ones(6), done.append)
        assert done[-1] == 6
        np.testing.assert_array_equal(got.along(), want.along())
        np.testing.assert_array_equal(got.ends, want.ends)


def test_betweenness_on_a_gpu_needs_no_rows(emulated_kernels, monkeypatch):
    graph = road_like(120, seed=2)
    want = shortest_paths(graph, engine="elimination", device="cpu").edge_betweenness()
    monkeypatch.setattr(swept, "worthwhile", lambda *_: True)
    monkeypatch.delattr(Flowing, "_summed")
    with emulated.installed(emulated_kernels, dense=False):
        r = shortest_paths(graph, engine="elimination", device="cuda")
        np.testing.assert_allclose(r.edge_betweenness(), want, rtol=1e-12)


def test_starts_of_rows_by_sums_in_a_chain_of_blocks(emulated_kernels):
    rng = np.random.default_rng(0)
    with emulated.installed(emulated_kernels):
        from semiring.kernels.cuda.csr import backend as csr

        begin = csr.spgemm_text.functions(get("min_plus"), np.dtype("float32"))["begin_rows"]
        for rows in (1, 11, 12, 1000, 11264, 11265, 50000):
            counts, blocks = rng.integers(0, 9, rows).astype(np.int32), rows // (csr.SCANNED * csr.SCANNERS) + 1
            starts, found = (emulated.asarray(np.full(n, x)) for n, x in ((rows + 1, -7), (3 + blocks, 0)))
            narrow = emulated.asarray(np.full(rows + 1, -7, np.int32))
            arguments = emulated.asarray(counts), np.int32(rows), starts, narrow, found
            begin((blocks,), (csr.SCANNERS,), arguments, shared_mem=8 * csr.SCANNED * csr.SCANNERS)
            expected = [0]
            for count in counts.tolist():
                expected.append(expected[-1] + count)
            assert np.asarray(starts).tolist() == np.asarray(narrow).tolist() == expected
            assert np.asarray(found)[:2].tolist() == [expected[-1], counts.max()]
