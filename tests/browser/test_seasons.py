"""The end of a season in a real browser: seen first, then done, then looked up in the archive."""

from __future__ import annotations

from typing import Any

import pytest

from browser.looking import PHONE, WIDE, browsing, fits, keep

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("screen", [WIDE, PHONE], ids=["wide", "phone"])
def test_a_season_is_ended_and_found_again_in_its_archive(
    chromium: Any, site: Any, screen: Any
) -> None:
    """The board of the archive has the ratings from before, that of the next season those after."""
    from web.page import invented

    size = "phone" if screen is PHONE else "wide"
    pool = site.new_pool(f"cup-{size}", invented.CLUB, invented.club(20))
    with browsing(chromium, site, f"{pool} admin", screen) as page:
        page.goto("/")
        page.get_by_role("link", name=pool, exact=True).click()
        tabs = page.get_by_label("Pool", exact=True)
        tabs.get_by_role("link", name="Admin").click()
        page.get_by_role("link", name="End the season").click()
        page.get_by_label("Name of the season").fill("spring")
        page.get_by_label("Hard reset").check()
        page.get_by_role("button", name="Preview").click()
        page.get_by_text("All ratings would be reset").wait_for()
        page.get_by_label("Soft reset").check()
        page.get_by_label("Distance kept").fill("20")
        page.get_by_role("button", name="Preview").click()
        would = page.get_by_role("region", name="Preview of the next season")
        would.get_by_text("would keep 20").wait_for()
        assert f"become the read-only pool {pool}.spring" in would.inner_text()
        player, before, after = _first_row(would)
        keep(page, f"journey-season-{size}")
        assert fits(page)
        would.get_by_role("button", name="End the season").click()
        page.get_by_text("Season spring has ended.").wait_for()
        keep(page, f"journey-seasons-{size}")
        page.get_by_role("link", name="Leaderboard of season spring").click()
        page.wait_for_url(f"**/pools/{pool}.spring/leaderboard")
        assert page.get_by_label("This pool").get_by_text("Season spring of").is_visible()
        assert not tabs.get_by_role("link", name="Admin").count()
        _has_rating(page, player, before)
        page.get_by_label("This pool").get_by_role("link", name=pool, exact=True).click()
        tabs.get_by_role("link", name="Leaderboard").click()
        _has_rating(page, player, after)
    for who, count in ((f"{pool} reader", 1), ("writer", 0)):
        with browsing(chromium, site, who, screen) as page:
            page.goto("/")
            assert page.get_by_role("link", name=f"Leaderboard of {pool}.spring").count() == count


def _first_row(would: Any) -> tuple[str, float, float]:
    """Return the best player with the rating before and after."""
    row = would.get_by_role("row").nth(1)
    told = [row.get_by_role("cell").nth(at).inner_text() for at in (0, 1)]
    before, after = (float(text.split()[0].replace(",", "")) for text in told)
    return row.get_by_role("rowheader").inner_text(), before, after


def _has_rating(page: Any, player: str, rating: float) -> None:
    """Check what a leaderboard says of a player, in whole points."""
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=player, exact=True))
    shown = float(row.locator(".rating").inner_text().replace(",", ""))
    assert abs(shown - rating) <= 0.56, (player, shown, rating)
