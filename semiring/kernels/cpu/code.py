"""Machine code of kernels per kind, compiled or loaded from disk on first use."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numba.np.numpy_support import from_dtype

from ...host.compiling import about, uncounted
from .compile import kernel
from .kinds import Kind, on_disk, semiring_of

#: Pairs per call into compiled code (of slow ones), so that Ctrl-C is handled.
CALL = 1 << 24


class Entry(NamedTuple):
    """A kernel's machine code for one kind: a Python callable, its address, and the owner that keeps it alive."""

    call: Callable[..., Any]
    address: int
    owner: Any


#: Kernel arguments by letter: integers and addresses, booleans, entries of the kind; contiguous arrays, as capitals
#: matrices.
_SCALARS = {"i": types.intp, "b": types.boolean}
_ARRAYS = {
    "s": types.int32, "l": types.int64, "f": types.float64, "c": types.uint8, "o": types.boolean, "h": types.uint16,
    "u": types.uint32, "w": types.uint64,
}  # fmt: skip


@cache
def machine_code(
    part: Any, kind: Kind, arguments: str, *records: np.dtype, called: bool = True, released: bool = True
) -> Entry:
    """A part's machine code for a kind (or another type that selects code, or None).

    `arguments` has a letter per further argument, see `_SCALARS` and `_ARRAYS`, x, a and A for entries; digits are
    indices of `records`, for arrays of records. `called` and `released` are those of `kernel`.
    """
    own = getattr(kind, "label", "")  # empty: the code serves all kinds
    with about(f"{semiring_of(kind).name} in {kind.dtype}" if own else ""), uncounted:
        return _entry(part, compiled_kind(part, kind) if own else kind, arguments, records, called, released)


@cache
def compiled(part: Any, kind: Kind, arguments: str, *records: np.dtype) -> Callable[..., Any]:
    """A part's machine code as a function of the arguments after the kind."""
    return partial(machine_code(part, kind, arguments, *records).call, kind)


def compiled_kind(part: object, kind: Kind) -> Kind:
    """The kind that a part is compiled for, to serve `kind`."""
    return kind.imaged if hasattr(part, "imaged") else kind.code


@cache
def _entry(part: Any, kind: Kind, arguments: str, records: tuple[np.dtype, ...], called: bool, released: bool) -> Entry:
    arrays: dict[str, Any] = _ARRAYS | {str(k): from_dtype(record) for k, record in enumerate(records)}

    def type_of(letter: str) -> Any:
        if letter in _SCALARS or letter == "x":
            return _SCALARS.get(letter) or kind.scalar
        entry = kind.scalar if letter in "aA" else arrays[letter.lower()]
        return entry[::1] if letter == letter.lower() else entry[:, ::1]

    signature = (*([kind] if kind else []), *map(type_of, arguments))
    entry = kernel(part.py_func, on_disk=on_disk(kind), called=called, released=released)
    call = entry.compile(signature)
    made = entry.overloads[signature]
    address = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
    return Entry(call if called else _by_address_alone, address, entry)


def _by_address_alone(*_: Any) -> None:
    raise TypeError("this kernel was compiled for calls by its address alone")


def gain(kind: Kind) -> int:
    """Rough speedup of this kind over scalar compiled code."""
    if not kind.vector:
        return 1
    return 2 if kind.add == "logaddexp" else 64
