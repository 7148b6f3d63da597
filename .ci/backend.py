"""How wheels are built: hatchling's way, and with machine code, for which the build needs numba beside it.

It is compiled into build/machine_code, for this processor's level or those that $SEMIRING_LEVELS names, none if that is
empty. An editable installation has none, and compiles on first use; so does a wheel whose build could not compile.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

# Under pip, hatchling tells metadata by building a wheel, as hooks may change them. Ours does not, and takes a minute.
_pip = os.environ.pop("PIP_BUILD_TRACKER", None)
from hatchling import build
from hatchling.build import *  # noqa: F403
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

if _pip is not None:
    os.environ["PIP_BUILD_TRACKER"] = _pip

ROOT = Path(__file__).resolve().parent.parent


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Packages that build a wheel: kernels are compiled, so NumPy and numba too, in the versions that will run them."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    compiling = [package for package in wanted if re.split(r"[^\w-]", package)[0] in ("numpy", "numba")]
    return [*build.get_requires_for_build_wheel(config_settings), *(compiling if _levels() else [])]


def _levels() -> list[str]:
    return os.environ.get("SEMIRING_LEVELS", "host").split()


class MachineCode(BuildHookInterface):
    """Adds machine code to a wheel, and the tag of where it runs: where numba's own wheel does."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a wheel is put together; `version` is "editable" for one that only points here."""
        levels = _levels()
        if version == "editable" or not levels:
            return
        folder = ROOT / "build" / "machine_code" / str(sys.implementation.cache_tag)
        script = [sys.executable, str(ROOT / ".ci" / "machine_code.py"), str(folder), *levels]
        done = subprocess.run(script, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            self.app.display_warning("No machine code could be compiled for this wheel: kernels compile on first use.")
            return
        for level in done.stdout.split():
            build_data["force_include"][str(folder / level)] = f"semiring/kernels/cpu/shipped/{level}"
            build_data |= {"pure_python": False, "infer_tag": True} | _tag()


def _tag() -> dict[str, str]:
    """Numba's: the Python and the systems for which it compiles. Nothing where it does not say, as conda's does not."""
    about = distribution("numba").read_text("WHEEL") or ""
    tags = [line.removeprefix("Tag: ").split("-") for line in about.splitlines() if line.startswith("Tag: ")]
    return {"tag": "-".join(".".join(sorted(set(part))) for part in zip(*tags, strict=True))} if tags else {}
