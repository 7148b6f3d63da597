"""Closures in one launch: what kernels/blocked.cu is compiled with, and the room it needs beside a matrix."""

from __future__ import annotations

from dataclasses import dataclass

from . import compile, tiles

#: A pivot block's side, and the threads of a thread block.
SIDE, THREADS = 64, 256


@dataclass(frozen=True)
class Team:
    """The sizes that kernels/blocked.cu works with.

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
    """

    bm: int
    bn: int
    tm: int
    tn: int
    panel: int
    resident: int
    lanes: int
    word: int

    @property
    def prelude(self) -> str:
        """The C++ text that precedes the kernel's."""
        wide = self.lanes
        sizes = (self.bm, self.bn * wide, SIDE // 2, self.tm, self.tn * wide)
        tile = tiles.Tile(*sizes, self.resident, rate=1.0, lanes=wide, unroll=4, walk=2, run=4)
        others = f"constexpr int panel = {self.panel}, resident = {self.resident};\n"
        return tile.text(aligned=True, name="Trailing") + others

    @property
    def shared(self) -> int:
        """Bytes of shared memory: three halves of a trailing tile's operands, or two whole products of the leader."""
        trailing = 3 * SIDE // 2 * (self.bm + 4 + self.bn)
        leader = 2 * SIDE * (SIDE + 4 + SIDE // self.lanes)
        return self.word * max(trailing, leader)

    def width(self, n: int) -> int:
        """Columns of a panel kept beside A, in words: a multiple of every tile's side."""
        unit = max(self.bm, self.bn)
        return -(-n // unit) * unit

    def room(self, n: int) -> int:
        """Bytes of one team's room: the pivot block twice as two operands, and two panels."""
        return self.word * SIDE * (4 * SIDE + 2 * self.width(n))

    def blocks(self, n: int) -> int:
        """How many thread blocks have work at once: one a tile, and the leader."""
        return -(-n // self.bm) * -(-n // (self.bn * self.lanes)) + 1


def team(kind: str, itemsize: int, lanes: int) -> Team:
    """The sizes for a kind of step (see `tiles.kind`): as large as registers allow without spilling."""
    word = max(4, itemsize)
    if kind == "other" or word > 4:
        return Team(64, 64, 4, 4, 32, resident=1, lanes=lanes, word=word)
    return Team(64, 128, 8, 4, 32, resident=2, lanes=lanes, word=word)


def text(algebra_text: str, sizes: Team) -> str:
    """The translation unit of closures by one team, and of batches by a team a matrix."""
    return compile.source("blocked.cu", algebra_text, sizes.prelude)
