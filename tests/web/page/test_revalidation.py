"""Pages for everybody have an ETag, and 304 answers as long as nothing has changed."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from equipoise.messages.pools import PoolRequest
from web.page.site import Site
from web.page.test_player_page import game


@pytest.fixture
def pool(site: Site) -> str:
    """Return a pool of two matches."""
    matches = [game(1, "Ada", "Bo", (3, 1)), game(2, "Bo", "Ada", (3, 1))]
    request = PoolRequest("elo", public=True, placement_matches=0, title="First")
    return site.new_pool("fresh", request, matches)


def ask(client: httpx.Client, path: str, tag: str) -> httpx.Response:
    return client.get(path, headers={"If-None-Match": tag})


@pytest.mark.parametrize(
    # Without `wait`, the first answer may have no records yet.
    "page",
    ["?wait=1", "/leaderboard", "/matches", "/matches/game%202", "/players/Ada", "/seasons"],
)
def test_answers_304_until_change(site: Site, anybody: httpx.Client, pool: str, page: str) -> None:
    path = f"/pools/{pool}{page}"
    answer = anybody.get(path)
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["vary"] == "Cookie"
    tag = answer.headers["etag"]
    again = ask(anybody, path, tag)
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    for name in ("content-security-policy", "cache-control", "vary", "referrer-policy"):
        assert again.headers[name] == answer.headers[name]
    # Neither a change of a setting nor of a match leaves the tag.
    site.perform("PATCH", f"/pools/{pool}", {"title": "Second"})
    changed = ask(anybody, path, tag)
    assert changed.status_code == 200
    assert "Second" in changed.text
    site.perform("POST", f"/pools/{pool}/matches/game%202/void?wait=20", {"reason": ""})
    if page in ("/leaderboard", "/matches", "/matches/game%202", "/players/Ada"):
        assert ask(anybody, path, changed.headers["etag"]).status_code == 200


def test_themes_and_addresses_have_tags_of_their_own(anybody: httpx.Client, pool: str) -> None:
    path = f"/pools/{pool}/leaderboard"
    tags = {anybody.get(path).headers["etag"], anybody.get(f"{path}?search=a").headers["etag"]}
    tags.add(anybody.get(path, headers={"Cookie": "equipoise-theme=dark"}).headers["etag"])
    assert len(tags) == 3


def test_keeps_no_error_or_own_page(site: Any, admin: httpx.Client, anybody: httpx.Client) -> None:
    tag = anybody.get("/pools/arena/matches").headers["etag"]
    answer = ask(admin, "/pools/arena/matches", tag)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "private, no-store"
    assert "etag" not in answer.headers
    for path in ("/pools/club/leaderboard", "/pools/nothing/leaderboard"):
        answer = ask(anybody, path, "*")
        assert (answer.status_code, "etag" in answer.headers) == (303, False)
    answer = ask(anybody, "/pools/arena/matches/nothing", '"x"')
    assert (answer.status_code, answer.headers["cache-control"]) == (404, "private, no-store")
