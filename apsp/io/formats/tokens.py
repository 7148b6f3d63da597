"""Numbers in text: exact, or an error that states the requirement."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from ..reading.files import Source

#: A canonical integer; Python guarantees conversion up to 640 digits.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,639}")
_INFINITY = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
#: A duration in the notation of timetables (hours beyond 24) and pandas.
_DURATION = re.compile(r"(?:([+-]?[0-9]{1,9}) days? \+?)?(-?)([0-9]{1,9}):([0-5][0-9]):([0-5][0-9](?:\.[0-9]{1,9})?)")
#: Below this all integers are exact in float64.
EXACT = 2**53
#: Text of numbers that float64 may round to 0: a three-digit exponent, or very many zeros.
_TINY = re.compile(rb"[eE]-0*[1-9][0-9]{2}|0{99}")
#: Integers that stand for infinities in a matrix.
_ENDS = np.iinfo(np.int64)


def as_number(token: str) -> int | float | None:
    """An int or float; None for anything else, also NaN."""
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
    """The requirement that a token fails as an exact float64 number, or None."""
    value = as_number(token)
    if value is None:
        return "a number"
    try:
        rounded = float(value)
    except OverflowError:
        rounded = np.inf
    if np.isinf(rounded) and not _INFINITY.fullmatch(token.strip()):
        return "below 1.8e308 (64 bits hold no more; a missing edge is written inf)"
    if not rounded and re.search("[1-9]", re.split("[eE]", token)[0]):
        return "at least 5e-324 in size, or 0 (64 bits hold nothing between)"
    if value in (_ENDS.min, _ENDS.max) and type(value) is int:
        return "between the ends of 64 bits, which stand for infinities (a missing edge is written inf)"
    if type(value) is int and value != int(rounded):
        return "an integer that 64 bits hold exactly beside the others (with a decimal point it is rounded)"
    return None


def held(text: str) -> float:
    """A decimal of JSON; ValueError where float64 holds nothing near."""
    value = float(text)
    if (not value or np.isinf(value)) and (need := unmet(text)):
        raise ValueError(f"the number {text}, which must be {need}")
    return value


@dataclass(frozen=True)
class Wrong:
    """Index and requirement of the first invalid token."""

    index: int
    need: str


def numbers(tokens: Sequence[str]) -> tuple[np.ndarray, Wrong | None]:
    """int64 if all fit, else float64 exact in every integer; or the first invalid token."""
    joined = ",".join(tokens)
    found = _at_once(tokens, joined)
    if found is None:
        return np.zeros(0), Wrong(next(k for k, token in enumerate(tokens) if as_number(token) is None), "a number")
    for index in suspects(found, joined.encode()).tolist():
        need = unmet(tokens[index])
        if need is not None:
            return found, Wrong(index, need)
    return found, None


def entries(tokens: Sequence[str]) -> tuple[np.ndarray, Wrong | None]:
    """`numbers`, also with decimal commas unless all may count thousands, as 1,234; or truth values.

    Integers that float64 may round stay exact beside infinities, for which the ends of int64 stand.
    """
    if tokens and tokens[0] in ("True", "False") and {*tokens} <= {"True", "False"}:
        return np.array([token == "True" for token in tokens]), None
    found, wrong = numbers(tokens)
    if wrong is not None and wrong.need != "a number":
        with suppress(ValueError, OverflowError):
            return np.fromiter(map(_whole, tokens), np.int64, len(tokens)), None
    commas = [] if wrong is None else [k for k, token in enumerate(tokens) if "," in token]
    if commas and all(re.fullmatch(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}", tokens[k]) for k in commas):
        need = "a number whose comma is clear, as pandas.read_csv(…, decimal=',') or thousands=',' makes it"
        return found, Wrong(commas[0], need)
    return numbers([token.replace(".", "_").replace(",", ".") for token in tokens]) if commas else (found, wrong)


def _whole(token: str) -> int:
    """An integer, or the end of 64 bits that stands for an infinity; ValueError for another token."""
    if _INFINITY.fullmatch(token):
        return _ENDS.min if token[0] == "-" else _ENDS.max
    if abs(int(token)) >= _ENDS.max:
        raise ValueError
    return int(token)


def separator(line: str) -> str:
    """The most frequent of comma, semicolon and tab; beside the others, commas between digits are decimal."""
    bare = re.sub("(?<=[0-9]),(?=[0-9])", "", line) if re.search("[;\t]", line) else line
    return max(",;\t", key=bare.count)


def _at_once(tokens: Sequence[str], joined: str) -> np.ndarray | None:
    """All tokens as numbers, perhaps inexact; None if one is not."""
    if "_" in joined or not joined.isascii():
        return None
    with suppress(ValueError, OverflowError):
        return np.fromiter(map(int, tokens), np.int64, len(tokens))
    with suppress(ValueError):
        return np.fromiter(map(float, tokens), np.float64, len(tokens))
    return None


def seconds(tokens: Sequence[str]) -> np.ndarray | None:
    """Durations hh:mm:ss in seconds, int64 if integral; None if one is not."""
    parts = [_DURATION.fullmatch(token.strip()) for token in tokens]
    if not parts or not all(parts):
        return None
    found = np.array([_length(*part.groups()) for part in parts if part])
    integral = np.rint(found) == found
    return found.astype(np.int64) if integral.all() else found


def _length(days: str | None, minus: str, hours: str, minutes: str, rest: str) -> float:
    clock = 3600 * int(hours) + 60 * int(minutes) + float(rest)
    return 86400 * int(days or 0) + (-clock if minus else clock)


def suspects(found: np.ndarray, text: bytes) -> np.ndarray:
    """Indices of numbers that may be inexact, for `unmet`."""
    if found.dtype.kind == "i":
        return np.flatnonzero((found == _ENDS.min) | (found == _ENDS.max))
    wrong, zero = ~(np.abs(found) < EXACT), found == 0
    # `in` takes a twentieth of the regex's time, and excludes most texts.
    if zero.any() and any(sign in text for sign in (b"e-", b"E-", b"0" * 99)) and _TINY.search(text):
        wrong |= zero
    return np.flatnonzero(wrong)


def is_vertex(text: str, *, fractions: bool) -> bool:
    """Whether a numeral can be a vertex: integers; finite fractions below a header."""
    value = float(text)
    return integral([text]) or (math.isfinite(value) and (fractions or value.is_integer()))


#: ASCII bytes that `str.split` takes for blanks.
BLANK = np.zeros(256, dtype=bool)
BLANK[[*range(9, 14), *range(28, 33)]] = True


def between_blanks(data: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Starts and stops of fields (rows, width), and line numbers from 1; None if widths differ. Ends in a line end."""
    blank = BLANK[data]
    before = np.concatenate(([True], blank[:-1]))
    begins, stops = np.flatnonzero(~blank & before), np.flatnonzero(blank & ~before)
    fields = np.diff(np.searchsorted(begins, np.flatnonzero(data == ord("\n"))), prepend=0)
    lines = np.flatnonzero(fields)
    width = int(fields[lines[0]]) if len(lines) else 1
    if (fields[lines] != width).any():
        return None
    return begins.reshape(-1, width), stops.reshape(-1, width), lines + 1


def digits(data: np.ndarray, begins: np.ndarray, stops: np.ndarray) -> np.ndarray | None:
    """Decimal fields data[begins[k]:stops[k]] as int64; None unless all are canonical and of at most 18 digits."""
    lengths = stops - begins
    if not len(lengths) or lengths.min() < 1 or lengths.max() > 18 or ((data[begins] == 48) & (lengths > 1)).any():
        return None
    values = np.zeros(len(lengths), np.int64)
    for k in range(int(lengths.max())):  # the last digit first
        there = slice(None) if k < lengths.min() else np.flatnonzero(lengths > k)
        digit = data[stops[there] - 1 - k] - np.uint8(48)
        if digit.max() > 9:
            return None
        values[there] += digit.astype(np.int64) * 10**k
    return values


def integral(names: Iterable[str]) -> bool:
    """Whether all names are canonical integers."""
    return all(map(_INTEGER.fullmatch, names))


def counts(source: Source, header: bytes, what: str, shape: str, line: int) -> list[int]:
    """The numbers in a header of this `shape`, in which p and sp are literal."""
    words, tokens = shape.split(), header.split()
    pairs = [(token, word in ("p", "sp"), word.encode()) for token, word in zip(tokens, words, strict=False)]
    if len(tokens) != len(words) or not all(t == word if literal else t.isdigit() for t, literal, word in pairs):
        raise source.error(f"{what} must be `{shape}`, got {show(header)}.", line)
    found = [token.lstrip(b"0") or b"0" for token, literal, _ in pairs if not literal]
    for digits in found:
        if len(digits) > 15:
            raise source.error(f"a count must have at most 15 digits, got {show(digits)}.", line)
    return list(map(int, found))


def fits(token: bytes) -> bool:
    """Whether an integer fits int64, without converting thousands of digits."""
    digits = token.lstrip(b"+-0")
    return len(digits) <= 19 and int(digits or b"0") <= np.iinfo(np.int64).max


def show(text: bytes | str, limit: int = 60) -> str:
    """An excerpt of a file for a message: one line, shortened."""
    plain = text.decode("latin-1") if isinstance(text, bytes) else text
    plain = " ".join(plain.split())
    return repr(plain if len(plain) <= limit else plain[: limit - 1] + "…")
