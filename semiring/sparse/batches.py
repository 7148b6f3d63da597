"""Rows of a table in a requested order, computed in batches by several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..host.arrays import check_out
from ..host.memory import require
from ..host.types import Array
from ..kernels.cpu.pool import run
from .buffers import LINE, Buffers

#: (sources, destination of their rows: an array or a list of rows).
Call = tuple[np.ndarray, Any]
#: `worker(sources, rows)` writes the row of sources[k] to rows[k].
Worker = Callable[[np.ndarray, Any], None]


def batches(
    workers: Sequence[Worker], wanted: np.ndarray, n: int, dtype: np.dtype, batch: int, block: int, *,
    rank: np.ndarray | None = None, window: int = 0,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:  # fmt: skip
    """Stream blocks (sources (k,), rows (k, n)), k ≤ block, in the order of `wanted`.

    Each call takes `batch` sources; with `rank`, those of neighbouring ranks. At least `window` rows are computed
    before the first is yielded. Memory is reused once nothing refers to a block.
    """
    line = LINE // dtype.itemsize
    pitch = -(-n // line) * line  # rows begin at cache lines, and can be written past the caches
    window = max(block, -(-max(window, batch * len(workers)) // block) * block)
    buffers = Buffers(1 + 2 * window // block)
    for start in range(0, len(wanted), window):
        parts = [wanted[k : k + block] for k in range(start, min(start + window, len(wanted)), block)]
        blocks = [(part, buffers.get((len(part), pitch), dtype)[:, :n]) for part in parts]
        if rank is None:
            work = [call for w, D in blocks for call in calls(w, D, batch)]
        else:
            rows = [row for _, D in blocks for row in D]
            work = together(wanted[start : start + window], rows, batch, rank)
            del rows
        find(workers, work)
        del work
        del parts
        while blocks:
            yield blocks.pop(0)


def calls(sources: np.ndarray, rows: Array, batch: int) -> list[Call]:
    """Calls for all sources, in order."""
    return [(sources[k : k + batch], rows[k : k + batch]) for k in range(0, len(sources), batch)]


def together(sources: np.ndarray, rows: Array, batch: int, rank: np.ndarray) -> list[Call]:
    """Calls for all sources, grouped by rank."""
    order = np.argsort(rank[sources], kind="stable")
    return [(sources[part], [rows[k] for k in part]) for part in np.split(order, range(batch, len(order), batch))]


def find(workers: Sequence[Worker], calls: Sequence[Call]) -> None:
    run(lambda worker, sources, rows: workers[worker](sources, rows), calls, len(workers))


def table(out: Array, n: int, dtype: np.dtype) -> Array:
    """n × n table: `out` after checks (ShapeError, DTypeError), or a new array if it fits (MemoryNeeded)."""
    if out is None:
        require(n * n * dtype.itemsize, where="to_dense", hint="rows() streams blocks of rows.")
        out = np.empty((n, n), dtype)
    check_out(out, (n, n), dtype, where="to_dense")
    return out
