"""What benchmarks on a GPU share: CuPy, times by events of the device, and the bandwidth of a copy."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from semiring.kernels.cuda import compile

cp: Any
try:
    import cupy as cp
except ImportError:  # `--help` is shown without it
    cp = None

HOLD = """
extern "C" __global__ void hold(long long cycles) {
    for (const long long begun = clock64(); clock64() - begun < cycles;);
}
"""


def milliseconds(
    work: Callable[[], object],
    before: Callable[[], object] = lambda: None,
    repeats: int = 7,
    idle: int = 1,
    *,
    launching: bool = False,
    of: Callable[[list[float]], float] = statistics.median,
) -> float:
    """The median (or another one `of` the times) of `work` on the current stream; `before` each is not timed.

    The first `idle` runs do not count. The device waits half a millisecond before each, while the host launches; if
    `launching` counts, it does not.
    """
    hold = None if launching else compile.functions(HOLD, name="hold.cu").get_function("hold")
    times: list[float] = []
    for _ in range(repeats + idle):
        before()
        if hold:
            hold((1,), (1,), (1_000_000,))
        start, stop = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        work()
        stop.record()
        stop.synchronize()
        times.append(cp.cuda.get_elapsed_time(start, stop))
    return of(times[idle:])


def bandwidth() -> float:
    """Bytes a second of a copy on the device, read and written."""
    size = 1 << 30
    one, other = cp.zeros(size, cp.uint8), cp.empty(size, cp.uint8)
    return 2 * size / milliseconds(lambda: cp.copyto(other, one)) * 1e3
