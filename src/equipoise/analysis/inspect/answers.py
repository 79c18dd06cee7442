"""What a file holds, as an answer, and the command to type next, as it runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import msgspec
import numpy as np

from equipoise.analysis.inspect import Form
from equipoise.analysis.reading import scanned_history
from equipoise.analysis.requests import (
    HistoryRequest,
    reading_options,
    reading_words,
    shared,
    suited,
)
from equipoise.analysis.systems import DEFAULT_SYSTEM
from equipoise.data.history import History
from equipoise.errors import EquipoiseError, Problem
from equipoise.formats.games import scan_games
from equipoise.formats.players import read_lobby
from equipoise.formats.rebalance_request import read_rebalance_request
from equipoise.formats.table import GamesReading, HistoryReading, spelling
from equipoise.messages.conversion import ProblemMessage
from equipoise.messages.histories import HistoryMessage
from equipoise.rating.registry import SYSTEMS, make_system
from equipoise.wording import counted

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


_FOR_DUELS = "glicko2"
#: Names of the two sides of a vote, in the spelling of `spelling`.
_VOTES = (("left", "right"), ("modela", "modelb"))
#: Meanings without which a table may be a history.
_SPARED = ("time", "rank", "winner", "team", "weight", "rated", "round", "share")
#: A format of time that a problem names; one with a space is in quotes.
_TIME_FORMAT = re.compile(r"--time-format (?:'([^']*%[^']*)'|([^'\s]*%\S*))")
_TIME_WORDS = {
    "%d": "day",
    "%m": "month",
    "%Y": "year",
    "%y": "year",
    "%H": "hour",
    "%M": "minute",
    "%S": "second",
}


def source_in_words(request: HistoryRequest) -> str:
    """Return the names of the files of a request, for a line of text."""
    return ", ".join("standard input" if path == "-" else path for path in sources_of(request))


def sources_of(request: HistoryRequest) -> list[str]:
    """Return the files of a request as they are typed: paths, addresses, or - for a stream.

    A path that begins with a hyphen would be an option.
    """
    source = request.source
    sources = source if isinstance(source, list | tuple) else [source]
    paths = [item if isinstance(item, str) else "-" for item in sources]
    return [f"./{path}" if path.startswith("-") and path != "-" else path for path in paths]


def command(name: str, words: Sequence[str], does: str) -> NextMessage:
    """Return a command of Equipoise with its arguments."""
    return NextMessage(shlex.join(["equipoise", *name.split(), *words]), does)


def reading_command(name: str, request: HistoryRequest, does: str, *more: str) -> NextMessage:
    """Return a command of Equipoise that reads the files of a request as it does.

    What the command has no option for is named as a setting of equipoise.toml.
    more : further words
    """
    known, words, settings = reading_options(), sources_of(request), dict[str, None]()
    for option, typed in reading_words(request):
        if known[option][0].is_of(name):
            words += typed
        elif option != "--from":
            settings[option.removeprefix("--").replace("-", "_")] = None
    if settings:
        does += f", with {', '.join(settings)} below [reading] in the file equipoise.toml"
    return command(name, [*words, *more], does)


def command_for_history(
    request: HistoryRequest, reading: HistoryReading, history: History, cost: str
) -> NextMessage | None:
    """Return the command that ranks the players of a history; None if no system can rate it.

    cost : what the request leaves out, as the end of a sentence
    """
    names = {spelling(name) for name in (*request.columns, *reading.columns.values())}
    if reading.kind == "games" and any({*pair} <= names for pair in _VOTES):
        does = f"ranks by all votes at once and by system, with error bars{cost}"
        return reading_command("leaderboard", request, does)
    system = system_for(history)
    if system is None:
        return None
    does = f"rates {counted(history.players, 'player')} with {system}{cost}"
    if system == DEFAULT_SYSTEM:
        return reading_command("rate", request, does)
    does += f"; name it in other commands too, which take {DEFAULT_SYSTEM} without --system"
    return reading_command("rate", request, does, "--system", system)


def system_for(history: History) -> str | None:
    """Return the system to begin with, as `docs/guides/which-system.md` says; None if none fits.

    The default is made for contests of many players.
    """
    wanted = _FOR_DUELS if np.all(history.sizes() <= 2) else DEFAULT_SYSTEM
    able = (
        name for name in (wanted, *SYSTEMS) if not make_system(name).capabilities.misfits(history)
    )
    return next(able, None)


def command_to_mend(
    request: HistoryRequest,
    reading: HistoryReading,
    source: Callable[[], object],
    formats: Sequence[str],
) -> NextMessage | None:
    """Return the command that reads a table of which a whole column is unreadable, None if none.

    formats : `time_formats` of the problems
    Its times need a format, or a column was taken for what its name says: a lap time, or a player's
    position. A column that every history needs is never left out.
    """
    if formats:
        wanted = replace(request, time_format=formats[0])
        does = f"reads the times as {_in_words(formats[0])}"
        if len(formats) > 1:
            does += f", if that is what they are: {_in_words(formats[1])} is possible too"
        return reading_command("inspect", wanted, does)
    broken = {problem.field for problem in reading.problems if problem.line is not None}
    taken = {column for meaning, column in reading.columns.items() if meaning in _SPARED}
    if len(broken) != 1 or not broken <= taken or "unused" in request.columns:
        return None
    column = broken.pop()
    others = {new: old for new, old in request.columns.items() if old != column}
    wanted = replace(request, columns={**others, "unused": column}, time_format=None)
    try:
        again = scanned_history(wanted, source())
    except EquipoiseError:
        return None
    does = f"makes {column} a column like any other"
    formats = time_formats(again.problems)
    if formats:
        wanted = replace(wanted, time_format=formats[0])
        does += f", and reads the times as {_in_words(formats[0])}"
    elif again.history is None:
        return None
    return reading_command("inspect", wanted, does)


def time_formats(problems: Sequence[Problem]) -> list[str]:
    """Return the formats of time that problems name, in which values could be read, each once."""
    found = _TIME_FORMAT.findall(" ".join(problem.rule for problem in problems))
    return list(dict.fromkeys((quoted or plain).rstrip(",;.)") for quoted, plain in found))


def _in_words(pattern: str) -> str:
    """Return a pattern of strptime in words: %d/%m/%Y is day/month/year."""
    for directive, word in _TIME_WORDS.items():
        pattern = pattern.replace(directive, word)
    return pattern


#: The beginning of a log that `equipoise db export` wrote.
_LOG = b'{"equipoise_log"'
#: Players up to which a table of players may be a lobby, and players that a command to type names.
_LARGEST_LOBBY, _NAMED = 100, 4


class OtherKind(NamedTuple):
    """What a file holds that is no history.

    text : a sentence; games : of a tournament
    """

    kind: Kind
    text: str
    next: NextMessage
    games: GamesReading | None = None


def other_kind(request: HistoryRequest, source: Callable[[], object]) -> OtherKind | None:
    """Return what a source is, if a reader of another kind accepts it; None otherwise.

    source : returns the source from its beginning
    """
    for find in (_log, _tournament, _request, _players):
        try:
            kind = find(request, source())
        except (EquipoiseError, OSError):
            continue
        if kind is not None:
            return kind
    return None


def _log(request: HistoryRequest, source: object) -> OtherKind | None:
    if not isinstance(source, str) or not Path(source).is_file():
        return None
    with Path(source).open("rb") as file:
        if file.read(len(_LOG)) != _LOG:
            return None
    text = "the log of a pool: `equipoise db import` records it in a database"
    words = [*sources_of(request), "--pool", "imported", "--create"]
    does = "makes a pool of it in equipoise.db, in this folder"
    return OtherKind("log", text, command("db import", words, does))


def games_of(request: HistoryRequest, source: object) -> GamesReading:
    """Return the games of a source. Raises : InvalidParameterError   the options do not suit it."""

    def scan(request: HistoryRequest, source: object) -> GamesReading:
        skip_bad = request.skip_bad is not None
        return scan_games(source, **{**shared(request, scan_games), "skip_bad": skip_bad})

    wanted, reading = suited(request, source, scan)
    return replace(reading, notes=(*wanted.notes, *reading.notes))


def _tournament(request: HistoryRequest, source: object) -> OtherKind | None:
    reading = games_of(request, source)
    if reading.games is None:
        return None
    text = (
        "games of a tournament: `equipoise performance` reads them, and the commands that rate a "
        "history do not"
    )
    rates = reading_command("performance", request, "rates the performances")
    return OtherKind("tournament", text, rates, reading)


def _request(request: HistoryRequest, source: object) -> OtherKind:
    parties = len(read_rebalance_request(cast(Any, source)).parties)
    text = (
        f"a request to rebalance {counted(parties, 'party', 'parties')}: `equipoise rebalance` "
        "reads it"
    )
    rebalances = command("rebalance", sources_of(request), "makes even teams of them")
    return OtherKind("request", text, rebalances)


def _players(request: HistoryRequest, source: object) -> OtherKind:
    players = read_lobby(cast(Any, source), format=request.format).player_ids
    count = counted(len(players), "player")
    text = (
        f"{count} with ratings: `equipoise balance` makes even teams of them, and `equipoise rate "
        "--initial` begins with them"
    )
    words, does = sources_of(request), f"splits {count} into two even teams"
    words += [] if request.format is None else ["--format", request.format]
    if len(players) > _LARGEST_LOBBY:
        some = (f'"{player}"' if "," in str(player) else str(player) for player in players[:_NAMED])
        words = ["--ratings", *words, "--players", ",".join(some)]
        does = "splits some players into two even teams"
    return OtherKind("lobby", text, command("balance", words, does))
