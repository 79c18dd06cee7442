"""Tasks that worker processes of tests carry out; this module imports nothing that is slow."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np


def square(_: object, number: int) -> int:
    return number * number


def slower_first(_: object, number: int) -> int:
    """Take longer the smaller the number is."""
    time.sleep(0.02 * max(0, 8 - number))
    return number * number


def refuse(_: object, number: int) -> int:
    if number == 3:
        raise ValueError(f"{number} is refused")
    return number


def own_id(_: object, number: int) -> int:
    return os.getpid()


class StubbornError(Exception):
    """An error that cannot be loaded again."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}")


def stubborn(_: object, number: int) -> int:
    raise StubbornError("this", "that")


@dataclass(frozen=True)
class DiesOnce:
    """Kills its process on some numbers, once for each file that is not there.

    marks : folder of files
    """

    marks: Path
    numbers: tuple[int, ...]

    def __call__(self, _: object, number: int) -> int:
        if number in self.numbers:
            mark = self.marks / str(number)
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return number * number


@dataclass(frozen=True)
class Hangs:
    """Sleeps on one number for longer than a test may take."""

    marks: Path
    number: int

    def __call__(self, _: object, number: int) -> int:
        if number == self.number:
            (self.marks / str(number)).touch()
            time.sleep(600)
        return number * number


@dataclass(frozen=True)
class Counts:
    """Writes a line for every call, and kills its process on one number always."""

    file: Path
    deadly: int

    def __call__(self, _: object, number: int) -> int:
        with self.file.open("a") as file:
            file.write(f"{number}\n")
        if number == self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number


def adds(shared: int, number: int) -> int:
    return shared + number


def writable(shared: list[np.ndarray], _: int) -> list[bool]:
    """Return which arrays may be written."""
    return [one.flags.writeable for one in shared]
