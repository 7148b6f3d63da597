"""What a notebook shows of an answer: a line that says what it is, and the first of its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

#: So many rows and columns are shown.
SHOWN = 10


def table(caption: str, headings: Sequence[object] = (), rows: Sequence[Sequence[object]] = (), note: str = "") -> str:
    """An HTML table. The first cell of each row names it."""
    cells = ["".join(f"<th>{escape(str(cell))}</th>" for cell in headings)] if headings else []
    cells += [
        f"<th>{escape(str(row[0]))}</th>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row[1:]) for row in rows
    ]
    body = "".join(f"<tr>{line}</tr>" for line in cells)
    below = f"<p>{escape(note)}</p>" if note else ""
    return f"<p>{escape(caption)}</p><table>{body}</table>{below}"


def lines(text: str) -> str:
    """Text whose lines and blanks count."""
    return f"<pre>{escape(text)}</pre>"
