"""Values and names in messages: abbreviation, and suggestions of known names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from reprlib import Repr
from typing import Any

#: Most characters of a value, and of a message.
_VALUE, _MESSAGE = 200, 2000
_ABBREVIATED = Repr()
_ABBREVIATED.maxother = _VALUE
_ABBREVIATED.maxstring = 60


def came(value: Any) -> str:
    """`repr` of a value for an error, on one line, abbreviated if long.

    Examples
    --------
    >>> came("A"), came([("A", "B", k) for k in range(10**5)])
    ("'A'", "[('A', 'B', 0), ('A', 'B', 1), ('A', 'B', 2), ('A', 'B', 3), ('A', 'B', 4), ('A', 'B', 5), ...]")
    """
    if type(value).__module__ == "numpy" and not getattr(value, "shape", True) and value.dtype.kind not in "mM":
        value = value.item()  # a number without its unit says little
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else f"{value[:59]}…")
    try:
        text = _ABBREVIATED.repr(value)
    except Exception:  # an integer of too many digits; a class whose repr fails
        text = f"<{type(value).__name__}>"
    return shortened(" ".join(text.split()) if "\n" in text else text, _VALUE)


def shortened(text: str, most: int = _MESSAGE) -> str:
    """Text cut to `most` characters: beginning and end."""
    return text if len(text) <= most else f"{text[: most // 2]} … {text[len(text) - most // 2 + 3 :]}"


def did_you_mean(came: object, known: Iterable[str]) -> str:
    """Sentence suggesting known names similar to an unknown one; "" if none is.

    Examples
    --------
    >>> did_you_mean("min-plus", ["min_plus", "max_plus", "boolean"])
    " Did you mean 'min_plus' or 'max_plus'?"
    >>> did_you_mean("roof", ["min_plus"])
    ''
    """
    names, text = {name.casefold(): name for name in known}, came if isinstance(came, str) and len(came) <= 60 else ""
    close = [names[word] for word in get_close_matches(text.casefold(), names)]
    return f" Did you mean {' or '.join(map(repr, close))}?" if close else ""


def refuse_texts(where: str, **truths: object) -> None:
    """ValueError for a text where True or False is needed, as "no" would count as True."""
    for name, value in truths.items():
        if isinstance(value, str):
            raise ValueError(f"{where}: {name} must be True or False, got {came(value)}.")


class Named:
    """Context manager: errors raised by operations `inner` are reported under `name`, the caller's operation."""

    def __init__(self, name: str, *inner: str) -> None:
        self.name, self.inner = name, tuple(f"{each}:" for each in inner)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and error.args and str(error.args[0]).startswith(self.inner):
            error.args = (f"{self.name}:{error.args[0].partition(':')[2]}", *error.args[1:])
