"""What to rate, and what to answer of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from equipoise.analysis.requests import texts
from equipoise.analysis.requests.reading import HistoryRequest
from equipoise.analysis.requests.typed import Typed, typed

Restart: TypeAlias = Annotated[
    bool,
    Typed("With --state: rate from the beginning. HISTORY must have all matches of the state."),
]
Initial: TypeAlias = Annotated[
    str | None,
    Typed(
        "Begin with known ratings: a table with the columns player, rating and, optionally, "
        "deviation, such as one that `equipoise rate --output` wrote, or a state that it saved; "
        "or PGN or a FIDE report, with the ratings of first games. Players who are not in it are "
        "newcomers.",
        "FILE",
    ),
]
InitialMapping: TypeAlias = Annotated[
    str | None,
    Typed(
        "Convert known ratings from another scale. 1500=25,1850=33 converts 1500 to 25 and 1850 "
        "to 33; all others follow the straight line through these two.",
        "THERE=HERE,THERE=HERE",
    ),
]
Threads: TypeAlias = Annotated[
    int,
    Typed(
        "Number of threads for large matches. It does not change results. [default: all cores]",
        otherwise=texts.all_cores,
        least=1,
    ),
]
Confidence: TypeAlias = Annotated[float, Typed("Confidence level of the intervals.")]
Table: TypeAlias = Annotated[
    str | None, Typed("Write the table: .csv, .parquet, .json, .jsonl or .tsv.", "FILE")
]
Title: TypeAlias = Annotated[str | None, Typed("Chart title.", "TEXT", needs="chart")]
RawText: TypeAlias = Annotated[
    bool,
    Typed(
        "Write text to CSV and TSV as it is. Otherwise text that spreadsheets would run as a "
        "formula begins with an apostrophe, which Equipoise takes away again when it reads it.",
        name="--no-escape-formulas",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateRequest:
    """What to rate and what to write.

    output, trace, save : paths; nothing is written before everything is rated
    initial : path of a table, or of a saved state, of known ratings with which players begin
    initial_mapping : how these correspond to ratings of the system, as text; None if they are such
    state : path of a saved state
    at : time for which ratings are read, as text
    diff : path of ratings to compare the new ones with; it may also be the path of `output`
    raw : whether CSV and TSV have text that spreadsheets run as it is
    """

    output: str | None = typed(
        None, "Write the ratings: .csv, .parquet, .json, .jsonl or .tsv.", "FILE"
    )
    trace: str | None = typed(
        None, "Write a table of every player's changes in every match.", "FILE"
    )
    save: str | None = typed(None, "Write the state, from which --state continues.", "FILE.npz")
    state: str | None = typed(
        None,
        "Continue from a saved state, with its system. HISTORY is the complete history or its "
        "continuation.",
        "FILE.npz",
    )
    restart: Restart = False
    initial: Initial = None
    initial_mapping: InitialMapping = None
    at: str | None = typed(None, "Compute the ratings as of this time, including decay.", "TIME")
    conservative: bool = typed(
        False,
        "Add the conservative rating, which is the rating minus three deviations, and order the "
        "table by it.",
    )
    diff: str | None = typed(
        None,
        "Compare the new ratings with earlier ones, as `equipoise compare` does: a table or a "
        "saved state. It may be the file of --output, which is read before it is replaced.",
        "OLD",
    )
    memory_limit: str | None = typed(
        None,
        "Rate a Parquet file of any size in blocks, in about this much memory beside the players: "
        "2GB. It is sorted by time on disk if it is not in order. [default: chosen by its size]",
        "SIZE",
    )
    threads: Threads = 1
    raw: RawText = False
    history: HistoryRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainRequest:
    """Which match to explain, and for which player.

    player, match : ids as text; None means the player's last rated match
    state : path of a saved state that the history continues
    """

    player: str = typed(..., "The player whose change of rating is explained.", "PLAYER")
    match: str | None = typed(
        None, "The match. [default: the last rated match of the player]", "MATCH"
    )
    state: str | None = typed(
        None, "Continue from a saved state, with its system. HISTORY continues it.", "FILE.npz"
    )
    restart: Restart = False
    initial: Initial = None
    initial_mapping: InitialMapping = None
    posterior: bool = typed(
        False,
        "Add the posterior density of the skill after the match, with mean, median, standard "
        "deviation and 95 % range. For elo-mmr and elo-mmx.",
    )
    chart: str | None = typed(
        None, "Draw this density (.svg, .png or .pdf), with --posterior.", "FILE"
    )
    threads: Threads = 1
    history: HistoryRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotRequest:
    """What to draw, and where.

    players : ids of players whose ratings are drawn, or marked in the distribution
    along : "time", "match" or "played"; None means time, or match without times
    output : path of the chart; None writes no file
    """

    players: tuple[str, ...] = typed(
        (),
        "A player whose ratings are drawn, or marked in --distribution. Repeatable.",
        "ID",
        name="--player",
    )
    spread: bool = typed(False, "Draw the distribution of all ratings.", name="--distribution")
    min_matches: int | None = typed(
        None, "Least number of rated matches of players in --distribution. [default: 1]", least=1
    )
    output: str | None = typed(
        None, "Write the chart: .svg, .png or .pdf. [default: draw it in the terminal]", "FILE"
    )
    conservative: bool = typed(
        False, "With --distribution: of conservative ratings, the rating minus three deviations."
    )
    along: str | None = typed(
        None,
        "Horizontal axis. time: the time of the match. match: its number in the history. played: "
        "the number of matches that the player has played. [default: time, or match without times]",
        "time|match|played",
        name="--by",
    )
    band: bool = typed(True, "Leave out the band of the 95 % range.", name="--no-band", off=True)
    performances: bool = typed(
        True, "Leave out the dots of performances.", name="--no-performances", off=True
    )
    title: str | None = typed(None, "Chart title. [default: names of the players]", "TEXT")
    size: str | None = typed(
        None, "Size of the chart in the file, in inches. [default: 7.5x4.8]", "WIDTHxHEIGHT"
    )
    threads: Threads = 1
    history: HistoryRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class StrengthsRequest:
    """Which rankings to read, how to estimate strengths, and what to write.

    raw : whether CSV and TSV have text that spreadsheets run as it is
    The others are parameters of `equipoise.ranking_strengths`.
    """

    top: int | None = typed(
        None, "Use only the first places of every match; 1 uses only who won.", "PLACES", least=1
    )
    ties: Literal["refuse", "breslow"] = typed(
        "refuse",
        "Ties above the last place. breslow: count g tied players as g choices from the set of "
        "them and all below, which is an approximation.",
        "refuse|breslow",
    )
    prior: float = typed(
        0.0,
        "Number of drawn games against an average player to add for every player. Strengths then "
        "always exist, but are closer together.",
        "GAMES",
        least=0.0,
    )
    anchor: float = typed(0.0, "Mean rating of the players who are connected by matches.", "R")
    scale: float = typed(1.0, "Scale of the ratings. With 1, 400 points mean odds of ten to one.")
    confidence: Confidence = 0.95
    output: Table = None
    raw: RawText = False
    history: HistoryRequest
