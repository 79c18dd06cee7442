"""What the README shows is run; its figures and those of guides are what benchmarks kept."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from trials.server import free_port

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
RESULTS = ROOT / "benchmarks" / "results"
README = (ROOT / "README.md").read_text()
TUTORIAL = (DOCS / "tutorial" / "first-ratings.md").read_text()
ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(text: str) -> list[str]:
    lines = [line for block in blocks(text, "console") for line in block.splitlines() if line]
    return [line.removeprefix("$ ") for line in lines]


def shell(command: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env={**ENVIRONMENT, **more},
        capture_output=True,
        text=True,
        check=False,
    )


def target(name: str) -> str:
    """Return what the Makefile does for a target."""
    makefile = (ROOT / "Makefile").read_text()
    found = re.search(rf"^{name}:.*\n((?:\t.*\n)+|)", makefile, re.MULTILINE)
    return found.group(1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a fresh folder with the examples, as a reader has them."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def test_the_readme_is_short_and_in_order() -> None:
    """Fewer than 130 lines, one picture."""
    assert len(README.splitlines()) < 130
    assert re.findall(r"^## (.+)$", README, re.MULTILINE) == [
        "Install",
        "In Python",
        "Five commands",
        "The service",
        "Measured",
        "Where to go next",
    ]
    assert README.count("![") == 1


def test_the_two_commands_are_targets_of_the_makefile() -> None:
    """Running them here would run this test again; CI runs `make test` itself."""
    made = [command for command in commands(README) if command.startswith("make ")]
    assert made == ["make demo", "make test"]
    assert "equipoise rate examples/contests.csv" in target("demo")
    target("test")
    assert "serve --demo" in target("serve")
    assert "benchmarks/readme.py --readme" in target("bench-readme")


@pytest.mark.slow
def test_every_other_command_runs(folder: Path) -> None:
    """One after the other in a fresh folder, as a reader would; each ends well."""
    for command in commands(README):
        if command.startswith("make "):
            continue
        done = shell(command, folder)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    written = {path.name for path in folder.iterdir()} - {"examples"}
    assert written == {"ratings.csv", "state.npz"}


@pytest.mark.slow
def test_the_code_rates_one_match_and_a_season(folder: Path) -> None:
    for code, shown in zip(
        blocks(README, "python"),
        [r"<Rating 15.*> <Rating 13.*> \(0\.\d+, 0\.\d+\)\n", r"(?s).*jade-kite.*"],
        strict=True,
    ):
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(shown, done.stdout)


@pytest.mark.slow
def test_the_commands_of_the_service_run(tmp_path: Path) -> None:
    """As shown, but for the port; the answer to the match has the new ratings."""
    pytest.importorskip("uvicorn")
    starting, posting = blocks(README, "sh")
    export, create, serve = starting.splitlines()
    port = str(free_port())
    made = shell(f"{export}; {create}", tmp_path)
    assert made.returncode == 0, made.stderr
    (key,) = made.stdout.split()
    database = {"EQUIPOISE_DATABASE": export.partition("=")[2]}
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(
            [*serve.split(), "--port", port],
            cwd=tmp_path,
            env={**ENVIRONMENT, **database},
            stdout=log,
            stderr=log,
        )
    try:
        wait_for(f"http://localhost:{port}/readyz", server, tmp_path / "log")
        for line in posting.replace("localhost:8000", f"localhost:{port}").splitlines():
            done = shell(line, tmp_path, KEY=key)
            assert done.returncode == 0, done.stderr
    finally:
        server.terminate()
        server.wait(30)
    teams = json.loads(done.stdout)["teams"]
    rating = {one["player"]: one["rating"] for team in teams for one in team["players"]}
    assert rating["ana"] > 1500 > rating["bo"]


def wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the service is ready."""
    for _ in range(600):
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(url):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    raise AssertionError(log.read_text())


@pytest.mark.slow
def test_every_command_of_the_tutorial_runs(folder: Path) -> None:
    """But for those that set up; the one that the page says fails, fails as it says."""
    for command in commands(TUTORIAL):
        if not command.startswith("equipoise "):
            continue
        done = shell(command, folder)
        expected = 1 if "glicko2" in command else 0
        assert done.returncode == expected, f"{command}\n{done.stderr}"


def test_every_link_of_the_readme_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert len(links) > 15
    assert [link for link in links if not (ROOT / link).exists()] == []


def rows_of(text: str) -> list[list[str]]:
    """Return the cells of every table row."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_table_is_what_the_benchmark_kept() -> None:
    """`benchmarks/readme.py --readme` writes it."""
    measured = rows_of((RESULTS / "readme.md").read_text())
    shown = rows_of(README)
    assert len(shown) > 2
    assert [row for row in shown if set(row[0]) != {"-"}] == [
        row for row in measured if set(row[0]) != {"-"}
    ]


def test_every_figure_on_speed_is_one_that_its_benchmark_kept() -> None:
    """The last column names the benchmark, whose result has the figures of the columns before."""
    page = (DOCS / "guides" / "speed.md").read_text()
    rows = [row for row in rows_of(page) if row[-1].startswith("`benchmarks/")]
    assert len(rows) > 10
    for *cells, script in rows:
        assert (ROOT / script.strip("`")).exists()
        kept = (RESULTS / f"{Path(script.strip('`')).stem}.md").read_text()
        figures = [one for cell in cells[1:] for one in re.findall(r"\d[\d.,e-]*\d", cell)]
        assert [one for one in figures if one not in kept] == [], script


# --- figures of guides -----------------------------------------------------------------------

KEPT = ("backtest", "tables", "experience", "team_games", "entry", "advantage", "new_systems")


@pytest.mark.parametrize(("guide", "least"), [("system-study", 100), ("which-system", 3)])
def test_every_figure_of_the_page_is_one_that_a_benchmark_kept(guide: str, least: int) -> None:
    """Figures of two decimals or more, without their signs; benchmarks/results is the truth.

    Outputs of commands are compared with those of the commands instead.
    """
    kept = "".join((RESULTS / f"{name}.md").read_text() for name in KEPT)
    known = set(re.findall(r"\d+\.\d\d+", kept))
    page = (DOCS / "guides" / f"{guide}.md").read_text()
    shown = re.findall(r"\d+\.\d\d+", re.sub(r"```output\n.*?```", "", page, flags=re.DOTALL))
    assert len(shown) > least
    assert [one for one in shown if one not in known] == []


@pytest.mark.parametrize(
    ("guide", "first", "last", "result"),
    [
        ("system-study", "### Home advantage", "`python benchmarks/advantage.py`", "advantage"),
        ("predicting", "On the second half of 49,520", "`python benchmarks/draws.py`", "draws"),
    ],
)
def test_every_measured_figure_of_other_guides_is_one_that_a_benchmark_kept(
    guide: str, first: str, last: str, result: str
) -> None:
    """From the words with which the measurements begin to the command that shows them.

    A number of deviations is the ratio of two kept figures.
    """
    page = (DOCS / "guides" / f"{guide}.md").read_text()
    measured = page[page.index(first) : page.index(last)]
    shown = re.findall(r"\d+\.\d+(?! deviations)", measured)
    known = set(re.findall(r"\d+\.\d+", (RESULTS / f"{result}.md").read_text()))
    assert len(shown) > 4
    assert [one for one in shown if one not in known] == []
