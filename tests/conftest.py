"""Which tests are slow, how many processes `pytest -n auto` starts, and fixtures of all tests."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from equipoise.wording import options_named

# The limits of hypothesis on seconds measure the machine. Its examples stay as many as they are.
settings.register_profile("all", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quarter", settings.get_profile("all"), max_examples=25)
settings.register_profile("tenth", settings.get_profile("all"), max_examples=10)
settings.load_profile("all")

pytest_plugins = ("databases", "plugged")

#: What makes a test slow without saying so: another compilation, the machine for itself, Chromium,
#: and what CI leaves to the night.
SLOW_MARKS = ("recompiles", "alone", "browser", "nightly")
#: And a fixture that starts a server: `make test` has the service in its own process, on SQLite.
SLOW_FIXTURES = ("postgres", "service", "standby_servers")
#: Where a test that runs on both databases is run on PostgreSQL too in CI: what talks to it, and
#: posts of every kind. Elsewhere it is the same once more, for the night.
ON_POSTGRESQL = ("store", "test_pool_machine.py", "test_posting.py", "test_short_transactions.py")

#: The marks of every collected test, those that are not selected included.
MARKS = pytest.StashKey[dict[str, frozenset[str]]]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark slow tests as such, before pytest selects."""
    for item in items:
        if _on_postgresql(item) and {item.path.parent.name, item.path.name}.isdisjoint(
            ON_POSTGRESQL
        ):
            item.add_marker(pytest.mark.nightly)
        marked = any(item.get_closest_marker(mark) for mark in SLOW_MARKS)
        if marked or not set(SLOW_FIXTURES).isdisjoint(_fixtures(item)):
            item.add_marker(pytest.mark.slow)
    config.stash[MARKS] = {
        item.nodeid: frozenset(mark.name for mark in item.iter_markers()) for item in items
    }


def pytest_collection_finish() -> None:
    """Keep what has been collected out of the way of the collector of garbage."""
    gc.collect()
    gc.freeze()


def _fixtures(item: pytest.Item) -> list[str]:
    """Return the fixtures of a test; a parameter of `database_url` chooses one while it runs."""
    found = list(getattr(item, "fixturenames", ()))
    if _on_postgresql(item):
        found.append("postgres")
    return found


def _on_postgresql(item: pytest.Item) -> bool:
    parameters = getattr(item, "callspec", None)
    return parameters is not None and parameters.params.get("database_url") == "postgresql"


@pytest.fixture
def options_in_messages() -> Iterator[None]:
    """Let messages name options, as on the command line; elsewhere they name parameters."""
    with options_named():
        yield


@pytest.fixture
def marks_of_tests(pytestconfig: pytest.Config) -> dict[str, frozenset[str]]:
    """Give the marks of every collected test by its id."""
    return pytestconfig.stash[MARKS]


#: Fixtures of the session whose threads go on from file to file.
SHARED_SERVICES = ("site", "served")
#: Threads that Dask starts once for a process, and those that a shared service may start any time.
OTHERS = ("IO loop", "Dask-", "Profile", "equipoise-", "AnyIO worker", "asyncio_")


def is_shared(thread: threading.Thread) -> bool:
    return thread.name.startswith(OTHERS)


@pytest.fixture(scope="module", autouse=True)
def _no_thread_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail if threads of a file outlive it: they would disturb whatever runs next."""
    before = set(threading.enumerate())
    yield
    own = [item for item in request.session.items if item.path == request.path]
    if any(name in _fixtures(item) for item in own for name in SHARED_SERVICES):
        return
    end = time.monotonic() + 30.0
    while left := {one for one in set(threading.enumerate()) - before if not is_shared(one)}:
        assert time.monotonic() < end, f"threads outlive {request.path.name}: {left}"
        time.sleep(0.01)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one for each physical core that is ours; with a single one 0, this process alone."""
    ours = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(ImportError):
        import psutil

        ours = min(ours, psutil.cpu_count(logical=False) or ours)
    return ours if ours > 1 else 0
