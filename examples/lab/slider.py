"""Every matrix on the way of three schedules, side by side, in one HTML file with a slider.

    python examples/lab/slider.py examples/six.named --block 2 --output steps.html

Framed red: the block that a step writes; blue: those that it reads. Bold: entries that it changes. The file needs no
network and no program but a browser.
"""

from __future__ import annotations

import argparse
import json
from html import escape
from pathlib import Path
from typing import Any

from apsp import closure, read
from semiring.host.errors import SemiringError

SCHEDULES = ("iterative", "blocked", "recursive")


def recorded(graph: Any, schedule: str, block: int) -> dict[str, Any]:
    """The steps of a schedule, as texts and numbers."""
    _, steps = closure(graph, steps=True, schedule=schedule, block=None if schedule == "iterative" else block)
    return {
        "name": schedule if schedule == "iterative" else f"{schedule}, blocks of {block}",
        "labels": [str(label) for label in steps.labels],
        "steps": [
            {
                "title": step.title,
                "cells": [
                    [cell.rstrip("*") for cell in row.rsplit(None, len(steps.labels))[1:]]
                    for row in printed.splitlines()[2:]
                ],
                "changed": step.changed.tolist(),
                "written": [[r.start, r.stop, c.start, c.stop] for r, c in step.written],
                "read": [[r.start, r.stop, c.start, c.stop] for r, c in step.read],
            }
            for step, printed in zip(steps, str(steps).split("\n\n")[1:], strict=True)
        ],
    }


PAGE = """<!doctype html>
<meta charset="utf-8"><title>TITLE</title>
<style>
  body { font: 15px sans-serif; margin: 2em }
  #all { display: flex; flex-wrap: wrap; gap: 3em }
  table { border-collapse: collapse; margin-top: 1em }
  td, th { width: 2.6em; height: 2em; text-align: center; border: 1px solid #ddd }
  td.read { background: #dbe9f8 } td.written { background: #f8dcd8 } td.changed { font-weight: bold; color: #a00 }
  p { height: 2.5em; width: 26em } input { width: 100% }
</style>
<h1>TITLE</h1>
<p>Red: what a step writes. Blue: what it reads. Bold: what changes.</p>
<input type="range" id="at" min="0" value="0"><div id="all"></div>
<script>
const runs = DATA, at = document.getElementById("at"), most = Math.max(...runs.map(r => r.steps.length)) - 1;
at.max = most;
function inside(blocks, i, j) { return blocks.some(([a, b, c, d]) => a <= i && i < b && c <= j && j < d); }
function element(name, text, parent) {
  const made = document.createElement(name);
  made.textContent = text;
  return parent.appendChild(made);
}
function draw() {
  const all = document.getElementById("all");
  all.replaceChildren();
  for (const run of runs) {
    const k = most ? Math.round(at.value * (run.steps.length - 1) / most) : 0, step = run.steps[k];
    const box = element("div", "", all);
    element("h2", run.name, box);
    element("p", "M" + k + " of " + (run.steps.length - 1) + ": " + step.title, box);
    const table = element("table", "", box), head = element("tr", "", table);
    element("th", "", head);
    for (const label of run.labels) element("th", label, head);
    step.cells.forEach((row, i) => {
      const line = element("tr", "", table);
      element("th", run.labels[i], line);
      row.forEach((text, j) => {
        const cell = element("td", text.replace("inf", "∞"), line);
        if (inside(step.read, i, j)) cell.classList.add("read");
        if (inside(step.written, i, j)) cell.classList.add("written");
        if (step.changed[i][j]) cell.classList.add("changed");
      });
    });
  }
}
at.addEventListener("input", draw);
draw();
</script>
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", help="a file of at most 32 vertices")
    parser.add_argument("--block", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("steps.html"))
    args = parser.parse_args()

    try:
        graph = read(args.graph)
        runs = [recorded(graph, schedule, args.block) for schedule in SCHEDULES]
    except (OSError, SemiringError) as error:
        parser.error(str(error))
    data = json.dumps(runs, ensure_ascii=False).replace("</", "<\\/")
    page = PAGE.replace("TITLE", escape(f"The steps of {Path(args.graph).name}")).replace("DATA", data)
    args.output.write_text(page, encoding="utf-8")
    print(f"{args.output}:", *(f"{run['name']}: {len(run['steps']) - 1} steps" for run in runs), sep="\n  ")


if __name__ == "__main__":
    main()
