"""What to do next about an input that cannot be read, in a sentence for the command line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from equipoise.errors import Problem

#: A rule of a reader, or the value found -> what to do about it. The first that fits is said.
_OF_FILES: tuple[tuple[str, str], ...] = (
    (r"<!doctype|<html", "This is a web page, not its data: download the file itself."),
    (r"no such file|must be a readable file", "Check the path, and that you may read the file."),
    (r"got an empty file|starts with b''", "The file is empty: download or export it again."),
    (
        r"got no columns|must hold at least one player|got text without tags|must be one JSON",
        "This looks like a file of another kind: export its matches as CSV, with the columns "
        "match, player and rank, or white, black and result.",
    ),
    (
        r"must have the columns of a history|must have white",
        "--column NEW=OLD says which column is which; `equipoise inspect FILE` shows their values.",
    ),
    # The problem itself leads on.
    (r"--[a-z]|`equipoise |: (save the table|save it|export the table|unpack it)", ""),
    (
        r"got a binary file",
        "This is not text in UTF-8: save it as text (in a spreadsheet: CSV UTF-8).",
    ),
    (
        r"must be a (gzip|zip|Parquet) file|must be text in the format|starts with b|must be JSON$",
        "The name of the file and its content differ in format: rename the file, or choose the "
        "format with --format.",
    ),
    (
        r"must be an archive with|must be a directory with|must hold tables, contests or games",
        "Choose a file, an archive or a folder with tables, contests (.json) or games (.pgn).",
    ),
    (
        r"complete|readable",
        "The file is damaged, cut off, or not what its name says: download or export it again.",
    ),
    (
        r"must be a response with status",
        "The platform refused the request: download the contest again.",
    ),
    (
        r"must be a contest|must be a list|must be an object|rated participant|participants|party",
        "Download the contest again, or export the matches as CSV with the columns match, player "
        "and rank.",
    ),
    (
        r"must hold at least one game|must leave at least one match",
        "Nothing is left to rate: choose a file with finished games, or change --where, --from and "
        "--until.",
    ),
    (
        r"at least one row|must have a header",
        "It has no matches: export it again, with a header and a row for every player of a match.",
    ),
    (
        r"must be headed by",
        "Rename this column after a player, or remove it; --format games, pairs or history reads "
        "another kind of table.",
    ),
    (
        r"must be a column of the table|needs a rank|must have (white|match|player)",
        "--column NEW=OLD says which column is which, such as --column player=NAME.",
    ),
)
#: The same for rules that name a line and cannot be skipped.
_OF_LINES: tuple[tuple[str, str], ...] = (
    (r"Windows-1252: save it|between its columns", ""),  # the problem itself leads on
    (
        r"be read with\s+--time-format",
        "Choose one of these formats with --time-format: it holds for all rows.",
    ),
    (r"must be text in UTF-8", "Save the file as UTF-8 (in a spreadsheet: CSV UTF-8)."),
    (
        r"must be the name of only one column|must be only one of its columns",
        "Rename or remove one of these columns. If the file has no header, add one, such as "
        "match,player,rank.",
    ),
    (r"must close all quotation marks", "Close the quotation mark, or remove it."),
    (
        r"must separate its columns with spaces",
        "Export the report again, or use a list of games: CSV with white, black and result.",
    ),
    (
        r"must be the same for all players of a team",
        "If every player of a match plays alone, --column unused=NAME, with the name of the column "
        "of teams, makes that a column like any other.",
    ),
    (
        r"must be a place: --unplaced",
        "Choose one of the two options.",
    ),
    (
        r"and the same on all",
        "If another column is meant, choose it with --column NEW=OLD; times of another form are "
        "read with --time-format.",
    ),
)


def advice_on(problems: Sequence[Problem], *, skipping: bool) -> str:
    """Return what to do about problems that prevent an answer; "" if they say it themselves.

    skipping : whether bad rows are skipped already
    """
    if not problems:
        return ""
    told = "\n".join(f"{problem.rule}; got {problem.got}" for problem in problems)
    rows = all(problem.line is not None for problem in problems)
    advice = _first(_OF_LINES if rows else _OF_FILES, told)
    if advice is None and rows and not skipping:
        return (
            "Correct these rows, leave their matches out with --skip-bad, or leave out only these "
            "rows with --skip-bad=rows. `equipoise inspect FILE` says what is left then."
        )
    return advice or ""


def _first(advice: Sequence[tuple[str, str]], told: str) -> str | None:
    """Return the first advice that fits, None if none does."""
    wanted = re.IGNORECASE | re.MULTILINE
    return next((words for pattern, words in advice if re.search(pattern, told, wanted)), None)
