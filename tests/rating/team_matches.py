"""Matches of two teams for tests of team Glicko-2: made by hand, and drawn by hypothesis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
from hypothesis import strategies as st

from equipoise.data.history import History
from equipoise.rating.systems.team_glicko2 import TeamGlicko2
from reference.team_glicko2 import MICROSECONDS_PER_DAY, Entry, Match, Options

PLAYERS = 9

#: From one match to the next, microseconds: none at all, and both sides of a week (the period) and
#: of four (the activity window).
PAUSES = (
    0,
    MICROSECONDS_PER_DAY // 4,
    3 * MICROSECONDS_PER_DAY,
    7 * MICROSECONDS_PER_DAY - 1,
    7 * MICROSECONDS_PER_DAY,
    28 * MICROSECONDS_PER_DAY,
    28 * MICROSECONDS_PER_DAY + 1,
    400 * MICROSECONDS_PER_DAY,
)


def match_of(
    first: Sequence[float | None],
    second: Sequence[float | None],
    score: float = 1.0,
    *,
    time: int | None = None,
    players: Sequence[int] | None = None,
) -> Match:
    """Return a match of teams with these performances; players are 0, 1, ... where none are named.

    score : of the first team
    """
    numbers = range(len(first) + len(second)) if players is None else players
    teams = [0] * len(first) + [1] * len(second)
    entries = [
        Entry(player, team, performance)
        for player, team, performance in zip(numbers, teams, [*first, *second], strict=True)
    ]
    return Match(entries, score, time)


def history_of_teams(matches: Sequence[Match], players: int = PLAYERS) -> History:
    """Return a history of these matches; players and matches are named by their numbers."""
    entries = [entry for match in matches for entry in match.entries]
    sizes = [len(match.entries) for match in matches]
    times = [match.time for match in matches if match.time is not None]
    known = [math.nan if one.performance is None else one.performance for one in entries]
    return History(
        match_ids=np.arange(len(matches)),
        player_ids=np.arange(players),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        player=np.array([entry.player for entry in entries]),
        team=np.array([entry.team for entry in entries]),
        rank=np.array([_rank(match.score, one.team) for match in matches for one in match.entries]),
        time=np.array(times) if times else None,
        weight=np.array([match.weight for match in matches]),
        performance=np.array(known, dtype=np.float64),
        share=np.array([entry.share for entry in entries], dtype=np.float64),
        attributes={"role": np.array([entry.role for entry in entries], dtype=object)},
    )


def _rank(score: float, team: int) -> int:
    """Return the rank of a team of a match with this score of team 0, dense from 0."""
    if score == 0.5:
        return 0
    return team if score == 1.0 else 1 - team


def system_of(options: Options) -> TeamGlicko2:
    """Return the system with the parameters of the reference."""
    return TeamGlicko2(**asdict(options))


@st.composite
def team_matches(
    draw: st.DrawFn, *, most: int = 8, timed: bool | None = None, plain: bool = False
) -> list[Match]:
    """Draw matches in order of time, of teams of one to four, also uneven.

    timed : whether they have times, None for perhaps
    plain : no weights, shares and missing performances
    """
    if timed is None:
        timed = draw(st.booleans())
    # Whole quarters: their sums are exact, so what is equal on paper is equal.
    points = st.integers(-12, 60).map(lambda quarters: quarters / 4)
    performances = points if plain else st.one_of(points, points, points, st.none())
    shares = st.just(1.0) if plain else st.sampled_from([1.0, 1.0, 0.5, 0.0])
    weights = st.just(1.0) if plain else st.sampled_from([1.0, 1.0, 0.25, 2.0])
    now, found = 14_000 * MICROSECONDS_PER_DAY, []
    for _ in range(draw(st.integers(1, most))):
        now += draw(st.sampled_from(PAUSES))
        first, second = draw(st.integers(1, 4)), draw(st.integers(1, 4))
        numbers = draw(st.permutations(range(PLAYERS)))
        entries = [
            Entry(
                player,
                int(k >= first),
                draw(performances),
                draw(shares),
                draw(st.sampled_from(["tank", "healer", "scout"])),
            )
            for k, player in enumerate(numbers[: first + second])
        ]
        score = draw(st.sampled_from([1.0, 0.0, 0.5]))
        found.append(Match(entries, score, now if timed else None, draw(weights)))
    return found


#: Parameters that switch on, bound and bend everything there is. Volatilities stay below those at
#: which one surprise begins to multiply them, where (19) has several zeros.
every_option = st.builds(
    Options,
    initial_rating=st.sampled_from([1400.0, 0.0]),
    initial_deviation=st.sampled_from([350.0, 80.0, 400.0]),
    initial_volatility=st.sampled_from([0.06, 0.2]),
    tau=st.sampled_from([0.2, 0.5, 0.8]),
    beta=st.sampled_from([0.0, 0.2, 0.8]),
    factor_min=st.sampled_from([0.0, 0.5, 1.0]),
    factor_max=st.sampled_from([1.0, 1.5, 2.0]),
    max_change=st.sampled_from([None, 20.0, 200.0]),
    conserve=st.booleans(),
    roles=st.booleans(),
    form_window=st.sampled_from([1, 2, 10]),
    form_clip=st.sampled_from([0.5, 3.0]),
    form_points=st.sampled_from([80.0, 500.0]),
    activity_matches=st.sampled_from([1, 2, 3]),
    activity_window=st.sampled_from([0.0, 7.0, 28.0]),
    period_days=st.sampled_from([7.0, 2.5]),
)
