"""A network on one self-contained HTML page: pan, zoom, names under the pointer."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from semiring.host.escaping import one_line
from semiring.host.types import Fields, Label

from . import Plane, require_degrees
from .geojson import STOPS

#: The longer side of the map, in the page's integer units.
_UNITS = 1_000_000


@dataclass(frozen=True, repr=False)
class Page:
    """The page of `Result.explore`, as text in `html`; a notebook shows it."""

    html: str

    def __repr__(self) -> str:
        return f"<Page: {len(self.html):,} characters of HTML>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="map" style="width: 100%; height: 480px; border: 0"></iframe>'
        )


def page(
    xy: np.ndarray, edges: tuple[np.ndarray, np.ndarray], labels: Sequence[Label], path: Sequence[int], title: str,
    values: tuple[str, np.ndarray] | None = None, *, planar: bool,
) -> Page:  # fmt: skip
    """The page of placed vertices, edges, and a path; `values`: legend, and a number per vertex, grey if not finite."""
    placed = np.isfinite(xy).all(axis=1)
    number = np.cumsum(placed) - 1
    drawn = placed[edges[0]] & placed[edges[1]]
    ends = np.unique(np.sort(number[np.stack(edges, axis=1)[drawn]], axis=1), axis=0)  # one line for both directions
    x, y = _on_page(xy[placed], planar).T
    kept = np.flatnonzero(placed).tolist()
    data: Fields = {"title": one_line(title), "colours": STOPS, "x": x.tolist(), "y": y.tolist()}
    data |= {"width": int(x.max(initial=0)), "height": int(y.max(initial=0))}
    data |= {"tails": ends[:, 0].tolist(), "heads": ends[:, 1].tolist()}
    data |= {"labels": [one_line(str(labels[k])) for k in kept], "path": number[list(path)].tolist()}
    data |= {"what": "", "values": None}
    if values is not None:
        numbers = values[1][kept].tolist()
        data |= {"what": one_line(values[0]), "values": [v if np.isfinite(v) else None for v in numbers]}
    # Escape `<`, which alone could end a script element or begin a comment.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    source = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    filled = {"TITLE": escape(data["title"]), "DATA": text}
    return Page(re.sub("TITLE|DATA", lambda word: filled[word[0]], source))


def _on_page(xy: np.ndarray, planar: bool) -> np.ndarray:
    """Integer coordinates from 0, y downwards; degrees are scaled as on the ground in the middle."""
    if not len(xy):
        return np.zeros((0, 2), np.int64)
    if not planar:
        require_degrees(xy, where="explore", way_out="Of x and y in a plane, say planar=True.")
        xy = Plane.around(xy).project(xy)
    xy = xy * (1, -1)
    xy = xy - xy.min(axis=0)
    return np.rint(xy / (xy.max() or 1) * _UNITS).astype(np.int64)
