"""Long histories of matches between two players, read as games."""

from __future__ import annotations

import pytest

from equipoise.errors import InvalidParameterError
from equipoise.formats.games.games_of import DUEL
from equipoise.formats.games.reading import read_games
from formats.comparing import real_data
from formats.reading_games import problems, rows, rows_of, scan


def test_ranks_decide_and_equal_ranks_are_draws() -> None:
    text = "match,player,rank\n1,ann,1\n1,bob,2\n2,bob,0\n2,ann,0\n3,cyd,3\n3,ann,2\n"
    assert rows(text) == [("ann", "bob", 1, 1), ("bob", "ann", 0.5, 1), ("cyd", "ann", 0, 1)]
    games = scan(text).games
    assert not games.coloured
    assert games.draws.tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("text", "games"),
    [
        ("match,player,score\n1,7,3\n1,8,1\n2,8,2\n2,7,2\n", [(7, 8, 1, 1), (8, 7, 0.5, 1)]),
        ("match,player,winner\n1,7,7\n1,8,7\n2,8,\n2,7,\n", [(7, 8, 1, 1), (8, 7, 0.5, 1)]),
        # Where there are opponents, a score is one of a table of pairs.
        ("match,player,opponent,score\n1,7,8,1\n", [(7, 8, 1, 1)]),
    ],
)
def test_scores_and_winners_may_decide_instead(text: str, games: list[tuple[float, ...]]) -> None:
    assert rows(text) == games


@pytest.mark.parametrize(
    ("column", "home", "away"),
    [
        ("at_home", "true", "false"),
        ("at_home", "1", "0"),
        ("side", "White", "Black"),
        ("colour", "w", "b"),
        ("home", "yes", "no"),
    ],
)
def test_the_one_at_home_comes_first(column: str, home: str, away: str) -> None:
    text = f"match,player,rank,{column}\n1,a,1,{away}\n1,b,2,{home}\n2,b,1,{home}\n2,a,2,{away}\n"
    assert rows(text) == [("b", "a", 0.0, 1.0), ("b", "a", 1.0, 1.0)]
    games = scan(text).games
    assert games.coloured


def test_a_match_on_neutral_ground_leaves_nobody_at_home() -> None:
    text = "match,player,rank,at_home\n1,a,1,0\n1,b,2,1\n2,b,1,0\n2,a,2,0\n3,b,1,1\n3,a,2,1\n"
    games = scan(text).games
    assert rows_of(games) == [("b", "a", 0.0, 1.0), *[("b", "a", 1.0, 1.0)] * 2]
    assert not games.coloured


def test_ratings_and_weights_are_taken() -> None:
    text = "match,player,rank,rating,weight\n1,a,1,1500,2\n1,b,2,-,2\n2,b,1,1400,1\n2,a,1,1510,1\n"
    games = scan(text).games
    assert rows_of(games) == [("a", "b", 2.0, 2.0), ("b", "a", 0.5, 1.0)]
    assert games.initial.tolist() == [1500.0, 1400.0]
    assert games.draws.tolist() == [0.0, 1.0]


def test_a_match_that_is_no_duel_is_a_problem_at_its_first_line() -> None:
    text = (
        "match,player,team,rank\n"
        "1,a,,1\n1,b,,2\n"
        "2,a,,1\n2,b,,2\n2,c,,3\n"
        "x,a,red,1\nx,b,red,1\nx,c,blue,2\n"
        "3,a,red,1\n3,b,red,1\n"
        "4,a,,1\n"
    )
    assert problems(text) == [
        f"4 match: {DUEL}; 3 players in match '2'",
        f"7 match: {DUEL}; 3 players in 2 teams in match 'x'",
        f"10 match: {DUEL}; 2 players in 1 team in match '3'",
        f"12 match: {DUEL}; 1 player in match '4'",
    ]


def test_problems_of_the_history_are_told_by_its_reader() -> None:
    text = "match,player,rank\n1,a,1\n1,b,x\n2,a,1\n2,b,2\n"
    assert problems(text) == ["3 rank: must be a whole number from 0; 'x'"]
    found = problems("match,player,rank,elo\n1,a,1,many\n1,b,1,1e7\n")
    assert found == [
        "2 elo: must be a number; 'many' of a",
        "2 elo: must be a number from -1000000 to 1000000; '1e7' of b",
    ]
    assert problems("match,player\n1,a\n", format="history")[0].startswith("None rank: needs a r")


def test_matches_can_be_chosen_and_unrated_ones_do_not_count() -> None:
    text = (
        "match,time,player,rank,rated,cup\n1,1,a,1,yes,x\n1,1,b,2,yes,x\n"
        "2,2,a,1,no,x\n2,2,b,2,no,x\n3,3,b,1,yes,y\n3,3,a,2,yes,y\n"
    )
    assert scan(text).left_out == {"unrated": 1}
    assert scan(text, where={"cup": "x"}).left_out == {"unrated": 1, "filtered": 1}
    # The unrated match is of the other cup, and counts once.
    assert scan(text, where={"cup": "y"}).left_out == {"unrated": 1, "filtered": 1}
    assert rows(text, since=2) == [("b", "a", 1.0, 1.0)]
    assert rows(text.replace("match", "game"), columns={"match": "game"})[0][:2] == ("a", "b")
    with pytest.raises(InvalidParameterError, match=r"where must name a column"):
        scan(text, where={"place": "x"})
    nothing = scan(text, where={"cup": "z"})
    assert [one.rule for one in nothing.problems] == ["must leave at least one match"]


def test_contest_documents_of_two_are_games() -> None:
    document = '{"name": "final", "time_seconds": 5, "standings": [["a", 0, 0], ["b", 1, 1]]}'
    for format in ("json", "contests", "history"):
        assert rows(document, format) == [("a", "b", 1.0, 1.0)]


def test_the_world_cup_of_2022_has_64_matches() -> None:
    games = read_games(
        real_data("football.parquet"),
        where={"tournament": "FIFA World Cup"},
        since="2022-11-01",
        until="2023-01-01",
    )
    assert (games.rows, games.players) == (64, 32)
    played = dict(zip(games.player_ids.tolist(), games.played().tolist(), strict=True))
    assert played["Argentina"] == played["France"] == 7.0
    assert min(played.values()) == 3.0
