"""Teams by their chances to win: against brute force, with the predictions of the systems."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import equipoise as eq
from equipoise.data.lobby import Lobby
from equipoise.data.lobby import Teams as LobbyTeams
from equipoise.data.outlook import Outlook, TeamModel
from equipoise.rating.calibration_curve import (
    CALIBRATION,
    corrected_sums,
    experience_of,
    start_calibrating,
)
from equipoise.rating.pool_state import PoolState
from equipoise.rating.predicting import lobby_prediction, system_model, team_model
from equipoise.rating.replay import known_pool
from equipoise.teams.lobby_task import Chances
from reference.balance import (
    Player,
    Teams,
    all_splits,
    is_kept,
    top_in_smaller,
    top_two_apart,
)
from teams.lobbies import lobby_of

SYSTEMS = {
    "trueskill": eq.TrueSkill(),
    "trueskill, draws by rating": eq.TrueSkill(
        draw_probability=0.3, draw_rule="rating", draw_slope=0.5
    ),
    "thurstone-mosteller": eq.ThurstoneMosteller(),
    "plackett-luce": eq.PlackettLuce(),
    "elo": eq.Elo(),
    "team-glicko2": eq.TeamGlicko2(),
}
#: Of a curve, scale and tilt: newcomers are better than rated, and their chances too careful.
CURVE = np.array([0.3, -0.8, 0.5, 0.2, 0.0, 0.6, -0.4, 0.3])


def pool(system: eq.RatingSystem) -> PoolState:
    """Return a pool before its first match, so that no kernel is compiled."""
    known = eq.InitialRatings(
        player_ids=np.array(["x", "y"], dtype=object),
        rating=np.array([1550.0, 1450.0]),
        deviation=np.array([90.0, 60.0]),
    )
    return known_pool(system, known)


def calibrated(system: eq.RatingSystem, count: int) -> PoolState:
    """Return a pool with a curve that knows players 0, 1, ..., of whom every third is new."""
    known = eq.InitialRatings(
        player_ids=np.arange(count), rating=np.zeros(count), deviation=np.ones(count)
    )
    state = known_pool(system, known)
    state.state.column("matches")[:] = np.where(np.arange(count) % 3, np.arange(count) ** 2, 0)
    start_calibrating(state.state)
    state.state.shared[CALIBRATION][: len(CURVE)] = CURVE
    return state


def drawn(count: int, seed: int, *, bound: bool = False) -> list[Player]:
    """Return players without ties; if `bound`, with a party and an avoid pair."""
    rng = np.random.default_rng(seed)
    rating, deviation = rng.normal(1500, 250, count), rng.uniform(20, 300, count)
    party = ["p" if bound and at in (1, 2) else None for at in range(count)]
    avoid = [(3,) if bound and at == 0 else () for at in range(count)]
    return [
        Player(at, rating[at], deviation[at], rating[at], party[at], None, avoid[at])
        for at in range(count)
    ]


def lobby_with(state: PoolState, players: list[Player]) -> Lobby:
    lobby = lobby_of(players)
    return Lobby(
        player_ids=lobby.player_ids,
        rating=lobby.rating,
        deviation=lobby.deviation,
        party=lobby.party,
        avoid=lobby.avoid,
        model=team_model(state),
    )


def difference(state: PoolState, lobby: Lobby, teams: Teams | LobbyTeams) -> float:
    """Return the highest minus the lowest chance, as the system predicts the match."""
    rows = [[one.id if isinstance(one, Player) else int(one) for one in team] for team in teams]
    expected = lobby_prediction(state, lobby, rows).expected
    return max(expected) - min(expected)


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize(("count", "teams"), [(5, 2), (8, 2), (7, 3), (7, 4)])
@pytest.mark.parametrize("calibrates", [False, True])
def test_no_split_has_closer_chances(name: str, count: int, teams: int, calibrates: bool) -> None:
    """Brute force over all splits, with the predictions of the system, with and without rules."""
    state = calibrated(SYSTEMS[name], count) if calibrates else pool(SYSTEMS[name])
    if not team_model(state).fits([count // teams] * teams):
        return
    for bound in (False, True):
        players = drawn(count, 10 * count + teams, bound=bound)
        lobby = lobby_with(state, players)
        splits = [split for split in all_splits(players, teams) if is_kept(split)]
        for rules in (False, True):
            if rules:
                ruled = [one for one in splits if top_two_apart(one)]
                splits = [one for one in ruled if top_in_smaller(one)] if count % teams else ruled
            if not splits:
                continue
            result = eq.balance(
                lobby, teams, top_two=rules, uneven=rules, alternatives=2, costs=False
            )
            values = sorted(difference(state, lobby, split) for split in splits)
            found = [result.objective, *(one.objective for one in result.alternatives)]
            assert result.objective_kind == "chance"
            assert found == pytest.approx(values[:3], abs=1e-9)
            assert result.objective == pytest.approx(
                difference(state, lobby, result.teams), abs=1e-12
            )
            assert result.gap == 0


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize(("count", "teams"), [(30, 2), (9, 3), (40, 2), (24, 6)])
def test_chances_are_no_further_apart_than_by_mean_ratings(
    name: str, count: int, teams: int
) -> None:
    state = pool(SYSTEMS[name])
    lobby = lobby_with(state, drawn(count, count))
    if lobby.model is None or not lobby.model.fits([count // teams] * teams):
        return
    by_mean = eq.balance(lobby, teams, objective="mean", steps=200, costs=False)
    result = eq.balance(lobby, teams, steps=200, costs=False)
    assert result.objective <= difference(state, lobby, by_mean.teams) + 1e-9
    assert 0 <= result.gap <= result.objective


@pytest.mark.parametrize(("count", "teams"), [(24, 2), (8, 2)])
def test_a_curve_changes_the_fairest_division(count: int, teams: int) -> None:
    """The best division without the curve is less fair by its chances, even of equal sizes."""
    state = calibrated(eq.PlackettLuce(), count)
    lobby = lobby_with(state, drawn(count, count))
    result = eq.balance(lobby, teams, costs=False)
    plain = eq.balance(replace(lobby, model=system_model(state.system)), teams, costs=False)
    assert result.gap == 0
    assert result.compared is not None
    assert result.objective < difference(state, lobby, plain.teams) - 1e-3


@pytest.mark.parametrize("kind", ["sum", "mean"])
@pytest.mark.parametrize(("count", "teams"), [(7, 2), (7, 3), (8, 3), (9, 4)])
@pytest.mark.parametrize("calibrates", [False, True])
def test_no_split_is_below_the_bounds_of_chances(
    kind: str, count: int, teams: int, calibrates: bool
) -> None:
    """The bound from the centres of two teams, and those of splits with one or two teams."""
    rng = np.random.default_rng(count)
    outlook = Outlook(
        centre=np.sort(rng.normal(1500, 300, count))[::-1],
        scale=rng.uniform(150, 500, count),
        curve="logistic",
        team="sum" if kind == "sum" else "mean",
        shared=100.0,
    )
    curve = partial(corrected_sums, CURVE) if calibrates else None
    experience = experience_of(rng.poisson(1.0, count)) if calibrates else None
    chances = Chances(outlook, teams, 0.0, experience, curve)
    columns = chances.columns
    players = [Player(at, outlook.centre[at], 0.0, outlook.centre[at]) for at in range(count)]
    forced = chances.bound_of(chances.uneven_span()) if kind == "sum" and count % teams else 0.0
    for split in all_splits(players, teams):
        rows = [[one.id for one in team] for team in split]
        sums = np.stack([columns[:, team].sum(axis=1) for team in rows], axis=1)
        value = chances.of_split(rows)
        assert float(chances.spread(sums)) == pytest.approx(value, abs=1e-12)
        centre = chances.centre(sums)
        assert value >= chances.bound_of(float(centre.max() - centre.min())) - 1e-12
        assert value >= forced - 1e-12
        if teams == 2:
            far = abs(float(centre[0] - centre[1]))
            assert far <= chances.reach(value, len(rows[0]))
        for formed in range(1, teams):
            rest = sums[:, formed:].sum(axis=1)
            least = chances.at_least(sums[:, :formed, None], rest[:, None])
            assert value >= float(least[0]) - 1e-12


def test_a_lobby_of_a_state_is_balanced_by_chances_and_says_so() -> None:
    state = pool(eq.TrueSkill())
    lobby = eq.lobby_of(state, ["x", "y", "z"])
    result = eq.balance(lobby)
    assert result.objective_kind == "chance"
    assert "win probabilities differ by" in repr(result)
    assert not result.constraints
    by_mean = eq.balance(lobby, objective="mean")
    assert [one.kind for one in by_mean.constraints] == ["top-two", "uneven"]
    assert "comparison of mean ratings ignores this" in by_mean.notes[-1]
    single = eq.lobby_of(pool(eq.Glicko2()), ["x", "y", "z"])
    with pytest.raises(eq.InvalidParameterError, match="glicko2 cannot predict such teams"):
        eq.balance(single, objective="chance")


def test_a_model_with_draws_at_the_mean_is_split_exactly() -> None:
    """A plugin may have draws and teams at their mean: then no range of differences is left out."""
    rng = np.random.default_rng(4)

    def outlook(rating: np.ndarray, deviation: np.ndarray) -> Outlook:
        return Outlook(centre=rating, scale=deviation, curve="logistic")

    model = TeamModel(by="x", fits=lambda _: True, outlook=outlook, margin=lambda _: 120.0)
    rating, deviation = rng.normal(1500, 200, 7), rng.uniform(1, 300, 7)
    lobby = Lobby(player_ids=np.arange(7), rating=rating, deviation=deviation, model=model)
    players = [Player(at, rating[at], deviation[at], rating[at]) for at in range(7)]
    chances = Chances(outlook(rating, deviation), 2, 120.0)
    values = [chances.of_split([[p.id for p in t] for t in s]) for s in all_splits(players, 2)]
    assert eq.balance(lobby).objective == pytest.approx(min(values), abs=1e-12)
