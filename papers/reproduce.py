"""The documents' tables, theorems and formulas beside what is computed.

Run: python -m papers.reproduce [DOCUMENT] [STATEMENT] [OPTIONS]
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer

from equipoise.analysis.requests import typed
from equipoise.charts import theme
from equipoise.cli import options
from equipoise.cli.application import SHORT_HELP
from equipoise.cli.options import add_command
from equipoise.cli.report import (
    Table,
    print_json,
    print_lines,
    print_table,
    report_error,
    say,
    working,
)
from equipoise.errors import EquipoiseError, exit_status
from equipoise.formats import write_table
from equipoise.formats.writing import check_target
from equipoise.wording import counted
from papers.comparing import Comparison, compare, table_of
from papers.documents import documents
from papers.items import Facts

#: Characters of a cell, and of a line of reasons.
_CELL, _LINE = 44, 98
#: Characters of the narrowest cell on a terminal, of the widest outcome, and of three cells that
#: are wide enough to have the names of statements beside them.
_NARROWEST, _OUTCOME, _ENOUGH = 10, len("reproduced [99]"), 66
#: Columns of a table, the characters between two of them, and those of its edges.
_COLUMNS, _GAP, _EDGES = ["statement", "what", "printed", "ours", "outcome"], 3, 2


def reproduce(
    *,
    document: str | None = typed(
        None,
        "The document, such as team-glicko2. [default: all]",
        "DOCUMENT",
        argument=True,
    ),
    table: str | None = typed(
        None,
        "Statement of the document, such as table-2, theorem-5.5 or equation-9, or all of a kind: "
        "tables, theorems, equations. [default: all]",
        "STATEMENT",
        argument=True,
    ),
    data: str | None = typed(
        None,
        "Folder with data that is not bundled: codeforces.parquet, for the Codeforces rows of the "
        "Elo-MMR paper. Without it, stored results are shown, with their date.",
        "DIR",
    ),
    cases: int = typed(1000, "Number of random cases of each theorem and formula.", "N", least=1),
    seed: int = typed(0, "Random seed of these cases.", "N", least=0),
    charts: str | None = typed(None, "Draw the figures of the documents as SVG files.", "DIR"),
    output: str | None = typed(
        None, "Write the lines: .csv, .parquet, .json, .jsonl or .tsv.", "FILE"
    ),
    as_json: options.Json,
) -> None:
    """Compare the documents that this program carries out with what it computes.

    Each table, figure, example, numbered formula and theorem is computed and shown beside what is
    printed, with the difference and its reason. Theorems are counts of violations over random
    cases, also where an assumption is dropped.

    Example:
      python -m papers.reproduce team-glicko2
      python -m papers.reproduce team-glicko2 equations
      python -m papers.reproduce --charts figures --output lines.csv
    """
    facts = Facts(data=None if data is None else Path(data), cases=cases, seed=seed)
    chosen = [(one, one.chosen(table)) for one in documents(document)]
    if output is not None:
        check_target(output)
    figures = {}
    if charts is not None:
        theme.check_available()
        folder = Path(charts)
        folder.mkdir(parents=True, exist_ok=True)
        figures = {
            str(folder / f"{one.name}-{item.name}.svg"): item.draw
            for one, items in chosen
            for item in items
            if item.draw is not None
        }
    with working("reproducing") as job:
        found = compare(chosen, facts, job.progress)
    for path, draw in figures.items():
        with theme.style():
            theme.write(draw(facts), path)
    if output is not None:
        write_table(table_of(found), output)
    if as_json:
        print_json({"cases": cases, "seed": seed, "documents": found, "charts": list(figures)})
        return
    if output is None:
        _print(found)
    else:
        say(f"wrote {output}")
    for path in figures:
        say(f"drew {path}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit, as `equipoise` does."""
    application = typer.Typer(
        context_settings=SHORT_HELP,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    add_command(application, "reproduce", reproduce)
    try:
        application(args=arguments, prog_name="python -m papers.reproduce")
    except EquipoiseError as error:
        report_error(error, "--json" in (sys.argv if arguments is None else arguments))
        sys.exit(exit_status(error))


def _print(found: list[Comparison]) -> None:
    """Print each document: a table, its reasons, and how many lines have each outcome."""
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for number, document in enumerate(found):
        if number:
            print_lines("")
        print_lines(f"{document.name}: {document.title}", "")
        table, reasons = _table(document, columns)
        print_table(table)
        if reasons:
            print_lines("")
        for place, reason in enumerate(reasons, start=1):
            head = f"[{place}] "
            print_lines(
                *textwrap.wrap(
                    reason,
                    min(_LINE, columns or _LINE),
                    initial_indent=head,
                    subsequent_indent="    ",
                )
            )
        parts = (f"{count:,} {outcome}" for outcome, count in document.outcomes.items())
        lines = counted(sum(document.outcomes.values()), "line")
        print_lines("", f"{lines}: {', '.join(parts)}.")


def _table(document: Comparison, columns: int | None) -> tuple[Table, list[str]]:
    """Return the table, and the reasons to which the numbers in its last column refer.

    columns : of the terminal; None in a pipe. Where the table is wider, names are lines of their
        own, above what they say.
    """
    reasons: dict[str, int] = {}
    rows: list[list[str]] = []
    names_above = columns is not None and _free(document, columns, beside=True) < _ENOUGH
    free = None if columns is None else _free(document, columns, beside=not names_above)
    widths = _widths(document, free)
    for statement in document.statements:
        name = statement.name
        if names_above:
            rows.extend([part, "", "", ""] for part in textwrap.wrap(name, widths[0]))
        for line in statement.lines:
            outcome: str = line.outcome
            if line.reason:
                outcome += f" [{reasons.setdefault(line.reason, len(reasons) + 1)}]"
            for parts in _wrapped((line.what, line.printed, line.ours), widths, names_above):
                rows.append([*parts, outcome] if names_above else [name, *parts, outcome])
                name, outcome = "", ""
    heads = [one for one in _COLUMNS if not (names_above and one == "what")]
    return Table(heads, rows, set()), list(reasons)


def _free(document: Comparison, columns: int, *, beside: bool) -> int:
    """Return the characters that a terminal leaves for what, printed and ours.

    beside : the names of statements are a column
    """
    names = max(len(one.name) for one in document.statements) + _GAP if beside else 0
    return columns - names - _OUTCOME - 3 * _GAP - _EDGES


def _widths(document: Comparison, free: int | None) -> list[int]:
    """Return the widths of what, printed and ours: at most `_CELL`, less where space is short.

    free : characters for all three; None in a pipe
    """
    if free is None:
        return [_CELL] * 3
    cells = [
        (line.what, line.printed, line.ours)
        for statement in document.statements
        for line in statement.lines
    ]
    widths = [min(_CELL, max(map(len, column))) for column in zip(*cells, strict=True)]
    while sum(widths) > free and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _wrapped(cells: tuple[str, ...], widths: list[int], indented: bool) -> Iterator[list[str]]:
    """Yield the lines of a row whose cells are wrapped.

    indented : the first cell, by two characters
    """
    indent = "  " if indented else ""
    first, *others = zip(cells, widths, strict=True)
    parts = [
        textwrap.wrap(*first, initial_indent=indent, subsequent_indent=indent) or [""],
        *(textwrap.wrap(*one) or [""] for one in others),
    ]
    for number in range(max(map(len, parts))):
        yield [part[number] if number < len(part) else "" for part in parts]


if __name__ == "__main__":
    main()
