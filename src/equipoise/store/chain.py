"""Hash chains: the hash of every record covers the hash of the chain before it.

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

import json
import os
import struct
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

#: Random bytes of a record, and bytes of a hash.
SALT = 16
_HASH = 32

#: Number, posted time, time, time of receipt, and the lengths of kind, match and player.
_NUMBERS = struct.Struct("<qqqqiii").pack
#: The posted time of a record without one.
_NONE = -(2**63)


class Heads(NamedTuple):
    """The state of the chain of a log.

    shared : the head; the same in every database that has the pool
    own : a hash over the runs of records with the same key and the same mark of a replay, and what
        the last run has
    """

    shared: bytes
    own: bytes

    @property
    def local(self) -> bytes:
        """The local head, of this database."""
        return sha256(self.shared + self.own).digest()


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


def first_heads(settings: str, name: str, created: int, chained_from: int) -> Heads:
    """Return the heads of an empty log.

    settings : JSON of the first settings of the pool
    name : with which the pool was created; created : when, microseconds since 1970
    chained_from : the first record that is chained when it is recorded
    """
    shared = sha256(f"equipoise log 1;{settings}".encode()).digest()
    own = json.dumps([name, created, chained_from]).encode()
    return Heads(shared, sha256(shared + own).digest())


def salts(count: int) -> list[bytes]:
    """Return random salts."""
    every = os.urandom(SALT * count)
    return [every[at : at + SALT] for at in range(0, len(every), SALT)]


def leaf_of(record: Sequence[Any], salt: bytes) -> bytes:
    """Return the leaf of a record; record : the fields of `store.log.LogRecord`."""
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

    records : the fields of `store.log.LogRecord`; leaves : theirs
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


#: The hash with which the audit log begins.
FIRST_OF_AUDIT = sha256(b"equipoise audit 1").digest()


def audit_leaf(row: Sequence[Any], salt: bytes) -> bytes:
    """Return the leaf of a row of the audit log; row : the fields of `store.audit.AuditRow`."""
    return sha256(salt + json.dumps(tuple(row), default=repr).encode()).digest()


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
