"""Translation units of the dense kernels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from ....algebra.records import Semiring, Variant
from .. import algebra, cards, compile
from . import cooperative, tiles

#: Access patterns of `step` and their numbers in step.cu; "pitched" is a property of the matrix.
ACCESS = {"rows": 0, "pitched": 0, "shared": 1, "columns": 2}


def translation_units(
    semiring: Semiring, dtype: np.dtype, arch: str, *, nonnegative: bool = False
) -> Iterator[tuple[str, str]]:
    """(name, text) of every translation unit that the verbs of a semiring may use on an architecture."""
    variant = algebra.variant_of(semiring, dtype, nonnegative=nonnegative, arch=arch)
    text = algebra.text(semiring, dtype, variant)
    kind = tiles.kind(semiring, dtype, variant)
    for entries in pivots(kind, dtype.itemsize, arch):
        yield f"pivot {entries[:2]}", pivot_source(text, *entries)
    lanes = tiles.table(arch, kind, dtype)[0].lanes
    step = kind, dtype.itemsize, lanes, arch
    for geometry in (*cooperative.streaming(*step), cooperative.batched(*step), *cooperative.resident(*step)):
        yield f"{geometry.kernel} {geometry.bm}×{geometry.bn}", cooperative.source(text, geometry)
    for per_thread in (1, 4):
        yield f"step {per_thread}", step_source(text, per_thread)
    for tile in tiles.table(arch, kind, dtype):
        for aligned in (True, False):
            yield f"gemm {tile}{' aligned' if aligned else ''}", gemm_source(text, tile, aligned=aligned)
        for way in ("split-K", "batched"):
            yield f"gemm {way} {tile} aligned", gemm_source(text, tile, aligned=True, way=way)
    if semiring.add.selects:
        single = one_lane(semiring, dtype, arch, nonnegative=nonnegative)
        for tile in tiles.witnesses(arch, tiles.kind(semiring, dtype, single), dtype):
            for aligned in (True, False):
                name = f"witness {tile}{' aligned' if aligned else ''}"
                yield name, witness_source(algebra.text(semiring, dtype, single), tile, aligned=aligned)


def one_lane(semiring: Semiring, dtype: np.dtype, arch: str, *, nonnegative: bool) -> Variant | None:
    """The fastest variant, if its words are single entries, as witnesses require."""
    variant = algebra.variant_of(semiring, dtype, nonnegative=nonnegative, arch=arch)
    return variant if tiles.table(arch, tiles.kind(semiring, dtype, variant), dtype)[0].lanes == 1 else None


def plain_tile(lanes: int) -> tiles.Tile:
    """The tile of `tile="plain"`: one word of four rows per thread, 32 × 32 per block."""
    return tiles.Tile(32, 32, 32, 4, lanes, blocks=2, rate=1.0, lanes=lanes)


@lru_cache(maxsize=256)
def pivots(kind: str, itemsize: int, arch: str) -> tuple[tuple[int, int, int], ...]:
    """(rows, columns) of a pivot block per thread, and thread blocks per multiprocessor: for one matrix, and for many.

    One block is fastest with many threads, a full device with few busy ones; wide arithmetic on narrow entries takes
    more registers.
    """
    found = cards.lookup("pivots", (f"{kind}/{itemsize}", str(itemsize), kind, "any"), arch)
    return tuple((tm, tn, min_blocks) for tm, tn, min_blocks in found)


def pivot_source(algebra_text: str, tm: int, tn: int, min_blocks: int) -> str:
    return compile.source("pivot.cu", algebra_text, algebra.constants(tm=tm, tn=tn, min_blocks=min_blocks))


def step_source(algebra_text: str, per_thread: int, access: str = "rows") -> str:
    return compile.source("step.cu", algebra_text, algebra.constants(rows_each=per_thread, access=ACCESS[access]))


def witness_source(algebra_text: str, tile: tiles.Tile, *, aligned: bool) -> str:
    return compile.source("witness.cu", algebra_text, tile.text(aligned=aligned))


def gemm_source(algebra_text: str, tile: tiles.Tile, *, aligned: bool, way: str = "") -> str:
    return compile.source("gemm.cu", algebra_text, tile.text(aligned=aligned, way=way))
