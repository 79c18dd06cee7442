"""What the command line prints: lines, tables, charts, JSON, progress and errors.

Everything that reaches a terminal goes through this file, and through `printable`: names and values
of users may hold characters that control a terminal. No other file of the command line prints.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime
from itertools import islice
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from equipoise.errors import (
    SHOWN_PROBLEMS,
    EquipoiseError,
    InvalidDataError,
    NoEquilibriumError,
    NoStrengthsError,
    Problem,
    lines_of,
)
from equipoise.wording import counted, printable, printable_json

if TYPE_CHECKING:
    from rich.console import Console

    from equipoise._jit import Compilation
    from equipoise.charts.canvas import Row, Sheet
    from equipoise.formats.table import HistoryReading
    from equipoise.messages.conversion import ProblemMessage
    from equipoise.messages.histories import HistoryMessage, RateByMessage, RateSummary


#: See `table`.
Columns: TypeAlias = Mapping[str, str] | Sequence[tuple[str, str]]

#: Ends a time that is a day.
_MIDNIGHT = " 00:00"


class Table(NamedTuple):
    """A table of text; the columns named in `numbers` are aligned to the right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: set[str]

    def printable(self) -> Table:
        """Return the table without control characters and invisible characters."""
        return Table(
            [printable(name) for name in self.columns],
            [[printable(text) for text in row] for row in self.rows],
            {printable(name) for name in self.numbers},
        )

    def lines(self) -> list[str]:
        """Return the table as aligned lines."""
        widths = self.widths()
        lines = []
        for row in (self.columns, *self.rows):
            aligned = [
                text.rjust(width) if column in self.numbers else text.ljust(width)
                for column, text, width in zip(self.columns, row, widths, strict=True)
            ]
            lines.append("  ".join(aligned).rstrip())
        return lines

    def widths(self) -> list[int]:
        """Return the width of every column."""
        return [max(map(len, cells)) for cells in zip(self.columns, *self.rows, strict=True)]


def table(columns: Columns, rows: Iterable[Iterable[object]]) -> Table:
    """Return a table of values.

    columns : name -> format of its numbers, such as ".2f"; "" is a column of text, and ">" is a
        column of text that is aligned to the right. Pairs where two columns may have one name
    rows : their values; None becomes an empty cell
    """
    heads = list(columns.items() if isinstance(columns, Mapping) else columns)
    forms = [form for _, form in heads]
    cells = [[cell(value, form) for value, form in zip(row, forms, strict=True)] for row in rows]
    return Table([name for name, _ in heads], cells, {name for name, form in heads if form})


def cell(value: object, form: str) -> str:
    """Return a value as a table shows it."""
    if value is None:
        return ""
    return str(value) if isinstance(value, str) or not form else format(value, form)


def minutes(time: int | str | date | datetime | None) -> str | None:
    """Return a time to the minute, a day, the number in an order without dates, or the text."""
    from equipoise.data.times import to_the_minute

    return None if time is None else to_the_minute(time)


def dates(times: Sequence[int | date | datetime | None]) -> list[str | None]:
    """Return the cells of a column of times: days, or minutes if a time is not a midnight."""
    cells = [minutes(time) for time in times]
    if all(cell is None or cell.endswith(_MIDNIGHT) or ":" not in cell for cell in cells):
        return [None if cell is None else cell.removesuffix(_MIDNIGHT) for cell in cells]
    return cells


def cut(text: str, letters: int) -> str:
    """Return text, shortened to at most `letters` characters."""
    return text if len(text) <= letters else f"{text[: letters - 3]}..."


#: Columns and lines of a chart in a pipe.
_PIPED = (100, 30)
#: Lines of a terminal kept for titles and prompt; lines of the tallest chart.
_TITLES, _TALLEST = 7, 26

#: Seconds between lines on the progress of compiling.
_PAUSE = 2.0


def say(*lines: str) -> None:
    """Print lines for people to standard error."""
    for line in lines:
        sys.stderr.write(printable(line) + "\n")


def say_compiled(compilation: Compilation) -> None:
    """Say how many kernels were compiled, if any. Other times do not include this."""
    if compilation.kernels:
        kernels = counted(compilation.kernels, "kernel")
        say(f"Compiled {kernels} in {compilation.seconds:.1f} s, once for this machine.")


def print_lines(*lines: str) -> None:
    """Print lines of the results to standard output."""
    sys.stdout.write("".join(f"{printable(line)}\n" for line in lines))


def print_json(message: object) -> None:
    """Print a message as JSON with a newline."""
    sys.stdout.write(_json(message) + "\n")


def print_styled(text: str, style: str = "") -> None:
    """Print wrapped text, in a style if standard output is a terminal."""
    if sys.stdout.isatty():
        from rich.text import Text

        _console().print(Text(printable(text), style))
        return
    print_lines(*(textwrap.wrap(printable(text), 100) or [""]))
    sys.stdout.flush()


def print_chart(rows: Sequence[Row]) -> None:
    """Print a text chart, in colours on a terminal."""
    if not sys.stdout.isatty():
        print_lines(*("".join(span.text for span in row).rstrip() for row in rows))
        return
    from rich.text import Text

    console = _console()
    for row in rows:
        spans = [(printable(span.text), span.colour) for span in row]
        console.print(Text.assemble(*spans), no_wrap=True)


def sheet() -> Sheet:
    """Return size and style of a text chart: as wide as the terminal, without colours in a pipe."""
    from equipoise.charts.canvas import ASCII, UNICODE, Sheet

    columns, lines = shutil.get_terminal_size(_PIPED)
    # NO_COLOR: https://no-color.org
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return Sheet(
        columns=columns - 1,
        rows=min(max(lines - _TITLES, 8), _TALLEST),
        coloured=coloured,
        glyphs=UNICODE if encoding.lower().startswith("utf") else ASCII,
    )


def _console() -> Console:
    """Return the console of rich on standard output, without markup and emoji in text."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def _json(message: object) -> str:
    import msgspec

    try:
        text = msgspec.json.encode(message)
    except UnicodeEncodeError:  # the name of a file that is not UTF-8
        text = msgspec.json.encode(_encodable(msgspec.to_builtins(message)))
    return printable_json(text.decode())


def _encodable(value: object) -> object:
    """Return a value of JSON whose texts are printable, so that UTF-8 has all characters."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {_encodable(name): _encodable(item) for name, item in value.items()}
    return value


def print_table(table: Table) -> None:
    """Print a table: drawn on a terminal, aligned text in a pipe."""
    table = table.printable()
    # rich would cut numbers of a table that is too wide; plain lines wrap. It puts three characters
    # between columns, and one at each edge.
    width = sum(table.widths()) + 3 * len(table.columns) - 1
    if sys.stdout.isatty() and width <= shutil.get_terminal_size().columns:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as Drawn

        drawn = Drawn(box=SIMPLE_HEAD, pad_edge=False)
        for column in table.columns:
            drawn.add_column(column, justify="right" if column in table.numbers else "left")
        for row in table.rows:
            drawn.add_row(*row)
        _console().print(drawn)
        return
    sys.stdout.write("\n".join(table.lines()) + "\n")


def print_first(
    columns: Columns,
    rows: Iterable[Iterable[object]],
    count: int,
    most: int,
    what: str = "player",
    where: str = "--output FILE writes all.",
) -> None:
    """Print a table: its first rows on a terminal, all of them to a pipe.

    rows, count : all rows, and their number; what : they are; where : to find the others
    """
    shown = min(most, count) if sys.stdout.isatty() else count
    print_table(table(columns, islice(rows, shown)))
    if shown < count:
        say(f"... and {counted(count - shown, f'more {what}')}; {where}")


def reading_lines(
    history: HistoryReading | HistoryMessage | RateSummary | RateByMessage,
) -> list[str]:
    """Return lines on what was left out of a history, and why."""
    left_out = (
        (history.unrated, "match is marked as not rated", "matches are marked as not rated"),
        (history.filtered, "match was filtered out", "matches were filtered out"),
        (len(history.dropped_matches), "bad match was dropped", "bad matches were dropped"),
        (
            history.dropped_rows,
            "bad row was dropped, and its match was kept",
            "bad rows were dropped, and their matches were kept",
        ),
    )
    lines = [counted(count, *what) for count, *what in left_out if count]
    return [*lines, *problem_lines(history.problems), *history.notes]


def problem_lines(
    problems: Sequence[Problem | ProblemMessage], most: int = SHOWN_PROBLEMS
) -> list[str]:
    """Return a line for each of the first problems, and one that counts the others."""
    copies = [
        Problem(problem.file, problem.line, problem.field, problem.rule, problem.got)
        for problem in problems
    ]
    return [f"  {line}" for line in lines_of(copies, most)]


class Work(NamedTuple):
    """A running command: the function that shows progress, and the kernels compiled."""

    progress: Callable[[int, int], None] | None
    compilation: Compilation


@contextmanager
def working(label: str) -> Iterator[Work]:
    """Show progress, and say when kernels are compiled, and how many have been."""
    with compiling() as compilation, progress(label) as show:
        yield Work(show, compilation)
    say_compiled(compilation)


@contextmanager
def compiling() -> Iterator[Compilation]:
    """Count the compiled kernels. Say before the first that they are compiled.

    On a terminal also say how far it is, every few seconds; a log needs no such lines.
    """
    from equipoise._jit import watch_compilation

    ended = threading.Event()
    # The compiler is busy for seconds between its events. It lets other threads run.
    reporter = threading.Thread(target=lambda: _report_compiling(compilation, ended), daemon=True)

    def begin() -> None:
        say("Compiling kernels, once for this machine ...")
        if sys.stderr.isatty():
            reporter.start()

    with watch_compilation(begin) as compilation:
        try:
            yield compilation
        finally:
            ended.set()
            if reporter.ident is not None:
                reporter.join()


def _report_compiling(compilation: Compilation, ended: threading.Event) -> None:
    """Print a line every few seconds while a kernel is compiled."""
    started = time.perf_counter()
    while not ended.wait(_PAUSE):
        if current := compilation.current:
            kernels = counted(compilation.kernels, "kernel")
            # Other kernels may follow when this one has been compiled.
            left = f", at most {compilation.left} left for it" if compilation.left else ""
            spent = time.perf_counter() - started
            say(f"compiling {current}: {kernels} so far{left}, {spent:.0f} s")


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function that shows progress on standard error, None if that is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True, emoji=False),
        transient=True,
    )
    with bar:
        task = bar.add_task(printable(label), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def report_error(error: EquipoiseError, as_json: bool) -> None:
    """Print an error as text or JSON."""
    if as_json:
        from equipoise.messages.conversion import error_message

        say(_json(error_message(error)))
        return
    # These errors have one line for each problem, sweep or group.
    listing = isinstance(error, InvalidDataError | NoEquilibriumError | NoStrengthsError)
    first, *others = str(error).split("\n") if listing else [str(error)]
    advice = error.advice if isinstance(error, InvalidDataError) else ""
    # A note names the task of several in which the error occurred.
    notes = getattr(error, "__notes__", ())
    say(f"equipoise: {first}", *others, *notes, *([advice] if advice else []))


def report_foreign_error(code: str, message: str, as_json: bool, *advice: str) -> None:
    """Print an error that the package did not raise, and lines on what to do."""
    if not as_json:
        say(f"equipoise: {message}", *advice)
        return
    from equipoise.messages.conversion import ErrorBody, ErrorMessage

    say(_json(ErrorMessage(ErrorBody(code, message, []))))


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
        for signal_number in numbers:
            signal.signal(signal_number, signal.SIG_IGN)  # a second one must not stop the removal
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
