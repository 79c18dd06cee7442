"""Explanations come one after the other: however many are asked for, predictions are answered."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from equipoise.web.api import players as api
from equipoise.web.page import players as pages
from trials.pace import allow
from web.page.site import Site, running_site

#: It starts processes, and waits for their ends.
pytestmark = pytest.mark.slow


def forever(*given: object, **more: object) -> None:
    """Take longer than this test; a process calls it."""
    time.sleep(3600.0)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    pytest.importorskip("uvicorn")
    with running_site(tmp_path) as found:
        yield found


def test_explanations_leave_processes_free(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anonymous visitors open many players' pages at once, and every explanation takes forever."""
    board = site.ask("GET", "/pools/arena/leaderboard?limit=20").json()["players"]
    names = [row["player"] for row in board]
    monkeypatch.setattr(pages, "explained", forever)
    monkeypatch.setattr(api.questions, "explain_player", forever)

    def visit(name: str) -> int:
        return httpx.get(f"{site.url}/pools/arena/players/{name}", timeout=300.0).status_code

    with ThreadPoolExecutor(20) as visitors:
        # The pages come without the explanation.
        assert set(visitors.map(visit, names)) == {200}
        split = {"players": names[:4], "teams": 2}
        predict = {"teams": [[names[0]], [names[1]]]}
        for question, body in (("balance", split), ("predict", predict)):
            answer = site.ask("POST", f"/pools/arena/{question}", body)
            assert answer.status_code == 200, answer.text
            assert answer.elapsed.total_seconds() < allow(20.0)
