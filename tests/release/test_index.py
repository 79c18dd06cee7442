"""No page, message or script says that the package can be had from a package index.

The name is not registered there, so the command would install somebody else's package.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: "equipoise" or "equipoise[...]" after a command that installs. The file of a wheel is allowed,
#: and so is "equipoise @ git+https://...": pip then takes the package from that address alone.
FROM_INDEX = re.compile(
    r"\b(?:pip3?|pipx|uv|uvx|conda|mamba|poetry|rye|hatch|pdm)\s+"
    r"(?:pip\s+|tool\s+)?(?:install|add|run|download)?"
    r"(?:\s+-[^\s'\"]*|\s+constraints\.txt)*\s+['\"]?equipoise(?![\w-]*-\d|[-\w]*\.whl|\w"
    r"|(?:\[[\w,]*\])? @ git\+https://)",
    re.IGNORECASE,
)
#: An extra of the package by its name, which only an index understands.
EXTRA = re.compile(r"(?<![\w/}])equipoise\\?\[[a-z,{](?![\w,]*\] @ git\+https://)")
READ = {
    ".py",
    ".md",
    ".ipynb",
    ".toml",
    ".txt",
    ".yml",
    ".yaml",
    ".html",
    ".cff",
    ".sh",
    ".j2",
    ".tpl",
    "",
}


def texts() -> Iterator[Path]:
    """Yield all files that people read."""
    out = {".git", ".venv", "_build", "__pycache__", "dist", "node_modules"}
    for path in ROOT.rglob("*"):
        inside = path.relative_to(ROOT)
        hidden = inside.parts[0].startswith(".") and inside.parts[0] not in (".github", ".ci")
        if not hidden and not out & set(inside.parts) and path.suffix in READ and path.is_file():
            yield path


def test_no_file_names_the_package_index() -> None:
    found = []
    for path in texts():
        if path == Path(__file__):
            continue
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1):
            named = "equipoise" in line.lower()
            if named and (FROM_INDEX.search(line) or EXTRA.search(line)):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert found == []
