"""What a name that nobody knows was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(came: object, known: Iterable[str]) -> str:
    """A sentence for the end of an error, with the known names that look like the one that came; "" where none does.

    Examples
    --------
    >>> did_you_mean("min-plus", ["min_plus", "max_plus", "boolean"])
    " Did you mean 'min_plus' or 'max_plus'?"
    >>> did_you_mean("roof", ["min_plus"])
    ''
    """
    names, text = list(known), str(came)
    found = (get_close_matches(word, names) for word in dict.fromkeys((text, text.casefold())))
    close = next(filter(None, found), [])
    return f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
