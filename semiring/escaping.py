"""Text that others chose, such as the names of files and vertices, as a terminal or a page may show it."""

from __future__ import annotations

import re

#: Control characters, line separators, what turns the direction of text around, and surrogates, which UTF-8 has not.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def one_line(text: str) -> str:
    """The text with its line breaks and other control characters escaped: a name is not two, nor a terminal's command.

    Examples
    --------
    >>> print(one_line("Bath\\nSpa"))
    Bath\\nSpa
    """
    return _CONTROL.sub(lambda sign: sign[0].encode("unicode_escape").decode(), text)
