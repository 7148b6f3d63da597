"""Numbers as texts write them: exact, or an error that says what they must be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from ..reading.files import Source

#: An integer as one writes it; Python turns no more than 640 digits into a number wherever it runs.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,639}")
_INFINITY = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
#: Below this float64 holds every integer, and a float is no rounded one.
EXACT = 2**53


def as_number(token: str) -> int | float | None:
    """An integer or float; None for anything else, NaN included."""
    if "_" in token or not token.isascii():
        return None
    try:
        return int(token)
    except ValueError:
        pass
    try:
        value = float(token)
    except ValueError:
        return None
    return value if value == value else None


def unmet(token: str) -> str | None:
    """What a token must be to be a float64 number that says what was written; None where it is."""
    value = as_number(token)
    if value is None:
        return "a number"
    try:
        rounded = float(value)
    except OverflowError:
        rounded = np.inf
    if np.isinf(rounded) and not _INFINITY.fullmatch(token.strip()):
        return "below 1.8e308 (64 bits hold no more; a missing edge is written inf)"
    if type(value) is int and value != int(rounded):
        return "an integer that 64 bits hold exactly beside the others (with a decimal point it is rounded)"
    return None


@dataclass(frozen=True)
class Wrong:
    """The first token, by its index, that is no number to be held, and what it must be."""

    index: int
    need: str


def numbers(tokens: Sequence[str]) -> tuple[np.ndarray, Wrong | None]:
    """Integers if all are and fit int64, else floats that hold every integer exactly; or what is wrong."""
    found = _at_once(tokens)
    if found is not None:
        return found, None
    values = [as_number(token) for token in tokens]
    for index, value in enumerate(values):
        if value is None:
            return np.zeros(0), Wrong(index, "a number")
    with suppress(OverflowError):
        if all(type(value) is int for value in values):
            return np.array(values, dtype=np.int64), None
    for index, value in enumerate(values):
        need = unmet(tokens[index]) if value is not None and not -EXACT < value < EXACT else None
        if need is not None:
            return np.zeros(0), Wrong(index, need)
    return np.array(values, dtype=np.float64), None


def _at_once(tokens: Sequence[str]) -> np.ndarray | None:
    """Numbers of which none is beyond what float64 holds exactly, all together; None where each must be looked at."""
    joined = ",".join(tokens)
    if "_" in joined or not joined.isascii():
        return None
    with suppress(ValueError, OverflowError):
        return np.array(list(map(int, tokens)), dtype=np.int64)
    try:
        floats = np.array(list(map(float, tokens)))
    except ValueError:
        return None
    return floats if bool((np.abs(floats) < EXACT).all()) else None


def integral(names: Iterable[str]) -> bool:
    """Whether all names are integers as one writes them."""
    return all(map(_INTEGER.fullmatch, names))


def count(source: Source, token: bytes, line: int) -> int:
    """A number of vertices, edges or entries that a header tells."""
    digits = token.lstrip(b"0")
    if len(digits) > 15:
        raise source.error(f"a count must have at most 15 digits, got {show(token)}.", line)
    return int(digits or b"0")


def fits(token: bytes) -> bool:
    """Whether an integer is one of int64; one of thousands of digits is not even looked at."""
    digits = token.lstrip(b"+-0")
    return len(digits) <= 19 and int(digits or b"0") <= np.iinfo(np.int64).max


def show(text: bytes | str, limit: int = 60) -> str:
    """A piece of a file for a message: on one line, not too long."""
    plain = text.decode("latin-1") if isinstance(text, bytes) else text
    plain = " ".join(plain.split())
    return repr(plain if len(plain) <= limit else plain[: limit - 1] + "…")
