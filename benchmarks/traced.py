"""Of distributed.py, where the time of a round goes: events around what ranks launch, and the host's waits.

    with traced() as trace:
        matrix.close()
    print(trace)

A round's product is on the rank's own stream. What is made ahead for the next (strips brought forward, the pivot's
closure, panels multiplied and sent) is on a stream beside it. A gap is the time from the end of one product to the
beginning of the next: there it is that a rank computes nothing, or computes what was to be hidden.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from apsp.road.schedules import distributed
from semiring.kernels.cuda import transfer


class Trace:
    """What happened on each rank: (what, begun, done) as events of its device, and seconds of the host by what."""

    def __init__(self) -> None:
        self.events: dict[int, list[tuple[str, Any, Any]]] = defaultdict(list)
        self.host: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        self._own = threading.local()

    def begin(self, rank: int) -> None:
        self._own.rank = rank

    def on_device(self, what: str, do: Callable[..., Any]) -> Callable[..., Any]:
        """`do` between two events on the current stream."""
        from cupy.cuda import Event, get_current_stream

        def done(panels: Any, *args: Any) -> None:
            self.begin(panels._comm.rank)
            begun, ended = Event(), Event()
            begun.record(get_current_stream())
            do(panels, *args)
            ended.record(get_current_stream())
            self.events[panels._comm.rank].append((what, begun, ended))

        return done

    def on_host(self, what: str, do: Callable[..., Any]) -> Callable[..., Any]:
        """`do`, whose seconds are added up."""

        def done(*args: Any) -> Any:
            begun = time.perf_counter()
            found = do(*args)
            self.host[getattr(self._own, "rank", -1)][what] += time.perf_counter() - begun
            return found

        return done

    def lines(self) -> Iterator[str]:
        """One a rank: shares of the time from the first product's beginning to the last one's end."""
        from cupy.cuda import get_elapsed_time

        yield "rank  product       gaps   most | each round: product  strips  close  hidden until | host: meets  waits"
        for rank, events in sorted(self.events.items()):
            spans: dict[str, list[tuple[float, float]]] = defaultdict(list)
            zero = events[0][1]
            for what, begun, ended in events:
                spans[what].append((get_elapsed_time(zero, begun), get_elapsed_time(zero, ended)))
            products = spans["product"]
            whole = products[-1][1] - products[0][0]
            busy = sum(b - a for a, b in products)
            gaps = [after[0] - before[1] for before, after in pairwise(products)]
            mean = {what: sum(b - a for a, b in found) / len(found) for what, found in spans.items()}
            # The panels that were closed while a product ran: how long before that product's end they were there.
            ends = [b for _, b in spans["close"][1:]]
            slack = [done - there for (_, done), there in zip(products, ends, strict=False)]
            host = self.host[rank]
            yield (
                f"{rank:4} {busy / whole:8.2%} {sum(gaps):7.1f} ms {max(gaps, default=0):6.2f} |"
                f" {mean['product']:17.2f} {mean.get('strips', 0):7.2f} {mean['close']:6.2f}"
                f" {sum(slack) / max(1, len(slack)):8.2f} before |"
                f" {1e3 * host['meets']:9.1f} {1e3 * host['waits']:6.1f} ms"
            )

    def __str__(self) -> str:
        return "\n".join(self.lines())


@contextmanager
def traced() -> Iterator[Trace]:
    """What closures over GPUs of this process do meanwhile."""
    trace, inside = Trace(), threading.local()
    Panels, Barrier = distributed.Panels, threading.Barrier
    before = Panels.update, Panels.bring_forward, Panels.close, Barrier.wait, transfer.wait
    product = trace.on_device("product", before[0])

    def update(panels: Any, *args: Any) -> None:
        (before[0] if getattr(inside, "strips", False) else product)(panels, *args)

    def bring_forward(panels: Any, *args: Any) -> None:
        inside.strips = True
        try:
            before[1](panels, *args)
        finally:
            inside.strips = False

    Panels.update, Panels.bring_forward, Panels.close = (
        update,
        trace.on_device("strips", bring_forward),
        trace.on_device("close", before[2]),
    )
    Barrier.wait = trace.on_host("meets", before[3])
    transfer.wait = trace.on_host("waits", before[4])
    try:
        yield trace
    finally:
        Panels.update, Panels.bring_forward, Panels.close = before[:3]
        Barrier.wait, transfer.wait = before[3:]
