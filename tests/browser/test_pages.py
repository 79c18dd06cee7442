"""Every page in a real browser: for all eyes, on any screen, without jumps or complaints."""

from __future__ import annotations

from typing import Any

import pytest

from browser.looking import PHONE, WIDE, browsing, fits, keep, plain, settle

pytestmark = pytest.mark.browser

#: Pages with a look of their own: contrast in the dark is measured on these.
LOOKS = [
    "/",
    "/pools/arena",
    "/pools/arena/leaderboard?search=fox",
    "/pools/club/players/member%207",
    "/pools/arena/matches/m0200",
    "/pools/arena/balance?player=ada-fox&player=bo-otter",
    "/pools/arena/void/m0200",
    "/keys",
]
#: With those all pages there are.
PAGES = [
    *LOOKS,
    "/pools/arena/players/mio-fox",
    "/pools/arena/matches",
    "/pools/arena/amendments",
    "/pools/arena/admin",
    "/pools/arena/post",
    "/pools/arena/correct/m0200",
    "/rebalance",
    "/tournament",
    "/sign-in",
    "/pools/arena/players/nobody",
]
#: The same templates with names that are attacks.
HOSTILE_PAGES = [
    "/pools/hostile",
    "/pools/hostile/leaderboard",
    "/pools/hostile/players/?id=..",
    "/pools/hostile/matches",
]
#: Largest sum of jumps of a page while it loads.
MOST_SHIFT = 0.05


#: Rules of axe that depend on colours, and on the size of the screen; all others are asked once.
CONTRAST = ["color-contrast", "link-in-text-block"]
SIZES = ["target-size", "scrollable-region-focusable"]


@pytest.mark.parametrize(
    ("screen", "scheme", "pages", "rules"),
    [
        (WIDE, "light", PAGES, None),
        (WIDE, "dark", LOOKS, CONTRAST),
        (PHONE, "light", PAGES, SIZES),
    ],
    ids=["wide-light", "wide-dark", "phone-light"],
)
def test_all_pages_are_for_everybody(
    chromium: Any, site: Any, screen: Any, scheme: str, pages: list[str], rules: list[str] | None
) -> None:
    """No violation of accessibility by axe, contrast in both schemes included; nothing jumps.

    Nothing is wider than the screen; that holds for hostile names too.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    # Only violations are told of in full: everything that is right would take most of the time.
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules is not None:
        options["runOnly"] = rules
    size = "phone" if screen is PHONE else "wide"
    wrong = []
    with browsing(chromium, site, "admin", screen, scheme) as page:
        for path in [*pages, *HOSTILE_PAGES]:
            page.goto(path)
            settle(page)
            keep(page, f"{plain(path)}-{size}-{scheme}")
            if path in pages:
                found = axe.run(page, options=options)
                if found.violations_count:
                    wrong.append(f"{path}\n{found.generate_report()}")
            if not fits(page):
                wrong.append(f"{path} is wider than the screen")
            shifts = page.evaluate("window.shifts")
            if shifts > MOST_SHIFT:
                wrong.append(f"{path} jumps by {shifts:.3f}")
    assert not wrong, "\n".join(wrong)


def test_the_theme_is_chosen_and_kept(chromium: Any, site: Any) -> None:
    """By the button, for this page at once and for those that follow."""
    with browsing(chromium, site, scheme="light") as page:
        page.goto("/pools/arena")
        light = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.get_by_role("button", name="Light or dark").click()
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert dark != light
        page.goto("/pools/arena/leaderboard")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_pages_do_their_work_without_scripts(chromium: Any, site: Any) -> None:
    """A player is found and a lobby split by forms alone."""
    context = chromium.new_context(java_script_enabled=False, base_url=site.url)
    page = context.new_page()
    page.goto("/pools/arena/leaderboard")
    page.get_by_role("searchbox").fill("mio-f")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name="mio-fox", exact=True).click()
    assert page.get_by_role("img", name="Rating of mio-fox").is_visible()
    page.goto("/pools/arena/balance")
    page.get_by_label("One a line").fill("ada-fox\nbo-otter\ncleo_77\ndag_77")
    page.get_by_role("button", name="Split them").click()
    assert page.get_by_role("heading", name="Team 2").is_visible()
    context.close()


def test_the_keyboard_reaches_everything_in_order(chromium: Any, site: Any) -> None:
    """The skip link comes first and works; focus is always seen and never caught."""
    with browsing(chromium, site) as page:
        page.goto("/pools/arena/players/mio-fox")
        settle(page)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        page.goto("/pools/arena/players/mio-fox")
        settle(page)
        seen = []
        for _ in range(200):
            page.keyboard.press("Tab")
            here = page.evaluate(
                "(() => { const e = document.activeElement; const s = getComputedStyle(e);"
                " return [e.tagName, e.textContent.slice(0, 30), s.outlineStyle] })()"
            )
            if here[0] == "BODY":
                break
            assert here[2] != "none", here
            seen.append(here[1])
        else:
            raise AssertionError(f"the focus never left the page: {seen[-10:]}")
        assert any("why?" in one for one in seen)
