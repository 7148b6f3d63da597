"""The record `Kind` of a kind of input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..graph import Graph
from ..reading.options import Reading


def named(weight: object) -> bool:
    """Whether a weight is the name of a field, a column or an attribute."""
    return isinstance(weight, str)


def named_or_placed(weight: object) -> bool:
    """Whether it is that, or the position of a column."""
    return isinstance(weight, (str, int))


@dataclass(frozen=True)
class Kind:
    """A kind of object that describes a graph.

    Parameters
    ----------
    description : str
        For errors.
    recognises : callable
        `recognises(source, reading)`: by a characteristic attribute, without importing its library.
    convert : callable
        `convert(source, reading)` returns a Graph.
    columns : bool
        Whether columns can be chosen.
    weights : str
        Values of `weight` other than None, for people; or "".
    accepts : callable
        `accepts(weight)`: whether a weight is one of those.
    arrays : bool
        Whether NumPy arrays may be of this kind.
    lists : bool
        Whether it lists edges only, so that isolated vertices come from elsewhere, such as places.
    """

    description: str
    recognises: Callable[[Any, Reading], bool]
    convert: Callable[[Any, Reading], Graph]
    columns: bool = False
    weights: str = ""
    accepts: Callable[[Any], bool] = lambda weight: False
    arrays: bool = False
    lists: bool = False
