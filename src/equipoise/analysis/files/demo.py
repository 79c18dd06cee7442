"""A guided tour on the sample season: commands that run one after the other."""

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
    *,
    keep: str | None = None,
    announce: Callable[[int, Step], None] | None = None,
    show: Callable[[str], None] | None = None,
    steps: Sequence[Step] = STEPS,
) -> DemoMessage:
    """Run the steps in a folder with the sample.

    run : takes arguments as typed, prints, and returns an exit status
    keep : new or empty folder for the files; None means one that is deleted after the tour
    announce : called before each step; show : called with the output of a step of which only the
        head is shown; without them all output is captured for the answer
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
    """Run a step; return its output, if it was captured."""
    if show is not None and step.head is None:
        # Not captured, so that the command sees the terminal, its width and colours.
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
