"""The GPU's kernels of sparse eliminations on the processor, for machines without a GPU.

`emulated.h` runs the threads of a block as fibers. Arrays are NumPy's behind CuPy's names; g++ compiles the kernels.
"""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import fake_cupy
import numpy as np

HEADER = Path(__file__).parent / "emulated.h"
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


def asarray(given, dtype=None):
    if isinstance(given, ndarray) and dtype in (None, given.dtype):
        return given
    made = empty(np.shape(given), dtype or np.asarray(given).dtype)
    np.asarray(made)[...] = np.asarray(given)
    return made


def translated(text):
    """The text of a translation unit in plain C++, and its kernels."""
    marks = (
        "// C ← C ⊕ A ⊗ B: a thread block",
        "template <class V, int n> struct",
        "// S: the step. P:",
        "struct Algebra {",
    )
    words, products, steps, algebra = (text.index(mark) for mark in marks)
    text = text[:words] + text[products:steps] + text[algebra:]  # without the products of dense matrices
    for pattern, instead in (
        (r"#ifndef INFINITY\n.*\n#endif", ""),
        (r'asm\("mad\.lo.*', "sum = a * one + b;"),
        (r"__device__ inline void commit_copies.*", ""),
        (r"template <int groups>\n__device__ inline void wait_for_all_but.*", ""),
        (r"extern __shared__ .*? shared\[\];", "unsigned char* shared = emulated_shared;"),
        (r"__shared__ ", "static "),
    ):
        text = re.sub(pattern, instead, text)
    names = re.findall(r'extern "C" __global__(?: __launch_bounds__\(.*?\))? void (\w+)\(', text)
    return "\n".join(('#include "emulated.h"', text, *(f"LAUNCH({name})" for name in names)))


class Module:
    """A translation unit, compiled when a kernel of it is first launched."""

    def __init__(self, text, folder):
        self.text, self.folder, self.library = text, folder, None

    def get_function(self, name):
        return Function(self, name)

    def load(self):
        if self.library is None:
            source = translated(self.text)
            path = self.folder / f"{hashlib.sha256(source.encode()).hexdigest()[:16]}.cpp"
            path.write_text(source, encoding="utf-8")
            flags = (
                "-std=c++17",
                "-O0",
                "-w",
                "-fpermissive",
                "-fno-strict-aliasing",
                "-shared",
                "-fPIC",
                f"-I{HEADER.parent}",
            )
            subprocess.run(["g++", *flags, "-o", path.with_suffix(".so"), path], check=True)
            self.library = ctypes.CDLL(str(path.with_suffix(".so")))
        return self.library


class Function:
    """A kernel; every other launch runs the last thread of a block first."""

    launches = 0

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __call__(self, grid, block, args, shared_mem=0):
        held = [ctypes.c_int(int(x)) if isinstance(x, np.int32) else ctypes.c_longlong(int(x)) for x in args]
        given = (ctypes.c_void_p * len(held))(*map(ctypes.addressof, held))
        Function.launches += 1
        x, y = (*grid, 1)[:2]
        launch = getattr(self.module.load(), f"launch_{self.name}")
        launch(int(x), int(y), int(block[0]), int(shared_mem), given, Function.launches % 2)


@contextmanager
def installed(folder):
    """With kernels that run here; what is compiled lies in a folder. Products of dense matrices are the CPU's."""
    with fake_cupy.installed():
        cupy = sys.modules["cupy"]
        cupy.__dict__.update(ndarray=ndarray, empty=empty, asarray=asarray)
        cupy.full = lambda shape, value, dtype: asarray(np.full(shape, value, dtype))
        cupy.ascontiguousarray = lambda X: asarray(np.ascontiguousarray(np.asarray(X)))
        from semiring.cuda import compile, fronts, gpu, registry, sweep

        modules = {}
        compile.functions = lambda text, **options: modules.setdefault(text, Module(text, folder))
        compile.allow_shared = lambda function, size: None
        registry.kernels = lambda *given: SimpleNamespace(count_stars_of=lambda module: None)
        gpu.most_shared = lambda device: SHARED
        fronts.CudaBackend = sweep.CudaBackend = Dense
        yield


class Dense:
    """Verbs on dense matrices."""

    kernels = True

    def __init__(self, semiring, dtype, nonnegative):
        from semiring.backend import bind

        self._ops = bind(semiring, dtype, device="cpu")

    def matmul(self, C, A, B):
        self._ops.matmul(*(np.asarray(X) for X in (C, A, B)))

    def synchronize(self):
        pass
