"""How many threads are used: by what limits this process, on control groups as kernels show them."""

from __future__ import annotations

import pytest
from processes import python

from semiring.host.errors import DeviceError
from semiring.kernels.cpu import processors
from semiring.kernels.cpu.processors import cpu_quota, default_threads

pytestmark = pytest.mark.busy

V2 = "29 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "32 31 0:29 {top} /sys/fs/cgroup/cpu rw,relatime shared:7 - cgroup cgroup rw,cpu,cpuacct\n"
OTHER = "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n27 1 254:0 / / rw - ext4 /dev/vda rw\n"


@pytest.fixture
def system(tmp_path):
    """Makes the files of a system below a folder."""

    def make(groups: str, mounts: str, **limits: str):
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text(groups)
        (tmp_path / "proc/self/mountinfo").write_text(mounts)
        for name, text in limits.items():
            path = tmp_path / "sys/fs/cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return make


@pytest.mark.parametrize(
    ("limits", "quota"),
    [
        ({"a/b/cpu.max": "150000 100000\n"}, 1.5),
        ({"a/b/cpu.max": "max 100000\n"}, None),
        ({"a/b/cpu.max": "max 100000\n", "a/cpu.max": "50000 100000\n"}, 0.5),
        ({"a/b/cpu.max": "800000 100000\n", "a/cpu.max": "300000 100000\n", "cpu.max": "max 100000\n"}, 3),
        ({"a/b/cpu.max": "nonsense\n"}, None),
        ({}, None),
    ],
)
def test_version_2(system, limits, quota):
    assert cpu_quota(system("0::/a/b\n", V2 + OTHER, **limits)) == quota


@pytest.mark.parametrize(
    ("limits", "quota"),
    [
        ({"cpu/a/cpu.cfs_quota_us": "250000\n", "cpu/a/cpu.cfs_period_us": "100000\n"}, 2.5),
        ({"cpu/a/cpu.cfs_quota_us": "-1\n", "cpu/a/cpu.cfs_period_us": "100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "200000\n"}, 2),
        ({"memory/a/cpu.cfs_quota_us": "1\n", "memory/a/cpu.cfs_period_us": "1\n"}, None),
    ],
)
def test_version_1(system, limits, quota):
    assert cpu_quota(system("5:memory:/a\n3:cpu,cpuacct:/a\n0::/\n", V1.format(top="/") + OTHER, **limits)) == quota


def test_names_of_other_mounts_may_be_any_bytes(system):
    root = system("0::/a\n", V2, **{"a/cpu.max": "150000 100000\n"})
    with (root / "proc/self/mountinfo").open("ab") as mounts:
        mounts.write(b"28 1 254:1 / /media/\xff\xfe rw - ext4 /dev/vdb rw\n")
    assert cpu_quota(root) == 1.5


def test_a_container_sees_its_own_group_at_the_mount(system):
    """Its groups are named as the host names them; below the mount there is only what is inside."""
    limits = {"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"}
    assert cpu_quota(system("3:cpu,cpuacct:/docker/1f\n", V1.format(top="/docker/1f"), **limits)) == 2


def test_a_group_elsewhere_than_below_the_mount(system):
    assert cpu_quota(system("0::/docker/1f\n", V2.replace(" / ", " /docker/2e ", 1), **{"cpu.max": "7 2"})) == 3.5


def test_systems_without_control_groups(tmp_path):
    assert cpu_quota(tmp_path) is None


@pytest.fixture
def eight(monkeypatch):
    """Eight processors, no quota, no variable set."""
    for name in (processors.VARIABLE, *processors.BOUNDS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(processors, "_affinity", lambda: 8)
    monkeypatch.setattr(processors, "cpu_quota", lambda: None)
    monkeypatch.setattr(processors, "_bound", processors._bound.__wrapped__)
    return monkeypatch


def test_the_least_of_what_limits_counts(eight):
    assert default_threads() == 8
    eight.setenv("OMP_NUM_THREADS", "6,2")
    assert default_threads() == 6
    eight.setenv("NUMBA_NUM_THREADS", "5")
    assert default_threads() == 5
    eight.setattr(processors, "cpu_quota", lambda: 2.5)
    assert default_threads() == 3
    eight.setenv(processors.VARIABLE, "12")
    assert default_threads() == 12


@pytest.mark.parametrize("nonsense", ["", " ", "0", "-2", "many", "2.5", "²"])
def test_bounds_that_are_none(eight, nonsense):
    eight.setenv("OMP_NUM_THREADS", nonsense)
    eight.setenv("NUMBA_NUM_THREADS", nonsense)
    assert default_threads() == 8


@pytest.mark.parametrize("nonsense", ["0", "-2", "many", "2.5", "²"])
def test_the_librarys_own_variable_must_be_a_number(eight, nonsense):
    eight.setenv(processors.VARIABLE, nonsense)
    with pytest.raises(DeviceError, match="SEMIRING_NUM_THREADS must be a positive integer"):
        default_threads()


@pytest.mark.parametrize(("granted", "threads"), [(0.2, 1), (1.0, 1), (1.5, 2), (3.0, 3), (64.0, 8)])
def test_a_quota_is_rounded_up(eight, granted, threads):
    eight.setattr(processors, "cpu_quota", lambda: granted)
    assert default_threads() == threads


def test_a_process_heeds_the_variables():
    code = """
import os, semiring
from semiring.kernels.backend import bind
for os.environ["SEMIRING_NUM_THREADS"] in ("", "3"):
    print(bind(semiring.min_plus, "int32").threads)
"""
    assert python(code, env={"OMP_NUM_THREADS": "1"}).split() == ["1", "3"]


def test_numba_is_not_started_with_no_threads():
    """It would raise "Number of threads specified must be > 0" wherever it is imported first."""
    code = """
import os, numpy as np, pytest, semiring, apsp
for os.environ["NUMBA_NUM_THREADS"] in ("0", "-2", " 00 "):
    for call in (lambda: apsp.closure(np.eye(2)), lambda: semiring.matmul(np.eye(2), np.eye(2))):
        for _ in range(2):
            with pytest.raises(semiring.DeviceError, match="NUMBA_NUM_THREADS must be a positive .* Unset it"):
                call()
os.environ["NUMBA_NUM_THREADS"] = " 2"
print(apsp.closure([[0, 1], [2, 0]])[1, 0])
"""
    assert python(code) == "2\n"
