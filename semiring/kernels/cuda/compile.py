"""Source text → cubin, shipped or by NVRTC, cached on disk; cubin → functions on the current device, cached in memory.

The cache key covers the entire text with inlined headers, the architecture, the options and the compiler's version, so
that a kernel is never older than its source. Compilation needs no GPU.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import struct
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Generic, ParamSpec

from ...algebra.records import Semiring
from ...host.compiling import about, announce
from ...host.devices import INSTALL
from ...host.errors import AlgebraError, DeviceError
from . import cache, gpu
from .cache import Binary, Resources
from .library import cupy

#: Root of the kernel sources; file names are unique below it.
KERNELS = Path(__file__).parent

#: C++17, __int128 for saturating 64-bit sums, subnormals preserved (no -ftz), and the report that `resources` parses.
OPTIONS = ("-std=c++17", "--device-int128", "-default-device", "--ptxas-options=-v")

#: Bytes of static shared memory of a block that may take all other; blocks per multiprocessor in global memory.
STATIC, RESIDENT = 1024, 4

P = ParamSpec("P")

_INCLUDE = re.compile(r'^#include "([^"]+)"\n', re.MULTILINE)


def source(name: str, *prelude: str) -> str:
    """Text of a kernel file with inlined headers; `prelude` follows the `.cuh` headers, which do not depend on it.

    CuPy and the cache see only the text, so that it must be self-contained. Files are read once per process.
    """
    headers, body = _parts(name)
    return "\n".join((*headers, *prelude, body))


@functools.cache
def _parts(name: str) -> tuple[tuple[str, ...], str]:
    """(headers in dependency order, each once; the remaining body)."""
    headers: dict[str, str] = {}

    def inline(text: str) -> str:
        return _INCLUDE.sub(lambda found: collect(found.group(1)), text)

    def collect(header: str) -> str:
        if header.endswith(".inl"):
            return inline(_read(header))
        if header not in headers:
            headers[header] = ""
            headers[header] = inline(_read(header)).replace("#pragma once\n", "")
            order.append(header)
        return ""

    order: list[str] = []
    body = inline(_read(name))
    return tuple(headers[header] for header in order), body


def _read(name: str) -> str:
    (path,) = KERNELS.rglob(name)
    return path.read_text(encoding="utf-8")


def compile(text: str, arch: str, *, options: tuple[str, ...] = (), name: str = "kernel.cu") -> Binary:
    """The cubin of `text` for `arch`, from the disk cache if present.

    arch : a real architecture, such as "sm_90"; instructions such as wgmma need "sm_90a"
    options : of NVRTC, after `OPTIONS`
    name : file name in compiler messages

    Raises
    ------
    AlgebraError
        If compilation fails, with the messages: an expression of a semiring is invalid C++.
    DeviceError
        If NVRTC is not installed, or does not know the architecture.
    """
    flags = (*OPTIONS, *options)
    key = hashlib.sha256(json.dumps([text, arch, flags, version()]).encode()).hexdigest()[:40]
    stored = f"{key}.{arch}"
    binary = cache.load(stored)
    if binary is None:
        announce()
        binary = _nvrtc(text, arch, flags, name)
        cache.store(stored, binary)
    return binary


def functions(text: str, *, arch: str | None = None, options: tuple[str, ...] = (), name: str = "kernel.cu") -> Any:
    """Module of the text on the current device, for `module.get_function(entry)`; compiled at most once."""
    device = gpu.current()
    with _LOCKS.setdefault(hash(text), threading.Lock()):
        return _module(text, arch or device_arch(device), options, name, device)


class Functions(dict[str, Any]):
    """Functions of a module by entry, each looked up on first use."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module = module

    def __missing__(self, entry: str) -> Any:
        found = self[entry] = self.module.get_function(entry)
        return found


class Unit(Generic[P]):
    """A translation unit with parameters: called, its text; `functions` of them are loaded once a device."""

    def __init__(
        self, text: Callable[P, str], name: str, options: tuple[str, ...], prepare: Callable[..., None] | None
    ) -> None:
        self._text, self._name, self._options, self._prepare = text, name, options, prepare
        self._loaded: Callable[..., Functions] = functools.lru_cache(maxsize=256)(self._load)

    def __call__(self, *of: P.args, **named: P.kwargs) -> str:
        return self._text(*of, **named)

    def functions(self, *of: P.args, **named: P.kwargs) -> Functions:
        """Functions on the current device by entry, compiled about the semiring and dtype that come first, if any."""
        return self._loaded(gpu.current(), *of, **named)

    def _load(self, device: int, *of: Any, **named: Any) -> Functions:
        kind = (of[0].semiring, of[0].dtype) if of and hasattr(of[0], "semiring") else of[:2]
        known = len(kind) == 2 and isinstance(kind[0], Semiring)
        with about(f"{kind[0].name} in {kind[1]}") if known else nullcontext():
            found = Functions(functions(self._text(*of, **named), options=self._options, name=self._name))
        if self._prepare:
            self._prepare(found, *of, **named)
        return found


def unit(
    name: str, *, options: tuple[str, ...] = (), prepare: Callable[..., None] | None = None
) -> Callable[[Callable[P, str]], Unit[P]]:
    """Decorator: a function of parameters that returns a text is the `Unit` of a file.

    `prepare(functions, *parameters)`, if any, is called once they are loaded.
    """
    return lambda text: Unit(text, name, options, prepare)


def allow_shared(function: Any, size: int) -> None:
    """Allow `size` bytes of dynamic shared memory, or more; above 48 KB with the kernel's own this is required."""
    from cupy_backends.cuda.api import driver

    dynamic = driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    if size + driver.funcGetAttribute(driver.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function.ptr) > 48 << 10:
        driver.funcSetAttribute(function.ptr, dynamic, max(size, driver.funcGetAttribute(dynamic, function.ptr)))


def rooms(function: Any, threads: int, size: int, most: int) -> tuple[int, Any, int]:
    """Blocks that have `size` bytes each, at most `most`; device memory of these or None; bytes of shared memory."""
    device = gpu.current()
    shared = size if size <= gpu.most_shared(device) - STATIC else 0
    allow_shared(function, shared)
    blocks = min(most, (gpu.resident(function, threads, shared) if shared else RESIDENT) * gpu.multiprocessors(device))
    return blocks, None if shared else gpu.memory(size * blocks), shared


@functools.cache
def device_arch(device: int) -> str:
    """Target architecture: the device's, or the newest of its family that the compiler knows."""
    from cupy_backends.cuda.libs import nvrtc

    major, minor = gpu.capability(device)
    known = [a for a in nvrtc.getSupportedArchs() if a // 10 == major and a % 10 <= minor]
    if major < 8 or not known:
        raise DeviceError(
            f"cuda: a GPU of compute capability 8.0 or newer and a compiler that knows it are required, got "
            f"{major}.{minor} and NVRTC {'.'.join(map(str, nvrtc.getVersion()))}. Use device='cpu', or update NVRTC."
        )
    return f"sm_{max(known)}"


#: One lock per text: different kernels compile concurrently.
_LOCKS: dict[int, threading.Lock] = {}


@functools.cache
def _module(text: str, arch: str, options: tuple[str, ...], name: str, device: int) -> Any:
    binary = cache.shipped(text, arch, (*OPTIONS, *options), gpu.driver())
    module = cupy.cuda.function.Module()
    module.load((binary or compile(text, arch, options=options, name=name)).cubin)
    return module


@functools.cache
def version() -> list[int]:
    """NVRTC's version; DeviceError if it is not installed."""
    try:
        from cupy_backends.cuda.libs import nvrtc

        return list(nvrtc.getVersion())
    except (ImportError, RuntimeError) as error:
        raise DeviceError(
            f"cuda: kernels are compiled by NVRTC through CuPy, got neither. Install them: {INSTALL}; "
            "or use device='cpu'."
        ) from error


def _nvrtc(text: str, arch: str, flags: tuple[str, ...], name: str) -> Binary:
    from cupy_backends.cuda.libs import nvrtc

    program = nvrtc.createProgram(text, name, [], [])
    try:
        nvrtc.compileProgram(program, [f"-arch={arch}", *flags])
        log = nvrtc.getProgramLog(program)
        return Binary(arch, _padded(bytes(nvrtc.getCUBIN(program))), _report(log))
    except nvrtc.NVRTCError as error:
        log = nvrtc.getProgramLog(program).strip()
        raise AlgebraError(f"cuda: {name} must compile for {arch}, got {error}:\n{log}") from error
    finally:
        nvrtc.destroyProgram(program)


def _padded(cubin: bytes) -> bytes:
    """Pad the cubin to the end of its program headers: CuPy drops the last byte, as if it ended a string."""
    (offset,) = struct.unpack_from("<Q", cubin, 32)
    size, count = struct.unpack_from("<HH", cubin, 54)
    return cubin.ljust(offset + size * count, b"\0")


def _report(log: str) -> dict[str, Resources]:
    resources = {}
    for part in log.split("Compiling entry function '")[1:]:
        number = {
            key: int(found.group(1)) if (found := re.search(pattern, part)) else 0
            for key, pattern in (
                ("registers", r"Used (\d+) registers"),
                ("spill_stores", r"(\d+) bytes spill stores"),
                ("spill_loads", r"(\d+) bytes spill loads"),
                ("stack", r"(\d+) bytes stack frame"),
            )
        }
        resources[part.split("'", 1)[0]] = Resources(**number)
    return resources
