"""Definitions, formulas and theorems of the document over random tournaments.

Numbers in brackets are its equations. Formulas are computed as printed, in plain sums, beside the
public functions. Theorems are counted violations, also where an assumption is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.games import Games
from equipoise.errors import NoEquilibriumError
from equipoise.tournament.curves import Curve, CurveName, curve_of
from equipoise.tournament.equilibrium import Equilibrium, performance_equilibrium
from equipoise.tournament.existence import existence
from equipoise.tournament.formulas import complete_performance, recursive_performance
from equipoise.tournament.pairs import gather_pairs
from papers.items import Facts
from papers.lines import Line, agrees, beyond, dropped, holds, largest, never
from papers.performance.iteration import (
    performance_function,
    performance_iteration,
    performance_potential,
    potential_of,
)
from papers.performance.tournaments import random_tournaments, round_robin

CURVES: tuple[CurveName, ...] = ("elo", "normal", "laplace", "cauchy")
#: Relative differences that the rounding of a few operations explains.
_ROUNDING = 1e-9
#: Rating points; f and the equilibrium are solved to about a millionth.
_SOLVED = 1e-5


def tournaments(facts: Facts, *, connected: bool = False, closed: bool = False) -> list[Games]:
    """Return the random cases."""
    return random_tournaments(facts.cases, facts.seed, connected=connected, closed=closed)


@cache
def _solved(cases: int, seed: int) -> list[tuple[Games, Equilibrium]]:
    """Return tournaments that have an equilibrium, and what was found."""
    games = random_tournaments(cases, seed, closed=True)
    return [(one, performance_equilibrium(one, anchor=1500.0)) for one in games]


def solved(facts: Facts) -> list[tuple[Games, Equilibrium]]:
    """Return the random cases in which nobody was swept."""
    return _solved(facts.cases, facts.seed)


def _fewer(facts: Facts) -> Facts:
    """Return a quarter of the cases, for statements that solve every tournament."""
    return replace(facts, cases=max(1, facts.cases // 4))


def expected_scores(games: Games, x: Floats, curve: Curve, scale: float = 1.0) -> Floats:
    """Return E(x) of Definition 3, game by game; a term of nobody is 0."""
    total = np.zeros(games.players)
    t = (x[games.white] - x[games.black]) / scale
    np.add.at(total, games.white, games.weights * curve.expected(t))
    np.add.at(total, games.black, games.weights * curve.expected(-t))
    return total


def _ratings(games: Games, x: Floats) -> dict[int, float]:
    return dict(zip(games.player_ids.tolist(), x.tolist(), strict=True))


def _differences(count: int, seed: int) -> Floats:
    return np.random.default_rng(seed).normal(0.0, 600.0, count)


def curves(facts: Facts) -> Iterator[Line]:
    """Yield Definition 1 (a) to (c) for every named curve."""
    t = np.sort(_differences(facts.cases, facts.seed))
    for name in CURVES:
        curve = curve_of(name)
        psi = curve.expected(t)
        apart = np.diff(t) > 1e-6
        falls = int(np.sum(~(curve.slope(t) > 0)) + np.sum(~(np.diff(psi)[apart] > 0)))
        yield never(f"{name}: (a) increasing", falls, facts.cases, of="difference")
        mirrored = float(np.max(np.abs(curve.expected(-t) - (1.0 - psi))))
        yield agrees(f"{name}: (b) psi(-t) = 1 - psi(t)", mirrored, 1e-15, facts.cases)
        ends = curve.expected(np.array([-1e9, 1e9]))
        close = float(np.max(np.abs(ends - [0.0, 1.0])))
        yield agrees(f"{name}: (c) limits 0 and 1, at a billion points", close, 1e-7, 2)


def elo(facts: Facts) -> list[Line]:
    """Return Elo's curve and its slope, as printed."""
    t = _differences(facts.cases, facts.seed)
    curve, power = curve_of("elo"), 10.0 ** (-t / 400.0)
    value = float(np.max(np.abs(curve.expected(t) * (1.0 + power) - 1.0)))
    slope = math.log(10.0) / 400.0 * power / (1.0 + power) ** 2
    return [
        agrees("psi(t) = 1/(1 + 10^(-t/400))", value, 1e-12, facts.cases),
        agrees(
            "psi'(t) of the proof",
            float(np.max(np.abs(curve.slope(t) / slope - 1.0))),
            1e-12,
            facts.cases,
        ),
    ]


def slopes_are_even(facts: Facts) -> Iterator[Line]:
    """Yield Remark 1: psi' is even, and only differences matter."""
    t = _differences(facts.cases, facts.seed)
    for name in CURVES:
        curve = curve_of(name)
        odd = float(np.max(np.abs(curve.slope(t) - curve.slope(-t))))
        yield agrees(f"{name}: psi'(-t) = psi'(t)", odd, 0.0, facts.cases)
    worst = 0.0
    for games in tournaments(facts):
        e = [expected_scores(games, games.initial + c, curve_of("elo")) for c in (0.0, 321.0)]
        worst = largest(worst, float(np.max(np.abs(e[0] - e[1]))))
    yield agrees("E(x + c) = E(x)", worst, _ROUNDING, facts.cases, of="tournament")


def setup(facts: Facts) -> list[Line]:
    """Return section 2: total scores are total games, twice over."""
    worst = largest(*(abs(one.scored().sum() - one.weights.sum()) for one in tournaments(facts)))
    games = [abs(one.played().sum() - 2 * one.weights.sum()) for one in tournaments(facts)]
    return [
        agrees("M = sum of scores = sum of games", float(worst), _ROUNDING, facts.cases),
        agrees("sum of k = 2 M", float(largest(*games)), _ROUNDING, facts.cases),
    ]


def fixed_points(facts: Facts) -> list[Line]:
    """Return Definition 2: f(x*) = x*, and that the TPR is no fixed point."""
    facts = _fewer(facts)
    worst, tprs = 0.0, 0
    for games, found in solved(facts):
        f = performance_function(games, _ratings(games, found.rating))
        worst = largest(worst, float(np.max(np.abs(f - found.rating))))
        tpr = performance_function(games)
        again = performance_function(games, _ratings(games, tpr))
        tprs += bool(np.max(np.abs(again - tpr)) > _SOLVED)
    return [
        agrees("f(x*) = x*, rating points", worst, _SOLVED, facts.cases, of="tournament"),
        dropped(
            "tournaments in which f(TPR) is not the TPR",
            tprs,
            facts.cases,
            of="tournament",
            reason="the abstract: the property does not hold for TPR",
        ),
    ]


def equivalence(facts: Facts) -> Iterator[Line]:
    """Yield Lemma 1: f(x) = x exactly if E(x) = m, for every curve; and both away from it."""
    few = replace(facts, cases=max(1, facts.cases // 10))
    for name in CURVES:
        worst = fixed = 0.0
        for games in tournaments(few, closed=True):
            found = performance_equilibrium(games, anchor=1500.0, curve=name)
            e = expected_scores(games, found.rating, curve_of(name))
            worst = largest(worst, float(np.max(np.abs(e - games.scored()))))
            f = performance_function(games, _ratings(games, found.rating), curve=name)
            fixed = largest(fixed, float(np.max(np.abs(f - found.rating))))
        yield agrees(f"{name}: E(x*) = m, points", worst, 1e-8, few.cases, of="tournament")
        yield agrees(f"{name}: f(x*) = x*, rating points", fixed, _SOLVED, few.cases)
    other = players = 0
    for games in tournaments(facts, closed=True):
        # E_i falls short of m_i exactly if f_i(x) is above x_i. At random ratings neither is 0.
        short = games.scored() - expected_scores(games, games.initial, curve_of("elo"))
        above = performance_function(games) - games.initial
        alike = ((short > 0) & (above > 0)) | ((short <= 0) & (above <= 0))
        other += int(np.sum(~alike))
        players += games.players
    yield never(
        "at random ratings: f_i(x) above x_i, but E_i(x) not below m_i, or the reverse",
        other,
        players,
        of="player",
    )


def equation_1(facts: Facts) -> list[Line]:
    """Return (1): the sum at f(x) is the score, at ratings that are no equilibrium."""
    worst, sides = 0.0, 0
    for games in tournaments(facts, closed=True):
        f = performance_function(games, scale=1.3)
        for row in range(games.players):
            x = games.initial.copy()
            x[row] = f[row]
            for move in (0.0, -1.0, 1.0):
                x[row] = f[row] + move
                over = expected_scores(games, x, curve_of("elo"), 1.3)[row] - games.scored()[row]
                if move == 0.0:
                    worst = largest(worst, abs(float(over)))
                else:
                    sides += not over * move > 0
    return [
        agrees("points expected at f_i(x) less m_i", worst, 1e-8, facts.cases, of="tournament"),
        never("another root a point away on either side", sides, facts.cases, of="tournament"),
    ]


def equation_3(facts: Facts) -> list[Line]:
    """Return (3): the TPR expects the score, and does not exist for none or all points."""
    worst, wrong = 0.0, 0
    for games in tournaments(facts):
        tpr = performance_function(games)
        scored, played = games.scored(), games.played()
        exists = (scored > 0) & (scored < played)
        wrong += int(np.sum(exists != np.isfinite(tpr)))
        for row in np.flatnonzero(exists):
            x = games.initial.copy()
            x[row] = tpr[row]
            e = expected_scores(games, x, curve_of("elo"))
            worst = largest(worst, abs(float(e[row] - scored[row])))
    return [
        agrees("points expected at the TPR less m_i", worst, 1e-8, facts.cases, of="tournament"),
        never("TPR of 0 % or 100 %, or none of another score", wrong, facts.cases, of="tournament"),
    ]


def potential(facts: Facts) -> Iterator[Line]:
    """Yield A, G and P of section 3: symmetric, convex and as printed."""
    rng = np.random.default_rng(facts.seed)
    a, b, c = rng.normal(1500.0, 400.0, (3, facts.cases))
    beta = 1.7

    for name in CURVES:
        curve = curve_of(name)

        def g(first: Floats, second: Floats, curve: Curve = curve) -> Floats:
            return beta * potential_of(curve, (first - second) / beta) + second

        t = (a - b) / beta
        odd = potential_of(curve, t) - potential_of(curve, -t) - t
        yield agrees(f"{name}: A(t) - A(-t) = t", float(np.max(np.abs(odd))), 1e-9, facts.cases)
        swap = float(np.max(np.abs(g(a, b) - g(b, a))))
        yield agrees(f"{name}: G(a, b) = G(b, a)", swap, 1e-8, facts.cases)
        moved = float(np.max(np.abs(g(a + c, b + c) - g(a, b) - c)))
        yield agrees(f"{name}: G(a + c, b + c) = G(a, b) + c", moved, 1e-8, facts.cases)
        bent = int(np.sum(~(g(0.5 * (a + c), b) <= 0.5 * (g(a, b) + g(c, b)) + 1e-8)))
        yield never(f"{name}: G is not convex", bent, facts.cases)


def proposition_2(facts: Facts) -> Iterator[Line]:
    """Yield Proposition 2: P is concave and translation invariant; its gradient is m - E."""
    facts = _fewer(facts)
    moved = slope = 0.0
    bent = lower = 0
    rng = np.random.default_rng(facts.seed)
    for games, found in solved(facts):
        here = performance_potential(games)
        there = performance_potential(games, _ratings(games, games.initial + 123.0))
        moved = largest(moved, abs(here.value - there.value))
        e = expected_scores(games, games.initial, curve_of("elo"))
        slope = largest(slope, float(np.max(np.abs(here.gradient - (games.scored() - e)))))
        bent += not np.max(np.linalg.eigvalsh(here.curvature)) <= 1e-12
        best = performance_potential(games, _ratings(games, found.rating)).value
        near = found.rating + rng.normal(0.0, 30.0, games.players)
        lower += not performance_potential(games, _ratings(games, near)).value <= best + 1e-8
    yield agrees("P(x + c) = P(x)", moved, 1e-6, facts.cases, of="tournament")
    yield agrees("gradient of P = m - E", slope, 1e-9, facts.cases, of="tournament")
    yield never("a second derivative above 0", bent, facts.cases, of="tournament")
    yield never("P higher near the equilibrium than at it", lower, facts.cases, of="tournament")


def equation_4(facts: Facts) -> list[Line]:
    """Return (4): the quadratic form of the second derivatives."""
    worst = 0.0
    rng = np.random.default_rng(facts.seed)
    for games in tournaments(facts, connected=True):
        h = rng.normal(0.0, 1.0, games.players)
        found = performance_potential(games, scale=1.4)
        t = (games.initial[games.white] - games.initial[games.black]) / 1.4
        slope = curve_of("elo").slope(t)
        printed = -np.sum(games.weights * slope * (h[games.white] - h[games.black]) ** 2) / 1.4
        worst = largest(worst, abs(float(h @ found.curvature @ h - printed)))
    return [agrees("h' P'' h", worst, 1e-10, facts.cases, of="tournament")]


def equation_5(facts: Facts) -> list[Line]:
    """Return (5): the directional derivative, pair by pair."""
    worst = 0.0
    rng = np.random.default_rng(facts.seed)
    for games in tournaments(facts):
        h = rng.normal(0.0, 1.0, games.players)
        found = performance_potential(games)
        t = games.initial[games.white] - games.initial[games.black]
        over = games.points - games.weights * curve_of("elo").expected(t)
        printed = np.sum((h[games.white] - h[games.black]) * over)
        worst = largest(worst, abs(float(h @ np.nan_to_num(found.gradient) - printed)))
    return [agrees("D_h P", worst, 1e-9, facts.cases, of="tournament")]


def _sweep(games: Games) -> bool:
    """Return whether some set of players took every point of those outside whom it met.

    It looks at every set, as Assumption 2 says it, so this is only for few players.
    """
    pairs = gather_pairs(games)
    for chosen in range(1, 2**games.players - 1):
        inside = (chosen >> np.arange(games.players)) & 1
        first, second = inside[pairs.first], inside[pairs.second]
        out, back = (first > second), (second > first)
        met = pairs.weight[out].sum() + pairs.weight[back].sum()
        given = (pairs.weight - pairs.points)[out].sum() + pairs.points[back].sum()
        if met > 0 and given == 0:
            return True
    return False


def _exists(games: Games) -> bool:
    try:
        performance_equilibrium(games)
    except NoEquilibriumError:
        return False
    return True


def theorem_1(facts: Facts) -> Iterator[Line]:
    """Yield Theorem 1: a finite PRE exists exactly if no set of players swept the others it met."""
    wrong = swept = 0
    cases = tournaments(facts)
    for games in cases:
        sweep = _sweep(games)
        swept += sweep
        wrong += _exists(games) == sweep
    yield never(
        "an equilibrium despite a sweep, or none without one", wrong, len(cases), of="tournament"
    )
    yield dropped(
        "tournaments with a sweep, which have no equilibrium",
        swept,
        len(cases),
        of="tournament",
        reason="without Assumption 2; every set of players is tried",
    )
    grown: list[float] = []
    for games in cases:
        scored, played = games.scored(), games.played()
        extreme = (scored == 0) | (scored == played)
        if np.any(extreme & (played > 0)) or existence(gather_pairs(games), games.players).exists:
            continue
        grown.append(_apart(games))
    yield dropped(
        "sweeps by groups in which x <- f(x) still moves apart after 200 steps",
        sum(one > 0.1 for one in grown),
        len(grown),
        of="tournament",
        reason="nobody has 0 % or 100 %, so f exists, but it has no fixed point",
    )
    if grown:
        yield beyond(
            "distance between the best and the last, from step 100 to step 200",
            f"grows by {min(grown):.0f} to {max(grown):.0f} points",
            reason="a step adds about 10^(-d/400) of what it adds at a distance d, so d grows like "
            "400 log10 of the steps: 120 points while they double, for each sweep in a row",
        )


def _apart(games: Games) -> float:
    """Return how far the iteration moves players apart between steps 100 and 200."""
    run = performance_iteration(games, 1500.0, steps=200, settled=0)
    # Players without games have no performance.
    spread = np.ptp(run.ratings[:, games.played() > 0], axis=1)
    # Two steps, because groups of which nobody met one of the own group alternate.
    return float(spread[-2:].mean() - spread[99:101].mean())


def theorem_2(facts: Facts) -> list[Line]:
    """Return Theorem 2: one equilibrium except for a constant, which fails if groups never met.

    The other equilibrium is the highest point of P, climbed to from the ratings before.
    """
    facts = _fewer(facts)
    worst, loose = 0.0, 0
    for games, found in solved(facts):
        worst = largest(worst, float(np.ptp(_climbed(games) - found.rating)))
    cases = tournaments(facts)
    for games in cases:
        loose += existence(gather_pairs(games), games.players).components > 1
    return [
        agrees(
            "ours and the highest point of P differ by one constant, rating points",
            worst,
            _SOLVED,
            facts.cases,
            of="tournament",
        ),
        dropped(
            "tournaments of groups that never met: a constant each",
            loose,
            len(cases),
            of="tournament",
            reason="without Assumption 1",
        ),
    ]


def _climbed(games: Games) -> Floats:
    """Return where P is highest, by Newton's method from the ratings before, steps halved."""
    x = games.initial.copy()
    here = performance_potential(games, _ratings(games, x))
    for _ in range(200):
        step = -np.linalg.pinv(here.curvature) @ here.gradient
        if np.max(np.abs(step)) < 1e-9:
            break
        # A long step may pass over the maximum, where P is almost linear.
        step *= min(1.0, 400.0 / float(np.max(np.abs(step))))
        there = performance_potential(games, _ratings(games, x + step))
        while there.value < here.value - 1e-9 and np.max(np.abs(step)) > 1e-9:
            step *= 0.5
            there = performance_potential(games, _ratings(games, x + step))
        x, here = x + step, there
    return x


def selection(facts: Facts) -> Iterator[Line]:
    """Yield section 4: the iteration from equal ratings, and what it depends on."""
    worst, tried, still = 0.0, 0, 0
    drift: list[float] = []
    few = replace(facts, cases=max(1, facts.cases // 20))
    for games, found in solved(few):
        drift.append(abs(float(np.mean(found.rating)) - 1500.0))
        run = performance_iteration(games, 1500.0, steps=200, settled=1e-6)
        if run.settled_at is None:
            still += 1
            continue
        tried += 1
        worst = largest(worst, float(np.max(np.abs(run.ratings[-1] - found.rating))))
    yield agrees(
        "limit of the iteration less ours, rating points",
        worst,
        0.05,
        tried,
        of="tournament",
    )
    yield dropped(
        "tournaments in which the iteration does not settle in 200 steps",
        still,
        few.cases,
        of="tournament",
        reason="it alternates if no player met one of the own group, or is slow; ours is found",
    )
    yield dropped(
        "tournaments whose mean PPR is more than a point from the average",
        sum(one > 1.0 for one in drift),
        few.cases,
        of="tournament",
        reason="the mean drifts during the iteration; --select mean keeps it",
    )


def independent(facts: Facts) -> list[Line]:
    """Return that PPRs do not depend on ratings before the tournament, given their average."""
    facts = _fewer(facts)
    worst = 0.0
    for games, _ in solved(facts):
        found = performance_equilibrium(games)
        other = replace(games, rating=games.initial[::-1].copy())
        worst = largest(
            worst,
            float(np.max(np.abs(performance_equilibrium(other).rating - found.rating))),
        )
    return [
        agrees(
            "PPRs with other ratings before, same average", worst, 0.0, facts.cases, of="tournament"
        )
    ]


def paradox(facts: Facts) -> list[Line]:
    """Return how often a win against a much weaker player lowers a performance."""
    facts = _fewer(facts)
    rng = np.random.default_rng(facts.seed)
    lower = {"recursive": 0, "ppr": 0}
    for games, _ in solved(facts):
        weak = games.players
        points = np.array([0.5])
        row = int(rng.integers(games.players))
        # One more player, who makes a tenth of a point against each of the two lowest rated; in
        # `won` it also loses to `row`.
        order = np.argsort(games.initial)[:2]
        ids = np.arange(weak + 1)
        base = Games(
            player_ids=ids,
            white=np.concatenate([games.white, np.full(2, weak)]),
            black=np.concatenate([games.black, order]),
            points=np.concatenate([games.points, np.repeat(points, 2) * 0.2]),
            weight=np.concatenate([games.weights, np.ones(2)]),
            rating=np.append(games.initial, games.initial.min() - 600.0),
        )
        won = replace(
            base,
            white=np.append(base.white, row),
            black=np.append(base.black, weak),
            points=np.append(base.points, 1.0),
            weight=np.append(base.weights, 1.0),
        )
        before, after = (
            performance_equilibrium(one, anchors={int(weak): 900.0}).rating for one in (base, won)
        )
        lower["ppr"] += not after[row] >= before[row] - 1e-6
        before, after = (recursive_performance(one, anchor=1500.0) for one in (base, won))
        lower["recursive"] += not after[row] >= before[row] - 1e-6
    return [
        dropped(
            "a win against the weakest lowers the recursive performance",
            lower["recursive"],
            facts.cases,
            reason="the introduction says that it can",
            of="tournament",
        ),
        never(
            "a win against a held player lowers the PPR of the winner",
            lower["ppr"],
            facts.cases,
            of="tournament",
        ),
    ]


def complete(facts: Facts) -> list[Line]:
    """Return that CPR exists for every score, also where TPR does not."""
    missing = players = extreme = 0
    for games in tournaments(facts):
        scored, played = games.scored(), games.played()
        met = played > 0
        missing += int(np.sum(~np.isfinite(complete_performance(games)[met])))
        players += int(np.sum(met))
        extreme += int(np.sum(met & ((scored == 0) | (scored == played))))
    return [
        never(
            f"no CPR of a player with games, {extreme:,} of them with 0 % or 100 %",
            missing,
            players,
            of="player",
        )
    ]


def not_a_fixed_point(_: Facts) -> list[Line]:
    """Return that recursive performance is no fixed point of f."""
    games = round_robin(1)
    found = recursive_performance(games)
    again = performance_function(games, _ratings(games, found))
    gap = float(np.max(np.abs(again - found)))
    return [
        holds(
            "Table 1: recursive performance is not a fixed point of f",
            "yes",
            f"f moves it by up to {gap:.1f} points",
            gap > 1.0,
        )
    ]
