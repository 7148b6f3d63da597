"""The current device: which it is, what it can do, and the few calls to the runtime that more than one file makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, wraps
from typing import Any

import numpy as np

from ..devices import INSTALL
from ..errors import DeviceError

#: Where rows begin in a pitched matrix: at multiples of so many bytes, as `cudaMallocPitch` has them.
PITCH = 512


def current() -> int:
    """The number of the current device.

    Raises
    ------
    DeviceError
        Without CuPy.
    """
    return int(_runtime().getDevice())


@cache
def _runtime() -> Any:
    try:
        from cupy.cuda import runtime
    except ImportError as problem:
        raise DeviceError(f"cuda: matrices on the GPU need CuPy, got {problem}. Use device='cpu'.") from problem
    return runtime


def describe() -> str:
    """The GPU's name, memory, clock and driver; or why there is none."""
    try:
        import cupy
    except ImportError:
        return f"none: CuPy is not installed: {INSTALL}"
    try:
        runtime = cupy.cuda.runtime
        count = runtime.getDeviceCount()
        found = runtime.getDeviceProperties(0)
        driver = runtime.driverGetVersion()
    except Exception as error:  # a missing or broken driver raises whatever it likes
        return f"none: {' '.join(str(error).split())}"
    name = found["name"].decode()
    clock = f", {found['clockRate'] / 1000:.0f} MHz" if found.get("clockRate") else ""
    more = f"{count} × " if count > 1 else ""
    size = f"{found['totalGlobalMem'] / 2**30:.1f} GiB"
    version = f"CUDA driver {driver // 1000}.{driver % 1000 // 10}"
    return f"{more}{name}, {size}, sm_{found['major']}{found['minor']}{clock}, {version}"


@cache
def driver() -> int:
    """The version of CUDA that the driver knows, such as 13000."""
    return int(_runtime().driverGetVersion())


@cache
def capability(device: int) -> tuple[int, int]:
    """The device's compute capability."""
    import cupy

    major, minor = divmod(int(cupy.cuda.Device(device).compute_capability), 10)
    return major, minor


@cache
def multiprocessors(device: int) -> int:
    """How many multiprocessors the device has."""
    from cupy.cuda import runtime

    return int(runtime.deviceGetAttribute(runtime.cudaDevAttrMultiProcessorCount, device))


def memory(size: int, *, zeros: int = 0, fill: int | None = None) -> Any:
    """New memory on the current device: to be dropped when all that uses it is launched.

    Its last `zeros` bytes are 0, or all are `fill`.
    """
    from cupy.cuda import alloc

    new = alloc(size)
    if zeros:
        (new + (size - zeros)).memset_async(0, zeros)
    if fill is not None:
        new.memset_async(fill, size)
    return new


def number(address: int) -> int:
    """The 32-bit number at an address of the current device; waits for its current stream."""
    from cupy.cuda import get_current_stream, runtime

    found, stream = np.zeros(1, np.uint32), get_current_stream()
    runtime.memcpyAsync(found.ctypes.data, address, 4, runtime.memcpyDeviceToHost, stream.ptr)
    stream.synchronize()
    return int(found[0])


def copy(to: int, source: int, size: int) -> None:
    """`size` bytes from one address to another, by the device's own copy."""
    from cupy.cuda import get_current_stream, runtime

    runtime.memcpyAsync(to, source, size, runtime.memcpyDeviceToDevice, get_current_stream().ptr)


def copy_rows(to: int, to_pitch: int, source: int, pitch: int, width: int, rows: int) -> None:
    """`rows` rows of `width` bytes from one address to another, by the device's own copy; pitches in bytes."""
    from cupy.cuda import get_current_stream, runtime

    stream = get_current_stream().ptr
    runtime.memcpy2DAsync(to, to_pitch, source, pitch, width, rows, runtime.memcpyDeviceToDevice, stream)


def count() -> int:
    """How many devices this process sees."""
    return int(_runtime().getDeviceCount())


def stream() -> Any:
    """A new stream of the current device, apart from the default one."""
    from cupy.cuda import Stream

    return Stream(non_blocking=True)


@contextmanager
def device_context(device: int, stream: Any = None) -> Iterator[None]:
    """A context in which that device is the current one, and that stream its current stream."""
    from cupy.cuda import Device

    with Device(device), stream or nullcontext():
        yield


def on_device(method: Any) -> Any:
    """A method, with the device `number` of its object as the current one."""

    @wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        with device_context(self.number):
            return method(self, *args, **options)

    return call


class ConcurrentStream:
    """A stream of high priority: its work runs concurrently with that of the current one, and is preferred.

    `with queue: …` makes it the current stream; it waits for the work in the caller's stream until then.
    """

    def __init__(self) -> None:
        from cupy.cuda import Stream

        self._stream = Stream(non_blocking=True, priority=-1)

    def __enter__(self) -> None:
        self._stream.wait_event(recorded())
        self._stream.__enter__()

    def __exit__(self, *exception: object) -> None:
        self._stream.__exit__(*exception)

    def join(self) -> None:
        """The current stream waits for the work in this one."""
        from cupy.cuda import get_current_stream

        get_current_stream().wait_event(recorded(self._stream))


def recorded(stream: Any = None) -> Any:
    """An event: a stream, by default the current one, has done all work queued so far."""
    from cupy.cuda import Event, get_current_stream

    event = Event(disable_timing=True)
    event.record(stream or get_current_stream())
    return event


def follow(events: Iterable[Any]) -> None:
    """Work queued on the current stream from now on comes after these."""
    from cupy.cuda import get_current_stream

    stream = get_current_stream()
    for event in events:
        stream.wait_event(event)


def capturing() -> bool:
    """Whether work queued on the current stream is captured into a graph, not done."""
    from cupy.cuda import get_current_stream, runtime

    return bool(runtime.streamIsCapturing(get_current_stream().ptr))


class EventStopwatch:
    """The time between two events on the current stream, as the device sees it."""

    def __init__(self) -> None:
        from cupy.cuda import Event

        self._start, self._end = Event(), Event()
        self._start.record()

    def stop(self) -> None:
        """Stop after all work queued on the stream so far."""
        self._end.record()

    @property
    def seconds(self) -> float:
        """The time between the events; waits for the second."""
        from cupy.cuda import get_elapsed_time

        self._end.synchronize()
        return float(get_elapsed_time(self._start, self._end)) * 1e-3


def energy() -> float | None:
    """Joules that the current card has used since its driver was loaded; None where NVML does not report it."""
    try:
        import cupy
        import pynvml  # type: ignore[import-not-found, import-untyped, unused-ignore] # available or not, typed or not

        pynvml.nvmlInit()
        card = pynvml.nvmlDeviceGetHandleByPciBusId(cupy.cuda.Device().pci_bus_id.encode())
        return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(card)) * 1e-3
    except Exception:  # no NVML, no counter, no permission: all the same here
        return None


def resident(function: Any, threads: int, shared: int = 0) -> int:
    """Blocks of so many threads and bytes of shared memory of a kernel that are resident on a multiprocessor."""
    from cupy.cuda import runtime
    from cupy_backends.cuda.api import driver

    runtime.free(0)  # a new thread has no context before its first call of the runtime
    return int(driver.occupancyMaxActiveBlocksPerMultiprocessor(function.ptr, threads, shared))


def resources(function: Any, threads: int, shared: int = 0) -> str:
    """What a kernel takes of a multiprocessor, and the share of its warps that are occupied, as text."""
    from cupy.cuda import Device, runtime
    from cupy_backends.cuda.api import driver

    static, spilled, registers = (driver.funcGetAttribute(number, function.ptr) for number in (1, 3, 4))
    most = runtime.deviceGetAttribute(runtime.cudaDevAttrMaxThreadsPerMultiProcessor, Device().id)
    parts = [f"{registers} registers", f"{static + shared} B shared", *([f"{spilled} B spilled"] if spilled else [])]
    return ", ".join([*parts, f"{resident(function, threads, shared) * threads / most:.0%} occupancy"])


@cache
def most_shared(device: int) -> int:
    """Bytes of shared memory that a thread block may request."""
    from cupy.cuda import runtime

    return int(runtime.deviceGetAttribute(runtime.cudaDevAttrMaxSharedMemoryPerBlockOptin, device))
