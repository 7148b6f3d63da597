"""The same numbers as memory may hold them, on the host and on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from .draw import Draw


def layout(draw: Draw, A: np.ndarray, device: str) -> Any:
    """The same numbers as memory may hold them; `A` itself is left alone."""
    how = draw.pick(("C", "Fortran", "step", "window", "reversed", "read-only", "swapped", "unaligned", "list"))
    draw.note(layout=how)
    out: Any = A.copy()
    if how == "Fortran":
        out = np.asfortranarray(A)
    elif how == "step":
        wide = np.zeros((*A.shape[:-1], 2 * A.shape[-1] + 3), A.dtype)
        wide[..., 1 : 2 * A.shape[-1] + 1 : 2] = A
        out = wide[..., 1 : 2 * A.shape[-1] + 1 : 2]
    elif how == "window":
        tall = np.zeros(tuple(size + 5 for size in A.shape), A.dtype)
        inside = tuple(slice(2, 2 + size) for size in A.shape)
        tall[inside] = A
        out = tall[inside]
    elif how == "reversed":
        out = np.ascontiguousarray(A[..., ::-1])[..., ::-1]
    elif how == "read-only":
        out.flags.writeable = False
    elif how == "swapped" and device == "cpu":
        out = A.astype(A.dtype.newbyteorder())
    elif how == "unaligned" and device == "cpu":
        raw = np.zeros(A.nbytes + 1, np.uint8)
        out = raw[1:].view(A.dtype).reshape(A.shape)
        out[...] = A
    elif how == "list" and A.size and A.size < 100 and A.dtype in (np.float64, np.int64, np.bool_):
        return A.tolist()
    return out


def host(array: Any) -> np.ndarray:
    """On the host, wherever it lies."""
    return array if isinstance(array, np.ndarray) else array.get()


def place(draw: Draw, view: Any, device: str) -> Any:
    """On a GPU, half of the arrays lie there already, with the strides that they have here."""
    if device == "cpu" or isinstance(view, list) or not draw.chance(50):
        return view
    import cupy

    base = cupy.empty(view.shape, view.dtype, order="F" if view.flags.f_contiguous else "C")
    base[...] = cupy.asarray(np.ascontiguousarray(view))
    if view.ndim and draw.chance(30):
        wide = cupy.zeros((*view.shape[:-1], 2 * view.shape[-1] + 1), view.dtype)
        wide[..., 1::2] = base
        base = wide[..., 1::2]
    draw.note(lies="on the GPU")
    return base
