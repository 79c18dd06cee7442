"""What `plot()` of a value returns: a figure of matplotlib, without any global state."""

from __future__ import annotations

import sys
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot
import pytest
from matplotlib.figure import Figure

import equipoise as eq
from every_value import HOSTILE, every_value

DRAWN = [
    *("Backtest", "Calibration", "PlaceDistribution", "RatingComparison"),
    *("Ratings", "Replay", "TournamentPerformance", "Trace", "Tuning"),
]


def value_of(name: str) -> Any:
    return every_value()[name]


def texts(figure: Figure) -> list[str]:
    """Return the texts of a figure: of itself and of its axes."""
    own = [text.get_text() for text in figure.texts]
    found = own + [text.get_text() for axes in figure.axes for text in axes.texts]
    return [text.replace("\n", " ") for text in found]


def test_every_value_with_a_chart_is_here() -> None:
    assert [name for name, value in every_value().items() if hasattr(value, "plot")] == DRAWN


@pytest.mark.parametrize("name", DRAWN)
def test_plot_returns_a_figure_that_notebooks_show(name: str) -> None:
    """With a title given or its own, no changed style, and no character that reverses a line."""
    before = dict(mpl.rcParams)
    key = "name" if name == "TournamentPerformance" else "title"
    figure = value_of(name).plot(**{key: "My own words"})
    assert isinstance(figure, Figure)
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]  # our class
    assert dict(mpl.rcParams) == before
    assert not matplotlib.pyplot.get_fignums()
    assert "My own words" in "".join(texts(figure))
    for drawn in (figure, value_of(name).plot()):
        assert not set("\u202e\x1b") & set("".join(texts(drawn)))


@pytest.mark.parametrize("name", DRAWN)
def test_without_matplotlib_a_sentence_says_what_to_install(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(eq.EquipoiseError, match=r"need matplotlib.*\[charts\]"):
        value_of(name).plot()


def test_without_names_a_replay_draws_the_three_best_and_its_trace_does_too() -> None:
    best = value_of("Ratings").to_polars()["player"].head(3).to_list()
    for figure in (value_of("Replay").plot(), value_of("Trace").plot()):
        labels = [text.get_text() for text in figure.axes[0].texts]
        assert len(labels) == 3
        assert sum(label.startswith(name) for label in labels for name in best[1:]) == 2


def test_named_players_are_drawn_once_and_unknown_ones_refused() -> None:
    figure = value_of("Trace").plot("player 1", "player 2", "player 1")
    assert len(figure.axes[0].texts) == 2
    with pytest.raises(eq.NotFoundError, match="no player 'nobody'"):
        value_of("Trace").plot("nobody")
    with pytest.raises(eq.NotFoundError, match="no rating for player 'nobody'"):
        value_of("Ratings").plot("nobody")
    places = value_of("PlaceDistribution")
    shown = places.plot(["Ada & co", "Ben"]).axes[0].get_yticklabels()
    assert {label.get_text() for label in shown} == {"Ada & co", "Ben"}
    with pytest.raises(eq.InvalidParameterError, match="one for each of 2 teams; got 1"):
        places.plot(["Ada"])


def test_a_replay_without_a_trace_draws_the_distribution() -> None:
    done = eq.replay(eq.Glicko2(), value_of("History"))
    assert any("Ratings of 14 players" in text for text in texts(done.plot(HOSTILE)))
    assert any("glicko2" in text for text in texts(done.plot()))


def test_without_dates_the_axis_counts_matches() -> None:
    history = eq.read_history({"match": [1, 1, 2, 2], "player": [*"abac"], "rank": [1, 2, 1, 2]})
    done = eq.replay(eq.Elo(), history, trace=True)
    assert done.trace is not None
    assert done.trace.plot("a").axes[0].get_xlabel() == "match"
    axes = done.trace.plot("a", by="played").axes[0]
    assert axes.get_xlabel() == "matches played"
    assert all(tick == int(tick) for tick in axes.get_xticks())
    with pytest.raises(eq.InvalidParameterError, match="without dates"):
        done.trace.plot("a", by="time")


def test_a_tournament_without_an_equilibrium_draws_its_classes() -> None:
    games = eq.Games.from_arrays(["a", "a", "b"], ["b", "c", "c"], [1.0, 1.0, 0.5])
    found = eq.performance(games)
    assert not found.exists
    figure = found.plot()
    assert any("no equilibrium" in text for text in texts(figure))
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["a", "b", "c"]
