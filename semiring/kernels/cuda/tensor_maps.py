"""Tensor maps for the GPU's copy engine (TMA)."""

from __future__ import annotations

import ctypes
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ...host.errors import DeviceError

_TENSOR_MAP = np.dtype([("opaque", np.uint8, 128)])


@lru_cache(4096)
def tensor_map(address: int, pitch: int, width: int, rows: int, box: int) -> np.ndarray:
    """The 128-byte tensor map for boxes of 128 bytes × `box` rows, with 128-byte swizzle.

    For `rows` rows of `width` bytes, `pitch` bytes apart; reads outside give zeros. CUDA driver API,
    cuTensorMapEncodeTiled. Raises DeviceError if the driver refuses.
    """
    padded = np.zeros(192, np.uint8)
    start = -padded.ctypes.data % 64  # required alignment
    found = padded[start : start + 128]
    none, byte, swizzle_128, promote_256 = 0, 0, 3, 3
    error = _driver().cuTensorMapEncodeTiled(
        ctypes.c_void_p(found.ctypes.data),
        ctypes.c_int(byte),
        ctypes.c_uint32(2),
        ctypes.c_void_p(address),
        (ctypes.c_uint64 * 2)(width, rows),
        (ctypes.c_uint64 * 1)(pitch),
        (ctypes.c_uint32 * 2)(128, box),
        (ctypes.c_uint32 * 2)(1, 1),
        ctypes.c_int(none),
        ctypes.c_int(swizzle_128),
        ctypes.c_int(promote_256),
        ctypes.c_int(none),
    )
    if error:
        raise DeviceError(
            f"cuda: the driver must accept a map of {rows} rows of {width} bytes, {pitch} apart, at {address:#x}, "
            f"got CUDA error {error}. Rows must begin at multiples of 16 bytes."
        )
    return found.view(_TENSOR_MAP)  # one element, passed by value


@cache
def _driver() -> Any:
    return ctypes.CDLL("nvcuda.dll" if hasattr(ctypes, "WinDLL") else "libcuda.so.1")
