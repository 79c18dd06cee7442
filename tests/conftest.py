"""How many processes `pytest -n auto` starts, and fixtures of all tests."""

from __future__ import annotations

import contextlib
import os

import pytest

pytest_plugins = ("databases",)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one for each physical core that is ours; with a single one 0, this process alone."""
    ours = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(ImportError):
        import psutil

        ours = min(ours, psutil.cpu_count(logical=False) or ours)
    return ours if ours > 1 else 0
