"""The log of a pool, in the order of arrival, and how an erasure rewrites it.

It only grows. Only the erasure of a player's name changes what is in it.

Every column that may hold a name of a player is written here, apart from `board_from` of the pool,
which only says how far an update of the leaderboard is. What is inside of texts and packed states
is rewritten by functions that the caller gives: text or state in, the new one or None out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import msgspec
from sqlalchemy import (
    Column,
    Connection,
    Row,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    tuple_,
    update,
)

from equipoise.errors import NotFoundError
from equipoise.store.audit import AuditRow
from equipoise.store.bulk import Prepared, PreparedEach, among, insert_rows, sizes_of
from equipoise.store.chain import Seal, audit_leaf, extended, leaf_of, salts, sealed_leaf
from equipoise.store.chain import salts as new_salts
from equipoise.store.connection import Store
from equipoise.store.pools import PoolRecord, Position, row_value
from equipoise.store.schema import (
    audit,
    changes,
    checkpoints,
    is_name,
    log,
    ratings,
    replays,
    seeds,
)

Kind: TypeAlias = Literal[
    "match",
    "void",
    "restore",
    "correct",
    "describe",
    "disqualify",
    "reinstate",
    "rename",
    "settings",
    "erase",
    "initial",
    "profiles",
]


class LogRecord(NamedTuple):
    """A record of the log of a pool, as the table has it."""

    seq: int
    kind: Kind
    match: str | None
    player: str | None
    content: str
    posted_time: int | None
    time: int
    needs_replay: bool
    received: int
    key: int | None

    @property
    def position(self) -> Position:
        """Position of a match in the order of rating."""
        return self.time, self.seq


class LoggedAs(NamedTuple):
    """What an imported log has of a record, beside what was posted.

    received : time of its receipt
    time, content, seal : as in the log; None for logs of versions 1 and 2, which do not have them
    """

    received: int
    time: int | None = None
    content: str | None = None
    seal: Seal | None = None

    def applied(self, record: LogRecord) -> LogRecord:
        """Return a record with the time and the content of the log, if the log has them."""
        if self.time is None or self.content is None:
            return record
        return record._replace(time=self.time, content=self.content)

    def seals(self, seq: int) -> dict[int, Seal]:
        """Return the seal of a record as `append` takes it."""
        return {} if self.seal is None else {seq: self.seal}


_NAMES = LogRecord._fields
_COLUMNS = [log.c[name] for name in _NAMES]
_CONTENT = _NAMES.index("content")
_NEW: Mapping[int, Seal] = MappingProxyType({})
#: A literal, not a parameter: databases need it to use the partial indexes.
_MATCH = log.c.kind == literal_column("'match'")
_INITIAL = log.c.kind == "initial"
#: Kinds of amendments whose content may be very long.
_LONG = log.c.kind.in_(("initial", "profiles"))
#: Larger than the number of any record.
LAST = 2**63 - 1


def append(
    connection: Connection,
    pool: PoolRecord,
    records: Sequence[LogRecord],
    seals: Mapping[int, Seal] = _NEW,
) -> dict[str, Any]:
    """Append records and chain them. Nothing else may add to the log.

    pool : locked, as it was before
    records : at least one; their numbers continue those of the log
    seals : of imported records, by number; other records get a new salt
    Returns : the columns of the pool that the caller must change by `change_pool`
    """
    rows: list[tuple[Any, ...]]
    names: tuple[str, ...] = ("pool", *_NAMES, "salt")
    salts = new_salts(len(records))
    if not seals:
        leaves = list(map(leaf_of, records, salts))
        rows = [(pool.id, *record, salt) for record, salt in zip(records, salts, strict=True)]
    else:
        found = [
            seals.get(record.seq, Seal(salt)) for record, salt in zip(records, salts, strict=True)
        ]
        leaves = list(map(sealed_leaf, records, found))
        rows = [(pool.id, *record, *seal) for record, seal in zip(records, found, strict=True)]
        names = (*names, "leaf")
    insert_rows(connection, log, names, rows)
    heads = extended(pool.heads, records, leaves)
    return {"last_seq": records[-1].seq, "head": heads.shared, "own_runs": heads.own}


def matches_by_id(connection: Connection, pool: int, ids: Iterable[str]) -> dict[str, LogRecord]:
    """Return the records of those matches that are in the log, by id."""
    rows = _EACH_MATCH.rows(connection, ids, {"of_pool": pool})
    return {cast(str, record.match): record for record in map(LogRecord._make, rows)}


def matches_beginning(connection: Connection, pool: int, text: str, limit: int) -> list[LogRecord]:
    """Return the matches of a pool whose ids begin with a text, by id."""
    if not text or not is_name(text):
        return []
    query = (
        select(*_COLUMNS)
        .where(log.c.pool == pool, _MATCH, log.c.match >= text, log.c.match < text + "\U0010ffff")
        .order_by(log.c.match)
        .limit(limit)
    )
    return list(_records(connection.execute(query)))


#: Letters at the end of the content of a match that have its title, link and attributes.
_END = 8_000


def matches_titled(
    connection: Connection, pool: int, text: str, *, newest: int, limit: int
) -> list[LogRecord]:
    """Return records whose title may contain a text, regardless of the case of A to Z.

    Matches, corrections and descriptions among the newest records, newest first. What follows the
    title in the content is searched too, so the caller compares the titles.
    """
    if not text or not is_name(text):
        return []
    written = msgspec.json.encode(text).decode()[1:-1]
    for special in "\\%_":
        written = written.replace(special, f"\\{special}")
    last = select(func.max(log.c.seq)).where(log.c.pool == pool).scalar_subquery()
    # The title comes after the players, of whom there may be thousands.
    sqlite = connection.dialect.name == "sqlite"
    end = func.substr(log.c.content, -_END) if sqlite else func.right(log.c.content, _END)
    query = select(*_COLUMNS).where(
        log.c.pool == pool,
        log.c.seq > last - newest,
        log.c.kind.in_(("match", "correct", "describe")),
        end.ilike(f'%"title":"%{written}%', escape="\\"),
    )
    return list(_records(connection.execute(query.order_by(log.c.seq.desc()).limit(limit))))


def length_of_initial(connection: Connection, pool: int) -> int:
    """Return how many characters all known ratings in the log of a pool have."""
    query = select(func.sum(func.length(log.c.content))).where(
        log.c.pool == pool, ~_MATCH, _INITIAL
    )
    return int(connection.execute(query).scalar() or 0)


def match_by_id(connection: Connection, pool: int, match: str) -> LogRecord | None:
    """Return the record of a match, or None."""
    if not is_name(match):
        return None
    row = connection.execute(_ONE_MATCH, {"of_pool": pool, "wanted": match}).first()
    return None if row is None else LogRecord._make(row)


def get_match(connection: Connection, pool: PoolRecord, match: str) -> LogRecord:
    """Return the record of a match. Raises : NotFoundError."""
    record = match_by_id(connection, pool.id, match)
    if record is None:
        raise NotFoundError(f"no match {match[:200]!r} in pool {pool.name!r}")
    return record


def match_ids(connection: Connection, pool: int, seqs: Sequence[int]) -> dict[int, str]:
    """Return the ids of matches by the numbers of their records."""
    some = among(log.c.seq, seqs, connection)
    query = select(log.c.seq, log.c.match).where(log.c.pool == pool, some)
    return {row[0]: row[1] for row in connection.execute(query)}


def posted_times(
    connection: Connection, pool: int, seqs: Sequence[int]
) -> dict[int, tuple[str, int | None]]:
    """Return ids of matches and the times posted with them by the numbers of their records."""
    columns = (log.c.seq, log.c.match, log.c.posted_time)
    query = select(*columns).where(log.c.pool == pool, among(log.c.seq, seqs, connection))
    return {row[0]: (row[1], row[2]) for row in connection.execute(query)}


def record_at(connection: Connection, pool: int, seq: int) -> LogRecord | None:
    """Return the record of this number, or None."""
    query = select(*_COLUMNS).where(log.c.pool == pool, log.c.seq == seq)
    row = connection.execute(query).first()
    return None if row is None else LogRecord._make(row)


def records_at(connection: Connection, pool: int, seqs: Sequence[int]) -> dict[int, LogRecord]:
    """Return the records of these numbers, by number."""
    some = among(log.c.seq, seqs, connection)
    query = select(*_COLUMNS).where(log.c.pool == pool, some)
    return {record.seq: record for record in _records(connection.execute(query))}


def amendments(connection: Connection, pool: int, *, through: int | None = None) -> list[LogRecord]:
    """Return all amendments but known ratings and profiles, which may be long, oldest first."""
    query = select(*_COLUMNS).where(log.c.pool == pool, ~_MATCH, ~_LONG).order_by(log.c.seq)
    if through is not None:
        query = query.where(log.c.seq <= through)
    return list(_records(connection.execute(query)))


def long_records(connection: Connection, pool: int) -> Iterator[LogRecord]:
    """Give the log records of known ratings and profiles, oldest first; they may be very long."""
    query = select(*_COLUMNS).where(log.c.pool == pool, ~_MATCH, _LONG).order_by(log.c.seq)
    return _records(connection.execute(query))


def renames(connection: Connection, pool: int) -> list[LogRecord]:
    """Return the amendments that rename players, oldest first."""
    rows = _RENAMES.rows(connection, {"of_pool": pool})
    return sorted(map(LogRecord._make, rows), key=lambda record: record.seq)


def amendments_of_players(
    connection: Connection, pool: int, players: Iterable[str]
) -> list[LogRecord]:
    """Return the amendments of some players, and those that rename any player, oldest first."""
    query = select(*_COLUMNS).where(
        log.c.pool == pool,
        ~_MATCH,
        # It leaves out amendments of matches, of which there may be many.
        log.c.player.is_not(None),
        or_(log.c.kind == "rename", among(log.c.player, players, connection)),
    )
    return sorted(_records(connection.execute(query)), key=lambda record: record.seq)


def numbers_of_kind(connection: Connection, pool: int, kind: Kind) -> list[int]:
    """Return the numbers of the amendments of one kind, oldest first."""
    this = (log.c.pool == pool) & ~_MATCH & (log.c.kind == kind)
    query = select(log.c.seq).where(this).order_by(log.c.seq)
    return [int(number) for number in connection.execute(query).scalars()]


def first_match_number(connection: Connection, pool: int) -> int | None:
    """Return the number of the first record of a match; None without matches."""
    query = select(log.c.seq).where(log.c.pool == pool, _MATCH).order_by(log.c.seq)
    number: int | None = connection.execute(query.limit(1)).scalar()
    return number


def salt_of(connection: Connection, pool: int, seq: int) -> bytes:
    """Return the salt of a record, empty if it has none or does not exist."""
    query = select(log.c.salt).where(log.c.pool == pool, log.c.seq == seq)
    return bytes(connection.execute(query).scalar() or b"")


def amendments_about(
    connection: Connection, pool: int, about: Literal["match", "player"], ids: Iterable[str]
) -> list[LogRecord]:
    """Return the amendments of some matches, or of some players, oldest first."""
    query = select(*_COLUMNS).where(
        log.c.pool == pool, ~_MATCH, among(log.c[about], ids, connection)
    )
    # Sorted here: with ORDER BY, SQLite reads all amendments instead.
    return sorted(_records(connection.execute(query)), key=lambda record: record.seq)


def amendments_before(
    connection: Connection, pool: int, before: int | None, limit: int
) -> list[LogRecord]:
    """Return the newest amendments with a number below `before`."""
    query = select(*_COLUMNS).where(log.c.pool == pool, ~_MATCH)
    if before is not None:
        query = query.where(log.c.seq < before)
    return list(_records(connection.execute(query.order_by(log.c.seq.desc()).limit(limit))))


def matches_after(
    connection: Connection,
    pool: int,
    after: Position,
    until: int | None = None,
    *,
    posted: int = LAST,
) -> tuple[list[LogRecord], bool]:
    """Return the next matches by the positions at which they were posted, and whether that is all.

    Large matches, contests of thousands, are returned in smaller numbers.
    until : time of the last matches; None for no limit
    posted : only matches with a number up to this one
    """
    values = {
        "of_pool": pool,
        "after_time": after[0],
        "after_seq": after[1],
        "until": LAST if until is None else until,
        "through": posted,
    }
    rows, last = _first_rows(connection, _MATCHES_AFTER, values)
    return list(map(LogRecord._make, rows)), last


def records_after(
    connection: Connection, pool: int, after: int, through: int = LAST
) -> tuple[list[LogRecord], list[Seal], bool]:
    """Return the next records in the order of receipt, their seals, and whether that is all.

    A record that is not chained has an empty salt.
    after, through : numbers of records; the one after `after` is the first, `through` the last
    """
    rows, last = rows_after(connection, pool, after, through)
    read = [record_and_seal(row) for row in rows]
    return [record for record, _ in read], [seal for _, seal in read], last


def rows_after(
    connection: Connection, pool: int, after: int, through: int = LAST
) -> tuple[list[tuple[Any, ...]], bool]:
    """Return what `records_after` does as rows: the fields of `LogRecord` and those of `Seal`."""
    values = {"of_pool": pool, "after_seq": after, "through": through}
    return _first_rows(connection, _RECORDS_AFTER, values)


class SealedRecord(NamedTuple):
    """A log record with its seal."""

    record: LogRecord
    seal: Seal


def record_and_seal(row: Sequence[Any]) -> SealedRecord:
    """Return a row of `rows_after` as a record and its seal."""
    *fields, salt, leaf = row
    return SealedRecord(LogRecord._make(fields), Seal.of(salt, leaf))


def _first_rows(
    connection: Connection, query: Prepared, values: dict[str, Any]
) -> tuple[list[tuple[Any, ...]], bool]:
    """Return as many rows as are read at once, and whether that is all."""
    sizes = sizes_of(connection)
    rows: list[tuple[Any, ...]] = []
    characters = 0
    values["many"] = sizes.matches
    with closing(query.pieces(connection, values, sizes.fetched)) as pieces:
        for piece in pieces:
            rows += piece
            characters += sum([len(row[_CONTENT]) for row in piece])
            if characters >= sizes.characters:
                return rows, False
    return rows, len(rows) < sizes.matches


def matches_before(
    connection: Connection, pool: int, before: Position | None, limit: int
) -> list[LogRecord]:
    """Return the newest matches before a position, newest first."""
    query = select(*_COLUMNS).where(log.c.pool == pool, _MATCH)
    if before is not None:
        query = query.where(_position() < row_value(before))
    query = query.order_by(log.c.time.desc(), log.c.seq.desc()).limit(limit)
    return list(_records(connection.execute(query)))


def position_after(
    connection: Connection, pool: int, after: Position, steps: int
) -> Position | None:
    """Return the position of the match some steps after a position, or of the newest one.

    None if there are no later matches.
    """
    query = select(log.c.time, log.c.seq).where(
        log.c.pool == pool, _MATCH, _position() > row_value(after)
    )
    rows = connection.execute(query.order_by(log.c.time, log.c.seq).limit(steps)).all()
    return None if not rows else (rows[-1][0], rows[-1][1])


def span_of_matches(connection: Connection, pool: int) -> tuple[int, int, bool] | None:
    """Return the earliest and latest time of all matches, and whether some have fractions.

    Corrected times are included, as are those that they replace. None without matches.
    """
    part = func.max(log.c.time % 1_000_000)
    query = select(func.min(log.c.time), func.max(log.c.time), part).where(
        log.c.pool == pool, log.c.kind.in_(("match", "correct"))
    )
    low, high, rest = connection.execute(query).one()
    return None if low is None else (low, high, rest != 0)


def first_waiting(connection: Connection, pool: int, after: int) -> Position | None:
    """Return the first position of the matches after record `after` that wait for a replay."""
    query = select(log.c.time, log.c.seq).where(
        log.c.pool == pool, _MATCH, log.c.needs_replay, log.c.seq > after
    )
    return min(((time, seq) for time, seq in connection.execute(query)), default=None)


def waiting_matches(connection: Connection, pool: int, after: int, through: int) -> list[int]:
    """Return the numbers of matches in a range that waited for a replay."""
    query = select(log.c.seq).where(
        log.c.pool == pool, _MATCH, log.c.needs_replay, log.c.seq > after, log.c.seq <= through
    )
    return [int(row[0]) for row in connection.execute(query.order_by(log.c.seq))]


def count_of(connection: Connection, pool: int) -> int:
    """Return the number of records."""
    count = connection.execute(select(func.count()).select_from(log).where(log.c.pool == pool))
    return int(count.scalar_one())


def _position() -> Any:
    return tuple_(log.c.time, log.c.seq)


def _records(rows: Iterable[Row[Any]]) -> Iterator[LogRecord]:
    return map(LogRecord._make, rows)


_ONE_MATCH = select(*_COLUMNS).where(
    log.c.pool == bindparam("of_pool"), _MATCH, log.c.match == bindparam("wanted")
)
_EACH_MATCH = PreparedEach(
    select(*_COLUMNS).where(log.c.pool == bindparam("of_pool"), _MATCH), log.c.match
)
# The condition on the player leaves out amendments of matches, of which there may be many.
_RENAMES = Prepared(
    select(*_COLUMNS).where(
        log.c.pool == bindparam("of_pool"),
        ~_MATCH,
        log.c.player.is_not(None),
        log.c.kind == literal_column("'rename'"),
    )
)
_MATCHES_AFTER = Prepared(
    select(*_COLUMNS)
    .where(
        log.c.pool == bindparam("of_pool"),
        _MATCH,
        _position() > tuple_(bindparam("after_time"), bindparam("after_seq")),
        log.c.time <= bindparam("until"),
        log.c.seq <= bindparam("through"),
    )
    .order_by(log.c.time, log.c.seq)
    .limit(bindparam("many"))
)
_RECORDS_AFTER = Prepared(
    select(*_COLUMNS, log.c.salt, log.c.leaf)
    .where(
        log.c.pool == bindparam("of_pool"),
        log.c.seq > bindparam("after_seq"),
        log.c.seq <= bindparam("through"),
    )
    .order_by(log.c.seq)
    .limit(bindparam("many"))
)


#: Milliseconds that the emptying of SQLite's write-ahead log may wait for readers.
_WAIT = 2_000


def overwrite_deleted(connection: Connection) -> None:
    """Let SQLite overwrite what this transaction deletes, so that no page keeps it."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA secure_delete = ON")


def empty_write_ahead_log(store: Store) -> bool:
    """Move SQLite's write-ahead log into the database and empty it, as it has deleted rows.

    Returns : False if readers prevented that; a later checkpoint of SQLite does it
    """
    if not store.is_sqlite:
        return True
    with store.engine.connect() as connection:
        cursor = connection.connection.cursor()
        (before,) = cursor.execute("PRAGMA busy_timeout").fetchone()
        cursor.execute(f"PRAGMA busy_timeout = {_WAIT}")
        try:
            busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {before}")
            cursor.execute("PRAGMA secure_delete = OFF")
            cursor.close()
    return not busy


def count_of_player(connection: Connection, pool: int, player: str) -> dict[str, int]:
    """Return how many rows of ratings and changes are of a player."""
    counts = {}
    for name, table in (("ratings", ratings), ("changes", changes)):
        query = select(func.count()).select_from(table)
        query = query.where(table.c.pool == pool, table.c.player == player)
        counts[name] = int(connection.execute(query).scalar_one())
    return counts


def rename_player(connection: Connection, pool: int, player: str, pseudonym: str) -> None:
    """Give the rows of ratings and changes of a player another name."""
    for table in (ratings, changes):
        mine = (table.c.pool == pool) & (table.c.player == player)
        connection.execute(update(table).where(mine).values(player=pseudonym))


# A literal, not a parameter: databases need it to use the index of amendments.
_ERASURES = (log.c.kind != literal_column("'match'"), log.c.kind == "erase")


def records_with(
    connection: Connection, pool: int, player: str, words: Sequence[str] = ()
) -> Iterator[list[SealedRecord]]:
    """Give the log records about a player, or whose content has the name, in the order of the log.

    A piece may be rewritten before the next one is read.
    words : texts that are looked for beside the name
    """
    sizes, after = sizes_of(connection), 0
    columns = [log.c[name] for name in (*LogRecord._fields, *Seal._fields)]
    every = [_has(connection, log.c.content, word) for word in dict.fromkeys([player, *words])]
    about = or_(log.c.player == player, *every)
    while True:
        mine = (log.c.pool == pool) & (log.c.seq > after) & about
        query = select(*columns).where(mine).order_by(log.c.seq).limit(sizes.matches)
        piece, characters = [], 0
        with connection.execute(query, execution_options={"yield_per": sizes.fetched}) as rows:
            for row in rows:
                piece.append(record_and_seal(row))
                characters += len(piece[-1].record.content)
                if characters >= sizes.characters:
                    break
        if not piece:
            return
        after = piece[-1].record.seq
        yield piece


def rewrite_records(
    connection: Connection, pool: int, pairs: Sequence[tuple[SealedRecord, LogRecord]]
) -> dict[int, str]:
    """Write log records again; return the leaves of what they say now, in hexadecimal, by number.

    The hash chain stays as it is: a record keeps its first leaf, and loses the salt with which that
    was made. No other function changes the log.

    pairs : a record as it was read, and as it is from now on
    """
    mine = (log.c.pool == pool) & (log.c.seq == bindparam("of_seq"))
    names = ("player", "content", "salt", "leaf")
    statement = update(log).where(mine).values({name: bindparam(f"new_{name}") for name in names})
    rows, leaves = [], {}
    for (before, seal), after in pairs:
        (salt,) = salts(1)
        leaves[after.seq] = leaf_of(after, salt).hex()
        values = (after.player, after.content, salt, sealed_leaf(before, seal))
        new = {f"new_{name}": value for name, value in zip(names, values, strict=True)}
        rows.append({"of_seq": after.seq, **new})
    if rows:
        connection.execute(statement, rows)
    return leaves


def rewrite_differences(
    connection: Connection,
    pool: int,
    player: str,
    rewritten: Callable[[str], str | None],
    write: bool,
) -> int:
    """Rewrite what replays have changed; return how many of them name the player."""
    mine = (replays.c.pool == pool) & _has(connection, replays.c.difference, player)
    numbers = [int(row[0]) for row in connection.execute(select(replays.c.generation).where(mine))]
    count = 0
    for generation in numbers:
        this = (replays.c.pool == pool) & (replays.c.generation == generation)
        text = connection.execute(select(replays.c.difference).where(this)).scalar_one()
        new = rewritten(text)
        if new is not None:
            count += 1
            if write:
                connection.execute(update(replays).where(this).values(difference=new))
    return count


def rewrite_audit(
    connection: Connection,
    pools: Sequence[str],
    player: str,
    rewritten: Callable[[str, str | None, str], tuple[str | None, str] | None],
    write: bool,
) -> dict[int, str]:
    """Rewrite rows of the audit log that name the player, as `rewrite_records` does.

    Returns : the leaves of what they say now, in hexadecimal, by number
    rewritten : takes what was done, subject and detail; returns the new subject and detail
    """
    named = or_(audit.c.subject == player, _has(connection, audit.c.detail, player))
    columns = [audit.c[name] for name in (*AuditRow._fields, *Seal._fields)]
    rows = connection.execute(select(*columns).where(audit.c.pool.in_(pools), named)).all()
    leaves = {}
    for *fields, old_salt, old_leaf in rows:
        before, seal = AuditRow._make(fields), Seal.of(old_salt, old_leaf)
        new = rewritten(before.what, before.subject, before.detail)
        if new is None:
            continue
        after = before._replace(subject=new[0], detail=new[1])
        (salt,) = salts(1)
        leaves[after.id] = audit_leaf(after, salt).hex()
        if write:
            first = audit_leaf(before, seal.salt) if seal.leaf is None else seal.leaf
            values = {"subject": new[0], "detail": new[1], "salt": salt, "leaf": first}
            connection.execute(update(audit).where(audit.c.id == after.id).values(**values))
    return leaves


def rewrite_checkpoints(
    connection: Connection,
    pool: int,
    rewritten: Callable[[bytes], bytes | None],
    write: bool,
    most_bytes: int,
) -> int:
    """Rewrite checkpoints, the newest first; return how many name the player.

    rewritten : raises ValueError for a checkpoint that cannot be read, which is then deleted
    most_bytes : after so many bytes were rewritten, further checkpoints are deleted. They follow
        from the log
    """
    key = (checkpoints.c.time, checkpoints.c.seq)
    query = (
        select(*key).where(checkpoints.c.pool == pool).order_by(*(column.desc() for column in key))
    )
    places: list[Position] = [(row[0], row[1]) for row in connection.execute(query)]
    count = done = 0
    for place in places:
        this = (checkpoints.c.pool == pool) & (tuple_(*key) == place)
        content = bytes(connection.execute(select(checkpoints.c.content).where(this)).scalar_one())
        try:
            new = rewritten(content)
        except ValueError:
            new = b""
        if new is None:
            continue
        count += 1
        done += len(new)
        if not write:
            continue
        if new and done <= most_bytes:
            connection.execute(update(checkpoints).where(this).values(content=new))
        else:
            connection.execute(checkpoints.delete().where(this))
    return count


def rewrite_seed(
    connection: Connection, pool: int, rewritten: Callable[[bytes], bytes | None], write: bool
) -> bool:
    """Rewrite the seed of a pool; return whether it names the player."""
    mine = seeds.c.pool == pool
    content = connection.execute(select(seeds.c.content).where(mine)).scalar()
    new = None if content is None else rewritten(bytes(content))
    if new is not None and write:
        connection.execute(update(seeds).where(mine).values(content=new))
    return new is not None


def erased_players(connection: Connection, pool: int) -> frozenset[str]:
    """Return the pseudonyms of players whose names were erased from a pool."""
    query = select(log.c.player).where(log.c.pool == pool, *_ERASURES)
    return frozenset(connection.execute(query).scalars())


def _has(connection: Connection, column: Column[Any], text: str) -> Any:
    """Return the condition that JSON in a column has a text."""
    escaped = msgspec.json.encode(text).decode()[1:-1]
    find = func.instr if connection.dialect.name == "sqlite" else func.strpos
    return find(column, escaped) > 0
