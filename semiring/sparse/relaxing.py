"""Search of a batch of sources by one thread: its workspace, its buckets and its machine code."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ..algebra.records import Semiring
from ..dense.cycles import Lengths
from ..host.types import Array
from ..kernels.cpu.code import machine_code
from ..kernels.cpu.kinds import choose, raw
from ..kernels.cpu.sparse import movers, relaxation
from ..kernels.cpu.sparse.relaxation import AHEAD, LAST, Lanes
from .buffers import aligned

if TYPE_CHECKING:
    from .searches import Searches, _Graph

#: Buckets.
LISTS = 2048
#: Arcs relaxed by one call into compiled code, about, so that Ctrl-C is handled.
CALL = 1 << 22


class Search:
    """Workspace of one thread's searches."""

    def __init__(
        self, searches: Searches, graph: _Graph, lanes: int, delays: np.ndarray | None, furthest: float, *,
        restored: bool = True,
    ) -> None:  # fmt: skip
        form, n = searches._form, searches.n
        dtype = form.weights.dtype
        self.n, self.graph, self.lanes, self.delays, self.furthest = n, graph, lanes, delays, furthest
        self.restore = form.restore if restored else None
        kind = choose(form.semiring, dtype, bool(np.minimum.reduce(form.weights, initial=0) >= 0))
        self.width, self.raw = _lanes(kind, lanes), raw(dtype.itemsize)
        self.panel = aligned((n, lanes), dtype)
        self.found = np.empty((lanes, n), dtype) if self.restore or delays is not None else None
        self.bucket = np.empty(n, np.int32)
        self.after, self.before = (np.empty(n + LISTS + 1, np.int32) for _ in range(2))
        self.order = np.zeros(lanes + 1, np.float32)
        self.order[lanes], self.shift = numbers(form.semiring, dtype, searches.scale)
        self.search, self.transpose = _code(self.width), machine_code(movers.transpose, self.raw, "iiiiii")
        self.relaxed = 0

    def run(self, sources: np.ndarray, rows: Array) -> None:
        late = np.zeros(len(sources)) if self.delays is None else self.delays[sources] - self.delays[sources].min()
        self.order[: len(sources)] = self.shift + late
        most = int(max(-1, min(self.furthest + float(late.max()), LAST)))
        state = np.array([-1, 0, 0, 0])
        graph, panel = self.graph, self.panel
        while state[0]:
            self.search.call(
                self.width, state, sources, CALL, most, graph.start, graph.heads, graph.weights.ctypes.data,
                panel.ctypes.data, self.order.ctypes.data, self.bucket, self.after, self.before,
            )  # fmt: skip
        self.relaxed += int(state[3])
        found = rows if self.found is None else self.found[: len(sources)]
        self.transpose.call(
            self.raw, self.n, len(sources), panel.ctypes.data, panel.strides[0], found.ctypes.data, found.strides[0]
        )
        if self.found is not None:
            for row, entries in zip(rows, self.restore(found, sources) if self.restore else found, strict=True):
                row[:] = entries


def padded(heads: np.ndarray) -> np.ndarray:
    """Heads, with entries behind them that searches may read."""
    longer = np.zeros(len(heads) + AHEAD, np.int32)
    longer[: len(heads)] = heads
    return longer


def numbers(semiring: Semiring, dtype: np.dtype, scale: float) -> tuple[float, float]:
    """(scale, shift): entry x is in bucket ⌊scale · x + shift⌋, `one` in the first."""
    lengths = Lengths.of(semiring)
    if lengths is None:
        return scale, 0.0
    if not lengths.logarithmic:
        return lengths.sign * scale, 0.0
    bits = 2 ** np.finfo(dtype).nmant
    a_bit = lengths.sign * scale * math.log(2) / bits
    return a_bit, -a_bit * float(np.array(1, dtype).view(f"i{dtype.itemsize}"))


_lanes = cache(Lanes)
_code = cache(lambda width: machine_code(relaxation.search, width, "llii" + "lsi" + "ii" + "sss"))
