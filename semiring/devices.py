"""Locations of arrays: the module that takes them, and their device as the current one."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from .types import Array

#: What DLPack calls the places where we compute.
CPU, CUDA, PINNED = 1, 2, 3
#: A context that changes nothing.
UNCHANGED: AbstractContextManager[Any] = nullcontext()
#: What a computation on a GPU needs, as errors say.
INSTALL = (
    "`pip install cupy-cuda13x nvidia-cuda-nvrtc nvidia-cuda-runtime` (for CUDA 12, "
    "`pip install cupy-cuda12x nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12`)"
)


def module(array: Array) -> Any:
    """numpy or cupy: the module whose functions take this array."""
    if isinstance(array, np.ndarray):
        return np
    import cupy

    return cupy


def diagonal(matrix: Array) -> Any:
    """The diagonal of a matrix, of any size, as a view to read and write; no kernel is compiled for its indices."""
    return np.einsum("ii->i", matrix) if isinstance(matrix, np.ndarray) else matrix.diagonal()


def to_device(array: Array, device: str) -> Any:
    """A NumPy array as NumPy or CuPy, by the device's name."""
    if device == "cpu":
        return array
    import cupy

    return cupy.asarray(array)


def on_device(array: Array) -> AbstractContextManager[Any]:
    """A context in which an array's GPU is the current one, on which CuPy launches; nothing changes for the CPU.

    Parameters
    ----------
    array : array of any library, BitMatrix, or None
    """
    if array is None or type(array) is np.ndarray:
        return UNCHANGED
    if is_plain(array) and array.data.device_id == _current():
        return UNCHANGED
    number = _gpu(getattr(array, "words", array))
    if number is None:
        return UNCHANGED
    import cupy

    found: AbstractContextManager[Any] = cupy.cuda.Device(number)
    return found


def _current() -> int:
    """The number of the current GPU."""
    from cupy.cuda import runtime

    return int(runtime.getDevice())


def is_plain(array: Array) -> bool:
    """Whether this is NumPy's or CuPy's own array, of numbers or truth values: most are, and the rest takes time."""
    kind = type(array)
    supported = kind is np.ndarray or (kind.__name__ == "ndarray" and kind.__module__ == "cupy")
    return supported and array.dtype.kind in "biuf"


def read_only(array: Array) -> Any:
    """A view of an array that cannot be written to; of CuPy, which has none, the array itself."""
    if isinstance(array, np.ndarray):
        array = array.view()
        array.flags.writeable = False
    return array


def host(array: Array) -> np.ndarray:
    """A NumPy or CuPy array in main memory."""
    found: np.ndarray = array if isinstance(array, np.ndarray) else array.get()
    return found


def _gpu(array: Array) -> int | None:
    """The number of an array's GPU; None where it is elsewhere, or does not report it."""
    try:
        if hasattr(array, "__dlpack_device__"):
            kind, number = array.__dlpack_device__()
            return int(number) if kind == CUDA else None
        if hasattr(array, "__cuda_array_interface__"):
            from cupy.cuda import runtime

            return int(runtime.pointerGetAttributes(array.__cuda_array_interface__["data"][0]).device)
    except Exception:  # the other library's, which says the same when it is to export the array
        return None
    return None
