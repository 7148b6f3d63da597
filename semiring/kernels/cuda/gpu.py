"""The current device: identity, capabilities, and shared runtime calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, wraps
from typing import Any

import numpy as np

from ...host.devices import INSTALL
from ...host.errors import DeviceError
from ...host.types import DType
from .library import cuda

#: Row alignment of pitched matrices in bytes, as in `cudaMallocPitch`.
PITCH = 512


def current() -> int:
    """The current device's number; DeviceError without CuPy."""
    return int(_runtime().getDevice())


@cache
def _runtime() -> Any:
    try:
        return cuda.runtime
    except ImportError as problem:
        raise DeviceError(f"cuda: matrices on the GPU need CuPy, got {problem}. Use device='cpu'.") from problem


def describe() -> str:
    """The GPU's name, memory, clock and driver; or why there is none."""
    try:
        runtime = cuda.runtime
    except ImportError:
        return f"none: CuPy is not installed: {INSTALL}"
    try:
        count = runtime.getDeviceCount()
        found = runtime.getDeviceProperties(0)
        driver = runtime.driverGetVersion()
    except Exception as error:  # a missing or broken driver raises anything
        return f"none: {' '.join(str(error).split())}"
    name = found["name"].decode()
    clock = f", {found['clockRate'] / 1000:.0f} MHz" if found.get("clockRate") else ""
    more = f"{count} × " if count > 1 else ""
    size = f"{found['totalGlobalMem'] / 2**30:.1f} GiB"
    version = f"CUDA driver {driver // 1000}.{driver % 1000 // 10}"
    return f"{more}{name}, {size}, sm_{found['major']}{found['minor']}{clock}, {version}"


@cache
def driver() -> int:
    """CUDA version of the driver, such as 13000."""
    return int(_runtime().driverGetVersion())


@cache
def capability(device: int) -> tuple[int, int]:
    major, minor = divmod(int(cuda.Device(device).compute_capability), 10)
    return major, minor


@cache
def multiprocessors(device: int) -> int:
    return int(cuda.runtime.deviceGetAttribute(cuda.runtime.cudaDevAttrMultiProcessorCount, device))


def memory(size: int, *, zeros: int = 0, fill: int | None = None) -> Any:
    """New device memory, the last `zeros` bytes 0, or all `fill`; may be dropped once its users are launched."""
    new = cuda.alloc(size)
    if zeros:
        (new + (size - zeros)).memset_async(0, zeros)
    if fill is not None:
        new.memset_async(fill, size)
    return new


def number(address: int) -> int:
    """The 32-bit number at a device address; waits for the current stream."""
    return int(fetch(address, 1, np.uint32)[0])


def fetch(address: int, count: int, dtype: DType) -> np.ndarray:
    """Numbers at a device address; waits for the current stream."""
    found, stream = np.empty(count, dtype), cuda.get_current_stream()
    cuda.runtime.memcpyAsync(found.ctypes.data, address, found.nbytes, cuda.runtime.memcpyDeviceToHost, stream.ptr)
    stream.synchronize()
    return found


def begin_fetch(address: int, count: int, dtype: DType) -> Callable[[], np.ndarray]:
    """Begin to fetch numbers; the result, called, waits for these alone, not for work queued since."""
    pinned = cuda.alloc_pinned_memory(max(1, count) * np.dtype(dtype).itemsize)
    found = np.frombuffer(pinned, dtype, count)
    stream = cuda.get_current_stream().ptr
    cuda.runtime.memcpyAsync(pinned.ptr, address, found.nbytes, cuda.runtime.memcpyDeviceToHost, stream)
    done = recorded()

    def wait() -> np.ndarray:
        done.synchronize()
        return found

    return wait


def copy(to: int, source: int, size: int) -> None:
    cuda.runtime.memcpyAsync(to, source, size, cuda.runtime.memcpyDeviceToDevice, cuda.get_current_stream().ptr)


def copy_rows(to: int, to_pitch: int, source: int, pitch: int, width: int, rows: int) -> None:
    """Device-to-device copy of `rows` rows of `width` bytes; pitches in bytes."""
    stream = cuda.get_current_stream().ptr
    cuda.runtime.memcpy2DAsync(to, to_pitch, source, pitch, width, rows, cuda.runtime.memcpyDeviceToDevice, stream)


def count() -> int:
    return int(_runtime().getDeviceCount())


def stream() -> Any:
    return cuda.Stream(non_blocking=True)


@contextmanager
def device_context(device: int, stream: Any = None) -> Iterator[None]:
    with cuda.Device(device), stream or nullcontext():
        yield


def on_device(method: Any) -> Any:
    """Decorate a method to run on its object's device `number`."""

    @wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        with device_context(self.number):
            return method(self, *args, **options)

    return call


class ConcurrentStream:
    """A high-priority stream, concurrent with the current one; `with queue: …` makes it current, after work so far."""

    def __init__(self) -> None:
        self._stream = cuda.Stream(non_blocking=True, priority=-1)

    def __enter__(self) -> None:
        self._stream.wait_event(recorded())
        self._stream.__enter__()

    def __exit__(self, *exception: object) -> None:
        self._stream.__exit__(*exception)

    def join(self) -> None:
        cuda.get_current_stream().wait_event(recorded(self._stream))


def recorded(stream: Any = None) -> Any:
    """Event after all work queued so far on a stream, by default the current one."""
    event = cuda.Event(disable_timing=True)
    event.record(stream or cuda.get_current_stream())
    return event


def follow(events: Iterable[Any]) -> None:
    """Make the current stream wait for events."""
    stream = cuda.get_current_stream()
    for event in events:
        stream.wait_event(event)


def capturing() -> bool:
    """Whether the current stream is being captured into a graph."""
    return bool(cuda.runtime.streamIsCapturing(cuda.get_current_stream().ptr))


class EventStopwatch:
    """Device time between two events on the current stream."""

    def __init__(self) -> None:
        self._start, self._end = cuda.Event(), cuda.Event()
        self._start.record()

    def stop(self) -> None:
        self._end.record()

    @property
    def seconds(self) -> float:
        """Elapsed time; waits for the second event."""
        self._end.synchronize()
        return float(cuda.get_elapsed_time(self._start, self._end)) * 1e-3


def energy() -> float | None:
    """Energy of the current card in joules since its driver was loaded; None without NVML."""
    try:
        import pynvml  # type: ignore[import-not-found, import-untyped, unused-ignore] # available or not, typed or not

        pynvml.nvmlInit()
        card = pynvml.nvmlDeviceGetHandleByPciBusId(cuda.Device().pci_bus_id.encode())
        return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(card)) * 1e-3
    except Exception:  # no NVML, no counter, no permission: all the same here
        return None


def resident(function: Any, threads: int, shared: int = 0) -> int:
    from cupy_backends.cuda.api import driver

    cuda.runtime.free(0)  # a new thread has no context before its first runtime call
    return int(driver.occupancyMaxActiveBlocksPerMultiprocessor(function.ptr, threads, shared))


def resources(function: Any, threads: int, shared: int = 0) -> str:
    """Registers, shared memory and occupancy of a kernel, as text."""
    from cupy_backends.cuda.api import driver

    static, spilled, registers = (driver.funcGetAttribute(number, function.ptr) for number in (1, 3, 4))
    most = cuda.runtime.deviceGetAttribute(cuda.runtime.cudaDevAttrMaxThreadsPerMultiProcessor, cuda.Device().id)
    parts = [f"{registers} registers", f"{static + shared} B shared", *([f"{spilled} B spilled"] if spilled else [])]
    return ", ".join([*parts, f"{resident(function, threads, shared) * threads / most:.0%} occupancy"])


@cache
def most_shared(device: int) -> int:
    return int(cuda.runtime.deviceGetAttribute(cuda.runtime.cudaDevAttrMaxSharedMemoryPerBlockOptin, device))
