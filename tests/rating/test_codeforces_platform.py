"""`codeforces` by the platform's rules: real changes, the slow reference, parts, odd ratings."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.arrays import Floats, Ints
from equipoise.data.explanation import Explanation
from equipoise.rating.explaining import explain_change
from equipoise.rating.state import State
from equipoise.rating.systems.codeforces import Codeforces
from equipoise.rating.systems.codeforces_platform import best_players, platform_round
from rating.histories import (
    Contest,
    Trace,
    contests,
    history_of,
    needs_jit,
    one_contest,
    rate,
    run,
    shared_file,
    standing,
)
from reference.codeforces import Round, SlowPlatform

PLATFORM = Codeforces(rules="platform", rate_all_ties=True)

#: 400 points are ten to one.
SLOPE = math.log(10.0) / 400.0


def rated(ratings: Sequence[float] | Floats, system: Codeforces = PLATFORM) -> State:
    """Return the state of players who stand at these ratings."""
    return standing(system, rating=ratings)


def one(ratings: Sequence[float] | Floats, ranks: Sequence[int] | Ints) -> Trace:
    """Rate one contest of players at these ratings."""
    return rate(PLATFORM, rated(ratings), one_contest(ranks))


def real_contest(number: int) -> pl.DataFrame:
    """Return a real contest with the ranks that its points and penalties make."""
    table = pl.read_csv(shared_file("golden", "codeforces_platform_changes.csv"))
    order = pl.struct(-pl.col("points"), "penalty").rank("dense").cast(pl.Int64) - 1
    return table.filter(pl.col("contest") == number).with_columns(order.alias("rank"))


# --- the platform's own numbers ------------------------------------------------------------------


@needs_jit
@pytest.mark.parametrize(("number", "players"), [(1342, 14_939), (1349, 1_248), (1305, 7_420)])
def test_every_real_change_comes_out(number: int, players: int) -> None:
    """`golden/README.md`: points, penalty, rating before, change; whole numbers, exact."""
    contest = real_contest(number)
    assert contest.height == players
    before = contest["rating_before"].cast(pl.Float64).to_numpy()
    trace = one(before, contest["rank"].to_numpy())
    np.testing.assert_array_equal(trace["rating"] - before, contest["change"].to_numpy())


# --- by hand, and the slow reference -------------------------------------------------------------


def test_a_duel_of_newcomers_by_hand() -> None:
    """s = 3/2 for both; the winner needs W = 0.2247, the loser W = 0.7320 against 1500.

    1500 + 400 log10(1/0.22474 - 1) = 1715.04 and 1325.4: half of 215 and -175 is 107 and -87. Their
    sum is 20, so -10 - 1 is added to each. Both are among the best; their sum is -2 now: nothing.
    """
    trace = one([1500.0, 1500.0], [0, 1])
    assert trace["performance"].tolist() == [1715.0, 1325.0]
    assert trace["rating"].tolist() == [1500 + 107 - 11, 1500 - 87 - 11]
    # Compiled and as plain Python, exp differs by a rounding.
    assert trace["expected"].tolist() == pytest.approx([0.5, 0.5], abs=1e-12)


def test_the_search_ends_at_its_bounds() -> None:
    """[CF]: needed ratings are whole numbers from 1 to 7,999."""
    trace = one([7990.0, 7990.0, 100.0], [0, 1, 2])
    assert trace["performance"].max() == 7999.0
    trace = one([-300.0, -300.0, 3000.0], [1, 2, 0])
    assert trace["performance"].min() == 1.0


def test_a_place_that_is_expected_exactly() -> None:
    """The player in the middle is expected second, and is second: 137, or by rounding 136."""
    trace = one([31.0, 137.0, 243.0], [0, 0, 1])
    assert trace["performance"].tolist() in ([117.0, 136.0, 20.0], [117.0, 137.0, 20.0])
    assert trace["rating"].tolist() == [95.0, 158.0, 153.0]


def check_needed(slow: SlowPlatform, contest: Contest, done: Round, found: list[float]) -> None:
    """Hold the needed ratings against the reference.

    They are equal, unless a whole number is expected in exactly the place that is sought, as in the
    test above: rounding then decides whether that number or the one below it is the answer.
    """
    for i, (one, other) in enumerate(zip(found, done.performance, strict=True)):
        if one == other:
            continue
        assert abs(one - other) == 1.0
        rivals = [int(rating) for rating in done.rating_before]
        n = len(rivals)
        seed = n - done.expected[i] * (n - 1)
        place = sum(rank <= contest.ranks[i] for rank in contest.ranks)
        del rivals[i]
        at = slow.place(rivals, int(max(one, other)), 400.0)
        assert at == pytest.approx(math.sqrt(place * seed), rel=1e-14)


@examples(150)
@given(contests(timed=None, weighted=False, max_contests=8), st.integers(-200, 4_000))
def test_every_rating_equals_that_of_the_slow_reference(
    played: list[Contest], initial: int
) -> None:
    """Duels, ties, contests that are skipped; whole numbers, so they are equal and not near."""
    slow = SlowPlatform(initial_rating=initial)
    state, trace = run(Codeforces(rules="platform", initial_rating=initial), played)
    start = 0
    for contest in played:
        done = slow.rate(contest.players, contest.ranks)
        rows = slice(start, start + len(contest.players))
        for name in ("rating_before", "rating"):
            expected = getattr(done, name) if done else [math.nan] * len(contest.players)
            np.testing.assert_array_equal(trace[name][rows], expected)
        if done is None:
            assert np.isnan(trace["performance"][rows]).all()
        else:
            check_needed(slow, contest, done, trace["performance"][rows].tolist())
            np.testing.assert_allclose(trace["expected"][rows], done.expected, rtol=0, atol=1e-12)
        start = rows.stop
    ratings = [slow.ratings.get(row, initial) for row in range(state.players)]
    assert state.column("rating").tolist() == ratings


def test_the_weight_of_a_match_acts_as_in_the_authors_rules() -> None:
    """beta over its square root, weight times it."""
    ratings = [1400.0, 1500.0, 1700.0]
    system = Codeforces(rules="platform", beta=200.0, weight=0.5)
    other = Codeforces(rules="platform", beta=100.0, weight=2.0)
    weighted = history_of([Contest((0, 1, 2), (1, 0, 2), weight=4.0)])
    trace = rate(system, rated(ratings, system), weighted)
    for name, column in rate(other, rated(ratings, other), one_contest([1, 0, 2])).items():
        np.testing.assert_array_equal(trace[name], column)


def test_who_counts_among_the_best() -> None:
    """4 round(sqrt n), all up to 16 players; of equals those who finished first."""
    sizes = (2, 15, 16, 17, 30, 31, 14_939)
    assert [best_players(n) for n in sizes] == [2, 15, 16, 16, 20, 24, 488]
    # 30 players; 19 above, and one of 11 equals is the twentieth.
    ratings = np.array([2000.0] * 19 + [1500.0] * 11)
    ranks = np.array([*range(11, 30), *range(11)])
    done = platform_round(ratings, ranks, SLOPE, 0.5)
    taken = done.changes + done.from_everyone
    best = float(taken[:19].sum() + taken[19])
    assert done.for_the_best == min(max(math.trunc(-best / 20), -10), 0)


# --- what differs from the platform --------------------------------------------------------------


def test_ratings_that_are_no_whole_numbers_are_rounded_first() -> None:
    """A half up; what comes out is whole, and the explanation has the rounding as a part."""
    odd, whole = [1500.5, 1622.4, 1499.6], [1501.0, 1622.0, 1500.0]
    trace = one(odd, [1, 0, 2])
    assert trace["rating_before"].tolist() == odd
    assert trace["rating"].tolist() == one(whole, [1, 0, 2])["rating"].tolist()
    found = explain_change(PLATFORM, rated(odd), one_contest([1, 0, 2]), 0, 1)
    assert found.contributions[0].name == "rounding before"
    assert found.contributions[0].change == pytest.approx(-0.4, abs=1e-9)


# --- explanations --------------------------------------------------------------------------------


def part(found: Explanation, name: str) -> float:
    """Return the change of a contribution."""
    return next(one.change for one in found.contributions if one.name == name)


@needs_jit
def test_both_deflations_are_parts_of_a_real_change() -> None:
    """Contest 1305: 9 points are taken from all players, and 9 more because of the best."""
    contest = real_contest(1305)
    before = contest["rating_before"].cast(pl.Float64).to_numpy()
    history, state = one_contest(contest["rank"].to_numpy()), rated(before)
    for row in (0, 700, 7_000):
        found = explain_change(PLATFORM, state, history, 0, row)
        assert part(found, "against inflation: points taken from all players") == -9.0
        assert part(found, "against inflation: points taken because of the best") == -9.0
        assert abs(part(found, "rounding")) < 1.5
        total = math.fsum(one.change for one in found.contributions)
        assert total == pytest.approx(contest["change"][row], abs=1e-9)


def test_a_tie_is_explained_as_the_place_that_it_takes() -> None:
    """Of four equals who tie everyone has the last place: three ties that count as losses."""
    found = explain_change(PLATFORM, rated([1500.0] * 4), one_contest([0, 0, 0, 0]), 0, 1)
    tied = found.contributions[0]
    assert tied.name == "players tied with"
    assert tied.reason == "scored 0 where 1.50 was expected"
    assert tied.change < -50.0
    places = {one.name: one.value for one in found.quantities}
    assert places["expected place"] == pytest.approx(2.5, abs=1e-12)
    assert places["place"] == 4.0
    assert found.score == 0.5
