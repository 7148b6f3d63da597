"""`world`: the ranks over which a closure is distributed."""

from __future__ import annotations

from collections.abc import Sequence

from ..host.errors import DeviceError
from ..host.spelling import came
from ..kernels.backend import cuda_available, device_of, threads_of
from .grid import Grid
from .world import Threads, World


def world(
    *,
    gpus: int | Sequence[int] | None = None,
    ranks: int | None = None,
    mpi: bool = False,
    device: str | None = None,
    grid: Grid | str | None = None,
    threads: int | None = None,
) -> World:
    """Ranks of a grid; give exactly one of `gpus`, `ranks` and `mpi`.

    Parameters
    ----------
    gpus : int or sequence of int, optional
        Number of GPUs of this machine, or their indices; a thread of this process drives each.
    ranks : int, optional
        Number of threads of this process on the host.
    mpi : bool
        Processes started by mpiexec (or Slurm's srun), including this one.
    device : {"cpu", "cuda"}, optional
        Device of MPI processes; by default GPUs if this machine has one.
    grid : Grid or str, optional
        Such as "2x4"; by default the squarest.
    threads : int, optional
        CPU threads of each host rank; by default the processors divided by the ranks.

    Raises
    ------
    DeviceError, ValueError
        If GPUs or mpi4py are missing, or `threads` is no positive integer; if the grid has another number of ranks, or
        `device` is given without `mpi`.
    """
    if (gpus is not None) + (ranks is not None) + mpi != 1:
        raise ValueError(
            f"world: give one of gpus, ranks and mpi, got gpus={came(gpus)}, ranks={came(ranks)}, mpi={came(mpi)}."
        )
    if device is not None and not mpi:
        raise ValueError(f"world: device= is of mpi=True, got device={came(device)}. Say gpus= for GPUs, or ranks=.")
    if threads is not None:
        threads_of(threads, "world")
    shape = Grid.parse(grid) if isinstance(grid, str) else grid
    if mpi:
        from .processes import Processes

        return Processes(shape, device_of(None, device or ("cuda" if cuda_available() else "cpu")), threads)
    devices = None if gpus is None else _devices(gpus)
    count = ranks if devices is None else len(devices)
    assert count is not None
    shape = shape or Grid.of(count)
    if shape.size != count:
        raise ValueError(f"world: a grid of {count} ranks is required, got {shape}.")
    if devices is None and threads is None:
        threads = threads_of(None, "world") // count or 1
    return Threads(shape, devices, threads)


def _devices(gpus: int | Sequence[int]) -> tuple[int, ...]:
    device_of(None, "cuda")  # raises an error that says what is missing
    from ..kernels.cuda import gpu

    available = gpu.count()
    wanted = tuple(range(gpus)) if isinstance(gpus, int) else tuple(int(d) for d in gpus)
    if not wanted or len(set(wanted)) < len(wanted) or not all(0 <= d < available for d in wanted):
        raise DeviceError(f"gpus: different ones of the {available} GPUs of this machine are required, got {gpus!r}.")
    return wanted
