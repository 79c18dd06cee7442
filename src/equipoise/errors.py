"""All errors that Equipoise raises, under one base class, and its only warning.

A message says what must hold and which value was found. `EXIT_STATUS` is the only table that maps
an error to the exit status of the command line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from equipoise.wording import addressed, are_options_named, counted, printable

#: Number of problems shown; the others are only counted.
SHOWN_PROBLEMS = 20
#: Number of equal problems up to which each has a line of its own.
_EQUAL = 4
#: Number of ids of a group shown; the others are only counted.
SHOWN_IDS = 4


class EquipoiseError(Exception):
    """Base class of all errors raised on purpose by this package.

    Examples
    --------
    >>> try:
    ...     eq.Elo(k=-1.0)
    ... except eq.EquipoiseError as error:
    ...     print(error)
    k must be positive; got -1.0
    """

    #: Short name used in JSON answers.
    code = "error"

    def __init__(self, *args: object) -> None:
        super().__init__(*(addressed(part) if isinstance(part, str) else part for part in args))

    def __reduce__(self) -> tuple[Any, ...]:
        """Let an error cross from one process to another, whatever its constructor takes."""
        return _copy_of, (type(self), self.args, dict(self.__dict__))


def _copy_of(
    kind: type[EquipoiseError], args: tuple[Any, ...], fields: dict[str, Any]
) -> EquipoiseError:
    """Return an error with these arguments and fields, without calling its constructor."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class InvalidParameterError(EquipoiseError, ValueError):
    """A parameter of a function, a system or a command is outside its range.

    Examples
    --------
    >>> try:
    ...     eq.make_system("elo", {"k": "many"})
    ... except eq.InvalidParameterError as error:
    ...     print(error)
    elo.k must be a number; got 'many'
    """

    code = "invalid-parameter"


class NotFoundError(EquipoiseError, LookupError):
    """A system, player, match or another named thing does not exist.

    Examples
    --------
    >>> duels = eq.read_history({
    ...     "match": [1, 1, 2, 2], "player": ["ann", "ben", "ben", "cid"], "rank": [1, 2, 1, 2],
    ... })
    >>> try:
    ...     duels.player_row("zoe")
    ... except eq.NotFoundError as error:
    ...     print(error)
    no player 'zoe' in this history of 3 players
    """

    code = "not-found"


class ConflictError(EquipoiseError):
    """A request contradicts what is already recorded.

    Examples
    --------
    >>> duels = eq.read_history({
    ...     "match": [1, 1, 2, 2], "player": ["ann", "ben", "ben", "cid"], "rank": [1, 2, 1, 2],
    ... })
    >>> done = eq.replay(eq.Elo(), duels)
    >>> try:
    ...     eq.replay(eq.Elo(), duels.slice(1, 2), state=done.state, restart=True)
    ... except eq.ConflictError as error:
    ...     print(type(error).__name__)
    ConflictError
    """

    code = "conflict"


class AccessError(EquipoiseError):
    """A key is missing, unknown, expired or revoked, or lacks the right for a request.

    The code is "unauthorised" without a valid key, "forbidden" with one that lacks the right.
    """

    code = "forbidden"


class UnavailableError(EquipoiseError):
    """A service could not be reached, was too busy, or returned no valid response."""

    code = "unavailable"


class UnconfirmedError(EquipoiseError):
    """A database did not confirm a commit: it is unknown whether something was recorded."""

    code = "unconfirmed"


class DamagedError(EquipoiseError):
    """A database is damaged: a part of it cannot be read."""

    code = "damaged"


class PluginError(EquipoiseError):
    """A rating system of another package cannot be used: the package is absent or has a fault.

    Examples
    --------
    >>> try:
    ...     pool = eq.PoolState.load("league.npz")
    ... except eq.PluginError as error:
    ...     print(error)  # says what to install
    ... except eq.NotFoundError:
    ...     print("there is no such file")
    there is no such file
    """

    code = "plugin"


class ConvergenceError(EquipoiseError, RuntimeError):
    """A solver used up its iterations before it met its tolerance.

    what : the equation that was being solved
    iterations : how many steps were taken
    residual : residual of the equation at the last step

    Examples
    --------
    >>> error = eq.ConvergenceError("the volatility", 100, 0.5)
    >>> error.iterations, error.residual
    (100, 0.5)
    """

    code = "no-convergence"

    def __init__(self, what: str, iterations: int, residual: float) -> None:
        super().__init__(
            f"{what} did not converge in {iterations} iterations (residual {residual:.3g})"
        )
        self.what = what
        self.iterations = iterations
        self.residual = residual


#: Characters of a text of a problem.
_LONGEST_TEXT = 2_000


@dataclass(frozen=True, slots=True)
class Problem:
    """One rule that an input breaks.

    file : name of the file or source, "" if there is none
    line : line or row number from 1, None if the problem has no line
    field : column or key, "" where it concerns the complete row or file
    rule : what must hold, without a full stop: "must be a whole number from 0"
    got : the value found, as text; "" where the rule is enough

    Of a text of more than 2,000 characters only the beginning is kept.

    Examples
    --------
    >>> print(eq.Problem("games.csv", 3, "rank", "must be a number", "x"))
    games.csv, line 3, rank: must be a number; got x
    """

    file: str
    line: int | None
    field: str
    rule: str
    got: str

    def __post_init__(self) -> None:
        if "--" in self.rule:
            object.__setattr__(self, "rule", addressed(self.rule))
        # They may be from the input, and an answer or a line is not as large as that.
        for name in ("field", "rule", "got"):
            text = getattr(self, name)
            if len(text) > _LONGEST_TEXT:
                object.__setattr__(self, name, f"{text[: _LONGEST_TEXT - 3]}...")

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

    advice : what to do next, for users of the command line; "" if there is none

    Examples
    --------
    >>> try:
    ...     eq.read_history({"match": [1, 1], "player": ["ann", "ann"], "rank": [1, 2]})
    ... except eq.InvalidDataError as error:
    ...     print(error.problems[0].field)
    player
    """

    code = "invalid-data"

    def __init__(self, problems: Sequence[Problem], summary: str = "", *, advice: str = "") -> None:
        self.problems = tuple(problems)
        self.advice = advice
        count = len(self.problems)
        self.summary = summary
        head = summary or f"{counted(count, 'problem')} in the input"
        lines = lines_of(self.problems)
        # Values found in the input stay as they are.
        Exception.__init__(self, "\n  ".join([f"{addressed(head)}:", *lines]) if lines else head)


def lines_of(problems: Sequence[Problem], most: int = SHOWN_PROBLEMS) -> list[str]:
    """Return a line for each of the first problems, and one that counts the others.

    Many equal problems are one line with their number.
    """
    groups: dict[object, list[Problem]] = {}
    for problem in problems:
        groups.setdefault((problem.file, problem.field, problem.rule, problem.got), []).append(
            problem
        )
    lines: list[tuple[int, str]] = []
    for group in groups.values():
        if len(group) > _EQUAL:
            last = "" if group[-1].line is None else f" to line {group[-1].line}"
            lines.append((len(group), f"{group[0]} ({len(group):,} times{last})"))
        else:
            lines += ((1, str(problem)) for problem in group)
    shown = [line for _, line in lines[:most]]
    more = sum(count for count, _ in lines[most:])
    return [*shown, f"... and {more:,} more"] if more else shown


@dataclass(frozen=True, slots=True, repr=False)
class Sweep:
    """Two groups of players, of which one took every point of the games between them.

    winners, losers : ids, in the order of the tournament's players
    games : number (weight) of the games between the two
    difference : lower bound of the winners' mean rating minus that of the losers, rating points:
        with this difference, winning all these games has probability 1 - confidence. NaN unless
        requested

    Examples
    --------
    >>> eq.Sweep(winners=("ann",), losers=("ben", "cid"), games=4)
    <Sweep: ann over ben, cid, games 4>
    """

    winners: tuple[int | str, ...]
    losers: tuple[int | str, ...]
    games: float
    difference: float = math.nan

    def __repr__(self) -> str:
        """Return the sweep with at most the first players of each group."""
        winners, losers = _listed(self.winners), _listed(self.losers)
        return f"<Sweep: {printable(winners)} over {printable(losers)}, games {self.games:g}>"


class NoEquilibriumError(EquipoiseError):
    """No finite ratings predict every score, since some players took all points of others.

    sweeps : every pair of groups of which one swept the other

    Examples
    --------
    >>> games = eq.Games.from_arrays(["ann", "ben"], ["ben", "cid"], [1, 1])
    >>> try:
    ...     eq.performance_equilibrium(games)
    ... except eq.NoEquilibriumError as error:
    ...     print(len(error.sweeps))
    2
    """

    code = "no-equilibrium"

    def __init__(self, sweeps: Sequence[Sweep]) -> None:
        self.sweeps = tuple(sweeps)
        lines = [_sweep_line(sweep) for sweep in self.sweeps[:SHOWN_PROBLEMS]]
        if len(self.sweeps) > SHOWN_PROBLEMS:
            lines.append(f"... and {len(self.sweeps) - SHOWN_PROBLEMS:,} more")
        prior = "--prior 1" if are_options_named() else "prior=1"
        head = f"no finite ratings predict every score ({prior} gives some), because of sweeps:"
        super().__init__("\n  ".join([head, *lines]))


class NoStrengthsError(EquipoiseError):
    """No finite strengths are most probable, since a group was never beaten by the others.

    groups : for every component of players who met, its groups from the top down. Within a group,
        everybody was beaten by everybody, directly or through others; a group of a lower number
        was never beaten by one after it

    Examples
    --------
    >>> races = eq.read_history({
    ...     "match": [1, 1, 2, 2], "player": ["ann", "ben", "ben", "cid"], "rank": [1, 2, 1, 2],
    ... })
    >>> try:
    ...     eq.ranking_strengths(races)
    ... except eq.NoStrengthsError as error:
    ...     print(error.groups)
    ((('ann',), ('ben',), ('cid',)),)
    """

    code = "no-strengths"

    def __init__(self, groups: Sequence[Sequence[tuple[int | str, ...]]]) -> None:
        self.groups = tuple(tuple(group) for group in groups)
        lines = [
            f"{_listed(upper)} {'was' if len(upper) == 1 else 'were'} never beaten by "
            f"{_listed(lower)}"
            for group in self.groups
            for upper, lower in pairwise(group)
        ]
        shown = lines[:SHOWN_PROBLEMS]
        if len(lines) > SHOWN_PROBLEMS:
            shown.append(f"... and {len(lines) - SHOWN_PROBLEMS:,} more")
        head = "no finite strengths exist (a prior above 0 gives some), because:"
        super().__init__("\n  ".join([head, *shown]))


def _sweep_line(sweep: Sweep) -> str:
    """Return a sweep as a line of a message."""
    games = f"{sweep.games:g} game{'' if sweep.games == 1 else 's'}"
    return f"{_listed(sweep.winners)} took every point of {_listed(sweep.losers)} ({games})"


def _listed(ids: Sequence[int | str]) -> str:
    """Return the first ids as text, and the number of others."""
    shown = ", ".join(printable(str(player)) for player in ids[:SHOWN_IDS])
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
