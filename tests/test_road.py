"""The one road: what `plan` says is what runs, whoever asks; and an engine is one file."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
import scipy.sparse

import apsp
from apsp import csgraph
from apsp.generate import random_graph, road_like
from apsp.road import engines
from semiring.host.compiling import Missing
from semiring.host.errors import MemoryNeeded
from semiring.host.memory import shown

rng = np.random.default_rng(1)
TAILS, HEADS = rng.integers(1500, size=(2, 6000))

#: Whatever describes a graph, and what it is called here.
SOURCES = {
    "floats": np.where(rng.random((40, 40)) < 0.2, rng.random((40, 40)), np.inf),
    "integers": np.full((30, 30), 7, np.int32) + np.arange(30, dtype=np.int32)[:, None],
    "truth values": rng.random((50, 50)) < 0.1,
    "edges": [("a", "b", 4), ("b", "c", 7), ("a", "c", 12)],
    "hops": [(k, (k * 7 + 1) % 600) for k in range(600)],
    "road": road_like(1500, seed=1),
    "hops of a digraph": apsp.Graph.from_arrays(TAILS, HEADS, n=1500),
    "dense graph": random_graph(600, 60, seed=1),
    "scipy": scipy.sparse.coo_array((rng.random(6000), (TAILS, HEADS)), shape=(1500, 1500)),
    "negative arcs": apsp.Graph.from_edges([("a", "b", 4), ("b", "c", -3), ("a", "c", 2), ("c", "d", 0)]),
}
#: What is asked of them: of `shortest_paths`, of which `closure` is asked what it takes.
OPTIONS = {
    "all": {},
    "one thread": {"threads": 1},
    "float64": {"dtype": "float64"},
    "max_min": {"semiring": "max_min", "dtype": "float64"},
    "a schedule": {"schedule": "blocked"},
    "rows": {"sources": 3},
    "columns": {"targets": 2},
    "dense": {"engine": "dense"},
    "elimination": {"engine": "elimination"},
    "an order": {"order": "natural"},
    "scipy": {"engine": "scipy"},
}
CLOSURES = ("semiring", "dtype", "schedule", "threads")


@pytest.fixture
def opened(monkeypatch):
    """The names of the engines that were opened."""
    names: list[str] = []
    get = engines.get

    def noted(name):
        kind = get(name)
        return engines.Kind(**{**vars(kind), "open": lambda *of: (names.append(name), kind.open(*of))[1]})

    monkeypatch.setattr("apsp.road.road.engines.get", noted)
    monkeypatch.setattr("apsp.road.road.repeat", lambda question: None)  # a decision that is repeated opens no engine
    return names


@pytest.mark.parametrize("asked", OPTIONS)
@pytest.mark.parametrize("source", SOURCES)
def test_what_is_planned_is_what_runs(source, asked, opened):
    """10 sources × 11 questions, of `shortest_paths` and `closure`; what one refuses, the other does."""
    graph, options = apsp.as_graph(SOURCES[source]), dict(OPTIONS[asked])
    for side in ("sources", "targets"):
        if side in options:
            options[side] = list(graph.labels)[: options[side]]
    if graph.dense is not None and graph.dense.dtype == bool and "semiring" not in options:
        options = {**options, "semiring": "boolean"}
        options.pop("dtype", None)
    try:
        planned = apsp.plan(graph, **options).engine
    except (ValueError, apsp.SemiringError) as error:
        with pytest.raises(type(error)):
            apsp.shortest_paths(graph, **options)
        return
    r = apsp.shortest_paths(graph, **options)
    assert opened == [planned] == [r.plan.engine]
    if set(options) <= set(CLOSURES):
        opened.clear()
        apsp.closure(SOURCES[source], **options)
        assert opened == [apsp.plan(SOURCES[source], **options).engine] == [planned]


#: Graphs whose components are found, and what else `transitive_closure` is asked.
REACHING = {
    **SOURCES,
    "few arcs": apsp.Graph.from_arrays(*rng.integers(3000, size=(2, 3500)), n=3000),
    "one component": apsp.Graph.from_arrays(*rng.integers(2500, size=(2, 20_000)), n=2500),
    "undirected": apsp.Graph.from_arrays(*rng.integers(4000, size=(2, 3000)), n=4000, directed=False),
}


@pytest.mark.parametrize("asked", ["all", "one thread", "a schedule"])
@pytest.mark.parametrize("source", REACHING)
def test_what_is_planned_is_what_tells_who_reaches_whom(source, asked, opened):
    """13 sources × 3 questions, of `transitive_closure` and of the Boolean `closure`; the closure is the same."""
    graph, options = apsp.as_graph(REACHING[source]), OPTIONS[asked]
    try:
        planned = apsp.plan(graph, "boolean", **options).engine
    except (ValueError, apsp.SemiringError) as error:
        with pytest.raises(type(error)):
            apsp.transitive_closure(graph, **options)
        return
    t = apsp.transitive_closure(graph, reflexive=True, **options)
    assert opened == [planned] == [t.plan.engine]
    assert planned == ("united" if asked != "a schedule" and graph.n > 2000 else "dense")
    opened.clear()
    np.testing.assert_array_equal(apsp.closure(graph, "boolean", **options), t.to_bool())
    assert opened == [planned]


def test_csgraph_takes_the_same_road(opened):
    tails, heads = rng.integers(0, 1500, (2, 12000))  # of which no structure is remembered
    A = scipy.sparse.coo_array((rng.random(12000), (tails, heads)), shape=(1500, 1500))
    csgraph.shortest_path(A)
    assert opened == [apsp.plan(A, dtype="float64").engine]


@pytest.mark.parametrize("options", [[], ["--engine", "dense"], ["--engine", "scipy"], ["--schedule", "blocked"]])
def test_the_command_takes_the_same_road(options, opened, tmp_path):
    from click.testing import CliRunner

    from apsp.doors.cli import main

    path = tmp_path / "road.csv"
    apsp.write(SOURCES["road"], path)
    planned = CliRunner().invoke(main, ["plan", str(path), *options], catch_exceptions=False)
    assert planned.exit_code == 0
    solved = CliRunner().invoke(main, ["solve", str(path), *options, "--output", str(tmp_path / "d.npz")])
    assert solved.exit_code == 0, solved.output
    assert len(opened) == 1
    assert opened[0] == "dense" if "closure of" in planned.output else f"engine     {opened[0]}" in planned.output


@pytest.fixture
def cold(monkeypatch):
    """Nothing is compiled yet, and time that others take meanwhile counts from now on."""
    missing = Missing(6, 1.3)
    monkeypatch.setattr("semiring.kernels.cpu.dense.backend.CpuBackend.missing", lambda self, work: missing)
    monkeypatch.setattr("apsp.road.road._uncompiled", defaultdict(float))
    monkeypatch.setattr("apsp.road.repeated._decisions", {})


@pytest.mark.parametrize("source", ["edges", "hops", "road", "negative arcs"])
def test_compiling_counts_where_engines_are_compared(source, cold, opened):
    """SciPy answers a first small question; what is planned is what runs."""
    graph = apsp.as_graph(SOURCES[source])
    planned = apsp.plan(graph)
    assert (planned.engine, planned.kernels) == ("scipy", 0)
    assert "others would compile first" in str(planned)
    r = apsp.shortest_paths(graph)
    assert opened == ["scipy"] == [r.plan.engine]
    np.testing.assert_array_equal(r.distances, apsp.shortest_paths(graph, engine="dense").distances)


def test_compiling_is_put_off_for_as_long_as_it_takes_itself(cold, opened):
    graph = apsp.as_graph(SOURCES["hops of a digraph"])
    for _ in range(100):
        apsp.shortest_paths(graph)
        if opened[-1] != "scipy":
            break
    assert 2 < len(opened) < 100
    assert opened[-1] == apsp.plan(graph).engine


def test_a_plan_says_what_is_compiled_first(cold):
    for planned in (apsp.plan(SOURCES["edges"], engine="dense"), apsp.plan(300), apsp.plan(SOURCES["floats"])):
        assert (planned.kernels, planned.compiling) == (6, 1.3)
        assert "  compiles   6 kernels, about 1 s, once\n" in f"{planned}\n"


@pytest.mark.parametrize("n", [5, 300])
def test_scipys_functions_do_not_compile_for_a_small_matrix(n, cold, opened):
    A = np.random.default_rng(n).random((n, n))
    np.testing.assert_allclose(csgraph.shortest_path(A), scipy.sparse.csgraph.shortest_path(A))
    assert opened == ["scipy"]


def test_overwriting_a_graph_is_refused_by_the_plan_as_by_the_closure():
    for call in (apsp.plan, apsp.closure):
        with pytest.raises(apsp.DTypeError, match="overwrite=True"):
            call(SOURCES["edges"], overwrite=True)


def test_the_closure_of_a_graph_heeds_the_planner(opened):
    """Unit weights: breadth-first searches, not n³."""
    graph = SOURCES["hops of a digraph"]
    D = apsp.closure(graph)
    assert opened == [apsp.plan(graph).engine]
    assert opened != ["dense"]
    np.testing.assert_array_equal(D, apsp.closure(graph, schedule="blocked"))


def test_what_is_refused_is_not_told_to_take_long(monkeypatch):
    """One sentence that says what does not fit, and no warning before it."""
    monkeypatch.setattr("semiring.host.memory.available", lambda device="cpu": 1 << 20)
    for room in ("road", "question"):
        monkeypatch.setattr(f"apsp.road.{room}.available", lambda device="cpu": 1 << 20)
    monkeypatch.setattr("apsp.road.road.PATIENCE", 0.0)
    monkeypatch.setattr("apsp.road.log.PATIENCE", 0.0)
    for overwrite in (False, True):  # as it is taken in, and as it is solved
        with pytest.raises(apsp.MemoryNeeded, match="must fit"):
            apsp.closure(rng.random((600, 600)), overwrite=overwrite)


# What is looked at


@pytest.fixture
def counted(monkeypatch):
    """How often an elimination order was looked for; no structure is known yet."""
    from apsp.road.engines import elimination
    from semiring import sparse

    found: list[int] = []
    analyse = sparse.analyse
    monkeypatch.setattr(sparse, "analyse", lambda arcs, n, **options: (found.append(n), analyse(arcs, n, **options))[1])
    monkeypatch.setattr(elimination.STRUCTURES, "_cached", type(elimination.STRUCTURES._cached)())
    return found


@pytest.mark.parametrize("source", ["road", "hops of a digraph", "scipy", "negative arcs"])
def test_one_source_never_counts_an_elimination_order(source, counted):
    graph = apsp.as_graph(SOURCES[source])
    first = next(iter(graph.labels))
    assert apsp.shortest_paths(graph, sources=[first]).plan.engine in ("scipy", "searches", "hops")
    apsp.plan(graph, sources=[first])
    assert not counted


def test_few_sources_of_a_csr_matrix_make_no_list_of_edges(monkeypatch):
    from apsp.io.graph.compressed import Compressed

    listed = []
    monkeypatch.setattr(Compressed, "rows", property(lambda self: listed.append(self)))
    A = SOURCES["scipy"].tocsr()
    D = apsp.shortest_paths(A, sources=[3]).distances
    np.testing.assert_array_equal(D, scipy.sparse.csgraph.dijkstra(A, indices=[3]))
    assert not listed


def test_little_is_searched_by_scipy_without_a_look_at_others(monkeypatch):
    """However far it reaches; but not where arcs are alike or negative, sources many, or paths asked for."""
    rng = np.random.default_rng(6)
    A = scipy.sparse.random_array((2000, 2000), density=0.002, rng=rng, format="csr")
    looks = property(lambda offer: looked.append(offer.kind.name) or 0.0)
    monkeypatch.setattr("apsp.road.road.Offer.looks", looks)
    looked, counted = [], {}
    for name, matrix, options in (
        ("few", A, {"sources": [3, 7]}),
        ("targets", A, {"targets": [3]}),
        ("many", A, {"sources": range(200)}),
        ("all", A, {}),
        ("alike", A.sign(), {"sources": [3]}),
        ("negative", -scipy.sparse.triu(A, 1).tocsr(), {"sources": [3]}),
        ("list", apsp.as_graph(A.tocoo()), {"sources": [3]}),
        ("paths", A, {"sources": [3], "paths": True}),
    ):
        looked.clear()
        plan = apsp.plan(matrix, **options)
        counted[name] = bool(looked)
        assert ("too little" in plan.reason) != counted[name]
    assert [name for name, others in counted.items() if not others] == ["few", "targets"]
    D = apsp.shortest_paths(A, sources=[3, 7]).distances
    np.testing.assert_array_equal(D, scipy.sparse.csgraph.dijkstra(A, indices=[3, 7]))


@pytest.mark.parametrize("known", [{"unweighted": True}, {"directed": False}, {"unweighted": True, "sources": [3, 5]}])
def test_a_csr_matrix_of_which_more_is_known_is_a_graph(known):
    A = SOURCES["scipy"].tocsr().astype(np.float64)
    A.indices, A.indptr = A.indices.astype(np.int32), A.indptr.astype(np.int32)
    assert apsp.as_graph(A).compressed is not None
    unweighted, sources = known.get("unweighted", False), known.get("sources")
    want = scipy.sparse.csgraph.dijkstra(A, known.get("directed", True), sources, unweighted=unweighted)
    np.testing.assert_array_equal(apsp.shortest_paths(A, **known).table(), want)


@pytest.mark.parametrize("engine", ["auto", "searches", "elimination", "hops", "scipy"])
def test_rows_go_to_a_store_within_a_limit_of_memory(tmp_path, engine):
    graph = SOURCES["hops of a digraph"] if engine == "hops" else SOURCES["scipy"]
    D = apsp.shortest_paths(graph).distances
    r = apsp.shortest_paths(graph, engine=engine, dtype=D.dtype, memory="150MB", output=tmp_path / "far")
    assert r.plan.engine in ({engine} if engine != "auto" else {"searches", "elimination", "scipy"})
    np.testing.assert_allclose(apsp.Result.load(tmp_path / "far").engine.storage[:, :], D, rtol=1e-12)


def test_the_dense_closure_streams_through_less_than_rows_take(tmp_path):
    graph = SOURCES["hops of a digraph"]
    with pytest.raises(MemoryNeeded, match=r"free and a graph .* or take engine='dense', which streams through less"):
        apsp.shortest_paths(graph, engine="searches", memory="1 MB", output=tmp_path / "far")
    within = apsp.shortest_paths(graph, engine="dense", memory="1 MB", output=tmp_path / "far")
    assert within.plan.schedule == "streamed"
    with pytest.raises(ValueError, match="checkpoint= comes with the dense closure"):
        apsp.shortest_paths(graph, engine="searches", checkpoint=tmp_path / "ck")


def test_rows_are_written_as_many_at_a_time_as_a_limit_leaves(tmp_path):
    from apsp.io.saving.tiles import HELD

    road = road_like(700, seed=3)
    needed = apsp.plan(road, engine="elimination", dtype="float32").beside_bytes
    for tile, limit in ((64, 0), (128, 128), (1024, 1024)):
        memory = needed + HELD * max(limit, 64) * road.n * 4
        r = apsp.shortest_paths(road, engine="elimination", dtype="float32", memory=memory, output=tmp_path / "far")
        assert r.engine.matrix.block == (tile, tile)
    least = needed + HELD * 64 * road.n * 4
    for memory in (needed + 60_000, least - 1):
        with pytest.raises(MemoryNeeded, match=f"elimination {shown(least)} and"):
            apsp.plan(road, engine="elimination", dtype="float32", memory=memory, output=tmp_path / "far")


def test_a_structure_is_found_once_for_all_weights_of_a_pattern(counted):
    road = road_like(1500, seed=3)
    one = apsp.shortest_paths(road)
    doubled = apsp.Graph.from_arrays(road.rows, road.cols, 2 * road.weights, n=road.n, directed=road.directed)
    two = apsp.shortest_paths(doubled)
    assert one.plan.engine == two.plan.engine == "elimination"
    assert counted == [1500]
    np.testing.assert_array_equal(two.distances, 2 * one.distances)
    other = apsp.Graph.from_arrays(road.rows, road.cols[::-1], road.weights, n=road.n)  # as many arcs
    D = apsp.shortest_paths(other, engine="elimination").distances
    assert counted == [1500, 1500]
    np.testing.assert_array_equal(D, apsp.shortest_paths(other, engine="dense").distances)


def test_csgraph_chooses_by_the_same_offers(opened):
    """Many arcs, but not a matrix: searches, where they take less than closing one."""
    n, m = 3000, 20
    tails, heads = (n * rng.random((2, m * n)) ** 3).astype(np.int64)
    A = scipy.sparse.csr_array((rng.integers(1, 999, m * n).astype(float), (tails, heads)), shape=(n, n))
    csgraph.shortest_path(A)
    assert opened == [apsp.plan(A).engine] == ["searches"]


@pytest.mark.parametrize(("semiring", "sign", "again"), [("max_plus", -1, False), ("min_plus", 1, True)])
def test_a_closure_by_other_integers_is_not_repeated_by_its_own(semiring, sign, again, monkeypatch):
    """Negative lengths are removed first, which takes a half of the time; what is repeated goes without."""
    decisions: dict = {}
    monkeypatch.setattr("apsp.road.repeated._decisions", decisions)
    A = sign * np.random.default_rng(0).integers(1, 1000, (300, 300))
    for _ in range(2):
        D = apsp.closure(A, semiring)
        assert bool(decisions) == again
    np.testing.assert_array_equal(D, sign * scipy.sparse.csgraph.floyd_warshall(sign * A))
