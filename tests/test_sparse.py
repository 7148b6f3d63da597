"""The sparse engine against uncompiled loops, SciPy and NetworkX: every semiring, order, shape of graph and query."""

from __future__ import annotations

import math
import os
import pickle
import signal
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import cases
import numpy as np
import people
import processes
import pytest
import scipy.sparse as sp
from cases import CASES, USER_CASES, Case, same
from scipy.sparse.csgraph import floyd_warshall
from scipy.spatial import Delaunay
from test_routes import ORDINALS

import semiring
from apsp.io.formats import read as read_graph
from semiring import Elimination, eliminate, get
from semiring.host.errors import (
    AlgebraError,
    DeviceError,
    DivergenceError,
    DomainError,
    DTypeError,
    MemoryNeeded,
    NegativeCycleError,
    ShapeError,
    VertexError,
)
from semiring.sparse import Hops, analyse, analysis, fronts, order, pattern, quotient, sharing, structure
from semiring.sparse.pattern import neighbours

ALL = [*CASES, *USER_CASES]


def rng(seed=0):
    return np.random.default_rng(seed)


def shapes():
    """Name → (n, tails, heads) of graphs that are awkward in different ways."""
    r = rng(7)
    i = np.arange(22)
    star = np.zeros(30, int)
    leaves = np.arange(1, 31)
    two = np.concatenate((r.integers(0, 12, (2, 30)), 12 + r.integers(0, 9, (2, 20))), axis=1)
    dag = np.sort(r.integers(0, 35, (2, 90)), axis=0)
    dag = dag[:, dag[0] < dag[1]]
    grid = np.arange(36).reshape(6, 6)
    east = np.stack((grid[:, :-1].ravel(), grid[:, 1:].ravel()))
    south = np.stack((grid[:-1].ravel(), grid[1:].ravel()))
    lattice = np.concatenate((east, east[::-1], south, south[::-1]), axis=1)
    forest = np.array([[v, (v - 1) // 2] for v in range(1, 31)]).T
    sparse = r.integers(0, 45, (2, 72))
    dense = r.integers(0, 25, (2, 300))
    none, upper = np.empty((2, 0), int), np.stack(np.triu_indices(12, 1))
    k, ring = np.arange(24), np.stack((i[:12], (i[:12] + 1) % 12))
    core = np.concatenate((ring, r.integers(0, 12, (2, 18))), axis=1)  # 12 vertices, then starts and goals
    around = np.stack((np.repeat(12 + k, 2), r.integers(0, 12, 48)))
    around[:, 24:] = around[::-1, 24:]
    around = np.concatenate((core, around, np.stack((12 + k[:12], 24 + k[:12]))), axis=1)
    chains = np.concatenate([np.stack((i[:10] + 11 * c, i[1:11] + 11 * c)) for c in range(3)], axis=1)
    return {
        "nothing": (0, none),
        "one vertex": (1, none),
        "one loop": (1, np.zeros((2, 2), int)),
        "isolated": (9, none),
        "path": (22, np.stack((i[:-1], i[1:]))),
        "path both ways": (22, np.concatenate((np.stack((i[:-1], i[1:])), np.stack((i[1:], i[:-1]))), axis=1)),
        "three paths": (33, chains),
        "ring": (22, np.stack((i, (i + 1) % 22))),
        "out-star": (31, np.stack((star, leaves))),
        "in-star": (31, np.stack((leaves, star))),
        "tree": (31, np.concatenate((forest, forest[::-1]), axis=1)),
        "two components": (21, two),
        "acyclic": (35, dag),
        "acyclic, dense": (12, upper[:, upper.sum(axis=0) % 3 > 0]),
        "lattice": (36, lattice),
        "random, reducible": (45, sparse),
        "dense": (25, dense),
        "starts and goals": (36, around),
    }


SHAPES = shapes()


def values(case: Case, count: int, n: int, seed: int) -> np.ndarray:
    """Weights such that the closure exists, some of them the semiring's zero and one where those are harmless."""
    s, r = case.semiring, rng(seed)
    if s.idempotent:
        out = (
            semiring.random_matrix(s, (1, count), case.dtype, seed=seed, density=1.0)[0]
            if count
            else np.empty(0, case.dtype)
        )
        out[r.random(count) < 0.1] = case.one
        out[r.random(count) < 0.1] = case.zero
        return out
    rates = (1 - r.random(count)) / (2 * max(count, 1))
    return (np.log(rates) if s.zero == -math.inf else rates).astype(case.dtype)


def matrix_of(case: Case, n: int, arcs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    A = np.full((n, n), case.zero)
    for u, v, w in zip(*arcs.tolist(), weights.tolist(), strict=True):
        A[u, v] = case.semiring.add.python(A[u, v].item(), w)
    return A


def made(case: Case, name: str, seed: int = 0, **options):
    n, arcs = SHAPES[name]
    weights = values(case, arcs.shape[1], n, seed)
    E = Elimination.from_arrays(*arcs, weights, n, case.semiring, dtype=case.dtype, **options)
    return E, matrix_of(case, n, arcs, weights)


@pytest.mark.parametrize("case", list(cases.few(ALL, cases.TRAITS)))
def test_every_semiring_on_every_shape(case):
    for seed, name in enumerate(SHAPES):
        E, A = made(case, name, seed)
        expected = cases.closure(case, A)
        same(case, E.to_dense(), expected)
        n = len(A)
        for i in range(0, n, 7):
            same(case, E.row(i), expected[i])
            same(case, E.column(i), expected[:, i])
        i, j = np.divmod(np.arange(0, n * n, 3), max(n, 1))
        same(case, E.entries(i, j), expected[i, j])


#: One kind of each way to compute: what fronts in blocks take from the dense kernels is tested there for all.
SOME = [
    case
    for case in ALL
    if str(case) in ("min_plus-float32", "min_plus-int16", "max_min-float64", "log_plus-float32", "plus_times-float64",
                     "lor_land-bool", "colours-int64")
]  # fmt: skip


@pytest.mark.parametrize("case", SOME, ids=str)
def test_fronts_of_every_size_by_every_way(case, monkeypatch):
    """One dense front in a run of small ones and by itself, on one thread and on two: the same to the last bit."""
    n = 90 if case.semiring.add.simd else 45
    arcs = rng(3).integers(0, n, (2, 5 * n))
    weights = values(case, arcs.shape[1], n, 3)
    expected = cases.closure(case, matrix_of(case, n, arcs, weights))
    ways = []
    for large in (0, 1 << 17, 1 << 40):
        monkeypatch.setattr(fronts, "LARGE", large)
        monkeypatch.setattr(fronts, "ALONE", large >> 13)
        for threads in (1, 2):
            E = Elimination.from_arrays(*arcs, weights, n, case.semiring, dtype=case.dtype, threads=threads)
            same(case, E.to_dense(), expected)
            ways.append(E.to_dense())
    for D in ways:
        np.testing.assert_array_equal(D, ways[0])


@pytest.mark.parametrize("n", [64, 65, 150])
def test_a_front_of_several_blocks_of_pivots(n, monkeypatch):
    """A complete graph is one supernode, eliminated by 64 pivots at a time, alone and in a run of small fronts."""
    M = rng(n).integers(1, 1000, (n, n))
    expected = floyd_warshall(M)
    for large in (0, 1 << 40):
        monkeypatch.setattr(fronts, "LARGE", large)
        D = eliminate(sp.coo_array(M), "min_plus", dtype="float32", threads=1).to_dense()
        np.testing.assert_array_equal(D, expected)


@pytest.mark.parametrize("parts", ["a forest", "one tree", "no arc"])
def test_threads_take_whole_subtrees_each_once(parts):
    n = 200
    tails, heads = {
        "a forest": (np.arange(0, n - 1, 2), np.arange(1, n, 2)),
        "one tree": (np.arange(1, n), rng().integers(0, np.arange(1, n))),
        "no arc": (np.zeros(0, int), np.zeros(0, int)),
    }[parts]
    S = semiring.sparse.analyse((tails, heads), n).structure
    cost = sharing.costs(S, 10)
    np.testing.assert_array_equal(np.diff(cost), np.diff(S.work) + 10)
    for most in (1, int(cost[1]), int(cost[-1]) // 7, int(cost[-1])):
        found = sorted(sharing.subtrees(S, cost, most))
        taken = [s for start, stop in found for s in range(start, stop)]
        assert len(set(taken)) == len(taken)
        whole = {s for s in range(len(S)) if cost[s + 1] - cost[S.leaf[s]] <= most}
        assert set(taken) == whole  # a subtree that fits is taken, with all that is below it
        assert all(cost[stop] - cost[start] <= 2 * most for start, stop in found)
    for threads in (2, 3):
        found = sharing.shares(S, 10, threads)
        assert found is sharing.shares(S, 10, threads)  # worked out once
        # Nobody would be done sooner alone, and twice as soon as ideal nobody can.
        assert cost[-1] / threads <= sharing._time(found, cost, threads) <= cost[-1] / threads / sharing.TOGETHER


def test_new_weights_take_the_memory_of_results_that_nobody_holds():
    """Whatever lies there; and never that of one who does."""
    arcs, weights = some_arcs(300), rng(1).integers(1, 100, (5, 1200)).astype(np.int32)
    fresh = [Elimination.from_arrays(*arcs, w, 300).to_dense() for w in weights]
    E = first = Elimination.from_arrays(*arcs, weights[0], 300)
    memory, i = E.analysis.panels, np.arange(300)
    for w, D in zip(weights[1:], fresh[1:], strict=True):
        E = E.update(w)
        np.testing.assert_array_equal(E.entries(i[:, None], i), D)
        unused = [x for x in memory._owners if not any(np.shares_memory(x, y) for y in held(first, E))]
        for owner in unused:
            owner.fill(0x5C)
    assert len(unused) == 2
    del unused, owner
    np.testing.assert_array_equal(first.to_dense(), fresh[0])
    assert len(memory._owners) == 2  # what nobody holds was given back before rows were streamed
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: E.update(weights[k % 5]).to_dense(), range(40)))
    for k, D in enumerate(found):
        np.testing.assert_array_equal(D, fresh[k % 5])
    again = pickle.loads(pickle.dumps(E))
    np.testing.assert_array_equal(again.update(weights[2]).to_dense(), fresh[2])


def some_arcs(n):
    return rng(0).integers(0, n, (2, 4 * n))


def held(*eliminations):
    return [X for E in eliminations for X in (E._panels.lower, E._panels.upper)]


@pytest.mark.parametrize("dtype", ["float32", "int16"])
@pytest.mark.parametrize("n", [200, 521])
def test_large_fronts(dtype, n):
    """Fronts beyond the nearest cache are eliminated in blocks, w of m vertices."""
    r = rng(n)
    arcs = np.concatenate(
        (r.integers(0, n, (2, 12 * n)), np.stack((np.arange(n, n + 60), r.integers(0, n, 60)))), axis=1
    )
    weights = r.integers(0, 50, arcs.shape[1])
    A = sp.coo_array((weights + 1, arcs), shape=(n + 60, n + 60))
    expected = cases.distances(cases.lengths(n + 60, arcs, weights + 1), dtype=dtype)
    np.testing.assert_array_equal(eliminate(A, "min_plus", dtype=dtype).to_dense(), expected)


ORDERS = ["degree", "levels", "natural", "reversed", "random"]


def an_order(name, n):
    return {"reversed": np.arange(n)[::-1], "random": rng(n).permutation(n)}.get(name, name)


@pytest.mark.parametrize("relaxed", [(8, 0.2), (0, 0.0), (1000, 1.0)], ids=str)
@pytest.mark.parametrize("name", ORDERS)
def test_no_order_and_no_relaxation_changes_a_bit(name, relaxed, monkeypatch):
    monkeypatch.setattr(structure, "NARROW", relaxed[0])
    monkeypatch.setattr(structure, "ZEROS", relaxed[1])
    for case in (
        Case(get("min_plus"), np.dtype("int64")),
        Case(get("max_min"), np.dtype("float64")),
        Case(get("log_plus"), np.dtype("float32")),
    ):
        for seed, shape in enumerate(SHAPES):
            n = SHAPES[shape][0]
            E, A = made(case, shape, seed, order=an_order(name, n))
            same(case, E.to_dense(), cases.closure(case, A))


@pytest.mark.parametrize("name", ["auto", "degree", "levels", "natural", "random"])
def test_vertices_that_are_renumbered_keep_their_labels(name, monkeypatch):
    monkeypatch.setattr(pattern, "SMALL", 0)
    monkeypatch.setattr(pattern, "APART", 0)
    case = Case(get("min_plus"), np.dtype("int64"))
    for seed, shape in enumerate(SHAPES):
        E, A = made(case, shape, seed, order=an_order(name, SHAPES[shape][0]))
        expected = cases.closure(case, A)
        same(case, E.to_dense(), expected)
        np.testing.assert_array_equal(np.sort(E.order), np.arange(len(A)))
        for v in range(0, len(A), 5):
            same(case, E.row(v), expected[v])
            same(case, E.column(v), expected[:, v])


def test_the_degree_order_is_a_permutation_and_stops_early_in_what_is_dense():
    for seed in range(20):
        r = rng(seed)
        n = int(r.integers(1, 200))
        arcs = r.integers(0, n, (2, int(r.integers(0, 6 * n)))).astype(np.int32)
        found = order.minimum_degree(*neighbours(arcs[0], arcs[1], n))
        np.testing.assert_array_equal(np.sort(found.permutation), np.arange(n))
        assert 0 <= found.dense <= n
    complete = np.stack(np.divmod(np.arange(900), 30)).astype(np.int32)
    assert order.minimum_degree(*neighbours(complete[0], complete[1], 30)).dense == 30


def test_vertices_that_no_walk_passes_through_are_leaves():
    n, (tails, heads) = SHAPES["starts and goals"]
    ends = pattern.ends(tails, heads, n)
    np.testing.assert_array_equal(np.flatnonzero(ends), np.arange(12, 36))
    start, beside = neighbours(*(x.astype(np.int32) for x in (tails, heads)), n)
    found = order.minimum_degree(start, beside, 1, ends)
    assert set(found.permutation[:24]) == set(range(12, 36))
    for ours, theirs in zip(found.columns, order.columns(start, beside, found.permutation, found.dense), strict=True):
        np.testing.assert_array_equal(ours[:24], theirs[:24])
    S = analyse((tails, heads), n).structure
    assert (np.diff(S.first)[S.owner[S.position[12:]]] == 1).all()
    for dtype in ("int16", "int64", "float32"):
        case = Case(get("min_plus"), np.dtype(dtype))
        E, A = made(case, "starts and goals")
        for arc in (0, 30, 60, 80):
            E, A[tails[arc], heads[arc]] = E.update([0], arcs=[arc]), 0  # no arc weighs less
            same(case, E.to_dense(), cases.closure(case, A))


def test_columns_found_with_the_degree_order_are_those_of_eliminating_set_by_set():
    for seed in range(30):
        r = rng(seed)
        n = int(r.integers(1, 150))
        tails, heads = r.integers(0, n, (2, int(n * r.choice([0.8, 1.3, 2.5])))).astype(np.int32)
        if seed % 3 == 0 and n > 100:  # leaves of a vertex of more neighbours than are searched
            tails[:90], heads[:90] = 0, np.arange(1, 91)[: len(heads[:90])]
        found = order.minimum_degree(*neighbours(tails, heads, n))
        parent, counts = found.columns
        beside = [set() for _ in range(n)]
        for u, v in zip(tails.tolist(), heads.tolist(), strict=True):
            if u != v:
                beside[u].add(v)
                beside[v].add(u)
        place = {int(v): k for k, v in enumerate(found.permutation)}
        rows = []
        for k, v in enumerate(found.permutation[: n - found.dense].tolist()):
            rows.append({min(place[u], n - found.dense) for u in beside[v]})
            assert counts[k] == 1 + len(beside[v])
            for u in beside[v]:
                beside[u] |= beside[v]
                beside[u] -= {u, v}
        for k, own in enumerate(rows):  # the first row, or a column that it is one supernode with
            above = min(own, default=-1)
            assert k < parent[k] <= above if own else parent[k] == -1
            assert parent[k] == n - found.dense or own <= {parent[k]} | rows[parent[k]]
            assert all(parent[j] == j + 1 and above in rows[j] for j in range(parent[k], above))


def scattered(n, seed):
    """Graphs of n vertices: trees, paths, stars, lattices, sparse and denser ones, in one piece or many."""
    r, k = rng(seed), np.arange(1, n)
    side = max(1, int(n**0.5))
    cells = np.arange(side * side).reshape(side, side)
    yield "path", k - 1, k
    yield "star", np.zeros(n - 1, int), k
    yield "stars", k % 7, k
    yield "tree", (k * r.random(n - 1)).astype(int), k
    yield "lattice", *np.concatenate((np.stack((cells[:, 1:], cells[:, :-1])).reshape(2, -1),
                                      np.stack((cells[1:], cells[:-1])).reshape(2, -1)), axis=1)  # fmt: skip
    for degree in (0, 0.3, 0.7, 1.5, 4):
        yield f"random, {degree}", *r.integers(0, n, (2, int(degree * n)))
    yield "near", *np.clip(np.stack((k - 1, k + r.integers(-3, 4, n - 1))), 0, n - 1)
    u, v = np.divmod(np.arange(196), 14)
    first = 12 * np.arange(n // 12 + 1)[:, None]
    yield "cliques", (first + u).ravel() % n, (first + v).ravel() % n


@pytest.mark.parametrize("bound", [1, 4, 1000])
def test_an_order_by_parts_is_one_with_its_tree_and_its_counts(bound, monkeypatch):
    """Any part may stop anywhere, whichever of its vertices are frozen; no number of threads changes anything."""
    monkeypatch.setattr(quotient, "CUT", 0)
    monkeypatch.setattr(quotient, "LEAST", 20)
    monkeypatch.setattr(quotient, "BOUND", bound)
    monkeypatch.setattr(quotient, "FROZEN", 0.6)
    apart = 0
    for seed, n in ((0, 50), (1, 130), (2, 400)):
        for name, tails, heads in scattered(n, seed):
            arcs = (np.asarray(x, np.int32) for x in (tails, heads))
            start, beside = neighbours(*arcs, n)
            ending = rng(n).random(n) < 0.3 if seed else None  # whatever they are, they may go first
            apart += len(quotient.parts(start, beside, 1, ending)[0]) > 1
            found, again = (order.minimum_degree(start, beside, threads, ending) for threads in (1, 3))
            np.testing.assert_array_equal(np.sort(found.permutation), np.arange(n), err_msg=name)
            np.testing.assert_array_equal(found.permutation, again.permutation)
            parent, counts = order.columns(start, beside, found.permutation, found.dense)
            np.testing.assert_array_equal(found.columns[1], counts, err_msg=name)
            for k in np.flatnonzero(found.columns[0] != parent):  # in a chain of columns of the same rows
                chain = np.arange(found.columns[0][k], parent[k])
                assert k < found.columns[0][k] <= parent[k], name
                np.testing.assert_array_equal(found.columns[0][chain], chain + 1, err_msg=name)
    assert apart > 12


def test_a_large_graph_costs_about_the_same_in_parts(monkeypatch):
    r = rng(0)
    points = r.random((6000, 2))
    sides = Delaunay(points).simplices[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    costs = []
    monkeypatch.setattr(pattern, "SMALL", 1)
    monkeypatch.setattr(quotient, "LEAST", 1500)
    for cut in (10**9, 0):
        monkeypatch.setattr(quotient, "CUT", cut)
        costs.append(analyse(tuple(sides.T), 6000).cost)
    assert costs[0] != costs[1]
    assert costs[1].sweep < 1.1 * costs[0].sweep


def test_a_structure_is_the_same_by_any_number_of_threads(monkeypatch):
    """Also where vertices are renumbered first, in parts that grow together, none of which may be left out."""
    monkeypatch.setattr(pattern, "SMALL", 1)
    monkeypatch.setattr(analysis, "SMALL", 1)
    monkeypatch.setattr(analysis, "SHARE", 1)
    monkeypatch.setattr(quotient, "CUT", 0)
    monkeypatch.setattr(quotient, "LEAST", 30)
    assert [pattern.shares(n, 5) for n in (0, 2)] == [[(0, 0)], [(0, 1), (1, 2)]]
    for n in (1, 3, 7, 300):
        for name, tails, heads in scattered(n, n):
            label = rng(n).permutation(n)
            ends = label[np.asarray(tails, int)], label[np.asarray(heads, int)]
            one, *others = (analyse(ends, n, threads=threads) for threads in (1, 2, 5))
            np.testing.assert_array_equal(np.sort(one.structure.permutation), np.arange(n), err_msg=name)
            for other in others:
                for part in "structure", "arcs":
                    for key, found in vars(getattr(one, part)).items():
                        np.testing.assert_array_equal(
                            getattr(getattr(other, part), key), found, err_msg=f"{name} {key}"
                        )


def test_counts_of_the_degree_order_of_air_routes():
    """Vertices of large cliques go with others, and their cliques with them: a list that was left behind was read."""
    graph = read_graph(Path(__file__).parents[1] / "examples" / "openflights" / "routes.csv.gz")
    tails, heads = (x.astype(np.int32) for x in graph.edges()[:2])
    start, heads = neighbours(tails, heads, graph.n)
    found = order.minimum_degree(start, heads)
    beside = [set(heads[start[v] : start[v + 1]].tolist()) for v in range(graph.n)]
    counts = []
    for v in found.permutation[: graph.n - found.dense].tolist():
        counts.append(1 + len(beside[v]))
        for u in beside[v]:
            beside[u] |= beside[v]
            beside[u] -= {u, v}
    np.testing.assert_array_equal(found.columns[1][: len(counts)], counts)


def test_a_degree_order_with_little_memory_and_few_stamps_is_the_same(monkeypatch):
    """Lists are moved together when there is no more room, and stamps begin anew when they are used up."""
    r = rng(0)
    start, beside = neighbours(*r.integers(0, 2000, (2, 6000)).astype(np.int32), 2000)
    found = order.minimum_degree(start, beside)
    parent, counts = order.columns(start, beside, found.permutation, found.dense)
    assert found.dense > 100
    np.testing.assert_array_equal(found.columns[1], counts)
    assert (found.columns[0] == parent).mean() > 0.99
    monkeypatch.setattr(quotient, "STAMPS", 5000)
    np.testing.assert_array_equal(order.minimum_degree(start, beside).permutation, found.permutation)


def test_the_diagonals_of_pivot_blocks_are_where_no_way_is_any_length():
    r = rng(3)
    E = Elimination.from_arrays(*r.integers(0, 300, (2, 900)), r.integers(1, 9, 900).astype(float), 300)
    at, lower = E.analysis.structure.diagonal, E._panels.lower
    assert E.cost.front > 30
    np.testing.assert_array_equal(np.sort(at), np.flatnonzero(lower == 0))
    assert len(at) == 300


def test_levels_are_taken_for_a_lattice_and_degrees_for_a_tree():
    at = np.arange(40 * 40).reshape(40, 40)
    arcs = [np.concatenate((at[:, :-1].ravel(), at[:-1].ravel())), np.concatenate((at[:, 1:].ravel(), at[1:].ravel()))]
    costs = {name: analyse(tuple(arcs), 1600, order=name).cost.sweep for name in ("degree", "levels")}
    chosen = analyse(tuple(arcs), 1600)
    assert chosen.cost.sweep == costs[chosen.order]
    assert (chosen.orders, analyse(tuple(arcs), 1600, order="degree").orders) == (2, 1)
    assert not order.even(np.arange(1601))
    for n in (0, 1, 2, 9, 200):
        r = rng(n)
        tails, heads = r.integers(0, max(n, 1), (2, 3 * n)).astype(np.int32)
        found = order.levels(*neighbours(tails, heads, n)).permutation
        np.testing.assert_array_equal(np.sort(found), np.arange(n))


def test_the_degree_order_of_a_tree_has_no_fill():
    r = rng(5)
    tails = np.arange(1, 3000)
    heads = (tails * r.random(2999)).astype(int)
    monkey = structure.NARROW, structure.ZEROS
    try:
        structure.NARROW, structure.ZEROS = 0, 0.0
        assert analyse((tails, heads), 3000).cost.fill <= 3000 + 2 * 2999 + 2 * 8**2
    finally:
        structure.NARROW, structure.ZEROS = monkey


def test_what_is_dense_at_the_end_is_one_supernode_whatever_joins_it(monkeypatch):
    """A child that adds zeros to the first column of a clique must not keep the next one out."""
    monkeypatch.setattr(structure, "ZEROS", 0.1)
    for seed in range(60):
        r = rng(seed)
        n = int(r.integers(10, 60))
        tails, heads = np.sort(r.integers(0, n, (2, 3 * n)), axis=0).astype(np.int32)
        found = order.minimum_degree(*neighbours(tails, heads, n))
        S = analyse((tails, heads), n, order=found).structure
        assert len(set(S.owner[S.position[found.permutation[n - found.dense :]]].tolist())) <= 1
        assert len(S.rows) == 0 or (S.rows.min() >= 0 and S.rows.max() < n)


def test_wide_supernodes_hold_few_zeros():
    """Of the entries of a supernode, those of its columns' own structures are all but so many."""
    for seed, n in ((0, 300), (1, 900), (2, 2000)):
        r = rng(seed)
        tails, heads = r.integers(0, n, (2, 2 * n)).astype(np.int32)
        start, beside = neighbours(tails, heads, n)
        given = order.Order(r.permutation(n).astype(np.int32))
        _, counts = order.columns(start, beside, given.permutation, 0)
        tree = structure.supernodes(start, beside, given)
        own = np.empty(n, np.int64)
        own[given.permutation] = counts
        w, height = tree.width, tree.height
        held = w * (w + 1) // 2 + w * height
        kept = np.add.reduceat(own[tree.permutation], tree.first[:-1])
        wide = w > structure.NARROW
        assert wide.any()
        assert (held - kept <= structure.ZEROS * held)[wide].all()


def test_updates_lie_on_a_stack_that_is_as_high_as_was_counted():
    for seed in range(20):
        r = rng(seed)
        n = int(r.integers(2, 200))
        S = analyse(tuple(r.integers(0, n, (2, 2 * n)).astype(np.int32)), n).structure
        w, height = np.diff(S.first).astype(np.int64), np.diff(S.begin).astype(np.int64)
        assert int((S.update + height**2).max()) <= structure.paths(S.parent, w, height)[2]


def test_counts_are_those_of_the_filled_graph():
    """Column counts by eliminating vertex by vertex, on sets."""
    for seed in range(12):
        r = rng(seed)
        n = int(r.integers(2, 40))
        arcs = r.integers(0, n, (2, 2 * n)).astype(np.int32)
        a = analyse((arcs[0], arcs[1]), n, order=r.permutation(n))
        S = a.structure
        beside = [set() for _ in range(n)]
        for u, v in arcs.T.tolist():
            if u != v:
                u, v = int(S.position[u]), int(S.position[v])
                beside[u].add(v)
                beside[v].add(u)
        above = []
        for k in range(n):
            higher = {v for v in beside[k] if v > k}
            for v in higher:
                beside[v] |= higher - {v}
            above.append(higher)
        for s in range(len(S)):
            first, last = S.first[s], S.first[s + 1]
            rows = set(S.rows[S.begin[s] : S.begin[s + 1]].tolist())
            needed = set().union(*(above[k] for k in range(first, last)))
            assert needed - set(range(first, last)) == rows


# Values at the edges


def test_a_stored_zero_is_an_arc_and_duplicates_meet():
    A = sp.coo_array(([0.0, 3.0, 5.0, 0.0], ([0, 1, 1, 2], [1, 2, 2, 0])), shape=(4, 4))
    expected = [[0, 0, 3, math.inf], [3, 0, 3, math.inf], [0, 0, 0, math.inf], [math.inf] * 3 + [0]]
    np.testing.assert_array_equal(eliminate(A).to_dense(), expected)
    B = sp.csr_array((np.array([0.0, 2.0]), np.array([1, 1]), np.array([0, 2, 2])), shape=(2, 2))
    assert eliminate(B).entry(0, 1) == 0.0
    assert eliminate(B, "max_min").entry(0, 1) == 2.0


def test_infinite_arcs_are_none():
    A = sp.coo_array(([math.inf, 1.0], ([0, 1], [1, 2])), shape=(3, 3))
    np.testing.assert_array_equal(eliminate(A).row(0), [0, math.inf, math.inf])
    top = np.iinfo(np.int32).max
    B = sp.coo_array((np.array([top, 1], np.int32), ([0, 1], [1, 2])), shape=(3, 3))
    np.testing.assert_array_equal(eliminate(B).row(0), [0, top, top])


@pytest.mark.parametrize("dtype", ["int16", "int64"])
def test_integers_saturate_and_never_wrap(dtype):
    case = Case(get("min_plus"), np.dtype(dtype))
    top = np.iinfo(dtype).max
    n = 9
    arcs = np.stack((np.arange(n - 1), np.arange(1, n)))
    for w in (top // 2, top - 1, top // 3):
        weights = np.full(n - 1, w, dtype)
        E = Elimination.from_arrays(*arcs, weights, n, "min_plus")
        same(case, E.to_dense(), cases.closure(case, matrix_of(case, n, arcs, weights)))
        weights[::2] = -5
        E = Elimination.from_arrays(*arcs, weights, n, "min_plus")
        same(case, E.to_dense(), cases.closure(case, matrix_of(case, n, arcs, weights)))


def test_negative_arcs():
    r = rng(1)
    for seed in range(10):
        n = 60
        arcs = np.stack(np.nonzero(rng(seed).random((n, n)) < 0.05))
        h = r.integers(0, 100, n)
        weights = r.integers(0, 20, arcs.shape[1]) + h[arcs[0]] - h[arcs[1]]
        expected = cases.floyd_warshall(cases.lengths(n, arcs, weights))
        for dtype in ("int64", "float64"):
            E = Elimination.from_arrays(*arcs, weights, n, "min_plus", dtype=dtype)
            np.testing.assert_array_equal(E.to_dense(), cases.in_dtype(expected, dtype))


# Not idempotent: each walk once


def test_fractions_exactly():
    """(I − A) A* = I in fractions; the floats are those of a nilpotent matrix of powers of two, so nothing rounds."""
    r = rng(4)
    n = 40
    arcs = np.sort(r.integers(0, n, (2, 100)), axis=0)
    arcs = arcs[:, arcs[0] < arcs[1]]
    relabel = r.permutation(n)
    weights = 2.0 ** r.integers(-2, 3, arcs.shape[1])
    arcs = relabel[arcs]
    E = Elimination.from_arrays(*arcs, weights, n, "plus_times")
    D = [[Fraction(x) for x in row] for row in E.to_dense().tolist()]
    A = [[Fraction(0)] * n for _ in range(n)]
    for u, v, w in zip(*arcs.tolist(), weights.tolist(), strict=True):
        A[u][v] += Fraction(w)
    for i in range(n):
        for j in range(n):
            assert D[i][j] - sum(A[i][k] * D[k][j] for k in range(n)) == (i == j)


def test_paths_of_an_acyclic_graph_are_counted():
    import networkx as nx

    r = rng(6)
    arcs = np.sort(r.integers(0, 14, (2, 40)), axis=0)
    arcs = np.unique(arcs[:, arcs[0] < arcs[1]], axis=1)
    E = Elimination.from_arrays(*arcs, np.ones(arcs.shape[1]), 14, "plus_times")
    G = nx.DiGraph(arcs.T.tolist())
    for i in range(14):
        for j in range(14):
            expected = 1 if i == j else len(list(nx.all_simple_paths(G, i, j))) if {i, j} <= set(G) else 0
            assert E.entry(i, j) == expected


def one_walk():
    """The arguments of an elimination over ordinals, one walk between any two vertices; and all entries."""
    # 1 + ω = ω, and ω + 1 is more; nothing is distributed where no two walks meet.
    n, relabel = 13, rng(2).permutation(13)
    weights = np.where(np.arange(1, n) % 3, np.arange(1.0, n), 1000.0 * np.arange(1, n))
    expected = np.full((n, n), np.inf)
    for i in range(n):
        product = 0.0
        for j in range(i, n):
            expected[relabel[i], relabel[j]] = product
            if j < n - 1:
                product = ORDINALS.mul.python(product, weights[j])
    return (relabel[:-1], relabel[1:], weights, n, ORDINALS), expected


def test_a_multiplication_that_does_not_commute_keeps_its_order():
    arcs, expected = one_walk()
    case, n, E = Case(ORDINALS, np.dtype("float64")), len(expected), Elimination.from_arrays(*arcs)
    same(case, E.to_dense(), expected)
    for v in range(n):
        same(case, E.column(v), expected[:, v])
        same(case, E.row(v), expected[v])
    i, j = np.divmod(np.arange(n * n), n)
    for pairs in (E, E.hub_labels()):
        same(case, pairs.entries(i, j), expected[i, j])


# Divergence


@pytest.mark.parametrize("length", [1, 3, 40])
def test_a_huge_weight_hides_no_cycle(length):
    """A cycle is judged by its own arcs, whatever another weighs, in its component or another."""
    n = length + 4
    ring = np.arange(length)
    tails = np.concatenate([ring, [length, length + 1, 0, length + 3]])
    heads = np.concatenate([np.roll(ring, -1), [length + 1, length + 2, length + 3, 0]])
    weights = np.concatenate([np.full(length, -1.0), [1e18, 1e18, 1e18, 1e18]]).astype(np.float32)
    for chosen in ("degree", "natural", np.arange(n)[::-1]):
        with pytest.raises(NegativeCycleError, match="no cycle may have a negative weight") as caught:
            Elimination.from_arrays(tails, heads, weights, n, order=chosen)
        assert sorted(caught.value.cycle) == ring.tolist()


@pytest.mark.parametrize("length", [1, 2, 7, 300])
@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_a_negative_cycle_is_found_inside_and_across_supernodes(length, dtype):
    n = 400
    ring = np.arange(50, 50 + length)
    tails = np.concatenate((np.arange(n - 1), ring))
    heads = np.concatenate((np.arange(1, n), np.roll(ring, -1)))
    weights = np.concatenate((np.full(n - 1, 5), np.zeros(length)))
    if length == 1:
        weights[-1] = -1
    else:  # the way back from the last of the ring to its first
        weights[-1] = -5 * (length - 1) - 1
        weights[n - 1 : -1] = 5
    with pytest.raises(NegativeCycleError) as caught:
        Elimination.from_arrays(tails, heads, weights, n, "min_plus", dtype=dtype)
    assert caught.value.vertex in ring
    E = Elimination.from_arrays(tails, heads, weights, n, "min_plus", dtype=dtype, check=False)
    assert E.divergence is not None
    assert E.divergence[0] in ring
    weights[-1] += 1
    E = Elimination.from_arrays(tails, heads, weights, n, "min_plus", dtype=dtype)
    assert E.divergence is None
    assert E.entry(0, 399) == 399 * 5


def test_a_sum_without_limit_is_told_from_one_within_rounding():
    """Rows that sum to 1 have no limit, and rows that sum to a little less do; signs that cancel may."""
    r = rng(12)
    for n in (2, 5, 40, 200):
        arcs = np.stack(np.nonzero(r.random((n, n)) < min(1.0, 6 / n)))
        arcs = np.concatenate((arcs, np.stack((np.arange(n), np.roll(np.arange(n), -1)))), axis=1)
        weights = r.random(arcs.shape[1])
        sums = np.zeros(n)
        np.add.at(sums, arcs[0], weights)
        weights /= sums[arcs[0]]
        with pytest.raises(DivergenceError):
            Elimination.from_arrays(*arcs, weights, n, "plus_times")
        E = Elimination.from_arrays(*arcs, 0.9 * weights, n, "plus_times")
        np.testing.assert_allclose(E.matvec(np.ones(n)), 10, rtol=1e-9)


def test_signs_that_cancel():
    E = Elimination.from_arrays([0, 1, 0], [1, 0, 2], [2.0, -0.2, 1.0], 3, "plus_times")  # eigenvalues ±i √0.4
    np.testing.assert_allclose(E.to_dense(), np.linalg.inv(np.eye(3) - [[0, 2, 1], [-0.2, 0, 0], [0, 0, 0]]))
    with pytest.raises(DivergenceError, match="spectral radius"):
        Elimination.from_arrays([0, 1], [1, 0], [2.0, -2.0], 2, "plus_times")
    acyclic = Elimination.from_arrays([0, 1], [1, 2], [1e9, -1e9], 3, "plus_times")
    assert acyclic.entry(0, 2) == -1e18
    stored_zero = Elimination.from_arrays([0, 1, 2], [1, 2, 0], [1e9, -1e9, 0.0], 3, "plus_times")
    assert stored_zero.entry(0, 2) == -1e18


def test_other_divergences():
    with pytest.raises(DivergenceError, match="max_plus") as caught:
        Elimination.from_arrays([0, 1], [1, 0], [2, -1], 3, "max_plus", dtype="int32")
    assert not isinstance(caught.value, NegativeCycleError)
    with pytest.raises(DivergenceError, match="no limit") as caught:
        Elimination.from_arrays([0, 1, 2], [1, 0, 2], [0.5, 2.0, 0.1], 3, "plus_times")
    assert caught.value.vertex in (0, 1)
    with pytest.raises(DivergenceError, match="no limit"):
        Elimination.from_arrays([0, 1], [1, 0], [0.0, 0.1], 3, "log_plus", dtype="float32")
    with pytest.raises(DivergenceError):
        Elimination.from_arrays([0, 1], [1, 0], [2.0, 1.0], 3, "max_times", dtype="float32")
    Elimination.from_arrays([0, 1], [1, 0], [0.5, 1.0], 3, "max_times", dtype="float32")


# Queries


@pytest.fixture(scope="module")
def medium():
    """A graph of 600 vertices with directed weights, and its distances by SciPy."""
    r = rng(11)
    n = 600
    points = r.random((n, 2))
    t = Delaunay(points).simplices
    pairs = np.concatenate((t[:, :2], t[:, 1:], t[:, ::2]))
    arcs = np.concatenate((pairs, pairs[:, ::-1])).T
    arcs = arcs[:, r.random(arcs.shape[1]) < 0.6]
    weights = r.integers(1, 1000, arcs.shape[1])
    return n, arcs, weights, cases.distances(cases.lengths(n, arcs, weights))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int64"])
@pytest.mark.parametrize("threads", [1, 3])
def test_all_queries_agree_with_dijkstra(medium, dtype, threads):
    n, arcs, weights, expected = medium
    if dtype == "int16":
        weights = weights % 100 + 1
        expected = cases.distances(cases.lengths(n, arcs, weights))
    E = Elimination.from_arrays(*arcs, weights, n, dtype=dtype, threads=threads)
    expected = cases.in_dtype(expected, dtype)
    np.testing.assert_array_equal(E.to_dense(), expected)
    np.testing.assert_array_equal(E.to_dense(np.empty((n, n), dtype, order="F")), expected)
    seen = np.zeros((n, n), dtype)
    for labels, block in E.rows(block=50):
        assert block.shape == (len(labels), n)
        seen[labels] = block
    np.testing.assert_array_equal(seen, expected)
    kept = list(E.rows(block=7))
    np.testing.assert_array_equal(np.concatenate([block for _, block in kept]), expected)
    np.testing.assert_array_equal(np.concatenate([labels for labels, _ in kept]), np.arange(n))
    wanted = rng(1).integers(0, n, 130)
    np.testing.assert_array_equal(np.concatenate([b for _, b in E.rows(wanted)]), expected[wanted])
    kept = list(E.panels())
    labels = np.concatenate([labels for labels, _ in kept])
    np.testing.assert_array_equal(np.sort(labels), np.arange(n))
    np.testing.assert_array_equal(np.concatenate([p for _, p in kept], axis=1).T, expected[labels])
    for labels, panel in E.panels(columns=True):
        np.testing.assert_array_equal(panel, expected[:, labels])
    i, j = rng(2).integers(0, n, (2, 3, 40))
    np.testing.assert_array_equal(E.entries(i, j), expected[i, j])
    np.testing.assert_array_equal(E.entries(5, j), expected[5, j])
    for q in range(20):
        assert E.entry(i[0, q], j[0, q]) == expected[i[0, q], j[0, q]]
    np.testing.assert_array_equal(E.row(17), expected[17])
    np.testing.assert_array_equal(E.column(17), expected[:, 17])


@pytest.mark.parametrize("case", list(cases.few(ALL, cases.TRAITS)))
def test_products_with_vectors(case):
    E, A = made(case, "acyclic", 3)
    expected = cases.closure(case, A)
    n = len(A)
    for shape in ((n,), (n, 1), (n, 5), *([(n, 130)] if case in SOME else [])):
        x = semiring.random_matrix(case.semiring, (n, int(np.prod(shape[1:]))), case.dtype, seed=1, density=0.3)
        if not case.semiring.idempotent and case.semiring.zero == 0:
            x = x * 0.01
        left = cases.product(case, expected, x).reshape(shape)
        right = cases.product(case, x.T.copy(), expected).T.reshape(shape)
        same(case, E.matvec(x.reshape(shape)), left)
        same(case, E.rmatvec(x.reshape(shape)), right)


def test_a_negative_vector_on_non_negative_arcs(medium):
    n, arcs, weights, expected = medium
    E = Elimination.from_arrays(*arcs, weights, n, dtype="float32")
    x = rng(3).integers(-5000, 5000, n).astype(np.float32)
    np.testing.assert_array_equal(E.matvec(x), (expected + x).min(axis=1).astype(np.float32))
    np.testing.assert_array_equal(E.rmatvec(x), (x[:, None] + expected).min(axis=0).astype(np.float32))


def test_new_weights_are_a_fresh_elimination(medium):
    n, arcs, weights, expected = medium
    E = Elimination.from_arrays(*arcs, weights, n, dtype="int64")
    other = rng(8).permutation(weights)
    fresh = Elimination.from_arrays(*arcs, other, n, dtype="int64").to_dense()
    updated = E.update(other)
    np.testing.assert_array_equal(updated.to_dense(), fresh)
    assert updated.analysis is E.analysis
    np.testing.assert_array_equal(E.to_dense(), cases.in_dtype(expected, "int64"))
    h = rng(9).integers(0, 50, n)
    negative = other + h[arcs[0]] - h[arcs[1]]
    assert (negative < 0).any()
    shifted = fresh.astype(np.int64) + h[:, None] - h
    np.testing.assert_array_equal(
        E.update(negative).to_dense(), np.where(fresh == cases.infinity("int64"), fresh, shifted)
    )


@pytest.mark.parametrize("name", ["min_plus-int64", "colours-int64", "log_plus-float32"])
def test_work_in_many_short_calls_is_the_same(name, monkeypatch):
    """Between two calls Ctrl-C is handled."""
    from semiring.sparse import sweep

    case = next(case for case in ALL if str(case) == name)
    monkeypatch.setattr(fronts, "CALL", 1)
    monkeypatch.setattr(sweep, "CALL", 1)
    for shape in ("random, reducible", "three paths", "lattice"):
        E, A = made(case, shape, 5)
        expected = cases.closure(case, A)
        same(case, E.to_dense(), expected)
        i, j = np.divmod(np.arange(0, len(A) ** 2, 5), len(A))
        same(case, E.entries(i, j), expected[i, j])


def test_long_rows_go_by_fewer_lanes(medium, monkeypatch):
    from semiring.sparse import queries

    n, arcs, weights, expected = medium
    monkeypatch.setattr(queries, "PANEL", 1)
    E = Elimination.from_arrays(*arcs, weights, n, dtype="float32", threads=2)
    blocks = [block for _, block in E.rows()]
    assert len(blocks[0]) < 64 or len(blocks) > 1
    np.testing.assert_array_equal(np.concatenate(blocks), expected.astype(np.float32))
    for labels, panel in E.panels():
        np.testing.assert_array_equal(panel.T, expected[labels].astype(np.float32))


def test_one_structure_serves_several_semirings(medium):
    n, arcs, weights, _ = medium
    a, weights = analyse(tuple(arcs), n), weights.astype("float64")
    E = eliminate(a, "max_min", weights=weights)
    F = Elimination.from_arrays(*arcs, weights, n, "max_min")
    np.testing.assert_array_equal(E.to_dense(), F.to_dense())


def test_memory_is_used_again_only_when_nobody_holds_it(medium):
    n, arcs, weights, _ = medium
    E = Elimination.from_arrays(*arcs, weights, n, threads=2)
    addresses = {block.__array_interface__["data"][0] for _, block in E.rows(block=64)}
    assert len(addresses) <= 5  # not one for each of ten blocks
    first = next(iter(E.rows()))[1][0]
    before = first.copy()
    for _ in E.rows():
        pass
    np.testing.assert_array_equal(first, before)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_is_heard_between_batches_and_leaves_everything_usable():
    child = processes.start("""
import time, numpy as np, semiring
from semiring.sparse import Hops
rng = np.random.default_rng(0)
n = 3000
arcs = np.concatenate((np.stack((np.arange(n), np.roll(np.arange(n), 1))), rng.integers(0, n, (2, 500))), axis=1)
E = semiring.Elimination.from_arrays(*arcs, np.ones(arcs.shape[1], np.float32), n, threads=2)
H = Hops(tuple(arcs), n, dtype="float32", threads=2)
expected = E.row(5)
for batches in (E.rows, E.panels, H.rows):
    try:
        print("going", flush=True)
        end = time.monotonic() + 300
        while time.monotonic() < end:
            for _ in batches():
                pass
        print("deaf")
    except KeyboardInterrupt:
        assert (E.row(5) == expected).all() and (H.row(5) == expected).all()
        assert sum(len(i) for i, _ in batches()) == n
        print("whole")
""")
    for _ in range(3):
        processes.wait_for(child, "going")
        child.send_signal(signal.SIGINT)
    assert processes.finish(child)[:2] == (0, "whole\n")


def test_a_query_that_is_interrupted_anywhere_leaves_the_next_one_whole(monkeypatch):
    from semiring.kernels.cpu.sparse import sweep

    rng, n = np.random.default_rng(3), 400
    E = Elimination.from_arrays(*rng.integers(0, n, (2, 800)), rng.integers(1, 9, 800), n, threads=1)
    expected = np.concatenate([D for _, D in E.rows()])

    for step in "ancestors", "places":
        function = getattr(sweep, step)

        def interrupted(*arguments, function=function):
            function(*arguments)
            raise KeyboardInterrupt  # Ctrl-C while it was compiled is raised once it has run

        with monkeypatch.context() as m:
            m.setattr(sweep, step, interrupted)
            with pytest.raises(KeyboardInterrupt):
                E.row(7)
        np.testing.assert_array_equal(np.concatenate([D for _, D in E.rows()]), expected)


# Large and thin


def test_a_path_of_a_million_vertices():
    n = 10**6
    i = np.arange(n - 1)
    E = Elimination.from_arrays(i, i + 1, np.ones(n - 1, np.float32), n, order="natural")
    row = E.row(n // 2)
    np.testing.assert_array_equal(row[n // 2 :], np.arange(n - n // 2))
    assert (row[: n // 2] == math.inf).all()
    assert E.entry(3, n - 1) == n - 4
    E = Elimination.from_arrays(i, i + 1, np.ones(n - 1, np.float32), n)
    np.testing.assert_array_equal(E.row(n // 2), row)
    assert E.entry(3, n - 1) == n - 4


def test_a_star_of_a_hundred_thousand_leaves():
    n = 10**5 + 1
    leaves = np.arange(1, n)
    tails, heads = np.concatenate((leaves, 0 * leaves)), np.concatenate((0 * leaves, leaves))
    E = Elimination.from_arrays(tails, heads, np.concatenate((leaves, leaves)), n, dtype="int64")
    assert E.cost.fill < 40 * n
    expected = 77 + np.arange(n)
    expected[77] = 0
    np.testing.assert_array_equal(E.row(77), expected)
    assert E.entry(5, 9) == 14


def test_random_graphs_of_degree_four_and_eight():
    for degree in (4, 8):
        n = 800
        arcs = rng(degree).integers(0, n, (2, degree * n // 2))
        weights = rng(degree).integers(1, 99, arcs.shape[1])
        E = Elimination.from_arrays(*arcs, weights, n, dtype="float32")
        np.testing.assert_array_equal(E.to_dense(), cases.distances(cases.lengths(n, arcs, weights)))


@pytest.mark.parametrize("path", [*people.DIMACS, *people.SNAP], ids=lambda path: path.name)
def test_graphs_that_people_have(path):
    G = read_graph(path)
    tails, heads, weights = G.edges()
    E = Elimination.from_arrays(tails, heads, weights, G.n, dtype="float32")
    some = np.arange(0, G.n, 1 + G.n // 35)
    expected = cases.distances(cases.lengths(G.n, (tails, heads), weights), some)
    np.testing.assert_array_equal(np.concatenate([b for _, b in E.rows(some)]), expected)


# Errors


def test_errors_name_what_is_wrong():
    A = sp.coo_array(([1.0], ([0], [1])), shape=(2, 2))
    for error, words, call in (
        (ShapeError, "square", lambda: eliminate(sp.coo_array((2, 3)))),
        (DTypeError, "SciPy sparse", lambda: eliminate(np.eye(3))),
        (ShapeError, "one weight an arc", lambda: eliminate(A, weights=[1, 2])),
        (ShapeError, "no weights", lambda: eliminate(analyse(A))),
        (ShapeError, "Pass n", lambda: analyse(([0], [1]))),
        (ShapeError, "one length", lambda: analyse(([0, 1], [1]), 2)),
        (
            ShapeError,
            r"fewer than 2³⁰ stored entries",
            lambda: analyse((np.broadcast_to(0, 2**30), np.broadcast_to(1, 2**30)), 2),
        ),
        (VertexError, r"0 … 1, got 2", lambda: analyse(([0], [2]), 2)),
        (VertexError, "got -1", lambda: analyse(([0], [-1]), 2)),
        (VertexError, "integers", lambda: analyse(([0.5], [1]), 2)),
        (AlgebraError, "order must be one of", lambda: eliminate(A, order="best")),
        (ShapeError, "permutation", lambda: eliminate(A, order=[0, 0])),
        (ShapeError, "permutation", lambda: eliminate(A, order=[0.0, 1.0])),
    ):
        with pytest.raises(error, match=words):
            call()
    for threads in (0, "2", np.nan):
        with pytest.raises(DeviceError, match="analyse: threads must be a positive integer"):
            analyse(([0], [1]), 2, threads=threads)
    with pytest.raises(DeviceError, match="threads"):
        eliminate(A, threads=0)
    with pytest.raises(DomainError, match="nan"):
        eliminate(sp.coo_array(([math.nan], ([0], [1])), shape=(2, 2)))
    with pytest.raises(DTypeError):
        eliminate(sp.coo_array(([1.5], ([0], [1])), shape=(2, 2)), dtype="int32")
    E = eliminate(A)
    for error, words, call in (
        (VertexError, "row: a vertex must lie in 0 … 1, got 2", lambda: E.row(2)),
        (VertexError, "got -1", lambda: E.entry(0, -1)),
        (VertexError, "integer", lambda: E.column("a")),
        (VertexError, "got 5", lambda: E.entries([0], [5])),
        (ShapeError, r"entries: .* got \(2,\) and \(3,\)", lambda: E.entries([0, 1], [0, 1, 1])),
        (VertexError, "got 9", lambda: list(E.rows([9]))),
        (ShapeError, "block", lambda: E.rows(block=0)),
        (ShapeError, "x must have shape", lambda: E.matvec([1.0])),
        (ShapeError, "out must have shape", lambda: E.to_dense(np.empty((1, 2)))),
        (DTypeError, "out must have dtype float64", lambda: E.to_dense(np.empty((2, 2), np.float32))),
        (ValueError, "to_dense: out must be writeable", lambda: E.to_dense(np.broadcast_to(0.0, (2, 2)))),
    ):
        with pytest.raises(error, match=words):
            call()


def test_metis_is_asked_for_by_name():
    A = sp.coo_array(([1.0], ([0], [1])), shape=(2, 2))
    try:
        import pymetis  # noqa: F401 (only whether it is there)
    except ImportError:
        with pytest.raises(DeviceError, match="pip install pymetis"):
            eliminate(A, order="metis")
    else:
        np.testing.assert_array_equal(eliminate(A, order="metis").row(0), [0, 1])


def test_costs_are_counted_before_numbers_and_bound_what_is_held(medium):
    n, arcs, weights, _ = medium
    a = analyse(tuple(arcs), n)
    assert a.cost.bytes(4) > 0
    E = eliminate(a, weights=weights, dtype="float32")
    S = a.structure
    assert E.nbytes <= a.cost.bytes(4)
    held = sum(getattr(S, name).nbytes for name in ("permutation", "position", "first", "owner", "parent", "child",
               "sibling", "begin", "rows", "slot", "local", "base", "panel", "update", "leaf", "work"))  # fmt: skip
    held += sum(x.nbytes for x in (a.tails, a.heads, a.arcs.begin, a.arcs.arc, a.arcs.row, a.arcs.col))
    assert held <= a.cost.index_bytes <= 2 * held + 1000
    w, r = np.diff(S.first).astype(int), np.diff(S.begin)
    assert a.cost.sweep == (w * r).sum()
    assert a.cost.elimination == (w * (w + r) ** 2).sum()


def test_an_elimination_is_pickled(medium):
    n, arcs, weights, expected = medium
    E = Elimination.from_arrays(*arcs, weights, n, dtype="float32", threads=2)
    E.row(3)
    again = pickle.loads(pickle.dumps(E))
    np.testing.assert_array_equal(again.row(3), expected[3].astype(np.float32))
    np.testing.assert_array_equal(again.update(weights).column(5), E.column(5))


def test_what_is_too_large_is_refused_from_the_counts(medium, monkeypatch):
    n, arcs, weights, _ = medium
    a = analyse(tuple(arcs), n)
    monkeypatch.setattr("semiring.host.memory.LEAST", 0)
    monkeypatch.setattr("semiring.host.memory.available", lambda device: a.cost.bytes(4) - 1)
    monkeypatch.setattr(fronts, "Fronts", None)  # no number is touched
    with pytest.raises(MemoryNeeded, match=r"eliminate: .* must fit on cpu.*fill .*Dijkstra from the sources wanted"):
        eliminate(a, weights=weights, dtype="float32")
    with pytest.raises(MemoryNeeded, match=r"Hops: .*Pass threads=1"):
        Hops(tuple(arcs), n, threads=64)


def test_an_analysis_takes_arcs_of_any_integers():
    """Kernels read them as 32 bits: a process with 64 wrote beyond its arrays."""
    tails, heads = np.divmod(np.flatnonzero(np.random.default_rng(0).random((90, 90)) < 0.05), 90)
    found = [semiring.sparse.Analysis(tails.astype(d), heads.astype(d), 90) for d in (np.int32, np.int64, np.uint64)]
    for other in found[1:]:
        np.testing.assert_array_equal(other.structure.permutation, found[0].structure.permutation)
        np.testing.assert_array_equal(other.arcs.arc, found[0].arcs.arc)
