"""DWZ, the rating of the German Chess Federation, for duels.

Source: [DWZ]_, the rating order (Wertungsordnung) of the Deutscher Schachbund. A player of rating R
who scored W points in n games of an event, where W_e were expected, has afterwards

    R + 800 (W - W_e)/(E + n),      W_e = sum P(R - R_opponent),

where P is the normal curve of standard deviation 200 sqrt(2), to 3 decimals. The development
coefficient is

    E = ((R/1000)^4 + J) f + s,  rounded, at least 5,

with J = 5 until the year of the 20th birthday, 10 until that of the 25th and 15 after it;
f = R/2000 from 1/2 to 1 for players until 20 who scored at least what was expected, else 1; and
s = e^((1300 - R)/150) - 1 for players below 1300 who did not score more than was expected, else 0.
E is at most 150 if s > 0, else at most 30 and 5 times the number of rated events. A first rating
needs 5 games against rated players, of which not all are won and not all are lost. It is the mean
rating of these opponents and the difference at which their score is expected; a value R below 800
becomes 700 + R/8.

The printed table of P has 2 decimals. The federation's program has 3: with them the ten official
calculations in tests/rating/federations agree to the last digit.

Departures: A first rating is not iterated over the opponents. Players who are unrated in the same
event do not rate each other. Newcomers are rated from their first game on, unless
`newcomers="unrated"`. Predictions are made by P.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from equipoise._jit import inlined_kernel, inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.numeric.functions import exp, lower_normal_quantile, normal_cdf
from equipoise.rating.federation_columns import (
    KNOWN,
    NEWCOMERS,
    NEWCOMERS_NOTE,
    RATED_HERE,
    UNRATED,
)
from equipoise.rating.loop import rate_duels, read_rows
from equipoise.rating.rated_system import rating_system
from equipoise.rating.system import Span, param
from equipoise.rating.systems.rating_periods import (
    EVENTS_BEFORE,
    LOG_ODDS,
    OWN,
    RATED,
    RATING,
    Federation,
    age_of,
    begin_event,
    read_closed,
)
from equipoise.rating.systems.rating_periods import explain as explain

#: Standard deviation of the difference of two performances.
CURVE_DEVIATION = 200.0 * math.sqrt(2.0)

#: Columns of the state after those of all federations: points, expected points and games of the
#: event; rated events in this pool; and the games of a player without a rating.
POINTS, EXPECTED, GAMES, EVENTS, FIRST_SUM, FIRST_POINTS, FIRST_GAMES = range(OWN, OWN + 7)

#: Rated events of a player with a known rating, if it is not said: those of whom E is not bounded.
_KNOWN_EVENTS = 6.0

#: Games that a first rating needs.
_FIRST_GAMES = 5.0


@inner_kernel
def expected_score(difference: float, settings: Any) -> float:
    """Return P(D), the expected score of a player who is rated D points higher."""
    # The smaller one is rounded, so that the two of a game add up to 1.
    smaller = normal_cdf(-abs(difference) / CURVE_DEVIATION)
    if settings.rounded:
        smaller = math.floor(1000.0 * smaller + 0.5) / 1000.0
    return 1.0 - smaller if difference > 0.0 else smaller


@inner_kernel
def development(rating: float, age: float, index: float, points: float, expected: float) -> float:
    """Return E, the development coefficient of a player before an event.

    age : at the end of the year, NaN if unknown, which counts as above 25
    index : number of rated events, at least 1
    """
    years = 15.0
    if age <= 25.0:
        years = 5.0 if age <= 20.0 else 10.0
    fourth = rating / 1000.0
    fourth *= fourth
    value = fourth * fourth + years
    if age <= 20.0 and points >= expected:
        value *= min(max(rating / 2000.0, 0.5), 1.0)
    brake = 0.0
    if rating < 1300.0 and points <= expected:
        # A rating far below 0 would overflow; E is at most 150 either way.
        brake = exp(min((1300.0 - rating) / 150.0, 700.0)) - 1.0
    value = max(math.floor(min(value + brake, 1e15) + 0.5), 5.0)
    if brake > 0.0:
        return min(value, 150.0)
    return min(value, 30.0, 5.0 * index)


@inner_kernel
def _round(value: float, settings: Any) -> float:
    return math.floor(value + 0.5) if settings.rounded else value


@inner_kernel
def _index(player: Floats) -> float:
    """Return the number of events in which a player was rated."""
    before = player[EVENTS_BEFORE]
    if math.isnan(before):
        before = _KNOWN_EVENTS if player[RATED] == KNOWN else 0.0
    return float(before + player[EVENTS])


@inner_kernel
def _worth(player: Floats) -> float:
    """Return 800/(E + n), what a point above the expected score is worth in the event so far."""
    index = max(_index(player), 1.0)
    e = development(player[RATING], age_of(player), index, player[POINTS], player[EXPECTED])
    return float(800.0 / (e + player[GAMES]))


@inner_kernel
def _close(player: Floats, settings: Any) -> None:
    """Publish a rating at the end of an event."""
    if player[RATED] != UNRATED:
        games = player[GAMES]
        if games > 0.0:
            change = _worth(player) * (player[POINTS] - player[EXPECTED])
            player[RATING] = _round(player[RATING] + change, settings)
            player[EVENTS] += 1.0
    else:
        games, points = player[FIRST_GAMES], player[FIRST_POINTS]
        if games >= _FIRST_GAMES and 0.0 < points < games:
            share = points / games
            gap = CURVE_DEVIATION * lower_normal_quantile(min(share, 1.0 - share))
            first = player[FIRST_SUM] / games + (gap if share < 0.5 else -gap)
            if first < 800.0:
                first = 700.0 + first / 8.0
            player[RATING] = _round(first, settings)
            player[RATED] = RATED_HERE
            player[EVENTS] += 1.0
            player[FIRST_SUM] = player[FIRST_POINTS] = player[FIRST_GAMES] = 0.0
    player[POINTS] = player[EXPECTED] = player[GAMES] = 0.0


@inlined_kernel
def begin(job: Any, m: int, i: int) -> float:
    """Close the event before that of a match; return that nothing failed."""
    return begin_event(job, m, i, _close)


@inner_kernel
def read(player: Floats, day: float, settings: Any) -> tuple[float, float]:
    """Return (rating, 0) with the event in progress closed."""
    return read_closed(player, settings, _close)


@inner_kernel
def _add_to(player: Floats, other: Floats, score: float, settings: Any) -> float:
    """Add a game to the sums of one player; return the expected score."""
    expected = expected_score(player[RATING] - other[RATING], settings)
    if other[RATED] != UNRATED:
        if player[RATED] != UNRATED:
            player[POINTS] += score
            player[EXPECTED] += expected
            player[GAMES] += 1.0
        else:
            player[FIRST_SUM] += other[RATING]
            player[FIRST_POINTS] += score
            player[FIRST_GAMES] += 1.0
    return expected


@inlined_kernel
def rate_duel(
    job: Any, m: int, one: Floats, other: Floats, lead: float, score: float
) -> tuple[float, float, float, float]:
    """Add a game to the events of both players; return the expected scores, z and a residual."""
    z = LOG_ODDS * (one[RATING] - other[RATING])
    expected = _add_to(one, other, score, job.settings)
    expected_other = _add_to(other, one, 1.0 - score, job.settings)
    return expected, expected_other, z, -1.0


@kernel
def rate(job: Any, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last."""
    return rate_duels(job, first, last, rate_duel, begin, read, None, None)


@kernel
def read_players(table: Floats, rows: Ints, day: float, settings: Any) -> Floats:
    """Return what tables show of players, shape (2, rows)."""
    return read_rows(table, rows, day, settings, read)


@rating_system
class DWZ(Federation):
    """DWZ [DWZ]_, the rating of the German Chess Federation, for matches of two players.

    All games of an event are compared with the ratings before it. The column `event` names it;
    without the column all games of a calendar month are an event, and without times each game is.
    `birth_year` makes ratings of players until 25 more mobile; without it all are older.
    `events_before` is the number of events rated before the first match: if it is not known, 6
    for players with a known rating, for whom that sets no bound any more, and 0 for others.

    initial_rating : of a new player
    newcomers : "rated" begins with the initial rating, so that players of a new pool can rate each
        other; "unrated" with none, as the federation does: a first rating follows from 5 games
        against rated players
    rounded : whether ratings are rounded to whole numbers after each event, and P to 3 decimals

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> eq.replay(eq.DWZ(), league).ratings
    <Ratings: 6 players, the best ada with 1,318.0>
    """

    initial_rating: float = param(1000.0, -1e9, 1e9)
    newcomers: Literal["rated", "unrated"] = param("rated", words=NEWCOMERS, note=NEWCOMERS_NOTE)
    rounded: bool = True

    name: ClassVar[str] = "dwz"
    tried: ClassVar[Mapping[str, Any]] = {"initial_rating": Span(800, 2200, 8, 50, log=False)}
    together: ClassVar[str] = "the event"
    assumed: ClassVar[Mapping[str, str]] = {
        "event": "all matches of a month are an event, and without times each match is one",
        "birth_year": "players without it are older than 25",
        "events_before": "players without it had 6 rated events before if their rating was known, "
        "else none",
    }

    uses: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("time", "event", "birth_year", "events_before"), ""
    )
    columns: ClassVar[Mapping[str, float | str]] = {
        **Federation.columns,
        "rated": "newcomers",
        "points": 0.0,
        "expected": 0.0,
        "games": 0.0,
        "events": 0.0,
        "first_sum": 0.0,
        "first_points": 0.0,
        "first_games": 0.0,
    }
    loop = staticmethod(rate)
    read_players = staticmethod(read_players)

    def factor(self, player: Floats) -> float:
        """Return 800/(E + n)."""
        return float(_worth(player))

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return centres at the ratings, and the scale by which P is the chance of two players."""
        scale = np.full(len(rating), CURVE_DEVIATION / math.sqrt(2.0))
        return Outlook(centre=rating, scale=scale, curve="normal")
