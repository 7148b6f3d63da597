"""The process that runs cases of one target one after the other, and says which it is at: it may die of one."""

from __future__ import annotations

import importlib
import itertools
import json
import math
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import ROOT, draw, limits

Case = Callable[[draw.Draw], None]

#: How long a failing case is made smaller, in seconds, and how much of a value a report shows.
SHRINKING, SHOWN = 10.0, 600


Say = Callable[[str], Any]


def main(descriptor: int, job: dict[str, Any]) -> None:
    """Do what the driver asks for, and tell it line by line through a pipe."""

    def say(line: str) -> None:  # unbuffered: the last line before a death is the one that matters
        os.write(descriptor, f"{line}\n".encode())

    case = load(job["target"], job["device"])
    if "first" in job:
        work(case, job["target"], job["seed"], job["first"], job["cases"], set(job["known"]), say)
    else:
        attempt(case, chosen(job, lambda choice: say(f"choice {choice}")))
    say("done")


def work(case: Case, target: str, seed: int, first: int, cases: int | None, known: set[str], say: Say) -> None:
    """Cases number first, first + 1, …, so many or without end; say each, and each finding, new ones also smaller."""
    for index in itertools.islice(itertools.count(first), cases):
        say(f"case {index}")
        found = attempt(case, draw.of(seed, target, index))
        if found is None:
            continue
        say(f"found {json.dumps({**found, 'index': index})}")
        if found["signature"] not in known:
            known.add(found["signature"])
            say(f"smaller {json.dumps({**_smallest(case, found), 'index': index})}")


def chosen(job: dict[str, Any], heard: Callable[[int], object] = lambda choice: None) -> draw.Draw:
    """The one case that `job` names: by its choices, or by seed and number."""
    if "choices" in job:
        return draw.Draw(script=job["choices"], heard=heard)
    return draw.of(job["seed"], job["target"], job["case"], heard)


def load(target: str, device: str) -> Case:
    """The target's `case`, ready to run: told its device, and what it needs imported and compiled."""
    module: Any = importlib.import_module(f".{target}", __package__)
    module._device = device
    warnings.simplefilter("ignore")
    if hasattr(module, "prepare"):
        module.prepare()
    if device == "cpu":  # a GPU's driver reserves more addresses than any machine has memory
        limits.cap_memory(8)
    return module.case


def attempt(case: Case, drawn: draw.Draw) -> dict[str, Any] | None:
    """Run one case; what went wrong, or None."""
    try:
        case(drawn)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return {
            "signature": _signature(error),
            "problem": "".join(traceback.format_exception(error)),
            "choices": drawn.choices,
            "notes": {name: show(value) for name, value in drawn.notes.items()},
        }
    return None


def _smallest(case: Case, found: dict[str, Any]) -> dict[str, Any]:
    def fails(choices: list[int]) -> list[int] | None:
        drawn = draw.Draw(script=choices)
        again = attempt(case, drawn)
        return drawn.choices if again and again["signature"] == found["signature"] else None

    choices = draw.smaller(found["choices"], fails, SHRINKING)
    again = attempt(case, draw.Draw(script=choices))
    return again if again and again["signature"] == found["signature"] else found


def _signature(error: BaseException) -> str:
    """What makes two findings the same one: the kind of error, and the innermost line of this project."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if Path(f.filename).is_relative_to(ROOT) and Path(f.filename).name != "limits.py"]
    at = f"{Path(ours[-1].filename).relative_to(ROOT)}:{ours[-1].lineno}" if ours else "?"
    return f"{type(error).__name__} at {at}"


def show(value: Any) -> str:
    """A value for a report, on one line where it is short."""
    if isinstance(value, np.ndarray):
        kind = f"{value.dtype.str} {value.shape}"
        text = f"array({value.tolist()}, {kind})" if math.prod(value.shape) <= 64 else f"array of {kind}"
    else:
        text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"


if __name__ == "__main__":
    main(int(sys.argv[1]), json.loads(sys.argv[2]))
