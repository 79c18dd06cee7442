"""Amendments of a log that is imported: recorded again, each once."""

from __future__ import annotations

from typing import Any

import msgspec

from equipoise.messages.amendments import DisqualifyRequest, ReasonRequest
from equipoise.messages.exchange import LogLine
from equipoise.messages.matches import MatchRequest
from equipoise.store import log
from equipoise.store.connection import Store
from equipoise.store.log import LogRecord
from equipoise.store.pools import get_pool
from equipoise.workflows.amending import (
    correct_match,
    disqualify,
    reinstate,
    restore_match,
    void_match,
)
from equipoise.workflows.log_lines import match_of, reason_of
from equipoise.workflows.pool_settings import SettingsContent, content_of, import_settings
from equipoise.workflows.posted_matches import id_text, moment


class LoggedAmendments:
    """The amendments that a pool has, and those of a log that join them."""

    def __init__(self, store: Store, pool: str) -> None:
        self._store, self._pool = store, pool
        with store.read() as connection:
            entries = log.amendments(connection, get_pool(connection, pool).id)
        self._known = {_identity(entry) for entry in entries}

    def record(self, line: LogLine) -> bool:
        """Record an amendment; return False for one that is there already.

        Raises : EquipoiseError where the pool refuses it
        """
        received = moment(line.received, "received")
        since = None if line.time is None else moment(line.time)
        is_correction = line.kind == "correct"
        is_change = line.kind == "settings"
        if is_correction:
            says = _same(match_of(line))
        else:
            says = _same_settings(content_of(line.content)) if is_change else reason_of(line)
        if (line.kind, line.match, line.player, says, since, received) in self._known:
            return False
        own: dict[str, Any] = {"key": None, "now": received}
        match, player = line.match or "", line.player or ""
        if is_correction:
            correct_match(self._store, self._pool, match, match_of(line), **own)
        elif is_change:
            import_settings(self._store, self._pool, content_of(line.content), received)
        elif line.kind in ("void", "restore"):
            amend = void_match if line.kind == "void" else restore_match
            amend(self._store, self._pool, match, ReasonRequest(reason_of(line)), **own)
        else:
            amend_player = disqualify if line.kind == "disqualify" else reinstate
            request = DisqualifyRequest(since=line.time, reason=reason_of(line), match=line.match)
            amend_player(self._store, self._pool, player, request, **own)
        return True


def _identity(entry: LogRecord) -> tuple[Any, ...]:
    """Return what makes an amendment the same as another."""
    if entry.kind == "correct":
        says = _same(msgspec.json.decode(entry.content, type=MatchRequest))
    elif entry.kind == "settings":
        says = _same_settings(content_of(entry.content))
    else:
        says = msgspec.json.decode(entry.content, type=ReasonRequest).reason
    return entry.kind, entry.match, entry.player, says, entry.posted_time, entry.received


def _same_settings(content: SettingsContent) -> str:
    """Return what a change of settings says, in one way of writing it."""
    plain = [content.settings, content.reason]
    return msgspec.json.encode(plain, order="deterministic").decode()


def _same(request: MatchRequest) -> str:
    """Return what a match says but its time, in one way of writing it."""
    plain = msgspec.structs.replace(request, match=id_text(request.match), time=None)
    return msgspec.json.encode(plain, order="deterministic").decode()
