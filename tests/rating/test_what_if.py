"""What each place would do: as if the match had been played so, and replayed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from equipoise.errors import InvalidParameterError, NotFoundError
from equipoise.rating import one_match
from equipoise.rating.elo_mmr.elo_mmr import EloMMR
from equipoise.rating.one_match import OneMatch
from equipoise.rating.pool_state import PoolState
from equipoise.rating.predicting import lineup
from equipoise.rating.replay import replay
from equipoise.rating.system import RatingSystem
from equipoise.rating.systems.elo import Elo
from equipoise.rating.systems.glicko2 import Glicko2
from equipoise.rating.what_if import what_if
from rating.histories import Contest, history_of

DAY = 86_400_000_000

SEASON = [
    Contest((0, 1, 2, 3, 4), (0, 1, 2, 3, 4), 100.0),
    Contest((0, 2, 4, 5), (1, 0, 1, 2), 101.0),
    Contest((1, 3, 5), (0, 2, 1), 108.0),
]
DUELS = [
    Contest((0, 1), (0, 1), 100.0),
    Contest((1, 2), (0, 0), 103.0),
    Contest((2, 0), (0, 1), 110.0),
]


def pool_after(system: RatingSystem, played: Sequence[Contest]) -> PoolState:
    return replay(system, history_of(played)).state


def played_on(
    pool: PoolState, teams: Sequence[Sequence[int]], ranks: Sequence[int], day: float, home: int
) -> PoolState:
    """Return the pool after one more match: the slow way to the same answer."""
    sizes = [len(team) for team in teams]
    at_home = [number == home for number, size in enumerate(sizes) for _ in range(size)]
    match = OneMatch(sizes, ranks, time=round(day * DAY), at_home=at_home)
    ids = [int(pool.player_ids[player]) for team in teams for player in team]
    more = one_match.history_of([match], [ids], [999])
    return replay(pool.system, more, state=pool).state


def change_of(before: PoolState, after: PoolState, player: int, at: float | None) -> float:
    rows = np.array([player])
    old = before.system.at(before.state, rows, at)["rating"][0]
    return float(after.system.at(after.state, rows, at)["rating"][0] - old)


@pytest.mark.parametrize(
    "system", [EloMMR(), EloMMR(rho=0.04, drift_per_day=3.0), Elo(k=20)], ids=["", "drift", "elo"]
)
@pytest.mark.parametrize("at", [None, 120.5])
def test_a_place_does_what_a_match_that_ends_so_does(
    system: RatingSystem, at: float | None
) -> None:
    """The others finish in the order of their ratings."""
    pool = pool_after(system, SEASON)
    teams = [[3], [0], [5], [1]]
    strength = {row: system.at(pool.state, np.array([row]), None)["rating"][0] for row in range(6)}
    others = sorted([0, 5, 1], key=lambda row: -strength[row])
    tried = what_if(system, pool, teams, at=at)
    assert tried.place.tolist() == [1, 2, 3, 4]
    for place, change in zip(tried.place.tolist(), tried.change.tolist(), strict=True):
        finish = [*others[: place - 1], 3, *others[place - 1 :]]
        ranks = [finish.index(team[0]) for team in teams]
        after = played_on(pool, teams, ranks, 108.0 if at is None else at, home=-1)
        assert change == change_of(pool, after, 3, at)


@pytest.mark.parametrize("system", [Elo(), Glicko2(), Glicko2(period_days=5.0), EloMMR()])
def test_a_duel_has_a_draw_too(system: RatingSystem) -> None:
    """Win, draw, loss; also inside and outside of a rating period."""
    pool = pool_after(system, DUELS)
    for at in (None, 112.0, 131.0):
        tried = what_if(system, pool, [[1], [2]], 2, at=at)
        assert list(zip(tried.place, tried.tied, strict=True)) == [(1, 0), (1, 1), (2, 0)]
        for change, ranks in zip(tried.change.tolist(), ([1, 0], [0, 0], [0, 1]), strict=True):
            after = played_on(pool, [[1], [2]], ranks, 110.0 if at is None else at, home=-1)
            assert change == change_of(pool, after, 2, at)


def test_a_team_has_the_place_and_its_players_the_change() -> None:
    """Elo rates teams by their mean, with a head start at home."""
    system = Elo(home_advantage=60.0)
    pool = PoolState.new(system)
    pool.player_ids, pool.state = np.arange(6), system.initial(6)
    pool.state.column("rating")[:] = [1500, 1600, 1400, 1450, 1700, 1300]
    teams = [[0, 1], [2, 3], [4, 5]]
    for home in (None, 0, 1):
        tried = what_if(system, pool, teams, player=3, home=home)
        assert tried.team == 1
        for change, ranks in zip(
            tried.change.tolist(), ([1, 0, 2], [0, 1, 2], [0, 2, 1]), strict=True
        ):
            after = played_on(pool, teams, ranks, 1.0, home=-1 if home is None else home)
            assert change == change_of(pool, after, 3, None)


def test_asking_changes_nothing() -> None:
    pool = pool_after(EloMMR(rho=0.04), SEASON)
    before = pool.state.copy()
    first = what_if(pool.system, pool, [[0], [1], [2]])
    again = what_if(pool.system, pool, [[0], [1], [2]])
    np.testing.assert_array_equal(pool.state.table, before.table)
    np.testing.assert_array_equal(first.rating, again.rating)


def test_some_places_are_the_same_as_all() -> None:
    pool = pool_after(EloMMR(), SEASON)
    every = what_if(pool.system, pool, [[0], [1], [2], [4]])
    seen: list[tuple[int, int]] = []
    some = what_if(
        pool.system,
        pool,
        [[0], [1], [2], [4]],
        places=[4, 2],
        progress=lambda done, total: seen.append((done, total)),
    )
    assert some.rating.tolist() == every.rating[[3, 1]].tolist()
    assert seen == [(1, 2), (2, 2)]


def test_what_makes_no_sense_is_refused() -> None:
    pool = pool_after(EloMMR(), SEASON)
    system, field = pool.system, [[0], [1], [2]]
    with pytest.raises(NotFoundError, match="5 is not among the 3 players named"):
        what_if(system, pool, field, 5)
    with pytest.raises(InvalidParameterError, match="places must be from 1 to 3; got 4"):
        what_if(system, pool, field, places=[4])
    with pytest.raises(InvalidParameterError, match="before the last match of"):
        what_if(system, pool, field, at=107.0)
    with pytest.raises(InvalidParameterError, match="only once in a match; 1 is named twice"):
        what_if(system, pool, [[0], [1], [1]])
    with pytest.raises(
        InvalidParameterError, match="elo-mmr has no home advantage: leave out home"
    ):
        what_if(system, pool, field, home=0)
    with pytest.raises(
        InvalidParameterError, match="home must be the number of a team, from 0 to 2; got 3"
    ):
        what_if(system, pool, field, home=3)
    with pytest.raises(InvalidParameterError, match="teams must be at least two; got 1"):
        what_if(system, pool, [[0]])
    with pytest.raises(InvalidParameterError, match="of at least one player each"):
        what_if(system, pool, [[0], []])
    with pytest.raises(InvalidParameterError, match="of at most 1 player for elo-mmr; got 2"):
        what_if(system, pool, [[0, 1], [2]])
    with pytest.raises(InvalidParameterError, match="at most 2 for glicko2; got 3"):
        lineup(Glicko2(), pool, field)
