"""CUDA C++ on the processor, for who has no GPU: a file of kernels as a program, run and counted.

`emulated.h`, `emulated.cpp`: threads of a block as fibers, in turn until they wait for one another; the tests run this
library's own kernels on them. `counted.h`, `counted.cpp`: memory of the device, faults, and what each warp asks of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...host.errors import AlgebraError, DeviceError, FormatError
from ...host.signals import undisturbed
from ...host.spelling import came
from ..cuda import cache
from .translation import for_device, misplaced, translated, without_comments

#: The text of the emulator.
FOLDER = Path(__file__).parent
#: The rows of D begin at multiples of so many entries, where `closure` takes a pitch.
PITCH = 32
#: How a program is compiled: each access to memory, index and sum of integers calls `counted.cpp`.
_FLAGS = (
    *("-std=c++17", "-O1", "-g1", "-gdwarf-4", "-w", "-fno-pie", "-ffp-contract=off", "-fno-strict-aliasing"),
    "-U_FORTIFY_SOURCE",  # a default of Ubuntu, which refuses that fibers jump between stacks
)
_CHECKED = ("-fsanitize=thread", "-fsanitize=signed-integer-overflow")
#: The architecture whose registers are told.
ARCH = "sm_80"


@dataclass(frozen=True)
class Site:
    """An instruction that reads or writes memory, and the requests of all warps by it.

    `space` is "global" or "shared"; `lanes` are the accesses of single threads, `bytes` theirs; `sectors` the pieces of
    32 bytes that the requests touch; `wavefronts` the turns of the banks of shared memory. `least`: the sectors of the
    same numbers were they neighbours, or the turns without bank conflicts.
    """

    line: int | None
    write: bool
    space: str
    requests: int
    lanes: int
    bytes: int
    sectors: int
    wavefronts: int
    least: int


@dataclass(frozen=True)
class Kernel:
    """A kernel's launches: grid and block of the last, bytes of shared memory of a block, barriers of all blocks.

    `registers` of a thread, by NVRTC for `ARCH`, or a text why they are not known.
    """

    name: str
    launches: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    blocks: int
    barriers: int
    uncounted: bool
    sites: tuple[Site, ...]
    registers: int | str = ""

    def total(self, name: str, space: str) -> int:
        """The sum of a count over the sites in that space."""
        return sum(getattr(s, name) for s in self.sites if s.space == space)


@dataclass(frozen=True)
class Run:
    """The outcome of a file: the matrix, None after a `fault`; its dtype in `closure`.

    Hazards are faults that a card may punish at another time: races, barriers that threads miss, overflow.
    """

    fault: str = ""
    matrix: np.ndarray | None = None
    dtype: str = ""
    kernels: tuple[Kernel, ...] = ()
    hazards: tuple[str, ...] = ()
    seconds: float = 0.0


def compiler() -> str:
    """The C++ compiler: $CXX, g++ or clang++; DeviceError if there is none, or the system is not Linux."""
    if not sys.platform.startswith("linux"):
        raise DeviceError(
            f"emulate: kernels run on Linux, got {sys.platform}. Use WSL on Windows, or a Linux container."
        )
    found = shutil.which(os.environ.get("CXX", "") or "g++") or shutil.which("clang++")
    if found is None:
        raise DeviceError(
            "emulate: a C++ compiler, g++ or clang++, must be installed, got neither. "
            "Install one, such as by `apt install g++`, or name it in the environment variable CXX."
        )
    return found


def run(file: Path, matrix: np.ndarray, *, limit: float = 60.0, define: Mapping[str, str] | None = None) -> Run:
    """Compile a file of CUDA C++, run its `closure` on a matrix of floats, and count.

    The file defines kernels and a function of the host, `void closure(T* D, int n)` or `void closure(T* D, int n, int
    pitch)`, which launches them; D lies on the device, in rows `pitch` apart. It runs as a process of its own, with
    the rights of the caller, and no longer than `limit` seconds. `define` holds macros by name.
    """
    path, macros = file, "".join(f"#define {name} {value}\n" for name, value in (define or {}).items())
    text = without_comments(path.read_text(encoding="utf-8-sig", errors="replace"))
    if not re.search(r"\bvoid\s+closure\s*\(", text):
        raise FormatError(
            path, None, "must define the function that launches its kernels, void closure(float* D, int n), got none"
        )
    if unused := [name for name in define or {} if not re.search(rf"\b{name}\b", text)]:
        raise FormatError(path, None, f"must use the macro {unused[0]} that is defined for it (#ifndef {unused[0]})")
    n = len(matrix)
    with tempfile.TemporaryDirectory(prefix="apsp-") as folder:
        program, given, report = (Path(folder) / name for name in ("program", "given", "report"))
        if refused := misplaced(text) or _compile(text, path, program, macros):
            return Run(refused)
        given.write_bytes(np.ascontiguousarray(matrix, np.float64).tobytes())
        command = [str(program), str(given), str(n), str(-(-n // PITCH) * PITCH), str(int(np.ceil(limit))), str(report)]
        code = _ended(command, limit + 5)
        if code is None:
            return Run(f"the time is up: it does not end within {limit:g} seconds")
        if not report.exists():
            return Run(f"it ended with exit code {code}, before its result was there")
        head, _, body = report.read_bytes().partition(b"\n\n")
        lines = _with_lines(head.decode(), program, path).split("\n")
    return _run(
        lines, _registers(for_device(text, macros), path.name), np.frombuffer(body).reshape(n if body else 0, n)
    )


def _ended(command: list[str], limit: float) -> int | None:
    """Exit code of a program, None after `limit` seconds; processes that it began end with it."""
    begun: list[subprocess.Popen[str]] = []
    start = partial(subprocess.Popen, command, stdout=2, start_new_session=True)  # its answers are the report's
    try:
        undisturbed(lambda: begun.append(start()))  # Ctrl-C finds it, or none
        return begun[0].wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        for process in begun:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _compile(text: str, path: Path, program: Path, macros: str) -> str:
    """Compile the program; returns the compiler's messages, in lines of the file, if it refuses."""
    cxx = compiler()
    bounds = "-fsanitize=array-bounds" if "clang" in Path(cxx).name else "-fsanitize=bounds"
    common, made = [cxx, *_FLAGS, f"-I{FOLDER}", f"-I{path.parent.absolute()}"], program.with_suffix(".o")
    own = [*common, *_CHECKED, bounds, "-include", "counted.h", "-fdiagnostics-color=never"]
    unit = translated(text, str(path), macros)
    done = subprocess.run(
        [*own, "-x", "c++", "-c", "-", "-o", made], input=unit, encoding="utf-8", capture_output=True, check=False
    )
    if done.returncode:
        if "close_by" in done.stderr:
            return (
                "closure must take (T* D, int n) or (T* D, int n, int pitch), where T is a number such as float or int"
            )
        return f"it does not compile\n{done.stderr.strip()}"
    runtime = [_object(name, common, program.with_name(f"{name}.o")) for name in ("emulated", "counted")]
    done = subprocess.run(  # what begins first comes first
        [cxx, "-no-pie", *runtime, made, "-o", program], encoding="utf-8", errors="replace", capture_output=True
    )
    return f"it does not link\n{done.stderr.strip()}" if done.returncode else ""


def _object(name: str, command: list[str], to: Path) -> Path:
    """A part of the runtime, compiled once a machine, without lines of its own: it lies beside the kernels of cards."""
    sources = [path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.[hc]*"))]
    version = subprocess.run([command[0], "--version"], capture_output=True, encoding="utf-8", check=True).stdout
    key = hashlib.sha256("\n".join([*_FLAGS, "-g0", version, *sources]).encode()).hexdigest()[:40]
    known = cache.load(f"{name}-{key}")
    if known is None:
        subprocess.run([*command, "-g0", "-DSTACK=(1<<18)", "-c", FOLDER / f"{name}.cpp", "-o", to], check=True)
        cache.store(f"{name}-{key}", cache.Binary("host", to.read_bytes(), {}))
    else:
        to.write_bytes(known.cubin)
    return to


def _with_lines(report: str, program: Path, path: Path) -> str:
    """The report, with lines of the file, or null, where it has addresses of instructions."""
    place, lines = re.compile(r"(?<=, )@(\d+)"), dict[str, str]()
    asked = sorted({int(pc) for pc in place.findall(report)} - {0})
    tool = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if tool is not None and asked:
        # A call returns to the instruction behind it.
        command = [tool, "-a", "-i", "-e", str(program), *(hex(pc - 1) for pc in asked)]
        said = subprocess.run(command, capture_output=True, encoding="utf-8", check=False).stdout
        for part in re.split(r"^(?=0x)", said, flags=re.MULTILINE)[1:]:
            address, _, places = part.partition("\n")
            if own := re.search(rf"(?:^|/){re.escape(path.name)}:(\d+)", places, re.MULTILINE):
                lines[str(int(address, 16) + 1)] = own[1]
    return place.sub(lambda found: lines.get(found[1], "null"), report)


def _run(report: list[str], registers: Callable[[str], int | str], matrix: np.ndarray) -> Run:
    """The report by lines, as `counted.cpp` writes it."""

    def at(line: int | None) -> str:
        return f"line {line}: " if line else ""

    (fault, line, other, dtype, seconds), *records = map(json.loads, report)
    kernels, sites, hazards = ([x[1:] for x in records if x[0] == kind] for kind in ("kernel", "site", "hazard"))
    made: list[list[Any]] = [
        [name, launches, tuple(grid), tuple(block), *counts, _sites(sites, number), registers(name)]
        for number, (name, launches, grid, block, *counts) in enumerate(kernels)
    ]
    known: dict[tuple[int, str], tuple[str, int]] = {}
    for kind, text, own, with_line, count in hazards:
        if kind == "divergent" and own == with_line:
            continue  # one in the file, several in the program
        first, before = known.get((own or 0, kind), ("", 0))
        said = f"{at(own)}{text}" + (f" (line {with_line})" if with_line else "")
        known[own or 0, kind] = first or said, before + count
    told = tuple(f"{text}; {count:,} times" if count > 1 else text for _, (text, count) in sorted(known.items()))
    fault = fault and f"{at(line) or at(other)}{fault}"
    return Run(fault, None if fault else matrix, dtype, tuple(Kernel(*k) for k in made), told, seconds)


def _sites(sites: list[list[Any]], kernel: int) -> tuple[Site, ...]:
    """Sites of a kernel, of one line together, in the order of lines."""
    together: dict[tuple[Any, ...], list[list[int]]] = defaultdict(list)
    for number, line, write, space, *counts in sites:
        if number == kernel:
            together[line or 0, write, space].append(counts)
    found = sorted(together.items())
    return tuple(Site(line or None, *of, *map(sum, zip(*counts, strict=True))) for (line, *of), counts in found)


def _registers(text: str, name: str) -> Callable[[str], int | str]:
    """The registers that NVRTC gives a kernel, or why they are not known."""
    from ..cuda.compile import compile

    report, unknown = {}, "not known of templates"
    try:
        report = compile(text, ARCH, name=name).resources
    except DeviceError:
        unknown = "NVRTC is not installed"
    except AlgebraError as error:
        why = re.search(r"\((\d+)\): error: (.*)", str(error))
        told = f"line {why[1]}: {why[2]}" if why else came(str(error))
        told = "cooperative groups are in headers of CUDA's" if "cooperative_groups" in text else told
        unknown = f"NVRTC refuses it: {told}"

    # Names in the report are those of the linker: with the name's length before it, or plain by extern "C".
    def registers(kernel: str) -> int | str:
        plain = kernel.partition("<")[0].rpartition("::")[2].strip()
        own = [r.registers for entry, r in report.items() if f"{len(plain)}{plain}" in entry or entry == kernel]
        return max(own, default=unknown)

    return registers
