"""What a file is if it is no history: a tournament, a lobby, ratings, or a request to rebalance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from equipoise.analysis.files.reading import HistoryRequest
from equipoise.analysis.inspecting.next_commands import command, sources_of, words_of
from equipoise.data.reading import GamesReading
from equipoise.data.tournaments.games import Games
from equipoise.errors import EquipoiseError
from equipoise.formats.games.reading import scan_games
from equipoise.formats.lobby import read_lobby
from equipoise.formats.rebalance_request import read_rebalance_request
from equipoise.formats.sources import open_source
from equipoise.messages.conversion import json_value
from equipoise.messages.sources.inspection import (
    ContentsMessage,
    Kind,
    MatchLineMessage,
    NextMessage,
)
from equipoise.wording import counted

#: The beginning of a log that `equipoise db export` wrote.
_LOG = b'{"equipoise_log"'
#: Columns that a lobby has and a table of ratings has not.
_OF_LOBBY = frozenset({"party", "team", "avoid", "form"})
#: Players up to which a table of players without these columns may be a lobby.
_LARGEST_LOBBY = 100
#: Players that a command to type names.
_NAMED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherKind:
    """What a file holds that is no history.

    text : a sentence; reading : of games
    """

    kind: Kind
    text: str
    next: list[NextMessage]
    reading: GamesReading | None = None


def other_kind(request: HistoryRequest, source: Callable[[], object]) -> OtherKind | None:
    """Return what a source is, if a reader of another kind accepts it; None otherwise.

    source : returns the source from its beginning
    """
    for find in (_log, _tournament, _request, _players):
        try:
            found = find(request, source)
        except (EquipoiseError, OSError):
            continue
        if found is not None:
            return found
    return None


def _log(request: HistoryRequest, source: Callable[[], object]) -> OtherKind | None:
    path = request.source
    if not isinstance(path, str) or not Path(path).is_file():
        return None
    with Path(path).open("rb") as file:
        if file.read(len(_LOG)) != _LOG:
            return None
    return OtherKind(
        kind="log",
        text="the log of a pool: `equipoise db import` records it in a database",
        next=[
            NextMessage(
                command("db import", [path, "--pool", "imported", "--create"]),
                "makes a pool of it in equipoise.db, in this folder",
            )
        ],
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


def _tournament(request: HistoryRequest, source: Callable[[], object]) -> OtherKind | None:
    reading = games_of(request, source())
    if reading.games is None:
        return None
    return OtherKind(
        kind="tournament",
        text="games of a tournament: `equipoise performance` reads them, and the commands that "
        "rate a history do not",
        next=[
            NextMessage(command("performance", words_of(request)), "rates the performances"),
            NextMessage(
                command("performance", [*words_of(request), "--order", "points"]),
                "lists the players by points",
            ),
        ],
        reading=reading,
    )


def _request(request: HistoryRequest, source: Callable[[], object]) -> OtherKind:
    found = read_rebalance_request(cast(Any, source()))
    parties = counted(len(found.parties), "party", "parties")
    return OtherKind(
        kind="request",
        text=f"a request to rebalance {parties}: `equipoise rebalance` reads it",
        next=[NextMessage(command("rebalance", sources_of(request)), "makes even teams of them")],
    )


def _players(request: HistoryRequest, source: Callable[[], object]) -> OtherKind:
    lobby = read_lobby(cast(Any, source()), format=request.format)
    columns = open_source(source(), request.format).frame.columns
    words = words_of(request)
    count = counted(len(lobby.player_ids), "player")
    waiting = bool(_OF_LOBBY & set(columns))
    if waiting or len(lobby.player_ids) <= _LARGEST_LOBBY:
        more = "" if waiting else "; `equipoise compare OLD NEW` and `rate --initial` read ratings"
        return OtherKind(
            kind="lobby",
            text=f"{count} with ratings, as a lobby has them: `equipoise balance` reads it{more}",
            next=[NextMessage(command("balance", words), f"splits {count} into two even teams")],
        )
    some = ",".join(
        f'"{one}"' if "," in one else one for one in map(str, lobby.player_ids[:_NAMED])
    )
    return OtherKind(
        kind="ratings",
        text=f"ratings of {count}: `equipoise balance --ratings` makes teams of some of them, and "
        "`equipoise rate --initial` begins with them",
        next=[
            NextMessage(
                command("balance", ["--ratings", *words, "--players", some]),
                "splits some players into two even teams",
            )
        ],
    )


def contents_of_games(reading: GamesReading, games: Games) -> ContentsMessage:
    """Return what there is to rate in games."""
    matches = round(float(games.weights.sum()))
    drawn = 0 if games.draws is None else round(float(games.draws.sum()))
    return ContentsMessage(
        matches=matches,
        participations=2 * matches,
        players=games.players,
        first=None,
        last=None,
        dated=False,
        smallest_match=2,
        largest_match=2,
        largest_team=1,
        team_matches=0,
        pairs=matches,
        with_ties=drawn,
        all_tied=drawn,
        unrated=reading.left_out.get("unrated", 0),
        filtered=reading.left_out.get("filtered", 0),
        dropped_matches=reading.skipped,
    )


def first_games(games: Games, count: int) -> list[MatchLineMessage]:
    """Return the first results of games, at most so many."""
    lines = []
    for row in range(min(count, games.rows)):
        white, black = (str(games.player_ids[side[row]]) for side in (games.white, games.black))
        points, weight = float(games.points[row]), float(games.weights[row])
        colour = " (white)" if games.coloured else ""
        if weight == 1 and points in (0.0, 0.5, 1.0):
            result = "draw" if points == 0.5 else f"{white if points else black} won"
        else:
            result = f"{points:g} of {weight:g} points for {white}"
        lines.append(
            MatchLineMessage(
                json_value(np.int64(row + 1)), None, f"{white}{colour} against {black}", result
            )
        )
    return lines
