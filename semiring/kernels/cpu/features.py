"""Processor features in LLVM's terms: what numba compiles for, and processor levels.

Wheels carry machine code per level, not per processor: x86-64-v2, -v3 and -v4 of the x86-64 psABI, and v4 with the byte
look-up of AVX-512 VBMI, the core of packed bit products; or aarch64, the common base of 64-bit ARMs.
"""

from __future__ import annotations

import platform
from functools import cache

from llvmlite import binding
from numba.core import config
from numba.core.codegen import get_host_cpu_features

_V2 = frozenset("64bit cmov cx8 cx16 fxsr mmx popcnt sahf sse sse2 sse3 sse4.1 sse4.2 ssse3".split())
_V3 = _V2 | frozenset("avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave".split())
_V4 = _V3 | frozenset("avx512bw avx512cd avx512dq avx512f avx512vl".split())
_ARM = frozenset({"fp-armv8", "neon"})
#: Features of each level, ascending within an architecture.
LEVELS = {"x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4, "x86-64-v4-vbmi": _V4 | {"avx512vbmi"}, "aarch64": _ARM}
_WIDE = frozenset({"avx512bw", "avx512dq", "avx512f", "avx512vl"})
#: Features that select code, here and in `bits/vectors.py`.
DECISIVE = _WIDE | {"avx2", "avx512vbmi", "ssse3"}


@cache
def features() -> frozenset[str]:
    """Features that numba compiles for: $NUMBA_CPU_FEATURES or the host's; always NEON on ARM."""
    named = get_host_cpu_features() if config.CPU_FEATURES is None else config.CPU_FEATURES
    always = _ARM if arm() else frozenset()
    return always | {feature[1:] for feature in named.split(",") if feature.startswith("+")}


def processor() -> str:
    """LLVM's name of the processor that numba compiles for: $NUMBA_CPU_NAME or the host's."""
    return str(config.CPU_NAME or binding.get_host_cpu_name())


def levels() -> list[str]:
    return [name for name, needed in LEVELS.items() if (needed == _ARM) == arm()]


def level() -> str | None:
    """The highest level whose features are all present, or None, also if a decisive feature differs."""
    for name in reversed(levels()):
        if LEVELS[name] <= features():
            return name if LEVELS[name] & DECISIVE == features() & DECISIVE else None
    return None


def arm() -> bool:
    return platform.machine().lower() in ("aarch64", "arm64")


def registers() -> int:
    """Number of vector registers: 32 with AVX-512 and NEON, else 16."""
    return 32 if vector_bytes() == 64 or arm() else 16


def vector_bytes() -> int:
    """Vector width in bytes: 64 with AVX-512, 32 with AVX2, else 16."""
    if features() >= _WIDE:
        return 64
    return 32 if "avx2" in features() else 16
