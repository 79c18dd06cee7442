"""An organiser who never uses a terminal: from the key to a link with the teams of tonight."""

from __future__ import annotations

from typing import Any

import pytest

from browser.looking import PHONE, WIDE, browsing, fits, keep, settle

pytestmark = pytest.mark.browser

PLAYERS = ("Ada Fox", "Bo Otter", "Cleo Lynx", "Dag Heron", "Eda Crane", "Finn Bear")


def spreadsheet() -> str:
    """Return 20 results as cells that were copied; one has a misspelled name."""
    rows = ["Date\tPlayer 1\tPlayer 2\tScore 1\tScore 2"]
    for at in range(20):
        one, other = PLAYERS[at % 6], PLAYERS[(at + 1 + at // 6) % 6]
        rows.append(f"2026-10-{1 + at:02}\t{one}\t{other}\t{at % 4}\t{(at * 7) % 3}")
    return "\n".join(rows).replace("2026-10-20\tBo Otter", "2026-10-20\tBo Oter")


@pytest.mark.parametrize(
    ("screen", "scripts"),
    [
        pytest.param(WIDE, True, id="wide"),
        pytest.param(PHONE, True, id="phone"),
        pytest.param(WIDE, False, id="without scripts"),
    ],
)
def test_a_league_is_run_from_the_browser_alone(
    chromium: Any, site: Any, screen: Any, scripts: bool
) -> None:
    """Key, pool, 20 results from a spreadsheet, a typo repaired, teams, the result, the link."""
    name = f"{'phone' if screen is PHONE else 'wide'}{'' if scripts else '-plain'}"
    title = f"Thursday {name}"
    with browsing(chromium, site, screen=screen, scripts=scripts) as page:
        page.goto("/sign-in")
        assert page.get_by_text("equipoise db keys create").is_visible()
        page.locator("#key").fill(site.keys["admin"])
        page.get_by_role("main").get_by_role("button", name="Sign in").click()

        page.get_by_role("link", name="New pool").click()
        page.get_by_label("1. What is it called?").fill(title)
        page.get_by_label("One against one").check()
        keep(page, f"league-new-{name}")
        page.get_by_role("button", name="Create the pool").click()
        page.get_by_role("heading", name=title).wait_for()
        pool = page.url.rpartition("/")[2]
        site.wait_until(pool, lambda told: told["kernels"] == "ready")

        page.get_by_role("link", name="Upload matches").click()
        page.get_by_text("Or paste rows").click()
        page.get_by_label("Rows with a header").fill(spreadsheet())
        page.get_by_role("button", name="Preview").click()
        page.get_by_role("heading", name="20 new matches").wait_for()
        assert page.get_by_text("is new, but Bo Otter plays here").is_visible()
        keep(page, f"league-upload-{name}")
        assert fits(page)
        page.get_by_role("button", name="Post 20 matches").click()
        page.get_by_text("20 matches were posted").wait_for()

        # The typo is repaired: the newest match has the misspelled name.
        page.get_by_role("rowheader").first.get_by_role("link").first.click()
        page.get_by_role("link", name="Correct …").click()
        typo = page.locator("input[value='Bo Oter']")
        assert typo.count() == 1
        typo.fill("Bo Otter")
        page.get_by_role("button", name="Preview").click()
        page.get_by_role("region", name="Preview of the changes").wait_for()
        keep(page, f"league-correct-{name}")
        page.get_by_role("button", name="Correct", exact=True).click()
        page.get_by_role("region", name="What changed").wait_for(timeout=60_000)
        site.replayed(pool)
        assert site.ask("GET", f"/pools/{pool}/players/Bo%20Oter").status_code == 404

        # The same rows again change nothing, in spite of the correction.
        page.goto(f"/pools/{pool}/upload")
        page.get_by_text("Or paste rows").click()
        page.get_by_label("Rows with a header").fill(spreadsheet())
        page.get_by_role("button", name="Preview").click()
        page.get_by_role("heading", name="Nothing to post").wait_for()

        page.get_by_label("Pool", exact=True).get_by_role("link", name="Balance").click()
        page.get_by_label("Player 1", exact=True).fill(PLAYERS[0])
        page.get_by_label("Player 2", exact=True).fill(PLAYERS[3])
        page.get_by_role("button", name="Make teams").click()
        link = page.get_by_role("link", name="Link to these teams").get_attribute("href")
        page.get_by_role("link", name="These teams played").click()
        page.get_by_label("Score").first.fill("3")
        page.get_by_label("Score").last.fill("1")
        page.get_by_role("button", name="Preview").click()
        page.get_by_role("button", name="Post the match").click()
        page.wait_for_url("**/matches/**")
        assert page.get_by_text("3\N{EN DASH}1").is_visible()
        assert site.perform("GET", f"/pools/{pool}")["matches"] == 21
    with browsing(chromium, site, screen=screen, scripts=scripts) as page:
        page.goto(link)
        assert page.get_by_text("team 1 wins").is_visible()
        assert page.get_by_role("link", name=PLAYERS[0]).is_visible()
        keep(page, f"league-link-{name}")
        assert fits(page)


def test_the_last_lobby_and_the_local_time_are_kept_by_scripts(chromium: Any, site: Any) -> None:
    """The browser fills the lobby of the last time, and shows its own time zone."""
    with browsing(chromium, site, "writer") as page:
        page.goto("/pools/arena/balance")
        page.get_by_label("Player 1", exact=True).fill("ada-fox")
        page.get_by_label("Player 2", exact=True).fill("bo-otter")
        page.get_by_role("button", name="Make teams").click()
        page.get_by_role("region", name="Team 2").wait_for()
        page.goto("/pools/arena/balance")
        assert page.get_by_label("Player 2", exact=True).input_value() == "bo-otter"
        page.get_by_role("button", name="Clear").click()
        page.reload()
        settle(page)
        assert page.get_by_label("Player 1", exact=True).input_value() == ""
    context = chromium.new_context(base_url=site.url, timezone_id="Asia/Tokyo")
    page = context.new_page()
    sent = {"key": site.keys["writer"], "next": "/"}
    context.request.post("/sign-in", form=sent, headers={"Origin": site.url}, max_redirects=0)
    page.goto("/pools/arena/post")
    assert page.get_by_text("Time in Asia/Tokyo").is_visible()
    assert page.locator("[name=zone]").input_value() == "-540"
    context.close()
