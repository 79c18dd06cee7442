"""The one protocol that every rating system follows, and what a system declares of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.data.prediction import Prediction
from equipoise.rating.state import State
from equipoise.rating.workers import Workers

#: Columns of a rating table for some players: `rating`, `deviation`, `matches`, `last_time`
#: (days) and those of the system.
RatingColumns: TypeAlias = dict[str, Floats]

#: Columns that a system fills while it rates, each of shape (N,) for the whole history.
TraceColumns: TypeAlias = Mapping[str, Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Which matches a system can rate.

    max_team_size, max_teams : None for any number
    draws : whether equal ranks are a result it knows
    needs_time : whether a history without times is refused
    skips_all_tied : whether a match of three or more in which all tie changes nothing
        (READINGS B7); it is then reported
    """

    max_team_size: int | None = None
    max_teams: int | None = None
    draws: bool = True
    needs_time: bool = False
    skips_all_tied: bool = False

    def misfits(self, history: History) -> list[str]:
        """Return what in this history the system cannot rate, as phrases; empty if it fits."""
        found = []
        if history.matches and (self.max_team_size is not None or self.max_teams is not None):
            teams = history.teams()
            largest = _largest_team(history, teams)
            if self.max_team_size is not None and largest > self.max_team_size:
                found.append(f"teams of {largest} (at most {self.max_team_size})")
            if self.max_teams is not None and teams.max() > self.max_teams:
                found.append(
                    f"matches of {teams.max()} players or teams (at most {self.max_teams})"
                )
        if not self.draws and history.matches:
            ties = int(np.sum(history.distinct_ranks() < history.teams()))
            if ties:
                found.append(f"ties ({ties} matches)")
        if self.needs_time and history.time is None:
            found.append("no times")
        return found

    def __str__(self) -> str:
        size = {None: "teams of any size", 1: "single players"}.get(
            self.max_team_size, f"teams of up to {self.max_team_size}"
        )
        teams = {None: "any number a match", 2: "two a match"}.get(
            self.max_teams, f"up to {self.max_teams} a match"
        )
        parts = [size, teams, "ties" if self.draws else "no ties"]
        return ", ".join([*parts, "needs times"] if self.needs_time else parts)


def _largest_team(history: History, teams: Ints) -> int:
    """Return the number of players of the largest team."""
    if np.array_equal(teams, history.sizes()):
        return 1
    first_team = np.cumsum(teams) - teams
    return int(np.bincount(np.repeat(first_team, history.sizes()) + history.team).max())


@runtime_checkable
class RatingSystem(Protocol):
    """Frozen parameters plus one update over a slice of a history."""

    @property
    def name(self) -> str:
        """Name in the registry."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """Which matches this system, with these parameters, can rate."""
        ...

    @property
    def trace_columns(self) -> Sequence[str]:
        """Columns of its own that it adds to a trace."""
        ...

    def initial(self, players: int) -> State:
        """Return the state of players who have not played."""
        ...

    def run(
        self,
        state: State,
        history: History,
        start: int,
        stop: int,
        trace: TraceColumns | None = None,
        workers: Workers | None = None,
    ) -> None:
        """Rate matches start:stop in order; only rows of players in them change.

        Raises : ConvergenceError; the state is then of no further use.
        """
        ...

    def at(self, state: State, rows: Ints, time: float | None) -> RatingColumns:
        """Return these players' ratings as of a time in days (None: as of their last match)."""
        ...

    def predict(self, state: State, teams: Sequence[Ints], time: float | None = None) -> Prediction:
        """Return what to expect of a match between teams of player rows."""
        ...
