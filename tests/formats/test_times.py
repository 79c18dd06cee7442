"""Times in every spelling, and what is refused."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.errors import InvalidParameterError
from equipoise.formats import read_history, scan_history
from equipoise.formats.times import (
    EXCEL,
    HOURS,
    MILLISECONDS,
    TOO_SMALL,
    _parse_any_iso,
    _parse_usual,
    instant,
)
from formats.comparing import assert_same_history, of_text

#: Hints are checked as they are typed on the command line.
pytestmark = pytest.mark.usefixtures("options_in_messages")

ON_ALL_ROWS = "must be on all rows or on none"
COMPACT = (
    "must be a date YYYYMMDD, as on the other rows, or seconds since 1970 with --time-format s"
)
SOME_YEARS = "must be in the years 1 to 9999"
A_WHOLE_NUMBER = "must be a whole number, the format of --time-format"
OF_PATTERN = "must be a time in the format of --time-format, %d/%m/%Y"
SECONDS = "must be whole seconds since 1970, as on the other rows"
ISO = "must be a date or time as in ISO 8601, as on the other rows"
#: The first millisecond after the year 9999.
FAR = pl.Series([10_000 * 366 * 86_400_000]).cast(pl.Datetime("ms"))


def table_of(times):
    """Return a table with one match a time."""
    count = len(times)
    return pl.DataFrame(
        {"match": range(count), "player": [1] * count, "rank": [0] * count, "time": times}
    )


DAY = 86_400 * 10**6
OF_2024 = 1_706_659_200 * 10**6  # 31 January
STAMPS = pl.Series([datetime(1970, 1, 1, 0, 0, 5)])


def at(*when):
    """Return the microseconds since 1970 of a date or a time."""
    return int(np.datetime64(datetime(*when), "us").astype(np.int64))


@pytest.mark.parametrize(
    ("times", "time_format", "kind", "micros"),
    [
        # ISO 8601: zones are converted, a time without one is UTC.
        *(
            ([text], None, "datetime", [DAY])
            for text in (
                *("1970-01-02T00:00:00", "1970-01-02 00:00:00", "1970-01-02T00:00"),
                *("1970-01-02T00:00:00Z", "1970-01-02T00:00:00z", "1970-01-02T02:00:00+02:00"),
                *("1970-01-02T02:00+0200", "1970-01-02 02:00:00 +02", "1970-01-01T18:30:00-05:30"),
            )
        ),
        (["1970-01-02T00:00:00.25"], None, "datetime", [DAY + 250_000]),
        (["1970-01-02T00:00:00,250000Z"], None, "datetime", [DAY + 250_000]),
        (["19700102T000000Z"], None, "datetime", [DAY]),
        (["1969-12-31T23:59:59Z"], None, "datetime", [-(10**6)]),
        (["1872-11-30", "2026-01-01"], None, "date", [at(1872, 11, 30), at(2026, 1, 1)]),
        ([date(1872, 11, 30), date(2026, 1, 1)], None, "date", [at(1872, 11, 30), at(2026, 1, 1)]),
        # Dates among times are midnights.
        (["1970-01-01", "1970-01-01T00:00:01"], None, "datetime", [0, 10**6]),
        # Zones of frames are converted to UTC, units to microseconds.
        *(
            (STAMPS.cast(pl.Datetime(unit)), None, "datetime", [5 * 10**6])
            for unit in ("ms", "us", "ns")
        ),
        (STAMPS.dt.replace_time_zone("Etc/GMT-2"), None, "datetime", [-7_195 * 10**6]),
        *(
            (times, "s", "seconds", [5 * 10**6, 7 * 10**6])
            for times in (
                *([5, 7], [5.0, 7.0], ["5", "7"], ["5.0", "+7"]),
                *(pl.Series([5, 7], dtype=pl.UInt8), pl.Series([5, 7], dtype=pl.Decimal(10, 2))),
            )
        ),
        # YYYYMMDD, as numbers or as text; not seconds in August 1970.
        *(
            (times, None, "date", [OF_2024, at(2024, 2, 29)])
            for times in (
                *([20240131, 20240229], [20240131.0, 20240229.0], ["20240131", "20240229"]),
                pl.Series([20240131, 20240229], dtype=pl.UInt32),
            )
        ),
        # The first second is larger than any date YYYYMMDD and any day of a spreadsheet.
        ([94_694_400, 1_700_000_000], None, "seconds", [94_694_400 * 10**6, 1_700_000_000 * 10**6]),
        # Nothing is asked of the values if a format is given.
        ([20240131], "s", "seconds", [20240131 * 10**6]),
        (["45322"], "s", "seconds", [45322 * 10**6]),
        ([1_700_000_000_123], "ms", "datetime", [1_700_000_000_123_000]),
        (["1700000000123"], "ms", "datetime", [1_700_000_000_123_000]),
        ([5], "ms", "datetime", [5_000]),
        ([1_700_000_000_123_456], "us", "datetime", [1_700_000_000_123_456]),
        ([20240131], "iso", "date", [OF_2024]),
        (["20240131T0000"], "iso", "datetime", [OF_2024]),
        (["2024-W05-3"], "iso", "date", [OF_2024]),
        # Days of a spreadsheet: from 1899-12-30, so that 61 is 1900-03-01; to the millisecond.
        *(
            ([number], "excel", kind, [micros])
            for serial, kind, micros in (
                (45322, "date", OF_2024),
                (61, "date", at(1900, 3, 1)),
                (2_958_465, "date", at(9999, 12, 31)),
                (45322.5, "datetime", OF_2024 + DAY // 2),
                (45322 + 1 / 3, "datetime", OF_2024 + DAY // 3),
                (45322.99999, "datetime", at(2024, 1, 31, 23, 59, 59, 136_000)),
            )
            for number in (serial, repr(serial))
        ),
        # Patterns of strptime, as Python reads them.
        (["03/04/2024"], "%d/%m/%Y", "date", [at(2024, 4, 3)]),
        (["03/04/2024"], "%m/%d/%Y", "date", [at(2024, 3, 4)]),
        (["3/4/2024"], "%d/%m/%Y", "date", [at(2024, 4, 3)]),
        (["03.04.24 18:30"], "%d.%m.%y %H:%M", "datetime", [at(2024, 4, 3, 18, 30)]),
        (["2024-04-03 18:30 +0200"], "%Y-%m-%d %H:%M %z", "datetime", [at(2024, 4, 3, 16, 30)]),
        (
            ["1 Apr 2024 06:30:00.25 PM"],
            "%d %b %Y %I:%M:%S.%f %p",
            "datetime",
            [at(2024, 4, 1, 18, 30, 0, 250_000)],
        ),
        (["2024", "1999"], "%Y", "date", [at(1999, 1, 1), at(2024, 1, 1)]),
        ([2024, 1999], "%Y", "date", [at(1999, 1, 1), at(2024, 1, 1)]),
        ([20240403.0], "%Y%m%d", "date", [at(2024, 4, 3)]),
    ],
)
def test_times_that_are_read(times, time_format, kind, micros):
    history = read_history(table_of(times), time_format=time_format)
    assert (history.time_kind, history.time.tolist()) == (kind, micros)


@pytest.mark.parametrize("time_format", [None, "s"])
def test_seconds_with_fractions_are_read_to_the_microsecond(time_format):
    """No other times have such numbers: days of a spreadsheet are smaller."""
    for times in (["1682351591.1322", "1682351592"], [1_682_351_591.1322, 1_682_351_592.0]):
        history = read_history(table_of(times), time_format=time_format)
        assert history.time.tolist() == [1_682_351_591_132_200, 1_682_351_592_000_000]
        written = io.BytesIO(history.file_table().write_csv().encode())
        assert_same_history(read_history(written, format="csv"), history)


@pytest.mark.parametrize(
    ("times", "time_format", "rule", "problems"),
    [
        ([5, 1_600_000_000_000], "s", MILLISECONDS, {2: "1600000000000"}),
        ([5.0, 1.6e12], "s", MILLISECONDS, {2: "1600000000000.0"}),
        (["5", "1600000000000"], "s", MILLISECONDS, {2: "'1600000000000'"}),
        ([-(10**12), 5], "s", MILLISECONDS, {1: "-1000000000000"}),
        ([5, None], "s", ON_ALL_ROWS, {2: "nothing"}),
        ([5.0, np.nan], "s", ON_ALL_ROWS, {2: "nan"}),
        (["2020-01-01", ""], None, ON_ALL_ROWS, {2: "nothing"}),
        ([date(2020, 1, 1), None], None, ON_ALL_ROWS, {2: "nothing"}),
        # What most rows are is right.
        (["5", "6", "1970-01-01"], "s", SECONDS, {3: "'1970-01-01'"}),
        (["5", "1970-01-02", "1970-01-01"], None, ISO, {1: "'5'"}),
        *(
            ([*others, text], None, "must be ", {3: repr(text)})
            for text in ("soon", "2020-13-01", "2020-02-30T00:00:00", "12:00", "2020-01-01T25:00")
            for others in (["2020-01-01"] * 2, ["2020-01-01T00:00:00Z"] * 2, ["77"] * 2)
        ),
        ([20240131, 20240229, 20240231], None, COMPACT, {3: "20240231"}),
        (["20240131", "20240229", "20240231"], None, COMPACT, {3: "'20240231'"}),
        # Digits of other scripts are a problem, never an error of the library beneath.
        (["0", "\uff11", "2"], None, "0 to 9999", {2: "'\uff11'"}),
        (
            ["2024-01-31 10:00:00", "2024-01-31 10:00:00+\uff10\u0661:00"],
            None,
            "ISO 8601",
            {2: None},
        ),
        # Truth values, lists and fractions.
        ([True, False], None, "must be ", {1: "True", 2: "False"}),
        ([[1], [2]], None, "must be ", {1: None, 2: None}),
        ([1.5, 2.5], None, "must be ", {1: "1.5", 2: "2.5"}),
        (["45322.75", "45323"], None, "must be ", {1: None, 2: None}),
        (["1682351591.5", "x"], None, "must be ", {1: None, 2: None}),
        ([1e12 + 0.5], None, "must be ", {1: "1000000000000.5"}),
        *(
            ([number], time_format, A_WHOLE_NUMBER, {1: repr(number)})
            for number in (1.5, "1.5", "2024-01-31")
            for time_format in ("s", "ms", "us")
        ),
        # The years 1 to 9999 can be written as in ISO 8601, and so read back.
        ([-62_135_596_801], "s", SOME_YEARS, {1: "-62135596801"}),
        ([253_402_300_800_000], "ms", SOME_YEARS, {1: "253402300800000"}),
        ([-(2**62)], "us", SOME_YEARS, {1: str(-(2**62))}),
        (FAR, None, SOME_YEARS, {1: None}),
        # Before 61 stands the 29th of February 1900, which never was.
        *(([day, 45322], "excel", EXCEL, {1: repr(day)}) for day in (60, 60.99, 0, -1, 2_958_466)),
        (["soon", "45322"], "excel", EXCEL, {1: "'soon'"}),
        (["2024-01-31", "45322"], "excel", EXCEL, {1: "'2024-01-31'"}),
        # Though they would be fine without the pattern.
        (["03/04/2024", "2024-13-03", "13/13/2024"], "%d/%m/%Y", OF_PATTERN, {2: None, 3: None}),
        # Numbers before 1973, alone and among seconds.
        ([94_694_400, 1_700_000_000, 5], None, TOO_SMALL, {3: "5"}),
        *(
            (times, None, TOO_SMALL, dict(enumerate(map(repr, times), start=1)))
            for times in (
                *([45322, 45323], [9_999, 10_000], [0, 94_694_399], [-1, 5], [-5, -4]),
                *([20240131, 45322, 7], ["45322", "45323"], [45322.0, 45323.0]),
            )
        ),
    ],
)
def test_times_that_are_refused(times, time_format, rule, problems):
    found = scan_history(table_of(pl.Series(times, strict=False)), time_format=time_format).problems
    assert {problem.field for problem in found} == {"time"}
    assert {problem.line: problems[problem.line] and problem.got for problem in found} == problems
    assert all(rule in problem.rule for problem in found)


# --- whole numbers without a format -------------------------------------------------------------


@given(number=st.integers(17_990_101, 22_011_231))
@examples(300)
def test_a_number_is_a_date_where_the_calendar_has_it(number):
    try:
        expected = datetime.strptime(str(number), "%Y%m%d").date()
    except ValueError:
        expected = None
    if expected is not None and not 1800 <= expected.year <= 2200:
        expected = None
    reading = scan_history(table_of([number]))
    if expected is None:
        assert [one.rule for one in reading.problems] == [TOO_SMALL]
    else:
        assert reading.history.times().tolist() == [expected]


@pytest.mark.parametrize("text", ["1\uff12", "1.\uff15"])
def test_digits_of_other_scripts_are_text_in_other_columns(text):
    history = of_text(f"match,player,rank,note\n1,{text},0,{text}\n1,b,1,2\n").history
    assert history.attributes["note"].tolist() == [text, "2"]


@pytest.mark.parametrize("times", [[3, 1, 2, 1], ["3", "1", "2", "1"], [3.0, 1.0, 2.0, 1.0]])
def test_small_numbers_are_an_order_without_dates(times):
    """Matches are sorted by it, equal numbers in the order of the file; there is a note."""
    reading = scan_history(table_of(times))
    history = reading.history
    assert history.time is None
    assert np.isnan(history.days()).all()
    assert history.match_ids.tolist() == [1, 3, 2, 0]
    assert history.order.tolist() == history.times().tolist() == [1, 1, 2, 3]
    (note,) = reading.notes
    assert "numbers from 1 to 3, are read as an order without dates" in note
    assert "--time-format s" in note


def test_orders_hours_and_formats_of_dates_are_no_seconds():
    table = {
        "match": ["b", "a", "b", "a", "c", "c"],
        "time": [7, 2, 7, 2, 2, 2],
        "player": [1, 1, 2, 2, 1, 3],
        "rank": [0, 1, 1, 0, 0, 1],
    }
    rows = [1, 3, 4, 5, 0, 2]
    untimed = {
        name: [values[row] for row in rows] for name, values in table.items() if name != "time"
    }
    one, other = read_history(table), read_history(untimed)
    assert one.order.tolist() == [2, 2, 7]
    assert_same_history(replace(one, order=None), other)
    reading = scan_history(table_of([2024013112, 2024013113]))
    assert {one.rule for one in reading.problems} == {HOURS}
    assert read_history(table_of([2024013112, 2024013199])).time_kind == "seconds"
    assert read_history(table_of([2024013112]), time_format="s").times().tolist() == [2024013112]
    hours = read_history(table_of([2024013112]), time_format="%Y%m%d%H")
    assert hours.times().tolist() == [datetime(2024, 1, 31, 12)]
    for times in ([date(2024, 1, 31)], [datetime(2024, 1, 31)]):
        assert read_history(table_of(times), time_format="iso").matches == 1
        with pytest.raises(InvalidParameterError, match="must be left out"):
            read_history(table_of(times), time_format="s")
    with pytest.raises(InvalidParameterError, match="needs a history with times"):
        read_history({"match": [1], "player": [1], "rank": [0]}, time_format="s")
    plain = read_history(table_of([94_694_400, 1_700_000_000])).file_table()
    assert plain["time"].to_list() == [94_694_400, 1_700_000_000]
    for time in (5, 20240131, 45322, 94_694_399, -1, 2024013112):
        frame = read_history(table_of([time]), time_format="s").file_table()
        assert frame["time"].to_list() == [datetime(1970, 1, 1) + timedelta(seconds=time)]


# --- text that is not as in ISO 8601 ------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        (["03/04/2024", "05/06/2024"], ["%d/%m/%Y", "%m/%d/%Y"]),
        (["03/04/2024", "25/06/2024"], ["%d/%m/%Y"]),
        (["03/04/2024", "06/25/2024"], ["%m/%d/%Y"]),
        (["2024/04/03", "2024/06/25"], ["%Y/%m/%d"]),
        (["3.4.24", "25.6.24"], ["%d.%m.%y"]),
        (["03-04-2024 18:30", "25-06-2024 07:00"], ["'%d-%m-%Y %H:%M'"]),
        (["April 3, 2024", "June 25, 2024"], ["'%B %d, %Y'"]),
        (["03.04.2024"] * 2, ["%d.%m.%Y", "%m.%d.%Y"]),
        (["24/01/02", "24/01/03"], ["%d/%m/%y", "%y/%m/%d"]),
        (["5 May 2024"] * 2, ["'%d %b %Y'"]),
    ],
)
def test_dates_that_are_not_as_in_iso_8601_are_refused_with_the_patterns_that_fit(texts, named):
    problems = scan_history(table_of(texts)).problems
    assert [one.line for one in problems] == [1, 2]
    assert re.findall(r"--time-format ('[^']*'|\S+)", problems[0].rule) == named


# --- formats that are said ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "time_format", ["seconds", "", "%Q", "%", "%d/%m", "%H:%M", "dd/mm/yyyy", 5, ["s"]]
)
def test_a_format_must_be_known(time_format):
    """And a pattern must tell the year: strptime would take 1900."""
    with pytest.raises(InvalidParameterError, match="time_format"):
        read_history(table_of([5]), time_format=time_format)


@pytest.mark.parametrize("text", ["9" * 5000, "+-5", "--5", "+", ""])
def test_times_that_are_nearly_numbers_are_refused(text):
    with pytest.raises(InvalidParameterError, match="time must be"):
        instant(text, "time")


# --- bounds -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("times", "time_format", "since", "ids"),
    [
        ([20240131, 20240229], None, 20240201, [1]),
        ([20240131, 20240229], None, "20240201", [1]),
        ([20240131, 20240229], None, "2024-02-01", [1]),
        ([20240131, 20240229], None, 1_706_745_600, [1]),
        ([1, 2, 3], None, 2, [1, 2]),
        ([1, 2, 3], None, " 2 ", [1, 2]),
        ([5, 7], "s", 6, [1]),
        ([5, 7], "s", "1970-01-01T00:00:06", [1]),
        ([5_000, 7_000], "ms", 6_000, [1]),
        ([45322, 45323], "excel", 45323, [1]),
        ([45322, 45323], "excel", 45322.5, [1]),
        ([45322, 45323], "excel", "2024-02-01", [1]),
        (["31/01/2024", "01/02/2024"], "%d/%m/%Y", "01/02/2024", [1]),
        (["31/01/2024", "01/02/2024"], "%d/%m/%Y", "2024-02-01", [1]),
        (["31/01/2024", "01/02/2024"], "%d/%m/%Y", date(2024, 2, 1), [1]),
    ],
)
def test_bounds_are_read_as_the_times_are(times, time_format, since, ids):
    history = read_history(table_of(times), time_format=time_format, since=since)
    assert history.match_ids.tolist() == ids


@pytest.mark.parametrize(
    ("times", "since"),
    [
        (["2024-01-31"], 5),
        (["2024-01-31"], "45322"),
        ([1, 2], "2024-01-31"),
        ([1, 2], 20240131),
        ([1, 2], -1),
        ([1, 2], 1.5),
        ([1, 2], date(2024, 1, 31)),
        (["2024-01-31"], "31/01/2024"),
    ],
)
def test_a_bound_that_reads_otherwise_is_refused(times, since):
    with pytest.raises(InvalidParameterError, match="--from must be"):
        read_history(table_of(times), since=since)


# --- tables are read back -----------------------------------------------------------------------


# --- times in the usual forms are read at once --------------------------------------------------


@pytest.mark.parametrize("form", ["{}T{}Z", "{}T{}", "{} {}", "{} {}Z", "{}"])
@given(data=st.data())
@examples(60)
def test_usual_forms_are_read_as_all_others(form, data):
    """Whatever is no date or time is left to the slow way: months of 13, hours of 24, year 0."""
    two = "{:02}".format
    day = st.builds("{:04}-{:02}-{:02}".format, *(st.integers(0, one) for one in (9999, 13, 32)))
    clock = st.builds("{}:{}:{}".format, *(st.integers(0, one).map(two) for one in (24, 60, 61)))
    text = st.one_of(st.none(), st.builds(form.format, day, clock))
    runs = pl.Series(data.draw(st.lists(text, min_size=1, max_size=3)), dtype=pl.String)
    fast, (values, only_days) = _parse_usual(runs), _parse_any_iso(runs)
    if fast is None:
        assert values.null_count() > runs.null_count()
    else:
        assert fast[0].to_list() == values.to_list()
        assert fast[1] == only_days or runs.null_count() == len(runs)


def test_odd_forms_white_space_and_texts_among_dates_are_read():
    """A day among times, another form further down, and digits of other scripts."""
    times = ["2024-01-31T10:00:00Z"] * 2
    for odd in ("2024-01-31", "2024-01-31 10:00:00Z", "2024-01-31T10:00:00+01:00", "20240131T10"):
        assert _parse_usual(pl.Series([*times, odd])) is None
        assert _parse_any_iso(pl.Series([*times, odd]))[0].null_count() == 0
    assert _parse_usual(pl.Series(["2024-01-3\u0661"])) is None
    head = "match,player,rank,time\n"
    rows = "1,a,0, 1700000000\n1,b,1,1700000000 \n2,a,0,1700000001\n2,b,1,1700000001\n"
    history = of_text(head + rows).history
    assert history.time.tolist() == [1_700_000_000_000_000, 1_700_000_001_000_000]
    (problem,) = of_text(f'{head}{rows}3,a,0," "\n').problems
    assert (problem.line, problem.rule) == (6, ON_ALL_ROWS)
    blank = rows.replace("1700000000", " ").replace("1700000001", "")
    assert of_text(head + blank).history.time is None
    rows = "match,player,rank,time\n1,a,1,{0}\n1,b,2,{0}\n2,a,1,{1}\n2,b,2,{1}\n"
    texts = of_text(rows.format("31/10/2026", "4/11/2026"), time_format="%d/%m/%Y").history
    for cell in ("2026-11-04T00:00:00", "2026-11-04"):
        dates = of_text(rows.format("31/10/2026", cell), time_format="%d/%m/%Y").history
        assert (dates.time_kind, dates.time.tolist()) == ("date", texts.time.tolist())
    days = of_text(rows.format("2026-31-10", "2026-04-11"), time_format="%Y-%d-%m").history
    assert days.time.tolist() == texts.time.tolist()
    clock = of_text(rows.format("2026-10-31T12:00:00", "2026-11-04"), time_format="%d/%m/%Y")
    assert (clock.history.time - texts.time).tolist() == [12 * 3600 * 10**6, 0]
    for zone, written in (("%z", "+0000"), ("%Z", "UTC")):
        noon = rows.format(f"31/10/2026 12:00 {written}", "2026-11-04")
        zoned = of_text(noon, time_format=f"%d/%m/%Y %H:%M {zone}").history
        assert (zoned.time - texts.time).tolist() == [12 * 3600 * 10**6, 0]
