"""A test of an exercise is ended after half a minute: a walk that goes in circles is red too. Not on Windows."""

import signal
from pathlib import Path

import pytest

SECONDS = 30  # of the processor, for the tests of a part that do not end


class Late(BaseException):
    """The time limit's exception in the exercise's frame; a BaseException, which its `except Exception` lets pass."""


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    if not hasattr(signal, "SIGVTALRM"):
        return (yield)
    at, folder, ended = "", pyfuncitem.path.parent, pyfuncitem.config.stash.setdefault(ENDED, set())
    seconds = 1 if folder in ended else SECONDS  # half a minute a part, not a test

    def late(_, frame):
        nonlocal at
        while frame and (Path(frame.f_code.co_filename).parent != folder or frame.f_lineno is None):
            frame = frame.f_back
        at = f", at line {frame.f_lineno} of {Path(frame.f_code.co_filename).name}" if frame else ""
        raise Late

    signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        return (yield)
    except Late:
        ended.add(folder)
        return pytest.fail(f"It is not done after {seconds} s{at}", pytrace=False)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


ENDED = pytest.StashKey[set[Path]]()
