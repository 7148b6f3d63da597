"""Products of sparse matrices, with masks and `out`, held to sums over dictionaries of Python's numbers.

Rows in no order, several entries of one position, stored zeros of the semiring; `out` that SciPy remembers other rows
of, that is an operand, or shares its arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import semiring

from .draw import Draw

#: Whole numbers, of which all sums and products are exact.
OVER = {
    "min_plus": ("int16", "int32", "int64", "float32", "float64"),
    "max_plus": ("int16", "int64", "float64"),
    "max_min": ("int32", "float64"),
    "plus_times": ("float64", "float32"),
    "lor_land": ("bool",),
}
Table = dict[tuple[int, int], Any]


def case(draw: Draw) -> None:
    """One product, and what its result is then as an operand."""
    s = semiring.get(draw.pick(tuple(OVER)))
    dtype = np.dtype(draw.pick(OVER[s.name]))
    m, k, n = (draw.pick((3, 1, 2, 5, 17, 0)) for _ in range(3))
    square = draw.chance(40)
    m, k, n = (m, m, m) if square else (m, k, n)
    A, B = _matrix(draw, s, dtype, (m, k)), _matrix(draw, s, dtype, (k, n))
    B = A if square and draw.chance(30) else B
    a, b = (_table(X, s) for X in (A, B))
    draw.note(semiring=s.name, dtype=dtype.name, shape=(m, k, n), A=a, B=b, formats=(A.format, B.format))
    expected = _product(a, b, s)
    options: dict[str, Any] = {"threads": draw.pick((None, 1, 3))}
    if draw.chance(50):
        options |= _mask(draw, (m, n), expected)
        del options["places"]
    if draw.chance(30):
        _with_array(draw, s, dtype, A, a, (m, k, n))
        return
    if draw.chance(60):
        _into(draw, s, dtype, A, B, (m, n), expected, options)
        return
    _same(semiring.matmul(A, B, s, **options), expected, s)
    for X, x in ((A, a), (B, b)):
        assert _table(X, s) == x, "an operand has changed"


def _into(
    draw: Draw,
    s: Any,
    dtype: np.dtype,
    A: Any,
    B: Any,
    shape: tuple[int, int],
    expected: Table,
    options: dict[str, Any],
) -> None:
    """A product in `out`, added to it or not; then that is multiplied, sorted and read as what it is."""
    a, b = _table(A, s), _table(B, s)
    out = A if A.format == "csr" and A.shape == shape and draw.chance(40) else _matrix(draw, s, dtype, shape, "csr")
    twin = sp.csr_array((out.data, out.indices, out.indptr), shape=out.shape, copy=False)
    before = _table(out, s)
    if draw.chance(60):  # SciPy remembers what it finds
        draw.note(remembered=(out.has_sorted_indices, out.has_canonical_format))
    accumulate = draw.chance(50)
    draw.note(accumulate=accumulate, operand=out is A, out=before)
    assert semiring.matmul(A, B, s, out=out, accumulate=accumulate, **options) is out
    if accumulate:
        expected = _sum(before, expected, s)
    _same(out, expected, s)
    assert _table(twin, s) == before, "arrays that another matrix has were written to"
    for X, x in ((A, a), (B, b)):
        assert X is out or _table(X, s) == x, "an operand has changed"
    rows = np.repeat(np.arange(shape[0]), np.diff(out.indptr))
    steps = np.diff(out.indices.astype(np.int64) + shape[1] * rows)
    assert out.has_sorted_indices == bool((steps >= 0).all())
    assert out.has_canonical_format == bool((steps > 0).all())
    _same(semiring.matmul(out, _unit(shape[1], s, dtype), s), expected, s)
    out.sort_indices()
    assert (np.diff(out.indices.astype(np.int64) + shape[1] * rows) > 0).all()
    _same(out, expected, s)


def _with_array(draw: Draw, s: Any, dtype: np.dtype, A: Any, a: Table, shape: tuple[int, int, int]) -> None:
    """The product with a dense matrix or a vector, masked, in `out` or added to it."""
    m, k, n = shape
    columns = draw.pick((n, 1))
    X = _values(draw, s, dtype, k * columns).reshape(k, columns)
    zero = semiring.eye(2, s, dtype=dtype)[0, 1]
    found = _product(a, {(i, j): X[i, j].item() for i, j in np.ndindex(X.shape)}, s)
    allowed, options = np.ones((m, columns), bool), {}
    if draw.chance(50):
        drawn = _mask(draw, (m, columns), found)
        allowed = np.zeros((m, columns), bool)
        for place in drawn.pop("places"):
            allowed[place] = True
        options = drawn
    D = np.full((m, columns), zero, dtype)
    for place, value in found.items():
        D[place] = value if allowed[place] and not _is(value, float(s.zero)) else zero
    if draw.chance(50):
        out = _values(draw, s, dtype, m * columns).reshape(m, columns)
        add = s.add.python
        if accumulate := draw.chance(50):
            D = np.array([[add(x, y) for x, y in zip(*rows, strict=True)] for rows in
                          zip(out.tolist(), D.tolist(), strict=True)], dtype).reshape(D.shape)  # fmt: skip
        assert semiring.matmul(A, X, s, out=out, accumulate=accumulate, **options) is out
        np.testing.assert_array_equal(out, D)
    else:
        np.testing.assert_array_equal(semiring.matmul(A, X, s, **options), D)


def _values(draw: Draw, s: Any, dtype: np.dtype, count: int) -> np.ndarray:
    rng = draw.rng()
    if dtype.kind == "b":
        return rng.random(count) < 0.6
    low = -9 if s.name in ("min_plus", "max_plus", "plus_times") else 0
    X = rng.integers(low, 10, count).astype(dtype)
    X[rng.random(count) < 0.1] = semiring.eye(2, s, dtype=dtype)[0, 1]
    return X


def _matrix(draw: Draw, s: Any, dtype: np.dtype, shape: tuple[int, int], format: str | None = None) -> Any:
    """Entries in any order; in rows, those of one position may be several."""
    rng = draw.rng()
    cells = shape[0] * shape[1]
    count = int(draw.pick((0.3, 0.8, 0.05, 0.0)) * cells)
    places = rng.integers(0, max(cells, 1), count) if draw.chance(60) else rng.permutation(cells)[:count]
    rows, columns = np.divmod(places, max(shape[1], 1))
    values, how = _values(draw, s, dtype, count), format or draw.pick(("csr", "csc", "coo"))
    made: Any = sp.coo_array((values, (rows, columns)), shape=shape)
    if how == "coo":
        return made
    order = np.argsort(rows if how == "csr" else columns, kind="stable")
    major, minor = (rows, columns) if how == "csr" else (columns, rows)
    starts = np.concatenate(([0], np.cumsum(np.bincount(major, minlength=shape[how == "csc"])))).astype(np.int32)
    kind = sp.csr_array if how == "csr" else sp.csc_array
    return kind((values[order], minor[order].astype(np.int32), starts), shape=shape)


def _mask(draw: Draw, shape: tuple[int, int], expected: Table) -> dict[str, Any]:
    """A mask of any kind, and the complement at times; `expected` loses what it does not allow."""
    rng, complement = draw.rng(), draw.chance(40)
    kind = draw.pick(("dense", "csr", "csc", "of truth values"))
    chosen = rng.random(shape) < draw.pick((0.5, 0.1, 0.9, 0.0))
    i, j = chosen.nonzero()
    mask: Any = chosen
    if kind in ("csr", "csc"):
        mask = sp.coo_array((rng.integers(0, 2, len(i)).astype(float), (i, j)), shape=shape).asformat(kind)
    elif kind == "of truth values":
        there = rng.random(shape) < 0.8  # a stored False is none
        i, j = there.nonzero()
        mask, chosen = sp.coo_array((chosen[i, j], (i, j)), shape=shape).tocsr(), chosen & there
    draw.note(mask=kind, complement=complement)
    allowed = ~chosen if complement else chosen
    for place in [place for place in expected if not allowed[place]]:
        del expected[place]
    return {"mask": mask, "complement": complement, "places": [tuple(x) for x in np.argwhere(allowed).tolist()]}


def _unit(n: int, s: Any, dtype: np.dtype) -> sp.csr_array:
    one = semiring.eye(1, s, dtype=dtype)[0]
    return sp.csr_array((np.repeat(one, n), np.arange(n), np.arange(n + 1)), shape=(n, n))


def _table(X: Any, s: Any) -> Table:
    """{(i, j): the sum of the entries there}."""
    coo, found = X.tocoo(copy=True) if X.format != "csr" else None, {}
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)) if coo is None else coo.row
    columns, data = (X.indices, X.data) if coo is None else (coo.col, coo.data)
    for i, j, x in zip(rows.tolist(), columns.tolist(), data.tolist(), strict=True):
        found[i, j] = s.add.python(found[i, j], x) if (i, j) in found else x
    return found


def _product(a: Table, b: Table, s: Any) -> Table:
    found: Table = {}
    rows: dict[int, list[tuple[int, Any]]] = {}
    for (k, j), y in b.items():
        rows.setdefault(k, []).append((j, y))
    for (i, k), x in a.items():
        for j, y in rows.get(k, ()):
            zero = float(s.zero)
            term = s.zero if _is(x, zero) or _is(y, zero) else s.mul.python(x, y)
            found[i, j] = s.add.python(found[i, j], term) if (i, j) in found else term
    return found


def _sum(a: Table, b: Table, s: Any) -> Table:
    return {p: s.add.python(a[p], b[p]) if p in a and p in b else a.get(p, b.get(p)) for p in {**a, **b}}


def _is(x: Any, zero: float) -> bool:
    """Whether a number is the semiring's zero, of an integer dtype too."""
    return x == zero or (abs(zero) == np.inf and x in _ENDS[zero > 0])


_ENDS = {up: {int(getattr(np.iinfo(d), "max" if up else "min")) for d in ("int16", "int32", "int64")}
         for up in (True, False)}  # fmt: skip


def _same(C: Any, expected: Table, s: Any) -> None:
    """Each position once, and its sum; an end of an integer dtype is the semiring's zero."""
    assert C.format == "csr"
    got, zero = _table(C, s), float(s.zero)
    assert len(got) == len(C.data) == int(C.indptr[-1])
    assert got.keys() == expected.keys()
    wrong = {
        p: (x, expected[p])
        for p, x in got.items()
        if not (x == expected[p] or (_is(x, zero) and _is(expected[p], zero)))
    }
    assert not wrong, wrong
