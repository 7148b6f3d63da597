"""Zeros of dense matrices: edges, no edges, or refused where nobody can tell; by every door, held to plain loops."""

from __future__ import annotations

import math
import tempfile
import warnings
from pathlib import Path
from typing import Any

import cases
import numpy as np
from click.testing import CliRunner
from scipy import sparse

import semiring
from apsp import Graph, as_graph, closure, predecessors, shortest_paths
from apsp.doors import cli
from semiring.host.errors import DivergenceError, DomainError

from . import oracle
from .draw import Draw
from .layouts import host

_device = "cpu"  # else as `worker.load` says


def case(draw: Draw) -> None:
    """One matrix, and what one of our functions makes of its zeros."""
    s = semiring.get(draw.pick(("min_plus", "max_plus", "max_min", "min_max", "max_times")))
    A = _matrix(draw, s)
    nulls: dict[str, Any] = draw.pick(({}, {}, {"null_value": 0}, {"null_value": None}, {"null_value": 3}))
    infinity = np.iinfo(A.dtype).max if A.dtype.kind == "i" else math.inf
    missing = s.zero if A.dtype.kind != "i" else infinity if s.zero > 0 else np.iinfo(A.dtype).min
    apart = ~np.eye(len(A), dtype=bool)
    ambiguous = (
        not nulls and s.zero != 0 and A.dtype.kind != "b"
        and bool((A[apart] == 0).any() and not (A[apart] == missing).any())
    )  # fmt: skip
    draw.note(semiring=s.name, A=A, nulls=nulls, ambiguous=ambiguous)
    W = _lengths(A, s, infinity, nulls.get("null_value"))
    draw.pick((_closed, _closed, _solved, _solved, _routed, _commanded))(draw, s, A, W, nulls, ambiguous)


def _matrix(draw: Draw, s: semiring.Semiring) -> np.ndarray:
    """Small numbers; most have zeros off the diagonal, fewer something that tells of missing edges."""
    n, rng = draw.pick((3, 4, 2, 1, 0, 5, 8)), draw.rng()
    dtype = draw.pick(("float64", "int64", "float32", "int32", "int16", "bool"))
    if s.name == "max_times":
        dtype = draw.pick(("float64", "float32"))
        return np.asarray(rng.choice([0.0, 0.25, 0.5, 1.0], (n, n)), dtype)
    A = rng.integers(1, 9, (n, n)).astype(dtype)
    A[rng.random((n, n)) < draw.pick((0.5, 0.0, 0.9))] = 0
    if draw.chance(30):
        A[np.arange(n), np.arange(n)] = 0
    if dtype == "bool":
        return A
    telling = draw.pick((None, None, "infinite", "infinite diagonal", "negative"))
    where = rng.random((n, n)) < 0.2
    if telling == "infinite diagonal":
        where = (rng.random(n) < 0.7)[:, None] & np.eye(n, dtype=bool)
    if telling in ("infinite", "infinite diagonal"):
        low = s.zero == -math.inf
        info = np.iinfo(dtype) if A.dtype.kind == "i" else None
        A[where] = (info.min if low else info.max) if info else s.zero
    elif telling == "negative" and A.dtype.kind != "b":
        A[where] = -3 if s.name == "max_plus" else A[where] if draw.chance(50) else -1
        if s.name in ("max_min", "min_max"):
            A[where] = -2
    if s.name == "max_plus" and draw.chance(70):  # no cycle
        A = np.triu(A, 1)
    return A


def _lengths(A: np.ndarray, s: semiring.Semiring, infinity: float, null: float | None) -> np.ndarray:
    """The matrix in float64 with the semiring's zero where there is no edge; bool is a graph."""
    W = A.astype(float)
    if A.dtype.kind == "b":
        return np.where(A, s.one if s.name == "max_times" else 1.0, s.zero)
    if A.dtype.kind == "i":
        W[np.iinfo(A.dtype).min == A] = -math.inf
        W[infinity == A] = math.inf
    W[A == null] = s.zero
    return W


def _expected(s: semiring.Semiring, W: np.ndarray) -> np.ndarray | None:
    """The closure by loops; None where there is none."""
    if s.name in ("min_plus", "max_plus"):
        sign = 1 if s.name == "min_plus" else -1
        units = np.where(np.isinf(W), oracle.FAR, sign * np.where(np.isinf(W), 0, W)).astype(np.int64)
        if oracle.shortest(units) is None:
            return None
    found: np.ndarray = cases.closure(cases.Case(s, np.dtype(float)), W)
    return found


def _shown(D: Any, s: semiring.Semiring) -> np.ndarray:
    """Distances in float64, with infinities."""
    D = host(D)
    out = D.astype(float)
    if D.dtype.kind == "i":
        out[np.iinfo(D.dtype).max == D], out[np.iinfo(D.dtype).min == D] = math.inf, -math.inf
    return out


def _given(draw: Draw, A: np.ndarray) -> Any:
    how = draw.pick(("array", "list", "F", "window", "read-only"))
    draw.note(how=how)
    if how == "list" and A.size and A.dtype.name in ("float64", "int64", "bool"):
        return A.tolist()
    if how == "F":
        return np.asfortranarray(A)
    if how == "window":
        return np.pad(A, 1)[1:-1, 1:-1]
    if how == "read-only":
        A = A.copy()
        A.flags.writeable = False
    return A


def _on() -> dict[str, Any]:
    return {} if _device == "cpu" else {"device": _device}


def _says_both(message: str) -> None:
    assert "null_value=0" in message, "the first way out is missing"
    assert "null_value=None" in message, "the second way out is missing"


def _closed(draw: Draw, s: Any, A: np.ndarray, W: np.ndarray, nulls: dict[str, Any], ambiguous: bool) -> None:
    """`closure` takes zeros for edges where nothing was said, and warns once if that may be wrong."""
    if A.dtype.kind == "b":
        return  # a matrix of truth values is one over the Boolean semiring, and refused over others
    D = _expected(s, W)
    source = _given(draw, A)
    options = _on() | {"schedule": draw.pick(("auto", "recursive", "blocked", "iterative"))}
    if isinstance(source, np.ndarray) and draw.chance(20):
        source, options["schedule"] = np.array([A]), "auto"  # a batch
    draw.note(options=options)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            got = closure(source, s, **nulls, **options)
        except DivergenceError:
            assert D is None, "the closure exists, and was refused"
            return
    assert D is not None, "the closure does not exist, and was given"
    told = [str(w.message) for w in heard if "null_value" in str(w.message)]
    assert len(told) == ambiguous, f"{len(told)} warnings"
    if ambiguous:
        _says_both(told[0])
    found = _shown(got, s)
    np.testing.assert_array_equal(found[0] if found.ndim == 3 else found, D)


def _solved(draw: Draw, s: Any, A: np.ndarray, W: np.ndarray, nulls: dict[str, Any], ambiguous: bool) -> None:
    """`shortest_paths` refuses what may mean two things; its answer has the edges that were meant."""
    D = _expected(s, W)
    source = _given(draw, A)
    options = _on() | {"engine": draw.pick(("auto", "dense", "elimination"))}
    if A.dtype.kind == "b":  # a graph, whatever else is said
        options["unweighted"] = True
    draw.note(options=options)
    through = draw.chance(30) and A.dtype.kind != "b"
    if isinstance(source, np.ndarray) and A.dtype.kind == "i" and len(A) in (2, 3):  # they may be edges
        source = Graph.from_matrix(source)
    if (
        A.size and A.dtype.kind != "b" and draw.chance(25)
    ):  # whose stored zeros are edges, unless they are said to be none
        source, ambiguous = sparse.coo_array((A.ravel(), np.indices(A.shape).reshape(2, -1)), A.shape), False
        source = source.tocsr() if draw.chance(50) else source
        draw.note(sparse=source.format)
    try:
        graph = as_graph(source, **nulls) if through else source
        r = shortest_paths(graph, s, **options, **({} if through else nulls))
    except DivergenceError:
        assert D is None, "the closure exists, and was refused"
        return
    except DomainError as refusal:
        assert ambiguous, "nothing is ambiguous, and it was refused"
        _says_both(str(refusal))
        return
    assert not ambiguous, "guessed in silence"
    assert D is not None, "the closure does not exist, and was given"
    np.testing.assert_array_equal(_shown(r.distances, s), D)
    if s.name != "max_times":
        assert host(r.reachable).tolist() == (s.zero != D).tolist()


def _routed(draw: Draw, s: Any, A: np.ndarray, W: np.ndarray, nulls: dict[str, Any], ambiguous: bool) -> None:
    """`predecessors` of a matrix and its closure."""
    D = _expected(s, W)
    if A.dtype.kind == "b" or D is None or s.name == "max_times":
        return
    closed = np.where(np.isinf(D), 0, D).astype(A.dtype)
    closed[D == math.inf], closed[D == -math.inf] = (
        (math.inf, -math.inf) if A.dtype.kind == "f" else (np.iinfo(A.dtype).max, np.iinfo(A.dtype).min)
    )
    try:
        P = predecessors(A, closed, s, **nulls)
    except DomainError as refusal:
        assert ambiguous, "nothing is ambiguous, and it was refused"
        _says_both(str(refusal))
        return
    assert not ambiguous, "guessed in silence"
    P = np.asarray(P)
    for i, j in np.argwhere(P >= 0).tolist():
        u = P[i, j]
        assert W[u, j] != s.zero, f"{u} before {j}, and no edge between"
        via = D[i, u] + W[u, j] if s.name.endswith("plus") else (min if s.name == "max_min" else max)(D[i, u], W[u, j])
        assert via == D[i, j], f"{u} before {j} is no best walk"
    apart = ~np.eye(len(A), dtype=bool)
    np.testing.assert_array_equal((P >= 0)[apart], (s.zero != D)[apart])


def _commanded(draw: Draw, s: Any, A: np.ndarray, W: np.ndarray, nulls: dict[str, Any], ambiguous: bool) -> None:
    """The command line, which asks in one line."""
    if A.dtype.kind == "b":
        return
    D = _expected(s, W)
    words = ["--null-value", str(nulls["null_value"]).lower()] if nulls else []
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "a.npy", Path(folder) / "d.npy"
        np.save(path, A)
        run = CliRunner().invoke(
            cli.main, ["-q", "solve", str(path), "--semiring", s.name, *words, "--output", str(out)], prog_name="apsp"
        )
        draw.note(code=run.exit_code, stderr=run.stderr)
        if run.exception is not None and not isinstance(run.exception, SystemExit):
            raise run.exception
        if ambiguous:
            assert run.exit_code == 2, "guessed in silence"
            assert "--null-value" in run.stderr
            assert run.stderr.count("\n") == 1
        elif D is None:
            assert run.exit_code == 3
        else:
            assert run.exit_code == 0
            np.testing.assert_array_equal(_shown(np.load(out), s), D)
