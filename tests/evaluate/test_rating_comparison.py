"""`compare_ratings`: numbers by hand, properties, and clear sentences where there is none."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise as eq

#: Hints are checked as they are typed on the command line.
pytestmark = pytest.mark.usefixtures("options_in_messages")

BEFORE = {"player": ["ann", "ben", "cid", "dan", "eve"], "rating": [1500, 1600, 1700, 1800, 1400]}
AFTER = {"player": ["ann", "ben", "cid", "dan", "fay"], "rating": [1480, 1690, 1680, 1800, 1999]}


def test_changes_and_places_by_hand() -> None:
    found = eq.compare_ratings(BEFORE, AFTER)
    assert found.players == 4
    assert (found.only_old, found.only_new) == (["eve"], ["fay"])
    assert found.scale == "same"
    table = found.to_polars()
    assert table["player"].to_list() == ["ben", "dan", "cid", "ann", "fay", "eve"]
    assert table["change"].to_list() == [90.0, 0.0, -20.0, -20.0, None, None]
    assert table["old_place"].to_list() == [3, 1, 2, 4, None, None]
    assert table["new_place"].to_list() == [2, 1, 3, 4, None, None]
    assert table["place_change"].to_list() == [1, 0, -1, 0, None, None]
    assert table["found_in"].to_list() == ["both"] * 4 + ["new", "old"]
    assert (found.same_order, found.reverse_order, found.tied) == (5, 1, 0)
    assert found.same_order_share == pytest.approx(5 / 6)
    assert found.kendall == pytest.approx(4 / 6)
    assert found.spearman == pytest.approx(0.8)
    assert found.as_they_are.mean == pytest.approx(12.5)
    assert found.as_they_are.median == pytest.approx(-10.0)
    assert found.as_they_are.mean_absolute == pytest.approx(32.5)


def test_the_line_gives_mean_and_deviation_of_the_new_ratings() -> None:
    found = eq.compare_ratings(BEFORE, {**AFTER, "rating": [20, 25, 24, 30, 1]}, scale="line")
    both = found.in_both
    mapped = found.old_on_scale[both]
    assert mapped.mean() == pytest.approx(found.new_rating[both].mean())
    assert mapped.std() == pytest.approx(found.new_rating[both].std())
    assert found.on_line.mean == pytest.approx(0.0, abs=1e-9)
    assert found.line.residual == pytest.approx(found.change[both].std())
    assert "old_on_scale" in found.to_polars().columns


def test_auto_takes_the_line_if_the_scales_differ() -> None:
    same = eq.compare_ratings(BEFORE, AFTER)
    assert (same.scale, same.reason) == (
        "same",
        "means and standard deviations are nearly the same",
    )
    small = eq.compare_ratings(BEFORE, {**AFTER, "rating": [20, 25, 24, 30, 1]})
    assert (small.scale, small.reason) == ("line", "the standard deviations differ much")
    far = eq.compare_ratings(BEFORE, {**AFTER, "rating": [2480, 2690, 2680, 2800, 1]})
    assert (far.scale, far.reason) == ("line", "the means differ much")


def test_states_know_their_scales() -> None:
    """Also if the ratings of two systems have nearly the same mean and standard deviation."""
    league = eq.read_history("examples/league.csv")
    elo, glicko = (eq.replay(one, league) for one in (eq.Elo(), eq.Glicko2()))
    found = eq.compare_ratings(elo.state, glicko.state, names=("elo", "glicko2"))
    assert (found.scale, found.reason) == ("line", "elo has ratings of elo, not of glicko2")
    again = eq.compare_ratings(elo, eq.replay(eq.Elo(k=20), league))
    assert (again.scale, again.reason) == ("same", "both tables have ratings of elo")
    assert eq.compare_ratings(elo.ratings, glicko.ratings).scale == "same"


def test_a_saved_state_and_its_table_agree_exactly(tmp_path: Path) -> None:
    done = eq.replay(eq.Glicko2(), eq.read_history("examples/league.csv"))
    done.state.save(tmp_path / "pool.npz")
    eq.write_table(done, tmp_path / "ratings.parquet")
    found = eq.compare_ratings(tmp_path / "pool.npz", str(tmp_path / "ratings.parquet"))
    assert not found.change.any()
    assert (found.pearson, found.spearman, found.kendall) == (1.0, 1.0, 1.0)
    assert found.with_deviations == found.players
    assert found.large == 0
    assert found.risen().is_empty()


def test_a_change_is_large_beyond_two_deviations_of_both() -> None:
    """3-4-5: the deviation of both is 50."""
    before = {**BEFORE, "deviation": [30, 30, 30, 30, 30]}
    after = {**AFTER, "deviation": [40, 40, 40, None, 40], "rating": [1480, 1701, 1680, 1900, 1]}
    found = eq.compare_ratings(before, after, scale="same")
    assert found.with_deviations == 3
    assert found.large == 1
    assert found.risen(2)["in_deviations"].to_list() == [101 / 50, None]


def test_equals_share_the_better_place() -> None:
    found = eq.compare_ratings(
        {"player": list("abc"), "rating": [10, 10, 5]}, {"player": list("abc"), "rating": [3, 2, 2]}
    )
    assert found.old_place.tolist() == [1, 1, 3]
    assert found.new_place.tolist() == [1, 2, 2]
    assert found.tied == 2


@settings(max_examples=30)
@given(
    st.lists(st.floats(-1e4, 1e4), min_size=3, max_size=20, unique=True),
    st.randoms(use_true_random=False),
)
def test_the_other_direction_is_the_reverse(ratings: list[float], random: object) -> None:
    """Correlations and pairs are the same; places and changes have the other sign."""
    shuffled = list(ratings)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    names = [f"p{number}" for number in range(len(ratings))]
    one, other = ({"player": names, "rating": values} for values in (ratings, shuffled))
    there, back = (eq.compare_ratings(*pair, scale="same") for pair in ((one, other), (other, one)))
    assert there.change.tolist() == (-back.change).tolist()
    assert there.place_change.tolist() == (-back.place_change).tolist()
    assert there.kendall == back.kendall
    assert there.same_order == back.same_order
    assert (there.line is None) == (back.line is None)
    if there.line is not None and back.line is not None:
        assert there.line.slope == pytest.approx(1 / back.line.slope)


@pytest.mark.parametrize("players", [1, 2])
def test_few_common_players_have_changes_only(players: int) -> None:
    after = {"player": AFTER["player"][:players], "rating": AFTER["rating"][:players]}
    found = eq.compare_ratings(BEFORE, after)
    assert found.players == players
    assert math.isnan(found.pearson)
    assert math.isnan(found.kendall)
    assert found.line is None
    assert any("too few for correlations and a line" in note for note in found.notes)
    assert found.scale == "same"
    with pytest.raises(eq.InvalidParameterError, match=r"cannot be line.*too few"):
        eq.compare_ratings(BEFORE, after, scale="line")
    assert len(found.to_polars()) == 5


def test_ratings_against_each_other_have_no_line() -> None:
    after = {"player": BEFORE["player"], "rating": [5, 4, 3, 2, 6]}
    found = eq.compare_ratings(BEFORE, after)
    assert found.kendall == -1.0
    assert found.scale == "same"
    assert any("no rising line between the scales" in note for note in found.notes)


def test_without_a_common_player_both_tables_are_named() -> None:
    with pytest.raises(eq.InvalidDataError) as refused:
        eq.compare_ratings(BEFORE, {"player": ["x", "y"], "rating": [1, 2]})
    told = str(refused.value)
    assert "old has ann, ben, cid and 2 more, and new has x, y" in told
    assert "--column player=COLUMN" in told
    assert "--synonyms" in told


def test_players_without_a_rating_are_left_out_and_named() -> None:
    frame = pl.DataFrame({"player": ["ann", "ben", "cid"], "rating": [1500.0, None, math.nan]})
    found = eq.compare_ratings(frame, AFTER)
    assert found.players == 1
    assert "old: 2 players without a rating left out: ben, cid" in found.notes


def test_synonyms_and_likely_doubles() -> None:
    before = {"player": ["Carlsen, Magnus", "Hou Yifan", "Ding, L."], "rating": [2830, 2650, 2760]}
    after = {"player": ["Magnus Carlsen", "Hou Yifan", "Ding, Liren"], "rating": [2840, 2640, 2700]}
    found = eq.compare_ratings(before, after)
    assert found.players == 1
    assert "'Carlsen, Magnus' (old) and 'Magnus Carlsen' (new) may be one player" in found.notes
    assert any("--synonyms FILE" in note for note in found.notes)
    merged = eq.compare_ratings(
        before, after, synonyms={"Magnus Carlsen": "Carlsen, Magnus", "nobody": "no one"}
    )
    assert merged.players == 2
    assert "of the synonyms, these are in neither table: no one" in merged.notes
    with pytest.raises(eq.InvalidDataError, match="must not repeat a player"):
        eq.compare_ratings(before, after, synonyms={"Hou Yifan": "Ding, L."})


def test_several_columns_that_can_be_meant_are_refused() -> None:
    listed = {"Name": BEFORE["player"], "ID": [1, 2, 3, 4, 5], "Elo": BEFORE["rating"]}
    with pytest.raises(eq.InvalidDataError, match="--column player=Name or --column player=ID"):
        eq.compare_ratings(listed, AFTER)
    assert eq.compare_ratings(listed, AFTER, columns={"player": "Name"}).players == 4
    with pytest.raises(eq.InvalidParameterError, match="player=Nme, and neither"):
        eq.compare_ratings(BEFORE, AFTER, columns={"player": "Nme"})


def test_many_players_are_compared_quickly_and_exactly() -> None:
    """The count of pairs is a whole number beyond 2^31."""
    rng = np.random.default_rng(0)
    ratings = rng.normal(1500, 300, 80_000)
    names = np.arange(80_000)
    found = eq.compare_ratings(
        {"player": names, "rating": ratings}, {"player": names[::-1], "rating": ratings}
    )
    assert found.pairs == 80_000 * 79_999 // 2
    assert found.same_order + found.reverse_order == found.pairs
    # Random order, to three deviations of tau without correlation.
    assert abs(found.kendall) < 3 * 2 / (3 * math.sqrt(80_000))


def test_duplicates_and_bad_numbers_are_listed_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("player,rating\nann,1500\nann,1600\nben,high\ncid,inf\n,1400\n")
    with pytest.raises(eq.InvalidDataError) as refused:
        eq.compare_ratings(str(path), AFTER)
    rules = [(one.line, one.field, one.rule) for one in refused.value.problems]
    assert [(line, field) for line, field, _ in rules] == [
        (3, "player"),
        (4, "rating"),
        (5, "rating"),
        (6, "player"),
    ]
    assert "--column player=COLUMN" in rules[0][2]


def test_matches_instead_of_ratings_name_the_command_that_rates_them() -> None:
    with pytest.raises(eq.InvalidDataError, match="equipoise rate FILE --output"):
        eq.compare_ratings("examples/contests.csv", AFTER)
