"""From names to players: order, synonyms, ratings, what is left out, and what is pointed out."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise.data.games as rules
from drawing import examples
from equipoise.data.games import Games, id_array
from equipoise.data.reading import GamesReading
from equipoise.errors import Problem
from equipoise.formats.games.columns import GameColumns
from equipoise.formats.games.reading import GAME, assemble_games
from formats.reading_games import rows_of


def columns(
    white: list[Any],
    black: list[Any],
    points: list[float],
    *,
    others: list[Any] | None = None,
    players: list[Any] | None = None,
    **more: Any,
) -> GameColumns:
    """Return games of ids; players : the list of ids, else one in another order than the games."""
    ids = players or sorted({*white, *black, *(others or ())}, reverse=True)

    def rows(those: list[Any]) -> Any:
        return np.array([ids.index(one) for one in those], dtype=np.int64)

    return GameColumns(
        players=id_array(ids),
        white=rows(white),
        black=rows(black),
        points=np.array(points, float),
        others=None if others is None else rows(others),
        **more,
    )


def assembled(reading: GamesReading) -> Games:
    assert reading.problems == ()
    assert reading.games is not None
    return reading.games


def line(row: int) -> tuple[str, int | None]:
    """Return where rows of these examples are said to come from."""
    return "club.pgn", 10 * row + 1


def test_ids_become_rows_in_the_order_in_which_they_appear() -> None:
    found = columns(["cy", "al"], ["bo", "di"], [1, 0], others=["ed", "al", "fay"])
    games = assembled(assemble_games(found))
    assert games.player_ids.tolist() == ["cy", "bo", "al", "di", "ed", "fay"]
    assert games.white.tolist() == [0, 2]
    assert games.black.tolist() == [1, 3]


def test_players_whom_no_row_names_are_not_players_of_these_games() -> None:
    found = columns(
        ["cy", "al"],
        ["al", "bo"],
        [1, 0.5],
        players=["al", "bo", "cy", "di", "nobody"],
        others=["di", "bo"],
    )
    games = assembled(assemble_games(found))
    assert rows_of(games) == [("cy", "al", 1, 1), ("al", "bo", 0.5, 1)]
    assert games.player_ids.tolist() == ["cy", "al", "bo", "di"]


def test_a_game_against_oneself_is_a_problem_with_its_line() -> None:
    found = columns(["a", "b"], ["b", "b"], [1, 1], locate=line)
    reading = assemble_games(found)
    assert reading.games is None
    assert reading.problems == (Problem("club.pgn", 11, "opponent", rules.OTHER, "'b'"),)


def test_synonyms_join_names_and_nothing_else_does() -> None:
    found = columns(["Li Chao2", "Li Chao"], ["x", "y"], [1, 1], others=["Li Chao3"])
    apart = assembled(assemble_games(found))
    assert apart.players == 5
    games = assembled(assemble_games(found, synonyms={"Li Chao2": "Li Chao"}))
    assert rows_of(games) == [("Li Chao", "x", 1, 1), ("Li Chao", "y", 1, 1)]
    assert games.player_ids.tolist() == ["Li Chao", "x", "y", "Li Chao3"]


def test_synonyms_may_lead_to_a_name_that_no_game_has() -> None:
    games = assembled(
        assemble_games(columns(["a", "b"], ["c", "c"], [1, 1]), synonyms={"a": "new", "b": "new"})
    )
    assert rows_of(games) == [("new", "c", 1, 1), ("new", "c", 1, 1)]


def test_synonyms_of_whole_numbers_stay_whole_where_they_can() -> None:
    found = columns([1, 2], [3, 3], [1, 0])
    assert assembled(assemble_games(found, synonyms={"2": "1"})).player_ids.tolist() == [1, 3]
    assert assembled(assemble_games(found, synonyms={"2": "7"})).player_ids.tolist() == [1, 3, 7]
    named = assembled(assemble_games(found, synonyms={"2": "bo"}))
    assert named.player_ids.tolist() == ["1", "3", "bo"]


def test_synonyms_of_nobody_are_noted() -> None:
    found = columns(["a"], ["b"], [1])
    reading = assemble_games(found, synonyms={f"x{at}": "y" for at in range(6)})
    assert reading.notes == (
        "names in the synonyms that do not occur: 'x0', 'x1', 'x2', 'x3' and 2 more",
    )


def test_the_first_rating_is_the_initial_one_and_others_are_noted() -> None:
    found = columns(
        ["a", "b", "a"],
        ["b", "a", "c"],
        [1, 0, 0.5],
        white_rating=np.array([np.nan, 1400.0, 1510.0]),
        black_rating=np.array([1405.0, 1500.0, np.nan]),
        others=["d", "c"],
        other_rating=np.array([1300.0, np.nan]),
    )
    reading = assemble_games(found)
    games = assembled(reading)
    assert games.player_ids.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(games.initial, [1500.0, 1405.0, np.nan, 1300.0])
    # A game that gives no rating has the initial one.
    assert games.white_rating is not None
    assert games.black_rating is not None
    np.testing.assert_array_equal(games.white_rating, [1500.0, 1400.0, 1510.0])
    np.testing.assert_array_equal(games.black_rating, [1405.0, 1500.0, np.nan])
    assert reading.notes == (
        "ratings differ between games; the first one is the initial rating: "
        "a (1500, 1510), b (1405, 1400)",
    )


def test_ratings_that_never_change_need_no_columns_of_their_own() -> None:
    same = columns(["a", "a"], ["b", "b"], [1, 0], white_rating=np.array([1500.0, np.nan]))
    games = assembled(assemble_games(same))
    assert games.white_rating is None
    assert games.black_rating is None
    nobody = columns(["a"], ["b"], [1], white_rating=np.array([np.nan]))
    assert assembled(assemble_games(nobody)).rating is None


def test_many_players_with_changing_ratings_are_counted() -> None:
    ids = [f"p{at}" for at in range(9)]
    found = columns(
        ids * 2, ["z"] * 18, [1.0] * 18, white_rating=np.arange(18.0) + 1500, weight=np.ones(18)
    )
    [note] = assemble_games(found).notes
    assert note.endswith(
        "p0 (1500, 1509), p1 (1501, 1510), p2 (1502, 1511), p3 (1503, 1512) and 5 more"
    )


def round_robin(players: int) -> list[tuple[str, str]]:
    return list(combinations([f"p{at}" for at in range(players)], 2))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (round_robin(6), None),
        (round_robin(6) * 2, None),
        ([*round_robin(6), ("p1", "p0")], "most pairings occur once, .* occur more often: p0 - p1"),
        ([*round_robin(6) * 2, ("p1", "p0")], "most pairings occur twice, .*: p0 - p1"),
        # One game too many where another one is missing: a name that was mistaken.
        ([*round_robin(6)[:-1], ("p1", "p0")], "most pairings occur once, .*: p0 - p1"),
        # No round robin: a match, a small event, games at random.
        ([("a", "b")] * 6, None),
        ([*round_robin(3), ("p1", "p0")], None),
        (round_robin(9)[::4] * 2 + round_robin(9)[::7], None),
        ([("hub", f"p{at}") for at in range(9)] * 2, None),
    ],
)
def test_pairings_that_occur_again_are_noted_in_a_round_robin(
    pairs: list[tuple[str, str]], expected: str | None
) -> None:
    import re

    found = columns([one for one, _ in pairs], [two for _, two in pairs], [1.0] * len(pairs))
    notes = assemble_games(found).notes
    assert len(notes) == (expected is not None)
    if expected is not None:
        assert re.fullmatch(expected.replace("..*", ".*"), notes[0])


def test_likely_doubles_are_pointed_out_and_not_merged() -> None:
    found = columns(["Li Chao2", "Carlsen, Magnus"], ["Li Chao", "Carlsen,M"], [1, 0])
    reading = assemble_games(found)
    assert assembled(reading).players == 4
    assert reading.notes == (
        "'Li Chao2' and 'Li Chao' may be one player",
        "'Carlsen, Magnus' and 'Carlsen,M' may be one player",
    )


def test_what_is_left_out_is_told_in_one_order() -> None:
    left_out = Counter({"filtered": 4, "odd": 1, "bye": 2, "unfinished": 1, "forfeit": 0})
    reading = assemble_games(columns(["a"], ["b"], [1], left_out=left_out))
    assert list(reading.left_out.items()) == [
        ("unfinished", 1),
        ("bye", 2),
        ("filtered", 4),
        ("odd", 1),
    ]


def test_a_source_without_a_game_is_a_problem_that_says_what_it_had() -> None:
    nothing = assemble_games(columns([], [], []), "club.csv")
    assert nothing.problems == (Problem("club.csv", None, "", GAME, "none"),)
    left = columns([], [], [], left_out=Counter(unfinished=1200, bye=1), others=["a"])
    [problem] = assemble_games(left).problems
    assert problem.got == "none, but 1,200 unfinished, 1 bye"


def test_problems_of_the_reader_and_of_names_stand_in_the_order_of_lines() -> None:
    told = (Problem("club.pgn", 30, "x", "must", ""), Problem("club.pgn", 2, "y", "must", ""))
    found = columns(["a", "b"], ["a", "b"], [1, 1], problems=told, locate=line)
    reading = assemble_games(found)
    assert [one.line for one in reading.problems] == [1, 2, 11, 30]
    assert reading.games is None


def test_what_a_reader_lets_through_is_still_checked_with_its_line() -> None:
    found = columns(["a", "b"], ["b", "a"], [1, 2], locate=line)
    [problem] = assemble_games(found).problems
    assert (problem.file, problem.line, problem.field) == ("club.pgn", 11, "points")
    assert problem.rule == rules.POINTS


def test_draws_follow_from_points_of_single_games() -> None:
    games = assembled(assemble_games(columns(["a", "b"], ["b", "a"], [0.5, 1])))
    assert games.draws.tolist() == [1.0, 0.0]
    shares = assembled(assemble_games(columns(["a", "b"], ["b", "a"], [0.3, 1])))
    assert shares.draws is None


IDS = st.sampled_from(["al", "bo", "cy", "di", "ed"])
PAIRS = st.lists(
    st.tuples(IDS, IDS).filter(lambda pair: pair[0] != pair[1]), min_size=1, max_size=9
)


@examples(60)
@given(pairs=PAIRS, others=st.lists(IDS, max_size=3), data=st.data())
def test_totals_do_not_depend_on_how_ids_are_handed_over(
    pairs: list[tuple[str, str]], others: list[str], data: st.DataObject
) -> None:
    """As ids row by row, or as rows of a list of players in any order; counted by hand."""
    points = data.draw(
        st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=len(pairs), max_size=len(pairs))
    )
    order = data.draw(st.permutations(["al", "bo", "cy", "di", "ed"]))
    given = [one for one, _ in pairs], [two for _, two in pairs], points
    plain = columns(*given, others=others)
    coded = columns(*given, others=others, players=order)
    expected: Counter[str] = Counter(
        dict.fromkeys([*(id for pair in pairs for id in pair), *others], 0)
    )
    for (one, two), won in zip(pairs, points, strict=True):
        expected[one] += won  # type: ignore[assignment]  # halves
        expected[two] += 1 - won  # type: ignore[assignment]
    for found in (plain, coded):
        games = assembled(assemble_games(found))
        assert games.player_ids.tolist() == list(expected)
        assert games.scored().tolist() == list(expected.values())
