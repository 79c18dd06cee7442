"""What a system with a loop of its own gets, shown by the smallest one that there can be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

from equipoise.arrays import Floats
from equipoise.data.history import History
from equipoise.data.outlook import Outlook, team_mean_outlook
from equipoise.errors import ConvergenceError
from equipoise.numeric.workers import Workers
from equipoise.rating.base_system import matches_of
from equipoise.rating.plugins.own_loop import Job, OwnLoop, TraceArrays
from equipoise.rating.replay import replay
from equipoise.rating.system import Capabilities, RatingSystem
from rating.histories import Contest, history_of

SEASON = [Contest((0, 1), (0, 1)), Contest((2, 0), (0, 1)), Contest((2, 1), (0, 1))]


class Settings(NamedTuple):
    """Parameters as kernels take them."""

    step: float


def rate_matches(job: Job[Settings, TraceArrays, None], first: int, last: int) -> tuple[int, float]:
    """Whoever is first takes a step from everybody else; one of 13 is refused."""
    for m in range(first, last):
        rows = range(job.matches.offsets[m], job.matches.offsets[m + 1])
        if job.settings.step == 13.0:
            return m, 0.25
        for i in rows:
            player = job.table[job.matches.player[i]]
            change = job.settings.step * (1.0 if job.matches.rank[i] == 0 else -1.0)
            if len(job.trace.rating):
                job.trace.rating_before[i], job.trace.rating[i] = player[0], player[0] + change
            player[0] += change
            player[2] += 1.0
            player[3] = job.matches.time[m]
    return -1, -1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps(OwnLoop):
    """A step up for a win, a step down for a loss."""

    step: float = 10.0
    initial_rating: float = 1500.0
    initial_deviation: float = 350.0

    name: ClassVar[str] = "steps"
    sought: ClassVar[str] = "the steps of "

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities()

    def settings(self) -> Settings:
        return Settings(float(self.step))

    def update(self, job: Job[Settings, TraceArrays, None], workers: Workers) -> tuple[int, float]:
        return rate_matches(job, 0, len(job.matches.time))

    def outlook(self, rating: Floats, deviation: Floats, history: History | None = None) -> Outlook:
        return team_mean_outlook(rating, deviation)


def test_parameters_and_one_update_make_a_system() -> None:
    """By hand: 0 beats 1, 2 beats 0, 2 beats 1, ten points each."""
    system = Steps()
    assert isinstance(system, RatingSystem)
    done = replay(system, history_of(SEASON), trace=True)
    assert done.ratings.rating.tolist() == [1500.0, 1480.0, 1520.0]
    assert done.ratings.deviation.tolist() == [350.0] * 3
    assert done.ratings.matches.tolist() == [2, 2, 2]
    assert done.trace.columns["rating_before"].tolist() == [1500, 1500, 1500, 1510, 1510, 1490]
    assert done.trace.columns["rating"].tolist() == [1510, 1490, 1510, 1500, 1520, 1480]
    assert list(done.trace.columns) == list(TraceArrays._fields)
    assert list(system.trace_columns) == []


def test_an_update_that_fails_names_what_it_sought_and_the_match() -> None:
    history = history_of(SEASON).slice(1, 3)
    with pytest.raises(ConvergenceError, match=r"the steps of steps, match 1, .*0\.25"):
        replay(Steps(step=13.0), history)


def test_a_slice_of_a_history_is_numbered_from_0_and_has_no_gaps() -> None:
    """Truth is the history: rows 4 to 6 of six, weights 1 and ceilings without an end if absent."""
    history = history_of(SEASON)
    found = matches_of(history, 2, 3)
    assert found.offsets.tolist() == [0, 2]
    assert found.player.tolist() == history.player[4:6].tolist()
    assert found.rank.tolist() == history.rank[4:6].tolist()
    assert (found.weight.tolist(), found.ceiling.tolist()) == ([1.0], [np.inf])
    ceilings = np.array([np.nan, 1600.0, 1700.0])
    capped = matches_of(replace(history, performance_ceiling=ceilings))
    assert capped.ceiling.tolist() == [np.inf, 1600.0, 1700.0]
    assert capped.offsets.tolist() == [0, 2, 4, 6]
