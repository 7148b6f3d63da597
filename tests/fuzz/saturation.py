"""Integers near the ends of their dtype, by every engine and question, held to Python's integers.

A distance is exact, or a DomainError names a pair whose distance the dtype does not hold; tables of `closure` are exact
where the dtype holds a distance, and saturate where it does not.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp

import semiring
from apsp import closure, shortest_paths
from apsp.answers.result import Result
from apsp.io.graph import Graph
from apsp.road import rates, schedules
from semiring.distributed import world
from semiring.host.errors import DivergenceError, DomainError, DTypeError

from . import oracle
from .draw import Draw
from .layouts import host

INTEGERS = ("int16", "int32", "int64")
ENGINES = ("auto", "elimination", "dense", "scipy", "searches", "auto")

_device = "cpu"  # else as `worker.load` says


@dataclass
class Lengths:
    """Edges, and the best walk of every pair: Python's integers, ±inf where there is none; None at a divergence."""

    semiring: semiring.Semiring
    n: int
    edges: list[tuple[int, int, int]]
    best: np.ndarray | None

    def graph(self, dtype: str | None = None) -> Graph:
        tails, heads, weights = zip(*self.edges, strict=True) if self.edges else ((), (), ())
        return Graph.from_arrays(
            np.array(tails, np.int64), np.array(heads, np.int64), np.array(weights, dtype or np.int64), n=self.n,
            labels=[f"v{k}" for k in range(self.n)],
        )  # fmt: skip

    def beyond(self, dtype: np.dtype) -> np.ndarray:
        """Which best walks the dtype does not hold: its ends stand for none."""
        info = np.iinfo(dtype)
        assert self.best is not None
        number = np.abs(self.best) != np.inf
        return np.asarray(number & ((self.best <= info.min) | (self.best >= info.max)), bool)


def case(draw: Draw) -> None:
    """One graph, and questions about it; the automatic choice at times takes a few vertices for many."""
    comparison = draw.pick((rates.processor.comparison, 0.0))
    draw.note(comparison=comparison)
    with mock.patch.object(rates, "processor", replace(rates.processor, comparison=comparison)):
        draw.pick((_paths, _paths, _closure, _update, _closure, _factors))(draw)


def _lengths(draw: Draw, dtype: np.dtype) -> Lengths:
    """A graph whose best walks lie on both sides of the dtype's ends."""
    s = semiring.get(draw.pick(("min_plus", "max_plus", "max_plus", "min_plus", "max_min", "min_max")))
    make = _line if draw.chance(8) and s.mul.saturating else _small
    n, edges, best = make(draw, dtype)
    if s.name == "max_plus":  # the longest walk is the shortest of negated lengths
        edges, best = [(u, v, -w) for u, v, w in edges], None if best is None else -best
    if not s.mul.saturating:
        best = _bottleneck(n, edges, s.name)
    draw.note(semiring=s.name, n=n, edges=edges, best=best)
    return Lengths(s, n, edges, best)


def _small(draw: Draw, dtype: np.dtype) -> tuple[int, list[tuple[int, int, int]], np.ndarray | None]:
    """Any graph of a few vertices; some of one sign, some shifted by potentials, some that diverge."""
    n, rng, top = draw.pick((3, 2, 4, 5, 7, 10)), draw.rng(), int(np.iinfo(dtype).max)
    sizes = np.array([0, 1, top // n, top // (n - 1), top // 3, top // 2, top // 2 + 1, top - 2, top - 1], object)
    weights = rng.choice(sizes[: draw.pick((9, 5, 7))], (n, n)) - rng.integers(0, 3, (n, n)).astype(object)
    kind = draw.pick(("one sign", "shifted", "any sign"))
    if kind == "one sign":
        weights = np.abs(weights)
    elif kind == "shifted":
        h = rng.choice(sizes, n)
        weights = np.abs(weights) + h[:, None] - h
    else:
        weights = np.where(rng.random((n, n)) < 0.2, -weights, weights)
    weights = np.clip(weights, 1 - top, top - 1)
    there = rng.random((n, n)) < draw.pick((0.4, 1.0, 0.2))
    if draw.chance(50):  # no cycle, whatever the signs are
        there = np.triu(there, 1)
    edges = [(u, v, int(weights[u, v])) for u, v in np.argwhere(there).tolist()]
    W = np.where(there, weights, np.inf).astype(object)
    return n, edges, oracle.shortest(W)


def _line(draw: Draw, dtype: np.dtype) -> tuple[int, list[tuple[int, int, int]], np.ndarray | None]:
    """A path with edges in both directions, long enough that elimination is chosen: distances are sums along it."""
    n, rng, top = draw.pick((40, 100, 300, 700)), draw.rng(), int(np.iinfo(dtype).max)
    scale = draw.pick((top // n, top // (n - 1), top // (n - 2), 2 * top // n, top // 8))
    steps = rng.integers(scale // 2 if draw.chance(50) else scale, scale + 1, n - 1).astype(object)
    back = rng.integers(0, scale // draw.pick((1, 100, 10**4)) + 1, n - 1).astype(object)
    if draw.chance(40):
        back = back - steps
    there = rng.random(n - 1) < draw.pick((1.0, 0.5, 0.0))
    out = np.concatenate(([0], np.cumsum(steps))).astype(object)
    home = np.concatenate(([0], np.cumsum(back))).astype(object)
    gaps = np.concatenate(([0], np.cumsum(~there)))
    best = np.where(np.triu(np.ones((n, n), bool)), out[None, :] - out[:, None], home[:, None] - home[None, :])
    cut = np.tril(np.ones((n, n), bool), -1) & (gaps[:, None] != gaps[None, :])
    best = np.where(cut, np.inf, best).astype(object)
    edges = [(k, k + 1, int(w)) for k, w in enumerate(steps)]
    edges += [(k + 1, k, int(w)) for k, w in enumerate(back) if there[k]]
    return n, edges, best


def _bottleneck(n: int, edges: list[tuple[int, int, int]], name: str) -> np.ndarray:
    """Best walks where ⊗ is a comparison."""
    add, mul, zero = (max, min, -np.inf) if name == "max_min" else (min, max, np.inf)
    D = np.full((n, n), zero, object)
    for u, v, w in edges:
        D[u, v] = add(D[u, v], w)
    for k in range(n):
        for u in range(n):
            for v in range(n):
                D[u, v] = add(D[u, v], mul(D[u, k], D[k, v]))
    D[np.arange(n), np.arange(n)] = -zero
    return D


def _ask(draw: Draw, g: Lengths, source: Any, dtype: str | None, options: dict[str, Any]) -> Result | None:
    """The result; None where it was refused, and had to be."""
    labels = [f"v{k}" for k in range(g.n)]
    asked = g.best
    for name, axis in (("sources", 0), ("targets", 1)):
        if name in options and asked is not None:
            at = [labels.index(x) for x in options[name]]
            asked = np.take(asked, at, axis)
    if options["engine"] in ("scipy", "searches") and not _searchable(g):
        options["engine"] = "auto"
    if _device != "cpu":
        options["device"] = _device
    draw.note(dtype=dtype, options=options)
    held = np.dtype(dtype or "int64")
    try:
        return shortest_paths(source, g.semiring, dtype=dtype, **options)
    except DivergenceError:
        assert g.best is None, "the closure exists, and was refused"
    except DomainError as error:
        _names_what_is_beyond(g, held, error)
    return None


def _searchable(g: Lengths) -> bool:
    """Whether SciPy's searches, on the CPU and in float64, are exact."""
    return _device == "cpu" and g.semiring.name == "min_plus" and sum(abs(w) for _, _, w in g.edges) < 2**52


def _names_what_is_beyond(g: Lengths, dtype: np.dtype, error: DomainError) -> None:
    assert g.best is not None, "the closure does not exist, and a distance was named"
    found = re.search(r"from '(v\d+)' to '(v\d+)'", str(error))
    assert found, f"a refusal that names no walk: {error}"
    u, v = (int(name[1:]) for name in found.groups())
    assert g.semiring.mul.saturating, "nothing can saturate, and something was refused"
    beyond = g.beyond(dtype)
    there = np.asarray(g.best != float(g.semiring.zero), bool)
    if len({w < 0 for _, _, w in g.edges if w}) == 2:  # a walk may be lost to a part of it that is beyond
        beyond = there @ beyond @ there
    assert beyond[u, v], f"the distance from v{u} to v{v} is {g.best[u, v]}, which {dtype} holds"


def _paths(draw: Draw) -> None:
    """Distances by the engine that is chosen, or by any, of all pairs or of some."""
    dtype = draw.pick((*INTEGERS, None))
    g = _lengths(draw, np.dtype(dtype or "int64"))
    options: dict[str, Any] = {"engine": draw.pick(ENGINES)}
    labels = [f"v{k}" for k in range(g.n)]
    if draw.chance(25):
        options["sources"] = list(dict.fromkeys(labels[draw.below(g.n)] for _ in range(draw.between(1, 3))))
        g.best = _within_reach(g, [labels.index(x) for x in options["sources"]]) if g.best is None else g.best
    if draw.chance(15):
        options["targets"] = list(dict.fromkeys(labels[draw.below(g.n)] for _ in range(draw.between(1, 3))))
    if not options.keys() & {"sources", "targets"} and draw.chance(15):
        options["paths"] = True
    r = _ask(draw, g, g.graph(), dtype, options)
    if r is not None:
        _answers(draw, g, r)


def _within_reach(g: Lengths, sources: list[int]) -> np.ndarray | None:
    """Best walks over the edges that these vertices reach: a divergence elsewhere matters to none of them."""
    reached, sign = set(sources), -1 if g.semiring.name == "max_plus" else 1
    for _ in range(g.n):
        reached |= {v for u, v, _ in g.edges if u in reached}
    W = np.full((g.n, g.n), np.inf, object)
    for u, v, w in g.edges:
        W[u, v] = sign * w if u in reached else np.inf
    best = oracle.shortest(W)
    return None if best is None else sign * best


def _answers(draw: Draw, g: Lengths, r: Result) -> None:
    """Every question of a result that was given: right, or refused now where its engine searches on demand."""
    assert g.best is not None, "the closure does not exist, and was given"
    dtype = r.dtype
    if dtype.kind != "i":
        return
    at = [[int(x[1:]) for x in side] for side in (r.sources, r.targets)]
    expected = g.best[np.ix_(*at)]
    beyond = g.beyond(dtype)[np.ix_(*at)]
    zero = r.infinity
    shown = np.where(np.abs(expected) == np.inf, expected, np.where(beyond, 0, expected))

    def right(found: Any, part: Any) -> None:
        assert not beyond[part].any(), f"beyond {dtype}, and given as {found}"
        wanted = expected[part]
        gone = np.abs(wanted) == np.inf
        ends = np.where(gone, np.where(wanted == float(g.semiring.zero), zero, _other(zero, dtype)), 0)
        np.testing.assert_array_equal(host(found), np.where(gone, ends, np.where(gone, 0, wanted)).astype(dtype))

    def table() -> None:
        right(r.distances, ...)

    def rows() -> None:
        for labels, D in r.rows(block=draw.pick((None, 1, 3))):
            right(D, [list(r.sources).index(x) for x in labels])

    def distance() -> None:
        for _ in range(4):
            i, j = draw.below(len(r.sources)), draw.below(len(r.targets))
            got = r.distance(r.sources[i], r.targets[j])
            assert not beyond[i, j], f"the distance is {expected[i, j]}, and {got} was given"
            assert got == expected[i, j], f"{got} was given for {expected[i, j]}"

    def reduce() -> None:
        least = r.semiring.add.selects == "least"
        for axis in (0, 1):
            got = r.reduce(np.maximum if least else np.minimum, axis=axis)
            assert not beyond.any()
            wanted = (np.max if least else np.min)(shown, axis=axis)
            np.testing.assert_array_equal(np.asarray(got, float), wanted.astype(float))

    def nearest() -> None:
        if len(r.sources) != g.n or len(r.targets) != g.n:
            return
        i = [draw.below(g.n) for _ in range(2)]
        found = r.nearest([r.sources[k] for k in i])  # farther sources may be beyond the dtype
        wanted = (np.min if r.semiring.add.selects == "least" else np.max)(expected[i], axis=0)
        np.testing.assert_array_equal(np.asarray(found.distance, float), wanted.astype(float))

    questions: list[Callable[[], None]] = [table, rows, distance, reduce, nearest]
    for question in [questions[draw.below(len(questions))] for _ in range(draw.between(1, 3))]:
        draw.note(question=question.__name__)
        try:
            question()
        except DomainError as error:
            _names_what_is_beyond(g, dtype, error)
        except DTypeError:  # floats that show no path as inf must hold the others exactly
            assert question in (reduce, nearest)
            assert (np.abs(shown[np.abs(shown) != np.inf]) > 2**53).any()


def _other(zero: int, dtype: np.dtype) -> int:
    """The other end, which the semirings of comparisons have on the diagonal."""
    info = np.iinfo(dtype)
    return info.min if zero == info.max else info.max


def _update(draw: Draw) -> None:
    """New weights on the same edges: as large as those of a fresh question."""
    dtype = draw.pick((*INTEGERS, None))
    g = _lengths(draw, np.dtype(dtype or "int64"))
    calm = Lengths(g.semiring, g.n, [(u, v, 0) for u, v, _ in g.edges], None)
    options: dict[str, Any] = {"engine": draw.pick(ENGINES)}
    if options["engine"] in ("scipy", "searches") and not _searchable(g):
        options["engine"] = "auto"
    if _device != "cpu":
        options["device"] = _device
    draw.note(dtype=dtype, options=options)
    r = shortest_paths(calm.graph(), g.semiring, dtype=dtype, **options)
    weights = np.array([w for _, _, w in g.edges], np.int64)
    held = r.dtype
    try:
        r = r.update(weights)
    except DivergenceError:
        assert g.best is None, "the closure exists, and was refused"
        return
    except DTypeError:  # the first dtype was as wide as its own weights need
        assert dtype is None
        assert np.abs(weights).max(initial=0) >= np.iinfo(held).max
        return
    except DomainError as error:
        _names_what_is_beyond(g, held if dtype else np.dtype("int64"), error)
        return
    _answers(draw, g, r)


def _closure(draw: Draw) -> None:
    """A table is exact, its ends what they stand for or what lies beyond them; int64 of both signs may be refused."""
    dtype = np.dtype(draw.pick(INTEGERS))
    g = _lengths(draw, dtype)
    s, info = g.semiring, np.iinfo(dtype)
    zero = info.max if s.zero == np.inf else info.min
    kinds = ("dense", "Graph", "coo", "batch", "in place", "steps", "windows", "checkpoint", "ranks")
    kind = draw.pick(kinds if _device == "cpu" else kinds[:5])
    if (
        draw.chance(10) and kind not in ("Graph", "coo") and s.mul.saturating and g.n <= 10 and g.edges
    ):  # the other end is a number
        u, v, _ = g.edges[0]
        g.edges[0] = u, v, info.max + info.min - zero
        W = np.full((g.n, g.n), np.inf, object)
        for u, v, w in g.edges:
            W[u, v] = w if zero > 0 else -w
        best = oracle.shortest(W)
        g.best = best if best is None or zero > 0 else -best
    source: Any = np.full((g.n, g.n), zero, dtype)
    for u, v, w in g.edges:
        source[u, v] = w
    schedule = draw.pick(("auto", "auto", *schedules.names()))
    draw.note(dtype=dtype.name, kind=kind, schedule=schedule, edges=g.edges, best=g.best)
    before = source.copy()
    try:
        D = host(_table(source, kind, schedule, g, dtype))
    except DivergenceError:
        assert g.best is None, "the closure exists, and was refused"
        return
    except DomainError as error:
        wide = dtype.itemsize == 8 or kind in ("in place", "windows", "checkpoint", "ranks")
        assert wide, f"a table that a wider dtype holds was refused: {error}"
        # On a GPU a copy of the matrix is closed, which lies on the host.
        assert ("are lost" in str(error)) == (kind == "in place" and _device == "cpu")
        assert kind != "in place" or _device == "cpu" or (source == before).all()
        assert len({w < 0 for _, _, w in g.edges if w}) == 2
        assert g.best is None or (g.beyond(dtype) | (g.best == info.max + info.min - zero)).any(), error
        return
    assert D.dtype == dtype
    assert g.best is not None, "the closure does not exist, and was given"
    gone = np.abs(g.best) == np.inf
    exact = np.where(
        gone, np.where(g.best > 0, info.max, info.min), np.clip(np.where(gone, 0, g.best), info.min, info.max)
    )
    np.testing.assert_array_equal(D, exact.astype(dtype))


def _factors(draw: Draw) -> None:
    """⊗ of several factors: products in a row, one by one entry, and powers, dense or sparse."""
    dtype = np.dtype(draw.pick(INTEGERS))
    s = semiring.get(draw.pick(("min_plus", "max_plus")))
    kind, k = draw.pick(("einsum", "sparse", "prod", "power", "sparse power", "out")), draw.pick((3, 2, 4, 7, 1))
    info, rng, n = np.iinfo(dtype), draw.rng(), draw.pick((2, 3, 5) if "sparse" in kind else (2, 3, 5, 1))
    zero, add = (info.max, min) if s.zero == np.inf else (info.min, max)
    sizes = np.array([0, 1, info.max // 3, info.max // 2, info.max // 2 + 1, info.max - 2, info.max - 1], object)

    def matrix() -> np.ndarray:
        X = rng.choice(sizes, (n, n)) * rng.choice(np.array([1, 1, -1], object), (n, n))
        return np.where(rng.random((n, n)) < 0.2, zero, X).astype(dtype)

    def joined(X: list[list[Any]], Y: list[list[Any]]) -> list[list[Any]]:
        best = float(s.zero)
        return [[reduce(add, (a + b for a, b in zip(row, column, strict=True)), best)
                 for column in zip(*Y, strict=True)] for row in X]  # fmt: skip

    powers, k = "power" in kind, min(k, 4) if kind in ("einsum", "sparse", "out") else k
    X = [matrix() for _ in range(1 if powers else k)]
    draw.note(dtype=dtype.name, semiring=s.name, kind=kind, k=k, X=X)
    numbers = [
        [[float(s.zero) if x == zero else x for x in row] for row in A.tolist()] for A in X * (k if powers else 1)
    ]
    text = ",".join(a + b for a, b in pairwise("abcdefgh"[: k + 1])) + f"->a{'abcdefgh'[k]}"
    try:
        if kind == "prod":
            D = semiring.prod(np.stack(X), s, axis=0)
            exact: Any = [[sum(A[u][v] for A in numbers) for v in range(n)] for u in range(n)]
        else:
            exact = reduce(joined, numbers)
            if powers:
                A = X[0] if kind == "power" else _stored(X[0], zero)
                D = semiring.power(A, k, s)
            elif kind == "out":
                D = semiring.einsum(text, *X, semiring=s, out=np.empty((n, n), dtype))
            else:
                where = draw.below(k) if kind == "sparse" else -1
                D = semiring.einsum(text, *(_stored(A, zero) if i == where else A for i, A in enumerate(X)), semiring=s)
    except DomainError as error:
        assert dtype.itemsize == 8
        assert "of both signs" in str(error)
        return
    D = D if isinstance(D, np.ndarray) else _filled(D, zero)
    held = [[zero if x == float(s.zero) else max(info.min, min(info.max, x)) for x in row] for row in exact]
    assert D.dtype == dtype
    np.testing.assert_array_equal(D, np.array(held, dtype))


def _stored(A: np.ndarray, zero: int) -> sp.csr_array:
    """A sparse matrix of the entries that are not the semiring's zero."""
    rows, columns = np.nonzero(A != zero)
    return sp.csr_array((A[rows, columns], (rows, columns)), shape=A.shape)


def _filled(A: Any, zero: int) -> np.ndarray:
    """As an array, absent entries the semiring's zero."""
    A, D = A.tocoo(), np.full(A.shape, zero, A.dtype)
    D[A.row, A.col] = A.data
    return D


def _table(source: np.ndarray, kind: str, schedule: str, g: Lengths, dtype: np.dtype) -> Any:
    """The closure, asked for in one of the ways there are."""
    options: dict[str, Any] = {"dtype": dtype, "device": None if _device == "cpu" else _device}
    options |= {"null_value": None, "schedule": schedule}
    before = source.copy()
    if kind == "batch":
        D = closure(np.stack([np.full_like(source, source.dtype.type(0)), source]), g.semiring, **options)[1]
    elif kind == "in place":
        return closure(source, g.semiring, overwrite=True, **options)
    elif kind == "steps":
        if g.n > 32:
            return closure(source, g.semiring, **options)
        D, steps = closure(source, g.semiring, steps=True, **options)
        info, last = np.iinfo(dtype), steps[len(steps) - 1].matrix
        if schedule != "squaring":
            np.testing.assert_array_equal(np.clip(last, info.min, info.max), D)
    elif kind in ("windows", "checkpoint"):
        with tempfile.TemporaryDirectory() as folder:
            place = {"output": f"{folder}/d"} if kind == "windows" else {"checkpoint": f"{folder}/c"}
            options |= {"schedule": "auto", "memory": "1 MiB" if kind == "windows" and g.n >= 300 else None}
            D = np.asarray(closure(source, g.semiring, threads=1, **options, **place)[:])
    elif kind == "ranks":
        options = {"dtype": dtype, "null_value": None}
        D = closure(source, g.semiring, gpus=world(ranks=2), **options)
    elif kind == "dense":
        D = closure(source, g.semiring, **options)
    else:
        graph: Any = g.graph(dtype.name)
        if kind == "coo":
            graph = sp.coo_array((graph.weights, (graph.rows, graph.cols)), shape=(g.n, g.n))
        return closure(graph, g.semiring, **{k: v for k, v in options.items() if k != "null_value"})
    np.testing.assert_array_equal(source, before)
    return D
