"""Types in signatures: arrays of kernels, numba's contexts and types, LLVM's builder and values.

Type checkers know those of NumPy; they take any object for one of numba's or LLVM's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.base import BaseContext
from numba.core.typing import Context as TypingContext
from numba.core.typing import Signature

__all__ = ["Array", "Builder", "Context", "Intrinsic", "Signature", "Type", "Typing", "Value", "Values"]

#: Array of a kernel, of any dtype and rank.
Array: TypeAlias = np.ndarray
#: An intrinsic's typing context, the types of its arguments, and what it returns: a signature and a generator of code.
Typing: TypeAlias = TypingContext
Type: TypeAlias = types.Type
Intrinsic: TypeAlias = tuple[Signature, Callable[..., ir.Value]]
#: Arguments of that generator, with the signature: the target's context, the builder, and the operands.
Context: TypeAlias = BaseContext
Builder: TypeAlias = ir.IRBuilder
Value: TypeAlias = ir.Value
Values: TypeAlias = Sequence[ir.Value]
