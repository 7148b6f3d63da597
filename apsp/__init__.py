"""All-pairs shortest paths and reachability: closures of matrices over semirings, on CPU and GPU.

>>> from apsp import closure
>>> closure([[0, 3], [1, 0]])
array([[0, 3],
       [1, 0]])

Everything is loaded on first use: `import apsp` imports neither numba nor CuPy nor NetworkX.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .comparison import Comparison, compare, compare_sizes
    from .formats import read
    from .generate import cycle, grid, random_graph
    from .graph import Graph
    from .inputs import as_graph, write
    from .plans import Plan
    from .reach import Reachability, transitive_closure
    from .result import Result, shortest_paths
    from .solve import closure, plan

_HOME = {
    "comparison": ("Comparison", "compare", "compare_sizes"),
    "generate": ("cycle", "grid", "random_graph"),
    "formats": ("read",),
    "graph": ("Graph",),
    "inputs": ("as_graph", "write"),
    "plans": ("Plan",),
    "reach": ("Reachability", "transitive_closure"),
    "result": ("Result", "shortest_paths"),
    "solve": ("closure", "plan"),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__version__ = "0.1.0"
__all__ = [
    "Comparison",
    "Graph",
    "Plan",
    "Reachability",
    "Result",
    "as_graph",
    "closure",
    "compare",
    "compare_sizes",
    "cycle",
    "grid",
    "plan",
    "random_graph",
    "read",
    "shortest_paths",
    "transitive_closure",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f".{_MODULE[name]}", __name__), name)
    return found


def __dir__() -> list[str]:
    return __all__
