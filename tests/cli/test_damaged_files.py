"""Damaged files, as people have them: no traceback, and every answer says what to do.

`formats` has the problems of every reader; here are the kinds of advice, and files that can be read
nevertheless.
"""

from __future__ import annotations

import gzip
import json

import polars as pl
import pytest

from equipoise.cli import run
from formats.test_frames import bytes_of
from formats.test_opening import binary
from formats.test_pgn_files import zipped

LONG = """match,time,player,rank
1,2024-01-01,ann,1
1,2024-01-01,ben,2
2,2024-01-08,ben,1
2,2024-01-08,cid,2
"""
GAMES = "white,black,result\nann,ben,1-0\nben,cid,1/2-1/2\n"
CROSS = "player,1,2,3,points\nann,X,1,=,1.5\nben,0,X,1,1\ncid,=,0,X,0.5\n"
WIDER = "player,1,2,3,4,points\nann,X,1,=,1,2.5\nben,0,X,1,0,1\ncid,=,0,X,1,1.5\n"
PAIRS = "player,opponent,points,games\nann,ben,1.5,2\nben,cid,1,2\n"
STANDINGS = [["ann", 0, 0], ["ben", 1, 1]]
CONTEST = json.dumps({"name": "r1", "time_seconds": 1_700_000_000, "standings": STANDINGS})
PGN = '[White "Ann"]\n[Black "Ben"]\n[Result "1-0"]\n\n1. e4 e5 1-0\n'
TRF = "001\t1\tAnn\t2100\t1.5\t1\t2 w 1\n"


def parquet(text: str) -> bytes:
    """Return a Parquet file of a table."""
    return binary("write_parquet", pl.read_csv(text.encode()))


def workbook(*sheets: str) -> bytes:
    """Return a workbook with these tables, one a sheet."""
    rows = [[line.split(",") for line in text.splitlines()] for text in sheets]
    return bytes_of(**{f"Sheet{at}": sheet for at, sheet in enumerate(rows)})


def half(content: bytes) -> bytes:
    """Return the first half of a file."""
    return content[: len(content) // 2]


ROWS = "Correct these rows, leave their matches out with --skip-bad"
COLUMNS = "Name the columns with --column NEW=OLD"
EMPTY = "The file is empty: download or export it again."
NO_MATCHES = "It has no matches: export it again"
CUT = "The file is damaged, incomplete, or of another kind"
NOTHING = "Nothing is left to rate: choose a file with finished games"
CONTEST_AGAIN = "Download the contest again"
FORMAT = "format (--format) must be given"

#: Name -> content and advice.
UNREAD: list[tuple[str, str | bytes, str]] = [
    ("blank.csv", "\n\n\n", EMPTY),
    ("header.csv", "match,time,player,rank\n", NO_MATCHES),
    ("no-header.csv", LONG.partition("\n")[2], "If the file has no header, add one"),
    ("no-player.csv", LONG.replace("player", "colour"), "--column player="),
    ("words.csv", LONG.replace(",1\n", ",first\n"), ROWS),
    ("quote.csv", LONG.replace("cid,2", '"cid,2'), "Close the quotation mark, or remove it."),
    ("zero.csv", LONG.replace("cid", "c\0id"), "save it as text"),
    ("dates.csv", LONG.replace("2024-01-", "01/02/20"), "with --time-format; it applies to all"),
    ("page.csv", "<html><body>404 Not Found</body></html>\n", "a web page (HTML): save the table"),
    ("sep.csv", "sep=;\n", COLUMNS),
    ("games.csv", GAMES.replace("1-0", "*").replace("1/2-1/2", "*"), NOTHING),
    ("results.csv", GAMES.replace("1-0", "won by Ann"), ROWS),
    ("no-black.csv", GAMES.replace("black", "shirt"), COLUMNS),
    ("last.jsonl", '{"match":1,"player":"ann","rank":1}\n{"match":1,"pl', ROWS),
    ("empty.jsonl", "", EMPTY),
    ("half.json", half(CONTEST.encode()), CUT),
    ("other.json", '{"name": "x", "matches": []}', CONTEST_AGAIN),
    ("text.json", CONTEST.replace(json.dumps(STANDINGS), '"ann"'), CONTEST_AGAIN),
    ("failed.json", '{"status": "FAILED", "comment": "none"}', "The platform refused the request"),
    ("readme.zip", zipped({"readme": "hello"}), FORMAT),
    ("half.zip", half(zipped({"a": CONTEST})), CUT),
    ("half.csv.gz", half(gzip.compress(LONG.encode())), CUT),
    ("half.parquet", half(parquet(LONG)), CUT),
    ("rows.parquet", parquet(LONG.partition("\n")[0] + "\n"), NO_MATCHES),
    ("half.xlsx", half(workbook(LONG)), CUT),
    ("notes.xlsx", workbook("Dear all,\nresults follow\n"), NO_MATCHES),
    ("two.xlsx", workbook(LONG, GAMES), "add --sheet"),
    ("none.ods", zipped({"mimetype": "x", "content.xml": "<a/>"}), "Choose a file, an archive or"),
    ("page.xls", "<html><table><tr><td>1</td></tr></table></html>", "a web page (HTML): save"),
]
#: The same for tournaments.
UNREAD_GAMES: list[tuple[str, str | bytes, str]] = [
    ("column.csv", WIDER, "Rename this column after a player"),
    ("half-cross.csv", half(CROSS.encode()), "--column NEW=OLD"),
    ("diagonal.csv", CROSS.replace("ann,X", "ann,1"), ROWS),
    ("pairs.csv", PAIRS.replace("1.5,2", "3,2"), ROWS),
    ("tags.pgn", PGN.replace('[White "Ann"]\n', ""), ROWS),
    ("unplayed.pgn", PGN.replace("1-0", "*"), NOTHING),
    ("page.pgn", "<!DOCTYPE html><title>Login</title>\n", "a web page (HTML): save the table"),
    ("cup.trf", "012 Cup\n", "This looks like a file of another kind"),
    ("tabs.trf", TRF, "Export the report again, or use a list of games"),
]
#: Name -> content and note; `formats` has all kinds.
READ: list[tuple[str, str | bytes, str]] = [
    ("alone.csv", "match,player,rank\n1,ann,1\n2,ben,1\n", "2 matches had a single player"),
    ("utf-16.csv", LONG.encode("utf-16-le"), "the file is text in UTF-16"),
    ("contests.zip", CONTEST, "is read as JSON Lines, because its content"),
    ("csv.parquet", LONG, "is read as CSV, because its content is that"),
]


@pytest.mark.parametrize(
    ("command", "status", "files"),
    [
        (["rate", "--system", "elo"], 1, UNREAD),
        (["performance"], 1, UNREAD_GAMES),
        (["rate", "--system", "elo"], 0, READ),
    ],
    ids=["histories", "games", "read nevertheless"],
)
def test_the_answer_says_what_to_do(command, status, files, tmp_path, capsys):
    """Where it names `--skip-bad`, that gives ratings, or says what is missing without the rows."""
    for name, content, advice in files:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        assert run([*command, str(path)]) == (2 if advice == FORMAT else status), name
        answer = capsys.readouterr().err
        assert advice in answer, (name, answer)
        if advice == ROWS:
            skipped = run([*command, str(path), "--skip-bad"])
            assert skipped == 0 or ROWS not in capsys.readouterr().err, name
