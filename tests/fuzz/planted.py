"""No target: faults planted on purpose, by which tests/test_fuzz.py sees that a fuzzer would find them."""

from __future__ import annotations

import os
import signal
import time

from .draw import Draw
from .limits import MIB, within

#: What goes wrong, by the case's first choice; nothing in most.
FAULTS = ("nothing", "nothing", "wrong", "memory", "dies", "no end")


def case(draw: Draw) -> None:
    """Goes wrong in one way or not at all; beside it are choices that do not matter."""
    fault = draw.pick(FAULTS)
    sizes = [draw.below(100) for _ in range(draw.below(5))]
    draw.note(fault=fault, sizes=sizes)
    if fault == "wrong":
        raise ValueError(f"planted, at {sizes}")
    if fault == "dies":
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == "no end":
        time.sleep(3600)
    if fault == "memory":
        with within(seconds=60, memory=64 * MIB):
            bytearray(os.urandom(1 << 20) * 200)
