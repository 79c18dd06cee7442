"""The audit log on the page: who did what, for those who may know it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from equipoise.messages.pools import PoolRequest
from equipoise.messages.upkeep import AuditEntry
from equipoise.web.page.administration import place_of
from equipoise.web.page.rendering import path
from web.page import invented
from web.page.invented import HOSTILE
from web.page.markup import Page, look
from web.page.test_forms_at_work import confirm, token


@pytest.fixture(scope="module")
def watched(site: Any) -> str:
    """Return a pool with hostile names in which everything was done that is written down."""
    pool = site.new_pool("watched", invented.HOSTILE_POOL, invented.hostile())
    with site.visitor("admin") as admin:
        given = token(admin, f"/pools/{pool}/webhooks")
        for name in HOSTILE:
            where = path("pools", pool, "disqualify", name)
            fields = {"since": "", "reason": f"said {name}", "token": given}
            confirm(admin, where, fields)
    address = {"url": "https://e.org/<script>x</script>"}
    number = site.perform("POST", f"/pools/{pool}/webhooks", address)["webhook"]["webhook"]
    for action in ("disable", "enable"):
        site.perform("POST", f"/pools/{pool}/webhooks/{number}/{action}")
    site.perform("DELETE", f"/pools/{pool}/webhooks/{number}")
    key = {"name": HOSTILE[0], "role": "reader", "pool": pool}
    made = site.perform("POST", "/keys", key)["key"]["key"]
    site.perform("POST", f"/keys/{made}/revoke")
    site.perform("POST", f"/pools/{pool}/replay")
    return str(pool)


def whole_log(client: httpx.Client, first: str) -> list[Page]:
    """Return all pages of the log, each with what holds for every page."""
    found, onward = [], first
    while onward:
        assert len(found) < 20
        found.append(look(client, onward))
        links = [one["href"] for one in found[-1].all("a") if one.get("rel") == "next"]
        onward = links[0] if links else ""
    return found


def test_deeds_are_sentences_with_key_and_time(admin: httpx.Client, watched: str) -> None:
    page = look(admin, f"/audit?pool={watched}")
    words = (f"requested a replay of the pool {watched}", f"reader of {watched}", "deleted webhook")
    words += ("enabled webhook", "disabled webhook", "created webhook")
    places = [page.text.index(text) for text in words]
    assert places == sorted(places)
    assert "the admin" in page.texts
    assert len(page.all("time")) == 2 * len(page.all("tr")) - 2
    assert not any("rel" in one for one in page.all("a")), "all of it is one page"


def test_hostile_names_in_the_log_are_only_text(admin: httpx.Client, watched: str) -> None:
    """Players, reasons, addresses and names of keys; the links to players lead to them."""
    page = look(admin, f"/audit?pool={watched}")
    assert not page.all("img")
    links = {link.get("title"): link["href"] for link in page.all("a")}
    for name in HOSTILE:
        assert f"said {' '.join(name.split())}" in page.text
        assert links[name] == path("pools", watched, "players", name)


@pytest.mark.slow
def test_pages_of_the_log_follow_one_another(site: Any, admin: httpx.Client) -> None:
    """By cursor, down to the first entry; those of one pool only where it is named."""
    pool = site.new_pool("busy", PoolRequest(system="elo"))
    for _ in range(60):
        site.perform("POST", f"/pools/{pool}/replay")
    pages = whole_log(admin, "/audit")
    entries = [int(text) for page in pages for text in _first_cells(page)]
    assert entries == list(range(len(entries), 0, -1))
    assert {"arena", "club", pool} <= {text for page in pages for text in page.texts}
    own = whole_log(admin, f"/audit?pool={pool}")
    assert [len(page.all("tr")) - 1 for page in own] == [50, 14]
    assert not {"/pools/arena", "/pools/club"} & {link for page in own for link in page.links}
    look(admin, "/audit?cursor=nonsense", 422)


def _first_cells(page: Page) -> list[str]:
    texts = page.texts[page.texts.index("When") + 1 :]
    return [text for text in texts if text.isdecimal()]


def test_the_admin_of_a_pool_sees_its_log_and_no_other_names(site: Any, watched: str) -> None:
    """Keys of others are numbers there, as programs are not told their names either."""
    with site.visitor(f"{watched} admin") as judge:
        page = look(judge, "/audit")
        assert not page.all("select")
        assert "the admin" not in page.texts
        assert "key 1" in page.texts
        assert not {"/pools/arena", "/pools/club"} & set(page.links)
        alone = look(judge, f"/audit?pool={watched}")
        assert _first_cells(alone) == _first_cells(page) != []
        assert judge.get("/audit?pool=arena").status_code == 403


def test_an_entry_leads_to_the_archive_that_has_it_now(site: Any) -> None:
    """The log of a season goes with it; the end of the season is the next one's first entry."""
    pool = site.new_pool("moved", PoolRequest(system="elo-mmr"), invented.club(3))
    site.perform("POST", f"/pools/{pool}/matches/round%201/void", {})
    site.replayed(pool)
    site.perform("POST", f"/pools/{pool}/seasons", {"season": "s1"})
    with site.visitor(f"{pool} admin") as judge:
        page = look(judge, "/audit")
        links = [link for link in page.links if "/matches/" in link or "/amendments/" in link]
        assert len(links) == 2
        assert all(link.startswith(f"/pools/{pool}.s1/") for link in links)
        for link in links:
            look(judge, link)
        assert f"ended season s1 of {pool} with a soft reset" in page.text


def test_renamed_and_erased_players_are_linked(site: Any) -> None:
    pool = site.new_pool("renamed", PoolRequest(system="elo"), invented.club(3))
    (old, *_) = site.perform("GET", f"/pools/{pool}/leaderboard?provisional=1")["players"]
    there = path("pools", pool, "players", old["player"])
    site.perform("POST", f"{there}/rename", {"to": "new"})
    site.replayed(pool)
    with site.visitor(f"{pool} admin") as judge:
        page = look(judge, "/audit")
        assert f"renamed {old['player']} in {pool}" in page.text
        assert there in page.links
        erased = site.perform("POST", f"/pools/{pool}/players/new/erase", {})["player"]
        page = look(judge, "/audit")
        assert f"erased the name of a player, now {erased}" in page.text
        assert f"/pools/{pool}/players/{erased}" in page.links


def test_the_place_of_an_entry_is_found_by_its_time() -> None:
    ends = ["2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"]
    pools: list[Any] = [
        SimpleNamespace(pool="a", archive_of=None, created=ends[2], closed=None),
        SimpleNamespace(pool="a.s1", archive_of="a", created=ends[0], closed=ends[1]),
        SimpleNamespace(pool="a.s2", archive_of="a", created=ends[1], closed=ends[2]),
    ]
    for time, pool in (
        (ends[0], "a.s1"),
        (ends[1], "a.s2"),
        ("2026-02-01T00:00:00.5Z", "a.s2"),
        ("2026-04-01T00:00:00Z", "a"),
    ):
        place = place_of(AuditEntry(1, time, None, "pool.rerate", "a", None, {}), pools)
        assert place is not None
        assert place.pool == pool
    # Nothing links to a pool that is gone.
    assert place_of(AuditEntry(1, ends[0], None, "pool.rerate", "gone", None, {}), pools) is None
