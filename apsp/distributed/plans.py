"""What a closure over a grid takes: its block, and the bytes of each rank."""

from __future__ import annotations

from semiring.backend import Backend
from semiring.distributed import Comm, Layout, World
from semiring.memory import require

from ..schedules import recursive


def default_block(n: int, ops: Backend) -> int:
    """The pivot block, by n and the device alone: results have the same bits on every grid."""
    if ops.device == "cpu":
        return ops.pivot
    if ops.grain > 1:
        return 8192 if n >= 1 << 17 else 2048
    return 2048 if n >= 1 << 15 else 1024


def part_bytes(layout: Layout, ops: Backend) -> int:
    """The most that a rank's part takes."""
    return ops.matrix_bytes(*layout.largest)


def panel_bytes(layout: Layout, ops: Backend) -> int:
    """The most that a rank's panels take, twice where verbs run beside others, and what verbs hold."""
    (m, n), b = layout.largest, layout.block
    sets = 2 if ops.looks_ahead else 1
    panels = sets * (ops.matrix_bytes(m, b) + ops.matrix_bytes(b, n)) + ops.matrix_bytes(b, n) + ops.matrix_bytes(b, b)
    if not ops.knows_room:
        return panels + ops.workspace(2 * b)
    products = max(ops.room("gemm", m, n, b), ops.room("matmul", b, n, b))
    return panels + max(products, recursive.room(min(b, layout.n), ops, block=ops.pivot))


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
