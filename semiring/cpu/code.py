"""Machine code of kernels for one kind: compiled, or found on disk, when it is first wanted."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, NamedTuple

from numba.core import types

from ..compiling import about
from . import gemm, pivot
from .compile import kernel
from .kinds import Kind, semiring_of, shipped

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
    def block(self) -> Entry:
        return machine_code(gemm.block, self.kind, "biiiiiiiiiiiiibi")

    @cached_property
    def pivot_row(self) -> Entry:
        return machine_code(pivot.pivot_row, self.kind, "iiiiii")

    @cached_property
    def sweep(self) -> Entry:
        return machine_code(pivot.sweep, self.kind, "iiiiiiii")

    @cached_property
    def closure(self) -> Entry:
        return machine_code(pivot.closure, self.kind, "iiiiiiiii")


@cache
def code(kind: Kind) -> Code:
    """The machine code of a kind; the same object each time."""
    return Code(kind)


#: Arguments of kernels: sizes, strides and addresses; truth values; arrays of short and of long integers.
_TYPES = {"i": types.intp, "b": types.boolean, "s": types.int32[::1], "l": types.int64[::1]}


@cache
def machine_code(part: Any, kind: Any, arguments: str) -> Entry:
    """A part's machine code for a kind, or another type that selects code, or None.

    `arguments` has a letter for each other argument, see `_TYPES`.
    """
    # What a user's function calls may change: its machine code never goes to disk.
    own = semiring_of(kind) if getattr(kind, "label", "") else None  # else it serves all
    entry = kernel(part.py_func, on_disk=own is None or shipped(own))
    signature = (*([kind] if kind else []), *(_TYPES[a] for a in arguments))
    with about(f"{own.name} in {kind.dtype}" if kind and own else ""):
        call = entry.compile(signature)
    made = entry.overloads[signature]
    return Entry(call, made.library.get_pointer_to_function(made.fndesc.llvm_func_name), entry)


def gain(kind: Kind) -> int:
    """How many times faster than compiled Python this kind is computed, roughly."""
    if not kind.vector:
        return 1
    return 2 if kind.add == "logaddexp" else 64
