"""The pool of threads: Ctrl-C at the worst moment ends the work, and the next one runs."""

from __future__ import annotations

import queue
import threading
import time

import pytest

from semiring.cpu import pool


class Unlucky(queue.SimpleQueue):
    """Whoever waits here first gets Ctrl-C when its word has been taken and not yet returned."""

    struck = False

    def get(self, *args, **kwargs):
        word = super().get(*args, **kwargs)
        if threading.current_thread() is threading.main_thread() and not Unlucky.struck:
            Unlucky.struck = True
            raise KeyboardInterrupt
        return word


def test_ctrl_c_that_loses_a_helpers_word_does_not_hang(monkeypatch):
    monkeypatch.setattr(pool, "SimpleQueue", Unlucky)
    Unlucky.struck = False
    both = threading.Barrier(2)

    def job(worker):
        both.wait(5)
        time.sleep(0.2 * (worker > 0))  # so that the caller is the one who waits

    with pytest.raises(KeyboardInterrupt):
        pool.run(job, [(), ()], 2)
    ran = []
    pool.run(lambda worker, k: ran.append(k), [(k,) for k in range(9)], 2)
    assert sorted(ran) == list(range(9))
