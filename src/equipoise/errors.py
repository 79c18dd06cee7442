"""All errors that Equipoise raises, under one base class, and its only warning.

A message says what must hold and which value was found. `EXIT_STATUS` is the only table that maps
an error to the exit status of the command line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from equipoise.wording import counted, printable

#: Number of problems shown; the others are only counted.
SHOWN_PROBLEMS = 20
#: Number of ids of a group shown; the others are only counted.
SHOWN_IDS = 4


class EquipoiseError(Exception):
    """Base class of all errors raised on purpose by this package."""

    #: Short name used in JSON answers.
    code = "error"


class InvalidParameterError(EquipoiseError, ValueError):
    """A parameter of a function, a system or a command is outside its range."""

    code = "invalid-parameter"


class NotFoundError(EquipoiseError, LookupError):
    """A system, player, match or another named thing does not exist."""

    code = "not-found"


class ConflictError(EquipoiseError):
    """A request contradicts what is already recorded."""

    code = "conflict"


class AccessError(EquipoiseError):
    """A key is missing, unknown, expired or revoked, or lacks the right for a request.

    The code is "unauthorised" without a valid key, "forbidden" with one that lacks the right.
    """

    code = "forbidden"


class UnavailableError(EquipoiseError):
    """A service could not be reached, was too busy, or returned no valid response."""

    code = "unavailable"


class DamagedError(EquipoiseError):
    """A database is damaged: a part of it cannot be read."""

    code = "damaged"


class PluginError(EquipoiseError):
    """A rating system of another package cannot be used: the package is absent or has a fault."""

    code = "plugin"


class ConvergenceError(EquipoiseError, RuntimeError):
    """A solver used up its iterations before it met its tolerance.

    what : the equation that was being solved
    iterations : how many steps were taken
    residual : residual of the equation at the last step
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
    """A parameter selects an approximation without the guarantees of the exact computation.

    It is issued once for every system made with it; the ratings are as requested.
    """


@dataclass(frozen=True, slots=True)
class Problem:
    """One rule that an input breaks.

    file : name of the file or source, "" if there is none
    line : line or row number from 1, None if the problem has no line
    field : column or key, "" where it concerns the complete row or file
    rule : what must hold, without a full stop: "must be a whole number from 0"
    got : the value found, as text; "" where the rule is enough
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
    """An input breaks one or more rules; `problems` lists all that were found.

    Such an input is not used for any result.
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
    """Two groups of players, of which one took every point of the games between them.

    winners, losers : ids, in the order of the tournament's players
    games : number (weight) of the games between the two
    difference : lower bound of the winners' mean rating minus that of the losers, rating points:
        with this difference, winning all these games has probability 1 - confidence. NaN unless
        requested
    """

    winners: tuple[int | str, ...]
    losers: tuple[int | str, ...]
    games: float
    difference: float = math.nan


class NoEquilibriumError(EquipoiseError):
    """No finite ratings predict every score, since some players took all points of others.

    sweeps : every pair of groups of which one swept the other
    """

    code = "no-equilibrium"

    def __init__(self, sweeps: Sequence[Sweep]) -> None:
        self.sweeps = tuple(sweeps)
        lines = [_sweep_line(sweep) for sweep in self.sweeps[:SHOWN_PROBLEMS]]
        if len(self.sweeps) > SHOWN_PROBLEMS:
            lines.append(f"... and {len(self.sweeps) - SHOWN_PROBLEMS:,} more")
        super().__init__(
            "\n  ".join(["no finite ratings predict every score, because of sweeps:", *lines])
        )


def _sweep_line(sweep: Sweep) -> str:
    """Return a sweep as a line of a message."""
    games = f"{sweep.games:g} game{'' if sweep.games == 1 else 's'}"
    return f"{_listed(sweep.winners)} took every point of {_listed(sweep.losers)} ({games})"


def _listed(ids: Sequence[int | str]) -> str:
    """Return the first ids as text, and the number of others."""
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

    name : the parameter; rule : what must hold, as a phrase; got : the value
    """
    if not holds:
        raise InvalidParameterError(f"{name} must be {rule}; got {got!r}")
