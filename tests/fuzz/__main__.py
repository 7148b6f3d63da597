"""`python -m tests.fuzz`: so many seconds, hours or cases of fuzzing; or one case again."""

from __future__ import annotations

import secrets
import sys

import click

from . import ON_GPU, TARGETS, driver, worker


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), help="For so long in all.  [default: 60]")
@click.option("--hours", type=click.FloatRange(min=0, min_open=True), help="The same, in hours.")
@click.option("--cases", type=click.IntRange(min=1), help="So many cases of each target, however long they take.")
@click.option("--target", "targets", type=click.Choice(list(TARGETS)), multiple=True, help="Only these; repeatable.")
@click.option("--seed", type=click.IntRange(min=0), help="The same seed draws the same cases; random by default.")
@click.option("--case", type=click.IntRange(min=0), help="This case of the seed again, in this process.")
@click.option("--choices", help="The case of these choices, as a finding prints them, in this process.")
@click.option(
    "--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True, help="Where to compute."
)
@click.option("--patience", default=180.0, show_default=True, help="Seconds after which a silent case never ends.")
def main(
    seconds: float | None,
    hours: float | None,
    cases: int | None,
    targets: tuple[str, ...],
    seed: int | None,
    case: int | None,
    choices: str | None,
    device: str,
    patience: float,
) -> None:
    """Draw random cases, hold them to their oracles, and print what is found with a command that replays it.

    Exit code 0: nothing found; 1: something; 2: wrong usage.
    """
    targets = targets or tuple(TARGETS if device == "cpu" else ON_GPU)
    if device == "cuda" and not set(targets) <= set(ON_GPU):
        raise click.UsageError(f"--device cuda is for {', '.join(ON_GPU)}: leave out --target {_others(targets)}.")
    if case is not None or choices is not None:
        if len(targets) != 1 or (choices is None and seed is None):
            raise click.UsageError("--case needs --target and --seed, and --choices needs --target.")
        again = {"target": targets[0], "seed": seed, "case": case}
        sys.exit(_replay(again if choices is None else again | {"choices": list(map(int, choices.split(".")))}, device))
    if cases is not None and (seconds or hours):
        raise click.UsageError("Give --cases, or a time.")
    seed = secrets.randbelow(1 << 32) if seed is None else seed
    total = None if cases is not None else hours * 3600 if hours else seconds or 60.0
    click.echo(f"seed {seed}")
    found = 0
    for target in targets:
        share = None if total is None else total * TARGETS[target] / sum(TARGETS[name] for name in targets)
        for came in driver.watch(target, seed, seconds=share, cases=cases, device=device, patience=patience):
            if isinstance(came, driver.Finding):
                driver.print_finding(came, seed, device, click.echo)
                continue
            found += len(came.findings)
            often = ", ".join(f"{f.signature} × {f.count}" for f in came.findings.values())
            click.echo(f"{target:10} {came.cases:8} cases in {came.seconds:6.1f} s: {often or 'nothing found'}")
    sys.exit(1 if found else 0)


def _others(targets: tuple[str, ...]) -> str:
    return ", ".join(name for name in targets if name not in ON_GPU)


def _replay(job: dict, device: str) -> int:
    drawn = worker.chosen(job)
    found = worker.attempt(worker.load(job["target"], device), drawn)
    for name, value in drawn.notes.items():
        click.echo(f"{name} = {worker.show(value)}")
    click.echo(found["problem"].rstrip() if found else "nothing found")
    return 1 if found else 0


if __name__ == "__main__":
    main(prog_name="python -m tests.fuzz")
