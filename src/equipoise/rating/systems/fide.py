"""FIDE's ratings, by its tables and the rules of the day of the match.

Source: FIDE Handbook B.02, Rating Regulations [FIDE]_, 8.1.2 (a difference of ratings, and the
score expected of the higher rated player) and 8.1.1 (a share of points, and the difference that it
shows). They are the normal curve of standard deviation 2000/7, rounded, but for a few entries.
`tournament.fide_expected` has the first for whole tournaments.

Source: FIDE Handbook B.02, Rating Regulations [FIDE]_, 7 and 8, in the editions of July 2014,
January 2022 and March 2024, with the amendment of October 2025; paragraphs below are those of 2024.
All games of a calendar month are compared with the ratings before it (7.1), and change a rating by

    K sum (score - P(D)),       rounded, a half away from zero (8.3.2, 8.3.4),

where D is the difference of the ratings and P the table 8.1.2. The dated rules differ in what a
difference above 400 points counts (8.3.1), as `tournament.fide_expected` states it, in the first
rating of a player (8.2) and in the lowest rating (7.2.1):

    2014-07     400 points in every game; the mean of the opponents and 20 for each half point
                above one half of the points, or the table 8.1.1 below that; 1000
    2022-01     400, but for the stronger player only in one game of an event, with the largest D
    2024-03     400 in every game; the table, with two more draws against players rated 1800, and at
                most 2200; 1400. On the first day ratings below 2000 rise by 2/5 of what they lack
    2025-10     400 in every game of players below 2650, and D as it is for all others

K (8.3.3) is 10 for players who once had 2400; 40 until the year of the 18th birthday for those who
never had 2300; 40 before 30 rated games; and 20 for all others. So many games that K times their
number exceeds 700 reduce it to the largest whole number for which it does not. In rapid and blitz
chess K was 20 for all before March 2024. There D counts as 400 for players above 2650 too, and
since December 2024 games of players 600 points or more apart are not rated if one is above 2600.

Departures: a game counts in the month in which it is played, while FIDE rates a whole tournament in
the month after its end, by the ratings at its start. Before July 2014 the rules of that month are
applied. In the edition of 2014 and of 2017 we could not read 8.2 and 7.2.1; those of 2022 are
applied. The order in which the lines of K apply is that of FIDE's published lists, as found by
zugzwang-foundation/Chess-ELO-Rating, R-22. A first rating counts games from the first on, begun
anew after 26 months; a first month, not a first event, without a point is disregarded. Newcomers
are rated from their first game on, and no rating is too low, unless `newcomers="unrated"`.
Predictions are made by the normal curve of which P is a table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from equipoise._jit import inlined_kernel, inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.data.fide_tables import DIFFERENCES, STEPS
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
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
    GAMES_BEFORE,
    LAST_TIME,
    LOG_ODDS,
    OWN,
    PERIOD,
    RATED,
    RATING,
    Federation,
    age_of,
    begin_period,
    event_key,
    month_of,
)
from equipoise.rating.systems.rating_periods import explain as explain

#: The month of 1 March 2024, from January 1970.
_MONTH_2024 = 650.0

_LARGEST = 400.0
_TRUE_FROM = 2650.0
_FIRST_GAMES = 5.0
_FIRST_MONTHS = 26.0
_KNOWN_GAMES = 30.0

#: Standard deviation of the normal curve of the tables.
CURVE_DEVIATION = 2000.0 / 7.0

#: What `equipoise systems` says of the parameters `time_control` and `rules`.
_TIME_CONTROL_NOTE = (
    "time control of all games: standard, rapid or blitz; FIDE has a rating for each, with its "
    "own rules"
)
_RULES_NOTE = (
    "FIDE's rules on the day of each match (dated), or the month in which the rules for all "
    "matches came into force"
)


@inner_kernel
def expected_score(difference: float) -> float:
    """Return the expected score of a player rated this much higher, table 8.1.2."""
    size = abs(difference)
    low, high = 0, len(STEPS)
    while low < high:
        middle = (low + high) // 2
        if STEPS[middle] <= size:
            low = middle + 1
        else:
            high = middle
    percent = 50.0 + low if difference >= 0.0 else 50.0 - low
    return percent / 100.0


@inner_kernel
def difference_shown(share: float) -> float:
    """Return the difference of ratings that a share of points shows, table 8.1.1.

    share : from 0 to 1; rounded to hundredths, a half upwards
    """
    percent = math.floor(100.0 * share + 0.5)
    place = min(abs(percent - 50), 50)
    shown = float(DIFFERENCES[place])
    return shown if percent >= 50 else -shown


Rules: TypeAlias = Literal["dated", "2014-07", "2022-01", "2024-03", "2025-10"]

#: Numbers of the rules, in order of their dates.
CAPPED, ONE_CAPPED, CAPPED_AGAIN, CAPPED_BELOW = range(4)
_NUMBERS: dict[str, int] = {
    "dated": -1,
    "2014-07": CAPPED,
    "2022-01": ONE_CAPPED,
    "2024-03": CAPPED_AGAIN,
    "2025-10": CAPPED_BELOW,
}

#: Days since 1970 on which rules begin: 1 January 2022, 1 March 2024, 1 October 2025; and that on
#: which the games of top players against far weaker ones are not rated any more in rapid and blitz.
_DAY_2022, _DAY_2024, _DAY_2025, _DAY_EXCLUDED = 18_993.0, 19_783.0, 20_362.0, 20_058.0

#: Columns of the state after those of all federations: sum of score - P and number of games of the
#: month; games of earlier months; whether a published rating reached 2300 and 2400; the event of
#: the last game, and of the game with the largest difference that was cut, with that difference;
#: whether the rise of March 2024 is due (1) or done (2); and the games without a rating: ratings of
#: the opponents, points, number, month of the first one, and whether a first month is over.
(
    SURPRISE,
    GAMES,
    GAMES_RATED,
    HAD_2300,
    HAD_2400,
    EVENT,
    CUT_EVENT,
    CUT_GAP,
    RAISED,
    FIRST_SUM,
    FIRST_POINTS,
    FIRST_GAMES,
    FIRST_MONTH,
    DEBUT_OVER,
) = range(OWN, OWN + 14)


#: Numbers of the time controls: rapid and blitz chess have the same rules.
STANDARD, FAST = range(2)
_SPEEDS = {"standard": STANDARD, "rapid": FAST, "blitz": FAST}


@inner_kernel
def rules_of(day: float, settings: Any) -> int:
    """Return the number of the rules of a day; without times the newest."""
    if settings.rules >= 0:
        return int(settings.rules)
    if math.isnan(day) or day >= _DAY_2025:
        return CAPPED_BELOW
    if day >= _DAY_2024:
        return CAPPED_AGAIN
    return ONE_CAPPED if day >= _DAY_2022 else CAPPED


@inner_kernel
def _round(value: float, settings: Any) -> float:
    """Return a number rounded, a half away from zero."""
    if not settings.rounded:
        return value
    # A sum of hundredths that should be a half may lack some last digits.
    size = math.floor(abs(value) + 0.5 + 1e-9)
    return float(size if value >= 0.0 else -size)


@inner_kernel
def coefficient(player: Floats, settings: Any) -> float:
    """Return K of a player in the month in progress (8.3.3)."""
    before = player[GAMES_BEFORE]
    if math.isnan(before):
        before = _KNOWN_GAMES if player[RATED] == KNOWN else 0.0
    if settings.time_control == FAST and rules_of(player[LAST_TIME], settings) < CAPPED_AGAIN:
        k = 20.0
    elif player[HAD_2400] != 0.0 or player[RATING] >= 2400.0:
        k = 10.0
    elif age_of(player) <= 18.0 and player[HAD_2300] == 0.0 and player[RATING] < 2300.0:
        k = 40.0
    else:
        k = 40.0 if before + player[GAMES_RATED] < 30.0 else 20.0
    if k * player[GAMES] > 700.0:
        k = float(math.floor(700.0 / player[GAMES]))
    return k


@inner_kernel
def first_rating(ratings: float, points: float, games: float, rules: int, settings: Any) -> float:
    """Return the first rating of a player (8.2), NaN if it is too low to be published.

    ratings : sum of the ratings of the opponents
    """
    if rules >= CAPPED_AGAIN:
        mean = (ratings + 3600.0) / (games + 2.0)
        rating = min(mean + difference_shown((points + 1.0) / (games + 2.0)), 2200.0)
        least = 1400.0
    else:
        mean, least = ratings / games, 1000.0
        if 2.0 * points >= games:
            rating = mean + 20.0 * (2.0 * points - games)
        else:
            rating = mean + difference_shown(points / games)
    if settings.rounded:
        rating = math.floor(rating + 0.5)
    return rating if rating >= least else math.nan


@inner_kernel
def _close_unrated(player: Floats, settings: Any) -> None:
    """Give a player a first rating at the end of a month, if there are enough games."""
    games, points = player[FIRST_GAMES], player[FIRST_POINTS]
    if games == 0.0:
        return
    if player[DEBUT_OVER] == 0.0 and points == 0.0:
        player[FIRST_SUM] = player[FIRST_GAMES] = 0.0
    elif games >= _FIRST_GAMES:
        rules = rules_of(player[LAST_TIME], settings)
        rating = first_rating(player[FIRST_SUM], points, games, rules, settings)
        if not math.isnan(rating):
            player[RATING], player[RATED] = rating, RATED_HERE
            player[GAMES_RATED] += games
            player[FIRST_SUM] = player[FIRST_POINTS] = player[FIRST_GAMES] = 0.0
    player[DEBUT_OVER] = 1.0


@inner_kernel
def _note_rating(player: Floats) -> None:
    """Keep whether the published rating reached the limits of K."""
    if player[RATED] != UNRATED:
        if player[RATING] >= 2300.0:
            player[HAD_2300] = 1.0
        if player[RATING] >= 2400.0:
            player[HAD_2400] = 1.0


@inner_kernel
def _close(player: Floats, settings: Any) -> None:
    """Publish a rating at the end of a month."""
    # The rating with which a player begins was published too.
    _note_rating(player)
    if player[RATED] == UNRATED:
        _close_unrated(player, settings)
    elif player[GAMES] > 0.0:
        change = coefficient(player, settings) * player[SURPRISE]
        player[RATING] += _round(change, settings)
        player[GAMES_RATED] += player[GAMES]
        if settings.floors:
            late = rules_of(player[LAST_TIME], settings) >= CAPPED_AGAIN
            if player[RATING] < (1400.0 if late else 1000.0):
                player[RATED] = UNRATED
    if player[RAISED] == 1.0:
        player[RAISED] = 2.0
        if player[RATED] != UNRATED and player[RATING] < 2000.0:
            player[RATING] += _round(0.4 * (2000.0 - player[RATING]), settings)
    _note_rating(player)
    player[SURPRISE] = player[GAMES] = 0.0
    player[CUT_EVENT], player[CUT_GAP] = math.nan, 0.0


@inner_kernel
def _note_rise(player: Floats, day: float, settings: Any) -> None:
    """Keep that the rise of March 2024 is due, for a player of an earlier month."""
    late = day >= _DAY_2024 and player[PERIOD] < _MONTH_2024
    if settings.rules < 0 and late and player[RAISED] == 0.0:
        player[RAISED] = 1.0


@inlined_kernel
def begin(job: Any, m: int, i: int) -> float:
    """Close the month before that of a match; return that nothing failed."""
    player, day, event = job.table[job.matches.player[i]], job.matches.time[m], job.own.event[i]
    player[EVENT] = event
    _note_rise(player, day, job.settings)
    period = event_key(player, day, event) if math.isnan(day) else month_of(day)
    return begin_period(job, i, period, _close)


@kernel
def read(player: Floats, day: float, settings: Any) -> tuple[float, float]:
    """Return (rating, 0) with the month in progress closed, raised if it is March 2024."""
    shown = player.copy()
    _note_rise(shown, day, settings)
    _close(shown, settings)
    return float(shown[RATING]), 0.0


@inner_kernel
def _event(player: Floats) -> float:
    """Return the number of the event of a player's last match; without a name that of the month."""
    return float(player[PERIOD] if math.isnan(player[EVENT]) else player[EVENT])


@inner_kernel
def _counted(player: Floats, gap: float, rules: int, settings: Any) -> float:
    """Return the difference that counts for a player (8.3.1), and keep what is cut once.

    gap : rating of the player less that of the opponent
    """
    if rules == CAPPED_BELOW and player[RATING] >= _TRUE_FROM and settings.time_control != FAST:
        return gap
    if rules != ONE_CAPPED or gap <= _LARGEST:
        return min(max(gap, -_LARGEST), _LARGEST)
    event = _event(player)
    if player[CUT_EVENT] == event:
        if gap <= player[CUT_GAP]:
            return gap
        # The game that was cut before counts as it is after all.
        player[SURPRISE] += expected_score(_LARGEST) - expected_score(player[CUT_GAP])
    player[CUT_EVENT], player[CUT_GAP] = event, gap
    return _LARGEST


@inner_kernel
def _add_to(player: Floats, gap: float, score: float, rules: int, settings: Any) -> float:
    """Add a game of two rated players to the sums of one; return the expected score."""
    expected = expected_score(_counted(player, gap, rules, settings))
    player[SURPRISE] += score - expected
    player[GAMES] += 1.0
    return expected


@inner_kernel
def _add_first(player: Floats, rating: float, score: float) -> None:
    """Add a game against a rated opponent to those of a player without a rating."""
    if player[FIRST_GAMES] > 0.0 and player[PERIOD] - player[FIRST_MONTH] >= _FIRST_MONTHS:
        player[FIRST_SUM] = player[FIRST_POINTS] = player[FIRST_GAMES] = 0.0
    if player[FIRST_GAMES] == 0.0:
        player[FIRST_MONTH] = player[PERIOD]
    player[FIRST_SUM] += rating
    player[FIRST_POINTS] += score
    player[FIRST_GAMES] += 1.0


@inner_kernel
def _add(
    first: Floats, second: Floats, score: float, day: float, settings: Any
) -> tuple[float, float]:
    """Add a match to the sums of both players; return their expected scores."""
    rules = rules_of(day, settings)
    gap = math.floor(first[RATING] + 0.5) - math.floor(second[RATING] + 0.5)
    if first[RATED] != UNRATED and second[RATED] != UNRATED:
        # On a day that is not known the newest rules hold.
        late = rules >= CAPPED_AGAIN and not day < _DAY_EXCLUDED
        top = max(first[RATING], second[RATING]) > 2600.0
        if not (settings.time_control == FAST and late and top and abs(gap) >= 600.0):
            return (
                _add_to(first, gap, score, rules, settings),
                _add_to(second, -gap, 1.0 - score, rules, settings),
            )
    elif second[RATED] != UNRATED:
        _add_first(first, second[RATING], score)
    elif first[RATED] != UNRATED:
        _add_first(second, first[RATING], 1.0 - score)
    shown = min(max(gap, -_LARGEST), _LARGEST)
    return expected_score(shown), expected_score(-shown)


@inlined_kernel
def rate_duel(
    job: Any, m: int, one: Floats, other: Floats, lead: float, score: float
) -> tuple[float, float, float, float]:
    """Add a game to the months of both players; return the expected scores, z and a residual."""
    z = LOG_ODDS * (one[RATING] - other[RATING])
    expected, expected_other = _add(one, other, score, job.matches.time[m], job.settings)
    return expected, expected_other, z, -1.0


@kernel
def rate(job: Any, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last."""
    return rate_duels(job, first, last, rate_duel, begin, read, None, None)


@kernel
def read_players(table: Floats, rows: Ints, day: float, settings: Any) -> Floats:
    """Return what tables show of players as of a day, shape (2, rows)."""
    return read_rows(table, rows, day, settings, read)


@rating_system
class FIDE(Federation):
    """FIDE's ratings [FIDE]_ for matches of two players, by the rules of the day of the match.

    All games of a calendar month are compared with the ratings before it; without times, all games
    of an event (column `event`), or each game. `birth_year` gives K = 40 to the young; without it
    nobody is. `games_before` is the number of games rated before the first match: if it is not
    known, 30 for players with a known rating and 0 for others. Before March 2024 only one game of
    an `event` is cut to 400 points; without the column, one of a month.

    initial_rating : of a new player
    newcomers : "rated" begins with the initial rating, so that players of a new pool can rate each
        other, and keeps every rating; "unrated" follows FIDE: a first rating comes from 5 games
        against rated players, and a rating below the lowest is lost
    rules : "dated", those of the day of each match; or those that began in a month, always
    time_control : of all games, "standard", "rapid" or "blitz"; FIDE has a rating for each
    rounded : whether ratings are rounded to whole numbers after each month

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> eq.replay(eq.FIDE(), league).ratings
    <Ratings: 6 players, the best ada with 2,108.0>
    """

    initial_rating: float = param(1800.0, -1e9, 1e9)
    newcomers: Literal["rated", "unrated"] = param("rated", words=NEWCOMERS, note=NEWCOMERS_NOTE)
    rules: Rules = param("dated", words=_NUMBERS, note=_RULES_NOTE)
    time_control: Literal["standard", "rapid", "blitz"] = param(
        "standard", words=_SPEEDS, note=_TIME_CONTROL_NOTE
    )
    rounded: bool = True

    name: ClassVar[str] = "fide"
    tried: ClassVar[Mapping[str, Any]] = {"initial_rating": Span(1200, 2400, 7, 100, log=False)}
    together: ClassVar[str] = "the month"
    assumed: ClassVar[Mapping[str, str]] = {
        "time": "the newest rules hold, and the matches of an event, or each one, count together",
        "event": "in 2022 and 2023 one match of a month, not of each event, is cut to 400 points",
        "birth_year": "players without it are older than 18",
        "games_before": "players without it had 30 rated games before if their rating was known, "
        "else none",
    }

    uses: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("time", "event", "birth_year", "games_before"), ""
    )
    columns: ClassVar[Mapping[str, float | str]] = {
        **Federation.columns,
        "rated": "newcomers",
        "surprise": 0.0,
        "games": 0.0,
        "games_rated": 0.0,
        "had_2300": 0.0,
        "had_2400": 0.0,
        "event": math.nan,
        "cut_event": math.nan,
        "cut_gap": 0.0,
        "raised": 0.0,
        "first_sum": 0.0,
        "first_points": 0.0,
        "first_games": 0.0,
        "first_month": math.nan,
        "debut_over": 0.0,
    }
    loop = staticmethod(rate)
    read_players = staticmethod(read_players)

    def derived(self) -> Mapping[str, Any]:
        """Return whether a rating that is too low is lost."""
        return {"floors": self.newcomers == "unrated"}

    def factor(self, player: Floats) -> float:
        """Return K."""
        return float(coefficient(player, self.settings()))

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return centres at the ratings, and the scale of the curve of which P is a table."""
        scale = np.full(len(rating), CURVE_DEVIATION / math.sqrt(2.0))
        return Outlook(centre=rating, scale=scale, curve="normal")
