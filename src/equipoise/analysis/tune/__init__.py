"""Which parameters to search."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

from equipoise.analysis.requests import (
    Confidence,
    HistoryRequest,
    LeastDifference,
    Threads,
    TiesAsAuthors,
    Workers,
    typed,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneRequest:
    """What to search, on which matches, and where the answer goes.

    first : where the search ends: a share of the matches ("10%", "0.1") or a time, as text; without
        it, 10%, or more if that leaves nothing to score
    study : URL or path of a database that keeps the trials
    workers, executor : do independent parts of the work
    """

    metric: str = typed(
        "pair_inversion",
        "Metric to optimise: pair_inversion, rank_deviation, pair_inversion_top100, "
        "rank_deviation_top100, ndcg, log_loss, brier, outcome_log_loss or rps.",
        "METRIC",
    )
    first: str | None = typed(
        None,
        "Search on the first matches: a share of them (10%), or those before a time. The others "
        "are held out for the comparison. [default: 10%, or 25% or 50% if that leaves nothing to "
        "score]",
        "SHARE|TIME",
    )
    grid: tuple[str, ...] = typed(
        (),
        "Values of a parameter to try, in all combinations. Repeatable. [default: values that "
        "suit the system]",
        "NAME=V1,V2,...",
    )
    trials: int | None = typed(
        None, "Number of samples to draw from the ranges, instead of a grid.", least=1
    )
    ranges: tuple[str, ...] = typed(
        (),
        "Range from which --trials draws a parameter. Repeatable. [default: ranges that suit the "
        "system]",
        "NAME=LOW:HIGH[:log]",
        name="--range",
    )
    entry: bool = typed(
        False,
        "Tune the parameters of a learned entry and a held level, instead of the system's own. "
        "Needs `--set entry=learned` or `--set hold_level=0.05`.",
    )
    seed: int = typed(0, "Random seed of samples and resamples.", least=0)
    study: str | None = typed(
        None,
        "Keep the trials in a database: sqlite:///file.db, or a file name. The same command "
        "continues an earlier search.",
        "URL",
    )
    study_name: str | None = typed(
        None, "Name of the study in the database. [default: system and metric]", "NAME"
    )
    workers: Workers = None
    executor: Executor | None = None
    min_history: int | None = typed(
        None,
        "Score only players with at least this many earlier matches. [default: 5, or fewer if "
        "that leaves nothing to score]",
        least=0,
    )
    ties_as_authors: TiesAsAuthors = False
    least_difference: LeastDifference = ()
    confidence: Confidence = 0.95
    output: str | None = typed(
        None, "Write the best parameters to this file, for use with --parameters.", "FILE.toml"
    )
    trials_output: str | None = typed(
        None, "Write a table of all trials: .csv, .parquet, .json, .jsonl or .tsv.", "FILE"
    )
    chart: str | None = typed(None, "Draw a chart of all trials: .svg, .png or .pdf.", "FILE")
    threads: Threads = 1
    history: HistoryRequest
