"""Systems by name, and settings as text."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from equipoise.errors import InvalidParameterError, NotFoundError
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMRParameters, EloMMX
from equipoise.rating.registry import kind_of, make_system, parameters_of, setting_of


def test_text_is_read_as_the_type_of_the_parameter() -> None:
    system = make_system(
        "elo-mmr", {"rho": "inf", "split_ties": "yes", "remembered": "500", "beta": None}
    )
    assert system == EloMMR(rho=math.inf, split_ties=True, remembered=500)
    assert make_system("elo-mmr", {"remembered": "none"}) == EloMMR()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rhoo": "1"}, r"no parameter 'rhoo'.*did you mean rho\?"),
        ({"rho": "much"}, r"elo-mmr\.rho must be a number; got 'much'"),
        ({"rho": "nan"}, r"elo-mmr\.rho must be a number; got 'nan'"),
        ({"rho": "none"}, r"elo-mmr\.rho must have a value"),
        ({"split_ties": "perhaps"}, r"split_ties must be true or false; got 'perhaps'"),
        ({"remembered": "2.5"}, r"remembered must be a whole number; got '2.5'"),
        ({"remembered": "inf"}, r"remembered must be a whole number; got 'inf'"),
        ({"remembered": 10**400}, r"remembered must be a whole number; got 10{400}$"),
        ({"remembered": "0"}, r"remembered must be at least 1; got 0"),
        ({"weight_limit": 0.2, "beta": 100}, "not a mixture"),
        ({"beta": 100}, "given together"),
        ({"sigma_limit": -3}, "sigma_limit must be positive; got -3"),
    ],
)
def test_wrong_settings_are_refused_with_the_rule(
    settings: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        make_system("elo-mmr", settings)


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
