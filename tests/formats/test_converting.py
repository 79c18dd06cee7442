"""What is converted says the same when it is read again; what a format cannot hold is named."""

from __future__ import annotations

import io
from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.data.games import Games
from equipoise.data.history import History
from equipoise.errors import InvalidDataError
from equipoise.formats import read_history
from equipoise.formats.games import read_games
from equipoise.formats.writing import game_table, trf_text
from formats.comparing import assert_same, of_text, results_of

PLAYERS = ["ann", "Ben, B", 'c"d', "Ömer\\x", "eva", "李"]
PAIRS = st.lists(st.sampled_from(PLAYERS), min_size=2, max_size=2, unique=True)
START = date(2020, 2, 27)


@st.composite
def duels(draw: st.DrawFn, *, dated: bool | None = None) -> History:
    """Return a history of matches between two single players."""
    games = draw(st.lists(st.tuples(PAIRS, st.sampled_from([-1, 0, 1])), min_size=1, max_size=12))
    rows: dict[str, list[Any]] = {"match": [], "player": [], "rank": []}
    for at, ((first, second), result) in enumerate(games):
        rows["match"] += [f"m{at}", f"m{at}"]
        rows["player"] += [first, second]
        rows["rank"] += [1 + (result < 0), 1 + (result > 0)]
    if draw(st.booleans()) if dated is None else dated:
        days = sorted(draw(st.lists(st.integers(0, 900), min_size=len(games), max_size=len(games))))
        rows["time"] = [START + timedelta(days=day) for day in days for _ in range(2)]
    side = draw(st.sampled_from([None, ("white", "black"), ("home", "away"), ("black", "white")]))
    if side is not None:
        rows["side"] = [*side] * len(games)
    if draw(st.booleans()):
        rows["weight"] = [0.5 + at for at in range(len(games)) for _ in range(2)]
    if draw(st.booleans()):
        rows["cup"] = [f"cup {at}" for at in range(len(games)) for _ in range(2)]
    return read_history(rows)


def results(history: History) -> list[tuple[Any, str]]:
    """Return the time of every match, and who won; of a draw in order of name."""
    matches = ["=".join(sorted(text.split("="))) for text in results_of(history).split("; ")]
    times = history.datetimes()
    return list(
        zip([None] * len(matches) if times is None else times.tolist(), matches, strict=True)
    )


@given(duels())
def test_a_table_of_games_is_read_as_the_same_history(history: History) -> None:
    """Players, results, times, weights, sides, and columns with one value for each match."""
    frame, lost = game_table(history)
    again = read_history(frame)
    assert results(again) == results(history)
    assert_same(again.match_ids, history.match_ids, "match_ids")
    assert_same(again.weight, history.weight, "weight")
    assert lost == []
    home, home_again = history.at_home(), again.at_home()
    assert (home is None) == (home_again is None)
    if home is not None and home_again is not None:
        at_home = history.player_ids[history.player[home]]
        assert at_home.tolist() == again.player_ids[again.player[home_again]].tolist()
    if "cup" in history.attributes:
        assert sorted(again.attributes["cup"]) == sorted(history.attributes["cup"])


def test_scores_decide_in_a_table_of_home_and_away() -> None:
    rows = "a,b,3,1,false\nb,c,1,1,true\nc,a,2,4,false\n"
    history = of_text(f"home,away,home_score,away_score,neutral\n{rows}").history
    frame, lost = game_table(history)
    assert frame.columns == ["match", "home", "away", "home_score", "away_score", "neutral"]
    assert frame["home_score"].to_list() == [3, 1, 2]
    assert lost == []
    again = read_history(frame)
    assert again.attributes["side"].tolist() == history.attributes["side"].tolist()
    assert results(again) == results(history)


@pytest.mark.parametrize("names", [("white_elo", "black_elo"), ("WhiteRating", "BlackRating")])
def test_ratings_of_both_sides_survive_every_conversion(names: tuple[str, str]) -> None:
    text = f"white,black,result,{','.join(names)}\nann,ben,1-0,2000,1900\nben,cid,0-1,1910,\n"
    history = of_text(text).history
    frame, lost = game_table(history)
    assert not lost
    assert frame.select(names).rows() == [(2000.0, 1900.0), (1910.0, None)]
    games = read_games(history.file_table())
    assert [games.player_ids[row] for row in games.white] == ["ann", "ben"]
    # One rating differs between games, so ratings are those of the games.
    assert games.white_rating.tolist() == [2000.0, 1910.0]
    np.testing.assert_array_equal(games.black_rating, [1900.0, np.nan])


def test_what_a_table_of_games_cannot_hold_is_named() -> None:
    rows = "1,a,,1,3\n1,b,,2,4\n2,a,,1,5\n2,b,,2,6\n2,c,,3,7\n"
    rows += "3,a,x,1,8\n3,b,x,1,9\n3,c,y,2,1\n3,d,y,2,2\n"
    history = of_text(f"match,player,team,rank,kills\n{rows}").history
    frame, lost = game_table(history)
    assert frame["match"].to_list() == [1]
    assert lost == [
        "2 matches that are not between two single players were left out",
        "left out, because this format has no such columns: kills",
        "the names of teams are left out",
    ]
    with pytest.raises(InvalidDataError, match="leave out --as"):
        game_table(history.slice(1, 3))


def test_one_column_of_ratings_becomes_one_for_each_side() -> None:
    rows = "1,ann,black,1,2400\n1,ben,white,2,2300.4\n"
    frame, lost = game_table(of_text(f"match,player,side,rank,rating\n{rows}").history)
    names = ["match", "white", "black", "result", "white_elo", "black_elo"]
    assert frame.select(names).rows() == [(1, "ben", "ann", "0-1", 2300.4, 2400.0)]
    assert lost == []


@st.composite
def tournaments(draw: st.DrawFn) -> Games:
    """Return games of some rounds, in which every player has at most one game."""
    white: list[str] = []
    black: list[str] = []
    rounds: list[int] = []
    for number in range(1, draw(st.integers(1, 4)) + 1):
        order = draw(st.permutations(PLAYERS[:5]))
        for at in range(draw(st.integers(number == 1, 2))):
            white.append(order[2 * at])
            black.append(order[2 * at + 1])
            rounds.append(number)
    points = draw(
        st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=len(white), max_size=len(white))
    )
    ratings = draw(st.dictionaries(st.sampled_from(PLAYERS[:5]), st.integers(1, 3000)))
    known = {name: float(rating) for name, rating in ratings.items() if name in {*white, *black}}
    coloured = draw(st.booleans())
    return Games.from_arrays(
        white, black, points, rating=known or None, coloured=coloured, round=rounds
    )


@examples(40)
@given(
    tournaments(),
    st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from([*",;|\t[{<", "012 a, b"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_a_report_is_read_as_the_same_tournament(games: Games, title: str, end: str) -> None:
    text, _ = trf_text(games, title)
    again = read_games(io.BytesIO(text.replace("\n", end).encode()))

    def played(one: Games) -> set[tuple[Any, ...]]:
        return {
            (
                str(one.player_ids[row]),
                at,
                str(one.player_ids[one.rounds.opponent[row, at]]),
                float(one.rounds.points[row, at]),
                int(one.rounds.colour[row, at]),
            )
            for row in range(one.players)
            for at in range(one.rounds.rounds)
            if one.rounds.kind[row, at] == 0
        }

    assert played(again) == played(games)
    ratings = [
        {
            str(name): value
            for name, value in zip(one.player_ids, one.initial, strict=True)
            if value == value
        }
        for one in (games, again)
    ]
    assert ratings[0] == ratings[1]


def test_byes_and_forfeits_stay_in_a_report() -> None:
    report = (
        "012 Cup\n"
        "001    1      ann                               2000                             2.0    1"
        "     2 w 1  0000 - U\n"
        "001    2      ben                                                                1.0    2"
        "     1 b 0     3 - +\n"
        "001    3      cid                                                                0.5    3"
        "  0000 - H     2 - -\n"
    )
    games = read_games(io.BytesIO(report.encode()), format="trf")
    text, lost = trf_text(games, "Cup")
    again = read_games(io.BytesIO(text.encode()), format="trf")
    assert games.rounds is not None
    assert again.rounds is not None
    for name in ("opponent", "points", "kind", "colour"):
        assert_same(getattr(again.rounds, name), getattr(games.rounds, name), name)
    assert lost == []


def test_names_that_are_cut_stay_different() -> None:
    long = "A very long name of a player which goes on and on"
    games = Games.from_arrays([f"{long} 1"], [f"{long} 2"], [1.0], coloured=True, round=[1])
    text, lost = trf_text(games, "Cup")
    again = read_games(io.BytesIO(text.encode()), format="trf")
    assert len(set(again.player_ids.tolist())) == 2
    assert all(len(name) <= 33 for name in again.player_ids.tolist())
    assert lost == ["2 names are cut, because a name has at most 33 letters"]


def test_points_of_very_many_rounds_move_no_column() -> None:
    for last in (1.0, 0.5):
        points = [1.0] * 100 + [last]
        rounds = list(range(1, 102))
        games = Games.from_arrays(["ann"] * 101, ["ben"] * 101, points, coloured=True, round=rounds)
        again = read_games(io.BytesIO(trf_text(games, "Match")[0].encode()))
        assert again.points.tolist() == points


def test_games_without_rounds_are_no_report() -> None:
    games = Games.from_arrays(["ann"], ["ben"], [1.0])
    with pytest.raises(InvalidDataError, match="needs the round of every game"):
        trf_text(games, "Cup")
