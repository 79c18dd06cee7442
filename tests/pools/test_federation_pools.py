"""Pools of federations: what is known of players is posted as attributes of the match."""

from __future__ import annotations

import pytest

import equipoise as eq
from equipoise.errors import InvalidDataError
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.store.connection import Store
from pools.pool_trials import Trial

DAY = 86_400


def game(match: str, day: int, first: str, second: str, **facts: str | float) -> MatchRequest:
    """Return a win of the first player."""
    players = [ParticipationRequest(name, attributes=dict(facts)) for name in (first, second)]
    teams = [TeamRequest([one], rank) for rank, one in enumerate(players)]
    return MatchRequest(match=match, teams=teams, time=(20_000 + day) * DAY)


def test_events_and_ages_are_those_of_a_file(sqlite_store: Store) -> None:
    """The same matches posted, read from a table, and posted with one that is voided later."""
    played = [("ann", "ben", "open"), ("ann", "cyd", "open"), ("ben", "cyd", "cup")]
    rows: dict[str, list[object]] = {}
    pool = Trial(sqlite_store, system="dwz")
    for number, (first, second, event) in enumerate(played):
        pool.post(game(f"m{number}", number, first, second, event=event, birth_year=2010))
        for place, name in enumerate((first, second)):
            row = {"match": f"m{number}", "time": (20_000 + number) * DAY, "player": name}
            row |= {"rank": place, "event": event, "birth_year": 2010}
            for column, value in row.items():
                rows.setdefault(column, []).append(value)
    found = eq.replay(eq.DWZ(), eq.read_history(rows)).ratings
    wanted = dict(zip(found.player_ids.tolist(), found.rating.tolist(), strict=True))
    assert pool.ratings() == wanted
    pool.post(game("extra", 3, "cyd", "ann", event="cup", birth_year=2010))
    assert pool.ratings() != wanted
    pool.void("extra")
    pool.replay()
    assert pool.ratings() == wanted
    assert pool.is_sound()


@pytest.mark.parametrize(
    ("facts", "rule"),
    [
        ({"birth_year": 94}, "birth_year: must be a year from 1800 to 2200, or empty; got 94"),
        ({"games_before": "many"}, "games_before: must be a whole number of games"),
    ],
)
def test_what_is_no_fact_is_refused(
    sqlite_store: Store, facts: dict[str, str | float], rule: str
) -> None:
    pool = Trial(sqlite_store, system="fide")
    error = pool.refused(game("m1", 0, "ann", "ben", **facts))
    assert isinstance(error, InvalidDataError)
    assert rule in str(error)
    pool.post(game("m1", 0, "ann", "ben", event="open"))
    assert pool.is_sound()


def test_no_correction_and_no_late_match_has_what_is_no_fact(sqlite_store: Store) -> None:
    """A replay would void the match otherwise, and the post would have been accepted."""
    pool = Trial(sqlite_store, system="uscf", late="replay")
    pool.post(game("m2", 2, "ann", "ben"))
    for value in (1990.5, True, "nan", 10**30, "9" * 5000, -0.5, "x" * 100_000):
        late = pool.refused(game("m1", 0, "ann", "ben", birth_year=value))
        assert isinstance(late, InvalidDataError)
        assert late.problems[0].field == "attributes.birth_year"
        assert len(late.problems[0].got) < 300
        with pytest.raises(InvalidDataError, match=r"attributes\.birth_year: must be a year"):
            pool.correct(game("m2", 2, "ann", "ben", birth_year=value))
    pool.settle()
    assert pool.is_sound()
