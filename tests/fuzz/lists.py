"""Nested lists in place of arrays: the answer of the array that they are, or an error of ours; never NumPy's text.

Rows of several lengths, empty ones, tuples in lists, numbers of several types, a memoryview, something that is no
number somewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import apsp
import semiring
from apsp import closure, shortest_paths, transitive_closure
from semiring.host.errors import SemiringError, ShapeError

from .draw import Draw

_EYE = np.array([[1.0, 2.0], [3.0, 4.0]])
#: Functions of a square matrix.
SQUARE: dict[str, Callable[[Any], Any]] = {
    "closure": lambda A: closure(A, null_value=None),
    "closure over max_min": lambda A: closure(A, "max_min", null_value=None),
    "shortest_paths": lambda A: shortest_paths(A, null_value=None).distances,
    "transitive_closure": lambda A: transitive_closure(A, null_value=None).to_bool(),
    "as_graph": lambda A: apsp.as_graph(A, null_value=None).matrix(),
    "csgraph": lambda A: apsp.csgraph.shortest_path(A),
    "power": lambda A: semiring.power(A, 3),
}
#: Functions of an array.
ANY: dict[str, Callable[[Any], Any]] = {
    "sum": semiring.sum,
    "sum of rows": lambda A: semiring.sum(A, axis=-1),
    "prod": lambda A: semiring.prod(A, axis=0),
    "outer": lambda A: semiring.outer(A, [1, 2]),
    "einsum": lambda A: semiring.einsum("ij->j", A),
    "einsum of two": lambda A: semiring.einsum("ij,ij->", A, A),
    "matmul": lambda A: semiring.matmul(A, A),
    "flows": lambda A: shortest_paths(_EYE).flows(A) if len(A) else None,
    "nearest": lambda A: apsp.Graph.from_edges([(0, 1, 1)]).having(places=_EYE).nearest(A, A),
    "BitMatrix": lambda A: semiring.BitMatrix.from_bool(A).to_bool(),
    "log_plus": lambda A: semiring.sum(A, "log_plus"),
}
#: What is no number, or one that not every dtype holds.
ODD = (None, "x", "1", math.nan, 1j, Fraction(1, 3), 2**70, -(2**63), 1e400, True, b"1", (), {}, object)


def case(draw: Draw) -> None:
    """One list for one function."""
    square = draw.chance(50)
    name = draw.pick(tuple(SQUARE if square else ANY))
    call = (SQUARE if square else ANY)[name]
    A = _array(draw, square)
    if name == "BitMatrix":
        A = A > 1
    nested = _nested(draw, A, _ROWS[: 2 if square else 4])
    draw.note(function=name, A=A)
    kind = draw.pick(("as it is", "as it is", "ragged", "odd", "memoryview"))
    draw.note(kind=kind)
    if name == "flows" and kind != "odd":  # rows are triples there
        return
    if kind == "ragged" and len(nested):
        _ragged(draw, nested)
        draw.note(nested=nested)
        if len({len(x) if hasattr(x, "__len__") else 0 for x in nested}) < 2:
            return
        try:
            call(nested)
        except ShapeError as error:
            assert "inhomogeneous" not in str(error)
            assert any(x in str(error) for x in ("lengths", "at least", "square", "as many")), str(error)
            return
        raise AssertionError("rows of several lengths were answered")
    if kind == "odd" and A.size:
        at = [draw.below(n) for n in A.shape]
        row = nested[at[0]] = list(nested[at[0]])
        row[at[1]] = draw.pick(ODD)
        draw.note(nested=nested)
        _ours(lambda: call(nested))
        return
    given = memoryview(np.ascontiguousarray(A)) if kind == "memoryview" else nested
    draw.note(nested=nested)
    expected, found = _ours(lambda: call(A)), _ours(lambda: call(given))
    if A.size and expected is not None:
        assert found is not None, "a list was refused, whose array was not"
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


#: A row as a list of Python's numbers or of NumPy's, as an array or a tuple: a list of tuples may be one of edges.
_ROWS: tuple[Callable[[np.ndarray], Any], ...] = (np.ndarray.tolist, list, np.array, lambda row: tuple(row.tolist()))


def _array(draw: Draw, square: bool) -> np.ndarray:
    n = draw.pick((2, 1, 3, 5, 0))
    shape = (n, n) if square else (n, draw.pick((2, 1, 3, 0)))
    A: np.ndarray = draw.rng().integers(1, 9, shape)
    return A.astype(draw.pick(("int64", "float64", "int64", "bool"))) if draw.chance(70) else A / 2


def _nested(draw: Draw, A: np.ndarray, kinds: tuple[Callable[[np.ndarray], Any], ...]) -> Any:
    """The rows as lists or arrays, or some of each; tuples where they are no edges."""
    one = draw.pick(kinds)
    return [(draw.pick(kinds) if draw.chance(20) else one)(row) for row in A]


def _ragged(draw: Draw, nested: list[Any]) -> None:
    at = draw.below(len(nested))
    row = list(nested[at])
    nested[at] = draw.pick((row[:-1], [*row, 1], [], [row, row, row], 3))


def _ours(call: Callable[[], Any]) -> Any:
    """The answer; None where it is refused, in our words."""
    try:
        return call()
    except (SemiringError, ValueError, TypeError) as error:
        assert isinstance(error, SemiringError) or ": " in str(error), repr(error)
        assert "inhomogeneous" not in str(error), "NumPy's text"
        assert "setting an array element" not in str(error), "NumPy's text"
        return None
