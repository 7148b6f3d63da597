"""What benchmarks share: the way to packages and tests, arguments, where they run, clocks and peaks of memory."""

from __future__ import annotations

import argparse
import datetime
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parents[1]
#: The exit code of a benchmark that cannot run here, as tests that are left out have in other tools.
UNAVAILABLE = 77
_quick = False
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]  # tests/cases.py has what is timed, and how it is checked


def arguments(doc: str | None, *, quick: bool = True) -> argparse.ArgumentParser:
    """A parser that shows a benchmark's docstring; with --quick for those that have smaller sizes."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    if quick:
        parser.add_argument(
            "--quick", action="store_true", help="a few of the smallest cases, once: that it runs, in seconds"
        )
    return parser


def begin(parser: argparse.ArgumentParser, *, gpu: bool = False) -> argparse.Namespace:
    """What was asked for, after a line that says where and when this runs, and by which command.

    Ends the program where it needs a GPU and there is none.
    """
    global _quick
    args = parser.parse_args()
    _quick = getattr(args, "quick", False)
    if gpu:
        from semiring.kernels.backend import cuda_available

        if not cuda_available():
            missing("an NVIDIA GPU and CuPy")
    known = facts()
    shown = ("processor", "threads", "Python", "NumPy", "numba", "SciPy", "date", "command")
    shown = shown if known["GPU"].startswith("none") else ("GPU", "driver", "CuPy", *shown)
    print("; ".join(f"{key} {known[key]}" for key in shown), flush=True)
    return args


def quick() -> bool:
    """Whether small cases are enough."""
    return _quick


def missing(what: str) -> NoReturn:
    """End the program, which needs what is not here."""
    print(f"this benchmark must have {what}, found none. `python -m benchmarks` lists all.", file=sys.stderr)
    raise SystemExit(UNAVAILABLE)


def facts() -> dict[str, str]:
    """Machine, versions, date and command of this run: what a figure is published with."""
    from apsp.doors.cli import machine

    return {
        **dict(machine.describe()),
        "driver": driver(),
        "date": datetime.date.today().isoformat(),
        "command": shlex.join(["python", *sys.argv]),
    }


def driver() -> str:
    """The version of NVIDIA's driver, from its entry under /proc."""
    try:
        line = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8").splitlines()[0]
    except OSError:
        return "none"
    return next((word for word in line.split() if word[0].isdigit() and "." in word), "unknown")


def best(
    run: Callable[[], Any],
    repeats: int = 3,
    *,
    clock: Callable[[], float] = time.perf_counter,
    before: Callable[[], object] = lambda: None,
    seconds: float = 0.0,
) -> float:
    """The least seconds of a run, of at least `repeats` runs and until they have taken `seconds`.

    Neither `before` is timed, nor what it takes to free what a run returned. With --quick, one run is enough.
    """
    repeats, seconds = (1, 0.0) if _quick else (repeats, seconds)
    times: list[float] = []
    while len(times) < repeats or sum(times) < seconds:
        before()
        start = clock()
        found = run()
        times.append(clock() - start)
        del found
    return min(times)


def process(code: str, *args: object, **environment: str) -> str:
    """What Python prints for some code in a process of its own, which finds what this one does; ends on its errors."""
    found = os.pathsep.join([str(ROOT), str(ROOT / "benchmarks"), os.environ.get("PYTHONPATH", "")])
    run = [sys.executable, "-c", code, *map(str, args)]
    environment = {**os.environ, "PYTHONPATH": found, **environment}
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def resident(line: str = "VmRSS") -> int:
    """Bytes of this process in memory, or with VmHWM at most so far; Linux."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * int(status.split(f"{line}:")[1].split()[0])


def peak(run: Callable[[], Any]) -> tuple[int, int]:
    """Bytes of this process in memory before a run, and at most during it; Linux."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak begins here
    before = resident()
    run()
    return before, resident("VmHWM")
