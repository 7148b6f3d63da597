"""Tiles as data: sizes of products per architecture, and the choice by shape."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ....algebra.dtypes import SCALARS
from ....algebra.records import Semiring, Variant
from .. import cards
from .matrix import Matrix

#: Cost of a tile's prologue and epilogue, also per split-K part, in steps of k; shortest part.
SETTLING, SHORTEST = 50, 256


@dataclass(frozen=True)
class Tile:
    """Sizes of a thread block's tile, in elements.

    bm, bn, bk : rows and columns of C per block; depth in shared memory
    tm, tn : rows and columns per thread
    blocks : resident blocks per multiprocessor; bounds the registers
    rate : measured throughput at full occupancy, relative to the table's best
    lanes : elements per register word
    unroll : unroll factor of the inner loop
    walk, run : rows and words of a thread's sums processed together, column by column
    b_first : whether a thread loads the right operand first
    """

    bm: int
    bn: int
    bk: int
    tm: int
    tn: int
    blocks: int
    rate: float
    lanes: int = 1
    unroll: int = 1
    walk: int = 4
    run: int = 64
    b_first: bool = False

    def __hash__(self) -> int:
        """A few sizes suffice; every launch looks its tile up."""
        return hash((self.bm, self.bn, self.bk, self.tm, self.tn))

    def __str__(self) -> str:
        return f"{self.bm}×{self.bn}×{self.bk} ({self.tm}×{self.tn} a thread)"

    @property
    def threads(self) -> int:
        return (self.bm // self.tm) * (self.bn // self.tn)

    def shared(self, itemsize: int) -> int:
        """Bytes of shared memory: two stages of a (rows padded by 4 words) and b."""
        return 2 * self.bk * (self.bm + 4 + self.bn // self.lanes) * max(4, itemsize)

    def text(self, *, aligned: bool, way: str = "", name: str = "Tile") -> str:
        """C++ struct of these sizes; `way` of sharing work: "", "split-K" or "batched"."""
        names = ("bm", "bn", "bk", "tm", "tn", "unroll", "walk", "run")
        # Packed words of unaligned rows pass through registers, of which a block then needs more.
        blocks = max(1, self.blocks - 1) if self.lanes > 1 and not aligned else self.blocks
        constants = {**{size: getattr(self, size) for size in names}, "blocks": blocks}
        sizes = ", ".join(f"{size} = {value}" for size, value in constants.items())
        flags = {"aligned": aligned, "b_first": self.b_first, "split_k": way == "split-K", "batched": way == "batched"}
        switches = ", ".join(f"{flag} = {str(value).lower()}" for flag, value in flags.items())
        return f"struct {name} {{\n    static constexpr int {sizes};\n    static constexpr bool {switches};\n}};\n"

    def exceeded(self, A: Matrix, B: Matrix, itemsize: int) -> bool:
        """Whether offsets within a tile of operands exceed 32 bits."""
        return max(self.bm * A.ld, self.bk * B.ld, B.columns) * itemsize >= 1 << 32

    def covers(self, m: int, n: int) -> int:
        return -(-m // self.bm) * -(-n // self.bn)

    def cost(self, m: int, n: int, k: int, multiprocessors: int, splits: int = 1) -> float:
        """Relative time of an m × n × k product with `splits` parts of k for partial waves.

        A multiprocessor below its block limit hides less latency: a fifth of the missing blocks' time counts as lost
        (as measured on an H200 at 2048). Prologues and epilogues overlap with other blocks.
        """
        slots = multiprocessors * self.blocks
        waves, left = divmod(self.covers(m, n), slots)
        more, rest = divmod(left * splits, slots)
        last = 0.8 * -(-rest // multiprocessors) + 0.2 * self.blocks if rest else 0.0
        work = waves * self.blocks * (k + SETTLING / self.blocks)
        work += (more * self.blocks + last) * (k + SETTLING * (splits - 1 + 1 / self.blocks)) / splits
        return work * self.bm * self.bn / self.rate

    def unsplit(self, m: int, n: int, multiprocessors: int) -> int:
        """Number of tiles in complete waves; the others are worth splitting along k."""
        slots = multiprocessors * self.blocks
        return self.covers(m, n) // slots * slots


def kind(semiring: Semiring, dtype: np.dtype, variant: Variant | None) -> str:
    """Table key: the variant's name, "plain" (one instruction each for ⊕ and ⊗) or "other"."""
    if variant is not None:
        return variant.name
    saturating = SCALARS[dtype].integer and (semiring.add.saturating or semiring.mul.saturating)
    return "plain" if semiring.add.simd and semiring.mul.simd and not saturating else "other"


@lru_cache(maxsize=256)
def table(arch: str, kind: str, dtype: np.dtype) -> tuple[Tile, ...]:
    """The tiles for a kind of step on a dtype, from the nearest architecture that has them.

    Keys in order: kind and dtype, kind and itemsize, "plain" of that size, "other".
    """
    names = [f"{kind}/{dtype.name}", f"{kind}/{dtype.itemsize}"]
    # A packed step needs packed tiles; others may use those of plain steps.
    names += [f"nonnegative/{dtype.itemsize}"] if kind == "packed" else []
    names += [f"plain/{dtype.itemsize}"] if kind != "other" else []
    return tuple(Tile(**row) for row in cards.lookup("products", (*names, "other"), arch))


@lru_cache(maxsize=256)
def witnesses(arch: str, kind: str, dtype: np.dtype) -> tuple[Tile, ...]:
    """Tiles of witness products, which take twice the registers; keys as in `table`."""
    names = (f"{kind}/{dtype.name}", *(["other"] if kind == "other" else []), str(dtype.itemsize), "any")
    return tuple(Tile(**row) for row in cards.lookup("witnesses", names, arch))


@lru_cache(maxsize=4096)
def splits(tile: Tile, m: int, n: int, k: int, multiprocessors: int) -> int:
    """Number of parts of k per tile in partial waves (split-K).

    1 after a single wave: its tiles end at different times, and the others fill the gaps.
    """
    if tile.covers(m, n) // (multiprocessors * tile.blocks) == 1:
        return 1
    return min(range(1, max(1, min(4, k // SHORTEST)) + 1), key=lambda p: tile.cost(m, n, k, multiprocessors, p))


@lru_cache(maxsize=4096)
def choose(tiles: tuple[Tile, ...], m: int, n: int, k: int, multiprocessors: int) -> Tile:
    return min(tiles, key=lambda t: t.cost(m, n, k, multiprocessors, splits(t, m, n, k, multiprocessors)))


@lru_cache(maxsize=4096)
def chosen_for_batch(tiles: tuple[Tile, ...], count: int, m: int, n: int, k: int, multiprocessors: int) -> Tile:
    def cost(t: Tile) -> float:
        return t.cost(count * -(-m // t.bm) * t.bm, -(-n // t.bn) * t.bn, k, multiprocessors)

    return min(tiles, key=cost)


@lru_cache(maxsize=4096)
def spanning(tiles: tuple[Tile, ...], side: str, m: int, n: int, multiprocessors: int) -> Tile | None:
    """The fastest tile that covers all "rows" (or "columns") with one block, or None."""
    fitting = [t for t in tiles if (t.bm >= m if side == "rows" else t.bn >= n)]
    return min(fitting, key=lambda t: t.cost(m, n, 64, multiprocessors), default=None)
