"""Closures by the arcs that matter: the certificate finds what the best arcs of each vertex leave out."""

from __future__ import annotations

from itertools import pairwise

import cases
import numpy as np
import pytest

from apsp import AlgebraError, as_graph, closure, plan, shortest_paths
from apsp.road.engines import essential
from semiring import get

N = 1100
rng = np.random.default_rng(10)


def complete(dtype, n=N):
    A = rng.integers(1, 30001, (n, n)).astype(dtype)
    np.fill_diagonal(A, 0)
    return A


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_a_complete_graph_is_closed_by_its_best_arcs(dtype):
    A = complete(dtype)
    r = shortest_paths(as_graph(A, null_value=None), dtype=dtype, engine="essential")
    assert (r.plan.engine, r.dtype) == ("essential", np.dtype(dtype))
    few = [0, 5, N - 1]
    np.testing.assert_array_equal(r.distances[few], cases.distances(A, few, float))
    np.testing.assert_array_equal(r.distances, closure(A, schedule="blocked", null_value=None))
    u, v = 3, N - 7
    path = r.path(u, v)
    assert sum(A[a, b] for a, b in pairwise(path)) == r.distance(u, v)


def test_arcs_that_matter_though_they_are_the_heaviest(monkeypatch):
    """Two halves, complete each, and one arc from half to half, heavier than any other; and one of two that is lighter
    than the way round, though not among the best of its vertex."""
    A = complete("float64")
    half = N // 2
    A[:half, half:] = A[half:, :half] = np.inf
    A[17, half + 3] = 1e9
    A[half + 5, 2] = 31000
    A[half + 6, 2] = 90000
    found, better = [], essential.better
    monkeypatch.setattr(essential, "better", lambda *x: found.append(better(*x)) or found[0])
    D = shortest_paths(as_graph(A, null_value=None), engine="essential").distances
    few = [17, 18, half + 5, half + 6, N - 1]
    np.testing.assert_array_equal(D[few], cases.distances(A, few, float))
    assert len(found[0][0]) > 1  # were missing at first
    assert not len(better(A, D, get("min_plus"))[0])


def test_one_arc_leads_to_a_vertex_and_is_none_of_the_best():
    """Rows that it makes better are all; nothing else shows them."""
    A = complete("float64")
    A[:-1, -1] = np.inf
    A[17, -1] = 1e9
    D = shortest_paths(as_graph(A, null_value=None), engine="essential").distances
    np.testing.assert_array_equal(D[[0, 17, N - 1]], cases.distances(A, [0, 17, N - 1], float))
    np.testing.assert_array_equal(D[:-1, -1], D[:-1, 17] + 1e9)


def test_so_many_more_arcs_that_all_rows_are_found_again(monkeypatch):
    """The best two of each vertex, which leave out most of what matters."""
    A = complete("int32")
    monkeypatch.setattr(essential, "thinned", lambda q: essential.Thinned(2 * N, _best_two(q), 9.0, 9.0))
    r = shortest_paths(as_graph(A, null_value=None), engine="essential")
    few = [0, 5, N - 1]
    np.testing.assert_array_equal(r.distances[few], cases.distances(A, few, float))


def _best_two(question):
    return essential._searches(question, essential.best_arcs(question.problem.matrix, question.semiring, 2))


def test_too_many_arcs_that_matter_close_the_matrix(monkeypatch):
    A = complete("int32")
    monkeypatch.setattr(essential, "better", lambda A, D, s: (np.array([0]), np.array([1]), A[0, 1:2]))
    monkeypatch.setattr(essential, "MOST", 0)
    monkeypatch.setattr(essential, "thinned", lambda q, found=essential.thinned: _kept(monkeypatch, found, q))
    r = shortest_paths(as_graph(A, null_value=None), engine="essential")
    np.testing.assert_array_equal(r.distances, closure(A, schedule="blocked", null_value=None))


def _kept(monkeypatch, thinned, question):
    with monkeypatch.context() as m:
        m.setattr(essential, "MOST", 128)
        return thinned(question)


def test_negated_lengths():
    A = -complete("int32")
    D = closure(A, "max_plus", schedule="blocked")
    r = shortest_paths(as_graph(A, null_value=None), "max_plus", engine="essential")
    np.testing.assert_array_equal(r.distances, D)


@pytest.mark.parametrize("name", ["euclidean", "ties", "negative", "small", "reliabilities"])
def test_where_too_many_matter_or_others_answer_it_refuses(name):
    p = rng.random((N, 2))
    A = {
        "euclidean": np.sqrt(((p[:, None] - p) ** 2).sum(-1)),
        "ties": rng.integers(1, 10, (N, N)).astype(float),
        "negative": complete("float64") - 1.0,
        "small": complete("float64", 900),
        "reliabilities": rng.random((N, N)),
    }[name]
    with pytest.raises(AlgebraError, match="in which few arcs matter"):
        shortest_paths(
            as_graph(A, null_value=None), "reliability" if name == "reliabilities" else "min_plus", engine="essential"
        )


def test_the_plan_counts_what_matters():
    p = plan(as_graph(complete("float32"), null_value=None), engine="essential")
    assert f"a vertex of {N - 1:,}" in p.reason
    assert 3 < int(p.reason.partition("essential arcs: ")[2].split()[0]) < 20  # about ln n


def test_progress_is_in_rows():
    calls = []
    shortest_paths(
        as_graph(complete("float32"), null_value=None), engine="essential", callback=lambda *x: calls.append(x)
    )
    assert calls[-1] == (N, N)
    assert calls == sorted(calls)
