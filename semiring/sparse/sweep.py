"""Queries on panels: rows and columns of A* by batches, single entries, products with vectors."""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from ..algebra.ranges import cut
from ..kernels.cpu.code import CALL, gain, machine_code
from ..kernels.cpu.kinds import Kind
from ..kernels.cpu.sparse import sweep
from .buffers import aligned
from .fronts import Panels, code_of
from .structure import Structure

#: Least lanes of a batch.
LANES = 64
#: Padding of vector memory, in entries.
ALIGNED = 64


_climb = cache(partial(machine_code, sweep.climb, None, "iibii" + "sssls" + "sls" + "iii"))
_sweep = cache(partial(machine_code, sweep.sweep, None, "iibii" + "sssslssl" + "s" + "iiiiii"))
_pairs = cache(partial(machine_code, sweep.pairs, None, "iiiiii" + "ss" + "ssslssl" + "iiiii"))


class Wanted(NamedTuple):
    """Target of a sweep: path, supernodes with all ancestors, ascending; label (n,), output row or −1 by column."""

    path: np.ndarray
    label: np.ndarray


class Sweeper:
    """Queries on panels, with the workspace of one thread."""

    def __init__(self, structure: Structure, panels: Panels, kind: Kind) -> None:
        self.S, self.kind, self.code, self.size = structure, kind, code_of(kind), kind.itemsize
        self.dtype = np.dtype(kind.dtype)
        self.lower, self.upper = panels.lower.ctypes.data, panels.upper.ctypes.data
        self.panels = panels  # read by address
        self.offsets = np.full(len(structure), -1, np.int32)
        self.path = np.empty(len(structure), np.int32)
        self.index = np.empty(structure.front, np.int32)
        self.stack = self.z = np.empty(0, self.dtype)
        self.lazy: Any = None  # see `paths.Lazy`

    def lanes(self, sources: int) -> int:
        """Lanes for `sources` sources: 1, or full vectors."""
        unit = self.kind.lanes if self.kind.vector and sources > 1 else 1
        return -(-sources // unit) * unit

    def wanted(self, vertices: np.ndarray) -> Wanted:
        """Root paths of distinct vertices; vertex k goes to row k."""
        label = np.full(self.S.n, -1, np.int32)
        label[self.S.position[vertices]] = np.arange(len(vertices))
        path = self._root_paths(self.S.position[vertices])
        self.offsets[path] = -1
        return Wanted(path.copy(), label)

    def batch(
        self, sources: np.ndarray, out: np.ndarray, *, mirrored: bool = False, wanted: Wanted | None = None
    ) -> None:
        """out[v, k] ← A*[sources[k], v], mirrored A*[v, sources[k]]; `out` has `lanes` columns, aligned.

        Row v is vertex v, or the v-th of `wanted`.
        """
        places = self.S.position[sources]
        path = self._root_paths(places)
        columns = sweep.places(path, self.S.first, self.offsets)
        z = self._cleared(columns, out.shape[1])
        owners = self.S.owner[places]
        z[self.offsets[owners] + places - self.S.first[owners], np.arange(len(places))] = self.kind.one
        self._both(path, self.offsets, z, out, mirrored, wanted or Wanted(self.S.every, self.S.permutation))
        self.offsets[path] = -1  # after an interrupt the workspace is dropped

    def product(self, x: np.ndarray, out: np.ndarray, *, mirrored: bool = False) -> None:
        """out ← (xᵀ A*)ᵀ, mirrored A* x; x and `out` have `lanes` columns."""
        z = self._cleared(self.S.n, out.shape[1])
        z[:] = x[self.S.permutation]
        self._both(self.S.every, self.S.first, z, out, mirrored, Wanted(self.S.every, self.S.permutation))

    def pairs(self, sources: np.ndarray, targets: np.ndarray, out: np.ndarray) -> None:
        """out[q] ← A*[sources[q], targets[q]]."""
        S, longest = self.S, self.S.height + ALIGNED
        if len(self.z) < 2 * longest:
            self.z = aligned((2 * longest,), self.dtype)
        z = self.z.ctypes.data
        step = max(1, CALL * gain(self.kind) // 64 // max(1, 2 * S.climb))
        s, t = S.position[sources], S.position[targets]
        out[:] = self.kind.zero
        code = self.code
        for start in range(0, len(s), step):
            _pairs().call(
                code.fill.address, code.climb.address, code.pair.address, self.size, start, min(start + step, len(s)),
                s, t, S.parent, S.owner, S.first, S.begin, S.slot, S.base, S.panel,
                self.lower, self.upper, z, z + longest // ALIGNED * ALIGNED * self.size,
                out.ctypes.data,
            )  # fmt: skip

    def transpose(self, panel: np.ndarray, rows: np.ndarray) -> None:
        count, n = rows.shape
        self.code.transpose.call(
            self.code.raw, n, count, panel.ctypes.data, panel.strides[0], rows.ctypes.data, rows.strides[0]
        )

    def _cleared(self, rows: int, lanes: int) -> np.ndarray:
        entries = rows * lanes
        if len(self.z) < entries:
            self.z = aligned((entries + entries // 4 + ALIGNED,), self.dtype)
        self.code.fill.call(self.kind, entries, self.z.ctypes.data, -1)
        return self.z[:entries].reshape(rows, lanes)

    def _root_paths(self, places: np.ndarray) -> np.ndarray:
        """Supernodes on the root paths of columns, ascending; sets their offsets to 0, others are −1."""
        found = sweep.ancestors(places, self.S.owner, self.S.parent, self.offsets, self.path)
        path = self.path[:found]
        path.sort()  # in NumPy: a compiled sort takes a second to compile
        return path

    def _both(
        self, path: np.ndarray, offsets: np.ndarray, z: np.ndarray, out: np.ndarray, mirrored: bool, wanted: Wanted
    ) -> None:
        """Climb along the path, then sweep, in calls short enough for Ctrl-C."""
        S, lanes = self.S, out.shape[1]
        up, down = (self.lower, self.upper) if mirrored else (self.upper, self.lower)
        high = S.height * lanes
        if len(self.stack) < high:
            self.stack = aligned((high,), self.dtype)
        most = max(1, CALL * gain(self.kind) // max(1, lanes))
        for start, stop in self.pieces(path, most):
            _climb().call(
                self.code.climb.address, self.size, mirrored, start, stop,
                path, offsets, S.first, S.begin, S.rows, S.owner, S.panel, self.index, up, z.ctypes.data, lanes,
            )  # fmt: skip
        for start, stop in reversed(self.pieces(wanted.path, most)):
            _sweep().call(
                self.code.sweep.address, self.size, mirrored, start, stop, wanted.path, offsets,
                S.first, S.child, S.begin, S.slot, S.base, S.panel, wanted.label, down,
                z.ctypes.data, self.stack.ctypes.data, out.ctypes.data, out.strides[0], lanes,
            )  # fmt: skip

    def pieces(self, path: np.ndarray, most: int) -> list[tuple[int, int]]:
        """Ranges of the path whose panels have at most about `most` entries."""
        if self.panels.lower.size <= most:
            return [(0, len(path))]
        return cut(np.concatenate(([0], np.cumsum(self.S.sizes[path]))), most)
