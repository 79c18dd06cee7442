"""Simulated contests between players of known skill, by the generative model of Elo-MMR.

Source: [EM]_ sections 2 and 6.1, with the figures of READINGS B10. The text prints variances of 300
(skills), 50 (performances) and 10 (drift). These do not reproduce its Table 2, either as variances
or as standard deviations; standard deviations of 300, 200 and 35 do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.history import History
from equipoise.errors import require


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestModel:
    """The model of contests.

    players, contests : numbers of them
    attendance : probability that a player takes part in a contest
    mean_skill, skill_deviation : of the initial skills, rating points
    performance_deviation : of a performance around the skill, rating points
    drift_deviation : of the change of every skill after a contest, rating points
    score_step : performances in the same step of this width tie; 0 has no ties
    first_time, interval : seconds since 1970 of the first contest, and between contests
    """

    players: int = 2500
    contests: int = 50
    attendance: float = 1.0
    mean_skill: float = 1500.0
    skill_deviation: float = 300.0
    performance_deviation: float = 200.0
    drift_deviation: float = 35.0
    score_step: float = 0.0
    first_time: int = 1_577_836_800
    interval: int = 604_800

    def __post_init__(self) -> None:
        """Check every parameter."""
        for name in ("players", "contests", "interval"):
            require(getattr(self, name) >= 1, name, "at least 1", getattr(self, name))
        require(0 < self.attendance <= 1, "attendance", "in (0, 1]", self.attendance)
        for name in ("skill_deviation", "performance_deviation", "drift_deviation", "score_step"):
            require(getattr(self, name) >= 0, name, "at least 0", getattr(self, name))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Contest:
    """One contest of n players.

    number : from 1; time : seconds since 1970
    player : shape (n,), rows of the model's players, best first; ties in rising order
    rank : shape (n,), dense from 0
    skill : shape (n,), true skill of each at this contest, rating points
    skills : shape (players,), true skill of every player at this contest, present or not
    """

    number: int
    time: int
    player: Ints
    rank: Ints
    skill: Floats
    skills: Floats


def contests(model: ContestModel, *, rng: np.random.Generator) -> Iterator[Contest]:
    """Yield contests one by one, in memory that does not grow with their number.

    A contest without participants is left out, but skills drift.
    """
    skill = rng.normal(model.mean_skill, model.skill_deviation, model.players)
    number = 0
    for _ in range(model.contests):
        present = np.flatnonzero(rng.random(model.players) < model.attendance)
        performance = skill[present] + rng.normal(0, model.performance_deviation, len(present))
        if model.score_step > 0:
            performance = np.floor(performance / model.score_step)
        _, rank = np.unique(-performance, return_inverse=True)
        order = np.argsort(rank, kind="stable")
        if len(present):
            number += 1
            yield Contest(
                number=number,
                time=model.first_time + model.interval * (number - 1),
                player=present[order].astype(np.int64),
                rank=rank[order].astype(np.int64),
                skill=skill[present][order],
                skills=skill,
            )
        skill = skill + rng.normal(0, model.drift_deviation, model.players)


def simulate_contests(
    model: ContestModel, *, rng: np.random.Generator, names: Ids | None = None
) -> tuple[History, Floats]:
    """Return a history and the true skill of every participation, shape (N,).

    names : ids of the players, shape (players,); numbers from 0 if absent
    Raises : InvalidParameterError   no contest has participants
    """
    kept = [(one.time, one.player, one.rank, one.skill) for one in contests(model, rng=rng)]
    require(bool(kept), "attendance", "large enough that players take part", model.attendance)
    times, players, ranks, skills = zip(*kept, strict=True)
    sizes = [len(player) for player in players]
    history = History(
        match_ids=np.arange(1, len(kept) + 1),
        player_ids=np.arange(model.players) if names is None else names,
        offsets=np.cumsum([0, *sizes]).astype(np.int64),
        player=np.concatenate(players),
        team=np.concatenate([np.arange(size) for size in sizes]).astype(np.int64),
        rank=np.concatenate(ranks),
        time=np.array(times, dtype=np.int64) * 1_000_000,
    )
    return history, np.concatenate(skills)
