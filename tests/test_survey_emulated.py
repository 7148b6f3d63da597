"""The GPU's look at entries where there is no GPU, against NumPy."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys

import emulated
import numpy as np
import pytest

from semiring.cuda import survey

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("g++") is None, reason="g++ compiles the kernels, on Linux"
)

#: What the kernel asks of CUDA beside what `emulated.h` has.
BESIDE = """
#include "emulated.h"
#undef INFINITY
static long long __double_as_longlong(double x) { return bits<long long>(x); }
static void __threadfence() {}
static unsigned atomicInc(unsigned* at, unsigned most) {
    const unsigned was = *at;
    *at = was >= most ? 0 : was + 1;
    return was;
}
"""


def compiled(dtype, folder):
    text = re.sub(r"__shared__ ", "static ", survey.text(dtype, -np.inf if dtype[0] == "f" else np.iinfo(dtype).min))
    source, library = folder / "survey.cpp", folder / "survey.so"
    source.write_text(f"{BESIDE}{text}\nLAUNCH(survey)\n", encoding="utf-8")
    # Static variables of inline functions are each library's own: their sizes differ.
    flags = ("-std=c++17", "-O0", "-w", "-fpermissive", "-fno-gnu-unique", "-shared", "-fPIC")
    subprocess.run(["g++", *flags, f"-I{emulated.HEADER.parent}", "-o", library, source], check=True)
    return ctypes.CDLL(str(library))


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
def test_a_look_sees_what_numpy_sees(dtype, tmp_path):
    """Several lengths and alignments together; what one look leaves behind is no matter to the next."""
    library, rng = compiled(dtype, tmp_path), np.random.default_rng(0)
    fields = [("least", dtype), ("greatest", dtype), ("flags", np.int32), ("zeros", np.int64)]
    kind, blocks = np.dtype(fields, align=True), 3
    assert kind.itemsize <= survey.RECORD
    records, done = np.zeros(3 * blocks, kind), np.zeros(3, np.uint32)
    for case in range(4):
        arrays = [rng.integers(-2 if case % 2 else 0, 5, size).astype(dtype)[case:] for size in (5, 900, 7000)]
        if dtype[0] == "f" and case == 2:
            arrays[1][100], arrays[2][11] = np.nan, -0.0
        result = np.zeros(3, kind)
        given = [x for A in arrays for x in (A.ctypes.data, A.size)]
        given += [x.ctypes.data for x in (result, records, done)]
        held = [ctypes.c_longlong(x) for x in given]
        places = (ctypes.c_void_p * len(held))(*map(ctypes.addressof, held))
        library.launch_survey(blocks, 3, 256, 0, places, case % 2)
        for A, seen in zip(arrays, result, strict=True):
            nan, minus_zero = np.isnan(A).any(), bool((np.signbit(A) & (A == 0)).any()) if dtype[0] == "f" else False
            if not nan:
                assert (seen["least"], seen["greatest"]) == (A.min(), A.max())
            assert seen["flags"] == nan + 2 * bool((A < 0).any()) + 4 * minus_zero
            assert seen["zeros"] == np.count_nonzero(A == 0)
        assert not done.any()
