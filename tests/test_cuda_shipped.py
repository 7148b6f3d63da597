"""Cubins that come with a wheel: found by their text, and passed over where they do not fit."""

from __future__ import annotations

import os
import zipfile

import fake_cupy
import numpy as np
import pytest

import apsp
import semiring

FLAGS = ("-std=c++17",)


@pytest.fixture
def shipped(monkeypatch, tmp_path):
    from semiring.kernels.cuda import cache

    folder = tmp_path / "shipped"
    folder.mkdir()
    monkeypatch.setattr(cache, "FOLDER", folder)
    cache._archive.cache_clear()
    yield cache
    cache._archive.cache_clear()


def ship(shipped, arch, texts, *, toolkit=13, damage=b""):
    """An archive with a cubin for each (text, architecture)."""
    with zipfile.ZipFile(shipped.FOLDER / f"{arch}.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.comment = str(toolkit).encode()
        for text, target in texts:
            content = shipped.packed(shipped.Binary(target, f"cubin of {text} for {target}".encode(), {}))
            archive.writestr(shipped.name_of(text, target, FLAGS), content + damage)


def cubin(shipped, text, arch, flags=FLAGS, driver=13000):
    found = shipped.shipped(text, arch, flags, driver)
    return found and found.cubin.decode()


def test_a_cubin_is_found_by_its_text_architecture_and_options(shipped):
    ship(shipped, "sm_90", [("a", "sm_90"), ("b", "sm_90a")])
    assert cubin(shipped, "a", "sm_90") == "cubin of a for sm_90"
    assert cubin(shipped, "b", "sm_90a") == "cubin of b for sm_90a"
    assert cubin(shipped, "a ", "sm_90") is None
    assert cubin(shipped, "b", "sm_90") is None
    assert cubin(shipped, "a", "sm_90a") is None
    assert cubin(shipped, "a", "sm_90", ("-std=c++20",)) is None


def test_later_members_of_a_family_take_what_was_compiled_for_the_first(shipped):
    ship(shipped, "sm_80", [("a", "sm_80"), ("b", "sm_80")])
    ship(shipped, "sm_89", [("b", "sm_89")])
    assert cubin(shipped, "a", "sm_86") == cubin(shipped, "a", "sm_89") == "cubin of a for sm_80"
    assert cubin(shipped, "b", "sm_89") == "cubin of b for sm_89"
    assert cubin(shipped, "b", "sm_86") == "cubin of b for sm_80"
    ship(shipped, "sm_100", [("a", "sm_100")])
    assert cubin(shipped, "a", "sm_103") == "cubin of a for sm_100"
    for other in ("sm_90", "sm_120", "sm_110"):
        assert cubin(shipped, "a", other) is None


@pytest.mark.parametrize(("driver", "found"), [(12080, False), (13000, True), (13020, True), (14000, True)])
def test_an_older_driver_compiles(shipped, driver, found):
    ship(shipped, "sm_90", [("a", "sm_90")], toolkit=13)
    assert (cubin(shipped, "a", "sm_90", driver=driver) is not None) is found


def test_sources_take_the_cubins_of_an_installed_wheel_that_they_hide(shipped, monkeypatch, tmp_path):
    ship(shipped, "sm_90", [("a", "sm_90")])
    hidden = tmp_path / "site" / "semiring" / "kernels" / "cuda" / "shipped"
    hidden.parent.mkdir(parents=True)
    shipped.FOLDER.rename(hidden)
    assert cubin(shipped, "a", "sm_90") is None
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    shipped.trust.hidden.cache_clear()
    try:
        assert cubin(shipped, "a", "sm_90") == "cubin of a for sm_90"
    finally:
        shipped.trust.hidden.cache_clear()


def test_damage_is_passed_over(shipped):
    ship(shipped, "sm_90", [("a", "sm_90")], damage=b"!")
    assert cubin(shipped, "a", "sm_90") is None
    shipped._archive.cache_clear()
    path = shipped.FOLDER / "sm_90.zip"
    path.write_bytes(path.read_bytes()[:-30])
    assert cubin(shipped, "a", "sm_90") is None
    ship(shipped, "sm_80", [("a", "sm_80")])
    content = bytearray((shipped.FOLDER / "sm_80.zip").read_bytes())
    content[80] ^= 255
    (shipped.FOLDER / "sm_80.zip").write_bytes(content)
    assert cubin(shipped, "a", "sm_80") is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows keeps users apart by itself")
def test_what_others_may_write_is_not_loaded(shipped):
    ship(shipped, "sm_90", [("a", "sm_90")])
    (shipped.FOLDER / "sm_90.zip").chmod(0o666)
    assert cubin(shipped, "a", "sm_90") is None


def test_first_computations_ask_for_what_is_shipped(monkeypatch):
    """Closures and products of the commonest kinds, on a device of which sizes and launches are those of sm_90."""
    with fake_cupy.installed():
        from semiring.kernels.cuda import cache, shipping

        cp, asked = __import__("cupy"), set()
        monkeypatch.setattr(cache, "shipped", lambda text, arch, flags, driver: asked.add((text, arch, flags)))
        rng = np.random.default_rng(1)
        for n in (40, 200, 1000, 2500):
            for dtype in ("float32", "int32"):
                apsp.closure(cp.asarray(rng.integers(1 << 19, 1 << 20, (n, n)).astype(dtype)), overwrite=True)
        A = cp.asarray(rng.random((500, 500)))
        semiring.matmul(A, A)
        semiring.matmul(A, A, "max_min")
        from semiring.kernels.cuda import compile

        units = {(text, arch, (*compile.OPTIONS, *options)) for text, arch, options in shipping.units("sm_90")}
        assert len(asked) > 12
        assert asked <= units
