"""Formats read by NetworkX: adapters of its readers, and the choice of the weight attribute."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import import_module
from typing import Any

from semiring.host.errors import FormatError
from semiring.host.types import Function, Label

from ..graph import Graph
from ..labels import Labels
from ..reading.files import Source
from ..reading.from_networkx import from_networkx
from ..reading.options import ANYHOW, Reading
from .tokens import integral, numbers, seconds, show


def reader(parse: Function, what: str, *more: str) -> Callable[..., Graph]:
    """A format's `read` from `parse(networkx, *more, file)`, which returns a NetworkX graph or raises anything."""

    def read(source: Source, *, reading: Reading = ANYHOW) -> Graph:
        with source.open() as file:
            return converted(source, reading, lambda *modules: parse(*modules, file), what, *more)

    return read


def converted(source: Source, reading: Reading, parse: Function, what: str, *more: str) -> Graph:
    """The graph of `parse(networkx, *more)`; its weight is an edge attribute, by the rule of `choose_attribute`."""
    modules = []
    for name in ("networkx", *more):
        try:
            modules.append(import_module(name))
        except ImportError:
            raise source.error(f"{what} is read by {name}. Install it: `pip install {name}`.") from None
    try:
        found = parse(*modules)
    except (MemoryError, OSError):
        raise
    except Exception as error:  # parsers may raise anything
        raise source.error(f"must be {what}, got {show(str(error) or repr(error), 200)}.") from error
    _numbers_of(data for *_, data in found.edges(data=True))
    _numbers_of(found.nodes.values(), ("x", "y"))
    try:
        graph = from_networkx(found, reading)
    except FormatError:
        raise
    except (ValueError, TypeError, LookupError) as error:
        raise source.error(str(error)) from error
    if graph.n and all(isinstance(label, str) for label in graph.labels) and integral(graph.labels):
        return replace(graph, labels=Labels(map(int, graph.labels)))  # as other formats have them
    return graph


def _numbers_of(elements: Iterable[dict[Any, Any]], names: Iterable[Label] | None = None) -> None:
    """Convert, in place, attributes that are numeric or duration texts in all elements; OSMnx saves texts."""
    listed = list(elements)
    for name in {name: 0 for data in listed for name in data} if names is None else names:
        having = [data for data in listed if name in data]
        texts = [data[name] for data in having]
        if texts and all(isinstance(text, str) for text in texts):
            values, wrong = numbers(texts)
            found = values if wrong is None else seconds(texts)
            for data, value in zip(having, texts if found is None else found.tolist(), strict=True):
                data[name] = value
