"""The command `apsp`: solve, check, reach, betweenness, flows, query, compare, generate, convert, plan, info, warm.

Also lab, of exercises. Each command imports what it needs when it runs.
"""

from __future__ import annotations

import sys

import click

from ... import __version__
from ...io.display.bars import progress
from .comparing import compare
from .exit_codes import EPILOG, Commands
from .flowing import betweenness, flows
from .generating import convert, generate
from .lab import lab
from .machine import info
from .querying import check, query
from .reaching import reach
from .reporting import flags
from .solving import plan, solve
from .warming import warm


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="apsp")
@click.pass_context
def main(ctx: click.Context) -> None:
    """All-pairs shortest paths, reachability, and other closures of graphs over semirings."""
    ctx.with_resource(progress(False))  # its own meters show what takes long
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # for labels that the terminal cannot show


for _command in (solve, check, reach, betweenness, flows, query, compare, generate, convert, plan, info, warm, lab):
    main.add_command(_command)
flags(main)
