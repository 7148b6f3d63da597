"""A CuPy that computes nothing: arrays lie in host memory, and what would be launched, copied or compiled is counted.

For tests of what a call asks of the device, on machines that have none. Only what the library uses is here.
"""

from __future__ import annotations

import ctypes
import sys
import types
import weakref
from collections import Counter
from contextlib import contextmanager

import numpy as np

#: What was asked for since it was cleared: kernels by name, and "read", "copy", "fill", "allocate", "wait", "compile".
asked: Counter[str] = Counter()
#: An H200.
ATTRIBUTES = {16: 132, 97: 232448}
#: The number of the current device, and of the one on which memory lies, by its address.
current, homes = [0], {}


class Memory:
    """A pointer, as `cupy.cuda.MemoryPointer`."""

    def __init__(self, held, ptr):
        self.held, self.ptr = held, ptr

    def __add__(self, offset):
        return Memory(self.held, self.ptr + offset)

    def memset_async(self, value, size):
        asked["fill"] += 1
        ctypes.memset(self.ptr, value, size)


class Held:
    """Bytes that lie on devices, and the most that ever did, until `begin` is called again."""

    def begin(self):
        self.most = self.now = 0
        self.counted = object()  # what was there before counts no more, nor when it goes

    def add(self, host, size):
        self.now += size
        self.most = max(self.most, self.now)
        weakref.finalize(host, self._gone, size, self.counted)

    def _gone(self, size, counted):
        self.now -= size if counted is self.counted else 0


there = Held()
there.begin()


def alloc(size):
    asked["allocate"] += 1
    held = np.empty(max(size, 1) + 512, np.uint8)
    there.add(held, size)
    address = -(-held.ctypes.data // 512) * 512
    homes[address] = current[0]
    return Memory(held, address)


def near(*given):
    """Refuse addresses that lie on another device than the current one."""
    for address in given:
        if isinstance(address, int) and homes.get(address, current[0]) != current[0]:
            raise ValueError(f"memory of device {homes[address]} was met on device {current[0]}")


class ndarray:
    """A NumPy array that is none."""

    __module__ = "cupy"  # by which its arrays are told

    __slots__ = ("_host", "data", "number")

    def __init__(self, host):
        self._host = host
        if host.base is None:  # no view
            there.add(host, host.nbytes)
        self.data = Memory(host, host.ctypes.data)
        self.number = self.data.device_id = homes[self.data.ptr] = current[0]

    def __getattr__(self, name):
        return getattr(self._host, name)

    def __len__(self):
        return len(self._host)

    def __dlpack_device__(self):
        return 2, self.number

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        if any(isinstance(part, ndarray) for part in index):  # gathered by a kernel
            near(self.data.ptr, *(part.data.ptr for part in index if isinstance(part, ndarray)))
            index = tuple(getattr(part, "_host", part) for part in index)
        with Device(self.number):
            return ndarray(self._host[index])

    def __setitem__(self, index, value):
        near(self.data.ptr, value.data.ptr if isinstance(value, ndarray) else None)
        asked["kernel of CuPy's"] += 1
        self._host[index] = value._host if isinstance(value, ndarray) else value

    @property
    def __cuda_array_interface__(self):
        return {**self._host.__array_interface__, "version": 3}

    def reshape(self, *shape):
        with Device(self.number):
            return ndarray(self._host.reshape(*shape))

    def copy(self):
        near(self.data.ptr)
        return ndarray(self._host.copy())

    def get(self):
        asked["read"] += 1
        return self._host.copy()


def empty(shape, dtype=float):
    asked["allocate"] += 1
    return ndarray(np.zeros(shape, dtype))  # what no kernel fills is no NaN


def asarray(source, dtype=None):
    if isinstance(source, ndarray):
        return source if dtype in (None, source.dtype) else ndarray(source._host.astype(dtype))
    return ndarray(np.array(source, dtype))


class Device:
    compute_capability = "90"

    def __init__(self, number=0):
        self.number, self.before = number, []

    def __enter__(self):
        self.before.append(current[0])
        current[0] = self.number
        return self

    def __exit__(self, *problem):
        current[0] = self.before.pop()


class Event:
    done = True

    def __init__(self, **options):
        pass

    def record(self, stream):
        asked["event"] += 1

    def synchronize(self):
        asked["wait"] += 1


def alloc_pinned(size):
    """Memory that a device could write to."""

    class Pinned(ctypes.c_byte * size):
        ptr = property(ctypes.addressof)

    return Pinned()


class Stream:
    ptr = 0

    def __init__(self, **options):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        pass

    def record(self):
        return Event()

    def wait_event(self, event):
        pass

    def synchronize(self):
        asked["wait"] += 1


class Function:
    """A kernel; of `survey` alone the result is there, computed by NumPy."""

    ptr = 1

    def __init__(self, name):
        self.name = name

    def __call__(self, grid, block, args, shared_mem=0, **options):
        asked[self.name] += 1
        near(*args)
        if self.name == "survey":
            for k in range(grid[1]):
                address, count = args[2 * k : 2 * k + 2]
                entries = np.frombuffer((ctypes.c_float * count).from_address(address), np.float32)
                record = (ctypes.c_byte * 32).from_address(args[6] + 32 * k)
                flags = np.isnan(entries).any() | (entries < 0).any() << 1
                seen = (entries.min(), entries.max(), flags, 0, (entries == 0).sum(), np.isposinf(entries).sum())
                record[:] = np.array([seen], "f4, f4, i4, i4, i8, i8").view(np.int8).tolist()


class Module:
    def load(self, cubin):
        asked["load"] += 1

    def get_function(self, name):
        return Function(name)


def memcpy(to, source, size, kind, stream=0):
    asked["read" if kind == 2 else "copy"] += 1
    near(to, source)
    ctypes.memmove(to, source, size)


def memcpy_rows(to, to_apart, source, apart, width, rows, kind, stream=0):
    asked["copy of rows"] += 1


def modules():
    """Name → module, of CuPy and of what stands below it."""
    stream = Stream()
    runtime = types.SimpleNamespace(
        getDevice=lambda: current[0],
        driverGetVersion=lambda: 13000,
        deviceGetAttribute=lambda attribute, device: ATTRIBUTES[attribute],
        cudaDevAttrMultiProcessorCount=16,
        cudaDevAttrMaxSharedMemoryPerBlockOptin=97,
        memcpyAsync=memcpy,
        memcpy2DAsync=memcpy_rows,
        memcpyHostToDevice=1,
        memcpyDeviceToHost=2,
        memcpyDeviceToDevice=3,
        memGetInfo=lambda: (asked.update(["memory asked for"]), (1 << 36, 1 << 36))[1],
        streamIsCapturing=lambda ptr: False,
    )
    pool = types.SimpleNamespace(free_bytes=lambda: 1 << 30)
    cuda = types.SimpleNamespace(
        runtime=runtime,
        alloc=alloc,
        alloc_pinned_memory=alloc_pinned,
        Event=Event,
        get_current_stream=lambda: stream,
        is_available=lambda: True,
        Device=Device,
        Stream=Stream,
        function=types.SimpleNamespace(Module=Module),
    )
    made = {name: types.ModuleType(name) for name in ("cupy", "cupy.cuda", "cupy_backends.cuda.api.driver")}
    made["cupy"].__dict__.update(
        ndarray=ndarray, empty=empty, asarray=asarray, ascontiguousarray=lambda X: X, cuda=cuda
    )
    made["cupy"].get_default_memory_pool = lambda: pool
    made["cupy.cuda"].__dict__.update(vars(cuda))
    driver = made["cupy_backends.cuda.api.driver"]
    driver.funcSetAttribute = lambda *given: None
    driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
    driver.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1
    driver.funcGetAttribute = lambda *given: 0
    runtime.free = lambda address: None
    driver.occupancyMaxActiveBlocksPerMultiprocessor = lambda *given: 2
    nvrtc = types.ModuleType("cupy_backends.cuda.libs.nvrtc")
    nvrtc.getSupportedArchs = lambda: [80, 90, 100]
    nvrtc.getVersion = lambda: (13, 0)
    backends = {name: types.ModuleType(name) for name in ("cupy_backends", "cupy_backends.cuda")}
    for name, inside in (("cupy_backends.cuda.api", {"driver": driver}), ("cupy_backends.cuda.libs", {"nvrtc": nvrtc})):
        backends[name] = types.ModuleType(name)
        backends[name].__dict__.update(inside)
    return {**made, **backends, "cupy_backends.cuda.libs.nvrtc": nvrtc}


@contextmanager
def installed():
    """With this CuPy in place of any, and the CUDA backend imported anew for it; `asked` is cleared."""

    def ours():
        return {
            name: module for name, module in sys.modules.items() if name.split(".")[0] in ("cupy", "cupy_backends")
        } | {name: module for name, module in sys.modules.items() if name.startswith("semiring.kernels.cuda")}

    import semiring
    from semiring.kernels import backend

    before, package = ours(), semiring.kernels.__dict__.pop("cuda", None)
    for name in before:
        del sys.modules[name]
    sys.modules.update(modules())
    backend._module.cache_clear()
    asked.clear()
    homes.clear()
    current[0] = 0
    try:
        from semiring.kernels.cuda import cache, compile

        cache.shipped = lambda *given: None
        cache.load = lambda name: None
        cache.store = lambda name, binary: None

        def compiled(text, arch, flags, name):
            asked["compile"] += 1
            return cache.Binary(arch, b"", {})

        compile._nvrtc = compiled
        yield
    finally:
        backend._module.cache_clear()
        for name in ours():
            del sys.modules[name]
        sys.modules.update(before)
        semiring.kernels.__dict__.pop("cuda", None)
        if package is not None:
            semiring.kernels.cuda = package
