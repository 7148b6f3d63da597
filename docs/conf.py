"""Sphinx's settings for the site: `sh docs/build.sh` builds it in out/site."""

from __future__ import annotations

import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

project = "semiring-apsp"
author = "the semiring-apsp authors"
copyright = "the semiring-apsp authors; BSD-3-Clause"
_project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
version = release = _project["version"]

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
exclude_patterns = ["_templates"]
templates_path = ["_templates"]
default_role = "code"  # docstrings write `n` for code
nitpicky = False

# Pages are Markdown that reads well where it is; headings have the anchors that GitHub gives them.
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath", "html_image"]
myst_dmath_allow_digits = False
suppress_warnings = ["misc.highlighting_failure"]
nb_execution_mode = "off"  # the tests run pages and notebooks; their output is stored in them

# The reference is made of the docstrings.
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_mock_imports = [] if find_spec("torch") else ["torch"]
autodoc_typehints = "none"  # the docstrings say shapes and dtypes
autodoc_member_order = "alphabetical"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "furo"
html_title = f"semiring-apsp {release}"
html_css_files = ["site.css"]
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
html_theme_options = {"sidebar_hide_name": False, "navigation_with_keys": True}
if source := _project.get("urls", {}).get("Source"):  # the owner's, with links from each page to its text
    html_theme_options |= {"source_repository": source, "source_branch": "main", "source_directory": "docs/"}


def setup(app: object) -> None:
    """Show the constructors that people call: those whose docstrings have parameters."""

    def signature(_app: object, what: str, name: str, found: type, *rest: object) -> tuple[str, str] | None:
        made_here = what == "class" and "Parameters\n" not in (found.__doc__ or "")
        return ("", "") if made_here else None

    app.connect("autodoc-process-signature", signature)
