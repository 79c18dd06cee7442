"""Which leaderboards to make of a history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from equipoise.analysis.requests import (
    Confidence,
    HistoryRequest,
    Table,
    typed,
)

Period: TypeAlias = Literal["day", "week", "month", "year"]
Errors: TypeAlias = Literal["auto", "deviation", "bootstrap", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardRequest:
    """Which history to read, how to divide it, and what to write.

    systems : texts [LABEL=]NAME; a name may be `performance` or `strengths`
    assigned : texts [LABEL.]NAME=VALUE, parameters of systems
    errors : error bars of rating systems. "auto": from all results for bradley-terry in duels, from
        the deviations of other systems, or else by the bootstrap. "deviation": the same, also for
        bradley-terry. "bootstrap": from the ratings of resampled matches
    rounds : number of resampled histories of the bootstrap
    """

    systems: tuple[str, ...] = typed(
        (),
        "A rating system, or performance or strengths, optionally with a label. Repeatable. "
        "[default: elo; bradley-terry unless matches have too many teams for it; and, if no team "
        "has several players, performance, or strengths if matches have more than two players]",
        "[LABEL=]NAME",
        name="--system",
    )
    assigned: tuple[str, ...] = typed(
        (),
        "Set a parameter of the system with this label. Repeatable. The default label of a system "
        "is its name.",
        "[LABEL.]NAME=VALUE",
        name="--set",
    )
    by: str | None = typed(
        None,
        "Make a leaderboard for each value of this column, from the matches with this value alone.",
        "COLUMN",
    )
    every: Period | None = typed(
        None,
        "Make a leaderboard for each day, week (from Monday), month or year: ratings at its end, "
        "performances and strengths from its matches alone.",
        "day|week|month|year",
    )
    errors: Errors = "auto"
    rounds: int = 100
    seed: int = typed(0, "Random seed of the bootstrap.", "N")
    anchor: float = typed(1500.0, "Mean of performances and strengths.", "R")
    scores: bool = typed(
        False,
        "Also score how rating systems predicted each match from the matches before it, as "
        "`equipoise backtest` does: log loss; with draws also the log loss and the ranked "
        "probability score of win, draw and loss.",
    )
    confidence: Confidence = 0.95
    output: Table = None
    chart: str | None = typed(
        None,
        "Draw a chart (.svg, .png or .pdf): a panel for each system, dots with error bars. With "
        "--every, one system over time: the first five players of the last period.",
        "FILE",
    )
    history: HistoryRequest
