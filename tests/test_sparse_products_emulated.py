"""The GPU's kernels of sparse products where there is no GPU, against a dictionary of entries."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from functools import partial
from itertools import pairwise
from types import SimpleNamespace

import cases
import emulated
import numpy as np
import pytest
import scipy.sparse as sp
from test_sparse_products import RELATED, csr, entries, multiplied, table

import semiring
from semiring.sparse.csr.matrix import CSR, as_csr, stacked

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("g++") is None, reason="g++ compiles the kernels, on Linux"
)
CASES = {str(c): c for c in (*cases.CASES, *cases.USER_CASES, RELATED)}
#: In which sums are atomic, and in which they are in turn; of two and four lanes, of four and eight bytes.
FEW = ("min_plus-int16", "plus_times-float64", "relations-int32")


@pytest.fixture
def on_gpu(emulated_kernels):
    """Kernels that run here, and the functions of CuPy's that call for them."""
    with emulated.installed(emulated_kernels):
        cupy = sys.modules["cupy"]
        for name in ("minimum", "maximum", "argsort"):
            setattr(cupy, name, partial(emulated._numpys, getattr(np, name)))
        cupy.cumsum = np.cumsum
        cupy.full = lambda shape, value, dtype: emulated.asarray(np.full(shape, value, dtype))
        from semiring.host import memory

        patch = pytest.MonkeyPatch()
        patch.setattr(memory, "available", lambda device="cpu": 1 << 32)
        patch.setattr(memory, "pooled", lambda: 1 << 32)
        yield cupy
        patch.undo()


def sent(matrix):
    """A matrix as on a device."""
    found = as_csr(matrix, where="test")
    return CSR(found.shape, *(emulated.asarray(x) for x in (found.starts, found.indices, found.data)), None)


def same(case, found, expected):
    starts, indices, data = (np.asarray(x) for x in found)
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    keys = list(zip(rows.tolist(), indices.tolist(), strict=True))
    got = dict(zip(keys, data.tolist(), strict=True))
    assert len(keys) == len(got)
    assert got.keys() == expected.keys()
    order = sorted(got)
    values = (np.array([dict_[key] for key in order], case.dtype) for dict_ in (got, expected))
    cases.same(case, *values)


def with_hub(case, shape, seed, density):
    """Entries in no order, and one row that has many."""
    rows, columns, values = entries(case, shape, seed, density=density)
    rows[: len(rows) // 3] = shape[0] // 2
    return csr(shape, rows, columns, values)


@pytest.mark.parametrize("name", FEW)
def test_sparse_products_and_masks(name, on_gpu, monkeypatch):
    """By tables of all sizes, by strips of columns in shared memory, and with all columns in the device's."""
    from semiring.kernels.cuda.csr import backend

    case = CASES[name]
    A, B = with_hub(case, (40, 50), 1, 0.2), with_hub(case, (50, 300), 2, 0.1)
    M = with_hub(case, (40, 300), 3, 0.1)
    expected = multiplied(case, table(case, A), table(case, B))
    places = table(case, M).keys()
    within = {key: value for key, value in expected.items() if key in places}
    others = {key: value for key, value in expected.items() if key not in places}
    cuts = (12, 1 << 17, 48, 7, 0), (5, 1000, 48, 11, 0), (5, 64, 1, 11, 0), (5, 1 << 17, 48, 11, 1 << 20)
    for tables, strip, strips, alone, cleared in cuts:
        values = {"TABLE": tables, "BESIDE_ONE": tables, "STRIP": (strip,), "STRIPS": strips, "CLEARED": cleared}
        for key, value in values.items():
            monkeypatch.setattr(backend, key, value)
        monkeypatch.setattr(backend, "ALONE", alone)
        monkeypatch.setattr(backend, "ALIKE", 24 if tables == 12 else 0)
        monkeypatch.setattr(backend, "FEW", 1000 if tables == 12 else 0)  # counted in vain, or not begun
        for mask, complement, want in ((None, False, expected), (sent(M), False, within), (sent(M), True, others)):
            same(case, backend.multiply(sent(A), sent(B), case.semiring, mask, complement, None, "test"), want)


@pytest.mark.parametrize("name", FEW)
def test_products_with_dense_operands(name, on_gpu, monkeypatch):
    """Hub rows of several tiles, empty ones, and columns that are no multiple of a vector's."""
    from semiring.kernels.cuda.csr import backend

    case = CASES[name]
    monkeypatch.setattr(backend, "MANY", (2, 2))
    m, n = 61, 30
    rows, columns, values = entries(case, (m, n), 4, density=3.0)
    rows = np.where(rows < 12, 3, np.where(rows < 30, 40, rows))
    A = csr((m, n), rows, columns, values)
    dense = np.full((m, n), case.zero)
    for key, value in table(case, A).items():
        dense[key] = value
    for width in (1, 2, 68) if name == FEW[0] else (1, 3):
        X = cases.random_matrix(case, (n, width), 5, negative=True)
        Y = emulated.empty((m, width), case.dtype)
        backend.gather(sent(A), emulated.asarray(X), Y, case.semiring, mirrored=True, threads=None, where="test")
        cases.same(case, np.asarray(Y), cases.product(case, dense, X))
    if case is RELATED:
        backend.gather(sent(A), emulated.asarray(X), Y, case.semiring, mirrored=False, threads=None, where="test")
        cases.same(case, np.asarray(Y), cases.product(case, X.T, dense.T).T)
    with pytest.raises(semiring.DeviceError, match="threads"):
        backend.gather(sent(A), emulated.asarray(X), Y, case.semiring, mirrored=True, threads=2, where="test")


def test_two_entries_of_a_position_are_summed_beside_a_matrix_that_has_none(on_gpu, monkeypatch):
    """Where sums are in turn, lanes take several entries of a row at once: of one position none may be two."""
    from semiring.kernels.cuda.csr import backend

    A = sp.csr_array(np.eye(3))
    B = sp.csr_array((np.array([1.0, 2.0, 4.0]), [1, 1, 0], [0, 2, 2, 3]), shape=(3, 3))
    assert A.has_canonical_format

    def gather(groups, unit, sums, s, **options):
        sums[:, 0] = [groups.data[i:j].sum() for i, j in zip(groups.starts, groups.starts[1:], strict=False)]

    monkeypatch.setattr(backend, "gather", gather)
    both = backend.summed(stacked(replace(sent(A), source=A), sent(B)), semiring.get("plus_times"), "test")
    assert np.asarray(both.data).tolist() == [1, 1, 1, 3, 4]
    assert np.asarray(both.indices).tolist() == [0, 1, 2, 1, 0]


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
def test_indices_are_looked_at_once(dtype, on_gpu):
    """Like the host's look, of indices of any width; a negative one is larger than all others."""
    from semiring.kernels.cuda.csr import backend
    from semiring.sparse.csr.matrix import _inspected

    rng = np.random.default_rng(0)
    starts, indices = np.r_[0, np.cumsum(rng.integers(0, 9, 700))], rng.integers(0, 1000, 9000).astype(dtype)
    for change in ({}, {300: -1}, {0: 1}):
        changed = starts.copy()
        for row, value in change.items():
            changed[row] = value
        arrays = [emulated.asarray(x) for x in (changed, indices)]
        assert backend.inspected(*arrays) == _inspected(changed, indices)
    indices[7] = -1
    used, ordered, largest = backend.inspected(*(emulated.asarray(x) for x in (starts, indices)))
    assert (used, ordered) == (starts[-1], True)
    assert largest > 1 << 31
    assert backend.inspected(*(emulated.asarray(x) for x in (np.zeros(1, np.int64), indices))) == (0, True, 0)


@pytest.mark.parametrize(("wide", "tiles"), [(np.int32, 512), (np.int64, 2)])
def test_a_vectors_product_checks_what_it_reads(wide, tiles, on_gpu, monkeypatch):
    """Rows over several tiles, and of each kind of damage one: the kernel stays in bounds and says so."""
    from semiring.kernels.cuda.csr import backend

    pinned, done = emulated.asarray(np.zeros(1, np.int32)), emulated.asarray(np.zeros(1, np.int32))
    monkeypatch.setattr(backend, "_flag", lambda device: (np.asarray(pinned), pinned.data, done.data))
    monkeypatch.setattr(backend, "ALONE_TILES", tiles)
    rng = np.random.default_rng(5)
    m, n, s = 700, 40, semiring.get("max_times")
    lengths = np.where(np.arange(m) == 300, 5000, rng.integers(0, 4, m))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    heads, data = rng.integers(0, n, starts[-1]), rng.random(starts[-1])
    x = rng.random(n)
    x[7] = 0.5
    heads[heads == 7] = 8  # no entry reads x[7]

    def product(*, of=data, at=heads, begin=starts, by=x):
        arrays = (emulated.asarray(np.array(y, kind)) for y, kind in ((of, float), (at, wide), (begin, wide)))
        given = SimpleNamespace(shape=(m, n), **dict(zip(("data", "indices", "indptr"), arrays, strict=True)))
        found = backend.gather_vector(given, emulated.asarray(by), s)
        assert pinned[0] == done[0] == 0
        return found

    def but(array, place, value):
        changed = array.astype(float)
        changed[place] = value
        return changed

    expected = [max((data[p] * x[heads[p]] for p in range(i, j)), default=0) for i, j in pairwise(starts)]
    np.testing.assert_array_equal(np.asarray(product()), expected)
    spare = np.concatenate([heads, [n, -1]]), np.concatenate([data, [np.nan, -1]])
    np.testing.assert_array_equal(np.asarray(product(at=spare[0], of=spare[1])), expected)
    for place, value in ((0, n), (4000, -1), (len(heads) - 1, 1 << 30)):
        assert product(at=but(heads, place, value)) is None
    for place, value in ((0, 1), (m, len(heads) + 1), (m, -5), (350, 0), (299, 1 << 30), (301, 2)):
        assert product(begin=but(starts, place, value)) is None
    for value in (np.nan, -0.5):
        assert product(of=but(data, 4321, value)) is None
        assert product(by=but(x, 7, value)) is None
    np.testing.assert_array_equal(np.asarray(product()), expected)


@pytest.mark.parametrize(("name", "wide"), [("min_plus-float64", np.int32), ("plus_times-float64", np.int64)])
def test_a_sparse_product_checks_what_it_reads(name, wide, on_gpu):
    """Rows over several tiles of starts; of each kind of damage one, in either operand: in bounds, and refused."""
    from semiring.kernels.cuda.csr import backend

    case, rng = CASES[name], np.random.default_rng(6)
    A, B = (sp.random_array(shape, density=0.06, rng=rng, format="csr") for shape in ((4100, 40), (40, 70)))
    for X in (A, B):
        X.sort_indices()

    def product(damaged=None, which=0, place=0, value=0):
        """Whole matrices have an entry more than their rows, which is wrong and must not be read."""
        given = []
        for X in (A, B):
            arrays = [X.indptr.astype(wide), np.append(X.indices, 99).astype(wide), np.append(X.data, np.nan)]
            if X is damaged:
                arrays[1:] = arrays[1][:-1], arrays[2][:-1]
                arrays[which][place] = value
            given.append(CSR(X.shape, *(emulated.asarray(x) for x in arrays), None))
        return backend.multiply_checked(*given, case.semiring, "test")

    same(case, product(), multiplied(case, table(case, A), table(case, B)))
    for X in (A, B):
        for place, value in ((0, 1), (7, -1), (9, 1 << 30), (X.shape[0], len(X.data) + 2), (X.shape[0], 5)):
            assert product(X, 0, place, value) is None
        for place, value in ((0, X.shape[1]), (len(X.data) - 1, -1), (3, 1 << 30)):
            assert product(X, 1, place, value) is None
        assert product(X, 2, 4, np.nan) is None
    first = B.indptr[np.flatnonzero(np.diff(B.indptr) > 1)[0]]
    twice = product(B, 1, first + 1, B.indices[first])
    assert (twice is None) == (name == "plus_times-float64"), "sums in turn need columns that ascend"
