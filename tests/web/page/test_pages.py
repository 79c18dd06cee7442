"""Every page: it is there, it is well formed, it runs nothing of its own, it escapes all names."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx
import msgspec
import pytest

from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from web.page.invented import HOSTILE, game
from web.page.markup import Page, look
from web.page.site import Site

PUBLIC = [
    "/",
    "/pools/arena",
    "/pools/arena/leaderboard",
    "/pools/arena/leaderboard?search=FOX",
    "/pools/arena/leaderboard?around=mio-fox&provisional=1&inactive=1",
    "/pools/arena/players/mio-fox",
    "/pools/arena/players/mio-fox?match=m0186",
    "/search?text=fox",
    "/pools/arena/compare",
    "/pools/arena/compare?first=mio-fox",
    "/pools/arena/compare?first=mio-fox&second=ada-fox",
    "/pools/arena/matches",
    "/pools/arena/matches/m0200",
    "/pools/arena/balance",
    "/pools/arena/balance?player=ada-fox&player=bo_77",
    "/pools/arena/amendments",
    "/pools/arena/seasons",
    "/rebalance",
    "/tournament",
    "/sign-in",
]
ADMIN = [
    "/pools/club",
    "/pools/club/players/member%203",
    "/pools/club/compare?first=member%203&second=member%204",
    "/pools/club/matches/round%202",
    "/",
    "/pools/arena",
    "/pools/arena/players/mio-fox",
    "/pools/arena/matches/m0200",
    "/pools/arena/admin",
    "/new-pool",
    "/pools/arena/upload",
    "/pools/arena/post",
    "/pools/arena/void/m0200",
    "/pools/arena/correct/m0200",
    "/pools/arena/disqualify/mio-fox",
    "/pools/arena/seasons/end",
    "/pools/arena/webhooks",
    "/audit",
    "/audit?pool=arena",
    "/keys",
]


@pytest.mark.parametrize("path", PUBLIC)
def test_everybody_sees_public_pages(anybody: httpx.Client, path: str) -> None:
    look(anybody, path)


@pytest.mark.parametrize("path", ADMIN)
def test_an_admin_sees_all_pages(admin: httpx.Client, path: str) -> None:
    """Those of private pools, those with buttons, and those that change something."""
    assert "Sign out" in look(admin, path).text


def players_on(page: Page) -> dict[str | None, str]:
    """Return the links to players on a page, by id."""
    links = [(link.get("title"), link["href"] or "") for link in page.all("a")]
    return {title: href for title, href in links if "/players/" in href}


def test_a_hostile_name_is_only_ever_text(anybody: httpx.Client) -> None:
    """The player's page shows it as it is, and the links to it lead there."""
    links = players_on(look(anybody, "/pools/hostile/leaderboard"))
    for name in HOSTILE:
        page = look(anybody, links[name])
        assert " ".join(name.split()) in page.text
        course = anybody.get(links[name].replace("/players/", "/course/"))
        assert len(course.json()["ratings"]) == 6


def test_hostile_names_can_be_looked_for_and_balanced(anybody: httpx.Client) -> None:
    for name in HOSTILE:
        page = look(anybody, f"/pools/hostile/leaderboard?search={quote(name)}")
        titles = players_on(page)
        assert name in titles
        assert all(name.casefold() in (title or "").casefold() for title in titles)
    look(anybody, "/pools/hostile/balance?" + "&".join(f"player={quote(name)}" for name in HOSTILE))


def test_hostile_matches_can_be_opened(anybody: httpx.Client) -> None:
    for path in ("/pools/hostile", "/pools/hostile/leaderboard?around=.."):
        look(anybody, path)
    page = look(anybody, "/pools/hostile/matches")
    links = [link for link in page.links if "/matches/" in link]
    assert len(links) == 45
    for link in links[::3]:
        look(anybody, link)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("players/nobody", 404),
        ("matches/none", 404),
        ("matches/m0200?around=nobody", 404),
        ("amendments/x", 404),
        ("leaderboard?around=nobody", 404),
        ("leaderboard?cursor=nonsense", 422),
    ],
)
def test_what_is_not_there_is_said_on_a_page(anybody: httpx.Client, path: str, status: int) -> None:
    assert "/pools/arena" in look(anybody, f"/pools/arena/{path}", status).links


def test_an_unexplained_match_is_said_beside_the_player(anybody: httpx.Client) -> None:
    page = look(anybody, "/pools/arena/players/mio-fox?match=none&wait=1")
    assert "Rating over time" in page.text
    assert any(one.get("role") == "alert" for one in page.all("div"))


def test_the_parts_of_a_change_add_up_as_they_are_shown(anybody: httpx.Client) -> None:
    import re

    text = anybody.get("/pools/arena/players/mio-fox?wait=1").text
    table = text[text.index("Parts of the change") :]
    table = table[: table.index("</table>")]
    shown = [
        round(10 * float(one.replace("\N{MINUS SIGN}", "-")))
        for one in re.findall(r'class="(?:gain|loss|same)">([^<]+)<', table)
    ]
    assert len(shown) >= 2
    assert sum(shown[:-1]) == shown[-1]


def test_pages_of_the_leaderboard_follow_one_another(anybody: httpx.Client) -> None:
    first = look(anybody, "/pools/arena/leaderboard?provisional=1&inactive=1")
    onward = next(one["href"] for one in first.all("a") if one.get("rel") == "next")
    second = look(anybody, onward or "")
    assert "51" in second.texts
    back = next(one["href"] for one in second.all("a") if one.get("rel") == "prev")
    assert "1" in look(anybody, back or "").texts


def test_lists_a_hundred_players_of_a_large_match(site: Site, anybody: httpx.Client) -> None:
    """Next leads on, and a player is found; so it is in the API, by `limit`."""
    names = [f"p{number:03d}" for number in range(250)]
    teams = [TeamRequest([name], place) for place, name in enumerate(names, 1)]
    request = PoolRequest("elo", public=True)
    pool = site.new_pool("crowd", request, [MatchRequest("big", teams, time=1)])
    players = f"/pools/{pool}/players/"
    path = f"/pools/{pool}/matches/big"

    def listed(page: Page) -> list[str]:
        links = [link for link in page.links if players in link and "?" not in link]
        return [link.rpartition("/")[2] for link in links]

    first = look(anybody, path)
    assert "250" in first.texts
    assert listed(first) == names[:100]
    onward = next(one["href"] for one in first.all("a") if one.get("rel") == "next")
    assert listed(look(anybody, onward or "")) == names[100:200]
    around = look(anybody, f"{path}?around=p180")
    assert listed(around) == names[130:230]
    assert sum(one.get("class") == "here" for one in around.all("tr")) == 1
    answer = anybody.get(f"/v1{path}?limit=3&around=p180").json()
    assert [team["players"][0]["player"] for team in answer["teams"]] == names[179:182]
    assert f"{path}?around=p180" in look(anybody, f"{players}p180").links


def test_static_files_of_a_version_never_expire(anybody: httpx.Client) -> None:
    page = look(anybody, "/")
    sheet = next(one["href"] for one in page.all("link") if one.get("rel") == "stylesheet") or ""
    answer = anybody.get(sheet)
    assert answer.status_code == 200
    assert "immutable" in answer.headers["cache-control"]
    _, _, version, name = sheet.split("/")
    assert anybody.get(f"/static/x{version}/{name}").headers["cache-control"] == "no-cache"
    assert anybody.get(f"/static/{version}/..%2Fpage.css").status_code == 404


def test_the_theme_is_remembered_without_scripts(anybody: httpx.Client) -> None:
    """The button is a form; the choice is a cookie that the next page obeys."""
    answer = anybody.post("/theme", data={"theme": "dark", "back": "/pools/arena"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/pools/arena"
    assert look(anybody, "/").all("html")[0]["data-theme"] == "dark"


def test_a_pool_has_the_notes_of_its_system(site: Site, admin: httpx.Client) -> None:
    match = MatchRequest("m", [TeamRequest([name], rank) for rank, name in enumerate("ab")], time=1)
    pool = site.new_pool("noted", PoolRequest(system="bradley-terry"), [match])
    board = "leaderboard?provisional=1"
    assert "Note: " in look(admin, f"/pools/{pool}").text
    assert "Note:" not in look(admin, "/pools/arena").text
    assert "For bradley-terry, the 95 % range is" in look(admin, f"/pools/{pool}/{board}").text
    assert "For bradley-terry" not in look(admin, f"/pools/arena/{board}").text


def test_finds_players_pools_and_matches(anybody: httpx.Client) -> None:
    """Players and pools by a part in any case, matches by the beginning of the id."""
    page = look(anybody, "/search?text=FOX")
    assert "/pools/arena/players/mio-fox" in page.links
    assert "/pools/arena" in look(anybody, "/search?text=ren").links
    found = [one for one in look(anybody, "/search?text=m020").links if "/matches/" in one]
    assert found == [f"/pools/arena/matches/m020{at}" for at in range(5)]
    assert not [one for one in look(anybody, "/search?text=M020").links if "/matches/" in one]
    assert "Nothing found for zzz" in look(anybody, "/search?text=zzz").text
    look(anybody, "/search")


def test_a_private_pool_is_found_with_a_key_of_it_only(anybody: httpx.Client, site: Any) -> None:
    """Neither its name, nor its players, nor its matches tell that it exists."""
    with site.visitor("club") as member, site.visitor("writer") as writer:
        for text in ("club", "member 3", "round 1"):
            inside = f'href="/pools/club{"" if text == "club" else "/"}'
            assert inside in member.get(f"/search?text={text}").text
            for other in (anybody, writer):
                assert inside not in other.get(f"/search?text={text}&pool=club").text


def test_the_pool_of_the_page_comes_first(admin: httpx.Client) -> None:
    for first, other in (("arena", "club"), ("club", "arena")):
        page = look(admin, f"/search?text=m&pool={first}")
        heads = [one for one in page.texts if one in (first, other)]
        assert heads.index(first) < heads.index(other)


def test_hostile_names_are_found(anybody: httpx.Client) -> None:
    for text in ("%", "_", "\\", "<script>", "x" * 200, "\ud800", "日本"):
        look(anybody, str(httpx.URL("/search", params={"text": text.encode("utf-8", "replace")})))


def test_a_match_is_found_by_its_title_as_it_is_now(anybody: httpx.Client, site: Any) -> None:
    matches = [game(1, "Ada", "Bo", (3, 1)), game(2, "Ada", "Bo", (3, 1))]
    matches[0] = msgspec.structs.replace(matches[0], title='The "Grand" Final 100%')
    pool = site.new_pool("titled", PoolRequest("elo", public=True, late="replay"), matches)
    path = f"/pools/{pool}/matches/game%201"
    assert path in look(anybody, str(httpx.URL("/search", params={"text": "100%"}))).links
    match = msgspec.to_builtins(msgspec.structs.replace(matches[0], title="Semi"))
    site.perform("PUT", f"{path}?wait=20", match)
    assert path in look(anybody, "/search?text=semi").links
    assert path not in look(anybody, "/search?text=grand").links
