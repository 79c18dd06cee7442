"""How the ratings of a pool are spread."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from equipoise.analysis.plot.distribution import (
    MOST_MARKED,
    Place,
    distribution,
    distribution_figure,
    distribution_rows,
    share_above,
)
from equipoise.charts import theme
from equipoise.charts.canvas import ASCII
from equipoise.data.ratings import Ratings
from equipoise.errors import InvalidDataError, InvalidParameterError


def ratings(values: list[float], matches: list[int] | None = None) -> Ratings:
    count = len(values)
    return Ratings(
        player_ids=np.arange(count),
        rating=np.array(values),
        deviation=np.full(count, 80.0),
        matches=np.array([1] * count if matches is None else matches),
        last_time=np.full(count, np.nan),
        extra={},
    )


@given(st.lists(st.floats(-1000, 5000), min_size=1, max_size=50))
@example([1400.0, 1500.0])
def test_every_player_is_in_one_bar(values: list[float]) -> None:
    """A rating on an edge is in the bar above it."""
    found = distribution(ratings(values))
    assert found.counts.sum() == found.players == len(values)
    assert found.edges[0] <= min(values)
    assert max(values) < found.edges[-1]
    width = found.edges[1] - found.edges[0]
    np.testing.assert_allclose(found.edges / width, np.rint(found.edges / width))


def test_players_with_few_matches_do_not_count_but_can_be_placed() -> None:
    found = distribution(
        ratings([1400, 1500, 1600, 9000], [5, 5, 5, 1]), min_matches=5, rows=[3, 1]
    )
    assert found.players == 3
    assert found.places == (Place(3, 9000, 0.0), Place(1, 1500, pytest.approx(1 / 3)))


def test_a_pool_without_such_players_is_refused() -> None:
    with pytest.raises(InvalidDataError, match="9 rated matches; the most active has 5"):
        distribution(ratings([1400, 1500], [5, 2]), min_matches=9)


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0, "first"),
        (0.0004, "top 0.040 %"),
        (0.021, "top 2.1 %"),
        (0.381, "top 39 %"),
        (1, "top 100 %"),
    ],
)
def test_shares_are_said_and_never_flatter(share: float, words: str) -> None:
    """Rounded up."""
    assert share_above(share) == words


@pytest.mark.parametrize("size", [theme.WIDE, theme.Size(3.2, 3.2)])
@pytest.mark.parametrize("values", [[1500.0], [1500.0] * 20, [1000.0, 2000.0], list(range(1, 300))])
def test_every_pool_can_be_drawn(values: list[float], size: theme.Size) -> None:
    found = distribution(ratings(values), rows=[0])
    figure = distribution_figure(found, title="a", subtitle="b", size=size)
    file = io.BytesIO()
    theme.save(figure, file, "png")
    assert file.getvalue().startswith(b"\x89PNG")
    assert sum(bar.get_height() for bar in figure.axes[0].patches) == len(values)


def test_the_text_has_bars_and_statistics() -> None:
    found = distribution(ratings([1000.0, *[1500.0] * 40, 2000.0]), rows=[1])
    lines = ["".join(span.text for span in row) for row in distribution_rows(found, columns=70)]
    assert max(map(len, lines)) <= 70
    assert "\N{FULL BLOCK}" in lines[0]
    assert "mean 1500" in lines[-2]
    assert "median 1500" in lines[-2]
    assert lines[-1] == "1 1500, top 2.4 %"
    plain = distribution_rows(found, columns=70, glyphs=ASCII)
    assert "".join(span.text for row in plain for span in row).isascii()


def test_statistics_are_those_of_numpy() -> None:
    values = np.random.default_rng(1).normal(1500, 300, 50)
    found = distribution(ratings(values.tolist()))
    assert found.mean == pytest.approx(values.mean())
    assert found.median == np.median(values)
    assert found.percentiles == {q: np.percentile(values, q) for q in (5, 25, 75, 95)}


def test_only_as_many_players_are_marked_as_have_colours() -> None:
    found = distribution(ratings([float(i) for i in range(9)]), rows=range(MOST_MARKED + 1))
    with pytest.raises(InvalidParameterError, match="at most 6"):
        distribution_figure(found, title="a", subtitle="b")
