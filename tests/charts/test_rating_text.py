"""Ratings over time in letters."""

from __future__ import annotations

import numpy as np
import pytest

from charts.series_by_hand import series
from equipoise.analysis.plot.chart import RatingSeries, rating_rows
from equipoise.charts.canvas import ASCII, COLOURS, Row


def lines(rows: list[Row]) -> list[str]:
    return ["".join(span.text for span in row).rstrip() for row in rows]


RISE = series(np.linspace(1400, 1600, 30).tolist(), performance=[1500] * 30)


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("rows", [8, 20])
def test_a_chart_is_as_large_as_asked(columns: int, rows: int) -> None:
    drawn = lines(rating_rows([RISE], columns=columns, rows=rows))
    assert len(drawn) == rows
    assert max(map(len, drawn)) <= columns


def test_a_rising_line_rises() -> None:
    """In letters, where each column holds one: further right is never lower."""
    drawn = lines(rating_rows([RISE], columns=60, rows=20, performances=False, glyphs=ASCII))
    assert sum(line.endswith(" ann 1600") for line in drawn) == 1
    body = [line[6:] for line in drawn[:-2]]
    rows = [max(i for i, line in enumerate(body) if line[c : c + 1] == "A") for c in range(40)]
    assert rows == sorted(rows, reverse=True)
    assert rows[0] > rows[-1]


def test_without_colours_several_players_have_letters() -> None:
    some = [RISE, series([1500, 1450], player="bob", days=[0, 29])]
    plain = "\n".join(lines(rating_rows(some, columns=80, rows=20, coloured=False)))
    assert " A ann 1600" in plain
    assert " B bob 1450" in plain
    assert plain.count("B") > 20
    colours = {span.colour for row in rating_rows(some, columns=80, rows=20) for span in row}
    assert {COLOURS[0], COLOURS[1]} <= colours


def test_ascii_is_ascii() -> None:
    """For terminals and files that know nothing else."""
    text = "\n".join(lines(rating_rows([RISE], columns=70, rows=16, glyphs=ASCII)))
    assert text.isascii()
    assert "o" in text
    assert ":" in text


@pytest.mark.parametrize(
    "some",
    [
        [series([1500])],
        [series([1500], deviation=np.nan)],
        [series([1500, 1600], days=[3, 3])],
        [series([1500], player=f"p{i}") for i in range(40)],
    ],
    ids=["one match", "no deviation", "one moment", "forty players"],
)
def test_every_kind_of_player_can_be_drawn(some: list[RatingSeries]) -> None:
    drawn = lines(rating_rows(some, columns=60, rows=12))
    assert len(drawn) == 12
    assert "1500" in "\n".join(drawn) or "1600" in "\n".join(drawn)


def test_performances_out_of_sight_are_carets() -> None:
    one = series([1500] * 60, performance=[1500] * 58 + [9000, -9000])
    text = "\n".join(lines(rating_rows([one], columns=80, rows=20)))
    assert "\N{BLACK UP-POINTING TRIANGLE}" in text
    assert "\N{BLACK DOWN-POINTING TRIANGLE}" in text
