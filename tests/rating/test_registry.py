"""Systems by name, and settings as text."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from equipoise.errors import InvalidParameterError, NotFoundError
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMRParameters, EloMMX
from equipoise.rating.registry import kind_of, make_system, parameters_of, setting_of
from equipoise.rating.systems.codeforces import Codeforces


def test_text_is_read_as_the_type_of_the_parameter() -> None:
    system = make_system(
        "elo-mmr", {"rho": "inf", "split_ties": "yes", "remembered": "500", "beta": None}
    )
    assert system == EloMMR(rho=math.inf, split_ties=True, remembered=500)
    assert make_system("elo-mmr", {"remembered": "none"}) == EloMMR()
    platform = make_system("codeforces", {"rules": "platform", "initial_rating": "1400"})
    assert platform == Codeforces(rules="platform", initial_rating=1400.0)
    assert kind_of("codeforces", "rules") == "word"


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("elo-mmr", {"rhoo": "1"}, r"no parameter 'rhoo'.*did you mean rho\?"),
        ("elo-mmr", {"rho": "much"}, r"elo-mmr\.rho must be a number; got 'much'"),
        ("elo-mmr", {"rho": "nan"}, r"elo-mmr\.rho must be a number; got 'nan'"),
        ("elo-mmr", {"rho": "none"}, r"elo-mmr\.rho must have a value"),
        ("elo-mmr", {"rho": -0.1}, r"rho must be .*got -0\.1"),
        ("elo-mmr", {"split_ties": "perhaps"}, "split_ties must be true or false; got 'perhaps'"),
        ("elo-mmr", {"remembered": "2.5"}, r"remembered must be a whole number; got '2.5'"),
        ("elo-mmr", {"remembered": "inf"}, r"remembered must be a whole number; got 'inf'"),
        ("elo-mmr", {"remembered": 10**400}, r"remembered must be a whole number; got 10{400}$"),
        ("elo-mmr", {"remembered": "0"}, r"remembered must be at least 1; got 0"),
        ("elo-mmr", {"drift_per_day": -1}, "drift_per_day must be .*got -1"),
        ("elo-mmr", {"weight_limit": 0}, "weight_limit must be .*got 0"),
        ("elo-mmr", {"sigma_limit": -3}, "sigma_limit must be positive; got -3"),
        ("elo-mmr", {"beta": 100}, "given together"),
        ("elo-mmr", {"beta": "inf", "gamma": 35}, "beta must be .*got inf"),
        ("elo-mmr", {"tie_loss": 0.5}, "together"),
        ("elo-mmr", {"tie_loss": 0.5, "tie_win": 0}, "tie_win must be above 0 and at most 1"),
        ("elo-mmr", {"tie_loss": 1.5, "tie_win": 1}, "tie_loss must be above 0 and at most 1"),
        ("elo-mmr", {"tie_loss": 1, "tie_win": 1, "split_ties": True}, "cannot be combined"),
        ("codeforces", {"beta": 0}, "beta must be from 1e-6 to 1e9; got 0"),
        ("codeforces", {"weight": "inf"}, "weight must be positive; got inf"),
        ("codeforces", {"rules": "platform", "entry": "learned"}, "has whole numbers"),
        ("codeforces", {"rules": "mine"}, "rules must be authors or platform; got 'mine'"),
        (
            "codeforces",
            {"rules": "platform", "initial_rating": 1500.5},
            "initial_rating must be a whole number by the",
        ),
        ("topcoder", {"weight_noob": 1}, "weight_noob must be between 0 and 1; got 1"),
        ("topcoder", {"cap_noob": -1}, "cap_noob must be at least 0; got -1"),
        ("topcoder", {"top_factor": 0}, "top_factor must be positive; got 0"),
        ("topcoder", {"high_rating": 2600}, "high_rating must be at most top_rating; got 2600"),
        ("glicko", {"drift": -1}, "drift must be from 0 to 1e9; got -1"),
        ("glicko2", {"tau": 0}, "tau must be .*got 0"),
        ("glicko2", {"tau": 2.1}, r"tau must be .*got 2\.1"),
        ("glicko2", {"period_days": 0}, "period_days must be positive; got 0"),
        ("glicko2", {"max_volatility": 0}, "max_volatility must be positive; got 0"),
        ("glicko2", {"period_days": 7, "context_deviation": 60}, "cannot be combined with period"),
        ("lichess", {"max_deviation": 40}, "max_deviation must be from min_deviation to 1e9"),
        ("lichess", {"max_change": 0}, "max_change must be positive; got 0"),
        ("trueskill", {"draw_probability": 1e-10}, "draw_probability must be 0, or from 1e-9"),
        ("trueskill", {"draw_rule": "rating", "draw_slope": 11}, "draw_slope must be from -10 to"),
        ("trueskill", {"draw_rule": "chess"}, "draw_rule must be"),
        ("trueskill-spb", {"eps": 1e-4}, "eps must be 0, or from 1e-5 to 10 times beta"),
        ("egf", {"initial_rating": 3300}, "initial_rating must be from floor"),
        ("uscf", {"initial_rating": 50}, "initial_rating must be from 100 to 2700"),
        ("team-glicko2", {"factor_min": 1.1}, r"factor_min must be .*got 1\.1"),
        ("team-glicko2", {"max_change": "inf"}, "max_change must be .*got inf"),
        ("team-glicko2", {"form_window": 0}, "form_window must be .*got 0"),
        ("team-glicko2", {"activity_window": -1}, "activity_window must be .*got -1"),
        ("team-glicko2", {"blend": 1.5}, r"blend must be .*got 1\.5"),
        ("elo", {"entry": "guessed"}, "entry must be fixed or learned; got 'guessed'"),
        ("elo", {"entry_half_life": 0}, "entry_half_life must be from 1e-6 to 1e9; got 0"),
        ("elo", {"hold_level": 2}, "hold_level must be from 0 to 1; got 2"),
        ("elo", {"level_experienced": 10**20}, "level_experienced must be from 1 to 1e9; got 1"),
        ("elo", {"home_advantage": "inf"}, "home_advantage must be .*got inf"),
        ("elo", {"home_advantage_deviation": 0}, "home_advantage_deviation must be .*got 0"),
        ("elo", {"home_advantage_drift": -1}, "home_advantage_drift must be .*got -1"),
        (
            "trueskill",
            {"shares": "play", "learn_home_advantage": True},
            "with shares=play",
        ),
    ],
)
def test_wrong_settings_are_refused_with_the_rule(
    name: str, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        make_system(name, settings)


def test_a_word_that_is_not_read_as_text_is_checked_too() -> None:
    with pytest.raises(InvalidParameterError, match="rules must be one of authors, platform"):
        Codeforces(rules="mine")  # type: ignore[arg-type]


@pytest.mark.parametrize("model", [EloMMR, EloMMX])
def test_a_removed_parameter_is_refused_with_the_reason(model: type[EloMMRParameters]) -> None:
    """Wherever it is given; None is what it was by default, and what earlier versions saved."""
    told = (
        rf"^{model.name}\.opponents was removed: .* Theorems 5\.2, 5\.5 and 5\.6, .*leave it out$"
    )
    few: dict[str, Any] = {"opponents": 5}
    for make in (
        lambda: model(**few),
        lambda: replace(model(), **few),
        lambda: make_system(model.name, few),
        lambda: make_system(model.name, {"opponents": "none"}),
        lambda: kind_of(model.name, "opponents"),
        lambda: setting_of(model, "opponents", 5),
    ):
        with pytest.raises(InvalidParameterError, match=told):
            make()
    assert make_system(model.name, {"opponents": None}) == model()
    assert "opponents" not in parameters_of(model())


def test_an_unknown_system_is_answered_with_those_there_are() -> None:
    with pytest.raises(NotFoundError, match=r"no system 'glicko-2'; .*did you mean glicko2\?"):
        make_system("glicko-2")


@pytest.mark.parametrize(
    "name", ["codeforces", "elo-mmr", "elo-mmx", "glicko2", "team-glicko2", "topcoder"]
)
@pytest.mark.parametrize(
    ("parameter", "value"),
    [("initial_deviation", 1e-300), ("initial_deviation", 1e300), ("initial_rating", -1e300)],
)
def test_starting_values_keep_to_what_floats_can_square(
    name: str, parameter: str, value: float
) -> None:
    """1/deviation^2 would be infinite or nothing, and ratings would silently not move."""
    with pytest.raises(InvalidParameterError, match=f"{parameter} must be from"):
        make_system(name, {parameter: value})
