"""The matrices that a schedule goes through: against Floyd's definition of each, in uncompiled loops."""

from __future__ import annotations

import re
from itertools import pairwise

import cases
import numpy as np
import pytest

import apsp
from apsp.comparison.steps import Steps
from apsp.road import schedules
from semiring import get
from semiring.host.errors import ShapeError

A = np.array(
    [[0, 4, np.inf, 9, 1], [np.inf, 0, 1, 3, np.inf], [2, np.inf, 0, 5, 7], [np.inf] * 3 + [0, 2], [1, 8, 1, 1, 0]]
)


def by_way_of(A: np.ndarray, k: int) -> np.ndarray:
    """Floyd's M_k: the best paths that only go by way of the first k vertices."""
    M = A.copy()
    for via in range(k):
        for i in range(len(A)):
            for j in range(len(A)):
                M[i, j] = min(M[i, j], M[i, via] + M[via, j])
    return M


def test_a_step_a_vertex_is_floyds_matrix():
    D, steps = apsp.closure(A, steps=True)
    assert (steps.schedule, steps.block, len(steps)) == ("iterative", 1, 6)
    for k, step in enumerate(steps):
        np.testing.assert_array_equal(step.matrix, by_way_of(A, k))
    assert [step.title for step in steps[1:3]] == ["by way of 0", "by way of 1"]
    np.testing.assert_array_equal(D, steps[-1].matrix)
    np.testing.assert_array_equal(steps[2].changed, steps[1].matrix != steps[2].matrix)


def test_the_graph_of_the_lesson_changes_two_entries_by_way_of_its_first_vertex():
    steps = apsp.closure(cases.six_matrix(), steps=True)[1]
    assert steps[1].changed.sum() == 2
    for k, step in enumerate(steps):
        np.testing.assert_array_equal(step.matrix, by_way_of(cases.six_matrix(), k))


@pytest.mark.parametrize("name", schedules.names())
@pytest.mark.parametrize("semiring", ["min_plus", "lor_land"])
def test_every_schedule_ends_at_the_closure(name, semiring):
    given = A if semiring == "min_plus" else np.roll(np.eye(7, dtype=bool), 1, axis=1)
    D, steps = apsp.closure(given, semiring, steps=True, schedule=name, block=2)
    np.testing.assert_array_equal(steps[0].matrix, np.eye(7, dtype=bool) | given if semiring != "min_plus" else given)
    np.testing.assert_array_equal(steps[-1].matrix, D)
    assert steps[-1].matrix.dtype == given.dtype
    for before, step in pairwise(steps):
        np.testing.assert_array_equal(step.changed, before.matrix != step.matrix)
        inside = np.zeros(given.shape, bool)
        for rows, columns in step.written or ((slice(None), slice(None)),):
            inside[rows, columns] = True
        assert not (step.changed & ~inside).any()  # what is framed is what was written


def test_the_order_of_the_recursion():
    """D'Alberto and Nicolau 2007, section 3."""
    _, steps = apsp.closure(A[:4, :4], steps=True, schedule="recursive", block=2)
    a, b, c, d = "M[0:2, 0:2]", "M[0:2, 2:4]", "M[2:4, 0:2]", "M[2:4, 2:4]"
    assert [step.title for step in steps[1:]] == [
        *(f"{a} ← {a}*", f"{b} ← {a} ⊗ {b}", f"{d} ← {d} ⊕ {c} ⊗ {b}", f"{c} ← {c} ⊗ {a}"),
        *(f"{d} ← {d}*", f"{c} ← {d} ⊗ {c}", f"{a} ← {a} ⊕ {b} ⊗ {c}", f"{b} ← {b} ⊗ {d}"),
    ]
    assert steps[2].read == ((slice(0, 2), slice(0, 2)),)


def test_names_and_integers_are_printed_as_they_are():
    graph = apsp.as_graph({"a": {"b": 4}, "b": {"c": 1}, "c": {"a": 2}})
    _, steps = apsp.closure(graph, steps=True, dtype="int16")
    text = str(steps)
    assert text.splitlines()[2:5] == ["M0: the matrix, I ⊕ A", "     a     b     c", "a    0     4   inf"]
    assert "M2: by way of b; 1 entry changes" in text
    assert "a    0   4   5*" in text
    assert repr(steps) == "<Steps: M0 … M3 of 3 vertices over min_plus, iterative>"
    assert "by way of b" in steps._repr_html_()


@pytest.mark.parametrize("schedule", ["iterative", "blocked", "recursive", "squaring"])
def test_steps_begin_at_one_on_the_diagonal_and_plain_ones_at_the_matrix(schedule):
    """An input without loops: the lessons' M₀ has 0 there, `plain` what came."""
    open_ = A.copy()
    np.fill_diagonal(open_, np.inf)
    D, steps = apsp.closure(open_, steps=True, schedule=schedule, block=2)
    np.testing.assert_array_equal(steps[0].matrix, A)
    assert (steps[0].title, len(steps)) == (
        "the matrix, I ⊕ A",
        len(apsp.closure(A, steps=True, schedule=schedule, block=2)[1]),
    )
    E, plain = apsp.closure(open_, steps="plain", schedule=schedule, block=2)
    np.testing.assert_array_equal(plain[0].matrix, open_)
    assert plain[0].title == "the matrix"
    np.testing.assert_array_equal(E, D)
    if schedule == "iterative":
        for k, step in enumerate(steps):
            np.testing.assert_array_equal(step.matrix, by_way_of(A, k))
    with pytest.raises(ValueError, match="must be True, False or 'plain', got 'pain'"):
        apsp.closure(A, steps="pain")


def test_blocks_say_their_round_and_phase():
    steps = apsp.closure(A[:6, :6], steps=True, schedule="blocked", block=2)[1]
    told = [re.match(r"round (\d), phase (\d): ", step.title).groups() for step in steps[1:]]
    one, two, three = "1", "2", "3"  # at the ends, blocks of a row are one
    assert [phase for k, phase in told if k == one] == [one, two, three, two]
    assert [phase for k, phase in told if k == two] == [one, two, two, *[three] * 4, two, two]
    assert [phase for k, phase in told if k == three] == [one, two, three, two]
    kept = str(apsp.closure(A[:6, :6], steps=True, schedule="distributed", block=2)[1])
    assert "; C and P: a pivot's old columns and new rows, kept beside\n" in kept


def test_formulas_name_the_zero_the_identity_and_the_copies():
    open_ = np.where(A == 0, np.inf, A)[:4, :4]
    titles = [step.title for step in apsp.closure(open_, steps="plain", schedule="distributed", block=2)[1]]
    assert titles[1:4] == ["M[0:4, 0:2] ← ∞", "M[2:4, 0:4] ← M[2:4, 0:4] ⊕ C ⊗ P", "M[0:2, 0:4] ← P"]
    titles = [step.title for step in apsp.closure(open_, steps="plain", schedule="squaring")[1]]
    assert titles == ["the matrix", "M ← I ⊕ M", "M ← M ⊕ M ⊗ M", "M ← M ⊕ M ⊗ M"]
    titles = [step.title for step in apsp.closure(-A, "max_plus", steps=True, schedule="distributed", block=3)[1]]
    assert titles[1] == "M[0:5, 0:3] ← -∞"


def test_arithmetic_of_other_semirings():
    X = np.array([[0.25, 0.5], [0.125, 0.0]])
    D, steps = apsp.closure(X, "plus_times", steps=True)
    np.testing.assert_allclose(D, np.linalg.inv(np.eye(2) - X))
    np.testing.assert_allclose(steps[-1].matrix, D)


def test_a_strip_of_pictures(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    _, steps = apsp.closure(A, steps=True, schedule="blocked", block=3)
    figure = steps.plot(save=tmp_path / "strip.svg")
    assert len(figure.axes) == len(steps)
    assert (tmp_path / "strip.svg").read_bytes().startswith(b"<?xml")
    larger = apsp.closure(np.roll(np.eye(20, dtype=bool), 1, axis=1), "boolean", steps=True)[1]
    assert len(larger.plot(save=tmp_path / "bits.png").axes) == 21
    with pytest.raises(ValueError, match="txt"):
        steps.plot(save=tmp_path / "strip.txt")


@pytest.mark.parametrize("n", [0, 1, 32])
def test_sizes(n):
    D, steps = apsp.closure(np.ones((n, n)), steps=True)
    assert isinstance(steps, Steps)
    assert len(steps) == n + 1
    np.testing.assert_array_equal(steps[-1].matrix, D)


@pytest.mark.parametrize("shape", [(33, 33), (2, 3, 3)])
def test_what_is_too_large_to_read_is_refused(shape):
    with pytest.raises(ShapeError, match=r"at most 32 vertices, got shape"):
        apsp.closure(np.ones(shape), steps=True)


def test_what_does_not_go_together_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"steps=True must be without memory=.*, got memory='1GiB'"):
        apsp.closure(A, steps=True, memory="1GiB")
    with pytest.raises(ValueError, match=r"got checkpoint='ck', gpus=2\. Leave steps"):
        apsp.closure(A, steps=True, checkpoint="ck", gpus=2)
    with pytest.raises(apsp.NegativeCycleError):
        apsp.closure(np.array([[0, -1.0], [0, 0]]), steps=True, null_value=None)


def test_a_matrix_that_is_overwritten_is_recorded_before():
    M = A.copy()
    D, steps = apsp.closure(M, steps=True, overwrite=True)
    assert D is M
    np.testing.assert_array_equal(steps[0].matrix, A)
    assert get("min_plus") is steps.semiring
