"""equipoise demo: every step works, and nothing is left behind."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from cli.command_line import Cli
from equipoise.analysis.simulate.computation import STEPS, Step, tour
from equipoise.cli.application import create_application
from equipoise.errors import EquipoiseError

ROOT = Path(__file__).parents[2]


def test_every_step_is_shown_with_its_command_and_works(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = cli("demo").out
    assert "kernels are compiled first" in " ".join(out.split())
    for number, step in enumerate(STEPS, start=1):
        assert f"{number}. " in out
        assert f"$ {step.command}" in out
    assert "jade-kite    2301.61" in out
    assert "The tour took" in out
    assert list(tmp_path.iterdir()) == []
    assert Path.cwd() == tmp_path


def test_the_files_of_the_tour_can_be_kept(tmp_path: Path, cli: Cli) -> None:
    folder = tmp_path / "tour"
    cli("demo", "--keep", str(folder))
    assert {"contests.csv", "season.npz"} <= set(os.listdir(folder))
    sample = (folder / "contests.csv").read_bytes()
    assert sample == (ROOT / "examples" / "contests.csv").read_bytes()
    assert "new or empty folder" in cli("demo", "--keep", str(folder), status=2).err
    cli("demo", "--keep", str(tmp_path / "no" / "where"), status=2)


def test_steps_are_commands_with_their_options() -> None:
    root: Any = typer.main.get_command(create_application())
    for step in STEPS:
        name, *words = shlex.split(step.arguments)
        known = {option for one in root.commands[name].params for option in one.opts}
        assert {word for word in words if word.startswith("--")} <= known


def test_a_step_that_fails_ends_the_tour() -> None:
    steps = [Step("this works", "fine"), Step("this does not", "broken"), Step("never", "run")]
    seen = []

    def pretend(arguments: object) -> int:
        seen.append(arguments)
        return 0 if arguments == ["fine"] else 1

    with pytest.raises(EquipoiseError, match="step 2 of the tour failed: equipoise broken"):
        tour(pretend, lambda number, step: None, steps=steps)
    assert seen == [["fine"], ["broken"]]
