"""Pendant trees of a graph: their arc loads follow from sums, so that only the core is swept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..algebra import dtypes
from ..kernels.cpu.sparse import pendant
from . import structure
from .analysis import Analysis

if TYPE_CHECKING:
    from .elimination import Elimination

T = TypeVar("T")
#: Least share of vertices in trees to bother, and most strong components of the core.
SHARE, COMPONENTS = 1 / 32, 1024


@dataclass(frozen=True)
class Placed:
    """Arcs of the core in front order, arcs up from and down to each tree vertex, and the core arcs' positions.

    `complete`: every tree vertex has both.
    """

    inner: np.ndarray
    up: np.ndarray
    down: np.ndarray
    arcs: structure.Arcs
    complete: bool


class Core:
    """Graph without its pendant trees: vertices attached by a single edge both ways, removed one after another.

    analysis                    of the core, with its own vertex numbers
    vertices (core,), number (n,)   original vertex of each core vertex, and the inverse
    removed                     tree vertices, each before its parent
    parent, root (n,)           next vertex towards the core (−1 in the core), core vertex reached
    label (core,)               strong component
    reach, reached_from         sparse 0-1 matrices of reachability between components
    """

    def __init__(self, analysis: Analysis, removed: np.ndarray, parent: np.ndarray) -> None:
        from scipy.sparse import coo_array, csr_array
        from scipy.sparse.csgraph import connected_components

        n, self.removed, self.parent = analysis.n, removed, parent
        self.vertices = np.flatnonzero(parent < 0)
        count = len(self.vertices)
        self.number = np.full(n, -1, np.int32)
        self.number[self.vertices] = np.arange(count)
        self.root = self.number.copy()
        for v in removed[::-1].tolist():
            self.root[v] = self.root[parent[v]]
        tails, heads = (self.number[ends] for ends in (analysis.tails, analysis.heads))
        both = (tails >= 0) & (heads >= 0)
        tails, heads = tails[both], heads[both]
        self.analysis = Analysis(tails, heads, count)
        A = coo_array((np.ones(len(tails)), (tails, heads)), shape=(count, count))
        components, self.label = connected_components(A, connection="strong")
        self.suitable = components <= COMPONENTS
        if not self.suitable:
            return
        reach = np.eye(components, dtype=np.float32)
        reach[self.label[tails], self.label[heads]] = 1
        for _ in range(components.bit_length()):
            reach = np.minimum(reach @ reach, 1)
        self.reach, self.reached_from = (csr_array(R.astype(np.float64)) for R in (reach, reach.T))

    @classmethod
    def of(cls, analysis: Analysis) -> Core | None:
        """Core of an analysis, cached there; None where trees are few."""
        if "core" not in analysis.on_devices:
            n, found = analysis.n, None
            parent, removed, work = np.full(n, -1, np.int32), np.empty(n, np.int32), np.zeros((4, n), np.int32)
            count = pendant.remove(analysis.tails, analysis.heads, *work, parent, removed)
            if count >= n * SHARE:
                found = cls(analysis, removed[:count].copy(), parent)
            analysis.on_devices["core"] = found if found is not None and found.suitable else None
        return analysis.on_devices["core"]

    def placed(self, tails: np.ndarray, heads: np.ndarray) -> Placed:
        """Positions of these arcs."""
        inner, ends = np.empty(len(tails), np.int32), np.empty((2, len(tails)), np.int32)
        up, down = np.full((2, len(self.parent)), -1, np.int32)
        of = (x.astype(np.int32) for x in (tails, heads))
        count = pendant.place(*of, self.parent, self.number, inner, ends, up, down)
        arcs = structure.arcs(self.analysis.structure, *np.ascontiguousarray(ends[:, :count]))
        up, down = up[self.removed], down[self.removed]
        complete = min(up.min(initial=0), down.min(initial=0)) >= 0
        return Placed(inner[:count][arcs.arc], up, down, arcs, bool(complete))


class Flows:
    """Arc loads from sums of the core (`inner`, None without arcs); see `semiring.sparse.flows.Flows`.

    A core vertex stands for the demand and the sources in its trees. If a tree below an edge has A sources and demand
    B, N sources reach its root, and demand R is reachable from the root, then A (R − B) flows up that edge and (N − A)
    B down.
    """

    def __init__(self, core: Core, placed: Placed, inner: Any) -> None:
        self.core, self.placed, self.inner = core, placed, inner
        self.suitable = True  # `add` tells whether the core is: until then the device computes
        self.sums = np.zeros((2, len(core.removed)))
        self.ends = np.zeros(len(core.parent), np.int64)

    def add(self, sources: np.ndarray, asked: Any, report: Callable[[int], None]) -> bool:
        """`add` of the core; only for demand equal for every source."""
        if callable(asked):
            return False
        core, of, size = self.core, np.zeros((2, self.core.reach.shape[0])), len(self.core.vertices)
        many, wanted = np.zeros(len(core.parent)), np.array(asked, np.float64)
        trees = core.removed, core.parent
        pendant.gather(*trees, core.vertices, core.label, sources, many, wanted, of, self.ends)
        of[0], of[1] = core.reached_from @ of[0], core.reach @ of[1]
        used, times, far = np.empty(size, np.int64), np.empty(size), np.empty(size)
        told = many, wanted, self.ends, self.sums, used, times, far
        count = pendant.carry(*trees, core.root, core.vertices, core.label, of, *told)
        if self.inner is None:
            report(len(sources))
            return True
        done = len(sources) / max(count, 1)
        return bool(self.inner.add(used[:count], far, lambda k: report(round(k * done)), times[:count]))

    def along(self) -> np.ndarray:
        """Load of each arc, float64, in the order given."""
        there = self.placed
        carried = self.inner.carried if self.inner is not None else np.empty(0)
        out = np.empty(len(there.inner) + 2 * len(self.core.removed))
        pendant.put(carried, there.inner, there.up, there.down, self.sums, out)
        return out


def last(analysis: Analysis, arcs: tuple[np.ndarray, ...], place: Callable[[], T]) -> T:
    """`place()`, cached for the last arcs of an analysis."""
    known = analysis.on_devices.get("placed")
    if known is None or not all(a is b or np.array_equal(a, b) for a, b in zip(known[0], arcs, strict=True)):
        known = analysis.on_devices["placed"] = arcs, place()
    return known[1]


def placed(
    E: Elimination, tails: np.ndarray, heads: np.ndarray, lengths: np.ndarray
) -> tuple[Core, Placed, np.ndarray] | None:
    """Core of E's graph, positions of these arcs, and lengths in its order; None without core or with absent arcs."""
    core, weights = Core.of(E.analysis), E.weights_by_front
    if core is None or (weights == dtypes.zero(E.semiring, weights.dtype)).any():
        return None
    there = last(core.analysis, (tails, heads), lambda: core.placed(tails, heads))
    own = np.empty(len(there.inner))
    if not there.complete or not pendant.taken(lengths, there.inner, there.up, there.down, own):
        return None
    return core, there, own
