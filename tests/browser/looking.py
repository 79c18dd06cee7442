"""What the tests of the pages share: a signed in browser, what it complained of, pictures."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: A folder that gets pictures of the pages; without it none are kept.
PICTURES = "EQUIPOISE_PICTURES"

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 780}

#: Counts how far things jump while a page loads.
_SHIFTS = """
window.shifts = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""


@contextmanager
def browsing(
    chromium: Any,
    site: Any,
    key: str | None = None,
    screen: Any = WIDE,
    scheme: str = "light",
    *,
    scripts: bool = True,
) -> Iterator[Any]:
    """Give a page of a browser of its own, signed in with a key; it must not complain."""
    context = chromium.new_context(
        viewport=screen,
        color_scheme=scheme,
        base_url=site.url,
        has_touch=screen is PHONE,
        java_script_enabled=scripts,
    )
    if key is not None:
        signed_in = context.request.post(
            "/sign-in",
            form={"key": site.keys[key], "next": "/"},
            headers={"Origin": site.url},
            max_redirects=0,
        )
        assert signed_in.status == 303, signed_in.text()
    context.add_init_script(_SHIFTS)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(f"a dialog: {dialog.message}"))
    try:
        yield page
    finally:
        context.close()
    complaints = [one for one in said if not _harmless(one)]
    assert complaints == []


def _harmless(message: str) -> bool:
    """Tell whether a message of the console is about an answer the test asked for."""
    # A form that is refused is answered with 422, which the console calls a failure.
    return "status of 4" in message or "Password forms should have" in message


def keep(page: Any, name: str) -> None:
    """Keep a picture of the whole page, where a folder for them is named."""
    folder = os.environ.get(PICTURES)
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


def settle(page: Any) -> None:
    """Wait until the page is there with its chart, and a frame was drawn."""
    page.wait_for_load_state("load")
    if page.locator("#timeline").count():
        page.wait_for_selector("#timeline[data-drawn]")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def fits(page: Any) -> bool:
    """Tell whether nothing makes the page wider than the screen."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def plain(name: str) -> str:
    """Return a path as part of a file name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "pools"
