"""Where the GPU tests learn whether there is a GPU."""

from __future__ import annotations

import pytest

from semiring.backend import cuda_available


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `gpu` on machines without one, and say why."""
    if not any("gpu" in item.keywords for item in items) or cuda_available():
        return
    for item in items:
        if "gpu" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU with CuPy on this machine"))
