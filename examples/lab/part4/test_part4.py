from itertools import pairwise

import numpy as np
import pytest
from hops import next_hops, path

from apsp import as_graph, check

INF = np.inf


@pytest.mark.parametrize("seed", range(4))
def test_paths_are_as_long_as_the_distances_say(seed):
    rng = np.random.default_rng(seed)
    n = 14
    A = np.where(rng.random((n, n)) < 0.15, rng.integers(1, 20, (n, n)).astype(float), INF)
    before = A.copy()
    D, H = next_hops(A)
    np.testing.assert_array_equal(A, before, "A is the caller's")
    found = check(as_graph(A), D)
    assert found, str(found)
    for i, j in np.ndindex(n, n):
        walk = path(H, i, j)
        if D[i, j] == INF:
            assert walk is None, f"there is no way from {i} to {j}"
            assert H[i, j] == -1
            continue
        assert walk, f"path says that there is no way from {i} to {j}"
        assert (walk[0], walk[-1]) == (i, j)
        assert H[i, j] == [*walk, i][1], f"from {i} to {j} by {walk}, and H[{i}, {j}] is {H[i, j]}"
        assert len(set(walk)) == len(walk), f"the path from {i} to {j} comes by a vertex twice"
        length = sum(A[u, v] for u, v in pairwise(walk))
        assert length == D[i, j], f"the path {walk} is {length} long, not {D[i, j]}"


def test_the_lessons_graph():
    """Hochberg 2012, exploration 8, on his six vertices A … F: from A to C by way of D."""
    arcs = "AB4 AD5 AE5 BC7 BD3 CF4 DA7 DC3 DE4 DF3 EA2 ED6 FD2 FE1".split()
    A = np.full((6, 6), INF)
    for u, v, weight in arcs:
        A["ABCDEF".index(u), "ABCDEF".index(v)] = int(weight)
    D, H = next_hops(A)
    assert D[0, 2] == 8
    assert ["ABCDEF"[v] for v in path(H, 0, 2)] == ["A", "D", "C"]
