"""Tuning data, one file per architecture: `cards/sm_90.json` and its like. A new card is one file.

A file has sections, and a section tables by name. A missing table is taken from the nearest architecture that has it,
so that files hold only measured differences.

| section   | content                                                            | read by                 |
|-----------|--------------------------------------------------------------------|-------------------------|
| products  | tiles of products, the best large one first                        | `tiles.table`           |
| witnesses | tiles of products with witnesses                                   | `tiles.witnesses`       |
| pivots    | rows and columns a thread, blocks a multiprocessor: for one, many  | `sources.pivots`        |
| streaming | sizes of closures in one launch, with tiles loaded and stored      | `cooperative.streaming` |
| batched   | the same for one thread block per matrix                           | `cooperative.batched`   |
| resident  | the same with tiles in registers                                   | `cooperative.resident`  |
| searches  | sizes of the weighted search kernel, by bytes of an entry          | `searches.Shape.of`     |
| sweeps    | sizes of sparse elimination kernels, by bytes of an entry          | `sweep.Shape.of`        |
| limits    | sizes from which another algorithm is faster                       | `limits`                |
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


def lookup(section: str, names: Iterable[str], arch: str) -> Any:
    """Table of the first of `names` that exists, from the nearest architecture that has it; LookupError if none."""
    names = tuple(names)
    for name in names:
        for card in sorted(_cards(), key=lambda other: _distance(other, arch)):
            tables = _cards()[card].get(section, {})
            if name in tables:
                return tables[name]
    raise LookupError(
        f"semiring/kernels/cuda/cards: {section} must have a table for one of {', '.join(names)}, got none"
    )


@dataclass(frozen=True)
class Limits:
    """Sizes from which another algorithm is faster on a card.

    one_launch : vertices up to which a closure takes one launch: a recursion's products are too small
    packed : the same for packed bits, whose closure updates the entire matrix after every 256 pivots
    one_block : rows up to which matrices of a batch take one thread block each
    crowd : upper bound on their number: beyond, thread blocks wait for their own pivots
    together : least number of larger matrices that are closed by common launches
    resident : most tiles per multiprocessor for a matrix in registers; beyond, smaller streamed tiles are faster
    pairs : most pairs per launch, about half a second: a launch cannot be interrupted
    strip, strip_pairs : columns per 16-byte aligned copy of an operand, and least pairs for which copying pays
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
    return Limits(**lookup("limits", ("closures",), arch), **lookup("limits", ("products",), arch))


def number(arch: str) -> int:
    """90 for "sm_90" and for "sm_90a"."""
    return int("".join(c for c in arch if c.isdigit()))


def _distance(one: str, other: str) -> tuple[int, int]:
    """Sort key: distance between architectures, ties to the older, whose tiles fit anywhere newer."""
    return abs(number(one) - number(other)), number(one)


@cache
def _cards() -> dict[str, dict[str, Any]]:
    files = resources.files(__package__).joinpath("cards").iterdir()
    return {
        file.name.removesuffix(".json"): json.loads(file.read_text(encoding="utf-8"))
        for file in files
        if file.name.endswith(".json")
    }
