"""Machine code of kernels for one kind: compiled, or found on disk, when it is first wanted."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

from numba.core import types

from ..compiling import about
from . import gemm, movers, pivot
from .compile import kernel
from .kinds import Kind, raw, semiring_of, shipped

#: A call into compiled code computes at most about this many pairs (of those slow to compute), so that Ctrl-C is heard.
CALL = 1 << 24


class Entry(NamedTuple):
    """A kernel's machine code for one kind: as a Python callable, and where it is; and what keeps it there."""

    call: Callable[..., None]
    address: int
    owner: Any


class Code:
    """The machine code of one kind's kernels; each is compiled, or found on disk, when it is first wanted."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    @cached_property
    def pack(self) -> Entry:
        return machine_code(gemm.pack, self.kind.mover, "biiiiiiii")

    @cached_property
    def block(self) -> Callable[..., None]:
        """`gemm.block` of this kind."""
        return partial(machine_code(gemm.block, None, "iiiii" + "biiiiiiiiiiiiibi").call, *self._product)

    @cached_property
    def closure(self) -> Callable[..., None]:
        """`pivot.closure` of this kind."""
        copy = machine_code(movers.copy_square, raw(self.kind.itemsize), "iiiiiiii", called=False)
        steps = self.pivot_row.address, self.sweep.address, copy.address, *self._product
        return partial(machine_code(pivot.closure, None, "iiiiiiii" + "iiiiiii").call, *steps)

    @cached_property
    def _product(self) -> tuple[int, ...]:
        panel = machine_code(gemm.panel, self.kind, "iiiiiiiibi", called=False)
        return self.pack.address, panel.address, self.kind.tile.rows, self.kind.columns, self.kind.itemsize

    @cached_property
    def pivot_row(self) -> Entry:
        return machine_code(pivot.pivot_row, self.kind, "iiiiii")

    @cached_property
    def sweep(self) -> Entry:
        return machine_code(pivot.sweep, self.kind, "iiiiiiii")


@cache
def code(kind: Kind) -> Code:
    """The machine code of a kind; the same object each time."""
    return Code(kind)


#: Arguments of kernels: sizes, strides and addresses; truth values; arrays of short and of long integers.
_TYPES = {"i": types.intp, "b": types.boolean, "s": types.int32[::1], "l": types.int64[::1]}


@cache
def machine_code(part: Any, kind: Any, arguments: str, *, called: bool = True) -> Entry:
    """A part's machine code for a kind, or another type that selects code, or None.

    `arguments` has a letter for each other argument, see `_TYPES`. What is not `called` from Python, but by its address
    alone, is compiled without what takes Python's arguments.
    """
    # What a user's function calls may change: its machine code never goes to disk.
    own = semiring_of(kind) if getattr(kind, "label", "") else None  # else it serves all
    entry = kernel(part.py_func, on_disk=own is None or shipped(own), called=called)
    signature = (*([kind] if kind else []), *(_TYPES[a] for a in arguments))
    with about(f"{own.name} in {kind.dtype}" if kind and own else ""):
        call = entry.compile(signature)
    made = entry.overloads[signature]
    address = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
    return Entry(call if called else _by_address_alone, address, entry)


def _by_address_alone(*_: Any) -> None:
    raise TypeError("this kernel was compiled for calls by its address alone")


def gain(kind: Kind) -> int:
    """How many times faster than compiled Python this kind is computed, roughly."""
    if not kind.vector:
        return 1
    return 2 if kind.add == "logaddexp" else 64
