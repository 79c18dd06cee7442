"""equipoise systems."""

from __future__ import annotations

import json

import pytest

from equipoise.cli import run
from equipoise.rating.registry import SYSTEMS, system_class


def test_all_systems_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["systems"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()[1:]] == list(SYSTEMS)


def test_one_system_is_shown_with_its_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["systems", "elo"]) == 0
    assert "home_advantage" in capsys.readouterr().out
    assert run(["systems", "elo", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert {"name": "k", "type": "float", "default": 32.0} in found["parameters"]


def test_an_unknown_system_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["systems", "chess"]) == 1
    assert f"the systems are {', '.join(list(SYSTEMS)[:5])}" in capsys.readouterr().err


#: Systems with rules of their own for first ratings.
NO_ENTRY = [name for name in SYSTEMS if not system_class(name).takes_entry]


@pytest.mark.parametrize("name", NO_ENTRY)
def test_a_system_does_not_list_an_entry_that_it_refuses(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["systems", name]) == 0
    out = capsys.readouterr().out
    assert "initial_rating" in out
    assert "entry" not in out
    assert "hold_level" not in out


@pytest.mark.parametrize("name", [name for name in SYSTEMS if name not in NO_ENTRY])
def test_every_system_says_what_a_learned_entry_and_a_held_level_are(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["systems", name]) == 0
    out = capsys.readouterr().out
    assert "fixed | learned" in out
    assert "entry is where newcomers begin: fixed at initial_rating, or learned" in out
    assert "hold_level is the share of what the level has lost" in out
