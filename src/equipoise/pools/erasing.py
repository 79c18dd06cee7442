"""Erasure: the name of a player is replaced with a pseudonym in a pool and its archives.

Ratings and states stay as they are, bit for bit; the order of equal players may change. Nobody can
find the name from what is stored: the pseudonym is random, and no digest of the name is kept. See
decision 24.

An erasure is a log record with the pseudonym. So every writer drops the states that it remembers. A
replay that is running loses its lease, because it has the name in memory.
"""

from __future__ import annotations

import re
import secrets
import zlib
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec
from sqlalchemy import Connection

from equipoise.errors import ConflictError, InvalidDataError, NotFoundError, Problem
from equipoise.messages.matches import ReasonRequest
from equipoise.messages.upkeep import ErasedPool, ErasureMessage
from equipoise.pools import profiles
from equipoise.pools.pool.rules import check_reason, id_fault
from equipoise.pools.posting.rating import object_array
from equipoise.pools.posting.running import ZLIB_LEVEL
from equipoise.pools.records import Draft, amendments_of, append, ids_of
from equipoise.rating.pool_state import PoolState
from equipoise.store import checkpoints, log, pools, ratings
from equipoise.store.connection import Store, overwrite_deleted
from equipoise.store.keys import add_audit_row, rewrite_audit
from equipoise.store.log import LoggedAs, LogRecord
from equipoise.store.pools import PoolRecord, archives_of, find_pool, get_pool

#: How every pseudonym begins.
PREFIX = "erased-"

#: Bytes of checkpoints that are rewritten in the transaction. Older checkpoints are deleted.
_CHECKPOINT_BYTES = 64 * 2**20

#: Fields of content in which texts stay: ids of matches, what systems rate by, names of pools.
_KEPT = frozenset({"match", "role", "side", "pool", "pools", "url"})
#: Fields with players. In the text of other fields, a name is replaced as a whole word.
_PLAYERS = frozenset({"player", "players", "to"})
#: Fields with settings of pools or one of a few words, which name nobody.
_SETTINGS = frozenset({"settings", "before", "request", "rewritten", "effect"})


class Rewriter:
    """Replaces a name with a pseudonym, in JSON, texts and packed states."""

    def __init__(self, name: str, pseudonym: str, others: Iterable[str] = ()) -> None:
        """Make what replaces an id; others : names of the player, which texts may have too."""
        self.name, self.pseudonym = name, pseudonym
        #: What texts may have: the names, and the names as links write them.
        forms = (form(text) for text in (name, *others) for form in (str, quote, quote_plus))
        self.words = sorted(set(forms), key=lambda word: (-len(word), word))
        pattern = "|".join(map(re.escape, self.words))
        self._word = re.compile(rf"(?<!\w)(?:{pattern})(?!\w)")
        #: Texts with the name that stay as they are.
        self.kept = 0
        #: New leaves of the rewritten records of each pool, and of rows of the audit log.
        self.records: dict[int, dict[int, str]] = {}
        self.audit_rows: dict[int, str] = {}

    def text(self, text: str) -> str:
        """Return a text in which the name, as a whole word, is replaced."""
        return self._word.sub(lambda _: self.pseudonym, text)

    def json(self, content: str) -> str | None:
        """Return JSON without the name, None if it does not contain it."""
        before = msgspec.json.decode(content)
        after = self._value(before, "")
        return None if after == before else msgspec.json.encode(after).decode()

    def record(self, record: LogRecord) -> LogRecord:
        """Return a log record without the name."""
        content = self.json(record.content)
        return record._replace(
            player=self.pseudonym if record.player == self.name else record.player,
            content=record.content if content is None else content,
        )

    def state(self, content: bytes) -> bytes | None:
        """Return a packed state without the name, None if it does not have it.

        Raises : ValueError if the state cannot be read
        """
        try:
            saved = PoolState.from_bytes(zlib.decompress(content), "state")
        except (zlib.error, InvalidDataError) as error:
            raise ValueError(str(error)) from error
        players = [str(player) for player in saved.player_ids.tolist()]
        if self.name not in players:
            return None
        players[players.index(self.name)] = self.pseudonym
        saved.player_ids = object_array(players)
        return zlib.compress(saved.to_bytes(), ZLIB_LEVEL)

    def audit_row(
        self, what: str, subject: str | None, detail: str
    ) -> tuple[str | None, str] | None:
        """Return the subject and detail of a row of the audit log, None if they stay."""
        new = self.json(detail) or detail
        kind = msgspec.json.decode(detail).get("kind")
        is_player = what == "amendment.recorded" and kind in ("disqualify", "reinstate", "rename")
        renamed = self.pseudonym if is_player and subject == self.name else subject
        return None if (renamed, new) == (subject, detail) else (renamed, new)

    def _profile(self, profile: dict[str, Any]) -> dict[str, Any]:
        """Return a profile without the name; that of the player loses everything."""
        if profile["player"] == self.name:
            return {"player": self.pseudonym}
        # The name of another player stays, even if it has the same word.
        kept = profile.get("name", "")
        self.kept += self._word.search(kept) is not None
        return {
            field: value if field in ("player", "name") else self._value(value, field)
            for field, value in profile.items()
        }

    def _value(self, value: Any, field: str) -> Any:
        if field in _SETTINGS:
            return value
        if isinstance(value, dict) and field == "profiles":
            return self._profile(value)
        if isinstance(value, dict):
            inside = field == "attributes"
            return {key: self._value(item, "" if inside else key) for key, item in value.items()}
        if isinstance(value, list):
            return [self._value(item, field) for item in value]
        if not isinstance(value, str):
            return value
        if field in _KEPT:
            self.kept += self._word.search(value) is not None
            return value
        if field in _PLAYERS:
            return self.pseudonym if value == self.name else value
        return self.text(value)


def erase_player(
    store: Store,
    pool: str,
    player: str,
    request: ReasonRequest,
    *,
    key: int | None,
    now: int,
    preview: bool = False,
) -> ErasureMessage:
    """Replace a player's name with a new pseudonym, in a pool and all archives of its seasons.

    Each of the ids of a renamed player gets its own pseudonym. Everything happens in one
    transaction. In a later match, the old name is that of a newcomer.

    preview : only count what would be rewritten
    Returns : the pseudonym of the present id, and what was found by all ids
    Raises : NotFoundError if the player is nowhere in these pools; InvalidDataError
    """
    check_reason(request.reason)
    rule = id_fault(player)
    if rule is not None:
        raise InvalidDataError([Problem("", None, "player", rule, player[:200])])
    messages: list[ErasureMessage] = []
    with store.read() if preview else store.write() as connection:
        if not preview:
            overwrite_deleted(connection)
        records = _seasons(connection, pool, lock=not preview)
        renames = [amendments_of(connection, record).renames for record in records]
        for name in dict.fromkeys(name for rename in renames for name in ids_of(rename, player)):
            names = [
                text for pool in records for text in profiles.names_in_log(connection, pool, name)
            ]
            rewriter = Rewriter(name, PREFIX + secrets.token_hex(8), names)
            messages.append(_erased(connection, pool, records, rewriter, write=not preview))
            if preview:
                continue
            reason = rewriter.text(request.reason)
            for at, one in enumerate(messages[-1].pools):
                record = get_pool(connection, one.pool)
                content = {"reason": reason, "rewritten": rewriter.records.get(record.id, {})}
                draft = _draft(record, rewriter.pseudonym, content, now)
                _, new = append(connection, record, draft, key=key, now=now)
                messages[-1].pools[at] = msgspec.structs.replace(one, seq=new.seq)
            add_audit_row(
                connection,
                "player.erased",
                now=now,
                key=key,
                pool=pool,
                subject=rewriter.pseudonym,
                reason=reason,
                pools=[pool.pool for pool in messages[-1].pools],
                rewritten=rewriter.audit_rows,
            )
            records = _seasons(connection, pool, lock=True)
    if not preview:
        store.empty_write_ahead_log()
    return ErasureMessage(
        player=None if preview else messages[0].player,
        pools=[pool for each in messages for pool in each.pools],
        audit=sum(each.audit for each in messages),
        remaining=sum(each.remaining for each in messages),
    )


def import_erasure(store: Store, pool: str, pseudonym: str, logged: LoggedAs) -> None:
    """Record an erasure from an imported log, which has the pseudonym already.

    Raises : NotFoundError
    """
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        now = logged.received
        draft = _draft(record, pseudonym, {"reason": ""}, now)
        append(connection, record, draft, key=None, now=now, logged=logged)


def _draft(pool: PoolRecord, pseudonym: str, content: dict[str, Any], now: int) -> Draft:
    """Return the draft of the record of an erasure."""
    # An update of the leaderboard that is under way begins again, as it goes by names.
    again = {} if pool.board_from is None else {"board_from": ""}
    return Draft(
        kind="erase",
        content=msgspec.json.encode(content).decode(),
        time=now,
        player=pseudonym,
        columns={"erased": pool.last_seq + 1, **again},
        ends_replay=True,
    )


def _seasons(connection: Connection, pool: str, *, lock: bool) -> list[PoolRecord]:
    """Return the pool and all archives of its seasons, by number.

    lock : lock them, in this order
    Raises : NotFoundError; ConflictError if a season ends at the same time
    """
    base = get_pool(connection, pool)
    league = base.archive_of or base.name
    now = find_pool(connection, league)
    pools = [base, *archives_of(connection, league), *([] if now is None else [now])]
    every = {pool.id: pool for pool in pools}
    records = [every[number] for number in sorted(every)]
    if not lock:
        return records
    locked = [get_pool(connection, pool.name, lock=True) for pool in records]
    if [pool.id for pool in locked] != [pool.id for pool in records]:
        raise ConflictError(f"a season of pool {league!r} ended in the meantime; try again")
    return locked


def _erased(
    connection: Connection,
    pool: str,
    records: Iterable[PoolRecord],
    rewriter: Rewriter,
    *,
    write: bool,
) -> ErasureMessage:
    """Rewrite pools and the audit log; return what was found. Raises : NotFoundError."""
    every = list(records)
    erased = [_erase_in(connection, pool, rewriter, write=write) for pool in every]
    touched = [
        pool for pool in erased if pool.matches or pool.ratings or pool.amendments or pool.seed
    ]
    if not touched:
        raise NotFoundError(
            f"no player {rewriter.name!r} in pool {pool!r}, nor in an archive of its seasons"
        )
    names = [pool.name for pool in every]
    rewriter.audit_rows = rewrite_audit(connection, names, rewriter.name, rewriter.audit_row, write)
    return ErasureMessage(
        player=rewriter.pseudonym,
        pools=touched,
        audit=len(rewriter.audit_rows),
        remaining=rewriter.kept,
    )


def _erase_in(
    connection: Connection, pool: PoolRecord, rewriter: Rewriter, *, write: bool
) -> ErasedPool:
    """Rewrite the tables of one pool; return what was found."""
    name = rewriter.name
    rows = ratings.count_of_player(connection, pool.id, name)
    matches = amendments = texts = 0
    leaves = rewriter.records.setdefault(pool.id, {})
    for piece in log.records_with(connection, pool.id, name, rewriter.words):
        pairs = [(record, rewriter.record(record.record)) for record in piece]
        pairs = [(record, new) for record, new in pairs if new != record.record]
        for record, new in pairs:
            if new.kind in ("match", "correct", "describe"):
                matches += 1
                texts += _changed_texts(record.record, new)
            else:
                amendments += 1
        if write:
            leaves |= log.rewrite_records(connection, pool.id, pairs)
    erased = ErasedPool(
        pool=pool.name,
        seq=None,
        matches=matches,
        amendments=amendments,
        ratings=rows["ratings"],
        changes=rows["changes"],
        checkpoints=checkpoints.rewrite_states(
            connection, pool.id, rewriter.state, write, _CHECKPOINT_BYTES
        ),
        differences=pools.rewrite_differences(connection, pool.id, name, rewriter.json, write),
        seed=pools.rewrite_seed(connection, pool.id, rewriter.state, write),
        texts=texts,
    )
    if write:
        ratings.rename_player(connection, pool.id, name, rewriter.pseudonym)
        checkpoints.rename_player(connection, pool.id, name, rewriter.pseudonym)
        if pool.profiled:
            profiles.project(connection, pool)
    return erased


def _changed_texts(before: LogRecord, after: LogRecord) -> int:
    """Return how many of title, link and attributes of a match were rewritten."""
    old, new = (msgspec.json.decode(content.content) for content in (before, after))
    attributes, now = old.get("attributes", {}), new.get("attributes", {})
    changed = [old.get(name) != new.get(name) for name in ("title", "link")]
    changed += [value != now[name] for name, value in attributes.items()]
    return changed.count(True)
