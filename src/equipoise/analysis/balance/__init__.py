"""Whom to split into teams, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from equipoise.analysis import requests
from equipoise.analysis.requests import NamesRequest, RawText, Typed, typed

Teams: TypeAlias = Annotated[
    str | None,
    Typed(
        "Write a table with the team of each player: .csv, .parquet, .json, .jsonl or .tsv.",
        "FILE",
    ),
]


def _groups(texts: Sequence[str], option: str) -> list[list[str]]:
    return [requests.ids(text, option) for text in texts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """Newcomers, parties and avoid pairs for a lobby.

    parties : ids of the players of each party
    avoid : groups of ids; the players of a group avoid each other
    newcomers : ids of players without a rating
    default_rating : of newcomers; default_deviation : of newcomers and of players without one.
        A saved state has both for newcomers.
    """

    parties: Sequence[Sequence[str]] = typed(
        (),
        "Keep these players together. Repeatable. Quote an id that contains a comma as in "
        "--players.",
        "A,B,...",
        name="--party",
        many=True,
        read=_groups,
    )
    avoid: Sequence[Sequence[str]] = typed(
        (),
        "Put these players in different teams. Repeatable. Quote an id that contains a comma as "
        "in --players.",
        "A,B,...",
        many=True,
        read=_groups,
    )
    newcomers: tuple[str, ...] = typed(
        (),
        "Add a player without a rating, who starts as a newcomer to --state, or at "
        "--default-rating. Repeatable. A comma is part of the id.",
        "NAME",
        name="--newcomer",
    )
    default_rating: float | None = typed(
        None, "Rating of each --newcomer, if there is no --state.", "R"
    )
    default_deviation: float | None = typed(
        None,
        "Deviation of each --newcomer and of players without one, if there is no --state.",
        "D",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRequest:
    """How to split a lobby, as `equipoise.balance` has it.

    size : players of the largest team, instead of the number of teams
    alternatives : number of other splits
    """

    teams: int | None = typed(None, "Number of teams. [default: 2]", least=2)
    size: int | None = typed(
        None, "Number of players in the largest team, instead of --teams.", least=1
    )
    top_two: bool | None = typed(
        None,
        "Keep the two best players in different teams; --no-top-two allows them in the same "
        "team. [default: keep, except with `--objective chance`]",
        name="--top-two/--no-top-two",
    )
    uneven: bool | None = typed(
        None,
        "If sizes differ, keep the best player in a smaller team; --no-uneven allows a larger "
        "one. [default: keep, except with `--objective chance`]",
        name="--uneven/--no-uneven",
    )
    uncertainty_weight: float = typed(
        0.8, "Weight lambda of the difference in uncertainty.", least=0.0
    )
    objective: Literal["chance", "mean", "sum"] | None = typed(
        None,
        "Compare win probabilities (chance), mean ratings and uncertainties (mean), or only "
        "rating sums (sum). [default: chance with --state if its system predicts such teams, "
        "otherwise mean]",
    )
    alternatives: int = 5
    time_limit: float | None = typed(
        None, "Time limit of the search for more than two teams.", "SECONDS", least=0.0
    )
    seed: int = typed(0, "Random seed of the search.", least=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceRequest:
    """Which players to split, how, and where the table of teams goes.

    A lobby is a path or stream. Without one, `players` are ids of `state` or `ratings`.
    at : time for which ratings of the state are read, as text; None is that of its last match
    calibrate : path of a history from which a curve that corrects chances is learned
    raw : whether CSV and TSV have text that spreadsheets run as it is
    """

    lobby: object = typed(
        None,
        "The lobby: a .csv, .tsv, .parquet, .json or .jsonl file with the columns player and "
        "rating, and optionally deviation, effective_rating or form, party, team (locked) and "
        "avoid (ids separated by ;); or - for standard input (with --format).",
        "LOBBY",
        argument=True,
        read=requests.source,
    )
    ratings: object = typed(
        None,
        "Ratings instead of LOBBY: a table with the columns player and rating, such as the "
        "output of `equipoise rate`, or a saved state (.npz), as --state.",
        "FILE",
        read=requests.source,
    )
    state: str | None = typed(
        None, "State saved by `equipoise rate --save`, instead of LOBBY.", "FILE.npz"
    )
    calibrate: requests.Calibrate = None
    at: str | None = typed(
        None, "Time of the match, with --state. [default: time of the last match]", "TIME"
    )
    time_format: str | None = typed(
        None, "Format of --at: iso, s, ms, ..., as for `equipoise rate`.", "FORMAT"
    )
    players: Sequence[str] | None = typed(
        None,
        "Players of the lobby, with --state or --ratings. Put an id that contains a comma in "
        "double quotes, as in CSV.",
        "A,B,...",
        read=requests.ids,
    )
    additions: Additions = field(default_factory=Additions)
    split: SplitRequest = field(default_factory=SplitRequest)
    output: Teams = None
    format: str | None = typed(None, "Format of the input, if the file name does not show it.")
    raw: RawText = False
    names: NamesRequest = field(default_factory=NamesRequest)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingSource:
    """Where the ratings of matched players come from.

    path : of a table of ratings or of a saved state; None leaves the request as it is
    attributes : further attributes -> the number that they are
    default_rating, default_deviation : of players who are not in a table; a saved state has both
    """

    path: object = typed(
        None,
        "Ratings of the players, as the attributes rating, effective_rating and deviation: a "
        "table with the columns player and rating, such as the output of `equipoise rate`, or a "
        "state saved by `equipoise rate --save` (.npz).",
        "FILE",
        name="--ratings",
        read=requests.path,
    )
    attributes: Mapping[str, str] = typed(
        dict,
        "With --ratings: set an attribute of the ruleset to a number of the ratings, such as "
        "mmr=effective_rating. Repeatable.",
        "NAME=NUMBER",
        name="--attribute",
        many=True,
        read=requests.assignments,
    )
    default_rating: float | None = typed(None, "Rating of players who are not in --ratings.", "R")
    default_deviation: float | None = typed(
        None, "Deviation of players without one in --ratings.", "D"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceOrder:
    """What to rebalance, and how.

    source : path or stream of a request; ratings : of its players, from elsewhere
    raw : whether CSV and TSV have text that spreadsheets run as it is
    The others are parameters of `equipoise.rebalance`.
    """

    source: object = typed(
        ...,
        "JSON with a ruleset, parties and optionally a session to fill; or - for standard input.",
        "REQUEST",
        argument=True,
        read=requests.source,
    )
    ratings: RatingSource = field(default_factory=RatingSource)
    method: Literal["permutation", "combination", "greedy", "optimal", "vertical"] | None = typed(
        None, "Method to use. [default: the method of the ruleset]"
    )
    candidates: bool = typed(
        False, "List every sequence in the order in which they are tried.", name="--all"
    )
    max_sequences: int = typed(
        100_000, "Maximum number of sequences that --all lists.", least=1, most=1_000_000
    )
    nodes: int | None = typed(
        None,
        "Maximum number of partial compositions in branch and bound. [default: 1000000 for "
        "optimal, 100000 for other methods]",
        least=1,
    )
    time_limit: float | None = None
    output: Teams = None
    raw: RawText = False
