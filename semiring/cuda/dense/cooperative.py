"""Closures in one launch: the geometry that streaming.cu, batched.cu and resident.cu are compiled with, and
their workspace."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from .. import cards, compile
from . import tiles

#: A pivot block's side, and the threads of a thread block.
SIDE, THREADS = 64, 256


@dataclass(frozen=True)
class Geometry:
    """The sizes that closing.inl works with.

    Attributes
    ----------
    bm, bn, tm, tn : int
        A trailing tile's rows and words, and a thread's.
    panel : int
        Words that a tile of a row panel is wide, rows that a tile of a column panel is high.
    min_blocks : int
        Thread blocks that a multiprocessor must have registers for (CUDA's launch bounds).
    lanes, word : int
        Elements to a word, and its bytes.
    kernel : str
        "streaming", where tiles are loaded and stored for each pivot block; "batched", the same for a thread block a
        matrix; "resident", where a thread block keeps one tile in registers from the first pivot block to the last.
    panel_unroll : int
        How far the inner loop of panels and of the leader's products is unrolled, as registers allow.
    """

    bm: int
    bn: int
    tm: int
    tn: int
    panel: int
    min_blocks: int
    lanes: int
    word: int
    kernel: str = "streaming"
    panel_unroll: int = 16

    @property
    def resident(self) -> bool:
        """Whether tiles stay in registers."""
        return self.kernel == "resident"

    @property
    def depth(self) -> int:
        """How much of k of a trailing tile's operands comes at once: a resident tile should begin soon."""
        return SIDE // 4 if self.resident else SIDE // 2

    @property
    def prelude(self) -> str:
        """The C++ text that precedes the kernel's."""
        wide = self.lanes
        sizes = (self.bm, self.bn * wide, self.depth, self.tm, self.tn * wide)
        # A resident tile leaves few registers: nothing is unrolled, and its sums go a complete column at a time.
        order = (1, self.tm, 64, True) if self.resident else (4, 2, 4, False)
        tile = tiles.Tile(*sizes, self.min_blocks, 1.0, wide, *order)
        names = ("panel", "min_blocks", "panel_unroll")
        others = ", ".join(f"{name} = {getattr(self, name)}" for name in names)
        return tile.text(aligned=True, name="Trailing") + f"constexpr int {others};\n"

    @property
    def shared(self) -> int:
        """Bytes of shared memory: parts of a trailing tile's operands, or two products of the leader and its pivots."""
        trailing = (4 if self.resident else 3) * self.depth * (self.bm + 4 + self.bn)
        leader = SIDE * (2 * (SIDE + 4) + 3 * SIDE // self.lanes + 8)
        return self.word * max(trailing, leader)

    def width(self, n: int) -> int:
        """Columns of a panel in the workspace, in words: a multiple of every tile's side."""
        unit = max(self.bm, self.bn)
        return -(-n // unit) * unit

    def workspace(self, n: int) -> int:
        """Bytes of the workspace of one closure: the pivot block twice as two operands, and two panels."""
        return self.word * SIDE * (4 * SIDE + 2 * self.width(n))

    def blocks(self, n: int) -> int:
        """How many thread blocks have work in a trailing update: one a tile, and the first, which closes pivots."""
        return -(-n // self.bm) * -(-n // (self.bn * self.lanes)) + 1

    def useful(self, n: int) -> int:
        """How many have work at all: panels may have more tiles; and where none is resident, one panel comes late."""
        panels = -(-n // self.panel) + -(-n // (self.panel * self.lanes)) + 1
        return max(panels, self.blocks(n) + (0 if self.resident else SIDE // self.panel))


def streaming(kind: str, itemsize: int, lanes: int, arch: str) -> tuple[Geometry, ...]:
    """For one matrix and a kind of step (see `tiles.kind`), those whose tiles are loaded and stored; small first.

    Small tiles keep more of the device at work where the matrix is small; larger ones read less.
    """
    return _found("streaming", "any", kind, itemsize, lanes, arch)


def batched(kind: str, itemsize: int, lanes: int, arch: str) -> Geometry:
    """The geometry for a thread block a matrix: two on a multiprocessor, if registers allow that."""
    return _found("batched", "any", kind, itemsize, lanes, arch)[0]


def resident(kind: str, itemsize: int, lanes: int, arch: str) -> tuple[Geometry, ...]:
    """Those with which the registers of a device hold a matrix, small ones first; none where steps need registers.

    A multiprocessor has 65,536 registers. Half of them for a tile, and 132 hold 2048 × 2048 words; before sm_90, whose
    instructions take more registers for a step, a quarter.
    """
    return _found("resident", f"lanes/{lanes}", kind, itemsize, lanes, arch)


@cache
def _found(kernel: str, general: str, kind: str, itemsize: int, lanes: int, arch: str) -> tuple[Geometry, ...]:
    found = cards.lookup(kernel, (str(itemsize), kind, general), arch)
    return tuple(Geometry(**sizes, lanes=lanes, word=max(4, itemsize), kernel=kernel) for sizes in found)


def source(algebra_text: str, geometry: Geometry) -> str:
    """The translation unit of a closure in one launch."""
    return compile.source(f"{geometry.kernel}.cu", algebra_text, geometry.prelude)
