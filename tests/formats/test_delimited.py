"""CSV and TSV: types that are recognised, and files that are not as they should be."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drawing import examples
from equipoise.analysis.performance.computation import PerformanceRequest, rate_performance
from equipoise.errors import EquipoiseError, InvalidDataError, InvalidParameterError
from equipoise.formats import delimited, read_history, scan_history
from equipoise.formats.delimited import UNCLOSED, read_delimited
from equipoise.formats.json_files import read_json_rows
from equipoise.formats.table import MOST_COLUMNS
from equipoise.formats.values import number_ids, text_objects, whole_numbers
from formats.comparing import of_text, results_of, told

GOOD = "match,player,rank\n1,a,0\n1,b,1\n"
ROWS = [["Match", "Player", "Place"], ["1", "ann", "1"], ["1", "bob", "2"], ["2", "ann", "9"]]
RAGGED = "".join(",".join(row) + ("," * at) + "\n" for at, row in enumerate(ROWS))


def text_of(separator):
    return "".join(separator.join(row) + "\n" for row in ROWS)


@pytest.mark.parametrize(
    ("ids", "kept"),
    [
        (["1", "2", "10"], [1, 2, 10]),
        (["0", "-5", "10"], [-5, 0, 10]),
        (["01", "2", "10"], ["01", "10", "2"]),
        (["+1", "2", "10"], ["+1", "10", "2"]),
        (["1", "2.0", "x"], ["1", "2.0", "x"]),
        (["-0", "2", "10"], ["-0", "10", "2"]),
        (["9" * 19, "2", "10"], ["10", "2", "9" * 19]),
        (["1234567890123456789", "2"], [2, 1234567890123456789]),
        (["é", " b", "a\u200b"], [" b", "a\u200b", "é"]),
    ],
)
def test_ids_are_numbers_only_if_all_are_plain_whole_numbers(ids, kept):
    rows = "".join(f"1,{one},0\n" for one in ids)
    history = of_text(f"match,player,rank\n{rows}").history
    assert history.player_ids.tolist() == kept


@pytest.mark.parametrize(
    ("values", "dtype", "kept"),
    [
        (["1", "2"], np.int64, [1, 2]),
        (["1.5", "2"], np.float64, [1.5, 2.0]),
        (["true", "false"], np.bool_, [True, False]),
        (["1", ""], object, [1, None]),
        (["007", "1"], object, ["007", "1"]),
        (["true", "x"], object, ["true", "x"]),
        (["", ""], object, [None, None]),
    ],
)
def test_other_columns_are_kept_in_the_plainest_type(values, dtype, kept):
    text = f"match,player,rank,x\n1,a,0,{values[0]}\n1,b,1,{values[1]}\n"
    column = of_text(text).history.attributes["x"]
    assert column.dtype == dtype
    assert column.tolist() == kept


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\r"),
        GOOD.rstrip("\n"),
        "\n\n" + GOOD + "\n\n",
        GOOD.replace("1,b", "\n1,b"),
        GOOD + ",,\n,,\n",
        'match,player,rank\n"1","a","0"\n1,b,"1"\n',
        "match , player, rank \n1,a,0\n1,b,1\n",
        ",match,player,rank\n0,1,a,0\n1,1,b,1\n",
    ],
)
def test_harmless_variety_is_read_alike(content):
    """Byte order marks, line ends, blank lines, quotes, an unnamed index."""
    history = of_text(content).history
    assert results_of(history) == "a>b"
    assert history.match_ids.tolist() == [1]
    assert list(history.attributes) == []


HEADER_BELOW = "the header is line {}; what is above it is left out"
NOT_A_COMMA = "columns are separated by {!r}, not by a comma"


@pytest.mark.parametrize(
    ("content", "format", "notes"),
    [
        *((text_of(mark), "csv", [NOT_A_COMMA.format(mark)]) for mark in ";\t|"),
        (text_of(","), "tsv", ["columns are separated by ',', not by a tab"]),
        (text_of(";"), "tsv", ["columns are separated by ';', not by a tab"]),
        *(
            (
                line.format(mark) + text_of(mark),
                "csv",
                [f"columns are separated by {mark!r}, as line 1 says"],
            )
            for mark in ";|\t"
            for line in ("sep={}\n", "SEP={}\r\n", '"sep={}"\n', "\n\nsep={}\n\n")
        ),
        ("sep=,\n" + text_of(","), "csv", []),
        *(
            (
                (mark + text_of("\t")).replace("\n", "\r\n").encode(codec),
                "tsv",
                ["the file is text in UTF-16"],
            )
            for codec, mark in (
                ("utf-16", ""),
                ("utf-16-le", ""),
                ("utf-16-be", ""),
                ("utf-16-le", "\ufeff"),
                ("utf-16-be", "\ufeff"),
            )
        ),
        ("Spring League\n" + text_of(","), "csv", [HEADER_BELOW.format(2)]),
        ("Spring League,,\n,,\n" + text_of(","), "csv", [HEADER_BELOW.format(3)]),
        (
            "Spring League\nfrom 2024, all rounds\n\n" + text_of(","),
            "csv",
            [HEADER_BELOW.format(4)],
        ),
        ("\nSpring League\n" + text_of(","), "csv", [HEADER_BELOW.format(3)]),
        (
            "Spring League\n" + text_of(";"),
            "csv",
            [HEADER_BELOW.format(2), NOT_A_COMMA.format(";")],
        ),
        (RAGGED, "csv", ["empty fields beyond the header are left out of 3 rows"]),
    ],
)
def test_a_file_shows_how_it_is_written(content, format, notes):
    reading = of_text(content, format)
    assert results_of(reading.history) == "ann>bob; ann"
    assert reading.history.match_ids.tolist() == [1, 2]
    assert list(reading.notes) == [*notes, "read Match as match, Player as player, Place as rank"]


@pytest.mark.parametrize(
    "text",
    [
        "name,same_as\nann,anna\n",
        "player,rating\nann,1500\n",
        "a,b\n1,2\n",
        "player,ann,bob\nann,X,1\nbob,0,X\n",
        "x\n1\n2\n",
    ],
)
def test_tables_of_other_kinds_are_left_as_they_are(text):
    table = read_delimited(text.encode(), "table.csv", ",")
    assert ",".join(table.frame.columns) == text.partition("\n")[0]
    assert len(table.frame) == text.count("\n") - 1
    assert table.notes == ()


@pytest.mark.parametrize("above", [b"", b"\n", b"\r\n\r\n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_lines_are_those_of_the_file(above, newline):
    """Blank lines and quoted line ends count; the header is line 1 where nothing is above it."""
    rows = ["match,player,rank,note", '1,"a', 'b",0,x', "", '2,c,y,"p""q"', "3,d,-1,"]
    problems = of_text(above + newline.join(rows).encode()).problems
    shift = above.count(b"\n")
    assert [problem.line for problem in problems] == [5 + shift, 6 + shift]


FIELDS, UTF_8 = "must have 3 fields like the header", "must be text in UTF-8"
COLUMN = "must be the name of only one column"
LONG_HEADER = 'match,player,rank,"' + "x" * 200_000 + '"'


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        *(
            (f"{GOOD}{row}\n", [(4, "", FIELDS, f"{count}: ")])
            for row, count in (("1,b", 2), ("1,b,1,9", 4), ("1", 1), ('1,"b,1"', 2))
        ),
        # Lines above the header count, and a row that looks like a header is a row below one.
        *(
            (
                f"{above}match;player;rank\n1;ann;1\n1;bob;x\n",
                [(4, "rank", "must be a whole", "'x'")],
            )
            for above in ("sep=;\n", "Spring League\n")
        ),
        (f"{GOOD}Match,Player,Rank\n", [(4, "rank", "must be a whole", "'Rank'")]),
        # A name of a column is longer than Python's reader takes.
        (f"\n\n{LONG_HEADER}\n1,a,0,x\n", [(3, "", "must have a header of column names", "")]),
        (
            "match,player,rank,rank,x,x,x\n1,a,0,1,2,3,4\n",
            [(1, "rank", COLUMN, "2 columns"), (1, "x", COLUMN, "3 columns")],
        ),
        (f'{GOOD}1,"c"d,1\n', [(4, "", "must be a row with well-formed quotation marks", "")]),
        (f'{GOOD}1,"c,1\n2,d,0\n', [(4, "", UNCLOSED, "a quotation mark that is open at the end")]),
        # Cut off, not a letter of Windows-1252 either, or beside whole characters of UTF-8.
        (b"match,player,rank\n1,a,0\n1,\xc3", [(3, "", UTF_8, "the byte 0xc3")]),
        (b"match,player,rank\n1,a,0\n1,\x81,1\n", [(3, "", UTF_8, "the byte 0x81")]),
        (
            "match,player,rank\n1,José,0\n1,".encode() + b"\xe9,1\n",
            [(3, "", UTF_8, "the byte 0xe9")],
        ),
        (GOOD.encode("utf-16")[:-1], [(None, "", UTF_8, "text in UTF-16 that is damaged: ")]),
        *(
            (blank, [(None, "", "must h", "an empty file")])
            for blank in ("", "\n", "  \n\n", "\ufeff")
        ),
    ],
)
def test_every_problem_has_its_line(content, problems):
    found = told(of_text(content).problems)
    assert [one[:2] for one in found] == [one[:2] for one in problems]
    for (_, _, rule, got), (_, _, expected, start) in zip(found, problems, strict=True):
        assert rule.startswith(expected)
        assert got.startswith(start)


def test_the_name_tells_the_format_or_the_content_or_the_caller(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_bytes(b"SQLite format 3\0")
    (problem,) = scan_history(path).problems
    what = "an SQLite database: export the table as CSV"
    assert (problem.rule, problem.got) == ("must be text in the format csv", what)
    path = tmp_path / "table.data"
    path.write_text("player\n")
    with pytest.raises(InvalidParameterError, match=r"format must be given"):
        scan_history(path)
    path.write_text(GOOD)
    (note,) = scan_history(path).notes
    assert note.endswith("table.data is read as CSV, because its content is that")
    assert read_history(path, format="csv").matches == 1
    path = tmp_path / "t.csv"
    path.write_text(GOOD)

    def refuse(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    (problem,) = scan_history(path).problems
    assert (problem.rule, problem.got) == ("must be a readable file", "Permission denied")


def test_a_gzip_file_must_be_complete(tmp_path):
    """Cut off anywhere, or damaged, or no gzip at all."""
    packed = gzip.compress(GOOD.encode() * 100)
    for cut in (20, len(packed) // 2, len(packed) - 1):
        assert of_text(packed[:cut]).problems[0].rule == "must be a complete gzip file"
    damaged = packed[:-6] + b"\0" + packed[-5:]
    assert of_text(damaged).problems[0].rule == "must be a readable gzip file"
    (problem,) = of_text(GOOD, "csv.gz").problems
    assert (problem.rule, problem.got) == ("must be a gzip file", "text")
    path = tmp_path / "t.csv.gz"
    path.write_text(GOOD)
    assert "is not compressed" in scan_history(path).notes[0]


@pytest.mark.parametrize(
    ("field", "name"),
    [
        (r'"Bo \"X\" Li"', 'Bo "X" Li'),
        (r'"a\\b \"X\""', 'a\\b "X"'),
        ('"C:\\"', "C:\\"),
        ('"Bo ""X"" Li"', 'Bo "X" Li'),
        ('Bo "X" Li', 'Bo "X" Li'),
    ],
)
@pytest.mark.parametrize("more", ["", '"c, d",3\n'])
def test_quotation_marks_are_escaped_in_one_way(field, name, more):
    """A backslash escapes only where the file is not well formed without that."""
    table = read_delimited(f"name,rank\n{field},1\nbob,2\n{more}".encode(), "", ",")
    assert table.broken_rows == ()
    assert table.frame["name"].to_list()[:2] == [name, "bob"]
    assert bool(table.notes) == (r"\"" in field and name != "C:\\")


def test_the_slow_reader_reads_what_the_fast_one_does(monkeypatch):
    text = 'match,player,rank,x\n1,"a\nb",0,\n\n1,"c""d",1,"e,f"\n,,,\n2,é,0,"g h"\n'
    fast = read_delimited(text.encode(), "t", ",")
    monkeypatch.setattr("equipoise.formats.delimited._fast", lambda *_: None)
    slow = read_delimited(text.encode(), "t", ",")
    assert fast.frame.equals(slow.frame)
    rows = np.arange(len(fast.frame))
    assert fast.places(rows) == slow.places(rows) == [("t", 2), ("t", 5), ("t", 7)]


# --- the fast ways give what the plain ones give ------------------------------------------------

NUMERALS = st.text("-+0123456789", min_size=1, max_size=4)
WHOLE = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-1001, 1001)).map(str)
ODD = st.sampled_from(["", " ", "1 ", "1_0", "1.0", "1e3", "\u0661", "9223372036854775808", "0x1"])


@given(texts=st.lists(st.one_of(st.none(), NUMERALS, WHOLE, ODD), max_size=4))
@example(texts=["1"] * 200 + ["01"])
@example(texts=["1"] * 200 + ["x"])
@example(texts=["-9223372036854775808", "9223372036854775807"])
@examples(500)
def test_a_canonical_number_is_one_that_is_written_as_it_was_read(texts):
    def canonical(text: str) -> bool:
        try:
            return str(int(text)) == text and -(2**63) <= int(text) < 2**63
        except ValueError:
            return False

    read = whole_numbers(pl.Series(texts, dtype=pl.String))
    present = [one for one in texts if one is not None]
    assert (read is not None) == all(canonical(one) for one in present)
    if read is not None:
        assert read.to_list() == [None if one is None else int(one) for one in texts]


@pytest.mark.parametrize("alike", [False, True])
@given(texts=st.lists(st.one_of(st.none(), st.text("ab\u00e9", max_size=3)), max_size=30))
@examples(60)
def test_texts_are_numbered_in_their_order(alike, texts):
    """Also where different texts, and absent ones, share a hash."""
    column = pl.Series(texts, dtype=pl.String)
    distinct = sorted({one for one in texts if one is not None})
    with pytest.MonkeyPatch.context() as patch:
        if alike:
            patch.setattr(pl.Series, "hash", lambda self: self.str.len_bytes().fill_null(1))
        rows, ids = number_ids(column)
        objects = text_objects(column)
    assert ids.tolist() == distinct
    assert rows.tolist() == [0 if one is None else distinct.index(one) for one in texts]
    assert objects.tolist() == texts


@given(
    rows=st.lists(st.lists(st.sampled_from(["", "x", "y"]), max_size=4), min_size=1, max_size=5),
    end=st.sampled_from(["", "\n", "\n\n"]),
    newline=st.sampled_from(["\n", "\r\n"]),
)
@example(rows=[["x", ""], ["x"], ["", "x", ""]], end="", newline="\n")
@examples(300)
def test_rows_are_known_to_be_complete_by_their_separators(rows, end, newline):
    """A row with too few fields is reported even if another has too many, by both readers."""
    data = newline.join(["a,b", *(",".join(row) for row in rows)]).encode() + end.encode()
    fast = told_of(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_fast", lambda *_: None)
        assert told_of(data) == fast


def told_of(data):
    """Return rows and broken rows of a table."""
    table = read_delimited(data, "", ",")
    return table.frame.rows(), table.broken_rows


@pytest.mark.parametrize(
    ("field", "rule"),
    [("x" * 2_000_000, "must have fields of at most"), ('"b' + ",1\n2,c" * 400_000, UNCLOSED)],
)
def test_a_field_that_is_far_too_long_is_refused_before_it_is_read(field, rule, monkeypatch):
    """Reading 50 MB of it took 19 seconds and 0.8 GB."""
    monkeypatch.setattr(pl, "read_csv", lambda *_, **__: pytest.fail("it was read"))
    data = f"match,player,rank\n1,a,1\n1,{field},2\n".encode()
    with pytest.raises(InvalidDataError) as caught:
        read_delimited(data, "x.csv", ",")
    (problem,) = caught.value.problems
    assert problem.line == 3
    assert problem.rule.startswith(rule)


def test_long_files_with_quotes_in_short_fields_are_read() -> None:
    """A stray quotation mark in a field is a character, and far from the next one."""
    rows = "".join(f"{match},a,1\n{match},b,2\n" for match in range(150_000))
    for first in ('"0"', '5" pipe', '""'):
        data = f'match,player,rank\nx,{first},1\n{rows}x,"c",2\n'.encode()
        assert len(read_delimited(data, "x.csv", ",").frame) == 300_002


# Tables of many columns are read in linear time, and are refused beyond a bound.


#: Four times as many columns may take this much longer. Quadratic time takes 16 times as long.
_LINEAR = 9.0


def csv_of(columns: int, first: str = "white,black,result") -> bytes:
    """Return a table of two games with further columns."""
    names = ",".join(f"c{one}" for one in range(columns))
    values = ",".join("1" * columns)
    return f"{first},{names}\na,b,1-0,{values}\nb,c,1-0,{values}\n".encode()


def seconds(work: Callable[[], object]) -> float:
    """Return the lesser processor time of two runs."""
    found = []
    for _ in range(2):
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    return min(found)


def read(content: bytes, kind: str) -> None:
    """Read games as the service does; a table of another kind is refused."""
    import io

    try:
        rate_performance(PerformanceRequest(games=io.BytesIO(content), format=kind))
    except EquipoiseError:
        assert kind != "csv"


@pytest.mark.parametrize(
    "kind",
    ["csv", *(pytest.param(k, marks=pytest.mark.slow) for k in ("crosstable", "pairs", "history"))],
)
def test_time_is_linear_in_the_columns(kind: str) -> None:
    few, many = csv_of(2_000), csv_of(8_000)
    read(few, kind)
    assert seconds(lambda: read(many, kind)) < _LINEAR * seconds(lambda: read(few, kind))


def test_columns_without_a_name_are_left_out_in_linear_time() -> None:

    def content(columns: int) -> bytes:
        names = ",".join(f"c{one}" for one in range(columns)) + "," * columns
        return f"{names}\n{'1,' * 2 * columns}1\n".encode()

    few, many = content(2_000), content(8_000)
    time_of_many = seconds(lambda: read_delimited(many, "", ","))
    assert time_of_many < _LINEAR * seconds(lambda: read_delimited(few, "", ","))


def test_more_columns_than_spreadsheets_have_are_refused() -> None:
    for source in (csv_of(MOST_COLUMNS), csv_of(100_000)):
        with pytest.raises(InvalidDataError, match="at most 16,384 columns"):
            read_delimited(source, "games.csv", ",")
    with pytest.raises(InvalidDataError, match="at most 16,384 columns"):
        read_json_rows([{f"c{one}": 1 for one in range(MOST_COLUMNS + 1)}], "games.json")
    assert read_delimited(csv_of(MOST_COLUMNS - 3), "", ",").frame.width == MOST_COLUMNS
    rows = [{"a": 1}] * 20_000 + [{f"c{one}": 1} for one in range(15_000)]
    assert len(json.dumps(rows)) < 500_000
    with pytest.raises(InvalidDataError, match="at most 200,000,000 values"):
        read_json_rows(rows, "games.json")
