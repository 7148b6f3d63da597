"""Control groups (cgroups v1 and v2) of this process on Linux: the folders of a controller."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path


def read_text(path: str) -> str:
    """Text of a file, empty if unreadable; undecodable bytes are escaped."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def hierarchies(root: Path, controller: str) -> list[tuple[int, list[str]]]:
    """Hierarchies in which a controller counts this process: version, and folders from its own group up.

    `root`: parent of /proc and /sys. Mounts are looked up again when /proc/self/cgroup changes.
    """
    return _hierarchies(root, read_text(f"{root}/proc/self/cgroup"), controller)


@lru_cache(8)
def _hierarchies(root: Path, groups: str, controller: str) -> list[tuple[int, list[str]]]:
    own: dict[int, str] = {}
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            own[2] = path
        elif controller in controllers.split(","):
            own[1] = path
    found = []
    for line in read_text(f"{root}/proc/self/mountinfo").splitlines():
        mount, _, kind = line.partition(" - ")
        before, (system, _, options) = mount.split(), kind.split(maxsplit=2)
        version = {"cgroup": 1, "cgroup2": 2}.get(system, 0)
        if version not in own or (version == 1 and controller not in options.split(",")):
            continue
        shown_root, top = before[3], root / before[4].lstrip("/")
        try:
            inside = Path(own[version]).relative_to(shown_root)
        except ValueError:  # the process is outside the mount, or sees it under another name
            inside = Path()
        folder = top if ".." in inside.parts else top / inside
        folder = folder if folder.is_dir() else top
        found.append((version, [str(folder), *(str(p) for p in folder.parents if p.is_relative_to(top))]))
    return found
