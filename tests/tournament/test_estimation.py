"""Advantage of colour, draws, priors and held players: totals, likelihoods, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise.data.games import Games
from equipoise.errors import (
    InvalidDataError,
    InvalidParameterError,
    NoEquilibriumError,
    NotFoundError,
)
from equipoise.tournament.curves import DavidsonCurve, EloCurve
from equipoise.tournament.equilibrium import performance_equilibrium
from tournament.tournaments import random_games


def differences(games: Games, found) -> np.ndarray:
    """Return white's lead of every game, the advantage included."""
    return found.rating[games.white] - found.rating[games.black] + found.colour_advantage


@pytest.mark.parametrize("curve", ["elo", "normal"])
def test_white_scores_what_white_was_expected_to(curve):
    """The estimated advantage makes the total come out; every player's score does too."""
    games = random_games(20, 200, 3)
    found = performance_equilibrium(games, colour_advantage="estimate", curve=curve)
    expected = np.sum(found.curve.expected(differences(games, found)))
    assert expected == pytest.approx(games.points.sum(), abs=1e-6)
    assert np.allclose(found.expected, games.scored(), rtol=0, atol=1e-8)


def test_an_advantage_is_found_again():
    """Scores made up from known ratings and 40 points for white."""
    rating = np.linspace(-200, 200, 8)
    white, black = np.nonzero(~np.eye(8, dtype=bool))
    points = EloCurve().expected(rating[white] - rating[black] + 40.0)
    games = Games(player_ids=np.arange(8), white=white, black=black, points=points, coloured=True)
    found = performance_equilibrium(games, colour_advantage="estimate", select="mean")
    assert found.colour_advantage == pytest.approx(40.0, abs=1e-5)
    assert np.allclose(found.rating, rating, rtol=0, atol=1e-5)
    given = performance_equilibrium(games, colour_advantage=40.0, select="mean")
    assert np.allclose(given.rating, rating, rtol=0, atol=1e-6)


def test_colours_that_go_with_the_players_tell_nothing():
    """One team always white: an advantage is the same as a better team."""
    games = Games(
        player_ids=np.arange(4),
        white=[0, 0, 1, 1],
        black=[2, 3, 2, 3],
        points=[0.5, 1, 0.5, 0.5],
        coloured=True,
    )
    with pytest.raises(InvalidDataError, match="effect of colours can be separated"):
        performance_equilibrium(games, colour_advantage="estimate")


def test_white_who_won_everything_has_no_finite_advantage():
    """Everyone won with white and lost with black: no number of points is enough."""
    white, black = np.nonzero(~np.eye(3, dtype=bool))
    games = Games(
        player_ids=np.arange(3), white=white, black=black, points=np.ones(6), coloured=True
    )
    with pytest.raises(InvalidDataError, match="colours"):
        performance_equilibrium(games, colour_advantage="estimate")


def log_likelihood(games: Games, rating, advantage: float, nu: float) -> float:
    """Return Davidson's log likelihood of games with points 1, 1/2 or 0."""
    t = rating[games.white] - rating[games.black] + advantage
    win, draw, loss = DavidsonCurve(nu).probabilities(t)
    chance = np.where(games.points == 1, win, np.where(games.points == 0, loss, draw))
    return float(np.sum(np.log(chance)))


def test_draws_and_colours_together_are_the_most_likely():
    """[Davidson]_: the totals come out, and no small change of anything is more likely."""
    games = random_games(12, 150, 7)
    found = performance_equilibrium(games, draws="davidson", colour_advantage="estimate")
    nu, advantage = found.draw_parameter, found.colour_advantage
    draws = DavidsonCurve(nu).probabilities(differences(games, found))[1]
    assert np.sum(draws) == pytest.approx(np.sum(games.points == 0.5), abs=1e-6)
    best = log_likelihood(games, found.rating, advantage, nu)
    rng = np.random.default_rng(0)
    for _ in range(30):
        moved = found.rating + rng.normal(0, 3, 12)
        other = log_likelihood(
            games, moved, advantage + rng.normal(0, 3), nu * math.exp(rng.normal(0, 0.03))
        )
        assert other < best


def test_draws_may_be_given_with_the_totals_of_pairs():
    """The same games, gathered: 1 row a pairing with its draws."""
    games = random_games(6, 60, 2)
    single = performance_equilibrium(games, draws="davidson")
    low, high = np.minimum(games.white, games.black), np.maximum(games.white, games.black)
    pairings = sorted(set(zip(low.tolist(), high.tolist(), strict=True)))
    of_low = np.where(games.white == low, games.points, 1 - games.points)
    masks = [(low == one) & (high == other) for one, other in pairings]
    gathered = Games(
        player_ids=np.arange(6),
        white=[one for one, _ in pairings],
        black=[other for _, other in pairings],
        points=[of_low[mask].sum() for mask in masks],
        weight=[mask.sum() for mask in masks],
        draws=[np.sum(of_low[mask] == 0.5) for mask in masks],
    )
    found = performance_equilibrium(gathered, draws="davidson")
    assert found.draw_parameter == pytest.approx(single.draw_parameter, rel=1e-8)
    assert np.allclose(found.rating, single.rating, rtol=0, atol=1e-5)


def pairing(points: float, draws: float | None, weight: float = 4.0) -> Games:
    """Return games of two players."""
    return Games(
        player_ids=np.arange(2),
        white=[0],
        black=[1],
        points=[points],
        weight=[weight],
        draws=None if draws is None else [draws],
    )


@pytest.mark.parametrize(
    ("games", "rule"),
    [
        (pairing(2.0, None), "must be known for every game"),
        (pairing(2.0, 4.0), "must include a game that is not drawn"),
        (pairing(3.0, 2.0), "must leave draws a finite weight"),  # wins and draws, never a loss
    ],
)
def test_draws_that_cannot_be_modelled_are_refused(games, rule):
    with pytest.raises(InvalidDataError, match=rule):
        performance_equilibrium(games, draws="davidson")


def test_two_players_with_draws_by_hand():
    """Two wins, one draw, one loss: p/q = 2, nu = 1/sqrt(2): the table itself."""
    found = performance_equilibrium(pairing(2.5, 1.0), draws="davidson")
    assert found.rating[0] - found.rating[1] == pytest.approx(400 * math.log10(2), abs=1e-4)
    assert found.draw_parameter == pytest.approx(1 / math.sqrt(2), rel=1e-6)


def test_a_prior_makes_any_tournament_have_ratings():
    """Everyone also drew n games with an average player: by hand for a single game."""
    games = Games(
        player_ids=np.arange(2), white=[0], black=[1], points=[1], rating=[2000.0, 2200.0]
    )
    with pytest.raises(NoEquilibriumError, match="0 took every point of 1"):
        performance_equilibrium(games)
    found = performance_equilibrium(games, prior=2.0)
    x = found.rating - 2100.0
    assert x[0] == pytest.approx(-x[1])
    # 1 + 1 points of player 0, from the game and from two drawn with the average.
    expected = EloCurve().expected(np.array([2 * x[0], x[0]]))
    assert expected @ [1, 2] == pytest.approx(2.0, abs=1e-9)
    assert len(found.errors()) == 2
    assert performance_equilibrium(games, prior=1e6).rating == pytest.approx([2100, 2100], abs=0.1)
    weak = performance_equilibrium(random_games(8, 60), prior=1e-9)
    none = performance_equilibrium(random_games(8, 60), select="mean")
    assert np.allclose(weak.rating - weak.rating[0], none.rating - none.rating[0], atol=1e-4)


def test_a_prior_says_nothing_of_colours_and_draws():
    """Its games count neither for white's total nor for the draws'."""
    games = random_games(10, 80, 5)
    found = performance_equilibrium(games, prior=3.0, colour_advantage="estimate", draws="davidson")
    t = differences(games, found)
    assert np.sum(found.curve.expected(t)) == pytest.approx(games.points.sum(), abs=1e-6)
    draws = DavidsonCurve(found.draw_parameter).probabilities(t)[1]
    assert np.sum(draws) == pytest.approx(np.sum(games.points == 0.5), abs=1e-6)


def test_held_players_may_have_swept_each_other():
    """Two held players and one who lost to one and beat the other."""
    games = Games.from_arrays(["a", "a", "c"], ["b", "c", "b"], [1, 1, 1])
    with pytest.raises(NoEquilibriumError):
        performance_equilibrium(games)
    found = performance_equilibrium(games, anchors={"a": 2000, "b": 1800})
    by_name = dict(zip(found.player_ids, found.rating, strict=True))
    assert by_name["a"] == 2000
    assert by_name["b"] == 1800
    assert by_name["c"] == pytest.approx(1900, abs=1e-6)  # by symmetry


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"scale": 400}, "scale must be from"),
        ({"select": "median"}, "select must be one of equal, mean, initial"),
        ({"prior": -1}, "prior must be"),
        ({"anchor": math.inf}, "anchor must be"),
        ({"anchors": {1: math.nan}}, "anchors must be"),
        ({"colour_advantage": "guess"}, "colour_advantage must be"),
        ({"colour_advantage": math.inf}, "colour_advantage must be"),
        ({"draws": "glenn"}, "draws must be"),
        ({"draws": "davidson", "curve": "normal"}, "curve must be elo with draws=davidson"),
    ],
)
def test_parameters_outside_their_range_are_refused(options, rule):
    with pytest.raises(InvalidParameterError, match=rule):
        performance_equilibrium(random_games(4, 12), **options)


def test_colours_must_be_known_and_held_players_be_there():
    games = Games.from_arrays([1, 2], [2, 1], [1, 1])
    with pytest.raises(InvalidParameterError, match="0 if colours are not known"):
        performance_equilibrium(games, colour_advantage=30.0)
    with pytest.raises(NotFoundError, match="player 7"):
        performance_equilibrium(games, anchors={7: 1500.0})


@pytest.mark.parametrize("players", [0, 3])
@pytest.mark.parametrize("options", [{}, {"prior": 1.0}, {"draws": "davidson"}])
def test_without_games_there_are_no_ratings(players, options):
    """Nobody fails, nobody is rated."""
    games = Games(
        player_ids=np.arange(players),
        white=[],
        black=[],
        points=[],
        rating=np.full(players, 1500.0),
    )
    found = performance_equilibrium(games, **options)
    assert np.all(np.isnan(found.rating))
    assert np.all(np.isnan(found.errors()))
    assert found.played.tolist() == [0.0] * players
