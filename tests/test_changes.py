"""Weights of few arcs changed: after any sequence of changes, what a fresh elimination has."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import cases
import numpy as np
import pytest
from cases import CASES, USER_CASES, same
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from test_sparse import SHAPES, matrix_of, values

import semiring
from apsp import Graph, shortest_paths
from semiring import Elimination
from semiring.host.errors import DivergenceError, DomainError, MemoryNeeded, NegativeCycleError, ShapeError, VertexError
from semiring.sparse import HubLabels, changes, elimination, fronts, hubs

ALL = [*CASES, *USER_CASES]


@pytest.fixture(autouse=True)
def by_paths(monkeypatch):
    """Small graphs too are computed along root paths, as large ones are."""
    monkeypatch.setattr(changes, "MANY", 2)


def lattice(rows: int, cols: int, seed: int = 0, both: bool = True):
    """(n, tails, heads, weights) of a grid, each edge both ways unless only east and south."""
    grid = np.arange(rows * cols).reshape(rows, cols)
    edges = np.concatenate(
        (np.stack((grid[:, :-1].ravel(), grid[:, 1:].ravel())), np.stack((grid[:-1].ravel(), grid[1:].ravel()))), axis=1
    )
    arcs = np.concatenate((edges, edges[::-1]), axis=1) if both else edges
    return rows * cols, *arcs, np.random.default_rng(seed).integers(1, 100, arcs.shape[1])


def panels(E: Elimination) -> np.ndarray:
    return np.stack((E._panels.lower, E._panels.upper))


def eliminated(E: Elimination, weights) -> Elimination:
    return semiring.eliminate(E.analysis, E.semiring, weights=weights, dtype=E.dtype)


def changed(E: Elimination, weights, arcs) -> Elimination:
    """By root paths, and not by all of it."""
    found = E._changed(np.asarray(arcs), np.asarray(weights, E.dtype))
    assert found is not None
    return found


@pytest.mark.parametrize("case", list(cases.few(ALL, cases.TRAITS)))
def test_every_semiring_and_shape(case):
    r = np.random.default_rng(3)
    for n, arcs in SHAPES.values():
        count = arcs.shape[1]
        if not count:
            continue
        weights = values(case, count, n, 1)
        made = [(Elimination.from_arrays(*arcs, weights, n, case.semiring, dtype=case.dtype), weights)]
        for step in range(12):
            E, old = made[r.integers(max(0, len(made) - 3), len(made))]  # the last one, or one that was changed before
            few = r.integers(0, count, r.integers(1, 4))
            new = old.copy()
            new[few] = values(case, count, n, 2 + step)[few]
            E = E.update(new[few], arcs=few)
            np.testing.assert_array_equal(E.weights, new)
            made.append((E, new))
        for E, weights in made:
            same(case, E.to_dense(), cases.closure(case, matrix_of(case, n, arcs, weights)))


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("large", [False, True])
def test_any_sequence_leaves_the_panels_of_a_fresh_elimination(dtype, large, monkeypatch):
    if large:  # every front is one that threads take together
        monkeypatch.setattr(fronts, "LARGE", 1)
    r = np.random.default_rng(1)
    n, tails, heads, weights = lattice(9, 14)
    infinity = semiring.algebra.dtypes.encode(np.inf, dtype)
    E = Elimination.from_arrays(tails, heads, weights, n, dtype=dtype, threads=2)
    first, before = E, E.to_dense()
    now = weights.astype(dtype)
    kept = []
    for step in range(60):
        few = r.integers(0, len(weights), r.integers(1, 5))
        new = r.integers(0, 100, len(few)).astype(dtype)
        new[r.random(len(few)) < 0.3] = infinity  # closed, and opened again by a later step
        now = now.copy()
        now[few] = new
        E = changed(E, now[few], few)
        if step % 7 == 0:
            kept.append((E, now))
        np.testing.assert_array_equal(panels(E), panels(eliminated(E, now)))
    for E, now in kept:
        np.testing.assert_array_equal(E.to_dense(), E.update(now).to_dense())
    np.testing.assert_array_equal(first.to_dense(), before)


def test_changes_of_one_elimination_do_not_add_up():
    """Each is of the first: what another one left in the memory that it is written to goes."""
    n, tails, heads, weights = lattice(9, 14)
    E = Elimination.from_arrays(tails, heads, weights, n, dtype="int32")
    for arc in (3, 40, 77, 110, 41):
        now = weights.astype(np.int32)
        now[arc] = 0
        np.testing.assert_array_equal(panels(changed(E, now[[arc]], [arc])), panels(eliminated(E, now)))


def test_distances_are_those_of_scipy():
    r = np.random.default_rng(2)
    for both in (True, False):
        n, tails, heads, weights = lattice(12, 11, both=both)
        E = Elimination.from_arrays(tails, heads, weights.astype(np.float64), n)
        now = weights.astype(np.float64)
        for step in range(30):
            few = r.integers(0, len(now), 2)
            now[few] = np.where(r.random(2) < 0.2, np.inf, r.integers(1, 300, 2))
            E = changed(E, now[few], few)
            if step % 6 == 5:
                open_ = np.isfinite(now)
                A = csr_array((now[open_], (tails[open_], heads[open_])), shape=(n, n))
                np.testing.assert_array_equal(E.to_dense(), dijkstra(A))


def test_only_what_can_change_is_computed_again():
    n, tails, heads, weights = lattice(20, 20)
    E = Elimination.from_arrays(tails, heads, weights.astype(np.int32), n)
    kept, known = E._keep()
    S = E.analysis.structure
    same_weight = known.changed(kept, np.array([5]), weights[5:6].astype(np.int32))
    below = known.changed(kept, np.array([5]), np.array([0], np.int32))
    column = min(S.position[tails[5]], S.position[heads[5]])
    assert same_weight[1].tolist() == [S.owner[column]]
    assert 1 <= len(below[1]) < len(S) / 4
    np.testing.assert_array_equal(np.flatnonzero(below[0].stamp != kept.stamp), below[1])


def test_results_that_nothing_refers_to_are_written_over_and_no_others():
    n, tails, heads, weights = lattice(10, 10)
    E = first = Elimination.from_arrays(tails, heads, weights, n, dtype="int32")
    expected = {}
    for k in range(10):
        E = changed(E, [k], [k])
        if k in (2, 3, 8):
            expected[k] = (E, Elimination.from_arrays(tails, heads, E.weights, n, dtype="int32").to_dense())
    known = E._changes
    assert len(known.kept.items) <= changes.REMEMBERED
    assert len({id(E._kept) for E in (first, *(E for E, _ in expected.values()))}) == 4
    for E, D in expected.values():
        np.testing.assert_array_equal(E.to_dense(), D)
    sweeper = E._sweepers(1).__enter__()  # a query at work refers to panels, whatever becomes of the elimination
    busy, count = E._kept, len(known.kept.items)
    del expected, E
    assert not busy.free
    del sweeper
    assert count == len(known.kept.items)
    assert busy.free


def test_an_interrupted_change_leaves_nothing_behind(monkeypatch):
    n, tails, heads, weights = lattice(10, 10)
    E = changed(Elimination.from_arrays(tails, heads, weights, n, dtype="int32"), [3], [11])
    expected = Elimination.from_arrays(tails, heads, E.weights, n, dtype="int32").to_dense()
    renew, bring = changes.Kept.renew, changes.Kept.bring

    def interrupted(self, *args):
        renew(self, *args)
        for s in args[0].tolist():
            self.lower[self.S.panel[s] : self.S.panel[s] + self.S.sizes[s]] = 77
        raise KeyboardInterrupt

    def interrupted_copy(self, other):
        bring(self, other)
        self.stamp[:] = -1
        self.upper[:] = 78
        raise KeyboardInterrupt

    for name, broken in (("renew", interrupted), ("bring", interrupted_copy)):
        with monkeypatch.context() as patch:
            patch.setattr(changes.Kept, name, broken)
            with pytest.raises(KeyboardInterrupt):
                E.update([1], arcs=[7])
        np.testing.assert_array_equal(E.to_dense(), expected)
        other = changed(E, [1], [7])
        np.testing.assert_array_equal(panels(other), panels(eliminated(E, other.weights)))


def test_negative_arcs_and_cycles():
    n, tails, heads, weights = lattice(8, 8)
    r = np.random.default_rng(4)
    h = r.integers(0, 50, n)
    E = plain = Elimination.from_arrays(tails, heads, weights, n, dtype="int64")
    before = E.to_dense()
    shifted = weights + h[tails] - h[heads]
    E = E.update(shifted)
    for arc in r.integers(0, len(weights), 10):
        E = changed(E, [shifted[arc] + 40], [arc])
        shifted[arc] += 40
        np.testing.assert_array_equal(panels(E), panels(eliminated(E, shifted)))
    expected = E.to_dense()
    for old in (E, plain):
        with pytest.raises(NegativeCycleError):
            old.update([-1000], arcs=[3])
    np.testing.assert_array_equal(E.to_dense(), expected)
    np.testing.assert_array_equal(plain.to_dense(), before)
    # The first negative arc of all takes other code; a few of them are right too.
    made = plain.update([-1], arcs=[0])
    np.testing.assert_array_equal(
        made.to_dense(), Elimination.from_arrays(tails, heads, made.weights, n, dtype="int64").to_dense()
    )


def test_what_is_no_change_is_refused():
    E = Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
    with pytest.raises(ShapeError, match=r"one weight an arc, \(1,\), got shape \(2,\)"):
        E.update([1, 2], arcs=[0])
    with pytest.raises(VertexError, match=r"update: arcs.* 0 … 1, got 2"):
        E.update([1], arcs=[2])
    with pytest.raises(DomainError):
        Elimination.from_arrays([0, 1], [1, 2], [0.5, 0.7], 3, "reliability").update([1.5], arcs=[0])
    assert E.update([], arcs=[]).row(0).tolist() == [0, 5, 12]
    assert E.update([1, 2], arcs=[1, 1]).row(0).tolist() == [0, 5, 7]  # the last one counts


def test_where_memory_is_short_all_is_computed(monkeypatch):
    def short(*args, **kwargs):
        raise MemoryNeeded("none")

    E = Elimination.from_arrays([0, 1], [1, 2], [5, 7], 3)
    monkeypatch.setattr(Elimination, "_keep", short)
    assert E.update([1], arcs=[1]).row(0).tolist() == [0, 5, 6]
    monkeypatch.undo()
    monkeypatch.setattr(changes, "MANY", 0)
    assert E.update([1], arcs=[1]).row(0).tolist() == [0, 5, 6]


def test_what_is_kept_is_counted_and_goes_into_no_file():
    n, tails, heads, weights = lattice(30, 30)
    E = Elimination.from_arrays(tails, heads, weights, n, dtype="int32")
    before = E.nbytes
    other = changed(E, [9], [4])
    known = E._changes
    held = sum(x.nbytes for kept in known.kept.items for x in (kept.lower, kept.upper, kept.updates, kept.weights))
    assert held - panels(E).nbytes <= 4 * E.cost.changing
    assert E.nbytes > before
    again = pickle.loads(pickle.dumps(other))
    assert again._changes is None
    np.testing.assert_array_equal(again.weights, other.weights)
    np.testing.assert_array_equal(changed(again, [7], [8]).to_dense(), changed(other, [7], [8]).to_dense())


def test_threads_change_and_ask_at_once():
    n, tails, heads, weights = lattice(9, 9)
    E = Elimination.from_arrays(tails, heads, weights, n, dtype="int32")
    expected = [
        Elimination.from_arrays(tails, heads, np.where(np.arange(len(weights)) == k, 1, weights), n).to_dense()
        for k in range(12)
    ]

    def ask(k):
        found = E
        for arc in (k + 1, k):  # to and fro
            found = found.update([1], arcs=[arc])
        return found.update(weights[k + 1 : k + 2], arcs=[k + 1]).to_dense()

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(ask, [k % 12 for k in range(120)]))
    for k, D in enumerate(found):
        np.testing.assert_array_equal(D, expected[k % 12])
    assert elimination._keeping.acquire(timeout=1)
    elimination._keeping.release()


def test_labels_of_weights_count():
    """A pandas Series of weights in another order than the edges, or indexed by their ends."""
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"from": ["B", "A", "A"], "to": ["C", "B", "C"], "t": [7, 4, 12]})
    r, by_ends = shortest_paths(table, weight="t"), table.set_index(["from", "to"])["t"].sort_index()
    with pytest.raises(ShapeError, match=r"got that of \[\('A', 'B'\), .*by the ends of edges, dict\(x\)"):
        r.update(by_ends)
    with pytest.raises(
        ShapeError, match=r"in the order of graph\.rows, got that of \[1, 0, 2\]\. Say x\.sort_index\(\)"
    ):
        r.update(table.sort_values("t")["t"])
    filtered = table.set_axis([7, 3, 5])["t"]  # rows of a larger table
    for given in (dict(by_ends), table.sort_values("t")["t"].sort_index(), table["t"][::-1].sort_index(), filtered):
        assert r.update(given).distance("A", "B") == 4


@pytest.mark.parametrize("engine", ["dense", "elimination"])
@pytest.mark.parametrize("form", ["list", "matrix"])
@pytest.mark.parametrize(("name", "weight"), [("min_plus", -5.0), ("min_plus", -np.inf), ("plus_times", 3.0)])
def test_errors_of_an_update_say_so(engine, form, name, weight):
    edges = [(0, 1, 0.5), (1, 0, 0.5)]
    graph = edges if form == "list" else Graph.from_edges(edges).matrix(name)
    r = shortest_paths(graph, name, engine=engine, null_value=None)
    with pytest.raises((DivergenceError, DomainError), match=r"^update: "):
        r.update({(0, 1): weight})


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("fractions", [True, False])
def test_edges_of_a_result(directed, fractions):
    """By label: parallel edges, loops, both ways; roads closed and opened; old results stay."""
    r = np.random.default_rng(6)
    n, tails, heads, weights = lattice(7, 9, both=False)
    tails, heads = np.append(tails, [3, 0, 0]), np.append(heads, [3, 1, 1])  # a loop, and edges that are there already
    now = np.append(weights, [5, 90, 2]) * (0.5 if fractions else 1)
    names = [f"v{k}" for k in range(n)]
    made = Graph.from_arrays(tails, heads, now, n=n, labels=names, directed=directed)
    result = first = shortest_paths(made, engine="elimination")
    before = first.distances.copy()
    for step in range(40):
        edges = r.choice(len(tails), r.integers(1, 4), replace=False)
        new = {}
        for k in edges.tolist():
            u, v = names[tails[k]], names[heads[k]]
            if not directed and r.random() < 0.5:
                u, v = v, u
            new[u, v] = np.inf if r.random() < 0.3 else int(r.integers(0, 200)) * (0.5 if fractions else 1)
        old, result = result, result.update(new)
        now = now.astype(float)
        for (u, v), weight in new.items():
            ends = {(int(u[1:]), int(v[1:]))} | (set() if directed else {(int(v[1:]), int(u[1:]))})
            now[[(a, b) in ends for a, b in zip(tails.tolist(), heads.tolist(), strict=True)]] = weight
        assert result.dtype == old.dtype == first.dtype
        assert result.engine.elimination._changes is not None
        expected = shortest_paths(Graph.from_arrays(tails, heads, now, n=n, directed=directed), engine="scipy")
        np.testing.assert_array_equal(np.asarray(result), np.asarray(expected))
        if step % 10 == 9:  # all new weights, and on from those
            now = np.where(np.isinf(now), np.inf, now * 3)
            new = np.where(np.isinf(now), 0, now).astype(made.weights.dtype)
            result = result.update(np.where(np.isinf(now), result.graph.weights, new))
    np.testing.assert_array_equal(first.distances, before)
    with pytest.raises(VertexError, match="an edge must be one of the graph's"):
        first.update({("v0", "v62"): 1})
    with pytest.raises(DomainError, match="NaN"):
        first.update({("v0", "v1"): np.nan})
    with pytest.raises(NegativeCycleError, match="v3"):
        first.update({("v3", "v3"): -1})
    np.testing.assert_array_equal(first.distances, before)


def test_a_closed_road_stays_closed_in_wider_integers():
    """Searches of int32 weights add up in int64, where the end of int32 is a number like others."""
    n, tails, heads, weights = lattice(6, 7, both=False)
    r = shortest_paths(Graph.from_arrays(tails, heads, weights * 250_000, n=n), engine="searches")
    closed = r.update({(0, 1): np.inf, (0, 7): np.inf})
    assert (r.dtype, r.engine.searched) == (np.int32, np.int64)
    assert closed.distance(0, 41) == np.inf
    assert closed.distance(1, 41) == r.distance(1, 41) < np.inf
    np.testing.assert_array_equal(closed.table()[0, 1:], np.inf)


@pytest.mark.parametrize("engine", ["dense", "elimination", "searches", "scipy"])
@pytest.mark.parametrize("along", [None, [1 / 3, 0.7, np.pi, 2.9]])
def test_integers_proven_to_be_short_take_fractions(engine, along):
    """Distances fit int32 though the heaviest roads together do not: that is no wish of the caller."""
    roads = [("A", "B", 1), ("B", "A", 2**30), ("C", "A", 2**30), ("A", "C", 2)]
    first = shortest_paths(roads, engine=engine, along=along)
    assert first.dtype == np.int32
    for r in (first, pickle.loads(pickle.dumps(first)), first.update({("A", "C"): 3})):
        assert r.update({("A", "B"): 2.5}).distance("A", "B") == 2.5
    assert first.update({("A", "B"): 2**33}).distance("A", "B") == 2**33
    whole = shortest_paths([("A", "B", 1.0)], engine=engine, along=along and along[:1], dtype="int32")
    assert whole.update([2**33]).distance("A", "B") == 2**33


def test_integers_widen_when_all_roads_grow():
    """By the growth of the worst arc, by searches, and not at all: digraphs of which parts cannot be reached."""
    r = np.random.default_rng(8)
    n, tails, heads, weights = lattice(8, 8, both=False)
    tails, heads = np.append(tails, heads[:109]), np.append(heads, tails[:109])
    seen = set()
    for most in (10**5, 4 * 10**7, 10**8, 5 * 10**8):
        weights = r.integers(most // 2, most, len(tails))
        result = shortest_paths(Graph.from_arrays(tails, heads, weights, n=n), engine="elimination")
        for factor in (1, 2, 0.5, 8, None, None):
            weights = r.integers(0, 2 * most, len(tails)) if factor is None else (factor * weights).astype(np.int64)
            result = result.update(weights)
            A = csr_array((weights.astype(float) + 1e-300, (tails, heads)), shape=(n, n))
            np.testing.assert_array_equal(np.asarray(result), dijkstra(A).round())
            seen.add((result.dtype.name, result.engine.bounds is None))
    assert {name for name, _ in seen} == {"int32", "int64"}
    assert ("int32", False) in seen


def test_integers_widen_when_distances_grow_beyond_them():
    """Of a path of roads, both ways: one road after the other grows, is closed, and opened."""
    r, n = np.random.default_rng(7), 40
    tails, heads = np.arange(n - 1), np.arange(1, n)
    weights = np.append(
        np.full(n - 1, 2**24), np.full(n - 2, 2**30)
    )  # with detours that are so long that none is taken
    ends = np.append(tails, tails[:-1]), np.append(heads, heads[1:])
    grown = shortest_paths(Graph.from_arrays(*ends, weights, n=n, directed=False), engine="elimination")
    total = int(weights[: n - 1].sum())
    for edge in range(n - 1):
        grown = grown.update({(edge, edge + 1): 2**31 // 20})
        total += 2**31 // 20 - int(weights[edge])
        assert grown.distance(0, n - 1) == total
        assert grown.dtype == np.int64 or total < 2**31 - 1
        assert grown.dtype == np.int32 or total > 2**30 - 1
    weights = np.full(n - 1, 2**31 // n - 10**6)
    result = shortest_paths(Graph.from_arrays(tails, heads, weights, n=n, directed=False), engine="elimination")
    assert result.dtype == np.int32
    seen = set()
    for _ in range(120):
        edge = int(r.integers(n - 1))
        closed = r.random() < 0.1
        new = np.inf if closed else int(r.integers(1, 2 ** r.choice([20, 32, 33]) // n))
        result = result.update({(edge, edge + 1): new})
        weights = weights.copy()
        weights[edge] = 2**62 if closed else new
        place = np.concatenate(([0], np.cumsum(weights.astype(object))))
        D = np.abs(place[:, None] - place)
        expected = np.where(D >= 2**62, np.inf, D).astype(float)
        np.testing.assert_array_equal(np.asarray(result), expected)
        finite = np.isfinite(expected)
        if result.dtype == np.int32:
            assert expected[finite].max() < 2**31 - 1
        seen.add(result.dtype.name)
        if result.dtype == np.int64:
            result = shortest_paths(result.graph, engine="elimination")
            assert result.dtype == np.int32 or 2 * weights[weights < 2**62].sum() >= 2**31 - 1
    assert seen == {"int32", "int64"}


def bits(H: HubLabels) -> np.ndarray:
    """Both directions."""
    return np.stack((H.out, H.into)).view(f"u{H.dtype.itemsize}")


def followed(E: Elimination, H: HubLabels) -> HubLabels:
    """Labels that follow, and are the same bits as fresh ones."""
    found = E.hub_labels(H)
    np.testing.assert_array_equal(bits(found), bits(E.hub_labels()))
    return found


@pytest.mark.parametrize(
    "case",  # entries of 4 and of 8 bytes: `hubs.follow` takes seconds to compile for each size
    cases.few([case for case in ALL if case.semiring.idempotent], frozenset({"max_plus-int32", "colours-int64"})),
)
def test_hub_labels_that_follow_any_sequence_are_fresh_ones(case):
    r = np.random.default_rng(5)
    for n, arcs in SHAPES.values():
        count = arcs.shape[1]
        E = Elimination.from_arrays(*arcs, values(case, count, n, 1), n, case.semiring, dtype=case.dtype)
        H = E.hub_labels()
        for step in range(4 if count else 0):
            few = r.choice(count, min(count, r.integers(1, 3)), replace=False)
            other = E.update(values(case, count, n, 2 + step)[few], few)
            E, H = other, followed(other, H)


@pytest.mark.parametrize("call", [1, None])
def test_hub_labels_of_old_results_stay_whatever_follows(call, monkeypatch):
    """To and fro between results that are referred to, several arcs at a time, in calls of any length."""
    monkeypatch.setattr(hubs, "PAGE", 1 << 10)
    if call:
        monkeypatch.setattr(hubs, "CALL", call)
    n, tails, heads, weights = lattice(25, 30)
    r, E = np.random.default_rng(2), Elimination.from_arrays(tails, heads, weights, n, dtype="int32", threads=1)
    known = [(E, E.hub_labels())]
    expected = [bits(known[0][1])]
    for step in range(120 if call is None else 3):
        E, H = known[r.integers(len(known))]
        few = r.choice(len(weights), (1, 2, 3, 5)[step % 4], replace=False)
        other = changed(E, r.choice([1, 50, 99, 150, 2**31 - 1], len(few)), few)
        known.append((other, followed(other, H)))
        expected.append(bits(known[-1][1]))
        if len(known) > 5:
            k = int(r.integers(len(known)))
            del known[k], expected[k]
        for (_, H), before in zip(known, expected, strict=True):
            np.testing.assert_array_equal(bits(H), before)


def test_only_labels_of_what_can_change_are_computed_again(monkeypatch):
    n, tails, heads, weights = lattice(20, 20)
    E = Elimination.from_arrays(tails, heads, weights, n, dtype="int32", threads=1)
    H = E.hub_labels()
    S, far, states = E.analysis.structure, weights.copy(), []
    compiled = hubs._follow(4).call

    def seen(*args):
        states.append(args[6])
        return compiled(*args)

    monkeypatch.setattr(hubs, "_follow", lambda size: SimpleNamespace(call=seen))
    for arc in range(0, len(weights), 40):
        other = changed(E, [weights[arc] + 1], [arc])
        found = followed(other, H)
        differ = np.logical_or.reduceat((bits(found) != bits(H)).any(axis=0), E._changes.labels.label[:-1])
        assert not (differ & (states[-1] == 0)).any()
    assert 1 <= np.median([np.count_nonzero(state) for state in states]) < len(S) / 4
    assert pages(followed(changed(other, other.weights[:1], [0]), found)) == pages(found)
    far[0] += 1
    assert E._differs(E.update(far)) is None  # all of it
    np.testing.assert_array_equal(bits(E.update(far).hub_labels(H)), bits(E.update(far).hub_labels()))
    plus = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(bits(other.hub_labels(plus)), bits(found))


def pages(H: HubLabels) -> list[int]:
    """Where they are."""
    return [page.ctypes.data for page in H._labels._pages]


def test_labels_share_what_is_the_same_and_memory_that_nothing_refers_to(monkeypatch):
    monkeypatch.setattr(hubs, "PAGE", 1 << 10)
    n, tails, heads, weights = lattice(10, 10)
    E = Elimination.from_arrays(tails, heads, weights, n, dtype="int32")
    first = H = E.hub_labels()
    shared, kept, memory = [], {}, set()
    for k in range(60):
        other = changed(E, [k], [k])
        E, before, H = other, H, followed(other, H)
        shared.append(np.mean([a is b for a, b in zip(H._labels._pages, before._labels._pages, strict=True)]))
        if k == 20:  # a part of them, whatever becomes of the rest
            kept = {q: (page[3:9], page[3:9].copy()) for q, page in enumerate(H._labels._pages)}
        memory |= set(pages(H)) - set(pages(first))
    assert 0.3 < np.median(shared) < 1
    assert len(memory) < 6 * H._labels.table.size < sum((1 - x) * H._labels.table.size for x in shared)
    for part, expected in kept.values():
        np.testing.assert_array_equal(part, expected)


def test_labels_whose_change_was_interrupted_are_those_of_before(monkeypatch):
    n, tails, heads, weights = lattice(10, 10)
    E = Elimination.from_arrays(tails, heads, weights, n, dtype="int32", threads=1)
    H, other = E.hub_labels(), changed(E, [1], [7])
    before, compiled = bits(H), hubs._follow(4).call

    def interrupted(*args):
        compiled(*args)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(hubs, "_follow", lambda size: SimpleNamespace(call=interrupted))
        with pytest.raises(KeyboardInterrupt):
            other.hub_labels(H)
    followed(changed(E, [weights[150] + 1], [150]), H)
    followed(other, H)
    np.testing.assert_array_equal(bits(H), before)


def test_threads_change_and_ask_hub_labels_at_once(monkeypatch):
    monkeypatch.setattr(hubs, "PAGE", 1 << 10)
    n, tails, heads, weights = lattice(9, 9, both=False)
    graph = Graph.from_arrays(tails, heads, weights, n=n, directed=False)
    first = shortest_paths(graph, engine="elimination", hub_labels=True)
    now = [np.where(np.arange(len(weights)) == k, 1, weights) for k in range(6)]
    expected = [shortest_paths(Graph.from_arrays(tails, heads, w, n=n, directed=False)).table() for w in now]
    vertices = np.arange(n)

    def ask(k):
        found = first.update({(int(tails[k]), int(heads[k])): 1})
        for _ in range(3):
            found.distance(3, 5)
        return (found.distance(vertices[:, None], vertices) == expected[k]).all()

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(ask, [k % 6 for k in range(90)]))
    np.testing.assert_array_equal(first.distance(vertices[:, None], vertices), shortest_paths(graph).table())


def test_labels_that_do_not_fit_are_refused(monkeypatch):
    n, tails, heads, weights = lattice(10, 10)
    E = Elimination.from_arrays(tails, heads, weights, n, dtype="int32")
    H, other = E.hub_labels(), changed(E, [1], [7])
    monkeypatch.setattr("semiring.host.memory.LEAST", 0)
    monkeypatch.setattr("semiring.host.memory.available", lambda device: hubs.PAGE - 1)
    with pytest.raises(MemoryNeeded, match=r"hub_labels: .* must fit on cpu.*Pairs are answered without them"):
        other.hub_labels(H)
    monkeypatch.undo()
    np.testing.assert_array_equal(bits(other.hub_labels(H)), bits(other.hub_labels()))


def test_hub_labels_follow_changes():
    n, tails, heads, weights = lattice(8, 9)
    result = shortest_paths(Graph.from_arrays(tails, heads, weights, n=n), engine="elimination").hub_labels()
    for new in ({(0, 1): 3}, {(5, 6): np.inf, (6, 5): 1}, weights[::-1]):
        result = result.update(new)
        assert result.engine.hubs is not None
        i, j = np.divmod(np.arange(n * n), n)
        np.testing.assert_array_equal(result.engine.hubs.entries(i, j), result.distances.ravel())
        now = np.where(result.graph.weights == 2**63 - 1, np.inf, result.graph.weights)
        A = csr_array((now[np.isfinite(now)], (tails[np.isfinite(now)], heads[np.isfinite(now)])), shape=(n, n))
        np.testing.assert_array_equal(np.asarray(result), dijkstra(A))


def test_an_undirected_edge_has_one_weight():
    for directed, pairs in ((False, [("a", "b", 1), ("b", "c", 1)]), (True, [("a", "b", 1), ("b", "a", 1)])):
        r = shortest_paths(pairs, directed=directed)
        both = {("a", "b"): 5, ("b", "a"): 7}
        if directed:
            assert (r.update(both).distance("a", "b"), r.update(both).distance("b", "a")) == (5, 7)
            continue
        for first in (both, {("b", "a"): 7, ("b", "c"): 1.5, ("a", "b"): 5}):
            with pytest.raises(
                ShapeError, match=r"one weight, .* got [57] for .* and [57] for .*Leave one of them out"
            ):
                r.update(first)
        assert r.update({("a", "b"): 5, ("b", "a"): 5}).distance("c", "a") == 6
