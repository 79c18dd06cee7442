"""What looks odd in a history: each check finds its case, and keeps silent without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from equipoise.analysis.inspect.oddities import find_oddities
from equipoise.analysis.reading import advice_on
from equipoise.data.history import History
from equipoise.errors import Problem
from equipoise.formats import read_history
from equipoise.formats.delimited import SEPARATED
from equipoise.formats.table import HistoryReading

Duel = tuple[str, str, int]


def history_of(duels: list[Duel], **columns: list[Any]) -> History:
    """Return a history of duels (first, second, 1 if the first won, 0 for a draw, -1)."""
    rows: dict[str, list[Any]] = {"match": [], "player": [], "rank": []}
    for at, (first, second, result) in enumerate(duels):
        rows["match"] += [at, at]
        rows["player"] += [first, second]
        rows["rank"] += [1 + (result < 0), 1 + (result > 0)]
    for name, values in columns.items():
        per_row = len(values) == 2 * len(duels)
        rows[name] = values if per_row else [value for value in values for _ in range(2)]
    return read_history(rows)


#: How a long table with places is read, and a table of games.
LONG = HistoryReading(history=None, kind="history", columns={"rank": "rank"})
GAMES = HistoryReading(history=None, kind="games", columns={"rank": "rank"})


def kinds(history: History, reading: HistoryReading = LONG) -> dict[str, int]:
    found = find_oddities(history, reading)
    assert all(one.text and one.count > 0 for one in found)
    return {one.kind: one.count for one in found}


def league(matches: int, seed: int = 0) -> list[Duel]:
    """Return duels of six players with random results."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(matches):
        first, second = rng.choice(6, 2, replace=False).tolist()
        found.append(
            (f"player-{'abcdef'[first]}", f"player-{'abcdef'[second]}", int(rng.choice([-1, 0, 1])))
        )
    return found


def days(count: int) -> list[int]:
    return [1_600_000_000 + 86_400 * at for at in range(count)]


def test_ranks_that_rise_with_the_score_ties_everywhere_and_matches_of_one() -> None:
    assert kinds(history_of(league(60), time=days(60)), GAMES) == {}
    duels: list[Duel] = [("ann", "ben", 1), ("ben", "ann", -1)] * 5
    score = [1, 5, 6, 2] * 5
    assert kinds(history_of(duels, points=score))["reversed-ranks"] == 10
    assert "reversed-ranks" not in kinds(history_of(duels, points=[-one for one in score]))
    assert kinds(history_of([(one, other, 0) for one, other, _ in league(30)])) == {
        "ties-everywhere": 30
    }
    lone = read_history({"match": [1, 1, 2], "player": ["ann", "ben", "ann"], "rank": [1, 2, 1]})
    assert kinds(lone) == {"single": 1}


def test_one_side_always_wins() -> None:
    """The message says which one; a tenth of the matches is drawn."""
    for side, sign in (("first", 1), ("second", -1)):
        duels = [
            (one, other, sign * (at % 10 > 0)) for at, (one, other, _) in enumerate(league(40))
        ]
        history = history_of(duels)
        (found,) = find_oddities(history, GAMES)
        assert (found.kind, found.count) == ("one-sided", 36)
        assert side in found.text
        # In a long table the winner is usually listed first.
        assert "one-sided" not in kinds(history)


def test_the_same_match_twice() -> None:
    """The order of the rows does not matter, the time and the result do."""
    duels: list[Duel] = [
        ("ann", "ben", 1),
        ("ben", "ann", -1),
        ("ann", "ben", -1),
        ("ann", "ben", 1),
    ]
    time = [1_600_000_001, 1_600_000_001, 1_600_000_001, 1_600_000_777]
    found = find_oddities(history_of(duels, time=time), LONG)
    (again,) = [one for one in found if one.kind == "repeated-match"]
    assert again.count == 1
    assert "0 and 1" in again.text
    scores = [3, 1, 1, 2, 1, 3, 3, 1]
    assert "repeated-match" not in kinds(history_of(duels, time=time, score=scores))
    assert "repeated-match" not in kinds(history_of(duels, time=time, goals=scores))


def test_rematches_on_one_day_are_usual_and_rows_pasted_twice_are_not() -> None:
    duels: list[Duel] = [("ann", "ben", 1)] * 30
    assert "repeated-match" not in kinds(history_of(duels, time=["2024-05-04"] * 30))
    season = read_history(Path(__file__).parents[2] / "examples" / "league.csv")
    assert "repeated-match" not in kinds(season)
    # Both games of two pairs, and both of four pairs in another order.
    pairs: list[Duel] = [(f"a{at}", f"b{at}", 1) for at in range(4)]
    for again in ([*pairs[:2], *pairs[:2]] * 6, [*pairs, *pairs[::-1]]):
        assert "repeated-match" not in kinds(history_of(again, time=["2024-05-04"] * len(again)))
    games: list[Duel] = [(f"a{at}", f"b{at}", 1) for at in range(10)]
    days = [f"2024-05-{1 + at // 4:02d}" for at in range(10)]
    for start, end in ((0, 10), (2, 5), (6, 8), (9, 10)):
        pasted = history_of([*games, *games[start:end]], time=[*days, *days[start:end]])
        assert kinds(pasted)["repeated-match"] == end - start


def test_groups_that_never_met_and_names_of_one_player_and_of_nobody() -> None:
    duels: list[Duel] = [("ann", "ben", 1), ("ben", "cid", 1), ("dan", "eva", 1)]
    (groups,) = [
        one for one in find_oddities(history_of(duels), LONG) if one.kind == "unconnected-groups"
    ]
    assert groups.count == 2
    assert "3 players with ann; 2 players with dan" in groups.text
    duels: list[Duel] = [("Carlsen, M", "Unknown", 1), ("Carlsen, Magnus", "bye", 1)]
    history = history_of(duels)
    found = kinds(history)
    assert found["likely-doubles"] == 1
    advice = {one.kind: one.advice for one in find_oddities(history, LONG)}
    assert "--synonyms FILE" in advice["likely-doubles"]
    assert found["nobody"] == 2


# What to do about problems that prevent an answer.


def test_skipping_is_no_advice_for_columns_that_are_not_separated() -> None:
    problem = Problem("votes.txt", 1, "", SEPARATED, "only spaces")
    assert advice_on([problem], skipping=False) == ""
    assert "--skip-bad" in advice_on(
        [Problem("votes.csv", 2, "rank", "must be a number", "x")], skipping=False
    )
