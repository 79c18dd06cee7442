"""Times in every spelling, and what is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime

import numpy as np
import polars as pl
import pytest

from equipoise.formats import read_history, scan_history

MILLISECONDS = "must be seconds since 1970, at most 100000000000 (milliseconds?)"


def table_of(times):
    """Return a table with one match a time."""
    count = len(times)
    return pl.DataFrame(
        [
            pl.Series("match", range(count)),
            pl.Series("player", [1] * count),
            pl.Series("rank", [0] * count),
            pl.Series("time", times),
        ]
    )


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("1970-01-02T00:00:00", 86_400),
        ("1970-01-02 00:00:00", 86_400),
        ("1970-01-02T00:00", 86_400),
        ("1970-01-02T00:00:00Z", 86_400),
        ("1970-01-02T00:00:00z", 86_400),
        ("1970-01-02T02:00:00+02:00", 86_400),
        ("1970-01-02T02:00+0200", 86_400),
        ("1970-01-02 02:00:00 +02", 86_400),
        ("1970-01-01T18:30:00-05:30", 86_400),
        ("1970-01-02T00:00:00.25", 86_400.25),
        ("1970-01-02T00:00:00,250000Z", 86_400.25),
        ("19700102T000000Z", 86_400),
        ("1969-12-31T23:59:59Z", -1),
    ],
)
def test_iso_8601_times(written, seconds):
    """Zones are converted, a time without one is UTC."""
    history = read_history(table_of([written]))
    assert history.time.tolist() == [round(seconds * 1e6)]
    assert history.time_kind == "datetime"


def test_dates_stay_dates():
    """A history of days is written back in days."""
    history = read_history(table_of(["1872-11-30", "2026-01-01"]))
    assert history.time_kind == "date"
    assert history.times().astype(str).tolist() == ["1872-11-30", "2026-01-01"]


def test_dates_among_times_are_midnights():
    """The finer kind wins."""
    history = read_history(table_of(["1970-01-01", "1970-01-01T00:00:01"]))
    assert (history.time_kind, history.time.tolist()) == ("datetime", [0, 1_000_000])


@pytest.mark.parametrize(
    "times",
    [
        [5, 7],
        [5.0, 7.0],
        ["5", "7"],
        ["5.0", "+7"],
        pl.Series([5, 7], dtype=pl.UInt8),
        pl.Series([5, 7], dtype=pl.Decimal(10, 2)),
    ],
)
def test_whole_seconds(times):
    """Numbers are seconds since 1970, as whole ones or as text."""
    history = read_history(table_of(times))
    assert (history.time_kind, history.times().tolist()) == ("seconds", [5, 7])


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_timestamps_of_frames(unit):
    """Zones are converted to UTC, units to microseconds."""
    stamps = pl.Series([datetime(1970, 1, 1, 0, 0, 5)]).cast(pl.Datetime(unit))
    zoned = stamps.dt.replace_time_zone("Etc/GMT-2")
    assert read_history(table_of(stamps)).time.tolist() == [5_000_000]
    assert read_history(table_of(zoned)).time.tolist() == [-7_195_000_000]


def test_python_times():
    """Dates and times of the standard library."""
    assert read_history(table_of([date(1970, 1, 2)])).time_kind == "date"
    history = read_history(table_of([datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC)]))
    assert history.time.tolist() == [1_000_005]


@pytest.mark.parametrize(
    ("times", "line", "rule", "got"),
    [
        ([5, 1_600_000_000_000], 2, MILLISECONDS, "1600000000000"),
        ([5.0, 1.6e12], 2, MILLISECONDS, "1600000000000.0"),
        (["5", "1600000000000"], 2, MILLISECONDS, "'1600000000000'"),
        ([-(10**12), 5], 1, MILLISECONDS, "-1000000000000"),
        ([5, None], 2, "must be on all rows or on none", "nothing"),
        ([5.0, np.nan], 2, "must be on all rows or on none", "nan"),
        (["2020-01-01", ""], 2, "must be on all rows or on none", "nothing"),
        ([date(2020, 1, 1), None], 2, "must be on all rows or on none", "nothing"),
    ],
)
def test_times_that_are_refused(times, line, rule, got):
    """Each is told with its line, its rule and what came."""
    (problem,) = scan_history(table_of(times)).problems
    assert (problem.line, problem.field, problem.rule, problem.got) == (line, "time", rule, got)


@pytest.mark.parametrize(
    "bad", ["soon", "2020-13-01", "2020-02-30T00:00:00", "12:00", "2020-01-01T25:00"]
)
def test_times_that_cannot_be_read(bad):
    """Whatever the other rows are, they are not to blame."""
    for others in (["2020-01-01"] * 2, ["2020-01-01T00:00:00Z"] * 2, ["77"] * 2):
        (problem,) = scan_history(table_of([*others, bad])).problems
        assert (problem.line, problem.got) == (3, repr(bad))
        assert problem.rule.startswith("must be ")


def test_seconds_and_iso_times_do_not_mix():
    """What most rows are is right."""
    (problem,) = scan_history(table_of(["5", "6", "1970-01-01"])).problems
    assert (problem.line, problem.rule) == (
        3,
        "must be whole seconds since 1970, as on the other rows",
    )
    (problem,) = scan_history(table_of(["5", "1970-01-02", "1970-01-01"])).problems
    assert (problem.line, problem.rule) == (
        1,
        "must be a date or time as in ISO 8601, as on the other rows",
    )


@pytest.mark.parametrize("times", [[True, False], [[1], [2]], [1.5, 2.5]])
def test_other_types_are_no_times(times):
    """Truth values, lists and fractions of seconds."""
    problems = scan_history(table_of(times)).problems
    assert [one.line for one in problems] == [1, 2]
