"""A test of an exercise is ended after half a minute: a walk that goes in circles is red too. Not on Windows."""

import signal

import pytest

SECONDS = 30  # of the processor


@pytest.fixture(autouse=True)
def ended():
    def late(*_):
        raise TimeoutError(f"it is not done after {SECONDS} s")

    if not hasattr(signal, "SIGVTALRM"):
        yield
        return
    signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
