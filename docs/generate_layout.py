"""Write dev/layout.md: the packages, layer by layer, and what each may import.

Run: python docs/generate_layout.py
The layers come from pyproject.toml, where import-linter reads them. The description of a package is
the first line of its docstring. A test compares the page with this script.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "equipoise"
PAGE = Path(__file__).parent / "dev" / "layout.md"

HEAD = """\
<!-- Written by docs/generate_layout.py from pyproject.toml and the docstrings: do not edit. -->

# Layout

All packages are in `src/equipoise`. A package imports only from the blocks below its own. Packages
in one block do not import each other, so you can change, test and load each of them separately. If
a package needs a result from its neighbour, a use case in `analysis` or `pools` passes it on as
numbers. Exceptions: `equipoise serve` imports `web`, the commands in `analysis` import `cli`, and
`equipoise doctor` imports `pools`. `client` imports only `messages` and `errors`, so programs that
use it load neither NumPy nor Numba. `make layers` checks these rules with import-linter. Functions
import slow libraries on use, so `import equipoise` and `equipoise --help` are fast.

"""
TAIL = """
Each package, and each folder in it, covers one topic. A file covers one subject; most have 150 to
500 lines. Write a private function only if it is called twice or names an idea. No file is called
`utils`, `core`, `common`, `helpers` or `misc`. No package or module directly below `equipoise` has
the name of a public function, because importing it would hide the function.

Outside the package, `tests` mirrors `src`, `benchmarks` has one script per question, `papers`
compares our numbers with the papers, `examples` contains data and programs for the documentation,
`deploy` contains files for containers and proxies, and `release` the release scripts.
"""
#: Letters of the column of names, and of the line between two layers.
_NAMES, _LINE = 18, 78


def page() -> str:
    """Return the text of the page."""
    return HEAD + layout() + TAIL


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
