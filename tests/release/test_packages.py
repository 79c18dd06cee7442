"""The packages: what is in them, that they are the same bytes each time, that the wheel works."""

from __future__ import annotations

import email
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from release_scripts import ROOT, script

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("hatchling") is None, reason="hatchling is not installed"),
]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Folders of a working copy that are no part of the source, some of them large.
LEFT_OUT = (".git", ".venv", ".*_cache", "__pycache__", "_build", "dist", ".hypothesis", "htmlcov")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the source archive and the wheel of this tree."""
    archive, wheel = script("dist").build(ROOT, tmp_path_factory.mktemp("dist"))
    return archive, wheel


def unpacked(archive: Path, folder: Path) -> Path:
    """Unpack a source archive and return the tree."""
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    (tree,) = folder.iterdir()
    return tree


@pytest.mark.nightly
def test_another_folder_at_another_time_gives_the_same_bytes(
    packages: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy has other times, and other rights for group and others."""
    copy = tmp_path / "elsewhere" / "a copy"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for path in copy.rglob("*"):
        path.chmod(path.stat().st_mode & 0o700)
        os.utime(path, (1_000_000_000, 1_000_000_000))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    for one, other in zip(packages, script("dist").build(copy, tmp_path / "out"), strict=True):
        assert one.name == other.name
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.nightly
def test_the_wheel_of_the_tree_is_that_of_the_source_archive(
    packages: tuple[Path, Path], tmp_path: Path
) -> None:
    """`build` makes the wheel from the archive; `pip install .` makes it from the tree."""
    wheel = script("dist").hatchling(ROOT, "wheel", tmp_path)
    assert wheel.read_bytes() == packages[1].read_bytes()


def test_the_source_archive_has_what_git_keeps(packages: tuple[Path, Path]) -> None:
    """With the file that names the package's metadata, and without what git ignores."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("this is no git repository")
    kept = {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}
    with tarfile.open(packages[0]) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
        modes = {member.mode for member in file.getmembers()}
        owners = {(member.uid, member.uname) for member in file.getmembers()}
    assert names == kept | {"PKG-INFO"}
    assert modes <= {0o644, 0o755}
    assert owners == {(0, "")}


def test_the_wheel_has_the_package_and_nothing_else(packages: tuple[Path, Path]) -> None:
    package = ROOT / "src" / "equipoise"
    kept = {
        path.relative_to(package.parent).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(packages[1]) as file:
        names = set(file.namelist())
    told = {name for name in names if name.split("/")[0].endswith(".dist-info")}
    assert names - told == kept
    assert {name.split("/", 1)[1] for name in told} == {
        *("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"),
    }
    # What is read as a file, and no module: each kind would break another part.
    for needed in (
        *(
            "py.typed",
            "sample/contests.csv",
            "analysis/backtest/page.css",
            "web/page/static/page.css",
        ),
        *("web/page/static/live.js", "web/page/templates/base.html"),
    ):
        assert f"equipoise/{needed}" in names


def test_the_metadata_is_that_of_the_project(packages: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(packages[1]) as file:
        (name,) = (one for one in file.namelist() if one.endswith("/METADATA"))
        told = email.message_from_bytes(file.read(name))
    assert told["Name"] == PROJECT["name"]
    assert told["Version"] == PROJECT["version"]
    assert told["Requires-Python"] == PROJECT["requires-python"]
    assert told["License-Expression"] == "MIT"
    assert told["Author"] == "The Equipoise developers"
    assert set(told.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])
    assert set(told.get_all("Classifier", [])) == set(PROJECT["classifiers"])


def test_the_names_of_extras_stay() -> None:
    """People have them in their requirements. New ones may be added."""
    assert set(PROJECT["optional-dependencies"]) >= {
        *("amg", "charts", "client", "cluster", "excel", "postgresql", "service"),
        *("tracing", "tune", "zstd"),
    }


#: Loads every public name, and the files that are read as resources.
LOOK = """
import sys
from importlib.resources import files
import equipoise
for name in equipoise.__all__:
    getattr(equipoise, name)
for place in ("sample/contests.csv", "web/page/templates/base.html", "analysis/backtest/page.css"):
    assert files("equipoise").joinpath(place).is_file(), place
print(equipoise.__file__)
"""


def test_the_wheel_works_in_an_empty_environment(
    packages: tuple[Path, Path], tmp_path: Path
) -> None:
    """Without a network: its libraries are those that the tests have."""
    venv.create(tmp_path / "env", with_pip=True)
    folder = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    python = folder / "python"

    def ran(*command: str | Path, **environment: str) -> str:
        done = subprocess.run(
            list(map(str, command)),
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": "", **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    ran(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", packages[1])
    own = Path(ran(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"))
    # Read after the environment's own folder. Files like this one are not read in those folders.
    here = [sysconfig.get_path("purelib"), *(one for one in sys.path if "site-packages" in one)]
    (own / "libraries.pth").write_text("".join(f"{one}\n" for one in dict.fromkeys(here)))
    assert ran(folder / "equipoise", "--version") == f"equipoise {PROJECT['version']}"
    assert Path(ran(python, "-c", LOOK)).is_relative_to(own)
    ran(folder / "equipoise", "rate", ROOT / "examples" / "league.csv", "--system", "glicko2",
        "--output", "ratings.csv", NUMBA_DISABLE_JIT="1")  # fmt: skip
    assert (tmp_path / "ratings.csv").read_text().startswith("player,rating,")
