"""The CPU backend's verbs against the uncompiled oracle, at awkward sizes, layouts and values."""

from __future__ import annotations

import math
import sys
import threading
from dataclasses import replace
from typing import Any

import cases
import emulated
import numpy as np
import pytest
from cases import CASES, USER_CASES, Case, random_matrix, same
from processes import python

from semiring import Op, Semiring, Star, get
from semiring.algebra.records import INTEGERS
from semiring.host import compiling
from semiring.host.errors import DeviceError, DTypeError
from semiring.kernels.backend import bind
from semiring.kernels.cpu.dense.backend import STEP, _worth
from semiring.kernels.cpu.dense.pivot import SMALL

# The catalog's Boolean semiring has packed words of its own.
ALL = [case for case in (*CASES, *USER_CASES) if case.dtype.kind != "b"]
SHAPES = ((0, 3, 2), (3, 0, 2), (1, 0, 4), (1, 1, 1), (5, 7, 3), (13, 31, 66), (65, 33, 63), (6, 257, 64), (64, 5, 131))


def layouts(A: np.ndarray) -> dict[str, np.ndarray]:
    """The same matrix in every layout; all but `read_only` writable."""
    m, n = A.shape
    sliced = np.zeros((2 * m + 1, 3 * n + 2), A.dtype)[1 : 2 * m + 1 : 2, 2 : 3 * n + 2 : 3]
    corner = np.zeros((m + 3, n + 5), A.dtype)[1 : m + 1, 2 : n + 2]
    backwards = np.zeros((m, n), A.dtype)[::-1, ::-1]
    out = {"C": A.copy(), "fortran": np.asfortranarray(A)}
    for name, view in (("sliced", sliced), ("corner", corner), ("backwards", backwards)):
        view[...] = A
        out[name] = view
    return out


def ops_of(case: Case, **options: Any) -> Any:
    return bind(case.semiring, case.dtype, threads=options.pop("threads", 2), **options)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_products(case: Case) -> None:
    ops = ops_of(case)
    for seed, (m, k, n) in enumerate(SHAPES):
        A, B, C = (
            random_matrix(case, shape, seed + i, negative=True) for i, shape in enumerate(((m, k), (k, n), (m, n)))
        )
        expected, alone = cases.product(case, A, B, C), cases.product(case, A, B)
        ops.gemm(C, A, B)
        same(case, C, expected)
        ops.matmul(C, A, B)
        same(case, C, alone)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_panels_in_place(case: Case) -> None:
    ops = ops_of(case)
    for n, others in ((0, 3), (1, 1), (7, 66), (65, 5), (33, 64)):
        D, R = random_matrix(case, (n, n), n), random_matrix(case, (n, others), n + 1)
        expected = cases.product(case, D, R)
        ops.left_mul(D, R)
        same(case, R, expected)
        D, C = random_matrix(case, (n, n), n, negative=True), random_matrix(case, (others, n), n + 1, negative=True)
        expected = cases.product(case, C, D)
        ops.right_mul(C, D)
        same(case, C, expected)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_closure_and_steps(case: Case) -> None:
    ops = ops_of(case)
    for n in (0, 1, 2, 17, 64, 67):
        A = random_matrix(case, (n, n), n)
        expected = cases.closure(case, A)
        D = A.copy()
        ops.closure(D)
        same(case, D, expected)
        D = np.asfortranarray(A)
        for k in range(n):
            ops.step(D, k)
        same(case, D, expected)


@pytest.mark.parametrize("name", ["min_plus-float32", "min_plus-int16", "max_min-float64", "log_plus-float64"])
def test_every_layout(name: str) -> None:
    case = next(case for case in ALL if str(case) == name)
    ops, n = ops_of(case), 67
    A, B, C = (random_matrix(case, (n, n), seed) for seed in range(3))
    product, closed = cases.product(case, A, B, C), cases.closure(case, A)
    left, right = cases.product(case, A, B), cases.product(case, C, A)
    for layout, a in layouts(A).items():
        b, c = layouts(B)[layout], layouts(C)[layout]
        a.flags.writeable = b.flags.writeable = False
        for out in (c, C.copy(), np.asfortranarray(C)):
            ops.gemm(out, a, b)
            same(case, out, product)
        R, L = layouts(B)[layout], layouts(C)[layout]
        ops.left_mul(a, R)
        same(case, R, left)
        ops.right_mul(L, a)
        same(case, L, right)
        D = layouts(A)[layout]
        ops.closure(D)
        same(case, D, closed)
        D = layouts(A)[layout]
        for k in range(n):
            ops.step(D, k)
        same(case, D, closed)


@pytest.mark.parametrize("threads", [1, 3, 70])
@pytest.mark.parametrize("dtype", ["float32", "int16", "int64"])
def test_many_strips(dtype: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A workspace far too small for the operands cuts them into strips; results and in-place safety do not change."""
    from semiring.kernels.cpu.dense import backend

    for name, value in (("WORKSPACE", 1), ("CALL", 1 << 12), ("SIDE", 13), ("ALONE", 0), ("STEP", 64)):
        monkeypatch.setattr(backend, name, value)
    monkeypatch.setattr(backend, "_plan", backend._plan.__wrapped__)  # made under these values, and not kept
    case = Case(get("min_plus"), np.dtype(dtype))
    ops = ops_of(case, threads=threads)
    A, B, C = (random_matrix(case, shape, i, negative=True) for i, shape in enumerate(((29, 261), (261, 70), (29, 70))))
    expected = cases.product(case, A, B, C)
    alone = cases.product(case, A, B)
    ops.gemm(C, A, B)
    same(case, C, expected)
    ops.matmul(C, A, B)
    same(case, C, alone)
    D, R = random_matrix(case, (67, 67), 5), random_matrix(case, (67, 80), 6)
    expected, mirrored = cases.product(case, D, R), cases.product(case, R.T, D)
    C = R.T.copy()
    ops.left_mul(D, R)
    ops.right_mul(C, D)
    same(case, R, expected)
    same(case, C, mirrored)
    expected = cases.closure(case, D)
    ops.closure(D)
    same(case, D, expected)


NONNEGATIVE = [
    Case(get(name), np.dtype(dtype))
    for name in ("min_plus", "max_plus", "max_min", "min_max", "max_times", "min_times")
    for dtype in get(name).dtypes
]


@pytest.mark.parametrize(
    ("case", "integers"),
    [(c, i) for c in NONNEGATIVE for i in (True, False) if i or c.dtype.kind == "f"],
    ids=lambda value: {True: "integers", False: "floats"}[value] if isinstance(value, bool) else str(value),
)
def test_faster_on_nonnegative_entries(case: Case, integers: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variants for entries ≥ 0, with the values at which they could go wrong: zeros, −0, the largest, the zero."""
    from semiring.kernels.cpu import binding, kinds

    # Whichever instructions this processor prefers, both are right.
    monkeypatch.setattr(kinds, "integer_minimum", lambda itemsize: integers)
    monkeypatch.setattr(kinds, "choose", kinds.choose.__wrapped__)
    monkeypatch.setattr(binding, "_bind", binding._bind.__wrapped__)
    ops = ops_of(case, nonnegative=True)
    rng = np.random.default_rng(7)
    if case.dtype.kind == "i":
        top = np.iinfo(case.dtype).max
        pool = [0, 1, 2, top // 2, top // 2 + 1, top - 1, top]
    else:
        pool = [0.0, -0.0, 1.0, 2.0**-140, 2.0**100, np.finfo(np.float32).max / 2]
        if case.semiring.name in ("max_times", "min_times"):
            pool = [0.25, 0.5, 1.0, 2.0, 1024.0]
        if not case.semiring.open_high:
            pool.append(np.inf)
    pool.append(case.zero.item())
    A, B, C = (rng.choice(pool, shape).astype(case.dtype) for shape in ((29, 70), (70, 67), (29, 67)))
    expected = cases.product(case, A, B, C)
    ops.gemm(C, A, B)
    same(case, C, expected)
    A = rng.choice(pool[:3] if case.dtype.kind == "i" else pool, (66, 66)).astype(case.dtype)
    if case.semiring.name == "min_plus":
        expected = cases.closure(case, A)
        ops.closure(A)
        same(case, A, expected)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["min_plus", "max_plus"])
def test_integers_saturate(name: str, dtype: str) -> None:
    """Sums stop at the ends of the dtype, 0 absorbs, and nothing wraps, negative weights included."""
    case = Case(get(name), np.dtype(dtype))
    info = np.iinfo(dtype)
    pool = [info.min, info.min + 1, info.min // 2, -5, -1, 0, 1, 5, info.max // 2 + 1, info.max - 1, info.max]
    rng = np.random.default_rng(3)
    A, B, C = (rng.choice(pool, shape).astype(dtype) for shape in ((30, 5), (5, 70), (30, 70)))
    expected = cases.product(case, A, B, C)
    ops_of(case).gemm(C, A, B)
    same(case, C, expected)
    # One step meets the same rules in scalar code.
    D, k = rng.choice(pool, (41, 41)).astype(dtype), 7
    D[k, k] = case.one
    expected = cases.product(case, D[:, k : k + 1], D[k : k + 1], D)
    expected[k] = D[k]
    expected[:, k] = D[:, k]
    ops_of(case).step(D, k)
    same(case, D, expected)


@pytest.mark.parametrize("dtype", ["int32", "int64", pytest.param("int16", marks=pytest.mark.release)])
def test_a_users_saturating_product(dtype: str) -> None:
    """max-times on integers is not in the catalog: `Op.python`, evaluated exactly and clamped."""
    declared = Semiring(
        "int_max_times",
        add=get("max_times").add,
        mul=get("max_times").mul,
        zero=0,
        one=1,
        dtypes=INTEGERS,
        domain=(0, float("inf")),
        samples=(0, 1, 2, 3),
    )
    case = Case(declared, np.dtype(dtype))
    info = np.iinfo(dtype)
    root = int(info.max**0.5)
    pool = [0, 1, 2, 3, root, root + 1, info.max // 2, info.max // 2 + 1, info.max // 3, info.max - 1, info.max]
    rng = np.random.default_rng(5)
    A, B = rng.choice(pool, (20, 1)).astype(dtype), rng.choice(pool, (1, 90)).astype(dtype)
    C = np.zeros((20, 90), dtype)
    expected = cases.product(case, A, B, C)
    ops_of(case).gemm(C, A, B)
    same(case, C, expected)


def test_a_users_boolean() -> None:
    """A semiring of one's own on bool, ⊕ = or, ⊗ = and, takes the general path and agrees with NumPy."""
    either = Op("either", python=lambda a, b: a or b, cuda="a | b")
    both = Op("both", python=lambda a, b: a and b, cuda="a & b")
    mine = Semiring("mine", add=either, mul=both, zero=False, one=True, dtypes=("bool",), samples=(False, True))
    ops = bind(mine, np.bool_)
    rng = np.random.default_rng(1)
    A, B = rng.random((40, 50)) < 0.1, rng.random((50, 300)) < 0.1
    C = np.zeros((40, 300), bool)
    ops.gemm(C, A, B)
    np.testing.assert_array_equal(C, A.astype(int) @ B.astype(int) > 0)


def test_semirings_that_are_computed_alike_share_machine_code() -> None:
    """By the same instructions, or the same functions; what differs in anything that counts is compiled."""
    from semiring.kernels.cpu import kinds

    def code(s: Semiring, dtype: str = "float64", nonnegative: bool = False) -> str:
        return kinds.choose(s, np.dtype(dtype), nonnegative).code.label

    tropical, widest = get("min_plus"), get("max_min")
    alike = replace(tropical, name="alike", aliases=(), domain=(0, math.inf))
    assert [code(alike, dtype, b) for dtype in alike.dtypes for b in (False, True)] == ["min_plus"] * 10
    assert code(get("reliability")) == code(get("max_times")) == "max_times"
    assert [code(s) for s in cases.CATALOG if "float64" in s.dtypes and s.name != "reliability"] == [
        s.name for s in cases.CATALOG if "float64" in s.dtypes and s.name != "reliability"
    ]
    least = Op("least", python=lambda a, b: a if a < b else b, cuda="min(a, b)", selects="least")
    contrary = replace(least, python=lambda a, b: a if a > b else b, selects="greatest", ufunc=np.maximum, simd="min")
    either = replace(get("lor_land").add, python=lambda a, b: b or a)

    def other(a: float, b: float) -> float:
        return b if b < a else a

    unlike = {
        "truths": replace(get("lor_land"), name="truths", aliases=(), add=either),
        "functions": replace(alike, name="functions", add=least),
        "other_functions": replace(alike, name="other_functions", add=replace(least, python=other)),
        "zero": replace(alike, name="zero", dtypes=("float64",), zero=1e300),
        "one": replace(widest, name="one", aliases=(), dtypes=("float64",), one=1e300),
        "contrary": replace(alike, name="contrary", add=contrary),
        "star": replace(alike, name="star", star=Star(python=lambda a: 0.0, cuda="T(0)")),
        "sums": replace(get("plus_times"), name="sums", aliases=()),  # a star in Python, though it is the same
    }
    assert [code(s, s.dtypes[-1]).partition("#")[0] for s in unlike.values()] == list(unlike)
    assert code(replace(unlike["functions"], name="renamed", domain=(0, math.inf))) == code(unlike["functions"])
    assert code(replace(unlike["zero"], name="renamed")) == code(unlike["zero"])
    case = Case(alike, np.dtype("int32"))
    A = random_matrix(case, (70, 70), 3)
    heard: list[compiling.Notice] = []
    bind(tropical, "int32").closure(A.copy())  # compiled here, or found on disk
    expected = cases.closure(case, A)
    with compiling.listening(heard.append):
        ops_of(case).closure(A)
    same(case, A, expected)
    assert not heard


def test_noncommutative_product_keeps_its_order() -> None:
    """⊗ = "the first of both" in Fortran layout: no transposition may swap the operands."""
    first = Op("first", python=lambda a, b: a, cuda="a")
    mine = Semiring("min_first", add=get("min_plus").add, mul=first, zero=np.inf, one=0, samples=(0, 1, 2))
    ops = bind(mine, np.float64)
    A, B = np.random.default_rng(2).random((2, 33, 33))
    C = np.full((33, 33), np.inf, order="F")
    ops.gemm(C, np.asfortranarray(A), np.asfortranarray(B))
    np.testing.assert_array_equal(C, np.repeat(A.min(axis=1)[:, None], 33, axis=1))


def test_upload_and_download() -> None:
    ops = bind(get("min_plus"), np.int32)
    swapped = np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3))
    A = ops.upload(swapped)
    assert A.dtype == np.int32
    assert A.flags.c_contiguous
    np.testing.assert_array_equal(A, swapped)
    same_memory = ops.upload(A, copy=False)
    assert same_memory is A
    out = np.zeros((2, 3), np.int32, order="F")
    assert ops.download(A, out=out) is out
    np.testing.assert_array_equal(out, swapped)
    assert ops.empty((2, 3)).dtype == np.int32
    assert ops.workspace(4096) <= 0.1 * 4096 * 4096 * 4


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DTypeError, match="max_times is defined on float32, float64, got int32"):
        bind(get("max_times"), np.int32)
    with pytest.raises(DeviceError, match="threads must be a positive integer, got 0"):
        bind(get("min_plus"), np.int32, threads=0)
    monkeypatch.setenv("SEMIRING_NUM_THREADS", "many")
    with pytest.raises(DeviceError, match="SEMIRING_NUM_THREADS must be a positive integer, got 'many'"):
        bind(get("min_plus"), np.int32)
    monkeypatch.setenv("SEMIRING_NUM_THREADS", "5")
    assert bind(get("min_plus"), np.int32).threads == 5


@pytest.mark.busy
def test_several_threads_at_once() -> None:
    """Each calling thread has its own workspace."""
    case = Case(get("min_plus"), np.dtype("int32"))
    ops = ops_of(case)
    inputs = [random_matrix(case, (90, 90), seed) for seed in range(4)]
    results = [A.copy() for A in inputs]
    expected = [cases.product(case, A, A) for A in inputs]

    def work(i: int) -> None:
        for _ in range(20):
            C = results[i]
            C[...] = case.zero
            ops.gemm(C, inputs[i], inputs[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for got, want in zip(results, expected, strict=True):
        same(case, got, want)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names x86 features")
@pytest.mark.parametrize(
    ("features", "registers"),
    [
        pytest.param("+avx2,+avx,+sse4.2,+fma,-avx512f", 16, marks=pytest.mark.release),  # .ci/avx2 runs more of it
        pytest.param("+sse2,-avx,-avx2,-avx512f", 16, marks=pytest.mark.release),
        ("+sse2,-avx,-avx2,-avx512f", 32),
    ],
    ids=["AVX2", "SSE2", "tiles of NEON"],
)
def test_narrower_vectors(features: str, registers: int) -> None:
    """The code for machines without AVX-512, and without AVX at all, in a process that may not use them."""
    import platform

    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("names x86 features")
    script = f"from semiring.kernels.cpu import features; features.registers = lambda: {registers}"
    script += """
import numpy as np, cases
from semiring import get
from semiring.kernels.backend import bind
for case, nonnegative in (("min_plus float32", True), ("min_plus int16", False), ("max_min float64", False)):
    name, dtype = case.split()
    case = cases.Case(get(name), np.dtype(dtype))
    A, B, C = (cases.random_matrix(case, s, i) for i, s in enumerate(((9, 40), (40, 70), (9, 70))))
    expected = cases.product(case, A, B, C)
    ops = bind(case.semiring, case.dtype, nonnegative=nonnegative)
    assert ops.kind.tile.vectors == features.registers() // 8
    ops.gemm(C, A, B)
    cases.same(case, C, expected)
"""
    python(script, env={"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": features})


@pytest.mark.parametrize("name", ["min_plus-int32", "plus_times-float64"])
def test_deep_products_are_cut_along_their_depth(name, monkeypatch):
    """A workspace far too small for them: three slabs are packed at a time, and the parts meet."""
    from semiring.kernels.cpu.dense import backend

    monkeypatch.setattr(backend, "WORKSPACE", 1)
    monkeypatch.setattr(backend, "_plan", backend._plan.__wrapped__)
    case = next(c for c in CASES if str(c) == name)
    ops = bind(case.semiring, case.dtype, threads=1)
    A, B, C = (random_matrix(case, shape, i) for i, shape in enumerate(((3, 1700), (1700, 5), (3, 5))))
    expected, alone = cases.product(case, A, B, C), cases.product(case, A, B)
    ops.gemm(C, A, B)
    same(case, C, expected)
    ops.matmul(C, A, B)
    same(case, C, alone)


@pytest.mark.skipif(sys.platform != "linux", reason="pages that nobody may touch, by mprotect")
@pytest.mark.parametrize("strips", [False, True])
def test_nothing_is_read_beyond_an_operand(strips, monkeypatch):
    """Operands end where a page begins that nobody may touch: reading it ends the process."""
    from semiring.kernels.cpu.dense import backend

    if strips:
        for name, value in (("WORKSPACE", 120_000), ("SIDE", 13), ("ALONE", 0), ("PACK_ALONE", 0)):
            monkeypatch.setattr(backend, name, value)
        monkeypatch.setattr(backend, "_plan", backend._plan.__wrapped__)
    case = next(c for c in CASES if str(c) == "min_plus-int32")
    ops = bind(case.semiring, case.dtype, threads=3 if strips else 1)
    for m, k, n in ((8, 8, 8), (29, 264, 72), (67, 40, 104), (1, 8, 24), (8, 256, 400)):
        A, B, C = (random_matrix(case, shape, i) for i, shape in enumerate(((m, k), (k, n), (m, n))))
        a, b, c = (emulated.asarray(X) for X in (A, B, C))
        ops.gemm(*(np.asarray(X) for X in (c, a, b)))
        same(case, np.asarray(c), cases.product(case, A, B, C))
        c, b = (emulated.asarray(X.T) for X in (C, B))  # columns are contiguous
        ops.gemm(np.asarray(c).T, np.asarray(a), np.asarray(b).T)
        same(case, np.asarray(c).T, cases.product(case, A, B, C))


@pytest.mark.parametrize("name", ["min_plus-float32", "min_plus-int16", "plus_times-float64", "log_plus-float64"])
def test_a_pivot_block_writes_to_its_workspace_alone(name):
    case = next(c for c in cases.CASES if str(c) == name)
    ops = bind(case.semiring, case.dtype, threads=1)
    for n in (1, 2, 63, 64, 65, 128, 130, 256)[: 6 if ops.pivot == 128 else 8]:
        A = cases.random_matrix(case, (n, n), seed=n)
        size = ops.verb_workspace("closure", n, n, n)
        work = np.full(size + 8192, 0x5C, np.uint8)
        start = -work.ctypes.data % 64
        ops._code.closure(STEP, n, n, A.ctypes.data, *A.strides, work.ctypes.data + start)
        assert (work[:start] == 0x5C).all()
        assert (work[start + size :] == 0x5C).all()


@pytest.mark.parametrize(
    ("name", "nonnegative"),
    [
        ("min_plus-float32", False),
        ("min_plus-int32", True),
        ("min_plus-int32", False),
        ("max_min-int16", False),
        ("plus_times-float64", False),
        ("log_plus-float32", False),
    ],
)
def test_batches_of_small_matrices(name, nonnegative):
    """Sizes around those that are closed by full rows, two at a time: strides, threads, what lies between."""
    case = next(c for c in CASES if str(c) == name)
    ops = bind(case.semiring, case.dtype, nonnegative=nonnegative, threads=2)
    for n in range(1, SMALL + 2):
        matrices = np.stack([random_matrix(case, (n, n), seed=10 * n + i) for i in range(5)])
        if nonnegative:
            matrices = np.where(matrices < 0, -matrices, matrices)
        expected = np.stack([cases.closure(case, A) for A in matrices])
        for batch in (1, 2, 5):
            around = np.full((batch, n + 2, n + 3), case.one, case.dtype)
            inside = around[:, 1:-1, 2:-1]
            for view in (inside, inside.transpose(0, 2, 1), inside[::-1, ::-1, ::-1]):
                view[...] = matrices[:batch]
                ops.closure_batch(view)
                same(case, view, expected[:batch])
                view[...] = case.one
                np.testing.assert_array_equal(around, case.one)
        out = np.empty_like(matrices)
        before = matrices.copy()
        ops.closure_batch(matrices, out=out)
        same(case, out, expected)
        np.testing.assert_array_equal(matrices, before)
        ops.closure_batch(matrices[:0])
        if n == SMALL:  # enough for two threads
            many = np.tile(matrices, (500, 1, 1))
            ops.closure_batch(many)
            same(case, many, np.tile(expected, (500, 1, 1)))


def test_threads_are_as_many_as_work_is_worth():
    """Two from `alone` on, twice as many for four times the work, and never more than there are."""
    assert [_worth(8, work, 100) for work in (0, 99, 100, 224, 225, 400, 1600, 10**9)] == [1, 1, 2, 2, 3, 4, 8, 8]
    assert _worth(1, 10**9, 100) == 1
    assert _worth(8, 1, 0) == 8
