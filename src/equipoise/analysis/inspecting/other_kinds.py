"""What a file is if it is no history: a tournament, a lobby, or a request to rebalance."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

from equipoise.analysis.files.reading import HistoryRequest
from equipoise.analysis.inspecting.next_commands import command, reading_command, sources_of
from equipoise.data.reading import GamesReading
from equipoise.errors import EquipoiseError
from equipoise.formats.games.reading import scan_games
from equipoise.formats.lobby import read_lobby
from equipoise.formats.rebalance_request import read_rebalance_request
from equipoise.messages.sources.inspection import Kind, NextMessage
from equipoise.wording import counted

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
            found = find(request, source())
        except (EquipoiseError, OSError):
            continue
        if found is not None:
            return found
    return None


def _log(request: HistoryRequest, source: object) -> OtherKind | None:
    if not isinstance(source, str) or not Path(source).is_file():
        return None
    with Path(source).open("rb") as file:
        if file.read(len(_LOG)) != _LOG:
            return None
    text = "the log of a pool: `equipoise db import` records it in a database"
    words = [*sources_of(request), "--pool", "imported", "--create"]
    return OtherKind(
        "log",
        text,
        command("db import", words, "makes a pool of it in equipoise.db, in this folder"),
    )


def games_of(request: HistoryRequest, source: object) -> GamesReading:
    """Return the games of a source. Raises : InvalidParameterError   the options do not suit it."""
    return scan_games(
        source,
        format=request.format,
        sheet=request.sheet,
        columns=request.columns,
        where=request.where,
        since=request.since,
        until=request.until,
        time_format=request.time_format,
        synonyms=request.synonyms,
        skip_bad=request.skip_bad is not None,
    )


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
    return OtherKind(
        "request", text, command("rebalance", sources_of(request), "makes even teams of them")
    )


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
        some = (f'"{one}"' if "," in str(one) else str(one) for one in players[:_NAMED])
        words = ["--ratings", *words, "--players", ",".join(some)]
        does = "splits some players into two even teams"
    return OtherKind("lobby", text, command("balance", words, does))
