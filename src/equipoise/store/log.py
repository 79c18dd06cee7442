"""The log of a pool, in the order of arrival, and the hash chain over it.

It only grows. Only the erasure of a player's name changes what is in it: `pools.erasing`. The hash
of every record covers the hash of the chain before it.

A pool keeps two heads of the chain over its log. Anybody who has noted a head elsewhere can see
whether an earlier record was changed, removed or replaced.

- The first head covers what was posted, when it counts, and when it was received. An export
  contains it, so a pool that is moved has the same head.
- The second one also covers the key that posted, whether the record waited for a replay, the name
  of the pool and when it was created. It belongs to one database.

The leaf of a record is the SHA-256 of a random salt and its fields. Once a name and the salt are
gone, nobody who has a head and all other fields can find the name by testing names. If a name was
replaced, the record keeps its first leaf, so that the chain does not change. A later record then
lists the new leaf (`rewritten_leaves`).

Numbers have a fixed width, and the length of each text comes before the texts, so different records
never give the same bytes. The format must not change: databases and exported logs rely on it.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import msgspec
from sqlalchemy import (
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
from equipoise.store.bulk import (
    Prepared,
    PreparedEach,
    among,
    has_json,
    insert_rows,
    is_name,
    sizes_of,
)
from equipoise.store.pools import Heads, PoolRecord, Position, row_value
from equipoise.store.schema import (
    log,
)

#: Random bytes of a record, and bytes of a hash.
_SALT_BYTES = 16
_HASH = 32

#: Number, posted time, time, time of receipt, and the lengths of kind, match and player.
_NUMBERS = struct.Struct("<qqqqiii").pack
#: The posted time of a record without one.
_NONE = -(2**63)


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


class Seal(NamedTuple):
    """What a record has for the chain.

    salt : random bytes; leaf : its first leaf if it was rewritten, else None
    """

    salt: bytes
    leaf: bytes | None = None

    @classmethod
    def of(cls, salt: bytes | None, leaf: bytes | None) -> Seal:
        """Return the seal in two columns; without a salt a record is not chained."""
        return cls(bytes(salt or b""), None if leaf is None else bytes(leaf))


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


def salts(count: int) -> list[bytes]:
    """Return random salts."""
    every = os.urandom(_SALT_BYTES * count)
    return [every[at : at + _SALT_BYTES] for at in range(0, len(every), _SALT_BYTES)]


def leaf_of(record: Sequence[Any], salt: bytes) -> bytes:
    """Return the leaf of a record; record : the fields of `LogRecord`."""
    seq, kind, match, player, content, posted_time, time, _, received, _ = record
    try:
        numbers = _NUMBERS(
            seq,
            _NONE if posted_time is None else posted_time,
            time,
            received,
            len(kind),
            -1 if match is None else len(match),
            -1 if player is None else len(player),
        )
        text = kind + (match or "") + (player or "") + content
    except (TypeError, struct.error):
        # SQLite takes any value in any column. Only a damaged row has others than these.
        return sha256(repr(record).encode("utf-8", "replace")).digest()
    return sha256(salt + numbers + text.encode()).digest()


def sealed_leaf(record: Sequence[Any], seal: Seal) -> bytes:
    """Return the leaf with which a record is in the chain."""
    return leaf_of(record, seal.salt) if seal.leaf is None else seal.leaf


def extended(heads: Heads, records: Sequence[Sequence[Any]], leaves: Iterable[bytes]) -> Heads:
    """Return the heads after further records.

    records : the fields of `LogRecord`; leaves : theirs
    """
    shared, runs, run = heads.shared, heads.own[:_HASH], heads.own[_HASH:]
    flag, key, begun = False, None, False
    for record, leaf in zip(records, leaves, strict=True):
        if not begun or record[9] != key or record[7] != flag:
            flag, key, begun = record[7], record[9], True
            own = b"%d,%s" % (flag, str(key).encode())
            if own != run:
                runs, run = sha256(runs + b"%d," % record[0] + own).digest(), own
        shared = sha256(shared + leaf).digest()  # as `linked`, without the call
    return Heads(shared, runs + run)


def linked(head: bytes, leaf: bytes) -> bytes:
    """Return the hash of a chain after a leaf."""
    return sha256(head + leaf).digest()


class _Rewriting(msgspec.Struct):
    """The part of a record's content that lists rewritten records: number -> leaf, hexadecimal."""

    rewritten: dict[int, str] = {}


_rewriting = msgspec.json.Decoder(_Rewriting)


def rewritten_leaves(content: str) -> dict[int, bytes]:
    """Return the leaves of what rewritten records say now, as the content of a record lists them.

    Raises : msgspec.MsgspecError, ValueError
    """
    return {seq: bytes.fromhex(leaf) for seq, leaf in _rewriting.decode(content).rewritten.items()}


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
    new = salts(len(records))
    if not seals:
        leaves = list(map(leaf_of, records, new))
        rows = [(pool.id, *record, salt) for record, salt in zip(records, new, strict=True)]
    else:
        found = [
            seals.get(record.seq, Seal(salt)) for record, salt in zip(records, new, strict=True)
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
    return matches_by_id(connection, pool, [match]).get(match)


def get_match(connection: Connection, pool: PoolRecord, match: str) -> LogRecord:
    """Return the record of a match. Raises : NotFoundError."""
    record = match_by_id(connection, pool.id, match)
    if record is None:
        raise NotFoundError(f"no match {match[:200]!r} in pool {pool.name!r}")
    return record


def match_ids(connection: Connection, pool: int, seqs: Sequence[int]) -> dict[int, str]:
    """Return the ids of matches by the numbers of their records."""
    return {seq: match for seq, (match, _) in posted_times(connection, pool, seqs).items()}


def posted_times(
    connection: Connection, pool: int, seqs: Sequence[int]
) -> dict[int, tuple[str, int | None]]:
    """Return ids of matches and the times posted with them by the numbers of their records."""
    columns = (log.c.seq, log.c.match, log.c.posted_time)
    query = select(*columns).where(log.c.pool == pool, among(log.c.seq, seqs, connection))
    return {row[0]: (row[1], row[2]) for row in connection.execute(query)}


def record_at(connection: Connection, pool: int, seq: int) -> LogRecord | None:
    """Return the record of this number, or None."""
    return records_at(connection, pool, [seq]).get(seq)


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
    rows = _SALT.rows(connection, {"of_pool": pool, "seq": seq})
    return bytes(rows[0][0] or b"") if rows else b""


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


def rows_after(
    connection: Connection, pool: int, after: int, through: int = LAST
) -> tuple[list[tuple[Any, ...]], bool]:
    """Return the next records in the order of receipt as rows, and whether that is all.

    after, through : numbers of records; the one after `after` is the first, `through` the last
    Returns : the fields of `LogRecord` and those of `Seal`; for `record_and_seal`
    """
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


_SALT = Prepared(
    select(log.c.salt).where(log.c.pool == bindparam("of_pool"), log.c.seq == bindparam("seq"))
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
    every = [has_json(connection, log.c.content, word) for word in dict.fromkeys([player, *words])]
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


def erased_players(connection: Connection, pool: int) -> frozenset[str]:
    """Return the pseudonyms of players whose names were erased from a pool."""
    query = select(log.c.player).where(log.c.pool == pool, *_ERASURES)
    return frozenset(connection.execute(query).scalars())
