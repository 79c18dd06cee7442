"""What a file holds, before it is rated, and what it was converted to: the answers."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal, TypeAlias

import msgspec

from equipoise.analysis.inspect import Form
from equipoise.messages.conversion import ProblemMessage
from equipoise.messages.histories import HistoryMessage

#: What a file holds; see `InspectMessage`.
Kind: TypeAlias = Literal[
    "history", "games", "pairs", "crosstable", "tournament", "lobby", "request", "log", ""
]


class ColumnMessage(msgspec.Struct, frozen=True):
    """A column of the file as it is understood.

    meaning : the name under which it is known; empty if it has none
    use : what it decides, as a phrase
    """

    column: str
    meaning: str
    use: str


class ContentsMessage(msgspec.Struct, frozen=True, kw_only=True):
    """The matches of a file. If there are problems, only the matches without one count.

    first, last : time of the first and of the last match, as the file has them; null without times
    dated : whether times are dates, and not only an order, such as rounds
    smallest_match, largest_match : number of teams, or of players without teams
    largest_team : number of players
    with_ties : matches in which some tie
    unrated, filtered, dropped_matches : matches that are left out
    """

    matches: int
    participations: int
    players: int
    first: date | datetime | int | None = None
    last: date | datetime | int | None = None
    dated: bool = False
    smallest_match: int = 2
    largest_match: int = 2
    largest_team: int = 1
    with_ties: int
    unrated: int
    filtered: int
    dropped_matches: int


class MatchLineMessage(msgspec.Struct, frozen=True):
    """A match in plain form: who against whom, and the result."""

    match: int | str
    time: date | datetime | int | None
    who: str
    result: str


class OddityMessage(msgspec.Struct, frozen=True):
    """Something that is unusual, and may be a mistake.

    kind : short name, such as "repeated-match"; count : of matches, players or pairs of names
    text : a sentence; advice : what to do about it
    """

    kind: str
    count: int
    text: str
    advice: str


class RuleMessage(msgspec.Struct, frozen=True):
    """A rule that the file breaks, and how often; advice : what to do about it."""

    field: str
    rule: str
    count: int
    advice: str


class NextMessage(msgspec.Struct, frozen=True):
    """A command to type next, and what it does."""

    command: str
    does: str


class InspectMessage(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `equipoise inspect --json`.

    format : how the file is stored, such as "csv"; empty if that is not known
    kind : what it holds. "history" has a row for each player in a match, "games" one for each
        match, "pairs" and "crosstable" have results by player and opponent. "tournament" can only
        be read by `equipoise performance`, "lobby" by `balance`, "request" by `rebalance`, "log" by
        `db import`; empty if nothing fits
    ready : whether the next command can read it as it is
    contents : null if no match can be read
    next : null if no command reads the file
    """

    source: str
    format: str
    kind: Kind
    ready: bool
    columns: list[ColumnMessage] = []
    contents: ContentsMessage | None = None
    matches: list[MatchLineMessage] = []
    oddities: list[OddityMessage] = []
    problems: list[ProblemMessage]
    rules: list[RuleMessage]
    next: NextMessage | None
    notes: list[str]


class ConvertMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise convert --json`.

    form : "history" is the long table, "games" a table with one match a row, "trf" a FIDE report
    written : number of matches in the new file
    lost : what the new file lacks, or says in another way, as sentences
    history : what was read; null if the source is a tournament
    """

    source: str
    output: str
    form: Form
    written: int
    lost: list[str]
    history: HistoryMessage | None
    notes: list[str]
    seconds: float
