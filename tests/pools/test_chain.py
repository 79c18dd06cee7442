"""The hash chains: what they cover, how records can be rewritten, and how old rows are cut off."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, update

from equipoise.errors import InvalidParameterError
from equipoise.messages.matches import ReasonRequest
from equipoise.pools.amending import void_match
from equipoise.pools.replay.chain_checks import find_head, verify_audit
from equipoise.pools.replay.replaying import rerate
from equipoise.pools.replay.verifying import verify_pool
from equipoise.store import keys, log
from equipoise.store.connection import Store
from equipoise.store.keys import audit_leaf
from equipoise.store.log import LogRecord, extended, leaf_of
from equipoise.store.pools import Heads, change_pool, first_heads, get_pool
from equipoise.store.schema import audit as audit_table
from equipoise.store.schema import log as log_table
from pools.pool_trials import NOW, Trial, duel, sealed_log

SALT = bytes(range(16))
TEXT = st.text("a1,;", max_size=3)
NUMBER = st.integers(-2, 12)
RECORDS = st.builds(
    LogRecord,
    seq=NUMBER,
    kind=st.sampled_from(["match", "void"]),
    match=st.none() | TEXT,
    player=st.none() | TEXT,
    content=TEXT,
    posted_time=st.none() | NUMBER,
    time=NUMBER,
    needs_replay=st.booleans(),
    received=NUMBER,
    key=st.none() | NUMBER,
)


def test_the_format_of_a_leaf() -> None:
    """Databases and exported logs rely on these bytes: written out once more, field by field."""
    record = LogRecord(7, "match", "m1", None, "{}", None, 5, False, 9, 3)
    numbers = [7, -(2**63), 5, 9]
    data = b"".join(one.to_bytes(8, "little", signed=True) for one in numbers)
    data += b"".join(one.to_bytes(4, "little", signed=True) for one in (5, 2, -1))
    leaf = sha256(SALT + data + b"matchm1{}").digest()
    assert leaf_of(record, SALT) == leaf
    others = [record._replace(seq=8), record._replace(seq=9, needs_replay=True)]
    heads = extended(Heads(b"a" * 32, b"b" * 32), [record, *others], [leaf] * 3)
    shared = b"a" * 32
    for _ in range(3):
        shared = sha256(shared + leaf).digest()
    runs = sha256(sha256(b"b" * 32 + b"7,0,3").digest() + b"9,1,3").digest()
    assert heads == (shared, runs + b"1,3")
    assert heads.local == sha256(shared + runs + b"1,3").digest()
    first = first_heads('{"system":"elo"}', "pool", 12, 1)
    assert first.shared == sha256(b'equipoise log 1;{"system":"elo"}').digest()
    assert first.own == sha256(first.shared + b'["pool", 12, 1]').digest()


@given(RECORDS, RECORDS)
def test_different_records_have_different_leaves(one: LogRecord, other: LogRecord) -> None:
    """The key and the mark of a replay are not in the leaf, but in the local head."""
    plain = [record._replace(needs_replay=False, key=None) for record in (one, other)]
    leaves = [leaf_of(record, SALT) for record in (one, other)]
    assert (plain[0] == plain[1]) == (leaves[0] == leaves[1])
    begin = Heads(b"", bytes(32))
    heads = [extended(begin, [record], [leaf_of(record, SALT)]) for record in (one, other)]
    assert (one == other) == (heads[0].local == heads[1].local)


@given(st.lists(RECORDS, min_size=1, max_size=6), st.integers(0, 6))
def test_the_chain_does_not_depend_on_how_records_are_appended(
    records: list[LogRecord], at: int
) -> None:
    """All at once or in two parts."""
    begin, leaves = first_heads("{}", "pool", 1, 1), [leaf_of(one, SALT) for one in records]
    part = extended(begin, records[:at], leaves[:at])
    assert extended(part, records[at:], leaves[at:]) == extended(begin, records, leaves)


def _rewrite(store: Store, name: str, seq: int, salt: bytes = SALT) -> LogRecord:
    """Replace a name in a record, which keeps its first leaf; return what it says then."""
    with store.write() as connection:
        pool = get_pool(connection, name, lock=True)
        ((records, seals),) = sealed_log(connection, pool.id)
        record, seal = records[seq - 1], seals[seq - 1]
        leaf = leaf_of(record, seal.salt) if seal.leaf is None else seal.leaf
        new = record._replace(content=record.content.replace("ana", "gone"))
        where = log_table.c.pool == pool.id, log_table.c.seq == seq
        values: dict[str, Any] = {"content": new.content, "salt": salt, "leaf": leaf}
        connection.execute(update(log_table).where(*where).values(**values))
    return new


def _note_rewriting(store: Store, name: str, leaves: dict[int, bytes]) -> None:
    """Append the record that lists what was rewritten."""
    content = {"rewritten": {str(seq): leaf.hex() for seq, leaf in leaves.items()}}
    with store.write() as connection:
        pool = get_pool(connection, name, lock=True)
        record = LogRecord(
            seq=pool.last_seq + 1,
            kind="erase",  # type: ignore[arg-type]
            match=None,
            player=None,
            content=msgspec.json.encode(content).decode(),
            posted_time=None,
            time=NOW,
            needs_replay=False,
            received=NOW,
            key=None,
        )
        columns = log.append(connection, pool, [record])
        change_pool(connection, pool.id, amendments=pool.amendments + 1, **columns)


def _chain_differences(store: Store) -> list[str]:
    """Return what `verify` finds in the chain; replays of rewritten logs are not at issue here."""
    found = verify_pool(store, "trial").differences
    return [one for one in found if "rewritten" in one or "head" in one]


def test_a_rewritten_record_stays_in_the_chain(store: Store) -> None:
    """If a later record lists what it says now; also where it is rewritten a second time."""
    pool = Trial(store)
    pool.post(duel("a", "ana", "ben", 1), duel("b", "ben", "ana", 2))
    with store.read() as connection:
        head = get_pool(connection, "trial").head
    new = _rewrite(store, "trial", 1)
    assert _chain_differences(store) == ["record 1 was rewritten, and no later record says so"]
    with store.read() as connection:
        assert get_pool(connection, "trial").head == head
    _note_rewriting(store, "trial", {1: leaf_of(new, SALT)})
    assert _chain_differences(store) == []
    other = bytes(16)
    again = _rewrite(store, "trial", 1, other)
    assert again == new
    assert _chain_differences(store) == ["record 1 was rewritten, and no later record says so"]
    _note_rewriting(store, "trial", {1: leaf_of(again, other)})
    assert _chain_differences(store) == []
    # What a record said first is kept as a hash only: it cannot cover another change.
    with store.write() as connection:
        connection.execute(update(log_table).where(log_table.c.seq == 1).values(received=5))
    assert _chain_differences(store) == ["record 1 was rewritten, and no later record says so"]


def test_the_audit_log_is_a_chain(store: Store) -> None:
    """Old rows can be cut off, and the hash there is kept; no other row can be removed."""
    pool = Trial(store)
    pool.post(duel("a", "ana", "ben", 1))
    for _ in range(4):
        void_match(store, "trial", "a", ReasonRequest("why"), key=None, now=NOW)
        pool.restore("a")
    whole = verify_audit(store)
    assert (whole.identical, whole.rows, whole.deleted_through) == (True, 9, 0)
    done = False
    while not done:
        with store.write() as connection:
            done = keys.cut_audit(connection, 5, limit=2)
    cut = verify_audit(store)
    assert (cut.identical, cut.rows, cut.deleted_through) == (True, 4, 5)
    assert cut.head == whole.head
    with store.write() as connection:
        assert keys.cut_audit(connection, 9, limit=100)
    assert (verify_audit(store).rows, verify_audit(store).identical) == (0, True)
    rerate(store, "trial")
    pool.settle()
    rows = verify_audit(store)
    assert (rows.rows, rows.identical, rows.deleted_through) == (1, True, 9)


def test_a_rewritten_row_of_the_audit_log(store: Store) -> None:
    """It keeps its first leaf, and a later row lists what it says now."""
    Trial(store).post(duel("a", "ana", "ben", 1))
    with store.write() as connection:
        ((row, seal),) = keys.audit_rows_after(connection, 0, 10)
        new = row._replace(subject="gone")
        values = {"subject": "gone", "salt": SALT, "leaf": audit_leaf(row, seal.salt)}
        connection.execute(update(audit_table).values(**values))
    assert not verify_audit(store).identical
    with store.write() as connection:
        listed = {str(row.id): audit_leaf(new, SALT).hex()}
        keys.add_audit_row(connection, "player.erased", now=NOW, key=None, rewritten=listed)
    assert verify_audit(store).identical


def test_a_kept_head_is_found_unless_records_were_lost(store: Store) -> None:
    """As after a failover to a standby that did not have the last records."""
    trial = Trial(store)
    trial.post(duel("a", "ana", "ben", 1))
    first = verify_pool(store, "trial")
    trial.post(duel("b", "ben", "ana", 2))
    second = verify_pool(store, "trial")
    for head in (first.head, first.local_head):
        assert find_head(store, "trial", head) == (1, 2)
    for head in (second.head, second.local_head):
        assert find_head(store, "trial", head) == (2, 2)
    with store.write() as connection:
        connection.execute(delete(log_table).where(log_table.c.seq == 2))
    assert find_head(store, "trial", first.head) == (1, 1)
    assert find_head(store, "trial", second.head) == (None, 1)
    with pytest.raises(InvalidParameterError, match="a head must be 64 hexadecimal digits"):
        find_head(store, "trial", "head")
