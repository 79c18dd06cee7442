"""What values print, what notebooks show of them, and tables for Polars and pandas."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from statistics import NormalDist
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas
import polars as pl
import pytest

import equipoise as eq
from equipoise.display import HALF_WIDTH, Tabular, half_width_in_words, table_html
from equipoise.rating.registry import SYSTEMS
from every_value import HOSTILE, every_value

#: A line of a terminal, three times: no value prints more.
MOST_LETTERS = 240


@cache
def tables() -> list[str]:
    """Return the names of the values that are tables."""
    return [name for name, value in every_value().items() if isinstance(value, Tabular)]


def value_of(name: str) -> Any:
    return every_value()[name]


def test_a_value_prints_as_one_short_line_that_is_safe_in_a_terminal() -> None:
    assert len(every_value()) > 40
    for name, value in every_value().items():
        text = repr(value)
        assert 0 < len(text) <= MOST_LETTERS, name
        assert text.isprintable(), name
        assert name in text
    players = [f"player {number}" for number in range(1000)]
    crowd = eq.read_history({"match": [1] * 1000, "player": players, "rank": range(1, 1001)})
    assert len(repr(eq.replay(eq.Elo(), crowd, trace=True))) <= MOST_LETTERS


@pytest.mark.parametrize("name", list(SYSTEMS))
def test_a_system_prints_as_the_call_that_makes_it(name: str) -> None:
    system = eq.make_system(name)
    assert eval(repr(system), vars(eq) | {type(system).__name__: type(system)}) == system
    changed = eq.make_system(name, {"initial_rating": 1234})
    assert repr(changed) == f"{type(system).__name__}(initial_rating=1234.0)"


class Elements(HTMLParser):
    """The tags of a document, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def count(self, tag: str, **attributes: str) -> int:
        return sum(one == tag and attributes.items() <= given.items() for one, given in self.tags)


def test_html_is_short_and_runs_nothing() -> None:
    for name in (*tables(), "PoolState", "Split"):
        html = str(value_of(name)._repr_html_())
        ElementTree.fromstring(html)  # well-formed, so that nothing is left open
        found = Elements(html)
        assert {tag for tag, _ in found.tags} <= {
            *("div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p")
        }
        assert not any(key.startswith("on") for _, given in found.tags for key in given), name
        assert "\x1b" not in html, name
        assert found.count("tr") <= 11, name
        assert len(html) < 30_000, name


def test_a_table_of_a_notebook_has_a_caption_and_headings() -> None:
    assert len(tables()) > 20
    for name in tables():
        found = Elements(str(value_of(name)._repr_html_()))
        assert found.count("caption") == 1, name
        assert found.count("th", scope="col") >= 2, name
        assert found.count("th", scope="row") == found.count("tr") - 1, name


def test_html_says_how_many_rows_are_left_out() -> None:
    html = str(value_of("Ratings")._repr_html_())
    assert "\u2026 and 4 more<" in html
    assert "last_time (UTC)" in html
    wide = table_html("wide", {f"column {at}": [at] for at in range(20)})
    assert "\u2026 and 8 more columns" in wide


def test_a_notebook_shows_the_best_trials_first() -> None:
    tuning = value_of("Tuning")
    shown = tuning._shown(10)
    assert shown["trial"].to_list() == [trial.number for trial in tuning.ranked()]
    assert shown.columns == ["trial", "tau", "status", "pair_inversion"]


def test_numbers_of_a_column_have_the_same_decimals_and_stand_right() -> None:
    html = table_html("t", {"name": ["a", "b"], "rating": [1500.0, 1512.345], "score": [0.5, None]})
    assert ">1,500.0<" in html
    assert ">1,512.3<" in html
    assert ">0.500<" in html
    assert ">\u2013<" in html
    assert html.count("text-align:right") == 6


def test_tables_of_polars_and_pandas_are_equal() -> None:
    for name in tables():
        value = value_of(name)
        table = value.to_polars()
        assert value.head(3).equals(table.head(3)), name
        assert value.head(0).height == 0, name
        other = value.to_pandas()
        assert list(other.columns) == table.columns, name
        assert len(other) == table.height, name
        for column in table.iter_columns():
            missing = column.is_null().to_list()
            assert other[column.name].isna().tolist() == missing, name
            if column.dtype.is_numeric():
                given = column.drop_nulls().to_list()
                assert other[column.name].dropna().tolist() == given, name


def test_pandas_has_times_in_utc_and_missing_values() -> None:
    frame = value_of("Ratings").to_pandas()
    assert str(frame["last_time"].dtype) == "datetime64[us, UTC]"
    assert frame["last_time"].max() == pandas.Timestamp("2024-01-23T22:13:20", tz="UTC")


# Times


@pytest.mark.parametrize("name", ["History", "Trace"])
def test_tables_show_times_in_utc_and_files_the_kind_that_came_in(name: str) -> None:
    value = value_of(name)
    assert value.to_polars()["time"].dtype == pl.Datetime("us", "UTC")
    assert value.to_polars()["time"][0] == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert value.file_table()["time"][0] == 1_700_000_000


def test_ratings_drift_and_incentives_show_times_in_utc(tmp_path: Path) -> None:
    last = value_of("History").to_polars()["time"].max()
    for name, column in (("Ratings", "last_time"), ("Drift", "time")):
        assert value_of(name).to_polars()[column].max() == last
        assert value_of(name).file_table()[column].max() == last.timestamp()
    assert np.datetime64(last.replace(tzinfo=None)) == value_of("Ratings").last_played.max()
    assert value_of("Incentive").to_polars()["time"].dtype == pl.Datetime("us", "UTC")
    assert value_of("Incentive").file_table()["time"].dtype == pl.Int64
    for name in ("Ratings", "Replay"):
        eq.write_table(value_of(name), tmp_path / "ratings.csv")
        assert pl.read_csv(tmp_path / "ratings.csv")["last_time"].dtype == pl.Int64


def test_an_order_without_dates_stays_a_number() -> None:
    history = eq.read_history(
        {"match": [1, 1, 2, 2], "time": [3, 3, 7, 7], "player": [*"abac"], "rank": [1, 2, 1, 2]}
    )
    done = eq.replay(eq.Elo(), history, trace=True)
    assert history.to_polars()["time"].to_list() == [3, 3, 7, 7]
    assert done.trace.to_polars()["time"].to_list() == [3, 3, 7, 7]
    assert sorted(done.ratings.to_polars()["last_time"].to_list()) == [3, 7, 7]
    assert sorted(done.ratings.last_played.tolist()) == [3, 7, 7]
    assert done.state.last_match == 7
    assert eq.drift(eq.Elo(), history).to_polars()["time"].dtype == pl.Int64


def test_a_history_without_times_has_none() -> None:
    history = eq.read_history({"match": [1, 1], "player": [*"ab"], "rank": [1, 2]})
    done = eq.replay(eq.Elo(), history)
    assert history.datetimes() is None
    assert done.ratings.to_polars()["last_time"].null_count() == 2
    assert done.state.last_match is None
    assert eq.explain(eq.Elo(), history, "a").when is None


DAYS = [1_700_006_400, 1_700_092_800]
STAMPS = [datetime.fromtimestamp(day, UTC).replace(tzinfo=None) for day in DAYS]


@pytest.mark.parametrize(
    ("kind", "times"),
    [("seconds", DAYS), ("datetime", STAMPS), ("date", [stamp.date() for stamp in STAMPS])],
)
def test_reading_the_table_again_gives_the_same_matches(kind: str, times: list[Any]) -> None:
    table = {"match": [1, 1, 2, 2], "player": [*"abac"], "rank": [1, 2, 1, 2]}
    history = eq.read_history(table | {"time": np.repeat(np.array(times), 2)})
    assert history.time_kind == kind
    for again in (history.to_polars(), history.to_pandas()):
        assert eq.read_history(again).time.tolist() == history.time.tolist()
    assert eq.read_history(history.file_table()).time_kind == kind


def test_names_are_escaped_wherever_they_are_shown() -> None:
    shown = [str(value_of(name)._repr_html_()) for name in tables()]
    assert sum("&lt;script&gt;" in html for html in shown) >= 10
    assert not any("<script" in html for html in shown)
    assert HOSTILE.startswith("<script")


# Seeds


def test_a_seed_gives_the_numbers_of_its_generator_and_leaves_the_global_one_alone() -> None:
    outlook = value_of("Prediction").outlook
    before = np.random.get_state()[1].tolist()  # noqa: NPY002  # looked at only
    by_seed = eq.place_distribution(outlook, seed=7, samples=500)
    by_generator = eq.place_distribution(outlook, rng=np.random.default_rng(7), samples=500)
    assert by_seed.mean.tolist() == by_generator.mean.tolist()
    assert eq.place_distribution(outlook, samples=500).mean.tolist() != by_seed.mean.tolist()
    with pytest.raises(eq.InvalidParameterError, match="seed must be at least 0; got -1"):
        eq.place_distribution(outlook, seed=-1)
    systems = {"elo": eq.Elo()}
    history = value_of("History")
    one = eq.backtest(systems, history, resamples=20, min_history=1, seed=3)
    other = eq.backtest(systems, history, resamples=20, min_history=1, rng=np.random.default_rng(3))
    assert one.systems[0].intervals == other.systems[0].intervals
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002  # as above


def test_a_history_of_any_year_prints() -> None:
    """A history made of arrays may have times that Python's dates do not reach."""
    ids = np.zeros(1, np.int64)
    rows = dict.fromkeys(("match_ids", "player_ids", "player", "team", "rank"), ids)
    history = eq.History(**rows, offsets=np.array([0, 1]), time=np.array([10**18]))
    assert repr(history) == "<History: 1 match of 1 player, 33658-09-27>"


def test_head_refuses_a_negative_number() -> None:
    with pytest.raises(eq.InvalidParameterError, match="rows must be at least 0; got -1"):
        value_of("Ratings").head(-1)


def test_without_pandas_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(eq.EquipoiseError, match=r"needs pandas, .*: pip install pandas"):
        value_of("Ratings").to_pandas()


def test_an_explanation_and_a_pool_say_when() -> None:
    one = value_of("Explanation")
    assert one.when == datetime.fromtimestamp(one.time * 86_400, UTC)
    assert value_of("PoolState").last_match == datetime(2024, 1, 23, 22, 13, 20, tzinfo=UTC)


# --- the 95 % range of a rating ----------------------------------------------------------------


def test_the_range_holds_95_percent_of_a_normal_distribution() -> None:
    inside = NormalDist().cdf(HALF_WIDTH) - NormalDist().cdf(-HALF_WIDTH)
    assert inside == pytest.approx(0.95, abs=1e-4)


@pytest.mark.parametrize(
    ("deviation", "words"),
    [(350.0, "686"), (80.99, "159"), (25.0, "49.0"), (1.2, "2.35"), (0, "0.00")],
)
def test_it_is_written_with_two_or_three_digits(deviation: float, words: str) -> None:
    assert half_width_in_words(deviation) == words
