"""Zeros of a dense matrix are edges of weight 0, or no edges: where nothing says which, the caller is asked."""

from __future__ import annotations

import contextlib
import inspect
import warnings

import networkx as nx
import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse
from scipy.sparse.csgraph import floyd_warshall

import apsp
from apsp import (
    AmbiguityWarning,
    DivergenceError,
    DomainError,
    DTypeError,
    Result,
    ShapeError,
    as_graph,
    closure,
    plan,
    shortest_paths,
)
from apsp.big.distributed import DistributedMatrix, world
from apsp.doors.cli import main
from apsp.io.formats import read, write
from semiring import get
from semiring.algebra.survey import merge, survey
from semiring.stores.tiles import TileStore

INF = np.inf
#: 0 → 1 → 2 → 3, as NetworkX, SciPy and spreadsheets write it.
PATH = np.array([[0, 4, 0, 0], [0, 0, 7, 0], [0, 0, 0, 2], [0, 0, 0, 0]])
#: Its distances by SciPy, to which zeros are no edges.
APART = floyd_warshall(PATH)
BOTH_WAYS_OUT = r"null_value=0 .*null_value=None "


def random_adjacency(n=23, dtype=float):
    G = nx.gnp_random_graph(n, 0.15, seed=3, directed=True)
    rng = np.random.default_rng(4)
    nx.set_edge_attributes(G, {e: int(rng.integers(1, 9)) for e in G.edges}, "weight")
    return nx.to_numpy_array(G, dtype=dtype)


@pytest.mark.parametrize(
    ("entries", "semiring", "ambiguous"),
    [
        (PATH, "min_plus", True),
        (PATH.astype("i2"), "max_plus", True),
        (PATH.astype("f4"), "bottleneck", True),
        (np.stack([np.ones((2, 2)), PATH[:2, :2] + 0.0]), "min_plus", True),  # a batch
        (np.zeros((2, 2)), "min_plus", True),
        ([[5.0, -0.0], [1, 5]], "min_plus", True),
        ([[0, 3], [1, 0]], "min_plus", False),  # on the diagonal alone
        (np.zeros((1, 1)), "min_plus", False),
        (np.zeros((0, 0)), "min_plus", False),
        (np.zeros((4, 1, 1)), "min_plus", False),
        (np.where(PATH, PATH, INF), "min_plus", False),
        ([[0, INF], [0, 0.0]], "min_plus", False),
        ([[INF, 5, 0], [0, INF, 2], [0, 0, INF]], "min_plus", True),  # on the diagonal infinities say nothing
        (np.array([[2**31 - 1, 5], [0, 2**31 - 1]], "i4"), "min_plus", True),
        ([[-INF, 5], [0, 1]], "max_plus", True),
        ([[INF, 5], [3, INF]], "min_plus", False),  # and there is nothing to say
        ([[0, INF], [0, 1.0]], "bottleneck", True),  # its one: an edge of any width
        (np.stack([np.diag([INF, INF]), np.array([[0, INF], [1, 1]])]), "min_plus", False),
        (np.array([[0, 2**31 - 1], [0, 0]], "i4"), "min_plus", False),  # which stands for ∞
        ([[0, -INF], [0, 0.0]], "max_plus", False),
        ([[0, -1], [0, 0]], "min_plus", True),  # nor do negative entries
        ([[0, -1], [0, INF]], "min_plus", True),
        ([[0, -1], [-2, 0]], "min_plus", False),
        ([[0.0, -0.5], [0, 0]], "log_plus", True),
        ([[0, -1], [INF, 0]], "min_plus", False),
        (PATH / 8, "reliability", False),  # 0 is its zero
        (PATH != 0, "boolean", False),
    ],
)
def test_what_is_ambiguous(entries, semiring, ambiguous):
    A = np.asarray(entries)
    assert survey(A, get(semiring), where="x", null_undeclared=True).ambiguous is ambiguous
    assert not survey(A, get(semiring), where="x").ambiguous


def test_parts_tell_what_the_matrix_does():
    s = get("min_plus")
    rng = np.random.default_rng(0)
    for case in range(200):
        A = rng.integers(0 if case % 3 else 1, 3, (5, 5))
        np.fill_diagonal(A, rng.integers(0, 2, 5))
        for _ in range(case % 5):
            A[rng.integers(5), rng.integers(5)] = rng.choice([-1, np.iinfo(A.dtype).max])
        cuts = [(slice(i, i + 2), slice(j, j + 3)) for i in (0, 2, 4) for j in (0, 3)]
        looks = [survey(A[c], s, where="x", first=(c[0].start, c[1].start), null_undeclared=True) for c in cuts]
        off = A[~np.eye(5, dtype=bool)]
        expected = bool((off == 0).any() and off.max() < np.iinfo(A.dtype).max)
        assert merge(looks) == survey(A, s, where="x", null_undeclared=True)
        assert merge(looks).ambiguous is expected, A


READERS = {
    "shortest_paths": shortest_paths,
    "engine": lambda A, **said: shortest_paths(A, engine="elimination", **said),
    "rows": lambda A, **said: shortest_paths(A, sources=[0], **said),
    "longest": lambda A, **said: shortest_paths(A, "max_plus", **said),
    "limited": lambda A, **said: shortest_paths(A, memory="64MiB", **said),
    "spread": lambda A, **said: shortest_paths(A, gpus=world(ranks=2), **said),
    "a graph": lambda A, **said: shortest_paths(as_graph(A, **said)),
    "negative_cycle": apsp.negative_cycle,
    "transitive_closure": lambda A, **said: apsp.transitive_closure(A, semiring="min_plus", **said),
    "predecessors": lambda A, **said: apsp.predecessors(A, closure(A, null_value=said.get("null_value")), **said),
    "next_hops": lambda A, **said: apsp.next_hops(A, closure(A, null_value=said.get("null_value")), **said),
}


@pytest.mark.parametrize("name", READERS)
def test_what_reads_a_graph_refuses_until_it_is_told(name):
    ask = READERS[name]
    with pytest.raises(DomainError, match=BOTH_WAYS_OUT):
        ask(PATH)
    ask(PATH, null_value=0)
    if name != "longest":  # where cycles of zeros and fours have no limit
        ask(PATH, null_value=None)


@pytest.mark.parametrize("dtype", ["i2", "i4", "i8", "f4", "f8", "u1", ">f8"])
def test_both_ways_out(dtype):
    A = random_adjacency(dtype=dtype)
    before = A.copy()
    apart, joined = floyd_warshall(A.astype(float)), np.zeros(A.shape)  # by edges of weight 0, all is near
    for given in (A, A.tolist(), A[::-1, ::-1][::-1, ::-1]):
        np.testing.assert_array_equal(np.asarray(shortest_paths(given, null_value=0)), apart)
        np.testing.assert_array_equal(shortest_paths(given, null_value=None).distances, joined)
    np.testing.assert_array_equal(closure(np.stack([A, A]), dtype="f8", null_value=0), np.stack([apart, apart]))
    np.testing.assert_array_equal(np.asarray(shortest_paths(A, null_value=0, engine="elimination")), apart)
    np.testing.assert_array_equal(A, before)


def test_routes_and_hops_go_by_what_was_said():
    r = shortest_paths(PATH, null_value=0)
    assert r.path(0, 2) == [0, 1, 2]
    assert r.predecessors.tolist() == [[-9999, 0, 1, 2], [-9999, -9999, 1, 2], [-9999, -9999, -9999, 2], [-9999] * 4]
    assert r.verify("all")
    assert r.graph.edge_count == 3
    assert apsp.transitive_closure(PATH, null_value=0).counts().tolist() == [3, 2, 1, 0]
    assert apsp.transitive_closure(PATH, null_value=None).counts().tolist() == [4, 4, 4, 4]
    assert np.asarray(shortest_paths(PATH, null_value=0, unweighted=True)).tolist() == [
        [0, 1, 2, 3],
        [INF, 0, 1, 2],
        [INF, INF, 0, 1],
        [INF] * 3 + [0],
    ]
    assert shortest_paths((PATH > 0).astype(int), unweighted=True).distance(0, 2) == 2  # ones are the edges
    assert np.asarray(shortest_paths(PATH, "max_plus", null_value=0))[0].tolist() == [0, 4, 11, 13]


def test_any_number_may_stand_for_no_edge():
    A = np.array([[0, 4, -1], [-1, 0, 0], [-1, -1, 0]])
    np.testing.assert_array_equal(np.asarray(shortest_paths(A, null_value=-1)), [[0, 4, 4], [INF, 0, 0], [INF, INF, 0]])
    for wrong in ("0", np.nan, True, 1j):
        with pytest.raises(ValueError, match="null_value must be a number, such as 0, or None"):
            shortest_paths(A, null_value=wrong)


HOLES = {
    "∞ on the diagonal": np.array([[INF, 5, 0, 0], [0, INF, 2, 0], [0, 0, INF, 1], [0, 0, 0, INF]]),
    "one ∞ on the diagonal": np.array([[0, 5, 0, 0], [0, 0, 2, 0], [0, 0, INF, 1], [0, 0, 0, 0]]),
    "a negative entry": np.array([[0, -1.0, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1], [0, 0, 0, 0]]),
}
#: All whose table is of shortest paths.
SHORTEST = ("shortest_paths", "engine", "limited", "spread", "a graph")


@pytest.mark.parametrize("hole", HOLES)
def test_the_diagonal_and_signs_decide_nothing(hole, tmp_path):
    A = HOLES[hole]
    apart = floyd_warshall(np.where(np.isinf(A), 0, A))
    sources = {"frame": pytest.importorskip("pandas").DataFrame(A, list("abcd"), list("abcd"))}
    np.save(tmp_path / "A.npy", A)
    TileStore.create(tmp_path / "A.tiles", A.shape, A.dtype, block=2).put(A)
    sources |= {name: tmp_path / name for name in ("A.npy", "A.tiles")}
    for name in (*READERS, *sources):
        ask, source = READERS.get(name, shortest_paths), sources.get(name, A)
        if (name == "longest" and A.max() == INF) or (name in ("predecessors", "next_hops") and A.min() < 0):
            continue  # outside of the semiring; no closure to ask of
        with pytest.raises(DomainError, match=BOTH_WAYS_OUT):
            ask(source)
        found = ask(source, null_value=0)
        if name in SHORTEST or name in sources:
            np.testing.assert_array_equal(np.asarray(found.distances), apart, name)
    with pytest.warns(AmbiguityWarning, match=BOTH_WAYS_OUT), contextlib.suppress(DivergenceError):
        assert not closure(A).any()


@pytest.mark.parametrize("unweighted", [shortest_paths, apsp.transitive_closure])
def test_an_infinite_diagonal_makes_no_edges_of_zeros(unweighted):
    said = {"unweighted": True} if unweighted is shortest_paths else {}
    for A in (np.array([[INF, 1, 0], [0, INF, 1], [0, 0, INF]]), HOLES["∞ on the diagonal"]):
        with pytest.raises(DTypeError, match=r"Say which entries are edges, for instance A < np.inf or A != 0"):
            unweighted(A, **said)
        r = unweighted(A, null_value=0, **said)
        assert not np.asarray(r.reachable if said else r.to_bool())[2, 0]
    complete = np.array([[INF, 5, 3], [2, INF, 1], [7, 1, INF]])  # in which no zero may be none
    for A in (complete, np.where(np.isinf(complete), 0, complete)):
        r = unweighted(A, **said)
        assert np.asarray(r.reachable if said else r.to_bool()).all()


def test_edges_of_that_weight_are_none_where_it_is_said():
    stored = sparse.csr_array(([4.0, 0.0, 7.0], ([0, 0, 1], [1, 2, 2])), shape=(3, 3))
    twice = sparse.coo_array(([3.0, -3.0], ([0, 0], [1, 1])), shape=(3, 3))  # two edges, whose sum is no weight
    listed = [(0, 1, 4), (0, 2, 0), (1, 2, 7)]
    G = nx.DiGraph()
    G.add_weighted_edges_from(listed)
    sources = (stored, stored.tocoo(), stored.astype("i4"), listed, G, {0: {1: 4, 2: 0}, 1: {2: 7}}, as_graph(stored))
    for graph in sources:
        assert shortest_paths(graph).distance(0, 2) == shortest_paths(graph, null_value=None).distance(0, 2) == 0
        assert shortest_paths(graph, null_value=0).distance(0, 2) == 11
        assert as_graph(graph, null_value=0).edge_count == 2
        assert closure(graph, null_value=0)[0, 2] == closure(as_graph(graph), null_value=0)[0, 2] == 11
        assert apsp.transitive_closure(graph, null_value=0).counts().sum() == 3
        assert shortest_paths(graph, null_value=7).distance(0, 2) == 0
    assert shortest_paths(stored, null_value=0, unweighted=True).distance(0, 2) == 2
    assert as_graph(stored, null_value=0, directed=False).arc_count == 4
    assert as_graph(twice, null_value=0).edge_count == 2
    assert shortest_paths(nx.path_graph(3), null_value=0).distance(0, 2) == 2
    assert stored.nnz == 3


def test_a_word_that_would_be_ignored_is_refused(tmp_path):
    assert as_graph([(0, 1, 0)], null_value=0, unweighted=True).edge_count == 0
    for graph in (nx.path_graph(3), {0: {1: 0}}):
        with pytest.raises(ShapeError, match=r"null_value=0 must come with a matrix or with weights.* Leave it out"):
            shortest_paths(graph, null_value=0, unweighted=True)
        assert shortest_paths(graph, unweighted=True).distance(0, 1) == 1
    with pytest.raises(ValueError, match=r"overwrite=True must work on the matrix as it is, got null_value=0"):
        closure(PATH.copy(), overwrite=True, null_value=0)
    with pytest.raises(ValueError, match="null_value= must come with a graph"):
        plan(100, null_value=0)
    assert plan(PATH).n == plan(PATH, null_value=0).n == 4  # which is the same for both


def test_a_closure_warns_once_where_it_is_called(tmp_path):
    ways = {
        "dense": lambda **said: closure(PATH, **said),
        "batch": lambda **said: closure(np.stack([PATH] * 3), **said),
        "graph": lambda **said: closure(as_graph(PATH), **said),
        "limited": lambda **said: closure(PATH, memory="64MiB", **said),
        "kept": lambda **said: closure(PATH, checkpoint=tmp_path / str(len(said)), **said),
        "written": lambda **said: closure(PATH, output=tmp_path / "out.tiles", **said),
        "spread": lambda **said: closure(PATH, gpus=world(ranks=2), **said),
        "spread and written": lambda **said: closure(PATH, gpus=world(ranks=2), output=tmp_path / "s.tiles", **said),
    }
    for name, ask in ways.items():
        with pytest.warns(AmbiguityWarning, match=BOTH_WAYS_OUT) as said:
            D = ask()
        assert [w.filename for w in said] == [__file__], name
        assert not np.asarray(D[:] if isinstance(D, TileStore) else D).any()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ask(null_value=None)
    for A in (np.array([[0, 3], [1, 0]]), np.where(PATH, PATH, INF), np.zeros((0, 0))):
        closure(A)
    closure(PATH > 0, "boolean")


def test_matrices_on_disk(tmp_path):
    A = random_adjacency(dtype="f4")
    apart = floyd_warshall(A.astype(float))
    reached = nx.transitive_closure(nx.from_numpy_array(A, create_using=nx.DiGraph))
    np.save(tmp_path / "A.npy", A)
    np.savez(tmp_path / "A.npz", matrix=A)
    TileStore.create(tmp_path / "A.tiles", A.shape, A.dtype, block=8).put(A)
    for path in (tmp_path / "A.npy", tmp_path / "A.npz", tmp_path / "A.tiles"):
        with pytest.raises(DomainError, match=BOTH_WAYS_OUT):
            shortest_paths(path)
        for graph in (path, read(path, null_value=0)):
            said = {} if graph is not path else {"null_value": 0}
            np.testing.assert_array_equal(shortest_paths(graph, **said).distances, apart.astype("f4"))
        assert as_graph(path, null_value=0).edge_count == np.count_nonzero(A)
        assert apsp.transitive_closure(path, null_value=0).counts().sum() == reached.number_of_edges()
    opened = TileStore(tmp_path / "A.tiles")
    for source in (opened, np.load(tmp_path / "A.npy", mmap_mode="r")):
        np.testing.assert_array_equal(
            closure(source, memory="1MiB", output=tmp_path / "D.tiles", null_value=0)[:], apart
        )
        with pytest.warns(AmbiguityWarning):
            closure(source, memory="1MiB", output=tmp_path / "D.tiles")
    # a closure's own store knows what is no edge in it
    np.testing.assert_array_equal(shortest_paths(tmp_path / "D.tiles", null_value=None).distances, np.zeros(A.shape))
    shortest_paths(tmp_path / "D.tiles")


def test_what_was_said_is_kept(tmp_path):
    part = shortest_paths(PATH, sources=[0], null_value=0)
    part.save(tmp_path / "part.npz")
    again = Result.load(tmp_path / "part.npz")
    assert again.path(0, 2) == [0, 1, 2]
    assert again.graph.edge_count == 3
    shortest_paths(PATH, null_value=None).save(tmp_path / "all.npz")
    assert Result.load(tmp_path / "all.npz").graph.edge_count == 16
    for name in ("g.npy", "g.npz", "g.mtx", "g.csv"):
        write(as_graph(PATH, null_value=0), tmp_path / name)
        assert read(tmp_path / name).edge_count == 3, name
        assert shortest_paths(tmp_path / name).distances[0].tolist() == [0, 4, 11, 13]


def test_the_command_line(tmp_path):
    np.save(tmp_path / "A.npy", PATH)

    def run(*words):
        return CliRunner().invoke(main, ["-q", *map(str, words)], prog_name="apsp")

    ask = ("solve", tmp_path / "A.npy", "--from", 0, "--to", 2)
    refused = run(*ask)
    assert refused.exit_code == 2
    assert "Say --null-value 0 where zeros are no edges" in refused.stderr
    assert "or --null-value none where" in refused.stderr
    assert "distance 11" in run(*ask, "--null-value", 0).stdout
    assert "distance 0" in run(*ask, "--null-value", "none").stdout
    assert "number, such as 0, or none, got 'x'" in run(*ask, "--null-value", "x").stderr
    for words in (["plan", tmp_path / "A.npy"], ["reach", tmp_path / "A.npy"], ["compare", tmp_path / "A.npy"]):
        assert run(*words, "--null-value", 0).exit_code == 0, words
    assert run("convert", tmp_path / "A.npy", tmp_path / "A.csv", "--null-value", 0).exit_code == 0
    assert (tmp_path / "A.csv").read_text() == "source,target,weight\n0,1,4\n1,2,7\n2,3,2\n"


def test_public_readers_take_the_same_keywords():
    """By name, for completion and type checkers; what is unknown is refused in the name of what was called."""

    def named(f):
        return {p.name: p for p in inspect.signature(f).parameters.values() if p.kind is p.KEYWORD_ONLY}

    every = {name: p for name, p in named(as_graph).items() if name != "places"}  # a graph's, which these take
    readers = shortest_paths, apsp.transitive_closure, apsp.negative_cycle
    for f in readers:
        assert {name: (p.default, p.annotation) for name, p in named(f).items() if name in every} == {
            name: (p.default, p.annotation) for name, p in every.items()
        }
        with pytest.raises(TypeError, match=rf"{f.__name__}\(\) got an unexpected keyword argument 'nonsense'"):
            f([(0, 1)], nonsense=1)
    for name in apsp.__all__:
        if inspect.isfunction(f := getattr(apsp, name)):
            kinds = [p.kind for p in inspect.signature(f).parameters.values()]
            assert inspect.Parameter.VAR_KEYWORD not in kinds or name == "read", name  # whose formats have their own


def test_other_users_of_a_dense_matrix_warn_as_closure_does():
    ranks = world(ranks=2, threads=1)
    users = {
        "compare": lambda A, **said: apsp.compare(A, schedules=["iterative"], devices=["cpu"], **said),
        "DistributedMatrix": lambda A, **said: DistributedMatrix.from_array(A, world=ranks, **said),
    }
    for where, use in users.items():
        with pytest.warns(AmbiguityWarning, match=f"^{where}: .*{BOTH_WAYS_OUT}") as told:
            use(PATH)
        assert [str(w.filename) for w in told] == [__file__]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            use(PATH, null_value=0)
            use(PATH, null_value=None)
            use(as_graph(np.where(PATH, PATH, INF)).matrix())
    with pytest.warns(AmbiguityWarning, match="^DistributedMatrix"):
        DistributedMatrix.from_graph(as_graph(PATH), world=ranks)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(
            DistributedMatrix.from_graph(as_graph(PATH, null_value=0), world=ranks, dtype="f8").close().gather(), APART
        )
        for A in (PATH, PATH.astype("f8")):
            M = DistributedMatrix.from_array(A, world=ranks, dtype="f8", null_value=0)
            np.testing.assert_array_equal(M.close().gather(), APART)


def test_a_store_that_says_what_is_no_edge_needs_no_word(tmp_path):
    ranks = world(ranks=2, threads=1)
    closure(PATH, null_value=None, output=tmp_path / "D")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DistributedMatrix.from_array(TileStore(tmp_path / "D"), world=ranks)
    store = TileStore.create(tmp_path / "T", PATH.shape, PATH.dtype, block=32)
    store.put(PATH)
    with pytest.warns(AmbiguityWarning):
        DistributedMatrix.from_array(store, world=ranks)
    M = DistributedMatrix.from_array(store, world=ranks, dtype="f8", null_value=0)
    np.testing.assert_array_equal(M.close().gather(), APART)
