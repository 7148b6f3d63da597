"""Entries of a matrix changed: the closure that follows, by array and by label, is that of the changed matrix."""

from __future__ import annotations

import pickle
import shutil
import signal
import sys
import tracemalloc

import cases
import emulated
import numpy as np
import pytest
from cases import CASES, USER_CASES, floyd_warshall, in_dtype, same
from scipy.sparse.csgraph import dijkstra

import apsp
from apsp import Graph, closure, shortest_paths, update
from apsp.answers import updates
from semiring import get
from semiring.algebra import dtypes
from semiring.dense import changes
from semiring.host.errors import DivergenceError, DomainError, DTypeError, NegativeCycleError, ShapeError, VertexError
from semiring.kernels.cpu.routes import changed

#: Kinds whose kernels are run on the processor: each register, sums that round, truth values.
ON_GPU = ("min_plus-float32", "min_plus-int16", "min_plus-int64", "max_times-float64", "max_min-int32", "lor_land-bool")


@pytest.fixture
def never_anew(monkeypatch):
    """Small matrices too are followed, however much of them changes, and closed anew only where they must be."""
    monkeypatch.setattr(changes, "SHARE", 1e9)
    monkeypatch.setattr(changes, "OF_BITS", 1e9)


def refuse(*args, **options):
    raise AssertionError("closed anew")


def drawn(rng, n: int, most: int = 3) -> list[tuple[int, int]]:
    """A few arcs, or all of a vertex."""
    if rng.random() < 0.2:
        x = int(rng.integers(n))
        return list({(x, k) for k in range(n)} | {(k, x) for k in range(n)})
    return list({(int(i), int(j)) for i, j in rng.integers(0, n, (rng.integers(1, most + 1), 2))})


@pytest.mark.parametrize(
    "case", cases.few([*CASES, *USER_CASES], cases.TRAITS - {"max_min-float64", "max_times-float32"})
)
def test_any_sequence_equals_a_closure_by_loops(case, never_anew, monkeypatch):
    if case.semiring.add.selects:
        monkeypatch.setattr(updates, "answer", refuse)
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 5, 9, 14, 30):  # of the last the edges are listed
        A = cases.random_matrix(case, (n, n), n, density=0.3 if n < 30 else 0.06)
        D = cases.closure(case, A)
        for step in range(12):
            ends = drawn(rng, n)
            new = cases.random_matrix(case, (1, len(ends)), 100 + step, density=0.6)[0]
            given, before, matrix = dict(zip(ends, new.tolist(), strict=True)), D.copy(), A.copy()
            expected = A.copy()
            expected[tuple(np.transpose(ends))] = new
            made = update(D, A, given, case.semiring, threads=1 + step % 2)
            np.testing.assert_array_equal(D, before)
            np.testing.assert_array_equal(A, matrix)
            if step % 2:
                again = update(D, A, given, case.semiring, overwrite=True)
                assert again[0] is D
                assert again[1] is A
                np.testing.assert_array_equal(D, made[0])
            D, A = made
            np.testing.assert_array_equal(A, expected)
            same(case, D, cases.closure(case, A))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("negative", [False, True])
def test_sums_of_floats_within_rounding(dtype, negative, never_anew):
    """Ties and cycles of about 0, that rounding makes negative or not, lead to no endless search and to no drift."""
    rng, tolerance = np.random.default_rng(3), 3e-5 if dtype == "float32" else 1e-11
    for n in (2, 6, 25):
        h = rng.random(n) * 3 * negative

        def lengths(i, j, h=h):
            w = np.round(rng.random(len(i)), 1) if rng.random() < 0.5 else rng.random(len(i))
            return np.where(rng.random(len(i)) < 0.5, np.inf, w + h[i] - h[j]).astype(dtype)

        i, j = np.divmod(np.arange(n * n), n)
        A = lengths(i, j).reshape(n, n)
        np.fill_diagonal(A, 0)
        D = closure(A, null_value=None)
        for _ in range(40):
            ends = np.array([(i, j) for i, j in drawn(rng, n) if i != j], np.int64).reshape(-1, 2)
            D, A = update(D, A, dict(zip(map(tuple, ends.tolist()), lengths(*ends.T).tolist(), strict=True)))
            np.testing.assert_allclose(D, floyd_warshall(A), rtol=tolerance, atol=tolerance)


def test_integers_that_might_overflow_are_closed_anew():
    for dtype in ("int16", "int32", "int64"):
        far = np.iinfo(dtype).max
        A = np.full((4, 4), far, dtype)
        A[0, 1], A[1, 2], A[2, 3], A[0, 3] = far // 2, far // 2 - 5, 4, far - 2
        D, A = update(closure(A), A, {(2, 3): 1})
        np.testing.assert_array_equal(D, closure(A))
        D, A = update(D, A, {(1, 2): far // 2 + 7})
        np.testing.assert_array_equal(D, closure(A))
        assert D[0, 2] == far
        A[0, 1] = -5
        D, A = update(closure(A), A, {(1, 2): far - 3})
        np.testing.assert_array_equal(D, closure(A))


def test_integers_of_both_signs_that_saturate_are_closed_anew(never_anew):
    """An entry may be infinite there though a walk leads on from it to where the sum fits again."""
    far = 32767
    A = np.array([[0, 16388, 2, far], [8193, 0, far, 16384], [7, far, 0, far], [-10923, far, -8191, 0]], np.int16)
    D, B = update(closure(A), A, {(0, 2): far})  # 0 → 1 → 3 is too long, 0 → 1 → 3 → 2 is not
    assert D[0, 2] == floyd_warshall(B)[0, 2] == 16388 + 16384 - 8191
    np.testing.assert_array_equal(D, closure(B))
    A = np.full((4, 4), far, np.int16)
    np.fill_diagonal(A, 0)
    A[0, 2], A[2, 3] = 6, far - 1
    D, B = update(closure(A), A, {(1, 0): -20000})
    assert D[1, 3] == -20000 + 6 + far - 1
    np.testing.assert_array_equal(D, closure(B))


def test_integers_of_both_signs_that_fit_are_followed(never_anew, monkeypatch):
    """Matrices of 20 vertices: one with pairs that no walk joins, one strongly connected by bounded lengths."""
    monkeypatch.setattr(updates, "answer", refuse)
    A = np.full((20, 20), 2**31 - 1, np.int32)
    A[range(19), range(1, 20)] = -5
    np.fill_diagonal(A, 0)
    D, A = update(in_dtype(floyd_warshall(A), A.dtype), A, {(3, 9): -70, (7, 8): 2})
    np.testing.assert_array_equal(D, in_dtype(floyd_warshall(A), A.dtype))
    A[range(1, 20), range(19)], A[0, 1] = 6 * 10**7, 2 * 10**8
    D, A = update(in_dtype(floyd_warshall(A), A.dtype), A, {(3, 12): -100})
    np.testing.assert_array_equal(D, in_dtype(floyd_warshall(A), A.dtype))


def test_infinity_beside_integers_that_floats_would_round():
    A = np.array([[0, 4], [2**60 + 1, 0]])
    D, A = update(closure(A), A, {(0, 1): np.inf, (1, 0): 2**53 + 1})
    assert D.tolist() == A.tolist() == [[0, 2**63 - 1], [2**53 + 1, 0]]
    r = shortest_paths([("a", "b", 4), ("b", "c", 1)]).update({("a", "b"): np.inf, ("b", "c"): 2**53 + 1})
    assert (r.distance("b", "c"), r.distance("a", "b")) == (2**53 + 1, np.inf)


@pytest.mark.parametrize("engine", ["dense", "elimination", "searches", "scipy"])
def test_integers_grow_where_a_change_needs_it(engine, never_anew):
    """int32 is kept while it holds all distances, though a fresh answer might choose int64."""
    edges = {(0, 1): 2147483, (1, 2): 134217730, (1, 4): 2147482, (2, 3): 1 << 30, (2, 4): 8589935, (3, 4): 134217726}
    r = shortest_paths([(*ends, w) for ends, w in edges.items()], directed=False, engine=engine)
    assert r.dtype == np.int32
    steps = {(2, 4): 1073741826, (1, 2): 402653185}, {(1, 2): 536870913}, {(2, 4): np.inf}, {(1, 2): 2**31 - 1}
    for given in steps:
        r, edges = r.update(given), edges | given
        A = np.full((5, 5), np.inf)
        A[tuple(np.transpose(list(edges)))] = list(edges.values())
        np.testing.assert_array_equal(r.distances, in_dtype(floyd_warshall(np.minimum(A, A.T)), r.dtype))
    assert r.dtype == np.int64
    r = shortest_paths([(3, 0, 0), (1, 3, 0), (2, 0, 5), (3, 3, 1 << 30), (3, 1, 5)], engine=engine)
    loop = r.update({(3, 3): 2**31 - 2})  # on no path, but for all that a bound of their sums knows
    far = loop.update({(1, 3): 2**31 - 2, (3, 0): 1 << 30})
    assert (loop.dtype, far.dtype, far.distance(1, 0)) == (np.int32, np.int64, 2**31 - 2 + 2**30)


def test_beyond_a_share_of_the_entries_the_matrix_is_closed_anew(monkeypatch):
    n = 300
    path, seen, answer = np.full((n, n), np.inf), [], updates.answer
    path[range(n - 1), range(1, n)] = path[range(1, n), range(n - 1)] = 1
    cycle = np.full((n, n), np.inf)
    cycle[range(n), np.arange(1, n + 1) % n] = 1
    monkeypatch.setattr(updates, "answer", lambda question: seen.append(1) or answer(question))
    # The middle of a path is on half of all walks, whose ends stay; every arc of a directed cycle on nearly all.
    for A, ends, often in ((path, (150, 151), 0), (path, (0, 299), 0), (cycle, (150, 151), 1)):
        seen.clear()
        made, B = update(closure(A), A, {ends: 3})
        assert len(seen) == often
        np.testing.assert_array_equal(made, floyd_warshall(B))


def test_a_cycle_leaves_both_as_they_were(never_anew):
    A = np.array([[0.0, 4, np.inf], [np.inf, 0, 1], [2, np.inf, 0]])
    D = closure(A)
    for given in ({(2, 0): -6}, {(1, 1): -1}, {(0, 1): np.inf, (2, 0): -9, (0, 2): 3}):
        for overwrite in (False, True):
            d, a = D.copy(), A.copy()
            with pytest.raises(NegativeCycleError):
                update(d, a, given, overwrite=overwrite)
            np.testing.assert_array_equal(d, D)
            np.testing.assert_array_equal(a, A)
    with pytest.raises(DivergenceError):
        update(np.eye(2), np.eye(2), {(0, 1): 2.0, (1, 0): 1.0}, "max_times")
    d, a = update(D, A, {(1, 1): 3, (0, 0): 0})  # loops that beat nothing
    np.testing.assert_array_equal(d, D)
    assert a[1, 1] == 3


def two_sides(dtype, n: int, few: int) -> tuple[np.ndarray, np.ndarray]:
    """A matrix whose arc (0, n - 1) of weight 1 is on all ways from `few` vertices to all others, and its closure."""
    A = np.full((n, n), 50, dtype)
    np.fill_diagonal(A, 0)
    A[:few, 0], A[0, n - 1], A[n - 1, few:] = 1, 1, 1
    return A, floyd_warshall(A).astype(dtype)


@pytest.mark.parametrize("step", ["keep", "settle"])
def test_ctrl_c_is_heard_before_all_is_written_or_after(step, never_anew, monkeypatch):
    """A row a call here; D and A are changed both or neither."""
    A, D = two_sides(np.int32, 40, 15)
    calls, code, settle = [], changed.Arc._code, changed.Arc.settle

    def counted(self, part):
        def struck(*given):
            calls.append(given)
            if len(calls) == 3:
                signal.raise_signal(signal.SIGINT)
            return code(self, part)(*given)

        return struck if part is changed.keep else code(self, part)

    def settled(self):
        signal.raise_signal(signal.SIGINT)
        return settle(self)

    monkeypatch.setattr(changed, "BLOCK", 1)
    if step == "keep":
        monkeypatch.setattr(changed.Arc, "_code", counted)
    else:
        monkeypatch.setattr(changed.Arc, "settle", settled)
    d, a = D.copy(), A.copy()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            update(d, a, {(0, 39): 9}, overwrite=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(calls) == (3 if step == "keep" else 0)
    A[0, 39] = A[0, 39] if step == "keep" else 9
    np.testing.assert_array_equal(a, A)
    np.testing.assert_array_equal(d, floyd_warshall(A))


@pytest.mark.parametrize(("dtype", "side"), [("int32", 500), ("float64", 100)])
def test_memory_is_asked_for_and_the_matrix_closed_anew_where_it_lacks(dtype, side, never_anew, monkeypatch):
    n, asked = 600, []
    A, D = two_sides(dtype, n, side)
    expected = A.copy()
    expected[0, n - 1] = 9
    given = D.copy(), A.copy()
    update(D, A, {(0, n - 1): 9}, threads=1)  # compiles
    monkeypatch.setattr(changes, "fits", lambda needed, device: asked.append(needed) or True)
    tracemalloc.start()
    update(*given, {(0, n - 1): 9}, overwrite=True, threads=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(asked) == 1
    assert 0.3 * asked[0] < peak <= asked[0] + (1 << 18)
    np.testing.assert_array_equal(given[0], floyd_warshall(expected))

    monkeypatch.setattr(changes, "fits", lambda needed, device: False)
    monkeypatch.setattr(changed.Arc, "repair", refuse)
    made, _ = update(D, A, {(0, n - 1): 9})
    np.testing.assert_array_equal(made, floyd_warshall(expected))


def test_any_layout_goes_in():
    A = np.random.default_rng(0).integers(1, 50, (9, 9)).astype(np.int32)
    D = closure(A)
    expected = update(D, A, {(0, 8): 1, (3, 4): 99})
    for (_, d), (name, a) in zip(cases.layouts(D), cases.layouts(A), strict=True):
        if name == "byte-swapped":
            with pytest.raises(DTypeError, match="of one dtype of min_plus"):
                update(D, a, {(0, 8): 1})
            continue
        found = update(d, a, {(0, 8): 1, (3, 4): 99})
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_array_equal(x, y)
        if name == "read-only":
            with pytest.raises(ValueError, match="read-only"):
                update(d, a, {(0, 8): 1}, overwrite=True)
        else:
            assert update(d, a, {(0, 8): 1}, overwrite=True)[0] is d
            np.testing.assert_array_equal(d, closure(np.array(a)))


def test_what_is_no_change_is_refused():
    A = np.array([[0, 3], [1, 0]])
    D = closure(A)
    for wrong, error, text in (
        ((D, A[:1], {}), ShapeError, r"must be square, of one shape \(n, n\), got \(2, 2\) and \(1, 2\)"),
        ((D, A.astype(np.int32), {}), DTypeError, "got int64 on cpu and int32 on cpu"),
        ((D, A, {(0, 2): 1}), VertexError, r"in 0 … 1, got \(0, 2\)"),
        ((D, A, {(-1, 0): 1}), VertexError, r"got \(-1, 0\)"),
        ((D, A, {0: 1}), VertexError, "got 0"),
        ((D, A, [(0, 1)]), VertexError, "must be a mapping"),
        ((D, A, {(0, 1): [3]}), ShapeError, r"must be one number, got \[3\]"),
        ((D, A, {(0, 1): 1.5}), DTypeError, "hold every entry exactly"),
        ((A + 1, A, {(0, 1): 1}), DomainError, "must have one = 0 on its diagonal"),
    ):
        with pytest.raises(error, match=text):
            update(*wrong)
    with pytest.raises(DomainError):
        update(D * 1.0, A * 1.0, {(0, 1): np.nan})
    for d, a in (update(D, A, {}), update(D.tolist(), A.tolist(), {(0, 1): 3})):
        np.testing.assert_array_equal(d, D)
        np.testing.assert_array_equal(a, A)


def test_what_would_be_written_or_named_twice_is_refused():
    A = np.array([[0, 4, 9.0], [1, 0, 8], [2, 3, 0]])
    assert update(A, A, {(0, 1): 99})[0][0, 1] == 12
    for d, a in ((A, A), (A, A.T), (A, A[:])):
        before = A.copy()
        with pytest.raises(ValueError, match=r"D and A must not share memory, .*Copy A first"):
            update(d, a, {(0, 1): 99}, overwrite=True)
        np.testing.assert_array_equal(A, before)
    pd = pytest.importorskip("pandas")
    for names in ("ABC", [0, 1, 2], [1, 2, 3]):
        table = pd.DataFrame(A, index=list(names), columns=list(names))
        if names != [1, 2, 3]:
            assert update(A, table, {(0, 1): 99})[0][0, 1] == 12
            continue
        with pytest.raises(VertexError, match=r"must be positions, got \[1, 2, 3\]\. Say A\.to_numpy\(\)"):
            update(A, table, {(1, 2): 99})


@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.parametrize("name", ["min_plus", "max_plus", "max_min"])
def test_zeros_that_the_closure_took_for_no_edges_are_refused(name, dtype):
    rng = np.random.default_rng(1)
    A = np.where(rng.random((30, 30)) < 0.1, rng.integers(1, 9, (30, 30)), 0).astype(dtype)
    A = -A if name == "max_plus" else A
    D = closure(A, name, null_value=0)
    ends = tuple(np.argwhere(A)[0].tolist())
    for w in (50, 1):
        with pytest.raises(DomainError, match=r"Say A = apsp.as_graph\(A, null_value=0\).matrix\('") as caught:
            update(D, A, {ends: -w if name == "max_plus" else w}, name)
        W = eval(str(caught.value).partition("Say A = ")[2][:-1], {"apsp": apsp, "A": A})
        D2, W = update(D, W, {ends: -w if name == "max_plus" else w}, name)
        np.testing.assert_array_equal(D2, closure(W, name))


def test_a_loop_of_a_server_takes_no_more_and_more_memory():
    rng, n = np.random.default_rng(5), 100
    A = rng.integers(1, 100, (n, n), dtype=np.int32)
    D, result = closure(A), shortest_paths(A)
    update(D, A, {(0, 1): 1, (1, 0): 100})  # compiles, which takes twice as long where memory is traced
    tracemalloc.start()
    for step in range(300):
        i, j = (int(k) for k in rng.integers(0, n, 2))
        update(D, A, {(i, j): int(rng.integers(1, 100))}, overwrite=True)
        result = result.update({(i, j): int(A[i, j])})
        if step == 100:
            before = tracemalloc.get_traced_memory()[0]
    assert tracemalloc.get_traced_memory()[0] - before < 4 * A.nbytes
    tracemalloc.stop()
    np.testing.assert_array_equal(D, floyd_warshall(A))
    np.testing.assert_array_equal(result.distances, D)


@pytest.mark.parametrize("listed", [False, True])
def test_a_result_follows_by_label(listed, never_anew):
    """Any pair of a matrix can become an edge; paths and predecessors follow; old results stay."""
    rng, n = np.random.default_rng(6), 20
    A = np.where(rng.random((n, n)) < 0.4, rng.integers(1, 30, (n, n)), np.inf)
    np.fill_diagonal(A, 0)
    names = [f"v{k}" for k in range(n)]
    i, j = np.nonzero(np.isfinite(A))
    made = Graph.from_arrays(i, j, A[i, j], labels=names) if listed else Graph.from_matrix(A, labels=names)
    result = first = shortest_paths(made, engine="dense")
    before = first.distances.copy()
    for step in range(25):
        if listed:
            ends = [(i[k], j[k]) for k in rng.choice(len(i), rng.integers(1, 4), replace=False)]
        else:
            ends = drawn(rng, n)
        new = {(a, b): np.inf if rng.random() < 0.4 else float(rng.integers(0, 30)) for a, b in ends if a != b}
        A = A.copy()
        for (a, b), w in new.items():
            A[a, b] = w
        result = result.update({(names[a], names[b]): w for (a, b), w in new.items()})
        if new:
            assert "of 400 entries computed anew" in str(result.plan)
        np.testing.assert_array_equal(result.distances, floyd_warshall(A))
        assert result.verify(rows="all", paths=True)
        if step % 8 == 7:
            result = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(first.distances, before)
    np.testing.assert_array_equal(np.asarray(result.graph.matrix()), A)


def test_what_does_not_follow_is_computed_anew():
    A = np.random.default_rng(7).integers(1, 9, (12, 12), dtype=np.int32)
    np.fill_diagonal(A, 0)
    r = shortest_paths(A)
    halves = r.update({(0, 5): 0.5})
    assert (halves.dtype, halves.distance(0, 5)) == (np.float64, 0.5)
    assert "all computed anew" in str(halves.plan)
    part = shortest_paths(A, sources=[3], engine="dense").update({(3, 4): 0})
    assert part.distance(3, 4) == 0
    with pytest.raises(NegativeCycleError, match="3 → 4 → 3"):
        r.update({(3, 4): -100})
    with pytest.raises(ShapeError, match=r"must have a mapping .* pass the new matrix to shortest_paths"):
        r.update(A)
    with pytest.raises(DomainError, match="NaN"):
        r.update({(3, 4): np.nan})


@pytest.mark.parametrize("engine", ["dense", "elimination"])
def test_truth_values(engine):
    A = np.random.default_rng(8).random((40, 40)) < 0.03
    r = shortest_paths(A, "boolean", engine=engine)
    for given in ({(0, 1): True, (1, 0): 1}, {(0, 1): False}, {(1, 0): np.inf, (5, 7): True}):
        r = r.update(given)
        for (i, j), w in given.items():
            A[i, j] = w is True or w == 1
        expected = np.linalg.matrix_power((A | np.eye(40, dtype=bool)).astype(float), 40) > 0
        np.testing.assert_array_equal(np.asarray(r.distances, bool), expected)


def look(D: np.ndarray, A: np.ndarray, u: int, v: int, s) -> tuple:
    """`changes.around` by loops."""
    n = len(D)
    line = [*D[:, u].tolist(), *D[v].tolist()]
    nulls = [A[u, j] == 0 and (D[u, j] > 0 if s.add.selects == "least" else D[u, j] < 0) for j in range(n) if j != u]
    closed = all(D[i, i] == dtypes.one(s, D.dtype) for i in range(n))
    return closed, any(nulls), min(line), max(line), D[u, v].item(), A[u, v].item()


def looked_at(arrays) -> None:
    rng = np.random.default_rng(4)
    for name, dtype in (("min_plus", "int16"), ("max_plus", "int64"), ("min_plus", "float32"), ("lor_land", "bool")):
        s = get(name)
        for n in (1, 2, 33, 70):
            for trial in range(6):
                D = rng.integers(-50, 50, (n, n)).astype(dtype)
                A = rng.integers(0, 2 if trial % 2 else 40, (n, n)).astype(dtype)
                np.fill_diagonal(D, dtypes.one(s, np.dtype(dtype)))
                u, v, far = (int(x) for x in rng.integers(0, n, 3))
                if trial > 3:
                    D[far, far] = dtypes.zero(s, np.dtype(dtype))
                assert tuple(changes.around(s, *arrays(D, A), u, v)) == look(D, A, u, v, s), (name, n, trial)


def test_what_an_update_looks_at_by_loops():
    looked_at(lambda D, A: (D, np.asfortranarray(A)))


def test_what_an_update_looks_at_on_a_gpu(on_gpu):
    looked_at(lambda D, A: (emulated.asarray(D), emulated.asarray(A)))


@pytest.fixture
def on_gpu(emulated_kernels, monkeypatch):
    """Closures are followed by the GPU's kernels, on the processor."""
    if sys.platform != "linux" or shutil.which("g++") is None:
        pytest.skip("g++ compiles the kernels, on Linux")
    part = changes._part
    monkeypatch.setattr(changes, "device_of", lambda D: "cuda")
    monkeypatch.setattr(changes, "_part", lambda *given: emulated.asarray(np.asarray(part(*given))))
    with emulated.installed(emulated_kernels):
        yield


@pytest.mark.parametrize("case", [c for c in CASES if str(c) in ON_GPU], ids=str)
def test_on_a_gpu_as_on_the_processor(case, on_gpu, never_anew, monkeypatch):
    """Few rows with many columns and the reverse, both ways of computing what may lead over an arc; several arcs."""
    if not case.semiring.boolean:
        monkeypatch.setattr(updates, "answer", refuse)
    rng = np.random.default_rng(9)
    for n in (1, 2, 7, 20):
        A = cases.random_matrix(case, (n, n), n, density=min(1, 2 / n))
        D, B = (emulated.asarray(X) for X in (cases.closure(case, A), A))
        for step in range(10):
            ends = drawn(rng, n)
            new = cases.random_matrix(case, (1, len(ends)), 100 + step, density=0.5)[0]
            A[tuple(np.transpose(ends))] = new
            if case.semiring.boolean and not new.all():  # closed anew, as bits
                D, B = emulated.asarray(cases.closure(case, A)), emulated.asarray(A)
                continue
            D, B = update(D, B, dict(zip(ends, new.tolist(), strict=True)), case.semiring, overwrite=step % 2)
            np.testing.assert_array_equal(np.asarray(B), A)
            same(case, np.asarray(D), cases.closure(case, A))


def test_on_a_gpu_a_cycle_is_refused(on_gpu, never_anew):
    """`follow` returns None; the closure of the changed matrix then names the cycle."""
    A = np.array([[0.0, 4, np.inf], [np.inf, 0, 1], [2, np.inf, 0]], np.float32)
    D = emulated.asarray(floyd_warshall(A).astype(np.float32))
    assert changes.follow(D, emulated.asarray(A), {(2, 0): -6.0}, get("min_plus")) is None
    np.testing.assert_array_equal(np.asarray(D), floyd_warshall(A))


def test_long_repairs_ask_what_the_closure_takes():
    """Where it takes next to nothing, as of few lengths, they are not made; short repairs ask nobody."""
    rng, s = np.random.default_rng(8), get("min_plus")
    A = rng.integers(1, 50, (80, 80)).astype(np.int32)
    np.fill_diagonal(A, 0)
    D, asked, closed = closure(A, null_value=None), [], []
    for ends in np.argwhere((A == D) & (A > 0)).tolist():
        for share in (1.0, 0.0):
            asked.clear()
            found = changes.follow(
                D.copy(), A, {tuple(ends): 99}, s, share=lambda share=share: asked.append(share) or share
            )
            closed.append((len(asked), share, found is None))
    assert {(1, 0.0, True), (1, 1.0, False), (0, 0.0, False)} <= set(closed)
    assert not {(1, 0.0, False), (2, 1.0, False), (2, 0.0, True)} & set(closed)


def test_a_table_closed_anew_takes_the_engine_that_suits_it():
    """Not the plain closure because a table is dense, and not that of few lengths where there are many."""
    rng = np.random.default_rng(9)
    A = rng.integers(1, 4, (1030, 1030)).astype(np.int32)
    np.fill_diagonal(A, 0)
    r = shortest_paths(A, null_value=None, engine="levels")
    new = {(int(i), int(j)): 7 for i, j in rng.integers(0, 1030, (600, 2)) if i != j}
    for more in ({}, {(0, 1): 10**6 + 1}):
        B = A.copy()
        for ends, w in {**new, **more}.items():
            B[ends] = w
        u = r.update({**new, **more})
        assert "all computed anew" in u.plan.reason
        assert u.plan.engine == shortest_paths(B, null_value=None).plan.engine
        np.testing.assert_array_equal(u.distances[::97], dijkstra(B, indices=range(0, 1030, 97)))
