"""Tuning data, one file an architecture: `cards/sm_90.json` and its like. A new card is one file.

A file has sections, and a section tables by name. What a file lacks is taken from the nearest architecture that has it,
so that a file holds only what was measured to be different.

| section   | what                                                               | read by                 |
|-----------|--------------------------------------------------------------------|-------------------------|
| products  | tiles of products, the best large one first                        | `tiles.table`           |
| witnesses | the same of products with their witnesses                          | `tiles.witnesses`       |
| pivots    | rows and columns a thread, blocks a multiprocessor: for one, many  | `sources.pivots`        |
| streaming | sizes of closures in one launch, whose tiles are loaded and stored | `cooperative.streaming` |
| batched   | the same for a thread block a matrix                               | `cooperative.batched`   |
| resident  | the same where tiles stay in registers                             | `cooperative.resident`  |
| searches  | sizes of weighted searches' kernel, by bytes of an entry            | `searches.Shape.of`     |
| sweeps    | sizes of sparse eliminations' kernels, by bytes of an entry        | `sweep.Shape.of`        |
| limits    | from which sizes on another way to compute is faster               | `limits`                |
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


def lookup(section: str, names: Iterable[str], arch: str) -> Any:
    """The table of the first of several names, from the nearest architecture that has one of that name.

    Raises
    ------
    LookupError
        If no architecture has any.
    """
    names = tuple(names)
    for name in names:
        for card in sorted(_cards(), key=lambda other: _distance(other, arch)):
            tables = _cards()[card].get(section, {})
            if name in tables:
                return tables[name]
    raise LookupError(f"semiring/cuda/cards: {section} must have a table for one of {', '.join(names)}, got none")


@dataclass(frozen=True)
class Limits:
    """From which sizes on another way to compute is faster on a card.

    Attributes
    ----------
    one_launch : int
        A closure of up to so many vertices is fastest in one launch: the products of a recursion below are too small.
    packed : int
        The same for packed bits, whose closure updates the entire matrix after every 256 pivots up to there.
    one_block : int
        Matrices of a batch are closed by a thread block each up to so many rows.
    crowd : int
        Fewer than so many of them: of more, each thread block would wait for its own pivots.
    together : int
        Larger ones are closed by the same launches for all, from so many matrices on.
    resident : float
        A matrix stays in registers if its tiles are so many for each multiprocessor; else smaller tiles, loaded and
        stored for each pivot block, are faster.
    pairs : int
        What one launch may work on, about half a second's worth: nothing stops a launch.
    strip, strip_pairs : int
        Packed words are read from rows at multiples of 16 bytes. Copying an operand there, so many columns at a time,
        pays from so many pairs on.
    """

    one_launch: int
    packed: int
    one_block: int
    crowd: int
    together: int
    resident: float
    pairs: int
    strip: int
    strip_pairs: int


@cache
def limits(arch: str) -> Limits:
    """Those of the nearest architecture that has them."""
    return Limits(**lookup("limits", ("closures",), arch), **lookup("limits", ("products",), arch))


def number(arch: str) -> int:
    """90 for "sm_90" and for "sm_90a"."""
    return int("".join(c for c in arch if c.isdigit()))


def _distance(one: str, other: str) -> tuple[int, int]:
    """How far one architecture is from another; of two as near, the older, whose tiles fit anywhere newer."""
    return abs(number(one) - number(other)), number(one)


@cache
def _cards() -> dict[str, dict[str, Any]]:
    files = resources.files(__package__).joinpath("cards").iterdir()
    return {
        file.name.removesuffix(".json"): json.loads(file.read_text(encoding="utf-8"))
        for file in files
        if file.name.endswith(".json")
    }
