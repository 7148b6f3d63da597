"""Cost of a distributed closure: pivot block, bytes of ranks and messages, time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from semiring.algebra.records import Semiring
from semiring.distributed import Comm, Layout, World
from semiring.host.memory import require
from semiring.kernels.backend import Backend

from ...road import rates
from ...road.estimates import rate
from ...road.plans import Plan
from ...road.schedules import distributed

#: Bytes of a part built at a time on the host.
STRIP = 64 << 20


def default_block(n: int, ops: Backend) -> int:
    """The pivot block, by n and device alone, so that every grid yields the same bits."""
    if ops.device == "cpu":
        return ops.pivot
    if ops.grain > 1:
        return 1 << 14 if n >= 1 << 20 else 1 << 13 if n >= 1 << 17 else 1 << 11
    return 2048


def panel_bytes(layout: Layout, ops: Backend, shape: tuple[int, int] | None = None) -> int:
    """Bytes of a part's panels (twice with look-ahead) and of verb workspaces."""
    (m, n), b = shape or layout.largest, min(layout.block, layout.n)
    panels = distributed.panel_bytes(m, n, b, ops)
    if not ops.knows_workspaces:
        return panels + ops.workspace(2 * layout.block)
    return panels + (2 if ops.looks_ahead else 1) * distributed.product_bytes(m, n, b, ops)


@dataclass(frozen=True)
class OnHost:
    """Host memory of a process beside its ranks' parts, in bytes.

    `made`: throughout (a converted matrix); `before`: until the parts are made (their sources), plus row strips if
    `by_rows`; `after`: once panels are freed (the gathered table, predecessors).
    """

    made: int = 0
    before: int = 0
    by_rows: bool = False
    after: int = 0


NOTHING = OnHost()


def peak_bytes(layout: Layout, ops: Backend, world: World, extra: OnHost = NOTHING) -> tuple[int, int]:
    """Peak bytes on the ranks' device, and on the host if another: summed over host ranks, the maximum over GPUs."""
    on_host, size = world.device == "cpu", ops.dtype.itemsize
    shapes = sorted((layout.shape(rank) for rank in range(layout.grid.size)), key=math.prod, reverse=True)
    shapes = shapes[: world.ranks_on_node]  # of one machine: the largest possible
    parts = [ops.matrix_bytes(*shape) for shape in shapes]
    panels = [panel_bytes(layout, ops, shape) for shape in shapes]
    strips = sum(min(m * n * size, STRIP) for m, n in shapes) if extra.by_rows else 0
    made, before, after = (world.processes_on_node * count for count in (extra.made, extra.before, extra.after))
    if on_host:
        return made + sum(parts) + max(strips + before, sum(panels), after), 0
    return parts[0] + panels[0], made + max(strips + before, after)


def require_memory(layout: Layout, ops: Backend, comm: Comm, world: World) -> None:
    """Raise MemoryNeeded early if a rank's part, panels and workspace do not fit."""
    hint = "Use more ranks, or a smaller dtype or block."
    require(peak_bytes(layout, ops, world)[0], world.device, where=f"rank {comm.rank} of {world.grid.size}", hint=hint)


def moved_bytes(layout: Layout, ops: Backend) -> int:
    """The maximum received by a rank: all column strips of its rows, all row panels of its columns."""
    (m, n), grid = layout.largest, layout.grid
    rounds = -(-layout.n // layout.block)
    strips = ops.matrix_bytes(m, layout.block) if grid.columns > 1 else 0
    panels = ops.matrix_bytes(layout.block, n) if grid.rows > 1 else 0
    pivots = ops.matrix_bytes(layout.block, layout.block) if grid.columns > 1 else 0
    return rounds * (strips + panels) + -(-rounds // grid.rows) * pivots


def plan(
    n: int, semiring: Semiring, ops: Backend, world: World, *, block: int | None = None, extra: OnHost = NOTHING
) -> Plan:
    size = -(-(block or default_block(n, ops)) // ops.grain) * ops.grain
    layout = Layout(n, size, world.grid)
    pairs_a_second = rate(semiring, ops.dtype, device=ops.device, threads=ops.threads)
    (rows, columns), moved = layout.largest, moved_bytes(layout, ops)
    bytes_a_second = (rates.card if ops.device == "cuda" else rates.processor).rank_rate
    products, travel = n * rows * columns / pairs_a_second, moved / bytes_a_second
    if ops.looks_ahead:  # panels, messages and queueing overlap products
        seconds = max(products, travel, -(-n // size) * len(world.local_ranks) * rates.card.queued_round)
    else:
        seconds = products + travel + n * size * size / pairs_a_second
    on_ranks, on_host = peak_bytes(layout, ops, world, extra)
    return Plan(
        n=n, semiring=semiring.name, dtype=ops.dtype.name, device=ops.device, schedule="distributed", block=size,
        variant=ops.variant, matrix_bytes=ops.matrix_bytes(rows, columns), workspace_bytes=panel_bytes(layout, ops),
        seconds=seconds, reason="as asked" if block else "by n and the device alone: every grid gives the same bits",
        beside_bytes=on_ranks, host_bytes=on_host, grid=str(world.grid), moved_bytes=moved,
    )  # fmt: skip
