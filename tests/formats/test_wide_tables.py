"""Tables of many columns are read in linear time, and are refused beyond a bound."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from equipoise.analysis.performance.computation import PerformanceRequest, rate_performance
from equipoise.errors import EquipoiseError, InvalidDataError
from equipoise.formats.delimited import read_delimited
from equipoise.formats.json_files import read_json_rows
from equipoise.formats.table import MOST_COLUMNS

#: Four times as many columns may take this much longer. Quadratic time takes 16 times as long.
_LINEAR = 9.0


def csv_of(columns: int, first: str = "white,black,result") -> bytes:
    """Return a table of two games with further columns."""
    names = ",".join(f"c{one}" for one in range(columns))
    values = ",".join("1" * columns)
    return f"{first},{names}\na,b,1-0,{values}\nb,c,1-0,{values}\n".encode()


def seconds(work: Callable[[], object]) -> float:
    """Return the least processor time of three runs."""
    found = []
    for _ in range(3):
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


def test_rows_with_keys_of_their_own_are_refused() -> None:
    rows = [{"a": 1}] * 20_000 + [{f"c{one}": 1} for one in range(15_000)]
    assert len(json.dumps(rows)) < 500_000
    with pytest.raises(InvalidDataError, match="at most 200,000,000 values"):
        read_json_rows(rows, "games.json")
