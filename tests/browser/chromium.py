"""Where Chromium is; `python tests/browser/chromium.py` ends with status 1 where there is none."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

#: What distributions call it.
NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_chromium() -> str | None:
    """Return the path of an installed Chromium, Playwright's own last; None without one."""
    installed = next((path for name in NAMES if (path := shutil.which(name))), None)
    if installed is not None:
        return installed
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).exists() else None


if __name__ == "__main__":
    sys.exit(find_chromium() is None)
