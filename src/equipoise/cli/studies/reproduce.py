"""equipoise reproduce: the documents' tables, theorems and formulas beside what is computed."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from equipoise.cli import options
from equipoise.cli.declaring import argument, option
from equipoise.cli.report import (
    print_json,
    print_lines,
    print_table,
    say,
    say_compiled,
    working,
)
from equipoise.cli.tables import Table
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.messages.papers import DocumentMessage, ReproductionMessage

EXAMPLE = """\b
Example:
  equipoise reproduce team-glicko2
  equipoise reproduce team-glicko2 equations
  equipoise reproduce --charts figures --output lines.csv"""

#: Letters of a cell, and of a line of reasons.
_CELL, _LINE = 44, 98


def reproduce(
    *,
    document: str | None = argument(
        "The document, such as team-glicko2. [default: all]",
        "DOCUMENT",
        default=None,
    ),
    table: str | None = argument(
        "Statement of the document, such as table-2, theorem-5.5 or equation-9, or all of a kind: "
        "tables, theorems, equations. [default: all]",
        "STATEMENT",
        default=None,
    ),
    data: str | None = option(
        None,
        "Folder with data that is not bundled: codeforces.parquet, for the Codeforces rows of the "
        "Elo-MMR paper. Without it, stored results are shown, with their date.",
        "DIR",
    ),
    cases: int = option(1000, "Number of random cases of each theorem and formula.", "N", min=1),
    seed: int = option(0, "Random seed of these cases.", "N", min=0),
    charts: str | None = option(None, "Draw the figures of the documents as SVG files.", "DIR"),
    output: str | None = option(
        None, "Write the lines: .csv, .parquet, .json, .jsonl or .tsv.", "FILE"
    ),
    as_json: options.Json,
) -> None:
    """Compare the documents that this program carries out with what it computes.

    Each table, figure, example, numbered formula and theorem is computed and shown beside what is
    printed, with the difference and its reason. Theorems are counts of violations over random
    cases, also where an assumption is dropped.
    """
    from equipoise.analysis.studies import reproduce as work

    request = work.ReproduceRequest(
        document=document,
        table=table,
        data=data,
        cases=cases,
        seed=seed,
        output=output,
        charts=charts,
    )
    with working("reproducing") as job:
        answer = work.reproduce(request, job.progress)
    if as_json:
        print_json(answer)
        return
    if output is None:
        _print(answer)
    else:
        say(f"wrote {output}")
    for path in answer.charts:
        say(f"drew {path}")
    say_compiled(job.compilation)


def _print(answer: ReproductionMessage) -> None:
    """Print each document: a table, its reasons, and how many lines have each outcome."""
    for number, document in enumerate(answer.documents):
        if number:
            print_lines("")
        print_lines(f"{document.name}: {document.title}", "")
        table, reasons = _table(document)
        print_table(table)
        if reasons:
            print_lines("")
        for place, reason in enumerate(reasons, start=1):
            head = f"[{place}] "
            print_lines(
                *textwrap.wrap(reason, _LINE, initial_indent=head, subsequent_indent="    ")
            )
        parts = (f"{count:,} {outcome}" for outcome, count in document.outcomes.items())
        lines = counted(sum(document.outcomes.values()), "line")
        print_lines("", f"{lines}: {', '.join(parts)}.")


def _table(document: DocumentMessage) -> tuple[Table, list[str]]:
    """Return the table, and the reasons to which the numbers in its last column refer."""
    reasons: dict[str, int] = {}
    rows: list[list[str]] = []
    for statement in document.statements:
        name = statement.name
        for line in statement.lines:
            outcome: str = line.outcome
            if line.reason:
                outcome += f" [{reasons.setdefault(line.reason, len(reasons) + 1)}]"
            for parts in _wrapped((line.what, line.printed, line.ours)):
                rows.append([name, *parts, outcome])
                name, outcome = "", ""
    return Table(["statement", "what", "printed", "ours", "outcome"], rows, set()), list(reasons)


def _wrapped(cells: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield the lines of a row whose cells are wrapped."""
    parts = [textwrap.wrap(text, _CELL) or [""] for text in cells]
    for number in range(max(map(len, parts))):
        yield [part[number] if number < len(part) else "" for part in parts]
