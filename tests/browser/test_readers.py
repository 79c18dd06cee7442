"""What readers do: search by keyboard, watch a league, look at pages that are quick to load."""

from __future__ import annotations

from typing import Any

import pytest

from browser.looking import PHONE, browsing, fits, settle

pytestmark = pytest.mark.browser

#: Requests of a page, and stops of the Tab key before its first match.
MOST_REQUESTS, MOST_STOPS = 8, 25
FOCUS = (
    "(() => { const e = document.activeElement; return [e.id, e.getAttribute('href') || ''] })()"
)


def stops(page: Any, wanted: Any) -> int:
    """Press Tab until an element is reached, and return how often."""
    for count in range(1, 101):
        page.keyboard.press("Tab")
        if wanted(*page.evaluate(FOCUS)):
            return count
    raise AssertionError("not reached by the keyboard")


def test_a_player_is_found_by_keyboard_alone(chromium: Any, site: Any) -> None:
    """From the list of pools: Tab to the search, type, Enter, Tab to the player, Enter."""
    with browsing(chromium, site) as page:
        page.goto("/")
        assert stops(page, lambda id, href: id == "find") <= 3
        page.keyboard.type("mio-f")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?text=mio-f")
        stops(page, lambda id, href: href.endswith("/players/mio-fox"))
        page.keyboard.press("Enter")
        page.wait_for_url("**/players/mio-fox")
        assert page.get_by_role("heading", name="mio-fox", exact=True).is_visible()
        page.goto("/pools/arena/players/mio-fox")
        settle(page)
        first = page.locator("#matches tbody a").first.get_attribute("href")
        assert stops(page, lambda id, href: href == first) <= MOST_STOPS


def test_lists_are_renewed_while_they_are_seen(chromium: Any, site: Any) -> None:
    """A match that is posted appears without a reload, and an unchanged list is not sent again."""
    from equipoise.messages.pools import PoolRequest
    from web.page.invented import DASH, game

    pool = site.new_pool("watched", PoolRequest("elo", public=True), [game(1, "Ada", "Bo", (1, 0))])
    with browsing(chromium, site) as page:
        page.clock.install()
        page.goto(f"/pools/{pool}/matches")
        page.get_by_role("link", name=f"Ada 1{DASH}0 Bo").wait_for()
        with page.expect_response(f"**/pools/{pool}/matches") as first:
            page.clock.fast_forward(16_000)
        assert first.value.status in (200, 304)
        new = {"match": "new", "teams": [{"players": ["Cy"], "score": 4}, {"players": ["Bo"]}]}
        new["teams"][1]["score"] = 2  # type: ignore[index]
        site.perform("POST", f"/pools/{pool}/matches", new)
        page.clock.fast_forward(16_000)
        page.get_by_role("link", name=f"Cy 4{DASH}2 Bo").wait_for()


def test_times_of_day_are_local_with_scripts_and_utc_without(chromium: Any, site: Any) -> None:
    path = "/pools/hostile/matches"
    shown = []
    for scripts in (True, False):
        context = chromium.new_context(
            java_script_enabled=scripts, base_url=site.url, timezone_id="Asia/Tokyo"
        )
        page = context.new_page()
        page.goto(path)
        shown.append(
            (page.locator("td time").first.inner_text(), page.locator("footer").inner_text())
        )
        context.close()
    (local, footer), (utc, plain) = shown
    assert (int(local[11:13]) - int(utc[11:13])) % 24 == 9
    assert len(local) == len(utc)
    assert "Times are UTC" in plain
    assert "Times are UTC" not in footer
    assert "Times are local" in footer


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/search?text=fox",
        "/pools/arena",
        "/pools/arena/leaderboard",
        "/pools/arena/players/mio-fox",
        "/pools/arena/compare?first=mio-fox&second=ada-fox",
        "/pools/arena/matches",
        "/pools/arena/matches/m0200",
    ],
)
def test_pages_load_little_from_here_alone(chromium: Any, site: Any, path: str) -> None:
    """At most 8 requests, none to another host; 320 pixels wide; rows of lists 40 pixels high."""
    with browsing(chromium, site, screen=PHONE) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path)
        settle(page)
        assert len(asked) <= MOST_REQUESTS, asked
        assert all(one.startswith(site.url) for one in asked)
        assert page.evaluate("window.shifts") <= 0.02
        rows = page.locator(".lines li, table.rows tbody tr, table.board tbody tr")
        heights = [box["height"] for one in rows.all()[:20] if (box := one.bounding_box())]
        assert all(height >= 39.5 for height in heights), heights
        page.set_viewport_size({"width": 320, "height": 780})
        assert fits(page)


def test_a_link_is_copied_also_as_markdown(chromium: Any, site: Any) -> None:
    """Without scripts there are no buttons that need them."""
    path = "/pools/arena/players/mio-fox"
    with browsing(chromium, site) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.goto(path)
        page.get_by_text("Share", exact=True).click()
        copied = []
        for name in ("Copy link", "Copy as Markdown"):
            page.get_by_role("button", name=name).click()
            page.get_by_text("Copied.").wait_for()
            copied.append(page.evaluate("navigator.clipboard.readText()"))
    link, markdown = copied
    assert link == site.url + path
    badge = f"{site.url}/pools/arena/badge.svg?player=mio-fox"
    assert markdown.startswith("[![mio-fox: ")
    assert markdown.endswith(f"]({badge})]({link})")
    context = chromium.new_context(java_script_enabled=False, base_url=site.url)
    page = context.new_page()
    page.goto(path)
    page.get_by_text("Share", exact=True).click()
    assert page.get_by_role("link", name="Badge").is_visible()
    assert not page.get_by_role("button", name="Copy link").is_visible()
    context.close()
