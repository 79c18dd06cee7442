"""A guided tour on the sample that comes with the package: commands, run one after the other."""

from __future__ import annotations

import contextlib
import io
import shlex
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from equipoise.data.files import check_place
from equipoise.errors import EquipoiseError, InvalidParameterError
from equipoise.messages.histories import DemoMessage, StepMessage

#: Name of the sample in the folder of the tour.
SAMPLE = "contests.csv"


@dataclass(frozen=True, slots=True)
class Step:
    """One command and why it is run.

    arguments : as typed after `equipoise`
    head : lines of its output that are shown; None for all
    """

    words: str
    arguments: str
    head: int | None = None

    @property
    def command(self) -> str:
        """Return the command as a user would type it."""
        piped = "" if self.head is None else f" | head -n {self.head}"
        return f"equipoise {self.arguments}{piped}"


#: The tour. A new command joins it by a line.
STEPS = (
    Step(
        "contests.csv is a season of 40 contests between 120 invented players, a row a player and "
        "contest. This rates them and keeps the state. The ten best:",
        "rate contests.csv --save season.npz",
        head=11,
    ),
    Step(
        "How one of them got there. With --output chart.svg it becomes a figure:",
        "plot contests.csv --player dune-crane",
    ),
    Step(
        "How the ratings of all are spread, and where the same player stands:",
        "plot contests.csv --distribution --player dune-crane",
    ),
    Step(
        "Why did a contest change a rating? The parts of the change add up to it:",
        "explain contests.csv --player dune-crane",
        head=7,
    ),
    Step(
        "What to expect when the three best meet, read from the state kept above:",
        "predict --resume season.npz --team jade-kite --team cedar-bear --team amber-deer",
    ),
    Step(
        "Which system predicts this season better? Each contest is predicted from the ratings "
        "before it:",
        "backtest contests.csv --system elo-mmr --system elo",
    ),
    Step(
        "Every command that rates takes any of these with --system:",
        "systems",
    ),
    Step(
        "Where is the truth known? In a history that is made up, with the skills kept beside it:",
        "simulate --players 200 --contests 30 --seed 1 --output made.csv --skills skills.csv",
    ),
)


def tour(
    run: Callable[[Sequence[str]], int],
    *,
    keep: str | None = None,
    announce: Callable[[int, Step], None] | None = None,
    show: Callable[[str], None] | None = None,
    steps: Sequence[Step] = STEPS,
) -> DemoMessage:
    """Run the steps in a folder with the sample.

    run : takes arguments as typed, prints, and returns an exit status
    keep : folder that is made, or is empty, and stays; None for one that goes with the tour
    announce : called before each step; show : takes the text of a step's output that is shown
        where only its head is; without them everything is captured for the answer
    Raises : EquipoiseError   a step failed; InvalidParameterError   the folder is in use
    """
    start = time.perf_counter()
    done = []
    with _folder(keep):
        for number, step in enumerate(steps, start=1):
            if announce is not None:
                announce(number, step)
            before = time.perf_counter()
            output = _run_step(run, number, step, show)
            seconds = time.perf_counter() - before
            done.append(StepMessage(step.words, step.command, output, seconds))
    return DemoMessage(done, keep, time.perf_counter() - start)


def _run_step(
    run: Callable[[Sequence[str]], int], number: int, step: Step, show: Callable[[str], None] | None
) -> str:
    """Run a step; return what it printed, if that was captured."""
    if show is not None and step.head is None:
        # Uncaptured, so that it finds the terminal with its width and colours.
        status, output = run(shlex.split(step.arguments)), ""
    else:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = run(shlex.split(step.arguments))
        lines = printed.getvalue().splitlines(keepends=True)
        output = "".join(lines[: step.head])
        if show is not None:
            show(output)
    if status != 0:
        raise EquipoiseError(f"step {number} of the tour failed: {step.command}")
    return output


@contextmanager
def _folder(keep: str | None) -> Iterator[None]:
    """Work in a folder that holds the sample."""
    with contextlib.ExitStack() as stack:
        if keep is None:
            # Cleaned up loosely: on some systems an open file cannot be deleted.
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
