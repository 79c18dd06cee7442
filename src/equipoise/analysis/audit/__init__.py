"""What to audit in a history."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

from equipoise.analysis.requests import HistoryRequest, Workers, typed


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftRequest:
    """What to measure, and where the answer goes.

    active_days, active_matches : how long players are active after a match; at most one of them
    output : path of a table; None writes none
    """

    active_days: float | None = typed(
        None,
        "Number of days for which a player is active after a match. [default: 90, if there are "
        "times]",
        "DAYS",
    )
    active_matches: int | None = typed(
        None,
        "Number of matches of the history for which a player is active after a match. [default: a "
        "tenth of the matches, if there are no times]",
        "N",
        least=1,
    )
    points: int = typed(
        25,
        "Number of measurements, evenly spaced in time, or in matches if activity is counted in "
        "matches.",
        least=2,
    )
    output: str | None = typed(
        None,
        "Write the table (.csv, .parquet, .json, .jsonl, .tsv). [default: print it]",
        "FILE",
    )
    details: bool = typed(
        False, "Print all measurements of every system, instead of only the last."
    )
    history: HistoryRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class IncentivesRequest:
    """Whom to examine, with what effort, and where the answer goes.

    players : ids as text; empty means the most active and some of medium activity
    workers, executor : do independent parts of the work; they never change a number
    """

    players: tuple[str, ...] = typed(
        (),
        "Player to examine. Repeatable. [default: the two most active players and two of medium "
        "activity]",
        "ID",
        name="--player",
    )
    matches: int = typed(
        40, "Number of a player's last rated matches in which a plan may worsen the place.", "N"
    )
    budget: int = typed(500, "Maximum number of plans for each player.", "N")
    seed: int = typed(0, "Random seed of the plans.", "N", least=0)
    output: str | None = typed(
        None,
        "Write a table of all matches considered (.csv, .parquet, .json, .jsonl, .tsv), instead "
        "of printing it.",
        "FILE",
    )
    workers: Workers = None
    executor: Executor | None = None
    history: HistoryRequest
