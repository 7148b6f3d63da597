"""Numbers of a text's lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from .compile import kernel
from .instructions import Array


@kernel
def decimals(text: Array, begin: int, before: int, separator: int, width: int, digits: Array, places: Array) -> int:
    """digits[k] ← the digits of the k-th field of text[begin:], `width` to a line; places[k] ← those behind a point.

    The first `before` bytes of a line are passed over, and fields parted by one `separator`. Returns the number of
    fields; −1 if one is not as one writes a decimal ≥ 0, has over 18 digits, or with a point over 15. Lines end in
    line feeds, the last one perhaps in none.
    """
    at, count, size = begin, 0, len(text)
    while at < size:
        at += before
        for field in range(width):
            value, point, behind, first = 0, -1, 0, at
            while at < size:
                digit: Any = np.int64(text[np.uint64(at)]) - 48
                if digit < 0 or digit > 9:
                    if digit != -2 or point >= 0:
                        break
                    point = at
                else:
                    value = 10 * value + digit
                at += 1
            length = at - first
            if point >= 0:
                behind = at - point - 1
                length = point - first
                if behind < 1 or length + behind > 15:
                    return -1
            if length < 1 or length > 18 or count >= len(digits):
                return -1
            if length > 1 and text[np.uint64(first)] == 48:
                return -1
            end = np.int64(text[np.uint64(at)]) if at < size else np.int64(10)
            if end != (separator if field + 1 < width else 10):
                return -1
            digits[np.uint64(count)], places[np.uint64(count)] = value, behind
            count += 1
            at += 1
    return count
