"""Predecessors from matrices and their closures, on the GPU: the rule of semiring/cpu/routes.py, and so the same bits.

Reading order: `of_matrix`, then `_Search`, whose steps are the kernels of kernels/predecessors.cu. The first two lines
of the rule are found for all pairs together; the third level by level for all pairs, and where levels are many, source
by source on lists of tight edges.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..algebra import Semiring
from ..compiling import about
from ..memory import require
from ..routes import refuse, require_selection
from . import algebra, compile, gpu, transfer

#: Threads of a block, warps, and the sources that a warp takes together.
THREADS, WARPS, SOURCES = 256, 8, 128
#: Rows of a tile, and the most blocks of a grid's last axis.
TILE, MOST = 32, 65535
#: Edges that a warp fetches together, and blocks of such warps that a multiprocessor should hold.
AHEAD, RESIDENT = 2, {8: 3}
#: Lists of up to so many tight edges a vertex are searched source by source after one level of all pairs; longer ones
#: after so many.
FEW, LEVELS = 16, 4
#: Edges that one launch may look at: about half a second's worth.
LONG = 1 << 37
#: What a sum may be off by, in eps.
ALLOWED = 4.0
#: Bytes of a record of what is so of a matrix.
FACTS = 16

#: A new kernel argument of the algebra's register type.
_REGISTERS: dict[str, Any] = {"float32": np.float32, "float64": np.float64, "int64": np.int64}


def predecessors(semiring: Semiring, P: Any, A: Any, D: Any, mirrored: bool) -> None:
    """The verb of that name; see `semiring.backend.Backend`."""
    require_selection(semiring, where="predecessors")
    refuse(of_matrix(semiring, A, D, P, mirrored=mirrored), semiring)


def of_matrix(semiring: Semiring, A: Any, D: Any, P: Any, *, mirrored: bool = False) -> tuple[int, int] | None:
    """P ← the predecessors of D, the closure of A: CuPy arrays of shape (…, n, n), A and D of one dtype, P int32.

    Returns a pair whose D no edge attains, if there is one: then D is not the closure of A, and P is not complete.
    `mirrored` is for the transposed matrices of a semiring whose ⊗ need not commute.
    """
    import cupy

    if not D.size:
        return None
    room = P if P.flags.c_contiguous else cupy.empty(P.shape, np.int32)
    A, D = (cupy.ascontiguousarray(X) for X in (A, D))
    wrong = _Search(semiring, A, D, room, mirrored).run()
    if room is not P:
        P[...] = room
    return wrong


def text(semiring: Semiring, dtype: np.dtype) -> str:
    """The translation unit of predecessors."""
    constants = {
        "least": semiring.add.selects == "least",
        "rounds": rounds(semiring, dtype),
        "lengths": semiring.lengths,
    }
    told = "".join(f"constexpr bool {name} = {str(value).lower()};\n" for name, value in constants.items())
    return compile.source(
        "predecessors.cu",
        algebra.text(semiring, dtype),
        told,
        f"constexpr int ahead = {AHEAD}, resident = {RESIDENT.get(dtype.itemsize, 5)};\n",
    )


#: Sums and products are rounded one by one, as the CPU rounds them.
OPTIONS = ("-fmad=false",)


def rounds(semiring: Semiring, dtype: np.dtype) -> bool:
    """Whether ⊗ rounds: on floats, unless it selects one of its operands."""
    return dtype.kind == "f" and semiring.mul.selects is None


@lru_cache(maxsize=256)
def _module(semiring: Semiring, dtype: np.dtype, device: int) -> Any:
    """The kernels on a device, which is the current one."""
    with about(f"{semiring.name} in {dtype}"):
        return compile.functions(text(semiring, dtype), options=OPTIONS, name="predecessors.cu")


class _Edges(NamedTuple):
    """The tight edges that leave a vertex, of all matrices one after the other."""

    starts: Any
    heads: Any
    weights: Any
    total: int


class _Told(NamedTuple):
    """What kernels say: pairs are open; some were found; some could not be."""

    open: bool
    found: bool
    failed: bool


class _Search:
    """The steps, on contiguous arrays of shape (n, n) or (batch, n, n)."""

    def __init__(self, semiring: Semiring, A: Any, D: Any, P: Any, mirrored: bool) -> None:
        import cupy

        self.A, self.D, self.P, self.mirrored = A, D, P, np.int32(mirrored)
        self.dtype, self.n = D.dtype, D.shape[-1]
        self.batch = D.size // self.n**2
        self.rows = self.batch * self.n
        self.module = _module(semiring, self.dtype, gpu.current())
        self.rounds = rounds(semiring, self.dtype)
        self.eps = float(np.finfo(self.dtype).eps) if self.rounds else 0.0
        #: Words of a row of bits: groups of 128 are read together.
        self.words = -(-self.n // SOURCES) * (SOURCES // 32)
        bits = 4 * self.rows * self.words
        require(D.nbytes + 5 * bits, "cuda", where="predecessors", hint="Use a smaller dtype, or fewer vertices.")
        self.leaving, self.entering, self.nearer, *self.settled = (gpu.memory(bits) for _ in range(5))
        self.facts = gpu.memory(FACTS * self.batch, zeros=FACTS * self.batch)
        self.told = cupy.zeros(3, np.int32)
        self.transposed: Any = None

    def run(self) -> tuple[int, int] | None:
        """P; or a pair that stays open."""
        self._look_at_all()
        told = self._nearest()
        if told.open:
            told = self._levels_of_all()
        self._turn(settle=not (told.open and told.found))
        self.transposed = None
        if not told.open:
            return None
        if told.found and not self._search(self._listed(), self._slack(ALLOWED), False, False):
            return None
        for allowed, wide in self._wider():
            slack = self._slack(allowed)
            self._tight(slack, wide)
            if not self._search(self._listed(), slack, wide, True):
                return None
        return self._open_pair()

    def _wider(self) -> Iterator[tuple[float, bool]]:
        """More and more that counts as equal, where ⊗ rounds: so many eps, of any entry where `wide`."""
        if self.rounds:
            several = ((1, False), (16, False), (256, False), (4, True), (64, True), (self.n, True))
            yield from ((ALLOWED * many, wide) for many, wide in several)

    def _slack(self, allowed: float) -> Any:
        return _REGISTERS.get(self.dtype.name, np.int32)(allowed * self.eps)

    def _look_at_all(self) -> None:
        self.top = gpu.memory(self.rows * self.dtype.itemsize)
        self._rows("look", self.A, self.D, np.int32(self.n), self.rows, self.facts, self.top)

    def _tight(self, slack: Any, wide: bool) -> None:
        """The tight edges; where there is room for Dᵀ, that too, and the first line of the rule."""
        Dt = self.transposed.ptr if self.transposed else 0
        sides = -(-self.n // TILE)
        where = self.leaving, self.entering, self.nearer, Dt, self.P
        self._call(
            "tight", (sides, sides, self._deep), self.A, self.D, *self._sizes, self.facts, slack, np.int32(wide), *where
        )

    def _nearest(self) -> _Told:
        """The first two lines of the rule, in Pᵀ."""
        self.transposed = gpu.memory(self.D.nbytes)
        slack = self._slack(ALLOWED)
        self._tight(slack, False)
        given = self.A, self.transposed, self.top, *self._sizes, self.facts, slack, self.mirrored, self.nearer
        self._call("nearest", self._targets, *given, self.P, self.settled[0], self.told)
        return self._asked()

    def _levels_of_all(self) -> _Told:
        """Some levels of the third line of the rule, in Pᵀ."""
        slack, (before, after) = self._slack(ALLOWED), self.settled
        given = self.A, self.transposed, *self._sizes, self.facts, slack, self.mirrored, self.entering
        self._rows("count", self.leaving, *self._sizes[:2], self.rows, starts := self._starts())
        for done in range(LEVELS):
            self._call("level", self._targets, *given, before, after, self.P, self.told)
            before, after = after, before
            if not done:
                self._call("add_up", (1, 1, 1), starts, self.rows, threads=1024)
            told = self._asked()
            if not (told.open and told.found) or int(starts[-1:].get()[0]) <= FEW * self.rows:
                break
        return told

    def _turn(self, *, settle: bool) -> None:
        """P ← its transpose; settled, where no search of levels goes on."""
        sides = -(-self.n // TILE)
        self._call("turn", (sides, sides, self._deep), self.P, np.int32(self.n), np.int32(self.batch), np.int32(settle))

    def _starts(self) -> Any:
        import cupy

        return cupy.empty(self.rows + 1, np.int64)

    def _listed(self) -> _Edges:
        """The tight edges by tail, from the bits."""
        import cupy

        sizes, starts = self._sizes[:2], self._starts()
        self._rows("count", self.leaving, *sizes, self.rows, starts)
        self._call("add_up", (1, 1, 1), starts, self.rows, threads=1024)
        count = int(starts[-1:].get()[0])
        require(count * (4 + self.dtype.itemsize), "cuda", where="predecessors", hint="Use a smaller dtype.")
        heads, weights = cupy.empty(count, np.int32), cupy.empty(count, self.dtype)
        self._rows("list", self.A, self.leaving, *sizes, self.rows, starts, heads, weights)
        return _Edges(starts, heads, weights, count)

    def _search(self, edges: _Edges, slack: Any, wide: bool, anew: bool) -> bool:
        """The third line of the rule for rows with open pairs, in P; whether some are still open."""
        function, device = self.module.get_function("levels"), gpu.current()
        blocks = min(-(-self.rows // WARPS), gpu.resident(function, THREADS) * gpu.multiprocessors(device))
        queues = gpu.memory(4 * blocks * WARPS * self.n)
        each = edges.total // self.rows
        lanes = 1 << min(5, (each // 2).bit_length())
        how = self.facts, slack, np.int32(wide), self.mirrored, np.int32(anew)
        several = max(blocks * WARPS, LONG // max(1, edges.total // self.batch + self.n))
        for first in range(0, self.rows, several):
            stop = min(first + several, self.rows)
            where = self.D, self.P, np.int32(self.n), first, stop
            self._call("levels", (blocks, 1, 1), *where, *how, *edges[:3], queues, np.int32(lanes), self.told)
            transfer.synchronize()
        return self._asked().failed

    def _open_pair(self) -> tuple[int, int]:
        import cupy

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
        """A warp for every target and every group of sources; the sources of blocks that run together are the same."""
        return -(-self.n // WARPS), -(-self.n // SOURCES), self._deep

    def _rows(self, entry: str, *arguments: Any) -> None:
        """A kernel with a warp a row."""
        self._call(entry, (-(-self.rows // WARPS), 1, 1), *arguments)

    def _call(self, entry: str, grid: tuple[int, int, int], *arguments: Any, threads: int = THREADS) -> None:
        given = (
            x.data.ptr if hasattr(x, "data") and hasattr(x, "dtype") and x.ndim else getattr(x, "ptr", x)
            for x in arguments
        )
        self.module.get_function(entry)(grid, (threads,), tuple(given))

    def _asked(self) -> _Told:
        """What kernels have said since the last time; waits for them."""
        transfer.synchronize()
        told = _Told(*(bool(x) for x in self.told.get()))
        self.told.fill(0)
        return told
