"""Stream-ordered copies between GPUs of one machine."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ...host.types import Array
from . import gpu
from .library import cuda, cupy


class Sent(NamedTuple):
    """Device memory that others may read after an event."""

    memory: Array
    device: int
    ready: Any


def send(memory: Array) -> Sent:
    """Current contents of memory, for other devices to read."""
    return Sent(memory, gpu.current(), gpu.recorded())


def receive(memory: Array, sent: Sent) -> Any:
    """memory ← what another device sent, on the current stream; returns the event after the read."""
    here, stream = gpu.current(), cupy.cuda.get_current_stream()
    stream.wait_event(sent.ready)
    if here == sent.device:
        gpu.copy(memory.data.ptr, sent.memory.data.ptr, memory.nbytes)
    else:
        _enable_access(here, sent.device)
        cuda.runtime.memcpyPeerAsync(
            memory.data.ptr, here, sent.memory.data.ptr, sent.device, memory.nbytes, stream.ptr
        )
    return gpu.recorded()


wait = gpu.follow


@cache
def _enable_access(here: int, peer: int) -> None:
    if cuda.runtime.deviceCanAccessPeer(here, peer):
        try:
            cuda.runtime.deviceEnablePeerAccess(peer)
        except cuda.runtime.CUDARuntimeError as error:
            if "AlreadyEnabled" not in str(error):
                raise
