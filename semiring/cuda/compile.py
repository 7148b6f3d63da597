"""Source text → cubin, shipped or by NVRTC, cached on disk; cubin → functions on the current device, cached in memory.

The key of the cache is the entire text with our own headers inlined, the architecture, the options and the compiler's
version: a kernel is never older than its source. Compiling needs no GPU.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import struct
import threading
from pathlib import Path
from typing import Any

from ..compiling import announce
from ..devices import INSTALL
from ..errors import AlgebraError, DeviceError
from . import cache, gpu, shipped
from .cache import Binary, Resources

#: Kernels are next to the Python that launches them, those of several folders here. No name occurs twice.
KERNELS = Path(__file__).parent

#: C++17, __int128 for saturating 64-bit sums, subnormals preserved (no -ftz), and the report that `resources` reads.
OPTIONS = ("-std=c++17", "--device-int128", "-default-device", "--ptxas-options=-v")

_INCLUDE = re.compile(r'^#include "([^"]+)"\n', re.MULTILINE)


def source(name: str, *prelude: str) -> str:
    """The text of a kernel's file with our headers inlined; `prelude` follows those that do not need it (`.cuh`).

    CuPy and our cache see the text alone, so whatever it includes must be in it. Files are read once a process.
    """
    headers, body = _parts(name)
    return "\n".join((*headers, *prelude, body))


@functools.cache
def _parts(name: str) -> tuple[tuple[str, ...], str]:
    """The headers of a kernel's file, each once and after those that it needs; and what follows them."""
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
    """The text as a cubin for `arch` ("sm_90", "sm_90a", …), from the disk cache where it is stored there.

    Parameters
    ----------
    text : str
        A complete translation unit; see `source`.
    arch : str
        A real architecture. Instructions such as wgmma need "sm_90a".
    options : tuple of str
        For NVRTC, after `OPTIONS`.
    name : str
        How the compiler's messages call the text.

    Raises
    ------
    AlgebraError
        If the compiler refuses the text, with its messages: an expression of a semiring is no valid C++.
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
    """The text's entry functions on the current device: `module.get_function(entry)`; compiled at most once."""
    device = gpu.current()
    with _lock(text):
        return _module(text, arch or device_arch(device), options, name, device)


def allow_shared(function: Any, size: int) -> None:
    """Let an entry function use `size` bytes of dynamic shared memory; beyond 48 KB that must be requested."""
    from cupy_backends.cuda.api import driver

    if size > 48 << 10:
        driver.funcSetAttribute(function.ptr, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, size)


def counter(module: Any, name: str) -> int:
    """The address of a 32-bit number that a module's kernels add to."""
    return int(module.get_global_var(name))


@functools.cache
def device_arch(device: int) -> str:
    """The architecture to compile for: the device's own, or the newest of its family that the compiler knows."""
    from cupy_backends.cuda.libs import nvrtc

    major, minor = gpu.capability(device)
    known = [a for a in nvrtc.getSupportedArchs() if a // 10 == major and a % 10 <= minor]
    if major < 8 or not known:
        raise DeviceError(
            f"cuda: a GPU of compute capability 8.0 or newer and a compiler that knows it are required, got "
            f"{major}.{minor} and NVRTC {'.'.join(map(str, nvrtc.getVersion()))}. Use device='cpu', or update NVRTC."
        )
    return f"sm_{max(known)}"


_LOCKS: dict[int, threading.Lock] = {}


def _lock(text: str) -> threading.Lock:
    """One lock a text: threads that request different kernels compile concurrently."""
    return _LOCKS.setdefault(hash(text), threading.Lock())


@functools.cache
def _module(text: str, arch: str, options: tuple[str, ...], name: str, device: int) -> Any:
    import cupy

    binary = shipped.find(text, arch, (*OPTIONS, *options), gpu.driver())
    module = cupy.cuda.function.Module()
    module.load((binary or compile(text, arch, options=options, name=name)).cubin)
    return module


@functools.cache
def version() -> list[int]:
    """NVRTC's version; raises DeviceError where it is not installed."""
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
    """The cubin up to the end of its program headers: CuPy drops the last byte, as if it ended a string."""
    (offset,) = struct.unpack_from("<Q", cubin, 32)
    size, count = struct.unpack_from("<HH", cubin, 54)
    return cubin.ljust(offset + size * count, b"\0")


def _report(log: str) -> dict[str, Resources]:
    """Each entry's resources out of ptxas's report."""
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
