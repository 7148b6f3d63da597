"""Array modules and devices: dispatch to NumPy or CuPy, and the current GPU."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

import numpy as np

from .types import Array

#: DLPack device types that are supported.
CPU, CUDA, PINNED = 1, 2, 3
#: No-op context.
UNCHANGED: AbstractContextManager[Any] = nullcontext()
#: Installation of GPU support, for errors.
INSTALL = (
    "`pip install cupy-cuda13x nvidia-cuda-nvrtc nvidia-cuda-runtime` (for CUDA 12, "
    "`pip install cupy-cuda12x nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12`)"
)


def module(array: Array) -> ModuleType:
    """numpy or cupy: the module of an array's functions."""
    if isinstance(array, np.ndarray):
        return np
    import cupy

    return cupy


def diagonal(matrix: Array) -> Array:
    """Diagonal of a matrix as a writable view; compiles no indexing kernel."""
    return np.einsum("ii->i", matrix) if isinstance(matrix, np.ndarray) else matrix.diagonal()


def to_device(array: Array, device: str) -> Array:
    """NumPy or CuPy array on a device; itself if it is there."""
    if device == "cpu":
        return host(array)
    if not isinstance(array, np.ndarray):
        return array
    import cupy

    return cupy.asarray(array)


def on_device(array: Array) -> AbstractContextManager[Any]:
    """Context manager: the GPU of an array (any library), BitMatrix or None as the current one; no-op on the CPU."""
    if array is None or type(array) is np.ndarray:
        return UNCHANGED
    if is_plain(array) and array.data.device_id == current():
        return UNCHANGED
    number = _gpu(getattr(array, "words", array))
    if number is None:
        return UNCHANGED
    import cupy

    return cupy.cuda.Device(number)


def current() -> int:
    """The number of the current GPU."""
    from cupy.cuda import runtime

    return int(runtime.getDevice())


def is_plain(array: Array) -> bool:
    """Whether this is a NumPy or CuPy array of numbers or bools: the common case, decided fast."""
    kind = type(array)
    supported = kind is np.ndarray or (kind.__name__ == "ndarray" and kind.__module__ == "cupy")
    return supported and array.dtype.kind in "biuf"


def read_only(array: Array) -> Array:
    """Read-only view; CuPy arrays, which have none, unchanged."""
    if isinstance(array, np.ndarray):
        array = array.view()
        array.flags.writeable = False
    return array


def host(array: Array) -> np.ndarray:
    return array if isinstance(array, np.ndarray) else array.get()


def _gpu(array: Array) -> int | None:
    """GPU index of an array; None if elsewhere or unknown."""
    try:
        if hasattr(array, "__dlpack_device__"):
            kind, number = array.__dlpack_device__()
            return int(number) if kind == CUDA else None
        if hasattr(array, "__cuda_array_interface__"):
            from cupy.cuda import runtime

            return int(runtime.pointerGetAttributes(array.__cuda_array_interface__["data"][0]).device)
    except Exception:  # any error of the other library, which recurs on export
        return None
    return None
