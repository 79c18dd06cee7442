"""Every error Equipoise raises, under one base class, and the one warning it gives.

A message says what must hold and what came instead. `EXIT_STATUS` is the one table that
turns an error into the exit status of the command line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from equipoise.wording import counted, printable

#: Problems shown in full before the rest is only counted.
SHOWN_PROBLEMS = 20
#: Ids of a group shown before the rest is only counted.
SHOWN_IDS = 4


class EquipoiseError(Exception):
    """Base class of all errors raised on purpose by this package."""

    #: Short name used in JSON answers.
    code = "error"


class InvalidParameterError(EquipoiseError, ValueError):
    """A parameter of a function, a system or a command is outside its range."""

    code = "invalid-parameter"


class NotFoundError(EquipoiseError, LookupError):
    """Something that was named does not exist: a system, a player, a match."""

    code = "not-found"


class ConflictError(EquipoiseError):
    """What was asked contradicts what is already recorded."""

    code = "conflict"


class AccessError(EquipoiseError):
    """A key is missing, unknown, expired or revoked, or has no right to what was asked.

    The code is "unauthorised" without a valid key, "forbidden" with one that lacks the right.
    """

    code = "forbidden"


class UnavailableError(EquipoiseError):
    """A service could not be reached, was too busy, or gave no answer that makes sense."""

    code = "unavailable"


class ConvergenceError(EquipoiseError, RuntimeError):
    """A solver used up its iterations before it met its tolerance.

    what : the equation that was being solved
    iterations : how many steps were taken
    residual : what was left of the equation at the last step
    """

    code = "no-convergence"

    def __init__(self, what: str, iterations: int, residual: float) -> None:
        super().__init__(
            f"{what} did not converge in {iterations} iterations (residual {residual:.3g})"
        )
        self.what = what
        self.iterations = iterations
        self.residual = residual


class ApproximationWarning(UserWarning):
    """A parameter asks for an approximation that gives up guarantees of the exact computation.

    Given once for every system that is made with it; the ratings are those asked for.
    """


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an input.

    file : name of the file or source, "" where there is none
    line : line or row number from 1, None where the problem has no line
    field : column or key, "" where it concerns the whole row or file
    rule : what must hold, as a sentence without its stop: "must be a whole number from 0"
    got : what came instead, as text; "" where the rule says it all
    """

    file: str
    line: int | None
    field: str
    rule: str
    got: str

    def __str__(self) -> str:
        where = self.file or "input"
        if self.line is not None:
            where += f", line {self.line}"
        if self.field:
            where += f", {self.field}"
        got = f"; got {self.got}" if self.got else ""
        return printable(f"{where}: {self.rule}{got}")


class InvalidDataError(EquipoiseError, ValueError):
    """An input breaks one or more rules; `problems` lists every one found.

    Nothing is computed from or written for such an input.
    """

    code = "invalid-data"

    def __init__(self, problems: Sequence[Problem], summary: str = "") -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        head = summary or f"{counted(count, 'problem')} in the input"
        lines = [str(problem) for problem in self.problems[:SHOWN_PROBLEMS]]
        if count > SHOWN_PROBLEMS:
            lines.append(f"... and {count - SHOWN_PROBLEMS:,} more")
        super().__init__("\n  ".join([f"{head}:", *lines]) if lines else head)


@dataclass(frozen=True, slots=True)
class Sweep:
    """Two groups of players of which one took every point of the games between them.

    winners, losers : ids, in the order of the tournament's players
    games : number (weight) of the games between the two
    difference : the least by which the winners' mean rating is above that of the losers, rating
        points, at the confidence asked for: with it, winning all these games has probability
        1 - confidence. NaN where it was not asked for
    """

    winners: tuple[int | str, ...]
    losers: tuple[int | str, ...]
    games: float
    difference: float = math.nan


class NoEquilibriumError(EquipoiseError):
    """No finite ratings predict every score, as some players took all points of others.

    sweeps : every pair of groups of which one swept the other
    """

    code = "no-equilibrium"

    def __init__(self, sweeps: Sequence[Sweep]) -> None:
        self.sweeps = tuple(sweeps)
        lines = [_told(sweep) for sweep in self.sweeps[:SHOWN_PROBLEMS]]
        if len(self.sweeps) > SHOWN_PROBLEMS:
            lines.append(f"... and {len(self.sweeps) - SHOWN_PROBLEMS:,} more")
        super().__init__(
            "\n  ".join(["no finite ratings predict every score, because of sweeps:", *lines])
        )


def _told(sweep: Sweep) -> str:
    """Return a sweep as a line of a message."""
    games = f"{sweep.games:g} game{'' if sweep.games == 1 else 's'}"
    return f"{_listed(sweep.winners)} took every point of {_listed(sweep.losers)} ({games})"


def _listed(ids: Sequence[int | str]) -> str:
    """Return ids as text, and how many more there are."""
    shown = ", ".join(printable(str(one)) for one in ids[:SHOWN_IDS])
    return shown if len(ids) <= SHOWN_IDS else f"{shown} and {len(ids) - SHOWN_IDS} more"


#: Exit status of the command line for each kind of error; the most specific class decides.
EXIT_STATUS: dict[type[EquipoiseError], int] = {
    EquipoiseError: 1,
    InvalidParameterError: 2,
}


def exit_status(error: EquipoiseError) -> int:
    """Return the exit status that the command line reports for `error`."""
    return next(EXIT_STATUS[kind] for kind in type(error).__mro__ if kind in EXIT_STATUS)


def require(holds: bool, name: str, rule: str, got: object) -> None:
    """Raise InvalidParameterError unless `holds`.

    name : the parameter; rule : what must hold, as a phrase; got : the value that came.
    """
    if not holds:
        raise InvalidParameterError(f"{name} must be {rule}; got {got!r}")
