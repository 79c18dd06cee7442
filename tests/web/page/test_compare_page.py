"""The page that compares two players says what the API says."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from equipoise.messages.pools import PoolRequest
from equipoise.web.page.rendering import percent
from web.page.test_pages import look
from web.page.test_player_page import DASH, game

THIN = "\N{NARROW NO-BREAK SPACE}"


@pytest.fixture(scope="module")
def pool(site: Any) -> str:
    """Return a pool in which Ada and Bo meet three times, and Cy comes late."""
    matches = [game(1, "Ada", "Bo", (3, 1)), game(2, "Ada", "Bo", (2, 2))]
    matches += [game(20, "Bo", "Cy", (1, 0)), game(40, "Ada", "Bo", (0, 4))]
    return str(site.new_pool("versus", PoolRequest("glicko2", public=True), matches))


def test_shows_record_chances_and_curves(site: Any, anybody: httpx.Client, pool: str) -> None:
    text = look(anybody, f"/pools/{pool}/compare?first=Bo&second=Ada").text
    found = site.perform("GET", f"/pools/{pool}/players/Bo/against/Ada")
    assert "1 · 1 · 1" in text
    assert f"{percent(found['chance']).replace(THIN, ' ')} if they met now" in text
    assert f"1{DASH}3" in text
    for one in found["meetings"]:
        assert percent(one["line"]["chance"]).replace(THIN, " ") in text
    html = anybody.get(f"/pools/{pool}/compare?first=Cy&second=Ada").text
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


def test_a_players_page_leads_to_the_comparison(anybody: httpx.Client, pool: str) -> None:
    links = look(anybody, f"/pools/{pool}/players/Ada").links
    assert f"/pools/{pool}/compare?first=Ada&second=Bo" in links


def test_unknown_and_equal_players_are_refused_in_words(anybody: httpx.Client, pool: str) -> None:
    page = look(anybody, f"/pools/{pool}/compare?first=Ada&second=nobody", 404)
    assert "nobody" in page.text
    page = look(anybody, f"/pools/{pool}/compare?first=Ada&second=Ada", 422)
    assert "two different ones" in page.text
