"""Closures of lists of matrices of different sizes, padded to batches."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from semiring.algebra import dtypes
from semiring.algebra.catalog import get
from semiring.algebra.records import Semiring
from semiring.algebra.survey import survey
from semiring.dense.product import common
from semiring.host.arrays import in_kind_of, take_in
from semiring.host.devices import module, on_device
from semiring.host.memory import require
from semiring.host.spelling import came
from semiring.host.types import Array, DType, Function
from semiring.tensors.gradients import asked_by

from ..io.graph.entries import over
from ..io.graph.nulls import warn_of_ambiguous
from ..io.reading.options import NullValue, nulls_of
from .convergence.divergence import may_diverge

#: Options of a closure that hold for batches too.
WORK = ("schedule", "block", "device", "threads", "per_thread", "ties", "on_negative_cycle")
#: Padding to one size is limited to this multiple of the entries; beyond, several sizes.
WASTE = 4


def is_list_of_matrices(A: Array) -> bool:
    """Whether A is a non-empty list or tuple of square arrays."""
    if not isinstance(A, (list, tuple)):
        return False
    shapes: list[Any] = [getattr(X, "shape", ()) for X in A]
    return bool(shapes) and all(len(shape) == 2 and shape[0] == shape[1] for shape in shapes)


def closed_together(
    closure: Function,
    matrices: Sequence[Array],
    semiring: str | Semiring,
    *,
    dtype: DType,
    unweighted: bool,
    null_value: NullValue,
    **options: Any,
) -> list[Array]:
    """The closures by `closure` (apsp's), in kind, by batches; ValueError for options of single matrices."""
    work = {name: options[name] for name in WORK if name in options}
    for name, value in options.items():
        if name not in WORK and value is not None and value is not False:
            raise ValueError(
                f"closure: {name} must be left out of a list of matrices, got {name}={came(value)}. Pass one matrix "
                "at a time, or an array of shape (batch, n, n)."
            )
    s, nulls = get(semiring), nulls_of(null_value)
    close, bounded = partial(closure, semiring=semiring, **work), "on_negative_cycle" in work
    sizes = [int(X.shape[0]) for X in matrices]
    n, library = max(sizes), asked_by(*matrices)
    if library:
        xp: Any = sys.modules["torch"] if library == "torch" else sys.modules["jax"].numpy
        pad, word = (xp.nn.functional.pad, "value") if library == "torch" else (xp.pad, "constant_values")
        margins = [(0, n - k, 0, n - k) if library == "torch" else ((0, n - k),) * 2 for k in sizes]
        padded = [pad(X, by, **{word: s.zero}) for X, by in zip(matrices, margins, strict=True)]
        if nulls is None and library == "torch":
            _warn([take_in(X.detach(), where="closure").array for X in matrices], s)
        entries = {"dtype": dtype, "unweighted": unweighted, "null_value": nulls[0] if nulls else None}
        closures = close(xp.stack(padded), overwrite=False, **entries)  # refuses what has no derivative
        return [D[:k, :k] for D, k in zip(closures, sizes, strict=True)]
    taken = [take_in(X, where="closure") for X in matrices]
    with on_device(in_kind_of(*taken, where="closure").array):
        arrays = [X.array for X in taken]
        if unweighted or nulls is not None:
            arrays = [over(X, s, dtype, nulls=nulls, unweighted=unweighted, where="closure") for X in arrays]
        arrays = common(arrays, s, dtype, where="closure")
        if not unweighted and nulls is None:
            _warn(arrays, s)
        xp = module(arrays[0])
        found: list[Any] = [None] * len(arrays)
        padding = len(sizes) * n * n > WASTE * sum(k * k for k in sizes)
        for group in sorted({k.bit_length() for k in sizes} if padding else {0}):
            chosen = [i for i, k in enumerate(sizes) if not padding or k.bit_length() == group]
            m = max(sizes[i] for i in chosen)
            needed = len(chosen) * m * m * arrays[0].dtype.itemsize
            require(needed, "cpu" if xp.__name__ == "numpy" else "cuda", where="closure", hint="Pass fewer at a time.")
            batch = xp.full((len(chosen), m, m), dtypes.zero(s, arrays[0].dtype), arrays[0].dtype)
            for A, i in zip(batch, chosen, strict=True):
                A[: sizes[i], : sizes[i]] = arrays[i]
            # Inputs must survive possible divergence, or repetition in a wider dtype.
            kept = s.idempotent and any(may_diverge(s, survey(X, s, where="closure"), m) for X in arrays)
            for D, i in zip(close(batch, overwrite=not (kept or bounded), null_value=None), chosen, strict=True):
                found[i] = taken[i].give_back(D[: sizes[i], : sizes[i]].copy(), where="closure")
    return found


def _warn(arrays: Sequence[Array], s: Semiring) -> None:
    """Warn of ambiguous zeros before padding would decide them."""
    for X in arrays:
        warn_of_ambiguous(survey(X, s, where="closure", null_undeclared=True), s, where="closure")
