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
from equipoise.formats.tables.column_names import CANONICAL
from equipoise.formats.tables.delimited import escaped
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.messages.upkeep import ExportMessage
from equipoise.pools.exchange.history_requests import ATTRIBUTE, LINK, TITLE
from equipoise.pools.exchange.log_lines import head_line, record_line, seed_of
from equipoise.pools.pool.rules import PoolRules, rules_of
from equipoise.pools.posting.rating import (
    LoggedMatch,
    context_of,
    object_array,
    players_of,
    pool_stamps,
    score_of,
    unpack_extra,
)
from equipoise.pools.records import (
    amendments_of,
    counted_matches,
    counted_piece,
    disqualify_content,
)
from equipoise.rating.contexts import CONTEXT
from equipoise.rating.pool_state import PoolState
from equipoise.rating.replay import TRACE_COLUMNS, ratings_of
from equipoise.rating.state import unpack_players
from equipoise.rating.system import OF_ROUNDS
from equipoise.store import changes, log, ratings
from equipoise.store.changes import ChangeRow
from equipoise.store.connection import Store
from equipoise.store.pools import START, PoolRecord, get_pool, pool_by_number, rated_through

#: Whole numbers that fit a column of them.
_LARGEST_INT = 2**63
#: Whole numbers that fit a column of floats; larger ones are text.
_LARGEST_FLOAT = int(sys.float_info.max)

_PLAYERS_OWN: Mapping[str, Any] = {
    "share": pl.Float64,
    "performance": pl.Float64,
    "role": pl.String,
    "side": pl.String,
    "at_home": pl.Boolean,
}
_RESERVED = {*CANONICAL, *_PLAYERS_OWN}


@dataclass(slots=True)
class _Seen:
    """The further values that the matches of a pool have, beside players and results."""

    teams: bool = False
    weight: bool = False
    ceiling: bool = False
    context: bool = False
    rounds: set[str] = field(default_factory=set)
    fractions: bool = False
    earliest: int | None = None
    latest: int = 0
    own: set[str] = field(default_factory=set)
    statistics: set[str] = field(default_factory=set)
    attributes: dict[str, set[type]] = field(default_factory=dict)
    of_match: dict[str, set[type]] = field(default_factory=dict)

    def look(self, match: LoggedMatch) -> None:
        """Take note of what a match says."""
        request = match.request
        self.fractions |= match.time % MICROSECONDS != 0
        if self.earliest is None or match.time < self.earliest:
            self.earliest = match.time
        self.latest = max(self.latest, match.time)
        self.weight |= request.weight != 1.0
        self.ceiling |= request.performance_ceiling is not None
        self.context |= request.context is not None
        self.rounds.update(name for name in OF_ROUNDS if getattr(request, name) is not None)
        for name, value in _match_texts(request).items():
            self.of_match.setdefault(name, set()).add(_kind_of(value))
        for team in request.teams:
            self.teams |= team.team is not None or len(team.players) > 1
            for member in team.players:
                if isinstance(member, ParticipationRequest):
                    self._look_at(member)

    def _look_at(self, member: ParticipationRequest) -> None:
        self.own.update(name for name in _PLAYERS_OWN if getattr(member, name) is not None)
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
        self._seen = seen
        self._statistics = {name: _free(name, "statistics") for name in sorted(seen.statistics)}
        self._scored = not rules.fault and "score" in rules.able.uses
        taken = {*_RESERVED, *self._statistics.values(), *seen.of_match}
        if self._scored:
            taken.add("score")
        self._attributes = {
            name: _free(name, "attributes", taken)
            for name in sorted(seen.attributes)
            if not (name == CONTEXT and seen.context)
        }
        self._of_match = sorted(seen.of_match)
        self.schema = self._schema()

    def frames(self) -> Iterator[tuple[pl.DataFrame, int]]:
        """Give the matches as tables, at least one, with their numbers of matches."""
        yield pl.DataFrame(schema=self.schema), 0
        for piece in self._pieces():
            rows: list[tuple[Any, ...]] = []
            for match in piece:
                rows += self._rows(match)
            yield pl.DataFrame(rows, schema=self.schema, orient="row"), len(piece)

    def _schema(self) -> dict[str, Any]:
        seen = self._seen
        columns: dict[str, Any] = {"match": pl.String}
        if self._rules.timed:
            columns["time"] = pl.Datetime("us") if self._stamps else pl.Int64
        columns["player"] = pl.String
        if seen.teams:
            columns["team"] = pl.String
        columns["rank"] = pl.Int64
        if self._scored:
            columns["score"] = pl.Float64
        if seen.weight:
            columns["weight"] = pl.Float64
        if seen.ceiling:
            columns["performance_ceiling"] = pl.Float64
        columns |= {name: pl.Float64 for name in OF_ROUNDS if name in seen.rounds}
        if seen.context:
            columns[CONTEXT] = pl.String
        columns |= {name: kind for name, kind in _PLAYERS_OWN.items() if name in seen.own}
        columns |= dict.fromkeys(self._statistics.values(), pl.Float64)
        for name, column in self._attributes.items():
            columns[column] = _type_of(seen.attributes[name])
        columns |= {name: _type_of(seen.of_match[name]) for name in self._of_match}
        return columns

    @property
    def _stamps(self) -> bool:
        """Whether times are written as in ISO 8601: readers would not read them as seconds."""
        span = None
        if self._seen.earliest is not None:
            span = (self._seen.earliest, self._seen.latest, self._seen.fractions)
        return pool_stamps(self._rules, span)

    def _rows(self, match: LoggedMatch) -> Iterator[tuple[Any, ...]]:
        """Give a row for every player of a match."""
        request, seen = match.request, self._seen
        head: list[Any] = [str(request.match)]
        if self._rules.timed:
            head.append(match.time if self._stamps else match.time // MICROSECONDS)
        tail: list[Any] = [request.weight] if seen.weight else []
        if seen.ceiling:
            tail.append(request.performance_ceiling)
        tail += [getattr(request, name) for name in OF_ROUNDS if name in seen.rounds]
        texts = _match_texts(request)
        last = [_value(texts.get(name), self.schema[name]) for name in self._of_match]
        for team, label, rank in _teams(request):
            middle = [label, rank] if seen.teams else [rank]
            for member in team.players:
                detail = member if isinstance(member, ParticipationRequest) else None
                player = str(member if detail is None else detail.player)
                points = [score_of(team, detail)] if self._scored else []
                where = [context_of(request, detail)] if seen.context else []
                yield (
                    *head,
                    player,
                    *middle,
                    *points,
                    *tail,
                    *where,
                    *self._details(detail),
                    *last,
                )

    def _details(self, member: ParticipationRequest | None) -> Iterator[Any]:
        """Give the further values of a player in a match, column by column."""
        own = (name for name in _PLAYERS_OWN if name in self._seen.own)
        if member is None:
            count = sum(1 for _ in own) + len(self._statistics) + len(self._attributes)
            yield from [None] * count
            return
        for name in own:
            value = getattr(member, name)
            if name == "at_home" and value is None and member.side in HOME_SIDES:
                value = True  # Readers ignore the side beside a column `at_home`.
            yield value
        yield from (member.statistics.get(name) for name in self._statistics)
        for name, column in self._attributes.items():
            yield _value(member.attributes.get(name), self.schema[column])


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
        counted=_counted_as(what, format),
        bytes=size,
        seconds=time.perf_counter() - start,
    )


def _counted_as(what: What, format: Format) -> Literal["records", "matches", "players"]:
    """Return what the progress of an export counts."""
    if what == "ratings":
        return "players"
    return "records" if what == "log" and format == "ndjson" else "matches"


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
    effects = any(
        record.kind == "disqualify" and disqualify_content(record.content).effect
        for record in amended
    )
    descriptions = bool(record.profiled) or any(
        record.kind in ("describe", "rename") for record in amended
    )
    yield head_line(record, seed, effects=effects, descriptions=descriptions)
    after, last = 0, False
    while not last:
        with store.read() as connection:
            _check_names(connection, record)
            records, seals, last = log.records_after(connection, pool, after, record.last_seq)
        if records:
            yield b"".join(map(record_line, records, seals))
            after = records[-1].seq
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

    table = LogTable(pieces, rules_of(record.settings))
    yield from _counted(table.frames(), record.matches, progress)


def _counted(
    frames: Iterator[tuple[pl.DataFrame, int]], total: int, progress: _Progress
) -> Iterator[pl.DataFrame]:
    """Give tables, and report their numbers of matches or players."""
    done = 0
    for frame, count in frames:
        yield frame
        done += count
        progress(done, total)


def _rating_frames(
    connection: Connection, pool: PoolRecord, progress: _Progress
) -> Iterator[pl.DataFrame]:
    frames = rating_frames(connection, pool, rules_of(pool.settings))
    yield from _counted(frames, pool.players, progress)


def rating_frames(
    connection: Connection, pool: PoolRecord, rules: PoolRules
) -> Iterator[tuple[pl.DataFrame, int]]:
    """Give the rating table, best players first, in pieces with their numbers of players.

    Disqualified players come after all others. If there are any, a column marks them.
    """
    marked = ratings.any_disqualified(connection, pool.id, pool.generation)
    span = ratings.span_of_last_times(connection, pool.id, pool.generation)
    kind: TimeKind = "datetime" if pool_stamps(rules, span) else "seconds"

    def table(players: list[str]) -> pl.DataFrame:
        if rules.fault:
            return _stored_frame(connection, pool, kind, players)
        stored = ratings.states_of(connection, pool.id, pool.generation, players)
        # The database does not keep the order of the players.
        return _rating_frame(pool, rules, kind, {name: stored[name].state for name in players})

    if not pool.players:
        yield table([]), 0
    for players in ratings.players_by_rating(connection, pool.id, pool.generation):
        frame = table(players)
        if marked:
            shown = ratings.ratings_of(connection, pool.id, pool.generation, players)
            disqualified = [bool(shown[player].disqualified) for player in frame["player"]]
            frame = frame.with_columns(pl.Series("disqualified", disqualified, dtype=pl.Boolean))
            frame = frame.sort("disqualified", maintain_order=True)
        yield frame, len(players)


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
    schema, done = _change_schema(rules, names, stamps), 0
    yield pl.DataFrame(schema=schema)
    for matches in counted_matches(connection, pool, amendments, START):
        rows = _change_rows(connection, pool, rules, matches, names, stamps)
        yield pl.DataFrame(rows, schema=schema, orient="row")
        done += len(matches)
        progress(done, pool.matches)


def _change_schema(rules: PoolRules, names: tuple[str, ...], stamps: bool) -> dict[str, Any]:
    columns: dict[str, Any] = {"match": pl.String}
    if rules.timed:
        columns["time"] = pl.Datetime("us") if stamps else pl.Int64
    columns |= {"player": pl.String, "team": pl.Int64, "rank": pl.Int64}
    return columns | dict.fromkeys(names, pl.Float64)


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
        request = match.request
        places = {r: place for place, r in enumerate(sorted({t.order for t in request.teams}))}
        head: list[Any] = [str(request.match)]
        if rules.timed:
            head.append(match.time if stamps else match.time // MICROSECONDS)
        row_of = iter(players_of(request))
        for number, team in enumerate(request.teams):
            for player in (next(row_of) for _ in team.players):
                numbers = _numbers(stored.get((player, match.seq)), rules, names)
                rows.append((*head, player, number, places[team.order], *numbers))
    return rows


def _numbers(
    change: ChangeRow | None, rules: PoolRules, names: tuple[str, ...]
) -> list[float | None]:
    if change is None:
        return [None] * len(names)
    extra = unpack_extra(rules, change.extra)
    return [extra[name] if name in extra else getattr(change, name) for name in names]


def _encoded(frames: Iterator[pl.DataFrame], format: Format, *, raw: bool) -> Iterator[bytes]:
    """Give the bytes of one table that is given in pieces."""
    if format == "parquet":
        yield from _parquet(frames)
        return
    for number, frame in enumerate(frames):
        table = escaped(frame) if format == "csv" and not raw else frame
        yield _text(table, format, head=number == 0)


def _text(frame: pl.DataFrame, format: Format, head: bool) -> bytes:
    if format == "csv":
        return frame.write_csv(include_header=head).encode()
    return frame.write_ndjson().encode()


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
