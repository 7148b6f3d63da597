"""The verbs on a GPU against uncompiled NumPy and Python: every semiring, dtype, variant and tile."""

from __future__ import annotations

import dataclasses
import re

import cases
import numpy as np
import pytest
from compiling import compile_all

import apsp
from apsp import compare_sizes
from apsp.road import schedules
from semiring import DivergenceError, DomainError, DTypeError, ShapeError, eye, get, lu, matmul, power
from semiring.dense.product import LENGTHS
from semiring.kernels import backend as contract
from semiring.kernels.backend import cuda_available
from semiring.kernels.cuda import algebra, cards, compile
from semiring.kernels.cuda.dense import backend, matrix, panels, sources, tiles

pytestmark = pytest.mark.gpu

BOUND = [
    (case, nonnegative)
    for case in (*cases.CASES, *cases.USER_CASES)
    for nonnegative in (False, True)
    if not nonnegative or algebra.variant_of(case.semiring, case.dtype, nonnegative=True)
]
NAMES = [f"{case}{'-nonnegative' * nonnegative}" for case, nonnegative in BOUND]
every = pytest.mark.parametrize(("case", "nonnegative"), BOUND, ids=NAMES)

UFUNCS = {
    "min": np.minimum,
    "max": np.maximum,
    "plus": np.add,
    "times": np.multiply,
    "lor": np.logical_or,
    "land": np.logical_and,
    "logaddexp": np.logaddexp,
    "bit_or": np.bitwise_or,
    "bit_and": np.bitwise_and,
}


def bind(semiring, dtype, **options):
    """The general kernels, also over `lor_land`, whose own work on packed bits and are tested by themselves."""
    if semiring.name == "lor_land":
        options = {name: value for name, value in options.items() if name != "device"}
        return backend.CudaBackend(semiring, np.dtype(dtype), **options)
    return contract.bind(semiring, dtype, **options)


@pytest.fixture(scope="module", autouse=True)
def warm():
    """Compile all kernels side by side before the first test asks for one."""
    if not cuda_available():
        return
    arch = compile.device_arch(0)
    units = {
        text
        for case, nonnegative in BOUND
        for _, text in sources.translation_units(case.semiring, case.dtype, arch, nonnegative=nonnegative)
    }
    compile_all(units, arch)


def entries(case, shape, seed, nonnegative, density=0.5):
    """Random entries; signed where the step allows it."""
    A = cases.random_matrix(case, shape, seed, density=density, negative=not nonnegative)
    if nonnegative and case.semiring.name == "max_plus":
        A = np.where(A == case.zero, A, -A).astype(case.dtype)
    return A


def product(case, A, B, C):
    """C ⊕ A ⊗ B, one rank-one update after the other in NumPy; small values, so that no wide sum wraps."""
    wide = np.int64 if case.dtype.kind == "i" else case.dtype
    info = np.iinfo(case.dtype) if case.dtype.kind == "i" else None
    add, mul = UFUNCS[case.semiring.add.name], UFUNCS[case.semiring.mul.name]
    total = C.astype(wide)
    for k in range(A.shape[1]):
        a, b = A[:, k, None].astype(wide), B[None, k].astype(wide)
        term = mul(a, b)
        if info and case.semiring.mul.saturating:
            term = np.where((a == case.zero) | (b == case.zero), case.zero, np.clip(term, info.min, info.max))
        total = add(total, term)
    return total.astype(case.dtype)


def closure(case, A):
    """A* by Kleene's elimination on NumPy rows."""
    add, mul = (
        UFUNCS[case.semiring.add.name],
        lambda a, b: product(case, a, b, np.full((len(a), b.shape[1]), case.zero)),
    )
    D = A.copy()
    for k in range(len(D)):
        s = case.semiring.star.python(D[k, k]) if case.semiring.star else add(case.one, D[k, k])
        s = np.array([[s]], dtype=case.dtype)
        row, column = mul(s, D[k : k + 1]), D[:, k : k + 1].copy()
        D = add(D, mul(column, row))
        D[k], D[:, k] = row[0], mul(column, s)[:, 0]
        D[k, k] = s[0, 0]
    return D.astype(case.dtype)


def agree(case, got, expected):
    """Bit for bit, or to rounding where ⊕ rounds; a longer sum rounds more."""
    got = got.get()
    assert got.dtype == expected.dtype
    if case.semiring.tolerance:
        rtol = 1e-4 if case.dtype == np.float32 else 1e-10
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol)
    else:
        np.testing.assert_array_equal(got, expected)


def window(cp, A, left=3, right=2):
    """A on the device inside a poisoned matrix, and a check that nothing around it was written."""
    rows, columns = A.shape
    poison = np.ones((), A.dtype)
    outer = cp.full((rows + 4, left + columns + right), poison)
    outer[2:-2, left : left + columns] = cp.asarray(A)
    inner = outer[2:-2, left : left + columns]

    def untouched():
        border = cp.ones(outer.shape, bool)
        border[2:-2, left : left + columns] = False
        assert bool((outer[border] == poison).all())

    return inner, untouched


@every
def test_products_agree_with_three_uncompiled_loops(cp, case, nonnegative):
    ops = bind(case.semiring, case.dtype, device="cuda", nonnegative=nonnegative)
    for m, k, n in ((1, 1, 1), (3, 1, 70), (33, 17, 9), (0, 3, 2), (2, 3, 0), (4, 0, 5), (1, 65, 1)):
        A, B, C = (entries(case, shape, 7, nonnegative) for shape in ((m, k), (k, n), (m, n)))
        got, untouched = window(cp, C)
        ops.gemm(got, cp.asarray(A), cp.asarray(B))
        agree(case, got, cases.product(case, A, B, C))
        untouched()
        got, untouched = window(cp, C)
        ops.matmul(got, cp.asarray(A), cp.asarray(B))
        agree(case, got, cases.product(case, A, B))
        untouched()


def check_tile(cp, case, nonnegative, ops, tile, sizes):
    """C ← C ⊕ A ⊗ B and C ← A ⊗ B by one tile, inside poisoned matrices."""
    m, k, n = sizes
    A, B, C = (entries(case, shape, 3, nonnegative) for shape in ((m, k), (k, n), (m, n)))
    for padding in (-n % 16, 1 - n % 2):  # rows at multiples of 16 bytes, and at odd places
        left, _ = window(cp, A, 0, padding)
        right, _ = window(cp, B, 0, padding)
        for accumulate in (True, False):
            got, untouched = window(cp, C, 0, padding)
            ops.multiply(tile, *map(matrix.view, (got, left, right)), accumulate=accumulate)
            agree(case, got, product(case, A, B, C if accumulate else np.full_like(C, case.zero)))
            untouched()


@every
def test_every_tile_at_its_edges(cp, case, nonnegative):
    ops = bind(case.semiring, case.dtype, device="cuda", nonnegative=nonnegative)
    for tile in ops.tile_table:
        for m, k, n in (
            (tile.bm + 5, 2 * tile.bk + 3, tile.bn + 7),
            (2 * tile.bm, tile.bk, tile.bn),
            (5, tile.bk + 1, 6),
        ):
            check_tile(cp, case, nonnegative, ops, tile, (m, k, n))


@every
@pytest.mark.parametrize(("whole", "splits"), [(0, 2), (0, 3), (1, 3), (5, 2)])
def test_tiles_split_along_k(cp, case, nonnegative, whole, splits, monkeypatch):
    monkeypatch.setattr(tiles, "splits", lambda *shape: splits)
    monkeypatch.setattr(tiles.Tile, "unsplit", lambda *shape: whole)
    ops = bind(case.semiring, case.dtype, device="cuda", nonnegative=nonnegative)
    monkeypatch.setattr(ops.kernels, "product", ops.kernels._launch)  # what was launched before is not remembered
    for tile in ops.tile_table[:2]:
        m, k, n = tile.bm + 5, 5 * tile.bk + 3, 2 * tile.bn + 7
        check_tile(cp, case, nonnegative, ops, tile, (m, k, n))


@every
def test_large_products_whose_rows_begin_anywhere(cp, case, nonnegative, monkeypatch):
    """Packed words come from an aligned copy of the right operand, strip by strip."""
    monkeypatch.setattr(
        backend.CudaBackend, "limits", dataclasses.replace(cards.limits("sm_90"), strip=256, strip_pairs=0)
    )
    ops = bind(case.semiring, case.dtype, device="cuda", nonnegative=nonnegative)
    for m, k, n in ((70, 75, 131), (5, 40, 600), (9, 3, 1)):
        A, B, C = (entries(case, shape, 5, nonnegative) for shape in ((m, k), (k, n), (m, n)))
        right, untouched_right = window(cp, B, 1, 2)
        got, untouched = window(cp, C)
        ops.gemm(got, cp.asarray(A), right)
        agree(case, got, product(case, A, B, C))
        untouched(), untouched_right()


@every
def test_products_in_place(cp, case, nonnegative):
    ops = bind(case.semiring, case.dtype, device="cuda", nonnegative=nonnegative)
    for m, n in ((1, 3), (63, 130), (64, 257), (65, 40), (131, 200)):
        D, R = entries(case, (m, m), 1, nonnegative), entries(case, (m, n), 2, nonnegative)
        nothing = np.full_like(R, case.zero)
        row, untouched = window(cp, R)
        ops.left_mul(cp.asarray(D), row)
        agree(case, row, product(case, D, R, nothing))
        untouched()
        C = np.ascontiguousarray(R.T)
        column, untouched = window(cp, C)
        ops.right_mul(column, cp.asarray(D))
        agree(case, column, product(case, C, D, nothing.T))
        untouched()


@every
@pytest.mark.parametrize("strips", [(70, 3), (64, 1), (None, None)], ids=str)
def test_products_in_place_by_strips(cp, case, nonnegative, strips, monkeypatch):
    ops = bind(case.semiring, case.dtype, device="cuda", nonnegative=nonnegative)
    if strips[0]:
        monkeypatch.setattr(panels, "sizes", lambda *panel: strips)
    m, n = 300, 150
    D, R = entries(case, (m, m), 1, nonnegative, 0.1), entries(case, (m, n), 2, nonnegative, 0.1)
    row, column = cp.asarray(R), cp.asarray(R.T.copy())
    ops.left_mul(cp.asarray(D), row)
    ops.right_mul(column, cp.asarray(D))
    agree(case, row, product(case, D, R, np.full_like(R, case.zero)))
    agree(case, column, product(case, R.T, D, np.full_like(R.T, case.zero)))


@every
@pytest.mark.parametrize("strips", [(70, 3), (64, 1), (200, 2)], ids=str)
def test_eliminations(cp, case, nonnegative, strips, monkeypatch):
    ops = bind(case.semiring, case.dtype, device="cuda", nonnegative=nonnegative)
    monkeypatch.setattr(panels, "sizes", lambda *panel: strips)
    for m, n in ((1, 1), (70, 71), (131, 200)):
        D, R, C = (entries(case, shape, seed, nonnegative, 0.1) for seed, shape in enumerate(((m, m), (m, n), (n, m))))
        rest = entries(case, (n, n), 3, nonnegative, 0.1)
        nothing = np.full_like(R, case.zero)
        row = product(case, D, R, nothing)
        expected = row, product(case, C, row, rest), product(case, C, D, nothing.T.copy())
        (r, r_whole), (c, c_whole), (x, x_whole) = (window(cp, X) for X in (R, C, rest))
        ops.eliminate(cp.asarray(D), r, c, x)
        for got, whole, part in zip((r, x, c), (r_whole, x_whole, c_whole), expected, strict=True):
            agree(case, got, part)
            whole()
        r, c, x = (cp.asarray(X, order="F") for X in (R, C, rest))  # columns that are contiguous, so by three verbs
        ops.eliminate(cp.asarray(D), r, c, x)
        for got, part in zip((r, x, c), expected, strict=True):
            agree(case, got, part)
    ops.eliminate(cp.asarray(D), r[:, :0], c[:0], x[:0, :0])
    agree(case, r, expected[0])
    x = cp.ascontiguousarray(x)
    ops.eliminate(cp.asarray(D)[:0, :0], r[:0], c[:, :0], x)  # nothing to go through changes nothing
    agree(case, x, expected[1])


@every
def test_pivot_blocks(cp, case, nonnegative):
    ops = bind(case.semiring, case.dtype, device="cuda", nonnegative=nonnegative)
    for n in (0, 1, 2, 15, 16, 17, 63, 64, 70):
        A = cases.random_matrix(case, (n, n), n, density=0.2)
        if case.semiring.name == "max_plus":
            if not nonnegative:
                A = np.where(A == case.zero, A, -np.abs(A)).astype(case.dtype)
            else:  # no cycle may gain: edges forwards only
                A = np.where(np.triu(np.ones((n, n), bool), 1) & (A != case.zero), np.abs(A), case.zero).astype(
                    case.dtype
                )
        got, untouched = window(cp, A)
        ops.closure(got)
        agree(case, got, closure(case, A))
        untouched()
        if n <= 17:
            agree(case, got, cases.closure(case, A))


@every
@pytest.mark.parametrize("which", [0, 1, 2, 3])
def test_closures_in_one_launch(cp, case, nonnegative, which, monkeypatch):
    ops = bind(case.semiring, case.dtype, device="cuda", nonnegative=nonnegative)
    geometry = ops.kernels.geometries[which % len(ops.kernels.geometries)]
    monkeypatch.setitem(ops.kernels.__dict__, "geometry", lambda n: geometry)
    for n in (65, 128, 193, 331):
        A = cases.random_matrix(case, (n, n), n, density=0.05)
        if case.semiring.name == "max_plus":  # no cycle may gain: edges forwards only
            A = np.where(np.triu(np.ones((n, n), bool), 1) & (A != case.zero), np.abs(A), case.zero).astype(case.dtype)
        got, untouched = window(cp, A)
        ops.closure(got)
        agree(case, got, closure(case, A))
        untouched()
        whole = cp.asarray(A)  # rows that are aligned, or not
        ops.closure(whole)
        agree(case, whole, closure(case, A))


@pytest.mark.parametrize("name", ["min_plus-float32", "min_plus-int16", "max_plus-int32"])
def test_products_whose_signs_change_from_call_to_call(cp, name):
    """Small ones are begun before anyone has looked at their operands."""
    case = next(c for c in cases.CASES if str(c) == name)
    positive, signed = (cases.random_matrix(case, (40, 40), 0, negative=negative) for negative in (False, True))
    for A, B in ((positive, positive), (signed, positive), (signed, signed), (positive, positive), (positive, signed)):
        nothing = np.full_like(A, case.zero)
        agree(case, matmul(cp.asarray(A), cp.asarray(B), case.semiring), product(case, A, B, nothing))
        agree(
            case,
            matmul(cp.asarray(A), cp.asarray(B), case.semiring, out=cp.asarray(A), accumulate=True),
            product(case, A, B, A),
        )
    if case.dtype.kind == "f":
        broken = positive.copy()
        broken[3, 4] = np.nan
        with pytest.raises(DomainError, match=r"\(3, 4\)"):
            matmul(cp.asarray(broken), cp.asarray(positive), case.semiring)


@every
@pytest.mark.parametrize("per_thread", [1, 4])
def test_single_steps(cp, case, nonnegative, per_thread):
    access = "shared" if case.dtype.itemsize % 4 == 0 else "rows"
    one_step(cp, case, nonnegative, per_thread=per_thread, access=access)


def test_steps_as_they_are_taught(cp):
    case = cases.Case(get("plus_times"), np.dtype("float64"))
    for access in ("rows", "columns", "pitched"):
        one_step(cp, case, False, access=access)
    ops = bind(case.semiring, case.dtype, device="cuda", access="pitched")
    assert ops.empty((5, 70)).strides == (1024, 8)
    for verb in ("step", "gemm"):
        assert re.fullmatch(r"\d+ registers, \d+ B shared(, \d+ B spilled)?, \d+% occupancy", ops.resources(verb, 300))
    table = compare_sizes([70], devices=["cuda"], kernels=True)
    assert len(table.rows) == 8
    assert all(row.same and row.resources for row in table.rows)


def one_step(cp, case, nonnegative, **options):
    ops = bind(case.semiring, case.dtype, device="cuda", nonnegative=nonnegative, **options)
    for n in (1, 7, 67):
        A = cases.random_matrix(case, (n, n), n)
        if nonnegative and case.semiring.name == "max_plus":  # no cycle may gain
            A = np.where(np.triu(np.ones((n, n), bool), 1) & (A != case.zero), -A, case.zero).astype(case.dtype)
        got, untouched = window(cp, A)
        for k in {0, n // 2, n - 1}:
            ops.step(got, k)
        expected = A
        for k in {0, n // 2, n - 1}:
            expected = step(case, expected, k)
        agree(case, got, expected)
        untouched()


def step(case, A, k):
    """One step of the elimination, by cases.closure on the matrix ordered so that k is alone."""
    add, D = UFUNCS[case.semiring.add.name], A.copy()
    s = case.semiring.star.python(D[k, k]) if case.semiring.star else add(case.one, D[k, k])
    s = np.array([[s]], dtype=case.dtype)
    zero = np.full((1, len(D)), case.zero)
    row = product(case, s, D[k : k + 1], zero)
    column = D[:, k : k + 1]
    out = product(case, column, row, D)
    out[:, k : k + 1] = product(case, column, s, zero.T)
    out[k], out[k, k] = row[0], s[0, 0]
    return out.astype(case.dtype)


@pytest.mark.parametrize(
    ("case", "nonnegative"),
    [(c, nonnegative) for c, nonnegative in BOUND if c.dtype.kind == "i" and c.semiring.mul.saturating],
    ids=[n for n, (c, _) in zip(NAMES, BOUND, strict=True) if c.dtype.kind == "i" and c.semiring.mul.saturating],
)
def test_integers_saturate_and_zero_absorbs(cp, case, nonnegative):
    info, rng = np.iinfo(case.dtype), np.random.default_rng(0)
    edge = [0, 1, 5, info.max - 1, info.max]
    if not nonnegative:
        edge += [-1, -5, info.min + 1, info.min]
    elif case.zero < 0:  # semiring.algebra.survey.fast: no sum beyond half of the range
        edge = [case.zero, 0, 1, 5, info.max // 4 - 1, info.max // 4]
    ops = bind(case.semiring, case.dtype, device="cuda", nonnegative=nonnegative)
    for seed in range(3):
        A, B, C = (
            rng.choice(np.array(edge, case.dtype), shape) for shape in ((19, 2 + seed), (2 + seed, 23), (19, 23))
        )
        got = cp.asarray(C)
        ops.gemm(got, cp.asarray(A), cp.asarray(B))
        np.testing.assert_array_equal(got.get(), cases.product(case, A, B, C))


@pytest.mark.parametrize("dtype", ["int16", "int32"])
@pytest.mark.parametrize("edges", [1, 3, 4, 5, 40])
def test_longest_paths_that_leave_little_room(cp, dtype, edges):
    n, heaviest = 70, np.iinfo(dtype).max // edges
    rng, zero = np.random.default_rng(edges), np.iinfo(dtype).min
    A = np.where(rng.random((n, n)) < 0.3, rng.integers(heaviest // 2, heaviest, (n, n), endpoint=True), zero)
    A = A.astype(dtype)
    case = next(c for c in cases.CASES if str(c) == f"max_plus-{dtype}")
    agree(case, matmul(cp.asarray(A), cp.asarray(A), "max_plus"), product(case, A, A, np.full_like(A, zero)))
    A[np.tril_indices(n)] = zero
    A[(np.arange(n)[:, None] // 20) == (np.arange(n) // 20)] = zero  # walks have three edges at most
    agree(case, apsp.closure(cp.asarray(A), "max_plus"), closure(case, A))


def test_subnormal_numbers_survive(cp):
    tiny = np.float32(1e-42)
    got = matmul(cp.full((2, 2), tiny), cp.full((2, 2), tiny), "min_plus")
    np.testing.assert_array_equal(got.get(), np.full((2, 2), tiny + tiny))


def test_negative_zeros_count_in_max_plus(cp):
    A = np.array([[-0.0, -np.inf], [-np.inf, -0.0]], np.float32)
    np.testing.assert_array_equal(matmul(cp.asarray(A), cp.asarray(A), "max_plus").get(), A)


@pytest.mark.parametrize("order", ["F", "reversed", "every second column", "broadcast"])
def test_views_of_any_layout(cp, order):
    case = next(c for c in cases.CASES if str(c) == "min_plus-float32")
    n = 70
    ops = bind(case.semiring, case.dtype, device="cuda")

    def laid(A):
        if order == "F":
            return cp.asarray(A.T.copy()).T
        if order == "reversed":
            return cp.asarray(A[::-1, ::-1].copy())[::-1, ::-1]
        if order == "broadcast":
            return cp.broadcast_to(cp.asarray(A[:1]), (n, n))
        wide = cp.zeros((n, 2 * n), A.dtype)
        wide[:, ::2] = cp.asarray(A)
        return wide[:, ::2]

    A, B, C = (cases.random_matrix(case, (n, n), seed) for seed in range(3))
    if order == "broadcast":
        A, B = (np.broadcast_to(X[:1], (n, n)) for X in (A, B))
        got = cp.asarray(C)
    else:
        got = laid(C)
    ops.gemm(got, laid(A), laid(B))
    agree(case, got, product(case, A, B, C))
    if order == "broadcast":
        return
    D = laid(C)
    ops.step(D, 3)
    agree(case, D, step(case, C, 3))
    D = laid(C)[:64, :64]
    ops.closure(D)
    agree(case, D, closure(case, C[:64, :64]))


@pytest.mark.parametrize("case", [*cases.CASES, *cases.USER_CASES], ids=str)
@pytest.mark.parametrize("schedule", ["iterative", "blocked", "recursive"])
def test_closures_by_every_schedule(cp, case, schedule):
    for n in (0, 1, 65, 131):
        A = cases.random_matrix(case, (n, n), n, density=0.05 if n > 65 else 0.2)
        given = cp.asarray(A)
        for block in (None, 20):
            got = apsp.closure(given, case.semiring, schedule=schedule, block=block)
            assert isinstance(got, cp.ndarray)
            agree(case, got, closure(case, A))
        np.testing.assert_array_equal(given.get(), A)


@pytest.mark.parametrize("star", cases.STARLESS.values(), ids=cases.STARLESS)
def test_a_star_of_integers_can_have_no_value(cp, star):
    """As on the CPU; a closure that exists is computed before and after."""
    s = cases.counting(star)
    acyclic = np.triu(np.full((5, 5), 2, np.int32), 1)
    for n in (2, 70, 150):
        A = np.zeros((n, n), np.int32)
        A[0, n - 1] = A[n - 1, 0] = 2
        assert apsp.closure(cp.asarray(acyclic), s).get()[0].tolist() == [1, 2, 6, 18, 54]
        for given in (A, cp.asarray(A)):
            with pytest.raises(DivergenceError, match=r"closure: .* star over counting is no number of int32\. Remove"):
                apsp.closure(given, s, device="cuda")
            np.testing.assert_array_equal(cp.asnumpy(given), A)
    # By kernels of the same text, in another backend, which has not counted yet.
    signed = cases.closure(cases.Case(s, np.dtype("int32")), -acyclic)
    np.testing.assert_array_equal(apsp.closure(cp.asarray(-acyclic), s).get(), signed)
    for schedule in cases.schedules_of(s):
        with pytest.raises(DivergenceError, match="no number of int32"):
            apsp.closure(cp.asarray(A), s, schedule=schedule, block=64)
    with pytest.raises(DivergenceError, match="matrix 1 of the batch"):
        apsp.closure(cp.asarray(np.stack([np.zeros_like(A), A])), s)
    with pytest.raises(DivergenceError, match="are lost by now"):
        apsp.closure(cp.asarray(A), s, overwrite=True)


@pytest.mark.parametrize(
    "name", ["min_plus-float32", "min_plus-int16", "min_plus-int64", "max_min-float64", "plus_times-float64"]
)
def test_closures_beyond_the_cutover(cp, name):
    case = next(c for c in cases.CASES if str(c) == name)
    n = 2 * cards.limits(compile.device_arch(0)).one_launch + 131
    A = cases.random_matrix(case, (n, n), 5, density=0.01)
    got = apsp.closure(cp.asarray(A), case.semiring)
    if name == "plus_times-float64":
        np.testing.assert_allclose(got.get(), np.linalg.inv(np.eye(n) - A), rtol=1e-9, atol=1e-12)
        return
    if case.semiring.name == "min_plus":
        np.testing.assert_array_equal(got.get(), cases.distances(A))
    else:
        np.testing.assert_array_equal(got.get(), apsp.closure(cp.asarray(A), case.semiring, schedule="iterative").get())


@pytest.mark.parametrize("dtype", ["float32", "int16", "float64"])
def test_closures_of_symmetric_matrices(cp, dtype):
    """By half of the products: SciPy's distances, and of sums that are rounded the same both ways."""
    n, rng = 2 * cards.limits(compile.device_arch(0)).one_launch + 131, np.random.default_rng(7)
    A = np.where(rng.random((n, n)) < 0.005, rng.integers(1, 99, (n, n)), 0)
    A = np.tril(A, -1) + np.tril(A, -1).T
    lengths = np.where(A == 0, cases.infinity(dtype), A).astype(dtype)
    np.testing.assert_array_equal(apsp.closure(cp.asarray(lengths)).get(), cases.distances(lengths))
    if dtype[0] == "f":
        weights = np.tril(rng.random((n, n)) + 0.1, -1).astype(dtype)
        weights = np.where(A == 0, np.inf, weights + weights.T).astype(dtype)
        got = apsp.closure(cp.asarray(weights))
        assert bool((got == got.T).all())
        np.testing.assert_allclose(
            got.get(), cases.distances(weights, dtype=float), rtol=1e-5 if dtype == "float32" else 1e-13
        )


def test_two_runs_give_the_same_bits(cp):
    n = 2600
    A = np.random.default_rng(0).random((n, n), dtype=np.float32)
    first, second = (apsp.closure(cp.asarray(A)).get() for _ in range(2))
    np.testing.assert_array_equal(first.view(np.int32), second.view(np.int32))


def test_negative_edges_and_negative_cycles(cp):
    rng = np.random.default_rng(1)
    n = 150
    potential = rng.integers(-100, 100, n)
    W = rng.integers(0, 60, (n, n)) + potential[None, :] - potential[:, None]
    A = np.where(rng.random((n, n)) < 0.9, np.inf, W)
    np.testing.assert_array_equal(apsp.closure(cp.asarray(A)).get(), apsp.closure(A))
    A[3, 9], A[9, 3] = -1, 0
    for schedule in ("iterative", "blocked", "recursive"):
        with pytest.raises(DivergenceError):
            apsp.closure(cp.asarray(A), schedule=schedule)


def test_a_closure_begun_by_an_earlier_decision(cp):
    """Which the survey, awaited afterwards, refutes: entries of another sign, none that are allowed, no closure."""
    rng, n = np.random.default_rng(5), 70
    A = rng.integers(1, 50, (n, n)).astype(np.float32)
    A[rng.random((n, n)) < 0.8] = np.inf
    potential = rng.integers(-60, 60, n)
    signed = (A + potential[:, None] - potential).astype(np.float32)  # without negative cycles
    cycle, damaged = A.copy(), A.copy()
    cycle[3, 4], cycle[4, 3], damaged[5, 6] = -9, 8, np.nan
    expected = {name: cases.floyd_warshall(X) for name, X in (("A", A), ("signed", signed))}
    for _ in range(2):
        for name, X in (("A", A), ("A", A), ("signed", signed), ("A", A)):
            np.testing.assert_array_equal(apsp.closure(cp.asarray(X)).get(), expected[name])
        with pytest.raises(DomainError, match="nan"):
            apsp.closure(cp.asarray(damaged))
        with pytest.raises(apsp.NegativeCycleError):
            apsp.closure(cp.asarray(cycle))


@pytest.mark.parametrize("semiring", ["plus_times", "log_plus"])
def test_a_sum_begun_by_an_earlier_decision(cp, semiring):
    """Convergent, then divergent, then convergent again."""
    n = 200
    X = np.random.default_rng(6).random((n, n)) / n
    for factor in (0.5, 0.7, 3.0, 0.5):
        A = (X * factor).astype(np.float32)
        given = cp.asarray(A if semiring == "plus_times" else np.log(A))
        if factor > 1:
            with pytest.raises(DivergenceError):
                apsp.closure(given, semiring)
            continue
        found, expected = apsp.closure(given, semiring).get(), np.linalg.inv(np.eye(n) - A.astype(np.float64))
        np.testing.assert_allclose(found if semiring == "plus_times" else np.exp(found), expected, rtol=1e-4)


def test_work_goes_to_the_callers_stream(cp):
    case = next(c for c in cases.CASES if str(c) == "min_plus-float32")
    ops = bind(case.semiring, case.dtype, device="cuda")
    A, C = (cases.random_matrix(case, (200, 200), seed) for seed in (1, 2))
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        a, got = cp.asarray(A), cp.asarray(C)
        ops.gemm(got, a, a)
        ops.left_mul(a, got)
        result = got.get(stream=stream)
    expected = product(case, A, product(case, A, A, C), np.full_like(C, case.zero))
    np.testing.assert_array_equal(result, expected)


def test_capture_into_a_graph(cp):
    """Nothing in a verb waits, so that a caller may record it."""
    case = next(c for c in cases.CASES if str(c) == "min_plus-float32")
    ops = bind(case.semiring, case.dtype, device="cuda")
    A = cases.random_matrix(case, (150, 150), 1)
    D = cp.asarray(A)
    ops.closure(D)  # compiles
    D[...] = cp.asarray(A)
    stream = cp.cuda.Stream(non_blocking=True)
    cp.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        ops.closure(D)
        graph = stream.end_capture()
        graph.launch()
    stream.synchronize()
    agree(case, D, closure(case, A))


@every
def test_closures_of_a_batch(case, nonnegative, cp):
    ops = bind(case.semiring, case.dtype, device="cuda", nonnegative=nonnegative)
    for n, count in ((1, 5), (17, 5), (64, 5), (65, 3), (128, 2), (130, 3), (130, 7), (200, 5)):
        A = np.stack([cases.random_matrix(case, (n, n), n + i % 2, density=0.2) for i in range(count)])
        if case.semiring.name == "max_plus":  # no cycle may gain
            A = np.where(A == case.zero, A, -np.abs(A)).astype(case.dtype)
            if nonnegative:
                A = np.where(np.triu(np.ones((n, n), bool), 1) & (A != case.zero), -A, case.zero).astype(case.dtype)
        whole, strided = cp.asarray(A), cp.asarray(np.repeat(A, 2, axis=2))[:, :, ::2]
        apart, wide = cp.empty_like(whole), cp.empty((count, n, 2 * n), case.dtype)[:, :, ::2]
        for given, out in ((whole, apart), (whole, wide), (strided, wide)):
            out[...] = 1
            ops.closure_batch(given, schedules.get("blocked"), out=out)
            np.testing.assert_array_equal(given.get(), A)
        ops.closure_batch(whole, schedules.get("blocked"))
        ops.closure_batch(strided, schedules.get("blocked"))
        np.testing.assert_array_equal(whole.get(), apart.get())
        np.testing.assert_array_equal(whole.get(), wide.get())
        np.testing.assert_array_equal(whole.get(), strided.get())
        for i in range(min(count, 2)):
            expected = closure(case, A[i])
            for got in whole[i::2] if count > 5 else (whole[i],):
                agree(case, got, expected)
    ops.closure_batch(cp.empty((0, 4, 4), case.dtype))
    with pytest.raises(ShapeError, match="closure_batch: A must be"):
        ops.closure_batch(cp.empty((2, 65, 64), case.dtype))
    with pytest.raises(ShapeError, match="closure_batch: out must be"):
        ops.closure_batch(cp.empty((2, 64, 64), case.dtype), out=cp.empty((3, 64, 64), case.dtype))


@pytest.mark.parametrize("n", [1, 7, 64, 65])
def test_a_batch_is_closed_in_one_call(n, cp):
    floyd = pytest.importorskip("scipy.sparse.csgraph").floyd_warshall
    A = np.random.default_rng(n).integers(1, 50, (6, n, n)).astype(np.float32)
    A[:, range(n), range(n)] = 0
    expected = np.stack([floyd(one) for one in A])
    there = cp.asarray(A)
    np.testing.assert_array_equal(apsp.closure(there).get(), expected)
    np.testing.assert_array_equal(there.get(), A)
    assert apsp.closure(there, overwrite=True) is there
    np.testing.assert_array_equal(there.get(), expected)
    got = apsp.closure(A, device="cuda")
    assert isinstance(got, np.ndarray)
    np.testing.assert_array_equal(got, expected)
    A[3, 0, 0] = np.nan
    with pytest.raises(DomainError, match=r"got nan at \(3, 0, 0\)" if n <= 64 else "got nan at"):
        apsp.closure(cp.asarray(A))


@every
def test_matrices_of_nothing(cp, case, nonnegative):
    s, dtype = case.semiring, case.dtype
    nothing = cp.empty((0, 0), dtype)
    for got in (eye(0, s, dtype=dtype, like=nothing), power(nothing, 0, s), power(nothing, 3, s)):
        assert (type(got), got.shape, got.dtype) == (cp.ndarray, (0, 0), dtype)
    for shapes in (((0, 0), (0, 0)), ((0, 3), (3, 2)), ((2, 3), (3, 0)), ((2, 0), (0, 3)), ((4, 2, 0), (0, 3))):
        A, B = (cp.ones(shape, dtype) for shape in shapes)
        got = matmul(A, B, s)
        assert got.shape == (*A.shape[:-1], B.shape[-1])
        assert bool((got == case.zero).all())
    for shape in ((0, 0), (0, 3, 3), (3, 0, 0)):
        for options in ({}, {"schedule": "iterative"}, {"overwrite": True}):
            got = apsp.closure(cp.empty(shape, dtype), s, **options)
            assert (got.shape, got.dtype) == (shape, dtype)
    np.testing.assert_array_equal(eye(3, s, dtype=dtype, like=nothing).get(), eye(3, s, dtype=dtype))


def test_factors_of_nothing(cp):
    for dtype in ("float32", "float64", "int32"):
        L, U = lu(cp.empty((0, 0), dtype))
        assert L.shape == U.shape == (0, 0)
    A = np.random.default_rng(0).random((40, 40)) + 40 * np.eye(40)
    L, U = lu(cp.asarray(A))
    np.testing.assert_array_equal(L.diagonal().get(), np.ones(40))
    np.testing.assert_allclose((L @ U).get(), A, rtol=1e-12)


def test_what_does_not_fit_is_refused(cp):
    ops = bind(get("min_plus"), "float32", device="cuda")
    A = cp.zeros((3, 4), cp.float32)
    with pytest.raises(ShapeError, match=r"gemm: sizes must fit, got \(3, 4\) from"):
        ops.gemm(A, A, A)
    with pytest.raises(DTypeError, match="gemm: matrices must be float32, got float64"):
        ops.gemm(A, A.astype(float), A)
    with pytest.raises(ShapeError, match="step: k must name a row"):
        ops.step(cp.zeros((3, 3), cp.float32), 3)


@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_operands_of_more_than_4_gib(cp, dtype):
    """Rows of A that lie 4 GiB and more below its first are read where they are, and none is taken for another."""
    ops = bind(get("min_plus"), dtype, device="cuda", nonnegative=True)
    size = np.dtype(dtype).itemsize
    ld, k, n = 3 << 14, 37, 70
    m = 5 * 2**30 // (ld * size) + 1
    if cp.cuda.runtime.memGetInfo()[0] < 6 * 2**30:
        pytest.skip("needs 6 GiB of the GPU's memory")
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 10_000, shape).astype(dtype) for shape in ((m, k), (k, n)))
    expected = cp.asarray((a[:, :, None] + b).min(1))
    A, B, C = cp.empty((m, ld), dtype)[:, :k], cp.asarray(b), cp.full((m, n), 30_000, dtype)
    A[...] = cp.asarray(a)
    ops.gemm(C, A, B)
    assert not (C != expected).any()
    ops.right_mul(A, B[:, :k])
    assert not (A != expected[:, :k]).any()


def test_uploads_and_downloads(cp):
    ops = bind(get("min_plus"), "float32", device="cuda")
    A = np.arange(12, dtype=np.float32).reshape(3, 4)
    for layout, view in cases.layouts(A):
        got = ops.upload(view)
        assert isinstance(got, cp.ndarray), layout
        np.testing.assert_array_equal(ops.download(got), A)
    there = cp.asarray(A)
    assert ops.upload(there, copy=False) is there
    assert ops.upload(there).data.ptr != there.data.ptr
    out = np.empty((4, 3), np.float32).T
    assert ops.download(there, out) is out
    np.testing.assert_array_equal(out, A)
    there_too = cp.empty_like(there)
    ops.download(there, there_too)
    np.testing.assert_array_equal(there_too.get(), A)


@pytest.mark.parametrize("name", ["min_plus", "plus_times", "max_min"])
def test_matrices_of_nothing_keep_their_dtype_on_the_way(name):
    for dtype in get(name).dtypes:
        for shape in ((0, 0), (0, 3, 3), (2, 0, 0)):
            D = apsp.closure(np.zeros(shape, dtype), name, device="cuda")
            assert isinstance(D, np.ndarray)
            assert (D.dtype, D.shape) == (np.dtype(dtype), shape)


@pytest.mark.parametrize("per_thread", [None, 4])
@pytest.mark.parametrize("overwrite", [False, True])
def test_batches_of_truth_values_go_to_the_device_and_back(per_thread, overwrite):
    A = np.random.default_rng(4).random((3, 5, 5)) < 0.3
    expected = np.stack([cases.closure(cases.Case(get("lor_land"), A.dtype), one) for one in A])
    D = apsp.closure(A, "boolean", device="cuda", per_thread=per_thread, overwrite=overwrite)
    assert (D is A) is overwrite
    np.testing.assert_array_equal(D, expected)


@pytest.mark.parametrize("name", ["min_plus", "max_plus", "max_min", "min_max"])
@pytest.mark.parametrize("largest", [1000, 1 << 40])
def test_closures_and_products_of_int64_that_int32_may_hold(cp, name, largest, monkeypatch):
    """Computed in int32 where all fits, which tells nothing of itself: SciPy's distances, and NumPy's minima."""
    s, n, rng = get(name), 300, np.random.default_rng(1)
    monkeypatch.setattr("apsp.road.solve.INT32", 2)
    case = cases.Case(s, np.dtype("int64"))
    A = rng.integers(1, largest, (n, n)) * (-1 if name == "max_plus" else 1)
    A[rng.random((n, n)) < 0.9] = case.zero
    expected = A.copy()
    np.fill_diagonal(expected, s.add.ufunc(expected.diagonal(), case.one))
    for k in range(n):
        through = s.mul.ufunc(expected[:, k, None], expected[k])
        if s.lengths:  # which does not wrap around from the semiring's zero
            through[(expected[:, k, None] == case.zero) | (expected[k] == case.zero)] = case.zero
        expected = s.add.ufunc(expected, through)
    for given in (A, cp.asarray(A)):
        before = given.copy()
        np.testing.assert_array_equal(cp.asnumpy(apsp.closure(given, s, null_value=None, device="cuda")), expected)
        np.testing.assert_array_equal(cp.asnumpy(given), cp.asnumpy(before))
    there = cp.asarray(A)
    assert apsp.closure(there, s, null_value=None, overwrite=True) is there
    np.testing.assert_array_equal(there.get(), expected)
    monkeypatch.setitem(LENGTHS, "cuda", 0)
    if not s.lengths:
        C = matmul(cp.asarray(A), cp.asarray(A[:, :200]), s)
        cases.check_product(case, A, A[:, :200], C.get())
        A[3, 4] = np.iinfo(np.int32).max  # an end of int32, which stands for none of int64
        C = matmul(cp.asarray(A), cp.asarray(A[:, :200]), s)
        cases.check_product(case, A, A[:, :200], C.get())


@pytest.mark.parametrize("overwrite", [False, True])
def test_many_small_matrices_of_truth_values_are_closed_together(cp, overwrite):
    A = np.random.default_rng(4).random((200, 33, 33)) < 0.04
    expected = np.stack([cases.closure(cases.Case(get("lor_land"), A.dtype), one) for one in A[::40]])
    for given in (A.copy(), cp.asarray(A), cp.asarray(A).transpose(0, 2, 1)):
        D = apsp.closure(given, "boolean", device="cuda", overwrite=overwrite)
        assert (D is given) is overwrite
        found = cp.asnumpy(D if given.flags.c_contiguous else D.transpose(0, 2, 1))
        np.testing.assert_array_equal(found[::40], expected)
        if not overwrite:
            np.testing.assert_array_equal(
                cp.asnumpy(given if given.flags.c_contiguous else given.transpose(0, 2, 1)), A
            )


@pytest.mark.parametrize("name", ["max_min", "min_max"])
def test_negative_zeros_are_zeros_beside_infinities(cp, name):
    """The pattern of −0 is below that of −∞."""
    s, rng = get(name), np.random.default_rng(2)
    A = rng.choice(np.array([-0.0, 0.0, 1, 2, np.inf, -np.inf], "f4"), (70, 70))
    expected = A.copy()
    np.fill_diagonal(expected, s.one)
    for k in range(70):
        expected = s.add.ufunc(expected, s.mul.ufunc(expected[:, k, None], expected[k]))
    np.testing.assert_array_equal(apsp.closure(cp.asarray(A), s, null_value=None).get(), expected)
    cases.check_product(cases.Case(s, A.dtype), A, A, matmul(cp.asarray(A), cp.asarray(A), s).get())
