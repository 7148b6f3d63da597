"""Instructions of kernels: numba's intrinsics, written as the functions that emit their code; types in signatures.

Type checkers know the types of NumPy; they take any object for one of numba's or LLVM's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba.core import types, typing
from numba.core.base import BaseContext
from numba.extending import intrinsic

from ...host.types import Function

#: Array of a kernel, of any dtype and rank.
Array: TypeAlias = np.ndarray
#: An intrinsic's typing context, the types of its arguments, and what it returns: a signature and a generator of code.
Typing: TypeAlias = typing.Context
Type: TypeAlias = types.Type
Signature: TypeAlias = typing.Signature
Intrinsic: TypeAlias = tuple[Signature, Callable[..., ir.Value]]
#: Arguments of that generator, with the signature: the target's context, the builder, and the operands.
Context: TypeAlias = BaseContext
Builder: TypeAlias = ir.IRBuilder
Value: TypeAlias = ir.Value
Values: TypeAlias = Sequence[ir.Value]
#: Operands and results: an integer or address, an unsigned word, a truth value, an entry of the kind.
Int: TypeAlias = ir.Value
Word: TypeAlias = ir.Value
Flag: TypeAlias = ir.Value
Entry: TypeAlias = ir.Value
_TYPES = {"Int": types.intp, "Word": types.uint64, "Flag": types.boolean, "None": types.none}


def instruction(emit: Any = None, *, generic: Callable[[Any], Function] | None = None) -> Any:
    """Decorator: emit(builder, [kind], *operands) as an instruction, typed by its annotations.

    Where the kind has no vector code, the function `generic(kind)` is compiled instead; `builder.compile_internal`
    emits calls of others.
    """
    if emit is None:
        return partial(instruction, generic=generic)
    *operands, result = list(emit.__annotations__.values())[1:]
    known = bool(operands) and operands[0] not in (*_TYPES, "Entry")

    @wraps(emit)
    def define(_: Typing, *of: Type) -> Intrinsic:
        kind: Any = of[0] if known else None

        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            builder.compile_internal = partial(context.compile_internal, builder)
            if generic is not None and not kind.vector:
                return context.compile_internal(builder, generic(kind), signature, args)
            byte = "Entry" in (result, *operands) and kind.record.boolean  # in memory and in vectors
            if byte:
                args = [builder.zext(x, kind.llvm) if t == "Entry" else x for x, t in zip(args, operands, strict=True)]
            found = emit(builder, kind, *args[1:]) if known else emit(builder, *args)
            if byte and result == "Entry":
                found = builder.trunc(found, ir.IntType(1))
            return context.get_dummy_value() if found is None else found

        returns, *given = (kind.scalar if name == "Entry" else _TYPES[name] for name in (result, *operands[known:]))
        return returns(*of[:known], *given), codegen

    return intrinsic(define)
