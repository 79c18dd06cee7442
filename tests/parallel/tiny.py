"""Tasks that worker processes of tests carry out; this module imports nothing slow."""

from __future__ import annotations

import os
import signal
import struct
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path


def square(number: int) -> int:
    return number * number


def slower_first(number: int) -> int:
    """Take longer the smaller the number is."""
    time.sleep(0.02 * max(0, 8 - number))
    return number * number


def refuse(number: int) -> int:
    if number == 3:
        raise ValueError(f"{number} is refused")
    return number


def own_id(_: int) -> int:
    return os.getpid()


class StubbornError(Exception):
    """An error that cannot be loaded again."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}")


def stubborn(_: int) -> int:
    raise StubbornError("this", "that")


@dataclass(frozen=True)
class DiesOnce:
    """Kills its process on some numbers, once for each file that is not there.

    marks : folder of files
    """

    marks: Path
    numbers: tuple[int, ...]

    def __call__(self, number: int) -> int:
        if number in self.numbers:
            mark = self.marks / str(number)
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return number * number


@dataclass(frozen=True)
class HangsOnce:
    """Sleeps on one number for longer than a test may take, once."""

    marks: Path
    number: int

    def __call__(self, number: int) -> int:
        mark = self.marks / str(number)
        if number == self.number and not mark.exists():
            mark.touch()
            time.sleep(600)
        return number * number


@dataclass(frozen=True)
class StopsOnce:
    """Stops its process in the middle of the answer for number 1, once."""

    mark: Path

    def __call__(self, number: int) -> int:
        if number == 1 and not self.mark.exists():
            self.mark.touch()
            Connection._send_bytes = _stop_midway  # type: ignore[attr-defined]
        return number * number


def _stop_midway(connection: Connection, message: bytes) -> None:
    os.write(connection.fileno(), struct.pack("!i", len(message)) + bytes(message)[:1])
    os.kill(os.getpid(), signal.SIGSTOP)


@dataclass(frozen=True)
class Counts:
    """Writes a line for every call, and kills its process on one number always."""

    file: Path
    deadly: int

    def __call__(self, number: int) -> int:
        with self.file.open("a") as file:
            file.write(f"{number}\n")
        if number == self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number
