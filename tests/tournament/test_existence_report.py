"""The report for an organiser: which sentences a tournament has, by small tournaments."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.data.games import Games
from equipoise.tournament.existence import existence, explain, named
from equipoise.tournament.pairs import gather_pairs

NONE = (
    "No finite ratings predict every player's score exactly: "
    "some players took every point from others, which puts them infinitely far above."
)
ALL = (
    "Finite ratings predict every player's score exactly: "
    "no group of players took every point from another."
)


def told(results: str, games: float | None = None, **options: int) -> list[str]:
    """Return the report on results such as "ann-bob 1, cyd-dan 0.5".

    games : number of games of every result
    """
    rows = [text.split() for text in results.split(", ")]
    white, black = zip(*(names.split("-") for names, _ in rows), strict=True)
    weight = None if games is None else [games] * len(rows)
    played = Games.from_arrays(white, black, [float(row[1]) for row in rows], weight=weight)
    return explain(existence(gather_pairs(played), played.players), played.player_ids, **options)


@pytest.mark.parametrize(
    ("results", "report"),
    [
        ("ann-bob 0.5", [ALL]),
        (
            "ann-bob 0.5, cyd-dan 0.5, dan-eve 0.5",
            [
                ALL,
                "The players form 2 groups that never met, so they cannot be compared: "
                "ann and bob; cyd, dan and eve.",
            ],
        ),
        (
            "ann-bob 1, ann-cyd 1, ann-dan 1, bob-cyd 0.5, bob-dan 1, cyd-dan 1",
            [
                NONE,
                "ann won all 3 games.",
                "dan lost all 3 games.",
                "From the top down: ann; then bob and cyd; then dan.",
            ],
        ),
        (
            "ann-bob 0.5, bob-cyd 1, ann-dan 1, dan-bob 0",
            [
                NONE,
                "cyd played one game and lost it.",
                "dan lost both games.",
                "cyd cannot be placed above or below dan.",
            ],
        ),
        (
            "ann-bob 0.5, cyd-dan 0.5, ann-cyd 1, bob-dan 1",
            [NONE, "ann and bob won both games against cyd and dan."],
        ),
        (  # A player between two groups: both sweeps.
            "ann-bob 0.5, dan-eve 0.5, ann-cyd 1, cyd-dan 1",
            [
                NONE,
                "ann and bob won the only game against cyd.",
                "cyd won the only game against dan and eve.",
                "From the top down: ann and bob; then cyd; then dan and eve.",
            ],
        ),
    ],
)
def test_the_sentences_of_a_tournament(results: str, report: list[str]) -> None:
    assert told(results) == report


@pytest.mark.parametrize(
    ("games", "count"),
    [(1, "the only game"), (2, "both games"), (2.5, "all 2.5 games"), (2e7, "all 20000000 games")],
)
def test_the_number_of_games_is_written_out(games: float, count: str) -> None:
    assert told(f"ann-bob {games}", games=games) == [NONE, f"ann won {count} against bob."]


def test_large_groups_are_summarised() -> None:
    """Six players in a ring of wins; one of another ring lost to one of them."""
    rings = [f"{name}{i}-{name}{(i + 1) % 6} 1" for name in "pq" for i in range(6)]
    assert told(", ".join([*rings, "p0-q0 1"])) == [
        NONE,
        "A group of 6 players (p0, p1, p2, p3 and 2 others) won the only game against "
        "a group of 6 players (q0, q1, q2, q3 and 2 others).",
    ]
    five = np.array(list("abcde"), dtype=object)
    assert named(five, np.arange(5)) == "a, b, c, d and e"


def test_long_reports_are_cut_short() -> None:
    """Thirty players who lost to one: twenty are named, six pairs of them, and the rest counted."""
    report = told(", ".join(f"p{i}-top 0" for i in range(30)))
    assert report[1:3] == ["top won all 30 games.", "p0 played one game and lost it."]
    assert report[20:22] == ["p18 played one game and lost it.", "There are more such results."]
    assert report[22] == "p0 cannot be placed above or below p1."
    # 30 * 29/2 pairs of losers.
    assert report[28:] == ["The same is true of 429 more pairs of players or groups."]
    assert told(", ".join(f"p{i}-p{i + 1} 1" for i in range(7)))[-1].endswith(
        "; then 2 more groups."
    )
    assert told(", ".join(f"p{i}-q{i} 0.5" for i in range(7)))[-1].endswith("; and 1 more group.")
    report = told("ann-bob 1", most_ordered=1)
    assert report[-1] == "There are 2 groups, too many to list which can be compared."


@pytest.mark.parametrize(
    ("idle", "sentence"),
    [
        (1, "p2 played no games."),
        (2, "p2 and p3 played no games."),
        (6, "A group of 6 players (p2, p3, p4, p5 and 2 others) played no games."),
    ],
)
def test_players_without_games_are_named(idle: int, sentence: str) -> None:
    ids = np.array([f"p{i}" for i in range(2 + idle)], dtype=object)
    games = Games(player_ids=ids, white=[0], black=[1], points=[0.5])
    assert explain(existence(gather_pairs(games), games.players), ids) == [ALL, sentence]


def test_no_games_are_no_report() -> None:
    games = Games(player_ids=np.array([7]), white=[], black=[], points=[])
    answer = existence(gather_pairs(games), games.players)
    assert explain(answer, games.player_ids) == [
        "There are no games to rate.",
        "7 played no games.",
    ]
