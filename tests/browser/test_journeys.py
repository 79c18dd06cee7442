"""What people come for, from the first click to the answer, at a desk, on a phone, by keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from browser.looking import PHONE, WIDE, browsing, fits, keep, settle

pytestmark = pytest.mark.browser

#: Milliseconds that a chart of a player with 5,000 matches may take.
DRAWN = 200.0
#: Milliseconds until a page of a board of 100,000 players is seen.
PAINTED = 500.0


@pytest.mark.parametrize("screen", [WIDE, PHONE], ids=["wide", "phone"])
def test_a_player_is_found_and_the_change_is_explained(
    chromium: Any, site: Any, screen: Any
) -> None:
    """From the list of pools: search, open, read why; then why an older match did what it did."""
    with browsing(chromium, site, screen=screen) as page:
        page.goto("/")
        page.get_by_role("link", name="arena", exact=True).click()
        page.get_by_label("Pool", exact=True).get_by_role("link", name="Leaderboard").click()
        page.get_by_role("searchbox", name="Name of a player").press_sequentially("mio-f")
        page.get_by_text("1 player found.").wait_for()
        assert "search=mio-f" in page.url
        page.get_by_role("link", name="mio-fox", exact=True).click()
        # In the row of the match, without leaving the page.
        page.get_by_role("link", name="Why match").first.click()
        why = page.locator("tr.opened")
        said = why.locator(".said").inner_text()
        assert "mio-fox" in said
        assert "points" in said
        assert why.get_by_role("row", name="Change of rating").is_visible()
        assert "the change lies between" in why.inner_text()
        keep(page, f"journey-why-{'phone' if screen is PHONE else 'wide'}")
        older = page.get_by_role("link", name="Why match").nth(3)
        match = (older.get_attribute("aria-label") or "").split()[2]
        older.click()
        why.get_by_role("link", name=match).first.wait_for()
        assert fits(page)
        older.click()
        assert not why.count()


def test_names_are_suggested_while_they_are_typed(chromium: Any, site: Any) -> None:
    """From the players of the pool; a row is added when the last one is filled."""
    with browsing(chromium, site) as page:
        page.goto("/pools/arena/balance")
        page.get_by_label("Player 1", exact=True).press_sequentially("bo-ot")
        page.wait_for_selector("#names option[value='bo-otter']", state="attached")
        rows = page.locator("#rows > li").count()
        page.get_by_label(f"Player {rows}", exact=True).fill("bo-otter")
        assert page.locator("#rows > li").count() == rows + 1


def test_a_pgn_is_dropped_and_rated(chromium: Any, site: Any) -> None:
    """The file is let go over the page, and the table comes without another click."""
    from web.page.test_forms_at_work import PGN

    with browsing(chromium, site) as page:
        page.goto("/tournament")
        settle(page)
        page.evaluate(
            """(text) => {
                const bag = new DataTransfer();
                bag.items.add(new File([text], "open.pgn", { type: "application/x-chess-pgn" }));
                const drop = document.getElementById("drop");
                for (const name of ["dragenter", "dragover", "drop"]) {
                    drop.dispatchEvent(new DragEvent(name, { dataTransfer: bag, bubbles: true }));
                }
            }""",
            PGN,
        )
        table = page.get_by_role("table", name="Performance of every player")
        table.wait_for()
        assert table.get_by_role("row").count() == 5
        assert page.get_by_role("heading", name="open.pgn").is_visible()
        keep(page, "journey-tournament")


def test_a_match_is_voided_by_keyboard_alone(chromium: Any, site: Any) -> None:
    """Sign in, see the difference, void, and read the new board; no pointer is touched."""
    with browsing(chromium, site) as page:
        page.goto("/pools/arena/matches/m0150")
        reach(page, "Sign in")
        page.keyboard.press("Enter")
        page.wait_for_url("**/sign-in**")
        reach(page, "#key")
        page.keyboard.insert_text(site.keys["judge"])
        page.keyboard.press("Enter")
        page.wait_for_url("**/matches/m0150")
        reach(page, "Void …")
        page.keyboard.press("Enter")
        page.wait_for_url("**/void/m0150")
        reach(page, "#reason")
        page.keyboard.insert_text("played with a broken map")
        reach(page, "Preview")
        page.keyboard.press("Enter")
        would = page.get_by_role("region", name="Preview of the changes")
        would.wait_for()
        first = would.get_by_role("row").nth(1)
        player = first.get_by_role("rowheader").inner_text()
        after = first.get_by_role("cell").nth(1).inner_text().split()[0]
        keep(page, "journey-difference")
        reach(page, "Void")
        page.keyboard.press("Enter")
        page.wait_for_url("**/amendments/**")
        page.get_by_role("region", name="What changed").wait_for(timeout=60_000)
        reach(page, "Open the leaderboard")
        page.keyboard.press("Enter")
        page.wait_for_url("**/leaderboard")
        page.goto(f"/pools/arena/leaderboard?provisional=1&inactive=1&search={player}")
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name=player, exact=True))
        shown = row.locator(".rating").inner_text().replace(",", "")
        assert abs(float(shown) - float(after.replace(",", ""))) <= 0.5
        page.goto("/pools/arena/matches/m0150")
        assert page.get_by_text("This match is void").is_visible()


def test_a_chart_of_5000_matches_is_drawn_and_explored_at_once(
    chromium: Any, tmp_path: Path
) -> None:
    """Within 200 ms; the arrow keys read it match by match, and a drag zooms."""
    from equipoise.messages.matches import MatchRequest, TeamRequest
    from equipoise.messages.pools import PoolRequest
    from web.page.invented import START
    from web.page.site import Site, fill, make_keys, served

    duels = [
        MatchRequest(
            f"d{at}",
            [TeamRequest(["ada"], rank=1 + at % 2), TeamRequest([f"p{at % 40}"], rank=2 - at % 2)],
            time=START + 7_000 * at,
        )
        for at in range(5_000)
    ]
    database = f"sqlite:///{tmp_path / 'long.db'}"
    fill(database, [("duels", PoolRequest(system="glicko2", public=True), duels)])
    with served(database) as url:
        site = Site(url, make_keys(database))
        with browsing(chromium, site) as page:
            page.goto("/pools/duels/players/ada")
            settle(page)
            drawn = float(page.locator("#timeline").get_attribute("data-drawn"))
            keep(page, "long-timeline")
            assert drawn < DRAWN
            chart = page.get_by_role("slider", name="Rating over time")
            assert chart.get_attribute("aria-valuenow") == "5000"
            chart.focus()
            page.keyboard.press("ArrowLeft")
            assert "in match d4998" in (chart.get_attribute("aria-valuetext") or "")
            box = page.locator(".plot-area").bounding_box()
            page.mouse.move(box["x"] + 300, box["y"] + 100)
            assert page.locator(".tip").is_visible()
            page.mouse.down()
            page.mouse.move(box["x"] + 500, box["y"] + 120, steps=3)
            page.mouse.up()
            first, last = (int(chart.get_attribute(f"aria-value{end}")) for end in ("min", "max"))
            assert 1 < first < last < 5000
            page.get_by_role("button", name="Last 100").click()
            assert chart.get_attribute("aria-valuemin") == "4901"


@pytest.mark.nightly
def test_a_leaderboard_of_100000_players_is_painted_at_once(chromium: Any, tmp_path: Path) -> None:
    """Within 500 ms of asking for it, by the clock of the browser; so are its neighbours."""
    from equipoise.messages.pools import PoolRequest
    from equipoise.store import ratings
    from equipoise.store.connection import open_store
    from equipoise.store.pools import change_pool, get_pool
    from web.page.site import Site, fill, make_keys, served

    database = f"sqlite:///{tmp_path / 'large.db'}"
    fill(database, [("large", PoolRequest(system="glicko", public=True), [])])
    store = open_store(database)
    players = range(100_000)
    with store.write() as connection:
        pool = get_pool(connection, "large", lock=True)
        values = [1500.0 + (at * 7919 % 100_003) / 200 for at in players]
        columns = {
            "player": [f"player {at:06}" for at in players],
            "ordering": [-value for value in values],
            "rating": values,
            "deviation": [60.0] * len(players),
            "matches": [at % 300 for at in players],
            "last_time": [1_700_000_000_000_000] * len(players),
            "provisional": [False] * len(players),
            "state": [b""] * len(players),
        }
        ratings.put(connection, pool.id, pool.generation, columns)
        change_pool(connection, pool.id, players=len(players))
    store.close()
    with served(database) as url, browsing(chromium, Site(url, make_keys(database))) as page:
        page.goto("/sign-in")  # styles and scripts, as for whoever was here before
        for query in ("", "?search=0042", "?around=player%20050000"):
            # The best of three: a machine that does other things too is no reason to fail.
            times = [_first_paint(page, f"/pools/large/leaderboard{query}") for _ in range(3)]
            assert min(times) < PAINTED, (query, times)


def _first_paint(page: Any, path: str) -> float:
    """Return the milliseconds from asking for a board until some of it is seen."""
    page.goto(path)
    page.get_by_role("rowheader").first.wait_for()
    # Noted a moment after the frame is out: rows can be there before it is known.
    seen = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    return float(page.wait_for_function(seen).json_value())


def reach(page: Any, what: str) -> None:
    """Press Tab until a control is focused: by its text, or by "#" and its id."""
    for _ in range(120):
        page.keyboard.press("Tab")
        here = page.evaluate(
            "[document.activeElement.id, document.activeElement.textContent.trim()]"
        )
        if (what.startswith("#") and here[0] == what[1:]) or here[1] == what:
            return
    raise AssertionError(f"{what} was not reached by keyboard")
