"""Every page in a real browser: for all eyes, on any screen, without jumps or complaints."""

from __future__ import annotations

from typing import Any

import pytest

from browser.looking import PHONE, WIDE, browsing, fits, keep, plain, settle
from web.page.invented import HOSTILE

pytestmark = pytest.mark.browser

#: All pages there are.
PAGES = [
    "/",
    "/pools/arena",
    "/pools/arena/leaderboard?search=fox",
    "/pools/arena/players/mio-fox",
    "/pools/arena/players/mio-fox?match=m0186&wait=1",
    "/search?text=m&pool=hostile",
    "/pools/club/players/member%207",
    "/pools/arena/compare",
    "/pools/arena/compare?first=mio-fox&second=ada-fox",
    "/pools/club/compare?first=member%207&second=member%208",
    "/pools/arena/matches",
    "/pools/arena/matches/m0200",
    "/pools/arena/balance?player=ada-fox&player=bo-otter",
    "/pools/arena/amendments",
    "/pools/arena/admin",
    "/new-pool",
    "/pools/arena/upload",
    "/pools/arena/post",
    "/pools/arena/void/m0200",
    "/pools/arena/correct/m0200",
    "/pools/arena/rename/mio-fox",
    "/pools/arena/embed",
    "/pools/league-1/seasons?ended=2026-1",
    "/pools/league-1/seasons/end",
    "/pools/league-1/webhooks",
    "/pools/league-1.2026-1",
    "/audit",
    "/keys",
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
    "/pools/hostile/compare?first=..&second=100%25_%5C",
    "/pools/hostile/matches",
    "/pools/hostile/tournament",
    "/pools/hostile/teams?players-1=..&players-2=a+newcomer",
]
#: Largest sum of jumps of a page while it loads.
MOST_SHIFT = 0.02


#: Rules that axe has, but asks about only on request. `focus-order-semantics` is not among them: it
#: contradicts `scrollable-region-focusable`, which wants the keyboard to reach boxes that scroll.
MORE_RULES = [
    "target-size",
    "css-orientation-lock",
    "label-content-name-mismatch",
    "p-as-heading",
    "table-fake-caption",
    "td-has-header",
]
#: Every size with every scheme; CI has each once.
EYES = [
    pytest.param(WIDE, "light", id="wide-light"),
    pytest.param(PHONE, "dark", id="phone-dark"),
    pytest.param(WIDE, "dark", id="wide-dark", marks=pytest.mark.nightly),
    pytest.param(PHONE, "light", id="phone-light", marks=pytest.mark.nightly),
]


@pytest.mark.parametrize(("screen", "scheme"), EYES)
def test_all_pages_are_for_everybody(chromium: Any, site: Any, screen: Any, scheme: str) -> None:
    """No violation of any rule of axe, at a desk and on a phone, light and dark; nothing jumps.

    Nothing is wider than the screen; that holds for hostile names too.
    """
    wrong = []
    with browsing(chromium, site, "admin", screen, scheme) as page:
        for path in [*PAGES, *HOSTILE_PAGES]:
            page.goto(path)
            settle(page)
            wrong += faults(page, path, screen, scheme)
            shifts = page.evaluate("window.shifts")
            if shifts > MOST_SHIFT:
                wrong.append(f"{path} jumps by {shifts:.3f}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("screen", "scheme"), EYES)
def test_all_answers_are_for_everybody(chromium: Any, site: Any, screen: Any, scheme: str) -> None:
    """What forms are answered, where a page has a part that it shows only then."""
    wrong = []
    with browsing(chromium, site, "admin", screen, scheme) as page:
        for name, answer in ANSWERS.items():
            answer(page)
            wrong += faults(page, name, screen, scheme)
    assert not wrong, "\n".join(wrong)


def faults(page: Any, name: str, screen: Any, scheme: str) -> list[str]:
    """Return what is wrong with a page as it is shown, and keep a picture of it."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    keep(page, f"{plain(name)}-{'phone' if screen is PHONE else 'wide'}-{scheme}")
    # Only violations are told of in full: everything that is right would take most of the time.
    options = {
        "resultTypes": ["violations"],
        "rules": {name: {"enabled": True} for name in MORE_RULES},
    }
    found = axe.run(page, options=options)
    wrong = [f"{name}\n{found.generate_report()}"] if found.violations_count else []
    return wrong if fits(page) else [*wrong, f"{name} is wider than the screen"]


def _end_season(page: Any) -> None:
    page.goto("/pools/hostile/seasons/end")
    page.get_by_label("Name of the season").fill("2026-1")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("region", name="Preview of the next season").wait_for()


def _void(page: Any) -> None:
    page.goto("/pools/arena/void/m0390")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("region", name="Preview of the changes").wait_for()


def _split(page: Any) -> None:
    page.goto("/pools/arena/balance?player=ada-fox&player=bo-otter&player=cleo_77&player=dag_77")
    page.get_by_role("button", name="Make teams").click()
    page.get_by_role("heading", name="Next best").wait_for()


def _rebalance(page: Any) -> None:
    page.goto("/rebalance")
    page.get_by_label("Compare all methods").check()
    page.get_by_role("button", name="Make teams").click()
    page.get_by_role("heading", name="All methods").wait_for()


def _tournament(page: Any) -> None:
    page.goto("/tournament")
    page.get_by_text("Or paste the games").click()
    # Names of files are read as CSV: those with commas and quotes are left to other tests.
    names = [name for name in HOSTILE if not set(name) & set(',"')]
    lines = [f"{white},{black},1/2-1/2" for at, white in enumerate(names) for black in names[:at]]
    beaten = [f"ana,{name},1-0" for name in names]
    page.get_by_label("Games").fill("\n".join(["white,black,result", *lines, *beaten]))
    page.get_by_role("button", name="Rate the tournament").click()
    page.get_by_role("table", name="Points of each player against each other").wait_for()


def _upload(page: Any) -> None:
    page.goto("/pools/hostile/upload")
    page.get_by_text("Or paste rows").click()
    rows = [f'2026-10-02,"{name}",ana,2,1' for name in HOSTILE if '"' not in name]
    head = "date,player 1,player 2,score 1,score 2"
    page.get_by_label("Rows with a header").fill("\n".join([head, *rows, "2026-10-02,Ana,bo,2,1"]))
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("is new, but ana plays here").wait_for()


def _post(page: Any) -> None:
    page.goto("/pools/hostile/post?players-1=ana&players-2=Ana")
    for at, score in enumerate("21"):
        page.get_by_label("Score").nth(at).fill(score)
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("Possible misspellings").wait_for()


def _refuse(page: Any) -> None:
    page.goto("/pools/league-1/webhooks")
    page.get_by_label("Address").fill("ftp://example.org/hook")
    page.get_by_role("button", name="Create").click()
    page.get_by_role("alert").wait_for()


#: What is shown after a form was filled in; nothing of it changes a pool.
ANSWERS = {
    "answer season end": _end_season,
    "answer void": _void,
    "answer split": _split,
    "answer rebalance": _rebalance,
    "answer tournament": _tournament,
    "answer upload": _upload,
    "answer post": _post,
    "answer refused": _refuse,
}


def test_the_theme_is_chosen_and_kept(chromium: Any, site: Any) -> None:
    """By the button, for this page at once and for those that follow."""
    with browsing(chromium, site, scheme="light") as page:
        page.goto("/pools/arena")
        light = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.get_by_role("button", name="Switch between light and dark").click()
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert dark != light
        page.goto("/pools/arena/leaderboard")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_the_keyboard_reaches_everything_in_order(chromium: Any, site: Any) -> None:
    """The skip link comes first and works; focus is always seen and never caught."""
    with browsing(chromium, site) as page:
        page.goto("/pools/arena/players/mio-fox")
        settle(page)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to content"
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
