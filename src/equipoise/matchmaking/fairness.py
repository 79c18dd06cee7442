"""How far the win probability of the best division is from 1/2, and sets that make it smaller.

The measure is that of `balance`: half of the highest minus the lowest expected score, which for two
teams is abs(p - 1/2). Divisions have the least difference of member counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.data.lobby import Id
from equipoise.data.outlook import TeamModel, team_mean_outlook
from equipoise.errors import InvalidDataError, Problem
from equipoise.matchmaking.pool import Pool
from equipoise.matchmaking.search import RANK_BITS, UNIT, Around, Budget, Found, Search
from equipoise.rating.calibration_curve import LearnedCurve, corrected_sums, experience_of
from equipoise.rating.predicting import system_model
from equipoise.rating.system import RatingSystem
from equipoise.teams.even_teams import LISTED_PARTIES, two_team_divisions
from equipoise.teams.lobby_task import Chances

Teams = Callable[[Around, Sequence[int]], tuple[int, ...]]
#: Exchanges of one ticket that are tried for each place, the nearest first.
_NEAREST = 32
#: Nodes of one evaluation of a set; many tickets take more. It takes as long as three times these
#: nodes of a search, which the tick counts, because a price of waiting lets every ticket evaluate.
_EVALUATION, _PAIRS, _OF_TICK = 20, 32, 3


def _no_margin(rating: Floats) -> float:
    return 0.0


TEAM_MEAN = TeamModel(
    by="team mean", fits=lambda sizes: True, outlook=team_mean_outlook, margin=_no_margin
)


class Fairness:
    """The predictions for tickets of a pool.

    teams : makes teams where there are too many divisions to look at
    curve : corrects the chances of teams that the system can rate; None for none
    """

    def __init__(
        self,
        pool: Pool,
        system: RatingSystem | None,
        ratings: Mapping[Id, tuple[float, float]] | None,
        teams: Teams,
        curve: LearnedCurve | None = None,
    ) -> None:
        self.model = TEAM_MEAN if system is None else system_model(system)
        self.teams, self.pool, self.curve = teams, pool, curve
        known = None if ratings is None else {str(name): rating for name, rating in ratings.items()}
        missing = (
            [] if known is None else [player for player in pool.rows_of if player not in known]
        )
        if missing:
            rule = "must have a rating for each player"
            what = f"{len(missing)} players have no rating"
            raise InvalidDataError([Problem("", None, "ratings", rule, missing[0])], what)
        #: Rating, deviation and earlier matches of the players of each row, shape (3, players).
        self.players: list[Floats] = []
        for row, ticket in enumerate(pool.tickets):
            numbers = []
            for name in (str(player.player) for player in ticket.players):
                own = (float(pool.value[row, 0]), 0.0) if known is None else known[name]
                numbers.append((*own, 0.0 if curve is None else curve.earlier.get(name, 0.0)))
            self.players.append(np.array(numbers, dtype=np.float64).reshape(-1, 3).T)
        rows = range(len(pool.tickets))
        outlook = self.model.outlook(*self._of(rows)[:2])
        # Sums over the players of every row, for the exchanges.
        self.centre = np.bincount(np.repeat(rows, pool.size), outlook.centre, minlength=len(rows))
        self.adds = outlook.team == "sum"

    def _of(self, rows: Iterable[int]) -> Floats:
        """Return the numbers of the players of rows, shape (3, players)."""
        return np.concatenate([np.zeros((3, 0)), *(self.players[row] for row in rows)], axis=1)

    def best(self, around: Around, rows: Sequence[int]) -> tuple[int, tuple[int, ...]]:
        """Return billionths of the measure of the best division, and the team of each member."""
        members = around.members(rows)
        divisions = self._divisions(around, members, rows)
        spread, chosen = self.spread(around, members, divisions)
        return round(spread / 2 * UNIT), chosen

    def _divisions(self, around: Around, members: list[int], rows: Sequence[int]) -> Ints:
        """Return divisions as rows of the team of each member."""
        low, high, least, most = around.alliance
        pool = around.pool
        sizes = tuple(int(pool.size[row]) for row in members)
        if around.loads is None and not pool.separates and low == high == 2:
            if len(members) <= LISTED_PARTIES:
                first = two_team_divisions(sizes, least, min(most, sum(sizes)))
                return np.asarray(1 - first, dtype=np.int64)
            return np.array([self.teams(around, rows)])
        divisions = np.array(around.divisions(rows) or [self.teams(around, rows)], dtype=np.int64)
        if pool.separates and len(divisions) > 1:
            return divisions
        return np.concatenate([np.array([self.teams(around, rows)]), divisions])

    def spread(
        self, around: Around, members: Sequence[int], divisions: Ints
    ) -> tuple[float, tuple[int, ...]]:
        """Return the highest minus the lowest expected score of the best division, and it."""
        loads = around.loads or ()
        teams = max(int(divisions.max()) + 1, sum(1 for load in loads if load))
        session = [around.row] if loads else []
        everyone = [*session, *members]
        if teams < 2:
            return 0.0, tuple(divisions[0].tolist())
        count = np.bincount(divisions[0], around.pool.size[list(members)], minlength=teams)
        sizes = [max(int(number), 1) for number in count]
        rating, deviation, earlier = self._of(everyone)
        fits = self.model.fits(sizes)
        if fits:
            outlook = self.model.outlook(rating, deviation)
        else:
            outlook = team_mean_outlook(rating, np.nan_to_num(deviation))
        margin = self.model.margin(rating) if teams == 2 else 0.0
        curve = self.curve if fits else None
        correct = None if curve is None else partial(corrected_sums, curve.numbers)
        experience = None if curve is None else experience_of(earlier)
        chances = Chances(outlook, teams, margin, experience, correct)
        columns = chances.columns
        at = np.cumsum([0, *around.pool.size[everyone].tolist()])
        parties = np.add.reduceat(columns, at[len(session) : -1], axis=1)
        fixed = np.zeros((len(columns), teams))
        if session:
            start = 0
            for team, load in enumerate(loads):
                if load:
                    fixed[:, team] = columns[:, start : start + load].sum(axis=1)
                start += load
        sums = np.stack([parties @ (divisions == team).T for team in range(teams)], axis=1)
        sums = sums + fixed[:, :, None]
        sums[0] = np.maximum(sums[0], 1.0)
        players = sums[0].max(axis=0) - sums[0].min(axis=0)
        spread = chances.spread(sums)
        chosen = int(np.lexsort((np.round(spread, 12), players))[0])
        return float(spread[chosen]), tuple(divisions[chosen].tolist())

    def improve(
        self, around: Around, search: Search, best: Found, rows: Ints, budget: Budget
    ) -> Found:
        """Return a set with as many players and a smaller measure, or the same set.

        rows : candidates, the nearest first
        """
        cost, _ = self.best(around, best.rows)
        current = best.rows
        size = around.pool.size
        nodes = _EVALUATION + len(best.rows) ** 2 // _PAIRS
        exact = self._count(around, rows, best.players) <= budget.left // nodes
        if exact:
            for chosen in self._sets(around, search, rows, best.players):
                budget.spend(nodes, _OF_TICK)
                other, _ = self.best(around, chosen)
                key = (other, sum(chosen), chosen)
                if key < (cost, sum(current), current):
                    cost, current = other, chosen
        while not exact and cost > 0:
            step = None
            for place, row in enumerate(current):
                same = rows[(size[rows] == size[row]) & ~np.isin(rows, current)][:_NEAREST]
                others = [other for at, other in enumerate(current) if at != place]
                for candidate in self._promising(around, others, same):
                    if not search.allows([*others, candidate]):
                        continue
                    if not budget.spend(nodes, _OF_TICK):
                        break
                    chosen = tuple(sorted([*others, candidate]))
                    other, _ = self.best(around, chosen)
                    if other < cost:
                        cost, step = other, chosen
            if step is None:
                break
            current = step
        proved = best.players == best.most and (exact or cost == 0)
        weight = (cost << RANK_BITS) + sum(current)
        bound = weight if proved else sum(current)
        return Found(current, best.players, weight, bound, best.most)

    def _promising(self, around: Around, others: Sequence[int], same: Ints) -> list[int]:
        """Return the few candidates for a place with which two teams differ least."""
        if around.loads is not None or len(others) + 2 > LISTED_PARTIES or not len(same):
            return [int(row) for row in same[:4]]
        members = np.array([around.row, *others], dtype=np.int64)
        sizes = (*around.pool.size[members].tolist(), int(around.pool.size[same[0]]))
        first = two_team_divisions(sizes, 0, sum(sizes))
        count = first @ np.array(sizes, dtype=np.float64)
        rest = sum(sizes) - count
        if min(count.min(), rest.min()) == 0:
            return [int(row) for row in same[:4]]
        known, last = first[:, :-1] @ self.centre[members], first[:, -1:]
        one = known[:, None] + last * self.centre[same]
        two = self.centre[members].sum() + self.centre[same] - one
        far = one - two if self.adds else one / count[:, None] - two / rest[:, None]
        order = np.argsort(np.abs(far).min(axis=0), kind="stable")[:4]
        return [int(row) for row in same[order]]

    def _count(self, around: Around, rows: Ints, players: int) -> int:
        """Return the number of sets with this number of players, at most a large number."""
        ways = [1] + [0] * players
        for size in around.pool.size[rows].tolist():
            for total in range(players, size - 1, -1):
                ways[total] = min(ways[total] + ways[total - size], 10**9)
            if ways[players] > 10**6:
                break
        return ways[players]

    def _sets(
        self, around: Around, search: Search, rows: Ints, players: int
    ) -> Iterator[tuple[int, ...]]:
        """Yield the legal sets of rows with this number of players."""
        everyone = sorted(rows.tolist())
        sizes = [int(around.pool.size[row]) for row in everyone]

        def further(at: int, rest: int, chosen: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
            if rest == 0:
                if around.fits([int(around.pool.size[row]) for row in chosen]).possible:
                    yield chosen
                return
            for one in range(at, len(everyone)):
                if sizes[one] <= rest:
                    yield from further(one + 1, rest - sizes[one], (*chosen, everyone[one]))

        return (rows for rows in further(0, players, ()) if search.allows(rows))
