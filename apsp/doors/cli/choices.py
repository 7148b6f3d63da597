"""Option types: one of several names with shell completion, semirings, output files, null values."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from semiring.host.spelling import came, did_you_mean

if TYPE_CHECKING:
    from semiring.algebra.records import Semiring


def names_in(module: str, attribute: str, *more: str) -> Callable[[], list[str]]:
    """A function that imports a module lazily and returns the names in an attribute or from a function."""

    def names() -> list[str]:
        found = getattr(import_module(module), attribute)
        return [*more, *(found() if callable(found) else found)]

    return names


class OneOf(click.ParamType):
    """One of several names, looked up on use to keep `apsp --help` fast."""

    def __init__(self, name: str, names: Callable[[], list[str]]) -> None:
        self.name, self._names = name, names

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        known = self._names()
        if value not in known:
            hint = did_you_mean(value, known)
            raise ValueError(
                f"{self.name} must be one of {', '.join(known)}, got {came(value)}.{hint}"
            )  # ends in one line
        return value

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """All names, for `--help`, unless the option has a metavar."""
        return f"[{'|'.join(sorted(self._names()))}]"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in self._names() if name.startswith(incomplete)]


class Numbers(click.ParamType):
    """Numbers of at least 1, and ranges of them with both ends, separated by commas."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        try:
            found = tuple(n for part in str(value).split(",") for n in _span(*map(int, part.split(":"))))
        except (TypeError, ValueError):
            found = ()
        if not found or min(found) < 1:
            self.fail(f"must be numbers of at least 1 such as 1,2,4 or 10:1800:10, got {value!r}.", param, ctx)
        return found


def _span(first: int, last: int | None = None, step: int = 1) -> range:
    return range(first, (first if last is None else last) + 1, step)


class StoreType(click.Path):
    """A path whose suffix determines the format of an answer."""

    def __init__(self, *, folders: bool = True, **options: Any) -> None:
        super().__init__(**options)
        self.folders = folders

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        from ...io.saving import suffixes

        return f"FILE[{'|'.join(suffixes(folders=self.folders))}]"


class SemiringType(click.ParamType):
    """A catalog semiring by name or alias, or FILE.py:NAME."""

    name = "semiring"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Semiring:
        """The semiring; a Python file is executed to find it."""
        from semiring.algebra import catalog

        return catalog.load(value) if ".py" in value else catalog.get(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Names with this prefix, or else files."""
        from semiring.algebra import catalog

        found = [CompletionItem(name) for name in catalog.names() if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


class NullValueType(click.ParamType):
    """A number, or "none"."""

    name = "null_value"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str | float:
        if value == "none":
            return value
        for read in (int, float):
            try:
                return read(value)
            except ValueError:
                continue
        raise ValueError(f"--null-value must be a number, such as 0, or none, got {came(value)}.")

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in ("0", "none") if name.startswith(incomplete)]


SEMIRING = SemiringType()
NULL_VALUE = NullValueType()
ENGINE = OneOf("engine", names_in("apsp.road.engines", "names", "auto"))
REDUCTION = OneOf("reduction", names_in("apsp.answers.result.sweeps", "REDUCTIONS"))
SCHEDULE_OR_ALL = OneOf("schedule", names_in("apsp.road.schedules", "names", "all"))
SCHEDULE_OR_AUTO = OneOf("schedule", names_in("apsp.road.schedules", "names", "auto"))
FORMAT = OneOf("format", names_in("apsp.io.formats", "names"))
#: Formats that can be written.
OUTPUT_FORMAT = OneOf("format", names_in("apsp.io.formats", "written"))
