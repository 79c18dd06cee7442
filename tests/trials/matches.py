"""Matches to post, and what the library says of them: the truth that the service is held to."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from equipoise.client import Client
from equipoise.messages.matches import MatchLine, MatchRequest, ParticipationRequest, TeamRequest

#: 2025-01-01 00:00:00 UTC.
START = 1_735_689_600


class Standing(NamedTuple):
    """Rating and deviation as hexadecimal text: equal only where every bit is."""

    rating: str
    deviation: str


def duels(count: int, players: int, rng: random.Random, prefix: str = "m") -> list[MatchRequest]:
    """Return duels a minute apart, one in ten a draw."""
    found = []
    for number in range(count):
        first, second = rng.sample(range(players), 2)
        ranks = (0, 0) if rng.random() < 0.1 else (0, 1)
        teams = [TeamRequest([f"p{first}"], ranks[0]), TeamRequest([f"p{second}"], ranks[1])]
        found.append(MatchRequest(f"{prefix}{number}", teams, START + 60 * number))
    return found


def team_games(
    count: int, players: int, size: int, rng: random.Random, prefix: str = "m"
) -> list[MatchRequest]:
    """Return games of two teams a minute apart, every player with a score."""
    found = []
    for number in range(count):
        drawn = rng.sample(range(players), 2 * size)
        teams = [
            TeamRequest(
                [
                    ParticipationRequest(f"p{player}", performance=round(rng.uniform(0, 30), 1))
                    for player in drawn[place * size : (place + 1) * size]
                ],
                place,
            )
            for place in range(2)
        ]
        found.append(MatchRequest(f"{prefix}{number}", teams, START + 60 * number))
    return found


def logged(client: Client, pool: str) -> list[MatchLine]:
    """Return all matches of a pool in the order of its log."""
    found = list(client.each_match(pool, limit=1000))
    return sorted(found, key=lambda line: line.seq)


def stored(client: Client, pool: str) -> dict[str, Standing]:
    """Return how every player of a pool stands."""
    rows = client.each_on_leaderboard(pool, limit=1000, provisional=True, inactive=True)
    return {row.player: _standing(row.rating, row.deviation) for row in rows}


def replayed(
    matches: Sequence[MatchRequest], system: str, parameters: Mapping[str, object] | None = None
) -> dict[str, Standing]:
    """Return how every player stands when the library rates these matches in this order.

    Times are those of the matches, but none is before that of the match ahead of it.
    """
    import equipoise
    from equipoise.rating.registry import make_system

    history = _history(matches)
    table = equipoise.replay(make_system(system, parameters), history).ratings.to_polars()
    rows = table.select("player", "rating", "deviation").iter_rows()
    return {player: _standing(rating, deviation) for player, rating, deviation in rows}


def traced(
    matches: Sequence[MatchRequest], system: str, parameters: Mapping[str, object] | None = None
) -> dict[str, dict[str, tuple[str, str, str]]]:
    """Return rating before, rating and deviation of every player in every match, by the library."""
    import equipoise
    from equipoise.rating.registry import make_system

    history = _history(matches)
    replay = equipoise.replay(make_system(system, parameters), history, trace=True)
    columns = ("match", "player", "rating_before", "rating", "deviation")
    found: dict[str, dict[str, tuple[str, str, str]]] = {}
    for match, player, before, after, deviation in (
        replay.trace.to_polars().select(columns).iter_rows()  # type: ignore[union-attr]  # asked
    ):
        found.setdefault(match, {})[player] = (before.hex(), after.hex(), deviation.hex())
    return found


def differences(
    found: Mapping[str, Standing], expected: Mapping[str, Standing]
) -> list[tuple[str, Standing | None, Standing | None]]:
    """Return the players who stand otherwise than expected."""
    names = sorted({*found, *expected})
    pairs = [(name, found.get(name), expected.get(name)) for name in names]
    return [pair for pair in pairs if pair[1] != pair[2]]


def _history(matches: Iterable[MatchRequest]):  # type: ignore[no-untyped-def]  # loaded late
    """Return matches as a history; a time that is posted as an integer is seconds since 1970."""
    import equipoise

    frame = _frame(matches)
    return equipoise.read_history(frame, time_format="s" if "time" in frame.columns else None)


def _frame(matches: Iterable[MatchRequest]):  # type: ignore[no-untyped-def]  # Polars is heavy
    import polars

    rows = list(_rows(matches))
    schema = {
        "match": polars.String,
        "time": polars.Int64,
        "player": polars.String,
        "team": polars.Int64,
        "rank": polars.Int64,
        "performance": polars.Float64,
    }
    frame = polars.DataFrame(rows, schema=schema, orient="row")
    # A column without a value would be one that the history has.
    empty = [name for name in ("time", "performance") if frame[name].null_count() == frame.height]
    return frame.drop(empty)


def _rows(matches: Iterable[MatchRequest]) -> Iterator[tuple[object, ...]]:
    last = None
    for match in matches:
        if match.time is not None:
            last = int(match.time) if last is None else max(last, int(match.time))
        for number, team in enumerate(match.teams):
            for one in team.players:
                player = one.player if isinstance(one, ParticipationRequest) else one
                performance = one.performance if isinstance(one, ParticipationRequest) else None
                yield str(match.match), last, str(player), number, team.rank, performance


def _standing(rating: float, deviation: float | None) -> Standing:
    return Standing(rating.hex(), "" if deviation is None else deviation.hex())
