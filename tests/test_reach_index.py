"""The index of reachability against breadth-first searches and loops: labels, searches, updates, files, refusals."""

from __future__ import annotations

import pickle
import re
import shutil
import sys
from pathlib import Path

import emulated
import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order
from test_reach import random_digraph

from apsp import Graph, Reachability, shortest_paths, transitive_closure
from apsp.doors.cli import main
from semiring import AlgebraError, DomainError, FormatError, MemoryNeeded, VertexError
from semiring.sparse.reach import ReachIndex

Arcs = tuple[int, np.ndarray, np.ndarray]


def closed(n: int, tails: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Warshall's loop: walks of one arc or more."""
    R = np.zeros((n, n), bool)
    R[tails, heads] = True
    for k in range(n):
        R |= R[:, k : k + 1] & R[k]
    return R


def random_arcs(rng: np.random.Generator, most: int = 24) -> Arcs:
    """Few vertices with loops, parallel arcs and cycles, of which some are isolated; every third without cycles."""
    n = int(rng.integers(0, most))
    tails, heads = rng.integers(0, max(n, 1), (2, int(rng.integers(0, 3 * n + 1))))
    return (n, np.maximum(tails, heads), np.minimum(tails, heads)) if rng.random() < 0.3 else (n, tails, heads)


def families(n: int) -> dict[str, Arcs]:
    """Graphs that labels decide more or less of."""
    rng, i, side = np.random.default_rng(n), np.arange(n), int(n**0.5)
    grid = np.arange(side**2).reshape(side, side)
    twice, any_two = np.repeat(i, 2), rng.integers(0, n, (2, 4 * n))
    band = twice + 1 + rng.exponential(n / 100, 2 * n).astype(int)
    down = (np.repeat(i[1:], 2) * rng.random(2 * n - 2) ** 3).astype(int)
    ends = [(grid[:, :-1], grid[:, 1:]), (grid[:-1], grid[1:])]
    across = [np.concatenate([part[side].ravel() for part in ends]) for side in (0, 1)]
    return {
        "random": (n, *rng.integers(0, n, (2, 2 * n))),
        "acyclic": (n, any_two.max(axis=0), any_two.min(axis=0)),
        "packages": (n, np.repeat(i[1:], 2), down),
        "band": (n, twice[band < n], band[band < n]),
        "grid": (len(grid.ravel()), *across),
        "chain": (n, i[:-1], i[1:]),
    }


def weakened(index: ReachIndex) -> ReachIndex:
    """Labels that say nothing but u ≥ v, so that all else is searched."""
    L = index.labels
    L["first"], L["low"], L["depth"], L["height"] = np.arange(len(L)), 0, np.arange(len(L))[::-1], np.arange(len(L))
    for word in ("below", "above", "to", "of"):
        L[word] = 0
    return index


@pytest.mark.parametrize("search", [False, True], ids=["labels", "search"])
def test_every_pair_of_small_graphs_is_as_a_loop_says(search):
    rng = np.random.default_rng(0)
    for _ in range(250):
        n, tails, heads = random_arcs(rng)
        t = transitive_closure(Graph.from_arrays(tails, heads, n=n), engine="indexed")
        if search:
            weakened(t.closed)
        expected = closed(n, tails, heads)
        u, v = np.indices((n, n))
        np.testing.assert_array_equal(t.reaches(u, v), expected)
        if n:
            assert t.descendants(n - 1) == np.flatnonzero(expected[n - 1]).tolist()
            assert t.ancestors(0) == np.flatnonzero(expected[:, 0]).tolist()
        c = t.condensation
        strict = closed(c.count, c.tails, c.heads)
        needed = strict & ~(strict.astype(int) @ strict > 0)
        assert list(zip(*t.closed.reduction(), strict=True)) == list(zip(*np.nonzero(needed), strict=True))


@pytest.mark.parametrize("family", families(2))
def test_rows_of_larger_graphs_are_as_a_search_says(family, monkeypatch):
    n, tails, heads = families(3000)[family]
    A = csr_array((np.ones(len(tails), np.int8), (tails, heads)), shape=(n, n))
    monkeypatch.setattr("semiring.sparse.reach.STEPS", 50)  # so that searches are taken up again
    monkeypatch.setattr("semiring.sparse.reach.PAIRS", 700)
    t = transitive_closure(Graph.from_arrays(tails, heads, n=n), engine="indexed", reflexive=True, threads=3)
    found = t.plan.reason
    assert re.search(r"labels decide \d+\.\d% of \d+ random pairs, \S+ arcs a pair are searched", found), found
    vertices = np.arange(n)
    for u in range(0, n, 150):
        expected = np.zeros(n, bool)
        expected[breadth_first_order(A, u, return_predecessors=False)] = True
        np.testing.assert_array_equal(t.reaches(u, vertices), expected)
        back = np.zeros(n, bool)
        back[breadth_first_order(A.T.tocsr(), u, return_predecessors=False)] = True
        np.testing.assert_array_equal(t.reaches(vertices, u), back)
    np.testing.assert_array_equal(t.counts(), transitive_closure(t.reduction(), reflexive=True).counts())


@pytest.mark.parametrize("engine", ["indexed", "united", "dense"])
@pytest.mark.parametrize("directed", [True, False])
def test_edges_that_come_and_go_give_the_answers_of_a_fresh_closure(engine, directed):
    rng = np.random.default_rng(1)
    for k in range(20):
        n, tails, heads = random_arcs(rng, 14)
        weights = rng.random(len(tails)) if k % 2 else None
        graph = Graph.from_arrays(tails, heads, weights, n=n, directed=directed)
        t = transitive_closure(graph, engine=engine, reflexive=k % 4 > 1)
        for _ in range(6 if n else 0):
            edges = list(zip(t.graph.rows.tolist(), t.graph.cols.tolist(), strict=True))
            pairs = rng.integers(0, n, (int(rng.integers(1, 4)), 2)).tolist()
            changes = {tuple(pair): bool(rng.random() < 0.6) for pair in pairs}
            if edges and rng.random() < 0.6:
                changes[edges[rng.integers(len(edges))]] = False
            changes = {e: kept for e, kept in changes.items() if directed or changes.get(e[::-1], kept) == kept}
            before = t.to_bool()
            after = t.update(changes)
            np.testing.assert_array_equal(t.to_bool(), before)
            rows, cols, _ = after.graph.edges("boolean")
            R = np.zeros((n, n), bool)
            for i, j in (*edges, *((j, i) for i, j in edges if not directed)):
                R[i, j] = True
            for (i, j), kept in changes.items():
                R[i, j] = kept
                R[(i, j) if directed else (j, i)] = kept
            assert set(zip(rows.tolist(), cols.tolist(), strict=True)) == set(map(tuple, np.argwhere(R).tolist()))
            expected = closed(n, *np.nonzero(R)) | (np.eye(n, dtype=bool) & t.reflexive)
            np.testing.assert_array_equal(after.to_bool(), expected)
            u, v = np.indices((n, n))
            np.testing.assert_array_equal(after.reaches(u, v), expected)
            assert after.components() == transitive_closure(after.graph).components()
            assert after.plan.engine == t.plan.engine
            t = after


def test_a_server_s_changes_leave_nothing_behind():
    graph = Graph.from_edges([("a", "b", 2.0), ("b", "c", np.inf)], labels="abcd", directed=False)
    t = transitive_closure(graph, engine="indexed")
    assert not t.reaches("b", "c")  # an edge of weight infinity is none
    for _ in range(20):
        t = t.update({("b", "a"): True, ("c", "b"): True, ("c", "d"): True}).update({("d", "c"): False})
    assert t.components() == [["a", "b", "c"], ["d"]]
    assert sorted(t.graph.weights.tolist()) == [1, 2, np.inf]
    assert t.plan.reason.count("updated") == 1


def test_a_matrix_is_updated_too_and_stays_as_it_was():
    A = np.zeros((5, 5), bool)
    A[[0, 1, 3], [1, 2, 4]] = True
    t = transitive_closure(A)
    assert t.update({(2, 3): True}).descendants(0) == [1, 2, 3, 4]
    assert t.update({(2, 3): True, (0, 1): False}).descendants(1) == [2, 3, 4]
    assert t.update({(2, 0): True}).components()[0] == [0, 1, 2]
    assert (t.descendants(0), int(A.sum())) == ([1, 2], 3)
    with pytest.raises(VertexError, match="edges"):
        t.update({2: True})


@pytest.mark.parametrize("wrong", [np.inf, np.nan, -1, "no", None, [True]])
def test_a_change_is_true_or_false(wrong):
    """An edge of weight infinity is none elsewhere, so inf may mean that it goes; as a truth value it would come."""
    t = transitive_closure([("a", "b"), ("c", "d")])
    with pytest.raises(DomainError, match="True or False"):
        t.update({("b", "c"): wrong})
    assert t.update({("b", "c"): np.bool_(True), ("a", "b"): np.int64(0)}).to_edges() == [
        ("b", "c"),
        ("b", "d"),
        ("c", "d"),
    ]


def test_a_saved_index_answers_and_updates_need_the_graph(tmp_path):
    graph = random_digraph(300, 1.1, seed=3)
    t = transitive_closure(graph, engine="indexed")
    t.save(tmp_path / "t.npz")
    again = Reachability.load(tmp_path / "t.npz")
    assert isinstance(again.closed, ReachIndex)
    assert again.matrix == t.matrix
    assert again.plan == t.plan
    for ask in (lambda: again.path(*t.to_edges()[0]), lambda: again.update({(0, 1): True})):
        with pytest.raises(
            ValueError, match=r"loaded, which has none. Ask transitive_closure\(graph\)\.(path|update)\."
        ):
            ask()
    with pytest.raises(ValueError, match=r"Say save\('reach\.npz'\)"):
        t.save(f"{tmp_path}/t/")
    assert [path.name for path in tmp_path.iterdir()] == ["t.npz"]
    with np.load(tmp_path / "t.npz") as data:
        parts = dict(data)
    np.savez(tmp_path / "wrong.npz", **{**parts, "tails": parts["heads"], "heads": parts["tails"]})
    with pytest.raises(FormatError, match="order"):
        Reachability.load(tmp_path / "wrong.npz")


def test_what_an_index_cannot_take_is_refused_with_a_way_out(tmp_path):
    graph = Graph.from_arrays(*np.random.default_rng(0).integers(0, 3000, (2, 3000)), n=3000)
    for options, says in (({"output": tmp_path / "r"}, "store of bits"), ({"gpus": 1}, "for bits")):
        with pytest.raises(AlgebraError, match=f"{says}.*Leave it out"):
            transitive_closure(graph, engine="indexed", **options)
    with pytest.raises(ValueError, match=r"schedule.*Leave one of them out"):
        transitive_closure(graph, engine="indexed", schedule="recursive")
    with pytest.raises(ValueError, match="one of auto, dense, indexed, united, got 'hops'"):
        transitive_closure(graph, engine="hops")
    with pytest.raises(AlgebraError, match="list of edges"):
        transitive_closure(np.eye(3, dtype=bool), engine="indexed")
    with pytest.raises(AlgebraError, match="transitive_closure"):
        shortest_paths(graph, "boolean", engine="indexed")
    with pytest.raises(MemoryNeeded, match="output='reach/'"):
        transitive_closure(graph, engine="indexed", memory="150kB")
    assert not list(Path(tmp_path).iterdir())
    assert transitive_closure(graph, memory="150kB", output=tmp_path / "r").plan.engine == "united"


def test_the_command_makes_an_index(tmp_path):
    (tmp_path / "g.txt").write_text("a b\nb c\n")
    command = ["reach", str(tmp_path / "g.txt"), "--engine", "indexed", "--output", f"{tmp_path}/r.npz"]
    done = CliRunner().invoke(main, [*command, "--from", "a", "--to", "c"])
    assert (done.exit_code, "yes" in done.output.splitlines()) == (0, True), done.output
    assert isinstance(Reachability.load(tmp_path / "r.npz").closed, ReachIndex)
    done = CliRunner().invoke(main, ["query", f"{tmp_path}/r.npz"])
    assert "n=3 pairs=3 components=3" in done.output, done.output


def test_bits_are_kept_where_they_are_few_and_an_index_where_they_are_many(monkeypatch):
    monkeypatch.setenv("SEMIRING_ASSUME_COMPILED", "1")
    for n, engine in ((3000, "united"), (150_000, "indexed")):
        tails, heads = np.random.default_rng(0).integers(0, n, (2, 2 * n))
        t = transitive_closure(Graph.from_arrays(np.maximum(tails, heads), np.minimum(tails, heads), n=n))
        assert t.plan.engine == engine, n
    assert t._repr_html_().count("<tr>") > 5


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("g++") is None, reason="g++ compiles the kernels, on Linux")
def test_pairs_on_a_gpu(emulated_kernels):
    rng = np.random.default_rng(3)
    with emulated.installed(emulated_kernels):
        for name, (n, tails, heads) in families(400).items():
            index = transitive_closure(Graph.from_arrays(tails, heads, n=n), engine="indexed").closed
            i, j = rng.integers(0, max(1, len(index)), (2, 30, 40)) if len(index) else np.zeros((2, 0, 3), np.int64)
            found = index[emulated.asarray(i), emulated.asarray(j)]
            assert type(found).__module__ == "cupy"
            np.testing.assert_array_equal(np.asarray(found), index[i, j], err_msg=name)
        assert pickle.loads(pickle.dumps(index)).on_devices == {}
