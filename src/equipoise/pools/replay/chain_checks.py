"""Whether the records of logs and of the audit log follow from one another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from sqlalchemy import Connection

from equipoise.errors import require
from equipoise.messages.pools import AuditVerifyMessage
from equipoise.store import log
from equipoise.store.bulk import sizes_of, without_collection
from equipoise.store.connection import Store
from equipoise.store.keys import audit_chain_of, audit_leaf, audit_rows_after
from equipoise.store.log import (
    LogRecord,
    Seal,
    extended,
    leaf_of,
    linked,
    rewritten_leaves,
    sealed_leaf,
)
from equipoise.store.pools import Heads, PoolRecord, first_heads, get_pool
from equipoise.wording import counted

#: Differences that are listed; the others are counted.
_LISTED = 20


@dataclass(slots=True)
class Findings:
    """The differences found."""

    count: int = 0
    listed: list[str] = field(default_factory=list)

    def add(self, sentence: str) -> None:
        """Add a difference."""
        self.count += 1
        if len(self.listed) < _LISTED:
            self.listed.append(sentence)

    def check(self, holds: object, sentence: str) -> None:
        """Add a difference unless something holds."""
        if not holds:
            self.add(sentence)


#: The kind of the records, and the action of the rows of the audit log, that list what was
#: rewritten: see `store.log`.
REWRITING_RECORD, REWRITING_ACTION = "erase", "player.erased"
_HEAD = re.compile("[0-9a-f]{64}")
#: How many columns of a row of `log.rows_after` are fields of a record.
_FIELDS = len(LogRecord._fields)


@dataclass(slots=True)
class LogWalk:
    """A log, read once from its first record, and what follows from its records.

    heads : of the hash chains up to `after`, the last record read
    matches, amendments : how many were read
    rewritten : number of each rewritten record -> leaf of what it says now
    listed : the same as later records list it
    """

    heads: Heads
    after: int = 0
    matches: int = 0
    amendments: int = 0
    rewritten: dict[int, bytes] = field(default_factory=dict)
    listed: dict[int, bytes] = field(default_factory=dict)

    @classmethod
    def start(cls, pool: PoolRecord) -> LogWalk:
        """Return the walk before the first record."""
        name = pool.name if pool.archive_of is None else pool.archive_of
        return cls(first_heads(pool.first_settings, name, pool.created, pool.chained_from))

    def _plain_leaves(self, rows: Sequence[tuple[Any, ...]]) -> list[bytes] | None:
        """Count records and return their leaves, if they are matches that were never rewritten.

        Nearly all pieces have such records alone. None for other pieces, which are not counted.
        """
        if not rows:
            return []
        seqs, kinds, *_, salts, leaves = zip(*rows, strict=True)
        if (
            seqs != tuple(range(self.after + 1, self.after + 1 + len(rows)))
            or kinds.count("match") < len(kinds)
            or not all(salts)
            or leaves.count(None) < len(leaves)
        ):
            return None
        self.after, self.matches = seqs[-1], self.matches + len(rows)
        return [leaf_of(row[:_FIELDS], bytes(row[_FIELDS])) for row in rows]

    def finish(self, connection: Connection, pool: PoolRecord, findings: Findings) -> None:
        """Read all records, and compare what was read with the pool."""
        last = False
        while not last:
            rows, last = log.rows_after(connection, pool.id, self.after)
            leaves = self._plain_leaves(rows)
            if leaves is None:
                leaves = [self.leaf(*log.record_and_seal(row), findings) for row in rows]
            self.heads = extended(self.heads, rows, leaves)
        self._compare(pool, findings)

    def leaf(self, record: LogRecord, seal: Seal, findings: Findings) -> bytes:
        """Count a record, and return its leaf in the chain."""
        if record.seq != self.after + 1:
            findings.add(f"record {record.seq} of the log comes after record {self.after}")
        self.after = record.seq
        is_match = record.kind == "match"
        self.matches, self.amendments = self.matches + is_match, self.amendments + (not is_match)
        if not seal.salt:
            findings.add(f"record {record.seq} has no salt, so it is not in the hash chain")
        leaf = leaf_of(record, seal.salt)
        if record.kind == REWRITING_RECORD:
            self.listed |= _listed(record.content)
        if seal.leaf is None:
            return leaf
        self.rewritten[record.seq] = leaf
        return seal.leaf

    def falsified(self) -> list[int]:
        """Return the numbers of rewritten records that differ from what a later record lists."""
        return [seq for seq, leaf in self.rewritten.items() if self.listed.get(seq) != leaf]

    def _compare(self, pool: PoolRecord, findings: Findings) -> None:
        """Compare what was read with the pool; all records must have been read."""
        for seq in self.falsified():
            findings.add(f"record {seq} was rewritten, and no later record says so")
        for name, counted_now, stored in (
            ("record", self.after, pool.last_seq),
            ("match", self.matches, pool.matches),
            ("amendment", self.amendments, pool.amendments),
        ):
            if counted_now != stored:
                plural = "matches" if name == "match" else f"{name}s"
                findings.add(
                    f"the log has {counted(counted_now, name, plural)}, "
                    f"and the pool counts {stored:,}"
                )
        if self.heads.shared != pool.head:
            findings.add(
                "the log does not lead to the head of its hash chain: its first settings or a "
                "record were changed, added or removed"
            )
        elif self.heads != pool.heads:
            findings.add(
                "the log does not lead to the local head of its hash chain: the name of the pool, "
                "the time of its creation, or the key of a record was changed"
            )


def find_head(store: Store, pool: str, head: str) -> tuple[int | None, int]:
    """Return after which record the log of a pool had this head, and its last record.

    None if it never had: records before it were lost, changed or removed since it was kept.
    head : hexadecimal, of the hash chain or its local head
    Raises : NotFoundError; InvalidParameterError if `head` is not 64 hexadecimal digits
    """
    require(_HEAD.fullmatch(head) is not None, "a head", "64 hexadecimal digits", head)
    wanted = bytes.fromhex(head)
    with store.read() as connection:
        record = get_pool(connection, pool)
    heads, after, last = LogWalk.start(record).heads, 0, False
    position = 0 if wanted in (heads.shared, heads.local) else None
    while not last:
        with store.read() as connection, without_collection():
            rows, last = log.rows_after(connection, record.id, after)
        for row in rows:
            one, seal = log.record_and_seal(row)
            heads = extended(heads, [one], [sealed_leaf(one, seal)])
            after = one.seq
            if wanted in (heads.shared, heads.local):
                position = after
    return position, after


def _listed(content: str) -> dict[int, bytes]:
    """Return what a record or row lists as rewritten; nothing if it was changed."""
    try:
        return rewritten_leaves(content)
    except (msgspec.MsgspecError, ValueError, TypeError):
        return {}


def verify_audit(store: Store) -> AuditVerifyMessage:
    """Return whether the audit log leads to the head of its hash chain."""
    findings = Findings()
    with store.read() as connection:
        chain = audit_chain_of(connection)
        head, after, rows = chain.cut_head, chain.cut, 0
        rewritten: dict[int, bytes] = {}
        listed: dict[int, bytes] = {}
        while piece := audit_rows_after(connection, after, sizes_of(connection).matches):
            for row, seal in piece:
                leaf = audit_leaf(row, seal.salt)
                if row.what == REWRITING_ACTION:
                    listed |= _listed(row.detail)
                if seal.leaf is not None:
                    rewritten[row.id], leaf = leaf, seal.leaf
                head = linked(head, leaf)
                after, rows = row.id, rows + 1
        for number, leaf in rewritten.items():
            if listed.get(number) != leaf:
                findings.add(
                    f"row {number} of the audit log was rewritten, and no later row says so"
                )
        findings.check(
            (after, head) == (chain.last, chain.head) and rows == chain.last - chain.cut,
            "the audit log does not lead to the head of its hash chain: a row was changed, added "
            "or removed",
        )
    return AuditVerifyMessage(
        identical=findings.count == 0,
        rows=rows,
        head=chain.head.hex(),
        chained_from=chain.chained_from,
        deleted_through=chain.cut,
        differences=findings.listed,
    )
