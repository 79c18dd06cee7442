"""Check before a release that all files name its version, and that the changelog has its section.

Run: python release/check.py VERSION (or `make release-check VERSION=v1.0.0`)
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from notes import notes

ROOT = Path(__file__).parents[1]


def versions(root: Path) -> dict[str, str]:
    """Return the version that each file names."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    cited = re.search(r"^version: *\"?([^\"\s]+)", citation, re.MULTILINE)
    return {
        "pyproject.toml": str(project["version"]),
        "CITATION.cff": cited[1] if cited else "no version",
    }


def check(root: Path, tag: str) -> None:
    """Refuse a version that a file does not name. Raises : SystemExit."""
    version = tag.removeprefix("v")
    wrong = [f"{file} has {found}" for file, found in versions(root).items() if found != version]
    if wrong:
        raise SystemExit(f"release: the version is {version or 'missing'}, but {', '.join(wrong)}")
    notes((root / "CHANGELOG.md").read_text(encoding="utf-8"), version)


def main() -> None:
    """Check the version that is given."""
    check(ROOT, sys.argv[1] if len(sys.argv) > 1 else "")
    print(f"all files name {sys.argv[1]}")


if __name__ == "__main__":
    main()
