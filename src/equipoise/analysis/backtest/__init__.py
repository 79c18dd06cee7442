"""Which systems to compare on which part of a history."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

from equipoise.analysis.requests import (
    Confidence,
    HistoryRequest,
    Initial,
    InitialMapping,
    LeastDifference,
    Table,
    Threads,
    TiesAsAuthors,
    Workers,
    typed,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestRequest:
    """What to score, how, and where the answer goes.

    first : where scoring starts: a share of the matches ("10%", "0.1") or a time, as text
    least_difference : texts METRIC=VALUE, see `least_differences`
    workers, executor : do independent parts of the work; they never change a number
    if_able : labels of systems that are left out, with a note, if they cannot rate the history
    command : the command that the page shows; "" for none
    """

    first: str = typed(
        "0%",
        "Start of scoring: a share of the matches (10%) or a time. Earlier matches are only rated.",
        "SHARE|TIME",
        name="--from",
    )
    min_history: int | None = typed(
        None,
        "Score only players with at least this many earlier matches. [default: 5, or fewer if "
        "that leaves nothing to score]",
        least=0,
    )
    initial: Initial = None
    initial_mapping: InitialMapping = None
    ties_as_authors: TiesAsAuthors = False
    least_difference: LeastDifference = ()
    confidence: Confidence = 0.95
    seed: int = typed(0, "Random seed of the resamples.", least=0)
    calibrate: bool = typed(
        False,
        "Also score every system with calibrated predictions, as LABEL calibrated. The "
        "calibration curve is learned from the matches before each match.",
    )
    output: Table = None
    predictions_output: str | None = typed(
        None,
        "Write the predictions of the scored matches of two players or teams: .csv, .parquet, "
        ".json, .jsonl or .tsv.",
        "FILE",
        name="--predictions",
    )
    report: str | None = typed(
        None, "Write an HTML page with all charts and tables. It needs no other files.", "FILE.html"
    )
    workers: Workers = None
    executor: Executor | None = None
    threads: Threads = 1
    history: HistoryRequest
    if_able: frozenset[str] = frozenset()
    command: str = ""
