import numpy as np
from step import step

from apsp import as_graph, check

INF = np.inf
#: Six vertices, and what becomes of them by way of the first two (Hochberg 2012, figure 1.2 and answers 2 and 4).
M0 = [
    [0, 4, INF, 5, 5, INF],
    [INF, 0, 7, 3, INF, INF],
    [INF, INF, 0, INF, INF, 4],
    [7, INF, 3, 0, 4, 3],
    [2, INF, INF, 6, 0, INF],
    [INF, INF, INF, 2, 1, 0],
]


def test_by_way_of_the_first_vertex():
    D = np.array(M0)
    step(D, 0)
    changed = np.argwhere(np.array(M0) != D).tolist()
    assert changed, "D is as it was: change its entries, D[...] = …, not only the name"
    assert changed == [[3, 1], [4, 1]]
    assert (D[3, 1], D[4, 1]) == (11, 6)


def test_by_way_of_the_second_too():
    D = np.array(M0)
    step(D, 0)
    step(D, 1)
    assert (D[0, 2], D[4, 2]) == (11, 13)


def test_after_all_steps_the_table_is_right():
    rng = np.random.default_rng(0)
    for n in (1, 2, 17):
        A = np.where(rng.random((n, n)) < 0.3, rng.integers(1, 50, (n, n)).astype(float), INF)
        heights = rng.integers(0, 20, n)
        A += heights - heights[:, None]  # some weights are negative, no cycle is
        D = A.copy()
        np.fill_diagonal(D, np.minimum(np.diagonal(D), 0))
        for k in range(n):
            step(D, k)
        found = check(as_graph(A), D)
        assert found, str(found)
