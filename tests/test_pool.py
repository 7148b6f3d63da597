"""The pool of threads: Ctrl-C at the worst moment ends the work, and the next one runs."""

from __future__ import annotations

import queue
import threading
from collections import deque

import pytest
from processes import PATIENCE, python

from semiring.kernels.cpu import pool

pytestmark = pytest.mark.busy


class Unlucky(queue.SimpleQueue):
    """Whoever waits here first gets Ctrl-C when its word has been taken and not yet returned."""

    struck = False
    waited_for = threading.Event()

    def get(self, *args, **kwargs):
        if threading.current_thread() is threading.main_thread():
            Unlucky.waited_for.set()
        word = super().get(*args, **kwargs)
        if threading.current_thread() is threading.main_thread() and not Unlucky.struck:
            Unlucky.struck = True
            raise KeyboardInterrupt
        return word


def test_ctrl_c_that_loses_a_workers_notification_does_not_hang(monkeypatch):
    monkeypatch.setattr(pool, "SimpleQueue", Unlucky)
    Unlucky.struck = False
    Unlucky.waited_for.clear()
    both = threading.Barrier(2)

    def job(worker):
        both.wait(PATIENCE)
        if worker > 0:
            Unlucky.waited_for.wait(PATIENCE)  # the caller is done, and waits

    with pytest.raises(KeyboardInterrupt):
        pool.run(job, [(), ()], 2)
    assert works()


@pytest.fixture
def dropped(monkeypatch):
    """Set when calls that have not begun are dropped."""
    event = threading.Event()

    class Calls(deque):
        def clear(self):
            super().clear()
            event.set()

    monkeypatch.setattr(pool, "deque", Calls)
    return event


def test_an_exception_drops_what_has_not_begun(dropped):
    done = []

    def job(worker, call):
        if call == 3:
            raise KeyboardInterrupt
        if call > 3:
            assert dropped.wait(PATIENCE)
        done.append(call)

    with pytest.raises(KeyboardInterrupt):
        pool.run(job, [(i,) for i in range(1000)], 3)
    assert {0, 1, 2} <= set(done) <= set(range(6))  # and what two other threads had begun
    assert works()


@pytest.mark.parametrize("slow", [0, 1])
def test_of_several_exceptions_the_first_calls_is_raised(slow):
    both, other = threading.Barrier(2), threading.Event()

    def job(worker, call):
        both.wait(PATIENCE)
        if call == slow:
            other.wait(PATIENCE)
        other.set()
        raise ValueError(call)

    with pytest.raises(ValueError, match="0"):
        pool.run(job, [(0,), (1,)], 2)
    assert works()


def test_ctrl_c_before_the_work_begins_drops_it(monkeypatch, dropped):
    """It strikes while workers are woken, which might go through all of it otherwise."""
    both, ran = threading.Barrier(2), []

    class Late(queue.SimpleQueue):
        def put(self, region):
            threading.Thread(target=region.join, daemon=True).start()
            both.wait(PATIENCE)  # a worker is running it
            raise KeyboardInterrupt

    def job(worker, call):
        if call == 0:
            both.wait(PATIENCE)
            assert dropped.wait(PATIENCE)
        ran.append(call)

    real = pool._regions
    monkeypatch.setattr(pool, "_regions", Late())
    with pytest.raises(KeyboardInterrupt):
        pool.run(job, [(i,) for i in range(1000)], 2)
    assert ran == [0]
    monkeypatch.setattr(pool, "_regions", real)
    assert works()


def test_no_more_threads_than_the_system_lets_be(monkeypatch):
    def refuse(*_, **__):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(pool, "_workers", [])
    monkeypatch.setattr(pool, "_regions", queue.SimpleQueue())
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert works()


def works() -> bool:
    """Whether the next work is done."""
    ran: list[int] = []
    pool.run(lambda worker, k: ran.append(k), [(k,) for k in range(9)], 2)
    return sorted(ran) == list(range(9))


def test_workers_end_before_the_interpreter_does():
    """One that is woken while Python takes itself down is unwound out of compiled code, which aborts."""
    code = """
import atexit, threading
@atexit.register
def check():
    print([x.name for x in threading.enumerate() if x.name.startswith("semiring")])
    ran = []
    pool.run(lambda worker, k: ran.append(k), [(k,) for k in range(9)], 4)
    print(sorted(ran))
from semiring.kernels.cpu import pool
pool.run(lambda worker, k: None, [(k,) for k in range(9)], 4)
print(sum(x.name.startswith("semiring") for x in threading.enumerate()))
"""
    assert python(code).splitlines() == ["3", "[]", str([*range(9)])]


def test_a_worker_that_does_not_end_keeps_no_process_waiting():
    code = """
import threading, time
from semiring.kernels.cpu import pool
begun = threading.Event()
def job(worker, k):
    begun.set()
    time.sleep(3600)
threading.Thread(target=pool.run, args=(job, [(0,), (1,), (2,)], 3), daemon=True).start()
begun.wait()
print("left")
"""
    assert python(code) == "left\n"
