"""Many paths in one flat array of vertices with CSR starts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

from semiring.dense.routes import walks
from semiring.host.devices import host
from semiring.host.types import Label

from ...io.labels import Labels
from ..routes import Trees

#: Maximum number of paths from one vertex searched alone, not in a tree.
FEW = 8


class Paths(Sequence[list[Any]]):
    """Paths as lists of labels, stored as flat arrays; an empty list for no path.

    `vertices` are int32 positions along all paths; path k is vertices[starts[k] : starts[k + 1]].

    >>> from apsp import shortest_paths
    >>> found = shortest_paths([("A", "B", 4), ("B", "C", 7)]).paths([("A", "C"), ("C", "A"), ("B", "B")])
    >>> list(found), found.hops
    ([['A', 'B', 'C'], [], ['B']], array([    2, -9999,     0]))
    """

    def __init__(self, vertices: np.ndarray, starts: np.ndarray, labels: Labels) -> None:
        self.vertices, self.starts, self.labels = vertices, starts, labels

    def __repr__(self) -> str:
        return f"<Paths: {len(self)} paths, {len(self.vertices)} vertices>"

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, index: int) -> list[Label]: ...
    @overload
    def __getitem__(self, index: slice) -> list[list[Label]]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        k = range(len(self))[index]
        return self._named(self.vertices[self.starts[k] : self.starts[k + 1]])

    def __iter__(self) -> Iterator[list[Label]]:
        named, starts = self._named(self.vertices), self.starts.tolist()
        return (named[start:stop] for start, stop in itertools.pairwise(starts))

    @property
    def hops(self) -> np.ndarray:
        """The number of edges of each path: int64, −9999 for none."""
        count = np.diff(self.starts)
        return np.where(count == 0, -9999, count - 1)

    def _named(self, vertices: np.ndarray) -> list[Label]:
        names, numbers = self.labels[:], vertices.tolist()
        if isinstance(names, range):
            first = names.start
            return [first + v for v in numbers] if first else numbers
        return [names[v] for v in numbers]


def paths_of(trees: Trees, sources: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Paths between pairs of positions, in full trees if available or mostly needed."""
    if trees.complete or (trees.engine.in_memory and 8 * len(np.unique(sources)) >= trees.graph.n):
        return walks(host(trees.predecessors), sources, sources, targets)
    known, which, many = np.unique(sources, return_inverse=True, return_counts=True)
    order = np.argsort(which, kind="stable")
    counts, starts = np.full(len(sources), -1, np.int64), np.zeros(len(sources) + 1, np.int64)
    parts = []
    few = order[many[which[order]] <= FEW]
    if len(few) and (near := trees.near(sources[few], targets[few])) is not None:
        parts.append(near[0])
        counts[few] = near[1]
    rest = order[counts[order] < 0]
    order = np.concatenate((few[counts[few] >= 0], rest))
    known, which = np.unique(sources[rest], return_inverse=True)
    ends = np.searchsorted(which, np.arange(len(known) + 1))
    done = 0
    for rows, tree in trees.rows(known) if len(known) else ():
        here = slice(ends[done], ends[done + len(rows)])
        vertices, bounds = walks(tree, which[here] - done, sources[rest[here]], targets[rest[here]])
        parts.append(vertices)
        counts[rest[here]] = np.diff(bounds)
        done += len(rows)
    np.cumsum(counts, out=starts[1:])
    if len(parts) == 1 and (order == np.arange(len(order))).all():
        return parts[0], starts
    vertices = np.empty(int(starts[-1]), np.int32)
    found = np.concatenate([np.empty(0, np.int32), *parts])
    moved = counts[order]
    begins = np.repeat(starts[:-1][order] - (moved.cumsum() - moved), moved)
    vertices[begins + np.arange(len(found))] = found
    return vertices, starts
