"""Work that no signal stops half way: signals are heard when it is done, as their handlers were set."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from semiring.host.signals import undisturbed

pytestmark = [pytest.mark.busy, pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")]


@pytest.fixture(autouse=True)
def handlers():
    """Ctrl-C raises, whatever started the tests; and every handler is put back."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
    before = {number: signal.getsignal(number) for number in signals}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_what_work_returns_and_raises():
    assert undisturbed(lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        undisturbed(lambda: 1 / 0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_is_raised_when_the_work_is_done_however_often_it_strikes():
    steps = []

    def work():
        for step in range(3):
            signal.raise_signal(signal.SIGINT)
            steps.append(step)
        return "lost"

    with pytest.raises(KeyboardInterrupt):
        undisturbed(work)
    assert steps == [0, 1, 2]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_within_each_other_the_outermost_ends_first():
    order = []

    def inner():
        signal.raise_signal(signal.SIGINT)
        order.append("inner")

    def outer():
        undisturbed(inner)
        order.append("outer")

    with pytest.raises(KeyboardInterrupt):
        undisturbed(outer)
    assert order == ["inner", "outer"]


def test_other_handlers_are_heard_too_and_a_result_outlives_those_that_do_not_raise():
    received = []
    signal.signal(signal.SIGUSR1, lambda number, frame: received.append((number, frame is not None)))

    def work():
        signal.raise_signal(signal.SIGUSR1)
        assert not received
        return 5

    assert undisturbed(work) == 5
    assert received == [(signal.SIGUSR1, True)]


def test_an_error_and_ctrl_c_are_both_told():
    def work():
        signal.raise_signal(signal.SIGINT)
        return 1 / 0

    with pytest.raises(KeyboardInterrupt) as raised:
        undisturbed(work)
    assert isinstance(raised.value.__context__, ZeroDivisionError)


def test_a_handler_that_work_sets_stays():
    def theirs(*_):
        pass

    undisturbed(lambda: signal.signal(signal.SIGUSR1, theirs))
    assert signal.getsignal(signal.SIGUSR1) is theirs
    undisturbed(lambda: signal.signal(signal.SIGINT, theirs))
    assert signal.getsignal(signal.SIGINT) is theirs


def test_signals_that_are_ignored_or_end_the_process_stay_as_they_are():
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    found = undisturbed(lambda: [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR1)])
    assert found == [signal.SIG_DFL, signal.SIG_IGN]


def test_on_other_threads_nothing_is_held_back():
    found = []
    thread = threading.Thread(target=lambda: found.append(undisturbed(threading.current_thread)))
    thread.start()
    thread.join()
    assert found == [thread]
