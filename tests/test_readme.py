"""Every command and every snippet that the README shows is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


COMMANDS = [line for block in blocks("console") for line in block.splitlines() if line]


def test_the_two_commands_are_targets_of_the_makefile() -> None:
    """Running them here would run this test again; CI runs `make test` itself."""
    makefile = (ROOT / "Makefile").read_text()
    made = [command for command in COMMANDS if command.startswith("make ")]
    assert made == ["make demo", "make test"]
    for command in made:
        assert re.search(rf"^{command.split()[1]}:", makefile, re.MULTILINE)
    demo = re.search(r"^demo:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert demo is not None
    assert "equipoise rate examples/contests.csv" in demo.group(1)


@pytest.mark.slow
def test_every_other_command_runs(tmp_path: Path) -> None:
    """One after the other in a fresh folder, as a reader would; each ends well."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for command in COMMANDS:
        if command.startswith("make "):
            continue
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    written = {path.name for path in tmp_path.iterdir()} - {"examples"}
    tables = {"ratings.csv", "trace.parquet", "ratings.parquet", "spring.jsonl", "simulated.csv"}
    assert written == {*tables, "state.npz", "chart.svg", "performance.svg"}


@pytest.mark.slow
@pytest.mark.parametrize("snippet", blocks("python"))
def test_every_snippet_runs(snippet: str, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = subprocess.run(
        [sys.executable, "-c", snippet], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "jade-kite" in done.stdout
