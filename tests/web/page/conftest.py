"""Pages of a running service with invented pools."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """Give the service; tests that change something leave the pools `club` and `hostile` alone."""
    pytest.importorskip("uvicorn")
    from web.page.site import running_site

    with running_site(tmp_path_factory.mktemp("site"), private_webhooks=True) as found:
        yield found


@pytest.fixture
def anybody(site: object) -> Iterator[httpx.Client]:
    """Give a visitor without a key."""
    with site.visitor() as client:  # type: ignore[attr-defined]
        yield client


@pytest.fixture
def admin(site: object) -> Iterator[httpx.Client]:
    """Give a visitor who may do everything."""
    with site.visitor("admin") as client:  # type: ignore[attr-defined]
        yield client
