"""Numbers of long texts, by a compiled loop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .signals import load

#: Bytes from which the loop is worth its compilation.
LONG = 1 << 20


@dataclass(frozen=True)
class Decimals:
    """Numbers ≥ 0 of a text, shape (lines, width): `digits` as int64, and how many `places` are behind a point."""

    digits: np.ndarray
    places: np.ndarray

    def integers(self, columns: slice | list[int]) -> np.ndarray | None:
        """Columns as int64, shape (columns, lines); None if a number has a point."""
        return None if self.places[:, columns].any() else np.ascontiguousarray(self.digits[:, columns].T)

    def column(self, index: int) -> np.ndarray:
        """A column as int64, or as float64 where a number has a point; correctly rounded (Clinger 1990, section 3)."""
        digits, places = self.digits[:, index].copy(), self.places[:, index]
        return digits / 10.0**places if places.any() else digits

    def texts(self, index: int) -> list[str]:
        """A column as it is written."""
        pairs = zip(self.digits[:, index].tolist(), self.places[:, index].tolist(), strict=True)
        return [f"{x // 10**k}.{x % 10**k:0{k}d}" if k else str(x) for x, k in pairs]


def decimals(text: bytes, separator: str, width: int, *, begin: int = 0, before: bytes = b"") -> Decimals | None:
    """The numbers of text[begin:]; None unless it is long, and its lines `before` and `width` plain decimals each.

    Fields are parted by one `separator`. Numbers have at most 18 digits, with a point at most 15, and no sign.
    """
    if len(text) - begin < LONG:
        return None
    lines = text.count(b"\n", begin) + (not text.endswith(b"\n"))
    if before and text.count(b"\n" + before, begin) + text.startswith(before, begin) != lines:
        return None
    digits, places = np.empty(lines * width, np.int64), np.empty(lines * width, np.uint8)
    kernel = load("semiring.kernels.cpu.text").decimals
    call = load("semiring.kernels.cpu.code").machine_code(kernel, None, "ciiiilc").call
    read = call(np.frombuffer(text, np.uint8), begin, len(before), ord(separator), width, digits, places)
    if read != len(digits):
        return None
    return Decimals(digits.reshape(lines, width), places.reshape(lines, width))
