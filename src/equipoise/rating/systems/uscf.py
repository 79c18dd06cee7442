"""The rating system of US Chess (USCF), for duels.

Source: [USCF]_, with the bonus threshold B = 14 of May 2017. R_0 is a player's rating before an
event, based on N games; in the event the player scores S in m games against opponents rated R_i.

    N' = min(N, N*),   N* = 50/sqrt(0.662 + 0.00000739 (2569 - R_0)^2), 50 if R_0 > 2355

With more than 8 games before, of which some were won and some were not, the standard rating is

    R = R_0 + K (S - E) + max(0, K (S - E) - B sqrt(max(m, 4))),   K = 800/(N' + m)

with E the sum of 1/(1 + 10^((R_i - R_0)/400)); the bonus needs m >= 3. Otherwise the special rating
R is the root of

    N' P(R - R_0') + sum P(R - R_i) = S',   P(d) = 1/2 + d/800 from 0 to 1, at most 2700,

where (R_0', S') is (R_0 - 400, S + N') if all games before were won, (R_0 + 400, S) if all were
lost, else (R_0, S + N'/2). The left side is piecewise linear, so the root is exact; where a whole
interval solves the equation, it is the point that [USCF]_'s procedure ends at. No rating is below
100 + 4 wins + 2 draws + events of 3 or more games, at most 150, nor below the hundred under
(highest established rating - 200), from 1200 to 2100; established are more than 25 games.
An unrated player's R_0 is 50 times the age, from 100 to 1300.

Departures: [USCF]_ rates an event twice, the second time with the opponents' ratings of the first,
and estimates players without games beforehand. That needs all games of an event at once. Here
matches come one at a time, and opponents count with R_0: the first of the two passes. The bonus is
given to players who met an opponent more than twice, too; an event of two players is like any
other; events with two time controls are not known; matches without the name of an event are those
of a month; the age is that at the end of the year. Of a special rating's event, each 20 games are
rated by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from equipoise._jit import inlined_kernel, inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.data.explanation import Contribution, Explanation
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.rating.federation_columns import KNOWN, RATED_HERE
from equipoise.rating.loop import rate_duels, read_rows
from equipoise.rating.rated_system import rating_system
from equipoise.rating.single_match import (
    by_opponent,
    contribution,
    explanation,
    single_match,
    surprise_of,
)
from equipoise.rating.state import State
from equipoise.rating.system import Span, param
from equipoise.rating.systems.rating_periods import (
    GAMES_BEFORE,
    LOG_ODDS,
    MATCHES,
    OWN,
    RATED,
    RATING,
    Federation,
    age_on,
    begin_event,
    read_closed,
)

#: Columns of the state after those of all federations: games won and lost and events of at least
#: 3 games before the event in progress, the highest established rating; then of the event: points,
#: expected points, games, games won and lost; and from `FIRST_OPPONENT` on the opponents' ratings.
WINS, LOSSES, EVENTS, PEAK, POINTS, EXPECTED, GAMES, WON, LOST = range(OWN, OWN + 9)
FIRST_OPPONENT = OWN + 9

#: Games of an event of which the opponents' ratings are kept.
_KEPT = 20

#: Games of a player with a known rating, if it is not said: the least of an established one.
_KNOWN_GAMES = 26.0

#: A difference of two scores that is rounding.
_ROUNDING = 1e-9

#: Ratings that differ by less are the same but for rounding, rating points.
_SAME_RATING = 1e-8


#: A part of a change that is rounding.
_LEAST_PART = 1e-9


@inner_kernel
def effective_games(rating: float, games: float) -> float:
    """Return N', the effective number of games before an event."""
    most = 50.0
    if rating <= 2355.0:
        most = 50.0 / math.sqrt(0.662 + 0.00000739 * (2569.0 - rating) * (2569.0 - rating))
    return min(games, most)


@inner_kernel
def expected_score(difference: float) -> float:
    """Return the standard winning expectancy at a difference of ratings."""
    return float(1.0 / (1.0 + 10.0 ** (-min(max(difference, -1e5), 1e5) / 400.0)))


@inner_kernel
def _provisional(difference: float) -> float:
    """Return P, the provisional winning expectancy."""
    return min(max(0.5 + difference / 800.0, 0.0), 1.0)


@inner_kernel
def _excess(
    rating: float, prior: float, effective: float, opponents: Floats, score: float
) -> float:
    """Return the left side of the equation of a special rating minus the score."""
    total = effective * _provisional(rating - prior)
    for opponent in opponents:
        total += _provisional(rating - opponent)
    return total - score


@inner_kernel
def _edge(
    knots: Floats,
    prior: float,
    effective: float,
    opponents: Floats,
    score: float,
    upper: bool,
) -> float:
    """Return the least rating that solves the equation, or with `upper` the largest.

    knots : where the slope changes, in ascending order; the excess is linear between them
    """
    n = len(knots)
    for step in range(n):
        at = n - 1 - step if upper else step
        value = _excess(knots[at], prior, effective, opponents, score)
        if (upper and value > _ROUNDING) or (not upper and value < -_ROUNDING):
            continue
        if abs(value) <= _ROUNDING or step == 0:
            return float(knots[at])
        before = at + 1 if upper else at - 1
        other = _excess(knots[before], prior, effective, opponents, score)
        return float(knots[at] + (knots[before] - knots[at]) * value / (value - other))
    return float(knots[0] if upper else knots[n - 1])


@kernel
def special_rating(
    rating: float, prior: float, effective: float, opponents: Floats, score: float, adjusted: float
) -> float:
    """Return the special rating, at most 2700.

    rating, prior : R_0 and R_0'
    score, adjusted : S and S'
    """
    m = len(opponents)
    knots = np.empty(2 * m + 2)
    total = 0.0
    for i in range(m):
        knots[2 * i], knots[2 * i + 1] = opponents[i] - 400.0, opponents[i] + 400.0
        total += opponents[i]
    knots[2 * m], knots[2 * m + 1] = prior - 400.0, prior + 400.0
    used = np.sort(knots)
    low = _edge(used, prior, effective, opponents, adjusted, False)
    high = _edge(used, prior, effective, opponents, adjusted, True)
    special = (effective * prior + total + 400.0 * (2.0 * score - m)) / (effective + m)
    # Where one rating solves the equation, both edges are that rating but for rounding.
    if not low + _SAME_RATING < special < high - _SAME_RATING:
        special = min(max(special, low), max(low, high))
    elif abs(special - prior) > 400.0:
        # A whole interval solves the equation: towards R_0, as far as the next knot. The source has
        # knots at R_0' without effective games, too.
        below, above = used[0], used[2 * m + 1]
        for knot in used:
            if knot < special:
                below = knot
        for i in range(2 * m + 1, -1, -1):
            if used[i] > special:
                above = used[i]
        special = min(max(rating, below), above)
    return min(special, 2700.0)


@inner_kernel
def standard_rating(
    rating: float, effective: float, games: float, surplus: float, threshold: float
) -> float:
    """Return the standard rating with its bonus; surplus : S - E."""
    change = 800.0 / (effective + games) * surplus
    bonus = 0.0
    if games >= 3.0:
        bonus = max(0.0, change - threshold * math.sqrt(max(games, 4.0)))
    return rating + change + bonus


@inner_kernel
def games_before(player: Floats) -> float:
    """Return N, the number of games before the event in progress."""
    before = player[GAMES_BEFORE]
    if math.isnan(before):
        before = _KNOWN_GAMES if player[RATED] == KNOWN else 0.0
    return float(before + player[MATCHES] - player[GAMES])


@inner_kernel
def one_sided(player: Floats) -> float:
    """Return 1 if all games before the event were won, -1 if all were lost, else 0."""
    here = player[MATCHES] - player[GAMES]
    # What was played before this pool has unknown results, which count as mixed.
    if here == 0.0 or games_before(player) > here:
        return 0.0
    if player[WINS] == here:
        return 1.0
    return -1.0 if player[LOSSES] == here else 0.0


@inner_kernel
def is_special(player: Floats) -> bool:
    """Return whether the event gives a special rating."""
    return games_before(player) <= 8.0 or one_sided(player) != 0.0


@kernel
def unfloored(player: Floats, settings: Any) -> float:
    """Return the rating after the event in progress, of which there are games, without floors."""
    rating, games = player[RATING], player[GAMES]
    effective = effective_games(rating, games_before(player))
    if not is_special(player):
        surplus = player[POINTS] - player[EXPECTED]
        return standard_rating(rating, effective, games, surplus, settings.bonus_threshold)
    side, points = one_sided(player), player[POINTS]
    prior, adjusted = rating, points + 0.5 * effective
    if side > 0.0:
        prior, adjusted = rating - 400.0, points + effective
    elif side < 0.0:
        prior, adjusted = rating + 400.0, points
    opponents = player[FIRST_OPPONENT : FIRST_OPPONENT + int(games)]
    return special_rating(rating, prior, effective, opponents, points, adjusted)


@inner_kernel
def floor_of(player: Floats) -> float:
    """Return the lowest rating that a player can have after the event in progress."""
    wins, losses = player[WINS] + player[WON], player[LOSSES] + player[LOST]
    draws = player[MATCHES] - wins - losses
    events = player[EVENTS] + (1.0 if player[GAMES] >= 3.0 else 0.0)
    floor = min(100.0 + 4.0 * wins + 2.0 * draws + events, 150.0)
    if player[PEAK] >= 1400.0:
        floor = max(floor, min(math.floor((player[PEAK] - 200.0) / 100.0) * 100.0, 2100.0))
    return float(floor)


@kernel
def _close(player: Floats, settings: Any) -> None:
    """Publish a rating at the end of an event."""
    if player[GAMES] == 0.0:
        return
    if player[RATED] == KNOWN and games_before(player) > 25.0:
        player[PEAK] = max(player[PEAK], player[RATING])
    player[RATING] = max(unfloored(player, settings), floor_of(player))
    player[WINS] += player[WON]
    player[LOSSES] += player[LOST]
    if player[GAMES] >= 3.0:
        player[EVENTS] += 1.0
    player[POINTS] = player[EXPECTED] = player[GAMES] = player[WON] = player[LOST] = 0.0
    player[FIRST_OPPONENT:] = 0.0
    if games_before(player) > 25.0:
        player[PEAK] = max(player[PEAK], player[RATING])


@inlined_kernel
def begin(job: Any, m: int, i: int) -> float:
    """Close the event before that of a match; a newcomer gets the rating of the age on its day."""
    residual = begin_event(job, m, i, _close)
    player = job.table[job.matches.player[i]]
    if player[MATCHES] == 0.0 and player[RATED] == RATED_HERE:
        age = age_on(player, job.matches.time[m])
        if not math.isnan(age):
            player[RATING] = min(max(50.0 * age, 100.0), job.settings.initial_rating)
    return residual


@inner_kernel
def read(player: Floats, day: float, settings: Any) -> tuple[float, float]:
    """Return (rating, 0) with the event in progress closed."""
    return read_closed(player, settings, _close)


@inner_kernel
def _split(player: Floats, settings: Any) -> None:
    """Continue a long event in another part."""
    if player[GAMES] == _KEPT and is_special(player):
        _close(player, settings)


@inner_kernel
def _add_to(player: Floats, met: float, score: float) -> float:
    """Add a game to the sums of a player; return the expected score."""
    expected = expected_score(player[RATING] - met)
    # Those of a standard rating's further games are not needed.
    if player[GAMES] < _KEPT:
        player[FIRST_OPPONENT + int(player[GAMES])] = met
    player[POINTS] += score
    player[EXPECTED] += expected
    player[GAMES] += 1.0
    if score == 1.0:
        player[WON] += 1.0
    elif score == 0.0:
        player[LOST] += 1.0
    return expected


@inlined_kernel
def rate_duel(
    job: Any, m: int, one: Floats, other: Floats, lead: float, score: float
) -> tuple[float, float, float, float]:
    """Add a game to the events of both players; return the expected scores, z and a residual."""
    z = LOG_ODDS * (one[RATING] - other[RATING])
    _split(one, job.settings)
    _split(other, job.settings)
    rating, met = one[RATING], other[RATING]
    return _add_to(one, met, score), _add_to(other, rating, 1.0 - score), z, -1.0


@kernel
def rate(job: Any, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last."""
    return rate_duels(job, first, last, rate_duel, begin, read, None, None)


@kernel
def read_players(table: Floats, rows: Ints, day: float, settings: Any) -> Floats:
    """Return what tables show of players, shape (2, rows)."""
    return read_rows(table, rows, day, settings, read)


@rating_system
class USCF(Federation):
    """The rating system of US Chess [USCF]_, for matches of two players.

    All games of an event are compared with the ratings before it. The column `event` names it;
    without the column all games of a calendar month are an event, and without times each game is.
    This is the first of the two passes in which US Chess rates an event. `birth_year` gives new
    players below 26 the rating of their age, and `games_before` is the number of games rated before
    the first match: if it is not known, 26 for players with a known rating, 0 for others.

    initial_rating : of a new player of 26 or an unknown age
    bonus_threshold : B; US Chess had 12 before May 2017

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> eq.replay(eq.USCF(), league).ratings
    <Ratings: 6 players, the best ada with 1,632.3>
    """

    initial_rating: float = param(1300.0, 100, 2700)
    bonus_threshold: float = param(14.0, 0, 1e6)

    name: ClassVar[str] = "uscf"
    tried: ClassVar[Mapping[str, Any]] = {"initial_rating": Span(800, 2200, 8, 50, log=False)}
    together: ClassVar[str] = "the event"
    assumed: ClassVar[Mapping[str, str]] = {
        "event": "all matches of a month are an event, and without times each match is one",
        "birth_year": "new players without it are 26 or older",
        "games_before": "players without it had 26 rated games before if their rating was known, "
        "else none",
    }

    uses: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("time", "event", "birth_year", "games_before"), ""
    )
    columns: ClassVar[Mapping[str, float | str]] = {
        **Federation.columns,
        "wins": 0.0,
        "losses": 0.0,
        "events": 0.0,
        "peak": 0.0,
        "points": 0.0,
        "expected": 0.0,
        "games": 0.0,
        "won": 0.0,
        "lost": 0.0,
        **{f"opponent_{number}": 0.0 for number in range(1, _KEPT + 1)},
    }
    own_meanings: ClassVar[Mapping[str, tuple[str, str]]] = {
        "effective games": ("", "the number of earlier games that the rating before is worth"),
        "K": ("points", "800/(effective games + games of the event); 0 for a special rating"),
        "floor": ("points", "the lowest rating that the player can have"),
    }
    loop = staticmethod(rate)
    read_players = staticmethod(read_players)

    def derived(self) -> Mapping[str, float]:
        """Return the highest rating by age."""
        return {"initial_rating": float(self.initial_rating)}

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        """Return centres at the ratings, and the scale of the standard winning expectancy."""
        # Two of these make the scale of the difference, 400/ln 10.
        shared = 0.5 * (400.0 / math.log(10.0)) ** 2
        scale = np.full(len(rating), math.sqrt(shared))
        return Outlook(centre=rating, scale=scale, curve="logistic", shared=shared)


def factor_of(player: Floats) -> float:
    """Return K, what a point above the expected score is worth; 0 for a special rating."""
    if is_special(player):
        return 0.0
    effective = effective_games(float(player[RATING]), games_before(player))
    return float(800.0 / (effective + player[GAMES]))


def _bonus(system: USCF, player: Floats) -> float:
    """Return the bonus of the event in progress, of which there may be no games yet."""
    if player[GAMES] == 0.0:
        return 0.0
    surplus = factor_of(player) * float(player[POINTS] - player[EXPECTED])
    return float(unfloored(player, system.settings()) - player[RATING] - surplus)


def _rest_of_event(
    system: USCF, after: Floats, score: float, expected: float, change: float
) -> list[Contribution]:
    """Return what a match of a standard rating changes beside its own surprise.

    after : the player after the match
    change : all that is left to explain, rating points
    """
    before = after.copy()
    for column, value in ((POINTS, score), (EXPECTED, expected), (GAMES, 1.0), (MATCHES, 1.0)):
        before[column] -= value
    parts = []
    smaller = 0.0
    if before[GAMES] > 0.0:
        earlier = float(before[POINTS] - before[EXPECTED])
        smaller = (factor_of(after) - factor_of(before)) * earlier
    if abs(smaller) > _LEAST_PART:
        reason = f"K is smaller for each game more, and holds for all of {system.together}"
        parts.append(contribution("earlier matches", smaller, reason))
    bonus, bonus_before = _bonus(system, after), _bonus(system, before)
    grown = bonus - bonus_before
    if abs(grown) > _LEAST_PART:
        reason = f"for {system.together} so far it is {bonus:.2f}, and was {bonus_before:.2f}"
        parts.append(contribution("the bonus", grown, reason))
    rest = change - math.fsum(part.change for part in parts)
    if abs(rest) > _LEAST_PART:
        reason = "no rating falls below the player's floor"
        parts.append(contribution("floors", rest, reason))
    return parts


def explain(system: USCF, before: State, history: History, match: int, row: int) -> Explanation:
    """Return why a participation changed its player's rating, and what it did to earlier matches.

    A standard rating is told as K times the surprise of the match and the bonus. A special rating
    is the solution of one equation, which has no parts.
    """
    single = single_match(system, before, history, match, row)
    i, published, change = single.row, single.after.table[:, RATING], single.change
    after = single.after.table[i]
    score, expected = float(single.scores()[1 - i]), single.expected
    effective = effective_games(float(published[i]), games_before(after))
    if is_special(after):
        factor, own = 0.0, change
        reason = f"scored {score:g}; up to 8 games, or one result only, a special rating solves "
        reason += "an equation of all games of the event"
        parts = [contribution("this match", change, reason)]
    else:
        factor = factor_of(after)
        own = factor * (score - expected)
        parts = [contribution("this match", own, surprise_of(score, expected))]
        parts += _rest_of_event(system, after, score, expected, change - own)
    return explanation(
        single,
        contributions=parts,
        quantities={
            "published rating": float(published[i]),
            "effective games": effective,
            "K": factor,
            "floor": floor_of(after),
        },
        meanings=system.meanings,
        opponents=by_opponent(
            single, lambda j, score: (float(published[j]), math.nan, expected, own)
        ),
    )
