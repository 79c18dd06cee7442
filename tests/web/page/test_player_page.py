"""The pages of players, pools and matches say what the API says of results."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from equipoise.messages.pools import PoolRequest
from equipoise.web.page.rendering import percent
from web.page.invented import DASH, game
from web.page.markup import look


@pytest.fixture(scope="module")
def pool(site: Any) -> str:
    """Return a pool in which Ada beats all, and loses at last."""
    matches = [game(at, "Ada B.", f"p{at % 4}", (3, 1)) for at in range(24)]
    matches += [game(30, "Ada B.", "p1", (2, 2)), game(40, "Ada B.", "p2", (0, 4))]
    request = PoolRequest("glicko2", public=True, placement_matches=2, inactive_days=300.0)
    return str(site.new_pool("results", request, matches))


def test_a_players_page_has_the_summary_and_lines(site: Any, anybody: Any, pool: str) -> None:
    page = look(anybody, f"/pools/{pool}/players/Ada%20B.").text
    found = site.perform("GET", f"/pools/{pool}/players/Ada%20B./summary")
    assert (found["won"], found["drawn"], found["lost"]) == (24, 1, 1)
    assert "24 · 1 · 1" in page
    assert f"{found['peak']['rating']:,.0f}" in page
    assert "unbeaten in 0, best 25" in page
    line = site.perform("GET", f"/pools/{pool}/players/Ada%20B./history")["matches"][0]
    assert (line["score"], line["opponent_score"], line["result"]) == (0.0, 4.0, "loss")
    assert f"0{DASH}4" in page
    assert f"{100 * line['chance']:.0f} % expected before" in page
    assert "at home" in page
    # Nothing is explained until somebody asks.
    assert "Why did the rating change" not in page


def test_if_they_met_now_is_what_predict_answers(site: Any, anybody: Any, pool: str) -> None:
    asked = {"teams": [["p1"], ["Ada B."]]}
    expected = site.perform("POST", f"/pools/{pool}/predict", asked)["teams"][0]["expected"]
    text = look(anybody, f"/pools/{pool}/players/p1").text
    after = text[text.index("If they met now") :]
    assert "Ada B." in after[: after.index("%")]
    assert f"{100 * expected:.0f} %" in after[: after.index("%") + 1]


def test_lists_name_players_and_mark_the_upset(site: Any, anybody: Any, pool: str) -> None:
    lines = site.perform("GET", f"/pools/{pool}/matches?limit=1")["matches"]
    assert lines[0]["upset"]
    for path in (f"/pools/{pool}", f"/pools/{pool}/matches"):
        text = look(anybody, path).text
        assert f"p2 4{DASH}0 Ada B. upset" in text
        assert f"Ada B. 2{DASH}2 p1" in text
        if path == f"/pools/{pool}":
            assert f"p2 4{DASH}0 Ada B." in text[text.index("Upsets") :]
    shown = look(anybody, f"/pools/{pool}/matches/game%2040").text
    assert "upset" in shown
    assert "shots" in shown
    assert f"{100 * lines[0]['sides'][0]['chance']:.0f}" in shown


def test_a_contest_has_places_instead_of_results(admin: Any) -> None:
    text = look(admin, "/pools/club/players/member%203").text
    assert "in the top 3" in text
    assert "Best performances" in text
    assert "Won · drawn · lost" not in text


def test_a_title_is_shown_instead_of_the_name(site: Any) -> None:
    pool = site.new_pool("titled", PoolRequest("elo", public=True))
    with site.visitor("admin") as admin:
        form = look(admin, f"/pools/{pool}/settings")
        typed = {"title": "Friday <league>", "description": "Five a side.", "public": "1"}
        sent = {**typed, "token": form.field("token")}
        assert admin.post(f"/pools/{pool}/settings", data=sent).status_code == 303
        for path in ("/", f"/pools/{pool}", f"/pools/{pool}/matches"):
            assert "Friday <league>" in look(admin, path).text
        assert "Five a side." in look(admin, f"/pools/{pool}").text
        assert look(admin, f"/pools/{pool}/settings").field("title") == "Friday <league>"
        # A form without these fields leaves them as they are.
        admin.post(f"/pools/{pool}/settings", data={"token": form.field("token"), "public": "1"})
        assert "Friday <league>" in look(admin, f"/pools/{pool}").text


def test_the_page_of_a_void_match_says_why_and_leads_to_the_list(site: Any, anybody: Any) -> None:
    matches = [game(at, "Ada B.", f"p{at % 4}", (3, 1)) for at in range(40)]
    pool = str(site.new_pool("listed", PoolRequest("elo", public=True, late="replay"), matches))
    path = f"/pools/{pool}/matches/game%2020"
    site.perform("POST", f"{path}/void?wait=20", {"reason": "<b>wrong</b> players"})
    page = look(anybody, path)
    assert "Reason: <b>wrong</b> players" in page.text
    around = f"/pools/{pool}/matches?around=game+20"
    assert around in page.links
    text = look(anybody, around).text
    assert "Around match game 20" in text
    assert text.index("game 21") < text.rindex("game 20") < text.index("game 19")


def test_the_page_of_a_pool_has_its_records(site: Any, anybody: Any, pool: str) -> None:
    """They are computed apart: until then the page says so, with a link that waits."""
    page = look(anybody, f"/pools/{pool}?wait=1")
    text = page.text[page.text.index("Records") :]
    assert "Longest without a loss Ada B." in text
    assert f"/pools/{pool}/compare?first=Ada+B.&second=p1" in page.links
    highest = site.perform("GET", f"/pools/{pool}/overview")["records"]["highest"]["rating"]
    assert f"Highest rating Ada B. , 2026 {highest:,.0f}" in text


THIN = "\N{NARROW NO-BREAK SPACE}"


@pytest.fixture(scope="module")
def versus(site: Any) -> str:
    """Return a pool in which Ada and Bo meet three times, and Cy comes late."""
    matches = [game(1, "Ada", "Bo", (3, 1)), game(2, "Ada", "Bo", (2, 2))]
    matches += [game(20, "Bo", "Cy", (1, 0)), game(40, "Ada", "Bo", (0, 4))]
    return str(site.new_pool("versus", PoolRequest("glicko2", public=True), matches))


def test_shows_record_chances_and_curves(site: Any, anybody: httpx.Client, versus: str) -> None:
    compared = f"/pools/{versus}/compare?first=Ada&second=Bo"
    assert compared in look(anybody, f"/pools/{versus}/players/Ada").links
    text = look(anybody, f"/pools/{versus}/compare?first=Bo&second=Ada").text
    found = site.perform("GET", f"/pools/{versus}/players/Bo/against/Ada")
    assert "1 · 1 · 1" in text
    assert f"{percent(found['chance']).replace(THIN, ' ')} if they met now" in text
    assert f"1{DASH}3" in text
    for one in found["meetings"]:
        assert percent(one["line"]["chance"]).replace(THIN, " ") in text
    html = anybody.get(f"/pools/{versus}/compare?first=Cy&second=Ada").text
    # The chart and its table: Cy has no rating before the first match.
    assert html.count("<polyline") == 2
    table = html[html.index('id="chart-caption"') :]
    assert f'<td class="num">{DASH}</td>' in table[: table.index("</table>")]
    assert "They have not met" in html


def test_fields_tell_who_placed_above(site: Any) -> None:
    with site.visitor("club") as member:
        text = look(member, "/pools/club/compare?first=member%203&second=member%204").text
    found = site.perform("GET", "/pools/club/players/member%203/against/member%204")
    assert "placed above" in text
    assert f"{found['won']} · {found['drawn']} · {found['lost']}" in text
    line = found["meetings"][0]["line"]
    assert f"{line['rank']}, {found['meetings'][0]['rank']} of 14" in text


def test_unknown_and_equal_players_are_refused_in_words(anybody: httpx.Client, versus: str) -> None:
    page = look(anybody, f"/pools/{versus}/compare?first=Ada&second=nobody", 404)
    assert "nobody" in page.text
    page = look(anybody, f"/pools/{versus}/compare?first=Ada&second=Ada", 422)
    assert "two different ones" in page.text
