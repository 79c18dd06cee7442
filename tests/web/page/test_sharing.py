"""Badges, CSV files, what other sites show of a link, and pages that are not sent twice."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from typing import Any

import httpx
import pytest

from equipoise.messages.pools import PoolRequest
from web.page.invented import DASH, HOSTILE, game
from web.page.markup import look
from web.page.site import Site


@pytest.fixture(scope="module")
def pool(site: Any) -> str:
    matches = [game(1, "Ada", "=1+1", (3, 1)), game(2, "=1+1", "Ada", (2, 2))]
    request = PoolRequest("glicko2", public=True, placement_matches=0, title="Cup <of> all")
    return str(site.new_pool("shared", request, matches))


def table(client: httpx.Client, path: str) -> list[dict[str, str]]:
    """Return a CSV file as rows."""
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "attachment" in answer.headers["content-disposition"]
    return list(csv.DictReader(io.StringIO(answer.text)))


def test_files_have_what_the_api_says(site: Any, anybody: httpx.Client, pool: str) -> None:
    """Text that a spreadsheet would run is escaped."""
    board = site.perform("GET", f"/pools/{pool}/leaderboard")["players"]
    rows = table(anybody, f"/pools/{pool}/leaderboard.csv")
    assert [float(one["rating"]) for one in rows] == [one["rating"] for one in board]
    assert {one["player"] for one in rows} == {"Ada", "'=1+1"}
    lines = site.perform("GET", f"/pools/{pool}/players/Ada/history")["matches"]
    rows = table(anybody, f"/pools/{pool}/history.csv?player=Ada")
    assert [(one["match"], float(one["change"])) for one in rows] == [
        (one["match"], one["change"]) for one in lines
    ]
    assert rows[0]["opponents"] == "'=1+1"
    rows = table(anybody, f"/pools/{pool}/match.csv?match=game%201")
    assert [(one["place"], one["score"], one["player"]) for one in rows] == [
        ("1", "3.0", "Ada"),
        ("2", "1.0", "'=1+1"),
    ]
    assert rows[0]["statistics.shots"] == "9.0"


def test_a_badge_has_name_and_rating(site: Any, anybody: httpx.Client, pool: str) -> None:
    answer = anybody.get(f"/pools/{pool}/badge.svg?player=Ada")
    assert answer.headers["content-type"] == "image/svg+xml"
    rating = site.perform("GET", f"/pools/{pool}/players/Ada")["display"]
    texts = [one.text for one in ET.fromstring(answer.text).iter() if one.text]
    assert texts == [f"Ada: {rating:,.0f} in Cup <of> all", "Ada", f"{rating:,.0f}"]
    tag = {"If-None-Match": answer.headers["etag"]}
    assert anybody.get(f"/pools/{pool}/badge.svg?player=Ada", headers=tag).status_code == 304
    for name in HOSTILE[:3]:
        ET.fromstring(anybody.get("/pools/hostile/badge.svg", params={"player": name}).text)


def test_links_have_title_and_description_for_other_sites(anybody: httpx.Client, pool: str) -> None:
    described = {
        "": ("Cup <of> all", "2 players, 2 matches."),
        "/players/Ada": ("in Cup <of> all", "1 won, 1 drawn, 0 lost"),
        "/matches/game%201": ("Match game 1", f"Ada 3{DASH}1 =1+1."),
        "/compare?first=Ada&second=%3D1%2B1": ("Ada and =1+1", "2 matches: 1 won, 1 drawn"),
    }
    for path, (title, about) in described.items():
        page = look(anybody, f"/pools/{pool}{path}")
        meta = {one.get("property"): one.get("content") or "" for one in page.all("meta")}
        assert title in meta["og:title"]
        assert about in meta["og:description"]


def test_only_public_boards_can_be_framed(site: Any, anybody: httpx.Client, pool: str) -> None:
    """It has nothing to press; after a revalidation it may still be framed."""
    path = f"/pools/{pool}/embed"
    assert path in look(anybody, f"/pools/{pool}").links
    page = look(anybody, path)
    assert {f"/pools/{pool}/players/Ada", f"/pools/{pool}/leaderboard"} <= set(page.links)
    assert not page.all("form")
    answer = anybody.get(path)
    again = anybody.get(path, headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304
    for sent in (answer, again):
        assert "frame-ancestors *" in sent.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in anybody.get("/").headers["content-security-policy"]
    with site.visitor("club") as member:
        assert member.get("/pools/club/embed").status_code == 403


@pytest.mark.parametrize(
    "file", ["leaderboard.csv", "history.csv?player=member%203", "badge.svg?player=member%203"]
)
def test_files_of_private_pools_need_a_key(site: Any, anybody: httpx.Client, file: str) -> None:
    assert anybody.get(f"/pools/club/{file}").status_code == 303
    with site.visitor("club") as member:
        assert member.get(f"/pools/club/{file}").headers["cache-control"] == "private, no-store"


def test_unknown_players_and_matches_are_not_found(anybody: httpx.Client, pool: str) -> None:
    for path in ("badge.svg", "history.csv?player=x", "match.csv?match=x", "match.csv"):
        assert anybody.get(f"/pools/{pool}/{path}").status_code == 404


@pytest.fixture
def fresh(site: Site) -> str:
    """Return a pool of two matches."""
    matches = [game(1, "Ada", "Bo", (3, 1)), game(2, "Bo", "Ada", (3, 1))]
    request = PoolRequest("elo", public=True, placement_matches=0, title="First")
    return site.new_pool("fresh", request, matches)


def ask(client: httpx.Client, path: str, tag: str) -> httpx.Response:
    return client.get(path, headers={"If-None-Match": tag})


def test_answers_304_until_change(site: Site, anybody: httpx.Client, fresh: str) -> None:
    """Neither a change of a setting nor of a match leaves the tag."""
    # Without `wait`, the first answer may have no records yet.
    changing = ["/leaderboard", "/matches", "/matches/game%202", "/players/Ada"]
    paths = [f"/pools/{fresh}{page}" for page in (*changing, "?wait=1", "/seasons")]
    answers = {path: anybody.get(path) for path in paths}
    for path, answer in answers.items():
        assert answer.headers["cache-control"] == "no-cache"
        assert answer.headers["vary"] == "Cookie"
        tag = answer.headers["etag"]
        again = ask(anybody, path, tag)
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        for name in ("content-security-policy", "cache-control", "vary", "referrer-policy"):
            assert again.headers[name] == answer.headers[name]
    site.perform("PATCH", f"/pools/{fresh}", {"title": "Second"})
    changed = {path: ask(anybody, path, answers[path].headers["etag"]) for path in paths}
    for answer in changed.values():
        assert (answer.status_code, "Second" in answer.text) == (200, True)
    site.perform("POST", f"/pools/{fresh}/matches/game%202/void?wait=20", {"reason": ""})
    for path in paths[: len(changing)]:
        assert ask(anybody, path, changed[path].headers["etag"]).status_code == 200


def test_themes_and_addresses_have_tags_of_their_own(anybody: httpx.Client, fresh: str) -> None:
    path = f"/pools/{fresh}/leaderboard"
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
