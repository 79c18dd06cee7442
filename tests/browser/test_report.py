"""The page of a backtest in a real browser: readable for all, on any screen, and alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from equipoise.analysis.backtest.report import backtest_page
from report.report_by_hand import report

pytestmark = pytest.mark.browser

WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


@pytest.fixture(params=["light", pytest.param("dark", marks=pytest.mark.nightly)])
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[WIDE, PHONE], ids=["wide", "phone"])
def screen(chromium: Any, scheme: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Return an empty page of this size and colour scheme."""
    page = chromium.new_page(viewport=request.param, color_scheme=scheme)
    yield page
    page.close()


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Return the address of a report on disk."""
    path = tmp_path / "report.html"
    path.write_text(backtest_page(report()), encoding="utf-8")
    return path.as_uri()


def test_it_loads_nothing_and_complains_of_nothing(screen: Any, file: str) -> None:
    asked: list[str] = []
    said: list[str] = []
    screen.on("request", lambda request: asked.append(request.url))
    screen.on("console", lambda message: said.append(message.text))
    screen.on("pageerror", lambda error: said.append(str(error)))
    screen.goto(file)
    assert asked == [file]
    assert said == []


def test_it_has_no_violations_of_accessibility(screen: Any, file: str) -> None:
    """By axe; contrast is part of it, so both colour schemes are looked at."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    screen.goto(file)
    found = axe.run(screen)
    assert found.violations_count == 0, found.generate_report()


def test_it_is_as_wide_as_the_screen(screen: Any, file: str) -> None:
    """What is wider scrolls within itself."""
    screen.goto(file)
    assert screen.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
