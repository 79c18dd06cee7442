"""A real browser: Chromium, driven by Playwright."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from browser.chromium import find_chromium

#: Set by `make test-browser`: it has installed one, so that a skip would hide something.
NEEDED = "NEED_CHROMIUM"


@pytest.fixture(scope="session")
def path_of_chromium() -> str:
    """Return the path of Chromium, or skip the test and say how to get one."""
    try:
        import playwright.sync_api  # noqa: F401  # only whether it is there
    except ImportError:
        found = None
    else:
        found = find_chromium()
    if found is None:
        missing = "there is no Chromium with Playwright here: `make test-browser` installs both"
        if os.environ.get(NEEDED):
            pytest.fail(missing)
        pytest.skip(missing)
    return found


# Of a module, not of the session: while it runs, no other test of this process can start a loop
# of asyncio.
@pytest.fixture(scope="module")
def chromium(path_of_chromium: str) -> Iterator[Any]:
    """Return a running browser; each test opens pages of its own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path_of_chromium)
        yield running
        running.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Give the service with invented pools, in a thread of this process."""
    pytest.importorskip("uvicorn")
    from web.page.site import running_site

    with running_site(tmp_path_factory.mktemp("pages")) as found:
        yield found
