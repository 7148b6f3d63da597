"""Johnson's potentials for arcs of any sign (Johnson 1977)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from semiring.algebra.catalog import min_plus
from semiring.sparse.cycles import Weighted

from .conversion import Network


def on_potentials(network: Network) -> tuple[Network, np.ndarray]:
    """The network with lengths ℓ(u, v) = w(u, v) + h(u) − h(v), clipped at 0 against rounding; and h."""
    h = potentials(network)
    lengths = network.weights + (h[network.tails] - h[network.heads])
    return replace(network, weights=np.maximum(lengths, 0)), h


def restored(D: np.ndarray, h: np.ndarray, sources: np.ndarray | None) -> np.ndarray:
    """D(u, v) ← D(u, v) − h(u) + h(v), in place, for rows u in `sources` or all."""
    vertices = np.arange(len(h)) if sources is None else sources
    D += h
    D -= h[vertices][:, None]
    D[np.arange(len(vertices)), vertices] = 0
    return D


def potentials(network: Network) -> np.ndarray:
    """h with w(u, v) + h(u) − h(v) ≥ 0 up to rounding, for a network of arcs; raises `errors.NegativeCycleError`."""
    arcs = Weighted(network.tails, network.heads, network.weights, network.n, min_plus)
    return arcs.potentials(where="csgraph").astype(network.dtype, copy=False)
