"""A real browser: Chromium, driven by Playwright."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from browser.chromium import find_chromium
from trials.compiled import compile_kernels

#: Set by `make test-browser`: it has installed one, so that a skip would hide something.
NEEDED = "NEED_CHROMIUM"


@pytest.fixture(scope="session", autouse=True)
def _kernels() -> None:
    """Compile the kernels of all systems first, so that new pools take posts at once."""
    compile_kernels()


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
    """Give the service with invented pools, in a thread of this process.

    In the pool `league-1` a season has ended, and a webhook fails that is told of the next one.
    """
    pytest.importorskip("uvicorn")
    from equipoise.messages.pools import PoolRequest
    from web.page import invented
    from web.page.site import running_site

    folder = tmp_path_factory.mktemp("pages")
    with running_site(folder, private_webhooks=True, webhook_seconds=1.0) as found:
        request = PoolRequest(system="elo-mmr", public=True, placement_matches=3)
        pool = found.new_pool("league", request, invented.club(30))
        hook = {"url": "http://127.0.0.1:9/" + "nobody/" * 12}
        for path, content in (("webhooks", hook), ("seasons", {"season": "2026-1"})):
            found.perform("POST", f"/pools/{pool}/{path}", content)
        yield found
