"""What the processor can do, in LLVM's words: the features that numba compiles for, and levels of processors.

A wheel carries machine code for levels, not for processors: x86-64-v2, -v3 and -v4 of the x86-64 psABI, and v4 with the
byte look-up of AVX-512 VBMI, which products of packed bits are made of; or aarch64, what all 64-bit ARMs have.
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
#: The features of each level, of an architecture the lowest first.
LEVELS = {"x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4, "x86-64-v4-vbmi": _V4 | {"avx512vbmi"}, "aarch64": _ARM}
_WIDE = frozenset({"avx512bw", "avx512dq", "avx512f", "avx512vl"})
#: The features that our own code is written differently for, here and in `bits/vectors.py`.
DECISIVE = _WIDE | {"avx2", "avx512vbmi", "ssse3"}


@cache
def features() -> frozenset[str]:
    """Those that numba compiles for: $NUMBA_CPU_FEATURES if it is set, else the host's; an ARM's NEON, named or not."""
    named = get_host_cpu_features() if config.CPU_FEATURES is None else config.CPU_FEATURES
    always = _ARM if arm() else frozenset()
    return always | {feature[1:] for feature in named.split(",") if feature.startswith("+")}


def processor() -> str:
    """LLVM's name of the processor that numba compiles for: $NUMBA_CPU_NAME if it is set, else the host's."""
    return str(config.CPU_NAME or binding.get_host_cpu_name())


def levels() -> list[str]:
    """The levels of this architecture, the lowest first."""
    return [name for name, needed in LEVELS.items() if (needed == _ARM) == arm()]


def level() -> str | None:
    """The level whose code runs here: the highest that asks for nothing that is missing.

    None where there is none, as on other architectures, or where it differs in what is decisive.
    """
    for name in reversed(levels()):
        if LEVELS[name] <= features():
            return name if LEVELS[name] & DECISIVE == features() & DECISIVE else None
    return None


def arm() -> bool:
    """Whether the processor is a 64-bit ARM, which has NEON."""
    return platform.machine().lower() in ("aarch64", "arm64")


def registers() -> int:
    """Vectors that registers hold: 32 with AVX-512 and NEON, else 16."""
    return 32 if vector_bytes() == 64 or arm() else 16


def vector_bytes() -> int:
    """The width of vectors: 64 with AVX-512, 32 with AVX2, else 16."""
    if features() >= _WIDE:
        return 64
    return 32 if "avx2" in features() else 16
