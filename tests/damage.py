"""Damaged files: cut short, with bytes changed, with pieces missing. They are refused, or read as what was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from semiring import FormatError


def check_damaged(path: Path, reads_the_same: Callable[[], bool]) -> None:
    """Damage the file in some hundred ways; whenever it is read all the same, what is read must be what was written."""
    refused = tried = 0
    for damaged in _damaged(path.read_bytes()):
        path.write_bytes(damaged)
        tried += 1
        try:
            assert reads_the_same()
        except FormatError as error:
            assert str(path) in str(error)  # noqa: PT017 (it need not be raised)
            refused += 1
    assert refused > tried // 2


def _damaged(whole: bytes) -> Iterator[bytes]:
    rng = np.random.default_rng(0)
    yield b""
    for cut in rng.integers(0, len(whole), 50).tolist():
        yield whole[:cut]
        yield whole[: cut // 2] + whole[cut:]
    directory = whole.rindex(b"PK\x01\x02")
    for low, high, count in ((0, len(whole), 200), (directory, len(whole), 100)):
        for at in rng.integers(low, high, count).tolist():
            yield whole[:at] + bytes([whole[at] ^ (1 << int(rng.integers(8)))]) + whole[at + 1 :]
