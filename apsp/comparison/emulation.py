"""`emulate`: a kernel of one's own on the processor: is it right, what does it ask of a card's memory."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semiring.algebra.catalog import get
from semiring.host.spelling import came
from semiring.host.types import Algebra, Input
from semiring.kernels.emulated import Kernel, Run, run

from ..answers.checks import check
from ..answers.result.verification import Verification
from ..io.display.notebook import aligned
from ..io.inputs import as_graph
from ..io.reading.options import BY_RULE, NullValue
from .measured import measured

#: The naive kernel for a pair: numbers that its threads read and write (D[i,k], D[k,j], D[i,j], and D[i,j] again), and
#: sectors of 32 bytes that its warps touch, where rows begin at such and numbers have 4 bytes.
NAIVE, NAIVE_SECTORS = 4.0, 13 / 32
#: A multiprocessor of an A100 (`emulated.ARCH`): registers, bytes of shared memory, threads, blocks. A warp gets
#: registers by 256, a block shared memory by kilobytes and one more (CUDA C++ Programming Guide, technical
#: specifications by compute capability).
_REGISTERS, _SHARED, _THREADS, _BLOCKS = 65536, 164 << 10, 2048, 32


@dataclass(frozen=True)
class Emulation:
    """A kernel's run on the processor; true if its table is right. Prints what was found.

    `run` has the counts, `run.hazards` what a card may punish; `verdict` says of the table which entry is wrong, None
    if there is none because of `run.fault`; `words` are the numbers that threads read from and write to global memory
    a pair, of n³ pairs (Zhao 2014, section 1.2, calls them μ), `sectors` the sectors of 32 bytes that warps touch.
    `measured` are the vertices of a closure on a card, its milliseconds, and those of the naive kernel.
    """

    name: str
    semiring: str
    n: int
    run: Run
    verdict: Verification | None
    measured: tuple[int, float, float] | None = None

    def __bool__(self) -> bool:
        return bool(self.verdict)

    @property
    def words(self) -> float:
        return self._total("lanes") / max(self.n, 1) ** 3

    @property
    def sectors(self) -> float:
        return self._total("sectors") / max(self.n, 1) ** 3

    def _total(self, count: str) -> int:
        return sum(k.total(count, "global") for k in self.run.kernels)

    def __str__(self) -> str:
        said = f"fault: {self.run.fault}" if self.verdict is None else f"{'right' if self else 'wrong'}: {self.verdict}"
        lines = [f"{self.name} over {self.semiring}, n = {self.n}: {said}"]
        lines += [f"hazard: {hazard}" for hazard in self.run.hazards]
        return "\n".join([*lines, *self._counts()] if self.verdict is not None else lines)

    def _counts(self) -> list[str]:
        kernels, rows = self.run.kernels, []
        if not kernels:
            return ["", "No kernel was launched: the host computed it."] if self.n > 1 else []
        headings = ["kernel", "launches", "grid", "block", "barriers a block", "shared", "registers", "occupancy"]
        for k in kernels:
            sizes = _times(k.grid), _times(k.block), f"{k.barriers / k.blocks:.3g}", f"{k.shared} B"
            rows.append([k.name, f"{k.launches}", *sizes, f"{k.registers}", occupied(k)])
        sites = {
            space: [["line", "kernel", f"{space} memory", "requests", "threads each", f"{moved} each", "at best"]]
            for space, moved in (("global", "sectors"), ("shared", "wavefronts"))
        }
        for name, s in [(k.name, s) for k in kernels for s in k.sites]:
            counts = s.lanes, s.sectors or s.wavefronts, s.least
            cells = ["?" if s.line is None else f"{s.line}", name, "write" if s.write else "read", f"{s.requests:,}"]
            sites[s.space].append([*cells, *(f"{count / s.requests:.3g}" for count in counts)])
        tables = [[headings, *rows], *sites.values()]
        texts = [line for table in tables if len(table) > 1 for line in ("", *aligned(table, range(3, len(table[0]))))]
        closing = ["", *self._predicted()]
        if any(k.uncounted for k in kernels):
            closing.append("Not all was counted: a thread makes too many accesses between two barriers.")
        return [*texts, *closing]

    def _predicted(self) -> list[str]:
        """Speed-up over the naive kernel: predicted by numbers, by sectors, and measured."""
        if not (self and self.words):
            return []
        asked, moved = NAIVE / self.words, NAIVE_SECTORS / self.sectors
        lines = [
            f"A pair reads and writes {self.words:.3g} numbers, {NAIVE:g} by the naive kernel: {asked:.3g} times as "
            "fast, if that is what both wait for.",
            f"It touches {self.sectors:.3g} sectors of 32 bytes, {NAIVE_SECTORS:.3g} by the naive kernel: {moved:.3g} "
            "times as fast.",
        ]
        if self.measured is not None:
            n, own, naive = self.measured
            ratio = f"{own:.3g} ms, {naive:.3g} by the naive kernel: {naive / own:.3g} times as fast."
            lines.append(f"On the card, n = {n}: {ratio}")
        return lines


def _times(size: tuple[int, int, int]) -> str:
    x, y, z = size
    return " × ".join(map(str, (x, y, z) if z > 1 else (x, y) if y > 1 else (x,)))


def occupied(kernel: Kernel) -> str:
    """The share of a multiprocessor's threads that can be there at once, and the resource that limits them."""
    warps = -(-int(np.prod(kernel.block)) // 32)
    limits = {"threads": _THREADS // (32 * warps), "blocks": _BLOCKS}
    if isinstance(kernel.registers, int):
        limits["registers"] = _REGISTERS // (-(-kernel.registers * 32 // 256) * 256 * warps)
    limits["shared memory"] = _SHARED // ((-(-kernel.shared // 1024) + 1) << 10)
    blocks = min(limits.values())
    by = ", ".join(name for name, count in limits.items() if count == blocks)
    share = blocks * 32 * warps / _THREADS
    return f"{share:.0%}" + (f", by {by}" if share < 1 else "")


def emulate(
    kernel: str | os.PathLike[str],
    graph: Input,
    semiring: Algebra = "min_plus",
    *,
    limit: float = 60.0,
    define: Mapping[str, Any] | None = None,
    measure: int | None = None,
    null_value: NullValue = BY_RULE,
) -> Emulation:
    """Run kernels in CUDA C++ on the processor, check their closure of a graph, and count what they ask of memory.

    Parameters
    ----------
    kernel : path
        A file with kernels and a function of the host that launches them, `void closure(T* D, int n)` or `void
        closure(T* D, int n, int pitch)`: D is I ⊕ A on the device, row-major, its rows `pitch` numbers apart (n, or
        the next multiple of 32); T is float, double, int or another number. ∞ is INFINITY, or an integer type's
        largest number.
    graph : array_like of shape (n, n), or a graph
        As in `shortest_paths`, files too.
    semiring : str or Semiring
    limit : float
        Seconds after which the program is ended.
    define : mapping, optional
        Macros, such as `{"THREADS": 256}`.
    measure : int, optional
        Vertices of a closure timed on a card beside the naive kernel, if the table is right. Needs nvcc.
    null_value : number or None, optional
        As in `as_graph`.

    Returns
    -------
    Emulation
        True if the table is right. Prints the verdict, faults and hazards with their lines, and the counts.

    Raises
    ------
    DeviceError
        If there is no C++ compiler, or the system is not Linux; with `measure`, no nvcc or no card.
    FormatError
        If the file defines no `closure`.
    OSError, DomainError
        If the file cannot be read; if the graph does not fit the semiring.

    See Also
    --------
    check : A table that another program wrote.
    compare : `kernels=True` times kernels on a card.

    Notes
    -----
    Threads of a block are fibers that run in turn between barriers, in every other launch backwards, as blocks do. The
    program runs with your rights: read what you did not write. Warps are 32 neighbouring threads, whose k-th accesses
    by one instruction are one request; a request touches sectors of 32 bytes, or turns of 32 banks. A second for the
    compiler, then 0.1 µs an access: the naive kernel closes 256 vertices in 8 s. Registers by NVRTC, if installed.

    Examples
    --------
    >>> from apsp import cycle, emulate
    >>> bool(emulate("examples/lab/kernels/naive.cu", cycle(40)))  # doctest: +SKIP
    True
    """
    s, g, path = get(semiring), as_graph(graph, null_value=null_value), Path(kernel)
    macros = {name: str(value) for name, value in (define or {}).items()}
    if not all(re.fullmatch(r"[A-Za-z_]\w*", name) and value.isprintable() for name, value in macros.items()):
        raise ValueError(f"emulate: define must map names of macros to values, got {came(define)}.")
    if not 0 < limit < 10**9:
        raise ValueError(f"emulate: limit must be a number of seconds above 0 and below 10⁹, got {came(limit)}.")
    if measure is not None and not 1 <= measure <= 65535:
        raise ValueError(f"emulate: measure must be a number of vertices from 1 to 65,535, got {came(measure)}.")
    exact = "float64" if "float64" in s.dtypes else s.dtypes[-1]
    M, diagonal = np.array(g.matrix(s, exact)), range(g.n)
    if s.idempotent:  # else I would count twice
        M[diagonal, diagonal] = [s.add.python(x, M.dtype.type(s.one)) for x in M.diagonal()]
    found = run(path, M, limit=limit, define=macros)
    rounded = "float32" if found.dtype == "float32" and "float32" in s.dtypes else None
    verdict = None if found.matrix is None else check(g, found.matrix.astype(exact), s, dtype=rounded)
    times = (measure, *measured(path, measure, macros, limit)) if measure and verdict else None
    return Emulation(path.name, s.name, g.n, found, verdict, times)
