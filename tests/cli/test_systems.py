"""equipoise systems."""

from __future__ import annotations

import pytest

from cli.command_line import Cli
from equipoise.rating.registry import SYSTEMS, system_class


def test_all_systems_are_listed(cli: Cli) -> None:
    out = cli("systems").out
    assert [line.split()[0] for line in out.splitlines()[1:]] == list(SYSTEMS)


def test_one_system_is_shown_with_its_parameters(cli: Cli) -> None:
    assert "home_advantage" in cli("systems", "elo").out
    (found,) = cli.json("systems", "elo")
    assert {"name": "k", "type": "float", "default": 32.0} in found["parameters"]


def test_an_unknown_system_is_an_error(cli: Cli) -> None:
    shown = cli("systems", "chess", status=1)
    assert f"the systems are {', '.join(list(SYSTEMS)[:5])}" in shown.err


#: Systems with rules of their own for first ratings.
NO_ENTRY = [name for name in SYSTEMS if not system_class(name).takes_entry]


@pytest.mark.parametrize("name", NO_ENTRY)
def test_a_system_does_not_list_an_entry_that_it_refuses(name: str, cli: Cli) -> None:
    out = cli("systems", name).out
    assert "initial_rating" in out
    assert "entry" not in out
    assert "hold_level" not in out


@pytest.mark.parametrize("name", [name for name in SYSTEMS if name not in NO_ENTRY])
def test_every_system_says_what_a_learned_entry_and_a_held_level_are(name: str, cli: Cli) -> None:
    out = cli("systems", name).out
    assert "fixed | learned" in out
    assert "entry is where newcomers begin: fixed at initial_rating, or learned" in out
    assert "hold_level is the share of what the level has lost" in out
