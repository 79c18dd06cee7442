"""The performances of a tournament in letters."""

from __future__ import annotations

import numpy as np
import pytest

from charts.performances_by_hand import field, performances
from equipoise.charts.canvas import ASCII, UNICODE, Glyphs, Row
from equipoise.charts.performance_text import performance_rows

NAN = float("nan")


def lines(rows: list[Row]) -> list[str]:
    return ["".join(span.text for span in row) for row in rows]


def test_by_hand() -> None:
    """40 columns less 1 for names, 5 and 12 for numbers and 4 between leave 18 for 2494 to 2706.

    So a column is 11.8 points, and 2500 is in the first, 2550, 2600, 2650 and 2700 in columns 4, 9,
    13 and 17 from 0.
    """
    series = performances(
        [2600, NAN],
        names=["a", "b"],
        error=[100, NAN],
        tpr=[2650, NAN],
        rating=[2550, 2700],
        upper=[NAN, 2600],
    )
    assert lines(performance_rows(series, columns=40, glyphs=ASCII)) == [
        "a ----|----o---x---- 4.5/9   2600 +- 100",
        "b         <#       | 4.5/9  at most 2600",
        " +------------------",
        "         2600",
        "  o PPR and its 95 % interval   x TPR",
        "  | rating before",
    ]


@pytest.mark.parametrize("glyphs", [ASCII, UNICODE])
@pytest.mark.parametrize("columns", [60, 80, 132])
def test_lines_fit(glyphs: Glyphs, columns: int) -> None:
    found = lines(performance_rows(field(30), columns=columns, glyphs=glyphs))
    assert 30 + 3 <= len(found) <= 30 + 4
    assert max(map(len, found)) <= columns
    assert glyphs is UNICODE or all(line.isascii() for line in found)


def test_the_best_stands_first_and_scores_and_ratings_behind() -> None:
    found = lines(performance_rows(performances([2500, 2700, 2600], error=[9, 9, NAN])))
    assert [line.split()[1] for line in found[:3]] == ["1", "2", "0"]
    assert [line.split("4.5/9")[1].strip() for line in found[:3]] == [
        "2700 \N{PLUS-MINUS SIGN} 9",
        "2600",
        "2500 \N{PLUS-MINUS SIGN} 9",
    ]


def test_players_left_out_are_counted() -> None:
    found = lines(performance_rows(field(130)))
    assert len(found) == 50 + 4
    assert found[-1].strip() == "and 80 more players"


def test_classes_are_ruled_off() -> None:
    group = np.repeat([0, 1], 3)
    series = performances([1, 2, 3, 4, 5, 6], group=group, within_group=True)
    found = lines(performance_rows(series, glyphs=ASCII))
    assert [line.split()[1] for line in found[:3]] == ["2", "1", "0"]
    assert set(found[3].strip()) == {"-"}
