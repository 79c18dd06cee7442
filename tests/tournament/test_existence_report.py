"""The words for an organiser: one small tournament a sentence."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.data.games import Games
from equipoise.tournament.existence import existence, explain, named
from equipoise.tournament.pairs import gather_pairs
from tournament.drawn_tournaments import world_cup_2022

NONE = (
    "No finite ratings predict every player's score exactly: "
    "some players took every point from others, which puts them infinitely far above."
)
ALL = (
    "Finite ratings predict every player's score exactly: "
    "no group of players took every point from another."
)


def told(
    *results: tuple[str, str, float], games: list[float] | None = None, **options
) -> list[str]:
    """Return the report on (player, opponent, points)."""
    white, black, points = zip(*results, strict=True)
    played = Games.from_arrays(list(white), list(black), list(points), weight=games)
    return explain(existence(gather_pairs(played), played.players), played.player_ids, **options)


def test_an_equilibrium_is_one_sentence() -> None:
    assert told(("ann", "bob", 0.5)) == [ALL]


def test_who_never_met_cannot_be_compared() -> None:
    assert told(("ann", "bob", 0.5), ("cyd", "dan", 0.5), ("dan", "eve", 0.5)) == [
        ALL,
        "The players form 2 groups that never met, so they cannot be compared: "
        "ann and bob; cyd, dan and eve.",
    ]


def test_who_lost_or_won_everything_is_named() -> None:
    """Ann won three games, Dan lost three; Bob and Cyd drew."""
    report = told(
        ("ann", "bob", 1.0),
        ("ann", "cyd", 1.0),
        ("ann", "dan", 1.0),
        ("bob", "cyd", 0.5),
        ("bob", "dan", 1.0),
        ("cyd", "dan", 1.0),
    )
    assert report == [
        NONE,
        "ann won all 3 games.",
        "dan lost all 3 games.",
        "From the top down: ann; then bob and cyd; then dan.",
    ]


def test_one_game_and_two_games_have_words_of_their_own() -> None:
    """Ann beat Bob once, Cyd lost to both of them; a pair that met nobody else is one sentence."""
    report = told(("ann", "bob", 0.5), ("bob", "cyd", 1.0), ("ann", "dan", 1.0), ("dan", "bob", 0))
    assert report == [
        NONE,
        "cyd played one game and lost it.",
        "dan lost both games.",
        "cyd cannot be placed above or below dan.",
    ]
    assert told(("ann", "bob", 1.0)) == [NONE, "ann won the only game against bob."]
    assert told(("ann", "bob", 2.0), games=[2.0]) == [NONE, "ann won both games against bob."]
    assert told(("ann", "bob", 2.5), games=[2.5]) == [NONE, "ann won all 2.5 games against bob."]
    assert told(("ann", "bob", 2e7), games=[2e7]) == [
        NONE,
        "ann won all 20000000 games against bob.",
    ]


def test_groups_that_swept_groups_are_listed_by_name() -> None:
    report = told(
        ("ann", "bob", 0.5), ("cyd", "dan", 0.5), ("ann", "cyd", 1.0), ("bob", "dan", 1.0)
    )
    assert report == [NONE, "ann and bob won both games against cyd and dan."]


def test_a_player_between_two_groups_is_told_by_both_sweeps() -> None:
    """Cyd lost to Ann and Bob, and beat Dan and Eve."""
    report = told(
        ("ann", "bob", 0.5), ("dan", "eve", 0.5), ("ann", "cyd", 1.0), ("cyd", "dan", 1.0)
    )
    assert report == [
        NONE,
        "ann and bob won the only game against cyd.",
        "cyd won the only game against dan and eve.",
        "From the top down: ann and bob; then cyd; then dan and eve.",
    ]


def test_large_groups_are_summarised() -> None:
    """Six players in a ring of wins; a seventh lost to one of them."""
    ring = [(f"p{i}", f"p{(i + 1) % 6}", 1.0) for i in range(6)]
    other = [(f"q{i}", f"q{(i + 1) % 6}", 1.0) for i in range(6)]
    report = told(*ring, *other, ("p0", "q0", 1.0))
    assert report == [
        NONE,
        "A group of 6 players (p0, p1, p2, p3 and 2 others) won the only game against "
        "a group of 6 players (q0, q1, q2, q3 and 2 others).",
    ]
    five = np.array(list("abcde"), dtype=object)
    assert named(five, np.arange(5)) == "a, b, c, d and e"


def test_long_reports_are_cut_short() -> None:
    """Thirty players who lost to one: twenty are named, six pairs of them, and the rest counted."""
    report = told(*((f"p{i}", "top", 0.0) for i in range(30)))
    assert report[1:3] == ["top won all 30 games.", "p0 played one game and lost it."]
    assert report[20:22] == ["p18 played one game and lost it.", "There are more such results."]
    assert report[22] == "p0 cannot be placed above or below p1."
    # 30 * 29/2 pairs of losers.
    assert report[28:] == ["The same is true of 429 more pairs of players or groups."]
    chain = told(*((f"p{i}", f"p{i + 1}", 1.0) for i in range(7)))
    assert chain[-1] == (
        "From the top down: p0; then p1; then p2; then p3; then p4; then p5; then 2 more groups."
    )
    pairs = told(*((f"p{i}", f"q{i}", 0.5) for i in range(7)))
    assert pairs[-1].endswith("p5 and q5; and 1 more group.")
    report = told(("ann", "bob", 1.0), most_ordered=1)
    assert report[-1] == "There are 2 groups, too many to list which can be compared."


@pytest.mark.parametrize(
    ("idle", "sentence"),
    [
        (1, "p2 played no games."),
        (2, "p2 and p3 played no games."),
        (6, "A group of 6 players (p2, p3, p4, p5 and 2 others) played no games."),
    ],
)
def test_who_did_not_play_is_said_so(idle, sentence) -> None:
    ids = np.array([f"p{i}" for i in range(2 + idle)], dtype=object)
    games = Games(player_ids=ids, white=[0], black=[1], points=[0.5])
    answer = existence(gather_pairs(games), games.players)
    assert explain(answer, ids) == [ALL, sentence]


def test_no_games_are_no_report() -> None:
    games = Games(player_ids=np.array([7]), white=[], black=[], points=[])
    answer = existence(gather_pairs(games), games.players)
    assert explain(answer, games.player_ids) == [
        "There are no games to rate.",
        "7 played no games.",
    ]


def test_the_world_cup_of_2022() -> None:
    """Both last of their group without a point, and one half of the field over the other."""
    games = world_cup_2022()
    report = explain(existence(gather_pairs(games), games.players), games.player_ids)
    half = "a group of 15 players (Germany, Japan, Spain, Costa Rica and 11 others)"
    assert report == [
        NONE,
        "Qatar lost all 3 games.",
        "Canada lost all 3 games.",
        "A group of 15 players (Ecuador, Senegal, Netherlands, England and 11 others) "
        f"won both games against {half}.",
        f"Qatar cannot be placed above or below {half}.",
        "Qatar cannot be placed above or below Canada.",
    ]
