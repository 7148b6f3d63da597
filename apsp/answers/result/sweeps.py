"""Reductions of all distances along rows or columns, without a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.records import Semiring
from semiring.host.devices import host
from semiring.host.errors import AlgebraError, ShapeError
from semiring.host.spelling import came, did_you_mean
from semiring.host.types import Array, DType
from semiring.kernels.observed import Callback

from ...io.display import output
from ...road.engines import Engine
from ...road.log import Watch
from ..totals import negative_error

#: Rows of a panel reduced side by side.
_FOLD = 16
#: Rows of a panel added at a time.
_NEAR = 255


@dataclass(frozen=True)
class Reduction:
    """Reduces lines (columns if `columns`) to one number each: `of(panel, semiring)`, with lines panel[:, q]."""

    name: str
    columns: bool
    of: Callable[[Any, Semiring], Any]
    description: str


def _worst(panel: Array, s: Semiring) -> Array:
    """The worst distance; no path is worst."""
    worse = np.maximum if s.add.selects == "least" else np.minimum
    n, lines = panel.shape
    folds = n // _FOLD * _FOLD
    if not isinstance(panel, np.ndarray) or not panel.flags.c_contiguous or not folds:
        return panel.max(axis=0) if s.add.selects == "least" else panel.min(axis=0)
    # Rows side by side lengthen NumPy's inner loop.
    folded = worse.reduce(panel[:folds].reshape(-1, _FOLD * lines), axis=0).reshape(_FOLD, lines)
    return worse.reduce(np.concatenate((folded, panel[folds:])), axis=0)


def _reached(panel: Array, s: Semiring) -> Array:
    zero = dtypes.zero(s, panel.dtype)
    if not isinstance(panel, np.ndarray):
        return (panel != zero).sum(axis=0)
    return _added(panel, lambda rows: (rows != zero).view(np.uint8).sum(axis=0, dtype=np.uint8), np.int64)


def _total(panel: Array, s: Semiring) -> Array:
    zero = dtypes.zero(s, panel.dtype)
    with np.errstate(over="ignore"):  # inf then
        return _added(panel, lambda rows: np.where(rows == zero, 0, rows).astype(np.float64).sum(axis=0))


def _closeness(panel: Array, s: Semiring) -> Array:
    """(r / Σ d) · (r / (n − 1)) for r other vertices that reach it (Wasserman and Faust 1994, as in NetworkX)."""
    others, total = _reached(panel, s) - 1.0, _total(panel, s)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        close = others / total * (others / max(len(panel) - 1, 1))
    return np.where((total > 0) & (others > 0), close, 0.0)


def _harmonic(panel: Array, s: Semiring) -> Array:
    """Σ 1 / d over others at non-zero distance; DomainError for a negative one."""
    zero = dtypes.zero(s, panel.dtype)

    def of(rows: Array) -> Array:
        finite = (rows != zero) & (rows != 0)
        if bool((rows[finite] < 0).any()):
            raise negative_error("reduce: harmonic", float(rows[finite].min()))
        if not isinstance(rows, np.ndarray):
            return np.where(finite, 1.0 / np.where(finite, rows, 1).astype(np.float64), 0.0).sum(axis=0)
        with np.errstate(over="ignore"):
            return np.divide(1.0, rows, out=np.zeros(rows.shape), where=finite, dtype=np.float64).sum(axis=0)

    return _added(panel, of)


def _added(panel: Array, of: Callable[[Array], Array], dtype: DType = np.float64) -> Array:
    """Σ of(rows) over 255 rows at a time: temporaries stay in cache, and a byte can count; on a GPU all at once."""
    if not isinstance(panel, np.ndarray):
        return of(panel)
    total = np.zeros(panel.shape[1], dtype)
    for start in range(0, len(panel), _NEAR):
        total += of(panel[start : start + _NEAR])
    return total


REDUCTIONS = {
    reduction.name: reduction
    for reduction in (
        Reduction("eccentricity", False, _worst, "the worst distance from the vertex; inf where it does not reach all"),
        Reduction("closeness", True, _closeness, "NetworkX's closeness, of the distances to the vertex"),
        Reduction("harmonic", True, _harmonic, "the sum of 1 / distance over all that reach the vertex"),
        Reduction("total", False, _total, "the sum of the distances from the vertex to all that it reaches"),
        Reduction("reached", False, _reached, "how many vertices the vertex reaches, itself counted"),
    )
}


def reduce(
    engine: Engine, s: Semiring, what: str | np.ufunc, n: int, *, axis: int | None = None,
    callback: Callback | None = None,
) -> np.ndarray:  # fmt: skip
    """One number per row or column of a table of some of n vertices; see `Result.reduce`."""
    columns, of = _named(engine, s, what, axis, n) if isinstance(what, str) else _of_ufunc(engine, s, what, axis)
    if axis not in (None, 0, 1):
        raise ShapeError(f"reduce: axis must be 0, the columns, or 1, the rows, got {came(axis)}.")
    lines, entries = reversed(engine.shape) if columns else engine.shape
    if lines and not entries and (what == "eccentricity" or getattr(what, "identity", 0) is None):
        raise ShapeError(f"reduce: {came(what)} must be of some distances, got shape {engine.shape}.")
    out: np.ndarray | None = None
    watch = Watch(f"reduce: {engine.shape[0]} × {engine.shape[1]} distances", lines * entries, callback)
    reduced = engine.worst if what == "eccentricity" else engine.reduced
    parts = reduced(lambda panel: of(panel, s), columns=columns)
    for positions, line in watch.each(parts, lambda block: entries * len(block[0])):
        found = line.get() if hasattr(line, "get") else np.asarray(line)
        out = np.empty(lines, found.dtype) if out is None else out
        out[positions] = found
    if out is None:
        return np.empty(0)
    return output.numbers(out, s) if out.dtype == engine.dtype and what == "eccentricity" else out


def _named(
    engine: Engine, s: Semiring, what: str, axis: int | None, n: int
) -> tuple[bool, Callable[[Any, Semiring], Any]]:
    """Direction and function of a named reduction; raises ValueError, AlgebraError or ShapeError if undefined."""
    if what not in REDUCTIONS:
        known = ", ".join(REDUCTIONS)
        raise ValueError(
            f"reduce: what must be one of {known}, or a ufunc of two arguments, got {came(what)}."
            f"{did_you_mean(what, REDUCTIONS)}"
        )
    chosen = REDUCTIONS[what]
    if what != "reached" and not (s.lengths and s.add.selects):
        raise AlgebraError(
            f"reduce: {what} needs lengths and an ⊕ that selects the best of them, got {s.name}. Pass a ufunc."
        )
    columns = chosen.columns if axis is None else axis == 0
    along, way, side = (0, "from", "sources") if columns else (1, "to", "targets")
    if chosen.columns and engine.shape[along] != n:
        raise ShapeError(
            f"reduce: {what} is made of the distances {way} all {n} vertices, got "
            f"{engine.shape[along]} {side}. Leave {side}= out, or pass a ufunc."
        )
    return columns, chosen.of


def _of_ufunc(engine: Engine, s: Semiring, what: Any, axis: int | None) -> tuple[bool, Callable[[Any, Semiring], Any]]:
    """Direction and function of a ufunc of NumPy or `numba.vectorize` (its own type); ValueError if irreducible."""
    if (getattr(what, "nin", 0), getattr(what, "nout", 0)) != (2, 1) or not hasattr(what, "reduce"):
        raise ValueError(
            f"reduce: what must be one of {', '.join(REDUCTIONS)}, or a ufunc of two arguments and one result, "
            f"such as np.maximum, got {came(what)}. Anything else is done block by block: for labels, D in rows()."
        )
    if not isinstance(what, np.ufunc):  # numba compiles for a dtype on a call, not on reduce
        what(*[output.numbers(np.empty(0, engine.dtype), s)] * 2)
    return axis == 0, lambda panel, s: what.reduce(output.numbers(host(panel), s), axis=0)
