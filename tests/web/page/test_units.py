"""What pages call matches and players, and that they do not contradict what stands beside."""

from __future__ import annotations

import re
from typing import Any

import pytest

from equipoise.messages.histories import ExplainMessage
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from equipoise.web.page.figures import why_of
from web.page.markup import look
from web.page.test_forms_at_work import token

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


def duel(name: str, first: str, second: str, ranks: tuple[int, int]) -> MatchRequest:
    teams = [TeamRequest([first], rank=ranks[0]), TeamRequest([second], rank=ranks[1])]
    return MatchRequest(name, teams, time=1_788_300_000 + int(name))


def words(page: str) -> str:
    """Return the text of a page in one line."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_displayed_ratings_have_no_range_of_the_others_and_draws_are_called_so(site: Any) -> None:
    request = PoolRequest(system="glicko2", display_deviations=2.0, placement_matches=0)
    matches = [duel("1", "ann", "ben", (1, 1)), duel("2", "ann", "ben", (1, 2))]
    pool = site.new_pool("displayed", request, matches)
    row = site.ask("GET", f"/pools/{pool}/leaderboard").json()["players"][0]
    assert row["display"] == pytest.approx(row["rating"] - 2 * row["deviation"])
    with site.visitor(f"{pool} reader") as reader:
        for path in (f"/pools/{pool}", f"/pools/{pool}/leaderboard"):
            page = words(reader.get(path).text)
            assert "isplayed rating" in page
            shown = f"{row['display']:,.0f}"
            assert shown in page
            assert f"{shown} ±" not in page
        player = words(reader.get(f"/pools/{pool}/players/ben").text)
        assert "L lost" in player
        assert "D drew" in player
        assert "W won" not in player
        assert "draw" in words(reader.get(f"/pools/{pool}/matches/1").text)
        assert "draw" not in words(reader.get(f"/pools/{pool}/matches/2").text)


def test_what_was_expected_of_many_is_the_share_beside_it() -> None:
    """Ahead of 99.6 % of 200 others would be 2nd, beside "> 99 %"."""
    found = ExplainMessage(
        **{
            **dict.fromkeys(ExplainMessage.__struct_fields__, None),
            **{"rank": 1, "teams": 201, "tied": 0, "expected": 0.996, "score": 1.0, "change": 1.0},
            **{"opponents": [], "contributions": [], "remembered": []},
        }
    )
    result = why_of(found).result
    assert result.startswith("came 1st of 201")
    assert "> 99" in result
    assert "2nd" not in result


def test_pages_name_matches_by_their_title(site: Any) -> None:
    """Titles are escaped, and the link leads outside without a referrer that ranks it."""
    title, link = "<b>Final</b> & more", 'https://example.org/?q="><script>'
    named = {"title": title, "link": link.replace('"', "%22"), "attributes": {"<i>": "<u>"}}
    first = MatchRequest("1", duel("1", "ann", "ben", (1, 2)).teams, time=1, **named)  # type: ignore[arg-type]
    many = [TeamRequest([name], rank=rank) for rank, name in enumerate(("ann", "ben", "cyd"))]
    second = MatchRequest("2", many, time=2, title="Round 2")
    pool = site.new_pool("titled", PoolRequest(placement_matches=0), [first, second])
    with site.visitor(f"{pool} reader") as reader:
        page = reader.get(f"/pools/{pool}/matches/1").text
        assert "<b>Final" not in page
        assert "<h1><bdi>&lt;b&gt;Final&lt;/b&gt; &amp; more</bdi></h1>" in page
        assert 'href="https://example.org/?q=%22&gt;&lt;script&gt;" rel="nofollow noopener"' in page
        assert "<dt><bdi>&lt;i&gt;</bdi></dt><dd><bdi>&lt;u&gt;</bdi></dd>" in page
        for path in ("", "/matches", "/players/ann"):
            page = reader.get(f"/pools/{pool}{path}").text
            assert "<bdi>Round 2</bdi>" in page
            assert "&lt;b&gt;Final" in page


def test_pages_show_names_instead_of_ids(site: Any) -> None:
    """Names are escaped on every page; search finds them, and their initials are drawn."""
    teams = [TeamRequest(["76-1"], rank=0), TeamRequest(["76-2"], rank=1)]
    many = [*teams, TeamRequest(["76-3"], rank=2)]
    matches = [MatchRequest("1", teams, time=1), MatchRequest("2", many, time=2)]
    pool = site.new_pool("named", PoolRequest(system="elo-mmr", placement_matches=0), matches)
    link = "https://example.org/ana"
    listed = [
        {"player": "76-1", "name": "Ana <b>", "link": link, "attributes": {"from": "<NL>"}},
        {"player": "76-2", "name": "Bo & Co"},
    ]
    assert site.ask("PUT", f"/pools/{pool}/profiles", {"profiles": listed}).json()["changed"] == 2
    with site.visitor(f"{pool} admin") as admin:
        for path in (
            "",
            "/leaderboard",
            "/leaderboard?search=BO%20%26",
            "/matches",
            "/matches/1",
            "/matches/2",
            "/players/76-1",
            "/players/76-2?match=1",
            "/compare?first=76-1&second=76-2",
        ):
            page = admin.get(f"/pools/{pool}{path}").text
            assert "Bo &amp; Co" in page, path
            assert "<bdi>76-2</bdi>" not in page or path.startswith("/players/76-2"), path
            assert "Ana <b>" not in page
            assert not re.search("[\x02-\x04]", page)
        found = admin.get("/search?text=bo%20%26").text
        assert 'title="76-2"><bdi>Bo &amp; Co</bdi>' in found
        page = admin.get(f"/pools/{pool}/players/76-1").text
        assert "<title>Ana &lt;b&gt;" in page
        assert ">AB</text>" in page
        assert f'href="{link}" rel="nofollow noopener">example.org</a>' in page
        assert "<bdi>from: &lt;NL&gt;</bdi>" in page
        found = admin.get(f"/pools/{pool}/names?text=ana").json()["players"]
        assert [(one["player"], one["name"]) for one in found] == [("76-1", "Ana <b>")]


def test_pages_show_tiers_units_and_doubt(site: Any) -> None:
    """A tier has a name beside its picture, and a provisional rating a question mark and a word."""
    request = PoolRequest(system="elo", placement_matches=2, unit="contest", tiers="five")
    matches = [duel("1", "ann", "ben", (1, 2)), duel("2", "ann", "cyd", (1, 2))]
    pool = site.new_pool("tiered", request, matches)
    with site.visitor(f"{pool} admin") as admin:
        board = admin.get(f"/pools/{pool}/leaderboard?provisional=1").text
        assert '<span class="tier t3" title="Gold">' in board
        assert "3 players, 2 contests" in words(board)
        assert words(board).count("?") == words(board).count("provisional") - 1 == 2
        assert "Last contest" in board
        player = words(admin.get(f"/pools/{pool}/players/ben").text)
        assert "Silver" in player
        assert "provisional" in player
        assert "Contests" in player
        assert "Latest contests" in admin.get(f"/pools/{pool}").text
        form = admin.get(f"/pools/{pool}/settings").text
        assert '<option value="five" selected>' in form
        token = re.search(r'name="token" value="([^"]+)"', form)
        assert token is not None
        sent = {"token": token[1], "tiers": "chess", "unit": "game", "provisional_deviation": "90"}
        admin.post(f"/pools/{pool}/settings", data=sent)
        told = site.ask("GET", f"/pools/{pool}").json()
        assert (told["unit"], told["provisional_deviation"]) == ("game", 90)
        assert told["tiers"][-1]["name"] == "Senior master"
