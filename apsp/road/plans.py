"""A plan: schedule, block, device, memory and time of a closure, and the reason; prints itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from semiring.algebra.dtypes import SCALARS
from semiring.algebra.records import Semiring
from semiring.host.compiling import Missing
from semiring.host.errors import AlgebraError, ShapeError
from semiring.host.memory import shown
from semiring.host.spelling import came
from semiring.kernels.backend import Backend

from ..io.display import notebook
from . import estimates, schedules
from .estimates import Estimate, in_units

#: Above this n, n² bits exceed 64-bit addresses.
_LARGEST = 1 << 33


@dataclass(frozen=True, repr=False)
class Plan:
    """The method and predicted cost of a closure.

    Attributes
    ----------
    n : int
        The number of vertices (for "united", of strongly connected components).
    semiring, dtype, device, schedule : str
    block : int
        The pivot block of the blocked and recursive schedules.
    variant : str
        The variant of ⊕ and ⊗ chosen for the data, such as "nonnegative"; or "general".
    matrix_bytes, workspace_bytes : int
        The matrix on the device, and the verbs' workspace.
    seconds : float
        Predicted, from rates of reference machines.
    pairs : int
        Operations, one ⊕ with one ⊗ each: n³, unless the schedule does more.
    reason : str
        Of the choice of engine, schedule and block.
    beside_bytes : int
        Peak device memory beyond the caller's input: the matrix unless in place, the workspace, copies (of A in another
        dtype; of an A that may diverge, to name a cycle; of a result of packed bits), and results made at once
        (predecessors; stored rows and columns; the table that `closure` returns). Not included, as checked separately:
        powers or partial sums that decide convergence for a ⊕ that is not idempotent, and a second closure after
        integer saturation. Over host ranks the sum of a machine; over GPUs the maximum of a rank.
    engine : str
        "dense", "elimination", "searches", "scipy", "hops", "essential", "levels", "spanning", "united" or "indexed";
        "streamed" for a dense closure with limited memory, checkpoint or output; "ranks" over several GPUs, "shared"
        for an elimination over them. `schedule` is that of the dense closure, "elimination", or the kind of search; an
        elimination's `seconds` and `pairs` are until the first distance.
    considered : tuple of Estimate
        Estimates of the engines considered, for all distances wanted.
    grid : str
        Of ranks, such as "2 × 4"; `matrix_bytes` and `workspace_bytes` are then per rank.
    moved_bytes : int
        The maximum that a rank receives from others.
    host_bytes : int
        Over GPUs: peak host memory of a machine beyond the input: the converted matrix, sources of parts, the gathered
        table, predecessors.
    kernels, compiling : int, float
        Kernels to compile first, and about the seconds of that, once a machine; not in `seconds`.

    See Also
    --------
    plan, Result.plan : Computes one without any work; that of a result.

    Examples
    --------
    >>> from apsp import plan
    >>> p = plan(4096, dtype="float32")
    >>> p.engine, p.pairs == 4096**3
    ('dense', True)
    """

    n: int
    semiring: str
    dtype: str
    device: str
    schedule: str
    block: int
    variant: str
    matrix_bytes: int
    workspace_bytes: int
    seconds: float
    reason: str
    beside_bytes: int = 0
    pairs: int = -1
    engine: str = "dense"
    considered: tuple[Estimate, ...] = ()
    grid: str = ""
    moved_bytes: int = 0
    host_bytes: int = 0
    kernels: int = 0
    compiling: float = 0.0

    def __post_init__(self) -> None:
        if self.pairs < 0:
            object.__setattr__(self, "pairs", self.n**3)

    def __repr__(self) -> str:
        place = f"{self.semiring} in {self.dtype} on {self.device}"
        what = f"{self.schedule} closure" if self.block else self.schedule
        return f"<Plan: {what} of {self.n} vertices, {place}, {in_units(self.seconds)}>"

    def _repr_html_(self) -> str:
        return notebook.lines(str(self))

    def __str__(self) -> str:
        predicted = f"  predicted  {in_units(self.seconds)}"
        if self.block:
            held = f"{shown(self.matrix_bytes)} matrix + {shown(self.workspace_bytes)} workspace"
            lines = [
                f"closure of {self.n} vertices over {self.semiring} in {self.dtype} on {self.device}",
                f"  schedule   {self.schedule}, block {self.block} ({self.reason})",
                *([f"  grid       {self.grid} ranks; each receives {shown(self.moved_bytes)}"] if self.grid else ()),
                f"  step       {self.variant}",
                f"  memory     {held}{' a rank' if self.grid else ''}{self._together()}",
                f"{predicted} for {self.pairs:.3g} pairs",
            ]
        else:
            own = next((e for e in self.considered if e.engine == self.engine), None)
            first = " to the first distance" if own is not None and self.seconds == own.start < own.seconds else ""
            lines = [
                f"{self.schedule} of {self.n} vertices over {self.semiring} in {self.dtype} on {self.device}",
                f"  engine     {self.engine} ({self.reason})",
                f"  memory     {shown(self.beside_bytes)}{self._on_host()}",
                f"{predicted}{first}, {self.pairs:.3g} pairs",
            ]
        if self.kernels:
            lines.append(f"  compiles   {Missing(self.kernels, self.compiling)}")
        lines += [f"  {'' if k else 'all wanted':10} {estimate}" for k, estimate in enumerate(self.considered)]
        return "\n".join(lines)

    def _together(self) -> str:
        if self.grid and self.device == "cuda":  # one card per rank
            return self._on_host()
        return f"; {shown(self.beside_bytes)} {'of all ranks ' if self.grid else ''}in addition to the input"

    def _on_host(self) -> str:
        return f"; {shown(self.host_bytes)} on the host" if self.host_bytes else ""


def require_block(block: int | None) -> None:
    """ValueError for a block that is no integer of at least 1, nor left out."""
    if block is not None and not (hasattr(block, "__index__") and block >= 1):
        raise ValueError(f"block must be an integer of at least 1, got {came(block)}.")


@lru_cache(256, typed=True)
def make_plan(
    n: int, semiring: Semiring, ops: Backend, *, schedule: str = "auto", block: int | None = None,
    in_place: bool = False, copies: int = 0, after: int = 0,
) -> Plan:  # fmt: skip
    """Choose schedule and block for n vertices on a backend, and estimate memory and time.

    `in_place`: the matrix is the caller's, or counted already. `copies` are bytes beside matrix and workspace, `after`
    bytes beside the matrix once the workspace is freed. Raises ShapeError for n out of range, ValueError for an unknown
    schedule or a block below 1.
    """
    if not 0 <= n <= _LARGEST:
        raise ShapeError(f"plan: the number of vertices must lie in 0 … {_LARGEST}, got {n}.")
    require_block(block)
    chosen = block or ops.pivot
    chosen = -(-chosen // ops.grain) * ops.grain
    if schedule == "auto":
        name, reason = _choose(n, chosen, ops)
    else:
        name, reason = schedule, "as asked"
    order = schedules.get(name)
    if why := order.refuses(semiring):
        raise AlgebraError(
            f"plan: the schedule {name} cannot close a matrix over {semiring.name}: {why}. Take another."
        )
    if block and chosen != block:
        reason += f"; block rounded up from {block} to whole words of {ops.grain} bits"
    dtype, pairs = SCALARS[ops.dtype].name, order.pairs(n)
    matrix = ops.matrix_bytes(n, n)
    workspace = order.workspace(n, ops, block=chosen)
    return Plan(
        n=n, semiring=semiring.name, dtype=dtype, device=ops.device, schedule=name, block=chosen, variant=ops.variant,
        matrix_bytes=matrix, workspace_bytes=workspace,
        seconds=estimates.closure(n, semiring, ops.dtype, pairs=pairs, device=ops.device, threads=ops.threads),
        pairs=pairs, reason=reason, beside_bytes=max((0 if in_place else matrix) + copies, after) + workspace,
    )  # fmt: skip


def _choose(n: int, block: int, ops: Backend) -> tuple[str, str]:
    if n <= block:
        return "recursive", "one pivot block holds it all"
    if n <= ops.cutover:
        return "blocked", f"below {ops.cutover} vertices recursion leaves this device idle"
    if ops.cutover > block:
        return "recursive", f"large products keep the device busy; blocked below {ops.cutover} vertices"
    return "recursive", "every product is as large as it can be, so operands stay in cache"
