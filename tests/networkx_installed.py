"""NetworkX in a process of its own, with this source tree as an installed backend: what pip would write is written."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run(arguments: list[str], directory: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`python ARGUMENTS`, where importlib.metadata finds the entry points of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = directory / "semiring_apsp-0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: semiring-apsp\nVersion: 0\n")
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    path = os.pathsep.join([str(directory), str(ROOT)])
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=directory,
        env=os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"} | environment,
    )  # fmt: skip
