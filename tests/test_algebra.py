"""The records, the catalog and its laws, dtypes and domains."""

from __future__ import annotations

import dataclasses
import math
import os
import re

import cases
import numpy as np
import pytest
from scipy import sparse

import semiring
from apsp import closure, shortest_paths, write
from semiring import AlgebraError, DomainError, DTypeError, Op, Semiring, check_axioms, eliminate, get, matmul
from semiring.algebra import dtypes
from semiring.algebra.survey import Survey, fast, survey

#: Of one's own, on narrow dtypes alone.
NARROW = [
    dataclasses.replace(get("min_plus"), name="int32_alone", dtypes=("int32",)),
    dataclasses.replace(get("max_min"), name="int16_float32", dtypes=("int16", "float32")),
]


@pytest.mark.parametrize("s", [*semiring.CATALOG, cases.COLOURS], ids=str)
def test_every_semiring_keeps_its_laws_on_its_samples(s):
    check_axioms(s)
    if s is not cases.COLOURS:
        check_axioms(s.name)
    with pytest.raises(AlgebraError, match=r"got 'min_pluss'\. Did you mean 'min_plus'"):
        check_axioms("min_pluss")


@pytest.mark.parametrize("s", semiring.CATALOG, ids=str)
def test_samples_lie_in_the_domain_and_hold_zero_and_one(s):
    low, high = s.domain
    for value in s.samples:
        assert low <= value <= high
        assert not (s.open_low and value == low)
        assert not (s.open_high and value == high)


MINUS = Op("minus", python=lambda a, b: a - b, cuda="a - b")
MEAN = Op("mean", python=lambda a, b: (a + b) / 2, cuda="(a + b) / 2")


@pytest.mark.parametrize(
    ("add", "mul", "zero", "one", "law"),
    [
        (MINUS, get("min_plus").mul, 0, 0, "0 ⊕ a = a"),
        (get("min_plus").add, MEAN, math.inf, 0, "1 ⊗ a = a"),
        (get("min_plus").add, get("plus_times").mul, math.inf, 1, "0 ⊗ a = 0"),
        (get("max_min").add, get("min_plus").mul, -math.inf, 1, "1 ⊗ a = a"),
    ],
)
def test_a_broken_law_is_named_with_its_values(add, mul, zero, one, law):
    idempotent = add is not MINUS
    broken = Semiring("broken", add, mul, zero, one, samples=(-2.0, 0.0, 3.0), idempotent=idempotent)
    with pytest.raises(AlgebraError) as caught:
        check_axioms(broken)
    assert law in str(caught.value)
    assert "a = " in str(caught.value)


def test_a_law_that_only_idempotent_semirings_have():
    tropical = get("tropical")
    broken = Op(
        "odd",
        python=lambda a, b: a + b if a == b and a > 99 else min(a, b),
        cuda="a == b && a > 99 ? a + b : min(a, b)",
    )
    twice = Semiring("twice", add=broken, mul=tropical.mul, zero=math.inf, one=0, samples=(0.0, 1.0))
    with pytest.raises(AlgebraError, match="a ⊕ a = a"):
        check_axioms(twice, (200.0,))


@pytest.mark.parametrize("name", ["tropical", "boolean", "bottleneck", "reliability", "log_plus"])
def test_names_and_aliases_find_their_semiring(name):
    s = get(name)
    assert name in (s.name, *s.aliases)
    assert get(s) is s


@pytest.mark.parametrize(
    ("came", "meant"),
    [("min-plus", "'min_plus'"), ("tropcal", "'tropical'"), ("MIN_PLUS", "'min_plus'"), ("rings", None), (7, None)],
)
def test_an_unknown_name_is_told_what_it_may_have_meant(came, meant):
    with pytest.raises(AlgebraError) as caught:
        semiring.get(came)
    assert ("Did you mean" in str(caught.value)) == (meant is not None)
    assert meant is None or f"Did you mean {meant}" in str(caught.value)


@pytest.mark.parametrize(
    ("ask", "meant"),
    [
        (lambda: shortest_paths([(0, 1)], engine="elemination"), "elimination"),
        (lambda: shortest_paths([(0, 1)], engine="elimination", order="metiss"), "metis"),
        (lambda: closure([[0.0]], schedule="recusive"), "recursive"),
        (lambda: write([(0, 1)], os.devnull, format="dimac"), "dimacs"),
        (lambda: shortest_paths([(0, 1)]).reduce("closenes"), "closeness"),
    ],
)
def test_other_unknown_names_are_too(ask, meant):
    with pytest.raises((ValueError, AlgebraError), match=f"Did you mean '{meant}'"):
        ask()


def test_reliability_is_of_probabilities():
    percent, share = np.array([[0.0, 90], [80, 0]]), np.array([[0.0, 0.5], [0.25, 0]])
    asked = (
        lambda A: closure(A, "reliability"),
        lambda A: matmul(A, A, "reliability"),
        lambda A: shortest_paths(A, "reliability"),
        lambda A: shortest_paths([(0, 1, A[0, 1]), (1, 0, A[1, 0])], "reliability").distances,
        lambda A: eliminate(sparse.coo_array(A), "reliability"),
    )
    for ask in asked:
        with pytest.raises(DomainError, match=r"reliability .* in \[0, 1\].*got 90.*Over max_times .* in \[0, inf\)"):
            ask(percent)
        ask(share)
    np.testing.assert_array_equal(matmul(percent, percent, "max_times"), [[7200, 0], [0, 7200]])
    np.testing.assert_array_equal(matmul(share, share, "reliability"), [[0.125, 0], [0, 0.125]])
    with pytest.raises(DomainError) as caught:
        closure(-share, "reliability")
    assert "Over" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (math.inf, "int16", 32767),
        (-math.inf, "int16", -32768),
        (math.inf, "int64", 2**63 - 1),
        (math.inf, "float32", math.inf),
        (0, "int32", 0),
        (True, "bool", True),
    ],
)
def test_encode_gives_the_dtype_its_infinity(value, dtype, expected):
    got = dtypes.encode(value, dtype)
    assert got == expected
    assert got.dtype == dtype


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("min_plus", "int8", "int16"),
        ("min_plus", "uint16", "int32"),
        ("min_plus", "float16", "float32"),
        ("min_plus", ">i4", "int32"),
        ("plus_times", "int32", "float64"),
        ("plus_times", "int16", "float32"),
        ("lor_land", "bool", "bool"),
    ],
)
def test_resolve_takes_the_smallest_safe_dtype(name, given, expected):
    assert dtypes.resolve(get(name), given) == np.dtype(expected)


@pytest.mark.parametrize(
    ("name", "dtype", "natural", "expected"),
    [
        ("min_plus", "int16", "float64", "int16"),
        ("min_plus", None, "int16", "int16"),
        ("min_plus", None, "uint8", "int16"),
        ("min_plus", None, None, "float64"),
        ("boolean", None, None, "bool"),
    ],
)
def test_what_is_asked_for_comes_before_the_datas_own_dtype(name, dtype, natural, expected):
    assert dtypes.resolve(get(name), dtype, natural) == np.dtype(expected)


@pytest.mark.parametrize("s", [*semiring.CATALOG, cases.COLOURS, *NARROW], ids=str)
def test_the_hint_for_truth_values_works_in_each_semiring(s):
    """Followed literally, of a path 0 → 1 → 2: an edge weighs 1, and what is no edge is the semiring's zero."""
    A = np.eye(3, k=1, dtype=bool)
    if s.boolean:
        return
    with pytest.raises(DTypeError, match=r"np\.where") as caught:
        closure(A, s)
    hint, of_csr = re.search(r"for instance (np\.where.*); of a sparse A: (.*)\. ?$", str(caught.value)).groups()
    weighed = eval(hint, {"np": np, "A": A})
    entries = eval(of_csr, {"A": sparse.csr_array(A)})
    assert entries.dtype == weighed.dtype
    assert entries.data.tolist() == [1, 1]
    edge = weighed[0, 1].item()
    assert edge == 1
    found = closure(weighed, s)
    nil = dtypes.zero(s, found.dtype)
    assert found[2, 0] == nil
    assert found[1, 0] == nil
    assert found[0, 1] == s.add.python(edge, nil.item())
    assert found[0, 2] == s.add.python(s.mul.python(edge, edge), nil.item())


@pytest.mark.parametrize(
    ("name", "given"), [("min_plus", "bool"), ("lor_land", "float64"), ("min_plus", "complex128"), ("min_plus", "O")]
)
def test_resolve_refuses_what_it_would_have_to_guess(name, given):
    with pytest.raises(DTypeError, match=name):
        dtypes.resolve(get(name), given)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("min_plus", -math.inf),
        ("min_plus", math.nan),
        ("max_plus", math.inf),
        ("max_times", -0.5),
        ("max_times", math.inf),
        ("min_times", 0.0),
        ("plus_times", math.inf),
        ("log_plus", math.inf),
        ("max_min", math.nan),
    ],
)
def test_survey_names_the_entry_outside_the_domain(name, value):
    A = np.ones((4, 5))
    A[2, 3] = value
    with pytest.raises(DomainError, match=r"\(2, 3\)"):
        survey(A, get(name), where="closure")


@pytest.mark.parametrize("a", [0.0, 1e-9, 0.125, 0.5, 0.75, 0.999])
def test_stars_are_sums_of_powers(a):
    """1 + a + a² + … = 1 / (1 − a), and its logarithm over log_plus."""
    sums, logarithms = get("plus_times"), get("log_plus")
    assert sums.star.python(a) == pytest.approx(1 / (1 - a))
    assert logarithms.star.python(math.log(a) if a else -math.inf) == pytest.approx(-math.log1p(-a))
    assert logarithms.star.python(0.0) == sums.star.python(1.0) == math.inf


@pytest.mark.parametrize(
    ("name", "entries", "nonnegative"),
    [
        ("min_plus", [0, 1, math.inf], True),
        ("min_plus", [-1, 1, math.inf], False),
        ("max_plus", [-math.inf, 0, 3], True),
        ("max_plus", [-math.inf, -2, 3], False),
        ("max_min", [-math.inf, 5], True),
        ("min_plus", [-0.0, 1, math.inf], True),
        ("max_plus", [-0.0, 1, 3], False),
        ("max_min", [-0.0, 1, 3], False),
        ("min_max", [-0.0, 1, 3], False),
        ("min_max", [0.0, 1, math.inf], True),
    ],
)
def test_survey_tells_whether_weights_are_nonnegative(name, entries, nonnegative):
    assert survey(np.array([entries]), get(name), where="test").nonnegative is nonnegative


def test_fast_steps_want_room_where_minus_infinity_is_an_integer():
    for name, dtype, seen, edges, expected in (
        ("min_plus", "int16", (0, 32767, True), 1000, True),
        ("min_plus", "int16", (-1, 5, False), 1, False),
        ("max_plus", "float32", (-math.inf, 1e30, True), 1000, True),
        ("max_plus", "int16", (-32768, 16383, True), 1, True),
        ("max_plus", "int16", (-32768, 16384, True), 1, False),
        ("max_plus", "int16", (-32768, 163, True), 100, True),
        ("max_plus", "int16", (-32768, 164, True), 100, False),
        ("max_plus", "int32", (-(2**31), -(2**31), True), 1 << 40, True),
    ):
        assert fast(Survey(*seen), get(name), np.dtype(dtype), edges) is expected, (name, dtype, seen)


def test_largest_finite_looks_past_infinities():
    assert dtypes.largest_finite(np.array([[math.inf, -7.0], [2.0, -math.inf]])) == 7
    assert dtypes.largest_finite(np.array([[32767, 12]], dtype=np.int16)) == 12
    assert dtypes.largest_finite(np.array([[math.inf]])) == 0
