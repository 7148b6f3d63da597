"""A notebook for each part of the lab, complete in itself: for Jupyter, VS Code, Colab.

    python examples/lab/notebooks.py notebooks/ --package "semiring-apsp @ file:///home/me/semiring-apsp"

Its first cell installs the package, as pip names it: this clone by default, which takes a minute each time; a wheel of
it (`pip wheel --no-deps . -w wheels`) takes it once. Then come the task, its tests, what is to be written, and a cell
that runs the tests. Part 8 runs its kernel on the processor, so that no notebook needs a GPU;
its last cell times it on a card, and is skipped where there is none.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from pathlib import Path
from typing import Any

LAB = Path(__file__).parent
#: Milliseconds of a kernel on a card beside the naive kernel's and the prediction.
TIMED = """\
from apsp import DeviceError, emulate, random_graph

try:
    print(emulate("mine.cu", random_graph(64, 20, seed=64), "max_min", measure=4096))
except DeviceError as error:
    print(f"Skipped: {error}")
"""


def task(path: Path) -> str:
    """What the file says of itself at its beginning, without how to run it in a clone."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        told = ast.get_docstring(ast.parse(text)) or ""
    else:
        told = "\n".join(line[2:].removeprefix(" ") for line in text.splitlines() if line.startswith("//"))
    return "## " + re.sub(r"(\n +(pytest|apsp) .*)+", "", told)


def notebook(part: Path, package: str) -> dict[str, Any]:
    """The notebook of a folder, in Jupyter's format 4.5."""
    tests = part / f"test_{part.name}.py"
    (own,) = (path for path in part.iterdir() if path.is_file() and path != tests)
    written = (LAB / "conftest.py", tests, own)
    cells = [
        ("code", f'%pip install -q pytest "{package}"'),
        ("markdown", task(own)),
        *(("code", f"%%writefile {path.name}\n{path.read_text(encoding='utf-8')}") for path in written),
        ("code", f"!python -m pytest -q --tb=short {tests.name}"),
    ]
    if own.suffix == ".cu":
        cells.append(("code", TIMED.rstrip()))
    code = {"execution_count": None, "outputs": []}
    return {
        "cells": [
            {"cell_type": kind, "id": f"cell-{k:02}", "metadata": {}, "source": text.splitlines(keepends=True)}
            | (code if kind == "code" else {})
            for k, (kind, text) in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where they are written")
    parser.add_argument("--package", default=str(LAB.parents[1].absolute()), help="what pip installs")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for part in sorted(LAB.glob("part?")):
        text = json.dumps(notebook(part, args.package), indent=1, ensure_ascii=False)
        (args.folder / f"{part.name}.ipynb").write_text(f"{text}\n", encoding="utf-8")
        print(args.folder / f"{part.name}.ipynb")


if __name__ == "__main__":
    main()
