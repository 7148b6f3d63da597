"""Of routes.py: the graphs on which predecessors are measured: random, with ties, zeros or long paths."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

SEED = 0


def families(n: int) -> dict[str, Callable[[np.random.Generator], np.ndarray]]:
    """Name → a matrix of lengths, ∞ where there is no edge."""

    def points(rng: np.random.Generator) -> np.ndarray:
        x = rng.random((n, 2))
        return np.sqrt(((x[:, None] - x) ** 2).sum(-1))

    def within(rng: np.random.Generator) -> np.ndarray:
        d = points(rng)
        return np.where(d < 0.05, d, np.inf)

    return {
        "dense uniform": lambda rng: rng.random((n, n)),
        "integers 1-99": lambda rng: rng.integers(1, 100, (n, n)),
        "complete Euclidean": points,
        "unweighted 30 %": lambda rng: np.where(rng.random((n, n)) < 0.3, 1, np.inf),
        "half zeros": lambda rng: np.where(rng.random((n, n)) < 0.5, 0, rng.random((n, n))),
        "geometric, radius 0.05": within,
        "0 or 1, 1 %": lambda rng: np.where(rng.random((n, n)) < 0.01, rng.integers(0, 2, (n, n)), np.inf),
        "1e-9, 1 or 1000, degree 8": lambda rng: np.where(
            rng.random((n, n)) < 8 / n, rng.choice([1e-9, 1, 1000], (n, n)), np.inf
        ),
        "ring of zeros": lambda rng: np.where(np.roll(np.eye(n, dtype=bool), 1, axis=1), 0, np.inf),
        "negative edges": lambda rng: rng.random((n, n)) + (lambda p: p - p[:, None])(10 * rng.random(n)),
        "twins": lambda rng: twins(n, rng),
    }


def twins(n: int, rng: np.random.Generator) -> np.ndarray:
    """Unweighted 30 %, every vertex twice, with an edge of weight 0 either way between the two."""
    half = n // 2
    A = np.full((n, n), np.inf)
    A[:half, :half] = A[half : 2 * half, half : 2 * half] = np.where(rng.random((half, half)) < 0.3, 1, np.inf)
    at = np.arange(half)
    A[at, at + half] = A[at + half, at] = 0
    return A
