"""Engine: symmetric (max, min), (min, max) closures in O(n²) by a spanning tree (`shortcuts.bottlenecks`)."""

from __future__ import annotations

import numpy as np

from semiring.algebra.saturation import compares
from semiring.dense import shortcuts
from semiring.dense.bits import BitMatrix
from semiring.host.types import Array
from semiring.kernels.backend import bind

from .. import rates
from ..estimates import Estimate
from ..question import Question
from .base import Kind, offer
from .essential import filled


def _suits(question: Question) -> bool:
    """Whether semiring, input and request permit the engine, entries aside."""
    wants = question.wants
    if wants.packed or wants.partial or wants.overwrite or isinstance(question.source, int) or question.listed:
        return False
    A = question.problem.matrix
    dense = not question.problem.batch and not isinstance(A, BitMatrix) and isinstance(A, np.ndarray)
    return dense and compares(question.semiring)


def symmetric(question: Question) -> bool:
    """Whether the matrix is symmetric bit for bit."""
    if not _suits(question):
        return False
    ops = bind(question.semiring, question.dtype, device="cpu", **question.wants.options)
    return ops.symmetric(question.problem.matrix)


def _estimate(question: Question) -> Estimate:
    n, cpu = question.n, rates.processor
    seconds = (cpu.compared_entry + cpu.tree_entry + cpu.tree_row_entry / question.threads) * n * n
    taken = Estimate("spanning", 2 * n * n, 24 * n, seconds, seconds, 0.0)
    return offer(question, taken, "spanning tree", table=n * n * question.dtype.itemsize)


def _closed(question: Question) -> Array:
    A, report = question.problem.matrix, question.wants.callback
    D = np.empty(A.shape, A.dtype)
    shortcuts.bottlenecks(A, question.semiring, D, question.threads)
    if report:
        report(question.n, question.n)
    return D


ENGINE = Kind(
    "spanning", _estimate, lambda question, plan: filled(question, plan, lambda: _closed(question)),
    refuses=lambda q: "" if q.once(symmetric) else "closes symmetric matrices over (max, min) and (min, max)",
    looks=lambda question: rates.processor.compared_entry * question.n**2 if _suits(question) else np.inf,
    matrices=True, large=True,
)  # fmt: skip
