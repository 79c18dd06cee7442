"""Exports of a pool: its log, and tables of it.

The log as lines of JSON loses nothing and can be imported. As a table it is a history of the
matches as they count now, which `equipoise rate` reads. Ratings and changes are the tables that
`equipoise rate` writes.

An export is one state of the pool, but no transaction lasts as long as somebody reads it: an old
transaction that reads makes the write-ahead log of SQLite grow without end. The log only grows, so
it is read up to its last record of the beginning, each piece in a transaction of its own. Only the
erasure of a player changes it, and ends its export with an error. Ratings and changes are read into
a temporary file in one transaction.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl
from sqlalchemy import Connection

from equipoise.data.files import whole_file
from equipoise.data.history import HOME_SIDES, TimeKind
from equipoise.data.times import MICROSECONDS
from equipoise.errors import ConflictError, InvalidParameterError, require
from equipoise.formats.column_names import CANONICAL
from equipoise.formats.delimited import escaped
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.messages.upkeep import ExportMessage
from equipoise.pools.contents import effect_of
from equipoise.pools.exchange.histories import ATTRIBUTE, LINK, TITLE
from equipoise.pools.exchange.log_lines import head_line, record_line, seed_of
from equipoise.pools.pool.rules import PoolRules, rules_of
from equipoise.pools.posting.rating import (
    LoggedMatch,
    context_of,
    object_array,
    player_ids,
    pool_stamps,
    score_of,
    unpack_extra,
)
from equipoise.pools.records import (
    amendments_of,
    counted_matches,
    counted_piece,
)
from equipoise.rating.contexts import CONTEXT
from equipoise.rating.pool_state import PoolState
from equipoise.rating.replay import TRACE_COLUMNS, ratings_of
from equipoise.rating.state import unpack_players
from equipoise.rating.system import OF_ROUNDS
from equipoise.store import changes, log, ratings
from equipoise.store.connection import Store
from equipoise.store.pools import START, PoolRecord, get_pool, pool_by_number, rated_through

#: Whole numbers that fit a column of them.
_LARGEST_INT = 2**63
#: Whole numbers that fit a column of floats; larger ones are text.
_LARGEST_FLOAT = int(sys.float_info.max)

#: Values of a match and of a player in it that have a column of their own if any match needs it.
_OF_MATCH = ("weight", "performance_ceiling", *OF_ROUNDS)
_OF_PLAYER: Mapping[str, Any] = {
    "share": pl.Float64,
    "performance": pl.Float64,
    "role": pl.String,
    "side": pl.String,
    "at_home": pl.Boolean,
}
_RESERVED = {*CANONICAL, *_OF_PLAYER}


@dataclass(slots=True)
class _Seen:
    """What columns the matches of a pool need, beside players and results.

    columns : those of one type; statistics : their names
    attributes, of_match : types of the values of players' attributes, and of texts of matches
    """

    columns: set[str] = field(default_factory=set)
    statistics: set[str] = field(default_factory=set)
    attributes: dict[str, set[type]] = field(default_factory=dict)
    of_match: dict[str, set[type]] = field(default_factory=dict)
    span: tuple[int, int, bool] | None = None

    def look(self, match: LoggedMatch) -> None:
        """Take note of what a match says."""
        request, time = match.request, match.time
        low, high, fractions = (time, time, False) if self.span is None else self.span
        fractions |= time % MICROSECONDS != 0
        self.span = (min(low, time), max(high, time), fractions)
        given = {name for name in (*_OF_MATCH, CONTEXT) if getattr(request, name) is not None}
        self.columns |= given if request.weight != 1.0 else given - {"weight"}
        for name, value in _match_texts(request).items():
            self.of_match.setdefault(name, set()).add(_kind_of(value))
        for team in request.teams:
            if team.team is not None or len(team.players) > 1:
                self.columns.add("team")
            for member in team.players:
                if isinstance(member, ParticipationRequest):
                    self._look_at(member)

    def _look_at(self, member: ParticipationRequest) -> None:
        self.columns.update(name for name in _OF_PLAYER if getattr(member, name) is not None)
        self.statistics.update(member.statistics)
        for name, value in member.attributes.items():
            if value is not None:
                self.attributes.setdefault(name, set()).add(_kind_of(value))


class LogTable:
    """The matches of a pool as rows of a table, with the columns that they need.

    pieces : the matches in the order of rating. They are read twice: first to find the columns,
        then to write the rows
    """

    def __init__(self, pieces: Callable[[], Iterator[list[LoggedMatch]]], rules: PoolRules) -> None:
        self._pieces, self._rules = pieces, rules
        seen = _Seen()
        for piece in pieces():
            for match in piece:
                seen.look(match)
        self._statistics = {name: _free(name, "statistics") for name in sorted(seen.statistics)}
        self._scored = not rules.fault and "score" in rules.able.uses
        taken = {*_RESERVED, *self._statistics.values(), *seen.of_match}
        if self._scored:
            taken.add("score")
        self._attributes = {
            name: _free(name, "attributes", taken)
            for name in sorted(seen.attributes)
            if not (name == CONTEXT and CONTEXT in seen.columns)
        }
        # Times are written as in ISO 8601 where readers would not read them as seconds.
        self._stamps = pool_stamps(rules, seen.span)
        self.schema = self._schema(seen)

    def frames(self) -> Iterator[tuple[pl.DataFrame, int]]:
        """Give the matches as tables, at least one, with their numbers of matches."""
        yield pl.DataFrame(schema=self.schema), 0
        for piece in self._pieces():
            rows = [
                tuple(map(row.get, self.schema)) for match in piece for row in self._rows(match)
            ]
            yield pl.DataFrame(rows, schema=self.schema, orient="row"), len(piece)

    def _schema(self, seen: _Seen) -> dict[str, Any]:
        times = {"time": pl.Datetime("us") if self._stamps else pl.Int64}
        columns: dict[str, Any] = {"match": pl.String, **(times if self._rules.timed else {})}
        columns["player"] = pl.String
        if "team" in seen.columns:
            columns["team"] = pl.String
        columns["rank"] = pl.Int64
        if self._scored:
            columns["score"] = pl.Float64
        further = {**dict.fromkeys(_OF_MATCH, pl.Float64), CONTEXT: pl.String, **_OF_PLAYER}
        columns |= {name: kind for name, kind in further.items() if name in seen.columns}
        columns |= dict.fromkeys(self._statistics.values(), pl.Float64)
        for name, column in self._attributes.items():
            columns[column] = _type_of(seen.attributes[name])
        return columns | {name: _type_of(seen.of_match[name]) for name in sorted(seen.of_match)}

    def _rows(self, match: LoggedMatch) -> Iterator[dict[str, Any]]:
        """Give the values of every player of a match by column."""
        request = match.request
        of_match: dict[str, Any] = {name: getattr(request, name) for name in _OF_MATCH}
        of_match["match"] = str(request.match)
        of_match["time"] = match.time if self._stamps else match.time // MICROSECONDS
        for name, value in _match_texts(request).items():
            of_match[name] = _value(value, self.schema[name])
        for team, label, rank in _teams(request):
            for member in team.players:
                detail = member if isinstance(member, ParticipationRequest) else None
                player = str(member if detail is None else detail.player)
                row = {**of_match, "player": player, "team": label, "rank": rank}
                if self._scored:
                    row["score"] = score_of(team, detail)
                if CONTEXT in self.schema:
                    row[CONTEXT] = context_of(request, detail)
                if detail is not None:
                    row |= self._details(detail)
                yield row

    def _details(self, member: ParticipationRequest) -> dict[str, Any]:
        """Return the further values of a player in a match by column."""
        row = {name: getattr(member, name) for name in _OF_PLAYER}
        if member.at_home is None and member.side in HOME_SIDES:
            row["at_home"] = True  # Readers ignore the side beside a column `at_home`.
        for name, column in self._statistics.items():
            row[column] = member.statistics.get(name)
        for name, column in self._attributes.items():
            row[column] = _value(member.attributes.get(name), self.schema[column])
        return row


def _match_texts(request: MatchRequest) -> dict[str, Any]:
    """Return title, link and attributes of a match by their columns; without absent ones."""
    texts: dict[str, Any] = {TITLE: request.title, LINK: request.link}
    texts |= {f"{ATTRIBUTE}{name}": value for name, value in request.attributes.items()}
    return {name: value for name, value in texts.items() if value is not None}


def _teams(request: MatchRequest) -> Iterator[tuple[TeamRequest, str, int]]:
    """Give the teams of a match with distinct labels, and their places from 0."""
    labels = [team.team for team in request.teams]
    if None in labels or len(set(labels)) < len(labels):
        labels = [str(number) for number in range(1, len(labels) + 1)]
    places = {order: place for place, order in enumerate(sorted({t.order for t in request.teams}))}
    for team, label in zip(request.teams, labels, strict=True):
        yield team, str(label), places[team.order]


def _free(name: str, kind: str, taken: set[str] = _RESERVED) -> str:
    """Return the name of a column: with its kind if the name alone is taken."""
    return f"{kind}.{name}" if name in taken else name


def _kind_of(value: Any) -> type:
    """Return the type as which a column holds a value."""
    if type(value) is not int or abs(value) < _LARGEST_INT:
        return type(value)
    return float if abs(value) <= _LARGEST_FLOAT else str


def _type_of(kinds: set[type]) -> Any:
    """Return the type of a column that holds values of these types."""
    if kinds == {bool}:
        return pl.Boolean
    if kinds == {int}:
        return pl.Int64
    return pl.Float64 if kinds <= {int, float} else pl.String


def _value(value: Any, kind: Any) -> Any:
    """Return a value as its column holds it."""
    if value is None or kind != pl.String or isinstance(value, str):
        return float(value) if kind == pl.Float64 and value is not None else value
    return str(value).lower() if isinstance(value, bool) else str(value)


#: What can be exported.
What: TypeAlias = Literal["log", "ratings", "changes"]
Format: TypeAlias = Literal["csv", "parquet", "ndjson"]

#: Formats by the endings of file names.
ENDINGS: dict[str, Format] = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
}
_Progress: TypeAlias = Callable[[int, int], None]

#: Bytes of one piece, roughly.
_CHUNK = 2**18


def export_file(
    store: Store,
    pool: str,
    what: What,
    path: str,
    progress: _Progress | None = None,
    *,
    raw: bool = False,
) -> ExportMessage:
    """Write a pool's log, ratings or changes to a file, completely or not at all.

    path : its ending gives the format
    raw : whether CSV has text that spreadsheets run as it is. Otherwise it is escaped, and our
        readers read it back as it was
    progress : called with (records or players done, in all)
    Raises : NotFoundError, InvalidParameterError
    """
    format = format_of(path)
    start = time.perf_counter()
    size, count = 0, 0
    of_log: Literal["records", "matches"] = "matches"
    if what == "log" and format == "ndjson":
        of_log = "records"

    def counting(done: int, total: int) -> None:
        nonlocal count
        count = done
        if progress is not None:
            progress(done, total)

    with whole_file(path) as file:
        for chunk in export_bytes(store, pool, what, format, counting, raw=raw):
            file.write(chunk)
            size += len(chunk)
    return ExportMessage(
        pool=pool,
        what=what,
        file=path,
        format=format,
        count=count,
        counted="players" if what == "ratings" else of_log,
        bytes=size,
        seconds=time.perf_counter() - start,
    )


def export_bytes(
    store: Store,
    pool: str,
    what: What,
    format: Format,
    progress: _Progress | None = None,
    *,
    raw: bool = False,
) -> Iterator[bytes]:
    """Return the bytes that `export_file` writes, in pieces.

    A piece is empty while a temporary file is made. No transaction is open between two pieces with
    bytes.
    Raises : NotFoundError, InvalidParameterError; at once, not with the first piece. ConflictError
        with a piece if the pool is deleted meanwhile, or a player is erased from a log
    """
    require(what in get_args(What), "what", f"one of {', '.join(get_args(What))}", what)
    formats = get_args(Format)
    require(format in formats, "format", f"one of {', '.join(formats)}", format)
    with store.read() as connection:
        number = get_pool(connection, pool).id
    shown = progress or (lambda done, total: None)
    return _in_chunks(_bytes(store, number, what, format, shown, raw=raw))


def format_of(path: str) -> Format:
    """Return the format of a file name by its ending. Raises : InvalidParameterError."""
    for ending, format in ENDINGS.items():
        if path.lower().endswith(ending):
            return format
    raise InvalidParameterError(
        f"the name of a file must end in {', '.join(ENDINGS)}; got {path!r}"
    )


def _bytes(
    store: Store, pool: int, what: What, format: Format, progress: _Progress, *, raw: bool
) -> Iterator[bytes]:
    if what == "log" and format == "ndjson":
        yield from _log_lines(store, pool, progress)
    elif what == "log":
        yield from _encoded(_log_frames(store, pool, progress), format, raw=raw)
    else:
        make = _rating_frames if what == "ratings" else _change_frames
        with tempfile.TemporaryFile(prefix="equipoise-export-") as file:
            with store.read() as connection:
                frames = make(connection, _same_pool(connection, pool), progress)
                for piece in _encoded(frames, format, raw=raw):
                    file.write(piece)
                    yield b""
            file.seek(0)
            yield from _chunks_of(file)


def _same_pool(connection: Connection, pool: int) -> PoolRecord:
    """Return a pool by its number; its name may change. Raises : ConflictError."""
    record = pool_by_number(connection, pool)
    if record is None:
        raise ConflictError("the pool was deleted while it was exported")
    return record


def _check_names(connection: Connection, pool: PoolRecord) -> None:
    """Check that no name was erased from a log since its export began: it would have both names.

    Raises : ConflictError, also if the pool was deleted
    """
    if _same_pool(connection, pool.id).erased != pool.erased:
        raise ConflictError("a player was erased while the log was exported: export it again")


def _log_lines(store: Store, pool: int, progress: _Progress) -> Iterator[bytes]:
    with store.read() as connection:
        record = _same_pool(connection, pool)
        seed = seed_of(connection, record)
        amended = log.amendments(connection, pool) if record.amendments else []
    effects = any(effect_of(record.kind, record.content) for record in amended)
    descriptions = bool(record.profiled) or any(
        record.kind in ("describe", "rename") for record in amended
    )
    yield head_line(record, seed, effects=effects, descriptions=descriptions)
    after, last = 0, False
    while not last:
        with store.read() as connection:
            _check_names(connection, record)
            rows, last = log.rows_after(connection, pool, after, record.last_seq)
        if rows:
            yield b"".join(record_line(*log.record_and_seal(row)) for row in rows)
            after = rows[-1][0]
            progress(after, record.last_seq)


def _log_frames(store: Store, pool: int, progress: _Progress) -> Iterator[pl.DataFrame]:
    with store.read() as connection:
        record = _same_pool(connection, pool)
        amendments = amendments_of(connection, record)

    def pieces() -> Iterator[list[LoggedMatch]]:
        after, last = START, False
        while not last:
            with store.read() as connection:
                _check_names(connection, record)
                matches, after, last = counted_piece(
                    connection, record, amendments, after, posted=record.last_seq
                )
            yield matches

    done = 0
    for frame, count in LogTable(pieces, rules_of(record.settings)).frames():
        yield frame
        done += count
        progress(done, record.matches)


def _rating_frames(
    connection: Connection, pool: PoolRecord, progress: _Progress
) -> Iterator[pl.DataFrame]:
    """Give the rating table, best players first, in pieces.

    Disqualified players come after all others. If there are any, a column marks them.
    """
    rules, done = rules_of(pool.settings), 0
    marked = ratings.any_disqualified(connection, pool.id, pool.generation)
    span = ratings.span_of_last_times(connection, pool.id, pool.generation)
    kind: TimeKind = "datetime" if pool_stamps(rules, span) else "seconds"
    pieces = ratings.players_by_rating(connection, pool.id, pool.generation)
    for players in pieces if pool.players else [[]]:
        if rules.fault:
            frame = _stored_frame(connection, pool, kind, players)
        else:
            stored = ratings.states_of(connection, pool.id, pool.generation, players)
            # The database does not keep the order of the players.
            packed = {name: stored[name].state for name in players}
            frame = _rating_frame(pool, rules, kind, packed)
        if marked:
            shown = ratings.ratings_of(connection, pool.id, pool.generation, players)
            disqualified = [bool(shown[player].disqualified) for player in frame["player"]]
            frame = frame.with_columns(pl.Series("disqualified", disqualified, dtype=pl.Boolean))
            frame = frame.sort("disqualified", maintain_order=True)
        yield frame
        done += len(players)
        progress(done, pool.players)


def _stored_frame(
    connection: Connection, pool: PoolRecord, kind: TimeKind, players: list[str]
) -> pl.DataFrame:
    """Return the rating table of some players without the package of the pool's system.

    It has the numbers that every system has, as of each player's last match.
    """
    shown = ratings.ratings_of(connection, pool.id, pool.generation, players)
    rows = [shown[player] for player in players]
    times = pl.Series("last_time", [row.last_time for row in rows], dtype=pl.Int64)
    return pl.DataFrame(
        {
            "player": pl.Series(players, dtype=pl.String),
            "rating": pl.Series([row.rating for row in rows], dtype=pl.Float64),
            "deviation": pl.Series([row.deviation for row in rows], dtype=pl.Float64),
            "matches": pl.Series([row.matches for row in rows], dtype=pl.Int64),
            "last_time": times // MICROSECONDS if kind == "seconds" else times.cast(pl.Datetime),
        }
    )


def _rating_frame(
    pool: PoolRecord, rules: PoolRules, kind: TimeKind, packed: dict[str, bytes]
) -> pl.DataFrame:
    """Return the rating table of some players; kind : how their times are written."""
    state = unpack_players(rules.system, list(packed.values()))
    state.shared = {name: values.copy() for name, values in pool.shared.items()}
    some = PoolState(
        system=rules.system,
        player_ids=object_array(list(packed)),
        state=state,
        rated=np.zeros(0, np.int64),
        time_kind=kind,
    )
    table = ratings_of(some).file_table().with_columns(pl.col("player").cast(pl.String))
    if kind == "seconds" and table["last_time"].dtype != pl.Int64:
        # All pieces of a table write times in the same way.
        table = table.with_columns(pl.col("last_time").dt.epoch("s"))
    return table


def _change_frames(
    connection: Connection, pool: PoolRecord, progress: _Progress
) -> Iterator[pl.DataFrame]:
    """Give what every match did to its players, in the order of rating."""
    rules = rules_of(pool.settings)
    # While a replay is pending, the stored changes are those of the last replay.
    through = rated_through(connection, pool)
    amendments = amendments_of(connection, pool, through)
    stamps = pool_stamps(rules, log.span_of_matches(connection, pool.id))
    names = (*TRACE_COLUMNS, *(() if rules.fault else rules.system.trace_columns))
    times = {"time": pl.Datetime("us") if stamps else pl.Int64} if rules.timed else {}
    schema: dict[str, Any] = {
        "match": pl.String,
        **times,
        "player": pl.String,
        "team": pl.Int64,
        "rank": pl.Int64,
    }
    schema |= dict.fromkeys(names, pl.Float64)
    yield pl.DataFrame(schema=schema)
    done = 0
    for matches in counted_matches(connection, pool, amendments, START):
        rows = _change_rows(connection, pool, rules, matches, names, stamps)
        yield pl.DataFrame(rows, schema=schema, orient="row")
        done += len(matches)
        progress(done, pool.matches)


def _change_rows(
    connection: Connection,
    pool: PoolRecord,
    rules: PoolRules,
    matches: list[LoggedMatch],
    names: tuple[str, ...],
    stamps: bool,
) -> list[tuple[Any, ...]]:
    """Return a row for each participation, without numbers if the match changed nothing.

    stamps : whether times are written as in ISO 8601
    """
    if not matches:
        return []
    first, last = matches[0].position, matches[-1].position
    stored = changes.changes_between(connection, pool, first, last)
    rows = []
    for match in matches:
        head: list[Any] = [str(match.request.match)]
        if rules.timed:
            head.append(match.time if stamps else match.time // MICROSECONDS)
        for number, (team, _, place) in enumerate(_teams(match.request)):
            for player in player_ids(team.players):
                change = stored.get((player, match.seq))
                numbers: list[float | None] = [None] * len(names)
                if change is not None:
                    extra = unpack_extra(rules, change.extra)
                    numbers = [
                        extra[name] if name in extra else getattr(change, name) for name in names
                    ]
                rows.append((*head, player, number, place, *numbers))
    return rows


def _encoded(frames: Iterator[pl.DataFrame], format: Format, *, raw: bool) -> Iterator[bytes]:
    """Give the bytes of one table that is given in pieces."""
    if format == "parquet":
        yield from _parquet(frames)
        return
    for number, frame in enumerate(frames):
        table = escaped(frame) if format == "csv" and not raw else frame
        text = table.write_csv(include_header=number == 0) if format == "csv" else None
        yield (table.write_ndjson() if text is None else text).encode()


def _parquet(frames: Iterator[pl.DataFrame]) -> Iterator[bytes]:
    """Give one Parquet file. It is made from a file for each piece, to bound memory."""
    with tempfile.TemporaryDirectory(prefix="equipoise-export-") as folder:
        parts = []
        for number, frame in enumerate(frames):
            parts.append(Path(folder) / f"{number}.parquet")
            frame.write_parquet(parts[-1], compression="zstd", compression_level=1)
            yield b""
        whole = Path(folder) / "whole.parquet"
        pl.scan_parquet(parts).sink_parquet(whole, compression="zstd", compression_level=1)
        with whole.open("rb") as file:
            yield from _chunks_of(file)


def _chunks_of(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk


def _in_chunks(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Join small pieces into larger ones; give empty ones as they come."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        if not piece:
            yield piece
            continue
        held.append(piece)
        size += len(piece)
        if size >= _CHUNK:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)
