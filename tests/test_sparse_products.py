"""Sparse matrices over semirings against a dictionary of entries, and SciPy for (+, ×)."""

from __future__ import annotations

import math
import operator
from functools import reduce as fold
from types import SimpleNamespace

import cases
import numpy as np
import pytest
import scipy.sparse as sp

import semiring
from semiring import DeviceError, DomainError, DTypeError, MemoryNeeded, Op, Semiring, ShapeError
from semiring.kernels.cpu.csr import backend
from semiring.sparse.csr.matrix import as_csr

#: 2 × 2 matrices of truth values as four bits: ⊗ is their product, which does not commute.
RELATIONS = Semiring(
    "relations",
    add=Op("bit_or", python=lambda a, b: a | b, cuda="a | b"),
    mul=Op(
        "compose",
        python=lambda a, b: (
            ((a >> 3 & b >> 3 | a >> 2 & b >> 1) & 1) << 3
            | ((a >> 3 & b >> 2 | a >> 2 & b) & 1) << 2
            | ((a >> 1 & b >> 3 | a & b >> 1) & 1) << 1
            | ((a >> 1 & b >> 2 | a & b) & 1)
        ),
        cuda="((a >> 3 & b >> 3 | a >> 2 & b >> 1) & 1) << 3 | ((a >> 3 & b >> 2 | a >> 2 & b) & 1) << 2"
        " | ((a >> 1 & b >> 3 | a & b >> 1) & 1) << 1 | ((a >> 1 & b >> 2 | a & b) & 1)",
    ),
    zero=0,
    one=9,
    dtypes=("int32",),
    domain=(0, 15),
    samples=(0, 1, 2, 6, 9, 15),
)
RELATED = cases.Case(RELATIONS, np.dtype("int32"))
#: A diagonal of what kernels ask of semirings, dtypes, and ways to compute; the others wait for a release.
ALL = [*cases.few([*cases.CASES, *cases.USER_CASES], cases.TRAITS), pytest.param(RELATED, id=str(RELATED))]


def entries(case, shape, seed, *, density=0.2):
    """Rows, columns and entries in no order: some of one position, some the semiring's zero or its one."""
    rng = np.random.default_rng(seed)
    count = math.ceil(density * shape[0] * shape[1]) if 0 not in shape else 0
    rows, columns = rng.integers(0, max(shape[0], 1), count), rng.integers(0, max(shape[1], 1), count)
    values = (
        cases.random_matrix(case, (1, count), seed, density=1.0, negative=True)[0] if count else np.empty(0, case.dtype)
    )
    values[rng.random(count) < 0.1] = case.zero
    values[rng.random(count) < 0.1] = case.one
    if case is RELATED:
        values = rng.integers(0, 16, count).astype(np.int32)
    return rows, columns, values


def csr(shape, rows, columns, values, index=np.int32):
    """A csr array of entries as they come: unsorted, with duplicates."""
    order = np.argsort(rows, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))]).astype(index)
    made = sp.csr_array(shape, dtype=values.dtype)
    made.data, made.indices, made.indptr = values[order], columns[order].astype(index), starts
    return made


def table(case, matrix):
    """{(i, j): entry} of a sparse matrix, those of one position summed."""
    add, found = case.semiring.add.python, {}
    coo = matrix.tocoo() if matrix.format != "csr" else None
    rows = coo.row if coo is not None else np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    columns = coo.col if coo is not None else matrix.indices
    for i, j, value in zip(rows.tolist(), columns.tolist(), matrix.data.tolist(), strict=True):
        found[i, j] = add(found[i, j], value) if (i, j) in found else value
    return found


def multiplied(case, A, B):
    """The product of two tables, term by term."""
    add, mul, rows, found = case.semiring.add.python, cases.scalar_mul(case), {}, {}
    for (k, j), b in B.items():
        rows.setdefault(k, []).append((j, b))
    for (i, k), a in A.items():
        for j, b in rows.get(k, ()):
            found[i, j] = add(found[i, j], mul(a, b)) if (i, j) in found else mul(a, b)
    return found


def same(case, found, expected):
    """Whether a csr result has the entries of a table, each once."""
    assert found.format == "csr"
    got = table(case, found)
    assert len(got) == len(found.data)
    assert got.keys() == expected.keys()
    order = sorted(got)
    left, right = ([dict_[key] for key in order] for dict_ in (got, expected))
    cases.same(case, np.array(left, case.dtype), np.array(right, case.dtype))


@pytest.mark.parametrize("case", ALL)
def test_sparse_products_sums_and_masks(case):
    s = case.semiring
    for seed, (m, k, n) in enumerate([(0, 3, 2), (3, 0, 2), (1, 1, 1), (7, 5, 3), (19, 40, 23)]):
        A, B = csr((m, k), *entries(case, (m, k), seed)), csr((k, n), *entries(case, (k, n), seed + 50))
        a, b = table(case, A), table(case, B)
        expected = multiplied(case, a, b)
        same(case, semiring.matmul(A, B, s), expected)
        M = csr((m, n), *entries(case, (m, n), seed + 90, density=0.4))
        places = set(zip(np.repeat(np.arange(m), np.diff(M.indptr)).tolist(), M.indices.tolist(), strict=True))
        if case.dtype.kind == "b":
            places = {key for key, value in table(case, M).items() if value}
        within = {key: value for key, value in expected.items() if key in places}
        same(case, semiring.matmul(A, B, s, mask=M), within)
        others = {key: value for key, value in expected.items() if key not in places}
        same(case, semiring.matmul(A, B, s, mask=M, complement=True), others)
        C = csr((m, n), *entries(case, (m, n), seed + 70))
        add, before = s.add.python, table(case, C)
        both = {key: add(before[key], expected[key]) if key in before and key in expected else
                before.get(key, expected.get(key)) for key in before.keys() | expected.keys()}  # fmt: skip
        same(case, semiring.add(C, semiring.matmul(A, B, s), s), both)
        assert semiring.matmul(A, B, s, out=C, accumulate=True) is C
        same(case, C, both)


@pytest.mark.parametrize("case", ALL)
def test_products_with_dense_operands_and_reductions(case):
    s, (m, n) = case.semiring, (23, 31)
    A = csr((m, n), *entries(case, (m, n), 3))
    dense = np.full((m, n), case.zero)
    for key, value in table(case, A).items():
        dense[key] = value
    for columns in (1, 5, 40):
        X = cases.random_matrix(case, (n, columns), 4, negative=True)
        expected = cases.product(case, dense, X)
        cases.same(case, semiring.matmul(A, X, s), expected)
        Z = cases.random_matrix(case, (columns, m), 5, negative=True)
        cases.same(case, semiring.matmul(np.asfortranarray(Z), A, s), cases.product(case, Z, dense))
        mask = np.random.default_rng(6).random((m, columns)) < 0.3
        for complement in (False, True):
            found = semiring.matmul(A, X, s, mask=mask, complement=complement)
            cases.same(case, found, np.where(mask ^ complement, expected, case.zero))
        out = cases.random_matrix(case, (m, columns), 7, negative=True)
        both = cases.product(case, dense, X, out)
        assert semiring.matmul(A, X, s, out=out, accumulate=True) is out
        cases.same(case, out, both)
    cases.same(case, semiring.matvec(A, X[:, 0], s), expected[:, 0])
    cases.same(case, semiring.matmul(Z[0], A, s), cases.product(case, Z[:1], dense)[0])
    add = s.add.python
    rows = [fold(add, (v for (i, _), v in table(case, A).items() if i == r), case.zero.item()) for r in range(m)]
    columns = [fold(add, (v for (_, j), v in table(case, A).items() if j == c), case.zero.item()) for c in range(n)]
    cases.same(case, semiring.reduce(A, 1, s), np.array(rows, case.dtype))
    cases.same(case, semiring.reduce(A, 0, s), np.array(columns, case.dtype))
    total = semiring.reduce(A, semiring=s)
    cases.same(case, np.asarray(total).reshape(1), np.array([fold(add, rows)], case.dtype))


@pytest.mark.parametrize("narrow", [0, 1000])
def test_scipy_agrees_over_plus_times(monkeypatch, narrow):
    """Rows counted first or not, in many parts."""
    monkeypatch.setattr(backend, "NARROW", narrow)
    monkeypatch.setattr(backend, "LEAST", 200)
    monkeypatch.setattr(backend, "ALONE", 0)
    rng = np.random.default_rng(narrow)
    A = sp.random_array((300, 200), density=0.03, format="csr", rng=rng)
    B = sp.random_array((200, 250), density=0.03, format="csr", rng=rng)
    for threads in (1, 3):
        C = semiring.matmul(A, B, "plus_times", threads=threads)
        assert isinstance(C, sp.csr_array)
        assert C.nnz == (A @ B).nnz
        assert abs(C - A @ B).max() < 1e-12
    S = A[:200]
    assert abs(semiring.power(S @ S.T, 3, "plus_times") - (S @ S.T) @ (S @ S.T) @ (S @ S.T)).max() < 1e-9
    assert (semiring.transpose(A) != A.T).nnz == 0


def test_every_format_matrix_and_array():
    A = sp.random_array((12, 9), density=0.3, rng=np.random.default_rng(0))
    X = np.arange(9.0)
    expected = semiring.matvec(A.tocsr(), X, "plus_times")
    np.testing.assert_allclose(expected, A @ X)
    for form in ("csr", "csc", "coo"):
        for made in (A.asformat(form), getattr(sp, f"{form}_matrix")(A)):
            np.testing.assert_allclose(semiring.matvec(made, X, "plus_times"), expected)
            back = semiring.matmul(made, made.T, "plus_times")
            assert type(back) is (sp.csr_array if isinstance(made, sp.sparray) else sp.csr_matrix)
    blocks = sp.bsr_array(np.ones((4, 4)), blocksize=(2, 2))
    np.testing.assert_array_equal(semiring.matvec(blocks, np.ones(4), "plus_times"), [4] * 4)
    with pytest.raises(ShapeError, match=r"A\.tocsr"):
        semiring.matvec(sp.csr_array(np.eye(4)).tobsr((2, 2)), np.ones(4), "min_plus")
    with pytest.raises(DTypeError, match=r"A\.tocsr"):
        semiring.matvec(sp.dia_array(np.eye(4)), np.ones(4), "min_plus")


def test_duplicates_of_a_list_of_entries_are_summed_by_the_semiring():
    A = sp.coo_array(([5, 3, 9], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    assert semiring.reduce(A, 1, "min_plus").tolist() == [3, 9]
    assert semiring.reduce(A, 1, "max_plus").tolist() == [5, 9]


def test_stored_zeros_and_infinities_count():
    A = csr((2, 2), np.array([0, 1]), np.array([1, 0]), np.array([0.0, np.inf]))
    C = semiring.matmul(A, A, "min_plus")
    assert table(cases.Case(semiring.min_plus, np.dtype("float64")), C) == {(0, 0): np.inf, (1, 1): np.inf}
    assert semiring.matvec(A, np.array([4.0, 7.0]), "min_plus").tolist() == [7.0, np.inf]


@pytest.mark.parametrize("index", [np.int32, np.int64], ids=["int32", "int64"])
def test_hub_rows_empty_rows_and_wide_indices(index):
    case = cases.Case(semiring.min_plus, np.dtype("int64"))
    n = 400
    rows = np.r_[np.full(n, 7), np.arange(0, n, 3)]
    columns = np.r_[np.arange(n), np.full(len(rows) - n, 7)]
    A = csr((n, n), rows, columns, np.arange(len(rows)), index)
    same(case, semiring.matmul(A, A, "min_plus"), multiplied(case, table(case, A), table(case, A)))


def test_hyper_sparse_matrices_take_memory_by_their_entries_alone():
    """Ten columns of 10¹², which 32 bits do not number: a row of a product has a small table."""
    case, n = cases.Case(semiring.min_plus, np.dtype("int64")), 10**12
    rng = np.random.default_rng(0)
    columns = np.r_[rng.integers(0, n, 40), 5, 5 + 2**32, 5 + 2**33]
    B = csr((50, n), rng.integers(0, 50, 43), columns, rng.integers(0, 9, 43), np.int64)
    A = csr((6, 50), *entries(case, (6, 50), 1), np.int64)
    expected = multiplied(case, table(case, A), table(case, B))
    C = semiring.matmul(A, B, "min_plus")
    assert C.indices.dtype == np.int64
    same(case, C, expected)
    M = semiring.matmul(A[:3], B, "min_plus")
    mask = sp.csr_array((6, n), dtype=np.int64)
    mask.data, mask.indices = M.data, M.indices
    mask.indptr = np.r_[M.indptr, [M.indptr[-1]] * 3].astype(np.int64)
    same(case, semiring.matmul(A, B, "min_plus", mask=mask), {key: v for key, v in expected.items() if key[0] < 3})
    rest = {key: v for key, v in expected.items() if key[0] >= 3}
    same(case, semiring.matmul(A, B, "min_plus", mask=mask, complement=True), rest)
    assert semiring.reduce(B, 1, "min_plus").shape == (50,)
    with pytest.raises(MemoryNeeded, match="transpose"):
        semiring.transpose(B)


def test_small_tables_hold_columns_of_many(monkeypatch):
    """Rows whose columns are sought by hashing, as in matrices of millions of columns."""
    monkeypatch.setattr(backend, "DIRECT", 0)
    case = cases.Case(semiring.min_plus, np.dtype("int64"))
    A, B = (csr((60, 1000), *entries(case, (60, 1000), 1, density=0.02)), csr((1000, 5000), *entries(
        case, (1000, 5000), 2, density=0.002)))  # fmt: skip
    expected = multiplied(case, table(case, A), table(case, B))
    same(case, semiring.matmul(A, B, "min_plus", threads=2), expected)
    rng = np.random.default_rng(3)
    keys = [key for key in expected if rng.random() < 0.5]
    M = sp.coo_array((np.ones(len(keys)), tuple(zip(*keys, strict=True))), shape=(60, 5000))
    same(case, semiring.matmul(A, B, "min_plus", mask=M), {key: expected[key] for key in keys})
    others = {key: expected[key] for key in expected.keys() - set(keys)}
    same(case, semiring.matmul(A, B, "min_plus", mask=M, complement=True), others)


def test_more_products_than_32_bits_number_are_counted_without_their_memory():
    """3,000,000,000 products of a row: counted exactly, and the table of a row refused before it is made."""
    n = 60_000
    ones = SimpleNamespace(shape=(n, n), starts=np.arange(n + 1), indices=np.zeros(n, np.int32))
    row = SimpleNamespace(shape=(1, n), starts=np.array([0, 50_000]), indices=np.zeros(50_000, np.int32))
    hub = SimpleNamespace(shape=(n, n), starts=np.r_[0, np.full(n, n)], indices=np.zeros(n, np.int32))
    assert backend.products_of(row, hub).tolist() == [3_000_000_000]
    assert backend.products_of(ones, hub).sum() == 3_600_000_000
    parts = backend.cuts(backend.added_up(np.full(100, 10**10)), 2)
    assert parts == [(i, i + 1) for i in range(100)]


def test_what_does_not_fit_is_refused_before_the_work(monkeypatch):
    A = sp.random_array((2000, 2000), density=0.02, format="csr", rng=np.random.default_rng(0))
    monkeypatch.setattr("semiring.host.memory.available", lambda device="cpu": 1 << 20)
    with pytest.raises(MemoryNeeded, match="mask"):
        semiring.matmul(A, A, "plus_times")


def test_masks_of_every_kind():
    A = sp.csr_array(np.array([[1.0, 2, 0], [0, 3, 0], [4, 0, 5]]))
    expected = (A @ A).toarray()
    allowed = np.array([[True, False, True], [True, True, True], [False, False, True]])
    # A stored zero of a number is in the mask, a stored False is not.
    stored = csr((3, 3), *np.nonzero(allowed), np.zeros(6))
    false = csr((3, 3), *np.nonzero(np.ones((3, 3))), allowed.ravel())
    for mask in (allowed, sp.csr_array(allowed), stored, stored.tocsc(), false, stored.tocoo()):
        for complement in (False, True):
            options = {"mask": mask, "complement": complement}
            C = semiring.matmul(A, A, "plus_times", **options)
            np.testing.assert_array_equal(C.toarray(), np.where(allowed ^ complement, expected, 0))
            Y = semiring.matmul(A, A.toarray(), "plus_times", **options)
            np.testing.assert_array_equal(Y, np.where(allowed ^ complement, expected, 0))
            Z = semiring.matmul(A.toarray(), A, "plus_times", **options)
            np.testing.assert_array_equal(Z, Y)
    y = semiring.matvec(A, np.ones(3), "plus_times", mask=np.array([True, False, False]))
    assert y.tolist() == [3, 0, 0]
    with pytest.raises(ShapeError, match="mask must have the product's shape"):
        semiring.matmul(A, A, mask=np.ones((2, 3), bool))
    with pytest.raises(DTypeError, match="truth values"):
        semiring.matmul(A, A, mask=np.ones((3, 3)))
    with pytest.raises(DTypeError, match="csr_array"):
        semiring.matmul(expected, expected, mask=allowed)
    with pytest.raises(ShapeError, match="complement"):
        semiring.matmul(A, A, complement=True)


def test_the_way_out_of_truth_values_works():
    A = sp.csr_array(np.eye(2, k=1, dtype=bool))
    for call in (lambda A: semiring.matmul(A, A), lambda A: semiring.matmul(A, np.eye(2)), semiring.eliminate):
        with pytest.raises(DTypeError, match=r"of a sparse A: A\.astype\('float64'\)"):
            call(A)
        call(A.astype("float64"))


def test_the_way_out_of_a_masked_mask_works():
    A, mask = sp.csr_array(np.eye(2)), np.ma.masked_array([[True, True], [True, True]], np.eye(2, dtype=bool))
    for B in (A, np.eye(2)):
        with pytest.raises(DTypeError, match=r"mask: a plain array .* Fill it: mask\.filled\(False\)"):
            semiring.matmul(A, B, mask=mask)
        semiring.matmul(A, B, mask=mask.filled(False))


def test_out_must_fit():
    A = sp.csr_array(np.eye(3))
    out = sp.csr_array((3, 3))
    assert semiring.matmul(A, A, "plus_times", out=out) is out
    assert (out != A).nnz == 0
    with pytest.raises(ShapeError, match="csr matrix of shape"):
        semiring.matmul(A, A, "plus_times", out=np.zeros((3, 3)))
    with pytest.raises(ShapeError, match="csr matrix of shape"):
        semiring.matmul(A, A, "plus_times", out=sp.csr_array((3, 4)))
    with pytest.raises(ShapeError, match="accumulate"):
        semiring.matmul(A, A, "plus_times", accumulate=True)
    with pytest.raises(ShapeError, match="shape"):
        semiring.matmul(A, np.eye(3), "plus_times", out=np.zeros((3, 4)))


@pytest.mark.parametrize("accumulate", [False, True])
def test_out_forgets_what_was_known_of_its_rows(accumulate):
    """SciPy remembers whether rows are sorted, and whether positions are distinct: of `out` what they were before."""
    rng, seen = np.random.default_rng(3), set()
    for index in range(12):
        n = (3, 6, 20)[index % 3]
        A = sp.random_array((n, n), density=0.4, format="csr", rng=rng) if index % 2 else sp.eye_array(n, format="csr")
        out = sp.csr_array(np.tri(n)) if index % 4 else sp.csr_array((np.ones(2), [1, 0], [0] + [2] * n), (n, n))
        assert (out.has_sorted_indices, out.has_canonical_format) == ((True, True) if index % 4 else (False, False))
        expected = A.toarray() @ A.toarray() + (out.toarray() if accumulate else 0)
        assert semiring.matmul(A, A, "plus_times", out=out, accumulate=accumulate) is out
        rows = np.repeat(np.arange(n), np.diff(out.indptr))
        ordered = bool((np.diff(out.indices.astype(np.int64) + n * rows) > 0).all())
        assert (out.has_sorted_indices, out.has_canonical_format) == (ordered, ordered)
        seen.add(ordered)
        np.testing.assert_allclose((out @ np.eye(n)), expected)
        out.sort_indices()
        assert (np.diff(out.indices.astype(np.int64) + n * rows) > 0).all()
        np.testing.assert_allclose(out[:, [1]].toarray(), expected[:, [1]])
    assert seen == {True, False}


def test_out_may_be_an_operand_or_share_its_arrays():
    for accumulate in (False, True):
        A = sp.csr_array(np.triu(np.arange(1.0, 10).reshape(3, 3)))
        dense, twin = A.toarray(), sp.csr_array((A.data, A.indices, A.indptr), shape=A.shape)
        semiring.matmul(A, A, "plus_times", out=A, accumulate=accumulate)
        np.testing.assert_allclose(A.toarray(), dense @ dense + accumulate * dense)
        np.testing.assert_array_equal(twin.toarray(), dense)


def test_what_is_no_matrix_over_the_semiring_is_refused():
    A = sp.csr_array(np.eye(3))
    with pytest.raises(ShapeError, match="inner sizes"):
        semiring.matmul(A, sp.csr_array((4, 3)))
    with pytest.raises(ShapeError, match="inner sizes"):
        semiring.matmul(A, np.zeros((2, 3, 3)))
    with pytest.raises(DomainError, match="nan"):
        semiring.matmul(A, sp.csr_array(np.array([[np.nan, 0, 0]] * 3)))
    with pytest.raises(DTypeError, match="sparse matrix"):
        semiring.add(np.eye(3), A)
    with pytest.raises(ShapeError, match="one shape"):
        semiring.add(A, sp.csr_array((4, 3)))
    with pytest.raises(ValueError, match="axis"):
        semiring.reduce(A, 2)
    with pytest.raises(ValueError, match="axis must be 0, 1 or None, got True"):
        semiring.reduce(A, True)
    for attribute, wrong in (
        ("indices", [0, 1, 3]),
        ("indices", [0, -1, 2]),
        ("indptr", [0, 2, 1, 3]),
        ("indptr", [0, 1, 2, 9]),
    ):
        bad = sp.csr_array(np.eye(3))
        setattr(bad, attribute, np.array(wrong, np.int32))
        with pytest.raises(ShapeError, match="consistent"):
            semiring.matmul(bad, A)
    bad.data, bad.indices, bad.indptr = np.ones(2), np.arange(3, dtype=np.int32), np.arange(4, dtype=np.int32)
    with pytest.raises(ShapeError, match="consistent"):
        semiring.matmul(bad, A)
    for index in (3, -1):
        listed = sp.coo_array(np.eye(3))
        listed.col[1] = index
        with pytest.raises(ShapeError, match="from 0 to 2, got others"):
            semiring.matmul(listed, A)


def test_read_only_and_byte_swapped_arrays():
    A = sp.random_array((9, 9), density=0.4, format="csr", rng=np.random.default_rng(1))
    expected = (A @ A).toarray()
    for name in ("data", "indices", "indptr"):
        getattr(A, name).flags.writeable = False
    np.testing.assert_allclose(semiring.matmul(A, A, "plus_times").toarray(), expected)
    B = sp.csr_array((9, 9))
    B.data, B.indices, B.indptr = A.data.astype(">f8"), A.indices, A.indptr
    np.testing.assert_allclose(semiring.matmul(B, B, "plus_times").toarray(), expected)


def test_powers_are_sparse_until_they_fill(caplog):
    ring = sp.csr_array((np.ones(40), (np.arange(40), (np.arange(40) + 1) % 40)), shape=(40, 40))
    for k in (0, 1, 7):
        P = semiring.power(ring, k, "min_plus")
        assert table(cases.Case(semiring.min_plus, np.dtype("float64")), P) == {(i, (i + k) % 40): k for i in range(40)}
    A = sp.random_array((30, 30), density=0.2, format="csr", rng=np.random.default_rng(2)) + sp.eye_array(30)
    for k in (2, 3, 5, 6):
        with caplog.at_level("INFO", "semiring"):
            full = semiring.power(sp.csr_array(A), k, "plus_times")
        assert isinstance(full, np.ndarray)
        np.testing.assert_allclose(full, fold(operator.matmul, [A.toarray()] * k))
    assert "dense" in caplog.text
    with pytest.raises(ShapeError, match="square"):
        semiring.power(sp.csr_array((2, 3)), 2)


def test_nothing_that_came_is_changed():
    A = csr((4, 4), np.array([0, 0, 2, 2]), np.array([3, 3, 1, 0]), np.array([1.0, 2, 3, 4]))
    before = [x.copy() for x in (A.data, A.indices, A.indptr)]
    semiring.matmul(A, A), semiring.add(A, A), semiring.transpose(A), as_csr(A, where="test")
    for x, y in zip((A.data, A.indices, A.indptr), before, strict=True):
        np.testing.assert_array_equal(x, y)
    ring = csr((4, 4), np.arange(4), (np.arange(4) + 1) % 4, np.ones(4))
    two = semiring.matmul(ring, ring, "plus_times")
    for M in (A, ring, two):
        before = [x.copy() for x in (M.data, M.indices, M.indptr)]
        results = [semiring.transpose(M), semiring.power(M, 1), semiring.add(M, M), semiring.matmul(ring, ring, mask=M)]
        for C in results:
            for x in (C.data, C.indices, C.indptr):
                x[:] = 0  # what comes back has memory of its own
        for x, y in zip((M.data, M.indices, M.indptr), before, strict=True):
            np.testing.assert_array_equal(x, y)


def test_masks_of_products_without_rows_or_columns():
    for m, n in ((0, 3), (3, 0), (0, 0)):
        mask = np.ones((m, n), bool)
        assert semiring.matmul(sp.csr_array((m, 2)), np.ones((2, n)), mask=mask).shape == (m, n)
        assert semiring.matmul(np.ones((m, 2)), sp.csr_array((2, n)), mask=mask, complement=True).shape == (m, n)


def test_the_first_power_has_each_position_once():
    twice = sp.csr_array((np.array([5.0, 3.0]), np.array([1, 1]), np.array([0, 2, 2])), shape=(2, 2))
    assert semiring.power(twice, 1, "min_plus").toarray().tolist() == [[0, 3], [0, 0]]


@pytest.mark.gpu
@pytest.mark.parametrize("case", ALL)
def test_a_gpu_computes_the_same(case):
    """Matrices of SciPy's, sent there and back, for CuPy's hold no integers."""
    s, A, B = case.semiring, csr((70, 90), *entries(case, (70, 90), 1)), csr((90, 600), *entries(case, (90, 600), 2))
    M = csr((70, 600), *entries(case, (70, 600), 3))
    for options in ({}, {"mask": M}, {"mask": M, "complement": True}):
        found = semiring.matmul(A, B, s, device="cuda", **options)
        same(case, found, table(case, semiring.matmul(A, B, s, **options)))
    for columns in (1, 3, 64):
        X = cases.random_matrix(case, (90, columns), 4, negative=True)
        cases.same(case, semiring.matmul(A, X, s, device="cuda"), semiring.matmul(A, X, s))
        cases.same(case, semiring.matmul(X.T, B, s, device="cuda"), semiring.matmul(X.T, B, s))
    same(case, semiring.add(A, A, s, device="cuda"), table(case, semiring.add(A, A, s)))
    cases.same(case, semiring.reduce(B, 0, s, device="cuda"), semiring.reduce(B, 0, s))


@pytest.mark.parametrize("case", [cases.Case(semiring.get("min_plus"), np.dtype("float64")), RELATED], ids=str)
def test_einsum_of_sparse_operands(case):
    """Every index in an uncompiled loop, operands in their order."""
    sizes = {"i": 4, "j": 5, "k": 3, "l": 2}

    def by_loops(subscripts, operands):
        inputs, output = subscripts.split("->")
        parts = inputs.split(",")
        letters = sorted(set(inputs) - {","})
        found = np.full([sizes[c] for c in output], case.zero, case.dtype)
        for place in np.ndindex(*(sizes[c] for c in letters)):
            at = dict(zip(letters, place, strict=True))
            term = [X[tuple(at[c] for c in part)].item() for X, part in zip(operands, parts, strict=True)]
            where = tuple(at[c] for c in output)
            found[where] = case.semiring.add.python(found[where].item(), fold(case.semiring.mul.python, term))
        return found

    def operand(letters, seed, *, sparse):
        shape = tuple(sizes[c] for c in letters)
        X = csr(shape, *entries(case, shape, seed, density=0.5)) if len(shape) == 2 else None
        dense = filled(X) if X is not None else cases.random_matrix(case, (1, *shape), seed, density=1.0)[0]
        return X if sparse else dense, dense

    def filled(X):
        dense = np.full(X.shape, case.zero, case.dtype)
        for place, value in table(case, X).items():
            dense[place] = value
        return dense

    for subscripts, kinds in (
        *(("ij,jk->ik", "ss"), ("ij,jk->ki", "ss"), ("ji,jk->ik", "ss"), ("ij,jk->ik", "sd"), ("ij,jk->ik", "ds")),
        *(("ij,j->i", "sd"), ("j,jk->k", "ds"), ("ij->ji", "s"), ("ij->i", "s"), ("ij->j", "s"), ("ij->", "s")),
    ):
        parts = subscripts.split("->")[0].split(",")
        made = [
            operand(part, seed, sparse=kind == "s") for seed, (part, kind) in enumerate(zip(parts, kinds, strict=True))
        ]
        if case is RELATED and any(X.ndim == 1 for X, _ in made):
            continue  # whose random vectors are not of its domain
        found = semiring.einsum(subscripts, *(X for X, _ in made), semiring=case.semiring)
        assert sp.issparse(found) == (kinds == "ss" or subscripts == "ij->ji"), subscripts
        expected = by_loops(subscripts, [X for _, X in made])
        cases.same(case, filled(found) if sp.issparse(found) else np.asarray(found), expected)


def test_einsum_of_sparse_operands_sums_over_axes_of_size_one():
    row, B = sp.csr_array([[0.0, 2.0, 5.0]]), sp.csr_array(np.arange(6.0).reshape(3, 2))
    twice = sp.coo_array(([7.0, 4.0], ([0, 0], [0, 0])), shape=(1, 1))
    for subscripts, operands, expected in (
        ("ij->j", (row,), [np.inf, 2, 5]),
        ("ji->j", (sp.csr_array(row.T),), [np.inf, 2, 5]),
        ("ij->i", (row,), [2]),
        ("ij->", (row,), 2),
        ("ij->", (twice,), 4),
        ("ij,jk->k", (row, B), [2 + 2, 2 + 3]),
        ("ij,jk->", (row, B), 4),
    ):
        found = semiring.einsum(subscripts, *operands)
        np.testing.assert_array_equal(found, expected, err_msg=subscripts)


def test_einsum_looks_at_operands_that_no_product_takes():
    A, nan = sp.csr_array([[1.0, 0.0], [2.0, 3.0]]), sp.csr_array([[np.nan, 0.0], [2.0, 3.0]])
    for subscripts, operands in (("ij,k->", (A, [np.nan, 1])), ("ij,k->k", (A, [np.nan, 1])), ("ij->ji", (nan,))):
        with pytest.raises(semiring.DomainError, match="got nan"):
            semiring.einsum(subscripts, *operands)


def test_einsum_of_sparse_operands_is_of_matrices_alone():
    A = sp.csr_array(np.eye(3))
    for subscripts, operands in (("ii->i", [A]), ("ij,ij->ij", [A, A]), ("ij,kl->ijkl", [A, A])):
        with pytest.raises(ShapeError, match="sparse operands must be matrices of products"):
            semiring.einsum(subscripts, *operands)
    with pytest.raises(ShapeError, match="out must be left out"):
        semiring.einsum("ij,jk->ik", A, A, out=np.empty((3, 3)))
    huge = sp.csr_array(([1.0], ([0], [1])), shape=(10**6, 10**6))
    assert semiring.einsum("ij,jk->ik", huge, huge).shape == huge.shape  # whose table would not fit


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_product_with_a_vector_looks_at_the_matrix(index, kind):
    rng = np.random.default_rng(3)
    M = sp.random_array((3000, 2000), density=0.01, format="csr", rng=rng, dtype=kind)
    M.indices, M.indptr = M.indices.astype(index), M.indptr.astype(index)
    x = rng.random(2000).astype(kind)
    for semiring_, add, mul in (("plus_times", np.add, np.multiply), ("min_plus", np.minimum, np.add)):
        zero = 0.0 if add is np.add else math.inf
        rows = [mul(M.data[i:j], x[M.indices[i:j]]) for i, j in zip(M.indptr[:-1], M.indptr[1:], strict=True)]
        expected = np.array([add.reduce(row, initial=kind(zero)) for row in rows])
        np.testing.assert_allclose(
            semiring.matmul(M, x, semiring_), expected, rtol=1e-5 if kind == np.float32 else 1e-12
        )
        for at in (0, M.nnz // 2, M.nnz - 1):
            wrong = M.copy()
            wrong.data[at] = math.nan
            with pytest.raises(DomainError, match="stored entries"):
                semiring.matmul(wrong, x, semiring_)
        for outside in (2000, -1, np.iinfo(index).max, np.iinfo(index).min):
            wrong = M.copy()
            wrong.indices[M.nnz - 1] = outside
            with pytest.raises(ShapeError, match="consistent"):
                semiring.matmul(wrong, x, semiring_)
    for part in ("data", "indices", "indptr"):  # every other entry of a longer array
        strided = M.copy()
        setattr(strided, part, np.repeat(getattr(M, part), 2)[::2])
        np.testing.assert_array_equal(semiring.matmul(strided, x, "min_plus"), semiring.matmul(M, x, "min_plus"))
    far = M.copy()
    far.data[7] = math.inf
    assert not np.isnan(semiring.matmul(far, x, "min_plus")).any()
    with pytest.raises(DomainError, match="nan"):
        semiring.matmul(M, np.where(x == x[3], math.nan, x).astype(kind), "min_plus")
    with pytest.raises(ShapeError, match="inner sizes"):
        semiring.matmul(M, x[:-1], "min_plus")


def test_options_of_a_product_with_a_vector_are_never_passed_over():
    A, x = sp.csr_array(np.eye(3)), np.ones(3)
    for options, error, words in (
        ({"complement": True}, ShapeError, "must have a mask"),
        ({"accumulate": True}, ShapeError, "array to add to"),
        ({"device": "gpu"}, DeviceError, "one of cpu, cuda, got 'gpu'"),
        ({"ties": "all"}, ValueError, "ties must be 'one' or 'shared', got 'all'"),
    ):
        for B in (x, np.eye(3), A):
            with pytest.raises(error, match=words):
                semiring.matmul(A, B, **options)
    with pytest.raises(ShapeError, match="must have a mask"):
        semiring.matvec(A, x, complement=True)


def test_matvec_of_a_sparse_matrix_takes_one_vector():
    """A dense (batch, n) is a batch of vectors; beside a sparse matrix it would be taken for columns."""
    A = sp.csr_array([[1.0, 2.0], [0.0, 3.0]])
    X, column = A.toarray(), sp.csr_array([[1.0], [2.0]])
    for left, right in ((A, X), (A, A), (X, A), (X[0], A), (A, X[0, 0]), (A, sp.coo_array(X[0]))):
        with pytest.raises(ShapeError, match=r"one vector \(n,\), or a sparse matrix \(n, 1\)"):
            semiring.matvec(left, right)
    assert semiring.matvec(A, [1, 2]).tolist() == [2, 5]
    assert semiring.matvec(X, column).tolist() == [[2], [1]]
    assert semiring.matvec(A, column).toarray().tolist() == [[2], [5]]
