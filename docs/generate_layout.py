"""Write the diagram of the packages into CONTRIBUTING.md.

Run: python docs/generate_layout.py
The layers come from pyproject.toml, what a package is about from its docstring. A test holds the
page against this script.
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
#: Stand in no layer: the client is a program of its own, the sample is data.
BESIDE = ("client", "sample")
_WIDTH = 20


def layout() -> str:
    """Return the diagram: a block for each layer, highest first; each imports only from below."""
    blocks = ["\n".join(_layer(names)) for names in layers()]
    blocks.append("\n".join(_layer(BESIDE)))
    line = "-" * 78
    return "```text\n" + f"\n{line}\n".join(blocks) + "\n```\n"


def layers() -> list[list[str]]:
    """Return the names of the packages and modules of every layer, highest first."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    (found,) = [one["layers"] for one in contracts if one["type"] == "layers"]
    return [
        [name.strip(" ()").removeprefix("equipoise.") for name in layer.split("|")]
        for layer in found
    ]


def _layer(names: list[str] | tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of a layer: each package, and the folders in it."""
    for name in names:
        path = PACKAGE / name
        if not path.is_dir():
            yield _line(f"{name}.py", _about(path.with_suffix(".py")), 0)
            continue
        yield _line(f"{name}/", _about(path / "__init__.py"), 0)
        for folder in sorted(path.iterdir()):
            if (folder / "__init__.py").exists():
                yield _line(f"{folder.name}/", _about(folder / "__init__.py"), 2)


def _line(name: str, about: str, indent: int) -> str:
    """Return a line of the diagram."""
    return f"{' ' * indent}{name:<{_WIDTH - indent}}{about}".rstrip()


def _about(path: Path) -> str:
    """Return the first line of a module's docstring, without its full stop."""
    if not path.exists():
        return "the bundled season"
    return (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0].rstrip(".")


def page() -> str:
    """Return CONTRIBUTING.md with the diagram as it is now."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + layout() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
