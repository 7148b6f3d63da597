"""Closures in one launch: geometries for streaming.cu, batched.cu and resident.cu, and workspaces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from .. import algebra, cards, compile
from . import tiles

#: Pivot block size; block size in threads.
SIDE, THREADS = 64, 256


@dataclass(frozen=True)
class Geometry:
    """Compile-time sizes of closing.inl.

    bm, bn, tm, tn : rows and words of a trailing tile, and of a thread's part
    panel : words of a row panel's tile, rows of a column panel's tile
    min_blocks : thread blocks per multiprocessor that must fit in registers (CUDA's launch bounds)
    lanes, word : elements per word; bytes per word
    kernel : "streaming": tiles are loaded and stored for each pivot block; "batched": the same, one thread block per
        matrix; "resident": each thread block keeps one tile in registers throughout
    panel_unroll : unroll factor of panels and of the leader's products, as registers allow
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
        return self.kernel == "resident"

    @property
    def depth(self) -> int:
        """Depth of a trailing tile's operands per load: short for resident tiles, which should start soon."""
        return SIDE // 4 if self.resident else SIDE // 2

    @property
    def prelude(self) -> str:
        wide = self.lanes
        sizes = (self.bm, self.bn * wide, self.depth, self.tm, self.tn * wide)
        # A resident tile leaves few registers: no unrolling, and sums one whole column at a time.
        order = (1, self.tm, 64, True) if self.resident else (4, 2, 4, False)
        tile = tiles.Tile(*sizes, self.min_blocks, 1.0, wide, *order)
        others = {name: getattr(self, name) for name in ("panel", "min_blocks", "panel_unroll")}
        return tile.text(aligned=True, name="Trailing") + algebra.constants(**others)

    @property
    def shared(self) -> int:
        """Bytes of shared memory: trailing operands, or two products of the leader and its pivots."""
        trailing = (4 if self.resident else 3) * self.depth * (self.bm + 4 + self.bn)
        leader = SIDE * (2 * (SIDE + 4) + 3 * SIDE // self.lanes + 8)
        return self.word * max(trailing, leader)

    def width(self, n: int) -> int:
        """Panel width in the workspace, in words: a multiple of every tile side."""
        unit = max(self.bm, self.bn)
        return -(-n // unit) * unit

    def workspace(self, n: int) -> int:
        """Workspace of one closure in bytes: the pivot block twice as two operands, and two panels."""
        return self.word * SIDE * (4 * SIDE + 2 * self.width(n))

    def blocks(self, n: int) -> int:
        """Thread blocks busy in a trailing update: one per tile, and the leader, which closes pivots."""
        return -(-n // self.bm) * -(-n // (self.bn * self.lanes)) + 1

    def useful(self, n: int) -> int:
        """Thread blocks busy at all: panels may have more tiles; streaming adds the late panel."""
        panels = -(-n // self.panel) + -(-n // (self.panel * self.lanes)) + 1
        return max(panels, self.blocks(n) + (0 if self.resident else SIDE // self.panel))


def streaming(kind: str, itemsize: int, lanes: int, arch: str) -> tuple[Geometry, ...]:
    """Streaming geometries for one matrix and kind of step (see `tiles.kind`), small tiles first.

    Small tiles occupy more of the device on small matrices; larger ones read less.
    """
    return _found("streaming", "any", kind, itemsize, lanes, arch)


def batched(kind: str, itemsize: int, lanes: int, arch: str) -> Geometry:
    """Geometry of one thread block per matrix: two per multiprocessor, if registers allow."""
    return _found("batched", "any", kind, itemsize, lanes, arch)[0]


def resident(kind: str, itemsize: int, lanes: int, arch: str) -> tuple[Geometry, ...]:
    """Resident geometries, small tiles first; empty if steps need the registers.

    A multiprocessor has 65,536 registers. With half of them for a tile, 132 hold 2048 × 2048 words; before sm_90, whose
    instructions take more registers per step, a quarter.
    """
    return _found("resident", f"lanes/{lanes}", kind, itemsize, lanes, arch)


@cache
def _found(kernel: str, general: str, kind: str, itemsize: int, lanes: int, arch: str) -> tuple[Geometry, ...]:
    found = cards.lookup(kernel, (str(itemsize), kind, general), arch)
    return tuple(Geometry(**sizes, lanes=lanes, word=max(4, itemsize), kernel=kernel) for sizes in found)


def source(algebra_text: str, geometry: Geometry) -> str:
    return compile.source(f"{geometry.kernel}.cu", algebra_text, geometry.prelude)
