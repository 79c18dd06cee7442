"""US Chess' system against other packages' numbers, the document's examples and its equation.

skillratings is the Rust crate, src/uscf.rs at commit bab0bd1ef142d62503766c1fb48b605fdc8a4774. It
has the approximating formulas of US Chess, which agree with the exact ones in the cases here.
RoaldSchuring/chessratings is a Python package, tests/test_uscf_elo.py at commit
61f4d668ed0e054ec8984e373190740500de306b, which solves the exact equation.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.arrays import Floats
from equipoise.rating.federation_columns import KNOWN
from equipoise.rating.systems.uscf import (
    USCF,
    effective_games,
    special_rating,
    standard_rating,
)
from rating.federations.events import games, rated
from reference.uscf import Player, rate_event


def after_event(
    before: list[float],
    earlier: list[int],
    listed: list[tuple[int, int, float]],
    system: USCF | None = None,
    **columns: list[float],
) -> Floats:
    """Return the ratings after an event.

    earlier : rated games of every player before it
    """
    history = games(
        listed,
        len(before),
        event=["open"] * (2 * len(listed)),
        games_before=[earlier[one] for first, second, _ in listed for one in (first, second)],
    )
    known = {"rating": before, "rated": [KNOWN] * len(before), **columns}
    return rated(system or USCF(), known, history)["rating"]


def test_effective_games() -> None:
    """skillratings: test_effective_game_number."""
    assert effective_games(1700.0, 30.0) == pytest.approx(20.01178674737454, rel=1e-14)
    assert effective_games(2356.0, 51.0) == 50.0
    assert effective_games(1700.0, 12.0) == 12.0


@pytest.mark.parametrize(
    ("prior", "score", "adjusted", "opponents", "effective", "found"),
    [
        # chessratings: test_compute_special_rating, the unrated player and the one with 10 wins.
        (1600.0, 1.5, 1.5, [1200.0, 1500.0, 2400.0], 0.0, 1550.0),
        (800.0, 0.5, 10.5, [1600.0, 1500.0, 2400.0], 10.0, 1350.0),
        # The approximating formulas' example: 1500 after 6 games, a win, a loss and a draw.
        (1500.0, 1.5, 4.5, [1400.0, 1550.0, 1650.0], 6.0, 1511.111111111111),
    ],
)
def test_special_ratings(
    prior: float,
    score: float,
    adjusted: float,
    opponents: list[float],
    effective: float,
    found: float,
) -> None:
    rating = special_rating(prior, prior, effective, np.array(opponents), score, adjusted)
    assert rating == pytest.approx(found, abs=1e-9)


def test_a_first_win_and_a_first_loss_are_400_points_from_the_opponent() -> None:
    found = after_event([1300.0, 1500.0, 1700.0], [0, 40, 40], [(0, 1, 1.0)], rated=[1.0, 2.0, 2.0])
    assert found[0] == 1900.0
    found = after_event([1300.0, 1500.0, 1700.0], [0, 40, 40], [(0, 2, 0.0)], rated=[1.0, 2.0, 2.0])
    assert found[0] == 1300.0


def test_of_an_interval_of_solutions_the_point_where_the_procedure_ends() -> None:
    """A win over 1000 and a loss to 2400: every rating from 1400 to 2000 solves the equation.

    The procedure begins at 1700, and stays if the rating before is within 400 points. Otherwise it
    goes towards that rating, as far as the next point at which an expected score is 0 or 1.
    """
    for before, found in ((1300.0, 1700.0), (1750.0, 1700.0), (1100.0, 1500.0), (2300.0, 1900.0)):
        rating = special_rating(before, before, 0.0, np.array([1000.0, 2400.0]), 1.0, 1.0)
        assert rating == found
    # With games before, it has weight, and the interval is where its score is 0 or 1, too.
    rating = special_rating(2200.0, 2200.0, 2.0, np.array([500.0] * 3), 2.0, 3.0)
    assert rating == 1800.0


@given(
    rating=st.floats(100, 2600),
    effective=st.floats(0, 8),
    opponents=st.lists(st.floats(100, 2800), min_size=1, max_size=9),
    halves=st.data(),
)
@examples(200)
def test_a_special_rating_solves_its_equation_and_rises_with_the_score(
    rating: float, effective: float, opponents: list[float], halves: st.DataObject
) -> None:
    """To 1e-9 of a game, below the cap of 2700."""
    points = halves.draw(st.integers(0, 2 * len(opponents))) / 2.0
    met = np.array(opponents)
    found = special_rating(rating, rating, effective, met, points, points + effective / 2.0)
    assert found <= 2700.0
    if found < 2700.0:
        curve = np.clip(0.5 + (found - np.array([rating, *opponents])) / 800.0, 0.0, 1.0)
        total = effective * curve[0] + curve[1:].sum()
        assert total == pytest.approx(points + effective / 2.0, abs=1e-8)
    if points < len(opponents):
        more = points + 0.5
        better = special_rating(rating, rating, effective, met, more, more + effective / 2.0)
        assert better >= found - 1e-9


def test_the_standard_formula_with_its_bonus() -> None:
    """skillratings: test_uscf_rating_period_proper, with the threshold of 2015 to 2017."""
    listed = [(0, 1, 1.0), (0, 2, 0.5), (0, 3, 1.0), (0, 4, 1.0)]
    before = [1300.0, 1250.0, 1400.0, 1500.0, 1550.0]
    found = after_event(before, [45, 10, 10, 10, 10], listed, USCF(bonus_threshold=12))
    assert found[0] == pytest.approx(1464.80488826172, abs=1e-10)


def test_a_bonus_needs_three_games_and_counts_as_if_they_were_four() -> None:
    assert standard_rating(1500.0, 20.0, 2.0, 2.0, 14.0) == 1500.0 + 800.0 / 22.0 * 2.0
    change = 800.0 / 23.0 * 2.0
    assert standard_rating(1500.0, 20.0, 3.0, 2.0, 14.0) == pytest.approx(
        1500.0 + 2.0 * change - 14.0 * 2.0
    )


def test_who_has_only_won_keeps_the_special_formula() -> None:
    """Ten wins before: the equation counts them at 400 points below the rating."""
    found = after_event(
        [1200.0, 1600.0, 1500.0, 2400.0],
        [0, 100, 100, 100],
        [(0, 1, 0.0), (0, 2, 0.0), (0, 3, 0.5)],
        matches=[10.0, 0.0, 0.0, 0.0],
        wins=[10.0, 0.0, 0.0, 0.0],
    )
    assert found[0] == pytest.approx(1350.0, abs=1e-9)


@pytest.mark.parametrize(
    ("before", "earlier", "score", "after"),
    [
        ([1300.0, 1200.0], [32, 32], 1.0, [1319.0607266129887, 1179.6145761968105]),
        ([1300.0, 1200.0], [7, 7], 1.0, [1337.5, 1162.5]),
        ([1300.0, 1200.0], [7, 7], 0.0, [1237.5, 1262.5]),
    ],
)
def test_events_of_one_game(
    before: list[float], earlier: list[int], score: float, after: list[float]
) -> None:
    """skillratings: test_uscf."""
    found = after_event(before, earlier, [(0, 1, score)])
    assert found.tolist() == pytest.approx(after, abs=1e-10)


def test_new_players_begin_at_50_points_a_year() -> None:
    """The opponent's loss to a child of 10 in 2020 is one to a player of 500."""
    found = [
        rated(
            USCF(),
            {"rating": [1300.0, 1300.0], "rated": [1.0, KNOWN]},
            games([(0, 1, 1.0)], 2, days=[18_300.0], birth_year=[year, 1980]),
        )["rating"][1]
        for year in (2010, 1990)
    ]
    child, adult = found
    assert child < adult < 1300.0


@given(
    before=st.lists(
        st.tuples(st.integers(400, 2600), st.sampled_from([0, 3, 8, 9, 30, 200])),
        min_size=4,
        max_size=4,
    ),
    listed=st.lists(
        st.tuples(
            st.sampled_from([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]),
            st.sampled_from([0.0, 0.5, 1.0]),
        ),
        min_size=1,
        max_size=8,
    ),
)
@examples(150)
def test_an_event_is_the_first_pass_of_the_document(
    before: list[tuple[int, int]], listed: list[tuple[tuple[int, int], float]]
) -> None:
    """Step by step with the document's own procedure, where no floor holds a rating."""
    played = [(first, second, score) for (first, second), score in listed]
    players = [Player(float(rating), earlier) for rating, earlier in before]
    wanted = rate_event(players, played, passes=1)
    found = after_event(
        [float(rating) for rating, _ in before],
        [earlier for _, earlier in before],
        played,
        rated=[1.0 if earlier == 0 else KNOWN for _, earlier in before],
    )
    free = np.array(wanted) > 2100.0
    np.testing.assert_allclose(found[free], np.array(wanted)[free], rtol=0, atol=1e-3)
    # Others may be held by the floor of the rating with which they came.
    for one, rating, (start, earlier) in zip(found, wanted, before, strict=True):
        floor = (start - 200) // 100 * 100 if earlier > 25 and start >= 1400 else 150
        assert one == pytest.approx(rating, abs=1e-3) or (one > rating and one <= floor)


def test_floors() -> None:
    """From 100, with wins, draws and events; and 200 below the highest established rating."""
    beaten = [(0, 1, 0.0)] * 4
    new = after_event([120.0, 100.0], [30, 30], beaten)
    assert new[0] >= 100.0
    held = after_event([1741.0, 800.0], [30, 30], beaten, peak=[1941.0, 0.0])
    assert held[0] == 1700.0
    low = after_event([1399.0, 100.0], [9, 30], [(0, 1, 0.0)] * 9)
    assert low[0] < 1200.0
