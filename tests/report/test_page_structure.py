"""Pages are well formed, whole in themselves, safe from what users wrote, and can be navigated."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from equipoise.analysis.backtest.report import BacktestReport, backtest_page
from equipoise.charts import theme
from equipoise.messages.conversion import ProblemMessage
from evaluate.backtest_by_hand import backtest_by_hand
from report.report_by_hand import Balanced, history, problem, report, tree, words

HOSTILE = """<script>alert("x")</script>&lt;'>--></style><svg onload=alert(1)>"""


def reports() -> dict[str, BacktestReport]:
    everything = history(
        dropped_matches=["x"], dropped_rows=2, problems=[problem("must")], notes=["a note"]
    )
    some = {"brier": 0.2, "log_loss": 0.4}
    return {
        "two": report(history=everything),
        "one": report("alone"),
        "many": report(*(f"system {number}" for number in range(14))),
        "no intervals": report(found=backtest_by_hand({"a": some, "b": some}, resamples=0)),
        "hostile": report(HOSTILE, "<b>"),
    }


REPORTS = reports()


@pytest.fixture(scope="module", params=REPORTS)
def page(request: pytest.FixtureRequest) -> str:
    return backtest_page(REPORTS[request.param])


def drawings(page: str) -> list[ElementTree.Element]:
    """Return the charts of a page."""
    begin = "data:image/svg+xml;base64,"
    found = [one.get("src") or "" for one in tree(page).iter("img")]
    assert found
    assert all(address.startswith(begin) for address in found)
    return [
        ElementTree.fromstring(base64.b64decode(address.removeprefix(begin))) for address in found
    ]


def test_every_tag_is_closed_once_and_in_order(page: str) -> None:
    """For a parser of HTML and for one of XML."""
    Balanced(page)
    tree(page)


def test_the_page_needs_nothing_beside_itself(page: str) -> None:
    """No script, nothing fetched: no address, no import, no url(), and a policy that says so."""
    found = Balanced(page)
    assert not {"script", "link", "iframe", "object", "embed", "base", "use", "image"} & {
        tag for tag, _ in found.tags
    }
    for tag, attributes in found.tags:
        for name, value in attributes.items():
            assert not name.startswith("on"), tag
            assert name not in ("href", "xlink:href") or (value or "").startswith("#")
            if name == "src":
                assert tag == "img"
                continue
            assert not re.search(r"(https?:)?//|url\(|javascript:|@import", value or "")
    style = words(next(tree(page).iter("style")))
    assert not re.search(r"//|url\(|@import", style)
    policy = next(a for tag, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert (policy["content"] or "").startswith("default-src 'none'")
    for drawing in drawings(page):
        for mark in drawing.iter():
            assert not mark.tag.endswith(("script", "image", "foreignObject", "}a"))
            for name, value in mark.attrib.items():
                assert not name.endswith("href") or value.startswith("#")
                assert not re.search(r"url\((?!#)", value)


def test_ids_are_unique_and_what_refers_to_them_finds_them(page: str) -> None:
    """Several drawings on a page would get in each other's way otherwise.

    A screen reader lists sections and tables by their names, and reads what a drawing shows.
    """
    elements = list(tree(page).iter())
    ids = {one.get("id"): one for one in elements if one.get("id")}
    assert len(ids) == sum(one.get("id") is not None for one in elements)
    names = [one.get("aria-labelledby") for one in elements if one.get("aria-labelledby")]
    links = [(one.get("href") or "").removeprefix("#") for one in elements if one.get("href")]
    assert names
    assert links
    assert {*names, *links} <= ids.keys()
    assert len({words(ids[name]) for name in names}) == len(names)
    assert all(drawing.get("alt") for drawing in tree(page).iter("img"))


def test_the_page_has_a_language_and_headings_in_order(page: str) -> None:
    """One of the first level, and no level left out."""
    root = tree(page)
    assert root.get("lang") == "en"
    levels = [int(one.tag[1]) for one in root.iter() if re.fullmatch("h[1-6]", one.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_tables_have_captions_and_their_heads_a_scope(page: str) -> None:
    tables = list(tree(page).iter("table"))
    assert len(tables) >= 5
    for table in tables:
        assert words(table.find("caption") or table)
        assert all(head.get("scope") for head in table.iter("th"))
        widths = {sum(int(cell.get("colspan") or 1) for cell in row) for row in table.iter("tr")}
        assert len(widths) == 1


def test_drawings_follow_the_colours_of_the_reader() -> None:
    """No colour of a drawing is fixed, and the page has the same ones."""
    page = backtest_page(REPORTS["two"])
    for drawing in drawings(page):
        text = ElementTree.tostring(drawing, encoding="unicode")
        rules = next(one.text or "" for one in drawing.iter() if one.tag.endswith("style"))
        assert "@media screen and (prefers-color-scheme: dark)" in rules
        assert not re.search(r"#[0-9a-f]{6}", text.replace(rules.replace(">", "&gt;"), ""))
    style = words(next(tree(page).iter("style")))
    names = {"ink": theme.INK, "muted": theme.MUTED, "grid": theme.GRID, "page": theme.PAGE}
    for name, light in {**names, "mark": theme.PALETTE[0]}.items():
        shades = re.findall(rf"--{name}: (#[0-9a-f]+)", style)
        assert shades == [light, theme.DARK[light]]


@pytest.mark.usefixtures("undrawn")
def test_whatever_users_wrote_is_text() -> None:
    """Labels, names of files, parameters, notes, problems, matches, the command, the version."""
    made = report(HOSTILE, "other")
    read = history(
        dropped_matches=[HOSTILE],
        problems=[ProblemMessage(HOSTILE, 1, HOSTILE, HOSTILE, HOSTILE)],
        notes=[HOSTILE],
    )
    page = backtest_page(
        replace(
            made,
            source=HOSTILE,
            command=HOSTILE,
            version=HOSTILE,
            period=(HOSTILE, HOSTILE),
            history=read,
            parameters={HOSTILE: {HOSTILE: HOSTILE}},
            chosen={HOSTILE: {HOSTILE}},
        )
    )
    found = Balanced(page)
    assert page.count("<style>") == page.count("</style>") == 1
    assert "<script" not in page
    assert "<svg onload" not in page
    shown = "".join(found.text)
    assert shown.count(HOSTILE) > 30
    tree(page)


@pytest.mark.usefixtures("undrawn")
def test_letters_of_any_script_and_none_are_kept_or_replaced() -> None:
    """The page can always be written as UTF-8."""
    page = backtest_page(report("\u0643\u0631\u0629", "\U0001f3c6 \ud800\x00\u68cb"))
    page.encode()
    assert "\u0643\u0631\u0629" in page
    assert "\U0001f3c6 \ufffd\ufffd\u68cb" in page
