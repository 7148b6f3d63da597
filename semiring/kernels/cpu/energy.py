"""Energy of the processors by RAPL, the counters of Intel and AMD that Linux exposes."""

from __future__ import annotations

from pathlib import Path

#: Linux' folder per processor; the folders of its parts inside are not counted again.
FOLDER = Path("/sys/class/powercap")


class Counters:
    """Joules of all processors since construction; the hardware counters wrap at a few hundred kilojoules."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._joules = 0.0
        self._last: dict[Path, int] = {}
        for processor in sorted(folder.glob("intel-rapl:*")):
            if processor.name.count(":") == 1:
                self._last[processor] = _read(processor, "energy_uj")

    def joules(self) -> float | None:
        """Joules used, None without readable counters; must be read once per wrap: every few minutes at full load."""
        try:
            for processor, last in self._last.items():
                now, end = _read(processor, "energy_uj"), _read(processor, "max_energy_range_uj")
                self._joules += (now - last if now >= last else now - last + end) * 1e-6
                self._last[processor] = now
        except (OSError, ValueError):
            return None
        return self._joules if self._last else None


def _read(processor: Path, name: str) -> int:
    return int((processor / name).read_text())


_counters: list[Counters] = []


def energy() -> float | None:
    """Joules used since the first call; None without readable counters."""
    try:
        if not _counters:
            _counters.append(Counters())
        return _counters[0].joules()
    except (OSError, ValueError):  # since 2020 only root may read them
        return None
