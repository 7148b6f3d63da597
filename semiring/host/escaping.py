"""Untrusted text, such as names of files and vertices, made safe for terminals and pages."""

from __future__ import annotations

import re

#: Control characters, line separators, bidirectional controls, and surrogates, which UTF-8 cannot encode.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def one_line(text: str) -> str:
    """Escape line breaks and control characters, so that a name is neither two lines nor a terminal command.

    Examples
    --------
    >>> print(one_line("Bath\\nSpa"))
    Bath\\nSpa
    """
    return _CONTROL.sub(lambda sign: sign[0].encode("unicode_escape").decode(), text)
