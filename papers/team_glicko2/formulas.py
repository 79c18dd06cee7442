"""The update of team Glicko-2 by its printed formulas, beside the update of the package.

Source: [TG2]_ sections 2 to 8 and 10; numbers in brackets are its equations. Random matches are
rated by `TeamGlicko2` with a trace. Each equation is then computed as printed, from the state
before the match that the trace has, in plain floats and one player at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.history import History
from equipoise.rating.replay import replay
from equipoise.rating.systems.glicko2 import game, opponent_weight
from equipoise.rating.systems.team_glicko2 import TeamGlicko2
from papers.items import Facts
from papers.lines import Line, agrees, beyond, largest

SCALE, R_0 = 173.7178, 1400.0
BETA, F_MIN, F_MAX, TAU, N_WINDOW, Z_MAX = 0.2, 0.5, 1.5, 0.5, 10, 3.0
#: Players who meet, largest team, and largest change [30] where one is set, rating points.
_PLAYERS, _LARGEST, MAX_CHANGE = 60, 6, 15.0
#: A beta that reaches the bounds of the factor, which the typical one does not in such teams.
STEEP = 0.6
#: Relative differences that the rounding of a few operations explains; the package solves the
#: volatility to a step of 1e-12 (READINGS A6).
_ROUNDING = 1e-9


class Rated(NamedTuple):
    """A random history and its columns as rated.

    performance : shape (N,); trace : the columns of the package
    """

    history: History
    performance: Floats
    trace: dict[str, Floats]


class Player(NamedTuple):
    """One participation as the document's symbols: all that is known before and after its match.

    others : rows of the opposing team; own : rows of the own team; score : s_i
    """

    row: int
    own: list[int]
    others: list[int]
    score: float


@cache
def rated(cases: int, seed: int, bounded: bool = False, beta: float = BETA) -> Rated:
    """Return random matches of two teams of 1 to 6, with draws, and what the package made of them.

    bounded : with the clamp [30]
    """
    history = random_history(cases, seed)
    system = TeamGlicko2(max_change=MAX_CHANGE if bounded else None, beta=beta)
    trace = replay(system, history, trace=True).trace
    assert trace is not None
    assert history.performance is not None
    return Rated(history, history.performance, dict(trace.columns))


def random_history(cases: int, seed: int) -> History:
    """Return matches of two teams with at least `cases` participations."""
    rng = np.random.default_rng(seed)
    player, team, rank, offsets = [], [], [], [0]
    while offsets[-1] < cases:
        first, second = rng.integers(1, _LARGEST + 1, 2)
        player.append(rng.choice(_PLAYERS, first + second, replace=False))
        team.append(np.repeat([0, 1], [first, second]))
        result = rng.choice(3, p=(0.45, 0.45, 0.1))
        ranks = ((0, 1), (1, 0), (0, 0))[result]
        rank.append(np.repeat(ranks, [first, second]))
        offsets.append(offsets[-1] + int(first + second))
    # Some performances are equal, and some far from the others.
    performance = np.round(rng.normal(10.0, 4.0, offsets[-1]) ** 2 / 10.0)
    return History(
        match_ids=np.arange(len(offsets) - 1),
        player_ids=np.arange(_PLAYERS),
        offsets=np.array(offsets, dtype=np.int64),
        player=np.concatenate(player).astype(np.int64),
        team=np.concatenate(team).astype(np.int64),
        rank=np.concatenate(rank).astype(np.int64),
        performance=performance,
    )


@cache
def players(cases: int, seed: int) -> list[Player]:
    """Return every participation of the random history."""
    history = random_history(cases, seed)
    found = []
    for start, stop in zip(
        history.offsets[:-1].tolist(), history.offsets[1:].tolist(), strict=True
    ):
        rows = range(start, stop)
        for i in rows:
            own = [j for j in rows if history.team[j] == history.team[i]]
            others = [j for j in rows if history.team[j] != history.team[i]]
            mine, theirs = history.rank[i], history.rank[others[0]]
            score = 0.5 if mine == theirs else 1.0 if mine < theirs else 0.0
            found.append(Player(i, own, others, score))
    return found


class Update(NamedTuple):
    """What sections 5 to 8 compute for one player, by their symbols.

    g, e, v, delta : [13]-[16]; sigma : as the package found it [20]; residual : f(a') [18], [19],
        times tau^2, which makes it a distance from the root
    """

    mean: float
    s: float
    z: float
    mu_opp: float
    phi_opp: float
    g: float
    e: float
    v: float
    delta: float
    sigma: float
    residual: float
    phi_star: float
    phi_new: float
    mu_star: float
    change: float
    f: float
    mu_new: float
    clipped: float


def z_score(p: Floats, own: list[int], i: int) -> tuple[float, float, float]:
    """Return the mean [6], the deviation [7] and the z-score [8]; 0 if all are equal (A2)."""
    mean = math.fsum(p[j] for j in own) / len(own)
    s = math.sqrt(math.fsum((p[j] - mean) ** 2 for j in own) / len(own))
    equal = len({p[j] for j in own}) == 1
    return mean, s, 0.0 if equal else (p[i] - mean) / s


def g_of(phi: float) -> float:
    """Return [13]."""
    return 1.0 / math.sqrt(1.0 + 3.0 * phi**2 / math.pi**2)


def f_of(x: float, a: float, delta: float, phi: float, v: float) -> float:
    """Return [19]."""
    e = math.exp(x)
    return e * (delta**2 - phi**2 - v - e) / (2 * (phi**2 + v + e) ** 2) - (x - a) / TAU**2


def as_printed(one: Rated, player: Player, beta: float) -> Update:
    """Return sections 5 to 8 for one player, from the state before the match."""
    trace, i = one.trace, player.row
    mu = {j: (trace["rating_before"][j] - R_0) / SCALE for j in (*player.own, *player.others)}
    phi = {j: trace["deviation_before"][j] / SCALE for j in mu}
    mean, s, z = z_score(one.performance, player.own, i)
    mu_opp = math.fsum(mu[j] for j in player.others) / len(player.others)
    phi_opp = math.sqrt(math.fsum(phi[j] ** 2 for j in player.others) / len(player.others) ** 2)
    g = g_of(phi_opp)
    e = 1.0 / (1.0 + math.exp(-g * (mu[i] - mu_opp)))
    v = 1.0 / (g**2 * e * (1.0 - e))
    delta = v * g * (player.score - e)
    sigma = float(trace["volatility"][i])
    a = math.log(trace["volatility_before"][i] ** 2)
    residual = TAU**2 * f_of(2.0 * math.log(sigma), a, delta, phi[i], v)
    phi_star = math.sqrt(phi[i] ** 2 + sigma**2)
    phi_new = (1.0 / phi_star**2 + 1.0 / v) ** -0.5
    mu_star = mu[i] + phi_new**2 * g * (player.score - e)
    change = mu_star - mu[i]
    f = min(F_MAX, max(F_MIN, 1.0 + beta * (1.0 if change >= 0 else -1.0) * z))
    mu_new = mu[i] + f * change
    most = MAX_CHANGE / SCALE
    clipped = mu[i] + min(most, max(-most, mu_new - mu[i]))
    return Update(
        mean, s, z, mu_opp, phi_opp, g, e, v, delta, sigma, residual, phi_star, phi_new, mu_star,
        change, f, mu_new, clipped,
    )  # fmt: skip


#: Symbol of the document -> what the package has for it.
_COMPARED: dict[str, Callable[[dict[str, Floats]], Floats]] = {
    "z": lambda trace: trace["z"],
    "f": lambda trace: trace["factor"],
    "e": lambda trace: trace["expected"],
    "phi_new": lambda trace: trace["deviation"] / SCALE,
    "mu_star": lambda trace: (trace["rating_unscaled"] - R_0) / SCALE,
    "change": lambda trace: (trace["rating_unscaled"] - trace["rating_before"]) / SCALE,
    "mu_new": lambda trace: (trace["rating"] - R_0) / SCALE,
}


@cache
def updates(cases: int, seed: int, bounded: bool = False, beta: float = BETA) -> list[Update]:
    """Return the printed formulas for every participation."""
    one = rated(cases, seed, bounded, beta)
    return [as_printed(one, player, beta) for player in players(cases, seed)]


def same(facts: Facts, symbol: str, what: str) -> list[Line]:
    """Return a line that compares a symbol of the document with the package's column."""
    ours = _COMPARED[symbol](rated(facts.cases, facts.seed).trace)
    printed = np.array([getattr(one, symbol) for one in updates(facts.cases, facts.seed)])
    difference = float(np.abs(ours - printed).max())
    return [agrees(what, difference, _ROUNDING, len(printed), of="participation")]


def root(facts: Facts) -> list[Line]:
    """Return a line on the equation of the volatility, at the package's solution."""
    found = updates(facts.cases, facts.seed)
    worst = max(abs(one.residual) for one in found)
    return [agrees("tau^2 f(a') at our a'", worst, 1e-9, len(found), of="participation")]


def clamped(facts: Facts) -> list[Line]:
    """Return a line on the optional clamp, in the same matches with a largest change of 15."""
    ours = (rated(facts.cases, facts.seed, True).trace["rating"] - R_0) / SCALE
    found = updates(facts.cases, facts.seed, True)
    printed = np.array([one.clipped for one in found])
    hit = sum(one.clipped != one.mu_new for one in found)
    difference = float(np.abs(ours - printed).max())
    what = f"mu_final with max_change={MAX_CHANGE:g}, which bound {hit:,} changes"
    return [agrees(what, difference, _ROUNDING, len(found), of="participation")]


def form(facts: Facts) -> list[Line]:
    """Return a line on form: [33]-[35] followed through each player's matches."""
    one = rated(facts.cases, facts.seed)
    ema, games = np.zeros(_PLAYERS), np.zeros(_PLAYERS)
    worst, games_played = 0.0, 0
    for player in players(facts.cases, facts.seed):
        i, who = player.row, one.history.player[player.row]
        z = z_score(one.performance, player.own, i)[2]
        clip = min(Z_MAX, max(-Z_MAX, z))
        alpha = 1 / (games[who] + 1) if games[who] < N_WINDOW else 2 / (N_WINDOW + 1)
        ema[who] = clip if games[who] == 0 else (1 - alpha) * ema[who] + alpha * clip
        games[who] += 1
        games_played += 1
        worst = largest(worst, abs(ema[who] - one.trace["form"][i]))
        worst = largest(worst, abs(games[who] - one.trace["form_matches"][i]))
    return [agrees("perfEMA' and perfGames'", worst, _ROUNDING, games_played, of="participation")]


def factor(facts: Facts) -> list[Line]:
    """Return a line on the factor before its bounds [9]."""
    ours = rated(facts.cases, facts.seed).trace["factor"]
    found = zip(updates(facts.cases, facts.seed), players(facts.cases, facts.seed), strict=True)
    # The sign of s - E is that of the change.
    printed = [1.0 + BETA * (1.0 if at.score >= one.e else -1.0) * one.z for one, at in found]
    difference = float(np.abs(ours - np.array(printed)).max())
    return [agrees("f before its bounds", difference, _ROUNDING, len(ours), of="participation")]


def bounded_factor(facts: Facts) -> list[Line]:
    """Return lines on the bounds of the factor [10], [25], also with a beta that reaches them."""
    lines = []
    for beta in (BETA, STEEP):
        ours = rated(facts.cases, facts.seed, False, beta).trace["factor"]
        printed = np.array([one.f for one in updates(facts.cases, facts.seed, False, beta)])
        at_bound = int(((printed == F_MIN) | (printed == F_MAX)).sum())
        what = f"f with beta {beta:g}, {at_bound:,} at a bound"
        difference = float(np.abs(ours - printed).max())
        lines.append(agrees(what, difference, _ROUNDING, len(ours), of="participation"))
    largest = math.sqrt(5 - 1)
    return [
        *lines,
        beyond(
            "the largest |z| of a team of five",
            f"{largest:g}, so that f is in [{1 - BETA * largest:g}, {1 + BETA * largest:g}]",
            reason="In a team of n, |z| is at most sqrt(n - 1). With the typical values and teams "
            "of four or five, as in section 3, the bounds of f [10] and the clip of z at 3 [33] "
            "are never reached: they need teams of eight, and of eleven.",
        ),
    ]


def weight_of_a_game(facts: Facts) -> list[Line]:
    """Return a line on g."""
    phi = np.random.default_rng(facts.seed).uniform(0.0, 5.0, facts.cases)
    worst = max(abs(opponent_weight(one) - g_of(one)) for one in phi.tolist())
    return [agrees("g(phi)", worst, _ROUNDING, facts.cases)]


def of_one_game(facts: Facts, symbol: str) -> list[Line]:
    """Return a line on v or Delta: the package keeps 1/v, and Delta/v."""
    found, worst = updates(facts.cases, facts.seed), 0.0
    one = rated(facts.cases, facts.seed)
    for update, player in zip(found, players(facts.cases, facts.seed), strict=True):
        mu = (one.trace["rating_before"][player.row] - R_0) / SCALE
        _, information, surprise = game(mu, update.mu_opp, update.phi_opp, player.score)
        ours = 1.0 / information if symbol == "v" else surprise / information
        printed = update.v if symbol == "v" else update.delta
        worst = largest(worst, abs(ours - printed) / max(1.0, abs(printed)))
    return [agrees(symbol, worst, _ROUNDING, len(found), of="participation")]


def bisected(facts: Facts) -> list[Line]:
    """Return a line on sigma', against bisection of [18] to the last bit."""
    one, worst = rated(facts.cases, facts.seed), 0.0
    found = updates(facts.cases, facts.seed)
    for i, update in enumerate(found):
        phi = one.trace["deviation_before"][i] / SCALE
        a = math.log(one.trace["volatility_before"][i] ** 2)
        low, high = a - TAU**2, a + TAU**2 * (1.0 + update.delta**2 / update.v)
        for _ in range(200):
            middle = 0.5 * (low + high)
            if f_of(middle, a, update.delta, phi, update.v) > 0:
                low = middle
            else:
                high = middle
        worst = largest(worst, abs(math.exp(0.5 * low) - update.sigma))
    return [agrees("sigma', against bisection", worst, 1e-12, len(found), of="participation")]
