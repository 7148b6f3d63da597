"""Windows, macOS and bare Linux, simulated on Linux: imports, a closure, files, locks, archives and the command."""

from __future__ import annotations

import sys

import pytest
from processes import python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="simulates other systems on Linux")

USE = """
import anywhere
from semiring.host import memory
from semiring.kernels.cpu import processors
anywhere.closures("min_plus", "int32", (0, 1, 31))
anywhere.files()
anywhere.command()
assert processors.default_threads() >= 1 and processors.describe()
print(memory.available())
"""


def simulated(system: str, code: str) -> str:
    """What a process prints that runs the code as on a system."""
    return python(f"import systems; systems.{system}()\n{code}", env={"PYTHONWARNDEFAULTENCODING": "1"})


@pytest.mark.parametrize("system", ["windows", "macos", "bare"])
def test_what_is_machine_independent_needs_no_more_than_a_system_has(system):
    free = simulated(system, USE).split()[-1]
    assert free == "None" if system == "windows" else int(free) > 0


def test_a_simulation_removes_and_refuses(tmp_path):
    """Else the tests above would hold for nothing."""
    code = f"""
import os, sys
place = {str(tmp_path)!r}
def refused(action, *arguments):
    try:
        action(*arguments)
    except (ImportError, OSError, AttributeError, TypeError):
        return True
with open(place + "/a", "w", encoding="utf-8") as file:
    refusals = [refused(os.replace, place + "/a", place + "/b"), refused(os.unlink, place + "/a")]
    refusals += [refused(os.rename, place, place + "2")]
os.replace(place + "/a", place + "/b")
refusals += [refused(__import__, name) for name in ("fcntl", "resource", "pwd")]
refusals += [refused(lambda name=name: getattr(os, name)()) for name in ("getuid", "fork", "sysconf")]
refusals += [refused(open, "/proc/self/maps"), refused(open, "//proc/meminfo")]
refusals += [refused(__import__("ctypes").CDLL, None)]
from semiring.stores.files import locked
from pathlib import Path
lock = locked(Path(place) / "l", "l")
refusals.append(refused(locked, Path(place) / "l", "l"))
print(sys.platform, all(refusals), len(refusals))
"""
    assert simulated("windows", code).split() == ["win32", "True", "13"]
