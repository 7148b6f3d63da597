import kleene
import numpy as np
import pytest

from apsp import as_graph, check

INF = np.inf


def graph(n, seed=0):
    rng = np.random.default_rng(seed)
    A = np.where(rng.random((n, n)) < 0.2, rng.integers(1, 50, (n, n)).astype(float), INF)
    np.fill_diagonal(A, 0)
    return A


@pytest.mark.parametrize("n", [1, 2, 3, 8, 13, 32])
def test_the_table_is_right(n):
    A = graph(n)
    D = A.copy()
    kleene.closure(D)
    found = check(as_graph(A, null_value=None), D)
    assert found, str(found)


def test_a_cycle_of_negative_and_positive_arcs():
    A = np.full((7, 7), INF)
    for i in range(7):
        A[i, (i + 1) % 7] = 3 if i % 2 else -2
    D = A.copy()
    np.fill_diagonal(D, 0)
    kleene.closure(D)
    found = check(as_graph(A), D)
    assert found, str(found)


def test_there_are_six_products_a_level(monkeypatch):
    """Of 16 vertices, down to single ones: 6 · (1 + 2 + 4 + 8); where small blocks are closed otherwise, fewer."""
    asked, plain = [], kleene.product

    def counted(X, Y):
        asked.append(X.shape[0] * X.shape[1] * Y.shape[1])
        return plain(X, Y)

    monkeypatch.setattr(kleene, "product", counted)
    kleene.closure(graph(16))
    assert asked, "product() is not called"
    largest = [size for size in asked if size == max(asked)]
    assert largest[0] == 8**3, "the largest products are those of quarters"
    assert len(largest) == 6, f"six products of 8 × 8 × 8, not {len(largest)}"
    assert len(asked) <= 6 * 15, f"{len(asked)} products in all, not {6 * 15}"
