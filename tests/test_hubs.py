"""Hub labels against uncompiled loops and SciPy: semirings, dtypes, shapes of graphs; threads, files, refusals."""

from __future__ import annotations

import math
import os
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from types import SimpleNamespace

import cases
import numpy as np
import people
import processes
import pytest
from cases import CASES, USER_CASES, Case, same
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from test_sparse import SHAPES, made, matrix_of

from apsp import Graph, Result, plan, road_like, shortest_paths
from apsp.io.formats import read
from semiring import Elimination, get
from semiring.host.errors import AlgebraError, FormatError, MemoryNeeded, ShapeError, VertexError
from semiring.sparse import HubLabels, hubs

ALL = [case for case in (*CASES, *USER_CASES) if case.semiring.idempotent]


def rng(seed=0):
    return np.random.default_rng(seed)


def table(H: HubLabels) -> np.ndarray:
    """All pairs at once."""
    every = np.arange(H.n)
    return H.entries(every[:, None], every)


@pytest.mark.parametrize("case", cases.few(ALL, cases.TRAITS))
def test_all_pairs_of_every_shape(case):
    for seed, name in enumerate(SHAPES):
        E, A = made(case, name, seed)
        H, expected = E.hub_labels(), cases.closure(case, A)
        same(case, table(H), expected)
        for i, j in ((k, (5 * k + 3) % len(A)) for k in range(0, len(A), 4)):
            found = H.entry(i, j)
            assert found.dtype == case.dtype
            same(case, np.array([found]), expected[i, j : j + 1])


def test_pairs_of_two_components_without_vector_code():
    """They share no column: nothing is read, where a vector is one entry."""
    case = next(case for case in ALL if str(case) == "colours-int64")
    for seed in range(8):
        E, A = made(case, "two components", seed)
        same(case, table(E.hub_labels()), cases.closure(case, A))


@pytest.mark.parametrize("case", cases.few(ALL, cases.TRAITS))
def test_labels_are_the_distances_to_and_from_the_columns_of_the_path(case):
    """They begin at the root; each ends with the supernode of its vertex, and up to a cache line no walk follows."""
    E, A = made(case, "random, reducible")
    S, H, expected = E.analysis.structure, E.hub_labels(), cases.closure(case, A)
    for v in range(E.n):
        s, columns = S.owner[S.position[v]], []
        while s >= 0:
            columns = [*range(S.first[s], S.first[s + 1]), *columns]
            s = S.parent[s]
        path, (start, _, _, length) = S.permutation[columns], H.places[v]
        assert length == len(path)
        same(case, H.out[start : start + length], expected[v, path])
        same(case, H.into[start : start + length], expected[path, v])
        line = 64 // case.dtype.itemsize
        for labels in (H.out, H.into):
            assert (labels[start + length : start + -(-length // line) * line] == case.zero).all()


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
def test_integers_saturate_and_never_wrap(dtype):
    case, n, top = Case(get("min_plus"), np.dtype(dtype)), 9, np.iinfo(dtype).max
    arcs = np.stack((np.arange(n - 1), np.arange(1, n)))
    for w in (top // 2, top - 1, top // 3):
        weights = np.full(n - 1, w, dtype)
        for _ in range(2):
            expected = cases.closure(case, matrix_of(case, n, arcs, weights))
            same(case, table(Elimination.from_arrays(*arcs, weights, n).hub_labels()), expected)
            weights[::2] = -5


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_negative_arcs_zero_arcs_and_none(dtype):
    """Lengths by Johnson's potentials: of either sign, many of them 0, some infinite."""
    n, zero = 70, np.inf if dtype[0] == "f" else np.iinfo(dtype).max
    for seed in range(6):
        r = rng(seed)
        arcs, h = np.stack(np.nonzero(r.random((n, n)) < 0.05)), r.integers(0, 100, n)
        weights = (r.integers(0, 4, arcs.shape[1]) + h[arcs[0]] - h[arcs[1]]).astype(dtype)
        weights[r.random(len(weights)) < 0.1] = zero
        A = cases.lengths(n, arcs, np.where(weights == zero, math.inf, weights))
        D = table(Elimination.from_arrays(*arcs, weights, n).hub_labels())
        np.testing.assert_array_equal(D, cases.in_dtype(cases.floyd_warshall(A), dtype))


@pytest.fixture(scope="module")
def roads():
    """A graph of many branches, n² distances by SciPy."""
    r, n = rng(11), 700
    tree = np.stack((np.arange(1, n), r.integers(0, np.arange(1, n) // 3 + 1)))
    arcs = np.concatenate((tree, tree[::-1], r.integers(0, n, (2, 60))), axis=1)
    arcs = np.unique(arcs[:, arcs[0] != arcs[1]], axis=1)
    weights = r.integers(1, 50, arcs.shape[1])
    return n, arcs, weights, dijkstra(csr_array((weights, tuple(arcs)), shape=(n, n)))


#: `hubs.CALL`, threads and dtype. With the shortest calls a case takes a second: two of these, not six.
CALLS = [
    pytest.param(
        *case, marks=[pytest.mark.release] if case[0] == 1 and case[1:] not in ((2, "int16"), (5, "float32")) else []
    )
    for case in product((1, 300, None), (1, 2, 5), ("int16", "float32"))
]


@pytest.mark.parametrize(("call", "threads", "dtype"), CALLS)
def test_subtrees_on_threads_in_calls_of_any_length_make_the_same_labels(roads, dtype, threads, call, monkeypatch):
    n, arcs, weights, expected = roads
    E = Elimination.from_arrays(*arcs, weights, n, dtype=dtype, threads=threads)
    once = Elimination.from_arrays(*arcs, weights, n, dtype=dtype, threads=1).hub_labels()
    monkeypatch.setattr(hubs, "OVERHEAD", 1)
    monkeypatch.setattr(hubs, "FEW", 1)
    if call:
        monkeypatch.setattr(hubs, "CALL", call)
    took, run = [], hubs.run
    monkeypatch.setattr(hubs, "run", lambda job, calls, threads: (took.append(len(calls)), run(job, calls, threads)))
    H = E.hub_labels()
    assert (took[-1] > 1) == (threads > 1)
    np.testing.assert_array_equal(H.out, once.out)
    np.testing.assert_array_equal(H.into, once.into)
    np.testing.assert_array_equal(table(H), expected)


def test_pairs_of_every_shape(roads):
    n, arcs, weights, expected = roads
    H = Elimination.from_arrays(*arcs, weights, n, dtype="float64").hub_labels()
    i, j = rng(1).integers(0, n, (2, 4, 6))
    np.testing.assert_array_equal(H.entries(i, j), expected[i, j])
    np.testing.assert_array_equal(H.entries(i.T, j.T), expected[i, j].T)
    np.testing.assert_array_equal(H.entries(i[::2, ::3], j[::2, ::3]), expected[i[::2, ::3], j[::2, ::3]])
    np.testing.assert_array_equal(H.entries(i.astype(np.uint8), 3), expected[i.astype(np.uint8), 3])
    assert H.entries(5, 6).shape == ()
    assert H.entries(5, 6) == expected[5, 6]
    assert H.entries([], []).shape == (0,)
    assert H.entry(np.int16(5), np.uint8(6)) == expected[5, 6]


@pytest.mark.parametrize("dtype", ["int16", "float64"])
def test_pairs_whose_sources_recur_in_any_order(roads, dtype):
    n, arcs, weights, expected = roads
    H = Elimination.from_arrays(*arcs, weights, n, dtype=dtype, threads=2).hub_labels()
    for seed, count in enumerate((2500, 2900, 12000)):
        i, j = rng(seed).integers(0, n, (2, count))
        np.testing.assert_array_equal(H.entries(i, j), expected[i, j])


@pytest.mark.parametrize("name", ["min_plus-int16", "min_plus-float64", "lor_land-bool"])
def test_labels_are_pickled_and_mapped(name, tmp_path):
    case = next(case for case in ALL if str(case) == name)
    E, A = made(case, "random, reducible", 3)
    H, expected = E.hub_labels(), cases.closure(case, A)
    same(case, table(pickle.loads(pickle.dumps(H))), expected)
    for part in ("out", "into"):
        np.save(tmp_path / f"{part}.npy", getattr(H, part))
    out, into = (np.load(tmp_path / f"{part}.npy", mmap_mode="r") for part in ("out", "into"))
    same(case, table(HubLabels(case.semiring, out, into, H.places, H.base)), expected)


def test_many_threads_ask_for_pairs_at_once(roads):
    n, arcs, weights, expected = roads
    H = Elimination.from_arrays(*arcs, weights, n, threads=2).hub_labels()

    def ask(seed):
        i, j = rng(seed).integers(0, n, (2, 3000))
        single = [H.entry(u, v) for u, v in zip(i.tolist(), j.tolist(), strict=True)]
        return (np.array(single) == expected[i, j]).all() and (H.entries(i, j) == expected[i, j]).all()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(16)))


def test_what_labels_take_is_counted_and_refused_before_any_work(roads, monkeypatch):
    n, arcs, weights, _ = roads
    E = Elimination.from_arrays(*arcs, weights, n, dtype="float32", threads=2)
    S, H = E.analysis.structure, E.hub_labels()
    cost = hubs.hub_cost(S, E.dtype)
    assert cost.bytes(4, 0) == H.nbytes
    w, r = np.diff(S.first), np.diff(S.begin)
    assert cost.pairs == sum(w * r * (2 * S.base + w))
    assert cost.entries == 2 * sum(-(-int(b + k) // 16) * 16 * int(k) for b, k in zip(S.base, w, strict=True))
    monkeypatch.setattr("semiring.host.memory.LEAST", 0)
    monkeypatch.setattr("semiring.host.memory.available", lambda device: cost.bytes(4, 2) - 1)
    monkeypatch.setattr(hubs, "aligned", None)  # none is taken
    with pytest.raises(MemoryNeeded, match=r"hub_labels: .* must fit on cpu.*Pairs are answered without them"):
        E.hub_labels()


@pytest.mark.parametrize("name", ["plus_times", "log_plus"])
def test_sums_over_several_walks_are_refused(name):
    E = Elimination.from_arrays([0, 1], [1, 2], [-0.5, -0.25] if name == "log_plus" else [0.5, 0.25], 3, name)
    with pytest.raises(AlgebraError, match=rf"hub_labels: hub labels need a ⊕ .* of {name}: .*without them"):
        E.hub_labels()


def test_errors_name_what_is_wrong():
    E = Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
    H = E.hub_labels()
    assert repr(H).startswith("<HubLabels of 3 vertices over min_plus, int64, ")
    for bad in ((0, 3), (-1, 0)):
        with pytest.raises(VertexError, match=r"entry: a vertex must lie in 0 … 2"):
            H.entry(*bad)
        with pytest.raises(VertexError, match=r"entries: vertices must lie in 0 … 2"):
            H.entries(*bad)
    with pytest.raises(VertexError, match=r"entry: a vertex must be an integer below 3, got 0\.5"):
        H.entry(0.5, 1)
    with pytest.raises(VertexError, match=r"entries: vertices must be integers, got dtype float64"):
        H.entries([0.5], 1)
    with pytest.raises(ShapeError, match=r"entries: i and j .*\(2,\) and \(3,\)"):
        H.entries([0, 1], [0, 1, 2])


# Of graphs


def by_scipy(graph: Graph, weights=None) -> np.ndarray:
    """All distances of a graph whose edges lead both ways, and weigh more than 0."""
    ends, w = (
        np.concatenate(x) for x in ((graph.rows, graph.cols), (graph.weights if weights is None else weights,) * 2)
    )
    return dijkstra(csr_array((w, (ends, np.concatenate((graph.cols, graph.rows)))), shape=(graph.n, graph.n)))


@pytest.fixture(scope="module")
def streets():
    graph = road_like(400, seed=3)
    return graph, by_scipy(graph)


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("dtype", [None, "float64"])
def test_a_result_answers_pairs_by_labels(streets, at_once, dtype, monkeypatch):
    graph, expected = streets
    r = shortest_paths(graph, engine="elimination", dtype=dtype, hub_labels=at_once)
    assert (r.engine.hubs is not None) == at_once
    assert r.hub_labels() is r
    nothing = SimpleNamespace(cost=SimpleNamespace(sweep=0, climb=0))
    monkeypatch.setattr(r.engine, "elimination", nothing)  # labels alone are asked
    monkeypatch.setattr(type(r.engine), "_pairs", (r.engine.hubs, 0))
    i, j = rng(5).integers(0, graph.n, (2, 30))
    names = np.array(graph.labels)
    for u, v in zip(i.tolist(), j.tolist(), strict=True):
        found = r.distance(graph.labels[u], graph.labels[v])
        assert found == expected[u, v]
        assert type(found) is (int if r.dtype.kind == "i" else float)
    np.testing.assert_array_equal(r.distance(names[i], names[j]), expected[i, j])
    np.testing.assert_array_equal(r.distance(names[i[:4, None]], names[j]), expected[i[:4, None], j])
    np.testing.assert_array_equal(r.table(names[i[:9]], names[j]), expected[np.ix_(i[:9], j)])


def test_no_walk_is_inf_and_names_are_any():
    """Two components, no strong one; whatever vertices are called."""
    r = shortest_paths([("b", (1, 2), 4), ((1, 2), (None,), 0), ("x", 7.5, 1)], hub_labels=True)
    assert (r.distance("b", (None,)), r.distance((None,), "b"), r.distance("b", 7.5)) == (4, math.inf, math.inf)
    np.testing.assert_array_equal(r.distance(["b", "x"], [7.5, "x"]), [math.inf, 0])
    with pytest.raises(VertexError, match="'y'"):
        r.distance("y", "b")


def test_rows_are_swept_and_many_pairs_of_few_sources_come_from_rows(streets, monkeypatch):
    graph, expected = streets
    r = shortest_paths(graph, hub_labels=True)
    monkeypatch.setattr(HubLabels, "entries", None)  # would take longer
    np.testing.assert_array_equal(np.asarray(r), expected)
    u, vs = np.full(50_000, 7), rng(1).integers(0, graph.n, 50_000)
    np.testing.assert_array_equal(r.distance(u, vs), expected[7, vs])


def test_parts_within_limits_use_labels(streets):
    graph, expected = streets
    limit = float(np.median(expected))
    r = shortest_paths(graph, sources=[5, 80, 3], targets=range(100, 200), limit=limit, hub_labels=True)
    assert r.engine.all_pairs.hubs is not None
    within = np.where(expected <= limit, expected, math.inf)
    np.testing.assert_array_equal(r.distance([80, 3], [101, 150]), within[[80, 3], [101, 150]])
    assert r.distance(5, 199) == within[5, 199]


def test_new_weights_bring_new_labels(streets):
    graph, _ = streets
    weights = rng(8).integers(1, 99, len(graph.rows))
    before, names = shortest_paths(graph, hub_labels=True), np.arange(graph.n)
    for callback in (None, lambda *_: None):  # by the engine that is there, or by the road
        r = before.update(weights, callback=callback)
        assert r.engine.hubs is not None
        np.testing.assert_array_equal(r.distance(names, names[::-1]), by_scipy(graph, weights)[names, names[::-1]])
    assert shortest_paths(graph, engine="elimination").update(weights).engine.hubs is None


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
def test_pickled_labels_of_negative_arcs_answer_as_before(dtype):
    """Steps for lengths that are none would take −7 for a large number."""
    walk = np.array([5, -7, 1, -1])
    H = Elimination.from_arrays([0, 1, 2, 3], [1, 2, 3, 4], walk, 5, dtype=dtype).hub_labels()
    top = np.iinfo(dtype).max
    expected = [[walk[i:j].sum() if i <= j else top for j in range(5)] for i in range(5)]
    np.testing.assert_array_equal(table(pickle.loads(pickle.dumps(H))), expected)


def test_labels_that_do_not_fit_on_their_disk_are_refused_before_any_is_written(streets, tmp_path, monkeypatch):
    r = shortest_paths(streets[0], hub_labels=True)
    size = 2 * r.engine.hubs.out.nbytes
    monkeypatch.setattr("semiring.stores.tiles.folder.shutil.disk_usage", lambda place: SimpleNamespace(free=size))
    with pytest.raises(OSError, match="must fit on its disk"):
        r.save(tmp_path / "s.hubs")  # the tables take some, too
    assert not list(tmp_path.iterdir())


def test_labels_of_a_pickled_result_are_made_again(streets):
    graph, expected = streets
    again = pickle.loads(pickle.dumps(shortest_paths(graph, hub_labels=True)))
    assert again.engine.hubs is not None
    assert again.distance(4, 300) == expected[4, 300]


def test_loaded_labels_are_pickled_again_and_again(tmp_path):
    """An unpickled engine has the elimination, but not the store that the first one was loaded from."""
    shortest_paths([("A", "B", 4), ("B", "C", 7)], hub_labels=True).save(tmp_path / "r.hubs")
    r = Result.load(tmp_path / "r.hubs")
    for _ in range(3):
        r = pickle.loads(pickle.dumps(r))
        assert (r.distance("A", "C"), r.update({("A", "B"): 5}).distance("A", "C")) == (11, 12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cycles_that_rounding_makes_negative(dtype):
    """Weights p(v) − p(u), rounded: labels are those of Johnson's weights, distances p(v) − p(u)."""
    n, r = 90, rng(4)
    p = r.random(n) * 1000
    tails, heads = np.stack(np.nonzero(r.random((n, n)) < 0.08))
    weights = (p[heads] - p[tails]).astype(dtype)
    found = shortest_paths(Graph.from_arrays(tails, heads, weights, n=n), hub_labels=True, dtype=dtype)
    assert found.engine.potential is not None
    i, j = r.integers(0, n, (2, 200))
    expected = p[j] - p[i]
    tolerance = 4 * n * np.finfo(dtype).eps * 1000
    np.testing.assert_allclose(found.distance(i, j), expected, rtol=0, atol=tolerance)
    assert found.distance(i[0], j[0]) == found.distance(i, j)[0]


def test_the_plan_has_what_labels_take(streets, monkeypatch):
    graph, _ = streets
    plans = [plan(graph, engine="elimination", hub_labels=labels) for labels in (False, False, True)]
    bare, labelled = plans[1:]  # the structure was found for the first
    assert "hub labels of" not in str(bare)
    assert "hub labels of" in str(labelled)
    made = shortest_paths(graph, hub_labels=True, threads=1)
    assert made.plan.reason.endswith(f"hub labels of {made.engine.hubs.nbytes / 1024:.1f} KiB")
    assert labelled.beside_bytes > bare.beside_bytes + made.engine.hubs.nbytes
    assert labelled.seconds > bare.seconds
    assert made.engine.nbytes == made.engine.elimination.nbytes + made.engine.hubs.nbytes
    monkeypatch.setattr("semiring.host.memory.LEAST", 0)
    monkeypatch.setattr("apsp.road.road.require", lambda needed, *_, **__: needed == made.plan.beside_bytes and 1 / 0)
    with pytest.raises(ZeroDivisionError):
        shortest_paths(graph, hub_labels=True, threads=1)


def test_results_without_an_elimination_say_what_to_do(streets):
    graph, expected = streets
    table = shortest_paths(graph, engine="dense")
    assert table.hub_labels().distance(3, 4) == expected[3, 4]
    with pytest.raises(ValueError, match=r"hub_labels: .* got engine='searches'.*hub_labels=True"):
        shortest_paths(graph, engine="searches").hub_labels()
    for ask in (shortest_paths, plan):
        with pytest.raises(ValueError, match=r"hub_labels=True comes with engine='elimination'.*got engine='dense'"):
            ask(graph, engine="dense", hub_labels=True)
    with pytest.raises(AlgebraError, match=r"shortest_paths: hub labels need a ⊕ .*logaddexp of log_plus"):
        shortest_paths([("A", "B", -1.0)], "log_plus", hub_labels=True)


def test_a_server_asks_from_eight_threads(streets):
    graph, expected = streets
    r = shortest_paths(graph, hub_labels=True)

    def ask(seed):
        i, j = rng(seed).integers(0, graph.n, (2, 400)).tolist()
        return all(r.distance(u, v) == expected[u, v] for u, v in zip(i, j, strict=True))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(24)))


# On disk


@pytest.mark.parametrize(("algebra", "dtype"), [("min_plus", None), ("max_min", "float64"), ("reliability", "float32")])
def test_saved_labels_answer_pairs_without_an_elimination(streets, tmp_path, algebra, dtype, monkeypatch):
    graph, expected = streets
    if algebra == "reliability":
        graph = Graph.from_arrays(graph.rows, graph.cols, 1 - 1e-3 / graph.weights, n=graph.n, directed=False)
    r = shortest_paths(graph, algebra, dtype=dtype, hub_labels=True)
    r.save(tmp_path / "s.hubs")
    assert sorted(file.name for file in (tmp_path / "s.hubs").iterdir()) == ["into.npy", "out.npy", "result.npz"]
    again = Result.load(tmp_path / "s.hubs")
    assert isinstance(again.engine.hubs.out, np.memmap)
    assert (again.dtype, again.semiring, again.plan, again.labels) == (r.dtype, r.semiring, r.plan, r.labels)
    u, v = rng(2).integers(0, graph.n, (2, 300))
    with monkeypatch.context() as m:
        m.setattr("apsp.road.engines.elimination.sparse.Elimination", None)
        pairs, table = again.distance(u, v), again.table(u[:20], v[:30])
        single = [again.distance(int(i), int(j)) for i, j in zip(u[:9], v[:9], strict=True)]
    np.testing.assert_array_equal(pairs, r.distance(u, v))
    np.testing.assert_array_equal(single, pairs[:9])
    np.testing.assert_array_equal(table, r.table(u[:20], v[:30]))
    if algebra == "min_plus":
        np.testing.assert_array_equal(pairs, expected[u, v])
    np.testing.assert_array_equal(np.asarray(again), np.asarray(r))
    assert again.path(3, 200) == r.path(3, 200)
    np.testing.assert_array_equal(again.reduce(np.maximum), r.reduce(np.maximum))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(again)).distance(u, v), pairs)
    again.save(tmp_path / "s.hubs")  # in place of what is mapped
    np.testing.assert_array_equal(Result.load(tmp_path / "s.hubs").distance(u, v), pairs)
    np.testing.assert_array_equal(again.distance(u, v), pairs)


def test_saved_labels_take_new_weights(streets, tmp_path):
    graph, _ = streets
    shortest_paths(graph, hub_labels=True).save(tmp_path / "s.hubs")
    weights = rng(8).integers(1, 99, len(graph.rows))
    r = Result.load(tmp_path / "s.hubs").update(weights)
    assert r.engine.hubs is not None
    names = np.arange(graph.n)
    np.testing.assert_array_equal(r.distance(names, names[::-1]), by_scipy(graph, weights)[names, names[::-1]])


def test_only_labels_of_all_pairs_are_saved(streets, tmp_path):
    graph, _ = streets
    place = tmp_path / "s.hubs"
    for r in (
        shortest_paths(graph, engine="dense"),
        shortest_paths(graph, sources=[3, 4], hub_labels=True),
        shortest_paths(graph, limit=9, hub_labels=True),
    ):
        with pytest.raises(ValueError, match=r"save: \"\.hubs\" must be given all pairs of an elimination"):
            r.save(place)
    with pytest.raises(ValueError, match=r"save: .* must be given a result with hub labels, got a table"):
        shortest_paths(graph).save_predecessors(place)
    place.mkdir()
    (place / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="hub labels that `save` wrote"):
        shortest_paths(graph, hub_labels=True).save(place)
    assert (place / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("damage", ["cut", "missing", "dtype", "start", "length", "number", "above", "base"])
def test_damaged_labels_are_refused(streets, tmp_path, damage):
    graph, _ = streets
    shortest_paths(graph, hub_labels=True).save(tmp_path / "s.hubs")
    file, archive = (tmp_path / "s.hubs" / name for name in ("into.npy", "result.npz"))
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-100])
    elif damage == "missing":
        file.unlink()
    elif damage == "dtype":
        np.save(file, np.load(file).view(np.float32))
    else:
        with np.load(archive) as found:
            parts = dict(found)
        if damage == "base":
            parts["hub_base"] = parts["hub_base"][:-1]
        else:
            column = ["start", "number", "above", "length"].index(damage)
            parts["hub_places"][7, column] = 1 << 40
        np.savez(archive, **parts)
    with pytest.raises(FileNotFoundError if damage == "missing" else FormatError):
        Result.load(tmp_path / "s.hubs")


def test_numbers_of_the_tree_that_contradict_each_other_are_refused():
    H = Elimination.from_arrays([0, 1, 2, 3], [1, 2, 3, 4], [5, 7, 1, 1], 5).hub_labels()
    lowest = int(H.places[0, 1] & -H.places[0, 1])
    for change in ({1: 0}, {2: 0}, {1: 6, 2: 8}, {0: -1}, {3: 0}, {2: -lowest}, {1: -lowest, 2: -lowest}):
        places = H.places.copy()
        for column, value in change.items():
            places[0, column] = value
        with pytest.raises(ValueError, match="must lie within the labels, and numbers in the tree"):
            HubLabels.of_arrays(H.semiring, H.out, H.into, places, H.base)
    for below in (-1, -(2**63)):
        with pytest.raises(ValueError, match="must lie within the labels, and numbers in the tree"):
            HubLabels.of_arrays(H.semiring, H.out, H.into, H.places, np.append(H.base[:-1], below))
    with pytest.raises(ValueError, match="must lie within the labels"):
        HubLabels.of_arrays(H.semiring, H.out[:-1], H.into[:-1], H.places, H.base)  # vectors are read to their ends
    for arrays in ((H.out, H.into[1:], H.places, H.base), (H.out.astype(bool), H.into.astype(bool), H.places, H.base)):
        with pytest.raises(ValueError, match="labels must be of one length, in a dtype of min_plus"):
            HubLabels.of_arrays(H.semiring, *arrays)
    for places, base in ((H.places[:, :3], H.base), (H.places, H.base.astype(np.int32)), (H.places, H.base[None])):
        with pytest.raises(ValueError, match=r"places must be of shape \(n, 4\)"):
            HubLabels.of_arrays(H.semiring, H.out, H.into, places, base)
    with pytest.raises(AlgebraError, match=r"HubLabels.of_arrays: hub labels need a ⊕ .*logaddexp of log_plus"):
        HubLabels.of_arrays(get("log_plus"), H.out, H.into, H.places, H.base)


def laid_out(x: np.ndarray) -> list[np.ndarray]:
    """An array in the other order of bytes, apart from its neighbours, in columns, at an odd address."""
    odd = np.frombuffer(b" " + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape)
    return [x.astype(x.dtype.newbyteorder("S")), np.repeat(x, 2, axis=-1)[..., ::2], x.T.copy().T, odd]


@pytest.mark.parametrize("dtype", ["int16", "int32", "float64"])
def test_labels_of_any_order_of_bytes_and_any_strides_are_right(streets, dtype):
    graph, expected = streets
    H = shortest_paths(graph, hub_labels=True, dtype=dtype).engine.hubs
    for arrays in zip(*(laid_out(x) for x in (H.out, H.into, H.places, H.base)), strict=True):
        again = HubLabels.of_arrays(H.semiring, *arrays)
        np.testing.assert_array_equal(table(again), expected)
        assert again.entry(4, 300) == expected[4, 300]


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_labels_are_complete_or_not_there_when_their_writer_is_killed(streets, tmp_path):
    place = tmp_path / "s.hubs"
    child = processes.start(f"""
import numpy as np
from apsp import road_like, shortest_paths
r = shortest_paths(road_like(400, seed=3), hub_labels=True)
while True:
    r.save({str(place)!r})
    print("saved", flush=True)
""")
    processes.wait_for(child, "saved")
    time.sleep(0.05)
    child.kill()
    processes.finish(child)
    graph, expected = streets
    names = np.arange(graph.n)
    np.testing.assert_array_equal(Result.load(place).distance(names, names[::-1]), expected[names, names[::-1]])


# Of a city


def lengths(graph) -> csr_array:
    arcs = {}
    for u, v, w in zip(graph.rows.tolist(), graph.cols.tolist(), graph.weights.tolist(), strict=True):
        arcs[u, v] = min(w, arcs.get((u, v), w))
    return csr_array((list(arcs.values()), tuple(zip(*arcs, strict=True))), shape=(graph.n, graph.n))


@pytest.fixture(scope="module")
def city():
    """The roads of a city, and all its distances by SciPy: of its lengths, and where every eighth arc has length 1."""
    A = lengths(read(people.DIMACS[-1]))
    few = A.copy()
    few.data = (np.arange(A.nnz) % 8 == 0).astype(float)
    few.data[few.data == 0] = 1e-9  # SciPy drops zeros; 10⁴ of these are nothing
    return A, dijkstra(A), few, np.round(dijkstra(few))


CITY = [case for case in CASES if case.semiring.idempotent]


@pytest.mark.parametrize("case", cases.few(CITY, cases.TRAITS))
def test_all_pairs_of_a_city(case, city):
    A, D, few, ones = city
    s, tails, heads = case.semiring, *np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))[None], A.indices
    weights, sources = A.data, np.arange(A.shape[0])
    if s.name in ("min_plus", "max_plus"):
        sign = 1 if s.name == "min_plus" else -1
        weights, expected = (
            (sign * A.data, sign * D) if case.dtype.name != "int16" else (sign * np.round(few.data), sign * ones)
        )
    elif s.mul.simd == "mul":  # powers of two, which no product rounds
        base = 2.0 if s.add.selects == "least" else 0.5
        weights, expected = base ** np.round(few.data), base**ones
    else:  # of bottlenecks, which threshold still connects them
        sources = rng(3).choice(A.shape[0], 40, replace=False)
        levels = (7 * np.arange(A.nnz)) % 4 + 1
        weights = levels if s.name != "lor_land" else np.ones(A.nnz, bool)
        least = s.add.selects == "least"
        expected = np.full((len(sources), A.shape[0]), s.zero, float)
        for level in (4, 3, 2, 1) if least else (1, 2, 3, 4):
            within = levels <= level if least else levels >= level
            part = csr_array((np.ones(within.sum()), (tails[within], heads[within])), shape=A.shape)
            expected[dijkstra(part, indices=sources) < np.inf] = level if s.name != "lor_land" else 1
        expected[np.arange(len(sources)), sources] = s.one
    E = Elimination.from_arrays(tails, heads, weights.astype(case.dtype), A.shape[0], s, dtype=case.dtype, threads=2)
    found = E.hub_labels().entries(sources[:, None], np.arange(A.shape[0]))
    zero, one = (np.float64(x) for x in (s.zero, s.one))
    shown = found.astype(float)
    for own, x in ((case.zero, zero), (case.one, one)):
        shown[found == own] = x
    np.testing.assert_array_equal(shown, expected)
