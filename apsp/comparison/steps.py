"""The intermediate matrices M₀, M₁ … Mₙ of a schedule, one after each verb: printed and drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import get
from semiring.algebra.records import Semiring
from semiring.algebra.saturation import widened, wider
from semiring.algebra.survey import fast
from semiring.host.errors import ShapeError
from semiring.host.spelling import came
from semiring.host.types import Array, Axes, Label
from semiring.kernels.backend import bind
from semiring.kernels.observed import Observed, Observer
from semiring.kernels.verbs import Verb

from ..answers.result import drawing
from ..io.display import notebook, output
from ..io.display.notebook import aligned
from ..road import schedules
from ..road.plans import make_plan
from ..road.question import Question
from ..road.road import answer

#: Largest matrix recorded; n copies of more would be unreadable.
MOST = 32
#: Pictures per row of a strip; largest n with entries written in the cells.
_ACROSS, _WRITTEN = 4, 12
#: Formulas of the verbs by operand; others print their names. C and P are the old column and new row beside it.
_FORMULAS = {
    "gemm": "{0} ← {0} ⊕ {1} ⊗ {2}",
    "matmul": "{0} ← {1} ⊗ {2}",
    "left_mul": "{1} ← {0} ⊗ {1}",
    "right_mul": "{0} ← {0} ⊗ {1}",
    "closure": "{0} ← {0}*",
    "clear": "{0} ← {zero}",
    "copy": "{0} ← {1}",
    "add_one": "{0} ← I ⊕ {0}",
}

#: Phases of a round of the blocked schedule, as lessons number them: the pivot block, its row and column, the rest.
_PHASES = {"closure": 1, "left_mul": 2, "right_mul": 2, "gemm": 3}

#: Dtype of truth values, computed over (max, min).
_TRUTHS = np.dtype(np.int16)

#: Rows and columns of a block.
Block = tuple[slice, slice]


@dataclass(frozen=True)
class Step:
    """One matrix on the way: title ("by way of c"), mask of changed entries, blocks `written`, and only `read`."""

    title: str
    matrix: np.ndarray
    changed: np.ndarray
    written: tuple[Block, ...] = ()
    read: tuple[Block, ...] = ()


@dataclass(frozen=True, repr=False)
class Steps(Sequence[Step]):
    """The matrices M₀ (I ⊕ A, or A itself), M₁, … of a schedule, a `Step` each; prints itself.

    `block` is the pivot block, 1 for a schedule by vertices; `labels` are vertex names.
    """

    semiring: Semiring
    schedule: str
    block: int
    labels: Sequence[Label]
    steps: tuple[Step, ...]

    def __len__(self) -> int:
        return len(self.steps)

    @overload
    def __getitem__(self, k: int) -> Step: ...
    @overload
    def __getitem__(self, k: slice) -> Sequence[Step]: ...
    def __getitem__(self, k: int | slice) -> Step | Sequence[Step]:
        return self.steps[k]

    def __repr__(self) -> str:
        n = len(self.steps[0].matrix)
        return f"<Steps: M0 … M{len(self) - 1} of {n} vertices over {self.semiring.name}, {self._how()}>"

    def __str__(self) -> str:
        beside = any(step.title.endswith("P") for step in self.steps)
        kept = "; C and P: a pivot's old columns and new rows, kept beside" if beside else ""
        heading = f"closure over {self.semiring.name}, {self._how()}{kept}"
        return "\n\n".join([heading, *map(self._text, range(len(self)))])

    def _repr_html_(self) -> str:
        return notebook.table(repr(self)) + notebook.lines(str(self))

    def _how(self) -> str:
        return f"{self.schedule}, blocks of {self.block}" if schedules.get(self.schedule).blocked else self.schedule

    def _text(self, k: int) -> str:
        """A matrix as text, with a star at each changed entry."""
        step, count = self.steps[k], int(self.steps[k].changed.sum())
        entries = "1 entry changes" if count == 1 else f"{count or 'no'} entries change"
        heading = f"M{k}: {step.title}" + (f"; {entries}" if k else "")
        names = [str(label) for label in self.labels]
        shown = step.matrix.astype(np.int8) if step.matrix.dtype == bool else step.matrix
        lines = [["", *(f"{name} " for name in names)]]
        for name, row, changed in zip(names, shown, step.changed, strict=True):
            cells = zip(row, changed, strict=True)
            lines.append([name, *(output.text(x, self.semiring) + ("*" if new else " ") for x, new in cells)])
        return "\n".join([heading, *aligned(lines, range(len(names) + 1))])

    def plot(self, *, save: str | Path | None = None, dpi: int = 150) -> Axes:
        """Draw all matrices as a strip: blocks written framed red, blocks read blue.

        Changed entries are bold, or dotted for more than 12 vertices.

        Parameters
        ----------
        save : path, optional
            A `.png`, `.svg` or `.pdf` file to write.
        dpi : int
            Resolution of a `.png` file.

        Raises
        ------
        ValueError, OSError, ImportError
            If the file's suffix is unknown; if the file cannot be written; if matplotlib (extra `plot`) is missing.

        See Also
        --------
        apsp.closure, apsp.compare : `steps=True` records; times of schedules.

        Examples
        --------
        >>> from apsp import closure
        >>> D, steps = closure([[0, 4], [1, 0]], steps=True)
        >>> steps.plot(save="steps.svg")  # doctest: +SKIP
        """
        across = min(len(self), _ACROSS)
        down = -(-len(self) // across)
        size = 3.2 * across, 3.4 * down
        with drawing.canvas(None, save, size=size, dpi=dpi, panels=(down, across)) as first:
            numbers = [output.numbers(step.matrix, self.semiring).astype(np.float64) for step in self.steps]
            finite = np.concatenate([x[np.isfinite(x)] for x in numbers])
            least, most = (float(finite.min()), float(finite.max()) + 1e-9) if len(finite) else (0.0, 1.0)
            for k, values in enumerate(numbers):
                self._draw(first.figure.add_subplot(down, across, k + 1) if k else first, k, values, least, most)
        return first.figure

    def _draw(self, axes: Axes, k: int, values: np.ndarray, least: float, most: float) -> None:
        from matplotlib.patches import Rectangle

        step, n = self.steps[k], len(self.labels)
        names = [str(label) if n <= _WRITTEN else "" for label in self.labels]
        # The light half of the colours, on which numbers are readable.
        axes.imshow(np.where(np.isfinite(values), values, np.nan), cmap="YlGnBu", vmin=least, vmax=2 * most - least)
        for blocks, color in ((step.read, "C0"), (step.written, "C3")):
            for rows, columns in blocks:
                size = columns.stop - columns.start, rows.stop - rows.start
                corner = columns.start - 0.5, rows.start - 0.5
                axes.add_patch(Rectangle(corner, *size, fill=False, edgecolor=color, linewidth=2, clip_on=False))
        if n <= _WRITTEN:
            for i, j in np.ndindex(n, n):
                weight = "bold" if step.changed[i, j] else "normal"
                number = f"{values[i, j]:.4g}".replace("inf", "∞")
                axes.text(j, i, number, ha="center", va="center", fontsize=7, fontweight=weight)
        else:
            axes.scatter(*step.changed.nonzero()[::-1], s=6, color="C3")
        axes.set_xticks(range(n), names, fontsize=7)
        axes.set_yticks(range(n), names, fontsize=7)
        axes.tick_params(length=0)
        axes.set_title(f"M{k}: {step.title}".replace(" ⊕ M", "\n⊕ M"), fontsize=8)


class _Recorder(Observer):
    """An observer copying the matrix after every verb that writes to it; `phased` where verbs are phases of rounds."""

    def __init__(self, M: np.ndarray, labels: Sequence[Label], title: str, zero: float, phased: bool) -> None:
        self._M, self._labels, self._phased, self._rounds = M, labels, phased, 0
        self._zero = f"{zero:g}".replace("inf", "∞")
        self.steps = [Step(title, M.copy(), np.zeros(M.shape, bool))]

    def after(self, verb: Verb, operands: tuple[Array, ...]) -> None:
        if verb.name == "gemms":  # several products at once
            for product in operands[0]:
                self._add("gemm", product)
        elif verb.name == "step":
            k = operands[1]
            cross = ((slice(k, k + 1), slice(0, len(self._M))), (slice(0, len(self._M)), slice(k, k + 1)))
            self._append(f"by way of {self._labels[k]}", (), cross)
        else:
            self._add(verb.name, operands)

    def _add(self, name: str, operands: Sequence[Array]) -> None:
        blocks = [self._block(X) for X in operands]
        written = blocks[1 if name == "left_mul" else 0]
        if written is None or written[0].start == written[0].stop or written[1].start == written[1].stop:
            return  # the schedule's workspace
        square = len(operands) == 3 and operands[1] is operands[2]  # of a copy of all
        names = [_named(b, len(self._M)) if b or square else " CP"[k] for k, b in enumerate(blocks)]
        names = [names[0], "P"] if name == "copy" else names
        title = _FORMULAS.get(name, name).format(*names, zero=self._zero)
        if name == "add_one" and (self.steps[-1].matrix == self._M).all():
            return  # M0 is that already
        if self._phased and name in _PHASES:
            self._rounds += name == "closure"
            title = f"round {self._rounds}, phase {_PHASES[name]}: {title}"
        self._append(title, (written,), tuple(b for b in blocks if b and b != written))

    def _append(self, title: str, written: tuple[Block, ...], read: tuple[Block, ...]) -> None:
        matrix, before = self._M.copy(), self.steps[-1].matrix
        self.steps.append(Step(title, matrix, matrix != before, written, read))

    def _block(self, X: np.ndarray) -> Block | None:
        """Rows and columns of a view of the matrix; None for other arrays."""
        if not np.may_share_memory(X, self._M):
            return None
        rows, columns = divmod((X.ctypes.data - self._M.ctypes.data) // X.itemsize, max(len(self._M), 1))
        return slice(rows, rows + X.shape[0]), slice(columns, columns + X.shape[1])


def _named(block: Block | None, n: int) -> str:
    """M, or M[rows, columns] as in NumPy, a single index by its number."""
    if block is None or block == (slice(0, n),) * 2:
        return "M"
    rows, columns = (f"{x.start}:{x.stop}" if x.stop - x.start > 1 else str(x.start) for x in block)
    return f"M[{rows}, {columns}]"


def closure_and_steps(question: Question, steps: bool | str) -> tuple[Array, Steps]:
    """The closure, in kind, and the steps of its schedule; ShapeError for several matrices or more than 32 vertices.

    They begin at I ⊕ A, as lessons do; with "plain", or where ⊕ is not idempotent, at A.
    """
    if steps not in (True, "plain"):
        raise ValueError(f"closure: steps must be True, False or 'plain', got {came(steps)}.")
    matrix: Array = question.problem.matrix
    if len(matrix.shape) != 2 or len(matrix) > MOST:
        raise ShapeError(
            f"closure: steps=True must have one matrix of at most {MOST} vertices, got shape {tuple(matrix.shape)}. "
            "Leave steps out, or take a part of it."
        )
    ops = question.problem.bind(question.wants)
    original = np.array(matrix if isinstance(matrix, np.ndarray) else ops.download(matrix))
    closed = question.in_kind(answer(question).engine.storage)  # raises if there is none; may overwrite the matrix
    s, lost = question.semiring, question.problem.may_lose
    wide = wider(len(original) << 8 * original.dtype.itemsize, s) if lost else None
    plain = steps == "plain" or not s.idempotent
    return closed, _record(question, original if wide is None else widened(original, wide, s), plain)


def _record(question: Question, original: np.ndarray, plain: bool) -> Steps:
    """The steps on the CPU; "auto" is the iterative schedule, the default block max(⌈n / 4⌉, 2), to show several."""
    wants, s, n = question.wants, question.semiring, len(original)
    labels: Sequence[Label] = list(question.graph.labels) if question.is_graph else range(n)
    truths = original.dtype == bool  # packed into words, which have no entries to look at
    algebra = get("max_min") if truths else s
    if truths:
        original = np.where(original, dtypes.one(algebra, _TRUTHS), dtypes.zero(algebra, _TRUTHS))
    nonnegative = not truths and fast(question.problem.seen, s, original.dtype, n)
    ops = bind(algebra, original.dtype, device="cpu", nonnegative=nonnegative, threads=1)
    schedule = "iterative" if wants.schedule == "auto" else wants.schedule
    plan = make_plan(n, algebra, ops, schedule=schedule, block=wants.block or max(-(-n // 4), 2))
    M = ops.upload(original, copy=True)
    if not plain:
        ops.add_one(M)
    title = "the matrix" if (M == original).all() else "the matrix, I ⊕ A"
    recorder = _Recorder(M, labels, title, float(s.zero), plan.schedule == "blocked")
    verbs: Any = Observed(ops, recorder, apart=True)
    verbs.cutover = 0  # the recursion goes down to single blocks
    schedules.get(plan.schedule)(M, verbs, block=plan.block)
    steps = recorder.steps
    if truths:
        one = dtypes.one(algebra, _TRUTHS)
        steps = [replace(step, matrix=step.matrix == one) for step in steps]
    pivots = plan.block if schedules.get(plan.schedule).blocked else 1
    return Steps(s, plan.schedule, pivots, labels, tuple(steps))
