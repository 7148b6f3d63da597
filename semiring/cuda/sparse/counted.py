"""Elimination with numbers of best walks on the GPU, and the same run backwards. See counted.cu."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...cpu.sparse.counted import HINT
from ...memory import require
from .. import compile, gpu
from .sweep import addresses

if TYPE_CHECKING:
    from .layout import Layout


@lru_cache(maxsize=16)
def kernels(slack: float, device: int) -> dict[str, Any]:
    """The entry functions of elimination with numbers, on a device."""
    unit = compile.functions(text(slack), name="counted.cu")
    return {name: unit.get_function(name) for name in ("eliminate", "keep", "spread")}


def text(slack: float) -> str:
    """The translation unit."""
    return compile.source("counted.cu", f"constexpr double scale = {1.0 + slack!r};\n")


class Told(NamedTuple):
    """What elimination met.

    Attributes
    ----------
    longest : float
        Of the distances between vertices of a front.
    free : bool
        Whether a cycle costs nothing.
    most : float
        The most walks that an entry of F counts.
    symmetric : bool
        Whether all entries of F are the same both ways, as where every arc is.
    """

    longest: float
    free: bool
    most: float
    symmetric: bool


class Numbers:
    """Lengths and numbers of best walks of each entry of F, on the current device; and elimination run backwards."""

    def __init__(self, layout: Layout, arcs: Any, lengths: np.ndarray, slack: float) -> None:
        import cupy

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
        self.kernels = kernels(slack, gpu.current())
        self._run("eliminate", deepest=True)
        self._run("keep")

    @cached_property
    def told(self) -> Told:
        """Of the whole of F. Waits for the device."""
        longest, free, most, differ = self._told.get().tolist()
        return Told(longest, bool(free), most, not differ)

    def of(self, side: str) -> tuple[Any, Any, Any]:
        """Which entries of F are distances, their lengths and numbers: of "lower", or "upper"."""
        kept, lengths, numbers = (self.arrays[f"{side}{name}"] for name in ("_kept", "", "_numbers"))
        return kept, lengths, numbers

    def _run(self, name: str, *, deepest: bool = False) -> None:
        import cupy

        tables = cupy.asarray(np.array(addresses(*self.arrays.values()), np.uint64))
        steps, function = self.layout.fronts, self.kernels[name]
        counters = cupy.zeros((len(steps), gpu.multiprocessors(gpu.current())), np.uint32)
        address, arrived, apart = tables.data.ptr, counters.data.ptr, counters.strides[0]
        for supernodes, team, threads in reversed(steps) if deepest else steps:
            given = address, supernodes.data.ptr, np.int32(team), arrived
            function((len(supernodes) * team,), (threads,), given, enable_cooperative_groups=team > 1)
            arrived += apart

    def spread(self, below: Any, beyond: Any) -> Any:
        """What each arc carries, from sums of the entries of F."""
        self.arrays["lower_sums"], self.arrays["upper_sums"] = below, beyond
        self._run("spread")
        return self.carried
