"""The GPU's kernels on the processor, for machines without a GPU.

`semiring/kernels/emulated` runs the threads of a block as fibers. Arrays are NumPy's
behind CuPy's names; g++ compiles the kernels.
"""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import fake_cupy
import numpy as np

from semiring.dense.bits import BitMatrix

EMULATOR = Path(__file__).parents[1] / "semiring" / "kernels" / "emulated"
HEADER, RUNTIME = Path(__file__).with_name("instructions.h"), EMULATOR / "emulated.cpp"
#: What a range of pages may be used for, as the C library says it.
PROTECT = getattr(ctypes.CDLL(None), "mprotect", None)
#: Bytes of shared memory that a block of an H200 may have.
SHARED = 227 << 10


class ndarray(np.ndarray):
    """A NumPy array that says that it lies on a device."""

    __module__ = "cupy"

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data, device_id=0)

    def get(self):
        return np.array(self)

    def searchsorted(self, values, side="left"):
        return asarray(np.searchsorted(np.asarray(self), np.asarray(values), side))


def empty(shape, dtype=float):
    """At a multiple of 32 bytes, less than 32 before a page that nobody may touch; no number yet."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    held = np.frombuffer(mmap.mmap(-1, room + mmap.PAGESIZE), np.uint8)
    PROTECT(ctypes.c_void_p(held.ctypes.data + room), ctypes.c_size_t(mmap.PAGESIZE), 0)
    start = (room - size) // 32 * 32
    held[start : start + size] = 0x5C
    return held[start : start + size].view(dtype).reshape(shape).view(ndarray)


def reserved(size):
    """So many bytes of zeros, of which those pages take memory that are written."""
    no_reserve = 0x4000
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve
    return np.frombuffer(mmap.mmap(-1, size, flags), np.uint8)


def asarray(given, dtype=None):
    if isinstance(given, ndarray) and dtype in (None, given.dtype):
        return given
    made = empty(np.shape(given), dtype or np.asarray(given).dtype)
    np.asarray(made)[...] = np.asarray(given)
    return made


#: What an instruction is in C++, of its operands in their order: those that it writes first.
INSTRUCTIONS = {
    "": "",
    "mad.lo.u32": "{0} = {1} * {2} + {3}",
    "mov.u32": "{0} = threadIdx.x",
    "ex2.approx.ftz.f32": "{0} = exp2f({1})",
    "rcp.approx.ftz.f32": "{0} = 1 / ({1})",
    "cvt.rn.f16.f32": "{0} = emulated::to_half({1})",
    "cvt.f32.f16": "{0} = emulated::from_half({1})",
    "cvt.rn.bf16.f32": "{0} = emulated::to_bfloat({1})",
    "cp.async.cg.shared.global [%0], [%1], 16;": "emulated::copy(shared, global, 16, 16)",
    "cp.async.ca.shared.global": "emulated::copy(shared, global, {2}, {2})",
    "cp.async.cg.shared.global [%0], [%1], 16, %2;": "emulated::copy(emulated::shared + ({0}), {1}, 16, {2})",
    "cp.async.commit_group": "emulated::commit()",
    "cp.async.wait_all": "emulated::commit(), emulated::wait(0)",
    "cp.async.wait_group": "emulated::wait({0})",
    "ld.acquire.gpu.u32": "{0} = emulated::look({1})",
    "st.release.gpu.u32": "*({0}) = {1}",
    "red.release.gpu.add.u32": "*({0}) += {1}",
    "bar.sync 1": "emulated::meet(1, {0}, HERE)",
    "bar.sync 2": "emulated::meet(2, {0}, HERE)",
    "cvt.pack.sat.s2.s32.b32": "{0} = emulated::pack_pair({1}, {2}, {0})",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16": "emulated::load_matrices({0}, {1}, {2}, {3}, {4})",
    "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc": (
        "emulated::multiply_bits({0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9})"
    ),
}


def instruction(found):
    """An `asm` statement in C++."""
    text, operands = "".join(re.findall(r'"([^"]*)"', found["text"])), []
    for start in re.finditer(r'"[+=]?\w+"\(', found["operands"]):
        depth, stop = 1, start.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(found["operands"][stop], 0)
            stop += 1
        operands.append(found["operands"][start.end() : stop - 1])
    if text.startswith("cp.async.wait_group") and not operands:
        operands = [text.split()[1].rstrip(";")]
    name = max((name for name in INSTRUCTIONS if text.startswith(name)), key=len)
    assert bool(name) == bool(text), f"no such instruction: {text}"
    return INSTRUCTIONS[name].format(*operands) + ";"


ASM = re.compile(r'asm(?: volatile)?\((?P<text>(?:\s*"[^"]*")+)(?P<operands>(?:[^;"]|"[^"]*")*)\);')
BOUNDS = r"(?:__launch_bounds__\((?:[^()]|\([^()]*\))*\)\s+)?"
KERNEL = re.compile(rf'extern "C" __global__\s+{BOUNDS}void\s+{BOUNDS}(\w+)\(')


def translated(text):
    """The text of a translation unit in plain C++."""
    text = re.sub(r"#(ifndef|define) INFINITY.*\n(#define INFINITY.*\n#endif)?", "", text)
    text = ASM.sub(instruction, text)
    text = re.sub(
        r"extern __shared__ (?:__align__\(\d+\) )?([\w ]+?) (\w+)\[\];",
        r"\1* \2 = reinterpret_cast<\1*>(emulated::shared);",
        text,
    )
    # Blocks that run by turns have variables of their own.
    section = '__attribute__((section("shared_variables"))) ' if "unsigned* arrived" in text else ""
    text = text.replace("__shared__ ", f"static {section}")
    return "\n".join(('#include "instructions.h"', text, *(f"LAUNCH({name})" for name in KERNEL.findall(text))))


class Module:
    """A translation unit, compiled when a kernel of it is first launched."""

    def __init__(self, text, folder):
        self.text, self.folder, self.library = text, folder, None

    def get_function(self, name):
        return Function(self, name)

    def get_global_var(self, name):
        return ctypes.addressof(ctypes.c_uint.in_dll(self.load(), name))

    def load(self):
        if self.library is None:
            self.library = ctypes.CDLL(str(built(translated(self.text), self.folder)))
        return self.library


#: How g++ compiles; with -O1 it would take half as long again, with -O0 kernels twice as long.
FLAGS = (
    "-std=c++17",
    "-fno-gnu-unique",  # static variables of inline functions are each library's own: their sizes differ
    "-Og",
    "-U_FORTIFY_SOURCE",  # a default of Ubuntu, which refuses jumps between stacks
    "-w",
    "-fpermissive",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-fPIC",
    "-DSTACK=(1<<16)",
    f"-DPAGE={mmap.PAGESIZE}",
    f"-I{EMULATOR}",
)


def built(source, folder):
    """The library of a translation unit; once for all tests that share the folder."""
    common = runtime(folder)
    command = [
        *("-shared", "-Wl,-Bsymbolic", f"-I{common}", f"-I{HEADER.parent}"),
        *(common / "emulated.o", "-x", "c++", "-"),
    ]
    return compiled(folder / f"{digest(common.name, source)}.so", command, source)


def runtime(folder):
    """Where g++ finds what all translation units share: the header half compiled, and the fibers."""
    common = folder / digest(*FLAGS, *(path.read_text() for path in (HEADER, RUNTIME, EMULATOR / "emulated.h")))
    common.mkdir(exist_ok=True)
    compiled(common / f"{HEADER.name}.gch", ["-x", "c++-header", HEADER])
    return compiled(common / "emulated.o", ["-DHOOKS", "-include", HEADER, "-c", RUNTIME]).parent


def digest(*texts):
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def compiled(path, command, source=""):
    """The file of that path, by g++ unless it exists."""
    if not path.exists():
        mine = path.with_suffix(f".{os.getpid()}")
        subprocess.run(["g++", *FLAGS, *command, "-o", mine], input=source, encoding="utf-8", check=True)
        mine.replace(path)
    return path


#: As what C takes a NumPy scalar.
TYPES = {np.int32: ctypes.c_int, np.float32: ctypes.c_float, np.float64: ctypes.c_double}


class Function:
    """A kernel; every other launch runs the last thread of a block first."""

    launches, ptr = 0, 1

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __call__(self, grid, block, args, shared_mem=0, *, enable_cooperative_groups=False, first=0):
        """`first`: of the blocks, the one before which none runs."""
        args = [x.data.ptr if isinstance(x, np.ndarray) else x for x in args]
        held = [TYPES[type(x)](x.item()) if type(x) in TYPES else ctypes.c_longlong(int(x)) for x in args]
        given = (ctypes.c_void_p * len(held))(*map(ctypes.addressof, held))
        Function.launches += 1
        sizes = (ctypes.c_uint * 3)(*map(int, (*grid, 1, 1)[:3]))
        launch = getattr(self.module.load(), f"launch_{self.name}")
        flags = Function.launches % 2, int(enable_cooperative_groups), int(first)
        launch(sizes, int(block[0]), int(shared_mem), given, *flags)


def memcpy_rows(to, to_apart, source, apart, width, rows, kind, stream=0):
    for i in range(rows):
        ctypes.memmove(to + i * to_apart, source + i * apart, width)


def alloc(size):
    held = empty(-(-size // 32) * 32, np.uint8)
    return fake_cupy.Memory(held, held.ctypes.data)


def filled(value):
    """`cupy.zeros` and its like."""

    def make(shape, dtype=float):
        made = empty(shape, dtype)
        made[...] = value
        return made

    return make


def _numpys(function, *given, **options):
    return asarray(function(*given, **options))


@contextmanager
def installed(folder, *, dense=True):
    """With kernels that run here; what is compiled lies in a folder. Where `dense`, products of matrices too."""
    there = property(lambda X: not isinstance(X.words, ndarray))
    with fake_cupy.installed(), mock.patch.object(BitMatrix, "_on_cpu", there):
        cupy = sys.modules["cupy"]
        cupy.__dict__.update(ndarray=ndarray, empty=empty, asarray=asarray, zeros=filled(0))
        cupy.full = lambda shape, fill_value, dtype: asarray(np.full(shape, fill_value, dtype))
        cupy.arange = lambda *given, **kind: asarray(np.arange(*given, **kind))
        cupy.concatenate = lambda given, axis=0: asarray(np.concatenate(given, axis))
        cupy.cumsum = lambda X, dtype=None: asarray(np.cumsum(X, dtype=dtype))
        cupy.empty_like = lambda X: empty(X.shape, X.dtype)
        cupy.argsort = lambda X, kind: asarray(np.argsort(X, kind=kind))
        cupy.bincount = lambda X, minlength: asarray(np.bincount(X, minlength=minlength))
        cupy.asnumpy = np.array
        for name in ("flatnonzero", "searchsorted", "where", "stack"):
            setattr(cupy, name, partial(_numpys, getattr(np, name)))
        cupy.ascontiguousarray = lambda X, dtype=None: asarray(np.ascontiguousarray(np.asarray(X), dtype))
        cupy.cuda.alloc = sys.modules["cupy.cuda"].alloc = alloc
        cupy.cuda.runtime.memcpy2DAsync = memcpy_rows
        from semiring.kernels.cuda import compile, gpu
        from semiring.kernels.cuda.dense import registry
        from semiring.kernels.cuda.routes import levelled
        from semiring.kernels.cuda.sparse import fronts, sweep

        levelled.multiply = lambda X, Y: _numpys(np.matmul, X.astype(np.float32), Y.astype(np.float32))
        modules = {}
        compile.functions = lambda text, **options: modules.setdefault(text, Module(text, folder))
        compile.allow_shared = lambda function, size: None
        gpu.most_shared = lambda device: SHARED
        if not dense:
            registry.kernels = lambda *given: SimpleNamespace(count_stars_of=lambda module: None)
            fronts.CudaBackend = sweep.CudaBackend = Dense
        yield


class Dense:
    """Verbs on dense matrices."""

    kernels = True

    def __init__(self, semiring, dtype, nonnegative):
        from semiring.kernels.backend import bind

        self._ops = bind(semiring, dtype, device="cpu")

    def matmul(self, C, A, B):
        self._ops.matmul(*(np.asarray(X) for X in (C, A, B)))

    def synchronize(self):
        pass
