"""The search finds players, matches and pools, and only those that the sender may read."""

from __future__ import annotations

from typing import Any

import httpx
import msgspec

from equipoise.messages.pools import PoolRequest
from web.page.test_pages import look
from web.page.test_player_page import game


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
