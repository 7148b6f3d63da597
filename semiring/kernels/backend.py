"""Device dispatch: the device of an array, and `bind`, which returns a backend's verbs.

A backend is a folder next to `cpu/`, and an entry of `BACKENDS`.
"""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from typing import Any

import numpy as np

from ..algebra.records import Semiring
from ..host.compiling import uncounted
from ..host.devices import INSTALL, current
from ..host.errors import DeviceError
from ..host.spelling import came
from ..host.types import Array, DType
from .contract import Backend
from .cpu.processors import threads_of

__all__ = ["BACKENDS", "Backend", "bind", "cuda_available", "describe", "device_of", "threads_of"]

#: Backend module by device; its `bind(semiring, dtype, nonnegative=…)` returns a Backend.
BACKENDS = {"cpu": "semiring.kernels.cpu.binding", "cuda": "semiring.kernels.cuda.binding"}

_INTERFACE = "__cuda_array_interface__"


def cuda_available() -> bool:
    """Whether CuPy is installed and sees a GPU. (`import cupy` alone works without one.)"""
    try:
        import cupy
    except ImportError:
        return False
    try:
        return bool(cupy.cuda.is_available())
    except Exception:  # a broken driver raises whatever it likes; the answer is the same
        return False


def describe(device: str) -> str:
    """Human-readable processor or GPU: model, memory, clock; or why there is none."""
    return _module(device).describe()


def machine_code() -> str:
    """The processor's level, the kernels that a wheel brought for it, and where others are kept."""
    return importlib.import_module("semiring.kernels.cpu.compile").described()


def device_of(array: Array, device: str | None = None) -> str:
    """Device to compute on: requested, else the array's; DeviceError if unknown or missing."""
    if device is None:
        if isinstance(array, np.ndarray):
            return "cpu"
        # Type first: CuPy's property is slow, as it describes the array.
        return "cuda" if hasattr(type(array), _INTERFACE) or hasattr(array, _INTERFACE) else "cpu"
    kind, colon, number = str(device).partition(":")  # as PyTorch spells it
    if kind not in BACKENDS or number.isdecimal() != bool(colon) or (kind == "cpu" and number not in ("", "0")):
        raise DeviceError(f"device must be one of {', '.join(BACKENDS)}, got {came(device)}.")
    if kind == "cuda" and not cuda_available():
        raise DeviceError(
            "device='cuda' needs an NVIDIA GPU and CuPy, got a machine without. Where there is a GPU, install CuPy: "
            f"{INSTALL}; else use device='cpu'."
        )
    if kind == "cuda" and number and int(number) != current():
        raise DeviceError(
            f"device must be the current one, got {came(device)}. Say `with cupy.cuda.Device({number}):` "
            "around the call."
        )
    return kind


@cache
def _module(device: str) -> Any:
    with uncounted:
        return importlib.import_module(BACKENDS[device])


@cache
def _options(module: Any) -> tuple[str, ...]:
    """Keyword options of a backend's `bind`."""
    parameters = inspect.signature(module.bind).parameters.values()
    return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)


def bind(
    semiring: Semiring, dtype: DType, *, device: str = "cpu", nonnegative: bool = False, **options: Any
) -> Backend:
    """Verbs of a backend for one semiring and dtype.

    nonnegative: the data were surveyed and have no entry below 0 other than the semiring's zero, which permits
    variants. options: the backend's own, such as `threads=1` on the CPU; DeviceError for unknown ones.
    """
    module = _module(device)
    if options.get("threads", 1) is None:  # as if left out: a GPU has no such option
        del options["threads"]
    if options:
        known = _options(module)
        foreign = ", ".join(name for name in options if name not in known)
        if foreign:
            raise DeviceError(
                f"options: those of the {device} backend are {', '.join(known)}, got {foreign}. Leave it out."
            )
    return module.bind(semiring, np.dtype(dtype), nonnegative=nonnegative, **options)
