"""equipoise convert: the matches of a file in another format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from equipoise.analysis.requests.rating import RawText
from equipoise.analysis.requests.reading import HistoryRequest
from equipoise.cli import options
from equipoise.cli.declaring import argument, option
from equipoise.cli.report import print_json, reading_lines, say
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.messages.sources.converting import ConvertMessage

EXAMPLE = """\b
Example:
  equipoise convert examples/contests.csv contests.parquet
  equipoise convert examples/worldcup2022.csv matches.csv
  equipoise convert examples/league.csv games.csv --as games
  equipoise convert examples/interzonal1970.csv interzonal.trf"""

_FORMS = {
    "history": "a long table",
    "games": "a table of games",
    "trf": "a FIDE report",
}


def convert(
    *,
    history: HistoryRequest,
    output: str = argument(
        "The file to write: .csv, .csv.gz, .tsv, .parquet, .jsonl, .json or .arrow for a table, "
        "or .trf for a FIDE report.",
        "OUT",
    ),
    form: Literal["history", "games", "trf"] | None = option(
        None,
        "A long table (history), with a row for each player in a match; a table of games, with a "
        "row for each match of two single players; or a FIDE report (trf). [default: what the name "
        "of OUT says, else history]",
        name="--as",
    ),
    overwrite: bool = option(False, "Replace OUT if it exists."),
    raw: RawText = False,
    as_json: options.Json,
) -> None:
    """Write the matches of a file in another format, so that other tools can read them.

    The file is read as `equipoise rate` reads it, with the same options. What the new format cannot
    hold is said. OUT is written completely or not at all, and never over HISTORY.
    """
    from equipoise.analysis.inspecting.conversion import ConvertRequest
    from equipoise.analysis.inspecting.conversion import convert as converted

    answer = converted(
        ConvertRequest(
            history=history,
            target=output,
            form=form,
            overwrite=overwrite,
            raw=raw,
        )
    )
    if as_json:
        print_json(answer)
    else:
        say(*_lines(answer))


def _lines(answer: ConvertMessage) -> list[str]:
    """Return lines on what was written, what it lacks, and what the reader said."""
    matches = counted(answer.written, "match", "matches")
    lines = [
        f"wrote {matches} to {answer.output} as {_FORMS[answer.form]} ({answer.seconds:.2f} s)",
        *(f"  {one}" for one in answer.lost),
    ]
    if answer.form == "history" and not answer.lost:
        lines.append("  nothing is lost: reading it again gives the same history")
    read = [] if answer.history is None else reading_lines(answer.history)
    return [*lines, *read, *answer.notes]
