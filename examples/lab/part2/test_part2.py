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
    """Not more work than n³, every block as large as it says, and the pivot block by itself before the others."""
    asked, plain = [], blocks.through

    def counted(D, rows, columns, inner):
        asked.append([range(len(D))[part] for part in (rows, columns, inner)])
        plain(D, rows, columns, inner)

    monkeypatch.setattr(blocks, "through", counted)
    blocks.closure(graph(12), 3)
    assert asked, "through() is not called"
    for first in range(0, 12, 3):
        pivot = range(first, first + 3)
        begun = [(list(rows), list(columns)) for rows, columns, inner in asked if inner == pivot][:1]
        assert begun == [(list(pivot), list(pivot))], (
            f"the round of {pivot} begins with {begun}, not with its own block"
        )
    assert max(len(inner) for *_, inner in asked) == 3, "more inner vertices than a block has"
    work = sum(len(rows) * len(columns) * len(inner) for rows, columns, inner in asked)
    assert work == 12**3, f"{work} entries meet a vertex, not 12³: each once"
