"""Register-only probes of the ledger: the rate of c ← c ⊕ a ⊗ b on one core without loads and stores.

A kernel's rate over a probe's, run just before and after it in the same process, says how much of the machine it
uses; clocks, hypervisors and neighbours cancel.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic

from semiring.kernels.cpu.kinds import Kind
from semiring.kernels.cpu.vectors import I64, Vectors

#: How LLVM's inline assembly names a vector register.
_REGISTER = "w" if platform.machine() in ("aarch64", "arm64") else "v"


def _shape(kind: Kind) -> tuple[int, int]:
    """Rows × columns of accumulating vectors; with a vector for each row and column they fill the registers."""
    return (5, 4) if kind.tile.width == 64 else (4, 2)


def _rounds(kind: Kind, *, image: bool) -> Callable[..., Any]:
    """Code for `count` rounds over vectors at `values`; the results replace them, so that none is left out."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _, count, values = args
        v, (rows, columns), width = Vectors(builder, kind, image=image), _shape(kind), kind.tile.width
        cells = [(i, j) for i in range(rows) for j in range(columns)]
        # An empty piece of assembly that seems to change a: what depends on it cannot be moved out of the loop.
        opaque = ir.InlineAsm(ir.FunctionType(v.type, [v.type]), "", f"={_REGISTER},0", side_effect=True)
        loaded = [v.load(values, q * width) for q in range(rows + columns + len(cells))]
        before, body = builder.block, builder.append_basic_block("round")
        done = builder.append_basic_block("done")
        builder.branch(body)
        builder.position_at_end(body)
        k, A, C = builder.phi(I64), [builder.phi(v.type) for _ in range(rows)], [builder.phi(v.type) for _ in cells]
        B = loaded[rows : rows + columns]
        for phi, start in zip([k, *A, *C], [I64(0), *loaded[:rows], *loaded[rows + columns :]], strict=True):
            phi.add_incoming(start, before)
        after = [builder.call(opaque, [a]) for a in A]
        stepped = [v.step(c, after[i], B[j]) for c, (i, j) in zip(C, cells, strict=True)]
        onwards = builder.add(k, I64(1))
        for phi, value in zip([k, *A, *C], [onwards, *after, *stepped], strict=True):
            phi.add_incoming(value, body)
        builder.cbranch(builder.icmp_signed("<", onwards, count), body, done)
        builder.position_at_end(done)
        for q, c in enumerate(stepped):
            v.store(c, values, q * width)
        return context.get_dummy_value()

    return codegen


@intrinsic
def _own(typing: Any, kind: Any, count: Any, values: Any) -> Any:
    return types.none(kind, types.intp, types.intp), _rounds(kind, image=False)


@intrinsic
def _kernels(typing: Any, kind: Any, count: Any, values: Any) -> Any:
    return types.none(kind, types.intp, types.intp), _rounds(kind, image=True)


@cache
def _compiled(kind: Kind, image: bool) -> Callable[..., None]:
    if image:
        entry = njit(nogil=True)(lambda kind, count, values: _kernels(kind, count, values))
    else:
        entry = njit(nogil=True)(lambda kind, count, values: _own(kind, count, values))
    code: Callable[..., None] = entry.compile((kind, types.intp, types.intp))
    return code


def rate(kind: Kind, *, image: bool = False, repeats: int = 5) -> float:
    """Pairs a second of one core, in registers.

    Parameters
    ----------
    kind : Kind
        One with vector instructions.
    image : bool
        Count with the instructions of the micro-kernel, not with the semiring's own; they differ where the former
        works on integers that sort as the floats do.
    repeats : int
        The best of several runs.
    """
    code, (rows, columns) = _compiled(kind, image), _shape(kind)
    vectors = rows * columns
    rounds, best = 400_000, float("inf")
    for _ in range(repeats):
        values = np.random.default_rng(0).integers(1, 100, (vectors + rows + columns) * kind.lanes)
        values = values.astype(kind.dtype)
        start = time.thread_time()
        code(kind, rounds, values.ctypes.data)
        best = min(best, time.thread_time() - start)
    return rounds * vectors * kind.lanes / best
