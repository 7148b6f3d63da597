"""Bounds on what a call may take: processor time, and memory at its peak."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MIB = 1 << 20


@contextmanager
def within(*, seconds: float, memory: int) -> Iterator[None]:
    """Fail if the block takes more processor time, or raises the resident set by more bytes at its peak.

    Processor time, so that a busy machine makes no finding. Where the system does not tell memory, it is not judged.
    """
    before, start = _begin(), time.process_time()
    yield
    took, grown = time.process_time() - start, _peak() - before
    assert took <= seconds, f"took {took:.1f} s of processor time, more than {seconds:g}"
    assert before < 0 or grown <= memory, f"held {grown / MIB:.0f} MiB more at its peak, allowed {memory / MIB:.0f}"


def cap_memory(gib: int) -> None:
    """No more address space than so much beyond what is held now: a finding must not take the machine down."""
    with suppress(OSError, ValueError):
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + (gib << 30), resource.RLIM_INFINITY))


def _begin() -> int:
    """Forget the peak so far; the resident set now, or −1 where that cannot be had."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return -1
    return _peak()


def _peak() -> int:
    with suppress(OSError), open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return -1
