"""A hundred damaged files of every format, as people have them: cut off, misnamed, mixed up.

Each has the command that somebody would type, and a word on the damage. They are made here, so none
holds anybody's data.
"""
# Fixed columns of reports are easier to check in one piece.
# ruff: noqa: E501

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Iterator
from typing import NamedTuple

import openpyxl
import polars as pl


class Damaged(NamedTuple):
    """A file and what is wrong with it.

    read : whether it can be read nevertheless, with a note
    """

    name: str
    damage: str
    content: str | bytes
    command: str = "rate"
    read: bool = False

    @property
    def data(self) -> bytes:
        return self.content.encode() if isinstance(self.content, str) else self.content


LONG = "match,time,player,rank\n1,2024-01-01,ann,1\n1,2024-01-01,ben,2\n2,2024-01-08,ben,1\n2,2024-01-08,cid,2\n3,2024-01-15,ann,1\n3,2024-01-15,cid,1\n"
GAMES = "white,black,result,date\nann,ben,1-0,2024-01-01\nben,cid,1/2-1/2,2024-01-02\ncid,ann,0-1,2024-01-03\n"
HOME = "date,home_team,away_team,home_score,away_score\n2024-01-01,Oslo,Bergen,2,1\n2024-01-02,Bergen,Tromso,0,0\n2024-01-03,Tromso,Oslo,1,3\n"
ARENA = "model_a,model_b,winner,tstamp\na,b,model_a,1772410690.5\nb,c,tie,1772410790.5\nc,a,tie (bothbad),1772410890.5\n"
PAIRS = "player,opponent,points,games\nann,ben,1.5,2\nben,cid,1,2\ncid,ann,0.5,2\n"
CROSS = "player,1,2,3,points\nann,X,1,=,1.5\nben,0,X,1,1\ncid,=,0,X,0.5\n"
JSONL = '{"match":1,"player":"ann","rank":1}\n{"match":1,"player":"ben","rank":2}\n{"match":2,"player":"ben","rank":1}\n{"match":2,"player":"ann","rank":2}\n'
CONTEST = json.dumps(
    {"name": "r1", "time_seconds": 1_700_000_000, "standings": [["ann", 0, 0], ["ben", 1, 1]]}
)
PGN = """[Event "Cup"]
[Date "2024.05.04"]
[White "Ann"]
[Black "Ben"]
[Result "1-0"]

1. e4 e5 2. Nf3 1-0

[Event "Cup"]
[Date "2024.05.05"]
[White "Ben"]
[Black "Cid"]
[Result "1/2-1/2"]

1. d4 d5 1/2-1/2

"""
TRF = """012 Cup
001    1      Ann                               2100                             1.5    1     2 w 1     3 b =
001    2      Ben                               2000                             1.0    2     1 b 0     3 w 1
001    3      Cid                               1900                             0.5    3     1 w =     2 b 0
"""


def frame() -> pl.DataFrame:
    """Return the long table with types."""
    return pl.read_csv(io.StringIO(LONG))


def parquet(table: pl.DataFrame | None = None) -> bytes:
    file = io.BytesIO()
    (frame() if table is None else table).write_parquet(file)
    return file.getvalue()


def arrow() -> bytes:
    file = io.BytesIO()
    frame().write_ipc(file)
    return file.getvalue()


def workbook(*sheets: str) -> bytes:
    """Return a workbook with these tables, one a sheet; the first line of each is the header."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, text in enumerate(sheets, start=1):
        sheet = book.create_sheet(f"Sheet{number}")
        for line in text.splitlines():
            sheet.append([_cell(one) for one in line.split(",")])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _cell(text: str) -> object:
    return int(text) if text.isdecimal() else text or None


def open_document(text: str) -> bytes:
    """Return an OpenDocument spreadsheet with one table."""
    rows = "".join(
        "<table:table-row>"
        + "".join(
            '<table:table-cell office:value-type="string"><text:p>'
            f"{cell}</text:p></table:table-cell>"
            for cell in line.split(",")
        )
        + "</table:table-row>"
        for line in text.splitlines()
    )
    names = "urn:oasis:names:tc:opendocument:xmlns:"
    content = (
        f'<?xml version="1.0"?><office:document-content xmlns:office="{names}office:1.0" '
        f'xmlns:table="{names}table:1.0" xmlns:text="{names}text:1.0"><office:body>'
        f'<office:spreadsheet><table:table table:name="Games">{rows}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    return zipped(
        mimetype="application/vnd.oasis.opendocument.spreadsheet", **{"content.xml": content}
    )


def zipped(**files: str | bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


def half(content: bytes | str) -> bytes:
    """Return the first half of a file."""
    data = content.encode() if isinstance(content, str) else content
    return data[: len(data) // 2]


def broken(content: bytes) -> bytes:
    """Return a file with some bytes in the middle changed."""
    at = len(content) // 2
    return content[:at] + b"\x07\xff\x00\x13" + content[at + 4 :]


def damaged_files() -> Iterator[Damaged]:
    """Yield the files."""
    yield from _long_tables()
    yield from _tables_of_games()
    yield from _cross_tables_and_pairs()
    yield from _json()
    yield from _compressed_and_binary()
    yield from _chess()
    yield from _workbooks()


def _long_tables() -> Iterator[Damaged]:
    def csv(
        damage: str, text: str | bytes, name: str = "history.csv", *, read: bool = False
    ) -> Damaged:
        content = text.encode() if isinstance(text, str) else text
        return Damaged(name, damage, content, read=read)

    yield csv("empty", "")
    yield csv("blank lines only", "\n\n\n")
    yield csv("a header alone", "match,time,player,rank\n")
    yield csv("no header", LONG.partition("\n")[2])
    yield csv("no player", LONG.replace("player", "colour"))
    yield csv("no result", LONG.replace("rank", "shirt"))
    yield csv("two ranks", LONG.replace("time", "rank"))
    yield csv("ranks as words", LONG.replace(",1\n", ",first\n"))
    yield csv("a rank below 0", LONG.replace("ben,2", "ben,-2"))
    yield csv("half a rank", LONG.replace("ben,2", "ben,1.5"))
    yield csv("an empty player", LONG.replace("cid,2", ",2"))
    yield csv("a player twice in a match", LONG.replace("ben,2", "ann,2"))
    yield csv("a cell too many", LONG.replace("cid,2", "cid,2,x"))
    yield csv("a cell too few", LONG.replace("cid,2", "cid"))
    yield csv("an open quotation mark", LONG.replace("cid,2", '"cid,2'))
    yield csv("a quotation mark within a name", LONG.replace("cid,2", '"ci"d,2'))
    yield csv("Latin-1", LONG.replace("cid", "J\u00fcrgen").encode("latin-1"), read=True)
    yield csv("a zero byte", LONG.replace("cid", "c\0id"))
    yield csv("two times in a match", LONG.replace("01,ben", "02,ben", 1))
    yield csv("a missing time", LONG.replace("2024-01-08,cid", ",cid"))
    yield csv("day and month mixed up", LONG.replace("2024-01-", "01/02/20"))
    yield csv("a day that does not exist", LONG.replace("2024-01-08", "2024-02-31"))
    yield csv("times as words", LONG.replace("2024-01-01", "last May"))
    yield csv("milliseconds", LONG.replace("2024-01-01", "1704067200000"))
    yield csv("all matches of one", "match,player,rank\n1,ann,1\n2,ben,1\n", read=True)
    yield csv("rows of a match apart, no times", "match,player,rank\n1,a,1\n2,b,1\n1,b,2\n2,a,2\n")
    yield csv("a page of HTML", "<html><body>404 Not Found</body></html>\n")
    yield csv("a question of the spreadsheet", "sep=;\n")
    yield csv(
        "a weight of zero",
        LONG.replace("rank\n", "rank,weight\n").replace(",1\n", ",1,0\n").replace(",2\n", ",2,0\n"),
    )
    yield csv(
        "text for numbers",
        LONG.replace("rank\n", "rank,weight\n")
        .replace(",1\n", ",1,two\n")
        .replace(",2\n", ",2,two\n"),
    )
    yield csv(
        "a winner who did not play",
        LONG.replace("rank", "winner").replace(",1\n", ",zed\n").replace(",2\n", ",zed\n"),
    )
    yield csv("prose", "The quick brown fox\njumps over the lazy dog\n")
    yield csv("a table of tabs called csv", LONG.replace(",", "\t"), read=True)
    yield csv("a file without a suffix", LONG, "history", read=True)
    yield csv("a suffix of another program", LONG, "history.dat", read=True)
    yield csv("UTF-16 without a mark", LONG.encode("utf-16-le"), read=True)


def _tables_of_games() -> Iterator[Damaged]:
    yield Damaged("games.csv", "results that are none", GAMES.replace("1-0", "won by Ann"))
    yield Damaged("games.csv", "a score as result", GAMES.replace("1-0", "3-2"))
    yield Damaged("games.csv", "a player against himself", GAMES.replace("ann,ben", "ann,ann"))
    yield Damaged("games.csv", "an empty opponent", GAMES.replace("ann,ben", "ann,"))
    yield Damaged(
        "games.csv",
        "no game played",
        GAMES.replace("1-0", "*").replace("0-1", "*").replace("1/2-1/2", "*"),
    )
    yield Damaged("games.csv", "dates mixed with words", GAMES.replace("2024-01-02", "soon"))
    yield Damaged(
        "games.csv", "a result as a date of a spreadsheet", GAMES.replace("1/2-1/2", "2024-02-01")
    )
    yield Damaged("games.csv", "no black", GAMES.replace("black", "shirt"))
    yield Damaged("games.csv", "no result", GAMES.replace("result", "weather"), "performance")
    yield Damaged("games.csv", "results cut off", GAMES.replace(",1-0", ""), "performance")
    yield Damaged("games.csv", "a result that is none", GAMES.replace("0-1", "0-2"), "performance")
    yield Damaged("home.csv", "one score missing", HOME.replace(",2,1", ",2,"))
    yield Damaged("home.csv", "scores as words", HOME.replace(",2,1", ",two,one"))
    yield Damaged("home.csv", "no scores at all", HOME.replace("_score", "_shirt"))
    yield Damaged(
        "home.csv",
        "nothing played yet",
        HOME.replace(",2,1", ",,").replace(",0,0", ",,").replace(",1,3", ",,"),
    )
    yield Damaged(
        "arena.csv", "a winner of another battle", ARENA.replace("model_a,177", "gpt,177")
    )
    yield Damaged("arena.csv", "no winner", ARENA.replace("winner", "judge"))
    yield Damaged("arena.csv", "an empty winner", ARENA.replace("model_a,177", ",177"))
    yield Damaged("arena.csv", "times cut off", ARENA.replace("1772410690.5", "17724.5"))
    yield Damaged(
        "arena.csv", "a model against itself", ARENA.replace("a,b,", "a,a,"), "leaderboard"
    )


def _cross_tables_and_pairs() -> Iterator[Damaged]:
    yield Damaged(
        "cross.csv", "two sides that differ", CROSS.replace("ben,0", "ben,1"), "performance"
    )
    yield Damaged(
        "cross.csv", "a cell that is no result", CROSS.replace("ann,X,1", "ann,X,7"), "performance"
    )
    yield Damaged(
        "cross.csv", "a game on the diagonal", CROSS.replace("ann,X", "ann,1"), "performance"
    )
    yield Damaged("cross.csv", "a player twice", CROSS.replace("cid", "ben"), "performance")
    yield Damaged(
        "cross.csv",
        "a column too many",
        CROSS.replace("3,points", "3,4,points")
        .replace("=,1.5", "=,1,1.5")
        .replace("1,1\n", "1,0,1\n")
        .replace("X,0.5", "X,1,0.5")
        .encode(),
        "performance",
    )
    yield Damaged("cross.csv", "cut off", half(CROSS), "performance")
    yield Damaged(
        "pairs.csv", "more points than games", PAIRS.replace("1.5,2", "3,2"), "performance"
    )
    yield Damaged("pairs.csv", "points below 0", PAIRS.replace("1.5,2", "-1,2"), "performance")
    yield Damaged("pairs.csv", "no games", PAIRS.replace(",2\n", ",0\n"), "performance")
    yield Damaged(
        "pairs.csv", "a player against himself", PAIRS.replace("ann,ben", "ann,ann"), "performance"
    )
    yield Damaged("pairs.csv", "no points", PAIRS.replace("points", "shirt"), "performance")


def _json() -> Iterator[Damaged]:
    yield Damaged("history.jsonl", "the last line cut off", JSONL.encode()[:-12])
    yield Damaged("history.jsonl", "a line that is no object", (JSONL + "[1, 2]\n"))
    yield Damaged("history.jsonl", "no JSON", b"match: 1\n")
    yield Damaged("history.jsonl", "empty", b"")
    yield Damaged(
        "history.jsonl", "a rank of text", JSONL.replace('"rank":2', '"rank":"two"').encode()
    )
    yield Damaged("contest.json", "cut off", half(CONTEST))
    yield Damaged("contest.json", "another kind of object", b'{"name": "x", "matches": []}')
    yield Damaged("contest.json", "a list of numbers", b"[1, 2, 3]")
    yield Damaged(
        "contest.json",
        "standings that are text",
        CONTEST.replace('[["ann", 0, 0], ["ben", 1, 1]]', '"ann"').encode(),
    )
    yield Damaged(
        "contest.json", "ranks swapped", CONTEST.replace('"ann", 0, 0', '"ann", 3, 0').encode()
    )
    yield Damaged(
        "contest.json",
        "an error of the platform",
        b'{"status": "FAILED", "comment": "contestId: Contest not found"}',
    )
    yield Damaged(
        "contest.json", "empty standings", CONTEST.replace('[["ann", 0, 0], ["ben", 1, 1]]', "[]")
    )
    yield Damaged("contests.zip", "an archive without contests", zipped(**{"readme.txt": "hello"}))
    yield Damaged("contests.zip", "an archive cut off", half(zipped(**{"a.json": CONTEST})))
    yield Damaged("contests.zip", "no archive", CONTEST, read=True)


def _compressed_and_binary() -> Iterator[Damaged]:
    packed = gzip.compress(LONG.encode())
    yield Damaged("history.csv.gz", "cut off", half(packed))
    yield Damaged("history.csv.gz", "changed bytes", broken(packed))
    yield Damaged("history.csv.gz", "not compressed", LONG, read=True)
    yield Damaged("history.csv.gz", "an archive", zipped(**{"history.csv": LONG}), read=True)
    yield Damaged("history.csv", "compressed", packed, read=True)
    yield Damaged("history.csv", "a Parquet file", parquet(), read=True)
    yield Damaged("history.parquet", "cut off", half(parquet()))
    yield Damaged("history.parquet", "a CSV file", LONG, read=True)
    yield Damaged("history.parquet", "empty", b"")
    yield Damaged("history.parquet", "changed bytes", broken(parquet()))
    yield Damaged("history.parquet", "no rows", parquet(frame().head(0)))
    yield Damaged(
        "history.parquet", "ranks of text", parquet(frame().with_columns(rank=pl.lit("x")))
    )
    yield Damaged("history.arrow", "cut off", half(arrow()))
    yield Damaged("history.arrow", "a CSV file", LONG, read=True)


def _chess() -> Iterator[Damaged]:
    def pgn(
        damage: str, text: str | bytes, name: str = "games.pgn", *, read: bool = False
    ) -> Damaged:
        content = text.encode() if isinstance(text, str) else text
        return Damaged(name, damage, content, "performance", read)

    def trf(damage: str, text: str) -> Damaged:
        return Damaged("report.trf", damage, text.encode(), "performance")

    yield pgn("empty", "")
    yield pgn("moves without tags", "1. e4 e5 2. Nf3 Nc6 1-0\n")
    yield pgn("no player", PGN.replace('[White "Ann"]\n', ""))
    yield pgn("a result that is none", PGN.replace('"1-0"', '"2-0"').replace(" 1-0", " 2-0"))
    yield pgn("tag and moves disagree", PGN.replace('[Result "1-0"]', '[Result "0-1"]'))
    yield pgn("an open tag", PGN.replace('[Black "Ben"]', '[Black "Ben'))
    yield pgn("an open comment", PGN.replace("1. e4", "1. e4 {good"))
    yield pgn("no result at all", PGN.replace("1-0", "*").replace("1/2-1/2", "*"))
    yield pgn("compressed and cut off", half(gzip.compress(PGN.encode())), "games.pgn.gz")
    yield pgn("an archive without games", zipped(**{"readme.txt": "x"}), "games.zip")
    yield pgn("a page of HTML", "<!DOCTYPE html><title>Login</title>\n")
    yield trf("empty", "")
    yield trf("no player", "012 Cup\n")
    yield trf("columns of tabs", TRF.replace("    ", "\t"))
    yield trf("a shifted line", TRF.replace("    2 w 1", "   2 w 1 "))
    yield trf("results that disagree", TRF.replace("1 b 0", "1 b 1"))
    yield trf("an opponent who is not there", TRF.replace("2 w 1", "9 w 1"))
    yield trf("a colour twice", TRF.replace("1 b 0", "1 w 0"))
    yield trf("two with one number", TRF.replace("001    3", "001    2"))


def _workbooks() -> Iterator[Damaged]:
    book = workbook(LONG)
    yield Damaged("book.xlsx", "cut off", half(book))
    yield Damaged("book.xlsx", "changed bytes", broken(book))
    yield Damaged("book.xlsx", "a CSV file", LONG, read=True)
    yield Damaged("book.xlsx", "empty", b"")
    yield Damaged("book.xlsx", "an empty sheet", workbook(""))
    yield Damaged("book.xlsx", "a sheet of notes", workbook("Dear all,\nresults follow\n"))
    yield Damaged("book.xlsx", "two sheets with tables", workbook(LONG, GAMES))
    yield Damaged("book.xlsx", "a rank of text", workbook(LONG.replace("ben,2", "ben,x")))
    yield Damaged("book.ods", "cut off", half(open_document(LONG)))
    yield Damaged("book.ods", "no spreadsheet", zipped(mimetype="x", **{"content.xml": "<a/>"}))
    yield Damaged("book.ods", "a rank of text", open_document(LONG.replace("ben,2", "ben,x")))
    yield Damaged("book.xls", "a page of HTML", b"<html><table><tr><td>1</td></tr></table></html>")
