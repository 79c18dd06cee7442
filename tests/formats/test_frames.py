"""Values in memory: Polars, pandas, Arrow, and mappings of arrays; Parquet and Arrow files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from equipoise.errors import InvalidParameterError
from equipoise.formats import read_history, scan_history
from formats.comparing import assert_same_history, told

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


def test_mixed_ids_become_text():
    history = read_history({"match": [1, "x"], "player": [1, 2.0], "rank": [0, 0]})
    assert history.match_ids.tolist() == ["1", "x"]
    frame = pd.DataFrame({"match": [1, "x"], "player": ["a", 3], "rank": [0, 0]})
    assert read_history(frame).player_ids.tolist() == ["3", "a"]


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


def test_columns_of_different_lengths_are_told():
    problems = scan_history({"match": [1, 1], "player": [1], "rank": [1, 2, 3]}).problems
    rule = "must have as many values as 'match': 2"
    assert told(problems) == [(None, "player", rule, "1"), (None, "rank", rule, "3")]


def test_columns_of_one_name_are_told():
    frame = pd.DataFrame([[1, 2, 3, 4]], columns=["match", "player", "rank", "rank"])
    for source in (frame, pa.Table.from_arrays([pa.array([1])] * 2, names=["rank", "rank"])):
        (problem,) = scan_history(source).problems
        assert (problem.field, problem.got) == ("rank", "2 columns")


def test_a_query_that_fails_is_told():
    (problem,) = scan_history(pl.LazyFrame({"a": [1]}).select("b")).problems
    assert problem.rule == "must be a readable table"


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


def test_rows_of_binary_files_count_from_one(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"match": [1, 1], "player": [1, 2], "rank": [0, -1]}).write_parquet(path)
    assert scan_history(path).problems[0].line == 2


def test_whole_numbers_beyond_64_bits_are_kept_as_text():
    """In columns that are kept, as in ids, no digit is lost and nothing fails."""
    large = 2**63 + 5
    for values in ([large, 1], [10**30, 1]):
        history = read_history(TABLE | {"code": [*values, 2, None]})
        assert history.attributes["code"].tolist() == [*map(str, values), "2", None]
    ids = pl.Series([2**64 - 1], dtype=pl.UInt64)
    assert read_history({"match": [1], "player": ids, "rank": [0]}).player_ids[0] == str(2**64 - 1)


def test_a_column_called_like_a_pattern_is_one_column() -> None:
    """`*` and `^m.*$` are names of columns here, and a column without a name is left out."""
    more = {"*": [7, 8, 9, 1], "^m.*$": [5, 6, 7, 8], "": [0] * 4}
    assert set(read_history(pl.DataFrame(TABLE | more)).attributes) == {*TABLE, *more} - {
        *("match", "player", "rank", ""),
    }
