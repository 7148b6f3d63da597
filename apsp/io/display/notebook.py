"""Tables of text, and HTML for notebooks: a caption, and the first numbers of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from semiring.host.escaping import one_line

#: Maximum rows and columns.
SHOWN = 10


def aligned(lines: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Lines of cells in columns, those on the `right` of their width."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            c.rjust(w) if k in right else c.ljust(w) for k, (c, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def table(caption: str, headings: Sequence[object] = (), rows: Sequence[Sequence[object]] = (), note: str = "") -> str:
    """An HTML table; the first cell of each row is its heading."""
    cells = ["".join(f"<th>{_text(cell)}</th>" for cell in headings)] if headings else []
    cells += [f"<th>{_text(row[0])}</th>" + "".join(f"<td>{_text(cell)}</td>" for cell in row[1:]) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in cells)
    below = f"<p>{_text(note)}</p>" if note else ""
    return f"<p>{_text(caption)}</p><table>{body}</table>{below}"


def lines(text: str) -> str:
    return "<pre>" + "\n".join(map(_text, text.split("\n"))) + "</pre>"


def _text(part: object) -> str:
    return escape(one_line(str(part)))
