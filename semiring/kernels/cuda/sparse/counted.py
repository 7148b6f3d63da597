"""Elimination with best-walk counts on the GPU, and its adjoint. See counted.cu."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....host.memory import require
from ...cpu.sparse.counted import HINT
from .. import algebra, compile, gpu
from ..library import cupy
from .sweep import addresses

if TYPE_CHECKING:
    from .layout import Layout


@compile.unit("counted.cu")
def text(slack: float) -> str:
    return compile.source("counted.cu", algebra.constants(scale=1.0 + slack))


class Told(NamedTuple):
    """Facts found by elimination.

    longest : greatest distance between vertices of a front; free : whether a cycle has length 0; most : greatest number
    of walks of an entry of F; symmetric : whether F is symmetric, as for bidirectional arcs
    """

    longest: float
    free: bool
    most: float
    symmetric: bool


class Numbers:
    """Lengths and best-walk counts of F, on the current device, and the adjoint of elimination."""

    def __init__(self, layout: Layout, arcs: Any, lengths: np.ndarray, slack: float) -> None:
        entries = layout.entries
        self.layout, self.entries = layout, entries
        total, (fronts, rows, columns) = layout.squares, layout.placed(arcs)
        require(32 * total + 52 * entries, "cuda", where="flows", hint=HINT)
        doubles = {name: cupy.empty(total) for name in ("lengths", "numbers", "lengths_across", "numbers_across")}
        doubles |= {name: cupy.empty(entries) for name in ("lower", "lower_numbers", "upper", "upper_numbers")}
        flags = {name: cupy.empty(entries, np.uint8) for name in ("lower_kept", "upper_kept")}
        self._told, self.carried = cupy.zeros(4), cupy.zeros(len(lengths))
        self.arrays = {
            "fronts": fronts, "local": layout.local,
            "arc_row": rows, "arc_col": columns, "weights": cupy.asarray(lengths),
            **doubles, **flags, "lower_sums": self.carried, "upper_sums": self.carried, "carried": self.carried,
            "told": self._told,
        }  # fmt: skip
        self.kernels = text.functions(slack)
        self._run("eliminate", deepest=True)
        self._run("keep")

    @cached_property
    def told(self) -> Told:
        """Facts about all of F; waits for the device."""
        longest, free, most, differ = self._told.get().tolist()
        return Told(longest, bool(free), most, not differ)

    def of(self, side: str) -> tuple[Any, Any, Any]:
        """Of "lower" or "upper": which entries of F are distances, their lengths and counts."""
        kept, lengths, numbers = (self.arrays[f"{side}{name}"] for name in ("_kept", "", "_numbers"))
        return kept, lengths, numbers

    def _run(self, name: str, *, deepest: bool = False) -> None:
        tables = cupy.asarray(np.array(addresses(*self.arrays.values()), np.uint64))
        steps, function = self.layout.fronts, self.kernels[name]
        counters = cupy.zeros((len(steps), gpu.multiprocessors(gpu.current())), np.uint32)
        address, arrived, apart = tables.data.ptr, counters.data.ptr, counters.strides[0]
        for supernodes, team, threads in reversed(steps) if deepest else steps:
            given = address, supernodes, np.int32(team), arrived
            function((len(supernodes) * team,), (threads,), given, enable_cooperative_groups=team > 1)
            arrived += apart

    def spread(self, below: Any, beyond: Any) -> Any:
        """Flow over each arc, from sums of the entries of F."""
        self.arrays["lower_sums"], self.arrays["upper_sums"] = below, beyond
        self._run("spread")
        return self.carried
