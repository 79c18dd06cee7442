"""Draws the screenshots of the page: the demo pool in Chromium, as it is.

Run from the top of the repository, with Chromium installed (`make chromium`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
PORT = 8791
ADDRESS = f"http://127.0.0.1:{PORT}"
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
#: Results as they are copied from a spreadsheet; the last one has a misspelled name.
ROWS = """date	player 1	player 2	score 1	score 2
2026-10-01	Ada Fox	Bo Otter	3	1
2026-10-01	Cleo Lynx	Dag Heron	0	2
2026-10-08	Bo Otter	Cleo Lynx	1	1
2026-10-08	Dag Heron	Ada Fox	2	3
2026-10-15	Adda Fox	Cleo Lynx	3	0
"""
GAMES = HERE.parent.parent / "examples" / "interzonal1970.csv"


@contextmanager
def service() -> Iterator[str]:
    """Run the demo until the screenshots are made; give the key with which one may do all."""
    command = [sys.executable, "-m", "equipoise", "serve", "--demo", "--port", str(PORT)]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stderr=said)
        try:
            for _ in range(600):
                try:
                    with urllib.request.urlopen(f"{ADDRESS}/readyz") as answer:
                        if json.load(answer):
                            break
                except (urllib.error.URLError, ConnectionError):
                    time.sleep(0.5)
            said.seek(0)
            yield next(word for word in said.read().split() if word.startswith("eqp_"))
        finally:
            process.terminate()
            process.wait()


def shoot(page: Page, path: str, name: str, height: int) -> None:
    """Keep what a visitor sees at a path."""
    page.set_viewport_size({"width": 1100, "height": height})
    page.goto(ADDRESS + path)
    # A page that still computes an explanation says so, and is asked again.
    for _ in range(120):
        page.wait_for_timeout(500)
        if page.get_by_text("Computing").count() == 0:
            break
        page.goto(ADDRESS + path)
    page.screenshot(path=HERE / f"page-{name}.png")


def league(page: Page) -> None:
    """Keep the form of a new pool, the preview of an upload, and fair teams with their link."""
    page.set_viewport_size({"width": 1100, "height": 720})
    page.goto(f"{ADDRESS}/new-pool")
    page.get_by_label("1. What is it called?").fill("Thursday league")
    page.screenshot(path=HERE / "page-new-pool.png", full_page=True)
    page.get_by_role("button", name="Create the pool").click()
    page.get_by_role("heading", name="Thursday league").wait_for()
    # A new system compiles its kernels first.
    while page.get_by_text("being compiled").count():
        page.wait_for_timeout(1000)
        page.reload()
    page.get_by_role("link", name="Upload matches").click()
    page.get_by_text("Or paste rows").click()
    page.get_by_label("Rows with a header").fill(ROWS)
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("region", name="5 new matches").wait_for(timeout=90_000)
    page.screenshot(path=HERE / "page-upload.png", full_page=True)
    players = "birch-fox", "birch-hare", "cedar-bear", "cedar-crane", "amber-ant", "amber-fox"
    page.goto(f"{ADDRESS}/pools/demo/balance?{'&'.join(f'player={one}' for one in players)}")
    page.get_by_role("button", name="Make teams").click()
    page.get_by_role("link", name="Link to these teams").click()
    page.get_by_role("heading", name="Teams", exact=True).wait_for()
    page.screenshot(path=HERE / "page-teams.png")


def main() -> None:
    """Make all screenshots."""
    with service() as key, sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        shoot(page, "/pools/demo/leaderboard", "leaderboard", 620)
        shoot(page, "/pools/demo/players/birch-fox", "player", 980)
        shoot(page, "/pools/demo", "pool", 900)
        rival = page.locator("#best").get_by_role("link").nth(4).inner_text()
        shoot(page, f"/pools/demo/compare?first=birch-fox&second={rival}", "compare", 900)
        page.set_viewport_size({"width": 1100, "height": 860})
        page.goto(ADDRESS + "/tournament")
        page.locator("input[type=file]").set_input_files(GAMES)
        page.get_by_role("button", name="Rate the tournament").click()
        page.locator("table.ppr").wait_for(timeout=90_000)
        page.wait_for_timeout(500)
        page.screenshot(path=HERE / "page-tournament.png")
        cross = page.locator("section", has=page.locator("#cross"))
        cross.screenshot(path=HERE / "page-cross-table.png")
        page.goto(ADDRESS + "/sign-in")
        page.locator("#key").fill(key)
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url: "sign-in" not in url)
        page.goto(f"{ADDRESS}/pools/demo/seasons/end")
        page.get_by_label("Name of the season").fill("2026-1")
        page.get_by_role("button", name="Preview").click()
        page.get_by_role("region", name="Preview of the next season").wait_for(timeout=90_000)
        page.wait_for_timeout(500)
        page.screenshot(path=HERE / "page-season.png", full_page=True)
        league(page)
        browser.close()


if __name__ == "__main__":
    main()
