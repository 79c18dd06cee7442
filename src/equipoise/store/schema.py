"""The tables of the service.

`log` only grows; `ratings`, `changes` and `checkpoints` follow from it and can be made again.
Times are whole microseconds since 1970 UTC. A position is (time, seq): a pool's matches are rated
in that order, `time` being 0 throughout in pools without times.
"""

from __future__ import annotations

import time

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    false,
    text,
)

#: Text that is compared by its bytes, so that both databases sort ids alike.
Name = Text().with_variant(Text(collation="C"), "postgresql")


def now() -> int:
    """Return the time as the store keeps it: microseconds since 1970 UTC."""
    return time.time_ns() // 1000


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)


def _of_pool() -> Column[int]:
    """Return the column that says to which pool a row belongs.

    It is no foreign key: PostgreSQL would look each row's pool up. A deleted pool keeps its row in
    `pools`, so that nothing else gets its number.
    """
    return Column("pool", Integer, nullable=False, primary_key=True)


pools = Table(
    "pools",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Name, nullable=False, unique=True),
    # JSON of messages.pools.PoolRequest: the current settings. Changes to them are in the log.
    Column("settings", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    # Version of the code that rated what is stored.
    Column("code", Text, nullable=False),
    Column("last_seq", BigInteger, nullable=False, default=0),
    Column("matches", BigInteger, nullable=False, default=0),
    Column("amendments", BigInteger, nullable=False, default=0),
    Column("players", BigInteger, nullable=False, default=0),
    # Time of the latest match that counts.
    Column("last_time", BigInteger),
    # State that belongs to no single player: JSON.
    Column("shared", Text, nullable=False),
    # Readers see the ratings of this generation, and of the changes those of this generation and
    # older ones from before the position at which it began.
    Column("generation", BigInteger, nullable=False),
    Column("from_time", BigInteger, nullable=False),
    Column("from_seq", BigInteger, nullable=False),
    # The position from which the pool needs a replay; null for none.
    Column("dirty_time", BigInteger),
    Column("dirty_seq", BigInteger),
    # The running replay: its generation, the owner of its lease and the end of the lease.
    Column("replay_generation", BigInteger),
    Column("replay_owner", Text),
    Column("replay_until", BigInteger),
    # Whether rows of older generations are still to be deleted.
    Column("garbage", Boolean, nullable=False, default=False),
    # Participations between two checkpoints, and those rated since the last one.
    Column("checkpoint_interval", BigInteger, nullable=False),
    Column("checkpoint_due", BigInteger, nullable=False, default=0),
    # Of an archived season: when it ended, the name of the pool it was, and its own.
    Column("closed", BigInteger),
    Column("archive_of", Name),
    Column("season", Text),
    # Number of the pool of the season before.
    Column("follows", Integer),
    # The day to which `ratings.ordering` has decayed; null if the rating shown does not decay.
    Column("board_day", BigInteger),
    # Kinds of events that webhooks receive, a bit each, and the last number of `outbox`.
    Column("webhooks", Integer, nullable=False, server_default="0"),
    Column("outbox_last", BigInteger, nullable=False, server_default="0"),
    # When it was deleted; `garbage` then says whether it still has rows in other tables.
    Column("deleted", BigInteger),
    # The last player, by id, with changed settings while they are written into ratings; "" before
    # the first, else null.
    Column("board_from", Name),
    # Only earlier versions use it.
    Column("draws_from", BigInteger, nullable=False, server_default="1"),
    # No match is rated at a later time than this one, neither in the ratings that readers see nor
    # in a running replay. It is after `last_time` while amendments wait for a replay.
    Column("rated_to", BigInteger),
    # Number of the last record that erased a player's name; 0 for none.
    Column("erased", BigInteger, nullable=False, server_default="0"),
    # Number of the log record of the known ratings with which players began, 0 for none, and how
    # many players have one.
    Column("initial", BigInteger, nullable=False, server_default="0"),
    Column("known_ratings", BigInteger, nullable=False, server_default="0"),
    # JSON of the settings that the pool was created with.
    Column("first_settings", Text),
    # The state of the hash chain over the log, and the first record that was chained when it was
    # recorded: store.log. Only earlier versions use `chained_through`.
    Column("head", LargeBinary),
    Column("own_runs", LargeBinary),
    Column("chained_from", BigInteger, nullable=False, server_default="1"),
    Column("chained_through", BigInteger),
    # Participations since the last partial checkpoint, and where that ends.
    Column("partial_due", BigInteger, nullable=False, server_default="0"),
    Column("partial_time", BigInteger, nullable=False, server_default=str(-(2**62))),
    Column("partial_seq", BigInteger, nullable=False, server_default="0"),
    # Only earlier versions use it: the position up to which they make partial checkpoints again.
    Column("unfilled_time", BigInteger),
    Column("unfilled_seq", BigInteger),
    # Number of the last log record of profiles; 0 for none.
    Column("profiled", BigInteger, nullable=False, server_default="0"),
)

log = Table(
    "log",
    metadata,
    _of_pool(),
    Column("seq", BigInteger, primary_key=True),
    # "match", or an amendment: "void", "restore", "correct", "describe", "disqualify", "reinstate",
    # "rename", "settings", "erase", "initial", "profiles". Only the erasure of a name changes
    # records.
    Column("kind", Text, nullable=False),
    Column("match", Name),
    Column("player", Name),
    # JSON: the match or correction as posted, without its time; for other kinds the reason; for
    # "settings" also the values after and before; for "initial" the known ratings.
    Column("content", Text, nullable=False),
    # The posted time, null for none, and the time at which it counts.
    Column("posted_time", BigInteger),
    Column("time", BigInteger, nullable=False),
    # Whether it counts only once the pool is replayed: late matches, amendments of the past.
    Column("needs_replay", Boolean, nullable=False),
    Column("received", BigInteger, nullable=False),
    Column("key", Integer),
    # Random bytes for the hash chain, and the first leaf of a record that was rewritten.
    Column("salt", LargeBinary),
    Column("leaf", LargeBinary),
    Index(
        "ix_log_match",
        "pool",
        "match",
        unique=True,
        sqlite_where=text("kind = 'match'"),
        postgresql_where=text("kind = 'match'"),
    ),
    Index(
        "ix_log_position",
        "pool",
        "time",
        "seq",
        sqlite_where=text("kind = 'match'"),
        postgresql_where=text("kind = 'match'"),
    ),
    Index(
        "ix_log_waiting",
        "pool",
        "seq",
        sqlite_where=text("needs_replay"),
        postgresql_where=text("needs_replay"),
    ),
    # Amendments of a match and of a player.
    *(
        Index(
            f"ix_log_of_{about}",
            "pool",
            about,
            "seq",
            sqlite_where=text("kind <> 'match'"),
            postgresql_where=text("kind <> 'match'"),
        )
        for about in ("match", "player")
    ),
    Index(
        "ix_log_amendments",
        "pool",
        "seq",
        sqlite_where=text("kind <> 'match'"),
        postgresql_where=text("kind <> 'match'"),
    ),
)

ratings = Table(
    "ratings",
    metadata,
    _of_pool(),
    Column("generation", BigInteger, primary_key=True),
    Column("player", Name, primary_key=True),
    # Minus the rating shown, so that ascending order is the order of the leaderboard.
    Column("ordering", Double, nullable=False),
    Column("rating", Double, nullable=False),
    Column("deviation", Double),
    Column("matches", BigInteger, nullable=False),
    Column("last_time", BigInteger),
    Column("provisional", Boolean, nullable=False),
    # The packed state of the player: rating.player_state.
    Column("state", LargeBinary, nullable=False),
    # Position of the player's last change, the end of the chain; number 0 for none.
    Column("change_time", BigInteger, nullable=False, server_default="0"),
    Column("change_seq", BigInteger, nullable=False, server_default="0"),
    # Whether the player is disqualified from matches to come, as the log says.
    Column("disqualified", Boolean, nullable=False, server_default=false()),
    Index(
        "ix_ratings_leaderboard",
        "pool",
        "generation",
        "disqualified",
        "provisional",
        "ordering",
        "player",
    ),
)

# In the order of rating, so that new rows are added at the end. An index by player would cost a
# page for each row. A player's changes are a chain instead, newest first.
changes = Table(
    "changes",
    metadata,
    _of_pool(),
    Column("time", BigInteger, primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("player", Name, primary_key=True),
    Column("generation", BigInteger, primary_key=True),
    # Position of the player's change before this one; number 0 for none.
    Column("previous_time", BigInteger, nullable=False),
    Column("previous_seq", BigInteger, nullable=False),
    Column("rating", Double, nullable=False),
    # The other numbers, packed by store.changes.
    Column("numbers", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

checkpoints = Table(
    "checkpoints",
    metadata,
    _of_pool(),
    # Position of the last match before it.
    Column("time", BigInteger, primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("participations", BigInteger, nullable=False),
    Column("code", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    # Packed positions of the last change of each player: pools.posting.rating.LastChanges.
    Column("trail", LargeBinary, nullable=False),
)

partial_checkpoints = Table(
    "partial_checkpoints",
    metadata,
    _of_pool(),
    # Position of the last match before it, and the generation that rated it.
    Column("time", BigInteger, primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("generation", BigInteger, primary_key=True),
    # The first player of the row; "" in the first row.
    Column("first", Name, primary_key=True),
    # It has the states of all players with changes after this position.
    Column("from_time", BigInteger, nullable=False),
    Column("from_seq", BigInteger, nullable=False),
    # State that belongs to no single player: JSON.
    Column("shared", Text, nullable=False),
    # MessagePack: packed states by player.
    Column("content", LargeBinary, nullable=False),
)

profiles = Table(
    "profiles",
    metadata,
    _of_pool(),
    Column("player", Name, primary_key=True),
    # The name for readers, "" for none, and the same without case and accents for searches.
    Column("name", Text, nullable=False),
    Column("folded", Text, nullable=False),
    Column("link", Text),
    # JSON.
    Column("attributes", Text, nullable=False),
)

replays = Table(
    "replays",
    metadata,
    _of_pool(),
    Column("generation", BigInteger, primary_key=True),
    # The last log record that it took into account, and the position where it began.
    Column("through_seq", BigInteger, nullable=False),
    Column("from_time", BigInteger, nullable=False),
    Column("from_seq", BigInteger, nullable=False),
    Column("started", BigInteger, nullable=False),
    Column("finished", BigInteger, nullable=False),
    # JSON of messages.matches.DifferenceMessage.
    Column("difference", Text, nullable=False),
)

keys = Table(
    "keys",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    # Name of the pool of its scope; null for all pools.
    Column("pool", Name),
    # SHA-256 of the secret, which has 256 random bits and needs no salt.
    Column("hash", LargeBinary, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger),
    Column("revoked", BigInteger),
    Column("last_used", BigInteger),
    # After a rotation: the secret before it, and until when that is valid.
    Column("previous_hash", LargeBinary),
    Column("previous_until", BigInteger),
)

# Requests for a secret that came with a token, so that a repeated one gets the same secret.
key_requests = Table(
    "key_requests",
    metadata,
    # SHA-256 of the token, and of what was requested and by which key.
    Column("token", LargeBinary, primary_key=True),
    Column("request", LargeBinary, nullable=False),
    Column("key", Integer, nullable=False),
    # The secret follows from this and the token, which is not stored.
    Column("salt", LargeBinary, nullable=False),
    Column("created", BigInteger, nullable=False),
)

# Browsers that are signed in with a key.
sessions = Table(
    "sessions",
    metadata,
    # SHA-256 of the random text in the cookie.
    Column("hash", LargeBinary, primary_key=True),
    Column("key", Integer, nullable=False, index=True),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
)

seeds = Table(
    "seeds",
    metadata,
    _of_pool(),
    # Number of the pool of the season before.
    Column("archive", Integer, nullable=False),
    # JSON of messages.seasons.SeasonRequest, and the centre of a soft reset.
    Column("request", Text, nullable=False),
    Column("centre", Double),
    Column("players", BigInteger, nullable=False),
    # The packed state before the first match, as in checkpoints; null for none.
    Column("content", LargeBinary),
)

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("pool", Integer, nullable=False, index=True),
    Column("url", Text, nullable=False),
    # It signs messages, so a hash is not enough.
    Column("secret", Text, nullable=False),
    # JSON: the kinds of events that it receives.
    Column("events", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("disabled", BigInteger),
    # Why the service disabled it; null if an administrator did.
    Column("reason", Text),
    # The last number of the outbox that was delivered, or that it does not want.
    Column("delivered", BigInteger, nullable=False),
    Column("last_delivery", BigInteger),
    # Failed deliveries since then, the time of the first, why the last one failed, and when to try
    # again.
    Column("failures", Integer, nullable=False, default=0),
    Column("failing_since", BigInteger),
    Column("failure", Text),
    Column("next_attempt", BigInteger, nullable=False, default=0),
    # The owner of the lease of its deliveries, and the end of the lease.
    Column("lease_owner", Text),
    Column("lease_until", BigInteger, nullable=False, default=0),
)

outbox = Table(
    "outbox",
    metadata,
    _of_pool(),
    Column("id", BigInteger, primary_key=True),
    Column("kind", Text, nullable=False),
    # The pool in which it happened, not `pool` if a season has ended since; and a log record or a
    # generation of that pool, or 0 for the end of its season.
    Column("source", Integer, nullable=False),
    Column("reference", BigInteger, nullable=False),
    Column("created", BigInteger, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("time", BigInteger, nullable=False),
    # Number of the key that did it; null for the command line.
    Column("key", Integer),
    Column("what", Text, nullable=False),
    # The name of the pool at that time; null for none.
    Column("pool", Name),
    Column("subject", Text),
    Column("detail", Text, nullable=False),
    # As in `log`.
    Column("salt", LargeBinary),
    Column("leaf", LargeBinary),
    Index("ix_audit_pool", "pool", "id"),
)

# The hash chain over the audit log, one row: store.keys.
audit_chain = Table(
    "audit_chain",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    # The last row, and the hash of the chain there.
    Column("last", BigInteger, nullable=False),
    Column("head", LargeBinary, nullable=False),
    # The same of the last row that was deleted because of its age; number 0 and the first hash if
    # none was.
    Column("cut", BigInteger, nullable=False),
    Column("cut_head", LargeBinary, nullable=False),
    # As in `pools`.
    Column("chained_from", BigInteger, nullable=False),
    Column("chained_through", BigInteger),
)

# Used by earlier versions alone, which may be on the same database: how much of their rate limits
# callers have used, in all processes together.
rate_counts = Table(
    "rate_counts",
    metadata,
    # Hash of the limit and of the number of a key, or of an address.
    Column("caller", LargeBinary, primary_key=True),
    # When its bucket of tokens is full again. A row whose bucket is full may be deleted.
    Column("full", BigInteger, nullable=False),
)
