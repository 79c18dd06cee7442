"""Commits: whether the database confirmed them, and how long the oldest has been under way.

PostgreSQL with a synchronous standby commits in two steps: the transaction is on the disk of the
primary, then it waits until the standby has it. If that wait is cancelled, PostgreSQL says so in a
warning, and the COMMIT succeeds all the same. If the connection breaks, nobody knows what became of
the transaction. Neither is a confirmation: after a failover, the transaction may be gone.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, RootTransaction, text
from sqlalchemy.exc import DBAPIError

from equipoise.errors import UnconfirmedError

log = logging.getLogger(__name__)

#: The commit of any process on this database that has waited longest for a standby, in seconds.
_OLDEST = text(
    "SELECT max(extract(epoch FROM clock_timestamp() - query_start)) FROM pg_stat_activity "
    "WHERE wait_event = 'SyncRep' AND datname = current_database()"
)
_UNKNOWN = (
    "the database did not confirm its commit ({reason}), so it is unknown whether this was "
    "recorded: send it again"
)


#: Error of PostgreSQL: it has ended a session that was silent in the middle of a transaction. It
#: says so in answer to the next statement, which it has not read.
SILENT = "25P03"


class Commits:
    """The commits of one process that are under way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun: dict[object, float] = {}

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Count a commit while the block runs."""
        number = object()
        with self._lock:
            self._begun[number] = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                del self._begun[number]

    def oldest(self) -> float:
        """Return for how many seconds the oldest commit has been under way; 0 if there is none."""
        with self._lock:
            first = min(self._begun.values(), default=None)
        return 0.0 if first is None else time.monotonic() - first


def oldest_on_server(connection: Connection) -> float:
    """Return for how many seconds the oldest commit has waited for a standby of PostgreSQL.

    Those of other processes count, also on other machines, if they have the same user.
    """
    return float(connection.execute(_OLDEST).scalar() or 0.0)


def accepts_writes(connection: Connection) -> bool:
    """Return whether a server of PostgreSQL is a primary whose sessions may write."""
    query = "SELECT NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = "
    return bool(connection.execute(text(f"{query}'off'")).scalar())


_DURABILITY = text(
    "SELECT current_setting('synchronous_commit'), current_setting('synchronous_standby_names')"
)


def weak_commits(connection: Connection, several_hosts: bool) -> str | None:
    """Return how PostgreSQL may lose what it has confirmed, None if it is set up as intended.

    several_hosts : whether the address names several servers, thus a standby is meant to take over
    """
    commit, names = connection.execute(_DURABILITY).one()
    if commit == "off":
        return (
            "synchronous_commit is off: matches that were acknowledged right before a crash of the "
            "database are lost; set it to on"
        )
    if not several_hosts:
        return None
    if not names.strip():
        return (
            "the database has several hosts, but synchronous_standby_names is empty: if the "
            "primary dies, the matches acknowledged last are lost"
        )
    if commit == "local":
        return (
            "synchronous_commit is local: commits do not wait for the standby, and if the primary "
            "dies, the matches acknowledged last are lost; set it to on"
        )
    return None


def commit_confirmed(connection: Connection, transaction: RootTransaction) -> None:
    """Commit a transaction of PostgreSQL, for however long that takes.

    Raises : UnconfirmedError if it may be stored or not; DBAPIError if it is certainly not
    """
    driver: Any = connection.connection.driver_connection
    warnings: list[str] = []

    def notice(said: Any) -> None:
        # The text may be in any language, and these warnings have no code of their own.
        if said.severity_nonlocalized == "WARNING":
            warnings.append(said.message_primary or "a warning")

    driver.add_notice_handler(notice)
    try:
        transaction.commit()
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) == SILENT:
            raise  # The session had ended before the COMMIT came, and the transaction with it.
        if driver.closed or error.connection_invalidated:
            log.warning("the connection to the database broke during a commit: %s", error.orig)
            raise UnconfirmedError(_UNKNOWN.format(reason="the connection broke")) from error
        raise  # The server is there and has refused it.
    finally:
        driver.remove_notice_handler(notice)
    if warnings:
        log.warning("the database warned during a commit: %s", "; ".join(warnings))
        raise UnconfirmedError(_UNKNOWN.format(reason=warnings[0]))
