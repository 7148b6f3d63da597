"""Colours of numbers, from dark blue to yellow: five stops of matplotlib's viridis, interpolated."""

from __future__ import annotations

import numpy as np

#: RGB from the least number to the greatest.
STOPS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]]


def colours(values: np.ndarray) -> list[str]:
    """A colour `#rrggbb` per number; grey if not finite."""
    finite = np.isfinite(values)
    low, high = values[finite].min(initial=np.inf), values[finite].max(initial=-np.inf)
    share = (np.where(finite, values, low if finite.any() else 0) - low) / (high - low) if high > low else 0 * finite
    stops = np.linspace(0, 1, len(STOPS))
    mixed = np.rint(np.stack([np.interp(share, stops, channel) for channel in zip(*STOPS, strict=True)], axis=-1))
    return [
        "#{:02x}{:02x}{:02x}".format(*rgb) if seen else "#b3b3b3"
        for rgb, seen in zip(mixed.astype(int).tolist(), finite.tolist(), strict=True)
    ]
