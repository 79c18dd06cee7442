"""Pools of federations: what is known of players is posted as attributes of the match."""

from __future__ import annotations

import equipoise as eq
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
