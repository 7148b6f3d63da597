"""`python -m tests.mutants`: are the mutants of the table noticed?"""

from __future__ import annotations

import sys
from collections import Counter
from time import monotonic

import click

from semiring.kernels.cpu.processors import default_threads

from . import LEAST, campaign, table


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", multiple=True, metavar="NAME", help="Mutants whose area or name contains this; repeatable.")
@click.option("--jobs", type=click.IntRange(min=1), help="Mutants tried at once.  [default: one a processor]")
@click.option("--patience", default=300.0, show_default=True, help="Seconds after which tests that do not end noticed.")
def main(only: tuple[str, ...], jobs: int | None, patience: float) -> None:
    """Try the mutants of the table, and print which of them their tests notice.

    Exit code 0: at least 95 % of them; 1: fewer, or the table is not up to date; 2: wrong usage, or tests that fail
    without any mutant.
    """
    areas, began = table(), monotonic()
    chosen = [
        m
        for area, mutants in areas.items()
        for m in mutants
        if not only or any(word in f"{area}/{m.name}" for word in only)
    ]
    if not chosen:
        raise click.UsageError(f"no mutant has {' or '.join(only)} in its name.")
    for m in chosen:
        if m.equivalent:
            click.echo(f"left out       {m.name}: {m.equivalent}")
    verdicts: Counter[str] = Counter()
    try:
        for found in campaign.run(chosen, jobs=jobs or default_threads(), patience=patience):
            verdicts[found.verdict] += 1
            click.echo(f"{found.verdict:14} {found.seconds:5.0f} s  {found.mutant.name}: {found.detail.rstrip()}")
    except campaign.Red as error:
        click.echo(error, err=True)
        sys.exit(2)
    noticed, tried = verdicts["noticed"], verdicts.total()
    click.echo(f"{noticed} of {tried} noticed, in {(monotonic() - began) / 60:.0f} minutes")
    sys.exit(0 if set(verdicts) <= {"noticed", "SURVIVED"} and noticed >= LEAST * tried else 1)


if __name__ == "__main__":
    main(prog_name="python -m tests.mutants")
