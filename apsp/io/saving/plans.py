"""A `Plan` in an archive."""

from __future__ import annotations

import json
from dataclasses import asdict, fields

import numpy as np

from ...road.estimates import Estimate
from ...road.plans import Plan

#: Attributes of a plan in the first file version, which has no names.
_FIRST_PLAN = (
    *("n", "semiring", "dtype", "device", "schedule", "block", "variant"),
    *("matrix_bytes", "workspace_bytes", "seconds", "reason"),
)


def plan_to_array(plan: Plan) -> np.ndarray:
    """A plan for an archive: its attributes as JSON."""
    return np.array(json.dumps(asdict(plan), default=np.generic.item))


def plan_from_array(saved: np.ndarray) -> Plan:
    """A plan from JSON, or from the unnamed list of the first version; missing attributes are defaults."""
    values = json.loads(saved.item()) if saved.ndim == 0 else dict(zip(_FIRST_PLAN, saved.tolist(), strict=True))
    considered = tuple(Estimate(**estimate) for estimate in values.pop("considered", ()))
    kinds = {f.name: {"int": int, "float": float}.get(str(f.type), str) for f in fields(Plan)}
    return Plan(**{name: kind(values[name]) for name, kind in kinds.items() if name in values}, considered=considered)
