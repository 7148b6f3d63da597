"""What is said before a computation: a plan to the log, and one warning where nobody would see how long it takes."""

from __future__ import annotations

import logging
import warnings
from dataclasses import replace

import pytest

from apsp import plan
from apsp.telling import tell


def test_a_plan_is_logged(caplog):
    with caplog.at_level(logging.INFO, logger="apsp"), warnings.catch_warnings():
        warnings.simplefilter("error")
        tell(plan(100))
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("apsp", "INFO")
    assert "closure of 100 vertices over min_plus" in record.getMessage()


def test_what_takes_minutes_is_one_warning_with_the_ways_out():
    long = replace(plan(100), seconds=600.0)
    with pytest.warns(UserWarning, match=r"10 minutes.*callback=.*device='cuda'") as said:
        tell(long, stacklevel=2)
    assert len(said) == 1
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tell(long, lambda done, total: None)
        tell(replace(long, seconds=60.0))


def test_times_are_said_in_units_that_suit_them():
    shown = {0.5e-3: "500 µs", 90: "90 s", 600: "10 minutes", 10 * 3600: "10 hours"}
    for seconds, text in shown.items():
        assert text in repr(replace(plan(3), seconds=seconds))
