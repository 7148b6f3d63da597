"""A short campaign of `kill -9`; `python -m tests.kills` has the long one."""

from __future__ import annotations

import sys

import pytest
from kills import Campaign


@pytest.mark.busy
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("on_disk", [False, True])
def test_killed_closures_end_right(tmp_path, on_disk):
    campaign = Campaign(tmp_path, 500, 3, damage=on_disk)
    campaign.new()
    campaign.on_disk = on_disk
    campaign.start(lines=4)
    campaign.spoil()
    campaign.start(lines=sys.maxsize)
    assert campaign.ended >= 1
    assert campaign.right, campaign
