"""Products of small contiguous matrices in two calls of machine code, chosen beforehand."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import addressof, c_char
from typing import Any

from ....host.types import Array


def product(
    code: Any, mover: Any, plan: Any, scratch: Any, sizes: tuple[int, int, int], itemsize: int
) -> Callable[[Array, Array, Array], None]:
    """C ← A ⊗ B of (m, k) and (k, n) by a plan of one strip, share and block; C must not overlap A or B."""
    (m, n, k), pack, block = sizes, code.pack.call, code.block
    row_a, row_b = k * itemsize, n * itemsize

    def multiply(C: Array, A: Array, B: Array) -> None:
        a, b, c = _address(A), _address(B), _address(C)
        work = scratch.reserve(plan.workspace)
        packed, padded = work + plan.shared, plan.padded
        pack(mover, False, padded, 0, n, k, b, row_b, itemsize, packed)
        block(False, packed, padded, 0, 0, m, n, k, a, row_a, itemsize, c, row_b, itemsize, True, work)

    return multiply


def _address(A: Array) -> int:
    """Address of a nonempty contiguous matrix, a microsecond faster if it is writeable."""
    return addressof(c_char.from_buffer(A)) if A.flags.writeable else int(A.__array_interface__["data"][0])
