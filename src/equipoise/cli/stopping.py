"""Signals that end a command as Ctrl-C does, so that it removes its temporary files."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from equipoise.cli.report import say


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Let SIGTERM, and the end of the terminal, end the block as an exception.

    The status is that of a shell: 128 and the number of the signal. A signal that is ignored, as by
    `nohup`, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wanted = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    numbers = [number for number in wanted if signal.getsignal(number) is signal.SIG_DFL]

    def stop(number: int, frame: FrameType | None) -> None:
        for one in numbers:
            signal.signal(one, signal.SIG_IGN)  # a second one must not stop the removal
        with suppress(OSError):  # the terminal may be gone
            say("stopped")
        raise SystemExit(128 + number)

    for number in numbers:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
