"""Tables in memory, Parquet and Arrow files, and workbooks."""

from __future__ import annotations

import base64
import datetime as dt
import io
import sys
import zlib

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from equipoise.errors import EquipoiseError, InvalidParameterError
from equipoise.formats import read_history, scan_history
from equipoise.formats.frames import HAS_TABLE, KNOWN_SHEET, ONE_SHEET, READABLE
from equipoise.formats.games import read_games
from formats.comparing import assert_same_history, told
from formats.test_opening import FRAME
from formats.test_pgn_files import zipped

TABLE = {
    "match": [1, 1, 2, 2],
    "player": ["b", "a", "c", "a"],
    "rank": [0, 1, 0, 0],
    "kills": [3.0, None, 4.5, 1.0],
    "side": ["x", None, "y", "x"],
    "home": [True, False, True, False],
}


def frames():
    """Return the same table in every form in memory."""
    frame = pl.DataFrame(TABLE)
    return {
        "polars": frame,
        "lazy": frame.lazy(),
        "categorical": frame.with_columns(pl.col("player", "side").cast(pl.Categorical)),
        "narrow": frame.with_columns(pl.col("match", "rank").cast(pl.Int16)),
        "float ids": frame.with_columns(pl.col("match", "rank").cast(pl.Float32)),
        "pandas": pd.DataFrame(TABLE),
        "pandas objects": pd.DataFrame(TABLE, dtype=object),
        "pandas types": pd.DataFrame(TABLE).convert_dtypes(),
        "pandas categories": pd.DataFrame(TABLE).astype({"player": "category"}),
        "arrow": pa.table(TABLE),
        "arrow dictionary": pa.table(
            TABLE | {"player": pa.array(TABLE["player"]).dictionary_encode()}
        ),
        "record batch": pa.RecordBatch.from_pydict(TABLE),
        "lists": TABLE,
        "arrays": {name: np.array(column) for name, column in TABLE.items()}
        | {"kills": np.array([3.0, np.nan, 4.5, 1.0])},
        "series": {name: pl.Series(column) for name, column in TABLE.items()},
    }


@pytest.mark.parametrize("kind", list(frames()))
def test_every_form_in_memory_gives_the_same_history(kind):
    expected = read_history(TABLE, statistics=["kills"])
    assert_same_history(read_history(frames()[kind], statistics=["kills"]), expected)


@pytest.mark.parametrize("kind", ["arrays", "pandas", "polars of NumPy"])
def test_a_history_does_not_share_memory_with_its_source(kind):
    """Who changes the source afterwards does not change the history, nor the other way."""
    arrays = {
        "match": np.array([1, 1]),
        "player": np.array([0, 1]),
        "rank": np.array([0, 1]),
        "time": np.array([5, 5]),
        "share": np.array([1.0, 0.5]),
        "kills": np.array([1.0, 2.0]),
        "side": np.array([1.0, 2.0]),
    }
    source = arrays
    if kind == "pandas":
        source = pd.DataFrame(arrays, copy=False)
    elif kind == "polars of NumPy":
        source = pl.DataFrame({name: pl.Series(array) for name, array in arrays.items()})
    history = read_history(source, statistics=["kills"])
    for array in arrays.values():
        array[:] = 7
    assert history.player.tolist() == [0, 1]
    assert history.share.tolist() == [1.0, 0.5]
    assert history.statistics["kills"].tolist() == [1.0, 2.0]
    assert history.attributes["side"].tolist() == [1.0, 2.0]
    assert history.times().tolist() == [5]


@pytest.mark.parametrize(
    ("column", "rule"),
    [
        ([1.5], "must be text or a whole number"),
        ([[1]], "must be text or a whole number"),
        ([None], "must not be empty"),
        ([float("nan")], "must not be empty"),
        (["  "], "must not be empty"),
    ],
)
def test_ids_are_text_or_whole_numbers(column, rule):
    for field in ("match", "player"):
        table = pl.DataFrame({"match": [1], "player": [1], "rank": [0]} | {field: column})
        (problem,) = scan_history(table).problems
        assert (problem.line, problem.field, problem.rule) == (1, field, rule)


def test_problems_of_tables_name_their_column_or_row(tmp_path):
    problems = scan_history({"match": [1, 1], "player": [1], "rank": [1, 2, 3]}).problems
    rule = "must have as many values as 'match': 2"
    assert told(problems) == [(None, "player", rule, "1"), (None, "rank", rule, "3")]
    frame = pd.DataFrame([[1, 2, 3, 4]], columns=["match", "player", "rank", "rank"])
    for source in (frame, pa.Table.from_arrays([pa.array([1])] * 2, names=["rank", "rank"])):
        (problem,) = scan_history(source).problems
        assert (problem.field, problem.got) == ("rank", "2 columns")
    (problem,) = scan_history(pl.LazyFrame({"a": [1]}).select("b")).problems
    assert problem.rule == "must be a readable table"
    path = tmp_path / "t.parquet"
    pl.DataFrame({"match": [1, 1], "player": [1, 2], "rank": [0, -1]}).write_parquet(path)
    assert scan_history(path).problems[0].line == 2


@pytest.mark.parametrize(
    "source", [5, None, pd.Series([1]), {"match": "abc"}, {1: [1]}, {"match": np.zeros((2, 2))}]
)
def test_what_is_no_table_is_wrong_usage(source):
    with pytest.raises(InvalidParameterError):
        scan_history(source)


def test_binary_files_that_are_cut_off_or_something_else_are_told(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame(TABLE).write_parquet(path)
    content = path.read_bytes()
    for bad, rule in (
        (content[:-10], "must be a complete Parquet file"),
        (content[:100], "must be a complete Parquet file"),
        (b"hello\n", "must be a Parquet file"),
        (b"", "must be a Parquet file"),
        (b"PAR1" + b"\1" * 40 + b"PAR1", "must be a readable Parquet file"),
    ):
        path.write_bytes(bad)
        (problem,) = scan_history(path).problems
        assert (problem.file, problem.rule) == (str(path), rule)
    arrow = tmp_path / "t.arrow"
    pl.DataFrame(TABLE).write_ipc(arrow)
    for bad in (arrow.read_bytes()[:-30], b"hello\n", b""):
        arrow.write_bytes(bad)
        (problem,) = scan_history(arrow).problems
        assert problem.rule == "must be a readable Arrow file"


def test_large_numbers_mixed_ids_and_odd_names_of_columns_are_kept():
    """In columns that are kept, as in ids, no digit is lost and nothing fails."""
    large = 2**63 + 5
    for values in ([large, 1], [10**30, 1]):
        history = read_history(TABLE | {"code": [*values, 2, None]})
        assert history.attributes["code"].tolist() == [*map(str, values), "2", None]
    ids = pl.Series([2**64 - 1], dtype=pl.UInt64)
    assert read_history({"match": [1], "player": ids, "rank": [0]}).player_ids[0] == str(2**64 - 1)
    history = read_history({"match": [1, "x"], "player": [1, 2.0], "rank": [0, 0]})
    assert history.match_ids.tolist() == ["1", "x"]
    frame = pd.DataFrame({"match": [1, "x"], "player": ["a", 3], "rank": [0, 0]})
    assert read_history(frame).player_ids.tolist() == ["3", "a"]
    more = {"*": [7, 8, 9, 1], "^m.*$": [5, 6, 7, 8], "": [0] * 4}
    assert set(read_history(pl.DataFrame(TABLE | more)).attributes) == {*TABLE, *more} - {
        *("match", "player", "rank", "")
    }


# --- workbooks ---


#: Hints are checked as they are typed on the command line.
pytestmark = pytest.mark.usefixtures("options_in_messages")

HEAD = ["match", "time", "player", "rank", "weight"]
ROWS = [list(row) for row in FRAME.select(HEAD).rows()]


def workbook(**sheets) -> openpyxl.Workbook:
    """Return a workbook of sheets of rows."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    return book


def saved(book: openpyxl.Workbook) -> bytes:
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def bytes_of(**sheets) -> bytes:
    return saved(workbook(**sheets))


def ods(rows: str) -> bytes:
    """Return a spreadsheet with the markup of its rows."""
    names = "".join(
        f' xmlns:{one}="urn:oasis:names:tc:opendocument:xmlns:{one}:1.0"'
        for one in ("office", "table", "text")
    )
    content = (
        f'<office:document-content{names} office:version="1.2"><office:body><office:spreadsheet>'
        f'<table:table table:name="one">{rows}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        "</manifest:manifest>"
    )
    return zipped({"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": manifest})


def ods_row(*values: object) -> str:
    cells = "".join(
        f'<table:table-cell office:value-type="float" office:value="{one}"/>'
        if isinstance(one, int | float)
        else f'<table:table-cell office:value-type="string"><text:p>{one}</text:p>'
        "</table:table-cell>"
        for one in values
    )
    return f"<table:table-row>{cells}</table:table-row>"


def problem_of(data: bytes, sheet: str | int | None = None):
    (problem,) = scan_history(data, sheet=sheet, time_format="s").problems
    return problem


def test_workbooks_new_old_and_open_documents_are_histories(tmp_path):
    expected = read_history(FRAME, time_format="s")
    data = bytes_of(only=[HEAD, *ROWS])
    for name in ("t.xlsx", "t.xlsm", "t.ods", "t"):
        (tmp_path / name).write_bytes(data)
        assert_same_history(read_history(tmp_path / name, time_format="s"), expected)
    assert_same_history(read_history(data, time_format="s"), expected)
    assert_same_history(read_history(data, format="excel", time_format="s"), expected)
    assert_same_history(read_history(zipped({"t.xlsx": data}), time_format="s"), expected)
    data = zlib.decompress(base64.b85decode(OLD))
    history = read_history(data, columns={"time": "date"})
    assert history.player_ids.tolist() == ["ann", "ben"]
    assert history.match_ids.tolist() == [1]
    assert str(history) == "<History: 1 match of 2 players, 2024-05-04>"
    data = ods("".join(ods_row(*row) for row in [HEAD, *ROWS]))
    assert_same_history(read_history(data, time_format="s"), read_history(FRAME, time_format="s"))
    rows = "".join(ods_row(*row) for row in [HEAD, *ROWS]).replace(
        "</table:table-row>",
        '<table:table-cell table:number-columns-repeated="16379"/></table:table-row>',
    )
    rows += (
        '<table:table-row table:number-rows-repeated="1048570"><table:table-cell '
        'table:number-columns-repeated="16384"/></table:table-row>'
    )
    assert read_history(ods(rows), time_format="s").matches == 2


#: An .xls of two rows below match, player, rank and date, as the library xlwt writes it.
OLD = (
    r"c-rk)O=uHA6#izDG(Wcasj1KkB^0b$+k^DtrCpV3K}e}y{6VmrW<g2amL-"
    r">Z&}z+55IiYfD)r!{>ct;a(1YMXsOUiughY>?1O*Rm);DiAn$!plXwfp?GH>3znfK=H%)FV|eYKb<&fV=OVFd=^L)i"
    r"(VsY)g&g)4<PsNQiTTggL|9EJZ1;Sfz^Qvi=zUIyhH%K0uq!yW%KqQD1A$1#PGNy|*FA@;HlhLAoC5EZyik|^5Qt5&"
    r"AtOgA#U%`G1@-OZ9qOb4iKQ5?gfKGL(xTg6ATF0PA0+P%*@?^v=EZFnJ9@wv;wZ5zNI`;;-"
    r"UUMf2M&6o$x^ss4}wk*eR6A|Djp)Z~88yYGiNvmKUU!4^2r4sH>Q%b(JasiTmtCa_TBM;Fe){}?p$ggOAU<S?@M^yn"
    r"EaKJBXe4r3tLO*W-G6jIsMt=Mx@lzAVv}sc_+puz!WsSV)0}RU|nlY`2JQ;W=iP!8TEgWIZM6-"
    r"x7pWrx)lgCT9KEF<9M)eacnc>sJJ!7^=58>dv)F9<3T>m6wO%H4AV0wYAZf3rNX_6eLynD3GWA@K-n~PlAP5tyU-so"
    r"Ga_-(`&J{^3}S@@`LCw^hLbSAm*R-"
    r"Z!`jbfJc<ui+3(JQW9m3XLEa^dYq@0qs$vNwgaxaYg$9i%ZV%b+79n7So7I^su3^Tx_8`KaXcY>5@N&T0{sC3wtbd%"
    r"?EkSUn-%1lwxjee=e1jqFG(S{*A|jTLvk0-hC(twi{(Tq}cGEAB}Z+Hrp(0tE#H1qB5K1%-"
    r"bXf^VAc?b`2N`uYAB^#1ECQ!1<9B<mK3FiB6Iz7hAqqTI%GL+fV~0-"
    r"|C|tWu})zfj^Z^=>1F4EvF5c>U6MiKu>`RV&8-TnIJVf4LDq|8oD|0h^lR$p"
)


def test_a_sheet_is_named_unless_it_is_the_only_one_with_a_table():
    data = bytes_of(notes=[["only a remark"]], Spring=[HEAD, *ROWS], Autumn=[HEAD, *ROWS[:3]])
    problem = problem_of(data)
    assert problem.rule == ONE_SHEET
    assert problem.got == "'Spring', 'Autumn'; for example --sheet Spring"
    for sheet, matches in (("Autumn", 1), ("Spring", 2), (3, 1), ("2", 2)):
        assert read_history(data, sheet=sheet, time_format="s").matches == matches
    assert problem_of(data, "Winter").rule == KNOWN_SHEET
    assert problem_of(data, 4).rule == KNOWN_SHEET
    assert problem_of(data, "notes").rule == HAS_TABLE
    reading = scan_history(bytes_of(a=[], b=[HEAD, *ROWS], c=[["x"]]), time_format="s")
    assert reading.history.matches == 2
    assert any("sheet 'b'" in note for note in reading.notes)
    book = workbook(a=[HEAD, *ROWS[:3]], b=[HEAD, *ROWS])
    book["b"].sheet_state = "hidden"
    assert read_history(saved(book), time_format="s").matches == 1
    assert read_history(saved(book), sheet="b", time_format="s").matches == 2
    for sheet in ("", 0, -1, True):
        with pytest.raises(InvalidParameterError, match="sheet"):
            read_history(b"x", sheet=sheet)
    with pytest.raises(InvalidParameterError, match="must be left out"):
        read_history(b"match,player,rank\n1,a,1\n1,b,2\n", sheet="a")


def test_headers_below_titles_merged_cells_dates_and_formulas_are_understood():
    rows = [["The season of 2024"], [], ["as of", dt.date(2024, 5, 4)], [None, *HEAD]]
    rows += [row for one in ROWS for row in ([None, *one], [])]
    reading = scan_history(bytes_of(a=rows), time_format="s")
    assert_same_history(reading.history, read_history(FRAME, time_format="s"))
    assert any("the header is row 4" in note for note in reading.notes)
    rows[6][4] = "first"
    problem = problem_of(bytes_of(a=rows))
    assert (problem.line, problem.field) == (7, "rank")
    book = workbook(a=[HEAD, *ROWS])
    for cells in ("A2:A4", "B2:B4", "A5:A6"):
        book["a"].merge_cells(cells)
    assert_same_history(
        read_history(saved(book), time_format="s"), read_history(FRAME, time_format="s")
    )
    rows = [["white", "black", "result", "date"]]
    rows += [["a", "b", "1-0", dt.date(2024, 5, 4)], ["b", "a", "1-0", dt.date(2024, 5, 5)]]
    history = read_history(bytes_of(a=rows))
    assert history.time_kind == "date"
    rows[2][3] = dt.datetime(2024, 5, 4, 18, 30)
    history = read_history(bytes_of(a=rows))
    assert (history.time[1] - history.time[0]) / 1e6 == 18.5 * 3600
    rows = [HEAD[:1] + HEAD[2:4], ["1", "007", "1"], [1, 8, 2]]
    history = read_history(bytes_of(a=rows))
    assert history.match_ids.tolist() == [1]
    assert history.player_ids.tolist() == ["007", "8"]
    data = bytes_of(a=[["match", "player", "rank", "x"], [1, "a", 1, "=1+1"], [1, "b", 2, 3]])
    reading = scan_history(data)
    assert reading.history.attributes["x"].tolist() == [None, 3]
    assert any("formulas without a stored result" in note for note in reading.notes)


def test_damaged_workbooks_and_other_documents_are_problems():
    whole = bytes_of(a=[HEAD, *ROWS])
    for at in range(4, len(whole), 97):
        for data in (whole[:at], whole[:at] + b"\0\xff" + whole[at + 2 :]):
            reading = scan_history(data, format="excel", time_format="s")
            assert reading.history is not None or reading.problems
    old = problem_of(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    assert old.rule == READABLE
    assert problem_of(bytes_of(a=[])).rule == HAS_TABLE
    word = zipped({"[Content_Types].xml": "", "word/document.xml": ""})
    assert "Word" in problem_of(word).got
    binary = zipped({"[Content_Types].xml": "", "xl/workbook.bin": ""})
    assert "save it as .xlsx" in problem_of(binary).got


def test_without_the_library_the_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(EquipoiseError, match=r"pip install '\.\[excel\]'"):
        read_history(bytes_of(a=[HEAD, *ROWS]))


def test_a_cross_table_below_a_title_has_the_numbers_of_players_in_its_header():
    rows = [
        ["Final table"],
        [],
        ["Pl.", "Name", 1, 2, 3, "Pts"],
        [1, "Ann", "*", 1, 0.5, 1.5],
        [2, "Ben", 0, "*", 1, 1],
        [3, "Cleo", 0.5, 0, "*", 0.5],
    ]
    games = read_games(io.BytesIO(bytes_of(a=rows)))
    assert games.rows == 3
    assert games.player_ids.tolist() == ["Ann", "Ben", "Cleo"]


def test_a_header_with_numbers_stays_the_header_above_rows_of_text():
    rows = [["match", "player", "rank", 2024], ["1", "a", "1", "x"], ["1", "b", "2", "2"]]
    assert read_history(bytes_of(a=rows)).player_ids.tolist() == ["a", "b"]


@pytest.mark.parametrize("games", [True, False])
def test_a_format_of_times_has_no_effect_on_stored_dates(games):
    """A spreadsheet shows 03/05/2024 and stores a date, which no format can change."""
    days = [dt.date(2024, 5, 3), dt.datetime(2024, 6, 4, 20)]
    head = ["Date", "White", "Black", "Result"] if games else ["Date", "Game", "Player", "Rank"]
    rows = [["a", "b", "1-0"], ["b", "a", "1-0"]]
    table = [[day, *row] for day, row in zip(days, rows, strict=True)]
    if not games:
        table = [[days[at], at, name, rank] for at in (0, 1) for rank, name in ((1, "a"), (2, "b"))]
    data = bytes_of(one=[head, *table])
    reading = scan_history(data, time_format="%d/%m/%Y")
    assert "Date has dates, not text, so time_format (--time-format) has no effect" in reading.notes
    assert_same_history(reading.history, read_history(data))
    text = bytes_of(one=[head, *([f"{day:%d/%m/%Y}", *row] for day, *row in table)])
    as_text = read_history(text, time_format="%d/%m/%Y")
    assert as_text.time_kind == "date"
    # Where some cells are text, the others are read as if they were text, too.
    mixed = bytes_of(
        one=[head, *([f"{day:%d/%m/%Y}", *row] for day, *row in table[:-1]), table[-1]]
    )
    assert_same_history(read_history(mixed, time_format="%d/%m/%Y"), as_text)
