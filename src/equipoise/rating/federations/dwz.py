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
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arguments import check_fields
from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.data.prediction import Outlook
from equipoise.errors import require
from equipoise.numeric.exponential import exp
from equipoise.numeric.normal import lower_normal_quantile, normal_cdf
from equipoise.rating.base_system import Job, Rate, System, TraceArrays
from equipoise.rating.federations.facts import KNOWN, NEWCOMERS_NOTE, RATED_HERE, UNRATED, Facts
from equipoise.rating.federations.together import (
    EVENTS_BEFORE,
    OWN,
    RATED,
    RATING,
    Federation,
    age_of,
    enter_as_is,
    event_key,
    rate_together,
    read_closed,
)
from equipoise.rating.system import Capabilities

#: Standard deviation of the difference of two performances.
CURVE_DEVIATION = 200.0 * math.sqrt(2.0)

#: Columns of the state after those of all federations: points, expected points and games of the
#: event; rated events in this pool; and the games of a player without a rating.
POINTS, EXPECTED, GAMES, EVENTS, FIRST_SUM, FIRST_POINTS, FIRST_GAMES = range(OWN, OWN + 7)

#: Rated events of a player with a known rating, if it is not said: those of whom E is not bounded.
_KNOWN_EVENTS = 6.0

#: Games that a first rating needs.
_FIRST_GAMES = 5.0


class Settings(NamedTuple):
    """Parameters in the form that kernels use."""

    rounded: bool


@inner_kernel
def expected_score(difference: float, settings: Settings) -> float:
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
def _round(value: float, settings: Settings) -> float:
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
def _close(player: Floats, settings: Settings) -> None:
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


@inner_kernel
def _key(player: Floats, day: float, event: float, settings: Settings) -> float:
    return event_key(player, day, event)


@inner_kernel
def _add_to(player: Floats, other: Floats, score: float, settings: Settings) -> float:
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


@inner_kernel
def _add(first: Floats, second: Floats, score: float, settings: Settings) -> tuple[float, float]:
    expected = _add_to(first, second, score, settings)
    return expected, _add_to(second, first, 1.0 - score, settings)


@kernel
def rate_matches(
    job: Job[Settings, TraceArrays, Facts], first: int, last: int
) -> tuple[int, float]:
    """Rate matches first:last in order; return (-1, -1), because no equation can fail."""
    return rate_together(job, first, last, _key, enter_as_is, _add, _close)


@kernel
def read_ratings(table: Floats, rows: Ints, settings: Settings) -> Floats:
    """Return the ratings of players with their events closed, shape (rows,)."""
    return read_closed(table, rows, settings, _close)


@kernel
def worth_of(player: Floats) -> float:
    """Return what a point above the expected score is worth to a player now."""
    return _worth(player)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
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

    initial_rating: float = 1000.0
    newcomers: Literal["rated", "unrated"] = field(
        default="rated", metadata={"note": NEWCOMERS_NOTE}
    )
    rounded: bool = True

    name: ClassVar[str] = "dwz"
    together: ClassVar[str] = "the event"
    assumed: ClassVar[Mapping[str, str]] = {
        "event": "all matches of a month are an event, and without times each match is one",
        "birth_year": "players without it are older than 25",
        "events_before": "players without it had 6 rated events before if their rating was known, "
        "else none",
    }

    def __post_init__(self) -> None:
        """Check every parameter."""
        check_fields(self)
        System.__post_init__(self)
        require(
            -1e9 <= self.initial_rating <= 1e9,
            "initial_rating",
            "from -1e9 to 1e9",
            self.initial_rating,
        )

    @property
    def newcomer_rated(self) -> float:
        """What `RATED` is for a newcomer."""
        return UNRATED if self.newcomers == "unrated" else RATED_HERE

    @property
    def capabilities(self) -> Capabilities:
        """Two players; `event`, or the time, says which matches are rated together."""
        return Capabilities(
            max_team_size=1,
            max_teams=2,
            uses=frozenset({"time", "event", "birth_year", "events_before"}),
        )

    def sums(self) -> Mapping[str, float]:
        """Return the sums over the games of the event, and of a player without a rating."""
        names = ("points", "expected", "games", "events")
        return dict.fromkeys((*names, "first_sum", "first_points", "first_games"), 0.0)

    def settings(self) -> Settings:
        """Return the parameters in the form that kernels use."""
        return Settings(self.rounded)

    def kernel(self, job: Job[Settings, TraceArrays, Facts]) -> Rate:
        """Return the kernel that rates matches of a job on one thread."""
        return rate_matches

    def closed_ratings(self, table: Floats, rows: Ints) -> Floats:
        """Return the ratings of players with their events closed."""
        return read_ratings(table, rows, self.settings())

    def factor(self, player: Floats) -> float:
        """Return 800/(E + n)."""
        return float(worth_of(player))

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return centres at the ratings, and the scale by which P is the chance of two players."""
        scale = np.full(len(rating), CURVE_DEVIATION / math.sqrt(2.0))
        return Outlook(centre=rating, scale=scale, curve="normal")
