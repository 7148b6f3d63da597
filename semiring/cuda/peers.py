"""Memory from one GPU to another of this machine, each in the order of its own stream."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from . import gpu


class Offer(NamedTuple):
    """Memory of a device, to be read after an event."""

    memory: Any
    device: int
    ready: Any


def offer(memory: Any) -> Offer:
    """What the current stream has written to it by now, for other devices to fetch."""
    return Offer(memory, gpu.current(), gpu.recorded())


def take(memory: Any, offered: Offer) -> Any:
    """memory ← what another device offers, on the current stream; the event after which it has been read."""
    import cupy
    from cupy.cuda import runtime

    here, stream = gpu.current(), cupy.cuda.get_current_stream()
    stream.wait_event(offered.ready)
    if here == offered.device:
        gpu.copy(memory.data.ptr, offered.memory.data.ptr, memory.nbytes)
    else:
        _enable_access(here, offered.device)
        runtime.memcpyPeerAsync(
            memory.data.ptr, here, offered.memory.data.ptr, offered.device, memory.nbytes, stream.ptr
        )
    return gpu.recorded()


def release(taken: list[Any]) -> None:
    """The current stream goes on when all of them have been read."""
    gpu.follow(taken)


@cache
def _enable_access(here: int, peer: int) -> None:
    """Lets a device read another's memory directly, where the machine can."""
    from cupy.cuda import runtime

    if runtime.deviceCanAccessPeer(here, peer):
        try:
            runtime.deviceEnablePeerAccess(peer)
        except runtime.CUDARuntimeError as error:
            if "AlreadyEnabled" not in str(error):
                raise
