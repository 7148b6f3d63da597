"""`--json` and `--quiet` of every command: answers as text and tables, or as one JSON document."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import click

from semiring.host.spelling import came
from semiring.host.types import Fields

from ...io.display.terminal import show_table

_DOCUMENT, _QUIET = "apsp.json", "apsp.quiet"
_FLAGS = (
    (("-q", "--quiet"), _QUIET, "Answers alone: no summary, no progress."),
    (("--json",), _DOCUMENT, "Answers as one JSON document; no path is null."),
)


def flags(command: click.Command) -> None:
    """Add both flags to a command and its subcommands; an option of that name stays."""
    for spellings, key, text in _FLAGS:

        def keep(ctx: click.Context, _: click.Parameter, given: bool, key: str = key) -> None:
            if given:
                ctx.meta[key] = {}

        if not any(spellings[-1] in option.opts for option in command.params):
            command.params.append(click.Option(spellings, is_flag=True, expose_value=False, help=text, callback=keep))
    for below in getattr(command, "commands", {}).values():
        flags(below)


def quiet() -> bool:
    """Whether answers alone are wanted."""
    return _QUIET in click.get_current_context().meta


def as_json() -> bool:
    """Whether a document is wanted."""
    return _DOCUMENT in click.get_current_context().meta


def report(text: str | None, **facts: Any) -> None:
    """Print text, or keep facts for the document, the first of a name: answers come before the summary."""
    document = click.get_current_context().meta.get(_DOCUMENT)
    if document is not None:
        document.update(facts | document)
    elif text is not None:
        click.echo(text)


def report_table(headings: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[int] = ()) -> None:
    """Print a table, or keep its rows; columns on the `right` are numbers, and a path is a list."""
    if not as_json():
        cells = [[" -> ".join(map(str, x)) or "none" if isinstance(x, list) else x for x in row] for row in rows]
        show_table(headings, cells, right=right)
        return
    keys = [heading or ("value" if k else "from") for k, heading in enumerate(headings)]
    if len({*keys}) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the columns of a row in JSON must differ, got {came(twice)} twice. Leave --json out.")
    values = ([number(x) if k in right else x for k, x in enumerate(row)] for row in rows)
    report(None, rows=[dict(zip(keys, row, strict=True)) for row in values])


def number(text: str) -> Any:
    """The number that a text is, None for an infinity, or itself."""
    for kind in (int, float):
        try:
            return None if math.isinf(kind(text)) else kind(text)
        except ValueError:
            continue
    return text


def finish(meta: Fields) -> None:
    """Print the document, if one is wanted."""
    if meta.get(_DOCUMENT):
        click.echo(json.dumps(meta[_DOCUMENT], ensure_ascii=False, default=str))
