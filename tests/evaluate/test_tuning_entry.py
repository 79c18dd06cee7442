"""The constants of a learned entry and of a held level can be tuned in every system."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import equipoise as eq
from equipoise.analysis.reading import idle_parameters
from equipoise.cli import run
from equipoise.data.backtest import Range
from equipoise.data.history import History
from equipoise.errors import InvalidParameterError
from equipoise.evaluate.tuning import checked_choices, default_grid, default_ranges
from equipoise.rating.one_match import OneMatch, history_of
from equipoise.rating.registry import make_system
from rating.entry_histories import LEARNERS

LEARNED = {"entry": "learned", "hold_level": 0.05}


def weak_newcomers(matches: int = 60) -> History:
    """Return contests of eight, of whom two are newcomers and 400 points weaker than the others."""
    rng = np.random.default_rng(1)
    rows, skill = [], [*(1500 + 50 * rng.standard_normal(12)).tolist()]
    for _ in range(matches):
        old = rng.choice(12, 6, replace=False).tolist()
        new = [len(skill), len(skill) + 1]
        skill += [1100.0, 1100.0]
        players = np.array([*old, *new])
        shown = np.array(skill)[players] + 150 * rng.standard_normal(8)
        rows.append((players, np.argsort(np.argsort(-shown))))
    contests = [OneMatch((1,) * 8, ranks.tolist()) for _, ranks in rows]
    return history_of(contests, [players.tolist() for players, _ in rows])


@pytest.mark.parametrize("name", ["elo", "glicko", "elo-mmr"])
def test_words_and_numbers_of_the_entry_are_tuned(name: str) -> None:
    """Where newcomers are weak, the learned entry predicts better, and the fixed one all alike."""
    found = eq.tune(
        make_system(name),
        weak_newcomers(),
        {"entry": ("fixed", "learned"), "entry_weight": (1, 10)},
        metric="log_loss",
        min_history=0,
    )
    values = [trial.value("log_loss") for trial in found.trials]
    assert found.best.parameters["entry"] == "learned"
    assert values[0] == values[1] == found.given.value("log_loss")
    assert max(values[2:]) < values[0] - 0.01
    assert values[2] != values[3]


@pytest.mark.parametrize("name", LEARNERS)
def test_every_system_has_values_and_ranges_of_these_constants(name: str) -> None:
    system = make_system(name, LEARNED)
    grid, ranges = default_grid(system, entry=True), default_ranges(system, entry=True)
    assert grid["entry_half_life"] == (300, 900, 2900, 9000)
    assert list(grid) == list(ranges)
    assert all(one.log for one in ranges.values())
    assert not set(grid) & system.capabilities.idle
    assert math.prod(map(len, grid.values())) == 324
    for values in grid.values():
        assert len(set(values)) == len(values)
    checked_choices(system, grid, None)
    checked_choices(system, ranges, 5)
    whole = checked_choices(system, {"hold_level_matches": Range(low=5, high=50)}, 5)
    assert whole["hold_level_matches"].whole  # type: ignore[union-attr]
    with pytest.raises(InvalidParameterError, match="use entry=learned or hold_level"):
        default_grid(make_system(name), entry=True)
    assert list(default_grid(make_system(name, {"hold_level": 0.1}), entry=True)) == [
        "hold_level",
        "level_step",
    ]


def test_an_idle_constant_is_named_unless_what_turns_it_on_is_searched_too() -> None:
    system = make_system("elo")
    assert idle_parameters(system, ["entry_half_life"]) == ["entry_half_life"]
    assert idle_parameters(system, ["entry_half_life", "entry"]) == []
    assert idle_parameters(system, ["level_step", "entry"]) == ["level_step"]
    assert idle_parameters(system, ["level_step", "hold_level"]) == []
    # What is on is never idle, and other parameters of the system stay so.
    assert idle_parameters(make_system("elo", LEARNED), ["entry_clip"]) == []
    assert idle_parameters(make_system("elo-mmx"), ["rho", "entry"]) == ["rho"]


@pytest.mark.slow
def test_the_command_searches_them_and_says_what_is_idle(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sample = ["tune", "examples/contests.csv", "--system", "elo", "--first", "50%"]
    sample += ["--min-history", "0"]
    assert run([*sample, "--grid", "entry_half_life=10,100"]) == 0
    assert "elo does not use parameter entry_half_life" in capsys.readouterr().err
    words = ["--grid", "entry=fixed,learned", "--grid", "entry_half_life=10,100"]
    assert run([*sample, *words]) == 0
    assert "does not use" not in capsys.readouterr().err
    sampled = ["--trials", "4", "--range", "entry_half_life=100:10000:log", "--json"]
    assert run([*sample, "--set", "entry=learned", *sampled]) == 0
    (choice,) = json.loads(capsys.readouterr().out)["search"]["choices"]
    assert (choice["parameter"], choice["log"]) == ("entry_half_life", True)
    assert run([*sample, "--set", "hold_level=0.05", "--entry", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["parameter"] for one in found["search"]["choices"]] == ["hold_level", "level_step"]
    assert len(found["trials"]) == 9
    assert run([*sample, "--entry"]) == 2
    assert "elo with these parameters has a fixed entry and holds no level" in (
        capsys.readouterr().err
    )
    assert run([*sample, "--set", "entry=learned", "--entry", "--grid", "k=1,2"]) == 2
    assert "--entry cannot be combined with --grid and --range" in capsys.readouterr().err
