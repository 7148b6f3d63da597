"""The record that declares one kind of source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..graph import Graph
from ..reading.options import Reading


@dataclass(frozen=True)
class Kind:
    """One kind of object that describes a graph.

    Parameters
    ----------
    description : str
        For people: what an error lists.
    recognises : callable
        `recognises(source, reading)`: by a telling sign, without importing the library it comes from.
    convert : callable
        `convert(source, reading)` returns a Graph.
    columns : bool
        Whether its columns can be chosen.
    weights : str
        What `weight` may be other than None, for people; empty where nothing.
    accepts : callable
        `accepts(weight)`: whether a weight other than None is one of these.
    arrays : bool
        Whether NumPy's own arrays may be it: others are not asked about them.
    lists : bool
        Whether it lists edges alone, so that a vertex without one is named elsewhere, as among places.
    """

    description: str
    recognises: Callable[[Any, Reading], bool]
    convert: Callable[[Any, Reading], Graph]
    columns: bool = False
    weights: str = ""
    accepts: Callable[[Any], bool] = lambda weight: False
    arrays: bool = False
    lists: bool = False
