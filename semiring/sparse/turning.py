"""Turns in compiled loops: arcs by their ends, states of walks with equal rows of costs, arcs of copies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..host.signals import load
from ..host.types import Edges
from .order import inverse


def _call(name: str, letters: str) -> Callable[..., int]:
    kernel = getattr(load("semiring.kernels.cpu.sparse.turning"), name)
    return load("semiring.kernels.cpu.code").machine_code(kernel, None, letters).call


def find(
    starts: np.ndarray, heads: np.ndarray, sources: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """First and number of the arcs from sources[k] to targets[k], by CSR of ascending heads; the first k of none."""
    first, count = np.empty((2, len(sources)), np.int64)
    return first, count, _call("find", "llllll")(starts, heads, sources, targets, first, count)


def once(pairs: np.ndarray) -> bool:
    """Whether no pair of arcs comes twice, of pairs one after the other."""
    return bool(_call("once", "ll")(pairs, np.zeros(1 << len(pairs).bit_length(), np.int64)))


def groups(starts: np.ndarray, begin: np.ndarray, *costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number of each state, the same for equal rows of a vertex, starts[v] … starts[v + 1], and the first of each.

    Numbers ascend with how many entries tell a row from others, then with vertices, then with entries; if float32 holds
    all exactly, in the order of its bits, where negative ones are last.
    """
    x = np.column_stack([_ordered(x) for x in costs]).ravel()
    group, shown, told = np.empty((3, len(begin) - 1), np.int64)
    every = np.arange(len(group))
    count = _call("group", "llfllll")(starts, begin * len(costs), x, every, group, shown, told)
    order = np.argsort(told[:count], kind="stable")
    return inverse(order)[group].astype(np.int64), shown[order]


def _ordered(x: np.ndarray) -> np.ndarray:
    if not (x < 0).any():
        return x
    with np.errstate(over="ignore"):
        short = x.astype(np.float32) + np.float32(0)  # −0 is 0
    return short.view(np.uint32).astype(float) if (short == x).all() else x


def joined(
    arcs: Edges, entered: np.ndarray, split: np.ndarray, rows: np.ndarray, owner: np.ndarray, goal: np.ndarray,
    begin: np.ndarray, out: np.ndarray, then: np.ndarray, cost: np.ndarray,
) -> tuple[np.ndarray, ...]:  # fmt: skip
    """Tails, heads, edges and costs of the arcs out of vertices that are not split, out of copies, and into goals."""
    most = len(entered) + len(rows) + int((begin[rows + 1] - begin[rows]).sum())
    ends, edge, costs = np.empty((2, most), np.int64), np.empty(most, np.int64), np.empty(most)
    made = arcs[0], entered, arcs[2], split, rows, owner, goal, begin, out, then, cost, ends, edge, costs
    count = _call("join", "lllollllllfLlf")(*made)
    return *ends[:, :count], edge[:count], costs[:count]
