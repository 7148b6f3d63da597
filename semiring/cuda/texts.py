"""Translation units: which C++ text each kernel is compiled from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from ..algebra import Semiring
from . import algebra, cards, compile, team, tiles


def texts(semiring: Semiring, dtype: np.dtype, arch: str, *, nonnegative: bool = False) -> Iterator[tuple[str, str]]:
    """Every translation unit that the verbs of a semiring may ask for on an architecture, each with a name."""
    variant = algebra.variant_of(semiring, dtype, nonnegative=nonnegative)
    text = algebra.text(semiring, dtype, variant)
    kind = tiles.kind(semiring, dtype, variant)
    for entries in pivots(kind, dtype.itemsize, arch):
        yield f"pivot {entries[:2]}", pivot_text(text, *entries)
    lanes = tiles.table(arch, kind, dtype)[0].lanes
    step = kind, dtype.itemsize, lanes, arch
    for sizes in (*team.coming(*step), team.each(*step), *team.holding(*step)):
        yield f"{sizes.kernel} {sizes.bm}×{sizes.bn}", team.text(text, sizes)
    for per_thread in (1, 4):
        yield f"step {per_thread}", step_text(text, per_thread)
    for tile in tiles.table(arch, kind, dtype):
        for aligned in (True, False):
            yield f"gemm {tile}{' aligned' if aligned else ''}", gemm_text(text, tile, aligned=aligned)
        for way in ("parts", "batch"):
            yield f"gemm in {way} {tile} aligned", gemm_text(text, tile, aligned=True, way=way)


def plain_tile(lanes: int) -> tiles.Tile:
    """What `tile="plain"` computes with: one word of four rows a thread, 32 × 32 a block, as simple kernels do."""
    return tiles.Tile(32, 32, 32, 4, lanes, blocks=2, rate=1.0, lanes=lanes)


@lru_cache(maxsize=256)
def pivots(kind: str, itemsize: int, arch: str) -> tuple[tuple[int, int, int], ...]:
    """A thread's rows and columns of a pivot block, and how many blocks a multiprocessor holds: for one, and for many.

    A single block is fastest with many threads, a full device with few that have much to do; wide arithmetic on narrow
    entries takes more registers.
    """
    found = cards.lookup("pivots", (f"{kind}/{itemsize}", str(itemsize), kind, "any"), arch)
    return tuple((tm, tn, resident) for tm, tn, resident in found)


def pivot_text(algebra_text: str, tm: int, tn: int, resident: int) -> str:
    """The translation unit of closures of up to 64 rows."""
    sizes = {"tm": tm, "tn": tn, "resident": resident}
    return compile.source("pivot.cu", algebra_text, *(f"constexpr int {k} = {v};\n" for k, v in sizes.items()))


def step_text(algebra_text: str, per_thread: int) -> str:
    """The translation unit of the whole-matrix step."""
    return compile.source("step.cu", algebra_text, f"constexpr int rows_each = {per_thread};\n")


def gemm_text(algebra_text: str, tile: tiles.Tile, *, aligned: bool, way: str = "") -> str:
    """The translation unit of one product kernel."""
    return compile.source("gemm.cu", algebra_text, tile.text(aligned=aligned, way=way))
