"""SciPy's own tests of its shortest paths and conversions, with our functions in place of theirs."""

from __future__ import annotations

from importlib import resources

import pytest

try:
    _TESTS = resources.files("scipy.sparse.csgraph.tests")
except ModuleNotFoundError:
    pytest.skip("SciPy is installed without its tests", allow_module_level=True)

for _name in ("test_shortest_path.py", "test_conversions.py"):
    _text = (_TESTS / _name).read_text(encoding="utf-8")
    _ours = _text.replace("from scipy.sparse.csgraph import", "from apsp.csgraph import")
    assert _ours != _text
    exec(compile(_ours, str(_TESTS / _name), "exec"), globals())


def test_it_is_ours_that_is_tested():
    from apsp import csgraph

    assert globals()["shortest_path"] is csgraph.shortest_path
    assert len([name for name in globals() if name.startswith("test_")]) > 30
