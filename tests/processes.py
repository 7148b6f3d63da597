"""Processes in tests, and memory. A test waits for what must come, however busy the machine is, and judges then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Seconds after which what must come is given up for lost. No outcome depends on it.
PATIENCE = 900


#: A shell starts what runs in the background with SIGINT ignored, nohup SIGHUP, and all that these start inherits it.
_HEEDING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""


def start(
    code: str, *arguments: object, env: dict[str, str] | None = None, stdin: int | None = None
) -> subprocess.Popen[str]:
    """A new Python that runs the code; it finds the packages and the tests' own modules."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", _HEEDING + code, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "PYTHONFAULTHANDLER": "1", **(env or {})},  # an abort says where
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(child: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code, and what is left of its output and errors."""
    try:
        out, err = child.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        abort(child)
        raise AssertionError(f"it ran on for {PATIENCE} s:\n{child.communicate()[1]}") from None
    finally:
        child.kill()
    return child.returncode, out, err


def abort(child: subprocess.Popen[str]) -> None:
    """End a process that hangs; its errors then say where each of its threads was."""
    child.send_signal(signal.SIGABRT)


def python(code: str, *arguments: object, env: dict[str, str] | None = None) -> str:
    """What a new Python prints that runs the code without error."""
    returned, out, err = finish(start(code, *arguments, env=env))
    assert returned == 0, err
    return out


def wait_for(child: subprocess.Popen[str], word: str) -> None:
    """Until the process prints a line that is this word; what it printed before is dropped."""
    end = threading.Timer(PATIENCE, abort, (child,))
    end.start()
    try:
        for line in child.stdout or ():
            if line.strip() == word:
                return
    finally:
        end.cancel()
    raise AssertionError(f"{word!r} never came:\n{finish(child)[2]}")


@contextmanager
def holding_less_than(size: float) -> Iterator[None]:
    """Assert that the peak of memory that Python and NumPy allocate in the block is below `size` bytes."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()
