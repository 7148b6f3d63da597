"""`apsp lab`: kernels of one's own, run on the processor."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from semiring.host.types import Fields

from . import graphs
from .choices import Numbers
from .options import READING, SOURCE, combined, reading, refuse_given, semiring
from .reporting import report

#: Vertices fewer in a second run, so that one of both numbers is odd.
ODD = 3


@click.group()
def lab() -> None:
    """Exercises of a course: kernels that you write."""


@lab.command("run")
@click.argument("kernel", type=click.Path(exists=True, dir_okay=False))
@click.option("--graph", "file", type=SOURCE, help="The file of a graph; a random one by default.")
@click.option("--vertices", type=click.IntRange(0, 4096), default=64, show_default=True, help="Of the random graph.")
@combined(reading, semiring)
@click.option("--threads-per-block", type=Numbers(), metavar="N,N,…", help="Values of the macro THREADS, one by one.")
@click.option("--define", multiple=True, metavar="NAME=VALUE", help="A macro, such as THREADS=256; may be repeated.")
@click.option("--measure", type=int, metavar="N", help="Time N vertices on a card, too; needs nvcc.")
@click.option("--limit", type=float, default=60.0, show_default=True, help="Seconds after which it is ended.")
def lab_run(
    kernel: str,
    file: str | None,
    vertices: int,
    threads_per_block: tuple[int, ...] | None,
    define: tuple[str, ...],
    **options: Any,
) -> bool:
    """Is the KERNEL, a file of CUDA C++ with a function `closure`, right? Counts what it asks of memory. No GPU needed.

    The file defines void closure(float* D, int n) or void closure(float* D, int n, int pitch), which launches its
    kernels. It runs with your rights: read what you did not write. Exit code 1 if the table is wrong.
    """
    from ...comparison.emulation import emulate
    from ...generate import random_graph

    if file is None:
        refuse_given(READING, "a random graph is not read, so --graph must be given")
    else:
        refuse_given(("vertices",), "a graph that is read has its own")
    given = {name: options.pop(name) for name in READING}
    graph = random_graph(vertices, 20, seed=0) if file is None else graphs.read(file, given)
    macros = dict(text.partition("=")[::2] for text in define)
    widths: list[Fields] = [{"THREADS": count} for count in threads_per_block or ()] or [{}]
    found = [emulate(kernel, graph, define=macros | width, **options) for width in widths]
    if file is None and vertices > ODD and all(found):
        # No width of a block divides it: threads beyond the matrix do nothing, or do harm.
        options |= {"define": macros | widths[-1], "measure": None}
        other = emulate(kernel, random_graph(vertices - ODD, 20, seed=0), **options)
        found += [other] if not other or (other.run.hazards and not found[-1].run.hazards) else []
    shown = ("words", "sectors", "measured")
    runs = [{**asdict(run.run), "right": bool(run), **{name: getattr(run, name) for name in shown}} for run in found]
    for run in runs:
        del run["matrix"]
    report("\n\n".join(map(str, found)), right=all(found), runs=runs)
    return all(found)
