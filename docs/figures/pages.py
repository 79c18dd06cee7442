"""Draws the screenshots of the page: the demo pool in Chromium, as it is.

Run from the top of the repository, with Chromium installed (`make chromium`).
"""

from __future__ import annotations

import json
import subprocess
import sys
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
GAMES = HERE.parent.parent / "examples" / "interzonal1970.csv"


@contextmanager
def service() -> Iterator[None]:
    """Run the demo until the screenshots are made."""
    command = [sys.executable, "-m", "equipoise", "serve", "--demo", "--port", str(PORT)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"{ADDRESS}/readyz") as answer:
                    if json.load(answer):
                        break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.5)
        yield
    finally:
        process.terminate()
        process.wait()


def shoot(page: Page, path: str, name: str, height: int) -> None:
    """Keep what a visitor sees at a path."""
    page.set_viewport_size({"width": 1100, "height": height})
    page.goto(ADDRESS + path)
    page.wait_for_timeout(500)
    page.screenshot(path=HERE / f"page-{name}.png")


def main() -> None:
    """Make all screenshots."""
    with service(), sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        shoot(page, "/pools/demo/leaderboard", "leaderboard", 620)
        shoot(page, "/pools/demo/players/jade-kite", "player", 980)
        shoot(page, "/pools/demo", "pool", 900)
        page.set_viewport_size({"width": 1100, "height": 860})
        page.goto(ADDRESS + "/tournament")
        page.locator("input[type=file]").set_input_files(GAMES)
        page.get_by_role("button", name="Rate the tournament").click()
        page.locator("table.ppr").wait_for(timeout=90_000)
        page.wait_for_timeout(500)
        page.screenshot(path=HERE / "page-tournament.png")
        browser.close()


if __name__ == "__main__":
    main()
