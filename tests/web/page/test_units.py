"""What matches are called in a pool, its own tiers, and titles in the form of a match."""

from __future__ import annotations

import re
from typing import Any

import pytest

from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from web.page.markup import Page
from web.page.test_forms_at_work import do, token
from web.page.test_pages import look

#: Words of the frame that all pools share, and of a setting.
_SHARED = ("Find a player, match or pool", "placement match")


@pytest.fixture(scope="module")
def pool(site: Any) -> str:
    """Return a pool of events with three to four players, without times."""
    matches = [
        MatchRequest(f"e{at}", [TeamRequest([name], rank) for rank, name in enumerate(names)])
        for at, names in enumerate(["abc", "cab", "abcd", "ba", "ab"])
    ]
    request = PoolRequest("elo-mmr", public=True, times="none", placement_matches=2, unit="event")
    return str(site.new_pool("events", request, matches))


@pytest.mark.parametrize(
    "page",
    [
        "",
        "/leaderboard",
        "/matches",
        "/matches?around=e1",
        "/matches/e1",
        "/players/a?wait=1",
        "/compare?first=a&second=b",
        "/admin",
        "/post",
        "/upload",
        "/void/e1",
        "/disqualify/a",
        "/rename/a",
    ],
)
def test_pages_call_matches_what_the_pool_calls_them(site: Any, pool: str, page: str) -> None:
    with site.visitor(f"{pool} admin") as admin:
        text = look(admin, f"/pools/{pool}{page}").text
    for shared in _SHARED:
        text = text.replace(shared, "")
    found = re.search(r"(?i).{0,40}\bmatch(es)?\b.{0,20}", text)
    assert found is None, found
    assert "event" in text.lower()
    assert "a event" not in text


def test_the_page_of_a_player_begins_around_a_match(anybody: Any, pool: str) -> None:
    page = look(anybody, f"/pools/{pool}/players/a?around=e0")
    assert "Around event e0 . Newest events" in page.text
    assert look(anybody, f"/pools/{pool}/players/d?around=e0", 404)


def test_own_tiers_are_typed_and_drawn(site: Any, pool: str) -> None:
    """One per line; a line that is none is named, and what was typed stays."""
    path = f"/pools/{pool}/settings"
    with site.visitor(f"{pool} admin") as admin:
        fields = {"token": token(admin, path), "unit": "event", "public": "1", "tiers": "own"}
        fields |= {"late": "reject", "own_tiers": "0, Novice\n"}
        refused = admin.post(path, data=fields)
        assert refused.status_code == 422
        assert "must be a lower bound, a name, a short name and a level" in refused.text
        assert "0, Novice" in refused.text
        lines = "0, Novice, Nov, 1\n1450, Club <player>, Club, 3\n1550, Expert, Exp, 5"
        assert admin.post(path, data={**fields, "own_tiers": lines}).status_code == 303
        tiers = site.perform("GET", f"/pools/{pool}")["tiers"]
        assert [(one["lower"], one["name"], one["level"]) for one in tiers] == [
            (0.0, "Novice", 1),
            (1450.0, "Club <player>", 3),
            (1550.0, "Expert", 5),
        ]
        text = admin.get(path).text
        assert "1450, Club &lt;player&gt;, Club, 3" in text
        assert re.search(r'<option value="own" selected>', text)
        page = admin.get(f"/pools/{pool}/players/a").text
        assert re.search(r'<text class="tier t\d"[^>]*>(Club|Exp)<', page)
        assert "data-tiers=" in page


def test_a_match_is_posted_with_title_and_link(site: Any, pool: str) -> None:
    path = f"/pools/{pool}/post"
    with site.visitor(f"{pool} admin") as admin:
        fields: dict[str, Any] = {
            "token": token(admin, path),
            "match": "titled",
            "title": "Winter <Cup>",
            "link": "http://example.org",
            "result": "place",
            "rank": ["1", "2"],
            "players-1": "a",
            "players-2": "b",
        }
        refused = admin.post(path, data=fields)
        assert refused.status_code == 422
        assert "must be an https address" in refused.text
        fields["link"] = "https://example.org/cup"
        preview = admin.post(path, data=fields)
        assert Page(preview.text).field("title") == "Winter <Cup>"
        do(admin, path, fields, preview)
    found = site.perform("GET", f"/pools/{pool}/matches/titled")
    assert (found["title"], found["link"]) == ("Winter <Cup>", "https://example.org/cup")


def test_all_matches_are_voided_without_times(site: Any, pool: str) -> None:
    with site.visitor(f"{pool} admin") as admin:
        assert "Void all events" in Page(admin.get(f"/pools/{pool}/players/c").text).text
        path = f"/pools/{pool}/disqualify/c"
        fields = {"token": token(admin, path), "all": "1", "reason": "twice"}
        preview = admin.post(path, data=fields)
        assert "The events count for nobody." in Page(preview.text).text
        done = do(admin, path, fields, preview)
        assert "disqualified" in Page(done.text).text
    rows = site.perform("GET", f"/pools/{pool}/leaderboard?provisional=true")["players"]
    # d only met c.
    assert {"a", "b", "c"} == {one["player"] for one in rows}
