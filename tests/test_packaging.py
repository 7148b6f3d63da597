"""What is released: pyproject.toml, the conda recipe, the citation and the pages at the top agree."""

from __future__ import annotations

import re
import tomllib

from processes import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RECIPE = (ROOT / ".ci" / "conda" / "meta.yaml").read_text(encoding="utf-8")


def wanted(part: str) -> set[str]:
    """The packages under a heading of the recipe's requirements, as pip writes them."""
    _, _, after = RECIPE.partition(f"  {part}:\n")
    listed = re.match(r"(?:    - .*\n)+", after)
    assert listed
    return {line.removeprefix("    - ").replace(" ", "") for line in listed[0].splitlines()}


def test_the_conda_recipe_asks_for_what_pip_does():
    project = PROJECT["project"]
    python = f"python{project['requires-python']}"
    assert wanted("run") == {python, *project["dependencies"]}
    compiling = {name for name in project["dependencies"] if name.startswith(("numpy", "numba"))}
    assert wanted("host") == {python, "pip", *PROJECT["build-system"]["requires"], *compiling}
    assert f'version: "{project["version"]}"' in RECIPE
    assert [f"{name} = {target}" for name, target in project["scripts"].items()] == re.findall("- (apsp = .*)", RECIPE)


def test_one_version_everywhere():
    import apsp

    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {apsp.__version__}\n" in citation
    assert apsp.__version__ == PROJECT["project"]["version"]


def test_what_readers_look_for_is_at_the_top_and_in_the_sdist():
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    for name in (
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CITATION.cff",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CODE_OF_CONDUCT.md",
    ):
        assert (ROOT / name).stat().st_size > 500
        assert name in included or name in ("README.md", "LICENSE")  # those two hatchling takes by itself


def test_readmes_line_installs_what_its_pages_use():
    extras = PROJECT["project"]["optional-dependencies"]
    for page in ("README.md", "docs/five-minutes.md"):
        (line,) = re.findall(r'^pip install "\.\[(.*)\]"$', (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
        packages = {re.split(r"\W", package)[0] for extra in line.split(",") for package in extras[extra]}
        assert {"networkx", "pandas", "matplotlib"} <= packages, page
