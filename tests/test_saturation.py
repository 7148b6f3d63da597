"""Closures of integers of both signs near the ends of their dtype: exact as Python's integers are, or refused."""

import math
from functools import partial

import numpy as np
import pytest

import semiring
from apsp import Graph, closure, compare, shortest_paths
from apsp.road import schedules
from semiring.distributed import world
from semiring.host.errors import DivergenceError, DomainError, MemoryNeeded

#: 0 → 2 → 1 → 3 weighs 30,361, of which 2 → 1 → 3 is beyond int16.
EDGES = {(0, 2): -3917, (1, 2): -13987, (1, 3): 14197, (2, 1): 20081, (3, 2): -21827}


def matrix(edges, n, dtype, s="min_plus"):
    info = np.iinfo(dtype)
    A = np.full((n, n), info.max if s == "min_plus" else info.min, dtype)
    for (u, v), w in edges.items():
        A[u, v] = w if s == "min_plus" else -w
    return A


def best(edges, n):
    """All distances by Python's integers; None at a negative cycle."""
    D = [[0 if u == v else edges.get((u, v), math.inf) for v in range(n)] for u in range(n)]
    if any(edges.get((u, u), 0) < 0 for u in range(n)):
        return None
    for k in range(n):
        for u in range(n):
            for v in range(n):
                D[u][v] = min(D[u][v], D[u][k] + D[k][v])
        if any(D[u][u] < 0 for u in range(n)):
            return None
    return D


def stored(D, dtype, s):
    """Those distances as the dtype holds them: an end is what lies beyond it, or no path."""
    info, sign = np.iinfo(dtype), 1 if s == "min_plus" else -1
    return np.array([[int(max(info.min, min(info.max, sign * x))) for x in row] for row in D], dtype)


def hostile(rng, dtype, n):
    """Edges of both signs: any, or those of lengths that potentials make non-negative."""
    info = np.iinfo(dtype)
    draw = partial(rng.integers, dtype=np.int64)
    h = draw(-(info.max // 2), info.max // 2, n).tolist() if rng.random() < 0.7 else [0] * n
    low = 0 if any(h) else -info.max
    edges = {}
    for u, v in np.argwhere(rng.random((n, n)) < rng.choice([0.3, 0.6, 1.0])).tolist():
        w = int(draw(low, info.max)) // int(draw(1, 5)) + h[u] - h[v]
        edges[u, v] = max(-info.max, min(info.max - 1, w))
    return edges


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
@pytest.mark.parametrize("s", ["min_plus", "max_plus"])
def test_a_distance_that_fits_is_exact(dtype, s):
    rng, given = np.random.default_rng(7), 0
    for index in range(250):
        n = int(rng.integers(2, 9))
        edges = EDGES if not index and dtype == "int16" else hostile(rng, dtype, n)
        n = 4 if edges is EDGES else n
        A, expected = matrix(edges, n, dtype, s), best(edges, n)
        before = A.copy()
        try:
            D = closure(A, s, null_value=None, schedule=("auto", *schedules.names())[index % 6])
        except DivergenceError:
            assert expected is None
        except DomainError:
            assert dtype == "int64"
            assert expected is None or any(abs(x) >= 2**63 - 1 for row in expected for x in row if x < math.inf)
        else:
            assert expected is not None, edges
            np.testing.assert_array_equal(D, stored(expected, dtype, s), err_msg=str(edges))
            given += 1
        np.testing.assert_array_equal(A, before)
    assert given > 100


def test_batches_steps_and_lists_of_matrices():
    A, D = matrix(EDGES, 4, "int16"), stored(best(EDGES, 4), "int16", "min_plus")
    calm = np.zeros((4, 4), "int16")
    np.testing.assert_array_equal(closure(np.stack([calm, A]), null_value=None), [calm, D])
    np.testing.assert_array_equal(closure([calm[:2, :2], A], null_value=None)[1], D)
    with pytest.raises(DivergenceError) as raised:
        closure([calm, calm - 1], null_value=None)
    assert "overwrite" not in str(raised.value)
    found, steps = closure(A, null_value=None, steps=True)
    np.testing.assert_array_equal(found, D)
    np.testing.assert_array_equal(steps[len(steps) - 1].matrix[0], D[0])


def test_a_number_at_the_other_end_is_a_number():
    low = -(2**15)
    A = matrix({(0, 1): low, (1, 2): -5, (2, 3): 10}, 4, "int16")
    assert closure(A, null_value=None)[0].tolist() == [0, low, low, low + 5]


def test_what_is_refused_says_so_and_its_way_out_works(monkeypatch, tmp_path):
    """In place, in several parts, within limits, where no wider dtype fits, or there is none."""
    A, D = matrix(EDGES, 4, "int16"), stored(best(EDGES, 4), "int16", "min_plus")
    says = r"closure: every distance must fit int16, got a walk from 0 to 3 that goes beyond ±32767\. Say dtype='int64'"
    apart = [
        {"gpus": world(ranks=2)},
        {"checkpoint": tmp_path / "ck"},
        {"gpus": world(ranks=2), "output": tmp_path / "d"},
    ]
    for options in apart:
        with pytest.raises(DomainError, match=says):
            closure(A, null_value=None, **options)
    with pytest.raises(DomainError, match=f"{says}.*are lost by now"):
        closure(A.copy(), null_value=None, overwrite=True)
    with pytest.raises(
        DomainError, match=f"{says}.*are lost by now.*matrix 1 of the batch, those before it are closed"
    ):
        closure(np.stack([A * 0, A]), null_value=None, overwrite=True)
    with pytest.raises(DomainError, match=says.replace("closure:", "compare:")):
        compare(A, null_value=None, devices=["cpu"])
    for way in ("int64", "float64"):
        assert closure(A, null_value=None, dtype=way)[0, 3] == D[0, 3] == 30361
    monkeypatch.setattr("apsp.road.solve.widened", _does_not_fit)
    with pytest.raises(DomainError, match=says):
        closure(A, null_value=None)


def _does_not_fit(*arguments):
    raise MemoryNeeded("a second matrix must fit")


def test_integers_of_64_bits_are_refused_and_floats_are_a_way_out():
    top = 2**63 - 1
    A = matrix({(0, 1): 2**62 + 1, (1, 2): 2**62 + 3, (2, 3): -(2**62) - 7}, 4, "int64")
    for call in (closure, shortest_paths):
        with pytest.raises(
            DomainError, match=r"from 0 to 2 that goes beyond .*Pass floats, which round; a missing edge is then inf"
        ):
            call(A, null_value=None)
    assert closure(np.where(top == A, np.inf, A))[0, 3] == 2.0**62


def test_one_sign_saturates_as_ever():
    """Where all lengths lead away from 0, nothing comes back from an end: it stands for what lies beyond."""
    for dtype in ("int16", "int64"):
        top = np.iinfo(dtype).max
        A = matrix({(0, 1): top - 1, (1, 2): 7}, 3, dtype)
        assert closure(A)[0].tolist() == [0, top - 1, top]
        B = matrix({(0, 1): top - 1, (1, 2): 7}, 3, dtype, "max_plus")
        assert closure(B, "max_plus", null_value=None)[0].tolist() == [0, 1 - top, -top - 1]


@pytest.mark.parametrize("how", ["new", "overwrite", "gpus", "memory", "checkpoint"])
@pytest.mark.parametrize("dtype", ["int16", "int64"])
def test_missing_edges_have_no_sign(dtype, how, tmp_path):
    """Lengths that all lead towards the other end lose nothing either, though the semiring's zero is no such length."""
    least, top = np.iinfo(dtype).min, np.iinfo(dtype).max
    options = {"gpus": world(ranks=2), "memory": "1GiB", "checkpoint": tmp_path / "ck", "overwrite": True}
    options = {how: options[how]} if how != "new" else {}
    A = matrix({(0, 1): least, (1, 2): -7}, 3, dtype)
    expected = [[0, least, least], [top, 0, -7], [top, top, 0]]
    assert closure(A, null_value=None, **options)[:].tolist() == expected
    options |= {"checkpoint": tmp_path / "of max_plus"} if how == "checkpoint" else {}
    A, expected = np.array([[least, top, least], [least, least, 7], [least] * 3], dtype), [[0, top, top], [least, 0, 7]]
    assert closure(A, "max_plus", null_value=None, **options)[:2].tolist() == expected


@pytest.mark.gpu
@pytest.mark.parametrize("s", ["min_plus", "max_plus"])
def test_on_a_gpu_a_distance_that_fits_is_exact(s):
    """In its memory and out of it, alone and in batches, through the host; and factors of both signs."""
    import cupy as cp

    rng = np.random.default_rng(7)
    for dtype in ("int16", "int32", "int64"):
        for index in range(60):
            n = int(rng.integers(2, 9)) if index else 4
            edges = EDGES if not index and dtype == "int16" else hostile(rng, dtype, n)
            A, expected = matrix(edges, n, dtype, s), best(edges, n)
            try:
                if index % 3 == 2:
                    D = closure(A, s, null_value=None, device="cuda")
                else:
                    stack = cp.asarray(A) if index % 3 else cp.asarray(np.stack([A * 0, A]))
                    D = cp.asnumpy(closure(stack, s, null_value=None))
                    D = D if index % 3 else D[1]
            except DivergenceError:
                assert expected is None
            except DomainError:
                assert dtype == "int64"
            else:
                np.testing.assert_array_equal(D, stored(expected, dtype, s), err_msg=str(edges))
    A = cp.asarray(matrix(EDGES, 4, "int16"))
    with pytest.raises(DomainError, match="are lost by now"):
        closure(A, null_value=None, overwrite=True)
    A = matrix({(0, 1): 2**63 - 2, (1, 2): 7, (2, 3): -9}, 4, "int64")  # a copy of what lies on the host is closed
    before = A.copy()
    with pytest.raises(DomainError, match=r"from 0 to 2 .* is then infinite\.$"):
        closure(A, null_value=None, overwrite=True, device="cuda")
    np.testing.assert_array_equal(A, before)
    x = cp.asarray(np.array([[-20000], [-20000], [20000]], "int16"))
    assert semiring.prod(x[:, 0]).item() == semiring.einsum("i,i,i->i", *x, order=[(0, 1), (0, 1)]).item() == -20000
    assert semiring.power(cp.asarray(np.diag([-20000, 20000]).astype("int16")), 3).tolist()[1][1] == -20000


@pytest.mark.gpu
def test_on_a_gpu_entries_of_a_position_are_summed_beside_a_matrix_that_has_none():
    import cupy as cp
    from cupyx.scipy.sparse import csr_matrix

    A = csr_matrix(cp.eye(40))
    assert A.has_canonical_format
    B = csr_matrix((40, 40))
    B.data, B.indices, B.indptr = (
        cp.ones(3200),
        cp.tile(cp.arange(40, dtype="i4"), 80),
        cp.arange(0, 3201, 80, dtype="i4"),
    )
    C = semiring.add(A, B, "plus_times")
    assert C.nnz == 1600
    assert cp.asnumpy(C.toarray()).tolist() == (np.eye(40) + 2).tolist()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("way", ["fresh", "update", "row by row"])
def test_an_elimination_proves_nothing_by_entries_that_have_saturated(sign, way):
    """A vertex whose way to the centre is beyond the dtype has an arc to one whose way is not: it is not apart."""
    s, wrong, beyond = semiring.get("min_plus" if sign > 0 else "max_plus"), [], 0
    for seed in range(200, 300):
        rng = np.random.default_rng(seed)
        arcs = sorted({(int(u), int(v)) for u, v in rng.integers(0, 5, (9, 2)) if u != v})
        tails, heads = np.array(arcs).T
        weights = rng.choice([0, 1, 3, 32766, 20000, 16384], len(arcs))
        D = np.where(np.eye(5) > 0, 0.0, np.inf)
        D[tails, heads] = weights
        for k in range(5):
            D = np.minimum(D, D[:, k, None] + D[k])
        fits = not (D[np.isfinite(D)] >= 32767 + (sign < 0)).any()  # −32768 is −∞
        first = np.zeros(len(arcs), "i2") if way == "update" else (sign * weights).astype("i2")
        try:
            g = Graph.from_arrays(tails, heads, first, n=5)
            r = shortest_paths(g, s, dtype="int16", engine="elimination")
            r = r.update(sign * weights) if way == "update" else r
            rows = [row for _, rows in r.rows(block=2) for row in rows] if way == "row by row" else r.distances
        except DomainError:
            wrong += [seed] * fits
            continue
        beyond += not fits
        if fits:
            expected = np.where(np.isinf(D), sign * 32767 - (sign < 0), sign * D)
            np.testing.assert_array_equal(np.stack(list(rows)), expected)
    assert (wrong, beyond) == ([], 0)
