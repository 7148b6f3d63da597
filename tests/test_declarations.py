"""What an operation declares is checked when it is made, and nothing is decided by what it is called."""

from __future__ import annotations

import copy
import math
import re
from itertools import pairwise
from pathlib import Path

import cases
import numpy as np
import pytest
from processes import python

import semiring
from apsp import closure, compare_sizes, shortest_paths
from semiring import AlgebraError, Op, Semiring, Star, get
from semiring.sparse import limits

ROOT = Path(__file__).parents[1]


def _kept(a, b):
    """A t-norm: what both promise beyond 1."""
    return max(0.0, a + b - 1.0)


def _greater(a, b):
    return a if a > b else b


#: Łukasiewicz's semiring under names that elsewhere mean ⊗ = a · b and ⊕ = a + b.
MISNAMED = Semiring(
    "plus_times",
    add=Op("plus", python=_greater, cuda="max(a, b)", simd="max"),
    mul=Op("times", python=_kept, cuda="max(T(0), a + b - T(1))"),
    zero=0,
    one=1,
    domain=(0, 1),
    samples=(0.0, 0.25, 0.5, 1.0),
)


def test_a_product_named_times_is_what_it_computes():
    r = shortest_paths([("a", "b", 0.9), ("b", "c", 0.8), ("a", "c", 0.5)], MISNAMED)
    assert r.distance("a", "c") == pytest.approx(0.7)
    assert r.path("a", "c") == ["a", "b", "c"]


def test_the_path_of_a_misnamed_product_weighs_the_distance():
    rng = np.random.default_rng(3)
    A = np.where(rng.random((12, 12)) < 0.4, rng.integers(8, 16, (12, 12)) / 16, 0.0)
    r = shortest_paths(A, MISNAMED)
    case = cases.Case(MISNAMED, np.dtype("float64"))
    np.testing.assert_array_equal(r.distances, cases.closure(case, A))
    tried = 0
    for i in range(12):
        for j in range(12):
            if i != j and r.distances[i, j] > 0:
                walk, weight = r.path(i, j), 1.0
                for u, v in pairwise(walk):
                    assert A[u, v] > 0
                    weight = _kept(weight, A[u, v])
                assert weight == pytest.approx(r.distances[i, j], abs=1e-12)
                tried += 1
    assert tried > 20


def test_a_maximum_of_any_name_has_paths_when_it_says_that_it_selects():
    top = Op("top", python=_greater, cuda="a > b ? a : b", selects="greatest")
    widest = Semiring("wide", add=top, mul=get("max_min").mul, zero=-math.inf, one=math.inf, samples=(1.0, 2.0))
    assert shortest_paths([(0, 1, 5), (1, 2, 3), (0, 2, 1)], widest).path(0, 2) == [0, 1, 2]


def test_an_addition_that_says_nothing_has_no_paths_and_the_error_says_how():
    top = Op("max", python=_greater, cuda="a > b ? a : b")
    widest = Semiring("max_min", add=top, mul=get("max_min").mul, zero=-math.inf, one=math.inf, samples=(1.0, 2.0))
    with pytest.raises(AlgebraError, match='selects="least" or "greatest"'):
        shortest_paths([(0, 1, 5)], widest).path(0, 1)


@pytest.mark.usefixtures("short_runs")
@pytest.mark.parametrize("s", [MISNAMED, cases.COLOURS], ids=str)
def test_sizes_are_compared_over_a_users_own_semiring(s):
    table = compare_sizes([5, 9], semiring=s, dtype=s.dtypes[-1], devices=["cpu"])
    assert all(row.same for row in table.rows)


@pytest.mark.parametrize("case", [*cases.CASES, *cases.USER_CASES], ids=str)
def test_random_matrices_have_closures(case):
    A = semiring.random_matrix(case.semiring, (7, 7), case.dtype, seed=1, density=0.6)
    assert A.dtype == case.dtype
    D = cases.closure(case, A)
    again = cases.product(case, A, D)
    identity = semiring.eye(7, case.semiring, dtype=case.dtype)
    add = np.vectorize(case.semiring.add.python, otypes=[case.dtype])
    cases.same(case, add(identity, again), D)  # D = I ⊕ A ⊗ D


def test_random_matrices_of_a_semiring_that_says_nothing_are_refused():
    real = get("plus_times")
    mine = Semiring("mine", add=real.add, mul=real.mul, zero=0, one=1, idempotent=False, samples=(0.5,))
    with pytest.raises(AlgebraError, match="draw=lambda rng, shape"):
        semiring.random_matrix(mine, (2, 2), "float64", seed=0)
    for density in (2, -0.1, np.nan):
        with pytest.raises(ValueError, match="density"):
            semiring.random_matrix(real, (2, 2), "float64", seed=0, density=density)


def _op(**fields):
    return Op(**{"name": "op", "python": lambda a, b: a, "cuda": "a", **fields})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "two words"}, "name must be a C identifier"),
        ({"python": math.gcd}, r"python must be a function written in Python.*lambda a, b: gcd\(a, b\)"),
        ({"python": lambda a: a}, "python must take 2 operands"),
        ({"cuda": ""}, "cuda must be one C\\+\\+ expression"),
        ({"cuda": "min(a, b"}, "cuda must be one C\\+\\+ expression"),
        ({"cuda": "return a;"}, "cuda must be one C\\+\\+ expression"),
        ({"simd": "sub"}, "simd must be one of add, mul, min, max"),
        ({"ufunc": np.sqrt}, "ufunc must be a NumPy ufunc of two operands"),
        ({"ufunc": max}, "ufunc must be a NumPy ufunc"),
        ({"selects": "first"}, 'selects must be "least" or "greatest"'),
    ],
)
def test_an_operation_is_checked_when_it_is_declared(fields, message):
    with pytest.raises(AlgebraError, match=message):
        _op(**fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dtypes": ("float16",)}, "dtypes must be among int16.*got float16"),
        ({"dtypes": ()}, "dtypes must be among"),
        ({"series": "complex"}, 'series must be "real" or "positive"'),
        ({"series": "real"}, "is for ordinary sums and products"),
        (
            {"series": "real", "add": get("real").add, "mul": _op(python=lambda a, b: a * b)},
            "got the ufunc add and an operation without ufunc",
        ),
        ({"mul": _op(python=lambda a, b: str(a) + b)}, "mul.python must be a function that numba compiles for float32"),
        ({"mul": _op(python=lambda a, b: a // 0)}, "mul.python must be defined on the samples"),
        ({"mul": _op(python=lambda a, b: a + b, ufunc=np.multiply)}, "mul.ufunc must compute what its python does"),
        ({"add": _op(python=lambda a, b: a + b, selects="least")}, "add.selects says that the least of two"),
        ({"draw": np.random.default_rng}, "draw must"),
        ({"name": 3}, "name must be an identifier"),
        ({"dtypes": "float64"}, r"dtypes must be a tuple, got 'float64'. Write \('float64',\)"),
        ({"aliases": "quick"}, "aliases must be a tuple"),
        ({"add": "min"}, "add must be an Op, got 'min'"),
        ({"star": lambda a: a}, "star must be a Star"),
        ({"zero": 10**9, "dtypes": ("int16",)}, "zero must be a number that int16 holds, got 1000000000"),
        ({"zero": 100.5, "dtypes": ("float64", "int32")}, "zero must be a number that int32 holds, got 100.5"),
        ({"one": math.nan}, "one must be a number, got nan"),
        ({"zero": 1e300, "dtypes": ("float32",)}, "zero must be a number that float32 holds"),
        ({"domain": (0, 10)}, "domain must hold zero and one"),
        ({"domain": "all"}, "domain must be two numbers"),
        ({"tolerance": -1}, "tolerance must be a number of at least 0"),
        (
            {"mul": _op(python=lambda a, b: a + b), "dtypes": ("float32", "int16")},
            "of int16 32767 stands for inf, got 32768(.0)? at a = 1.*Declare mul=Op.*saturating=True.*leave int16 out",
        ),
        ({"add": get("real").add, "zero": 0}, "⊕ must be idempotent, as idempotent=True says by default"),
        (
            {
                "add": get("real").add,
                "mul": get("real").mul,
                "zero": 0,
                "one": 1,
                "idempotent": False,
                "samples": (0.5,),
            }
            | {"star": Star(python=lambda a: 1 + a, cuda="1 + a")},
            "star.python must be a\\* = 1 ⊕ a ⊗ a\\*, got 1.5 at 0.5, where 1 ⊕ a ⊗ a\\* is 1.75",
        ),
    ],
)
def test_a_semiring_is_checked_when_it_is_declared(fields, message):
    tropical = get("min_plus")
    with pytest.raises(AlgebraError, match=message):
        Semiring(
            **{"name": "mine", "add": tropical.add, "mul": tropical.mul, "zero": math.inf, "one": 0, "samples": (1.0,)}
            | fields
        )


def test_integers_of_ones_own_lengths_saturate_as_declared():
    """32767 + 5 is −32764 in int16, a shortest path through no edge, unless ⊗ declares that it saturates."""
    options = {"add": get("min_plus").add, "zero": math.inf, "one": 0, "samples": (0, 1, 7), "dtypes": ("int16",)}
    mine = Semiring("mine", mul=_op(python=lambda a, b: a + b, saturating=True), **options)
    A = np.array([[32767, 5], [2, 32767]], np.int16)
    assert semiring.matmul(A, A, mine).tolist() == [[7, 32767], [32767, 7]]


def test_lists_and_arrays_of_samples_and_dtypes_are_as_good_as_tuples():
    tropical = get("min_plus")
    made = [
        Semiring("mine", tropical.add, tropical.mul, math.inf, 0, dtypes=dtypes, samples=samples)
        for dtypes, samples in ((["float64"], np.array([1.0, 2.0])), (("float64",), (1.0, 2.0)))
    ]
    assert made[0] == made[1]
    assert made[0].dtypes == ("float64",)


@pytest.mark.filterwarnings("error")
def test_neutral_elements_may_be_numpys_numbers():
    tropical, boolean = get("min_plus"), get("lor_land")
    made = Semiring("mine", tropical.add, tropical.mul, np.float32(np.inf), np.float32(0), samples=(1.0, 2.0))
    assert (made.zero, made.one) == (math.inf, 0)
    for zero, one in ((np.False_, np.True_), (np.int16(0), np.int16(1))):
        assert Semiring("mine", boolean.add, boolean.mul, zero, one, dtypes=("bool",), samples=(True,)).one == 1


#: (+, ×) without a star: it counts walks, as long as there is no cycle.
WALKS = Semiring("walks", get("real").add, get("real").mul, 0, 1, dtypes=("float64",), idempotent=False, samples=(0.5,))


def test_cycles_need_a_star():
    A = np.array([[0, 0.25, 0], [0, 0, 0.5], [0.5, 0, 0]])
    needed = r"takes the star .* walks does not declare.*Declare star=Star"
    for close in (lambda: closure(A, WALKS), lambda: closure(np.stack([A, A]), WALKS, overwrite=True)):
        with pytest.raises(AlgebraError, match=needed):
            close()
    # An elimination shows the same on its diagonal: 1 ⊕ a, where no cycle leaves 1.
    assert limits.worst_pivot(np.ones(3), WALKS, 3) is None
    vertex, gap = limits.worst_pivot(np.array([1, 1.0625, 1]), WALKS, 3)
    assert vertex == 1
    assert re.search(needed, str(limits.error(WALKS, vertex, gap)))


@pytest.mark.busy
def test_a_module_that_declares_a_semiring_can_be_imported(tmp_path):
    """numba looks a function's module up, which is still being imported: another thread would wait for ever."""
    (tmp_path / "declared.py").write_text(
        "from semiring import Op, Semiring\n"
        "either = Op('either', python=lambda a, b: a | b, cuda='a | b')\n"
        "both = Op('both', python=lambda a, b: a & b, cuda='a & b')\n"
        "mine = Semiring('mine', either, both, zero=0, one=7, dtypes=('int32',), samples=(0, 1, 7))\n"
    )
    code = "import sys; sys.path.insert(0, sys.argv[1]); import declared; print(declared.mine.name)"
    assert python(code, tmp_path) == "mine\n"


def test_copies_of_a_semiring_are_itself():
    """Its functions may be lambdas, which have no names to be pickled by; results hold it."""
    own = Semiring(
        "own",
        add=Op("least", python=lambda a, b: min(a, b), cuda="min(a, b)"),
        mul=Op("sum", python=lambda a, b: a + b, cuda="a + b"),
        zero=math.inf,
        one=0,
        samples=(0.0, 1.0, 5.0),
    )
    assert copy.copy(own) is copy.deepcopy(own) is own
    E = semiring.Elimination.from_arrays([0, 1], [1, 2], [2.0, 3.0], 3, own)
    twin = copy.deepcopy(E)
    assert twin.entry(0, 2) == 5
    assert twin.semiring is own
