"""`check`: damaged tables are refused and the first wrong entry explained; right ones, by an uncompiled loop, never."""

from __future__ import annotations

import json

import cases
import numpy as np
import pytest
from test_cli import apsp, bad, good

from apsp import (
    DivergenceError,
    FormatError,
    ShapeError,
    VertexError,
    as_graph,
    check,
    closure,
    random_graph,
    shortest_paths,
    write,
)

INF = np.inf


def graphs():
    """Awkward ones: cycles of weight 0, negative arcs, several parts, fractions, integers."""
    rng = np.random.default_rng(5)
    n = 9
    zeros = np.where(rng.random((n, n)) < 0.3, rng.integers(0, 3, (n, n)), INF)
    zeros[0, 1] = zeros[1, 0] = zeros[2, 3] = zeros[3, 2] = 0.0
    heights = rng.integers(-20, 20, n)
    negative = np.where(rng.random((n, n)) < 0.4, rng.integers(0, 9, (n, n)), INF) + heights - heights[:, None]
    parts = np.where(np.not_equal.outer(np.arange(n) < 4, np.arange(n) < 4), INF, rng.integers(1, 50, (n, n)))
    real = np.where(rng.random((n, n)) < 0.4, rng.random((n, n)), INF)
    return {
        "zeros": zeros,
        "negative": negative,
        "parts": parts,
        "real": real,
        "shifted": real + heights - heights[:, None],
    }


GRAPHS = graphs()


def damaged(D, seed):
    """A table with a few entries, or all that lead to a vertex, made better or worse, dropped or invented."""
    rng = np.random.default_rng(seed)
    E, (i, j) = D.copy(), rng.integers(0, len(D), 2)
    kind = seed % 5
    if kind == 0:
        E[i, j] = E[i, j] - 1 if E[i, j] < INF else 5
    elif kind == 1:
        E[i, j] = INF if E[i, j] < INF else -3
    elif kind == 2:
        E[i, j] = E[i, j] + 1 if E[i, j] < INF else 1e6
    elif kind == 3:  # what feeds on itself: too good for a whole row but its source
        E[i, np.arange(len(D)) != i] -= 1
        E[i, i] -= np.array_equal(E, D)
    else:
        E[i], E[j] = E[j].copy(), E[i].copy()
        E[i, i] = 2
    return E


@pytest.mark.parametrize("name", GRAPHS)
def test_damaged_tables_are_refused_and_right_ones_never(name):
    A = GRAPHS[name]
    D = cases.floyd_warshall(A)
    listed = [(i, j, float(A[i, j])) for i, j in np.argwhere(np.isfinite(A)).tolist()]
    listed += [(k, k, 0.0) for k in range(len(A))]
    for graph in (A, as_graph(listed)):
        assert check(graph, D, null_value=None)
        for seed in range(40):
            E = damaged(D, seed)
            found = check(graph, E, null_value=None)
            assert not found, seed
            assert found.pair == tuple(np.argwhere(~np.isclose(E, D, rtol=1e-12, atol=1e-12))[0])


def test_entries_too_good_around_a_cycle_of_zeros_are_refused():
    A = np.full((4, 4), INF)
    A[0, 1] = A[1, 0] = 0
    A[2, 3], A[3, 0] = 1, 5
    D = cases.floyd_warshall(A)
    D[2:, :2] -= 1  # vertices 0 and 1 support each other: D = I ⊕ D ⊗ A holds
    found = check(A, D, null_value=None)
    assert found.pair == (2, 0)
    assert str(found).endswith("the table says 5.0, and no walk is as good: the best, the walk 2 → 3 → 0, weighs 6.0.")


def test_the_reason_is_a_walk_by_its_vertices():
    graph = as_graph([("A", "B", 4), ("B", "C", 7), ("A", "C", 12)])
    D = np.array([[0, 4, 11], [INF, 0, 7], [INF, INF, 0]])
    assert check(graph, D)
    for entry, value, reason in (
        ((0, 2), 12, "the table says 12.0, and the walk A → B → C weighs 11.0."),
        ((0, 2), 10, "the table says 10.0, and no walk is as good: the best, the walk A → B → C, weighs 11.0."),
        ((0, 2), INF, "the table says inf, and the walk A → B → C weighs 11.0."),
        ((2, 0), 3, "the table says 3.0, and no walk leads there."),
        ((1, 1), INF, "the table says inf, and the walk of no edge weighs 0.0."),
    ):
        E = D.copy()
        E[entry] = value
        found = check(graph, E)
        assert str(found) == f"1 of 9 entries is wrong, first from {'ABC'[entry[0]]!r} to {'ABC'[entry[1]]!r}: {reason}"
    with pytest.raises(DivergenceError):
        check([("A", "B", -1), ("B", "A", 0)], D[:2, :2])
    with pytest.raises(ShapeError, match=r"3 rows and columns, got shape \(2, 2\)"):
        check(graph, D[:2, :2])


@pytest.mark.parametrize("case", cases.few((*cases.CASES, *cases.USER_CASES)))
def test_over_every_semiring(case):
    A = cases.random_matrix(case, (7, 7), 3)
    D = cases.closure(case, A)
    assert check(A, D, case.semiring, null_value=None)
    D[3, 4] = case.one if D[3, 4] != case.one else case.zero
    assert not check(A, D, case.semiring, null_value=None)


def test_rounding_of_what_it_was_computed_in_is_allowed_and_no_more():
    A = np.random.default_rng(0).random((30, 30))
    D = cases.floyd_warshall(A)
    single = closure(A.astype(np.float32))
    assert check(A, single)
    hint = " No difference exceeds the rounding of float32: if computed in that, say so by dtype."
    assert not check(A, single.astype(float))
    assert str(check(A, single.astype(float))).endswith(hint)
    assert check(A, single.astype(float), dtype="float32")
    printed = np.array([float(f"{x:.4g}") for x in D.ravel()]).reshape(D.shape)
    assert not check(A, printed)
    assert check(A, printed, within=1e-3)
    assert hint not in str(check(A, printed))
    D[29, 3] *= 1 + 1e-9
    assert check(A, D).pair == (29, 3)
    assert hint not in str(check(A, (D * 1e8).astype(int)))
    assert hint not in str(
        check((10 * A).astype(int), cases.floyd_warshall((10 * A).astype(int)) + 1e-9, null_value=None)
    )
    assert "exactly" in str(check((10 * A).astype(int), cases.floyd_warshall((10 * A).astype(int)), null_value=None))


def test_weights_rounded_to_single_precision_select_the_same_and_no_other():
    A = np.random.default_rng(0).normal(size=(9, 9))
    for name, best, worst in (("min_max", np.minimum, np.maximum), ("max_min", np.maximum, np.minimum)):
        D = A.copy()
        np.fill_diagonal(D, -INF if name == "min_max" else INF)
        for k in range(9):
            D = best(D, worst(D[:, k : k + 1], D[k : k + 1]))
        single = D.astype(np.float32)
        assert check(A, D, name)
        assert check(A, single, name)
        assert not check(A, single.astype(float), name)
        single[3, 4] = np.nextafter(single[3, 4], np.float32(0))
        assert check(A, single, name).pair == (3, 4)


@pytest.mark.parametrize("within", [-1, INF, float("nan")])
def test_within_is_a_size(tmp_path, within):
    A, D = [[0.0, 1], [2, 0]], [[0.0, 7], [2, 0]]
    with pytest.raises(ValueError, match="within must be a number of at least 0, got"):
        check(A, D, within=within)
    for name, table in (("a.csv", A), ("d.csv", D)):
        np.savetxt(tmp_path / name, table, delimiter=",")
    assert "within must be" in bad(2, "check", tmp_path / "a.csv", tmp_path / "d.csv", "--within", within)


def test_rows_are_drawn_and_only_they_are_looked_at():
    graph = random_graph(50, 10, seed=1)
    D = np.asarray(shortest_paths(graph)).copy()
    D[49, 0] += 1
    assert not check(graph, D)
    drawn = [bool(check(graph, D, rows=20, seed=seed)) for seed in range(20)]
    assert {*drawn} == {True, False}
    assert "20 of 50 rows, drawn at random" in str(check(graph, D, rows=20, seed=drawn.index(True)))


def test_rows_named_by_numbers_are_in_the_order_of_the_graph_and_that_is_told():
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph()
    graph.add_nodes_from([2, 0, 1])
    graph.add_weighted_edges_from([(2, 0, 5), (0, 1, 3), (1, 2, 1)])
    assert check(graph, [[0, 5, 8], [4, 0, 3], [1, 6, 0]])
    found = check(graph, [[0, 3, 4], [6, 0, 1], [5, 8, 0]])
    assert not found
    assert str(found).endswith(" Rows without other names than 0 … 2 are in the order of A, [2, 0, 1].")
    assert "order of A" not in str(check(networkx.relabel_nodes(graph, str), [[0, 3, 4], [6, 0, 1], [5, 8, 0]]))


@pytest.mark.parametrize("suffix", [".zarr", ".tiles", ".npz"])
@pytest.mark.parametrize("names", ["012", "BAC"])
def test_a_table_from_other_sources_than_targets_is_no_wrong_one(tmp_path, names, suffix):
    a, b, c = (int(x) if x.isdigit() else x for x in names)
    graph = as_graph([(b, a, 4), (a, c, 7), (c, a, 1)])
    shortest_paths(graph, sources=[c, b, a]).save(tmp_path / f"part{suffix}")
    with pytest.raises(FormatError, match="got other sources than targets"):
        check(graph, tmp_path / f"part{suffix}")


def test_tables_of_every_kind_of_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = as_graph([("B", "A", 4), ("A", "C", 7), ("C", "A", 1)])
    write(graph, "g.csv")
    for name in ("d.txt", "d.csv", "d.npy", "d.npz", "d.tiles", "d.zarr"):
        good("-q", "solve", "g.csv", "--output", name)
        assert good("check", "g.csv", name) == "right: all 3 rows are those of the closure, exactly.\n"
        assert good("check", "g.csv", name, "--sample", "2").startswith("right: 2 of 3 rows")
    (tmp_path / "turned.csv").write_text(",A,B,C\nA,0,inf,7\nB,4,0,11\nC,1,inf,0\n")
    assert good("check", "g.csv", "turned.csv")
    for separator in (" ", ","):
        np.savetxt("mine.txt", [[0, INF, 7], [4, 0, 11], [2, INF, 0]], delimiter=separator)
        found = apsp("check", "g.csv", "mine.txt")
        assert (found.exit_code, found.stdout) == (
            1,
            "wrong: 1 of 9 entries is wrong, first from 'C' to 'A': the table says 2.0, and the walk C → A weighs "
            "1.0.\n",
        )
    assert json.loads(apsp("--json", "check", "g.csv", "mine.txt").stdout)["pair"] == ["C", "A"]
    assert "a list of edges. Say --table-format matrix for rows" in bad(2, "check", "g.csv", "g.csv")
    (tmp_path / "printed").write_text("[[0 inf 7]\n [4 0 11]\n [1 inf 0]]\n")
    assert "Say which: --table-format …" in bad(2, "check", "g.csv", "printed")
    (tmp_path / "headed.csv").write_text("a,b,c\n0,inf,7\n4,0,11\n1,inf,0\n")
    assert bad(2, "check", "g.csv", "headed.csv").endswith("without names or with those of rows and columns.\n")
    (tmp_path / "numbers.csv").write_text(",7,2,5\n7,0,inf,7\n2,4,0,11\n5,1,inf,0\n")
    assert check([("2", "7", 4), ("7", "5", 7), ("5", "7", 1)], "numbers.csv")
    (tmp_path / "other.csv").write_text(",A,B,D\nA,0,inf,7\nB,4,0,11\nD,1,inf,0\n")
    assert "'C'" in bad(2, "check", "g.csv", "other.csv")
    with pytest.raises(VertexError):
        check(graph, "other.csv")
