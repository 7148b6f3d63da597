import blocks
import numpy as np
import pytest

from apsp import as_graph, check

INF = np.inf


def graph(n, seed=0):
    rng = np.random.default_rng(seed)
    A = np.where(rng.random((n, n)) < 0.2, rng.integers(1, 50, (n, n)).astype(float), INF)
    np.fill_diagonal(A, 0)
    return A


@pytest.mark.parametrize("block", [1, 2, 4, 5, 12, 20])
def test_the_table_is_right_for_any_block(block):
    A = graph(12)
    D = A.copy()
    blocks.closure(D, block)
    found = check(as_graph(A, null_value=None), D)
    assert found, str(found)


def test_each_entry_meets_each_vertex_once(monkeypatch):
    """Not more work than n³, and every block as large as it says."""
    asked, plain = [], blocks.through

    def counted(D, rows, columns, inner):
        sizes = [len(range(len(D))[part]) for part in (rows, columns, inner)]
        asked.append(sizes)
        plain(D, rows, columns, inner)

    monkeypatch.setattr(blocks, "through", counted)
    blocks.closure(graph(12), 3)
    assert sum(a * b * c for a, b, c in asked) == 12**3
    assert max(inner for *_, inner in asked) == 3
