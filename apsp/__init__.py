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
    from semiring.errors import (
        AlgebraError,
        AmbiguityWarning,
        DeviceError,
        DivergenceError,
        DomainError,
        DTypeError,
        FormatError,
        MemoryNeeded,
        NegativeCycleError,
        NoPathError,
        SemiringError,
        ShapeError,
        VertexError,
    )

    from . import csgraph
    from .closures import closure
    from .comparison import Comparison, compare, compare_sizes
    from .convergence.divergence import negative_cycle
    from .display.bars import progress
    from .formats import read
    from .generate import cycle, grid, random_graph, road_like
    from .graph import Graph
    from .inputs import as_graph, write
    from .planning import plan
    from .plans import Plan
    from .projects import CriticalPath, critical_path
    from .ragged import hops
    from .reach import transitive_closure
    from .reach.reachability import Reachability
    from .reach.regular import RegularPaths, reachable
    from .result import Result, shortest_paths
    from .routes import next_hops, predecessors

_HOME = {
    "closures": ("closure",),
    "comparison": ("Comparison", "compare", "compare_sizes"),
    "convergence.divergence": ("negative_cycle",),
    "display.bars": ("progress",),
    "generate": ("cycle", "grid", "random_graph", "road_like"),
    "formats": ("read",),
    "graph": ("Graph",),
    "inputs": ("as_graph", "write"),
    "planning": ("plan",),
    "plans": ("Plan",),
    "projects": ("CriticalPath", "critical_path"),
    "ragged": ("hops",),
    "reach": ("transitive_closure",),
    "reach.reachability": ("Reachability",),
    "reach.regular": ("RegularPaths", "reachable"),
    "result": ("Result", "shortest_paths"),
    "routes": ("next_hops", "predecessors"),
}
#: Errors, shared with `semiring`.
_ERRORS = (
    *("AlgebraError", "AmbiguityWarning", "DTypeError", "DeviceError", "DivergenceError", "DomainError", "FormatError"),
    *("MemoryNeeded", "NegativeCycleError", "NoPathError", "SemiringError", "ShapeError", "VertexError"),
)
_MODULE = {name: f".{module}" for module, names in _HOME.items() for name in names} | dict.fromkeys(
    _ERRORS, "semiring.errors"
)

#: Public modules.
_MODULES = ("csgraph",)

__version__ = "0.2.0"
__all__ = [
    "AlgebraError",
    "AmbiguityWarning",
    "Comparison",
    "CriticalPath",
    "DTypeError",
    "DeviceError",
    "DivergenceError",
    "DomainError",
    "FormatError",
    "Graph",
    "MemoryNeeded",
    "NegativeCycleError",
    "NoPathError",
    "Plan",
    "Reachability",
    "RegularPaths",
    "Result",
    "SemiringError",
    "ShapeError",
    "VertexError",
    "as_graph",
    "closure",
    "compare",
    "compare_sizes",
    "critical_path",
    "csgraph",
    "cycle",
    "grid",
    "hops",
    "negative_cycle",
    "next_hops",
    "plan",
    "predecessors",
    "progress",
    "random_graph",
    "reachable",
    "read",
    "road_like",
    "shortest_paths",
    "transitive_closure",
    "write",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(_MODULE[name], __name__), name)
    return found


def __dir__() -> list[str]:
    return __all__
