"""Large arrays to the GPU and back, and the one look at every entry there, against NumPy."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import cases
import numpy as np
import pytest

import apsp
from semiring import DomainError, NegativeCycleError, get
from semiring.algebra import dtypes
from semiring.algebra.survey import survey, surveys
from semiring.kernels.backend import cuda_available

pytestmark = pytest.mark.gpu


@pytest.fixture
def transfer():
    if not cuda_available():
        pytest.skip("no NVIDIA GPU with CuPy on this machine")
    from semiring.kernels.cuda import transfer

    return transfer


@pytest.mark.parametrize("size", [0, 1, 1000, "piece-1", "piece", "piece+1", "ring+5"])
def test_there_and_back(transfer, cp, size, monkeypatch):
    """The ring in small: pieces of 64 KiB, for arrays that end before, at and after a buffer's edge."""
    monkeypatch.setattr(transfer, "PIECE", 1 << 16)
    monkeypatch.setattr(transfer, "LARGE", 1 << 12)
    elements = {"piece-1": 16383, "piece": 16384, "piece+1": 16385, "ring+5": 4 * 16384 * 3 + 5}.get(size, size)
    A = np.random.default_rng(0).random(elements).astype(np.float32).reshape(1, -1)
    there = transfer.upload(A, A.dtype)
    assert isinstance(there, cp.ndarray)
    np.testing.assert_array_equal(there.get(), A)
    out = np.full_like(A, np.nan)
    assert transfer.download(there, out) is out
    np.testing.assert_array_equal(out, A)
    home, pages = transfer.fresh(A.shape, A.dtype)
    if pages:
        pages.result()
    np.testing.assert_array_equal(transfer.download(there, home), A)


def test_any_layout(transfer, cp):
    A = np.arange(12, dtype=np.float32).reshape(3, 4)
    for layout, view in cases.layouts(A):
        np.testing.assert_array_equal(transfer.upload(view, A.dtype).get(), A, err_msg=layout)
    np.testing.assert_array_equal(transfer.upload(A.astype(">f4"), A.dtype).get(), A)
    out = np.empty((4, 3), np.float32).T
    transfer.download(cp.asarray(A), out)
    np.testing.assert_array_equal(out, A)
    transfer.download(cp.asarray(A.T).T, out)
    np.testing.assert_array_equal(out, A)


def test_large_closures_come_home(cp):
    n = 3000  # 36 MB: beyond what is sent in one go
    A = np.random.default_rng(1).integers(1, 1000, (n, n)).astype(np.float32)
    expected = apsp.closure(cp.asarray(A)).get()
    given = A.copy()
    got = apsp.closure(given, device="cuda")
    assert isinstance(got, np.ndarray)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(given, A)
    assert apsp.closure(given, device="cuda", overwrite=True) is given
    np.testing.assert_array_equal(given, expected)


def test_an_error_leaves_an_overwritten_array_alone(cp):
    A = np.full((100, 100), np.inf)
    A[3, 9], A[9, 3] = -1, 0
    given = A.copy()
    with pytest.raises(NegativeCycleError):
        apsp.closure(given, device="cuda", overwrite=True)
    np.testing.assert_array_equal(given, A)
    given[5, 7] = np.nan
    with pytest.raises(DomainError, match=r"got nan at \(5, 7\)"):
        apsp.closure(given, device="cuda", overwrite=True)


@pytest.mark.parametrize("case", cases.CASES, ids=str)
def test_a_survey_sees_what_numpy_sees(cp, case):
    for seed, shape in enumerate([(1, 1), (7, 5), (130, 131), (3, 40, 41)]):
        A = cases.random_matrix(case, (int(np.prod(shape[:-1])), shape[-1]), seed, density=0.3).reshape(shape)
        for plant in (None, "zero", "low", "minus zero"):
            B = A.copy()
            if plant == "zero":
                B.flat[-1] = case.zero
            if plant == "low" and case.dtype.kind in "if" and case.semiring.domain[0] < 0:
                B.flat[B.size // 2] = -5
            if plant == "minus zero" and case.dtype.kind == "f" and not case.semiring.open_low:
                B.flat[0] = -0.0
            expected, got = survey(B, case.semiring, where="x"), survey(cp.asarray(B), case.semiring, where="x")
            assert got == expected, plant
            assert survey(cp.asarray(np.repeat(B, 2, axis=-1))[..., ::2], case.semiring, where="x") == expected


def test_a_survey_counts_zeros_off_the_diagonal(cp):
    s = get("min_plus")
    for dtype in ("int16", "int32", "int64", "float32", "float64"):
        for shape in ((1, 1), (2, 2), (130, 130), (2100, 2100), (5, 33, 33), (40, 70)):
            A = np.ones(shape, dtype)
            first = (3, 1)[: len(shape)] if shape == (40, 70) else ()
            for place in ((..., 0, 0), (..., -1, -1), (..., 0, -1), (..., -1, 0)):
                A[place] = 0
                here = survey(A, s, where="x", first=first, null_undeclared=True)
                assert survey(cp.asarray(A), s, where="x", first=first, null_undeclared=True) == here, (
                    dtype,
                    shape,
                    place,
                )
            assert here.ambiguous is (shape != (1, 1))
            A[..., -1, 0] = -1
            for place in ((..., 0, 0), (..., 0, -1)):
                A[place] = dtypes.zero(s, A.dtype)
                here = survey(A, s, where="x", first=first, null_undeclared=True)
                assert survey(cp.asarray(A), s, where="x", first=first, null_undeclared=True) == here
                off = first != () or (place[-1] != 0 and shape != (1, 1))  # on the diagonal it says nothing
                assert here.declared is off


def test_several_arrays_are_looked_at_together(cp):
    rng, s = np.random.default_rng(0), get("min_plus")
    arrays = [rng.integers(0, 100, shape).astype(np.float32) for shape in ((1, 1), (300, 4000), (7, 5))]
    arrays[2][3, 3] = -7
    for _ in range(3):  # what one pass leaves behind is no matter to the next
        assert surveys([cp.asarray(A) for A in arrays], s, where="x")() == [survey(A, s, where="x") for A in arrays]
    with cp.cuda.Stream(non_blocking=True):
        assert survey(cp.asarray(arrays[1]), s, where="x") == survey(arrays[1], s, where="x")
    arrays[1][299, 3999] = np.nan
    with pytest.raises(DomainError, match=r"got nan at \(299, 3999\)"):
        surveys([cp.asarray(A) for A in arrays], s, where="x")()


def test_threads_look_side_by_side(cp):
    s = get("min_plus")
    arrays = [np.arange(i, i + 200_000, dtype=np.int32) for i in range(8)]

    def look(i):
        with cp.cuda.Stream(non_blocking=True):
            there = cp.asarray(arrays[i])
            return {survey(there, s, where="x") for _ in range(50)}

    with ThreadPoolExecutor(8) as pool:
        for i, seen in enumerate(pool.map(look, range(8))):
            assert seen == {survey(arrays[i], s, where="x")}


@pytest.mark.parametrize("value", [np.nan, -np.inf])
@pytest.mark.parametrize("index", [(0, 0), (63, 1), (130, 130)])
def test_a_survey_refuses_what_is_outside(cp, value, index):
    A = np.ones((131, 131), np.float32)
    A[index] = value
    with pytest.raises(DomainError, match=rf"got {value} at \({index[0]}, {index[1]}\)"):
        survey(cp.asarray(A), get("min_plus"), where="closure")


def test_waiting_hears_the_keyboard(transfer, cp):
    """KeyboardInterrupt comes through while the device is busy, and the device is as good as before after it."""
    import _thread
    import threading
    import time

    A = cp.asarray(np.random.default_rng(0).random((24000, 24000), dtype=np.float32))
    said = {"overwrite": True, "null_value": None, "schedule": "recursive"}  # of so many entries a few are 0
    apsp.closure(A[:3000, :3000].copy(), **said)
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    begun = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        apsp.closure(A, **said)
    assert time.perf_counter() - begun < 60  # that it ends is what is tested
    small = cp.asarray(np.array([[0, 3], [1, 0]], np.float32))
    np.testing.assert_array_equal(apsp.closure(small).get(), [[0, 3], [1, 0]])


@pytest.mark.parametrize("shape", [(300, 100), (1, 70000), (37, 16384), (5, 16385)])
def test_part_of_a_matrix_there_and_back(transfer, cp, shape, monkeypatch):
    """Rows that lie apart, as those of a rank's part do."""
    monkeypatch.setattr(transfer, "PIECE", 1 << 16)
    monkeypatch.setattr(transfer, "LARGE", 1 << 12)
    m, n = shape
    whole = np.random.default_rng(0).random((m + 2, 2 * n)).astype(np.float32)
    part = whole[1 : m + 1, n // 2 : n // 2 + n]
    there = transfer.upload(part, part.dtype)
    np.testing.assert_array_equal(there.get(), part)
    out = np.zeros_like(whole)
    transfer.download(there, out[1 : m + 1, n // 2 : n // 2 + n])
    np.testing.assert_array_equal(out[1 : m + 1, n // 2 : n // 2 + n], part)
    assert out.astype(bool).sum() <= part.size
