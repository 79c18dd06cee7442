"""Packages that add systems, installed for one test: files and metadata, as pip writes them."""

from __future__ import annotations

import importlib
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from equipoise.rating.plugins import installed as plugins

EXAMPLE = Path(__file__).parents[1] / "examples" / "plugin"
FOOTBALL: dict[str, Any] = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]


class Install:
    """Installs packages in a folder, and removes them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        folder.mkdir()
        monkeypatch.syspath_prepend(str(folder))

    def __call__(
        self,
        package: str,
        version: str,
        systems: Mapping[str, str],
        sources: Mapping[str, str],
        summary: str = "",
    ) -> Path:
        """Install a package; return its folder of metadata."""
        for name, text in sources.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        info = self.folder / f"{package.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        head = f"Metadata-Version: 2.3\nName: {package}\nVersion: {version}\n"
        (info / "METADATA").write_text(f"{head}Summary: {summary}\n" if summary else head)
        lines = [f"[{plugins.GROUP}]", *(f"{name} = {place}" for name, place in systems.items())]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        forget()
        return info

    def football(self) -> Path:
        """Install the package of `examples/plugin`; return its folder of metadata."""
        root = EXAMPLE / "src"
        sources = {
            path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
            for path in root.rglob("*.py")
        }
        return self(
            FOOTBALL["name"],
            FOOTBALL["version"],
            FOOTBALL["entry-points"][plugins.GROUP],
            sources,
            FOOTBALL["description"],
        )

    def remove(self, info: Path) -> None:
        """Remove the metadata of a package: nothing can be found by them any more."""
        shutil.rmtree(info)
        forget()


def forget() -> None:
    """Let the next search look at the disk again."""
    importlib.invalidate_caches()
    plugins.offered.cache_clear()
    plugins.load.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Give a function that installs packages; afterwards they and their modules are gone."""
    before = set(sys.modules)
    found = Install(tmp_path / "site", monkeypatch)
    yield found
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if file is not None and Path(file).is_relative_to(found.folder):
            del sys.modules[name]
    monkeypatch.undo()
    forget()


@pytest.fixture
def football(install: Install) -> Path:
    """Install the package of `examples/plugin`; give its folder of metadata."""
    return install.football()
