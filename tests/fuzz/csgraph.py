"""SciPy's functions under our roof: dense, masked and sparse graphs of every kind, held to SciPy itself.

What counts as an edge is told a second time here, and distances by those edges are exact: that decides where SciPy is
wrong, or refuses (docs/scipy-networkx.md).
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph as scipys

from apsp import csgraph
from apsp.csgraph import engines, shortest
from semiring.host.errors import SemiringError

from . import oracle
from .draw import Draw

#: Weights are whole multiples of 2⁻³⁰: they and their sums are exact in the oracle's integers and, to 2²², in float64.
UNIT = 2**30
NONE = -9999
FORMATS = ("csr", "coo", "csc", "lil", "dok", "bsr", "dia")

_device = "cpu"  # else as `worker.load` says


@dataclass
class Given:
    """What is handed to both, and its edges: lengths in units, FAR where there is none."""

    graph: Any
    W: np.ndarray
    #: Why SciPy is not asked; None where it is.
    alone: str | None = None
    #: The lengths to SciPy's searches, where its Floyd-Warshall takes the least of several entries and they the sum.
    searched: np.ndarray | None = None
    #: Whether SciPy's functions contradict one another, so that a refusal is right as well.
    torn: bool = False

    def copy(self) -> Any:
        return self.graph if isinstance(self.graph, list) else self.graph.copy()


def prepare() -> None:
    """Compile what every case needs."""
    csgraph.shortest_path(np.eye(3), device=_device)


def case(draw: Draw) -> None:
    """One graph and one question."""
    draw.pick((_question,) * 9 + (_conversions,))(draw)


def _values(draw: Draw, n: int) -> tuple[np.ndarray, str]:
    """(n, n) weights in units, zeros among them, and their kind."""
    rng, kind = draw.rng(), draw.pick(("small", "eighths", "shifted", "signed", "tiny", "large"))
    if kind == "tiny":
        return rng.choice([0, 1, 3, 8, UNIT, 5 * UNIT], (n, n)), kind
    V = rng.integers(-3 if kind == "signed" else 0, {"large": 1 << 20}.get(kind, 20), (n, n)) * UNIT
    if kind == "eighths":
        V //= 8
    if kind == "shifted":
        h = rng.integers(0, 9, n) * UNIT
        V += h[:, None] - h
    return V, kind


def _given(draw: Draw) -> Given:
    n = draw.pick((3, 4, 2, 5, 6, 1, 0, 9, 17, 40))
    V, kind = _values(draw, n)
    present = draw.rng().random((n, n)) < draw.pick((0.4, 1.0, 0.15))
    dtypes = ["float64", *(["float32", "object", "longdouble"] if kind != "tiny" else [])]
    if kind in ("small", "shifted", "signed", "large"):
        dtypes += ["int64", "int32"] + ["int8", "float16"] * (kind != "large")
    if kind == "small":
        dtypes += ["uint8", "uint64", "bool"]
    dtype = draw.pick(dtypes)
    draw.note(n=n, kind=kind, dtype=dtype)
    if dtype == "bool":
        V = np.minimum(V, UNIT)
    made = draw.pick((_sparse, _dense, _masked))
    return made(draw, V, present, np.dtype(dtype))


def _as(V: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Units as weights of a dtype."""
    return (V // UNIT if dtype.kind in "iu" else V / UNIT).astype(dtype)


def _dense(draw: Draw, V: np.ndarray, present: np.ndarray, dtype: np.dtype) -> Given:
    """0, NaN and ±inf are no edges."""
    V = np.where(present, V, 0)
    A, alone = _as(V, dtype), None
    if dtype.kind == "f":
        odd = draw.rng().random(V.shape) < draw.pick((0.0, 0.2))
        A[odd] = draw.rng().choice([math.inf, math.nan, -math.inf], V.shape)[odd]
        V = np.where(odd, 0, V)
    if ((V != 0) & (np.abs(V) <= 10)).any():
        alone = "weights up to 1e-8 are no edges to SciPy"
    W = np.where(V == 0, oracle.FAR, V)
    how = draw.pick(("C", "F", "window", "reversed", "read-only", "swapped", "list", "matrix"))
    draw.note(made="dense", how=how)
    if how == "F" and len(A) > 1:
        A, alone = np.asfortranarray(A), alone or "SciPy's Floyd-Warshall is wrong in Fortran order"
    elif how == "window":
        A = np.pad(A, 1, constant_values=True)[1:-1, 1:-1]
    elif how == "reversed":
        A = A[::-1, ::-1].copy()[::-1, ::-1]
    elif how == "read-only":
        A.flags.writeable = False
    elif how == "swapped":
        A = A.astype(dtype.newbyteorder())
    elif how == "list" and len(A):
        return Given(A.tolist(), W, alone)
    elif how == "matrix":
        A = np.matrix(A)
    if not A.flags.c_contiguous:
        alone = alone or "SciPy's Floyd-Warshall is wrong unless rows are contiguous"
    return Given(A, W, alone)


def _masked(draw: Draw, V: np.ndarray, present: np.ndarray, dtype: np.dtype) -> Given:
    """What is not masked is an edge, a 0 too; under the mask may lie anything."""
    A, rng = _as(V, dtype), draw.rng()
    if dtype.kind == "f":
        A[~present] = rng.choice([math.inf, math.nan, 0.0, 7.0, -5.0], V.shape)[~present]
    how = draw.pick(("mask", "mask", "nothing masked", "no mask", "by value", "hard"))
    draw.note(made="masked", how=how)
    if how == "by value" and dtype.kind != "b":
        out = _as(np.full((1, 1), 3 * UNIT), dtype)[0, 0]
        M, present = np.ma.masked_equal(_as(V, dtype), out), out != _as(V, dtype)
    elif how in ("nothing masked", "no mask"):
        M = np.ma.array(_as(V, dtype), mask=np.ma.nomask if how == "no mask" else np.zeros(V.shape, bool))
        present = np.ones(V.shape, bool)
    else:
        M = np.ma.array(A, mask=~present, hard_mask=how == "hard")
    torn = bool((present & (V == 0) & ~np.eye(len(V), dtype=bool)).any())
    return Given(M, np.where(present, V, oracle.FAR), torn=torn)


def _sparse(draw: Draw, V: np.ndarray, present: np.ndarray, dtype: np.dtype) -> Given:
    """Stored entries are edges, a stored 0 too.

    Entries of one place add up in COO. In CSR and CSC the least counts, but to SciPy's searches in float64 alone: on
    the way there from another dtype they are added.
    """
    n, rng = len(V), draw.rng()
    dtype = np.dtype("float64") if dtype.kind == "O" or dtype.name in ("float16", "longdouble") else dtype
    name, matrix = draw.pick(FORMATS), draw.chance(20)
    rows, cols = np.nonzero(present)
    units = V[rows, cols]
    again = rng.random(len(rows)) < draw.pick((0.0, 0.3)) * (name in ("csr", "csc", "coo"))
    at = rng.permutation(np.concatenate((np.arange(len(rows)), np.flatnonzero(again))))
    rows, cols, units = rows[at], cols[at], units[at]
    if dtype.kind != "b":
        units = units + rng.integers(0, 3, len(units)) * UNIT * draw.pick((0, 1))
    weights = _as(units, dtype)
    if dtype.kind == "f" and draw.chance(20):
        weights[units == 0] = -0.0
    draw.note(made=name, rows=rows, cols=cols, weights=weights, matrix=matrix)
    alone, torn = None, False
    true = np.ones(len(weights), bool)
    if dtype.kind == "b" and not weights.all():
        alone, torn, true = "SciPy takes a stored False for an edge of length 0", True, weights
    W = np.full((n, n), oracle.FAR)
    summed, searched = np.zeros((n, n), np.int64), None
    np.add.at(summed, (rows[true], cols[true]), units[true])
    if name in ("csr", "csc"):
        np.minimum.at(W, (rows[true], cols[true]), units[true])
        if dtype != np.float64:
            searched = np.where(oracle.absent(W), W, summed)
            torn |= len(set(zip(rows.tolist(), cols.tolist(), strict=True))) < len(rows)
        major, minor = (rows, cols) if name == "csr" else (cols, rows)
        order = np.argsort(major, kind="stable")
        index = draw.pick((np.int32, np.int64))
        indptr = np.concatenate(([0], np.cumsum(np.bincount(major, minlength=n)))).astype(index)
        S: Any = getattr(sp, f"{name}_array")((weights[order], minor[order].astype(index), indptr), shape=(n, n))
    else:
        W[rows[true], cols[true]] = summed[rows[true], cols[true]]
        S = sp.coo_array((weights, (rows, cols)), shape=(n, n))
        if dtype.kind == "b":  # truth values do not add up
            W = np.where(oracle.absent(W), W, UNIT)
        if name in ("dia", "bsr"):  # they store the zeros between as well, or none
            S, stored = _blocky(S, name), np.zeros((n, n), bool)
            stored[S.tocsr().nonzero()] = True
            alone = "who stores which zeros is the format's affair"
            T = S.tocoo()
            W = np.full((n, n), oracle.FAR)
            np.minimum.at(W, (T.row, T.col), (T.data.astype(float) * UNIT).astype(np.int64))
            if dtype.kind == "b":
                W[W == 0] = oracle.FAR
        elif name != "coo":
            S = S.asformat(name)
            T = S.tocoo()
            kept = np.zeros((n, n), bool)  # both let go of stored zeros as they are made
            kept[T.row, T.col] = True
            W = np.where(kept, W, oracle.FAR)
    if matrix:
        S = getattr(sp, f"{name}_matrix")(S)
    return Given(S, W, alone, searched if searched is not None and (searched != W).any() else None, torn)


def _blocky(S: Any, name: str) -> Any:
    return S.tobsr(blocksize=(1, 1)) if name == "bsr" else S.todia()


def _question(draw: Draw) -> None:
    """Distances, and predecessors, as SciPy gives them; or its error."""
    given = _given(draw)
    n = len(given.W)
    name = draw.pick(("shortest_path", "dijkstra", "floyd_warshall", "bellman_ford", "johnson"))
    options: dict[str, Any] = {
        "directed": not draw.chance(30),
        "unweighted": draw.chance(15),
        "return_predecessors": draw.chance(50),
    }
    if name == "shortest_path":
        options["method"] = draw.pick(("auto", "D", "FW", "BF", "J"))
    if name in ("shortest_path", "floyd_warshall") and draw.chance(20):
        options["overwrite"] = True
    if n and name != "floyd_warshall" and options.get("method") != "FW" and draw.chance(50):
        options["indices"] = _indices(draw, n)
    if name == "dijkstra":
        options |= {"min_only": True} if draw.chance(30) else {}
        options |= {"limit": draw.pick((0, 5, 12.5, 1 / 8, math.inf))} if draw.chance(30) else {}
    W = given.W
    if given.searched is not None:
        if options.get("method") == "auto":
            options["method"] = "D"
        W = W if "FW" in _method(name, options) else given.searched
    draw.note(graph=given.graph, function=name, options=options)
    W = _meant(W, options)
    whole, W = W, _walked(W, options.get("indices"))
    D = oracle.shortest(W)
    more: dict[str, Any] = {} if _device == "cpu" else {"device": _device}
    if _device == "cpu":
        more["threads"] = draw.pick((None, 1, 2))
    if (given.W[~oracle.absent(given.W)] % UNIT == 0).all() and draw.chance(20):
        more["dtype"] = draw.pick(("int32", "int64", "float32"))
    draw.note(more=more)
    with _engine(draw, integers="int" in more.get("dtype", "")):
        try:
            got = getattr(csgraph, name)(given.copy(), **options, **more)
        except csgraph.NegativeCycleError as error:
            assert D is None, "the distances exist, and were refused"
            _is_a_cycle(W, error.cycle)
            return
        except SemiringError as refusal:
            draw.note(refusal=str(refusal))
            if not given.torn:
                raise
            return
    draw.note(got=got)
    assert D is not None, "there are no distances, and some were given"
    _holds(W, D, got, options, np.dtype(more.get("dtype", "float64")))
    if _rightly_by_scipy(given, whole, name, options):
        with contextlib.suppress(TypeError, ValueError, AttributeError):  # some kinds it refuses, by some methods
            theirs = getattr(scipys, name)(given.copy(), **options)
            _same(got, theirs, np.dtype(more.get("dtype", "float64")), options.get("min_only", False))


def _indices(draw: Draw, n: int) -> Any:
    kind = draw.pick(("one", "some", "negative", "table", "none", "again", "array", "float"))
    rng = draw.rng()
    at = rng.integers(-n, n, draw.between(1, 4)).tolist()
    return {
        "one": at[0], "some": [abs(x) % n for x in at], "negative": -1, "table": [at, at[::-1]], "none": [],
        "again": [at[0]] * 2, "array": np.array(at, np.int16), "float": float(at[0]),
    }[kind]  # fmt: skip


def _meant(W: np.ndarray, options: dict[str, Any]) -> np.ndarray:
    """The lengths of a question: unweighted, and in both directions."""
    W = np.where(oracle.absent(W), W, UNIT) if options["unweighted"] else W
    return W if options["directed"] else np.minimum(W, W.T)


def _walked(W: np.ndarray, indices: Any) -> np.ndarray:
    """The lengths of the arcs that walks from the rows asked for take: cycles elsewhere matter to none."""
    if indices is None or not len(W):
        return W
    reached = np.zeros(len(W), bool)
    reached[np.asarray(indices).astype(int).ravel()] = True
    for _ in W:
        reached |= (~oracle.absent(W[reached])).any(axis=0)
    return np.where(reached[:, None], W, oracle.FAR)


@contextlib.contextmanager
def _engine(draw: Draw, *, integers: bool) -> Iterator[None]:
    """The engine that is best, or one by force, which a question of this size would hardly see."""
    name = draw.pick(("auto", "dense", "elimination", "auto" if integers else "scipy", "searches"))
    draw.note(engine=name)
    with mock.patch.object(shortest, "Options", functools.partial(engines.Options, engine=name)):
        yield


def _is_a_cycle(W: np.ndarray, cycle: list[int]) -> None:
    steps = list(zip(cycle, [*cycle[1:], *cycle[:1]], strict=True))
    assert cycle, "a cycle must be named"
    assert not any(oracle.absent(W)[u, v] for u, v in steps), "the cycle takes an edge that is not there"
    assert sum(int(W[u, v]) for u, v in steps) < 0, "the cycle named is not negative"


def _method(name: str, options: dict[str, Any]) -> str:
    return str(options.get("method", {"floyd_warshall": "FW", "dijkstra": "D", "bellman_ford": "BF"}.get(name, "J")))


def _rightly_by_scipy(given: Given, W: np.ndarray, name: str, options: dict[str, Any]) -> bool:
    """Whether SciPy answers that question rightly, if at all: docs/scipy-networkx.md has what it gets wrong."""
    if given.alone:
        return False
    method = _method(name, options)
    finite = W[~oracle.absent(W)]
    if (finite < 0).any() and (method in ("D", "auto") or not options["directed"]):
        return False
    if method != "BF" and oracle.shortest(W) is None:  # the others look for cycles everywhere
        return False
    # Of a masked array its Floyd-Warshall drops the zeros that its searches keep.
    return method not in ("FW", "auto") or not np.ma.isMaskedArray(given.graph)


def _holds(W: np.ndarray, D: np.ndarray, got: Any, options: dict[str, Any], dtype: np.dtype) -> None:
    """Distances are exact; predecessors lead along tight edges to the source."""
    n = len(W)
    least = options.get("min_only", False)
    paths = options["return_predecessors"]
    parts = got if paths else (got,)
    assert len(parts) == (2 + least if paths else 1)
    indices = options.get("indices")
    at = np.arange(n) if indices is None else np.asarray(indices).astype(int) % max(n, 1)
    limit = options.get("limit", math.inf)
    none = np.iinfo(dtype).max if dtype.kind == "i" else math.inf
    every = np.where(oracle.absent(D), math.inf, D / UNIT)
    table = np.where(every > limit, math.inf, every)
    expected = (table[at.ravel()].min(axis=0) if at.size else np.full(n, math.inf)) if least else table[at]
    found = np.asarray(parts[0])
    assert found.dtype == dtype
    assert found.shape == expected.shape
    np.testing.assert_array_equal(np.where(found == none, math.inf, found), expected)
    if not paths:
        return
    P = parts[1]
    assert (P.dtype, P.shape) == (np.int32, expected.shape)
    if not least:
        for i, row, before in zip(at.ravel(), expected.reshape(at.size, n), P.reshape(at.size, n), strict=True):
            _tree(W, np.array([i]), row, every[i], before)
        return
    sources = parts[2]
    assert (sources.dtype, sources.shape) == (np.int32, (n,))
    np.testing.assert_array_equal(sources == NONE, np.isinf(expected))
    reached = np.flatnonzero(sources != NONE)
    np.testing.assert_array_equal(table[sources[reached], reached], expected[reached])
    _tree(W, at.ravel(), expected, every[at.ravel()].min(axis=0, initial=math.inf), P)


def _tree(W: np.ndarray, sources: np.ndarray, row: np.ndarray, every: np.ndarray, before: np.ndarray) -> None:
    """Each vertex that is reached has a tight edge from its predecessor, and no circle.

    Where lengths are negative, a best path may lead through vertices beyond the limit, of which `every` alone tells.
    """
    for j in range(len(W)):
        if before[j] == NONE:
            assert j in sources or math.isinf(row[j]), f"vertex {j} is reached, and nothing is before it"
            continue
        assert not math.isinf(row[j]), f"something is before vertex {j}, which is not reached"
        u = before[j]
        assert not oracle.absent(W)[u, j], f"{u} before {j}, and no edge between"
        assert every[u] + W[u, j] / UNIT == row[j], f"{u} before {j} is no best path"
        steps, at = 0, j
        while before[at] != NONE and steps <= len(W):
            at, steps = before[at], steps + 1
        assert steps < len(W), f"a circle before {j}"
        assert at in sources or math.isinf(row[at]), f"the path to {j} begins nowhere"


def _same(got: Any, theirs: Any, dtype: np.dtype, least: bool) -> None:
    """Of several sources another may be the nearest, and be so through another vertex."""
    ours, others = (x if isinstance(x, tuple) else (x,) for x in (got, theirs))
    assert len(ours) == len(others)
    found = np.asarray(ours[0])
    none = np.iinfo(dtype).max if dtype.kind == "i" else math.inf
    np.testing.assert_array_equal(np.where(found == none, math.inf, found), others[0])
    for mine, other in itertools.islice(zip(ours, others, strict=True), 1, None):
        assert (mine.shape, mine.dtype) == (other.shape, other.dtype)
        where = np.isinf(others[0]) if least else ...
        np.testing.assert_array_equal((mine == NONE)[where], (other == NONE)[where])


def _conversions(draw: Draw) -> None:
    """From dense and masked arrays and back, entry by entry as in SciPy; trees from predecessors."""
    n, rng = draw.pick((3, 4, 2, 1, 6)), draw.rng()
    A = rng.integers(0, 6, (n, n)).astype(draw.pick(("float64", "float32", "int64")))
    if A.dtype.kind == "f" and draw.chance(40):
        odd = rng.random((n, n)) < 0.3
        A[odd] = rng.choice([math.nan, math.inf, -math.inf], (n, n))[odd]
    null = draw.pick((0, None, math.nan, math.inf, 3, -1))
    options = draw.pick(({}, {"nan_null": False}, {"infinity_null": False}))
    draw.note(A=A, null=null, options=options)
    ours, theirs = (_triple(m.csgraph_from_dense(A, null, **options)) for m in (csgraph, scipys))
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine, other)
    M = np.ma.array(A, mask=rng.random((n, n)) < draw.pick((0.4, 0.0, 1.0)))
    masked = [_triple(m.csgraph_from_masked(M)) for m in (csgraph, scipys)]
    for mine, other in zip(*masked, strict=True):
        np.testing.assert_array_equal(mine, other)
    S = sp.csr_array(np.where(np.isfinite(A), A, 0).astype(float))
    fill = draw.pick((0, math.inf, math.nan, -1))
    np.testing.assert_array_equal(csgraph.csgraph_to_dense(S, fill), scipys.csgraph_to_dense(S, fill))
    D, P = csgraph.shortest_path(S, return_predecessors=True)
    np.testing.assert_array_equal(csgraph.construct_dist_matrix(S, P), D)
    np.testing.assert_array_equal(csgraph.construct_dist_matrix(S, P), scipys.construct_dist_matrix(S, P))
    i = draw.below(n)
    trees = (m.reconstruct_path(S, P[i]).toarray() for m in (csgraph, scipys))
    np.testing.assert_array_equal(*trees)


def _triple(S: Any) -> tuple[np.ndarray, ...]:
    return S.data, S.indices, S.indptr
