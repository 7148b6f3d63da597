"""The rules that keep the house in order: who imports whom, and how little an import costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = ("numba", "llvmlite", "cupy", "networkx", "scipy", "matplotlib", "rich", "click")


def imports(path: Path) -> set[str]:
    """The packages that a file imports anywhere in it, absolute ones only."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("path", sorted((ROOT / "semiring").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_semiring_knows_no_graphs(path):
    assert not any(name.split(".")[0] == "apsp" for name in imports(path))


@pytest.mark.parametrize("path", sorted((ROOT / "apsp").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_apsp_knows_no_kernels(path):
    assert not any(name.startswith(("semiring.cpu", "semiring.cuda", "numba", "llvmlite")) for name in imports(path))


@pytest.mark.parametrize("path", sorted((ROOT / "apsp" / "schedules").glob("[a-z]*.py")), ids=lambda p: p.stem)
def test_a_schedule_is_written_against_the_verbs_alone(path):
    assert imports(path) <= {"__future__", "typing", "semiring.backend"}


@pytest.mark.parametrize("package", ["apsp", "semiring"])
def test_importing_a_package_loads_nothing_heavy(package):
    code = f"import sys, {package}; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not set(loaded) & set(HEAVY)


def test_public_names_exist():
    import apsp
    import semiring

    for package in (apsp, semiring):
        for name in package.__all__:
            assert getattr(package, name) is not None
        with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
            _ = package.nonsense


def test_docstring_examples_run():
    import doctest
    import importlib

    import numpy as np

    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for package in ("semiring", "apsp")
        for path in sorted((ROOT / package).rglob("*.py"))
        if "cuda" not in path.relative_to(ROOT).parts and path.stem != "__main__"
    ]
    tried = 0
    for name in names:
        module = importlib.import_module(name)
        result = doctest.testmod(module, extraglobs={"np": np}, optionflags=doctest.NORMALIZE_WHITESPACE)
        assert result.failed == 0, name
        tried += result.attempted
    assert tried > 10
