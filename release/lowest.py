"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

Run: python release/lowest.py > lowest.txt (`make test-lowest` does, and installs them)
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def lowest(root: Path) -> list[str]:
    """Return `name==bound` for each library of the package and its extras, such as `numpy==2.0`."""
    package = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = package["optional-dependencies"].values()
    needed = {*package["dependencies"], *(one for extra in extras for one in extra)}
    return sorted(re.sub(r"^([\w.-]+)(?:\[\w+\])?>=", r"\1==", one) for one in needed)


if __name__ == "__main__":
    print("\n".join(lowest(ROOT)))
