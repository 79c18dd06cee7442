"""What the command line prints: tables, progress and errors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from equipoise.errors import EquipoiseError


def say(text: str) -> None:
    """Print a line for people, beside the results."""
    print(text, file=sys.stderr)  # noqa: T201  # the command line speaks here


def print_json(message: object) -> None:
    """Print a message as JSON with a newline."""
    import msgspec

    sys.stdout.write(msgspec.json.encode(message).decode() + "\n")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: set[str]) -> None:
    """Print a table: drawn on a terminal, plain and aligned when piped.

    numbers : columns that are aligned to the right
    """
    cells = [list(columns), *(list(row) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    # A number cut to fit is worse than a line that wraps.
    if sys.stdout.isatty() and sum(widths) + 2 * len(widths) <= _terminal_columns():
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table

        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for column in columns:
            table.add_column(column, justify="right" if column in numbers else "left")
        for row in rows:
            table.add_row(*row)
        Console(highlight=False, markup=False).print(table)
        return
    lines = []
    for row in cells:
        aligned = [
            text.rjust(width) if column in numbers else text.ljust(width)
            for column, text, width in zip(columns, row, widths, strict=True)
        ]
        lines.append("  ".join(aligned).rstrip())
    sys.stdout.write("\n".join(lines) + "\n")


def _terminal_columns() -> int:
    import shutil

    return shutil.get_terminal_size().columns


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """Give a function that shows progress on standard error; None when that is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    bar = Progress(
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def report_error(error: EquipoiseError, as_json: bool) -> None:
    """Print an error in the user's words, or as the one JSON shape."""
    if as_json:
        import msgspec

        from equipoise.messages.errors import error_message

        say(msgspec.json.encode(error_message(error)).decode())
    else:
        say(f"equipoise: {error}")


def report_system_error(error: OSError, as_json: bool) -> None:
    """Print what the operating system refused: which file, and why."""
    place = "" if error.filename is None else f"{error.filename}: "
    message = f"{place}{error.strerror or error}"
    _report("system", message, as_json)


def report_usage_error(message: str, as_json: bool) -> None:
    """Print wrong usage of the command line itself."""
    _report("wrong-usage", message, as_json)
    if not as_json:
        say("See `equipoise --help` and `equipoise COMMAND --help`.")


def _report(code: str, message: str, as_json: bool) -> None:
    """Print an error that is none of the package's own."""
    if not as_json:
        say(f"equipoise: {message}")
        return
    import msgspec

    from equipoise.messages.errors import ErrorBody, ErrorMessage

    say(msgspec.json.encode(ErrorMessage(ErrorBody(code, message, []))).decode())
