"""Ending a transaction from another thread, before its commit begins.

SQLite asks every few thousand of its steps whether it is to go on. PostgreSQL is told over a
connection of its own, and again until the transaction has noticed: between two statements it does
not listen.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection

log = logging.getLogger(__name__)

#: Steps of SQLite between two questions: about a millisecond.
_STEPS = 20_000
#: Seconds between two cancellations of PostgreSQL, and in which one must have arrived.
_PAUSE, _ARRIVES = 0.1, 5.0


class InterruptedTransactionError(Exception):
    """A transaction was ended before its commit began. Nothing was stored."""


class Interruption:
    """Whether a transaction is to end."""

    def __init__(self) -> None:
        self._wanted = threading.Event()
        # No cancellation may reach a later statement, nor the COMMIT: it could be stored and yet
        # not be confirmed.
        self._lock = threading.Lock()
        self._cancel_statement: Callable[[], None] | None = None

    def request(self) -> None:
        """End the transaction, if its commit has not begun; returns at once."""
        self._wanted.set()
        threading.Thread(target=self._cancel, name="equipoise-cancel", daemon=True).start()

    def check(self) -> None:
        """Raise InterruptedTransactionError if the transaction is to end."""
        if self._wanted.is_set():
            raise InterruptedTransactionError("the transaction was interrupted")

    @contextmanager
    def of(self, connection: Connection) -> Iterator[None]:
        """Let the statements of this block be interrupted; its transaction commits after it.

        Raises : InterruptedTransactionError
        """
        driver: Any = connection.connection.driver_connection
        sqlite = connection.dialect.name == "sqlite"
        if sqlite:
            driver.set_progress_handler(self._wanted.is_set, _STEPS)
        else:
            self._cancel_statement = lambda: driver.cancel_safe(timeout=_ARRIVES)
        try:
            self.check()
            yield
            self.check()
        except Exception as error:
            if not self._wanted.is_set() or isinstance(error, InterruptedTransactionError):
                raise
            raise InterruptedTransactionError(str(error)) from error
        finally:
            with self._lock:
                self._cancel_statement = None
            if sqlite:
                driver.set_progress_handler(None, 0)

    def _cancel(self) -> None:
        """Cancel statements of PostgreSQL until the block has ended."""
        while True:
            with self._lock:
                if self._cancel_statement is None:
                    return
                try:
                    self._cancel_statement()
                except Exception as error:  # noqa: BLE001  # the next one may arrive
                    log.debug("a statement could not be cancelled: %s", error)
            time.sleep(_PAUSE)
