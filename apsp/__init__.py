"""All-pairs shortest paths and reachability: closures of matrices over semirings, on CPU and GPU.

>>> from apsp import closure
>>> closure([[0, 3], [1, 0]])
array([[0, 3],
       [1, 0]])

Everything is loaded on first use: `import apsp` imports neither numba nor CuPy nor NetworkX.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from semiring.host.former import install as _former
from semiring.host.lazy import lazy as _lazy

if TYPE_CHECKING:
    from semiring.host.errors import (
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
    from .answers.checks import check
    from .answers.projects import CriticalPath, critical_path, order
    from .answers.ragged import hops
    from .answers.reach import transitive_closure
    from .answers.reach.reachability import Reachability
    from .answers.reach.regular import RegularPaths, reachable
    from .answers.result import Result, shortest_paths
    from .answers.routes import next_hops, predecessors
    from .answers.updates import update
    from .closures import closure
    from .comparison import Comparison, compare, compare_sizes
    from .comparison.emulation import Emulation, emulate
    from .generate import cycle, grid, random_graph, road_like
    from .io.display.bars import progress
    from .io.formats import read
    from .io.graph import Graph
    from .io.inputs import as_graph, write
    from .road.convergence.divergence import negative_cycle
    from .road.planning import plan
    from .road.plans import Plan

__getattr__ = _lazy(
    __name__,
    {
        ".closures": "closure",
        ".comparison": "Comparison compare compare_sizes",
        ".comparison.emulation": "Emulation emulate",
        ".road.convergence.divergence": "negative_cycle",
        ".io.display.bars": "progress",
        ".generate": "cycle grid random_graph road_like",
        ".io.formats": "read",
        ".io.graph": "Graph",
        ".io.inputs": "as_graph write",
        ".road.planning": "plan",
        ".road.plans": "Plan",
        ".answers.checks": "check",
        ".answers.projects": "CriticalPath critical_path order",
        ".answers.ragged": "hops",
        ".answers.reach": "transitive_closure",
        ".answers.reach.reachability": "Reachability",
        ".answers.reach.regular": "RegularPaths reachable",
        ".answers.result": "Result shortest_paths",
        ".answers.routes": "next_hops predecessors",
        ".answers.updates": "update",
        "semiring.host.errors": "AlgebraError AmbiguityWarning DTypeError DeviceError DivergenceError DomainError "
        "FormatError MemoryNeeded NegativeCycleError NoPathError SemiringError ShapeError VertexError",
    },
    "csgraph",
)

__version__ = "0.2.0"
__all__ = [
    "AlgebraError", "AmbiguityWarning", "Comparison", "CriticalPath", "DTypeError", "DeviceError", "DivergenceError",
    "DomainError", "Emulation", "FormatError", "Graph", "MemoryNeeded", "NegativeCycleError", "NoPathError", "Plan",
    "Reachability", "RegularPaths", "Result", "SemiringError", "ShapeError", "VertexError", "as_graph", "check",
    "closure", "compare", "compare_sizes", "critical_path", "csgraph", "cycle", "emulate", "grid", "hops",
    "negative_cycle", "next_hops", "order", "plan", "predecessors", "progress", "random_graph", "reachable", "read",
    "road_like", "shortest_paths", "transitive_closure", "update", "write",
]  # fmt: skip


#: Rooms, and the modules in them that stood in the package itself until 0.2.
_ROOMS = {
    "road": "question problem solve plans planning estimates wants warming registry repeated engines "
    "schedules convergence log types",
    "doors": "cli networkx_backend gradients",
    "io": "graph inputs formats reading saving places labels display",
    "answers": "result reach projects measures flows routes neighbourhoods ragged",
    "big": "large distributed",
}
#: Modules of classes that may be in pickles, and of a name of before 0.2, by those that took them in.
_JOINED = {
    "io.places.snapping": "io.places",
    "road.engines.structures": "road.engines.elimination",
    "road.engines.saved": "road.engines.stored",
    "road.engines.labelled": "road.engines.stored",
    "padding": "closures",
}
_former("apsp", _ROOMS, _JOINED)


def __dir__() -> list[str]:
    return __all__
