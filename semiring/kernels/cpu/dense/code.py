"""Machine code of the dense kernels for one kind, loaded on first use."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property, partial

from ..code import Entry, machine_code
from ..kinds import Kind, raw
from ..sparse import movers
from . import gemm, pivot, witness


class Code:
    """The dense kernels of one kind, compiled or loaded on first use."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    @cached_property
    def pack(self) -> Entry:
        return machine_code(gemm.pack, self.kind.mover, "biiiiiiii")

    @cached_property
    def block(self) -> Callable[..., None]:
        return partial(machine_code(gemm.block, None, "iiiii" + "biiiiiiiiiiiiibi").call, *self._product)

    @cached_property
    def closure(self) -> Callable[..., None]:
        steps = self.pivot_row.address, self.sweep.address, self._copy, *self._product
        return partial(machine_code(pivot.closure, None, "iiiiiiii" + "iiiiiii").call, *steps)

    @cached_property
    def small_closures(self) -> Callable[..., None]:
        return partial(machine_code(pivot.small_closures, self.kind, "iiiiiiii").call, self.kind, self._copy)

    @cached_property
    def _copy(self) -> int:
        return machine_code(movers.copy_square, raw(self.kind.itemsize), "iiiiiiii", called=False).address

    @cached_property
    def _product(self) -> tuple[int, ...]:
        panel = machine_code(gemm.panel, self.kind, "iiiiiiiibi", called=False)
        return self.pack.address, panel.address, self.kind.tile.rows, self.kind.columns, self.kind.itemsize

    @cached_property
    def block_with_witness(self) -> Callable[..., None]:
        panel = machine_code(witness.panel, self.kind, "iiiiiiiiiii", called=False)
        addresses = self.pack.address, panel.address, self.kind.columns, self.kind.itemsize
        return partial(machine_code(witness.block, None, "i" * 21).call, *addresses)

    @cached_property
    def refine(self) -> Entry:
        return machine_code(witness.refine, self.kind, "i" * 11)

    @cached_property
    def transpose(self) -> Entry:
        return machine_code(movers.transpose, raw(self.kind.itemsize), "iiiiii")

    @cached_property
    def pivot_row(self) -> Entry:
        return machine_code(pivot.pivot_row, self.kind, "iiiiii")

    @cached_property
    def sweep(self) -> Entry:
        return machine_code(pivot.sweep, self.kind, "iiiiiiii")


@cache
def code(kind: Kind) -> Code:
    return Code(kind)
