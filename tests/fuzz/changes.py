"""Results after any sequence of changed weights, with hub labels and without: held to plain loops over the arcs.

Hub labels that followed the changes are held to fresh ones, bit for bit; those of earlier results stay as they were.
Between two changes results and labels may be pickled, or saved and loaded, and answer and follow as before.
"""

from __future__ import annotations

import pickle
import tempfile
from typing import Any

import numpy as np

import semiring
from apsp import Graph, Result, shortest_paths
from semiring.algebra import dtypes
from semiring.host.errors import DivergenceError
from semiring.sparse import HubLabels, changes, hubs

from .draw import Draw
from .searches import WEIGHTS, star


def case(draw: Draw) -> None:
    """A graph, and after each change of a few of its edges or of all: pairs, tables, the nearest, flows."""
    rng, n = draw.rng(), draw.pick((12, 1, 2, 5, 30, 60, 120))
    changes.MANY, hubs.CALL = draw.pick((2.0, 0.5)), draw.pick((1 << 24, 1))  # by root paths, in short calls
    hubs.PAGE = draw.pick((1 << 16, 1 << 8))
    name = draw.pick(tuple(WEIGHTS))
    s = semiring.get(name)
    dtype = np.dtype(draw.pick(tuple(str(d) for d in dtypes.of(s) if d.kind != "b")))
    directed, top, m = draw.chance(50), draw.pick((9, 2, 60)), draw.below(3 * n + 1)
    ends = np.unique(
        np.sort(rng.integers(0, n, (2, m)), axis=0) if not directed else rng.integers(0, n, (2, m)), axis=1
    )
    ends = ends[:, ends[0] != ends[1]]
    tails, heads = ends
    m = len(tails)
    weights = WEIGHTS[name](rng, m, top).astype(dtype)
    labelled, threads = draw.chance(60), draw.pick((1, 2))
    draw.note(
        semiring=name, dtype=dtype, n=n, directed=directed, tails=tails, heads=heads, weights=weights, hubs=labelled
    )
    graph = Graph.from_arrays(tails, heads, weights, n=n, directed=directed)
    r = shortest_paths(
        graph, semiring=s, dtype=dtype, engine="elimination", threads=threads, order=draw.pick(("auto", "degree"))
    )
    if labelled:
        r.hub_labels()
    zero, earlier = dtypes.zero(s, dtype), []
    for step in range(1 + draw.below(5)):
        expected = _distances(n, tails, heads, weights, s, directed=directed)
        told = expected.astype(float)
        for value, encoded in ((s.zero, zero), (s.one, dtypes.one(s, dtype))):  # infinities are floats
            told[expected == encoded] = float(value)
        if r.engine.hubs is not None:
            H, fresh = r.engine.hubs, r.engine.elimination.hub_labels()
            earlier.append((H if draw.chance(50) else None, fresh))
            for followed, made in earlier:
                if followed is not None:
                    np.testing.assert_array_equal(_bits(followed.out), _bits(made.out))
                    np.testing.assert_array_equal(_bits(followed.into), _bits(made.into))
            every = np.arange(n)
            np.testing.assert_array_equal(_again(draw, H).entries(every[:, None], every), expected)
        if draw.chance(30):
            r = _carried(draw, r)
        us, vs = rng.integers(0, n, (2, 20))
        np.testing.assert_array_equal(r.distance(us, vs), told[us, vs])
        u, v = draw.below(n), draw.below(n)
        assert r.distance(u, v) == told[u, v]
        some, others = rng.integers(0, n, 3), rng.integers(0, n, 4)
        np.testing.assert_array_equal(r.table(some, others), told[np.ix_(some, others)])
        np.testing.assert_array_equal(np.concatenate([D for _, D in r.rows()]), expected)
        if name == "min_plus" and m and draw.chance(50):
            _flows(r, rng, expected, weights, zero)
        if not m:
            return
        few = np.unique(rng.integers(0, m, draw.pick((1, 2, 3, m))))
        new = WEIGHTS[name](rng, len(few), top).astype(dtype)
        if dtype.kind == "f" and name == "min_plus" and draw.chance(30):
            new[0] = np.inf  # a closed road
        weights = weights.copy()
        weights[few] = new
        draw.note(**{f"change {step}": (few, new)})
        if len(few) < m or draw.chance(50):
            r = r.update({(int(tails[k]), int(heads[k])): w for k, w in zip(few, new.tolist(), strict=True)})
        else:
            r = r.update(weights)


def _again(draw: Draw, H: Any) -> Any:
    """Hub labels, or what becomes of them in another process."""
    if draw.chance(50):
        return pickle.loads(pickle.dumps(H))
    return HubLabels.of_arrays(H.semiring, H.out, H.into, H.places, H.base) if draw.chance(50) else H


def _carried(draw: Draw, r: Any) -> Any:
    """The same result, pickled, or saved as hub labels where it has them."""
    if r.engine.hubs is None or r.engine.potential is not None or draw.chance(50):
        return pickle.loads(pickle.dumps(r))
    with tempfile.TemporaryDirectory() as folder:
        r.save(f"{folder}/r.hubs")
        return Result.load(f"{folder}/r.hubs")


def _bits(x: np.ndarray) -> np.ndarray:
    return x.view(f"u{x.itemsize}")


def _distances(n: int, tails: Any, heads: Any, weights: Any, s: Any, *, directed: bool) -> np.ndarray:
    if directed:
        return star(n, tails, heads, weights, s)
    both = np.concatenate((tails, heads)), np.concatenate((heads, tails)), np.concatenate((weights, weights))
    return star(n, *both, s)


def _flows(r: Any, rng: np.random.Generator, D: np.ndarray, weights: np.ndarray, zero: Any) -> None:
    """Σ flow · weight = Σ demand · distance, unless best paths go round in a cycle that costs nothing."""
    q = np.where(zero == D, 0.0, rng.integers(0, 3, D.shape))
    np.fill_diagonal(q, 0.0)
    try:
        carried = r.flows(q)
    except DivergenceError:
        assert (weights == 0).any()
        return
    open_ = weights != zero
    total = (q * np.where(zero == D, 0, D).astype(float)).sum()
    np.testing.assert_allclose((carried[open_] * weights[open_].astype(float)).sum(), total, rtol=1e-9)
