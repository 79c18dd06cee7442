"""What to study of a whole history."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from equipoise.analysis.requests import texts
from equipoise.analysis.requests.rating import (
    Confidence,
    Initial,
    InitialMapping,
    RawText,
    Table,
    Threads,
    Title,
)
from equipoise.analysis.requests.reading import HistoryRequest
from equipoise.analysis.requests.typed import Typed, typed

Workers: TypeAlias = Annotated[
    int | None,
    Typed(
        "Number of processes, each for a part of the work at a time. It does not change results. "
        "[default: 1]",
        least=1,
    ),
]
TiesAsAuthors: TypeAlias = Annotated[
    bool,
    Typed("Count pairs that are predicted equal as correct, as the authors of Elo-MMR do."),
]
LeastDifference: TypeAlias = Annotated[
    tuple[str, ...],
    Typed(
        "Treat differences of METRIC below VALUE as too small to matter. Repeatable. [default: "
        "0.0005 for log_loss, brier and ndcg, 0.05 for the others]",
        "METRIC=VALUE",
    ),
]


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
        "Where scoring starts: a share of the matches (10%) or a time. Earlier matches are only "
        "rated.",
        "SHARE|TIME",
        name="--from",
    )
    min_history: int | None = typed(
        None,
        "Score only players with at least this many earlier matches. [default: 5, or fewer if "
        "that leaves nothing to score]",
        least=0,
    )
    min_total: int | None = typed(
        None,
        "Score only players with at least this many matches in the complete history, including "
        "later ones. This is another reading of the Elo-MMR paper. Replaces --min-history.",
        least=0,
    )
    initial: Initial = None
    initial_mapping: InitialMapping = None
    ties_as_authors: TiesAsAuthors = False
    least_difference: LeastDifference = ()
    resamples: int = typed(1000, "Number of resamples of the matches, for intervals.", least=0)
    confidence: Confidence = 0.95
    seed: int = typed(0, "Random seed of the resamples.", least=0)
    output: Table = None
    report: str | None = typed(
        None, "Write an HTML page with all charts and tables. It needs no other files.", "FILE.html"
    )
    workers: Workers = None
    executor: Executor | None = None
    threads: Threads = 1
    history: HistoryRequest
    if_able: frozenset[str] = frozenset()
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneRequest:
    """What to search, on which matches, and where the answer goes.

    first : where the search ends: a share of the matches ("10%", "0.1") or a time, as text; without
        it, 10%, or more if that leaves nothing to score
    study : URL or path of a database that keeps the trials
    under_way : None for that of the study, or the default
    workers, executor : do independent parts of the work
    """

    metric: str = typed(
        "pair_inversion",
        "Metric to optimise: pair_inversion, rank_deviation, pair_inversion_top100, "
        "rank_deviation_top100, ndcg, log_loss or brier.",
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
        "Values of a parameter to try. All combinations are tried. Repeatable. [default: values "
        "that suit the system]",
        "NAME=V1,V2,...",
    )
    trials: int | None = typed(
        None, "Number of samples to draw from ranges, instead of a grid.", least=1
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
        "Search the constants of a learned entry and of a held level, instead of those of the "
        "system. Needs --set entry=learned or --set hold_level=0.05.",
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
    under_way: int | None = typed(
        None,
        "Number of sampled trials that run while the next one is proposed. It belongs to the "
        "study and changes what is sampled; more --workers than this are never busy. [default: 8]",
        least=1,
    )
    min_history: int | None = typed(
        None,
        "Score only players with at least this many earlier matches. [default: 5, or fewer if "
        "that leaves nothing to score]",
        least=0,
    )
    min_total: None = None
    ties_as_authors: TiesAsAuthors = False
    least_difference: LeastDifference = ()
    resamples: int = typed(
        1000, "Number of resamples of the held-out matches, for intervals.", least=1
    )
    confidence: Confidence = 0.95
    output: str | None = typed(
        None, "Write the best parameters to this file, for use with --parameters.", "FILE.toml"
    )
    trials_output: str | None = typed(
        None, "Write a table of all trials: .csv, .parquet, .json, .jsonl or .tsv.", "FILE"
    )
    chart: str | None = typed(None, "Draw a chart of all trials: .svg, .png or .pdf.", "FILE")
    title: Title = None
    threads: int = typed(
        1,
        "Number of threads of a single worker. It does not change results. [default: all cores]",
        otherwise=texts.all_cores,
        least=1,
    )
    history: HistoryRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardRequest:
    """Which history to read, how to divide it, and what to write.

    systems : texts [LABEL=]NAME; a name may be `performance` or `strengths`
    assigned : texts [LABEL.]NAME=VALUE, parameters of systems
    """

    systems: tuple[str, ...] = typed(
        (),
        "A rating system, or performance or strengths, optionally with a label. Repeatable. "
        "[default: elo, bradley-terry unless matches have too many teams for it, and, if no team "
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
        None, "Make a leaderboard for each value of this column, from its matches alone.", "COLUMN"
    )
    every: Literal["day", "week", "month", "year"] | None = typed(
        None,
        "Make a leaderboard for each day, week (from Monday), month or year: ratings at its end, "
        "performances and strengths from its matches alone.",
        "day|week|month|year",
    )
    errors: Literal["auto", "deviation", "bootstrap", "none"] = typed(
        "auto",
        "Error bars of rating systems. auto: from all results for bradley-terry in duels, from "
        "the deviations of other systems, or else by the bootstrap. deviation: the same, also for "
        "bradley-terry. bootstrap: from the ratings of resampled matches.",
        "auto|deviation|bootstrap|none",
    )
    rounds: int = typed(100, "Number of resampled histories of the bootstrap.", "N")
    seed: int = typed(0, "Random seed of the bootstrap.", "N")
    anchor: float = typed(1500.0, "Mean of performances and strengths.", "R")
    confidence: Confidence = 0.95
    output: Table = None
    chart: str | None = typed(
        None,
        "Draw a chart (.svg, .png or .pdf): a panel for each system, dots with error bars. With "
        "--every, one system over time: the first five players of the last period.",
        "FILE",
    )
    title: Title = None
    threads: Threads = 1
    raw: RawText = False
    history: HistoryRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftRequest:
    """What to measure, and where the answer goes.

    active_days, active_matches : how long players are active after a match; at most one of them
    output : path of a table, or of a chart (.svg, .png, .pdf); None writes neither
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
    )
    points: int = typed(
        25,
        "Number of times to measure at, evenly spaced in time, or in matches if activity is "
        "counted in matches.",
    )
    output: str | None = typed(
        None,
        "Write the table (.csv, .parquet, .json, .jsonl, .tsv) or the chart (.svg, .png, .pdf). "
        "[default: print the table]",
        "FILE",
    )
    details: bool = typed(
        False,
        "Print all times of every system, instead of only the last, and the players who got most "
        "to hold the level.",
    )
    band: bool = typed(
        True,
        "Leave out the band of the standard deviation in the chart of FILE.",
        name="--no-band",
        off=True,
        needs="output",
    )
    title: str | None = typed(None, "Chart title.", "TEXT", needs="output")
    threads: Threads = 1
    history: HistoryRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class IncentivesRequest:
    """Whom to examine, with what effort, and where the answer goes.

    players : ids as text; empty means the most active and some of medium activity
    workers, executor : do independent parts of the work; they never change a number
    """

    players: tuple[str, ...] = typed(
        (),
        "A player to examine. Repeatable. [default: the two most active players and two of medium "
        "activity]",
        "ID",
        name="--player",
    )
    others: str = typed(
        "frozen",
        "Ratings of the other players. frozen: they keep the ratings that they had before every "
        "match. replayed: all matches are rated again with the worse places.",
        "frozen|replayed",
    )
    matches: int = typed(
        40, "Number of a player's last rated matches in which the place may be worse.", "N"
    )
    budget: int = typed(
        500, "Largest number of plans for each player while the others are frozen.", "N"
    )
    replays: int = typed(
        20, "Largest number of plans for each player if everything is replayed.", "N"
    )
    seed: int = typed(0, "Random seed of the plans.", "N")
    output: str | None = typed(
        None,
        "Write a table of all matches considered (.csv, .parquet, .json, .jsonl, .tsv), instead "
        "of printing one.",
        "FILE",
    )
    chart: str | None = typed(
        None, "Draw a chart of the player who gains most: .svg, .png or .pdf.", "FILE"
    )
    details: bool = typed(False, "Print the thrown matches too.")
    title: Title = None
    workers: Workers = None
    executor: Executor | None = None
    threads: Threads = 1
    history: HistoryRequest
