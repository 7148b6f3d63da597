"""`apsp info`: this machine, and the semirings, formats and schedules."""

from __future__ import annotations

import click

from ...io.display.terminal import show_table
from .reporting import as_json, report


@click.command()
def info() -> None:
    """This machine and its versions, and the semirings, formats and schedules; --json is for reports of faults."""
    from semiring.algebra.catalog import CATALOG

    from ...io import formats
    from ...road import engines, schedules
    from .machine import describe, surroundings

    if as_json():
        found = {"machine": dict(describe()), **surroundings(), "semirings": [s.name for s in CATALOG]}
        found |= {"formats": [*formats.formats()], "engines": engines.names(), "schedules": schedules.names()}
        report(None, **found)
        return
    show_table(["machine", ""], describe())
    click.echo()
    rows = [[s.name, " ".join(s.aliases) or "-", " ".join(s.dtypes)] for s in CATALOG]
    show_table(["semiring", "aliases", "dtypes"], rows)
    click.echo()
    known = [[f.name, " ".join(f.suffixes), f.description] for f in formats.formats().values()]
    show_table(["format", "suffixes", "holds"], known)
    click.echo()
    doc = {name: schedules.get(name).description for name in schedules.names()}
    show_table(["schedule", ""], [["auto", "The one that the plan finds best."], *([k, v] for k, v in doc.items())])
