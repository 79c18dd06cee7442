"""The metrics of a backtest by their definitions: pair by pair, one team after the other.

Source: [EM]_ section 6.2 with READINGS B9. Slow and plain; lists of teams in, lists of numbers out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass
class Team:
    """A team in a match.

    centre, variance : of its performance, as predicted
    rank : lower is better
    players : names of its members
    """

    centre: float
    variance: float
    rank: int
    players: Sequence[object]


def pair_inversion(teams: Sequence[Team], i: int, as_authors: bool) -> float:
    """Return the share of the others that i was rightly placed against, in percent."""
    correct = 0.0
    for j, other in enumerate(teams):
        if j == i:
            continue
        if other.rank == teams[i].rank:
            correct += 1
        elif other.centre == teams[i].centre:
            correct += 1 if as_authors else 0.5
        elif (other.centre < teams[i].centre) == (other.rank > teams[i].rank):
            correct += 1
    return 100 * correct / (len(teams) - 1)


def predicted_place(teams: Sequence[Team], i: int, as_authors: bool) -> float:
    """Return the place, from 0, that i was predicted to take."""
    above = sum(other.centre > teams[i].centre for other in teams)
    equal = [j for j, other in enumerate(teams) if other.centre == teams[i].centre]
    if as_authors:
        return above + sorted(equal, key=lambda j: (teams[j].rank, j)).index(i)
    return above + (len(equal) - 1) / 2


def rank_deviation(teams: Sequence[Team], i: int, as_authors: bool) -> float:
    """Return how far the predicted place lies from the nearest of those i took, in percent."""
    first = sum(other.rank < teams[i].rank for other in teams)
    last = sum(other.rank <= teams[i].rank for other in teams) - 1
    place = predicted_place(teams, i, as_authors)
    nearest = min(max(place, first), last)
    return 100 * abs(place - nearest) / (len(teams) - 1)


def beaten(teams: Sequence[Team], i: int) -> float:
    """Return the share of the others that i beat, a tie one half."""
    points = [score(teams[i], other) for j, other in enumerate(teams) if j != i]
    return sum(points) / len(points)


def ndcg(teams: Sequence[Team], as_authors: bool) -> float:
    """Return the gain in the predicted order over that in the best one.

    Teams predicted equal are put in every one of their places in turn.
    """
    gained = 0.0
    for i in range(len(teams)):
        place = predicted_place(teams, i, as_authors)
        equal = 1 if as_authors else sum(other.centre == teams[i].centre for other in teams)
        first = round(place - (equal - 1) / 2)
        discounts = [1 / math.log2(2 + p) for p in range(first, first + equal)]
        gained += beaten(teams, i) * sum(discounts) / equal
    gains = sorted((beaten(teams, i) for i in range(len(teams))), reverse=True)
    return gained / sum(gain / math.log2(2 + p) for p, gain in enumerate(gains))


def score(one: Team, other: Team) -> float:
    """Return what one made of the other."""
    return 0.5 if one.rank == other.rank else float(one.rank < other.rank)


def expected(one: Team, other: Team, normal: bool) -> float:
    """Return the chance that one beats the other."""
    z = (one.centre - other.centre) / math.sqrt(one.variance + other.variance)
    return 0.5 * math.erfc(-z / math.sqrt(2)) if normal else 1 / (1 + math.exp(-z))


def opponents(teams: Sequence[Team], i: int, match: int, all_pairs: int) -> list[int]:
    """Return whom i's losses are the mean over: all others, or eight on the circle of places.

    All others as well where all are predicted equal: then no pair need be left out.
    """
    n = len(teams)
    if n <= all_pairs or len({team.centre for team in teams}) == 1:
        return [j for j in range(n) if j != i]
    circle = sorted(range(n), key=lambda j: (teams[j].rank, j))
    shift = math.fmod((match + 1) * GOLDEN, 1.0)
    distances = [1 + int((number + shift) * (n - 1) / 8) for number in range(8)]
    return [circle[(circle.index(i) + distance) % n] for distance in distances]


def log_loss(one: Team, other: Team, normal: bool) -> float:
    """Return the logarithmic loss of a pair, in nats."""
    s = score(one, other)
    win, loss = expected(one, other, normal), expected(other, one, normal)
    return -s * math.log(win) - (1 - s) * math.log(loss)


def brier(one: Team, other: Team, normal: bool) -> float:
    """Return the quadratic loss of a pair."""
    return (score(one, other) - expected(one, other, normal)) ** 2


@dataclass
class Total:
    """A weighted mean on its way."""

    sum: float = 0.0
    weight: float = 0.0

    def add(self, value: float, weight: float) -> None:
        self.sum += weight * value
        self.weight += weight

    @property
    def mean(self) -> float:
        return self.sum / self.weight if self.weight else math.nan


class Backtest:
    """Every mean over a history of matches, each with its number from 0."""

    def __init__(
        self, matches: Sequence[Sequence[Team]], min_history: int, first: int, as_authors: bool
    ) -> None:
        self.min_history, self.as_authors = min_history, as_authors
        self.normal, self.all_pairs = False, 32
        self.means = {
            name: Total()
            for name in (
                *("pair_inversion", "rank_deviation", "pair_inversion_top100"),
                *("rank_deviation_top100", "ndcg", "log_loss", "brier"),
            )
        }
        self.bins = [[0.0, 0.0, 0.0] for _ in range(10)]
        self.participations = 0
        self._matches, self._first = matches, first

    def run(self) -> Backtest:
        """Score every match, and only then count it as an earlier one."""
        earlier: dict[object, int] = {}
        for number, match in enumerate(self._matches):
            tied = len({team.rank for team in match}) == 1
            if len(match) < 2 or (len(match) > 2 and tied):
                continue
            if number >= self._first:
                self._score(number, match, earlier)
            for team in match:
                for player in team.players:
                    earlier[player] = earlier.get(player, 0) + 1
        return self

    def _score(self, number: int, match: Sequence[Team], earlier: dict[object, int]) -> None:
        had = [[earlier.get(player, 0) for player in team.players] for team in match]
        kept = [i for i in range(len(match)) if max(had[i]) >= self.min_history]
        teams = [match[i] for i in kept]
        if len(teams) < 2:
            return
        weights = [sum(one >= self.min_history for one in had[i]) for i in kept]
        top = [sum(other.rank < match[i].rank for other in match) < 100 for i in kept]
        self.participations += sum(weights)
        self._add_pairs(number, teams, weights)
        if len({team.rank for team in teams}) > 1:
            self._add_order(teams, weights, top)

    def _add_order(
        self,
        teams: Sequence[Team],
        weights: Sequence[int],
        top: Sequence[bool],
    ) -> None:
        for i, weight in enumerate(weights):
            for name, metric in (
                ("pair_inversion", pair_inversion),
                ("rank_deviation", rank_deviation),
            ):
                value = metric(teams, i, self.as_authors)
                self.means[name].add(value, weight)
                if top[i]:
                    self.means[f"{name}_top100"].add(value, weight)
        self.means["ndcg"].add(ndcg(teams, self.as_authors), sum(weights))

    def _add_pairs(
        self,
        number: int,
        teams: Sequence[Team],
        weights: Sequence[int],
    ) -> None:
        for i, one in enumerate(teams):
            others = opponents(teams, i, number, self.all_pairs)
            losses: Sequence[tuple[str, Callable[[Team, Team, bool], float]]]
            losses = (("log_loss", log_loss), ("brier", brier))
            for name, loss in losses:
                value = sum(loss(one, teams[j], self.normal) for j in others) / len(others)
                self.means[name].add(value, weights[i])
            for j in others:
                p, s = expected(one, teams[j], self.normal), score(one, teams[j])
                self._note(p, s, weights[i] / len(others))

    def _note(self, p: float, s: float, weight: float) -> None:
        """Put a pair, half seen from either side, into the bins of its expected scores."""
        for side, made in ((p, s), (1 - p, 1 - s)):
            row = self.bins[min(int(10 * side), 9)]
            row[0] += weight / 2
            row[1] += weight / 2 * side
            row[2] += weight / 2 * made


class Groups:
    """Metrics by experience: every pair and player of every match, one after the other.

    A pair is a player and another team; it is in the group of the less experienced of the player
    and that team's most experienced member. It weighs one over the number of the player's
    opponents; of those that are scored by sampled opponents one over their number.
    """

    STARTS = (0, 1, 5)

    def __init__(self, matches: Sequence[Sequence[Team]], first: int, as_authors: bool) -> None:
        self.as_authors, self.normal, self.all_pairs = as_authors, False, 32
        names = ("pair_inversion", "rank_deviation", "log_loss", "brier")
        self.means = [{name: Total() for name in names} for _ in self.STARTS]
        self.players = [0, 0, 0]
        self._matches, self._first = matches, first

    def group(self, earlier: int) -> int:
        return sum(earlier >= start for start in self.STARTS) - 1

    def run(self) -> Groups:
        earlier: dict[object, int] = {}
        for number, match in enumerate(self._matches):
            tied = len({team.rank for team in match}) == 1
            if len(match) < 2 or (len(match) > 2 and tied):
                continue
            if number >= self._first:
                had = [[earlier.get(player, 0) for player in team.players] for team in match]
                for i, mine in enumerate(had):
                    for one in mine:
                        self._add(number, match, i, one, [max(others) for others in had])
            for team in match:
                for player in team.players:
                    earlier[player] = earlier.get(player, 0) + 1
        return self

    def _add(
        self, number: int, match: Sequence[Team], i: int, had: int, best: Sequence[int]
    ) -> None:
        own = self.means[self.group(had)]
        self.players[self.group(had)] += 1
        if len({team.rank for team in match}) > 1:
            own["rank_deviation"].add(rank_deviation(match, i, self.as_authors), 1)
            for j in range(len(match)):
                if j != i:
                    pair = self._right(match[i], match[j])
                    group = self.means[self.group(min(had, best[j]))]
                    group["pair_inversion"].add(pair, 1 / (len(match) - 1))
        met = opponents(match, i, number, self.all_pairs)
        for j in met:
            group = self.means[self.group(min(had, best[j]))]
            group["log_loss"].add(log_loss(match[i], match[j], self.normal), 1 / len(met))
            group["brier"].add(brier(match[i], match[j], self.normal), 1 / len(met))

    def _right(self, one: Team, other: Team) -> float:
        if one.rank == other.rank:
            return 100.0
        if one.centre == other.centre:
            return 100.0 if self.as_authors else 50.0
        return 100.0 * ((one.centre > other.centre) == (one.rank < other.rank))
