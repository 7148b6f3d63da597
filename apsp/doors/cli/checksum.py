"""Checksums of a result, comparable across schedules, machines and languages."""

from __future__ import annotations

import zlib

import numpy as np

from semiring.host.types import Array

_CHUNK = 1 << 22


def _bytes(array: Array) -> np.ndarray:
    """The entries as little-endian bytes, by rows."""
    host = array if isinstance(array, np.ndarray) else array.get()
    return np.ascontiguousarray(host, dtype=host.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)


def fletcher16(array: Array) -> int:
    """Fletcher's checksum of the array's bytes: s₁ = Σ bᵢ, s₂ = Σ (N − i) bᵢ, both mod 255; 256 s₂ + s₁.

    Fletcher 1982, "An arithmetic checksum for serial transmissions".

    >>> hex(fletcher16(np.frombuffer(b"abcde", dtype=np.uint8)))
    '0xc8f0'
    """
    data = _bytes(array)
    first = second = 0
    for start in range(0, data.size, _CHUNK):
        part = data[start : start + _CHUNK].astype(np.uint64)
        # s₂ grows by s₁ per byte, and by each byte times the bytes from it to the end of the part.
        weights = np.arange(part.size, 0, -1, dtype=np.uint64) % np.uint64(255)
        second = (second + part.size * first + int((part * weights).sum())) % 255
        first = (first + int(part.sum())) % 255
    return 256 * second + first


def crc32(array: Array) -> int:
    """CRC-32 (as in zlib and PNG) of the array's bytes.

    >>> hex(crc32(np.frombuffer(b"123456789", dtype=np.uint8)))
    '0xcbf43926'
    """
    return zlib.crc32(_bytes(array).data)
