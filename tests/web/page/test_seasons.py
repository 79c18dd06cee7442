"""Seasons on the page: what the end of one would do, its end, and the archive that stays."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from equipoise.errors import InvalidDataError
from equipoise.messages.pools import PoolRequest, SeasonRequest
from equipoise.web.page.administration import season_of
from equipoise.web.page.context import Form
from web.page import invented
from web.page.markup import Page, confirmation, look
from web.page.test_forms_at_work import token

LEAGUE = PoolRequest(system="elo-mmr", public=True, placement_matches=3)


def league(site: Any, name: str, **settings: object) -> str:
    """Return a pool of 30 players that has keys of its own."""
    request = msgspec.structs.replace(LEAGUE, **settings)
    return str(site.new_pool(name, request, invented.club(20)))


def end(site: Any, pool: str, season: str = "s1", **how: object) -> None:
    site.perform("POST", f"/pools/{pool}/seasons", {"season": season, **how})


def test_a_season_is_ended_after_what_would_happen_was_seen(site: Any) -> None:
    """The numbers shown are those of the next season; sent twice, it ends once."""
    pool = league(site, "ended")
    path = f"/pools/{pool}/seasons/end"
    with site.visitor(f"{pool} admin") as judge:
        fields = {"season": "2026-1", "reset": "soft", "keep": "25", "widen": "60"}
        fields |= {"token": token(judge, path)}
        preview = judge.post(path, data=fields)
        assert preview.status_code == 200, preview.text
        text = Page(preview.text).text
        assert "30 players and 20 matches" in text
        assert "would keep 25 % of its distance to" in text
        assert len(re.findall(r'<tr><th scope="row">', preview.text)) == 12
        assert "No past seasons yet" in judge.get(f"/pools/{pool}/seasons").text
        seen = confirmation(preview.text)
        other = judge.post(path, data={**fields, "keep": "30", "do": seen})
        assert "Preview of the next season" in other.text, "something else than what was seen"
        for _ in range(2):
            done = judge.post(path, data={**fields, "do": seen})
            assert done.status_code == 303, done.text
            assert done.headers["location"] == f"/pools/{pool}/seasons?ended=2026-1"
        shown = look(judge, done.headers["location"])
        assert "Season 2026-1 has ended." in shown.text
        assert f"/pools/{pool}.2026-1/leaderboard" in shown.links
        first = re.search(
            r'<bdi>([^<]*)</bdi></a></th>\s*<td.*?</td>\s*<td class="num">([0-9,.]+)',
            preview.text,
        )
        assert first is not None
        told = site.ask("GET", f"/pools/{pool}/players/{first[1]}").json()
        assert f"{told['rating']:,.1f}" == first[2]
        assert told["matches"] == 0


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"season": "S 1"},
        {"season": "s1", "keep": "101"},
        {"season": "s1", "widen": "-1"},
        {"season": "s1", "reset": "medium"},
    ],
)
def test_a_season_that_cannot_end_so_is_refused(fields: dict[str, str]) -> None:
    with pytest.raises(InvalidDataError):
        season_of(Form({name: [value] for name, value in fields.items()}))


def test_a_form_becomes_a_request() -> None:
    """Shares are typed in percent; what is left empty is as programs leave it out."""
    assert season_of(Form({"season": ["s1"]})) == SeasonRequest(season="s1")
    hard = Form({"season": ["s1"], "reset": ["hard"], "keep": ["x"]})
    assert season_of(hard) == SeasonRequest(season="s1", reset="hard")
    typed = {"season": ["s1"], "keep": ["12.5"], "widen": ["0"], "towards": ["initial"]}
    assert season_of(Form(typed)) == SeasonRequest(
        season="s1", keep=0.125, widen=0.0, towards="initial"
    )


def test_problems_stand_beside_what_was_typed(site: Any) -> None:
    """Also those that only the pool knows, such as a name that is taken."""
    pool = league(site, "taken")
    end(site, pool)
    path = f"/pools/{pool}/seasons/end"
    with site.visitor("admin") as admin:
        fields = {"token": token(admin, path), "reset": "soft", "keep": "70"}
        wrong = admin.post(path, data={**fields, "season": "<b>"})
        assert wrong.status_code == 422
        assert Page(wrong.text).field("season") == "<b>"
        assert Page(wrong.text).field("keep") == "70"
        assert admin.post(path, data={**fields, "season": "s1"}).status_code == 409


@pytest.mark.parametrize("public", [True, False])
def test_the_keys_of_a_pool_see_its_archives_as_programs_do(site: Any, public: bool) -> None:
    """In the list, among the seasons, and each page; keys of other pools see private ones not."""
    pool = league(site, f"kept-{public}".lower(), public=public)
    end(site, pool)
    archive = f"{pool}.s1"
    for who in (f"{pool} reader", "writer", "admin"):
        may = public or who == "admin" or who.startswith(pool)
        listed = {one["pool"] for one in site.ask("GET", "/pools", key=who).json()["pools"]}
        answer = site.ask("GET", f"/pools/{archive}/leaderboard", key=who)
        assert (archive in listed, answer.status_code) == (may, 200 if may else 403)
        with site.visitor(who) as client:
            assert (f"/pools/{archive}" in look(client, "/").links) == may
            for page in ("", "/balance"):
                look(client, f"/pools/{archive}{page}", 200 if may else 403)
            if may:
                links = look(client, f"/pools/{pool}/seasons").links
                assert f"/pools/{archive}/leaderboard" in links
    with site.visitor() as anybody:
        assert anybody.get(f"/pools/{archive}").status_code == (200 if public else 303)


def test_an_archive_of_a_private_season_is_no_link_for_everybody(site: Any) -> None:
    """Where the pool has become public since: its name is listed, as programs are told it."""
    pool = league(site, "opened", public=False)
    end(site, pool, settings={"public": True})
    with site.visitor() as anybody:
        page = look(anybody, f"/pools/{pool}/seasons")
        assert "s1" in page.texts
        assert not any(f"{pool}.s1" in link for link in page.links)
    with site.visitor(f"{pool} reader") as reader:
        assert f"/pools/{pool}.s1" in look(reader, f"/pools/{pool}/seasons").links


def test_an_archive_offers_nothing_that_it_refuses(site: Any) -> None:
    """No admin's tab, no form to post, no void; and the way to the season that goes on."""
    pool = league(site, "closed")
    end(site, pool)
    with site.visitor(f"{pool} admin") as judge:
        page = look(judge, f"/pools/{pool}.s1")
        assert f"/pools/{pool}" in page.links
        assert "Season s1 of closed" in page.text
        assert not {f"/pools/{pool}.s1/{name}" for name in ("admin", "post", "seasons")} & set(
            page.links
        )
        text = judge.get(f"/pools/{pool}.s1/matches/round 1").text
        assert "/void/" not in text
        path = f"/pools/{pool}.s1/seasons/end"
        fields = {"season": "s2", "token": token(judge, f"/pools/{pool}/seasons/end")}
        assert judge.post(path, data=fields).status_code == 409
