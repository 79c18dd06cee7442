"""Write the layout of the packages into CONTRIBUTING.md.

Run: python docs/generate_layout.py
The layers come from pyproject.toml, where import-linter reads them. What a package is about is the
first line of its docstring. A test holds the page against this script.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "equipoise"
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- layout: docs/generate_layout.py writes this -->\n", "<!-- end of layout -->\n"
#: Letters of the column of names, and of the line between two layers.
_NAMES, _LINE = 18, 78


def page() -> str:
    """Return CONTRIBUTING.md with the layout as it is now."""
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE} must have the lines {BEGIN}and {END}")
    return before + BEGIN + layout() + END + after


def layout() -> str:
    """Return the layout: a block for each layer, the highest first."""
    blocks = ("\n".join(_lines(layer)) for layer in layers())
    return "```text\n" + f"\n{'-' * _LINE}\n".join(blocks) + "\n```\n"


def layers() -> list[list[str]]:
    """Return the packages and modules of every layer, the highest first."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    (found,) = (one["layers"] for one in contracts if one["type"] == "layers")
    return [layer.replace("equipoise.", "").split(" | ") for layer in found]


def _lines(layer: list[str]) -> Iterator[str]:
    """Yield the lines of a layer: its packages, each with its folders, and its modules."""
    for name in layer:
        folder = PACKAGE / name
        if not folder.is_dir():
            yield f"{name + '.py':<{_NAMES}}{_about(folder.with_suffix('.py'))}"
            continue
        for path in (folder, *sorted(folder.iterdir())):
            if (path / "__init__.py").exists():
                indented = f"{'' if path == folder else '  '}{path.name}/"
                yield f"{indented:<{_NAMES}}{_about(path / '__init__.py')}"


def _about(path: Path) -> str:
    """Return the first line of a module's docstring, without its full stop."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0].rstrip(".")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
