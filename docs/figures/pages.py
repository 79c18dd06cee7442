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
        browser.close()


if __name__ == "__main__":
    main()
