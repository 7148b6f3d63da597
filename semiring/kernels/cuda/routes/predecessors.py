"""Predecessors from matrices and their closures, on the GPU: bitwise those of the CPU's rule.

Reading order: `of_matrix`, then `_Search`, whose steps are the kernels of predecessors.cu. Small matrices take one
thread block each (alone.cu). Else the first two lines of the rule run for all pairs together, and the third per source
on lists of tight edges; if these are many, after a few levels of all pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ....algebra.dtypes import SCALARS
from ....algebra.records import Semiring
from ....algebra.selection import refuse, require_selection
from ....host.memory import require
from ....host.types import Array, Values
from .. import algebra, compile, gpu, transfer
from ..library import cupy

#: Block size, warps, sources per warp.
THREADS, WARPS, SOURCES = 256, 8, 128
#: Tile side; most blocks along grid z.
TILE, MOST = 32, 65535
#: Edges prefetched per warp; resident blocks of such warps per multiprocessor by itemsize, default 4.
AHEAD, RESIDENT = 2, {8: 2}
#: Most edges into a vertex gathered in a list; words per bit row from which that pays.
GATHERED, WORTH = 256, 8
#: Tight edges per vertex up to which levels run per source; number of all-pairs levels before that otherwise.
FEW, LEVELS = 16, 4
#: Block size of a source's search; vertices from which a source gets a block; its number of levels.
SEARCHERS, LARGE, WIDE = 512, 512, 32
#: Vertices up to which a matrix takes one block.
SMALL = 64
#: Most edges per launch: about half a second.
LONG = 1 << 37
#: Tolerance of a sum, in eps.
ALLOWED = 4.0
#: Bytes of a matrix' record of facts.
FACTS = 16
#: Translation units: all steps for a small matrix, and the steps for others.
FILES = ("alone.cu", "predecessors.cu")
#: No FMA: sums and products round one by one, as on the CPU.
OPTIONS = ("-fmad=false",)


def predecessors(semiring: Semiring, P: Array, A: Array, D: Array, mirrored: bool) -> None:
    require_selection(semiring, where="predecessors")
    refuse(of_matrix(semiring, A, D, P, mirrored=mirrored), semiring)


def of_matrix(semiring: Semiring, A: Array, D: Array, P: Array, *, mirrored: bool = False) -> tuple[int, int] | None:
    """P ← the predecessors of D, the closure of A: CuPy arrays (…, n, n), A and D of one dtype, P int32.

    Returns a pair whose D no edge attains, or None; with a pair, D is not the closure of A, and P is incomplete.
    `mirrored` is for transposed matrices of a semiring whose ⊗ need not commute.
    """
    if not D.size:
        return None
    buffer = P if P.flags.c_contiguous else cupy.empty(P.shape, np.int32)
    A, D = (cupy.ascontiguousarray(X) for X in (A, D))
    wrong = _Search(semiring, A, D, buffer, mirrored).run()
    if buffer is not P:
        P[...] = buffer
    return wrong


@compile.unit("predecessors.cu", options=OPTIONS)
def text(semiring: Semiring, dtype: np.dtype, file: str) -> str:
    least = semiring.add.selects == "least"
    # If the least sum of lengths counts, no nonnegative edge beats `one`.
    variant = algebra.variant_of(semiring, dtype, nonnegative=True) if semiring.lengths and least else None
    sizes = algebra.constants(ahead=AHEAD, resident=RESIDENT.get(dtype.itemsize, 4))
    return compile.source(file, algebra.text(semiring, dtype, variant), constants(semiring, dtype), sizes)


def constants(semiring: Semiring, dtype: np.dtype) -> str:
    least = semiring.add.selects == "least"
    return algebra.constants(least=least, rounds=rounds(semiring, dtype), lengths=semiring.lengths)


def rounds(semiring: Semiring, dtype: np.dtype) -> bool:
    """Whether ⊗ rounds: on floats, unless it selects an operand."""
    return SCALARS[dtype].floating and semiring.mul.selects is None


class _Report(NamedTuple):
    """Kernel report: open pairs; whether any were found; whether any failed; number of tight edges."""

    open: int
    found: int
    failed: int
    edges: int


class _Search:
    """The steps, on contiguous arrays (n, n) or (batch, n, n)."""

    def __init__(self, semiring: Semiring, A: Array, D: Array, P: Array, mirrored: bool) -> None:
        self.A, self.D, self.P, self.mirrored = A, D, P, np.int32(mirrored)
        self.dtype, self.n = D.dtype, D.shape[-1]
        self.batch = D.size // self.n**2
        self.rows = self.batch * self.n
        self.semiring = semiring
        self.rounds = rounds(semiring, self.dtype)
        self.eps = float(np.finfo(self.dtype).eps) if self.rounds else 0.0
        #: Words of a bit row; groups of 128 bits are read together.
        self.words = -(-self.n // SOURCES) * (SOURCES // 32)
        bits = 4 * self.rows * self.words
        require(D.nbytes + 5 * bits, "cuda", where="predecessors", hint="Use a smaller dtype, or fewer vertices.")
        self.leaving, self.entering, self.nearer, *self.settled = (gpu.memory(bits) for _ in range(5))
        self.facts = gpu.memory(FACTS * self.batch, zeros=FACTS * self.batch)
        self.report = cupy.zeros(len(_Report._fields), np.int64)
        self.edges = 0
        self.transposed: Any = None

    def run(self) -> tuple[int, int] | None:
        """Compute P; returns a pair that stays open, or None."""
        if self.n <= SMALL and self._small():
            return None
        self.top = gpu.memory(self.rows * self.dtype.itemsize)
        self._rows("look", self.A, self.D, np.int32(self.n), self.rows, self.facts, self.top)
        report = self._nearest()
        few = report.edges <= FEW * self.rows
        self.edges = report.edges
        if report.open and not few:
            report = self._levels_of_all()
        hopeful = report.open and (few or report.found)
        self._turn(settle=not hopeful)
        self.transposed = None
        if not report.open:
            return None
        if hopeful and not self._search(self._slack(ALLOWED), every=few):
            return None
        for allowed, wide in self._wider():
            slack = self._slack(allowed)
            self._tight(slack, wide)
            self.edges = self._read_report().edges
            if not self._search(slack, wide=wide, fresh=True):
                return None
        return self._open_pair()

    def _wider(self) -> Iterator[tuple[float, bool]]:
        """Increasing tolerances, if ⊗ rounds: eps, and whether relative to any entry (`wide`)."""
        if self.rounds:
            several = ((1, False), (16, False), (256, False), (4, True), (64, True), (self.n, True))
            yield from ((ALLOWED * many, wide) for many, wide in several)

    def _slack(self, allowed: float) -> Any:
        return algebra.register(self.dtype)(allowed * self.eps)

    def _small(self) -> bool:
        """The whole rule, one block per matrix; returns whether all pairs were found."""
        pitch = self.n | 1
        shared = -(-4 * self.n * pitch // 8) * 8 + 2 * self.n * pitch * self.dtype.itemsize
        compile.allow_shared(self._function("alone"), shared)
        sizes = np.int32(self.n), np.int32(self.batch), self._slack(ALLOWED), self.mirrored
        blocks = min(self.batch, 1 << 30)
        self._call("alone", (blocks, 1, 1), self.A, self.D, *sizes, self.P, self.report, shared=shared)
        return not self._read_report().failed

    def _tight(self, slack: Any, wide: bool) -> None:
        """Tight edges; with memory for Dᵀ, also Dᵀ and line one of the rule."""
        sides, Dt = -(-self.n // TILE), self.transposed or 0
        inputs = self.A, self.D, *self._sizes, self.facts, slack, np.int32(wide)
        where = self.leaving, self.entering, self.nearer, Dt, self.P, self.report
        self._call("tight", (sides, sides, self._deep), *inputs, *where)

    def _nearest(self) -> _Report:
        """Lines one and two of the rule, in Pᵀ."""
        self.transposed = gpu.memory(self.D.nbytes)
        slack = self._slack(ALLOWED)
        self._tight(slack, False)
        inputs = self.A, self.transposed, self.top, *self._sizes, self.facts, slack, self.mirrored
        edges = self._gathered(self.nearer)
        self._call("nearest", self._targets, *inputs, *edges, self.P, self.settled[0], self.report)
        return self._read_report()

    def _levels_of_all(self) -> _Report:
        """A few levels of line three of the rule, in Pᵀ."""
        before, after = self.settled
        slack, edges = self._slack(ALLOWED), self._gathered(self.entering)
        inputs = self.A, self.transposed, *self._sizes, self.facts, slack, self.mirrored, *edges
        for _ in range(LEVELS):
            self._call("level", self._targets, *inputs, before, after, self.P, self.report)
            before, after = after, before
            report = self._read_report()
            if not (report.open and report.found):
                break
        return report

    def _gathered(self, bits: Any) -> tuple[Any, ...]:
        """Edges into each vertex as bits, and, for long rows, a list of the first ones."""
        most = min(GATHERED, self.n) if self.words > WORTH else 0
        tails, weights, counts = (gpu.memory(max(1, most) * self.rows * size) for size in (4, self.dtype.itemsize, 4))
        if most:
            inputs = self.A, bits, *self._sizes[:2], self.rows, np.int32(most)
            self._rows("gather", *inputs, tails, weights, counts)
        return bits, np.int32(most), tails, weights, counts

    def _turn(self, *, settle: bool) -> None:
        """P ← Pᵀ; settled, if no level search follows."""
        sides = -(-self.n // TILE)
        self._call("turn", (sides, sides, self._deep), self.P, np.int32(self.n), np.int32(self.batch), np.int32(settle))

    def _listed(self) -> Values:
        """Tight edges in CSR, of all matrices concatenated: starts, heads, weights."""
        size = self.dtype.itemsize
        require(self.edges * (4 + size), "cuda", where="predecessors", hint="Use a smaller dtype.")
        starts, heads, weights = (
            gpu.memory(max(1, x)) for x in (8 * (self.rows + 1), 4 * self.edges, size * self.edges)
        )
        sizes = *self._sizes[:2], self.rows
        self._rows("count", self.leaving, *sizes, starts)
        self._call("add_up", (1, 1, 1), starts, self.rows, threads=1024)
        self._rows("list", self.A, self.leaving, *sizes, starts, heads, weights)
        return starts, heads, weights

    def _search(self, slack: Any, *, wide: bool = False, fresh: bool = False, every: bool = False) -> bool:
        """Line three of the rule for rows with open pairs, in P; returns whether any stay open.

        Starts from the last front; from all settled vertices if `every`; from the source's own edges if `fresh`.
        """
        edges, how = self._listed(), (slack, np.int32(wide), self.mirrored, np.int32(fresh))
        if self.n > LARGE and self._shared <= gpu.most_shared(gpu.current()):
            report = self._sources("search", edges, how, begin=fresh, every=every)
            if not report.open:
                return bool(report.failed)
            fresh = every = False  # the next search continues
        return bool(self._sources("levels", edges, how, begin=fresh, every=every).failed)

    def _sources(self, entry: str, edges: Values, how: Values, *, begin: bool, every: bool) -> _Report:
        alone = entry == "search"
        threads, across, shared = (SEARCHERS, 1, self._shared) if alone else (THREADS, WARPS, 0)
        function = self._function(entry)
        compile.allow_shared(function, shared)
        blocks = gpu.resident(function, threads, shared) * gpu.multiprocessors(gpu.current())
        blocks = max(1, min(-(-self.rows // across), blocks))
        queues = gpu.memory(1 if alone else 8 * blocks * across * self.n)
        lanes = 1 << min(5, (self.edges // self.rows // 2).bit_length())
        last = queues, np.int32(lanes), np.int32(every), np.int32(WIDE), self.report
        several = max(blocks * across, LONG // max(1, self.edges // self.batch + self.n))
        for first in range(0, self.rows, several):
            where = self.D, self.P, np.int32(self.n), first, min(first + several, self.rows), self.facts
            self._call(
                entry, (blocks, 1, 1), *where, *how, np.int32(begin), *edges, *last, threads=threads, shared=shared
            )
            transfer.synchronize()
        return self._read_report()

    @property
    def _shared(self) -> int:
        """Shared memory of a block's search: rows of D and P, and two 16-bit queues."""
        return -(-self.n * self.dtype.itemsize // 8) * 8 + 8 * self.n if self.n < 1 << 16 else 1 << 30

    def _open_pair(self) -> tuple[int, int]:
        least = cupy.full(1, self.n**2, np.uint64)
        blocks = min(-(-self.P.size // THREADS), 4096)
        self._call("open_pair", (blocks, 1, 1), self.P, self.n**2, self.P.size, least)
        return divmod(int(least.get()[0]), self.n)

    @property
    def _deep(self) -> int:
        return min(self.batch, MOST)

    @property
    def _sizes(self) -> tuple[Any, ...]:
        return np.int32(self.n), np.int32(self.words), np.int32(self.batch)

    @property
    def _targets(self) -> tuple[int, int, int]:
        """Grid of a warp per target and source group; concurrent blocks share sources."""
        return -(-self.n // WARPS), -(-self.n // SOURCES), self._deep

    def _rows(self, entry: str, *arguments: Any) -> None:
        self._call(entry, (-(-self.rows // WARPS), 1, 1), *arguments)

    def _call(
        self, entry: str, grid: tuple[int, int, int], *arguments: Any, threads: int = THREADS, shared: int = 0
    ) -> None:
        values = tuple(getattr(x, "ptr", x) for x in arguments)
        self._function(entry)(grid, (threads,), values, shared)

    def _function(self, entry: str) -> Any:
        return text.functions(self.semiring, self.dtype, FILES[entry != "alone"])[entry]

    def _read_report(self) -> _Report:
        """Read and reset the kernels' report; waits for them."""
        transfer.synchronize()
        report = _Report(*self.report.get().tolist())
        self.report.fill(0)
        return report
