"""Section 13 of team Glicko-2: fair teams found by looking at every split, as printed.

Source: [TG2]_ section 13, READINGS A10; numbers in brackets are its equations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache
from inspect import signature
from typing import NamedTuple, TypeAlias

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.lobby import Lobby
from equipoise.teams.lobby_split import balance
from papers.items import Facts
from papers.lines import Line, agrees, beyond, compared, holds, largest, never

LAMBDA = 0.8
#: Values that differ by less are ties (READINGS A10).
_TIE = 1e-9


#: Both teams, as rows.
_Teams: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]


class Case(NamedTuple):
    """A lobby, the best split by the printed rules, and ours.

    found : best teams as sorted ids, J [48], S_T/|T| and U_T [46], [47] of the two teams
    """

    lobby: Lobby
    teams: tuple[tuple[int, ...], ...]
    objective: float
    strengths: tuple[float, float]
    uncertainties: tuple[float, float]
    ours: tuple[tuple[int, ...], ...]
    our_objective: float
    our_rating_difference: float
    our_deviation_difference: float


def _strength(effective: Floats, team: tuple[int, ...]) -> float:
    """Return S_T/|T| [46]."""
    return math.fsum(effective[i] for i in team) / len(team)


def _uncertainty(deviation: Floats, team: tuple[int, ...]) -> float:
    """Return U_T [47]."""
    return math.sqrt(math.fsum(deviation[i] ** 2 for i in team))


def splits(effective: Floats, rating: Floats) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the splits that keep section 13.4, the team of the top player first."""
    n = len(effective)
    top, second = sorted(range(n), key=lambda i: (-effective[i], -rating[i], i))[:2]
    # The top player is in the smaller team if the teams are uneven.
    size = n // 2
    others = [i for i in range(n) if i not in (top, second)]
    found = []
    for mates in itertools.combinations(others, size - 1):
        own = tuple(sorted((top, *mates)))
        found.append((own, tuple(i for i in range(n) if i not in own)))
    return found


@cache
def cases(count: int, seed: int) -> list[Case]:
    """Return random lobbies of 4 to 10 players, each with both answers."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(count):
        n = int(rng.integers(4, 11))
        # Whole numbers, so that ties occur.
        rating = np.round(rng.normal(1400, 150, n) / 50) * 50
        effective = rating + np.round(rng.normal(0, 20, n) / 20) * 20
        deviation = np.round(rng.uniform(40, 350, n) / 30) * 30
        lobby = Lobby(
            player_ids=np.arange(n),
            rating=rating,
            deviation=deviation,
            effective_rating=effective,
        )
        ours = balance(lobby, alternatives=0, costs=False)
        best = _best(effective, rating, deviation)
        own = tuple(tuple(sorted(int(one) for one in team)) for team in ours.teams)
        found.append(
            Case(
                lobby,
                best,
                _objective(effective, deviation, best),
                (_strength(effective, best[0]), _strength(effective, best[1])),
                (_uncertainty(deviation, best[0]), _uncertainty(deviation, best[1])),
                own,
                ours.best.objective,
                ours.best.rating_difference,
                ours.best.deviation_difference,
            )
        )
    return found


def _objective(
    effective: Floats, deviation: Floats, teams: tuple[tuple[int, ...], tuple[int, ...]]
) -> float:
    """Return J [48]."""
    a, b = teams
    strength = _strength(effective, a) - _strength(effective, b)
    u_a = _uncertainty(deviation, a) / math.sqrt(len(a))
    u_b = _uncertainty(deviation, b) / math.sqrt(len(b))
    return abs(strength) + LAMBDA * abs(u_a - u_b)


def _best(
    effective: Floats, rating: Floats, deviation: Floats
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the split of sections 13.4 and 13.5, ties in the order of READINGS A10."""
    left = splits(effective, rating)
    values: tuple[Callable[[_Teams], float], ...] = (
        lambda one: _objective(effective, deviation, one),
        lambda one: abs(_strength(rating, one[0]) - _strength(rating, one[1])),
        lambda one: abs(_uncertainty(deviation, one[0]) - _uncertainty(deviation, one[1])),
    )
    for value in values:
        least = min(map(value, left))
        left = [one for one in left if value(one) <= least + _TIE]
    return min(left)


def _count(facts: Facts) -> int:
    return max(facts.cases // 5, 1)


def objective(facts: Facts) -> list[Line]:
    """Return a line on J of our teams, and on its weight."""
    found = cases(_count(facts), facts.seed)
    worst = largest(*(abs(one.objective - one.our_objective) for one in found))
    default = float(signature(balance).parameters["uncertainty_weight"].default)
    return [
        agrees("the least J of all splits", worst, 1e-9, len(found), of="lobby"),
        compared("lambda", "0.8", default),
    ]


def strengths(facts: Facts) -> list[Line]:
    """Return a line on the difference of S_T/|T|."""
    found = cases(_count(facts), facts.seed)
    worst = largest(
        *(abs(abs(a - b) - one.our_rating_difference) for one in found for a, b in [one.strengths])
    )
    return [agrees("S_A/|A| - S_B/|B|", worst, 1e-9, len(found), of="lobby")]


def uncertainties(facts: Facts) -> list[Line]:
    """Return a line on the difference of U_T/sqrt|T|."""
    found = cases(_count(facts), facts.seed)
    worst = 0.0
    for one in found:
        u = [v / math.sqrt(len(t)) for v, t in zip(one.uncertainties, one.teams, strict=True)]
        worst = largest(worst, abs(abs(u[0] - u[1]) - one.our_deviation_difference))
    return [agrees("U_A/sqrt|A| - U_B/sqrt|B|", worst, 1e-9, len(found), of="lobby")]


def scores(facts: Facts) -> list[Line]:
    """Return a line on S_i = R_eff: teams depend on the effective rating, not on R alone."""
    found = cases(_count(facts), facts.seed)
    worst = largest(
        *(
            abs(_strength(np.asarray(one.lobby.effective_rating), one.ours[0]) - one.strengths[0])
            for one in found
        )
    )
    return [agrees("the score of a team's players", worst, 1e-9, len(found), of="lobby")]


def top_two(facts: Facts) -> list[Line]:
    """Return a count of lobbies whose two best players are in one team."""
    found, wrong = cases(_count(facts), facts.seed), 0
    for one in found:
        effective, rating = np.asarray(one.lobby.effective_rating), one.lobby.rating
        best = sorted(range(len(rating)), key=lambda i: (-effective[i], -rating[i], i))[:2]
        wrong += any(set(best) <= set(team) for team in one.ours)
    return [never("the top two are in one team", wrong, len(found), of="lobby")]


def uneven(facts: Facts) -> list[Line]:
    """Return a count of uneven lobbies whose top player is in the larger team."""
    found, wrong = [one for one in cases(_count(facts), facts.seed) if one.lobby.players % 2], 0
    for one in found:
        effective, rating = np.asarray(one.lobby.effective_rating), one.lobby.rating
        top = min(range(len(rating)), key=lambda i: (-effective[i], -rating[i], i))
        small, large = sorted(one.ours, key=len)
        wrong += top in large or len(large) - len(small) != 1
    return [never("the top player is in the larger team", wrong, len(found), of="lobby")]


def tie_breaking(facts: Facts) -> list[Line]:
    """Return a count of lobbies where the teams are not those of the printed rules."""
    found = cases(_count(facts), facts.seed)
    wrong = sum(one.teams != one.ours for one in found)
    return [never("other teams than the first of all splits", wrong, len(found), of="lobby")]


def confidence(facts: Facts) -> list[Line]:
    """Return how even the uncertainties are, with lambda and without."""
    found = cases(_count(facts), facts.seed)
    with_it = float(np.mean([one.our_deviation_difference for one in found]))
    splits_without = [
        balance(one.lobby, uncertainty_weight=0.0, alternatives=0, costs=False).best
        for one in found
    ]
    without = float(np.mean([one.deviation_difference for one in splits_without]))
    ratings = float(np.mean([one.our_rating_difference for one in found]))
    bare = float(np.mean([one.rating_difference for one in splits_without]))
    return [
        holds(
            "mean difference of uncertainties, lambda 0.8 and 0",
            "smaller with lambda",
            f"{with_it:.1f} and {without:.1f} points",
            with_it < without,
        ),
        beyond(
            "mean difference of ratings, lambda 0.8 and 0", f"{ratings:.1f} and {bare:.1f} points"
        ),
    ]
