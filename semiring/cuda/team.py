"""Closures in one launch: what blocked.cu, each.cu and held.cu are compiled with, and the workspace they need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from . import cards, compile, tiles

#: A pivot block's side, and the threads of a thread block.
SIDE, THREADS = 64, 256


@dataclass(frozen=True)
class Team:
    """The sizes that kernels/closing.inl works with.

    Attributes
    ----------
    bm, bn, tm, tn : int
        A trailing tile's rows and words, and a thread's.
    panel : int
        Words that a tile of a row panel is wide, rows that a tile of a column panel is high.
    resident : int
        Blocks that a multiprocessor holds.
    lanes, word : int
        Elements to a word, and its bytes.
    kernel : str
        "blocked", where tiles are loaded and stored for each pivot block; "each", the same for a thread block a matrix;
        "held", where a thread block keeps one tile in registers from the first pivot block to the last.
    written : int
        How far the inner loop of panels and of the leader's products is unrolled, as registers allow.
    """

    bm: int
    bn: int
    tm: int
    tn: int
    panel: int
    resident: int
    lanes: int
    word: int
    kernel: str = "blocked"
    written: int = 16

    @property
    def held(self) -> bool:
        """Whether tiles stay in registers."""
        return self.kernel == "held"

    @property
    def depth(self) -> int:
        """How much of k of a trailing tile's operands comes at once: the sooner a held tile can begin, the better."""
        return SIDE // 4 if self.held else SIDE // 2

    @property
    def prelude(self) -> str:
        """The C++ text that precedes the kernel's."""
        wide = self.lanes
        sizes = (self.bm, self.bn * wide, self.depth, self.tm, self.tn * wide)
        # A held tile leaves few registers: nothing is unrolled, and its sums go a whole column at a time.
        order = (1, self.tm, 64, True) if self.held else (4, 2, 4, False)
        tile = tiles.Tile(*sizes, self.resident, 1.0, wide, *order)
        others = f"constexpr int panel = {self.panel}, resident = {self.resident}, written = {self.written};\n"
        return tile.text(aligned=True, name="Trailing") + others

    @property
    def shared(self) -> int:
        """Bytes of shared memory: parts of a trailing tile's operands, or two products of the leader and its pivots."""
        trailing = (4 if self.held else 3) * self.depth * (self.bm + 4 + self.bn)
        leader = SIDE * (2 * (SIDE + 4) + 3 * SIDE // self.lanes + 8)
        return self.word * max(trailing, leader)

    def width(self, n: int) -> int:
        """Columns of a panel kept beside A, in words: a multiple of every tile's side."""
        unit = max(self.bm, self.bn)
        return -(-n // unit) * unit

    def room(self, n: int) -> int:
        """Bytes of one team's workspace: the pivot block twice as two operands, and two panels."""
        return self.word * SIDE * (4 * SIDE + 2 * self.width(n))

    def blocks(self, n: int) -> int:
        """How many thread blocks have work in a trailing update: one a tile, and the first, which closes pivots."""
        return -(-n // self.bm) * -(-n // (self.bn * self.lanes)) + 1

    def useful(self, n: int) -> int:
        """How many have work at all: there may be more tiles of panels; and one panel comes late where none is held."""
        panels = -(-n // self.panel) + -(-n // (self.panel * self.lanes)) + 1
        return max(panels, self.blocks(n) + (0 if self.held else SIDE // self.panel))


def coming(kind: str, itemsize: int, lanes: int, arch: str) -> tuple[Team, ...]:
    """The sizes for one matrix and a kind of step (see `tiles.kind`), without those held in registers; small first.

    Small tiles keep more of the device at work where the matrix is small; larger ones read less.
    """
    return _sizes("blocked", "any", kind, itemsize, lanes, arch)


def each(kind: str, itemsize: int, lanes: int, arch: str) -> Team:
    """The sizes for a thread block a matrix: two on a multiprocessor, if registers allow that."""
    return _sizes("each", "any", kind, itemsize, lanes, arch)[0]


def holding(kind: str, itemsize: int, lanes: int, arch: str) -> tuple[Team, ...]:
    """The sizes with which the registers of a device hold a matrix, small ones first; none where steps need registers.

    A multiprocessor has 65,536 registers. Half of them for a tile, and 132 hold 2048 × 2048 words; before sm_90, whose
    instructions take more registers for a step, a quarter.
    """
    return _sizes("held", f"lanes/{lanes}", kind, itemsize, lanes, arch)


@cache
def _sizes(kernel: str, general: str, kind: str, itemsize: int, lanes: int, arch: str) -> tuple[Team, ...]:
    found = cards.lookup(kernel, (str(itemsize), kind, general), arch)
    return tuple(Team(**sizes, lanes=lanes, word=max(4, itemsize), kernel=kernel) for sizes in found)


def text(algebra_text: str, sizes: Team) -> str:
    """The translation unit of closures by one team, and of batches by a team a matrix."""
    return compile.source(f"{sizes.kernel}.cu", algebra_text, sizes.prelude)
