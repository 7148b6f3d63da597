"""Johnson's potentials for arcs of any sign (Johnson 1977), by Bellman–Ford on all arcs at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from semiring.catalog import min_plus
from semiring.cycles import Lengths, cycle_error

from .conversion import Network


def on_potentials(network: Network) -> tuple[Network, np.ndarray]:
    """The network with the lengths ℓ(u, v) = w(u, v) + h(u) − h(v) ≥ 0, and h; what rounding leaves below 0 is cut off.

    Raises
    ------
    NegativeCycleError
        Of `semiring.errors`.
    """
    h = potentials(network)
    lengths = network.weights + (h[network.tails] - h[network.heads])
    return replace(network, weights=np.maximum(lengths, 0)), h


def restored(D: np.ndarray, h: np.ndarray, sources: np.ndarray | None) -> np.ndarray:
    """D(u, v) ← D(u, v) − h(u) + h(v), in place, for rows u in `sources` or all."""
    at = np.arange(len(h)) if sources is None else sources
    D += h
    D -= h[at][:, None]
    D[np.arange(len(at)), at] = 0
    return D


def potentials(network: Network) -> np.ndarray:
    """h with w(u, v) + h(u) − h(v) ≥ 0 but for rounding: the least length of a walk to each vertex.

    Each round lowers h(v) to min over u of h(u) + w(u, v). The arcs that lowered last make a graph in which every
    vertex has one predecessor; a cycle in it is a negative one, judged by its own weights (`Lengths.rounding`). If it
    is rounding, what lowers h by no more than that is passed over from then on.

    Parameters
    ----------
    network : Network
        By its arcs.

    Raises
    ------
    NegativeCycleError
        Of `semiring.errors`, naming the cycle.
    """
    order = np.argsort(network.heads, kind="stable")
    tails, heads, weights = (x[order] for x in (network.tails, network.heads, network.weights))
    h = np.zeros(network.n, network.dtype)
    came = np.full(network.n, -1)
    if not len(heads):
        return h
    first = np.flatnonzero(np.concatenate(([True], heads[1:] != heads[:-1])))
    ends = heads[first]
    counts = np.diff(np.append(first, len(heads)))
    passed, rounds = h.dtype.type(0), 0
    while True:
        walks = h[tails] + weights
        best = np.minimum.reduceat(walks, first)
        lower = best < h[ends] - passed
        if not lower.any():
            return h
        attained = np.flatnonzero(np.repeat(lower, counts) & (walks == np.repeat(best, counts)))
        came[heads[attained]] = attained
        h[ends[lower]] = best[lower]
        rounds += 1
        if rounds & (rounds - 1) == 0 or rounds > network.n:
            cycle = _cycle(came, tails)
            if cycle:
                length, rounding = Lengths.required(min_plus).rounding(weights[cycle])
                if not rounding:
                    raise cycle_error(tails[cycle].tolist(), length, min_plus, where="csgraph")
                eps = float(np.finfo(network.dtype).eps)
                passed = max(2 * passed, h.dtype.type(eps * float(np.abs(weights[cycle]).max())))
                came[:] = -1


def _cycle(came: np.ndarray, tails: np.ndarray) -> list[int]:
    """The arcs of a cycle of v ← tails[came[v]], in the order of a walk; none if there is no cycle."""
    n = len(came)
    before = np.append(np.where(came >= 0, tails[came], n), n)
    ahead, steps = before, 1
    while steps < n:
        ahead, steps = ahead[ahead], 2 * steps
    on = np.flatnonzero(ahead[:n] < n)
    if not len(on):
        return []
    start = v = int(ahead[on[0]])
    arcs = []
    while True:
        arcs.append(int(came[v]))
        v = int(before[v])
        if v == start:
            return arcs[::-1]
