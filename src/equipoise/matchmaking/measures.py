"""How long people waited in a simulated day, and how fair, near and full their matches were.

Waits of the matched alone flatter a ruleset, because those who gave up are missing. Kaplan and
Meier's estimate of the time to a match counts them as censored; both are always given. Fairness is
the distance of a win probability from 1/2, as the ratings predict it and as it is by the true
skills. A measure of a day without any such ticket or match is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.evaluate.rating_comparison import spearman
from equipoise.matchmaking.arrivals import SECONDS_PER_HOUR
from equipoise.matchmaking.compiled import EXPIRED, GAVE_UP, MATCHED, WAITING
from equipoise.matchmaking.simulation import SimulatedDay
from equipoise.numeric.functions import normal_cdf_of

#: Matches outside these win probabilities count as uneven.
EVEN = (0.4, 0.6)
#: Games after which the error of ratings is measured: those of visits with at least so many.
GAMES = (0, 1, 2, 5, 10, 20, 50)


#: What `chances` are grouped by.
CHANCE, PREDICTED = "win probability by true skills, %", "win probability by ratings, %"


class Measure(NamedTuple):
    """A measure of a day: what it says, its unit, and whether tables show it."""

    words: str
    unit: str
    shown: bool = False


MEASURES: dict[str, Measure] = {
    "tickets": Measure("tickets", "", True),
    "matches": Measure("matches", "", True),
    "wait_mean": Measure("mean wait of the matched", "s"),
    "wait_p50": Measure("median wait of the matched", "s", True),
    "wait_p95": Measure("95 % of the matched waited less", "s", True),
    "wait_p99": Measure("99 % of the matched waited less", "s"),
    "wait_max": Measure("longest wait of the matched", "s"),
    "to_match_p50": Measure("half would be matched by (Kaplan-Meier)", "s", True),
    "to_match_p95": Measure("95 % would be matched by (Kaplan-Meier)", "s", True),
    "gave_up": Measure("gave up", "share", True),
    "expired": Measure("expired", "share", True),
    "still_waiting": Measure("still waiting at the end", "share"),
    "unfair_by_rating": Measure("mean abs(p - 1/2), p from ratings", "p", True),
    "unfair": Measure("mean abs(p - 1/2), p from true skills", "p", True),
    "unfair_p95": Measure("95 % of matches have less abs(p - 1/2)", "p"),
    "uneven": Measure("matches with p outside 0.4 to 0.6", "share", True),
    "spread": Measure("highest minus lowest rating in a match", "points", True),
    "deviation": Measure("deviation of ratings in a match", "points"),
    "team_distance": Measure("difference of mean ratings of teams", "points"),
    "favourites": Measure("wins that favourites lack, by p from ratings", "share"),
    "party_advantage": Measure("wins of parties against solos, above p by ratings", "share"),
    "latency_mean": Measure("mean latency", "ms", True),
    "latency_p95": Measure("95 % have less latency", "ms", True),
    "latency_above_best": Measure("mean latency above the own best", "ms"),
    "players_per_match": Measure("players of a match", "", True),
    "lopsided": Measure("matches with teams of different sizes", "share"),
    "backfilled": Measure("tickets that joined a running match", "share", True),
    "open_seconds": Measure("mean time that a free place stays open", "s", True),
    "queue_mean": Measure("mean number of waiting tickets", "", True),
    "queue_max": Measure("most who waited at a tick", ""),
    "tick_p50": Measure("median time of a tick", "s"),
    "tick_p99": Measure("99 % of ticks took less", "s"),
    "limited": Measure("ticks whose search ended at the node limit", "share"),
    "rating_error": Measure("error of ratings, root mean square", "points", True),
    "rating_correlation": Measure("rank correlation of rating and true skill", "", True),
}


def measures(day: SimulatedDay, matches: Matches) -> dict[str, float]:
    """Return the measures of a day by name, as in `MEASURES`; matches : as of `matches_of`."""
    people, outcome = day.people, day.outcome
    matched = outcome.status == MATCHED
    values = dict.fromkeys(MEASURES, math.nan)
    values |= {"tickets": len(people.created), "matches": len(outcome.time)}
    values |= {"queue_max": day.largest, "queue_mean": mean_waiting(day)}
    values |= _quantiles(day.seconds, tick_p50=0.5, tick_p99=0.99)
    if len(day.seconds):
        values["limited"] = day.limited / len(day.seconds)
    if day.open_places:
        values["open_seconds"] = day.open_seconds / day.open_places
    if len(people.created):
        values |= _waits_of(day, np.ones(len(matched), np.bool_))
        values["still_waiting"] = float(np.mean(outcome.status == WAITING))
        values["backfilled"] = float(np.mean(day.backfilled))
    if matched.any():
        wait = (outcome.left - people.created)[matched]
        values |= _quantiles(wait, wait_p50=0.5, wait_p99=0.99, wait_max=1.0)
        values |= _of_matches(matches)
        if people.latency.shape[1]:
            region = outcome.region[outcome.match[matched]]
            own = people.latency[matched, region]
            above = own - people.latency[matched].min(axis=1)
            values |= _quantiles(own, latency_p95=0.95)
            values |= {"latency_mean": float(own.mean()), "latency_above_best": float(above.mean())}
    if day.rated is not None and len(day.rated.rating) > 1:
        last = np.unique(day.rated.player[::-1], return_index=True)[1]
        rows = len(day.rated.player) - 1 - last
        error, correlation = rating_error(day.rated.rating[rows], people.skill[rows])
        values |= {"rating_error": error, "rating_correlation": correlation}
    return values


def _quantiles(values: Floats, **shares: float) -> dict[str, float]:
    """Return the quantiles of these shares by name; none without values."""
    if not len(values):
        return {}
    return dict(zip(shares, np.quantile(values, list(shares.values())).tolist(), strict=True))


def mean_waiting(day: SimulatedDay) -> float:
    """Return the mean number of waiting tickets: the area under their number over the day.

    It is counted by events. By Little's law it equals the rate of arrivals times the mean wait of
    all tickets, which is a check of the books.
    """
    left = np.where(day.outcome.status == WAITING, day.end, day.outcome.left)
    when = np.concatenate((day.people.created, left))
    step = np.concatenate((np.ones(len(left)), -np.ones(len(left))))
    order = np.argsort(when, kind="stable")
    when = when[order]
    number = np.cumsum(step[order])[:-1]
    return float(np.sum(number * np.diff(when)) / day.end) if len(left) else 0.0


def time_to_match(
    day: SimulatedDay, shares: tuple[float, ...], chosen: Flags | slice = slice(None)
) -> list[float]:
    """Return when shares of tickets would be matched if nobody gave up (Kaplan and Meier 1958).

    chosen : shape (tickets,), the tickets to look at
    Returns : seconds; NaN for a share that the estimate does not reach
    """
    matched = (day.outcome.status == MATCHED)[chosen]
    left = np.where(day.outcome.status == WAITING, day.end, day.outcome.left)
    wait = (left - day.people.created)[chosen]
    # A match counts before a give-up at the same time.
    order = np.lexsort((~matched, wait))
    wait, matched = wait[order], matched[order]
    at_risk = len(wait) - np.arange(len(wait))
    survival = np.cumprod(np.where(matched, 1.0 - 1.0 / at_risk, 1.0))
    times = []
    for share in shares:
        reached = survival <= 1.0 - share + 1e-12
        times.append(float(wait[np.argmax(reached)]) if reached.any() else math.nan)
    return times


class Matches(NamedTuple):
    """The matches of a day, each column of shape (matches,); teams other than two have p NaN.

    p_rating, p_skill : win probability of the first team, from ratings and from true skills
    won : whether the first team won
    spread, deviation : of ratings; distance : of the teams' mean ratings; players; lopsided
    party : 1 if the first team alone has parties, -1 if the second, 0 otherwise
    """

    p_rating: Floats
    p_skill: Floats
    won: Flags
    spread: Floats
    deviation: Floats
    distance: Floats
    players: Ints
    lopsided: Flags
    party: Ints


def matches_of(day: SimulatedDay) -> Matches:
    """Return the matches of a day."""
    people, outcome, plan, model = day.people, day.outcome, day.plan, day.model
    count = len(outcome.time)
    # Narrow integers: these columns take the most memory of a day.
    ticket = np.repeat(np.arange(len(people.size), dtype=np.int32), people.size)
    # The players who were matched, sorted by match and team.
    rows = np.flatnonzero(outcome.match[ticket] >= 0)
    ticket = ticket[rows]
    order = np.lexsort((outcome.team[ticket], outcome.match[ticket]))
    rows, ticket = rows[order], ticket[order]
    match, team = outcome.match[ticket], outcome.team[ticket]
    skill, shown = people.skill[rows], people.shown[rows]
    first, second = team == 0, team == 1

    def total(values: Any, chosen: Any) -> Floats:
        return np.bincount(match[chosen], values[chosen], minlength=count).astype(np.float64)

    sizes = [np.bincount(match[chosen], minlength=count) for chosen in (first, second)]
    two = np.bincount(match, team > 1, minlength=count) == 0

    def difference(values: Floats) -> Floats:
        return total(values, first) / sizes[0] - total(values, second) / sizes[1]

    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.sqrt(1.0 / sizes[0] + 1.0 / sizes[1])
        p_skill = normal_cdf_of(difference(skill) / (model.performance_deviation * share))
        if plan.system is None or day.rated is None:
            scale = math.hypot(model.performance_deviation, model.rating_deviation) * share
            p_rating = normal_cdf_of(difference(shown) / scale)
        else:
            usual = plan.system.usual_deviation
            known = np.nan_to_num(day.rated.deviation[rows], nan=usual)
            teams = 2 * match.astype(np.int64) + (team > 0)
            outlook = plan.system.outlook(shown, known).of_teams(teams, 2 * count)
            p_rating = outlook.beats(2 * np.arange(count), 2 * np.arange(count) + 1)
        gap = difference(shown)
        skill += model.performance_deviation * people.luck[rows]
        won = difference(skill) > 0
    starts = np.flatnonzero(np.diff(match, prepend=-1))
    players = np.bincount(match, minlength=count)
    every = slice(None)
    mean = (total(shown, every) / players)[match]
    square = total((shown - mean) ** 2, every) / players
    in_party = people.size[ticket] > 1
    parties = total(in_party, first) > 0, total(in_party, second) > 0
    return Matches(
        p_rating=np.where(two, p_rating, np.nan),
        p_skill=np.where(two, p_skill, np.nan),
        won=won,
        spread=np.maximum.reduceat(shown, starts) - np.minimum.reduceat(shown, starts),
        deviation=np.sqrt(square),
        distance=np.abs(gap),
        players=players,
        lopsided=sizes[0] != sizes[1],
        party=parties[0].astype(np.int64) - parties[1],
    )


def _of_matches(matches: Matches) -> dict[str, float]:
    """Return the means of matches."""
    result: dict[str, float] = {
        "spread": float(matches.spread.mean()),
        "deviation": float(matches.deviation.mean()),
        "team_distance": float(np.nanmean(matches.distance)),
        "players_per_match": float(matches.players.mean()),
        "lopsided": float(matches.lopsided.mean()),
    }
    two = ~np.isnan(matches.p_skill)
    p = matches.p_rating[two]
    if two.any():
        off = np.abs(matches.p_skill[two] - 0.5)
        result |= _quantiles(off, unfair_p95=0.95)
        result["unfair"] = float(off.mean())
        result["unfair_by_rating"] = float(np.abs(p - 0.5).mean())
        right = (p > 0.5) == matches.won[two]
        result["favourites"] = float(np.mean(np.maximum(p, 1.0 - p) - right))
        result["uneven"] = float(np.mean(off > EVEN[1] - 0.5))
    mixed = two & (matches.party != 0)
    if mixed.any():
        above = (matches.won - matches.p_rating) * matches.party
        result["party_advantage"] = float(above[mixed].mean())
    return result


def rating_error(rating: Floats, skill: Floats) -> tuple[float, float]:
    """Return the root mean square of rating - skill without its mean, and the rank correlation.

    The mean is left out because systems begin at different levels.
    """
    off = rating - skill
    return float(np.sqrt(np.mean((off - off.mean()) ** 2))), spearman(rating, skill)


def by_games(day: SimulatedDay) -> list[dict[str, float]]:
    """Return the error of ratings by the number of games before, one row for each of `GAMES`."""
    if day.rated is None:
        return []
    rows = []
    for low, high in zip(GAMES, (*GAMES[1:], math.inf), strict=True):
        within = (day.rated.games >= low) & (day.rated.games < high)
        if within.sum() > 1:
            error, correlation = rating_error(day.rated.rating[within], day.people.skill[within])
            rows.append(
                {
                    "games_from": low,
                    "visits": int(within.sum()),
                    "rating_error": error,
                    "rating_correlation": correlation,
                    "deviation": float(np.mean(day.rated.deviation[within])),
                }
            )
    return rows


def chances(matches: Matches) -> list[dict[str, Any]]:
    """Return the share of matches by the win probability of the first team.

    Each row has `by`, `group`, the middle of four points of 100, and `matches`.
    """
    rows = []
    for by, p in ((CHANCE, matches.p_skill), (PREDICTED, matches.p_rating)):
        counts = np.histogram(p[~np.isnan(p)], bins=25, range=(0.0, 1.0))[0]
        rows += [
            {"by": by, "group": str(4 * at + 2), "matches": count / counts.sum()}
            for at, count in enumerate(counts.tolist())
            if counts.any()
        ]
    return rows


def groups(day: SimulatedDay, matches: Matches) -> Iterator[dict[str, Any]]:
    """Yield waits, give-ups and fairness by skill decile, party size, hour of arrival and region.

    Each row has `by`, `group`, and measures of its tickets; unfair is that of their matches. With
    the tick itself, it also has the reasons why tickets were not matched.
    """
    people = day.people
    if not len(people.created):
        return
    skill = np.add.reduceat(people.skill, people.first[:-1]) / people.size
    decile = np.searchsorted(np.quantile(skill, np.arange(1, 10) / 10), skill, side="right")
    hour = (day.model.start_hour + people.created / SECONDS_PER_HOUR) % 24
    kinds: dict[str, tuple[Ids, Mapping[int, str]]] = {
        "skill decile": (decile + 1, {}),
        "party size": (people.size, {}),
        "hour": (hour.astype(np.int64), {}),
    }
    if people.latency.shape[1]:
        kinds["home region"] = (
            people.latency.argmin(axis=1),
            dict(enumerate(day.model.region_names)),
        )
    unfair = unfair_of(day, matches)
    for by, (values, named) in kinds.items():
        for value in np.unique(values).tolist():
            yield {
                "by": by,
                "group": named.get(value, str(value)),
                **of_tickets(day, unfair, values == value),
            }


def unfair_of(day: SimulatedDay, matches: Matches) -> Floats:
    """Return abs(p - 1/2) of each ticket's match, from true skills; NaN without one."""
    matched = day.outcome.status == MATCHED
    unfair = np.full(len(matched), np.nan)
    unfair[matched] = np.abs(matches.p_skill - 0.5)[day.outcome.match[matched]]
    return unfair


def reasons_of(day: SimulatedDay, chosen: Flags | slice = slice(None)) -> dict[str, int]:
    """Return why tickets that did not meet waited at the end of their wait: reason -> tickets."""
    values, counts = np.unique(np.array(day.why)[chosen], return_counts=True)
    return {str(why): int(number) for why, number in zip(values, counts, strict=True) if why}


def of_tickets(day: SimulatedDay, unfair: Floats, chosen: Flags) -> dict[str, Any]:
    """Return the measures of some tickets of a day; unfair : as of `unfair_of`."""
    both = chosen & (day.outcome.status == MATCHED)
    row = _waits_of(day, chosen) | {"unfair": math.nan}
    if both.any():
        row["unfair"] = float(np.nanmean(unfair[both]))
    return row | {"reasons": reasons_of(day, chosen)} if day.why else row


def _waits_of(day: SimulatedDay, chosen: Flags) -> dict[str, Any]:
    """Return how long some tickets waited, and the shares of those who were not matched."""
    status = day.outcome.status[chosen]
    wait = (day.outcome.left - day.people.created)[chosen][status == MATCHED]
    p50, p95 = time_to_match(day, (0.5, 0.95), chosen)
    return {
        "tickets": len(status),
        "wait_mean": float(wait.mean()) if len(wait) else math.nan,
        "wait_p95": float(np.quantile(wait, 0.95)) if len(wait) else math.nan,
        "to_match_p50": p50,
        "to_match_p95": p95,
        "gave_up": float(np.mean(status == GAVE_UP)),
        "expired": float(np.mean(status == EXPIRED)),
    }
