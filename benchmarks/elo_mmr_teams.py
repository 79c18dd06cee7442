"""Is Elo-MMR good for teams?

The model. A team performs at the mean (or the sum) of its members' performances, each a skill plus
noise of the variance beta^2. Phase one of Elo-MMR finds the performance of every team from the
places, as if teams were players. For phase two, a member's performance is that of the team without
the ratings of the mates: of a sum P of n members, P - (sum of the mates' ratings), with the
variance n beta^2. "Mates" adds the mates' own variances, as of a Gaussian model. Beliefs, drift and
everything else are those of `elo-mmr` and `elo-mmx`. A team of one has their bits.

Unreal Tournament 4: two teams of one to six, no draws. Every system is tuned on the first half: the
best log loss of a small grid, which is scored with its defaults too. Scored is the second half,
players with five earlier matches. Differences from the tuned `team-glicko2` are on the same
matches, with the 95 % intervals of 1,000 resamples, as in every backtest.

Incentives: `audit incentives` for eight players, four of them the most active: plans of up to 40
lost matches that would have ended in a higher rating, with the others' ratings frozen, and with all
matches rated again. The best plan of 100, or of 5 of these.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from itertools import product
from typing import Any, ClassVar

import numpy as np
from team_games import GLICKO2, SUMMED, Grid, less, plus_minus, shown, ut4

import equipoise as eq
from equipoise._jit import inlined_update, inner_kernel, kernel
from equipoise.arrays import Floats, Ints
from equipoise.data.backtest import Backtest
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.evaluate.incentives import activity_of, sample
from equipoise.rating.elo_mmr.belief import (
    DEVIATION,
    RATING,
    SCALE_OF_DEVIATION,
    diffuse,
    update_belief,
    update_gaussian_belief,
    update_scratch,
)
from equipoise.rating.elo_mmr.elo_mmr import (
    EloMMR,
    EloMMRParameters,
    EloMMX,
    Field,
    evidence,
    move,
    performances_in,
    read,
    round_of,
)
from equipoise.rating.elo_mmr.performance import order_by_place
from equipoise.rating.loop import rate_teams
from equipoise.rating.rated_system import RatedSystem, rating_system
from equipoise.rating.registry import make_system
from report import Part, report_parts


@kernel
def of_teams(values: Floats, team: Ints, teams: int) -> Floats:
    """Return the sum of a value of every member, for each team."""
    found = np.zeros(teams)
    for i in range(len(values)):
        found[team[i]] += values[i]
    return found


@inlined_update
def rate_match(job: Any, m: int, teams: int) -> tuple[float, float]:
    """Rate a match of teams by both phases; draws are not counted."""
    settings, beliefs, the_round = job.settings, job.own.beliefs, round_of(job, m)
    start, stop = job.matches.offsets[m], job.matches.offsets[m + 1]
    team, players = job.matches.team[start:stop], job.matches.player[start:stop]
    rank = np.zeros(teams, np.int64)
    for i in range(stop - start):
        rank[team[i]] = job.matches.rank[start + i]
        diffuse(beliefs, players[i], the_round, settings.rho, settings.drift_per_day)
    ratings = beliefs.table[players, RATING]
    variances = beliefs.table[players, DEVIATION] * beliefs.table[players, DEVIATION]
    members = of_teams(np.ones(len(players)), team, teams)
    totals, spread = of_teams(ratings, team, teams), of_teams(variances, team, teams)
    order, places = order_by_place(rank)
    share = np.ones(teams) if settings.adds else 1.0 / members
    delta = share * np.sqrt(spread + members * the_round.beta2)
    if settings.gaussian is None:
        delta *= SCALE_OF_DEVIATION
    field = Field(order, order, places, (share * totals)[order], (1.0 / delta)[order])
    found, residual = performances_in(field, settings, settings.logistic, settings.gaussian)
    if residual >= 0.0:
        return math.nan, residual
    whole = np.empty(teams)
    whole[order] = found
    whole /= share
    scratch = update_scratch(beliefs, players, 0, len(players))
    for i in range(len(players)):
        t = team[i]
        performance = whole[t] - (totals[t] - ratings[i])
        beta2 = members[t] * the_round.beta2
        if settings.mates:
            beta2 += spread[t] - variances[i]
        if settings.logistic is not None:
            row = players[i]
            left = update_belief(beliefs, row, performance, beta2, settings.remembered, scratch)
            residual = max(residual, left)
        else:
            update_gaussian_belief(beliefs, players[i], performance, beta2)
    return math.nan, residual


@inner_kernel
def rate(job: Any, first: int, last: int) -> tuple[int, float]:
    """Rate matches first:last."""
    return rate_teams(job, first, last, rate_match, None, read, evidence, move)


def update(self: Any, job: Any, workers: Any) -> tuple[int, float]:
    """Rate all matches of a job in order."""
    return RatedSystem.update(self, job, workers)


def outlook(
    self: Any, rating: Floats, deviation: Floats, history: History | None = None
) -> Outlook:
    """Return performances whose mean or sum is that of a team."""
    one = EloMMRParameters.outlook(self, rating, deviation, history)
    return Outlook(
        centre=one.centre, scale=one.scale, curve=one.curve, team="sum" if self.adds else "mean"
    )


@rating_system
class TeamEloMMR(EloMMR):
    """Elo-MMR for teams, whose performance is the sum of the members' with `adds`, else the mean.

    mates : whether a performance is as uncertain as the ratings of the mates
    """

    adds: bool = False
    mates: bool = True
    name: ClassVar[str] = "elo-mmr, teams"
    max_team_size: ClassVar[None] = None  # type: ignore[assignment]
    loop, update, outlook = staticmethod(rate), update, outlook


@rating_system
class TeamEloMMX(EloMMX):
    """Elo-MMX for teams, likewise."""

    adds: bool = False
    mates: bool = True
    name: ClassVar[str] = "elo-mmx, teams"
    max_team_size: ClassVar[None] = None  # type: ignore[assignment]
    loop, update, outlook = staticmethod(rate), update, outlook


#: The system that others are compared with.
PEER = "team-glicko2, tuned"
OWN = {"elo-mmr": TeamEloMMR, "elo-mmx": TeamEloMMX}
LIMITS: Grid = {
    "weight_limit": (0.01, 0.03, 0.1, 0.2, 0.5),
    "sigma_limit": (40.0, 80.0, 120.0, 180.0, 260.0),
    "initial_deviation": (150.0, 250.0, 350.0, 500.0),
}

#: Label -> system, what is fixed, and what tuning tries.
ENTRIES: dict[str, tuple[str, Mapping[str, Any], Grid]] = {
    "elo-mmr, mean": ("elo-mmr", {}, {**LIMITS, "mates": (True, False)}),
    "elo-mmr, sum": ("elo-mmr", {"adds": True, "initial_rating": 0.0}, LIMITS),
    "elo-mmx, mean": ("elo-mmx", {}, {**LIMITS, "mates": (True, False)}),
    "team-glicko2": ("team-glicko2", {}, GLICKO2),
    "trueskill": ("trueskill", {}, SUMMED),
    "plackett-luce": ("plackett-luce", {}, SUMMED),
}


def made(name: str, settings: Mapping[str, Any]) -> Any:
    """Return a system; Elo-MMR is that for teams."""
    return OWN[name](**settings) if name in OWN else make_system(name, settings)


def scored(
    chosen: Mapping[str, tuple[str, Mapping[str, Any]]], history: History, **options: Any
) -> Backtest:
    """Return the backtest of systems, by label."""
    systems = {label: made(*one) for label, one in chosen.items()}
    return eq.backtest(systems, history, rng=np.random.default_rng(0), **options)


def tuned(label: str, history: History) -> dict[str, Any]:
    """Return the parameters of the grid that predict a history best; the first of equals."""
    name, fixed, grid = ENTRIES[label]
    tried = [
        {**fixed, **dict(zip(grid, values, strict=True))} for values in product(*grid.values())
    ]
    found = scored({str(k): (name, one) for k, one in enumerate(tried)}, history, resamples=0)
    return min((found.of(str(k)).metrics["log_loss"], k, one) for k, one in enumerate(tried))[2]


def predictions(history: History, parameters: Mapping[str, Mapping[str, Any]]) -> Part:
    """Return the table of the second half."""
    first, chosen = history.matches // 2, {}
    for label, (name, fixed, _) in ENTRIES.items():
        chosen[label] = (name, fixed)
        chosen[f"{label}, tuned"] = (name, parameters[label])
    found = scored(chosen, history, first=first, resamples=1000)
    rows = [
        (
            one.label,
            plus_minus(one, "log_loss", 4),
            "" if one.label == PEER else shown(less(found, one.label, PEER, "log_loss")),
            plus_minus(one, "pair_inversion", 2),
            f"{one.calibration.error:.4f}",
        )
        for one in sorted(found.systems, key=lambda one: one.metrics["log_loss"])
        if one.label in chosen
    ]
    columns = (
        *("system", "log loss", "less that of team-glicko2, tuned (95 %)", "winners right, %"),
        "calibration error",
    )
    settings = "; ".join(
        f"{label}: " + ", ".join(f"{name} {value:g}" for name, value in one.items())
        for label, one in parameters.items()
    )
    note = f"{found.matches:,} matches are scored. Tuned parameters. {settings}."
    return Part("Predictions", columns, rows, note)


def incentives(history: History, parameters: Mapping[str, Mapping[str, Any]]) -> Part:
    """Return the table of gains by losing."""
    rated = np.ones(history.matches, np.bool_)
    activity = activity_of(history, rated)
    players = history.player_ids[sample(activity, 8)].tolist()
    effort = eq.Effort(budget=100)
    table = []
    for label in ("elo-mmr, mean", "elo-mmx, mean", "team-glicko2", "trueskill", "plackett-luce"):
        system, cells = made(ENTRIES[label][0], parameters[label]), [f"{label}, tuned"]
        gains = [audit.gain for audit in eq.incentives(system, history, players, effort=effort)]
        cells += [f"{sum(gain > 1e-6 for gain in gains)} of {len(gains)}", f"{max(gains):.1f}"]
        table.append(cells)
        print(cells, file=sys.stderr, flush=True)
    return Part("Incentives", ("system", "gain", "largest, points"), table)


def main() -> None:
    """Measure and report."""
    history = ut4()
    early = history.slice(0, history.matches // 2)
    parameters = {}
    for label in ENTRIES:
        start = time.perf_counter()
        parameters[label] = tuned(label, early)
        print(label, parameters[label], f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    parts = [predictions(history, parameters), incentives(history, parameters)]
    report_parts("elo_mmr_teams", (__doc__ or "").strip(), parts)


if __name__ == "__main__":
    main()
