"""Tie-breaks with byes, forfeits and absences: published exercises, another program, and by hand.

The tournament is that of M. Held, Exercises in Tie-Breaking, FIDE Technical Commission, 2024, as
written down in marceljuenemann/tiebreak at ab3986e (src/__tests__/testcases), with the solutions of
its exercises 1 to 12, by the rules of 2023. `BY_PROGRAM` are the numbers of OttoMilvang/
TieBreakServer at 14a34a2, version 1.9.57, started on it with dates in 2024 and in 2026.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tournament.test_tie_breaks import by_player

import equipoise as eq
from equipoise.data.games import ROUND_KINDS
from equipoise.errors import InvalidParameterError, NotFoundError
from equipoise.tournament.tie_breaks import CODES, TIE_BREAKS, tie_break_named, unplayed_note

#: A line for each player: result, colour (F: forfeit) and opponent of every round.
HELD = """\
+W9 =B13 =W2 +B15 =W4
+B10 +W7 =B1 +W16 =B3
=W11 +B6 +W8 =B4 =W2
+B12 =BYE +W13 =W3 =B1
-W13 -B15 +W11 =B7 +W10
-B14 -W3 +BYE +W10 +B8
+W15 -B2 -B16 =W5 -B11
=B16 +W14 -B3 +W13 -W6
-B1 -W10 =BYE -F11 +BYE
-W2 +B9 -W15 -B6 -B5
=B3 -W16 -B5 +F9 +W7
-W4 +BYE +F14 -- --
+B5 =W1 -B4 -B8 -W14
+W6 -B8 -F12 -- +B13
-B7 +W5 +B10 -W1 -B16
=W8 +B11 +W7 -B2 +W15"""

#: Exercises 1 to 8: Buchholz and its Cut-1. Exercise 12: Sonneborn-Berger.
PUBLISHED = {
    "buchholz": {2: 13, 1: 12.5, 3: 15.5, 5: 8.5, 8: 13.5, 11: 13.5, 16: 12.5, 4: 15},
    "buchholz-cut1": {
        **{5: 7.5, 8: 12, 11: 12, 7: 12.5, 9: 7.5, 13: 12, 1: 11, 3: 13, 4: 11.5, 16: 11},
        **{12: 9.5, 14: 9, 15: 11},
    },
    "sonneborn-berger": {
        **{2: 9.5, 3: 10.5, 4: 9.75, 1: 8, 16: 7.25, 6: 6.5, 11: 5.75, 8: 5.25, 5: 4.25},
        **{14: 4.5, 12: 4, 15: 3.5, 13: 4.25, 7: 3.25, 10: 1.5},
    },
}

BY_PROGRAM = {
    "2024-08": {
        "BH": "12.5 13 15.5 15 8.5 12 14.5 13.5 9 13 13.5 11.5 14 11 12 12.5",
        "BH-C1": "11 12 13 11.5 7.5 11 12.5 12 7.5 11.5 12 9.5 12 9 11 11",
        "BH-C2": "9.5 10.5 10.5 10 6 9 10 10 6 9.5 9.5 7.5 9.5 7 9.5 9",
        "BH-M1": "7 8.5 9 8 5 7.5 8.5 8.5 4 7.5 8.5 6 8.5 6 7.5 7",
        "BH-M2": "2 3.5 3 3 1.5 2.5 2.5 3 1 2.5 2.5 2 2.5 1.5 2.5 2.5",
        "SB": "8 9.5 10.5 9.75 4.25 6.5 3.25 5.25 2.25 1.5 5.75 4 4.25 4.5 3.5 7.25",
        "SB-C1": "7.25 8.5 9.25 8 3.25 5.5 1.25 3.75 2.25 0 4.25 4 4.25 3 2.5 5.75",
        "SB-C2": "5.75 7 6.75 6.5 3.25 5.5 1.25 1.75 1.5 0 4.25 4 4.25 3 2.5 3.75",
        "FB": "13.5 13.5 15 15.5 10 12 13.5 12.5 9.5 12.5 12.5 11.5 13.5 10.5 12 13.5",
        "FB-C1": "12 12 13 12 8.5 10.5 11.5 11 8 11 10.5 9.5 12 9 10.5 11.5",
        "FB-M1": "8 8.5 9 8.5 6 7 7.5 7.5 4.5 7 7 6 8.5 6 7 7.5",
    },
    "2026-03": {
        "BH": "12.5 13 15.5 14 8.5 11.5 14.5 13.5 9 13 12.5 11.5 14 11 12 12.5",
        "BH-C1": "11 12 13 11.5 7.5 10.5 12.5 12 7.5 11.5 11 9.5 12 9 11 11",
        "BH-C2": "9.5 10.5 10.5 10 6 8.5 10 10 6 9.5 9.5 7.5 9.5 7 9.5 9",
        "BH-M1": "7 8.5 9 8 5 7 8.5 8.5 4 7.5 7.5 6 8.5 6 7.5 7",
        "SB": "8 9.5 10.5 9.25 4.25 6 3.25 5.25 2.25 1.5 4.75 4 4.25 4.5 3.5 7.25",
        "SB-C1": "7.25 8.5 9.25 7.75 3.25 5 1.25 3.75 2.25 0 3.25 4 4.25 3 2.5 5.75",
        "SB-C2": "5.75 7 6.75 6.5 3.25 5 1.25 1.75 1.5 0 1.75 4 4.25 3 2.5 3.75",
        "PS": "11 13 11 11.5 5 6 6 8.5 2.5 4 5.5 7 7 6 7 10.5",
        "PS-C1": "10 12 10.5 10.5 5 6 5 8 2.5 4 5 7 6 5 7 10",
        "PS-C2": "8.5 10 9 9 5 6 4 6.5 2.5 3 4.5 6 4.5 4 6 8.5",
        "KS": "1 2 3.5 1 1 1 0.5 0.5 0 0 0.5 0 1.5 1 1 1.5",
        "WIN": "2 3 2 2 2 3 1 2 1 1 2 2 1 2 2 3",
        "WON": "2 3 2 2 2 2 1 2 0 1 1 0 1 2 2 3",
        "BPG": "2 3 2 2 2 2 3 2 1 3 2 0 3 2 3 2",
        "BWG": "1 1 1 1 0 1 0 0 0 1 0 0 1 1 1 1",
        "REP": "5 5 5 4 5 5 5 5 3 5 5 3 5 3 5 5",
        "FB": "13.5 13.5 15 14.5 10 12 13.5 12.5 9.5 12.5 12 11 13.5 10.5 12 13.5",
        "FB-C1": "12 12 13 12 8.5 10.5 11.5 11 8 11 10.5 9 12 9 10.5 11.5",
        "FB-M1": "8 8.5 9 8.5 6 7 7.5 7.5 4.5 7 7 5.5 8.5 6 7 7.5",
    },
}


def entry(text: str, own: int) -> str:
    """Return a round as a FIDE report has it."""
    if text in ("--", "=BYE", "+BYE"):
        return "  0000 - " + {"--": "Z", "=BYE": "H", "+BYE": "U"}[text]
    opponent, forfeit = int(text[2:]), text[1] == "F"
    colour = ("w" if own < opponent else "b") if forfeit else text[1].lower()
    result = text[0] if forfeit else {"+": "1", "=": "=", "-": "0"}[text[0]]
    return f"  {opponent:4d} {colour} {result}"


def report(tmp_path: Path, rows: str) -> Path:
    """Write a report with players called by their numbers, 1 to N."""
    lines = [
        f"001 {own:4d} m    {own:<33d} {2500 - 20 * own:4d} NOR {'':11} {'':10} {0:4.1f} {own:4d}"
        + "".join(entry(one, own) for one in row.split())
        for own, row in enumerate(rows.splitlines(), start=1)
    ]
    path = tmp_path / "report.trf"
    path.write_text("\n".join(["012 A tournament", *lines, ""]))
    return path


@pytest.fixture
def held(tmp_path: Path) -> eq.Games:
    return eq.read_games(report(tmp_path, HELD))


def of(games: eq.Games, name: Any, **given: Any) -> dict[int, float]:
    """Return a tie-break by number of player."""
    found = by_player(games, eq.tie_breaks(games, [name], **given)[name])
    return {int(player): value for player, value in found.items()}


def test_the_published_exercises(held: eq.Games) -> None:
    for name, solutions in PUBLISHED.items():
        found = of(held, name, rules="2024-08")
        assert {player: found[player] for player in solutions} == solutions


@pytest.mark.parametrize("rules", BY_PROGRAM)
def test_the_numbers_of_another_program(held: eq.Games, rules: str) -> None:
    for code, numbers in BY_PROGRAM[rules].items():
        found = of(held, tie_break_named(code), rules=rules)
        expected = [float(one) for one in numbers.split()]
        assert [found[player] for player in range(1, 17)] == expected, code


def test_the_kinds_of_rounds(held: eq.Games) -> None:
    """12 had a bye for an odd number, won by forfeit, and then left."""
    row = [str(one) for one in held.player_ids].index("12")
    kinds = [ROUND_KINDS[kind] for kind in held.rounds.kind[row].tolist()]
    assert kinds == ["played", "pairing-bye", "forfeit-win", "zero-bye", "zero-bye"]
    assert held.rounds.scored()[row] == 2.0
    assert held.scored()[row] == 0.0


def test_a_cut_takes_the_lowest_part_of_an_absence(tmp_path: Path) -> None:
    """Sonneborn-Berger Cut-1 by 16.5.1: the lowest part of an absence, or the least significant.

    1 has a half-point bye (2 times a half) and a forfeit loss (0). The opponent of the lowest score
    is 4 with 0.5, drawn: 0.25. Of 0 and 0.25 the higher is cut.
    """
    games = eq.read_games(
        report(
            tmp_path,
            "=BYE -F2 =W4 +W3\n+W3 +F1 +W5 +B5\n-B2 +BYE +BYE -B1\n-W5 -- =B1 --\n+B4 +BYE -B2 -W2",
        )
    )
    found = eq.tie_break_details(games, 1, "sonneborn-berger-cut1").to_polars()
    assert found.select("round", "score", "value", "status").rows()[:3] == [
        (1, 2.0, 1.0, "counts"),
        (2, 2.0, 0.0, "counts"),
        (3, 1.0, 0.5, "cut"),
    ]


def test_details_add_up_to_the_tie_break(held: eq.Games) -> None:
    for name in ("buchholz-cut2", "sonneborn-berger-cut1", "fore-buchholz-median", "koya", "wins"):
        values = of(held, name)
        for player, value in values.items():
            table = eq.tie_break_details(held, player, name).to_polars()  # type: ignore[arg-type]
            counting = table.filter(table["status"] == "counts")
            assert (counting["games"] * counting["value"]).sum() == value, (name, player)


def test_details_of_ratings_and_encounters(held: eq.Games) -> None:
    aro = eq.tie_break_details(held, 14, "aro-cut1").to_polars()
    assert aro.select("round", "opponent", "value", "status").rows() == [
        (1, "6", 2380.0, "counts"),
        (2, "8", 2340.0, "counts"),
        (5, "13", 2240.0, "cut"),
    ]
    direct = eq.tie_break_details(held, 1, "direct-encounter")
    counting = [
        one
        for one, status in zip(direct.opponent, direct.status, strict=True)
        if status == "counts"
    ]
    assert counting == ["4"]
    league = eq.Games.from_arrays(["ann"], ["ben"], [1.0])
    assert eq.tie_break_details(league, "ann", "progressive").round == ()
    with pytest.raises(NotFoundError, match="not among the 16 players: 17"):
        eq.tie_break_details(held, 17, "buchholz")


def test_places_by_points_and_tie_breaks(held: eq.Games) -> None:
    """Points are those with byes and forfeits: 12 has 2 without having won a game."""
    found = eq.performance(held, tie_breaks=["buchholz-cut1", "direct-encounter"], by_points=True)
    table = found.table
    assert table["player"].to_list()[:6] == ["2", "3", "4", "1", "16", "6"]
    assert table["place"].to_list()[:6] == [1, 2, 3, 4, 4, 6]
    twelve = table.filter(table["player"] == "12").row(0, named=True)
    assert (twelve["points"], twelve["score"]) == (0.0, 2.0)
    usual = eq.performance(held, tie_breaks=["buchholz-cut1"])
    assert usual.order.tolist() == eq.performance(held).order.tolist()


def test_a_round_robin_counts_forfeits_as_games(tmp_path: Path) -> None:
    """Three players, 2 loses to 1 by forfeit. Everyone has a free round, which is no bye."""
    games = eq.read_games(report(tmp_path, "+F2 -W3 --\n-F1 -- =W3\n-- +B1 =B2"))
    assert of(games, "sonneborn-berger") == {1: 0.5, 2: 0.75, 3: 1.25}
    assert of(games, "buchholz") == {1: 2.0, 2: 2.5, 3: 1.5}
    assert of(games, "direct-encounter", pairing="swiss") != of(games, "direct-encounter")
    assert of(games, "rounds-elected") == {1: 2, 2: 1, 3: 2}
    assert of(games, "wins") == {1: 0, 2: 0, 3: 1}
    assert of(games, "koya") == {1: 0, 2: 0.5, 3: 1.5 - 0.5}


def test_unknown_rounds_are_not_guessed() -> None:
    """C has no game in round 2, and a list does not say why."""
    games = eq.Games.from_arrays(
        ["A", "C", "A", "B"], ["B", "D", "D", "C"], [1, 0.5, 1, 0.5], round=[1, 1, 2, 3]
    )
    assert np.isnan(eq.tie_breaks(games, ["progressive"])["progressive"]).all()
    absent = by_player(
        games, eq.tie_breaks(games, ["progressive"], unplayed="absent")["progressive"]
    )
    assert absent == {"A": 5.0, "B": 0.5, "C": 2.0, "D": 1.5}
    assert "4 players have rounds without a result" in unplayed_note(games, ["buchholz"], "fide")
    assert unplayed_note(games, ["buchholz"], "absent") == ""
    assert unplayed_note(games, ["wins"], "fide") == ""
    ignored = by_player(games, eq.tie_breaks(games, ["buchholz"], unplayed="ignore")["buchholz"])
    assert ignored == {"A": 1.0, "B": 3.0, "C": 1.0, "D": 3.0}
    without = eq.Games.from_arrays(["A"], ["B"], [1.0])
    with pytest.raises(InvalidParameterError, match="unplayed must be fide or ignore"):
        eq.tie_breaks(without, ["buchholz"], unplayed="absent")
    assert "have no rounds" in unplayed_note(without, ["progressive"], "fide")


def test_rounds_of_lists_and_pgn(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("white,black,result,round\na,b,1-0,1\nc,d,0-1,1\nd,a,1-0,2.1\nb,c,1-0,2.2\n")
    games = eq.read_games(path)
    found = by_player(games, eq.tie_breaks(games, ["progressive"])["progressive"])
    assert found == {"a": 2.0, "b": 1.0, "c": 0.0, "d": 3.0}
    path.write_text("white,black,result,round\na,b,1-0,1\na,d,0-1,1\n")
    assert eq.read_games(path).rounds is None
    path.write_text("white,black,result,round\na,b,1-0,final\n")
    assert eq.read_games(path).rounds is None


def test_synonyms_and_skipped_results(tmp_path: Path, held: eq.Games) -> None:
    path = report(tmp_path, HELD)
    renamed = eq.read_games(path, synonyms={"1": "one"})
    np.testing.assert_array_equal(
        np.sort(eq.tie_breaks(renamed, ["buchholz"])["buchholz"]),
        np.sort(eq.tie_breaks(held, ["buchholz"])["buchholz"]),
    )
    path.write_text(
        path.read_text().replace("  16 w 0", "  16 w X").replace("   9 w 1", "   9 w X")
    )
    reading = eq.scan_games(path, skip_bad=True)
    # A report with a bad result says nothing certain about byes.
    unplayed = reading.games.rounds.kind[reading.games.rounds.kind > 0]
    assert len(unplayed) == 16 * 5 - 2 * reading.games.rows
    assert {ROUND_KINDS[one] for one in unplayed.tolist()} == {"unknown"}


def test_a_game_that_both_lost_is_a_game(tmp_path: Path) -> None:
    path = report(tmp_path, "-W2 +W3 =W4\n-B1 =W4 +W3\n=W4 -B1 -B2\n=B3 =B2 =B1")
    games = eq.read_games(path)
    assert of(games, "buchholz")[1] == 1.5 + 0.5 + 1.5
    assert of(games, "wins")[1] == 1


def test_names_and_codes() -> None:
    assert {tie_break_named(code) for code in CODES.values()} == set(TIE_BREAKS)
    for text in ("bh:c1", "BH/C1", "bh-C1", " buchholz-cut1 "):
        assert tie_break_named(text) == "buchholz-cut1"
    assert tie_break_named("GE") == "rounds-elected"
    assert tie_break_named("bucholz") is None


def test_rounds_are_checked() -> None:
    with pytest.raises(InvalidParameterError, match="round must be from 1"):
        eq.Games.from_arrays(["a", "a"], ["b", "c"], [1, 0], round=[1, 1])
    with pytest.raises(InvalidParameterError, match="opponent must be rows of players, or -1"):
        eq.Rounds(
            opponent=np.array([[3]]),
            points=np.zeros((1, 1)),
            kind=np.array([[7]]),
            colour=np.array([[0]]),
        )
