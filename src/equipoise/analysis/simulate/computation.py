"""Simulated histories whose true skills are known, and a guided tour on a sample season."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from equipoise.analysis.simulate import SimulateRequest
from equipoise.arrays import Ids, Ints
from equipoise.data.files import check_distinct, check_place
from equipoise.data.times import MICROSECONDS, as_written, read_as_seconds
from equipoise.errors import EquipoiseError, InvalidParameterError, require
from equipoise.evaluate.synthetic import (
    ROLES,
    STATISTICS,
    TEAMS,
    Contest,
    ContestModel,
    TeamMatch,
    TeamModel,
    contests,
    team_matches,
)
from equipoise.formats import write_table, writing
from equipoise.formats.times import moment
from equipoise.formats.writing import check_pieces_target, check_target, write_pieces
from equipoise.messages.histories import SimulateMessage

#: Participations of small matches that go into one table.
ROWS = 50_000
#: Number of progress reports in a run.
_REPORTS = 200
#: A simulated match: numbered from 1, with its players and their true skills.
Made: TypeAlias = Contest | TeamMatch


def simulate(
    request: SimulateRequest,
    progress: Callable[[int, int], None] | None = None,
    *,
    rows: int = ROWS,
    rows_written: int = writing.ROWS,
) -> SimulateMessage:
    """Simulate and write; memory grows with the players, not with the matches.

    rows : participations of small matches that go into one table; rows_written : written together
    Raises : InvalidParameterError, and then nothing was written
    """
    start = time.perf_counter()
    kind, model = _checked(request)
    known = _Players(model.players)
    total = getattr(model, kind.total)
    every = max(total // _REPORTS, 1)

    def report(done: int) -> None:
        if progress is not None and done % every == 0:
            progress(done, total)

    made = known.watch(kind.make(model, rng=np.random.default_rng(request.seed)), report)
    tables = _tables(made, kind, model, request.with_skill, rows)
    participations = write_pieces(tables, request.output, rows=rows_written)
    if request.skills is not None:
        write_table(known.table(), request.skills)
    return SimulateMessage(
        kind=_kind_of(request),
        seed=request.seed,
        parameters=dataclasses.asdict(model),
        matches=known.seen,
        participations=participations,
        players=model.players,
        output=request.output if isinstance(request.output, str) else None,
        skills=request.skills,
        seconds=time.perf_counter() - start,
    )


class _Players:
    """The skills of all players at the first and the last match, and their numbers of matches."""

    def __init__(self, players: int) -> None:
        self.seen = 0
        self._matches = np.zeros(players, np.int64)
        self._first = self._last = np.zeros(players)

    def watch(self, contests: Iterator[Made], report: Callable[[int], None]) -> Iterator[Made]:
        """Yield matches, and keep the skills and numbers of matches.

        report : called with the number of every match that is done
        """
        for contest in contests:
            if self.seen == 0:
                self._first = contest.skills.copy()
            self._last = contest.skills
            self._matches[contest.player] += 1
            self.seen = contest.number
            yield contest
            report(contest.number)

    def table(self) -> pl.DataFrame:
        """Return one row for each player: last and first skill, number of matches."""
        columns = {"player": np.arange(len(self._matches)), "skill": self._last}
        return pl.DataFrame({**columns, "first_skill": self._first, "matches": self._matches})


def _tables(
    contests: Iterator[Made], kind: Kind, model: Any, with_skill: bool, least: int
) -> Iterator[pl.DataFrame]:
    """Yield pieces of a long table, with small matches together."""
    waiting: list[Made] = []
    nobody, rows = True, 0
    for contest in contests:
        nobody = False
        # Without the skills of absent players, of whom there may be millions.
        waiting.append(dataclasses.replace(contest, skills=contest.skill))
        rows += len(contest.player)
        if rows >= least:
            yield table(kind, model, waiting, with_skill)
            waiting, rows = [], 0
    if nobody:
        raise InvalidParameterError(
            f"attendance must be large enough that a player takes part; got {model.attendance!r}"
        )
    if waiting:
        yield table(kind, model, waiting, with_skill)


def table(kind: Kind, model: Any, some: Sequence[Made], with_skill: bool) -> pl.DataFrame:
    """Return matches as rows of a long table."""
    sizes = [len(contest.player) for contest in some]
    columns = {
        "match": np.repeat([contest.number for contest in some], sizes),
        "time": _times(model, np.repeat([contest.time for contest in some], sizes)),
        "player": joined(some, "player"),
        **kind.columns(model, some),
    }
    if with_skill:
        columns["skill"] = joined(some, "skill")
    return pl.DataFrame(columns)


def _times(model: ContestModel | TeamModel, seconds: Ints) -> Ids:
    """Return times as a history has them, in the same format in all pieces of a table."""
    matches = model.contests if isinstance(model, ContestModel) else model.matches
    plain = read_as_seconds(model.first_time, model.first_time + matches * model.interval)
    return seconds if plain else as_written(seconds * MICROSECONDS, "datetime")


class Kind(NamedTuple):
    """A kind of history.

    model : class of its parameters
    total : name of the parameter that is the number of matches
    make : (model, rng=...) -> its matches, one by one
    columns : (model, some matches) -> the columns that only this kind of history has
    """

    model: type[ContestModel] | type[TeamModel]
    total: str
    make: Callable[..., Iterator[Made]]
    columns: Callable[[Any, Sequence[Any]], Mapping[str, Any]]


def joined(some: Sequence[Any], name: str) -> Any:
    """Return one column of several matches as one array."""
    return np.concatenate([getattr(contest, name) for contest in some])


def _contest_columns(model: ContestModel, some: Sequence[Any]) -> Mapping[str, Any]:
    return {"rank": joined(some, "rank")}


def _team_columns(model: TeamModel, some: Sequence[Any]) -> Mapping[str, Any]:
    columns = {"team": np.array(TEAMS)[joined(some, "team")], "rank": joined(some, "rank")}
    if model.leavers > 0:
        columns["share"] = joined(some, "share")
    columns |= {name: joined(some, name) for name in STATISTICS}
    if model.roles:
        columns["role"] = np.array([role.name for role in ROLES])[joined(some, "role")]
    return columns


KINDS = {
    "contests": Kind(ContestModel, "contests", contests, _contest_columns),
    "teams": Kind(TeamModel, "matches", team_matches, _team_columns),
}


def sizes_of(text: str, name: str = "--sizes") -> tuple[tuple[int, int], ...]:
    """Return sizes of two teams, as in "5v5,5v4". Raises : InvalidParameterError.

    name : of the option or the key of the population
    """
    sizes = [_SIZES.fullmatch(part.strip()) for part in text.split(",")]
    if None in sizes:
        raise InvalidParameterError(f"{name} takes sizes such as 5v5,5v4; got {text!r}")
    return tuple((int(size[1]), int(size[2])) for size in sizes if size)


_SIZES = re.compile("([0-9]+)[vV]([0-9]+)")


#: Functions that read parameters given as text, and take the name of the option or key too.
_TEXTS: dict[str, Callable[[str, str], object]] = {
    "first_time": lambda text, name: moment(text, name) // 1_000_000,
    "sizes": sizes_of,
}


#: Fields of a request that are parameters of a model, and override those of its population.
_OVERRIDE = ("players", "contests", "matches", "attendance", "sizes", "roles")


def _kind_of(request: SimulateRequest) -> str:
    if request.kind is not None:
        return request.kind
    return str(request.population.get("kind", "contests"))


def _checked(request: SimulateRequest) -> tuple[Kind, Any]:
    """Refuse a wrong request before writing any file; return its kind and model."""
    name_of_kind = _kind_of(request)
    output = request.output if isinstance(request.output, str) else None
    check_distinct({"--output": output, "--skills": request.skills})
    if output is not None:
        check_pieces_target(output)
    if request.skills is not None:
        check_target(request.skills)
    kind = KINDS[name_of_kind]
    chosen = {name: getattr(request, name) for name in _OVERRIDE}
    # Not `in (None, False)`, to which 0 would belong.
    chosen = {
        name: value for name, value in chosen.items() if value is not None and value is not False
    }
    parameters = {**request.population, **chosen}
    parameters.pop("kind", None)
    known = {field.name for field in dataclasses.fields(kind.model)}
    for name in parameters:
        if name in chosen and name not in known:
            raise InvalidParameterError(f"--{name} is not an option of --kind {name_of_kind}")
        require(
            name in known, name, f"left out of a population of {name_of_kind}", parameters[name]
        )
    for name, read in _TEXTS.items():
        if isinstance(parameters.get(name), str):
            called = f"--{name}" if name in chosen else f"{name} of the population"
            parameters[name] = read(parameters[name], called)
    return kind, kind.model(**parameters)


#: Name of the sample in the folder of the tour.
SAMPLE = "contests.csv"


@dataclass(frozen=True, slots=True)
class Step:
    """One command and its purpose.

    arguments : as typed after `equipoise`
    head : number of lines of its output to show; None for all
    """

    words: str
    arguments: str
    head: int | None = None

    @property
    def command(self) -> str:
        """Return the command as a user would type it."""
        piped = "" if self.head is None else f" | head -n {self.head}"
        return f"equipoise {self.arguments}{piped}"


#: The tour.
STEPS = (
    Step(
        "contests.csv is a season of 40 contests between 120 invented players, with one row for "
        "each player in each contest. This rates them and saves the state. The ten best players:",
        "rate contests.csv --save season.npz",
        head=11,
    ),
    Step(
        "The ratings of one player over time. --output chart.svg writes a figure:",
        "plot contests.csv --player dune-crane",
    ),
    Step(
        "The distribution of all ratings, with a mark at the same player:",
        "plot contests.csv --distribution --player dune-crane",
    ),
    Step(
        "Why did a contest change a rating? These parts add up to the change:",
        "explain contests.csv --player dune-crane",
        head=7,
    ),
    Step(
        "A prediction of a contest of the three best players, from the saved state:",
        "predict --state season.npz --team jade-kite --team cedar-bear --team amber-deer",
    ),
    Step(
        "Which system predicts this season better? This predicts each contest from the ratings "
        "before it:",
        "backtest contests.csv --system elo-mmr --system elo",
    ),
    Step(
        "Every command that rates takes any of these with --system:",
        "systems",
    ),
    Step(
        "A simulated history, for which the true skills are known:",
        "simulate --players 200 --contests 30 --seed 1 --output made.csv --skills skills.csv",
    ),
)


def tour(
    run: Callable[[Sequence[str]], int],
    announce: Callable[[int, Step], None],
    *,
    keep: str | None = None,
    steps: Sequence[Step] = STEPS,
) -> None:
    """Run the steps in a folder with the sample, and print their output.

    run : takes arguments as typed, prints, and returns an exit status
    announce : called before each step
    keep : new or empty folder for the files; None means one that is deleted after the tour
    Raises : EquipoiseError   a step failed; InvalidParameterError   the folder is in use
    """
    with _folder(keep):
        for number, step in enumerate(steps, start=1):
            announce(number, step)
            printed = io.StringIO()
            # An output that is shown whole is not captured, so that the command sees the terminal.
            captured = step.head is not None
            with contextlib.redirect_stdout(printed) if captured else contextlib.nullcontext():
                status = run(shlex.split(step.arguments))
            sys.stdout.writelines(printed.getvalue().splitlines(keepends=True)[: step.head])
            if status != 0:
                raise EquipoiseError(f"step {number} of the tour failed: {step.command}")


@contextmanager
def _folder(keep: str | None) -> Iterator[None]:
    """Change into a folder with the sample."""
    with contextlib.ExitStack() as stack:
        if keep is None:
            # On some systems an open file cannot be deleted.
            place = Path(
                stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            )
        else:
            place = Path(keep)
            check_place(place / "x" if place.is_dir() else place)
            if place.is_dir() and any(place.iterdir()):
                raise InvalidParameterError(f"--keep must name a new or empty folder; got {keep}")
            place.mkdir(exist_ok=True)
        sample = files("equipoise") / "sample" / SAMPLE
        (place / SAMPLE).write_bytes(sample.read_bytes())
        stack.enter_context(contextlib.chdir(place))
        yield
