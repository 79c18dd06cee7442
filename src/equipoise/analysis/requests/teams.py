"""Whom to split into teams, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from equipoise.analysis.requests import typed
from equipoise.analysis.requests.rating import RawText
from equipoise.analysis.requests.typed import Typed

Teams: TypeAlias = Annotated[
    str | None,
    Typed(
        "Write a table with the team of each player: .csv, .parquet, .json, .jsonl or .tsv.",
        "FILE",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """Newcomers, parties and avoid pairs for a lobby.

    parties : ids of the players of each party
    avoid : groups of ids; the players of a group avoid each other
    newcomers : ids of players without a rating
    default_rating : of newcomers; default_deviation : of newcomers and of players without one.
        A saved state has both for newcomers.
    """

    parties: Annotated[
        Sequence[Sequence[str]],
        Typed(
            "Keep these players together. Repeatable. Quote an id that contains a comma as in "
            "--players.",
            "A,B,...",
            name="--party",
            many=True,
            read=typed.lists_of_ids,
        ),
    ] = ()
    avoid: Annotated[
        Sequence[Sequence[str]],
        Typed(
            "Put these players in different teams. Repeatable. Quote an id that contains a comma "
            "as in --players.",
            "A,B,...",
            many=True,
            read=typed.lists_of_ids,
        ),
    ] = ()
    newcomers: Annotated[
        tuple[str, ...],
        Typed(
            "Add a player without a rating, who starts as --state says, or at --default-rating. "
            "Repeatable. The id is taken as it is, also with a comma.",
            "NAME",
            name="--newcomer",
        ),
    ] = ()
    default_rating: Annotated[
        float | None, Typed("Rating of each --newcomer, if there is no --state.", "R")
    ] = None
    default_deviation: Annotated[
        float | None,
        Typed(
            "Deviation of each --newcomer and of players without one, if there is no --state.",
            "D",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRequest:
    """How to split a lobby, as `equipoise.balance` has it.

    size : players of the largest team, instead of the number of teams
    """

    teams: Annotated[int | None, Typed("Number of teams. [default: 2]", least=2)] = None
    size: Annotated[
        int | None, Typed("Number of players of the largest team, instead of --teams.", least=1)
    ] = None
    top_two: Annotated[
        bool | None,
        Typed(
            "Keep the two best players in different teams; --no-top-two allows them in the same "
            "team. [default: keep, but not with the objective chance]",
            name="--top-two/--no-top-two",
        ),
    ] = None
    uneven: Annotated[
        bool | None,
        Typed(
            "If sizes differ, keep the best player in a smaller team; --no-uneven allows a larger "
            "one. [default: keep, but not with the objective chance]",
            name="--uneven/--no-uneven",
        ),
    ] = None
    uncertainty_weight: Annotated[
        float, Typed("Weight lambda of the difference of uncertainties.", least=0.0)
    ] = 0.8
    objective: Annotated[
        Literal["chance", "mean", "sum"] | None,
        Typed(
            "Compare chances to win, mean ratings and uncertainties, or only sums of ratings. "
            "[default: chance with --state if its system predicts such teams, otherwise mean]"
        ),
    ] = None
    alternatives: Annotated[int, Typed("Number of other splits to show.", least=0, most=1000)] = 5
    time_limit: Annotated[
        float | None,
        Typed("Time limit of the search for more than two teams.", "SECONDS", least=0.0),
    ] = None
    seed: Annotated[int, Typed("Random seed of the search.", least=0)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceRequest:
    """Which players to split, how, and where the table of teams goes.

    A lobby is a path or stream. Without one, `players` are ids of `state` or `ratings`.
    at : time for which ratings of the state are read, as text; None is that of its last match
    raw : whether CSV and TSV have text that spreadsheets run as it is
    """

    lobby: Annotated[
        object,
        Typed(
            "The lobby: a .csv, .tsv, .parquet, .json or .jsonl file with columns player and "
            "rating, and optionally deviation, effective_rating or form, party, team (locked) and "
            "avoid (ids separated by ;). Or - for standard input (with --format).",
            "LOBBY",
            argument=True,
            read=typed.source,
        ),
    ] = None
    ratings: Annotated[
        object,
        Typed(
            "Ratings instead of LOBBY: a table of `equipoise rate`, another one with columns "
            "player and rating, or a saved state (.npz), as --state.",
            "FILE",
            read=typed.source,
        ),
    ] = None
    state: Annotated[
        str | None,
        Typed("A state that `equipoise rate --save` wrote, instead of LOBBY.", "FILE.npz"),
    ] = None
    at: Annotated[
        str | None,
        Typed("Time of the match, with --state. [default: time of the last match]", "TIME"),
    ] = None
    time_format: Annotated[
        str | None,
        Typed("Format of --at: iso, s, ms, ..., as for `equipoise rate`.", "FORMAT"),
    ] = None
    players: Annotated[
        Sequence[str] | None,
        Typed(
            "Players of the lobby, with --state or --ratings. Put an id that contains a comma in "
            "double quotes, as in CSV.",
            "A,B,...",
            read=typed.ids,
        ),
    ] = None
    additions: Additions = field(default_factory=Additions)
    split: SplitRequest = field(default_factory=SplitRequest)
    output: Teams = None
    format: Annotated[
        str | None, Typed("Format of the input, if the file name does not show it.")
    ] = None
    raw: RawText = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingSource:
    """Where the ratings of matched players come from.

    path : of a table of ratings or of a saved state; None leaves the request as it is
    attributes : further attributes -> the number that they are
    default_rating, default_deviation : of players who are not in a table; a saved state has both
    """

    path: Annotated[
        object,
        Typed(
            "Ratings of the players, as attributes rating, effective_rating and deviation: a "
            "table of `equipoise rate` or another one with columns player and rating, or a state "
            "that `equipoise rate --save` wrote (.npz).",
            "FILE",
            name="--ratings",
            read=typed.path,
        ),
    ] = None
    attributes: Annotated[
        Mapping[str, str],
        Typed(
            "With --ratings: an attribute of the ruleset, and the number that it is: "
            "mmr=effective_rating. Repeatable.",
            "NAME=NUMBER",
            name="--attribute",
            many=True,
            read=typed.assignments,
        ),
    ] = field(default_factory=dict)
    default_rating: Annotated[
        float | None, Typed("Rating of players who are not in the table of --ratings.", "R")
    ] = None
    default_deviation: Annotated[
        float | None,
        Typed("Deviation of players who have none in the table of --ratings.", "D"),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceOrder:
    """What to rebalance, and how.

    source : path or stream of a request; ratings : of its players, from elsewhere
    raw : whether CSV and TSV have text that spreadsheets run as it is
    The others are parameters of `equipoise.rebalance`.
    """

    source: Annotated[
        object,
        Typed(
            "JSON with a ruleset, parties and optionally a session to fill, or - for standard "
            "input.",
            "REQUEST",
            argument=True,
            read=typed.source,
        ),
    ]
    ratings: RatingSource = field(default_factory=RatingSource)
    method: Annotated[
        Literal["permutation", "combination", "greedy", "optimal", "vertical"] | None,
        Typed("Method to use. [default: the method of the ruleset]"),
    ] = None
    candidates: Annotated[
        bool,
        Typed("List every sequence, in the order in which they are tried.", name="--all"),
    ] = False
    max_sequences: Annotated[
        int,
        Typed("Largest number of sequences that --all lists.", least=1, most=1_000_000),
    ] = 100_000
    nodes: Annotated[
        int | None,
        Typed(
            "Largest number of partial compositions in branch and bound. [default: 1000000 for "
            "optimal, 100000 for other methods]",
            least=1,
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        Typed(
            "Time limit of branch and bound. The result then depends on the speed of the machine.",
            "SECONDS",
            least=0.0,
        ),
    ] = None
    output: Teams = None
    raw: RawText = False
