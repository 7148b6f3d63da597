"""Notebooks run without Jupyter: `python -m tests.notebooks` runs those of docs/notebooks and stores their output.

A cell is executed as Jupyter does it: the value of its last line is shown, and so is what was printed and drawn.
"""

from __future__ import annotations

import ast
import base64
import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"


def cells(notebook: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each cell of code with the output that it has now; the current folder is that of the notebook."""
    import matplotlib.pyplot as plt

    names: dict[str, Any] = {"__name__": "__main__"}
    for count, cell in enumerate((c for c in notebook["cells"] if c["cell_type"] == "code"), 1):
        body, value, printed = ast.parse("".join(cell["source"])).body, None, io.StringIO()
        shown = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        with redirect_stdout(printed):
            exec(compile(ast.Module(body, []), f"cell {count}", "exec"), names)
            if shown is not None:
                value = eval(compile(ast.Expression(shown.value), f"cell {count}", "eval"), names)
        found: list[dict[str, Any]] = []
        if printed.getvalue():
            found.append({"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())})
        for number in plt.get_fignums():
            file = io.BytesIO()
            plt.figure(number).savefig(file, format="png", dpi=80, metadata={"Software": None})
            picture = base64.b64encode(file.getvalue()).decode()
            data = {"image/png": picture, "text/plain": ["<Figure>"]}
            found.append({"data": data, "metadata": {}, "output_type": "display_data"})
            value = None  # the axes, which are drawn already
        plt.close("all")
        if value is not None:
            data = {"text/plain": lines(repr(value))}
            if hasattr(value, "_repr_html_") and (html := value._repr_html_()):
                data["text/html"] = lines(html)
            found.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
        cell["execution_count"] = count
        yield cell, found


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def texts(outputs: list[dict[str, Any]]) -> list[str]:
    """What is printed and shown as text."""
    return ["".join(output["text"] if "text" in output else output["data"]["text/plain"]) for output in outputs]


if __name__ == "__main__":
    import os

    import matplotlib

    matplotlib.use("Agg")
    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        os.chdir(path.parent)
        for cell, found in cells(notebook):
            cell["outputs"] = found
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(path.name)
