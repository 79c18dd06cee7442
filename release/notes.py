"""Print the section of a version in CHANGELOG.md, for the page of its release.

Run: python release/notes.py [VERSION [FILE]] (or `make release-notes VERSION=1.0.0`)
Without a version: of the version in pyproject.toml if the changelog has it, else of what is not
released yet. With a file, the section is written there.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
UNRELEASED = "Unreleased"
#: The heading of a version: "## 1.0.0 - 2027-01-31", "## [1.0.0] - 2027-01-31", "## Unreleased".
_HEADING = re.compile(r"^## \[?([^\]\s]+)\]?(?: .*)?$", re.MULTILINE)


def sections(changelog: str) -> dict[str, str]:
    """Return the text below each heading of a version, by version."""
    parts = _HEADING.split(changelog)
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def notes(changelog: str, version: str) -> str:
    """Return the section of a version; a leading v of a tag does not count.

    Raises : SystemExit   there is none, or it is empty
    """
    found = sections(changelog)
    name = version.removeprefix("v")
    if name not in found:
        raise SystemExit(f"CHANGELOG.md has no section for {name}; it has {', '.join(found)}")
    if not found[name]:
        raise SystemExit(f"the section for {name} in CHANGELOG.md is empty")
    return found[name]


def main() -> None:
    """Print a section."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version, file, *_ = [*sys.argv[1:], "", ""]
    if not version:
        current = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
        version = current if current in sections(changelog) else UNRELEASED
    found = notes(changelog, version)
    if file:
        Path(file).write_text(f"{found}\n", encoding="utf-8")
    else:
        print(found)


if __name__ == "__main__":
    main()
