"""What a closure over a grid takes: its block, the bytes of each rank, what travels, and the time."""

from __future__ import annotations

from semiring.algebra import Semiring
from semiring.backend import Backend
from semiring.distributed import Comm, Layout, World
from semiring.memory import require

from ..estimates import rate
from ..plans import Plan
from ..schedules import recursive

#: Bytes a second from rank to rank: over NVLink, and through a host's memory.
_LINK = {"cuda": 250e9, "cpu": 4e9}
#: Seconds of Python in which a rank gives its GPU the verbs of a round. Ranks of one process share an interpreter.
_ROUND = 1.6e-3


def default_block(n: int, ops: Backend) -> int:
    """The pivot block, by n and the device alone: results have the same bits on every grid."""
    if ops.device == "cpu":
        return ops.pivot
    if ops.grain > 1:
        return 1 << 14 if n >= 1 << 20 else 1 << 13 if n >= 1 << 17 else 1 << 11
    return 2048


def part_bytes(layout: Layout, ops: Backend) -> int:
    """The most that a rank's part takes."""
    return ops.matrix_bytes(*layout.largest)


def panel_bytes(layout: Layout, ops: Backend) -> int:
    """The most that a rank's panels take, twice where verbs run beside others, and what verbs hold."""
    (m, n), b = layout.largest, layout.block
    sets = 2 if ops.looks_ahead else 1
    panels = sets * (ops.matrix_bytes(m, b) + ops.matrix_bytes(b, n)) + ops.matrix_bytes(b, n) + ops.matrix_bytes(b, b)
    if not ops.knows_workspaces:
        return panels + ops.workspace(2 * b)
    products = max(ops.verb_workspace("gemm", m, n, b), ops.verb_workspace("matmul", b, n, b))
    return panels + sets * max(products, recursive.held(min(b, layout.n), ops, block=ops.pivot))


def require_room(layout: Layout, ops: Backend, comm: Comm, world: World) -> None:
    """Raise before any work where a rank's part, its panels and what verbs hold do not fit.

    Raises
    ------
    MemoryNeeded
    """
    beside = world.neighbours if world.device == "cpu" else 1
    needed = beside * (part_bytes(layout, ops) + panel_bytes(layout, ops))
    hint = "Use more ranks, or a smaller dtype or block."
    require(needed, world.device, where=f"rank {comm.rank} of {world.grid.size}", hint=hint)


def moved_bytes(layout: Layout, ops: Backend) -> int:
    """The most that a rank receives: all column strips of its rows, and all row panels of its columns."""
    (m, n), grid = layout.largest, layout.grid
    rounds = -(-layout.n // layout.block)
    strips = ops.matrix_bytes(m, layout.block) if grid.columns > 1 else 0
    panels = ops.matrix_bytes(layout.block, n) if grid.rows > 1 else 0
    pivots = ops.matrix_bytes(layout.block, layout.block) if grid.columns > 1 else 0
    return rounds * (strips + panels) + -(-rounds // grid.rows) * pivots


def plan(n: int, semiring: Semiring, ops: Backend, world: World, *, block: int | None = None) -> Plan:
    """What the closure of n vertices would do over these ranks, and take."""
    size = -(-(block or default_block(n, ops)) // ops.grain) * ops.grain
    layout = Layout(n, size, world.grid)
    pairs_a_second = rate(semiring, ops.dtype, device=ops.device, threads=ops.threads)
    (rows, columns), moved = layout.largest, moved_bytes(layout, ops)
    products, travel = n * rows * columns / pairs_a_second, moved / _LINK[ops.device]
    if ops.looks_ahead:  # panels are made and sent, and verbs given to devices, while products run
        seconds = max(products, travel, -(-n // size) * len(world.mine) * _ROUND)
    else:
        seconds = products + travel + n * size * size / pairs_a_second
    held = part_bytes(layout, ops), panel_bytes(layout, ops)
    return Plan(
        n=n,
        semiring=semiring.name,
        dtype=ops.dtype.name,
        device=ops.device,
        schedule="distributed",
        block=size,
        variant=ops.variant,
        matrix_bytes=held[0],
        workspace_bytes=held[1],
        seconds=seconds,
        reason="as asked" if block else "by n and the device alone: every grid gives the same bits",
        beside_bytes=sum(held),
        grid=str(world.grid),
        moved_bytes=moved,
    )
